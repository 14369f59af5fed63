//! Coinbase Advanced Trade: every message of a connection is numbered, books are kept, silence ends a connection.

mod common;

use common::{config, Got, Rig};
use feedbench_exchange::market::{MarketConfig, Side};
use feedbench_exchange::personality::coinbase_advanced::CoinbaseAdvanced;
use feedbench_exchange::personality::Incoming;
use feedbench_exchange::time::SECOND_NS;
use proptest::prelude::*;
use serde_json::{json, Value};
use std::collections::BTreeMap;

fn rig(config: &MarketConfig) -> Rig<CoinbaseAdvanced> {
    Rig::new(config, CoinbaseAdvanced::new)
}

fn subscribe(channel: &str) -> String {
    json!({"type": "subscribe", "product_ids": ["BTC-USD"], "channel": channel}).to_string()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn every_message_of_every_channel_is_numbered_without_gaps(seed: u64, rate in 20.0f64..1_000.0, join_ms in 0u64..900) {
        let config = config(seed, 2, rate);
        let mut rig = rig(&config);
        let (first, second) = (rig.open("/"), rig.open("/"));
        rig.send(second, &subscribe("market_trades"));
        rig.run_until(join_ms * 1_000_000);
        for channel in ["level2", "ticker", "heartbeats", "ticker_batch", "candles"] {
            rig.send(first, &subscribe(channel));
            rig.run_for(SECOND_NS / 5);
        }
        rig.run_for(6 * SECOND_NS);
        for connection in [first, second] {
            for (number, told) in rig.json(connection).iter().enumerate() {
                prop_assert_eq!(told["sequence_num"].as_u64().unwrap(), number as u64);
            }
        }
        let mut kept: BTreeMap<(bool, String), f64> = BTreeMap::new();
        for told in rig.json(first).iter().filter(|told| told["channel"] == "l2_data") {
            for update in told["events"][0]["updates"].as_array().unwrap() {
                let key = (update["side"] == "bid", update["price_level"].as_str().unwrap().to_owned());
                match update["new_quantity"].as_str().unwrap().parse::<f64>().unwrap() {
                    0.0 => prop_assert!(kept.remove(&key).is_some()),
                    quantity => _ = kept.insert(key, quantity),
                }
            }
        }
        let book = &rig.market.symbols()[0].book;
        let lots = 10f64.powi(config.instruments[0].quantity_decimals as i32);
        for (side, bid) in [(Side::Bid, true), (Side::Ask, false)] {
            let mut expected: Vec<u64> = book.levels(side).map(|(_, level)| level.quantity).collect();
            let mut found: Vec<u64> = kept.iter().filter(|(key, _)| key.0 == bid).map(|(_, size)| (size * lots).round() as u64).collect();
            expected.sort_unstable();
            found.sort_unstable();
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn whatever_a_client_sends_is_answered(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let mut rig = rig(&config(1, 1, 1.0));
        let connection = rig.open("/");
        rig.incoming(connection, Incoming::Text(&bytes));
        let Got::Text(answer) = rig.last(connection) else { panic!("no answer") };
        prop_assert_eq!(&serde_json::from_str::<Value>(answer).unwrap()["type"], "error");
    }
}

#[test]
fn snapshots_come_first_and_the_acknowledgement_lists_everything() {
    let mut rig = rig(&config(1, 2, 100.0));
    let connection = rig.open("/");
    rig.run_for(SECOND_NS);
    let told = |rig: &mut Rig<CoinbaseAdvanced>, text: &str| -> Vec<Value> {
        rig.ask(connection, text)
            .iter()
            .map(|text| serde_json::from_str(text).unwrap())
            .collect()
    };
    let answers = told(&mut rig, &subscribe("ticker"));
    assert_eq!(
        (&answers[0]["channel"], &answers[0]["events"][0]["type"]),
        (&json!("ticker"), &json!("snapshot"))
    );
    assert_eq!(
        answers[1]["events"][0]["subscriptions"],
        json!({"ticker": ["BTC-USD"]})
    );
    let answers = told(&mut rig, &subscribe("heartbeats"));
    assert_eq!(
        answers[0]["events"][0]["subscriptions"],
        json!({"ticker": ["BTC-USD"], "heartbeats": ["heartbeats"]})
    );
    let answers = told(
        &mut rig,
        r#"{"type":"unsubscribe","product_ids":["BTC-USD"],"channel":"ticker"}"#,
    );
    assert_eq!(
        answers[0]["events"][0]["subscriptions"],
        json!({"heartbeats": ["heartbeats"]})
    );
    rig.run_for(3 * SECOND_NS);
    let heartbeats: Vec<Value> = rig
        .json(connection)
        .into_iter()
        .filter(|told| told["channel"] == "heartbeats")
        .collect();
    assert_eq!(heartbeats[0]["events"][0]["heartbeat_counter"], "2");
    for text in [
        r#"{"type":"subscribe","channel":"l9","product_ids":["BTC-USD"]}"#,
        r#"{"type":"subscribe","channel":"ticker","product_ids":["NO"]}"#,
        r#"{"type":"x"}"#,
    ] {
        assert!(
            rig.ask(connection, text)[0].starts_with(r#"{"type":"error","message":""#),
            "{text}"
        );
    }
}

#[test]
fn silence_ends_a_connection_unless_heartbeats_are_heard() {
    let mut rig = rig(&config(1, 1, 0.0001));
    let (mute, silent, kept) = (rig.open("/"), rig.open("/"), rig.open("/"));
    rig.send(silent, &subscribe("ticker"));
    rig.send(kept, &subscribe("heartbeats"));
    rig.run_for(200 * SECOND_NS);
    let end = |connection: u32| match rig.got[connection as usize].last().unwrap() {
        (at, Got::Close(1000, reason)) => Some((at / SECOND_NS, *reason)),
        _ => None,
    };
    assert_eq!(end(mute.0), Some((5, "no subscription within 5 seconds")));
    assert_eq!(end(silent.0), Some((90, "no updates")));
    assert_eq!(end(kept.0), None);
}

#[test]
fn rest_tells_the_same_market() {
    let config = config(1, 2, 500.0);
    let mut rig = rig(&config);
    rig.run_until(3 * SECOND_NS);
    let time = rig.rest_json("/api/v3/brokerage/time");
    assert_eq!(
        time,
        json!({"iso": "2021-04-17T16:43:40Z", "epochSeconds": "1618677820", "epochMillis": "1618677820075"})
    );
    let products = rig.rest_json("/api/v3/brokerage/market/products");
    assert_eq!(products["num_products"], 2);
    assert_eq!(products["products"][1]["product_id"], "ETH-USD");
    let product = rig.rest_json("/api/v3/brokerage/market/products/BTC-USD");
    assert_eq!(product, products["products"][0]);
    assert_eq!(product["base_increment"], "0.00001");

    let told = rig.rest_json("/api/v3/brokerage/market/products/BTC-USD/ticker?limit=3");
    let symbol = &rig.market.symbols()[0];
    let numbers: Vec<String> = symbol
        .trades
        .iter()
        .rev()
        .take(3)
        .map(|trade| trade.fill.trade.to_string())
        .collect();
    let trades = told["trades"].as_array().unwrap();
    assert_eq!(trades.len(), 3);
    assert!(trades
        .iter()
        .zip(&numbers)
        .all(|(told, number)| told["trade_id"] == *number));

    let number = |value: &Value| value.as_str().unwrap().parse::<f64>().unwrap();
    let (bid, ask) = (number(&told["best_bid"]), number(&told["best_ask"]));
    let book = rig.rest_json("/api/v3/brokerage/market/product_book?product_id=BTC-USD&limit=5");
    assert_eq!(book["pricebook"]["asks"].as_array().unwrap().len(), 5);
    assert_eq!(number(&book["pricebook"]["bids"][0]["price"]), bid);
    let near = |found: &Value, expected: f64| (number(found) - expected).abs() < 0.001;
    assert!(near(&book["mid_market"], (bid + ask) / 2.0), "{book}");
    assert!(near(&book["spread_absolute"], ask - bid));
    assert!(near(
        &book["spread_bps"],
        (ask - bid) / ((bid + ask) / 2.0) * 10_000.0
    ));
}

#[test]
fn bad_rest_requests_are_refused() {
    let mut rig = rig(&config(1, 1, 1.0));
    for (target, status) in [
        ("/", 404),
        ("/api/v3/brokerage", 404),
        ("/api/v3/brokerage/market/products/btc-usd", 404),
        (
            "/api/v3/brokerage/market/products/BTC-USD/ticker?limit=0",
            400,
        ),
        ("/api/v3/brokerage/market/product_book", 400),
        (
            "/api/v3/brokerage/market/product_book?product_id=BTC-USD&limit=x",
            400,
        ),
    ] {
        let response = rig.rest(target);
        assert_eq!(response.status, status, "{target}");
        let body: Value = serde_json::from_slice(&response.body).unwrap();
        assert!(body["error"].is_string(), "{target}: {body}");
    }
    let refused = (0..20)
        .map(|_| rig.rest("/api/v3/brokerage/time").status)
        .filter(|&status| status == 429);
    assert!(refused.count() > 0, "more than 10 in a second");
}
