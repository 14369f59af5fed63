//! Compressed messages, read by zlib itself.

use crate::rig::{unpaced, Rig};
use feedbench_exchange::faults::{FaultKind, FaultPlan, MessageFault, Which};
use feedbench_wire::deflate::Agreement;
use feedbench_wire::frame::{Header, Opcode};
use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress};
use std::io::{Read, Write};
use std::net::TcpStream;

const STREAMS: &str = "/ws/btcusdt@trade/btcusdt@bookTicker";
/// RFC 7692, section 7.2.1: what both ends leave out.
const TAIL: [u8; 4] = [0, 0, 0xff, 0xff];

fn agreement(forgets: bool) -> Agreement {
    Agreement {
        server_no_context_takeover: forgets,
        ..Agreement::default()
    }
}

/// What one client got.
struct Heard {
    texts: Vec<String>,
    /// Whole frames of texts.
    framed_bytes: u64,
    compressed: usize,
}

/// Reads frames until the end, a text at a time, with a window that is forgotten after each message or kept.
fn hear(mut socket: TcpStream, forgets: bool) -> Heard {
    let mut bytes = Vec::new();
    // The end may be a reset.
    let _ = socket.read_to_end(&mut bytes);
    let mut inflate = Decompress::new(false);
    let mut heard = Heard {
        texts: Vec::new(),
        framed_bytes: 0,
        compressed: 0,
    };
    let mut rest = &bytes[..];
    while let Some((header, start)) = Header::parse(rest).unwrap() {
        let end = start + header.payload_bytes as usize;
        if rest.len() < end {
            break;
        }
        if header.opcode == Opcode::Text {
            heard.framed_bytes += end as u64;
            heard.compressed += usize::from(header.compressed);
            let text = match header.compressed {
                false => rest[start..end].to_vec(),
                true => {
                    let mut text = Vec::with_capacity(1 << 16);
                    let packed = [&rest[start..end], &TAIL].concat();
                    inflate
                        .decompress_vec(&packed, &mut text, FlushDecompress::Sync)
                        .unwrap();
                    if forgets {
                        inflate.reset(false);
                    }
                    text
                }
            };
            heard.texts.push(String::from_utf8(text).unwrap());
        }
        rest = &rest[end..];
    }
    heard
}

#[test]
fn compressed_or_not_the_messages_are_the_same_and_their_frames_are_counted() {
    let mut config = unpaced(3_000);
    config.wait_for_subscribers = 4;
    let mut rig = Rig::start(config);
    let agreements = [None, Some(false), Some(true), Some(true)];
    let sockets = agreements.map(|forgets| {
        rig.deflate = forgets.map(agreement);
        rig.connect_raw(0, STREAMS)
    });
    let mut index = 0;
    let heard = sockets.map(|socket| {
        index += 1;
        let forgets = agreements[index - 1] == Some(true);
        std::thread::spawn(move || hear(socket, forgets))
    });
    let [plain, own, one, other] = heard.map(|thread| thread.join().unwrap());
    let left = rig.wait();
    assert!(plain.texts.len() > 500);
    for compressed in [&own, &one, &other] {
        assert_eq!(compressed.texts, plain.texts);
        assert_eq!(compressed.compressed, compressed.texts.len());
    }
    assert_eq!(plain.compressed, 0);
    assert_eq!(one.framed_bytes, other.framed_bytes);
    assert!(own.framed_bytes < one.framed_bytes && one.framed_bytes < plain.framed_bytes);
    let door = &left.totals.doors[0];
    let framed = [&plain, &own, &one, &other].map(|heard| heard.framed_bytes);
    assert_eq!(door.framed_bytes_sent, framed.iter().sum::<u64>());
    let text_bytes: usize = plain.texts.iter().map(String::len).sum();
    assert_eq!(door.bytes_sent, 4 * text_bytes as u64);
}

/// A client's compressed text.
fn said(compress: &mut Compress, text: &str) -> Vec<u8> {
    let mut packed = Vec::with_capacity(1_000);
    compress
        .compress_vec(text.as_bytes(), &mut packed, FlushCompress::Sync)
        .unwrap();
    packed.truncate(packed.len() - TAIL.len());
    let header = Header {
        compressed: true,
        ..Header::message(Opcode::Text, packed.len() as u64, Some([1, 2, 3, 4]))
    };
    let mut frame = Vec::new();
    feedbench_wire::frame::append(&mut frame, header, &packed);
    frame
}

#[test]
fn a_client_may_compress_what_it_says_and_is_answered_alike() {
    let mut config = unpaced(300);
    config.wait_for_subscribers = 1;
    let mut rig = Rig::start(config);
    rig.deflate = Some(agreement(false));
    let mut socket = rig.connect_raw(0, "/ws");
    let mut compress = Compress::new(Compression::default(), false);
    // At once: the first opens the market, which would be over before a second that came later.
    let both = [
        r#"{"method":"SUBSCRIBE","params":["ethusdt@trade"],"id":1}"#,
        r#"{"method":"SUBSCRIBE","params":["btcusdt@trade"],"id":2}"#,
    ]
    .map(|text| said(&mut compress, text))
    .concat();
    socket.write_all(&both).unwrap();
    let heard = hear(socket, false);
    rig.wait();
    assert_eq!(heard.compressed, heard.texts.len());
    for answer in [r#"{"result":null,"id":1}"#, r#"{"result":null,"id":2}"#] {
        assert!(
            heard.texts.iter().any(|text| text == answer),
            "{:?}",
            heard.texts
        );
    }
}

#[test]
fn a_client_that_compresses_rubbish_is_parted_with() {
    let mut rig = Rig::start(unpaced(300));
    rig.deflate = Some(agreement(false));
    let mut socket = rig.connect_raw(0, "/ws");
    socket
        .write_all(&[0xc1, 0x84, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff])
        .unwrap();
    let mut bytes = Vec::new();
    let mut chunk = [0; 4];
    while bytes.len() < 4 {
        let count = socket.read(&mut chunk).unwrap();
        assert!(count > 0, "it ended with {bytes:?}");
        bytes.extend_from_slice(&chunk[..count]);
    }
    assert_eq!(bytes[..4], [0x88, 2, 0x03, 0xef], "close, 1007");
    drop(socket);
    let left = rig.stop();
    assert_eq!(left.totals.doors[0].violations, 1);
}

#[test]
fn what_is_spoiled_is_compressed_as_it_is() {
    let mut config = unpaced(1_000);
    config.faults = FaultPlan {
        messages: vec![MessageFault {
            kind: FaultKind::MalformedJson,
            which: Which::Every(10),
        }],
        ..config.faults
    };
    let mut rig = Rig::start(config);
    rig.deflate = Some(agreement(false));
    let heard = hear(rig.connect_raw(0, STREAMS), false);
    let left = rig.wait();
    let is_json = |text: &&String| serde_json::from_str::<serde_json::Value>(text).is_ok();
    let whole = heard.texts.iter().filter(is_json).count();
    assert_eq!(whole, heard.texts.len() - heard.texts.len() / 10);
    assert_eq!(left.totals.doors[0].framed_bytes_sent, heard.framed_bytes);
}
