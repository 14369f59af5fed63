//! Messages per second that the FIX codec reads and writes, with one thread, for a market data snapshot and an update.
//!
//! `cargo run --release -p feedbench-wire --example fix_throughput`
//!
//! Each figure is the median of eleven rounds; the slowest and the fastest round tell how quiet the machine is.

use std::hint::black_box;
use std::time::Instant;

use feedbench_wire::fix::encode::Encoder;
use feedbench_wire::fix::message::Message;
use feedbench_wire::fix::tag;
use feedbench_wire::fix::time::{Precision, UtcTime};

const ROUNDS: usize = 11;
const MESSAGES_PER_ROUND: usize = 200_000;
/// So many messages lie in the buffer that is read, as after one read of a busy socket.
const MESSAGES_IN_BUFFER: usize = 100;

fn main() {
    for (name, entries) in [("update of 1 entry", 1), ("snapshot of 20 entries", 20)] {
        let mut buffer = Vec::new();
        for sequence in 0..MESSAGES_IN_BUFFER {
            write_message(&mut buffer, sequence as u64, entries);
        }
        let bytes_per_message = buffer.len() / MESSAGES_IN_BUFFER;
        println!("{name}, {bytes_per_message} bytes");
        report("frame checked", || {
            for _ in 0..MESSAGES_PER_ROUND / MESSAGES_IN_BUFFER {
                for_each_message(&buffer, |message| {
                    black_box(message.msg_type());
                });
            }
        });
        report("all fields read", || {
            for _ in 0..MESSAGES_PER_ROUND / MESSAGES_IN_BUFFER {
                for_each_message(&buffer, |message| {
                    for field in message.fields() {
                        black_box(field.expect("the encoder writes sound fields"));
                    }
                });
            }
        });
        let mut written = Vec::with_capacity(bytes_per_message * 2);
        report("written", || {
            for sequence in 0..MESSAGES_PER_ROUND {
                written.clear();
                write_message(black_box(&mut written), sequence as u64, entries);
            }
        });
    }
}

fn report(what: &str, mut round: impl FnMut()) {
    round();
    let mut per_second: Vec<u64> = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            round();
            (MESSAGES_PER_ROUND as f64 / start.elapsed().as_secs_f64()) as u64
        })
        .collect();
    per_second.sort_unstable();
    println!(
        "  {what:16} {:>10} messages/s (rounds {} to {})",
        per_second[ROUNDS / 2],
        per_second[0],
        per_second[ROUNDS - 1]
    );
}

fn for_each_message(buffer: &[u8], mut take: impl FnMut(Message<'_>)) {
    let mut rest = buffer;
    while let Some((message, length)) = Message::parse(rest).expect("the encoder writes messages") {
        take(message);
        rest = &rest[length..];
    }
}

fn write_message(out: &mut Vec<u8>, sequence: u64, entries: u64) {
    let time = UtcTime {
        unix_ns: 1_780_000_000_123_456_000,
    };
    let mut message = Encoder::new(out, "FIX.4.4", "W");
    message.unsigned(tag::MSG_SEQ_NUM, sequence + 1);
    message.text(tag::SENDER_COMP_ID, "EXCHANGE");
    message.time(tag::SENDING_TIME, time, Precision::Microseconds);
    message.text(tag::TARGET_COMP_ID, "CLIENT");
    message.text(262, "BOOK_TICKER_1");
    message.text(55, "BTCUSDT");
    message.unsigned(268, entries);
    for entry in 0..entries {
        message.unsigned(269, entry % 2);
        message.decimal(270, 6_543_210 + entry as i64, 2);
        message.decimal(271, 12_345 + entry as i64, 4);
    }
    message.finish().expect("no value holds a separator");
}
