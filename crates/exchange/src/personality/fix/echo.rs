//! The application that acceptance suites of FIX engines expect: it sends orders and definitions back.

use feedbench_wire::fix::field::Field;
use feedbench_wire::fix::message::Message;
use feedbench_wire::fix::tag::{self, Tag};
use std::collections::HashSet;

/// Fields of a message that a session writes by itself, or that belong to the journey and not to the message.
const HEADER: [Tag; 18] = [
    35, 34, 43, 49, 50, 52, 56, 57, 97, 115, 116, 122, 128, 129, 142, 143, 144, 145,
];

/// Fields that count a group in these messages, and members of the groups.
const COUNTS: [Tag; 2] = [386, 454];
const GROUPED: [Tag; 4] = [336, 625, 455, 456];

/// Which messages are sent back.
pub fn is_echoed(msg_type: &[u8]) -> bool {
    matches!(msg_type, b"D" | b"d")
}

/// An application message on its way back: its body, unless the same order came before.
pub fn body(message: &Message<'_>, seen: &mut HashSet<Vec<u8>>) -> Option<Vec<u8>> {
    let may_be_known = message.flag(tag::POSS_DUP_FLAG) || message.flag(tag::POSS_RESEND);
    if let (b"D", Some(id)) = (message.msg_type(), message.get(11)) {
        let is_new = seen.insert(id.to_vec());
        if may_be_known && !is_new {
            return None;
        }
    }
    let mut fields: Vec<Field<'_>> = message
        .fields()
        .map_while(Result::ok)
        .filter(|field| !HEADER.contains(&field.tag))
        .collect();
    // In ascending order, as engines write that keep fields in a map; a group stays behind the field that counts it.
    let mut counted_by = 0;
    fields.sort_by_cached_key(|field| {
        if !GROUPED.contains(&field.tag) || counted_by == 0 {
            counted_by = if COUNTS.contains(&field.tag) {
                field.tag
            } else {
                0
            };
            return field.tag;
        }
        counted_by
    });
    let mut out = Vec::new();
    for field in fields {
        out.extend_from_slice(field.tag.to_string().as_bytes());
        out.push(b'=');
        out.extend_from_slice(field.value);
        out.push(tag::SOH);
    }
    Some(out)
}
