//! Compression of whole messages.

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

use super::DeflateError;

/// What a sync flush ends with, and what both ends leave out on the wire (RFC 7692, 7.2.1).
const TAIL: [u8; 4] = [0x00, 0x00, 0xff, 0xff];

/// The smallest window that zlib makes a raw stream with; it refuses 2^8.
const SMALLEST_ZLIB_WINDOW_BITS: u8 = 9;

/// Room added at a time; a step of the growth, not a limit.
const STEP_BYTES: usize = 4096;

/// Compresses one direction of a connection.
#[derive(Debug)]
pub struct Compressor {
    stream: Compress,
    no_context_takeover: bool,
}

impl Compressor {
    /// A stream with a window of 2^`window_bits` bytes (8 to 15), that forgets it after each message or keeps it.
    ///
    /// zlib cannot compress with 2^8, so such a stream is written in stored blocks: without references backwards any
    /// window is large enough, and every receiver can read it.
    #[must_use]
    pub fn new(window_bits: u8, no_context_takeover: bool, level: Compression) -> Self {
        let level = if window_bits < SMALLEST_ZLIB_WINDOW_BITS {
            Compression::none()
        } else {
            level
        };
        let window_bits = window_bits.max(SMALLEST_ZLIB_WINDOW_BITS);
        let stream = Compress::new_with_window_bits(level, false, window_bits);
        Self {
            stream,
            no_context_takeover,
        }
    }

    /// Appends the compressed payload of one message to `out`. Allocates only if `out` lacks room.
    ///
    /// # Errors
    /// If the stream is in disorder, which would be an error in zlib.
    pub fn compress(&mut self, message: &[u8], out: &mut Vec<u8>) -> Result<(), DeflateError> {
        if message.is_empty() {
            // A sync flush without input writes nothing after an earlier one; RFC 7692, 7.2.3.6 gives this byte.
            out.push(0x00);
            return Ok(());
        }
        let before = self.stream.total_in();
        loop {
            out.reserve(STEP_BYTES.max(message.len() / 4));
            let taken = (self.stream.total_in() - before) as usize;
            let status = self
                .stream
                .compress_vec(&message[taken..], out, FlushCompress::Sync);
            status.map_err(|error| DeflateError::Damaged(error.to_string()))?;
            // zlib is done with a flush when it leaves room; a full buffer means that more is waiting.
            if out.len() < out.capacity() {
                break;
            }
        }
        if out.ends_with(&TAIL) {
            out.truncate(out.len() - TAIL.len());
        }
        if self.no_context_takeover {
            self.stream.reset();
        }
        Ok(())
    }
}

/// Decompresses one direction of a connection.
#[derive(Debug)]
pub struct Decompressor {
    stream: Decompress,
    no_context_takeover: bool,
    limit_bytes: usize,
    /// Bytes of the current message given out so far.
    message_bytes: usize,
}

impl Decompressor {
    /// A stream for a peer that compresses with at most 2^`window_bits` bytes (8 to 15); no message may have more than
    /// `limit_bytes`, since a kilobyte on the wire can become a megabyte in memory.
    #[must_use]
    pub fn new(window_bits: u8, no_context_takeover: bool, limit_bytes: usize) -> Self {
        let window_bits = window_bits.max(SMALLEST_ZLIB_WINDOW_BITS);
        let stream = Decompress::new_with_window_bits(false, window_bits);
        Self {
            stream,
            no_context_takeover,
            limit_bytes,
            message_bytes: 0,
        }
    }

    /// Takes the payload of one frame of a message, `last` with its final one, and appends to `out` what comes of it.
    /// Allocates only if `out` lacks room.
    ///
    /// # Errors
    /// [`DeflateError::Damaged`] and [`DeflateError::TooLarge`]; the stream is lost then, as is the connection.
    pub fn decompress(
        &mut self,
        payload: &[u8],
        last: bool,
        out: &mut Vec<u8>,
    ) -> Result<(), DeflateError> {
        self.inflate(payload, out)?;
        if last {
            self.inflate(&TAIL, out)?;
            self.message_bytes = 0;
            if self.no_context_takeover {
                self.stream.reset(false);
            }
        }
        Ok(())
    }

    fn inflate(&mut self, mut input: &[u8], out: &mut Vec<u8>) -> Result<(), DeflateError> {
        loop {
            let (consumed, produced) = (self.stream.total_in(), out.len());
            // One byte beyond the limit is room enough to see that the message goes on.
            let allowed = self.limit_bytes.saturating_add(1) - self.message_bytes;
            out.reserve(STEP_BYTES.max(input.len()).min(allowed));
            let status = self
                .stream
                .decompress_vec(input, out, FlushDecompress::Sync)
                .map_err(|error| DeflateError::Damaged(error.to_string()))?;
            input = &input[(self.stream.total_in() - consumed) as usize..];
            self.message_bytes += out.len() - produced;
            if self.message_bytes > self.limit_bytes {
                return Err(DeflateError::TooLarge {
                    limit_bytes: self.limit_bytes,
                });
            }
            match status {
                // A peer may end its stream (BFINAL) within a message; what follows is a new one (7.2.3.4).
                Status::StreamEnd => self.stream.reset(false),
                Status::Ok | Status::BufError if out.len() < out.capacity() => {
                    return self.all_consumed(input);
                }
                Status::Ok | Status::BufError => {}
            }
        }
    }

    fn all_consumed(&self, rest: &[u8]) -> Result<(), DeflateError> {
        if rest.is_empty() {
            return Ok(());
        }
        Err(DeflateError::Damaged(format!(
            "{} bytes after its end",
            rest.len()
        )))
    }
}
