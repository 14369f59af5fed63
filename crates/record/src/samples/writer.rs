//! Writes `samples.fbs`.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use super::{Checksum, Sample, SampleHeader, FOOTER_MAGIC, MAGIC, RECORD_BYTES, VERSION};

/// Appends records to a buffer that exists already, and writes them out where the caller allows it.
///
/// [`append`](Self::append) does not allocate and makes no system call while the buffer has room. A full buffer is
/// written out inside `append` (a system call for the default 1 MiB), so a loop that must not
/// be held up gives [`with_capacity`](Self::with_capacity) room for a slice and calls [`flush`](Self::flush) between
/// slices.
///
/// A failed write is remembered: later records are counted but not kept, each `flush` and `finish` returns the error,
/// and the file keeps what reached it, without a footer.
pub struct SampleWriter<W: Write> {
    sink: W,
    buffer: Vec<u8>,
    capacity_bytes: usize,
    written: u64,
    appended: u64,
    checksum: Checksum,
    failure: Option<(io::ErrorKind, String)>,
}

/// 32,768 records.
const DEFAULT_CAPACITY_RECORDS: usize = (1 << 20) / RECORD_BYTES;

impl SampleWriter<File> {
    /// Creates the file and writes its header.
    ///
    /// # Errors
    /// Whatever the file system says, with the path in front.
    pub fn create(path: &Path, header: &SampleHeader) -> io::Result<Self> {
        let named =
            |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
        let file = File::create(path).map_err(named)?;
        Self::new(file, header).map_err(named)
    }
}

impl<W: Write> SampleWriter<W> {
    /// Writes the header at once, so that an unusable sink shows itself before the run and not after it.
    ///
    /// # Errors
    /// Whatever the sink says.
    pub fn new(mut sink: W, header: &SampleHeader) -> io::Result<Self> {
        let mut json = serde_json::to_vec(header)?;
        let prefix = MAGIC.len() + 8;
        json.resize(
            (prefix + json.len()).next_multiple_of(RECORD_BYTES) - prefix,
            b' ',
        );
        let length = u32::try_from(json.len()).map_err(|_| {
            io::Error::new(io::ErrorKind::InvalidInput, "sample header beyond 4 GiB")
        })?;
        sink.write_all(&MAGIC)?;
        sink.write_all(&VERSION.to_le_bytes())?;
        sink.write_all(&length.to_le_bytes())?;
        sink.write_all(&json)?;
        let writer = Self {
            sink,
            buffer: Vec::new(),
            capacity_bytes: 0,
            written: 0,
            appended: 0,
            checksum: Checksum::default(),
            failure: None,
        };
        Ok(writer.with_capacity(DEFAULT_CAPACITY_RECORDS))
    }

    /// Gives the buffer room for `records`, and touches it so that appending meets no page fault.
    #[must_use]
    pub fn with_capacity(mut self, records: usize) -> Self {
        self.capacity_bytes = records.max(1) * RECORD_BYTES;
        let held = self.buffer.len();
        let touched = self.capacity_bytes.max(held);
        self.buffer.resize(touched, std::hint::black_box(1));
        self.buffer.truncate(held);
        self
    }

    /// Keeps one record. The hot path: no allocation, and a system call only when the buffer is full.
    #[inline]
    pub fn append(&mut self, sample: Sample) {
        if self.buffer.len() >= self.capacity_bytes {
            self.write_out();
        }
        self.appended += 1;
        self.buffer.extend_from_slice(&sample.to_bytes());
    }

    /// Records appended so far, kept or not.
    #[must_use]
    pub fn appended(&self) -> u64 {
        self.appended
    }

    /// Writes out what waits in the buffer.
    ///
    /// # Errors
    /// The first error that any write met, here or inside `append`, with how many records are safe.
    pub fn flush(&mut self) -> io::Result<()> {
        self.write_out();
        match &self.failure {
            None => Ok(()),
            Some((kind, text)) => Err(io::Error::new(
                *kind,
                format!(
                    "{text}: {} of {} samples were written, the rest is lost",
                    self.written, self.appended
                ),
            )),
        }
    }

    /// Writes the rest and the footer; returns how many records the file holds, and the sink.
    ///
    /// # Errors
    /// As [`flush`](Self::flush). The file then has no footer, and readers call it incomplete.
    pub fn finish(mut self) -> io::Result<(u64, W)> {
        self.flush()?;
        let mut footer = [0; RECORD_BYTES];
        footer[0..8].copy_from_slice(&FOOTER_MAGIC);
        footer[8..16].copy_from_slice(&self.written.to_le_bytes());
        footer[16..24].copy_from_slice(&self.checksum.value().to_le_bytes());
        self.sink.write_all(&footer)?;
        self.sink.flush()?;
        Ok((self.written, self.sink))
    }

    #[cold]
    fn write_out(&mut self) {
        if self.failure.is_none() {
            if let Err(error) = self.write_records() {
                self.failure = Some((error.kind(), error.to_string()));
            }
        }
        self.buffer.clear();
    }

    /// One `write` at a time, to know how many whole records arrived before a disk filled up.
    fn write_records(&mut self) -> io::Result<()> {
        let mut done = 0;
        let mut outcome = Ok(());
        while done < self.buffer.len() {
            match self.sink.write(&self.buffer[done..]) {
                Ok(0) => outcome = Err(io::ErrorKind::WriteZero.into()),
                Ok(bytes) => done += bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => outcome = Err(error),
            }
            if outcome.is_err() {
                break;
            }
        }
        let whole = done / RECORD_BYTES;
        self.checksum.update(&self.buffer[..whole * RECORD_BYTES]);
        self.written += whole as u64;
        outcome
    }
}
