//! Which messages exist, which fields they have, and what values the fields take.
//!
//! A dictionary is read from a text of lines, three of them shipped with this crate:
//!
//! ```text
//! field 98 EncryptMethod INT 0            # number, name, type, then the allowed values if only some are
//! header 35! 34! 49! 52! 56! 43 122       # fields of every message; an exclamation mark: required
//! message W 55! 268!(269! 270 271) 1021   # in brackets the members of a repeating group, its first field first
//! ```

mod text;

use std::collections::HashMap;
use std::sync::LazyLock;

use super::tag::Tag;

pub use text::DictionaryError;

/// First number of the fields that two parties may agree on without asking anybody.
pub const FIRST_USER_DEFINED_TAG: Tag = 5000;

/// The form of a field's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldType {
    /// Text, or any other value that is not checked.
    String,
    /// One character.
    Char,
    /// `Y` or `N`.
    Boolean,
    /// A whole number with an optional sign.
    Int,
    /// A whole number without sign: a length, a count, a sequence number.
    Unsigned,
    /// A decimal: price, quantity, amount.
    Decimal,
    /// A moment in UTC.
    UtcTimestamp,
    /// Bytes after a length field.
    Data,
}

/// One field of the standard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldRule {
    /// Its name in the standard.
    pub name: String,
    /// The form of its value.
    pub field_type: FieldType,
    /// The only allowed values; empty when all are allowed.
    pub values: Vec<String>,
}

/// A field as a member of a message or a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Which field.
    pub tag: Tag,
    /// Whether it must be there.
    pub required: bool,
    /// The group that this field counts the entries of.
    pub group: Option<Group>,
}

/// A repeating group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// The field that tells the number of entries.
    pub count_tag: Tag,
    /// The fields of an entry. Each entry begins with the first.
    pub members: Vec<Member>,
}

impl Group {
    /// The field that begins each entry.
    #[must_use]
    pub fn delimiter(&self) -> Tag {
        self.members[0].tag
    }

    /// Whether the field belongs to an entry or to a group within.
    #[must_use]
    pub fn contains(&self, tag: Tag) -> bool {
        self.members.iter().any(|member| {
            member.tag == tag || member.group.as_ref().is_some_and(|g| g.contains(tag))
        })
    }
}

/// The body of one kind of message.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MessageRule {
    members: HashMap<Tag, Member>,
    required: Vec<Tag>,
}

impl MessageRule {
    /// The field as a member of this message.
    #[must_use]
    pub fn member(&self, tag: Tag) -> Option<&Member> {
        self.members.get(&tag)
    }

    /// The repeating group behind the counting field.
    #[must_use]
    pub fn group(&self, count_tag: Tag) -> Option<&Group> {
        self.members.get(&count_tag)?.group.as_ref()
    }

    /// The fields that must be there.
    #[must_use]
    pub fn required(&self) -> &[Tag] {
        &self.required
    }
}

/// All that a session knows about messages.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Dictionary {
    fields: HashMap<Tag, FieldRule>,
    header: MessageRule,
    messages: HashMap<Vec<u8>, MessageRule>,
}

impl Dictionary {
    /// Reads the texts as one. A later `field`, `header` or `message` replaces an earlier one of the same name.
    ///
    /// # Errors
    /// [`DictionaryError`] names the line that cannot be understood.
    pub fn parse(texts: &[&str]) -> Result<Self, DictionaryError> {
        text::parse(texts)
    }

    /// What is known of a field.
    #[must_use]
    pub fn field(&self, tag: Tag) -> Option<&FieldRule> {
        self.fields.get(&tag)
    }

    /// The fields that stand before the body of every message.
    #[must_use]
    pub fn header(&self) -> &MessageRule {
        &self.header
    }

    /// The body of a kind of message.
    #[must_use]
    pub fn message(&self, msg_type: &[u8]) -> Option<&MessageRule> {
        self.messages.get(msg_type)
    }

    /// Session messages, market data and orders of FIX 4.2 and 4.4.
    #[must_use]
    pub fn standard() -> &'static Self {
        static STANDARD: LazyLock<Dictionary> = LazyLock::new(|| shipped(&[SESSION, APPLICATION]));
        &STANDARD
    }

    /// The same with FIXT.1.1's Logon.
    #[must_use]
    pub fn fixt() -> &'static Self {
        static FIXT: LazyLock<Dictionary> =
            LazyLock::new(|| shipped(&[SESSION, APPLICATION, FIXT_LOGON]));
        &FIXT
    }

    /// Binance's subset of FIX 4.4 with its own fields.
    #[must_use]
    pub fn binance() -> &'static Self {
        static BINANCE: LazyLock<Dictionary> =
            LazyLock::new(|| shipped(&[SESSION, APPLICATION, BINANCE_TEXT]));
        &BINANCE
    }
}

const SESSION: &str = include_str!("dictionary/session.txt");
const APPLICATION: &str = include_str!("dictionary/application.txt");
const FIXT_LOGON: &str = include_str!("dictionary/fixt.txt");
const BINANCE_TEXT: &str = include_str!("dictionary/binance.txt");

fn shipped(texts: &[&str]) -> Dictionary {
    Dictionary::parse(texts).expect("the shipped dictionaries are read in the tests")
}
