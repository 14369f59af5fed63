//! From a client's bytes to its messages: frames, masks, fragments and limits of RFC 6455, without a socket.

use feedbench_wire::deflate::{Agreement, Decompressor, DeflateError};
use feedbench_wire::frame::{FrameError, Header, Opcode};
use feedbench_wire::mask;

/// What a client said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival<'a> {
    /// A whole text message, valid UTF-8.
    Text(&'a [u8]),
    /// A whole binary message.
    Binary(&'a [u8]),
    /// A ping, to be answered with its payload.
    Ping(&'a [u8]),
    /// A pong.
    Pong(&'a [u8]),
    /// It wants to close. What follows is not read.
    Close,
}

/// Why a connection cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// A frame that RFC 6455 does not allow.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// Clients must mask.
    #[error("a client's frame is not masked")]
    Unmasked,
    /// Compression was not negotiated, or it is a continuation that says so.
    #[error("a frame is compressed, which was not negotiated")]
    Compressed,
    /// What was compressed cannot be read.
    #[error("a compressed message is damaged")]
    Damaged,
    /// A continuation of nothing, or a new message within another.
    #[error("a fragment is out of order")]
    Fragment,
    /// A close frame with half a code, or one that must not be sent.
    #[error("a close frame has a bad status code")]
    CloseCode,
    /// A text that is no text.
    #[error("a text is not UTF-8")]
    NotText,
    /// Larger than the exchange takes.
    #[error("a message is larger than the exchange takes")]
    TooLarge,
}

impl Violation {
    /// The status code of RFC 6455, section 7.4.1.
    pub fn code(self) -> u16 {
        match self {
            Self::NotText | Self::Damaged => 1007,
            Self::TooLarge => 1009,
            _ => 1002,
        }
    }
}

/// What is left of a client's bytes between two reads. An idle client costs no allocation.
#[derive(Debug, Default)]
pub struct Inbound {
    /// The beginning of a frame whose end has not come yet.
    partial: Vec<u8>,
    /// The fragments of a message so far.
    message: Option<Fragments>,
    ended: bool,
    inflate: Option<Box<Inflate>>,
}

/// The beginning of a message.
#[derive(Debug)]
struct Fragments {
    opcode: Opcode,
    compressed: bool,
    payload: Vec<u8>,
}

/// Reads what a client compresses.
#[derive(Debug)]
struct Inflate {
    agreement: Agreement,
    /// Made with the first compressed message: most clients only listen, and its window takes 32 KiB.
    stream: Option<Decompressor>,
    plain: Vec<u8>,
}

impl Inflate {
    /// The message that a compressed payload holds.
    fn message(&mut self, payload: &[u8], limit_bytes: usize) -> Result<&[u8], Violation> {
        let agreement = self.agreement;
        let stream = self.stream.get_or_insert_with(|| {
            let forgets = agreement.client_no_context_takeover;
            Decompressor::new(agreement.client_window_bits(), forgets, limit_bytes)
        });
        self.plain.clear();
        match stream.decompress(payload, true, &mut self.plain) {
            Ok(()) => Ok(&self.plain),
            Err(DeflateError::TooLarge { .. }) => Err(Violation::TooLarge),
            Err(_) => Err(Violation::Damaged),
        }
    }
}

impl Inbound {
    /// Of a client that may compress its messages, as was agreed on.
    pub fn inflating(agreement: Agreement) -> Self {
        Self {
            inflate: Some(Box::new(Inflate {
                agreement,
                stream: None,
                plain: Vec::new(),
            })),
            ..Self::default()
        }
    }

    /// Takes bytes as they came, which it unmasks in place, and tells what they say. After an error or a close,
    /// nothing more.
    pub fn feed(
        &mut self,
        bytes: &mut [u8],
        limit_bytes: usize,
        mut tell: impl FnMut(Arrival<'_>),
    ) -> Result<(), Violation> {
        let result = if self.partial.is_empty() {
            self.frames(bytes, limit_bytes, &mut tell).map(|used| {
                self.partial.extend_from_slice(&bytes[used..]);
            })
        } else {
            let mut partial = std::mem::take(&mut self.partial);
            partial.extend_from_slice(bytes);
            self.frames(&mut partial, limit_bytes, &mut tell)
                .map(|used| {
                    partial.drain(..used);
                    if !partial.is_empty() {
                        self.partial = partial;
                    }
                })
        };
        self.ended |= result.is_err();
        result
    }

    /// Takes whole frames off the front; returns how many bytes they had.
    fn frames(
        &mut self,
        bytes: &mut [u8],
        limit_bytes: usize,
        tell: &mut impl FnMut(Arrival<'_>),
    ) -> Result<usize, Violation> {
        let mut used = 0;
        while !self.ended {
            let Some((header, header_bytes)) = Header::parse(&bytes[used..])? else {
                break;
            };
            let key = header.mask.ok_or(Violation::Unmasked)?;
            if header.compressed
                && (self.inflate.is_none() || header.opcode == Opcode::Continuation)
            {
                return Err(Violation::Compressed);
            }
            let earlier = match (&self.message, header.opcode.is_control()) {
                (Some(earlier), false) => earlier.payload.len(),
                _ => 0,
            };
            // Refused by what the header announces: nobody makes us hold more than the limit.
            if header.payload_bytes > (limit_bytes - earlier) as u64 {
                return Err(Violation::TooLarge);
            }
            let start = used + header_bytes;
            let end = start + header.payload_bytes as usize;
            if bytes.len() < end {
                break;
            }
            let payload = &mut bytes[start..end];
            mask::apply(key, payload, 0);
            self.frame(header, payload, limit_bytes, tell)?;
            used = end;
        }
        Ok(if self.ended { bytes.len() } else { used })
    }

    fn frame(
        &mut self,
        header: Header,
        payload: &[u8],
        limit_bytes: usize,
        tell: &mut impl FnMut(Arrival<'_>),
    ) -> Result<(), Violation> {
        let compressed = header.compressed;
        match header.opcode {
            Opcode::Ping => tell(Arrival::Ping(payload)),
            Opcode::Pong => tell(Arrival::Pong(payload)),
            Opcode::Close => {
                check_close(payload)?;
                self.ended = true;
                tell(Arrival::Close);
            }
            Opcode::Text | Opcode::Binary if self.message.is_some() => {
                return Err(Violation::Fragment)
            }
            opcode @ (Opcode::Text | Opcode::Binary) if header.fin => {
                self.message((opcode, compressed), payload, limit_bytes, tell)?;
            }
            opcode @ (Opcode::Text | Opcode::Binary) => {
                self.message = Some(Fragments {
                    opcode,
                    compressed,
                    payload: payload.to_vec(),
                });
            }
            Opcode::Continuation => {
                let mut whole = self.message.take().ok_or(Violation::Fragment)?;
                whole.payload.extend_from_slice(payload);
                if header.fin {
                    let kind = (whole.opcode, whole.compressed);
                    self.message(kind, &whole.payload, limit_bytes, tell)?;
                } else {
                    self.message = Some(whole);
                }
            }
        }
        Ok(())
    }

    /// Tells a whole message, decompressed if need be.
    fn message(
        &mut self,
        (opcode, compressed): (Opcode, bool),
        payload: &[u8],
        limit_bytes: usize,
        tell: &mut impl FnMut(Arrival<'_>),
    ) -> Result<(), Violation> {
        let payload = match self.inflate.as_mut().filter(|_| compressed) {
            Some(inflate) => inflate.message(payload, limit_bytes)?,
            None => payload,
        };
        tell(message(opcode, payload)?);
        Ok(())
    }
}

fn message(opcode: Opcode, payload: &[u8]) -> Result<Arrival<'_>, Violation> {
    if opcode == Opcode::Binary {
        return Ok(Arrival::Binary(payload));
    }
    std::str::from_utf8(payload).map_err(|_| Violation::NotText)?;
    Ok(Arrival::Text(payload))
}

/// RFC 6455, sections 5.5.1 and 7.4: no payload, or a code that may be sent and a reason in UTF-8.
fn check_close(payload: &[u8]) -> Result<(), Violation> {
    let Some((code, reason)) = payload.split_first_chunk::<2>() else {
        return if payload.is_empty() {
            Ok(())
        } else {
            Err(Violation::CloseCode)
        };
    };
    let may_be_sent = matches!(u16::from_be_bytes(*code), 1000..=1003 | 1007..=1014 | 3000..=4999);
    if !may_be_sent {
        return Err(Violation::CloseCode);
    }
    std::str::from_utf8(reason).map_err(|_| Violation::NotText)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use feedbench_wire::frame::append;

    const LIMIT_BYTES: usize = 1_000;

    fn frame(fin: bool, opcode: Opcode, payload: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mask = Some([1, 2, 3, 4]);
        let header = Header {
            fin,
            ..Header::message(opcode, payload.len() as u64, mask)
        };
        append(&mut bytes, header, payload);
        bytes
    }

    /// What is told of bytes that come in pieces of this size.
    fn told(bytes: &[u8], piece_bytes: usize) -> (Vec<String>, Option<Violation>) {
        let mut inbound = Inbound::default();
        let mut told = Vec::new();
        for piece in bytes.to_vec().chunks_mut(piece_bytes) {
            let tell = |arrival: Arrival<'_>| {
                told.push(match arrival {
                    Arrival::Text(text) => format!("text {}", String::from_utf8_lossy(text)),
                    other => format!("{other:?}"),
                });
            };
            if let Err(violation) = inbound.feed(piece, LIMIT_BYTES, tell) {
                return (told, Some(violation));
            }
        }
        (told, None)
    }

    #[test]
    fn messages_are_told_however_the_bytes_are_cut() {
        let bytes = [
            frame(true, Opcode::Text, "grüß".as_bytes()),
            frame(false, Opcode::Text, &"é".as_bytes()[..1]),
            frame(true, Opcode::Ping, b"in between"),
            frame(false, Opcode::Continuation, &"é".as_bytes()[1..]),
            frame(true, Opcode::Continuation, b"!"),
            frame(true, Opcode::Binary, &[0xff]),
            frame(true, Opcode::Pong, b""),
            frame(true, Opcode::Close, &[3, 232]),
            frame(true, Opcode::Text, b"after the end"),
        ]
        .concat();
        let whole = told(&bytes, bytes.len());
        assert_eq!(
            whole.0,
            [
                "text grüß",
                "Ping([105, 110, 32, 98, 101, 116, 119, 101, 101, 110])",
                "text é!",
                "Binary([255])",
                "Pong([])",
                "Close"
            ]
        );
        assert_eq!(whole.1, None);
        for piece_bytes in 1..bytes.len() {
            assert_eq!(told(&bytes, piece_bytes), whole, "{piece_bytes}");
        }
    }

    #[test]
    fn each_violation_has_its_status_code() {
        let unmasked = vec![0x81, 0];
        let mut compressed = frame(true, Opcode::Text, b"x");
        compressed[0] |= 0x40;
        let long = frame(true, Opcode::Text, &[b'x'; LIMIT_BYTES + 1]);
        let parts = [
            frame(false, Opcode::Text, &[b'x'; LIMIT_BYTES]),
            frame(true, Opcode::Continuation, b"x"),
        ];
        let within = [
            frame(false, Opcode::Text, b"x"),
            frame(true, Opcode::Text, b"x"),
        ];
        for (sentence, bytes, violation, code) in [
            ("not masked", unmasked, Violation::Unmasked, 1002),
            ("compressed", compressed, Violation::Compressed, 1002),
            ("one byte too long", long, Violation::TooLarge, 1009),
            (
                "too long in two parts",
                parts.concat(),
                Violation::TooLarge,
                1009,
            ),
            (
                "a message within another",
                within.concat(),
                Violation::Fragment,
                1002,
            ),
            (
                "a continuation of nothing",
                frame(true, Opcode::Continuation, b"x"),
                Violation::Fragment,
                1002,
            ),
            (
                "no text",
                frame(true, Opcode::Text, &[0xff]),
                Violation::NotText,
                1007,
            ),
            (
                "half a code",
                frame(true, Opcode::Close, &[3]),
                Violation::CloseCode,
                1002,
            ),
            (
                "a code that is never sent",
                frame(true, Opcode::Close, &1005_u16.to_be_bytes()),
                Violation::CloseCode,
                1002,
            ),
            (
                "a reason that is no text",
                frame(true, Opcode::Close, &[3, 232, 0xff]),
                Violation::NotText,
                1007,
            ),
            (
                "an unknown opcode",
                frame(true, Opcode::Text, b"")
                    .iter()
                    .map(|&byte| if byte == 0x81 { 0x83 } else { byte })
                    .collect(),
                Violation::Frame(FrameError::UnknownOpcode(3)),
                1002,
            ),
        ] {
            assert_eq!(told(&bytes, bytes.len()).1, Some(violation), "{sentence}");
            assert_eq!(
                told(&bytes, 1).1,
                Some(violation),
                "{sentence}, byte by byte"
            );
            assert_eq!(violation.code(), code, "{sentence}");
        }
        let largest = frame(true, Opcode::Text, &[b'x'; LIMIT_BYTES]);
        assert_eq!(told(&largest, 7).1, None, "the limit itself is allowed");
    }

    /// What a client compresses, as frames with so many bytes of payload each.
    fn compressed(messages: &[&[u8]], part_bytes: usize) -> Vec<u8> {
        let mut compress = flate2::Compress::new(flate2::Compression::default(), false);
        let mut bytes = Vec::new();
        for message in messages {
            let mut packed = Vec::with_capacity(message.len() + 100);
            compress
                .compress_vec(message, &mut packed, flate2::FlushCompress::Sync)
                .unwrap();
            packed.truncate(packed.len() - 4);
            let parts: Vec<&[u8]> = packed.chunks(part_bytes).collect();
            for (index, part) in parts.iter().enumerate() {
                let opcode = match index {
                    0 => Opcode::Text,
                    _ => Opcode::Continuation,
                };
                let start = bytes.len();
                bytes.extend(frame(index + 1 == parts.len(), opcode, part));
                bytes[start] |= u8::from(index == 0) << 6;
            }
        }
        bytes
    }

    fn heard(bytes: &[u8]) -> (Vec<String>, Option<Violation>) {
        let mut inbound = Inbound::inflating(Agreement::default());
        let mut heard = Vec::new();
        let result = inbound.feed(&mut bytes.to_vec(), LIMIT_BYTES, |arrival| {
            if let Arrival::Text(text) = arrival {
                heard.push(String::from_utf8(text.to_vec()).unwrap());
            }
        });
        (heard, result.err())
    }

    #[test]
    fn compressed_messages_are_told_plain_however_they_are_cut() {
        let messages = [
            "the same, the same, the same",
            "the same, the same, and more",
        ];
        let plain = messages.map(str::as_bytes);
        for part_bytes in [1, 3, 1_000] {
            let bytes = compressed(&plain, part_bytes);
            assert_eq!(heard(&bytes), (messages.map(String::from).to_vec(), None));
        }
        // An agreement does not oblige anybody.
        let uncompressed = frame(true, Opcode::Text, b"plain");
        assert_eq!(heard(&uncompressed), (vec!["plain".to_owned()], None));
    }

    #[test]
    fn compressed_messages_that_cannot_be_taken_are_violations() {
        let bomb = vec![b'x'; LIMIT_BYTES + 1];
        assert_eq!(
            heard(&compressed(&[&bomb], 1_000)).1,
            Some(Violation::TooLarge)
        );
        let mut damaged = frame(true, Opcode::Text, &[0xff; 20]);
        damaged[0] |= 0x40;
        assert_eq!(heard(&damaged).1, Some(Violation::Damaged));
        assert_eq!(Violation::Damaged.code(), 1007);
        let mut continued = frame(false, Opcode::Text, b"x");
        let start = continued.len();
        continued.extend(frame(true, Opcode::Continuation, b"x"));
        continued[start] |= 0x40;
        assert_eq!(heard(&continued).1, Some(Violation::Compressed));
    }

    #[test]
    fn an_idle_client_holds_no_memory() {
        let mut inbound = Inbound::default();
        let bytes = frame(true, Opcode::Text, &[b'x'; 900]);
        for piece in bytes.to_vec().chunks_mut(100) {
            inbound.feed(piece, LIMIT_BYTES, |_| ()).unwrap();
        }
        assert_eq!(inbound.partial.capacity(), 0);
        assert!(inbound.message.is_none());
    }
}
