//! Raw samples, one record per message: the layout of `samples.fbs` (see `spec/README.md`).
//!
//! Magic, version and a JSON header; records of 32 bytes, little-endian, aligned so that numpy maps them as they are;
//! a footer that proves the file whole. A file that was cut short (full disk, killed process) has no footer and
//! still gives all its whole records.

mod reader;
mod writer;

pub use reader::{Ending, SampleError, SampleReader};
pub use writer::SampleWriter;

use serde::{Deserialize, Serialize};

pub(crate) const MAGIC: [u8; 8] = *b"FBSAMPLE";
pub(crate) const FOOTER_MAGIC: [u8; 8] = *b"FBSMPEND";
pub(crate) const VERSION: u32 = 1;

/// Bytes of one record, and of the footer.
pub const RECORD_BYTES: usize = 32;

/// The columns in the order of their bytes.
pub const COLUMNS: [&str; 5] = [
    "intended_ns",
    "sent_ns",
    "received_ns",
    "connection",
    "slice",
];

/// One measured message; times on CLOCK_MONOTONIC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// When the pacer wanted it sent.
    pub intended_ns: u64,
    /// When the engine sent it.
    pub sent_ns: u64,
    /// When its answer was there.
    pub received_ns: u64,
    /// Which connection, from 0.
    pub connection: u32,
    /// Which slice of the block, from 0.
    pub slice: u32,
}

impl Sample {
    /// The record's bytes.
    #[inline]
    #[must_use]
    pub fn to_bytes(self) -> [u8; RECORD_BYTES] {
        let mut bytes = [0; RECORD_BYTES];
        bytes[0..8].copy_from_slice(&self.intended_ns.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.sent_ns.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.received_ns.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.connection.to_le_bytes());
        bytes[28..32].copy_from_slice(&self.slice.to_le_bytes());
        bytes
    }

    /// The record in these bytes.
    #[must_use]
    pub fn from_bytes(bytes: [u8; RECORD_BYTES]) -> Self {
        Self {
            intended_ns: u64_at(&bytes, 0),
            sent_ns: u64_at(&bytes, 8),
            received_ns: u64_at(&bytes, 16),
            connection: u32_at(&bytes, 24),
            slice: u32_at(&bytes, 28),
        }
    }
}

/// The JSON between the magic and the first record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SampleHeader {
    /// Always `CLOCK_MONOTONIC`: the one clock with the same epoch in every language on a host.
    pub clock: String,
    /// The cell or target that was measured.
    pub name: String,
    /// Always [`COLUMNS`]; written out so that a reader without this page can make sense of the file.
    pub columns: Vec<String>,
    /// Share of each slice that was left out at its head.
    pub drop_first: f64,
}

impl SampleHeader {
    /// The header for samples of `name`.
    #[must_use]
    pub fn new(name: &str, drop_first: f64) -> Self {
        Self {
            clock: "CLOCK_MONOTONIC".to_owned(),
            name: name.to_owned(),
            columns: COLUMNS.map(str::to_owned).to_vec(),
            drop_first,
        }
    }
}

pub(crate) fn u64_at(bytes: &[u8; RECORD_BYTES], offset: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[offset..offset + 8]);
    u64::from_le_bytes(word)
}

pub(crate) fn u32_at(bytes: &[u8; RECORD_BYTES], offset: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[offset..offset + 4]);
    u32::from_le_bytes(word)
}

/// CRC-32 (IEEE 802.3, as in zlib and gzip): every language that writes or checks a sample file has a fast one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Checksum(crc32fast::Hasher);

impl Checksum {
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The checksum of all bytes so far, as wide as the footer's field.
    pub(crate) fn value(&self) -> u64 {
        u64::from(self.0.clone().finalize())
    }
}
