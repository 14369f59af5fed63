//! A connection's messages as a stamps file (spec/feed.md), so that they are read and joined like a client's own.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use feedbench_wire::frame::Opcode;

const KIND_TEXT: u8 = 1;
const KIND_BINARY: u8 = 2;
const KIND_CONNECTED: u8 = 3;
const KIND_END: u8 = 4;

/// An open file.
#[derive(Debug)]
pub struct StampsFile {
    file: BufWriter<File>,
}

impl StampsFile {
    /// Makes the file, with its header.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn create(path: &Path) -> io::Result<Self> {
        let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
        file.write_all(b"FBSTAMPS\x01\0\0\0\0\0\0\0")?;
        Ok(Self { file })
    }

    /// The handshake was answered.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn connected(&mut self, stamp_ns: u64, unix_ms: u64) -> io::Result<()> {
        self.write(stamp_ns, unix_ms, KIND_CONNECTED, &[])
    }

    /// A message was on the wire.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn message(
        &mut self,
        opcode: Opcode,
        payload: &[u8],
        stamp_ns: u64,
        unix_ms: u64,
    ) -> io::Result<()> {
        let kind = if opcode == Opcode::Binary {
            KIND_BINARY
        } else {
            KIND_TEXT
        };
        self.write(stamp_ns, unix_ms, kind, payload)
    }

    /// The last record, with the reason for which there are no more; empty when the connection had ended.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn end(mut self, stamp_ns: u64, unix_ms: u64, reason: &str) -> io::Result<()> {
        self.write(stamp_ns, unix_ms, KIND_END, reason.as_bytes())?;
        self.file.flush()
    }

    fn write(&mut self, stamp_ns: u64, unix_ms: u64, kind: u8, payload: &[u8]) -> io::Result<()> {
        self.file.write_all(&stamp_ns.to_le_bytes())?;
        self.file.write_all(&unix_ms.to_le_bytes())?;
        self.file.write_all(&(payload.len() as u32).to_le_bytes())?;
        self.file.write_all(&[kind, 0, 0, 0])?;
        self.file.write_all(payload)
    }
}
