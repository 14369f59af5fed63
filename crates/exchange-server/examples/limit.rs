//! What the market thread can do on this machine, held against its bars.
//!
//! `make bench-exchange`, or `cargo run --release -p feedbench-exchange-server --example limit [seconds] [ledger]`:
//! messages per second beside a raw loop of writes over the same sockets. *As shipped*: the exchange as anybody runs it,
//! which writes together what is due together when it is late, beside a loop with a write for each message; this row
//! carries the bar. *Like for like*: both write alike, one message at a time or batches of the same size; no bar, since
//! the loop neither makes nor encodes what it writes. Then lateness at 100,000 events per second beside a raw loop with
//! the same times, and memory of an idle subscriber. The senders take CPU 1, their reader CPU 0. Exits with 1 if a bar is
//! missed.

use feedbench_exchange_server::runtime::limit::{
    lateness, memory_bytes, throughput, Setting, Throughput, Writes,
};
use std::error::Error;
use std::process::ExitCode;

/// Of a raw loop's messages per second.
const THROUGHPUT_BAR: f64 = 0.8;
const LATENESS_BAR_NS: u64 = 50_000;
const MEMORY_BAR_BYTES: f64 = 8_192.0;

fn verdict(holds: bool) -> &'static str {
    match holds {
        true => "ok",
        false => "MISSED",
    }
}

/// A row; true unless it misses a bar.
fn print_row(subscribers: usize, name: &str, found: &Throughput, has_bar: bool) -> bool {
    let [own, raw] = found.batches;
    let holds = !has_bar || found.ratio.per_s >= THROUGHPUT_BAR;
    let bar = match has_bar {
        true => format!("bar >= {THROUGHPUT_BAR}   {}", verdict(holds)),
        false => "no bar".to_owned(),
    };
    println!(
        "{subscribers:>11} {name:<26} {own:>6} {raw:>4} {:>11.0} {:>11.0} {:>13.0} {:>11.0} {:>6.3} {:>9.3}   {bar}",
        found.market.per_s,
        found.raw.per_s,
        found.market.per_cpu_s,
        found.raw.per_cpu_s,
        found.ratio.per_s,
        found.ratio.per_cpu_s,
    );
    holds
}

/// Prints a table; true if each row holds its bar.
fn print_throughput(setting: &Setting) -> Result<bool, Box<dyn Error>> {
    println!(
        "{:>11} {:<26} {:>6} {:>4} {:>11} {:>11} {:>13} {:>11} {:>6} {:>9}",
        "subscribers",
        "messages in a write:",
        "market",
        "raw",
        "market/s",
        "raw/s",
        "market/cpu·s",
        "raw/cpu·s",
        "ratio",
        "cpu ratio"
    );
    let mut all_hold = true;
    for (writes, name, has_bar) in [
        (Writes::AsShipped, "as shipped", true),
        (Writes::OneEach, "like for like, one each", false),
        (Writes::Batched, "like for like, batched", false),
    ] {
        for subscribers in [1, 8, 64, 512] {
            let found = throughput(setting, subscribers, writes)?;
            all_hold &= print_row(subscribers, name, &found, has_bar);
        }
    }
    Ok(all_hold)
}

fn print_lateness(setting: &Setting) -> Result<bool, Box<dyn Error>> {
    let found = lateness(setting, 100_000.0)?;
    let holds = found
        .market
        .p99
        .is_some_and(|p99_ns| p99_ns < LATENESS_BAR_NS);
    println!(
        "100,000 events/s to one subscriber, ns from when a message was due until its write began:"
    );
    for (name, lag) in [("market", &found.market), ("raw", &found.raw)] {
        let shown = |value: Option<u64>| value.map_or("-".to_owned(), |value| value.to_string());
        println!(
            "{name:>11}   p50 {:>7}   p99 {:>7}   p99.9 {:>8}   of {} messages",
            shown(lag.p50),
            shown(lag.p99),
            shown(lag.p99_9),
            lag.count
        );
    }
    println!(
        "             bar: market's p99 < {LATENESS_BAR_NS}   {}",
        verdict(holds)
    );
    Ok(holds)
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let seconds: u64 = arguments.next().map_or(Ok(2), |text| text.parse())?;
    let setting = Setting {
        cpu: 1,
        reader_cpu: 0,
        duration_ns: seconds * 1_000_000_000,
        ledger: Some(arguments.next().map_or("/dev/null".into(), Into::into)),
    };
    let mut all_hold = print_throughput(&setting)?;
    all_hold &= print_lateness(&setting)?;
    let bytes = memory_bytes(2_000)?;
    let holds = bytes < MEMORY_BAR_BYTES;
    println!(
        "an idle subscriber of 2,000 takes {bytes:.0} bytes; bar < {MEMORY_BAR_BYTES}   {}",
        verdict(holds)
    );
    Ok(match all_hold && holds {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}
