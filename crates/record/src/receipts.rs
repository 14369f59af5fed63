//! `receipts`: who of many subscribers had which message when, in 24 bytes a message (spec/feed.md, "Subscribers").
//!
//! Payloads are not kept: at 512 subscribers they would be all that the machine does. Their length and CRC-32 are, by
//! which the exchange's ledger knows them.

use std::io::{self, Write};

use serde::{Deserialize, Serialize};

const MAGIC: &[u8; 8] = b"FBRECEIP";
const END_MAGIC: &[u8; 8] = b"FBRECEND";
const VERSION: u32 = 1;
/// Bytes of a record, and of the footer.
pub const RECEIPT_BYTES: usize = 24;

/// What a record tells of its subscriber.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum ReceiptKind {
    /// A text message arrived.
    Text = 1,
    /// A binary message arrived.
    Binary = 2,
    /// Its handshake is done.
    Connected = 3,
    /// The other side ended the connection, or it broke.
    Ended = 4,
    /// It left by itself, to come back at once.
    Left = 5,
    /// It stopped reading.
    Stopped = 6,
    /// It reads again.
    Resumed = 7,
}

/// One record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Receipt {
    /// `CLOCK_MONOTONIC`, when the call that received it had returned.
    pub at_ns: u64,
    /// Number of the subscriber, from 0.
    pub subscriber: u32,
    /// Length of the payload; 0 where there is none.
    pub bytes: u32,
    /// CRC-32 of the payload, without what an exchange numbers for each connection.
    pub crc32: u32,
    /// What happened.
    pub kind: ReceiptKind,
}

/// What is known when the file begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceiptHeader {
    /// Always `CLOCK_MONOTONIC`.
    pub clock: String,
    /// What was subscribed to.
    pub url: String,
    /// How many subscribers there are.
    pub subscribers: u32,
}

/// Numbers that an exchange counts for each connection: the ledger leaves their digits out, and so must we.
const PER_CONNECTION: [&[u8]; 2] = [b"\"sequence_num\":", b"\"socket_sequence\":"];

/// Length and CRC-32 of a payload as the ledger has them.
#[must_use]
pub fn identity(payload: &[u8]) -> (u32, u32) {
    let mut hasher = crc32fast::Hasher::new();
    let (mut bytes, mut kept_from, mut at) = (0, 0, 0);
    // "q" is rare, and looked for much faster than the whole names.
    while let Some(found) = payload[at..].iter().position(|&byte| byte == b'q') {
        at += found + 1;
        let numbered = PER_CONNECTION.iter().find_map(|name| {
            let q = name.iter().position(|&byte| byte == b'q')?;
            let start = (at - 1).checked_sub(q)?;
            payload[start..]
                .starts_with(name)
                .then_some(start + name.len())
        });
        if let Some(digits_from) = numbered {
            let digits = payload[digits_from..]
                .iter()
                .take_while(|byte| byte.is_ascii_digit())
                .count();
            if digits > 0 {
                hasher.update(&payload[kept_from..digits_from]);
                bytes += digits_from - kept_from;
                kept_from = digits_from + digits;
                at = kept_from;
            }
        }
    }
    hasher.update(&payload[kept_from..]);
    bytes += payload.len() - kept_from;
    (bytes as u32, hasher.finalize())
}

/// Writes a whole file: header, records, footer.
///
/// # Errors
/// Whatever the sink says.
pub fn write_receipts<'a>(
    mut sink: impl Write,
    header: &ReceiptHeader,
    receipts: impl IntoIterator<Item = &'a Receipt>,
) -> io::Result<()> {
    let mut json = serde_json::to_vec(header)?;
    json.resize(json.len().next_multiple_of(RECEIPT_BYTES), b' ');
    sink.write_all(MAGIC)?;
    sink.write_all(&VERSION.to_le_bytes())?;
    sink.write_all(&(json.len() as u32).to_le_bytes())?;
    sink.write_all(&json)?;
    let (mut count, mut checksum) = (0_u64, crc32fast::Hasher::new());
    for receipt in receipts {
        let record = receipt.to_bytes();
        checksum.update(&record);
        sink.write_all(&record)?;
        count += 1;
    }
    sink.write_all(END_MAGIC)?;
    sink.write_all(&count.to_le_bytes())?;
    sink.write_all(&u64::from(checksum.finalize()).to_le_bytes())?;
    sink.flush()
}

impl Receipt {
    fn to_bytes(self) -> [u8; RECEIPT_BYTES] {
        let mut record = [0; RECEIPT_BYTES];
        record[..8].copy_from_slice(&self.at_ns.to_le_bytes());
        record[8..12].copy_from_slice(&self.subscriber.to_le_bytes());
        record[12..16].copy_from_slice(&self.bytes.to_le_bytes());
        record[16..20].copy_from_slice(&self.crc32.to_le_bytes());
        record[20] = self.kind as u8;
        record
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_what_the_specification_says() {
        let header = ReceiptHeader {
            clock: "CLOCK_MONOTONIC".to_owned(),
            url: "ws://127.0.0.1:1/feed".to_owned(),
            subscribers: 2,
        };
        let receipt = Receipt {
            at_ns: 0x0102_0304_0506_0708,
            subscriber: 9,
            bytes: 3,
            crc32: crc32fast::hash(b"abc"),
            kind: ReceiptKind::Text,
        };
        let mut file = Vec::new();
        write_receipts(&mut file, &header, &[receipt]).unwrap();
        assert_eq!(&file[..8], MAGIC);
        let length = u32::from_le_bytes(file[12..16].try_into().unwrap()) as usize;
        let read: ReceiptHeader = serde_json::from_slice(&file[16..16 + length]).unwrap();
        assert_eq!(read, header);
        let record = &file[16 + length..16 + length + RECEIPT_BYTES];
        assert_eq!(record[..8], [8, 7, 6, 5, 4, 3, 2, 1]);
        assert_eq!(record[8..16], [9, 0, 0, 0, 3, 0, 0, 0]);
        assert_eq!(record[16..20], crc32fast::hash(b"abc").to_le_bytes());
        assert_eq!(record[20..], [1, 0, 0, 0]);
        let end = &file[16 + length + RECEIPT_BYTES..];
        assert_eq!(&end[..8], END_MAGIC);
        assert_eq!(end[8..16], 1_u64.to_le_bytes());
        assert_eq!(
            end[16..24],
            u64::from(crc32fast::hash(record)).to_le_bytes()
        );
    }

    #[test]
    fn what_is_numbered_for_each_connection_is_left_out() {
        let table: [(&str, &str); 5] = [
            (r#"{"q":"1.2"}"#, r#"{"q":"1.2"}"#),
            (r#"{"sequence_num":12,"a":1}"#, r#"{"sequence_num":,"a":1}"#),
            (r#"{"socket_sequence":7}"#, r#"{"socket_sequence":}"#),
            (r#"{"sequence_num":"x"}"#, r#"{"sequence_num":"x"}"#),
            (
                r#"{"sequence_num":1,"x":{"socket_sequence":22}}"#,
                r#"{"sequence_num":,"x":{"socket_sequence":}}"#,
            ),
        ];
        for (payload, shared) in table {
            let expected = (shared.len() as u32, crc32fast::hash(shared.as_bytes()));
            assert_eq!(identity(payload.as_bytes()), expected, "{payload}");
        }
    }
}
