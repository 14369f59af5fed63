//! The text form of a dictionary.

use super::{Dictionary, FieldRule, FieldType, Group, Member, MessageRule, Tag};

/// A line of a dictionary that cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("dictionary line \"{line}\": {what}")]
pub struct DictionaryError {
    line: String,
    what: &'static str,
}

pub(super) fn parse(texts: &[&str]) -> Result<Dictionary, DictionaryError> {
    let mut dictionary = Dictionary::default();
    for line in texts.iter().flat_map(|text| text.lines()) {
        let statement = line.split('#').next().unwrap_or_default().trim();
        if !statement.is_empty() {
            read_statement(&mut dictionary, statement).map_err(|what| DictionaryError {
                line: line.to_owned(),
                what,
            })?;
        }
    }
    check_names(&dictionary)?;
    Ok(dictionary)
}

fn read_statement(dictionary: &mut Dictionary, statement: &str) -> Result<(), &'static str> {
    let (kind, rest) = statement
        .split_once(' ')
        .ok_or("a word is missing behind the first")?;
    match kind {
        "field" => {
            let (tag, rule) = read_field(rest)?;
            dictionary.fields.insert(tag, rule);
        }
        "header" => dictionary.header = read_rule(rest)?,
        "message" => {
            let (msg_type, members) = rest.split_once(' ').unwrap_or((rest, ""));
            dictionary
                .messages
                .insert(msg_type.as_bytes().to_vec(), read_rule(members)?);
        }
        _ => return Err("the first word is field, header or message"),
    }
    Ok(())
}

fn read_field(text: &str) -> Result<(Tag, FieldRule), &'static str> {
    let mut words = text.split_whitespace();
    let tag = words
        .next()
        .and_then(|word| word.parse().ok())
        .ok_or("a field begins with its number")?;
    let name = words
        .next()
        .ok_or("the field's name is missing")?
        .to_owned();
    let field_type = match words.next() {
        Some("STRING") => FieldType::String,
        Some("CHAR") => FieldType::Char,
        Some("BOOLEAN") => FieldType::Boolean,
        Some("INT") => FieldType::Int,
        Some("UNSIGNED") => FieldType::Unsigned,
        Some("DECIMAL") => FieldType::Decimal,
        Some("UTCTIMESTAMP") => FieldType::UtcTimestamp,
        Some("DATA") => FieldType::Data,
        _ => return Err("the field's type is unknown"),
    };
    let values = words.map(str::to_owned).collect();
    Ok((
        tag,
        FieldRule {
            name,
            field_type,
            values,
        },
    ))
}

fn read_rule(text: &str) -> Result<MessageRule, &'static str> {
    let mut rest = text;
    let members = read_members(&mut rest)?;
    if !rest.is_empty() {
        return Err("a bracket is closed that was not opened");
    }
    Ok(MessageRule {
        required: members
            .iter()
            .filter(|member| member.required)
            .map(|member| member.tag)
            .collect(),
        members: members
            .into_iter()
            .map(|member| (member.tag, member))
            .collect(),
    })
}

/// Reads members up to the end or to a closing bracket, which stays.
fn read_members(rest: &mut &str) -> Result<Vec<Member>, &'static str> {
    let mut members = Vec::new();
    loop {
        *rest = rest.trim_start();
        if rest.is_empty() || rest.starts_with(')') {
            return Ok(members);
        }
        let digits = rest
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(rest.len());
        let tag = rest[..digits]
            .parse()
            .map_err(|_| "a member is a field's number")?;
        *rest = &rest[digits..];
        let required = take(rest, '!');
        let group = if take(rest, '(') {
            let members = read_members(rest)?;
            if members.is_empty() || !take(rest, ')') {
                return Err("a group has members and a closing bracket");
            }
            Some(Group {
                count_tag: tag,
                members,
            })
        } else {
            None
        };
        members.push(Member {
            tag,
            required,
            group,
        });
    }
}

fn take(rest: &mut &str, expected: char) -> bool {
    match rest.strip_prefix(expected) {
        Some(behind) => {
            *rest = behind;
            true
        }
        None => false,
    }
}

/// Every member must be a field with a name, so that a mistyped number is found here and not by a peer.
fn check_names(dictionary: &Dictionary) -> Result<(), DictionaryError> {
    fn unknown(dictionary: &Dictionary, member: &Member) -> Option<Tag> {
        if dictionary.field(member.tag).is_none() {
            return Some(member.tag);
        }
        let group = member.group.as_ref()?;
        group
            .members
            .iter()
            .find_map(|member| unknown(dictionary, member))
    }
    let rules = dictionary.messages.values().chain([&dictionary.header]);
    for member in rules.flat_map(|rule| rule.members.values()) {
        if let Some(tag) = unknown(dictionary, member) {
            return Err(DictionaryError {
                line: format!("… {tag} …"),
                what: "no line gives this field a name",
            });
        }
    }
    Ok(())
}
