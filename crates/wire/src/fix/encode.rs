//! Writing messages: BodyLength is filled in at the end and CheckSum added, while the bytes are still in the cache.

use super::checksum;
use super::tag::{self, Tag, SOH};
use super::time::{Precision, UtcTime, MAXIMUM_TIME_BYTES};

/// Digits kept free for BodyLength. Nearly all messages have 100 to 999 bytes; others are moved by a byte or more.
const EXPECTED_LENGTH_DIGITS: usize = 3;

/// A value that would break the message that it is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// The value holds the separator, which only data fields may.
    #[error("the value of field {0} holds the separator (byte 1); use a data field with a length")]
    Separator(Tag),
    /// The value is empty, and FIX has no empty values. Leave out the field.
    #[error("the value of field {0} is empty; leave out the field")]
    Empty(Tag),
}

/// A message being appended to a buffer. Does not allocate when the buffer has room.
///
/// An encoder that is dropped without [`finish`](Self::finish) leaves the buffer as it was.
#[derive(Debug)]
pub struct Encoder<'a> {
    out: &'a mut Vec<u8>,
    start: usize,
    body_at: usize,
    error: Option<EncodeError>,
}

impl<'a> Encoder<'a> {
    /// Begins a message: BeginString, room for BodyLength, MsgType.
    #[inline]
    #[must_use]
    pub fn new(out: &'a mut Vec<u8>, begin_string: &str, msg_type: &str) -> Self {
        let start = out.len();
        out.extend_from_slice(b"8=");
        out.extend_from_slice(begin_string.as_bytes());
        out.extend_from_slice(b"\x019=000\x01");
        let body_at = out.len();
        let mut encoder = Self {
            out,
            start,
            body_at,
            error: None,
        };
        encoder.text(tag::MSG_TYPE, msg_type);
        encoder
    }

    /// A field with any bytes but the separator.
    #[inline]
    pub fn field(&mut self, tag: Tag, value: &[u8]) {
        if value.is_empty() {
            self.error.get_or_insert(EncodeError::Empty(tag));
        } else if memchr::memchr(SOH, value).is_some() {
            self.error.get_or_insert(EncodeError::Separator(tag));
        }
        self.raw(tag, value);
    }

    /// A field of text.
    #[inline]
    pub fn text(&mut self, tag: Tag, value: &str) {
        self.field(tag, value.as_bytes());
    }

    /// A field with a number that has no sign.
    #[inline]
    pub fn unsigned(&mut self, tag: Tag, value: u64) {
        self.raw(tag, itoa::Buffer::new().format(value).as_bytes());
    }

    /// A field with a whole number.
    #[inline]
    pub fn signed(&mut self, tag: Tag, value: i64) {
        self.raw(tag, itoa::Buffer::new().format(value).as_bytes());
    }

    /// A field with `units` divided by ten to the power of `decimals`, with exactly so many decimals.
    #[inline]
    pub fn decimal(&mut self, tag: Tag, units: i64, decimals: u8) {
        let decimals = usize::from(decimals);
        let mut buffer = itoa::Buffer::new();
        let digits = buffer.format(units.unsigned_abs()).as_bytes();
        self.begin(tag);
        if units < 0 {
            self.out.push(b'-');
        }
        let whole = digits.len().saturating_sub(decimals);
        self.out
            .extend_from_slice(if whole > 0 { &digits[..whole] } else { b"0" });
        if decimals > 0 {
            self.out.push(b'.');
            let zeros = decimals.saturating_sub(digits.len());
            self.out.resize(self.out.len() + zeros, b'0');
            self.out.extend_from_slice(&digits[whole..]);
        }
        self.out.push(SOH);
    }

    /// A field that says yes or no.
    #[inline]
    pub fn flag(&mut self, tag: Tag, value: bool) {
        self.raw(tag, if value { b"Y" } else { b"N" });
    }

    /// A field with a moment in UTC.
    #[inline]
    pub fn time(&mut self, tag: Tag, value: UtcTime, precision: Precision) {
        let mut text = [0; MAXIMUM_TIME_BYTES];
        let length = value.format(precision, &mut text);
        self.raw(tag, &text[..length]);
    }

    /// A length field and the data field that it announces. The data may hold the separator.
    #[inline]
    pub fn data(&mut self, length_tag: Tag, data_tag: Tag, data: &[u8]) {
        debug_assert_eq!(tag::data_after(length_tag), Some(data_tag));
        self.unsigned(length_tag, data.len() as u64);
        self.raw(data_tag, data);
    }

    /// Fields that are encoded already, each with its separator: a body that many connections get.
    #[inline]
    pub fn fields(&mut self, encoded: &[u8]) {
        debug_assert!(encoded.last().is_none_or(|byte| *byte == SOH));
        self.out.extend_from_slice(encoded);
    }

    /// A field as it was read from a message.
    #[inline]
    pub(crate) fn raw(&mut self, tag: Tag, value: &[u8]) {
        self.begin(tag);
        self.out.extend_from_slice(value);
        self.out.push(SOH);
    }

    #[inline]
    fn begin(&mut self, tag: Tag) {
        self.out
            .extend_from_slice(itoa::Buffer::new().format(tag).as_bytes());
        self.out.push(b'=');
    }

    /// Fills in BodyLength, adds CheckSum and returns the length of the message.
    ///
    /// # Errors
    /// The first [`EncodeError`] among the fields. The buffer is as before the message.
    #[inline]
    pub fn finish(mut self) -> Result<usize, EncodeError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        let mut buffer = itoa::Buffer::new();
        let digits = buffer.format(self.out.len() - self.body_at).as_bytes();
        let length_at = self.body_at - 1 - EXPECTED_LENGTH_DIGITS;
        if digits.len() != EXPECTED_LENGTH_DIGITS {
            self.move_body(length_at + digits.len() + 1);
        }
        self.out[length_at..length_at + digits.len()].copy_from_slice(digits);
        let sum = checksum::sum(&self.out[self.start..]);
        self.out.extend_from_slice(b"10=");
        self.out.extend_from_slice(&checksum::digits(sum));
        self.out.push(SOH);
        let length = self.out.len() - self.start;
        // The message is whole: dropping the encoder must keep it.
        self.start = self.out.len();
        Ok(length)
    }

    #[cold]
    fn move_body(&mut self, to: usize) {
        let end = self.out.len();
        if to > self.body_at {
            self.out.resize(end + to - self.body_at, 0);
        }
        self.out.copy_within(self.body_at..end, to);
        self.out.truncate(end + to - self.body_at);
        self.out[to - 1] = SOH;
        self.body_at = to;
    }
}

impl Drop for Encoder<'_> {
    fn drop(&mut self) {
        self.out.truncate(self.start);
    }
}
