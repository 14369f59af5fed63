//! What no good client sends.

use crate::rig::{until_closed, Rig};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::io::Write;
use std::net::Shutdown;
use std::time::Duration;

#[test]
fn garbage_is_answered_once_and_the_connection_closed() {
    let rig = Rig::start();
    let long = "a".repeat(20_000);
    let many: String = (0..200).map(|n| format!("h{n}: v\r\n")).collect();
    for (bytes, status) in [
        (b"\0\0\0\0\r\n\r\n".to_vec(), "400"),
        (b"GET\r\n\r\n".to_vec(), "400"),
        (b"GET / HTTP/9.9\r\n\r\n".to_vec(), "400"),
        (b"GET / HTTP/1.1\r\nno colon\r\n\r\n".to_vec(), "400"),
        (
            b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n".to_vec(),
            "400",
        ),
        (
            format!("GET /{long} HTTP/1.1\r\nHost: x\r\n\r\n").into_bytes(),
            "431",
        ),
        (
            format!("GET / HTTP/1.1\r\nHost: x\r\nlong: {long}\r\n\r\n").into_bytes(),
            "431",
        ),
        (
            format!("GET / HTTP/1.1\r\nHost: x\r\n{many}\r\n").into_bytes(),
            "431",
        ),
    ] {
        let answer = rig.answer(&bytes);
        let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(60)]).into_owned();
        assert_eq!(
            answer.split(' ').nth(1),
            Some(status),
            "{shown:?}: {answer}"
        );
    }
}

#[test]
fn what_ends_before_it_begins_is_closed() {
    let rig = Rig::start();
    for bytes in [
        &b""[..],
        b"P",
        b"PR",
        b"GET / HT",
        b"\x16",
        b"\x16\x03\x01",
        b"PRI * HTTP/2.0\r\n",
    ] {
        let mut socket = rig.connect();
        socket.write_all(bytes).unwrap();
        socket.shutdown(Shutdown::Write).unwrap();
        until_closed(socket);
    }
}

#[test]
fn a_tls_record_of_garbage_gets_an_alert() {
    let rig = Rig::start();
    let answer = rig.answer(b"\x16\x03\x01\x00\x04\x01\x00\x00\x00");
    assert_eq!(answer.as_bytes().first(), Some(&0x15), "{answer:?}");
}

#[test]
fn a_frame_of_http_2_garbage_ends_the_connection() {
    let rig = Rig::start();
    rig.answer(&[&b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..], &[0xff; 64]].concat());
}

#[test]
fn without_tls_a_tls_client_is_closed() {
    let rig = Rig::with(|config| config.tls = None);
    assert_eq!(rig.answer(b"\x16\x03\x01\x00\x04\xff\xff\xff\xff"), "");
    let answer = rig.answer(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 200 "));
}

#[test]
fn clients_that_say_nothing_lose_their_place_to_those_who_do() {
    let rig = Rig::with(|config| {
        config.limits.handshakes = 3;
        config.limits.first_request = Duration::from_millis(200);
    });
    let slow = [
        &b""[..],
        b"PR",
        b"GET / HTTP/1.1\r\nHost",
        b"\x16\x03\x01",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ];
    let silent: Vec<_> = (0..20)
        .map(|n| {
            let mut socket = rig.connect();
            // One that was closed already is out of the way.
            let _ = socket.write_all(slow[n % slow.len()]);
            socket
        })
        .collect();
    // It waits in the kernel's queue until the others' time is up.
    let answer = rig.answer(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    silent
        .into_iter()
        .for_each(|socket| drop(until_closed(socket)));
}

#[test]
fn open_connections_that_are_idle_take_no_place() {
    let rig = Rig::with(|config| config.limits.handshakes = 2);
    let idle: Vec<_> = (0..10)
        .map(|_| {
            let mut socket = rig.connect();
            socket
                .write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                .unwrap();
            socket
        })
        .collect();
    let answer = rig.answer(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    drop(idle);
}

#[test]
fn an_idle_connection_is_closed_in_the_end() {
    let rig = Rig::with(|config| config.limits.idle = Duration::from_millis(100));
    let answer = rig.answer(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
}

/// Bytes of a head that could be one, of TLS and HTTP/2 beginnings, and of nothing.
fn beginnings() -> impl Strategy<Value = Vec<u8>> {
    let head = "(GET|POST|PRI|[A-Z]{0,9})[ ]?[ -~]{0,40}( HTTP/(1.1|1.0|2.0|9))?(\r\n|\n|\r)";
    let line = "(Host|Upgrade|Connection|Content-Length|Transfer-Encoding|Sec-WebSocket-(Key|Version)|[ -~]{0,9}):? ?(websocket|chunked|[ -~]{0,20})(\r\n|\n)";
    let http = (
        head,
        proptest::collection::vec(line, 0..6),
        "(\r\n)?[ -~]{0,9}",
    )
        .prop_map(|(head, lines, rest)| [head, lines.concat(), rest].concat().into_bytes());
    let bytes = |first: &'static [u8]| {
        proptest::collection::vec(any::<u8>(), 0..60).prop_map(move |rest| [first, &rest].concat())
    };
    prop_oneof![
        http,
        bytes(b""),
        bytes(b"\x16\x03\x01"),
        bytes(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
    ]
}

#[test]
fn whatever_comes_is_answered_or_closed_and_the_next_client_is_served() {
    let rig = Rig::start();
    let config = Config {
        cases: 100,
        failure_persistence: None,
        ..Config::default()
    };
    let outcome = TestRunner::new(config).run(&beginnings(), |bytes| {
        let mut socket = rig.connect();
        // It may close before it has read everything.
        let _ = socket.write_all(&bytes);
        let _ = socket.shutdown(Shutdown::Write);
        until_closed(socket);
        let answer = rig.answer(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        prop_assert!(answer.starts_with("HTTP/1.1 200 "), "{}", answer);
        Ok(())
    });
    outcome.unwrap();
}
