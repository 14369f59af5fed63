//! The exchange's own record of when each event was born and when it left, to be joined with what a client received.
//!
//! The file is specified in `spec/ledger.md`: a header, then records of 64 bytes, each with its own checksum, so that
//! a file that was cut at any byte is read up to its last whole record.

mod join;
mod reader;
mod writer;

pub use join::{join, Received};
pub use reader::{Ledger, LedgerError};
pub use writer::LedgerWriter;

use serde::{Deserialize, Serialize};

const MAGIC: &[u8; 8] = b"FBLEDGER";
const VERSION: u32 = 1;
const RECORD_BYTES: usize = 64;
/// Where a record's CRC-32 of the bytes before it stands.
const CHECK_AT: usize = 60;
/// Bytes of a name in one record.
const NAME_BYTES: usize = 52;

const KIND_SENT: u8 = 1;
const KIND_STREAM: u8 = 2;
const KIND_END: u8 = 3;

/// What is known when the file begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Always `CLOCK_MONOTONIC`.
    pub clock: String,
    /// When the market opened, on that clock.
    pub opened_ns: u64,
    /// What the exchange's wall clock showed then.
    pub opened_unix_ns: u64,
    /// The market's seed; absent for a replay.
    pub seed: Option<u64>,
    /// False if messages left as fast as they could, so that the schedule means nothing.
    pub paced: bool,
}

/// One message of a stream: from its birth until the last subscriber had it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Number of the stream's name in this file.
    pub stream: u32,
    /// When what it tells was published.
    pub born_ns: u64,
    /// When it should have left.
    pub scheduled_ns: u64,
    /// When the write to the first subscriber began.
    pub sent_ns: u64,
    /// From then until the write to the last subscriber ended; at most 4.29 s.
    pub spread_ns: u32,
    /// The exchange's own number of the message; zero where it has none.
    pub sequence: u64,
    /// Its connection, or [`EVERYBODY`].
    pub connection: u32,
    /// How many got it.
    pub recipients: u32,
    /// Length of the payload as sent.
    pub payload_bytes: u32,
    /// CRC-32 of the payload as sent; without the connection's own number where the exchange puts one in.
    pub payload_crc32: u32,
    /// Zero, or the number of the fault that spoiled it ([`crate::faults::FaultKind::code`]).
    pub fault: u8,
}

/// The connection of a message that all subscribers of its stream got.
pub const EVERYBODY: u32 = u32::MAX;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn header() -> Header {
        Header {
            clock: "CLOCK_MONOTONIC".to_owned(),
            opened_ns: 123,
            opened_unix_ns: 1_618_677_817_000_000_000,
            seed: Some(7),
            paced: true,
        }
    }

    prop_compose! {
        fn messages()(
            numbers: [u64; 4], small: [u32; 5], stream in 0u32..3, fault: u8,
        ) -> Sent {
            let [born_ns, scheduled_ns, sent_ns, sequence] = numbers;
            let [spread_ns, connection, recipients, payload_bytes, payload_crc32] = small;
            Sent {
                stream, born_ns, scheduled_ns, sent_ns, spread_ns, sequence, connection, recipients, payload_bytes,
                payload_crc32, fault,
            }
        }
    }

    /// A ledger in which the names of streams come between the messages.
    fn written(messages: &[Sent], finish: bool) -> Vec<u8> {
        let mut writer = LedgerWriter::new(Vec::new(), &header()).unwrap();
        for (index, message) in messages.iter().enumerate() {
            if index < 3 {
                writer
                    .name_stream(
                        index as u32,
                        &format!("exchange {}", "long-name-".repeat(index * 9)),
                    )
                    .unwrap();
            }
            writer.append(message).unwrap();
        }
        match finish {
            true => writer.finish().unwrap(),
            false => writer.into_inner().unwrap(),
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(messages in proptest::collection::vec(messages(), 0..20)) {
            let bytes = written(&messages, true);
            let ledger = Ledger::read(&bytes).unwrap();
            prop_assert!(ledger.complete());
            prop_assert_eq!(ledger.header(), &header());
            prop_assert_eq!(ledger.messages().collect::<Vec<_>>(), messages);
            for (stream, name) in ledger.streams() {
                prop_assert_eq!(name.clone(), format!("exchange {}", "long-name-".repeat(*stream as usize * 9)));
            }
        }

        #[test]
        fn a_file_cut_anywhere_is_read_up_to_its_last_whole_record(
            messages in proptest::collection::vec(messages(), 1..12),
            cut in 0.0f64..1.0,
        ) {
            let bytes = written(&messages, true);
            let bytes = &bytes[..(bytes.len() as f64 * cut) as usize];
            match Ledger::read(bytes) {
                Ok(ledger) => {
                    prop_assert!(!ledger.complete());
                    let read: Vec<Sent> = ledger.messages().collect();
                    prop_assert_eq!(&read[..], &messages[..read.len()]);
                    let whole = bytes.len() / RECORD_BYTES;
                    prop_assert!(read.len() + ledger.streams().len() * 5 + 4 >= whole, "whole records are kept");
                }
                Err(error) => prop_assert!(matches!(error, LedgerError::HeaderCut), "{}", error),
            }
        }

        #[test]
        fn damage_is_noticed_and_what_stands_before_it_is_kept(
            messages in proptest::collection::vec(messages(), 1..12),
            at in 0.0f64..1.0,
            bit in 0u8..8,
        ) {
            let mut bytes = written(&messages, true);
            let at = (bytes.len() as f64 * at) as usize;
            bytes[at] ^= 1 << bit;
            if let Ok(ledger) = Ledger::read(&bytes) {
                let read: Vec<Sent> = ledger.messages().collect();
                prop_assert_eq!(&read[..], &messages[..read.len()]);
            }
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let _ = Ledger::read(&bytes);
            let mut with_magic = MAGIC.to_vec();
            with_magic.extend(&bytes);
            let _ = Ledger::read(&with_magic).map(|ledger| ledger.messages().count());
        }
    }

    #[test]
    fn a_ledger_that_nobody_finished_says_so() {
        let bytes = written(&[], false);
        assert!(!Ledger::read(&bytes).unwrap().complete());
    }

    #[test]
    fn other_files_and_other_versions_are_refused() {
        assert!(matches!(
            Ledger::read(b"FBSAMPLE........"),
            Err(LedgerError::NotALedger)
        ));
        let mut bytes = written(&[], true);
        bytes[8] = 9;
        assert!(matches!(Ledger::read(&bytes), Err(LedgerError::Version(9))));
    }
}
