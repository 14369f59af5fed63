//! WebSockets until they are handed over.

use crate::rig::{until_closed, Got, Rig, PATIENCE, TICKET};
use feedbench_wire::deflate::Agreement;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tungstenite::handshake::client::generate_key;

/// An upgrade as most libraries write it, with a frame in the same segment: a client need not wait for the answer of a
/// server that it knows.
fn upgrade(path: &str) -> Vec<u8> {
    let key = generate_key();
    let head = format!(
        "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n"
    );
    head.into_bytes()
}

const FRAME: &[u8] = b"\x81\x82\x00\x00\x00\x00hi";

#[test]
fn a_websocket_is_handed_over_as_a_plain_socket() {
    let rig = Rig::start();
    let socket = rig.connect();
    let url = format!("ws://{}/ws/btcusdt@trade?a=b", rig.address);
    let (mut client, response) = tungstenite::client(url, socket).unwrap();
    assert_eq!(response.status(), 101);
    let (ticket, mut established) = rig.attached();
    assert_eq!((ticket, established.leftover.len()), (TICKET, 0));
    assert!(established.tls.is_none());
    assert!(established.socket.nodelay().unwrap());
    let nothing = established.socket.read(&mut [0]).unwrap_err();
    assert_eq!(
        nothing.kind(),
        std::io::ErrorKind::WouldBlock,
        "it must not block"
    );
    established.socket.write_all(b"\x81\x05hello").unwrap();
    assert_eq!(client.read().unwrap().to_text().unwrap(), "hello");
}

#[test]
fn an_offer_to_compress_is_declined_and_breaks_nothing() {
    let rig = Rig::start();
    for offer in [
        "permessage-deflate",
        "permessage-deflate; client_max_window_bits",
        "permessage-deflate; client_max_window_bits=15; server_max_window_bits=10",
        "permessage-deflate; client_no_context_takeover, permessage-deflate; client_max_window_bits",
        "permessage-deflate; client_max_window_bits=99",
        "x-webkit-deflate-frame; no_context_takeover",
        ";,=",
    ] {
        let request = String::from_utf8(upgrade("/ws")).unwrap();
        let head = request.replacen(
            "Connection:",
            &format!("Sec-WebSocket-Extensions: {offer}\r\nConnection:"),
            1,
        );
        let mut socket = rig.connect();
        socket.write_all(head.as_bytes()).unwrap();
        let (_, mut established) = rig.attached();
        established.socket.write_all(b"\x81\x02hi").unwrap();
        drop(established);
        let answer = until_closed(socket);
        assert!(answer.starts_with("HTTP/1.1 101 "), "{offer}: {answer}");
        let (head, frame) = answer.split_once("\r\n\r\n").unwrap();
        let extensions = "sec-websocket-extensions";
        assert!(!head.to_lowercase().contains(extensions), "{offer}: {head}");
        assert!(frame.ends_with("hi"), "{offer}");
    }
}

#[test]
fn an_offer_to_compress_is_accepted_where_that_is_wanted() {
    let own = Agreement::default();
    let shared = Agreement {
        server_no_context_takeover: true,
        ..own
    };
    for (wanted, offer, answer) in [
        (
            own,
            "permessage-deflate; client_max_window_bits",
            Some("permessage-deflate"),
        ),
        (
            shared,
            "permessage-deflate; client_max_window_bits",
            Some("permessage-deflate; server_no_context_takeover"),
        ),
        (
            own,
            "permessage-deflate; server_no_context_takeover; server_max_window_bits=10",
            Some("permessage-deflate; server_no_context_takeover; server_max_window_bits=10"),
        ),
        (
            own,
            "permessage-deflate; client_max_window_bits=99, permessage-deflate",
            Some("permessage-deflate"),
        ),
        (own, "permessage-deflate; client_max_window_bits=99", None),
        (own, "x-webkit-deflate-frame", None),
    ] {
        let rig = Rig::with(|config| config.deflate = Some(wanted));
        let request = String::from_utf8(upgrade("/ws")).unwrap();
        let line = format!("Sec-WebSocket-Extensions: {offer}\r\nConnection:");
        let mut socket = rig.connect();
        socket
            .write_all(request.replacen("Connection:", &line, 1).as_bytes())
            .unwrap();
        drop(rig.attached());
        let head = until_closed(socket);
        assert!(head.starts_with("HTTP/1.1 101 "), "{offer}: {head}");
        let told = head.lines().find_map(|line| {
            let (name, value) = line.split_once(": ")?;
            name.eq_ignore_ascii_case("sec-websocket-extensions")
                .then_some(value)
        });
        assert_eq!(told, answer, "{offer}");
    }
}

#[test]
fn what_was_sent_too_early_is_not_lost() {
    let rig = Rig::start();
    let mut socket = rig.connect();
    socket
        .write_all(&[upgrade("/ws"), FRAME.to_vec()].concat())
        .unwrap();
    let (_, established) = rig.attached();
    assert_eq!(established.leftover, FRAME);
}

#[test]
fn a_tls_session_goes_with_its_socket() {
    let rig = Rig::start();
    let config = Arc::new(rig.client_config(&[b"http/1.1"]));
    let name = "stream.binance.com".try_into().unwrap();
    let mut client = rustls::ClientConnection::new(config, name).unwrap();
    let mut socket = rig.connect();
    let mut stream = rustls::Stream::new(&mut client, &mut socket);
    stream
        .write_all(&[upgrade("/ws"), FRAME.to_vec()].concat())
        .unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        head.extend(byte);
    }
    assert!(head.starts_with(b"HTTP/1.1 101 "));

    let (_, mut established) = rig.attached();
    let mut session = established.tls.unwrap();
    assert!(!session.is_handshaking() && !session.wants_write());
    assert_eq!(established.leftover, FRAME);
    // Both directions go on where the front has left them.
    stream.write_all(b"more").unwrap();
    established.socket.set_nonblocking(false).unwrap();
    established.socket.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut server = rustls::Stream::new(&mut *session, &mut established.socket);
    let mut more = [0; 4];
    server.read_exact(&mut more).unwrap();
    server.write_all(b"back").unwrap();
    let mut back = [0; 4];
    stream.read_exact(&mut back).unwrap();
    assert_eq!((&more, &back), (b"more", b"back"));
}

#[test]
fn the_exchange_refuses_in_its_own_words() {
    let rig = Rig::start();
    let url = format!("ws://{}/refused", rig.address);
    let error = tungstenite::client(url, rig.connect()).unwrap_err();
    let tungstenite::HandshakeError::Failure(tungstenite::Error::Http(response)) = error else {
        panic!("{error}")
    };
    assert_eq!(response.status(), 400);
    assert_eq!(
        response.headers()["content-type"],
        "application/json;charset=UTF-8"
    );
}

#[test]
fn a_connection_goes_on_after_a_refusal() {
    let rig = Rig::start();
    let mut socket = rig.connect();
    socket.write_all(&upgrade("/refused")).unwrap();
    let mut head = [0; 12];
    socket.read_exact(&mut head).unwrap();
    assert_eq!(&head, b"HTTP/1.1 400");
    socket.write_all(&upgrade("/ws")).unwrap();
    rig.attached();
}

#[test]
fn a_client_that_leaves_during_the_handshake_is_given_up() {
    let rig = Rig::with(|config| config.handshake_delay = Duration::from_millis(300));
    let mut socket = rig.connect();
    socket.write_all(&upgrade("/ws")).unwrap();
    drop(socket);
    match rig.got.recv_timeout(PATIENCE).unwrap() {
        Got::Abandoned(ticket) => assert_eq!(ticket, TICKET),
        // Its end was not noticed in time; the market thread will.
        Got::Attached(_, mut established) => {
            established.socket.set_nonblocking(false).unwrap();
            assert!(matches!(established.socket.read(&mut [0]), Ok(0) | Err(_)));
        }
        Got::Connected(..) => panic!("this is no FIX door"),
    }
}

#[test]
fn a_delayed_handshake_comes_late_but_comes() {
    let delay = Duration::from_millis(200);
    let rig = Rig::with(|config| config.handshake_delay = delay);
    let before = Instant::now();
    let url = format!("ws://{}/ws", rig.address);
    tungstenite::client(url, rig.connect()).unwrap();
    assert!(before.elapsed() >= delay);
    rig.attached();
}

#[test]
fn requests_that_are_no_websockets_are_told_why() {
    let rig = Rig::start();
    let good = String::from_utf8(upgrade("/ws")).unwrap();
    let key = good.split("Key: ").nth(1).unwrap().trim().to_owned();
    for (change, with, status, words) in [
        (
            "Version: 13",
            "Version: 8",
            "426",
            "sec-websocket-version: 13",
        ),
        (
            "Sec-WebSocket-Version: 13\r\n",
            "",
            "426",
            "sec-websocket-version: 13",
        ),
        (key.as_str(), "c2hvcnQ=", "400", "Sec-WebSocket-Key"),
        (
            "keep-alive, Upgrade",
            "keep-alive",
            "426",
            "Connection: Upgrade",
        ),
        ("GET", "POST", "405", "allow: GET"),
        (" HTTP/1.1", " HTTP/1.0", "400", "HTTP/1.0"),
        ("Host: x\r\n", "", "400", "Host"),
    ] {
        let request = good.replace(change, with);
        assert_ne!(request, good);
        let mut socket = rig.connect();
        socket.write_all(request.as_bytes()).unwrap();
        socket.shutdown(std::net::Shutdown::Write).unwrap();
        let answer = until_closed(socket);
        assert!(
            answer.split(' ').nth(1) == Some(status) && answer.contains(words),
            "{change}: {answer}"
        );
    }
}

#[test]
fn other_upgrades_are_passed_over() {
    let rig = Rig::start();
    let answer = rig.answer(
        b"GET /time HTTP/1.1\r\nHost: x\r\nConnection: close, Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n\
          HTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n",
    );
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
}

#[test]
fn sockets_survive_the_front() {
    let rig = Rig::start();
    let url = format!("ws://{}/ws", rig.address);
    let (mut client, _) = tungstenite::client(url, rig.connect()).unwrap();
    let (_, mut established) = rig.attached();
    drop(rig);
    established.socket.write_all(b"\x81\x05still").unwrap();
    assert_eq!(client.read().unwrap().to_text().unwrap(), "still");
    drop::<TcpStream>(established.socket);
}
