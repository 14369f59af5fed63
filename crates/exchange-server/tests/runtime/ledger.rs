//! What the ledger says is what clients got.

use crate::rig::{unpaced, Rig};
use feedbench_exchange::ledger::{join, Ledger, Received, Sent};
use feedbench_exchange::personality::gemini::Gemini;
use feedbench_exchange_server::runtime::{spawn, Limit, Pacing, RuntimeError};

#[test]
fn each_message_has_its_record_and_each_record_its_message() {
    let rig = Rig::start(unpaced(2_000));
    let mut client = rig.connect("/ws/btcusdt@trade/btcusdt@depth@100ms");
    let (texts, _) = client.rest();
    let left = rig.wait();
    assert!(left.ledger().complete());
    assert_eq!(left.ledger().header().seed, Some(7));
    let received: Vec<Received> = texts
        .iter()
        .map(|text| Received::of(text.as_bytes()))
        .collect();
    let joined = join(left.sent(), &received);
    let in_order: Vec<Option<usize>> = (0..texts.len()).map(Some).collect();
    assert_eq!(joined, in_order);
    assert_eq!(left.sent().len(), texts.len());
    assert_eq!(left.totals.messages, texts.len() as u64);
    let names: Vec<String> = left.streams().into_values().collect();
    assert_eq!(names.len(), 2);
    assert_eq!(left.totals.ledger_records as usize, texts.len() + 2);
}

#[test]
fn numbers_of_single_connections_are_left_out_of_length_and_checksum() {
    let mut config = unpaced(1_000);
    config.doors.clear();
    let rig = Rig::start(config.door(Gemini::new));
    let mut client = rig.connect("/v1/marketdata/btcusd?trades=true&bids=true&offers=true");
    let (texts, _) = client.rest();
    let left = rig.wait();
    let key = r#""socket_sequence":"#;
    let without_number = |text: &String| {
        let at = text.find(key).unwrap() + key.len();
        let digits = text[at..].bytes().take_while(u8::is_ascii_digit).count();
        Received::of([&text[..at], &text[at + digits..]].concat().as_bytes())
    };
    let received: Vec<Received> = texts.iter().map(without_number).collect();
    let joined = join(left.sent(), &received);
    let found = joined.iter().flatten().count();
    assert_eq!(found, left.sent().len(), "each record has its message");
    assert!(
        found > 100 && texts.len() - found <= 1,
        "all but the snapshot"
    );
}

#[test]
fn a_run_that_is_killed_loses_only_what_was_not_yet_written() {
    let mut config = unpaced(0);
    config.pacing = Pacing::default();
    config.limit = Limit::default();
    let rig = Rig::start(config);
    let mut client = rig.connect("/ws/btcusdt@bookTicker");
    for _ in 0..200 {
        client.text();
    }
    // What a reader finds in the file while the run goes on is what it would find after SIGKILL.
    let path = rig.ledger_path();
    let found = loop {
        let bytes = std::fs::read(&path).unwrap();
        match Ledger::read(&bytes) {
            Ok(ledger) if ledger.messages().count() >= 200 => {
                assert!(!ledger.complete());
                break ledger.messages().collect::<Vec<_>>();
            }
            _ => std::thread::sleep(std::time::Duration::from_millis(5)),
        }
    };
    let left = rig.stop();
    assert!(left.ledger().complete());
    assert_eq!(left.sent()[..found.len()], found[..]);
}

#[test]
fn a_run_without_subscribers_leaves_a_ledger_without_messages() {
    let rig = Rig::start(unpaced(10));
    let left = rig.stop();
    assert!(left.ledger().complete() && left.sent().is_empty());
    assert_eq!(left.totals.opened_ns, None);
}

#[test]
fn a_ledger_that_cannot_be_written_is_an_error_before_anything_starts() {
    let mut config = unpaced(1);
    config.ledger = Some("/nowhere/at/all/ledger.fbl".into());
    let error = spawn(config).err().expect("an error");
    assert!(matches!(error, RuntimeError::Ledger { .. }));
    assert_eq!(
        error.to_string(),
        "the ledger /nowhere/at/all/ledger.fbl cannot be written"
    );
}

#[test]
fn a_disk_that_is_full_ends_the_run_with_an_error() {
    let mut config = unpaced(0);
    config.limit = Limit::default();
    config.wait_for_subscribers = 0;
    // Always full, by the kernel's definition.
    config.ledger = Some("/dev/full".into());
    let error = spawn(config).unwrap().join().unwrap_err();
    assert!(matches!(error, RuntimeError::Ledger { .. }), "{error}");
}

/// For each event that several messages tell of, whether they share a write.
fn shared_writes(coalesce: bool) -> Vec<bool> {
    let mut config = unpaced(400);
    config.pacing = Pacing::default();
    config.coalesce = coalesce;
    let rig = Rig::start(config);
    let mut client = rig.connect("/stream?streams=btcusdt@trade/btcusdt@bookTicker");
    client.rest();
    let sent = rig.wait().sent();
    let events = sent.chunk_by(|one, next| one.born_ns == next.born_ns);
    let several = events.filter(|messages| messages.len() > 1);
    let times = |message: &Sent| (message.sent_ns, message.spread_ns);
    several
        .map(|messages| messages.iter().all(|one| times(one) == times(&messages[0])))
        .collect()
}

#[test]
fn what_one_event_tells_is_written_together_unless_it_is_not_wanted() {
    let (together, apart) = (shared_writes(true), shared_writes(false));
    assert!(together.len() > 5 && together.len() == apart.len());
    assert!(together.iter().all(|&shared| shared));
    assert!(apart.iter().all(|&shared| !shared));
}
