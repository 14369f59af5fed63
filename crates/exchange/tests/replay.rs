//! Real recordings are read whole, and applying one's depth updates keeps to its sequence (skipped where absent).

mod common;

use feedbench_exchange::replay::{Direction, Entry, Pace, Recording, Schedule};
use serde_json::Value;

fn entries(text: &str) -> Vec<Entry> {
    Recording::new(text.as_bytes())
        .collect::<Result<_, _>>()
        .unwrap()
}

#[test]
fn the_binance_recording_has_no_gap_and_keeps_its_time() {
    let Some(text) = common::recording("binance-spot-btcusdt-20240808.gz") else {
        return;
    };
    let entries = entries(&text);
    assert_eq!(entries.len(), 41_249);
    let mut last = None;
    for entry in &entries {
        let message: Value = serde_json::from_str(&entry.frame).unwrap();
        if message["stream"] == "btcusdt@depth@100ms" {
            let first = message["data"]["U"].as_u64().unwrap();
            assert!(last.is_none_or(|last| first == last + 1));
            last = message["data"]["u"].as_u64();
        }
    }
    let schedule = Schedule::new(entries.iter().map(|entry| entry.unix_ns), Pace::Speed(1.0));
    let due: Vec<u64> = schedule.map(|due| due.due_ns).collect();
    assert_eq!(
        *due.last().unwrap(),
        entries.last().unwrap().unix_ns - entries[0].unix_ns
    );
}

#[test]
fn the_coinbase_recording_tells_what_the_client_sent() {
    let Some(text) = common::recording("coinbase-20210417.gz") else {
        return;
    };
    let entries = entries(&text);
    assert_eq!(entries.len(), 9_950, "of 9,952 lines two are empty");
    let count = |wanted: fn(&Direction) -> bool| {
        entries
            .iter()
            .filter(|entry| wanted(&entry.direction))
            .count()
    };
    assert_eq!(
        count(|direction| matches!(direction, Direction::Connected(_))),
        1
    );
    assert_eq!(
        count(|direction| matches!(direction, Direction::Sent(_))),
        3
    );
    assert!(entries
        .iter()
        .skip(1)
        .all(|entry| serde_json::from_str::<Value>(&entry.frame).is_ok()));
}
