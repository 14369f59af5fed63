//! A whole exchange: started, used, stopped.

use crate::rig::{output, Exchange};
use nix::sys::signal::Signal;
use serde_json::Value;
use std::io::Write;
use std::net::TcpStream;

const PERSONALITIES: [&str; 11] = [
    "binance",
    "binance-sbe",
    "bithumb",
    "bithumb-global",
    "bybit",
    "coinbase",
    "coinbase-advanced",
    "gemini",
    "gemini-streams",
    "itch",
    "kraken",
];

fn get(url: &str) -> Value {
    let body = ureq::get(url).call().unwrap().body_mut().read_to_string();
    serde_json::from_str(&body.unwrap()).unwrap()
}

#[test]
fn everything_is_served_until_sigterm_and_counted() {
    let exchange = Exchange::start("--rate 2000 --symbols 2 --seed 5");
    let beginning = &exchange.beginning;
    assert_eq!(
        (&beginning["schema"], &beginning["seed"]),
        (&1.into(), &5.into())
    );
    let named: Vec<&String> = beginning["urls"].as_object().unwrap().keys().collect();
    assert_eq!(named, PERSONALITIES);
    let authority = beginning["ca"].as_str().unwrap();
    assert!(std::fs::read_to_string(authority)
        .unwrap()
        .starts_with("-----BEGIN CERTIFICATE"));

    let binance = exchange.address("binance");
    assert!(get(&format!("http://{binance}/api/v3/time"))["serverTime"].is_u64());
    let socket = TcpStream::connect(&binance).unwrap();
    let (mut client, _) =
        tungstenite::client(format!("ws://{binance}/ws/btcusdt@bookTicker"), socket).unwrap();
    for _ in 0..20 {
        let message = client.read().unwrap();
        if let tungstenite::Message::Text(text) = message {
            let ticker: Value = serde_json::from_str(&text).unwrap();
            assert_eq!(ticker["s"], "BTCUSDT");
        }
    }
    exchange.signal(Signal::SIGTERM);
    while !matches!(client.read(), Ok(tungstenite::Message::Close(_)) | Err(_)) {}
    let end = exchange.end();
    let door = &end["totals"]["doors"][0];
    assert_eq!(
        (&door["name"], &door["connections"], &door["rest_requests"]),
        (&"binance".into(), &1.into(), &1.into())
    );
    assert!(door["messages_sent"].as_u64().unwrap() >= 19);
    assert!(end["totals"]["send_lag_ns"]["p50"].is_u64());
}

#[test]
fn an_interrupt_ends_it_as_well() {
    let exchange = Exchange::start("--personality kraken --no-tls");
    assert_eq!(exchange.beginning["ca"], Value::Null);
    assert_eq!(exchange.beginning["urls"]["kraken"]["wss"], Value::Null);
    exchange.signal(Signal::SIGINT);
    exchange.end();
}

#[test]
fn limits_end_it_and_its_ledger_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = folder.path().join("run.ledger");
    let exchange = Exchange::start(&format!(
        "--personality binance --events 500 --pacing unpaced --ledger {}",
        ledger.display()
    ));
    let end = exchange.end();
    assert_eq!(end["totals"]["events"], 500);
    assert_eq!(end["ledger"], ledger.to_str().unwrap());
    let bytes = std::fs::read(&ledger).unwrap();
    assert!(feedbench_exchange::ledger::Ledger::read(&bytes)
        .unwrap()
        .complete());
}

#[test]
fn people_get_a_table_and_programs_may_have_a_file() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let run = output(&format!(
        "--personality gemini --duration 50ms --json-file {}",
        file.path().display()
    ));
    let stdout = String::from_utf8(run.stdout).unwrap();
    assert!(run.status.success());
    assert!(
        stdout.contains("gemini") && stdout.contains("ws://127.0.0.1:"),
        "{stdout}"
    );
    assert!(stdout.contains(" events in "), "{stdout}");
    let lines = std::fs::read_to_string(file.path()).unwrap();
    let documents: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(documents[0]["urls"]["gemini"]["ws"].is_string());
    assert!(documents[1]["totals"]["events"].is_u64());
}

#[test]
fn refusals_come_as_planned_in_the_exchanges_words() {
    let exchange = Exchange::start(
        "--personality binance --pacing unpaced --rate 100000 --fault refusals:every=1s,for=999ms",
    );
    let url = format!("http://{}/api/v3/ping", exchange.address("binance"));
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .build()
        .into();
    // In an unpaced market the first second is over soon, and almost all of each further one is refused.
    let mut refusal = std::iter::repeat_with(|| agent.get(&url).call().unwrap())
        .find(|answer| answer.status() == 429)
        .unwrap();
    assert_eq!(refusal.headers()["retry-after"], "1");
    let body = refusal.body_mut().read_to_string().unwrap();
    assert!(body.starts_with(r#"{"code":-1003,"#), "{body}");
    exchange.signal(Signal::SIGTERM);
    exchange.end();
}

#[test]
fn a_recording_is_sent_to_whoever_connects() {
    let file = tempfile::Builder::new().suffix(".gz").tempfile().unwrap();
    let mut packed = flate2::write::GzEncoder::new(file.as_file(), flate2::Compression::fast());
    packed
        .write_all(b"1000 {\"a\":1}\n2000 {\"a\":2}\n")
        .unwrap();
    packed.finish().unwrap();
    let exchange = Exchange::start(&format!(
        "--replay {} --speed max --wait-for 1",
        file.path().display()
    ));
    assert_eq!(exchange.beginning["seed"], Value::Null);
    let address = exchange.address("replay");
    let socket = TcpStream::connect(&address).unwrap();
    let (mut client, _) = tungstenite::client(format!("ws://{address}/any"), socket).unwrap();
    let received: Vec<_> = (0..2).map(|_| client.read().unwrap()).collect();
    assert_eq!(
        received,
        [r#"{"a":1}"#, r#"{"a":2}"#].map(tungstenite::Message::text)
    );
    assert_eq!(exchange.end()["totals"]["events"], 2);
}
