//! Messages as they go over the wire: built once, numbered as they leave.

use std::num::NonZeroU32;

use feedbench_wire::frame::{self, Header, Opcode};
use feedbench_wire::mask::MaskKey;

use crate::check::Check;
use crate::payload::{Counter, Number, Payload};
use crate::stamps;

/// Frames are handed to the socket in rows of up to about this many bytes.
const BATCH_BYTES: usize = 64 << 10;
/// What a heartbeat's pings say, to be told from pongs that nobody asked for.
pub const HEARTBEAT: &[u8] = b"heartbeat";

/// How a message is cut into frames (RFC 6455, 5.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fragmenting {
    /// Frames of a message.
    pub fragments: NonZeroU32,
    /// A ping between each two of them, which the server has to answer before the message is whole.
    pub pings: bool,
}

impl Default for Fragmenting {
    fn default() -> Self {
        Self {
            fragments: NonZeroU32::MIN,
            pings: false,
        }
    }
}

impl Fragmenting {
    /// Adds the frames of message 0, and tells the header of the first.
    fn append(self, frames: &mut Vec<u8>, payload: &Payload, key: MaskKey) -> Header {
        let count = self.fragments.get() as usize;
        let even = payload.bytes.len().div_ceil(count);
        let counter_end = payload.counter.map_or(0, Counter::end);
        let (first, mut rest) = payload
            .bytes
            .split_at(even.max(counter_end).min(payload.bytes.len()));
        let head = Header {
            fin: count == 1,
            ..Header::message(payload.opcode, first.len() as u64, Some(key))
        };
        frame::append(frames, head, first);
        for left in (1..count).rev() {
            if self.pings {
                let ping = Header::message(Opcode::Ping, HEARTBEAT.len() as u64, Some(key));
                frame::append(frames, ping, HEARTBEAT);
            }
            let (part, after) = rest.split_at(rest.len().div_ceil(left));
            let header = Header {
                fin: left == 1,
                ..Header::message(Opcode::Continuation, part.len() as u64, Some(key))
            };
            frame::append(frames, header, part);
            rest = after;
        }
        head
    }
}

/// A row of masked frames for all connections of a session: only the counters' bytes change from one message to the
/// next, so that any number of messages goes out in one call without being put together first.
///
/// That needs one mask key for all, where RFC 6455 (10.3) wants a new one for each frame, so that a script cannot
/// choose the bytes that a proxy sees. Nobody but us chooses bytes here, and every key takes a server the same time to
/// undo. The key itself is drawn at random.
pub struct Stencil {
    /// What all messages are made from.
    pub payload: Payload,
    /// Masks all frames.
    pub key: MaskKey,
    frames: Vec<u8>,
    frame_bytes: usize,
    /// Where the payload begins in a frame.
    pub header_bytes: usize,
}

impl Stencil {
    /// Messages 0, up to [`BATCH_BYTES`] of them, but at least one, each in one frame.
    pub fn new(payload: Payload, key: MaskKey) -> Self {
        Self::in_fragments(payload, key, Fragmenting::default())
    }

    /// The same with each message cut into frames. The first holds the whole counter, so that counting on is still the
    /// change of a few bytes in one place; the others share the rest evenly.
    pub fn in_fragments(payload: Payload, key: MaskKey, fragmenting: Fragmenting) -> Self {
        let mut frame = Vec::with_capacity(payload.bytes.len() + frame::MAXIMUM_HEADER_BYTES);
        let header = fragmenting.append(&mut frame, &payload, key);
        if payload.stamp.is_some() {
            // Room for the longest; they are written one behind the other as they are sent.
            frame.resize(stamps::LONGEST_FRAME_BYTES, 0);
        }
        let frame_bytes = frame.len();
        let frames = frame.repeat((BATCH_BYTES / frame_bytes).max(1));
        Self {
            payload,
            key,
            frames,
            frame_bytes,
            header_bytes: header.encoded_bytes(),
        }
    }

    /// How many frames there are.
    pub fn room(&self) -> usize {
        self.frames.len() / self.frame_bytes
    }

    /// The next `count` frames, numbered; at most [`room`](Self::room). `check` has counted them as sent already.
    #[inline]
    pub fn next_frames(
        &mut self,
        count: usize,
        number: &mut Option<Number>,
        check: &Check,
    ) -> &[u8] {
        if self.payload.stamp.is_some() {
            return self.next_questions(check.sent_so_far(), count as u64);
        }
        let row = &mut self.frames[..count * self.frame_bytes];
        if let (Some(counter), Some(number)) = (self.payload.counter, number) {
            for frame in row.chunks_exact_mut(self.frame_bytes) {
                counter.write(number, &mut frame[self.header_bytes..], self.key);
                counter.increment(number);
            }
        }
        row
    }

    /// Questions of the stamp model, the last of which has the number `last`.
    fn next_questions(&mut self, last: u64, count: u64) -> &[u8] {
        let mut end = 0;
        for number in last - count + 1..=last {
            end += stamps::write_frame(number, self.key, &mut self.frames[end..]);
        }
        &self.frames[..end]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::payload::{PayloadKind, PayloadRequest};
    use feedbench_wire::mask;
    use proptest::prelude::*;

    const KEY: MaskKey = [7, 77, 177, 211];

    fn payload(size: usize) -> Payload {
        let kind = PayloadKind::Text;
        Payload::new(&PayloadRequest {
            kind,
            bytes: Some(size),
            file: None,
        })
        .unwrap()
    }

    /// All frames of a row: header and unmasked payload.
    fn frames(mut row: &[u8]) -> Vec<(Header, Vec<u8>)> {
        let mut frames = Vec::new();
        while let Some((header, start)) = Header::parse(row).unwrap() {
            let (frame, rest) = row.split_at(start + header.payload_bytes as usize);
            let mut payload = frame[start..].to_vec();
            mask::apply(header.mask.unwrap(), &mut payload, 0);
            frames.push((header, payload));
            row = rest;
        }
        frames
    }

    proptest! {
        /// However it is cut: the first frame names the kind, the last one ends the message, pings stand between, and
        /// the parts are the message with its number.
        #[test]
        fn fragments_are_the_message(size in 0_usize..200, count in 1_u32..20, pings: bool, messages in 1_usize..4) {
            let question = payload(size);
            let fragments = NonZeroU32::new(count).unwrap();
            let mut stencil = Stencil::in_fragments(question.clone(), KEY, Fragmenting { fragments, pings });
            let mut number = question.counter.map(|counter| counter.number(0));
            let check = Check::new(&question);
            let all = frames(stencil.next_frames(messages, &mut number, &check));
            let each = count as usize + if pings { count as usize - 1 } else { 0 };
            prop_assert_eq!(all.len(), each * messages);
            for (index, message) in all.chunks(each).enumerate() {
                let mut whole = Vec::new();
                let mut data = 0;
                for (position, (header, part)) in message.iter().enumerate() {
                    if header.opcode == Opcode::Ping {
                        prop_assert!(position % 2 == 1 && part == HEARTBEAT);
                        continue;
                    }
                    let kind = if data == 0 { Opcode::Text } else { Opcode::Continuation };
                    data += 1;
                    prop_assert_eq!((header.opcode, header.fin), (kind, data == count));
                    whole.extend_from_slice(part);
                }
                let wanted = question.counter.map(|counter| counter.number(index as u64));
                let right = match (question.counter, wanted) {
                    (Some(counter), Some(number)) => counter.matches(&number, &whole, &question.bytes),
                    _ => whole == question.bytes,
                };
                prop_assert!(right, "message {}: {:?}", index, whole);
            }
        }
    }
}
