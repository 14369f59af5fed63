//! Writes a ledger.

use super::{
    Header, Sent, CHECK_AT, KIND_END, KIND_SENT, KIND_STREAM, MAGIC, NAME_BYTES, RECORD_BYTES,
    VERSION,
};
use std::io::{self, BufWriter, Write};

/// Appends records; call [`LedgerWriter::finish`] at the end, or the file will be read as cut short.
pub struct LedgerWriter<W: Write> {
    out: BufWriter<W>,
    records: u64,
}

impl<W: Write> LedgerWriter<W> {
    /// Writes the header.
    pub fn new(out: W, header: &Header) -> io::Result<Self> {
        let mut text = serde_json::to_vec(header)?;
        text.resize((16 + text.len()).next_multiple_of(RECORD_BYTES) - 16, b' ');
        let mut out = BufWriter::with_capacity(1 << 16, out);
        out.write_all(MAGIC)?;
        out.write_all(&VERSION.to_le_bytes())?;
        out.write_all(&(text.len() as u32).to_le_bytes())?;
        out.write_all(&text)?;
        Ok(Self { out, records: 0 })
    }

    /// Says what a stream is called: `binance btcusdt@trade`. Before the first message of the stream.
    pub fn name_stream(&mut self, stream: u32, name: &str) -> io::Result<()> {
        // A name longer than a record goes on in the next; at least one part, so that an empty name is a name, too.
        let parts = name.len().div_ceil(NAME_BYTES).max(1);
        for part in 0..parts {
            let text = &name.as_bytes()[part * NAME_BYTES..name.len().min((part + 1) * NAME_BYTES)];
            let mut record = [0; RECORD_BYTES];
            record[0] = KIND_STREAM;
            record[1] = text.len() as u8;
            record[2..4].copy_from_slice(&(part as u16).to_le_bytes());
            record[4..8].copy_from_slice(&stream.to_le_bytes());
            record[8..8 + text.len()].copy_from_slice(text);
            self.write(record)?;
        }
        Ok(())
    }

    /// Adds a message. Allocates nothing.
    pub fn append(&mut self, sent: &Sent) -> io::Result<()> {
        let mut record = [0; RECORD_BYTES];
        record[0] = KIND_SENT;
        record[1] = sent.fault;
        let mut at = 4;
        let mut put = |bytes: &[u8]| {
            record[at..at + bytes.len()].copy_from_slice(bytes);
            at += bytes.len();
        };
        put(&sent.stream.to_le_bytes());
        for number in [sent.born_ns, sent.scheduled_ns, sent.sent_ns, sent.sequence] {
            put(&number.to_le_bytes());
        }
        for number in [
            sent.connection,
            sent.recipients,
            sent.payload_bytes,
            sent.payload_crc32,
            sent.spread_ns,
        ] {
            put(&number.to_le_bytes());
        }
        self.write(record)
    }

    fn write(&mut self, mut record: [u8; RECORD_BYTES]) -> io::Result<()> {
        let check = crc32fast::hash(&record[..CHECK_AT]);
        record[CHECK_AT..].copy_from_slice(&check.to_le_bytes());
        self.records += 1;
        self.out.write_all(&record)
    }

    /// Hands what is buffered to the file.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// Writes the end record and returns what was written to.
    pub fn finish(mut self) -> io::Result<W> {
        let mut record = [0; RECORD_BYTES];
        record[0] = KIND_END;
        record[8..16].copy_from_slice(&self.records.to_le_bytes());
        self.write(record)?;
        self.into_inner()
    }

    /// Leaves the file without its end, as when a run is interrupted.
    pub fn into_inner(self) -> io::Result<W> {
        self.out.into_inner().map_err(|error| error.into_error())
    }
}
