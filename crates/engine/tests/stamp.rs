//! The stamp model: every style of JSON passes, every fault is counted under its own name.

mod support;

use std::io;
use std::net::SocketAddr;

use serde_json::Value;
use support::stamps::{compact, serve, Fault, Style};
use support::{count, engine, errors, json, load};

fn load_stamps(server: SocketAddr, more: &[&str]) -> Value {
    let url = format!("ws://{server}/stamp");
    let usual = [
        url.as_str(),
        "--stamp",
        "--duration",
        "200ms",
        "--warmup",
        "0ms",
    ];
    json(&load(&[&usual, more].concat()))
}

#[test]
fn every_librarys_style_is_right() {
    let styles: [Style; 5] = [
        compact,
        |count, s| format!("{{\"c\": {count}, \"ts\": {s:.6}}}"),
        |count, s| format!("{{\"ts\":{:.0},\"c\":{count}}}", s * 1e3),
        |count, s| format!("{{\n  \"c\": {count}.0,\n  \"ts\": {s:.0}\n}}"),
        |count, s| format!("{{\"\\u0063\":{count},\"ts\":{:e}}}", s),
    ];
    for (at, style) in styles.into_iter().enumerate() {
        let server = serve(Fault::None, style);
        for more in [
            &["--connections", "3"][..],
            &["--in-flight", "16"],
            &["--rate", "500", "--threads", "2", "--connections", "2"],
            &["--burst", "20", "--interval", "50ms"],
        ] {
            let result = load_stamps(server, more);
            assert_ne!(
                result["verdict"], "failed",
                "style {at}, {more:?}: {result}"
            );
            assert!(
                count(&result, "received") > 0,
                "style {at}, {more:?}: {result}"
            );
            assert_eq!(
                count(&result, "sent_total"),
                count(&result, "received_total"),
                "style {at}, {more:?}"
            );
            assert_eq!(
                result["bytes_per_s"],
                Value::Null,
                "nobody knows the answers' sizes"
            );
        }
    }
}

#[test]
fn each_fault_is_counted_under_its_own_name() {
    let table = [
        (Fault::CountOff(50), "wrong"),
        (Fault::DropEvery(50), "lost"),
        (Fault::RepeatEvery(50), "duplicated"),
        (Fault::SwapEvery(50), "out_of_order"),
        (Fault::ClockOff(-3600), "wrong"),
        (Fault::ClockOff(3600), "wrong"),
        (Fault::NoTime, "wrong"),
        (Fault::Binary, "wrong"),
        (Fault::GreetTwice, "duplicated"),
    ];
    for (fault, field) in table {
        let result = load_stamps(
            serve(fault, compact),
            &["--in-flight", "8", "--timeout", "2s"],
        );
        assert_eq!(result["verdict"], "failed", "{fault:?}: {result}");
        assert!(count(&result, field) > 0, "{fault:?}: {result}");
    }
    for (fault, kind) in [
        (Fault::NoGreeting, "greeting"),
        (Fault::OddGreeting, "greeting"),
        (Fault::DieAfter(10), "closed"),
    ] {
        let result = load_stamps(serve(fault, compact), &[]);
        assert_eq!(result["verdict"], "failed", "{fault:?}: {result}");
        assert_eq!(errors(&result, kind), 1, "{fault:?}: {result}");
    }
}

#[test]
fn an_echo_is_no_stamp() {
    let server = support::serve(support::Behaviour::Echo);
    let result = load_stamps(server, &[]);
    assert_eq!(result["verdict"], "failed", "{result}");
    assert_eq!(
        count(&result, "wrong"),
        count(&result, "received"),
        "{result}"
    );
}

#[test]
fn the_floor_serves_stamps_too() {
    let mut floor = engine()
        .arg("floor")
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut address = String::new();
    io::BufRead::read_line(
        &mut io::BufReader::new(floor.stdout.take().unwrap()),
        &mut address,
    )
    .unwrap();
    let result = load_stamps(
        address.trim().parse().unwrap(),
        &["--in-flight", "7", "--connections", "3"],
    );
    floor.kill().unwrap();
    floor.wait().unwrap();
    assert_eq!(result["verdict"], "ok", "{result}");
}
