//! Streams as a network may deliver them: in pieces, out of order, twice. What is found does not change, and a
//! message's time is that of the last byte that it waited for.

use feedbench_wire::frame::{append, Header, Opcode};
use feedbench_wire_stamps::clock::Offset;
use feedbench_wire_stamps::messages::{Messages, MessagesError};
use feedbench_wire_stamps::packet::parse;
use feedbench_wire_stamps::stream::Stream;
use proptest::prelude::*;

const HEAD: &[u8] = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n";

fn frame(opcode: Opcode, fin: bool, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut header = Header::message(opcode, payload.len() as u64, None);
    header.fin = fin;
    append(&mut bytes, header, payload);
    bytes
}

/// Handshake and frames, with where each message ends.
fn conversation(payloads: &[Vec<u8>]) -> (Vec<u8>, Vec<usize>) {
    let mut bytes = HEAD.to_vec();
    let ends = payloads.iter().map(|payload| {
        bytes.extend(frame(Opcode::Text, true, payload));
        bytes.len()
    });
    let ends = ends.collect();
    (bytes, ends)
}

/// What is found when these segments (place in the stream, length) come in this order, the n-th at time n.
fn found(first: u32, bytes: &[u8], segments: &[(usize, usize)]) -> Vec<(Vec<u8>, u64)> {
    let mut stream = Stream::new(first);
    let mut messages = Messages::default();
    let mut all = Vec::new();
    for (stamp_ns, &(at, length)) in segments.iter().enumerate() {
        let end = (at + length).min(bytes.len());
        let sequence = first.wrapping_add(at as u32);
        stream
            .take(
                sequence,
                &bytes[at..end],
                stamp_ns as u64,
                |piece, stamp_ns| {
                    let took = messages.take(piece, stamp_ns, |message| {
                        all.push((message.payload.to_vec(), message.stamp_ns));
                    });
                    took.expect("frames that a server may send");
                },
            )
            .expect("nothing is missing for long");
    }
    assert!(!stream.has_gap());
    all
}

/// The time of a message by its definition: the latest, over its bytes and those before, of the first arrival.
fn expected(bytes: &[u8], ends: &[usize], segments: &[(usize, usize)]) -> Vec<u64> {
    let arrival = |byte: usize| {
        let holds = |&(at, length): &(usize, usize)| at <= byte && byte < at + length;
        segments.iter().position(holds).expect("each byte is sent") as u64
    };
    let arrivals: Vec<u64> = (0..bytes.len()).map(arrival).collect();
    ends.iter()
        .map(|&end| *arrivals[..end].iter().max().expect("a head"))
        .collect()
}

proptest! {
    #[test]
    fn any_order_gives_the_same_messages_and_the_time_of_their_last_byte(
        payloads in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 1..12),
        first in any::<u32>(),
        cuts in prop::collection::vec(1_usize..90, 1..200),
        again in prop::collection::vec((0_usize..4000, 1_usize..200), 0..6),
        shuffle in any::<prop::sample::Index>(),
    ) {
        let (bytes, ends) = conversation(&payloads);
        let mut segments = Vec::new();
        let mut at = 0;
        for length in cuts.iter().cycle() {
            if at >= bytes.len() {
                break;
            }
            segments.push((at, *length));
            at += length;
        }
        // Retransmissions of whatever part, and a rotation, so that much comes long before its turn.
        segments.extend(again.iter().filter(|(at, _)| *at < bytes.len()));
        let by = shuffle.index(segments.len());
        segments.rotate_left(by);
        let stamped = found(first, &bytes, &segments);
        let texts: Vec<Vec<u8>> = stamped.iter().map(|(text, _)| text.clone()).collect();
        prop_assert_eq!(texts, payloads);
        let stamps: Vec<u64> = stamped.iter().map(|(_, stamp_ns)| *stamp_ns).collect();
        // What waited behind a gap may have come twice; the first time counts only where it was kept.
        let earliest = expected(&bytes, &ends, &segments);
        for (stamp_ns, earliest_ns) in stamps.iter().zip(&earliest) {
            prop_assert!(stamp_ns >= earliest_ns);
        }
        if again.is_empty() {
            prop_assert_eq!(stamps, earliest);
        }
    }
}

#[test]
fn a_retransmission_of_what_was_seen_changes_no_time() {
    let (bytes, _) = conversation(&[b"first".to_vec(), b"second".to_vec()]);
    let whole = (0, bytes.len());
    assert_eq!(
        found(u32::MAX - 3, &bytes, &[whole, whole, (3, 20)]),
        [(b"first".to_vec(), 0), (b"second".to_vec(), 0)]
    );
}

#[test]
fn a_gap_that_is_never_filled_is_told() {
    let mut stream = Stream::new(0);
    stream
        .take(5, b"late", 1, |_, _| panic!("nothing is next"))
        .unwrap();
    assert!(stream.has_gap());
    let megabyte = vec![0; 1 << 20];
    let missed = (1..100).find_map(|n| stream.take(n << 20, &megabyte, 1, |_, _| {}).err());
    assert!(missed.is_some());
}

fn taken(bytes: &[u8]) -> Result<Vec<(Opcode, Vec<u8>)>, MessagesError> {
    let mut messages = Messages::default();
    let mut all = Vec::new();
    messages.take(bytes, 7, |message| {
        assert_eq!(message.stamp_ns, 7);
        all.push((message.opcode, message.payload.to_vec()));
    })?;
    Ok(all)
}

#[test]
fn fragments_are_one_message_and_pings_between_are_none() {
    let bytes = [
        HEAD.to_vec(),
        frame(Opcode::Binary, false, b"one "),
        frame(Opcode::Ping, true, b"there?"),
        frame(Opcode::Continuation, true, b"message"),
        frame(Opcode::Close, true, b""),
    ]
    .concat();
    assert_eq!(
        taken(&bytes).unwrap(),
        [(Opcode::Binary, b"one message".to_vec())]
    );
}

#[test]
fn what_can_not_be_followed_is_named() {
    assert_eq!(
        taken(b"HTTP/1.1 404 Not Found\r\n\r\n"),
        Err(MessagesError::NoHandshake)
    );
    assert_eq!(
        taken(b"\x16\x03\x03"),
        Err(MessagesError::NoHandshake),
        "TLS"
    );
    let with = |first: u8, second: u8| taken(&[HEAD, &[first, second, 0, 0, 0, 0]].concat());
    assert_eq!(with(0xC1, 1), Err(MessagesError::Compressed));
    assert_eq!(with(0x81, 0x81), Err(MessagesError::Masked));
    assert!(matches!(with(0x83, 1), Err(MessagesError::Frame(_))));
}

/// A TCP segment over IPv4 with 4 bytes of IP options, or over IPv6; 12 bytes of TCP options.
fn packet(is_ipv4: bool, flags: u8, payload: &[u8]) -> Vec<u8> {
    let mut tcp = vec![0; 32];
    tcp[..2].copy_from_slice(&9443_u16.to_be_bytes());
    tcp[2..4].copy_from_slice(&5000_u16.to_be_bytes());
    tcp[4..8].copy_from_slice(&77_u32.to_be_bytes());
    tcp[12] = 8 << 4;
    tcp[13] = flags;
    tcp.extend(payload);
    let mut ip = if is_ipv4 { vec![0; 24] } else { vec![0; 40] };
    if is_ipv4 {
        ip[0] = 0x46;
        ip[2..4].copy_from_slice(&(24 + tcp.len() as u16).to_be_bytes());
        ip[9] = 6;
        ip[16..20].copy_from_slice(&[127, 0, 0, 1]);
    } else {
        ip[0] = 0x60;
        ip[4..6].copy_from_slice(&(tcp.len() as u16).to_be_bytes());
        ip[6] = 6;
        ip[39] = 1;
    }
    ip.extend(tcp);
    ip
}

#[test]
fn headers_are_read_with_their_options() {
    for (is_ipv4, host) in [(true, "127.0.0.1"), (false, "::1")] {
        let mut bytes = packet(is_ipv4, 0x18, b"payload");
        bytes.extend(b"padding of the link");
        let segment = parse(&bytes).unwrap();
        assert_eq!(segment.payload, b"payload");
        assert_eq!(segment.destination, (host.parse().unwrap(), 5000));
        assert_eq!((segment.source_port, segment.sequence), (9443, 77));
        assert!(!segment.opens && !segment.ends);
        assert!(parse(&packet(is_ipv4, 0x12, b"")).unwrap().opens);
        assert!(parse(&packet(is_ipv4, 0x11, b"")).unwrap().ends);
    }
}

proptest! {
    #[test]
    fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..100), cut in 0_usize..80) {
        let _ = parse(&bytes);
        let whole = packet(true, 0x18, b"payload");
        assert!(parse(&whole[..cut.min(whole.len() - 1)]).is_none());
    }
}

#[test]
fn the_narrowest_bracket_tells_how_far_the_clocks_are_apart() {
    let offset = Offset::narrowest([(100, 1_150, 200), (300, 1_310, 320)].into_iter());
    assert_eq!((offset.ahead_ns, offset.uncertainty_ns), (1_000, 10));
    assert_eq!(offset.monotonic_ns(1_400), 400);
    assert_eq!(offset.monotonic_ns(10), 0, "before the machine was started");
    assert_eq!(offset.real_ms(5_000_000), 5);
}
