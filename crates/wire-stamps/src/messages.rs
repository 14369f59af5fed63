//! Messages in a server's bytes: the HTTP answer to the handshake, then frames.

use feedbench_wire::frame::{FrameError, Header, Opcode};

/// Longest answer to a handshake.
const MOST_HEAD_BYTES: usize = 64 << 10;
/// Longest message; a length beyond is no exchange's.
const MOST_MESSAGE_BYTES: u64 = 256 << 20;
const HEAD_END: &[u8] = b"\r\n\r\n";

/// Why a connection can't be followed any further.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MessagesError {
    /// It did not become a WebSocket: TLS, or an answer other than 101.
    #[error("the connection does not begin with a WebSocket handshake in plain text")]
    NoHandshake,
    /// A payload that has to be decompressed before it can be compared.
    #[error("a message is compressed")]
    Compressed,
    /// A header that no server may send.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// A server's frames are not masked.
    #[error("a frame of the server is masked")]
    Masked,
    /// A message longer than any exchange's.
    #[error("a message of more than {MOST_MESSAGE_BYTES} bytes")]
    TooLong,
}

/// A whole message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message<'a> {
    /// Text or binary.
    pub opcode: Opcode,
    /// Of all its frames.
    pub payload: &'a [u8],
    /// Since when its last byte could be read.
    pub stamp_ns: u64,
}

/// Takes a server's bytes in order, in pieces of any size.
#[derive(Debug, Default)]
pub struct Messages {
    is_open: bool,
    unread: Vec<u8>,
    message: Vec<u8>,
    opcode: Option<Opcode>,
}

impl Messages {
    /// True once the handshake was answered.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.is_open
    }

    /// Takes bytes that could be read since `stamp_ns` and calls `found` with each message that they complete.
    ///
    /// # Errors
    /// A [`MessagesError`] when the connection can't be followed any further.
    pub fn take(
        &mut self,
        bytes: &[u8],
        stamp_ns: u64,
        mut found: impl FnMut(Message<'_>),
    ) -> Result<(), MessagesError> {
        self.unread.extend_from_slice(bytes);
        let mut at = if self.is_open { 0 } else { self.head()? };
        if !self.is_open {
            return Ok(());
        }
        while let Some(end) = self.frame(at, stamp_ns, &mut found)? {
            at = end;
        }
        self.unread.drain(..at);
        Ok(())
    }

    /// Where the frames begin, if the answer is whole.
    fn head(&mut self) -> Result<usize, MessagesError> {
        const STATUS: &[u8] = b"HTTP/1.1 101 ";
        let known = self.unread.len().min(STATUS.len());
        if self.unread[..known] != STATUS[..known] || self.unread.len() > MOST_HEAD_BYTES {
            return Err(MessagesError::NoHandshake);
        }
        let end = self
            .unread
            .windows(HEAD_END.len())
            .position(|four| four == HEAD_END);
        self.is_open = end.is_some();
        Ok(end.map_or(0, |end| end + HEAD_END.len()))
    }

    /// Where the frame that begins at `at` ends, if it is whole.
    fn frame(
        &mut self,
        at: usize,
        stamp_ns: u64,
        found: &mut impl FnMut(Message<'_>),
    ) -> Result<Option<usize>, MessagesError> {
        let Some((header, header_bytes)) = Header::parse(&self.unread[at..])? else {
            return Ok(None);
        };
        if header.mask.is_some() {
            return Err(MessagesError::Masked);
        }
        if header.compressed {
            return Err(MessagesError::Compressed);
        }
        if header.payload_bytes + self.message.len() as u64 > MOST_MESSAGE_BYTES {
            return Err(MessagesError::TooLong);
        }
        let begin = at + header_bytes;
        let end = begin + header.payload_bytes as usize;
        let Some(payload) = self.unread.get(begin..end) else {
            return Ok(None);
        };
        if header.opcode.is_control() {
            return Ok(Some(end));
        }
        if header.opcode != Opcode::Continuation {
            self.opcode = Some(header.opcode);
            self.message.clear();
        }
        self.message.extend_from_slice(payload);
        if header.fin {
            if let Some(opcode) = self.opcode.take() {
                let payload = &self.message;
                found(Message {
                    opcode,
                    payload,
                    stamp_ns,
                });
            }
            self.message.clear();
        }
        Ok(Some(end))
    }
}
