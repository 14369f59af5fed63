//! permessage-deflate against `spec/vectors/permessage-deflate.json`, and against itself.

use feedbench_wire::deflate::{
    Agreement, ClientWindow, Compressor, Decompressor, DeflateError, Offer,
};
use feedbench_wire::handshake::extensions::{self, Extension};
use flate2::Compression;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use serde::Deserialize;

const LIMIT_BYTES: usize = 1 << 20;

#[derive(Deserialize)]
struct Vectors {
    messages: Vec<MessagesCase>,
    negotiations: Vec<NegotiationCase>,
}

#[derive(Deserialize)]
struct MessagesCase {
    id: String,
    wire_hex: Vec<String>,
    payload_hex: Vec<String>,
}

#[derive(Deserialize)]
struct NegotiationCase {
    offer: String,
    answer: String,
    ok: bool,
    server_bits: Option<u8>,
    client_bits: Option<u8>,
    server_forgets: Option<bool>,
    client_forgets: Option<bool>,
}

fn vectors() -> Vectors {
    serde_json::from_str(include_str!(
        "../../../spec/vectors/permessage-deflate.json"
    ))
    .unwrap()
}

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap())
        .collect()
}

fn extension(text: &str) -> Extension {
    let mut parsed = extensions::parse(text).unwrap();
    assert_eq!(parsed.len(), 1, "{text}");
    parsed.remove(0)
}

#[test]
fn messages_of_the_standard_are_read_however_they_are_fragmented() {
    for case in vectors().messages {
        for fragment_bytes in 1..12 {
            let mut decompressor = Decompressor::new(15, false, LIMIT_BYTES);
            for (wire, payload) in case.wire_hex.iter().zip(&case.payload_hex) {
                let mut message = Vec::new();
                for fragment in bytes(wire).chunks(fragment_bytes) {
                    decompressor
                        .decompress(fragment, false, &mut message)
                        .unwrap();
                }
                decompressor.decompress(&[], true, &mut message).unwrap();
                assert_eq!(
                    message,
                    bytes(payload),
                    "{} in fragments of {fragment_bytes}",
                    case.id
                );
            }
        }
    }
}

#[test]
fn answers_are_judged_as_the_vectors_say() {
    for case in vectors().negotiations {
        let offer = Offer::parse(&extension(&case.offer)).unwrap();
        let outcome = offer.check_answer(&extension(&case.answer));
        let sentence = format!("{} → {}", case.offer, case.answer);
        assert_eq!(outcome.is_ok(), case.ok, "{sentence}: {outcome:?}");
        if let Ok(agreed) = outcome {
            assert_eq!(
                Some(agreed.server_window_bits()),
                case.server_bits,
                "{sentence}"
            );
            assert_eq!(
                Some(agreed.client_window_bits()),
                case.client_bits,
                "{sentence}"
            );
            assert_eq!(
                Some(agreed.server_no_context_takeover),
                case.server_forgets,
                "{sentence}"
            );
            assert_eq!(
                Some(agreed.client_no_context_takeover),
                case.client_forgets,
                "{sentence}"
            );
        }
    }
}

#[test]
fn headers_that_break_the_grammar_are_refused() {
    for header in [
        "per message",
        "a; =1",
        "a; b=",
        "a; b=\"c",
        "a; b=c d",
        ";",
        "a;;b",
    ] {
        assert!(extensions::parse(header).is_err(), "{header}");
    }
    assert_eq!(extensions::parse(" , ").unwrap(), []);
}

#[test]
fn a_bomb_is_stopped_at_the_limit_without_growing() {
    let mut wire = Vec::new();
    let zeros = vec![0; 8 << 20];
    Compressor::new(15, false, Compression::fast())
        .compress(&zeros, &mut wire)
        .unwrap();
    assert!(
        wire.len() < LIMIT_BYTES / 8,
        "{} bytes are no bomb",
        wire.len()
    );

    let mut message = Vec::new();
    let outcome = Decompressor::new(15, false, LIMIT_BYTES).decompress(&wire, true, &mut message);
    assert_eq!(
        outcome,
        Err(DeflateError::TooLarge {
            limit_bytes: LIMIT_BYTES
        })
    );
    assert!(
        message.capacity() < 4 * LIMIT_BYTES,
        "{} bytes were taken",
        message.capacity()
    );
}

#[test]
fn the_limit_itself_is_allowed_and_holds_for_each_message_anew() {
    for (bytes, allowed) in [(99, true), (100, true), (101, false)] {
        let mut compressor = Compressor::new(15, false, Compression::default());
        let mut decompressor = Decompressor::new(15, false, 100);
        for _ in 0..3 {
            let (mut wire, mut message) = (Vec::new(), Vec::new());
            compressor.compress(&vec![7; bytes], &mut wire).unwrap();
            let outcome = decompressor.decompress(&wire, true, &mut message);
            assert_eq!(outcome.is_ok(), allowed, "{bytes} bytes");
            if !allowed {
                break;
            }
        }
    }
}

#[test]
fn damage_is_reported() {
    let mut message = Vec::new();
    // Block type 3 does not exist.
    let outcome = Decompressor::new(15, false, LIMIT_BYTES).decompress(&[0x07], true, &mut message);
    assert!(
        matches!(outcome, Err(DeflateError::Damaged(_))),
        "{outcome:?}"
    );
}

#[test]
fn a_kept_window_makes_the_second_message_smaller_and_a_forgotten_one_does_not() {
    let text = b"{\"symbol\":\"BTCUSDT\",\"price\":\"64123.17\"}";
    for (no_context_takeover, smaller) in [(false, true), (true, false)] {
        let mut compressor = Compressor::new(15, no_context_takeover, Compression::default());
        let (mut first, mut second) = (Vec::new(), Vec::new());
        compressor.compress(text, &mut first).unwrap();
        compressor.compress(text, &mut second).unwrap();
        assert_eq!(
            second.len() < first.len() / 2,
            smaller,
            "no_context_takeover {no_context_takeover}"
        );
    }
}

fn agreements() -> impl Strategy<Value = Agreement> {
    (
        any::<bool>(),
        any::<bool>(),
        option::of(8u8..=15),
        option::of(8u8..=15),
    )
        .prop_map(|(server, client, server_bits, client_bits)| Agreement {
            server_no_context_takeover: server,
            client_no_context_takeover: client,
            server_max_window_bits: server_bits,
            client_max_window_bits: client_bits,
        })
}

fn offers() -> impl Strategy<Value = Offer> {
    let window = prop_oneof![
        Just(ClientWindow::Unmentioned),
        Just(ClientWindow::Negotiable),
        (8u8..=15).prop_map(ClientWindow::AtMost),
    ];
    let bits = option::of(8u8..=15);
    (any::<bool>(), any::<bool>(), bits, window).prop_map(|(server, client, bits, window)| Offer {
        server_no_context_takeover: server,
        client_no_context_takeover: client,
        server_max_window_bits: bits,
        client_window: window,
    })
}

/// Repeats as well as noise, since only repeats refer back into the window.
fn messages() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let repeating =
        (vec(any::<u8>(), 1..40), 1usize..400).prop_map(|(unit, times)| unit.repeat(times));
    vec(prop_oneof![vec(any::<u8>(), 0..3000), repeating], 1..6)
}

proptest! {
    #[test]
    fn offers_survive_their_text(offer in offers()) {
        prop_assert_eq!(Offer::parse(&extension(&offer.to_string())), Ok(offer));
    }

    /// Any server policy gives an answer that the client who made the offer accepts and understands alike.
    #[test]
    fn every_answer_fits_its_offer(offer in offers(), wanted in agreements()) {
        let answer = offer.answer(wanted);
        prop_assert_eq!(offer.check_answer(&extension(&answer.to_string())), Ok(answer));
    }

    #[test]
    fn messages_survive_any_window_and_any_fragmentation(
        messages in messages(),
        window_bits in 8u8..=15,
        forget in any::<bool>(),
        fragment_bytes in 1usize..500,
    ) {
        let mut compressor = Compressor::new(window_bits, forget, Compression::default());
        let mut decompressor = Decompressor::new(window_bits, forget, 1 << 16);
        for message in &messages {
            let (mut wire, mut back) = (Vec::new(), Vec::new());
            compressor.compress(message, &mut wire).unwrap();
            for fragment in wire.chunks(fragment_bytes) {
                decompressor.decompress(fragment, false, &mut back).unwrap();
            }
            decompressor.decompress(&[], true, &mut back).unwrap();
            prop_assert_eq!(&back, message);
        }
    }

    #[test]
    fn no_bytes_make_inflating_panic(fragments in vec(vec(any::<u8>(), 0..200), 0..5)) {
        let mut decompressor = Decompressor::new(15, false, 1000);
        let mut out = Vec::new();
        for fragment in fragments {
            if decompressor.decompress(&fragment, true, &mut out).is_err() {
                break;
            }
        }
    }
}
