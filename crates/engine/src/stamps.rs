//! The stamp model's question, and the times that an answer may name.

use std::io::Write;
use std::time::{SystemTime, UNIX_EPOCH};

use feedbench_wire::frame::{self, Header, Opcode};
use feedbench_wire::mask::MaskKey;
use feedbench_wire::stamp::Stamp;

use crate::clock::{Clock, MonotonicClock};

/// `{"c":` and `}` around twenty digits.
const LONGEST_QUESTION_BYTES: usize = 26;
/// A frame with such a question.
pub const LONGEST_FRAME_BYTES: usize = frame::MAXIMUM_HEADER_BYTES + LONGEST_QUESTION_BYTES;
/// A server may round its clock down to the second, or up to it, and two hosts' clocks differ a little.
const TOLERANCE_S: f64 = 2.0;

/// Tells whether a server's clock is right: not before its message left, not in the future.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StampRule {
    /// Unix time when the monotonic clock showed 0.
    origin_unix_ns: i64,
    /// The monotonic clock when the rule was made, before any connection.
    made_ns: u64,
}

impl StampRule {
    /// Compares the two clocks of this machine.
    pub fn now() -> Self {
        let unix = SystemTime::now().duration_since(UNIX_EPOCH);
        let unix_ns = unix.map_or(0, |since| since.as_nanos() as i64);
        let made_ns = MonotonicClock.now_ns();
        Self {
            origin_unix_ns: unix_ns - made_ns as i64,
            made_ns,
        }
    }

    /// Before any connection was opened, on the monotonic clock.
    pub fn made_ns(self) -> u64 {
        self.made_ns
    }

    /// True if the server can have taken this time between two readings of the monotonic clock.
    #[inline]
    pub fn allows(self, stamp: &Stamp, earliest_ns: u64, latest_ns: u64) -> bool {
        let unix_s = |at_ns: u64| (self.origin_unix_ns + at_ns as i64) as f64 / 1e9;
        let from_s = unix_s(earliest_ns) - TOLERANCE_S;
        let until_s = unix_s(latest_ns) + TOLERANCE_S;
        (from_s..=until_s).contains(&stamp.unix_s())
    }
}

/// Writes one masked question to the beginning of `into`; returns its bytes. The number has no fixed width, because
/// padding would be parsed by every server and was sent by no client of the study.
pub fn write_frame(number: u64, key: MaskKey, into: &mut [u8]) -> usize {
    let mut text = [0; LONGEST_QUESTION_BYTES];
    let mut rest = &mut text[..];
    // Twenty digits are the most that a u64 has, so there is room.
    let _ = write!(rest, "{{\"c\":{number}}}");
    let length = LONGEST_QUESTION_BYTES - rest.len();
    let header = Header::message(Opcode::Text, length as u64, Some(key));
    let mut head = [0; frame::MAXIMUM_HEADER_BYTES];
    let head_bytes = header.encode(&mut head);
    let end = head_bytes + length;
    into[..head_bytes].copy_from_slice(&head[..head_bytes]);
    into[head_bytes..end].copy_from_slice(&text[..length]);
    feedbench_wire::mask::apply(key, &mut into[head_bytes..end], 0);
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_the_json_that_it_should_be() {
        for number in [1, 9, 10, 12_345, u64::MAX] {
            let mut frame = [0; LONGEST_FRAME_BYTES];
            let length = write_frame(number, [1, 2, 3, 4], &mut frame);
            let (header, start) = Header::parse(&frame).unwrap().unwrap();
            assert_eq!(start + header.payload_bytes as usize, length);
            feedbench_wire::mask::apply([1, 2, 3, 4], &mut frame[start..length], 0);
            assert_eq!(
                std::str::from_utf8(&frame[start..length]).unwrap(),
                format!("{{\"c\":{number}}}")
            );
        }
    }

    #[test]
    fn a_time_outside_of_the_round_trip_is_refused() {
        let rule = StampRule {
            origin_unix_ns: 1_700_000_000_000_000_000,
            made_ns: 0,
        };
        let (sent_ns, received_ns) = (10_000_000_000, 11_000_000_000);
        let table = [
            ("1700000010", true),
            ("1700000010.5", true),
            ("1700000011000", true),
            ("1700000012", true),
            ("1700000008", true),
            ("1700000007", false),
            ("1700000014", false),
            ("1", false),
            ("9999999999999999", false),
        ];
        for (time, allowed) in table {
            let stamp = Stamp::parse(format!("{{\"c\":1,\"ts\":{time}}}").as_bytes()).unwrap();
            assert_eq!(rule.allows(&stamp, sent_ns, received_ns), allowed, "{time}");
        }
    }
}
