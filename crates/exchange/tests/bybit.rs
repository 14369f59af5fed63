//! Bybit V5 spot: books that are kept from changes, requests that are answered as a whole, silence that ends.

mod common;

use common::{config, Got, Rig};
use feedbench_exchange::hub::ConnectionId;
use feedbench_exchange::market::{MarketConfig, Side};
use feedbench_exchange::personality::bybit::Bybit;
use feedbench_exchange::personality::Incoming;
use feedbench_exchange::time::{MILLISECOND_NS, SECOND_NS};
use proptest::prelude::*;
use serde_json::{json, Value};
use std::collections::BTreeMap;

fn rig(config: &MarketConfig) -> Rig<Bybit> {
    Rig::new(config, Bybit::new)
}

fn open(rig: &mut Rig<Bybit>, topics: &[&str]) -> ConnectionId {
    let connection = rig.open("/v5/public/spot");
    rig.send(
        connection,
        &json!({"op": "subscribe", "args": topics, "req_id": "7"}).to_string(),
    );
    connection
}

/// What a connection got of a topic.
fn told(rig: &Rig<Bybit>, connection: ConnectionId, topic: &str) -> Vec<Value> {
    let messages = rig.json(connection).into_iter();
    messages
        .filter(|message| message["topic"] == topic)
        .collect()
}

/// A book as a client keeps it: by side, what the price is spelled like, and how much is there.
type Kept = [BTreeMap<String, String>; 2];

fn apply(kept: &mut Kept, message: &Value) {
    for (side, key) in kept.iter_mut().zip(["b", "a"]) {
        if message["type"] == "snapshot" {
            side.clear();
        }
        for level in message["data"][key].as_array().unwrap() {
            let [price, quantity] = [0, 1].map(|at| level[at].as_str().unwrap().to_owned());
            match quantity.as_str() {
                "0" => assert!(side.remove(&price).is_some(), "{message}"),
                _ => _ = side.insert(price, quantity),
            }
        }
    }
}

fn number(text: &str) -> f64 {
    text.parse().unwrap()
}

/// The market's own book, best levels only, in the same words.
fn standing(rig: &Rig<Bybit>, depth: usize) -> [Vec<(f64, f64)>; 2] {
    let symbol = &rig.market.symbols()[0];
    let unit = |decimals: u32| 10f64.powi(decimals as i32);
    let instrument = &symbol.instrument;
    [Side::Bid, Side::Ask].map(|side| {
        let levels = symbol.book.levels(side).take(depth);
        let mut listed: Vec<(f64, f64)> = levels
            .map(|(price, level)| {
                (
                    price as f64 / unit(instrument.price_decimals),
                    level.quantity as f64 / unit(instrument.quantity_decimals),
                )
            })
            .collect();
        listed.sort_by(|one, other| one.0.total_cmp(&other.0));
        listed
    })
}

fn listed(kept: &Kept) -> [Vec<(f64, f64)>; 2] {
    [0, 1].map(|side| {
        let levels = kept[side].iter();
        let mut listed: Vec<(f64, f64)> = levels
            .map(|(price, quantity)| (number(price), number(quantity)))
            .collect();
        listed.sort_by(|one, other| one.0.total_cmp(&other.0));
        listed
    })
}

fn is_near(one: &[Vec<(f64, f64)>; 2], other: &[Vec<(f64, f64)>; 2]) -> bool {
    let pairs = one.iter().flatten().zip(other.iter().flatten());
    one.each_ref().map(Vec::len) == other.each_ref().map(Vec::len)
        && pairs
            .into_iter()
            .all(|(one, other)| (one.0 - other.0).abs() < 1e-9 && (one.1 - other.1).abs() < 1e-9)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn a_kept_book_is_the_markets_whenever_one_joins(seed: u64, rate in 20.0f64..500.0, join_ms in 0u64..900, depth in 0usize..3) {
        let (name, depth) = [("orderbook.1.BTCUSDT", 1), ("orderbook.50.BTCUSDT", 50), ("orderbook.200.BTCUSDT", 200)][depth];
        let mut rig = rig(&config(seed, 1, rate));
        let first = open(&mut rig, &[name]);
        rig.run_until(join_ms * MILLISECOND_NS);
        let second = open(&mut rig, &[name]);
        let mut kept: [Kept; 2] = Default::default();
        let (mut seen, mut compared) = ([0, 0], 0);
        for _ in 0..2_000 {
            rig.run_for(MILLISECOND_NS);
            for (index, connection) in [first, second].into_iter().enumerate() {
                let got = &rig.got[connection.0 as usize];
                let texts = got[seen[index]..].iter().filter_map(|(_, got)| match got {
                    Got::Text(text) if text.starts_with("{\"topic\"") => Some(text),
                    _ => None,
                });
                let messages: Vec<Value> = texts.map(|text| serde_json::from_str(text).unwrap()).collect();
                seen[index] = got.len();
                for message in &messages {
                    apply(&mut kept[index], message);
                }
                let Some(last) = messages.last() else { continue };
                if last["data"]["seq"] == rig.market.symbols()[0].sequence {
                    compared += 1;
                    let standing = standing(&rig, depth);
                    prop_assert!(is_near(&listed(&kept[index]), &standing), "{:?}\n{:?}", kept[index], standing);
                }
            }
        }
        prop_assert!(compared > 0, "no message told the book as it stood");
        for connection in [first, second] {
            let updates: Vec<u64> = told(&rig, connection, name).iter().map(|message| message["data"]["u"].as_u64().unwrap()).collect();
            prop_assert!(updates.windows(2).all(|pair| pair[1] <= pair[0] + 1 && pair[1] >= pair[0]), "{updates:?}");
        }
    }

    #[test]
    fn whatever_a_client_sends_is_answered(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let mut rig = rig(&config(1, 1, 1.0));
        let connection = rig.open("/v5/public/spot");
        rig.incoming(connection, Incoming::Text(&bytes));
        let Got::Text(answer) = rig.last(connection) else { panic!("no answer") };
        prop_assert_eq!(&serde_json::from_str::<Value>(answer).unwrap()["success"], false);
    }
}

#[test]
fn every_trade_is_told_once_and_in_order() {
    let mut rig = rig(&config(3, 2, 500.0));
    let connection = open(&mut rig, &["publicTrade.ETHUSDT"]);
    rig.run_for(2 * SECOND_NS);
    let messages = told(&rig, connection, "publicTrade.ETHUSDT");
    let numbers: Vec<u64> = messages
        .iter()
        .flat_map(|message| message["data"].as_array().unwrap())
        .map(|trade| trade["i"].as_str().unwrap().parse().unwrap())
        .collect();
    let traded = rig.events.iter().filter(|event| event.symbol.0 == 1);
    let expected: Vec<u64> = traded
        .flat_map(|event| event.trades().map(|trade| trade.fill.trade))
        .collect();
    assert!(expected.len() > 50);
    assert_eq!(numbers, expected);
    let first = &messages[0]["data"][0];
    assert!(first["T"].as_u64() < messages[0]["ts"].as_u64());
    assert!(["Buy", "Sell"].contains(&first["S"].as_str().unwrap()));
}

#[test]
fn a_request_is_done_whole_or_not_at_all() {
    let mut rig = rig(&config(1, 1, 1.0));
    let connection = rig.open("/v5/public/spot");
    let mut said = |text: &str| -> Vec<Value> {
        let answers = rig.ask(connection, text).into_iter();
        answers
            .map(|text| serde_json::from_str(&text).unwrap())
            .collect()
    };
    let pong = said(r#"{"op":"ping","req_id":"x"}"#);
    assert_eq!(
        (&pong[0]["ret_msg"], &pong[0]["req_id"]),
        (&json!("pong"), &json!("x"))
    );
    for (text, words) in [
        (
            r#"{"op":"subscribe","args":["tickers.BTCUSDT","tickers.NO"]}"#,
            "error:handler not found,topic:tickers.NO",
        ),
        (
            r#"{"op":"subscribe","args":["tickers.BTCUSDT","tickers.BTCUSDT"]}"#,
            "error:already subscribed,topic:tickers.BTCUSDT",
        ),
        (
            r#"{"op":"subscribe","args":[1,2,3,4,5,6,7,8,9,10,11]}"#,
            "args size >10",
        ),
        (r#"{"op":"dance"}"#, "error:request op dance not supported"),
    ] {
        let answers = said(text);
        assert_eq!(answers.len(), 1, "{text}");
        assert_eq!(
            (&answers[0]["success"], &answers[0]["ret_msg"]),
            (&json!(false), &json!(words))
        );
    }
    // None of the refused requests subscribed to anything.
    let answers =
        said(r#"{"op":"subscribe","args":["tickers.BTCUSDT","kline.1.BTCUSDT"],"req_id":5}"#);
    assert_eq!(
        (&answers[0]["success"], &answers[0]["req_id"]),
        (&json!(true), &json!(5))
    );
    assert_eq!(answers.len(), 1);
    assert_eq!(
        said(r#"{"op":"unsubscribe","args":["tickers.BTCUSDT"]}"#)[0]["success"],
        true
    );
    assert!(rig.try_open("/v5/public/linear").is_err());
}

#[test]
fn candles_run_every_second_and_say_when_they_close() {
    let mut rig = rig(&config(5, 1, 200.0));
    let connection = open(&mut rig, &["kline.1.BTCUSDT"]);
    rig.run_for(130 * SECOND_NS);
    let messages = told(&rig, connection, "kline.1.BTCUSDT");
    let closed: Vec<&Value> = messages
        .iter()
        .map(|message| &message["data"][0])
        .filter(|candle| candle["confirm"] == true)
        .collect();
    assert_eq!(closed.len(), 2);
    for pair in closed.windows(2) {
        let start = |candle: &Value| candle["start"].as_u64().unwrap();
        assert_eq!(start(pair[1]), start(pair[0]) + 60_000);
        let within = pair[1]["start"].as_u64().unwrap()..=pair[1]["end"].as_u64().unwrap();
        assert!(
            within.contains(&pair[1]["timestamp"].as_u64().unwrap()) || pair[1]["volume"] == "0"
        );
    }
    assert!(messages.len() > 100, "{}", messages.len());
}

#[test]
fn ten_minutes_of_silence_end_a_connection() {
    let mut rig = rig(&config(1, 1, 0.0001));
    let (mute, talking) = (rig.open("/v5/public/spot"), rig.open("/v5/public/spot"));
    for _ in 0..70 {
        rig.send(talking, r#"{"op":"ping"}"#);
        rig.run_for(10 * SECOND_NS);
    }
    let end = |connection: ConnectionId| match rig.got[connection.0 as usize].last() {
        Some((at, Got::Close(1000, _))) => Some(at / SECOND_NS),
        _ => None,
    };
    assert_eq!((end(mute), end(talking)), (Some(600), None));
}

#[test]
fn rest_tells_the_same_market() {
    let mut rig = rig(&config(2, 2, 300.0));
    let connection = open(&mut rig, &["orderbook.1000.BTCUSDT"]);
    rig.run_for(3 * SECOND_NS);
    let mut kept = Kept::default();
    for message in told(&rig, connection, "orderbook.1000.BTCUSDT") {
        apply(&mut kept, &message);
    }
    let book = rig.rest_json("/v5/market/orderbook?category=spot&symbol=BTCUSDT&limit=200")
        ["result"]
        .clone();
    let last = told(&rig, connection, "orderbook.1000.BTCUSDT")
        .pop()
        .unwrap();
    assert_eq!(
        (&book["u"], &book["seq"]),
        (&last["data"]["u"], &last["data"]["seq"])
    );
    for (side, key) in kept.iter().zip(["b", "a"]) {
        for level in book[key].as_array().unwrap() {
            assert_eq!(
                side.get(level[0].as_str().unwrap()).map(String::as_str),
                level[1].as_str()
            );
        }
    }
    let tickers = rig.rest_json("/v5/market/tickers?category=spot")["result"]["list"].clone();
    assert_eq!(tickers.as_array().unwrap().len(), 2);
    let trades = rig.rest_json("/v5/market/recent-trade?category=spot&symbol=ETHUSDT&limit=5")
        ["result"]["list"]
        .clone();
    let last = rig.market.symbols()[1].last().fill.trade.to_string();
    assert_eq!(
        (trades.as_array().unwrap().len(), &trades[0]["execId"]),
        (5, &json!(last))
    );
    let candles = rig.rest_json("/v5/market/kline?category=spot&symbol=BTCUSDT&interval=1&limit=3")
        ["result"]["list"]
        .clone();
    let number = |value: &Value| value.as_str().unwrap().parse::<f64>().unwrap();
    assert!(!candles.as_array().unwrap().is_empty());
    assert!(
        number(&candles[0][3]) <= number(&candles[0][4])
            && number(&candles[0][4]) <= number(&candles[0][2])
    );
    let info = rig.rest_json("/v5/market/instruments-info?category=spot&symbol=BTCUSDT")["result"]
        ["list"][0]
        .clone();
    assert_eq!(
        (&info["baseCoin"], &info["priceFilter"]["tickSize"]),
        (&json!("BTC"), &json!("0.01"))
    );
    assert!(rig.rest_json("/v5/market/time")["time"].is_u64());
}

#[test]
fn bad_rest_requests_are_refused() {
    let mut rig = rig(&config(1, 1, 1.0));
    for target in [
        "/v5/market/tickers",
        "/v5/market/tickers?category=linear",
        "/v5/market/orderbook?category=spot",
        "/v5/market/orderbook?category=spot&symbol=NO",
        "/v5/market/orderbook?category=spot&symbol=BTCUSDT&limit=x",
        "/v5/market/kline?category=spot&symbol=BTCUSDT",
        "/v5/market/kline?category=spot&symbol=BTCUSDT&interval=1&start=x",
    ] {
        assert_eq!(rig.rest_json(target)["retCode"], 10_001, "{target}");
    }
    for target in ["/", "/v5/market/", "/v5/account"] {
        assert_eq!(rig.rest(target).status, 404, "{target}");
    }
    let refused = (0..700)
        .map(|_| rig.rest("/v5/market/time").status)
        .filter(|&status| status == 403);
    assert!(refused.count() >= 100, "more than 600 in 5 s");
}
