//! UTF-8 over fragments: the same verdict wherever a text is split.

use feedbench_wire::utf8::{Utf8Error, Utf8Validator};
use proptest::prelude::*;
use serde::Deserialize;

#[derive(Deserialize)]
struct Vectors {
    valid: Vec<String>,
    invalid: Vec<InvalidCase>,
}

#[derive(Deserialize)]
struct InvalidCase {
    hex: String,
    position: u64,
    why: String,
}

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap())
        .collect()
}

fn verdict<'a>(fragments: impl IntoIterator<Item = &'a [u8]>) -> Result<(), Utf8Error> {
    let mut validator = Utf8Validator::new();
    for fragment in fragments {
        validator.push(fragment)?;
    }
    validator.finish()
}

/// What the standard library says of the whole text.
fn expected(text: &[u8]) -> Result<(), Utf8Error> {
    match std::str::from_utf8(text) {
        Ok(_) => Ok(()),
        Err(error) => Err(Utf8Error {
            position: error.valid_up_to() as u64,
        }),
    }
}

#[test]
fn vectors_are_judged_alike_at_every_split() {
    let vectors: Vectors =
        serde_json::from_str(include_str!("../../../spec/vectors/utf8.json")).unwrap();
    let valid = vectors
        .valid
        .into_iter()
        .map(|hex| (hex, None, "valid".to_owned()));
    let invalid = vectors
        .invalid
        .into_iter()
        .map(|case| (case.hex, Some(case.position), case.why));
    for (hex, position, why) in valid.chain(invalid) {
        let text = bytes(&hex);
        let wanted = position.map_or(Ok(()), |position| Err(Utf8Error { position }));
        for split in 0..=text.len() {
            let (left, right) = text.split_at(split);
            assert_eq!(
                verdict([left, right]),
                wanted,
                "{hex} ({why}) split at {split}"
            );
        }
        assert_eq!(
            verdict(text.chunks(1)),
            wanted,
            "{hex} ({why}) byte by byte"
        );
    }
}

#[test]
fn a_wrong_byte_is_reported_in_the_fragment_that_holds_it() {
    let mut validator = Utf8Validator::new();
    validator.push(b"ab\xf4").unwrap();
    assert_eq!(
        validator.push(b"\x90"),
        Err(Utf8Error { position: 2 }),
        "above U+10FFFF"
    );
}

#[test]
fn a_finished_validator_begins_anew() {
    let mut validator = Utf8Validator::new();
    validator.push(b"abc\xe2").unwrap();
    assert_eq!(validator.finish(), Err(Utf8Error { position: 3 }));
    validator.push(b"abc").unwrap();
    assert_eq!(validator.finish(), Ok(()));
}

fn texts() -> impl Strategy<Value = Vec<u8>> {
    // Mostly text, with a byte changed now and then.
    (
        ".{0,60}",
        proptest::option::weighted(0.5, (any::<prop::sample::Index>(), any::<u8>())),
    )
        .prop_map(|(text, change)| {
            let mut text = text.into_bytes();
            if let (Some((index, byte)), false) = (change, text.is_empty()) {
                let at = index.index(text.len());
                text[at] = byte;
            }
            text
        })
}

proptest! {
    #[test]
    fn agrees_with_the_standard_library(text in texts(), fragment_bytes in 1usize..20) {
        prop_assert_eq!(verdict(text.chunks(fragment_bytes)), expected(&text));
    }
}
