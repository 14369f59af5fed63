//! The exchange's wall clock is the machine's, whatever it took to get ready.

use crate::rig::{market, Rig};
use feedbench_exchange::personality::binance::Binance;
use feedbench_exchange_server::runtime::RuntimeConfig;
use rustix::time::{clock_gettime, ClockId};
use serde_json::Value;
use std::thread::sleep;
use std::time::Duration;

/// What getting ready takes in these tests.
const SLOW: Duration = Duration::from_millis(600);
/// Room for a clock that is being adjusted while a test runs; far below what a clock that stands still loses.
const TOLERANCE_NS: i64 = 100_000_000;

/// How far Unix time is ahead of `CLOCK_MONOTONIC`, by the closest two readings of many.
fn ahead_ns() -> i64 {
    let read = |clock| {
        let time = clock_gettime(clock);
        time.tv_sec * 1_000_000_000 + time.tv_nsec
    };
    let looks = (0..1_000).map(|_| {
        let before_ns = read(ClockId::Monotonic);
        let unix_ns = read(ClockId::Realtime);
        (read(ClockId::Monotonic) - before_ns, unix_ns - before_ns)
    });
    looks.min().unwrap().1
}

/// What each message says of its birth, less the truth, for an exchange that is slow to get ready.
fn errors_ns(wait_for_subscribers: usize) -> Vec<i64> {
    let mut config = RuntimeConfig::new(Some(market(2_000.0))).door(|market| {
        sleep(SLOW);
        Binance::new(market)
    });
    config.wait_for_subscribers = wait_for_subscribers;
    let rig = Rig::start(config);
    let mut client = rig.connect("/ws/btcusdt@trade?timeUnit=microsecond");
    let texts: Vec<String> = (0..20).map(|_| client.text()).collect();
    let sent = rig.stop().sent();
    let ahead_ns = ahead_ns();
    let error_ns = |text: &String| {
        let told: Value = serde_json::from_str(text).unwrap();
        let number = told["t"].as_u64().unwrap();
        let record = sent.iter().find(|sent| sent.sequence == number).unwrap();
        told["E"].as_i64().unwrap() * 1_000 - (record.born_ns as i64 + ahead_ns)
    };
    texts.iter().map(error_ns).collect()
}

#[test]
fn the_clock_does_not_lose_what_it_takes_to_open() {
    for wait_for_subscribers in [0, 1] {
        let errors_ns = errors_ns(wait_for_subscribers);
        assert!(
            errors_ns.iter().all(|error| error.abs() < TOLERANCE_NS),
            "waiting for {wait_for_subscribers}: off by {errors_ns:?} ns"
        );
    }
}
