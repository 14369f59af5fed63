//! Frame headers (RFC 6455, section 5.2), read and written without copying the payload.

use crate::mask::MaskKey;

/// Longest header: two bytes, eight of length, four of mask.
pub const MAXIMUM_HEADER_BYTES: usize = 14;
/// Longest payload of a control frame (RFC 6455, section 5.5).
pub const MAXIMUM_CONTROL_BYTES: u64 = 125;

/// What a frame carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Opcode {
    /// A further part of a message that was begun before.
    Continuation = 0x0,
    /// UTF-8 text.
    Text = 0x1,
    /// Bytes.
    Binary = 0x2,
    /// The end of the connection, with an optional status.
    Close = 0x8,
    /// A question that wants a pong.
    Ping = 0x9,
    /// The answer to a ping.
    Pong = 0xA,
}

impl Opcode {
    /// True for close, ping and pong.
    #[inline]
    #[must_use]
    pub fn is_control(self) -> bool {
        self as u8 & 0x8 != 0
    }

    #[inline]
    fn from_bits(bits: u8) -> Result<Self, FrameError> {
        match bits {
            0x0 => Ok(Self::Continuation),
            0x1 => Ok(Self::Text),
            0x2 => Ok(Self::Binary),
            0x8 => Ok(Self::Close),
            0x9 => Ok(Self::Ping),
            0xA => Ok(Self::Pong),
            unknown => Err(FrameError::UnknownOpcode(unknown)),
        }
    }
}

/// A header that no peer may send. The connection cannot be understood any more and must be failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// RSV2 or RSV3 is set: no extension known here uses them.
    #[error("reserved bits {0:#05b} are set in a frame header")]
    ReservedBits(u8),
    /// The opcode is not among the six of RFC 6455.
    #[error("unknown opcode {0:#x} in a frame header")]
    UnknownOpcode(u8),
    /// A control frame is longer than 125 bytes or in fragments.
    #[error("a control frame is fragmented or longer than 125 bytes")]
    BadControl,
    /// The length is written in more bytes than it needs, or has its highest bit set.
    #[error("the payload length is not written in its shortest form")]
    BadLength,
}

/// A parsed or to-be-written frame header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Last frame of its message.
    pub fin: bool,
    /// RSV1: the message is compressed (RFC 7692).
    pub compressed: bool,
    /// What the frame carries.
    pub opcode: Opcode,
    /// The key, present in frames from a client.
    pub mask: Option<MaskKey>,
    /// Length of the payload.
    pub payload_bytes: u64,
}

impl Header {
    /// A whole message in one frame.
    #[must_use]
    pub fn message(opcode: Opcode, payload_bytes: u64, mask: Option<MaskKey>) -> Self {
        Self {
            fin: true,
            compressed: false,
            opcode,
            mask,
            payload_bytes,
        }
    }

    /// Length of this header on the wire, 2 to 14 bytes.
    #[inline]
    #[must_use]
    pub fn encoded_bytes(&self) -> usize {
        let length = match self.payload_bytes {
            0..=125 => 0,
            126..=0xFFFF => 2,
            _ => 8,
        };
        2 + length + if self.mask.is_some() { 4 } else { 0 }
    }

    /// Writes the header to the beginning of `out` and returns its length.
    #[inline]
    pub fn encode(&self, out: &mut [u8; MAXIMUM_HEADER_BYTES]) -> usize {
        out[0] = self.opcode as u8 | u8::from(self.fin) << 7 | u8::from(self.compressed) << 6;
        let masked = u8::from(self.mask.is_some()) << 7;
        let mut end = match self.payload_bytes {
            short @ 0..=125 => {
                out[1] = masked | short as u8;
                2
            }
            medium @ 126..=0xFFFF => {
                out[1] = masked | 126;
                out[2..4].copy_from_slice(&(medium as u16).to_be_bytes());
                4
            }
            long => {
                out[1] = masked | 127;
                out[2..10].copy_from_slice(&long.to_be_bytes());
                10
            }
        };
        if let Some(key) = self.mask {
            out[end..end + 4].copy_from_slice(&key);
            end += 4;
        }
        end
    }

    /// Reads a header from the beginning of `bytes`: the header and its length, or `None` when more bytes are needed.
    ///
    /// # Errors
    /// A [`FrameError`] when the bytes cannot be the beginning of a frame.
    #[inline]
    pub fn parse(bytes: &[u8]) -> Result<Option<(Self, usize)>, FrameError> {
        let &[first, second, ref rest @ ..] = bytes else {
            return Ok(None);
        };
        if first & 0x30 != 0 {
            return Err(FrameError::ReservedBits(first >> 4 & 0x3));
        }
        let opcode = Opcode::from_bits(first & 0x0F)?;
        let fin = first & 0x80 != 0;
        let short = u64::from(second & 0x7F);
        if opcode.is_control() && (!fin || short > MAXIMUM_CONTROL_BYTES || first & 0x40 != 0) {
            return Err(FrameError::BadControl);
        }
        let (payload_bytes, rest) = match short {
            126 => match rest {
                [high, low, rest @ ..] => (u64::from(u16::from_be_bytes([*high, *low])), rest),
                _ => return Ok(None),
            },
            127 => match rest.split_first_chunk::<8>() {
                Some((long, rest)) => (u64::from_be_bytes(*long), rest),
                None => return Ok(None),
            },
            _ => (short, rest),
        };
        let shortest = match short {
            126 => payload_bytes > 125,
            127 => payload_bytes > 0xFFFF && payload_bytes >> 63 == 0,
            _ => true,
        };
        if !shortest {
            return Err(FrameError::BadLength);
        }
        let mask = if second & 0x80 == 0 {
            None
        } else {
            match rest.first_chunk::<4>() {
                Some(key) => Some(*key),
                None => return Ok(None),
            }
        };
        let header = Self {
            fin,
            compressed: first & 0x40 != 0,
            opcode,
            mask,
            payload_bytes,
        };
        Ok(Some((header, header.encoded_bytes())))
    }
}

/// Appends one whole frame to `out`, masked when the header has a key.
///
/// Does not allocate when `out` has room.
pub fn append(out: &mut Vec<u8>, header: Header, payload: &[u8]) {
    debug_assert_eq!(header.payload_bytes, payload.len() as u64);
    let mut encoded = [0_u8; MAXIMUM_HEADER_BYTES];
    let length = header.encode(&mut encoded);
    out.extend_from_slice(&encoded[..length]);
    let start = out.len();
    out.extend_from_slice(payload);
    if let Some(key) = header.mask {
        crate::mask::apply(key, &mut out[start..], 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn opcodes() -> impl Strategy<Value = Opcode> {
        use Opcode::{Binary, Close, Continuation, Ping, Pong, Text};
        prop::sample::select(vec![Continuation, Text, Binary, Close, Ping, Pong])
    }

    /// Lengths around each place where the encoding changes, and any other.
    fn lengths() -> impl Strategy<Value = u64> {
        prop_oneof![
            prop::sample::select(vec![
                0,
                1,
                125,
                126,
                127,
                0xFFFF,
                0x1_0000,
                0x1_0001,
                u64::MAX >> 1
            ]),
            0..=u64::MAX >> 1,
        ]
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(opcode in opcodes(), length in lengths(), mask: Option<[u8; 4]>, fin: bool, compressed: bool) {
            let control = opcode.is_control();
            let header = Header {
                fin: fin || control,
                compressed: compressed && !control,
                opcode,
                mask,
                payload_bytes: if control { length % 126 } else { length },
            };
            let mut bytes = [0; MAXIMUM_HEADER_BYTES];
            let end = header.encode(&mut bytes);
            prop_assert_eq!(end, header.encoded_bytes());
            prop_assert_eq!(Header::parse(&bytes[..end]), Ok(Some((header, end))));
            for cut in 0..end {
                prop_assert_eq!(Header::parse(&bytes[..cut]), Ok(None), "cut at {}", cut);
            }
        }

        #[test]
        fn any_bytes_are_read_without_panic(bytes: Vec<u8>) {
            if let Ok(Some((header, end))) = Header::parse(&bytes) {
                let mut again = [0; MAXIMUM_HEADER_BYTES];
                prop_assert_eq!(header.encode(&mut again), end);
                prop_assert_eq!(&again[..end], &bytes[..end]);
            }
        }
    }

    #[test]
    fn refuses_what_rfc_6455_forbids() {
        let table: [(&str, &[u8], FrameError); 7] = [
            (
                "RSV2 without an extension",
                &[0xA1, 0],
                FrameError::ReservedBits(0b10),
            ),
            ("opcode 3", &[0x83, 0], FrameError::UnknownOpcode(3)),
            ("a ping in fragments", &[0x09, 0], FrameError::BadControl),
            (
                "a ping of 126 bytes",
                &[0x89, 126, 0, 126],
                FrameError::BadControl,
            ),
            ("a compressed ping", &[0xC9, 0], FrameError::BadControl),
            (
                "125 written in two bytes",
                &[0x82, 126, 0, 125],
                FrameError::BadLength,
            ),
            (
                "65535 written in eight bytes",
                &[0x82, 127, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF],
                FrameError::BadLength,
            ),
        ];
        for (sentence, bytes, error) in table {
            assert_eq!(Header::parse(bytes), Err(error), "{sentence}");
        }
    }

    #[test]
    fn reads_the_examples_of_rfc_6455_section_5_7() {
        let hello = [
            0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58,
        ];
        let mut frame = Vec::new();
        append(
            &mut frame,
            Header::message(Opcode::Text, 5, Some([0x37, 0xfa, 0x21, 0x3d])),
            b"Hello",
        );
        assert_eq!(frame, hello);
    }
}
