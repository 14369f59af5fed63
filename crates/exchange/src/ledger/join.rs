//! Finds the ledger's record of each message that a client received.

use super::Sent;
use std::collections::{HashMap, VecDeque};

/// What a client knows of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// Length of the payload.
    pub payload_bytes: u32,
    /// CRC-32 of the payload.
    pub payload_crc32: u32,
}

impl Received {
    /// Of a payload as it came.
    pub fn of(payload: &[u8]) -> Self {
        Self {
            payload_bytes: payload.len() as u32,
            payload_crc32: crc32fast::hash(payload),
        }
    }
}

/// For each received message the index of its record among `sent`; `None` for one that was never sent, or was
/// received once more than it was sent. Equal messages are matched in order, so give one connection's messages, in
/// the order of their receipt, and the records of the streams that it got.
pub fn join(sent: impl IntoIterator<Item = Sent>, received: &[Received]) -> Vec<Option<usize>> {
    let mut waiting: HashMap<(u32, u32), VecDeque<usize>> = HashMap::new();
    for (index, message) in sent.into_iter().enumerate() {
        waiting
            .entry((message.payload_bytes, message.payload_crc32))
            .or_default()
            .push_back(index);
    }
    let of = |message: &Received| {
        waiting
            .get_mut(&(message.payload_bytes, message.payload_crc32))?
            .pop_front()
    };
    received.iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_find_their_records_despite_loss_reordering_and_repetition() {
        let payloads: [&[u8]; 5] = [b"a", b"b", b"same", b"same", b"c"];
        let sent = payloads.map(|payload| {
            let Received {
                payload_bytes,
                payload_crc32,
            } = Received::of(payload);
            Sent {
                stream: 0,
                born_ns: 0,
                scheduled_ns: 0,
                sent_ns: 0,
                spread_ns: 0,
                sequence: 0,
                connection: 0,
                recipients: 1,
                payload_bytes,
                payload_crc32,
                fault: 0,
            }
        });
        let received: [&[u8]; 6] = [b"b", b"a", b"same", b"same", b"same", b"unknown"];
        let joined = join(sent, &received.map(Received::of));
        assert_eq!(joined, [Some(1), Some(0), Some(2), Some(3), None, None]);
    }
}
