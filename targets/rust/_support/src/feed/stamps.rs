//! The sink `stamps`: one write to the kernel for each message.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};

use super::sink::{Error, Kind, Moment, Sink};

const VERSION: u64 = 1; // four bytes, and four of zero
const CONNECTED: u32 = 3;
const END: u32 = 4;
#[cfg(feature = "poll")]
const ANSWER: u32 = 5;

pub struct Stamps {
    file: File,
    /// The last one's memory, used again.
    record: Vec<u8>,
}

impl Stamps {
    pub fn open(path: &str) -> io::Result<Self> {
        let mut file = OpenOptions::new().append(true).create(true).open(path)?;
        if file.metadata()?.len() == 0 {
            file.write_all(&[b"FBSTAMPS".as_slice(), &VERSION.to_le_bytes()].concat())?;
        }
        Ok(Self {
            file,
            record: Vec::new(),
        })
    }

    fn write(&mut self, at: Moment, kind: u32, payload: &[u8]) -> Result<(), Error> {
        self.record.clear();
        self.record.extend(at.monotonic_ns.to_le_bytes());
        self.record.extend(at.unix_ms.to_le_bytes());
        self.record
            .extend(u32::try_from(payload.len())?.to_le_bytes());
        self.record.extend(kind.to_le_bytes()); // one byte, and three of zero
        self.record.extend_from_slice(payload);
        Ok(self.file.write_all(&self.record)?)
    }
}

impl Sink for Stamps {
    fn connected(&mut self, at: Moment) -> Result<(), Error> {
        self.write(at, CONNECTED, b"")
    }

    fn message(&mut self, at: Moment, kind: Kind, payload: &[u8]) -> Result<(), Error> {
        self.write(at, kind as u32, payload)
    }

    #[cfg(feature = "poll")]
    fn answer(&mut self, at: Moment, payload: &[u8]) -> Result<(), Error> {
        self.write(at, ANSWER, payload)
    }

    fn end(&mut self, at: Moment, reason: &str) -> Result<(), Error> {
        self.write(at, END, reason.as_bytes())
    }
}
