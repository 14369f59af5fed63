//! Kraken v2: books that stay true by checksum, one acknowledgement for each symbol, heartbeats in silence.

mod common;

use common::{config, Got, Rig};
use feedbench_exchange::market::MarketConfig;
use feedbench_exchange::personality::kraken::{Kraken, DEPTHS};
use feedbench_exchange::personality::Incoming;
use feedbench_exchange::time::SECOND_NS;
use proptest::prelude::*;
use serde_json::{json, Value};
use std::collections::BTreeMap;

fn rig(config: &MarketConfig) -> Rig<Kraken> {
    Rig::new(config, Kraken::new)
}

/// A book kept from the messages' text, so that the digits of numbers survive as they were printed.
struct Kept {
    depth: usize,
    /// By price in digits; best first only after sorting.
    bids: BTreeMap<u64, u64>,
    asks: BTreeMap<u64, u64>,
}

fn digits(text: &str) -> u64 {
    text.replace('.', "").parse().unwrap()
}

impl Kept {
    fn apply(&mut self, message: &str) {
        for (key, bids) in [("\"bids\":[", true), ("\"asks\":[", false)] {
            let list = message
                .split(key)
                .nth(1)
                .unwrap()
                .split(']')
                .next()
                .unwrap();
            for level in list.split('}').filter(|level| !level.is_empty()) {
                let number =
                    |key: &str| digits(level.split(key).nth(1).unwrap().split(',').next().unwrap());
                let (price, quantity) = (number("\"price\":"), number("\"qty\":"));
                let side = if bids { &mut self.bids } else { &mut self.asks };
                if quantity == 0 {
                    assert!(
                        side.remove(&price).is_some(),
                        "a level that was not there is removed"
                    );
                } else {
                    side.insert(price, quantity);
                }
            }
        }
        while self.bids.len() > self.depth {
            self.bids.pop_first();
        }
        while self.asks.len() > self.depth {
            self.asks.pop_last();
        }
    }

    fn checksum(&self) -> u32 {
        let bids = self.bids.iter().rev().take(10);
        let text: String = self
            .asks
            .iter()
            .take(10)
            .chain(bids)
            .map(|(price, quantity)| format!("{price}{quantity}"))
            .collect();
        crc32fast::hash(text.as_bytes())
    }
}

fn subscribe(params: Value) -> String {
    json!({"method": "subscribe", "params": params, "req_id": 1}).to_string()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn a_client_that_keeps_a_depth_agrees_with_every_checksum(
        seed: u64,
        rate in 20.0f64..2_000.0,
        depth in proptest::sample::select(&DEPTHS[..]),
        market_orders in 1u32..200,
        resting_orders in 20u32..200,
    ) {
        let mut config = config(seed, 1, rate);
        config.mix.market = market_orders;
        config.mix.resting_orders = resting_orders;
        let mut rig = rig(&config);
        let connection = rig.open("/v2");
        rig.run_until(SECOND_NS / 7);
        rig.send(connection, &subscribe(json!({"channel": "book", "symbol": ["BTC/USD"], "depth": depth})));
        rig.run_until(2 * SECOND_NS);
        let mut kept = Kept { depth, bids: BTreeMap::new(), asks: BTreeMap::new() };
        let mut checked = 0;
        for text in rig.texts(connection).iter().filter(|text| text.starts_with(r#"{"channel":"book""#)) {
            kept.apply(text);
            let told: Value = serde_json::from_str(text).unwrap();
            prop_assert_eq!(u64::from(kept.checksum()), told["data"][0]["checksum"].as_u64().unwrap(), "after {} messages", checked);
            checked += 1;
        }
        prop_assert!(checked > 1);
        let book = &rig.market.symbols()[0].book;
        let asks: Vec<(u64, u64)> = book.levels(feedbench_exchange::market::Side::Ask).take(depth).map(|(p, l)| (p, l.quantity)).collect();
        prop_assert_eq!(kept.asks.into_iter().collect::<Vec<_>>(), asks);
    }

    #[test]
    fn trades_are_numbered_without_gaps_from_the_snapshot_on(seed: u64) {
        let mut rig = rig(&config(seed, 1, 300.0));
        let connection = rig.open("/v2");
        rig.run_until(SECOND_NS / 2);
        rig.send(connection, &subscribe(json!({"channel": "trade", "symbol": ["BTC/USD"], "snapshot": true})));
        rig.run_until(3 * SECOND_NS);
        let told = rig.json(connection);
        let numbers: Vec<u64> = told.iter().filter(|told| told["channel"] == "trade")
            .flat_map(|told| told["data"].as_array().unwrap().iter().map(|trade| trade["trade_id"].as_u64().unwrap()))
            .collect();
        prop_assert!(numbers.len() > 20);
        prop_assert!(numbers.windows(2).all(|pair| pair[1] == pair[0] + 1));
    }

    #[test]
    fn whatever_a_client_sends_is_answered(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let mut rig = rig(&config(1, 1, 1.0));
        let connection = rig.open("/v2");
        rig.incoming(connection, Incoming::Text(&bytes));
        let Got::Text(answer) = rig.last(connection) else { panic!("no answer") };
        prop_assert_eq!(&serde_json::from_str::<Value>(answer).unwrap()["success"], false);
    }

    #[test]
    fn whatever_path_is_asked_for_is_served_or_refused(target in "/0/public/(Time|Depth|Ticker|OHLC|Trades)?[ -~]{0,30}") {
        prop_assert_eq!(rig(&config(1, 2, 1.0)).rest(&target).status, 200, "errors are in the body here");
    }
}

#[test]
fn each_symbol_has_an_acknowledgement_of_its_own() {
    let mut rig = rig(&config(1, 2, 1.0));
    let connection = rig.open("/v2");
    assert!(rig.texts(connection)[0]
        .starts_with(r#"{"channel":"status","type":"update","data":[{"version":"#));
    let answers = rig.ask(
        connection,
        r#"{"method":"subscribe","params":{"channel":"ticker","symbol":["BTC/USD","NO/NE","ETH/USD"],"snapshot":false},"req_id":42}"#,
    );
    let times = r#""time_in":"2021-04-17T16:43:37.075687Z","time_out":"2021-04-17T16:43:37.075687Z","req_id":42}"#;
    let success = |symbol: &str| {
        format!(
            r#"{{"method":"subscribe","result":{{"channel":"ticker","event_trigger":"trades","snapshot":false,"symbol":"{symbol}"}},"success":true,{times}"#
        )
    };
    let failure = format!(
        r#"{{"error":"Currency pair not supported NO/NE","method":"subscribe","success":false,"symbol":"NO/NE",{times}"#
    );
    assert_eq!(answers, [success("BTC/USD"), failure, success("ETH/USD")]);
    let answers = rig.ask(
        connection,
        r#"{"method":"unsubscribe","params":{"channel":"ticker","symbol":["BTC/USD","BTC/USD"]}}"#,
    );
    assert!(
        answers[0].contains(r#""success":true"#) && answers[1].contains("Subscription Not Found"),
        "{answers:?}"
    );
    let answers = rig.ask(connection, r#"{"method":"ping","req_id":101}"#);
    assert!(
        answers[0].starts_with(r#"{"method":"pong","req_id":101,"time_in":"#),
        "{answers:?}"
    );
}

#[test]
fn each_channel_begins_with_its_snapshot() {
    let mut rig = rig(&config(1, 2, 400.0));
    let connection = rig.open("/v2");
    rig.run_until(SECOND_NS);
    for (params, channel) in [
        (
            json!({"channel": "ticker", "symbol": ["BTC/USD"], "event_trigger": "bbo"}),
            "ticker",
        ),
        (
            json!({"channel": "book", "symbol": ["BTC/USD"], "depth": 25}),
            "book",
        ),
        (
            json!({"channel": "ohlc", "symbol": ["BTC/USD"], "interval": 5}),
            "ohlc",
        ),
        (json!({"channel": "instrument"}), "instrument"),
    ] {
        let answers = rig.ask(connection, &subscribe(params));
        assert_eq!(answers.len(), 2, "{answers:?}");
        let [ack, snapshot] = [0, 1].map(|i| serde_json::from_str::<Value>(&answers[i]).unwrap());
        assert_eq!(
            (&ack["success"], &ack["result"]["channel"]),
            (&json!(true), &json!(channel))
        );
        assert_eq!(
            (&snapshot["channel"], &snapshot["type"]),
            (&json!(channel), &json!("snapshot"))
        );
    }
    rig.run_for(2 * SECOND_NS);
    let told = rig.json(connection);
    for channel in ["ticker", "book", "ohlc"] {
        assert!(
            told.iter()
                .any(|told| told["channel"] == channel && told["type"] == "update"),
            "{channel}"
        );
    }
    for (params, error) in [
        (
            json!({"channel": "book", "symbol": ["BTC/USD"], "depth": 11}),
            "Subscription depth not supported",
        ),
        (
            json!({"channel": "ohlc", "symbol": ["BTC/USD"], "interval": 2}),
            "Subscription ohlc interval not supported",
        ),
        (
            json!({"channel": "nope", "symbol": ["BTC/USD"]}),
            "Subscription channel not supported",
        ),
        (json!({"channel": "ticker"}), "Symbol(s) not found"),
        (
            json!({"channel": "book", "symbol": ["BTC/USD"], "depth": 25}),
            "Already subscribed",
        ),
    ] {
        assert!(
            rig.ask(connection, &subscribe(params))[0].contains(error),
            "{error}"
        );
    }
}

#[test]
fn heartbeats_come_in_silence_and_only_after_a_subscription() {
    let mut rig = rig(&config(1, 1, 0.001));
    let (idle, listening) = (rig.open("/v2"), rig.open("/v2"));
    rig.send(
        listening,
        &subscribe(json!({"channel": "trade", "symbol": ["BTC/USD"]})),
    );
    rig.run_for(10 * SECOND_NS);
    assert_eq!(rig.texts(idle).len(), 1);
    let heartbeats = rig
        .texts(listening)
        .iter()
        .filter(|text| *text == r#"{"channel":"heartbeat"}"#)
        .count();
    assert_eq!(heartbeats, 10);
    let mut busy = self::rig(&config(1, 1, 500.0));
    let connection = busy.open("/v2");
    busy.send(
        connection,
        &subscribe(json!({"channel": "book", "symbol": ["BTC/USD"]})),
    );
    busy.run_for(5 * SECOND_NS);
    assert!(!busy
        .texts(connection)
        .iter()
        .any(|text| text.contains("heartbeat")));
}

#[test]
fn rest_answers_by_any_name_of_a_pair() {
    let mut rig = rig(&config(1, 3, 300.0));
    rig.run_until(2 * SECOND_NS);
    assert_eq!(
        rig.rest_json("/0/public/Time")["result"]["rfc1123"],
        "Sat, 17 Apr 21 16:43:39 +0000"
    );
    for name in ["XBTUSD", "XXBTZUSD", "XBT/USD", "BTC/USD"] {
        let depth = rig.rest_json(&format!("/0/public/Depth?pair={name}&count=2"));
        assert_eq!(
            depth["result"]["XXBTZUSD"]["bids"]
                .as_array()
                .unwrap()
                .len(),
            2,
            "{name}"
        );
    }
    let pairs = rig.rest_json("/0/public/AssetPairs");
    assert_eq!(
        (
            &pairs["result"]["XXBTZUSD"]["wsname"],
            &pairs["result"]["SOLUSD"]["base"]
        ),
        (&json!("XBT/USD"), &json!("SOL"))
    );
    assert!(
        rig.rest_json("/0/public/Ticker?pair=XBTUSD,SOLUSD")["result"]["SOLUSD"]["c"][0]
            .is_string()
    );
    assert!(rig.rest_json("/0/public/Trades?pair=XBTUSD")["result"]["XXBTZUSD"][0][6].is_u64());
    assert!(rig.rest_json("/0/public/OHLC?pair=XBTUSD")["result"]["XXBTZUSD"][0][7].is_u64());
    assert!(rig.rest_json("/0/public/Assets")["result"]["ZUSD"].is_object());
    assert_eq!(
        rig.rest_json("/0/public/SystemStatus")["result"]["status"],
        "online"
    );
    assert_eq!(
        rig.rest_json("/0/public/Ticker?pair=NOPE")["error"][0],
        "EQuery:Unknown asset pair"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn a_v1_client_agrees_with_every_checksum(seed: u64, rate in 20.0f64..1_000.0, depth in proptest::sample::select(&DEPTHS[..])) {
        let mut rig = rig(&config(seed, 2, rate));
        let connection = rig.open("/");
        rig.run_until(SECOND_NS / 5);
        rig.send(connection, &json!({"event": "subscribe", "pair": ["ETH/USD"], "subscription": {"name": "book", "depth": depth}}).to_string());
        rig.run_until(2 * SECOND_NS);
        // Prices sort as text here: all have the same number of digits.
        let (mut bids, mut asks): (BTreeMap<u64, String>, BTreeMap<u64, String>) = Default::default();
        let mut checked = 0;
        for told in rig.json(connection).iter().filter(|told| told.is_array()) {
            prop_assert_eq!(&told[2], &json!(format!("book-{depth}")));
            for (key, is_ask) in [("as", true), ("a", true), ("bs", false), ("b", false)] {
                keep(if is_ask { &mut asks } else { &mut bids }, &told[1][key]);
            }
            while asks.len() > depth {
                asks.pop_last();
            }
            while bids.len() > depth {
                bids.pop_first();
            }
            if let Some(expected) = told[1]["c"].as_str() {
                let best = asks.iter().take(10).chain(bids.iter().rev().take(10));
                let text: String = best.map(|(price, quantity)| format!("{price}{}", quantity.replace('.', "").trim_start_matches('0'))).collect();
                prop_assert_eq!(expected, crc32fast::hash(text.as_bytes()).to_string());
                checked += 1;
            }
        }
        prop_assert!(checked > 0);
    }

    #[test]
    fn whatever_a_v1_client_sends_is_answered(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let mut rig = rig(&config(1, 1, 1.0));
        let connection = rig.open("/");
        rig.incoming(connection, Incoming::Text(&bytes));
        let Got::Text(answer) = rig.last(connection) else { panic!("no answer") };
        prop_assert!(serde_json::from_str::<Value>(answer).unwrap()["errorMessage"].is_string());
    }
}

fn keep(side: &mut BTreeMap<u64, String>, levels: &Value) {
    for level in levels.as_array().into_iter().flatten() {
        let (price, quantity) = (
            digits(level[0].as_str().unwrap()),
            level[1].as_str().unwrap(),
        );
        match digits(quantity) {
            0 => assert!(
                side.remove(&price).is_some(),
                "a level that was not there is removed"
            ),
            _ => _ = side.insert(price, quantity.to_owned()),
        }
    }
}

#[test]
fn v1_data_carries_the_number_that_its_acknowledgement_gave() {
    let mut numbers = std::collections::BTreeSet::new();
    let mut rig = rig(&config(1, 2, 400.0));
    let connection = rig.open("/");
    assert!(rig.texts(connection)[0]
        .ends_with(r#""event":"systemStatus","status":"online","version":"1.9.6"}"#));
    for (name, channel) in [
        ("ticker", "ticker"),
        ("trade", "trade"),
        ("spread", "spread"),
        ("book", "book-10"),
        ("ohlc", "ohlc-1"),
    ] {
        let text = json!({"event": "subscribe", "pair": ["XBT/USD", "ETH/USD"], "subscription": {"name": name}, "reqid": 7}).to_string();
        let answers: Vec<Value> = rig
            .ask(connection, &text)
            .iter()
            .map(|text| serde_json::from_str(text).unwrap())
            .collect();
        assert_eq!(
            answers.len(),
            4,
            "an acknowledgement and a first message for each pair"
        );
        for pair in answers.chunks(2) {
            let number = pair[0]["channelID"].as_u64().unwrap();
            assert!(
                numbers.insert(number),
                "one number for each channel and pair"
            );
            assert_eq!(
                (
                    &pair[0]["status"],
                    &pair[0]["channelName"],
                    &pair[0]["reqid"]
                ),
                (&json!("subscribed"), &json!(channel), &json!(7))
            );
            assert_eq!(
                (&pair[1][0], &pair[1][2], &pair[1][3]),
                (&pair[0]["channelID"], &json!(channel), &pair[0]["pair"])
            );
        }
    }
    let before = rig.texts(connection).len();
    rig.run_for(3 * SECOND_NS);
    let told = rig.json(connection)[before..].to_vec();
    for channel in ["ticker", "trade", "spread", "book-10", "ohlc-1"] {
        assert!(told.iter().any(|told| told[2] == channel), "{channel}");
    }
    let answer = &rig.ask(
        connection,
        r#"{"event":"unsubscribe","pair":["XBT/USD"],"subscription":{"name":"ticker"}}"#,
    )[0];
    assert!(answer.contains(r#""status":"unsubscribed""#), "{answer}");
    for (text, error) in [
        (
            r#"{"event":"subscribe","pair":["NO/PE"],"subscription":{"name":"ticker"}}"#,
            "Currency pair not supported NO/PE",
        ),
        (
            r#"{"event":"subscribe","pair":["XBT/USD"],"subscription":{"name":"x"}}"#,
            "Subscription name invalid",
        ),
        (
            r#"{"event":"subscribe","pair":["XBT/USD"],"subscription":{"name":"book","depth":3}}"#,
            "Subscription depth not supported",
        ),
        (
            r#"{"event":"unsubscribe","pair":["XBT/USD"],"subscription":{"name":"ticker"}}"#,
            "Subscription Not Found",
        ),
        (r#"{"event":"dance"}"#, "Unsupported event"),
    ] {
        assert!(rig.ask(connection, text)[0].contains(error), "{error}");
    }
    assert_eq!(
        rig.ask(connection, r#"{"event":"ping","reqid":42}"#),
        [r#"{"event":"pong","reqid":42}"#]
    );
}
