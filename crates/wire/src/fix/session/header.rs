//! The header fields that decide what becomes of a message.

use super::super::message::{Garbled, Message};
use super::super::number;
use super::super::tag::{self, Tag};

/// Header fields as they stand in a message, not checked.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Header<'a> {
    pub(super) sequence: Option<u64>,
    pub(super) sender_comp_id: Option<&'a [u8]>,
    pub(super) target_comp_id: Option<&'a [u8]>,
    pub(super) sending_time: Option<&'a [u8]>,
    pub(super) orig_sending_time: Option<&'a [u8]>,
    pub(super) poss_dup: bool,
}

impl<'a> Header<'a> {
    pub(super) fn of(message: &Message<'a>) -> Self {
        let mut header = Self::default();
        for field in message.fields().map_while(Result::ok) {
            match field.tag {
                tag::MSG_SEQ_NUM => header.sequence = number::unsigned(field.value),
                tag::SENDER_COMP_ID => header.sender_comp_id = Some(field.value),
                tag::TARGET_COMP_ID => header.target_comp_id = Some(field.value),
                tag::SENDING_TIME => header.sending_time = Some(field.value),
                tag::ORIG_SENDING_TIME => header.orig_sending_time = Some(field.value),
                tag::POSS_DUP_FLAG => header.poss_dup = field.value == b"Y",
                _ => {}
            }
        }
        header
    }
}

/// Whether a field belongs to the header that a resent message gets anew.
pub(super) fn is_rewritten(tag: Tag) -> bool {
    matches!(
        tag,
        tag::MSG_TYPE
            | tag::MSG_SEQ_NUM
            | tag::POSS_DUP_FLAG
            | tag::SENDER_COMP_ID
            | tag::SENDING_TIME
            | tag::TARGET_COMP_ID
            | tag::ORIG_SENDING_TIME
    )
}

/// Whom a first message is from and for, so that an acceptor can choose the session, and its store, to feed it to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity<'a> {
    /// Value of field 8.
    pub begin_string: &'a [u8],
    /// The other side's name.
    pub sender_comp_id: &'a [u8],
    /// The name that it calls us by.
    pub target_comp_id: &'a [u8],
}

impl<'a> Identity<'a> {
    /// Reads it from the first bytes of a connection, or `None` when more are needed. Missing names are empty.
    ///
    /// # Errors
    /// [`Garbled`] when the bytes are no message.
    pub fn of(bytes: &'a [u8]) -> Result<Option<Self>, Garbled> {
        Ok(Message::parse(bytes)?.map(|(message, _)| {
            let header = Header::of(&message);
            Self {
                begin_string: message.begin_string(),
                sender_comp_id: header.sender_comp_id.unwrap_or_default(),
                target_comp_id: header.target_comp_id.unwrap_or_default(),
            }
        }))
    }
}
