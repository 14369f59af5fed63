//! Whole messages in a stream of bytes: where they begin and end, and whether they are sound.
//!
//! A message is *garbled* when its frame is broken: the first three fields, BodyLength or CheckSum. The FIX
//! specification wants such a message ignored, without using up a sequence number. Everything else that may be wrong
//! is answered with a Reject, and is found later, by the session.

use super::checksum;
use super::dictionary::Group;
use super::field::{Field, FieldError, Fields};
use super::number;
use super::tag::{Tag, SOH};

/// Longest accepted BodyLength. A false length makes the reader wait for bytes that never come, so there is a limit.
pub const MAXIMUM_BODY_BYTES: usize = 1 << 20;
/// The longest BeginString in use is `FIXT.1.1`; a little more is accepted so that a wrong one can be named.
const MAXIMUM_BEGIN_STRING_BYTES: usize = 16;
/// Bytes of `10=123␁`.
const TRAILER_BYTES: usize = 7;
/// Where a reader that lost its place looks for the next message.
const BEGINNING: &[u8] = b"8=FIX";

/// A message with a sound frame. Its fields are not checked yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message<'a> {
    bytes: &'a [u8],
    begin_string: &'a [u8],
    msg_type: &'a [u8],
    body: &'a [u8],
}

/// Bytes that are no message, to be skipped without an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{skip_bytes} bytes are ignored: {reason}")]
pub struct Garbled {
    /// What is wrong with them.
    pub reason: GarbledReason,
    /// How many bytes to skip, at least one.
    pub skip_bytes: usize,
}

/// Why bytes are no message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum GarbledReason {
    /// The bytes do not begin with BeginString.
    #[error("a message begins with 8=FIX")]
    BeginString,
    /// The second field is not BodyLength with a plausible number.
    #[error("the second field is not BodyLength (9) with a number up to {MAXIMUM_BODY_BYTES}")]
    BodyLength,
    /// The third field is not MsgType.
    #[error("the third field is not MsgType (35)")]
    MsgType,
    /// No CheckSum field where BodyLength says that the body ends.
    #[error("there is no CheckSum (10) where BodyLength (9) says that the body ends")]
    BodyEnd,
    /// The sum of the bytes is another.
    #[error("CheckSum (10) is not the sum of the bytes")]
    CheckSum,
}

impl<'a> Message<'a> {
    /// Reads a message from the beginning of `bytes`: the message and its length, or `None` when more bytes are needed.
    ///
    /// # Errors
    /// [`Garbled`] when the bytes cannot be a message; reading goes on after the bytes that it says to skip.
    #[inline]
    pub fn parse(bytes: &'a [u8]) -> Result<Option<(Self, usize)>, Garbled> {
        Self::parse_frame(bytes).map_err(|reason| Garbled {
            reason,
            skip_bytes: next_beginning(bytes),
        })
    }

    #[inline]
    fn parse_frame(bytes: &'a [u8]) -> Result<Option<(Self, usize)>, GarbledReason> {
        let known = bytes.len().min(BEGINNING.len());
        if bytes[..known] != BEGINNING[..known] {
            return Err(GarbledReason::BeginString);
        }
        let Some(begin_string_end) =
            find_within(bytes, 2, MAXIMUM_BEGIN_STRING_BYTES).ok_or(GarbledReason::BeginString)?
        else {
            return Ok(None);
        };
        let Some((body_at, body_bytes)) = body_length(bytes, begin_string_end + 1)? else {
            return Ok(None);
        };
        let head = &bytes[body_at..bytes.len().min(body_at + 3)];
        if !b"35=".starts_with(head) {
            return Err(GarbledReason::MsgType);
        }
        let trailer_at = body_at + body_bytes;
        let end = trailer_at + TRAILER_BYTES;
        if bytes.len() < end {
            return Ok(None);
        }
        let body = &bytes[body_at..trailer_at];
        let [b'1', b'0', b'=', written @ .., SOH] = &bytes[trailer_at..end] else {
            return Err(GarbledReason::BodyEnd);
        };
        if body.last() != Some(&SOH) {
            return Err(GarbledReason::BodyEnd);
        }
        let msg_type_end = memchr::memchr(SOH, body).ok_or(GarbledReason::MsgType)?;
        let Some(msg_type) = body.get(3..msg_type_end) else {
            return Err(GarbledReason::MsgType);
        };
        if checksum::digits(checksum::sum(&bytes[..trailer_at])) != written {
            return Err(GarbledReason::CheckSum);
        }
        let message = Self {
            bytes: &bytes[..end],
            begin_string: &bytes[2..begin_string_end],
            msg_type,
            body,
        };
        Ok(Some((message, end)))
    }

    /// The whole message as it is on the wire.
    #[must_use]
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Value of field 8, such as `FIX.4.4`.
    #[must_use]
    pub fn begin_string(&self) -> &'a [u8] {
        self.begin_string
    }

    /// Value of field 35. Empty when the sender wrote none.
    #[inline]
    #[must_use]
    pub fn msg_type(&self) -> &'a [u8] {
        self.msg_type
    }

    /// All fields from MsgType to the last before CheckSum.
    #[inline]
    #[must_use]
    pub fn fields(&self) -> Fields<'a> {
        Fields::new(self.body)
    }

    /// The value of the first field with this tag.
    ///
    /// Looks from the beginning each time: read many fields with [`Self::fields`].
    #[must_use]
    pub fn get(&self, tag: Tag) -> Option<&'a [u8]> {
        self.fields()
            .map_while(Result::ok)
            .find(|field| field.tag == tag)
            .map(|field| field.value)
    }

    /// The first field with this tag as a number without sign.
    #[must_use]
    pub fn unsigned(&self, tag: Tag) -> Option<u64> {
        number::unsigned(self.get(tag)?)
    }

    /// Whether the first field with this tag says yes.
    #[must_use]
    pub fn flag(&self, tag: Tag) -> bool {
        self.get(tag) == Some(b"Y")
    }

    /// The entries of a repeating group at the message's top level, each with its fields.
    #[must_use]
    pub fn entries(&self, group: &'a Group) -> Entries<'a> {
        let mut fields = self.fields();
        let found = fields
            .by_ref()
            .map_while(Result::ok)
            .any(|field| field.tag == group.count_tag);
        let from = fields.position();
        Entries {
            rest: if found { &self.body[from..] } else { &[] },
            group,
        }
    }
}

/// The entries of a repeating group.
#[derive(Debug, Clone)]
pub struct Entries<'a> {
    rest: &'a [u8],
    group: &'a Group,
}

impl<'a> Iterator for Entries<'a> {
    type Item = Fields<'a>;

    fn next(&mut self) -> Option<Fields<'a>> {
        let mut fields = Fields::new(self.rest);
        let first = fields.next()?.ok()?;
        if first.tag != self.group.delimiter() {
            return None;
        }
        let mut end = fields.position();
        while let Some(Ok(field)) = fields.next() {
            if field.tag == self.group.delimiter() || !self.group.contains(field.tag) {
                break;
            }
            end = fields.position();
        }
        let (entry, rest) = self.rest.split_at(end);
        self.rest = rest;
        Some(Fields::new(entry))
    }
}

/// The end of the value that begins at `from`: `Some(None)` when it may still come, `None` when it is too far away.
#[inline]
fn find_within(bytes: &[u8], from: usize, maximum: usize) -> Option<Option<usize>> {
    let window = &bytes[from.min(bytes.len())..bytes.len().min(from + maximum + 1)];
    match window.iter().position(|byte| *byte == SOH) {
        Some(at) => Some(Some(from + at)),
        None if window.len() > maximum => None,
        None => Some(None),
    }
}

/// Reads `9=123␁` at `from`: where the body begins, and its length.
#[inline]
fn body_length(bytes: &[u8], from: usize) -> Result<Option<(usize, usize)>, GarbledReason> {
    let head = &bytes[from..bytes.len().min(from + 2)];
    if !b"9=".starts_with(head) {
        return Err(GarbledReason::BodyLength);
    }
    // Leading zeros are allowed: some engines write a fixed width.
    let Some(end) = find_within(bytes, from + 2, 10).ok_or(GarbledReason::BodyLength)? else {
        return Ok(None);
    };
    let length = number::unsigned(&bytes[from + 2..end])
        .and_then(|length| usize::try_from(length).ok())
        .filter(|length| *length <= MAXIMUM_BODY_BYTES)
        .ok_or(GarbledReason::BodyLength)?;
    Ok(Some((end + 1, length)))
}

/// Where the next message may begin, after the first byte. An incomplete beginning at the end is kept.
#[cold]
fn next_beginning(bytes: &[u8]) -> usize {
    let rest = &bytes[1..];
    if let Some(at) = memchr::memmem::find(rest, BEGINNING) {
        return at + 1;
    }
    let kept = (1..BEGINNING.len())
        .rev()
        .find(|length| rest.ends_with(&BEGINNING[..*length]))
        .unwrap_or(0);
    bytes.len() - kept
}

/// The first field with `tag` among `fields`, where an entry of a group is read.
#[must_use]
pub fn find(fields: Fields<'_>, tag: Tag) -> Option<&[u8]> {
    fields
        .map_while(Result::<Field<'_>, FieldError>::ok)
        .find(|field| field.tag == tag)
        .map(|field| field.value)
}

/// Whether the session layer, and not the application, handles messages of this type.
#[must_use]
pub fn is_administrative(msg_type: &[u8]) -> bool {
    matches!(msg_type, b"0" | b"1" | b"2" | b"3" | b"4" | b"5" | b"A")
}
