//! What the market thread can do on this machine, held against its bars.
//!
//! `make bench-exchange`, or `cargo run --release -p feedbench-exchange-server --example limit [seconds] [ledger]`:
//! messages per second beside a raw loop of writes over the same sockets, once with a write for each message and once
//! with what is due together in one write, which the raw loop then does alike; lateness at 100,000 events per second
//! beside a raw loop with the same times; memory of an idle subscriber. The senders take CPU 1, their reader CPU 0.
//! Exits with 1 if a bar is missed.

use feedbench_exchange_server::runtime::limit::{
    lateness, memory_bytes, throughput, Setting, Writes,
};
use std::error::Error;
use std::process::ExitCode;

fn verdict(holds: bool) -> &'static str {
    match holds {
        true => "ok",
        false => "MISSED",
    }
}

/// Prints a table; true if each row holds its bar.
fn print_throughput(setting: &Setting) -> Result<bool, Box<dyn Error>> {
    println!(
        "{:>11} {:>14} {:>6} {:>11} {:>11} {:>13} {:>11} {:>6} {:>9}",
        "subscribers",
        "writes",
        "batch",
        "market/s",
        "raw/s",
        "market/cpu·s",
        "raw/cpu·s",
        "ratio",
        "cpu ratio"
    );
    let mut all_hold = true;
    for (writes, name) in [
        (Writes::OneEach, "one write each"),
        (Writes::Batched, "batched alike"),
    ] {
        for subscribers in [1, 8, 64, 512] {
            let found = throughput(setting, subscribers, writes)?;
            let holds = found.ratio.per_s >= 0.8;
            all_hold &= holds;
            println!(
                "{subscribers:>11} {name:>14} {:>6} {:>11.0} {:>11.0} {:>13.0} {:>11.0} {:>6.3} {:>9.3}   bar >= 0.8   {}",
                found.batch,
                found.market.per_s,
                found.raw.per_s,
                found.market.per_cpu_s,
                found.raw.per_cpu_s,
                found.ratio.per_s,
                found.ratio.per_cpu_s,
                verdict(holds)
            );
        }
    }
    Ok(all_hold)
}

fn print_lateness(setting: &Setting) -> Result<bool, Box<dyn Error>> {
    let found = lateness(setting, 100_000.0)?;
    let holds = found.market.p99.is_some_and(|p99_ns| p99_ns < 50_000);
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
        "             bar: market's p99 < 50000   {}",
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
    all_hold &= bytes < 8_192.0;
    println!(
        "an idle subscriber of 2,000 takes {bytes:.0} bytes; bar < 8192   {}",
        verdict(bytes < 8_192.0)
    );
    Ok(match all_hold {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}
