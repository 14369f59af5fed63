//! The handshake of both sides, against `spec/vectors/websocket-handshake.json` and against each other.

use feedbench_wire::deflate::{Agreement, Offer};
use feedbench_wire::handshake::{
    accept_for, Acceptance, ClientHandshake, ClientRequest, HandshakeError, Upgrade, UpgradeError,
    HEAD_LIMIT_BYTES,
};
use proptest::prelude::*;
use serde::Deserialize;

/// The key of RFC 6455's example: "the sample nonce".
const SAMPLE_KEY: [u8; 16] = *b"the sample nonce";

fn request() -> ClientRequest<'static> {
    ClientRequest {
        host: "127.0.0.1:9001",
        path: "/echo",
        key: SAMPLE_KEY,
        subprotocols: &[],
        deflate: None,
        headers: &[],
    }
}

#[derive(Deserialize)]
struct Vectors {
    accept: Vec<AcceptCase>,
    responses: Vec<ResponseCase>,
}

#[derive(Deserialize)]
struct AcceptCase {
    key: String,
    accept: String,
}

#[derive(Deserialize)]
struct ResponseCase {
    id: String,
    offers: Offers,
    response: String,
    ok: bool,
    says: Option<String>,
    subprotocol: Option<String>,
    deflate: Option<bool>,
}

#[derive(Deserialize)]
struct Offers {
    subprotocols: Vec<String>,
    deflate: bool,
}

fn vectors() -> Vectors {
    serde_json::from_str(include_str!(
        "../../../spec/vectors/websocket-handshake.json"
    ))
    .unwrap()
}

#[test]
fn accept_values_are_those_of_the_vectors() {
    for case in vectors().accept {
        assert_eq!(accept_for(&case.key), case.accept, "{}", case.key);
    }
}

#[test]
fn responses_are_judged_as_the_vectors_say_wherever_they_are_split() {
    for case in vectors().responses {
        let offered: Vec<&str> = case
            .offers
            .subprotocols
            .iter()
            .map(String::as_str)
            .collect();
        let deflate = case.offers.deflate.then(Offer::usual);
        let request = ClientRequest {
            subprotocols: &offered,
            deflate,
            ..request()
        };
        let handshake = ClientHandshake::new(&request).unwrap();
        let response = case.response.as_bytes();
        let whole = handshake.receive(response);
        for end in 0..response.len() {
            match handshake.receive(&response[..end]) {
                Ok(None) => {}
                // What is decided early is decided alike; only the quoted text may still grow.
                early => assert_eq!(early.is_ok(), whole.is_ok(), "{} at byte {end}", case.id),
            }
        }
        match whole {
            Ok(established) => {
                assert!(case.ok, "{}: accepted", case.id);
                let established = established.unwrap();
                assert_eq!(established.head_bytes, response.len(), "{}", case.id);
                assert_eq!(established.subprotocol, case.subprotocol, "{}", case.id);
                assert_eq!(
                    Some(established.deflate.is_some()),
                    case.deflate,
                    "{}",
                    case.id
                );
            }
            Err(error) => {
                let said = error.to_string();
                assert!(!case.ok, "{}: {said}", case.id);
                assert!(said.contains(&case.says.unwrap()), "{}: {said}", case.id);
            }
        }
    }
}

#[test]
fn a_greeting_in_the_same_segment_is_left_to_the_caller() {
    let handshake = ClientHandshake::new(&request()).unwrap();
    let upgrade = Upgrade::parse(handshake.request()).unwrap().unwrap();
    let mut received = Acceptance::default().encode(&upgrade);
    let head_bytes = received.len();
    received.extend_from_slice(b"\x81\x05Hello");
    assert_eq!(
        handshake.receive(&received).unwrap().unwrap().head_bytes,
        head_bytes
    );
}

#[test]
fn a_head_without_end_is_refused_at_the_limit() {
    let handshake = ClientHandshake::new(&request()).unwrap();
    let mut endless = b"HTTP/1.1 101 Switching Protocols\r\nX-Filler: ".to_vec();
    endless.resize(HEAD_LIMIT_BYTES - 1, b'a');
    assert_eq!(handshake.receive(&endless), Ok(None));
    endless.push(b'a');
    assert_eq!(handshake.receive(&endless), Err(HandshakeError::TooLarge));

    let mut endless = b"GET / HTTP/1.1\r\nX-Filler: ".to_vec();
    endless.resize(HEAD_LIMIT_BYTES, b'a');
    assert_eq!(Upgrade::parse(&endless), Err(UpgradeError::TooLarge));
}

#[test]
fn requests_cannot_be_made_to_hold_a_second_request() {
    let rows: [(&str, ClientRequest<'_>); 6] = [
        (
            "a path with a line end",
            ClientRequest {
                path: "/a HTTP/1.1\r\nX: y",
                ..request()
            },
        ),
        (
            "a path without its slash",
            ClientRequest {
                path: "echo",
                ..request()
            },
        ),
        (
            "an empty host",
            ClientRequest {
                host: "",
                ..request()
            },
        ),
        (
            "a host with a line end",
            ClientRequest {
                host: "a\r\nX: y",
                ..request()
            },
        ),
        (
            "a subprotocol that is a list",
            ClientRequest {
                subprotocols: &["a, b"],
                ..request()
            },
        ),
        (
            "a header value with a line end",
            ClientRequest {
                headers: &[("X", "y\r\nZ: z")],
                ..request()
            },
        ),
    ];
    for (sentence, row) in rows {
        let outcome = ClientHandshake::new(&row);
        assert!(
            matches!(outcome, Err(HandshakeError::Request { .. })),
            "{sentence}"
        );
    }
}

#[test]
fn requests_that_are_no_upgrade_are_told_why() {
    let upgrade = "Host: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n";
    let key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    let version = "Sec-WebSocket-Version: 13\r\n";
    let rows = [
        ("another method", format!("POST / HTTP/1.1\r\n{upgrade}{key}{version}\r\n"), "405"),
        ("an ordinary request", "GET / HTTP/1.1\r\nHost: h\r\n\r\n".to_owned(), "426"),
        (
            "an old protocol version",
            format!("GET / HTTP/1.1\r\n{upgrade}{key}Sec-WebSocket-Version: 8\r\n\r\n"),
            "Sec-WebSocket-Version: 13",
        ),
        ("no key", format!("GET / HTTP/1.1\r\n{upgrade}{version}\r\n"), "400"),
        (
            "a key of 15 bytes",
            format!("GET / HTTP/1.1\r\n{upgrade}Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAA\r\n{version}\r\n"),
            "400",
        ),
        ("two keys", format!("GET / HTTP/1.1\r\n{upgrade}{key}{key}{version}\r\n"), "400"),
        ("HTTP/1.0", format!("GET / HTTP/1.0\r\n{upgrade}{key}{version}\r\n"), "400"),
        ("another protocol", "SSH-2.0-OpenSSH\r\n\r\n".to_owned(), "400"),
    ];
    for (sentence, text, status) in rows {
        let error = Upgrade::parse(text.as_bytes()).expect_err(sentence);
        let refusal = String::from_utf8(error.refusal()).unwrap();
        assert!(refusal.contains(status), "{sentence}: {refusal}");
        let length = refusal.split_once("\r\n\r\n").unwrap().1.len();
        assert!(
            refusal.contains(&format!("Content-Length: {length}\r\n")),
            "{sentence}: {refusal}"
        );
    }
}

#[test]
fn offers_that_a_server_does_not_understand_are_passed_over() {
    let text = "GET / HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
                Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\
                Sec-WebSocket-Extensions: x-other, permessage-deflate; x_window=1\r\n\
                Sec-WebSocket-Extensions: permessage-deflate; server_max_window_bits=10\r\n\r\n";
    let upgrade = Upgrade::parse(text.as_bytes()).unwrap().unwrap();
    let [offer] = upgrade.deflate[..] else {
        panic!("{:?}", upgrade.deflate)
    };
    assert_eq!(offer.server_max_window_bits, Some(10));
}

proptest! {
    /// Whatever a client asks for, our server answers so that the client accepts it, and both agree on what it was.
    #[test]
    fn both_sides_agree(
        key in any::<[u8; 16]>(),
        path in "/[a-z/?=&]{0,30}",
        subprotocol in proptest::option::of("[a-z]{1,8}"),
        offers_deflate in any::<bool>(),
        wanted_bits in 8u8..=15,
        forget in any::<bool>(),
    ) {
        let subprotocols: Vec<&str> = subprotocol.as_deref().into_iter().collect();
        let deflate = offers_deflate.then(Offer::usual);
        let asked = ClientRequest { path: &path, key, subprotocols: &subprotocols, deflate, ..request() };
        let handshake = ClientHandshake::new(&asked).unwrap();

        let upgrade = Upgrade::parse(handshake.request()).unwrap().unwrap();
        prop_assert_eq!(&upgrade.path, &path);
        prop_assert_eq!(upgrade.head_bytes, handshake.request().len());
        let wanted = Agreement {
            client_max_window_bits: Some(wanted_bits),
            server_no_context_takeover: forget,
            ..Agreement::default()
        };
        let agreed = upgrade.deflate.first().map(|offer| offer.answer(wanted));
        let acceptance = Acceptance {
            subprotocol: upgrade.subprotocols.first().map(String::as_str),
            deflate: agreed,
        };

        let established = handshake.receive(&acceptance.encode(&upgrade)).unwrap().unwrap();
        prop_assert_eq!(established.subprotocol, subprotocol);
        prop_assert_eq!(established.deflate, agreed);
        prop_assert_eq!(agreed.is_some(), offers_deflate);
    }

    #[test]
    fn a_request_cut_short_asks_for_more(end in 0usize..100) {
        let handshake = ClientHandshake::new(&request()).unwrap();
        prop_assert_eq!(Upgrade::parse(&handshake.request()[..end]), Ok(None));
    }

    #[test]
    fn no_bytes_make_either_side_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let handshake = ClientHandshake::new(&request()).unwrap();
        let _ = handshake.receive(&bytes);
        let _ = Upgrade::parse(&bytes);
    }
}
