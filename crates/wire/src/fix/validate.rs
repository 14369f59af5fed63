//! Whether a message has the fields that its kind should have: scenario 14 of the FIX session test cases.

use std::iter::Peekable;

use super::dictionary::{Dictionary, FieldRule, FieldType, Group, FIRST_USER_DEFINED_TAG};
use super::field::{Field, FieldError, Fields};
use super::message::Message;
use super::number;
use super::session::RejectReason;
use super::tag::Tag;
use super::time::UtcTime;

/// The fields that stand between the body and CheckSum.
const TRAILER: [Tag; 2] = [93, 89];

/// What a Reject says about a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Problem {
    pub(super) reason: RejectReason,
    pub(super) tag: Option<Tag>,
}

impl Problem {
    pub(super) fn new(reason: RejectReason, tag: Tag) -> Self {
        Self {
            reason,
            tag: Some(tag),
        }
    }
}

impl From<FieldError> for Problem {
    fn from(error: FieldError) -> Self {
        match error {
            FieldError::DataLength(tag) => Self::new(RejectReason::IncorrectDataFormat, tag),
            FieldError::Tag(_) | FieldError::End(_) => Self {
                reason: RejectReason::InvalidTagNumber,
                tag: None,
            },
        }
    }
}

/// In the order in which a message is made of them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Header,
    Body,
    Trailer,
}

/// Checks all fields. `seen` is working memory, so that no message costs an allocation.
pub(super) fn check(
    message: &Message<'_>,
    dictionary: &Dictionary,
    seen: &mut Vec<Tag>,
) -> Result<(), Problem> {
    let rule = dictionary.message(message.msg_type()).ok_or(Problem {
        reason: RejectReason::InvalidMsgType,
        tag: None,
    })?;
    seen.clear();
    let mut part = Part::Header;
    let mut fields = message.fields().peekable();
    while let Some(field) = fields.next() {
        let field = field?;
        check_value(field, dictionary)?;
        let header = dictionary.header().member(field.tag);
        let member = header.or_else(|| rule.member(field.tag));
        let belongs_to = match member {
            _ if header.is_some() => Part::Header,
            _ if TRAILER.contains(&field.tag) => Part::Trailer,
            None if field.tag < FIRST_USER_DEFINED_TAG => {
                return Err(Problem::new(
                    RejectReason::TagNotDefinedForMessage,
                    field.tag,
                ));
            }
            _ => Part::Body,
        };
        if belongs_to < part {
            return Err(Problem::new(RejectReason::OutOfRequiredOrder, field.tag));
        }
        part = belongs_to;
        if seen.contains(&field.tag) {
            return Err(Problem::new(
                RejectReason::TagAppearsMoreThanOnce,
                field.tag,
            ));
        }
        seen.push(field.tag);
        if let Some(group) = member.and_then(|member| member.group.as_ref()) {
            check_group(group, field, &mut fields, dictionary)?;
        }
    }
    let required = dictionary.header().required().iter().chain(rule.required());
    match required.into_iter().find(|tag| !seen.contains(tag)) {
        Some(tag) => Err(Problem::new(RejectReason::RequiredTagMissing, *tag)),
        None => Ok(()),
    }
}

/// Reads the entries behind the field that counts them.
fn check_group(
    group: &Group,
    count: Field<'_>,
    fields: &mut Peekable<Fields<'_>>,
    dictionary: &Dictionary,
) -> Result<(), Problem> {
    let mut entries = 0;
    while peek_tag(fields) == Some(group.delimiter()) {
        check_entry(group, fields, dictionary)?;
        entries += 1;
    }
    if number::unsigned(count.value) == Some(entries) {
        return Ok(());
    }
    // A member where the delimiter should be: the entry is there, but in another order.
    match peek_tag(fields).filter(|tag| group.contains(*tag)) {
        Some(tag) => Err(Problem::new(RejectReason::GroupOutOfOrder, tag)),
        None => Err(Problem::new(RejectReason::IncorrectGroupCount, count.tag)),
    }
}

fn check_entry(
    group: &Group,
    fields: &mut Peekable<Fields<'_>>,
    dictionary: &Dictionary,
) -> Result<(), Problem> {
    // Groups of the standard have few members, so one bit each is enough.
    let mut seen = 0_u64;
    loop {
        let tag = match fields.peek() {
            Some(Ok(field)) => field.tag,
            Some(Err(error)) => return Err((*error).into()),
            None => break,
        };
        let Some(index) = group.members.iter().position(|member| member.tag == tag) else {
            break;
        };
        let bit = 1 << (index % 64);
        if seen & bit != 0 {
            if index == 0 {
                break;
            }
            return Err(Problem::new(RejectReason::TagAppearsMoreThanOnce, tag));
        }
        seen |= bit;
        if let Some(Ok(field)) = fields.next() {
            check_value(field, dictionary)?;
            if let Some(inner) = &group.members[index].group {
                check_group(inner, field, fields, dictionary)?;
            }
        }
    }
    let missing = group
        .members
        .iter()
        .enumerate()
        .find(|(index, member)| member.required && seen & (1 << (index % 64)) == 0);
    match missing {
        Some((_, member)) => Err(Problem::new(RejectReason::RequiredTagMissing, member.tag)),
        None => Ok(()),
    }
}

fn peek_tag(fields: &mut Peekable<Fields<'_>>) -> Option<Tag> {
    match fields.peek() {
        Some(Ok(field)) => Some(field.tag),
        _ => None,
    }
}

fn check_value(field: Field<'_>, dictionary: &Dictionary) -> Result<(), Problem> {
    let known = dictionary.field(field.tag);
    if known.is_none() && field.tag < FIRST_USER_DEFINED_TAG {
        return Err(Problem::new(RejectReason::InvalidTagNumber, field.tag));
    }
    if field.value.is_empty() {
        return Err(Problem::new(RejectReason::TagWithoutValue, field.tag));
    }
    let Some(rule) = known else {
        return Ok(());
    };
    if !has_form(field.value, rule) {
        return Err(Problem::new(RejectReason::IncorrectDataFormat, field.tag));
    }
    let allowed = |value: &String| value.as_bytes() == field.value;
    if !rule.values.is_empty() && !rule.values.iter().any(allowed) {
        return Err(Problem::new(RejectReason::ValueIncorrect, field.tag));
    }
    Ok(())
}

fn has_form(value: &[u8], rule: &FieldRule) -> bool {
    match rule.field_type {
        FieldType::String | FieldType::Data => true,
        FieldType::Char => value.len() == 1,
        FieldType::Boolean => matches!(value, b"Y" | b"N"),
        FieldType::Int => number::signed(value).is_some(),
        FieldType::Unsigned => number::unsigned(value).is_some(),
        FieldType::Decimal => number::is_decimal(value),
        FieldType::UtcTimestamp => UtcTime::parse(value).is_some(),
    }
}
