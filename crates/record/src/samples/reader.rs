//! Reads `samples.fbs`, whole or cut short.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use super::{u64_at, Checksum, Sample, SampleHeader, FOOTER_MAGIC, MAGIC, RECORD_BYTES, VERSION};

/// A header is a few hundred bytes; a length beyond this is damage, not a header to make room for.
const HEADER_LIMIT_BYTES: u32 = 1 << 20;

/// Why a file gives no samples at all.
#[derive(Debug, thiserror::Error)]
pub enum SampleError {
    /// The system refused.
    #[error("cannot read the sample file: {0}")]
    Io(#[from] io::Error),
    /// Something else than a sample file.
    #[error("this is no sample file: it begins with {0:02x?} instead of `FBSAMPLE`")]
    Magic([u8; 8]),
    /// Written by a later feedbench.
    #[error("sample file version {0}, but this feedbench reads version {VERSION}: use the feedbench that wrote it")]
    Version(u32),
    /// The file ends before its first record could begin, or its header is damaged.
    #[error("the sample file's header is damaged: {0}")]
    Header(String),
}

/// How a file ended; known once all records were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The footer is there, and count and checksum agree.
    Complete,
    /// No footer: the writer died or its disk was full. All whole records were given.
    CutShort,
    /// A footer that disagrees with the records: the file was damaged after it was written.
    Damaged,
}

/// Gives the records of a sample file one after the other.
#[derive(Debug)]
pub struct SampleReader<R: Read> {
    source: R,
    header: SampleHeader,
    /// Read ahead by one, as only the end of the file tells a footer from a record.
    ahead: Option<[u8; RECORD_BYTES]>,
    records: u64,
    checksum: Checksum,
    ending: Option<Ending>,
}

impl SampleReader<BufReader<File>> {
    /// Opens a file and reads its header.
    ///
    /// # Errors
    /// See [`SampleError`].
    pub fn open(path: &Path) -> Result<Self, SampleError> {
        Self::new(BufReader::with_capacity(1 << 20, File::open(path)?))
    }
}

impl<R: Read> SampleReader<R> {
    /// Reads the header.
    ///
    /// # Errors
    /// See [`SampleError`].
    pub fn new(mut source: R) -> Result<Self, SampleError> {
        let mut prefix = [0; 16];
        read_header(
            &mut source,
            &mut prefix,
            "it ends within the first 16 bytes",
        )?;
        let [magic @ .., v0, v1, v2, v3, l0, l1, l2, l3] = prefix;
        if magic != MAGIC {
            return Err(SampleError::Magic(magic));
        }
        let version = u32::from_le_bytes([v0, v1, v2, v3]);
        if version != VERSION {
            return Err(SampleError::Version(version));
        }
        let length = u32::from_le_bytes([l0, l1, l2, l3]);
        if length > HEADER_LIMIT_BYTES || (length as usize + prefix.len()) % RECORD_BYTES != 0 {
            return Err(SampleError::Header(format!(
                "{length} bytes cannot be its length"
            )));
        }
        let mut json = vec![0; length as usize];
        read_header(&mut source, &mut json, "the file ends within it")?;
        let header = serde_json::from_slice(&json)
            .map_err(|error| SampleError::Header(error.to_string()))?;
        let mut reader = Self {
            source,
            header,
            ahead: None,
            records: 0,
            checksum: Checksum::default(),
            ending: None,
        };
        reader.ahead = reader.read_chunk()?;
        Ok(reader)
    }

    /// What the file says about itself.
    #[must_use]
    pub fn header(&self) -> &SampleHeader {
        &self.header
    }

    /// The next record, or `None` at the end; [`ending`](Self::ending) then tells whether the file is whole.
    ///
    /// # Errors
    /// Whatever the source says; a file that just ends is no error.
    pub fn next_sample(&mut self) -> Result<Option<Sample>, SampleError> {
        let Some(chunk) = self.ahead.take() else {
            self.ending.get_or_insert(Ending::CutShort);
            return Ok(None);
        };
        self.ahead = self.read_chunk()?;
        if self.ahead.is_none() && chunk[..8] == FOOTER_MAGIC {
            let whole =
                u64_at(&chunk, 8) == self.records && u64_at(&chunk, 16) == self.checksum.value();
            self.ending = Some(if whole {
                Ending::Complete
            } else {
                Ending::Damaged
            });
            return Ok(None);
        }
        self.records += 1;
        self.checksum.update(&chunk);
        Ok(Some(Sample::from_bytes(chunk)))
    }

    /// How the file ended, `None` while records are left.
    #[must_use]
    pub fn ending(&self) -> Option<Ending> {
        self.ending
    }

    /// All records that are left, and how the file ended.
    ///
    /// # Errors
    /// As [`next_sample`](Self::next_sample).
    pub fn read_all(&mut self) -> Result<(Vec<Sample>, Ending), SampleError> {
        let mut samples = Vec::new();
        while let Some(sample) = self.next_sample()? {
            samples.push(sample);
        }
        Ok((samples, self.ending.unwrap_or(Ending::CutShort)))
    }

    /// 32 bytes, or `None` when fewer are left.
    fn read_chunk(&mut self) -> io::Result<Option<[u8; RECORD_BYTES]>> {
        let mut chunk = [0; RECORD_BYTES];
        match self.source.read_exact(&mut chunk) {
            Ok(()) => Ok(Some(chunk)),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            Err(error) => Err(error),
        }
    }
}

fn read_header(source: &mut impl Read, bytes: &mut [u8], short: &str) -> Result<(), SampleError> {
    source
        .read_exact(bytes)
        .map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => SampleError::Header(short.to_owned()),
            _ => SampleError::Io(error),
        })
}
