//! One direction of a TCP connection, put in order: each byte once, with the time at which it could first be read.

use std::collections::BTreeMap;

/// What waits behind a gap. More means that packets were missed, not that they are late.
const MOST_WAITING_BYTES: usize = 64 << 20;

/// Bytes behind a gap that was never filled: the capture has missed packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("packets were missed: {MOST_WAITING_BYTES} bytes wait behind a gap in the stream")]
pub struct Gap;

/// Takes segments in any order and hands out their bytes in the stream's.
#[derive(Debug)]
pub struct Stream {
    next: u32,
    /// By distance from the first byte of the stream, so that sequence numbers may wrap.
    handed_out: u64,
    waiting: BTreeMap<u64, (Vec<u8>, u64)>,
    waiting_bytes: usize,
    latest_ns: u64,
}

impl Stream {
    /// A stream whose first byte has this sequence number.
    #[must_use]
    pub fn new(first: u32) -> Self {
        Self {
            next: first,
            handed_out: 0,
            waiting: BTreeMap::new(),
            waiting_bytes: 0,
            latest_ns: 0,
        }
    }

    /// True when something waits for bytes that have not come.
    #[must_use]
    pub fn has_gap(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Takes a segment and calls `hand_out` with bytes that are next, and the time since when they could be read: that
    /// of the segment that brought them, or of a later one that filled the gap before them. Bytes that were there
    /// already are dropped, so a retransmission changes nothing.
    ///
    /// # Errors
    /// [`Gap`] when too much waits for bytes that don't come.
    pub fn take(
        &mut self,
        sequence: u32,
        payload: &[u8],
        stamp_ns: u64,
        mut hand_out: impl FnMut(&[u8], u64),
    ) -> Result<(), Gap> {
        // Signed, so that what lies before `next` is told from what lies behind it across the wrap.
        let ahead = i64::from(sequence.wrapping_sub(self.next) as i32);
        if ahead > 0 {
            return self.keep(self.handed_out + ahead as u64, payload, stamp_ns);
        }
        let known = ahead.unsigned_abs() as usize;
        if known >= payload.len() {
            return Ok(());
        }
        self.advance(&payload[known..], stamp_ns, &mut hand_out);
        while let Some(entry) = self.waiting.first_entry() {
            if *entry.key() > self.handed_out {
                break;
            }
            let (at, (bytes, stamp_ns)) = entry.remove_entry();
            self.waiting_bytes -= bytes.len();
            let known = (self.handed_out - at) as usize;
            if known < bytes.len() {
                self.advance(&bytes[known..], stamp_ns, &mut hand_out);
            }
        }
        Ok(())
    }

    fn advance(&mut self, bytes: &[u8], stamp_ns: u64, hand_out: &mut impl FnMut(&[u8], u64)) {
        self.latest_ns = self.latest_ns.max(stamp_ns);
        self.next = self.next.wrapping_add(bytes.len() as u32);
        self.handed_out += bytes.len() as u64;
        hand_out(bytes, self.latest_ns);
    }

    /// The longest of those that begin at the same byte; the earlier one of two that are alike.
    fn keep(&mut self, at: u64, payload: &[u8], stamp_ns: u64) -> Result<(), Gap> {
        if self
            .waiting
            .get(&at)
            .is_some_and(|(bytes, _)| bytes.len() >= payload.len())
            || payload.is_empty()
        {
            return Ok(());
        }
        self.waiting_bytes += payload.len();
        if let Some((replaced, _)) = self.waiting.insert(at, (payload.to_vec(), stamp_ns)) {
            self.waiting_bytes -= replaced.len();
        }
        if self.waiting_bytes > MOST_WAITING_BYTES {
            return Err(Gap);
        }
        Ok(())
    }
}
