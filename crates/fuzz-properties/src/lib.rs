//! What must hold for any bytes, one function per parser that reads from the network or from disk.
//!
//! `fuzz/` gives them to libFuzzer (nightly only); `tests/seeds.rs` replays the committed seeds and every crash that was
//! ever found, on any compiler. A function panics when its property fails.

#![forbid(unsafe_code)]

pub mod exchange;
pub mod fix;

use feedbench_record::{Ending, SampleHeader, SampleReader, SampleWriter};
use feedbench_wire::deflate::{Compressor, Decompressor, DeflateError};
use feedbench_wire::frame::{Header, MAXIMUM_HEADER_BYTES};
use feedbench_wire::handshake::{Acceptance, ClientHandshake, ClientRequest, Upgrade};
use feedbench_wire::stamp::Stamp;
use feedbench_wire::utf8::Utf8Validator;

/// A frame header that is read is written back byte for byte, and says the same however little of it had arrived.
pub fn frame(bytes: &[u8]) {
    let whole = Header::parse(bytes);
    if let Ok(Some((header, head_bytes))) = whole {
        let mut written = [0; MAXIMUM_HEADER_BYTES];
        assert_eq!(header.encode(&mut written), head_bytes);
        assert_eq!(written[..head_bytes], bytes[..head_bytes]);
    }
    for end in 0..bytes.len().min(MAXIMUM_HEADER_BYTES) {
        let early = Header::parse(&bytes[..end]);
        assert!(
            early == Ok(None) || early == whole,
            "{early:?}, later {whole:?}"
        );
    }
}

/// Neither side panics, what is decided early is not taken back later, and our answer to any request that we accept
/// is one that a client would accept.
pub fn handshake(bytes: &[u8]) {
    let request = ClientRequest {
        host: "h",
        path: "/",
        key: *b"the sample nonce",
        subprotocols: &["chat"],
        deflate: Some(feedbench_wire::deflate::Offer::usual()),
        headers: &[],
    };
    let client = ClientHandshake::new(&request).expect("this request is well formed");
    let answer = client.receive(bytes);
    let upgrade = Upgrade::parse(bytes);
    let half = &bytes[..bytes.len() / 2];
    if let Ok(Some(early)) = client.receive(half) {
        assert_eq!(answer, Ok(Some(early)));
    }
    if let Ok(Some(upgrade)) = upgrade {
        assert!(upgrade.head_bytes <= bytes.len());
        assert_eq!(
            Upgrade::parse(&bytes[..upgrade.head_bytes]),
            Ok(Some(upgrade.clone()))
        );
        for offer in &upgrade.deflate {
            let acceptance = Acceptance {
                deflate: Some(offer.answer(<_>::default())),
                subprotocol: None,
            };
            assert!(acceptance.encode(&upgrade).ends_with(b"\r\n\r\n"));
        }
    }
}

/// The quick reader takes nothing that the full one refuses, and reads the same out of it.
pub fn stamp(bytes: &[u8]) {
    let Some(quick) = Stamp::parse_plain(bytes) else {
        return;
    };
    let full = Stamp::parse_any(bytes).expect("what is read quickly is a stamp");
    assert_eq!(quick.count, full.count);
    let (one_s, other_s) = (quick.unix_s(), full.unix_s());
    assert!(
        (one_s - other_s).abs() <= 1e-15 * other_s,
        "{one_s} {other_s}"
    );
}

/// No message is larger than the limit, fragments make no difference, and what comes out can be sent again.
pub fn inflate(bytes: &[u8]) {
    const LIMIT_BYTES: usize = 1 << 14;
    let mut whole = Vec::new();
    let outcome = Decompressor::new(15, false, LIMIT_BYTES).decompress(bytes, true, &mut whole);

    let mut parts = Vec::new();
    let mut in_parts = Decompressor::new(15, false, LIMIT_BYTES);
    let fragmented = bytes
        .chunks(7)
        .try_for_each(|fragment| in_parts.decompress(fragment, false, &mut parts))
        .and_then(|()| in_parts.decompress(&[], true, &mut parts));
    assert_eq!(
        outcome.is_ok(),
        fragmented.is_ok(),
        "whole {outcome:?}, in parts {fragmented:?}"
    );

    match outcome {
        Ok(()) => {
            assert!(whole.len() <= LIMIT_BYTES);
            assert_eq!(whole, parts);
            let mut wire = Vec::new();
            let mut again = Vec::new();
            let mut compressor = Compressor::new(15, false, <_>::default());
            compressor
                .compress(&whole, &mut wire)
                .expect("any message can be compressed");
            Decompressor::new(15, false, LIMIT_BYTES)
                .decompress(&wire, true, &mut again)
                .expect("what we compress can be read");
            assert_eq!(again, whole);
            utf8(&whole);
        }
        Err(DeflateError::TooLarge { limit_bytes }) => assert_eq!(limit_bytes, LIMIT_BYTES),
        Err(_) => {}
    }
}

/// Fragments make no difference to what is text.
fn utf8(bytes: &[u8]) {
    let mut validator = Utf8Validator::new();
    let verdict = bytes
        .chunks(3)
        .try_for_each(|fragment| validator.push(fragment))
        .and_then(|()| validator.finish());
    assert_eq!(verdict.is_ok(), std::str::from_utf8(bytes).is_ok());
}

/// A file that can be read at all gives records that, written again, are read as the same, and whole.
pub fn samples(bytes: &[u8]) {
    let Ok(mut reader) = SampleReader::new(bytes) else {
        return;
    };
    let Ok((samples, ending)) = reader.read_all() else {
        return;
    };
    assert_eq!(reader.ending(), Some(ending));
    let header: &SampleHeader = reader.header();
    let mut writer = SampleWriter::new(Vec::new(), header).expect("memory takes everything");
    samples.iter().for_each(|&sample| writer.append(sample));
    let (records, written) = writer.finish().expect("memory takes everything");
    assert_eq!(records, samples.len() as u64);
    let mut again = SampleReader::new(&written[..]).expect("we read what we write");
    assert_eq!(again.header(), header);
    assert_eq!(
        again.read_all().expect("we read what we write"),
        (samples, Ending::Complete)
    );
}
