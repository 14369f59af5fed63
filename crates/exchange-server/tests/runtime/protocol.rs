//! RFC 6455 over real sockets.

use crate::rig::{client, unpaced, Rig};
use feedbench_exchange_server::runtime::{Limit, Pacing};
use std::io::{Read, Write};
use tungstenite::protocol::frame::coding::CloseCode;
use tungstenite::protocol::CloseFrame;
use tungstenite::{Error, Message};

/// A quiet exchange: it sends nothing by itself.
fn quiet() -> Rig {
    let mut config = unpaced(0);
    config.pacing = Pacing::default();
    config.limit = Limit::default();
    config.wait_for_subscribers = usize::MAX;
    Rig::start(config)
}

/// The status code with which the exchange ends after these bytes.
fn code_after(bytes: &[u8]) -> Option<u16> {
    let rig = quiet();
    let mut socket = rig.connect_raw(0, "/ws");
    socket.write_all(bytes).unwrap();
    let (texts, code) = client(socket).rest();
    assert_eq!(texts, [""; 0]);
    let left = rig.stop();
    assert_eq!(left.totals.doors[0].violations, 1);
    code
}

#[test]
fn violations_end_the_connection_with_their_status_code() {
    for (sentence, bytes, code) in [
        ("not masked", &[0x81, 1, b'x'][..], 1002),
        ("reserved bits", &[0xf1, 0x80, 0, 0, 0, 0], 1002),
        ("an unknown opcode", &[0x83, 0x80, 0, 0, 0, 0], 1002),
        ("a ping in fragments", &[0x09, 0x80, 0, 0, 0, 0], 1002),
        ("a continuation of nothing", &[0x80, 0x80, 0, 0, 0, 0], 1002),
        ("no text", &[0x81, 0x81, 0, 0, 0, 0, 0xff], 1007),
        (
            "a frame of a terabyte",
            &[0x81, 0xff, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            1009,
        ),
    ] {
        assert_eq!(code_after(bytes), Some(code), "{sentence}");
    }
}

#[test]
fn a_message_that_is_too_large_gets_the_exchanges_answer() {
    let rig = quiet();
    let mut client = rig.connect("/ws");
    client.0.write(Message::text("x".repeat(1 << 17))).unwrap();
    // The exchange may have closed before all was written.
    let _ = client.0.flush();
    let code = client.rest().1;
    assert_eq!(code, Some(1009));
}

#[test]
fn pings_are_answered_and_requests_too() {
    let rig = quiet();
    let mut client = rig.connect("/ws");
    client.0.send(Message::Ping("payload".into())).unwrap();
    assert_eq!(client.next().unwrap(), Message::Pong("payload".into()));
    client.send(r#"{"method":"LIST_SUBSCRIPTIONS","id":3}"#);
    assert_eq!(client.text(), r#"{"result":[],"id":3}"#);
    assert_eq!(rig.rest("/api/v3/ping").status, 200);
    let refusal = rig.open(0, "/nothing").unwrap_err();
    assert_eq!(refusal.status, 404);
    let left = rig.stop();
    let door = &left.totals.doors[0];
    assert_eq!(
        (door.connections, door.refusals, door.rest_requests),
        (1, 1, 1)
    );
    assert_eq!(door.messages_received, 2);
}

#[test]
fn a_request_that_came_with_the_handshake_is_not_lost() {
    let rig = quiet();
    let ticket = rig.open(0, "/ws").unwrap();
    let (socket, server) = crate::rig::pair();
    let mut frame = Vec::new();
    let text = br#"{"method":"LIST_SUBSCRIPTIONS","id":1}"#;
    let header = feedbench_wire::frame::Header::message(
        feedbench_wire::frame::Opcode::Text,
        text.len() as u64,
        Some([9, 8, 7, 6]),
    );
    feedbench_wire::frame::append(&mut frame, header, text);
    let (early, late) = frame.split_at(11);
    rig.attach(ticket, server, early);
    (&socket).write_all(late).unwrap();
    assert_eq!(client(socket).text(), r#"{"result":[],"id":1}"#);
}

#[test]
fn a_client_that_closes_gets_its_close_frame_back_and_then_the_end() {
    let rig = quiet();
    let mut client = rig.connect("/ws");
    let goodbye = CloseFrame {
        code: CloseCode::Normal,
        reason: "bye".into(),
    };
    client.0.close(Some(goodbye)).unwrap();
    match client.next() {
        Ok(Message::Close(Some(frame))) => assert_eq!(frame.code, CloseCode::Normal),
        other => panic!("{other:?}"),
    }
    assert!(matches!(client.next(), Err(Error::ConnectionClosed)));
    // The exchange shuts its side of the socket first, as the RFC asks of servers.
    assert_eq!(client.0.get_mut().read(&mut [0; 8]).unwrap(), 0);
}

#[test]
fn a_client_that_vanishes_is_forgotten() {
    let mut config = unpaced(500);
    config.wait_for_subscribers = 2;
    let rig = Rig::start(config);
    drop(rig.connect("/ws/btcusdt@bookTicker"));
    let mut second = rig.connect("/ws/btcusdt@bookTicker");
    let mut third = rig.connect("/ws/btcusdt@bookTicker");
    assert_eq!(second.rest(), third.rest());
    rig.wait();
}
