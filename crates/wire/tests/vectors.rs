//! The frames of `spec/vectors/websocket-frames.json`, read and written.

use feedbench_wire::frame::{append, Header, Opcode, MAXIMUM_HEADER_BYTES};
use feedbench_wire::mask;
use serde::Deserialize;

#[derive(Deserialize)]
struct Vectors {
    frames: Vec<FrameCase>,
    headers: Vec<HeaderCase>,
    invalid: Vec<InvalidCase>,
}

#[derive(Deserialize)]
struct FrameCase {
    id: String,
    hex: String,
    fin: bool,
    rsv1: bool,
    opcode: u8,
    mask: Option<String>,
    payload_hex: String,
}

#[derive(Deserialize)]
struct HeaderCase {
    id: String,
    hex: String,
    payload_bytes: u64,
}

#[derive(Deserialize)]
struct InvalidCase {
    id: String,
    hex: String,
    why: String,
}

fn vectors() -> Vectors {
    serde_json::from_str(include_str!("../../../spec/vectors/websocket-frames.json")).unwrap()
}

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap())
        .collect()
}

#[test]
fn frames_are_read_and_written_byte_for_byte() {
    for case in vectors().frames {
        let wire = bytes(&case.hex);
        let (header, head_bytes) = Header::parse(&wire).unwrap().unwrap();
        assert_eq!(header.fin, case.fin, "{}", case.id);
        assert_eq!(header.compressed, case.rsv1, "{}", case.id);
        assert_eq!(header.opcode as u8, case.opcode, "{}", case.id);
        let mask: Option<[u8; 4]> = case.mask.map(|hex| bytes(&hex).try_into().unwrap());
        assert_eq!(header.mask, mask, "{}", case.id);

        let mut payload = wire[head_bytes..].to_vec();
        if let Some(key) = header.mask {
            mask::apply(key, &mut payload, 0);
        }
        assert_eq!(payload, bytes(&case.payload_hex), "{}", case.id);

        let mut written = Vec::new();
        append(&mut written, header, &payload);
        assert_eq!(written, wire, "{}", case.id);
    }
}

#[test]
fn lengths_are_written_in_their_shortest_form() {
    for case in vectors().headers {
        let wire = bytes(&case.hex);
        let header = Header::message(Opcode::Binary, case.payload_bytes, None);
        let mut written = [0; MAXIMUM_HEADER_BYTES];
        let head_bytes = header.encode(&mut written);
        assert_eq!(&written[..head_bytes], wire, "{}", case.id);
        assert_eq!(
            Header::parse(&wire),
            Ok(Some((header, wire.len()))),
            "{}",
            case.id
        );
    }
}

#[test]
fn frames_that_nobody_may_send_are_refused() {
    for case in vectors().invalid {
        assert!(
            Header::parse(&bytes(&case.hex)).is_err(),
            "{}: {}",
            case.id,
            case.why
        );
    }
}
