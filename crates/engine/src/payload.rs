//! What a message says: filler of a wanted kind and size, and a counter that makes each message its own.

use std::path::PathBuf;

use feedbench_wire::frame::Opcode;
use feedbench_wire::mask::{self, MaskKey};
use serde::{Deserialize, Serialize};

use crate::stamps::StampRule;

/// What a template file holds where the counter goes.
pub const COUNTER_MARK: &str = "{counter}";
/// Digits of a counter in text; ten to the sixteenth messages on one connection are out of reach.
const TEXT_DIGITS: usize = 16;
/// `{"c":` and `}` around a JSON counter.
const JSON_FRAME_BYTES: usize = 6;
/// `,"p":""` around JSON filler.
const JSON_FILLER_BYTES: usize = 7;

/// Kinds of payload, named as in requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PayloadKind {
    /// Bytes without meaning.
    Binary,
    /// ASCII letters.
    Text,
    /// An object with a counter `c` and filler `p`.
    Json,
    /// A file as one binary message.
    File,
    /// A file of UTF-8 as one text message.
    TextFile,
    /// A file of UTF-8 in which [`COUNTER_MARK`] is replaced by the message's number.
    Template,
    /// `{"c":n}` with n from 1 on each connection, which a stamp server answers with its clock.
    Stamp,
}

/// The payload of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PayloadRequest {
    /// Where the bytes come from.
    pub kind: PayloadKind,
    /// Size for the kinds that are made here.
    #[serde(default)]
    pub bytes: Option<usize>,
    /// Path for the kinds that are read.
    #[serde(default)]
    pub file: Option<PathBuf>,
}

/// Why a payload cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum PayloadError {
    /// A size is missing for a kind that is made here.
    #[error("a payload of kind {0:?} needs `bytes`")]
    NoSize(PayloadKind),
    /// A path is missing for a kind that is read.
    #[error("a payload of kind {0:?} needs `file`")]
    NoFile(PayloadKind),
    /// The file cannot be read.
    #[error("cannot read the payload file {path}: {error}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        error: std::io::Error,
    },
    /// Text has to be UTF-8 (RFC 6455, section 5.6).
    #[error("the payload file {0} is not UTF-8, which a text message must be: send it as binary")]
    NotText(PathBuf),
    /// The mark is missing.
    #[error("the template {0} does not contain {COUNTER_MARK}")]
    NoMark(PathBuf),
    /// JSON needs its braces.
    #[error("a JSON payload needs at least 7 bytes for {{\"c\":1}}, {0} are asked for")]
    TooShort(usize),
}

/// How the counter is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Digits {
    /// Big-endian bytes.
    Bytes,
    /// Decimal digits.
    Decimal,
}

/// Longest counter.
const MAXIMUM_WIDTH: usize = 16;

/// A counter's value as it is written. It is counted on in place, so that a message costs 1.1 changed bytes on average
/// and no conversion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Number([u8; MAXIMUM_WIDTH]);

/// Where the counter stands in the payload, and how it is written. It always takes the same room, so that a frame is
/// built once and only these bytes change; it wraps around when the room is used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counter {
    offset: usize,
    width: usize,
    digits: Digits,
}

impl Counter {
    /// Lowest and highest value of one position.
    fn bounds(self) -> (u8, u8) {
        match self.digits {
            Digits::Bytes => (0, u8::MAX),
            Digits::Decimal => (b'0', b'9'),
        }
    }

    fn base(self) -> u64 {
        if self.digits == Digits::Bytes {
            256
        } else {
            10
        }
    }

    /// Where the bytes behind it begin.
    pub fn end(self) -> usize {
        self.offset + self.width
    }

    /// How many different values fit; saturates for eight bytes.
    fn modulus(self) -> u64 {
        self.base()
            .checked_pow(self.width as u32)
            .unwrap_or(u64::MAX)
    }

    /// A number, wrapped to the room.
    pub fn number(self, mut value: u64) -> Number {
        let (lowest, _) = self.bounds();
        let mut number = Number([0; MAXIMUM_WIDTH]);
        for digit in number.0[..self.width].iter_mut().rev() {
            *digit = lowest + (value % self.base()) as u8;
            value /= self.base();
        }
        number
    }

    /// Adds one.
    #[inline]
    pub fn increment(self, number: &mut Number) {
        let (lowest, highest) = self.bounds();
        for digit in number.0[..self.width].iter_mut().rev() {
            if *digit < highest {
                *digit += 1;
                return;
            }
            *digit = lowest;
        }
    }

    /// All bits of the bytes that belong to the counter, as it stands in memory.
    #[inline]
    fn bits(self) -> u128 {
        u128::from_le(u128::MAX >> (8 * (MAXIMUM_WIDTH - self.width)))
    }

    /// Writes a number into a payload masked with `key` (all zeros: not masked).
    #[inline]
    pub fn write(self, number: &Number, payload: &mut [u8], key: MaskKey) {
        let key = mask::turn(key, self.offset);
        let place = &mut payload[self.offset..];
        // Nearly always there is room for sixteen bytes at once, which costs a third of the bytes one by one.
        if let Some(sixteen) = place.first_chunk_mut::<MAXIMUM_WIDTH>() {
            let key =
                u128::from(u32::from_ne_bytes(key)) * 0x0000_0001_0000_0001_0000_0001_0000_0001;
            let masked = u128::from_ne_bytes(number.0) ^ key;
            let kept = u128::from_ne_bytes(*sixteen) & !self.bits();
            *sixteen = (kept | masked & self.bits()).to_ne_bytes();
            return;
        }
        for (index, (byte, digit)) in place[..self.width].iter_mut().zip(number.0).enumerate() {
            *byte = digit ^ key[index & 3];
        }
    }

    /// True if `payload` is `template` with this number in its place.
    #[inline]
    pub fn matches(self, number: &Number, payload: &[u8], template: &[u8]) -> bool {
        if payload.len() != template.len() {
            return false;
        }
        let place = &payload[self.offset..];
        let same_number = match place.first_chunk::<MAXIMUM_WIDTH>() {
            Some(sixteen) => {
                (u128::from_ne_bytes(*sixteen) ^ u128::from_ne_bytes(number.0)) & self.bits() == 0
            }
            None => place[..self.width] == number.0[..self.width],
        };
        let end = self.offset + self.width;
        same_number
            && payload[end..] == template[end..]
            && (self.offset == 0 || payload[..self.offset] == template[..self.offset])
    }

    fn value(self, digits: &[u8]) -> Option<u64> {
        let (lowest, highest) = self.bounds();
        digits.iter().try_fold(0_u64, |value, &byte| {
            let digit = (lowest..=highest)
                .contains(&byte)
                .then(|| u64::from(byte - lowest))?;
            Some(value.wrapping_mul(self.base()).wrapping_add(digit))
        })
    }

    /// How far the counter in `payload` is ahead of `expected` (negative: behind), the short way round if it wrapped;
    /// `None` unless the payload is the template in everything else.
    pub fn distance(self, expected: &Number, payload: &[u8], template: &[u8]) -> Option<i64> {
        let place = payload.get(self.offset..self.offset + self.width)?;
        let mut found = Number([0; MAXIMUM_WIDTH]);
        found.0[..self.width].copy_from_slice(place);
        if !self.matches(&found, payload, template) {
            return None;
        }
        let (found, wanted) = (self.value(place)?, self.value(&expected.0[..self.width])?);
        Some(match self.modulus() {
            // Eight bytes wrap where a u64 does, and the cast is the short way round.
            u64::MAX => found.wrapping_sub(wanted) as i64,
            modulus => {
                let ahead = (found + modulus - wanted) % modulus;
                if ahead > modulus / 2 {
                    ahead as i64 - modulus as i64
                } else {
                    ahead as i64
                }
            }
        })
    }
}

/// A payload ready to be sent: number 0, and where the number stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payload {
    /// Text or binary.
    pub opcode: Opcode,
    /// The first message.
    pub bytes: Vec<u8>,
    /// Absent in files, which are sent as they are, in empty messages, and in stamps, whose number has no fixed place.
    pub counter: Option<Counter>,
    /// Present if each message is answered by a stamp instead of an echo.
    pub stamp: Option<StampRule>,
}

impl Payload {
    /// Makes or reads what was asked for.
    pub fn new(request: &PayloadRequest) -> Result<Self, PayloadError> {
        let size = || request.bytes.ok_or(PayloadError::NoSize(request.kind));
        match request.kind {
            PayloadKind::Binary => Ok(Self::binary(size()?)),
            PayloadKind::Text => Ok(Self::text(size()?)),
            PayloadKind::Json => Self::json(size()?),
            PayloadKind::File => {
                let (_, bytes) = read(request)?;
                Ok(Self {
                    opcode: Opcode::Binary,
                    bytes,
                    counter: None,
                    stamp: None,
                })
            }
            PayloadKind::TextFile => {
                let (path, bytes) = read(request)?;
                std::str::from_utf8(&bytes).map_err(|_| PayloadError::NotText(path))?;
                Ok(Self {
                    opcode: Opcode::Text,
                    bytes,
                    counter: None,
                    stamp: None,
                })
            }
            PayloadKind::Template => {
                let (path, bytes) = read(request)?;
                Self::template(path, bytes)
            }
            PayloadKind::Stamp => Ok(Self {
                opcode: Opcode::Text,
                bytes: b"{\"c\":1}".to_vec(),
                counter: None,
                stamp: Some(StampRule::now()),
            }),
        }
    }

    /// True if each message on a connection differs from the others.
    pub fn is_numbered(&self) -> bool {
        self.counter.is_some() || self.stamp.is_some()
    }

    fn binary(size: usize) -> Self {
        let counter = Counter {
            offset: 0,
            width: size.min(8),
            digits: Digits::Bytes,
        };
        let mut bytes = filler(size).collect::<Vec<_>>();
        counter.write(&counter.number(0), &mut bytes, [0; 4]);
        Self {
            opcode: Opcode::Binary,
            bytes,
            counter: (size > 0).then_some(counter),
            stamp: None,
        }
    }

    fn text(size: usize) -> Self {
        let counter = Counter {
            offset: 0,
            width: size.min(TEXT_DIGITS),
            digits: Digits::Decimal,
        };
        let mut bytes = letters(size).collect::<Vec<_>>();
        counter.write(&counter.number(0), &mut bytes, [0; 4]);
        Self {
            opcode: Opcode::Text,
            bytes,
            counter: (size > 0).then_some(counter),
            stamp: None,
        }
    }

    /// The counter begins with a fixed 1: JSON knows no leading zeros, and a parsed and rewritten number must keep
    /// its width. With sixteen digits it stays below 2^53, where a double is still exact.
    fn json(size: usize) -> Result<Self, PayloadError> {
        let room = size
            .checked_sub(JSON_FRAME_BYTES)
            .filter(|&room| room > 0)
            .ok_or(PayloadError::TooShort(size))?;
        let (digits, filler_bytes) = match room.checked_sub(TEXT_DIGITS + JSON_FILLER_BYTES) {
            Some(filler_bytes) => (TEXT_DIGITS, Some(filler_bytes)),
            None => (room.min(TEXT_DIGITS), None),
        };
        let number = format!("1{:0>1$}", "", digits - 1);
        let padding = " ".repeat(room - digits);
        let text = match filler_bytes {
            Some(count) => {
                let filler: String = letters(count).map(char::from).collect();
                format!("{{\"c\":{number},\"p\":\"{filler}\"}}")
            }
            None => format!("{{\"c\":{number}{padding}}}"),
        };
        let counter = Counter {
            offset: 6,
            width: digits - 1,
            digits: Digits::Decimal,
        };
        Ok(Self {
            opcode: Opcode::Text,
            bytes: text.into_bytes(),
            counter: (digits > 1).then_some(counter),
            stamp: None,
        })
    }

    fn template(path: PathBuf, bytes: Vec<u8>) -> Result<Self, PayloadError> {
        let text = String::from_utf8(bytes).map_err(|_| PayloadError::NotText(path.clone()))?;
        let offset = text.find(COUNTER_MARK).ok_or(PayloadError::NoMark(path))?;
        let text = text.replacen(COUNTER_MARK, &"0".repeat(TEXT_DIGITS), 1);
        let counter = Counter {
            offset,
            width: TEXT_DIGITS,
            digits: Digits::Decimal,
        };
        Ok(Self {
            opcode: Opcode::Text,
            bytes: text.into_bytes(),
            counter: Some(counter),
            stamp: None,
        })
    }
}

fn read(request: &PayloadRequest) -> Result<(PathBuf, Vec<u8>), PayloadError> {
    let path = request
        .file
        .clone()
        .ok_or(PayloadError::NoFile(request.kind))?;
    match std::fs::read(&path) {
        Ok(bytes) => Ok((path, bytes)),
        Err(error) => Err(PayloadError::Unreadable { path, error }),
    }
}

/// Bytes that a compressor finds nothing in: market data is dense, and zeros would flatter a server that compresses.
/// The generator is xorshift64 (Marsaglia 2003) from a fixed seed, so that every run sends the same bytes.
fn filler(size: usize) -> impl Iterator<Item = u8> {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    (0..size).map(move |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    })
}

/// The same as lower-case letters.
fn letters(size: usize) -> impl Iterator<Item = u8> {
    filler(size).map(|byte| b'a' + byte % 26)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn made(kind: PayloadKind, bytes: usize) -> Payload {
        Payload::new(&PayloadRequest {
            kind,
            bytes: Some(bytes),
            file: None,
        })
        .unwrap()
    }

    proptest! {
        #[test]
        fn counting_by_ones_is_writing_the_number(size in 1_usize..40, start: u32, steps in 0_u64..300, key: [u8; 4]) {
            for payload in [made(PayloadKind::Binary, size), made(PayloadKind::Text, size)] {
                let counter = payload.counter.unwrap();
                let mut number = counter.number(u64::from(start));
                (0..steps).for_each(|_| counter.increment(&mut number));
                prop_assert_eq!(number, counter.number(u64::from(start) + steps));
                let mut masked = payload.bytes.clone();
                feedbench_wire::mask::apply(key, &mut masked, 0);
                counter.write(&number, &mut masked, key);
                feedbench_wire::mask::apply(key, &mut masked, 0);
                prop_assert!(counter.matches(&number, &masked, &payload.bytes));
            }
        }

        #[test]
        fn the_distance_is_what_was_added(size in 3_usize..40, ahead in -49_i64..50) {
            let payload = made(PayloadKind::Text, size);
            let counter = payload.counter.unwrap();
            let now = counter.number(50);
            let mut later = payload.bytes.clone();
            counter.write(&counter.number(50_u64.wrapping_add_signed(ahead)), &mut later, [0; 4]);
            prop_assert_eq!(counter.distance(&now, &later, &payload.bytes), Some(ahead));
            later[size - 1] ^= 0x80; // a digit or a letter no more
            prop_assert_eq!(counter.distance(&now, &later, &payload.bytes), None);
        }

        #[test]
        fn json_is_json_of_the_wanted_size_at_every_count(size in 7_usize..200, steps in 0_u64..200) {
            let payload = made(PayloadKind::Json, size);
            let mut bytes = payload.bytes.clone();
            if let Some(counter) = payload.counter {
                counter.write(&counter.number(steps), &mut bytes, [0; 4]);
            }
            prop_assert_eq!(bytes.len(), size);
            let value: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
            prop_assert!(value["c"].is_u64());
        }
    }

    #[test]
    fn an_impossible_payload_says_why() {
        let request = |kind, bytes, file: Option<&str>| PayloadRequest {
            kind,
            bytes,
            file: file.map(PathBuf::from),
        };
        let table = [
            (request(PayloadKind::Binary, None, None), "needs `bytes`"),
            (
                request(PayloadKind::Json, Some(6), None),
                "at least 7 bytes",
            ),
            (request(PayloadKind::File, None, None), "needs `file`"),
            (
                request(PayloadKind::File, None, Some("/no/such/file")),
                "cannot read the payload file /no/such/file",
            ),
        ];
        for (request, words) in table {
            let error = Payload::new(&request).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn an_empty_message_has_no_counter() {
        assert_eq!(made(PayloadKind::Binary, 0).counter, None);
        assert_eq!(made(PayloadKind::Text, 0).bytes, b"");
    }
}
