//! The exchange's properties for bytes like those that clients send: seeds with some of their bytes replaced, taken out
//! or doubled, for runs without a fuzzer.

use feedbench_fuzz_properties::{exchange, fix};
use proptest::prelude::*;
use proptest::sample::Index;
use std::fs;
use std::path::Path;

fn seeds(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds");
    let mut paths: Vec<_> = fs::read_dir(folder.join(target))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    paths.iter().map(|path| fs::read(path).unwrap()).collect()
}

/// What happens to a seed: where, how many bytes, and what comes in their place.
fn mutated(target: &str) -> impl Strategy<Value = Vec<u8>> {
    let cut = (
        any::<Index>(),
        0usize..12,
        proptest::collection::vec(any::<u8>(), 0..6),
    );
    let cuts = proptest::collection::vec(cut, 0..4);
    (proptest::sample::select(seeds(target)), cuts).prop_map(|(mut bytes, cuts)| {
        for (at, count, with) in cuts {
            let start = at.index(bytes.len() + 1);
            let end = (start + count).min(bytes.len());
            bytes.splice(start..end, with);
        }
        bytes
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn session(bytes in mutated("session")) {
        exchange::session(&bytes);
    }

    #[test]
    fn rest(bytes in mutated("rest")) {
        exchange::rest(&bytes);
    }

    #[test]
    fn inbound(bytes in mutated("inbound")) {
        exchange::inbound(&bytes);
    }

    #[test]
    fn fix_messages(bytes in mutated("fix")) {
        fix::messages(&bytes);
    }

    #[test]
    fn fix_session(bytes in mutated("fix_session")) {
        fix::session(&bytes);
    }

    #[test]
    fn recording(bytes in mutated("recording")) {
        exchange::recording(&bytes);
    }

    #[test]
    fn ledger(bytes in mutated("ledger")) {
        exchange::ledger(&bytes);
    }
}
