//! Fields of a message, one after the other, without copying.

use super::tag::{self, Tag, SOH};

/// One field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field<'a> {
    /// The number before the equals sign.
    pub tag: Tag,
    /// The bytes between the equals sign and the separator; empty when the sender wrote none.
    pub value: &'a [u8],
}

/// Bytes that are no field. The message has sound framing, so it is rejected and not ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FieldError {
    /// No equals sign, or something other than a number of at most nine digits before it.
    #[error("no tag number at byte {0} of the message's fields")]
    Tag(usize),
    /// A field without its separator.
    #[error("the field at byte {0} does not end")]
    End(usize),
    /// A data field that is longer or shorter than its length field says.
    #[error("data field {0} does not have its announced length")]
    DataLength(Tag),
}

/// The fields of a byte range. After an error there is nothing more.
#[derive(Debug, Clone)]
pub struct Fields<'a> {
    bytes: &'a [u8],
    at: usize,
    /// The data field that the previous field announced, with its length.
    announced: Option<(Tag, usize)>,
}

impl<'a> Fields<'a> {
    /// The fields in `bytes`, which begins at a tag and ends with a separator.
    #[inline]
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            at: 0,
            announced: None,
        }
    }

    /// Where the next field begins.
    #[inline]
    #[must_use]
    pub fn position(&self) -> usize {
        self.at
    }

    #[inline]
    fn fail(&mut self, error: FieldError) -> Option<Result<Field<'a>, FieldError>> {
        self.at = self.bytes.len();
        Some(Err(error))
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<Field<'a>, FieldError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let rest = &self.bytes[self.at..];
        if rest.is_empty() {
            return None;
        }
        let Some((tag, value_at)) = read_tag(rest) else {
            return self.fail(FieldError::Tag(self.at));
        };
        let value = &rest[value_at..];
        let value_bytes = match self.announced.take() {
            Some((data_tag, length)) if data_tag == tag => {
                if value.get(length) != Some(&SOH) {
                    return self.fail(FieldError::DataLength(tag));
                }
                length
            }
            _ => match memchr::memchr(SOH, value) {
                Some(length) => length,
                None => return self.fail(FieldError::End(self.at)),
            },
        };
        let value = &value[..value_bytes];
        if let Some(data_tag) = tag::data_after(tag) {
            self.announced = super::number::unsigned(value)
                .and_then(|length| usize::try_from(length).ok())
                .map(|length| (data_tag, length));
        }
        self.at += value_at + value_bytes + 1;
        Some(Ok(Field { tag, value }))
    }
}

/// So many always fit into a `Tag`; no tag in use has more than five.
const MOST_TAG_DIGITS: usize = 9;

/// The tag at the beginning of `bytes` and where its value begins. Leading zeros are not allowed, nor is tag 0.
#[inline]
fn read_tag(bytes: &[u8]) -> Option<(Tag, usize)> {
    let mut tag = 0;
    for (at, &byte) in bytes.iter().enumerate().take(MOST_TAG_DIGITS + 1) {
        let digit = byte.wrapping_sub(b'0');
        if digit <= 9 {
            if at == MOST_TAG_DIGITS {
                return None;
            }
            tag = tag * 10 + Tag::from(digit);
            if tag == 0 {
                return None;
            }
        } else {
            return (byte == b'=' && at > 0).then_some((tag, at + 1));
        }
    }
    None
}
