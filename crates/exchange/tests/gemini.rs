//! Gemini v1 and v2: books kept from the initial message on, numbers by connection, heartbeats.

mod common;

use common::{config, Rig};
use feedbench_exchange::market::{Book, MarketConfig, Side};
use feedbench_exchange::personality::gemini::Gemini;
use feedbench_exchange::personality::Incoming;
use feedbench_exchange::time::SECOND_NS;
use proptest::prelude::*;
use serde_json::{json, Value};
use std::collections::BTreeMap;

fn rig(config: &MarketConfig) -> Rig<Gemini> {
    Rig::new(config, Gemini::new)
}

type Levels = BTreeMap<(bool, String), f64>;

/// Price as printed; quantity as a number, since the zeros at its end are not.
fn levels(book: &Book, config: &MarketConfig) -> Levels {
    let instrument = &config.instruments[0];
    let of = |side: Side| {
        book.levels(side).map(move |(price, level)| {
            let price = price as f64 / 10f64.powi(instrument.price_decimals as i32);
            let text = format!("{price:.0$}", instrument.price_decimals as usize);
            (
                (side == Side::Bid, text),
                level.quantity as f64 / 10f64.powi(instrument.quantity_decimals as i32),
            )
        })
    };
    of(Side::Bid).chain(of(Side::Ask)).collect()
}

fn set(kept: &mut Levels, bid: bool, price: &Value, remaining: &Value) {
    let key = (bid, price.as_str().unwrap().to_owned());
    let remaining: f64 = remaining.as_str().unwrap().parse().unwrap();
    if remaining == 0.0 {
        assert!(
            kept.remove(&key).is_some(),
            "a level that was not there is removed"
        );
    } else {
        kept.insert(key, remaining);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn a_v1_client_keeps_the_same_book_and_its_numbers_have_no_gap(seed: u64, rate in 20.0f64..600.0, join_ms in 0u64..900) {
        let config = config(seed, 1, rate);
        let mut rig = rig(&config);
        rig.run_until(join_ms * 1_000_000);
        let all = rig.open("/v1/marketdata/BTCUSD?heartbeat=true");
        let bids = rig.open("/v1/marketdata/btcusd?bids=true");
        let top = rig.open("/v1/marketdata/btcusd?top_of_book=true&bids=true&offers=true&heartbeat=true");
        rig.run_until(7 * SECOND_NS);
        let mut kept = Levels::new();
        for connection in [all, bids, top] {
            for (number, told) in rig.json(connection).iter().enumerate() {
                prop_assert_eq!(told["socket_sequence"].as_u64().unwrap(), number as u64);
                prop_assert!(told["type"] == "heartbeat" || !told["events"].as_array().unwrap().is_empty());
            }
        }
        for told in rig.json(all) {
            for event in told["events"].as_array().into_iter().flatten().filter(|event| event["type"] == "change") {
                set(&mut kept, event["side"] == "bid", &event["price"], &event["remaining"]);
            }
        }
        let book = &rig.market.symbols()[0].book;
        prop_assert_eq!(&kept, &levels(book, &config));
        let told = rig.json(bids);
        prop_assert!(told.iter().flat_map(|told| told["events"].as_array().unwrap()).all(|event| event["side"] == "bid"));
        let told = rig.json(top);
        let last = told.iter().flat_map(|told| told["events"].as_array().into_iter().flatten()).rfind(|event| event["side"] == "ask").unwrap().clone();
        prop_assert_eq!(last["price"].as_str().unwrap().replace('.', ""), book.best(Side::Ask).unwrap().0.to_string());
    }

    #[test]
    fn a_v2_client_keeps_the_same_book(seed: u64, rate in 20.0f64..2_000.0, join_ms in 0u64..900) {
        let config = config(seed, 1, rate);
        let mut rig = rig(&config);
        let connection = rig.open("/v2/marketdata/");
        rig.run_until(join_ms * 1_000_000);
        rig.send(connection, r#"{"type":"subscribe","subscriptions":[{"name":"l2","symbols":["BTCUSD"]}]}"#);
        rig.run_until(3 * SECOND_NS);
        let mut kept = Levels::new();
        let mut trades = Vec::new();
        for told in rig.json(connection) {
            for change in told["changes"].as_array().into_iter().flatten() {
                set(&mut kept, change[0] == "buy", &change[1], &change[2]);
            }
            trades.extend(told["trades"].as_array().into_iter().flatten().map(|trade| trade["tid"].as_u64().unwrap()));
            if told["type"] == "trade" {
                trades.push(told["tid"].as_u64().unwrap());
            }
        }
        prop_assert_eq!(&kept, &levels(&rig.market.symbols()[0].book, &config));
        prop_assert!(trades.windows(2).all(|pair| pair[1] == pair[0] + 1));
    }

    #[test]
    fn whatever_a_client_sends_is_answered(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let mut rig = rig(&config(1, 1, 1.0));
        for target in ["/v2/marketdata", "/v1/marketdata/BTCUSD"] {
            let connection = rig.open(target);
            rig.incoming(connection, Incoming::Text(&bytes));
            rig.incoming(connection, Incoming::Binary(&bytes));
        }
        prop_assert!(rig.texts(feedbench_exchange::hub::ConnectionId(0))[0].contains(r#""result":"error""#));
    }

    #[test]
    fn whatever_path_is_asked_for_is_served_or_refused(target in "/(v1|v2)?/?(book|trades|marketdata)?[ -~]{0,30}") {
        let mut rig = rig(&config(1, 2, 1.0));
        prop_assert!(rig.rest(&target).status >= 200);
        let _ = rig.try_open(&target);
    }
}

#[test]
fn v1_messages_have_the_documented_shape() {
    let mut rig = rig(&config(1, 1, 300.0));
    let connection = rig.open("/v1/marketdata/BTCUSD");
    rig.run_until(SECOND_NS);
    let texts = rig.texts(connection);
    assert!(
        texts[0].starts_with(r#"{"type":"update","eventId":"#),
        "{}",
        texts[0]
    );
    assert!(
        texts[0]
            .contains(r#","socket_sequence":0,"events":[{"type":"change","side":"bid","price":""#),
        "{}",
        &texts[0][..200]
    );
    let with_trade = texts
        .iter()
        .find(|text| text.contains(r#""type":"trade""#))
        .unwrap();
    let told: Value = serde_json::from_str(with_trade).unwrap();
    let keys: Vec<&String> = told.as_object().unwrap().keys().collect();
    assert_eq!(keys.len(), 6);
    let change = told["events"]
        .as_array()
        .unwrap()
        .iter()
        .find(|event| event["type"] == "change")
        .unwrap();
    assert_eq!(change["reason"], "trade");
    assert!(change["delta"].as_str().unwrap().starts_with('-'));
    assert_eq!(
        told["timestamp"].as_u64().unwrap(),
        told["timestampms"].as_u64().unwrap() / 1_000
    );
}

#[test]
fn heartbeats_come_every_five_seconds() {
    let mut rig = rig(&config(1, 1, 0.001));
    let (v2, with, without) = (
        rig.open("/v2/marketdata"),
        rig.open("/v1/marketdata/BTCUSD?heartbeat=true"),
        rig.open("/v1/marketdata/BTCUSD"),
    );
    rig.run_for(16 * SECOND_NS);
    assert_eq!(
        rig.texts(v2)[0],
        r#"{"type":"heartbeat","timestamp":1618677822075}"#
    );
    assert_eq!(rig.texts(v2).len(), 3);
    assert_eq!(
        rig.texts(with)[1..],
        [1, 2, 3].map(|n| format!(r#"{{"type":"heartbeat","socket_sequence":{n}}}"#))
    );
    assert_eq!(rig.texts(without).len(), 1);
}

#[test]
fn symbols_that_do_not_exist_are_refused_before_the_upgrade() {
    let mut rig = rig(&config(1, 1, 1.0));
    let refusal = rig.try_open("/v1/marketdata/NOPE").unwrap_err();
    assert_eq!(refusal.status, 400);
    assert_eq!(
        String::from_utf8(refusal.body).unwrap(),
        r#"{"result":"error","reason":"InvalidSymbol","message":"Supplied value 'NOPE' is not a valid symbol"}"#
    );
    let connection = rig.open("/v2/marketdata");
    let answers = rig.ask(
        connection,
        r#"{"type":"subscribe","subscriptions":[{"name":"l2","symbols":["NOPE"]},{"name":"l9","symbols":[]}]}"#,
    );
    assert!(answers[0].contains("InvalidSymbol") && answers[1].contains("InvalidSubscription"));
}

#[test]
fn candles_follow_the_trades() {
    let mut rig = rig(&config(1, 1, 300.0));
    let connection = rig.open("/v2/marketdata");
    rig.send(
        connection,
        r#"{"type":"subscribe","subscriptions":[{"name":"candles_1m","symbols":["BTCUSD"]}]}"#,
    );
    rig.run_until(3 * SECOND_NS);
    let told = rig.json(connection);
    assert!(told.len() >= 3 && told.iter().all(|told| told["type"] == "candles_1m_updates"));
    let last = rig.rest_json("/v1/trades/btcusd?limit_trades=1")[0]["price"]
        .as_str()
        .unwrap()
        .parse::<f64>()
        .unwrap();
    assert!(told.last().unwrap()["changes"][0][4].as_f64().unwrap() - last < 1.0);
}

#[test]
fn rest_answers_have_the_documented_shapes_and_limits() {
    let mut rig = rig(&config(1, 2, 300.0));
    rig.run_until(2 * SECOND_NS);
    assert_eq!(rig.rest_json("/v1/symbols"), json!(["btcusd", "ethusd"]));
    assert_eq!(
        rig.rest_json("/v1/symbols/details/ethusd")["base_currency"],
        "ETH"
    );
    assert!(rig.rest_json("/v1/pubticker/btcusd")["volume"]["BTC"].is_string());
    assert_eq!(rig.rest_json("/v2/ticker/btcusd")["symbol"], "BTCUSD");
    assert_eq!(
        rig.rest_json("/v1/book/btcusd?limit_bids=3")["bids"]
            .as_array()
            .unwrap()
            .len(),
        3
    );
    let trades = rig.rest_json("/v1/trades/btcusd?limit_trades=2");
    assert_eq!(
        trades[0]["tid"].as_u64().unwrap(),
        trades[1]["tid"].as_u64().unwrap() + 1
    );
    assert_eq!(rig.rest("/v1/book/nope").status, 400);
    assert_eq!(rig.rest("/v9").status, 404);
    rig.run_for(60 * SECOND_NS);
    let statuses: Vec<u16> = (0..122).map(|_| rig.rest("/v1/symbols").status).collect();
    assert_eq!((statuses[119], statuses[120]), (200, 429));
}
