//! The messages of `spec/vectors/fix.json`, read and written.

use feedbench_wire::fix::encode::Encoder;
use feedbench_wire::fix::message::Message;
use feedbench_wire::fix::tag;
use serde::Deserialize;

#[derive(Deserialize)]
struct Vectors {
    messages: Vec<MessageCase>,
    garbled: Vec<GarbledCase>,
}

#[derive(Deserialize)]
struct MessageCase {
    id: String,
    wire: String,
    fields: Vec<(u32, String)>,
}

#[derive(Deserialize)]
struct GarbledCase {
    id: String,
    wire: String,
    why: String,
}

fn vectors() -> Vectors {
    serde_json::from_str(include_str!("../../../spec/vectors/fix.json")).unwrap()
}

fn bytes(wire: &str) -> Vec<u8> {
    wire.replace('|', "\x01").into_bytes()
}

#[test]
fn messages_are_read_field_by_field() {
    for case in vectors().messages {
        let wire = bytes(&case.wire);
        let (message, length) = Message::parse(&wire).unwrap().unwrap();
        assert_eq!(length, wire.len(), "{}", case.id);
        assert_eq!(message.begin_string(), bytes(&case.fields[0].1));
        let read: Vec<_> = message
            .fields()
            .map(|field| field.unwrap())
            .map(|field| (field.tag, field.value.to_vec()))
            .collect();
        let expected: Vec<_> = case.fields[2..case.fields.len() - 1]
            .iter()
            .map(|(tag, value)| (*tag, bytes(value)))
            .collect();
        assert_eq!(read, expected, "{}", case.id);
        for end in 0..wire.len() {
            assert_eq!(
                Message::parse(&wire[..end]),
                Ok(None),
                "{} cut at {end}",
                case.id
            );
        }
    }
}

#[test]
fn messages_are_written_byte_for_byte() {
    for case in vectors().messages {
        let wire = bytes(&case.wire);
        let mut written = b"before".to_vec();
        let mut encoder = Encoder::new(&mut written, &case.fields[0].1, &case.fields[2].1);
        let mut fields = case.fields[3..case.fields.len() - 1].iter();
        while let Some((tag, value)) = fields.next() {
            match tag::data_after(*tag) {
                Some(data_tag) => {
                    let (_, data) = fields.next().unwrap();
                    encoder.data(*tag, data_tag, &bytes(data));
                }
                None => encoder.text(*tag, value),
            }
        }
        assert_eq!(encoder.finish(), Ok(wire.len()), "{}", case.id);
        assert_eq!(&written[6..], wire, "{}", case.id);
    }
}

#[test]
fn garbled_bytes_are_skipped_and_the_next_message_is_found() {
    let vectors = vectors();
    let good = bytes(&vectors.messages[0].wire);
    for case in vectors.garbled {
        let mut wire = bytes(&case.wire);
        let garbled_bytes = wire.len();
        wire.extend_from_slice(&good);
        let mut at = 0;
        let mut garbled = 0;
        let found = loop {
            match Message::parse(&wire[at..]) {
                Ok(found) => break found,
                Err(error) => {
                    garbled += 1;
                    at += error.skip_bytes;
                }
            }
        };
        assert!(garbled > 0, "{}: {}", case.id, case.why);
        let (message, _) = found.unwrap_or_else(|| panic!("{}: nothing behind", case.id));
        assert_eq!(at, garbled_bytes, "{}", case.id);
        assert_eq!(message.bytes(), good, "{}", case.id);
    }
}
