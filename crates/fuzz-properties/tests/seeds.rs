//! Replays the fuzzer's seeds, and the inputs that once broke a parser, without a fuzzer.

use std::fs;
use std::path::Path;

fn replay(target: &str, property: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fuzz/seeds")
        .join(target);
    let mut replayed = 0;
    for entry in
        fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
    {
        let path = entry.unwrap().path();
        let bytes = fs::read(&path).unwrap();
        eprintln!("{}", path.display()); // shown if the property fails
        property(&bytes);
        replayed += 1;
    }
    assert!(
        replayed >= 5,
        "only {replayed} seeds in {}",
        folder.display()
    );
}

#[test]
fn frame() {
    replay("frame", feedbench_fuzz_properties::frame);
}

#[test]
fn handshake() {
    replay("handshake", feedbench_fuzz_properties::handshake);
}

#[test]
fn inflate() {
    replay("inflate", feedbench_fuzz_properties::inflate);
}

#[test]
fn samples() {
    replay("samples", feedbench_fuzz_properties::samples);
}

#[test]
fn stamp() {
    replay("stamp", feedbench_fuzz_properties::stamp);
}

#[test]
fn session() {
    replay("session", feedbench_fuzz_properties::exchange::session);
}

#[test]
fn rest() {
    replay("rest", feedbench_fuzz_properties::exchange::rest);
}

#[test]
fn inbound() {
    replay("inbound", feedbench_fuzz_properties::exchange::inbound);
}

#[test]
fn recording() {
    replay("recording", feedbench_fuzz_properties::exchange::recording);
}

#[test]
fn ledger() {
    replay("ledger", feedbench_fuzz_properties::exchange::ledger);
}

#[test]
fn fix() {
    replay("fix", feedbench_fuzz_properties::fix::messages);
}

#[test]
fn fix_session() {
    replay("fix_session", feedbench_fuzz_properties::fix::session);
}
