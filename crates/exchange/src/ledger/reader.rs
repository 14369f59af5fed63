//! Reads a ledger, whole or cut short.

use super::{
    Header, Sent, CHECK_AT, KIND_END, KIND_SENT, KIND_STREAM, MAGIC, NAME_BYTES, RECORD_BYTES,
    VERSION,
};
use std::collections::BTreeMap;

/// Why a file is not read as a ledger.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// Something else.
    #[error("not a ledger: it does not begin with FBLEDGER")]
    NotALedger,
    /// Written by another version.
    #[error("the ledger has version {0}, this reader knows version 1")]
    Version(u32),
    /// Nothing in it can be read.
    #[error("the ledger was cut within its header")]
    HeaderCut,
    /// Not what the specification says.
    #[error("the ledger's header cannot be read: {0}")]
    Header(#[from] serde_json::Error),
}

/// A ledger over the bytes of its file, mapped or read.
#[derive(Debug)]
pub struct Ledger<'a> {
    header: Header,
    streams: BTreeMap<u32, String>,
    /// Whole records only.
    records: &'a [u8],
    complete: bool,
}

impl<'a> Ledger<'a> {
    /// Checks every record; stops at the first that is not whole.
    pub fn read(bytes: &'a [u8]) -> Result<Self, LedgerError> {
        if !bytes.starts_with(&MAGIC[..bytes.len().min(8)]) {
            return Err(LedgerError::NotALedger);
        }
        if bytes.len() < 16 {
            return Err(LedgerError::HeaderCut);
        }
        match u32_at(bytes, 8) {
            VERSION => {}
            other => return Err(LedgerError::Version(other)),
        }
        let length = u32_at(bytes, 12) as usize;
        let rest = &bytes[16..];
        let header = serde_json::from_slice(rest.get(..length).ok_or(LedgerError::HeaderCut)?)?;
        let mut ledger = Self {
            header,
            streams: BTreeMap::new(),
            records: &rest[length..],
            complete: false,
        };
        ledger.check();
        Ok(ledger)
    }

    fn check(&mut self) {
        let mut names: BTreeMap<u32, Vec<u8>> = BTreeMap::new();
        let mut whole = 0;
        for record in self.records.chunks_exact(RECORD_BYTES) {
            if crc32fast::hash(&record[..CHECK_AT]) != u32_at(record, CHECK_AT) {
                break;
            }
            match record[0] {
                KIND_SENT => {}
                KIND_STREAM => {
                    let name = names.entry(u32_at(record, 4)).or_default();
                    if record[2..4] == [0, 0] {
                        name.clear();
                    }
                    name.extend(&record[8..8 + usize::from(record[1]).min(NAME_BYTES)]);
                }
                KIND_END => {
                    self.complete = u64_at(record, 8) == whole as u64;
                    break;
                }
                _ => break,
            }
            whole += 1;
        }
        self.records = &self.records[..whole * RECORD_BYTES];
        self.streams = names
            .into_iter()
            .map(|(id, name)| (id, String::from_utf8_lossy(&name).into_owned()))
            .collect();
    }

    /// What was known when the file began.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Names of the streams.
    pub fn streams(&self) -> &BTreeMap<u32, String> {
        &self.streams
    }

    /// True if the file was finished and nothing is missing.
    pub fn complete(&self) -> bool {
        self.complete
    }

    /// All messages, in the order in which they were sent.
    pub fn messages(&self) -> impl Iterator<Item = Sent> + '_ {
        self.records
            .chunks_exact(RECORD_BYTES)
            .filter(|record| record[0] == KIND_SENT)
            .map(|record| Sent {
                fault: record[1],
                stream: u32_at(record, 4),
                born_ns: u64_at(record, 8),
                scheduled_ns: u64_at(record, 16),
                sent_ns: u64_at(record, 24),
                sequence: u64_at(record, 32),
                connection: u32_at(record, 40),
                recipients: u32_at(record, 44),
                payload_bytes: u32_at(record, 48),
                payload_crc32: u32_at(record, 52),
                spread_ns: u32_at(record, 56),
            })
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}
