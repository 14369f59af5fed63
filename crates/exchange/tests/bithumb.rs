//! Bithumb 2.x: snapshots and what follows, both sets of keys, the last request replacing the one before; and the older
//! socket with its filters.

mod common;

use common::{config, Got, Rig};
use feedbench_exchange::market::{MarketConfig, Side};
use feedbench_exchange::personality::bithumb::Bithumb;
use feedbench_exchange::personality::Incoming;
use feedbench_exchange::time::SECOND_NS;
use proptest::prelude::*;
use serde_json::Value;
use std::collections::BTreeMap;

fn rig(config: &MarketConfig) -> Rig<Bithumb> {
    Rig::new(config, Bithumb::new)
}

/// Ticks and lots of one side.
fn levels(rig: &Rig<Bithumb>, side: Side) -> BTreeMap<u64, u64> {
    let levels = rig.market.symbols()[0].book.levels(side);
    levels
        .map(|(price, level)| (price, level.quantity))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn books_and_trades_are_those_of_the_market(seed: u64, rate in 20.0f64..1_000.0) {
        let config = config(seed, 1, rate);
        let mut rig = rig(&config);
        let connection = rig.open("/websocket/v1");
        rig.run_until(SECOND_NS / 3);
        rig.send(connection, r#"[{"ticket":"t"},{"type":"orderbook","codes":["KRW-BTC"]},{"type":"trade","codes":["KRW-BTC"]}]"#);
        rig.run_until(2 * SECOND_NS);
        let told = rig.json(connection);
        let numbers: Vec<u64> = told.iter().filter(|told| told["type"] == "trade").map(|told| told["sequential_id"].as_u64().unwrap()).collect();
        prop_assert!(numbers.windows(2).all(|pair| pair[1] == pair[0] + 1));
        prop_assert_eq!(*numbers.last().unwrap(), rig.market.symbols()[0].last().fill.trade);
        let book = told.iter().rfind(|told| told["type"] == "orderbook").unwrap();
        let symbol = &rig.market.symbols()[0];
        for (side, price_key, size_key) in [(Side::Ask, "ask_price", "ask_size"), (Side::Bid, "bid_price", "bid_size")] {
            for (unit, (price, level)) in book["orderbook_units"].as_array().unwrap().iter().zip(symbol.book.levels(side)) {
                let lots = unit[size_key].as_f64().unwrap() * 10f64.powi(config.instruments[0].quantity_decimals as i32);
                let ticks = unit[price_key].as_f64().unwrap() * 10f64.powi(config.instruments[0].price_decimals as i32);
                prop_assert_eq!((ticks.round() as u64, lots.round() as u64), (price, level.quantity));
            }
        }
    }

    #[test]
    fn whatever_a_client_sends_is_answered(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let mut rig = rig(&config(1, 1, 1.0));
        let connection = rig.open("/websocket/v1");
        rig.incoming(connection, Incoming::Text(&bytes));
        let Got::Text(answer) = rig.last(connection) else { panic!("no answer") };
        prop_assert!(serde_json::from_str::<Value>(answer).unwrap()["error"]["name"].is_string());
    }

    #[test]
    fn the_older_sockets_book_and_trades_are_those_of_the_market(seed: u64, rate in 20.0f64..1_000.0) {
        let config = config(seed, 1, rate);
        let mut rig = rig(&config);
        let connection = rig.open("/pub/ws");
        rig.send(connection, r#"{"type":"orderbookdepth","symbols":["BTC_KRW"]}"#);
        rig.send(connection, r#"{"type":"transaction","symbols":["BTC_KRW"]}"#);
        let opened = rig.market.symbols()[0].last().fill.trade;
        let [mut bids, mut asks] = [Side::Bid, Side::Ask].map(|side| levels(&rig, side));
        rig.run_until(2 * SECOND_NS);
        let units = |value: &Value, decimals: u32| {
            (value.as_str().unwrap().parse::<f64>().unwrap() * 10f64.powi(decimals as i32)).round() as u64
        };
        let instrument = config.instruments[0].clone();
        let mut trades = 0;
        for told in rig.json(connection) {
            let Some(list) = told["content"]["list"].as_array() else { continue };
            for item in list {
                if told["type"] == "transaction" {
                    trades += 1;
                    continue;
                }
                let side = if item["orderType"] == "ask" { &mut asks } else { &mut bids };
                let price = units(&item["price"], instrument.price_decimals);
                match units(&item["quantity"], instrument.quantity_decimals) {
                    0 => side.remove(&price),
                    lots => side.insert(price, lots),
                };
            }
        }
        prop_assert_eq!(trades, rig.market.symbols()[0].last().fill.trade - opened);
        prop_assert_eq!(bids, levels(&rig, Side::Bid));
        prop_assert_eq!(asks, levels(&rig, Side::Ask));
    }

    #[test]
    fn whatever_filter_is_sent_is_answered(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let mut rig = rig(&config(1, 1, 1.0));
        let connection = rig.open("/pub/ws");
        rig.incoming(connection, Incoming::Text(&bytes));
        let refusal = r#"{"status":"5100","resmsg":"Invalid Filter Syntax"}"#;
        prop_assert_eq!(rig.last(connection), &Got::Text(refusal.to_owned()));
    }

    #[test]
    fn whatever_path_is_asked_for_is_served_or_refused(target in "/(v1|public)?/?(ticker|orderbook|trades/ticks|transaction_history)?[ -~]{0,30}") {
        prop_assert!(rig(&config(1, 1, 1.0)).rest(&target).status >= 200);
    }
}

#[test]
fn snapshots_come_first_unless_they_are_not_wanted() {
    let mut rig = rig(&config(1, 2, 500.0));
    let types = |rig: &mut Rig<Bithumb>, more: &str| {
        let connection = rig.open("/websocket/v1");
        rig.send(
            connection,
            &format!(r#"[{{"ticket":"t"}},{{"type":"ticker","codes":["KRW-BTC"]{more}}}]"#),
        );
        rig.run_for(SECOND_NS / 2);
        let told = rig.json(connection);
        let count = |kind: &str| {
            told.iter()
                .filter(|told| told["stream_type"] == kind)
                .count()
        };
        (count("SNAPSHOT"), count("REALTIME") > 3)
    };
    assert_eq!(types(&mut rig, ""), (1, true));
    assert_eq!(types(&mut rig, r#","isOnlySnapshot":true"#), (1, false));
    assert_eq!(types(&mut rig, r#","isOnlyRealtime":true"#), (0, true));
}

#[test]
fn simple_keys_and_the_last_request_replaces_the_one_before() {
    let mut rig = rig(&config(1, 2, 500.0));
    let connection = rig.open("/websocket/v1");
    rig.send(
        connection,
        r#"[{"ticket":"t"},{"type":"trade","codes":["KRW-BTC"]},{"format":"SIMPLE"}]"#,
    );
    rig.run_for(SECOND_NS);
    assert!(rig
        .json(connection)
        .iter()
        .all(|told| told["ty"] == "trade" && told["cd"] == "KRW-BTC" && told["tp"].is_number()));
    let before = rig.texts(connection).len();
    rig.send(
        connection,
        r#"[{"ticket":"t"},{"type":"trade","codes":["KRW-ETH"]}]"#,
    );
    rig.run_for(SECOND_NS);
    let after = rig.json(connection)[before..].to_vec();
    assert!(after.len() > 3 && after.iter().all(|told| told["code"] == "KRW-ETH"));
}

#[test]
fn mistakes_pings_and_idleness() {
    let mut rig = rig(&config(1, 1, 0.001));
    let connection = rig.open("/websocket/v1");
    for (text, name) in [
        ("{}", "WRONG_FORMAT"),
        ("[]", "NO_TICKET"),
        (r#"[{"ticket":"t"}]"#, "NO_TYPE"),
        (
            r#"[{"ticket":"t"},{"type":"x","codes":["KRW-BTC"]}]"#,
            "NO_TYPE",
        ),
        (r#"[{"ticket":"t"},{"type":"trade"}]"#, "NO_CODES"),
        (r#"[{"ticket":"t"},{"format":"X"}]"#, "WRONG_FORMAT"),
    ] {
        let answer: Value = serde_json::from_str(&rig.ask(connection, text)[0]).unwrap();
        assert_eq!(answer["error"]["name"], name, "{text}");
    }
    assert_eq!(rig.ask(connection, "PING"), [r#"{"status":"UP"}"#]);
    rig.run_for(119 * SECOND_NS);
    rig.incoming(connection, Incoming::Ping);
    rig.run_for(119 * SECOND_NS);
    assert!(matches!(rig.last(connection), Got::Text(_)));
    rig.run_for(2 * SECOND_NS);
    assert!(matches!(rig.last(connection), Got::Close(1000, _)));
}

#[test]
fn rest_answers_have_the_documented_shapes() {
    let mut rig = rig(&config(1, 2, 300.0));
    rig.run_until(SECOND_NS);
    assert_eq!(rig.rest_json("/v1/market/all")[1]["market"], "KRW-ETH");
    let ticker = rig.rest_json("/v1/ticker?markets=KRW-BTC,KRW-ETH");
    assert_eq!(
        (&ticker[1]["market"], ticker[0].get("stream_type")),
        (&Value::from("KRW-ETH"), None)
    );
    assert!(
        rig.rest_json("/v1/orderbook?markets=KRW-BTC")[0]["orderbook_units"][0]["ask_price"]
            .is_number()
    );
    assert_eq!(
        rig.rest_json("/v1/trades/ticks?market=KRW-BTC&count=2")
            .as_array()
            .unwrap()
            .len(),
        2
    );
    assert_eq!(rig.rest("/v1/ticker?markets=NOPE").status, 404);
}

#[test]
fn the_older_socket_greets_and_its_filters_add_up() {
    let mut rig = rig(&config(1, 2, 500.0));
    let connection = rig.open("/pub/ws");
    let registered = r#"{"status":"0000","resmsg":"Filter Registered Successfully"}"#;
    assert_eq!(
        rig.texts(connection),
        [r#"{"status":"0000","resmsg":"Connected Successfully"}"#]
    );
    for filter in [
        r#"{"type":"transaction","symbols":["BTC_KRW","ETH_KRW"]}"#,
        r#"{"type":"transaction","symbols":["BTC_KRW"]}"#,
        r#"{"type":"ticker","symbols":["BTC_KRW"],"tickTypes":["30M","MID"]}"#,
        r#"{"type":"orderbooksnapshot","symbols":["BTC_KRW"]}"#,
    ] {
        assert_eq!(rig.ask(connection, filter), [registered], "{filter}");
    }
    rig.run_for(3 * SECOND_NS);
    let told = rig.json(connection);
    let of = |kind: &str, key: &str, value: &str| {
        let matches = |told: &&Value| {
            let content = &told["content"];
            let item = content["list"].get(0).unwrap_or(content);
            told["type"] == kind && item[key] == value
        };
        told.iter().filter(matches).count()
    };
    assert!(of("transaction", "symbol", "BTC_KRW") > 3);
    assert!(of("transaction", "symbol", "ETH_KRW") > 3);
    assert_eq!(
        of("ticker", "tickType", "30M"),
        of("transaction", "symbol", "BTC_KRW"),
        "one on each trade"
    );
    assert_eq!(
        of("ticker", "tickType", "MID"),
        of("ticker", "tickType", "30M")
    );
    assert_eq!(of("orderbooksnapshot", "symbol", "BTC_KRW"), 3);
    let snapshot = told
        .iter()
        .find(|told| told["type"] == "orderbooksnapshot")
        .unwrap();
    let asks = snapshot["content"]["asks"].as_array().unwrap().len();
    assert!((5..=30).contains(&asks), "{asks}");
}

#[test]
fn the_older_sockets_messages_have_the_recorded_shape() {
    let mut rig = rig(&config(1, 1, 500.0));
    let connection = rig.open("/pub/ws");
    rig.send(
        connection,
        r#"{"type":"transaction","symbols":["BTC_KRW"]}"#,
    );
    rig.send(connection, r#"{"type":"ticker","symbols":["BTC_KRW"]}"#);
    rig.run_for(SECOND_NS);
    let told = rig.json(connection);
    let find = |kind: &str| told.iter().find(|told| told["type"] == kind).unwrap();
    let trade = &find("transaction")["content"]["list"][0];
    let keys: Vec<&String> = trade.as_object().unwrap().keys().collect();
    let mut recorded = [
        "buySellGb",
        "contPrice",
        "contQty",
        "contAmt",
        "contDtm",
        "updn",
        "symbol",
    ];
    recorded.sort_unstable();
    assert_eq!(keys, recorded);
    // Opened at 16:43:37 UTC, which is the next day's night in Korea; microseconds, no zone.
    let time = trade["contDtm"].as_str().unwrap();
    assert_eq!((&time[..17], time.len()), ("2021-04-18 01:43:", 26));
    let ticker = &find("ticker")["content"];
    assert_eq!(
        (&ticker["tickType"], &ticker["date"]),
        (&Value::from("24H"), &Value::from("20210418"))
    );
    assert_eq!(ticker["time"].as_str().unwrap().len(), 6);
}

#[test]
fn filters_that_are_wrong_are_refused_and_register_nothing() {
    let mut rig = rig(&config(1, 1, 500.0));
    let connection = rig.open("/pub/ws");
    for filter in [
        r#"{"type":"transaction"}"#,
        r#"{"type":"transaction","symbols":[]}"#,
        r#"{"type":"transaction","symbols":["BTC_KRW","NOPE_KRW"]}"#,
        r#"{"type":"trade","symbols":["BTC_KRW"]}"#,
        r#"{"type":"ticker","symbols":["BTC_KRW"],"tickTypes":["5M"]}"#,
        r#"[{"type":"transaction","symbols":["BTC_KRW"]}]"#,
    ] {
        let answer = rig.ask(connection, filter);
        let refusal = r#"{"status":"5100","resmsg":"Invalid Filter Syntax"}"#;
        assert_eq!(answer, [refusal], "{filter}");
    }
    let before = rig.texts(connection).len();
    rig.run_for(SECOND_NS);
    assert_eq!(rig.texts(connection).len(), before);
}

#[test]
fn older_rest_answers_have_the_documented_shapes() {
    let mut rig = rig(&config(1, 2, 300.0));
    rig.run_until(SECOND_NS);
    let all = rig.rest_json("/public/ticker/ALL_KRW");
    assert_eq!(all["status"], "0000");
    let mut names: Vec<&String> = all["data"].as_object().unwrap().keys().collect();
    names.sort_unstable();
    assert_eq!(names, ["BTC", "ETH", "date"]);
    let one = rig.rest_json("/public/ticker/BTC_KRW");
    assert_eq!(
        one["data"]["closing_price"],
        all["data"]["BTC"]["closing_price"]
    );
    assert!(one["data"]["date"].is_string());
    let nothing = rig.rest_json("/public/ticker/ALL_BTC");
    assert_eq!(nothing["data"].as_object().unwrap().len(), 1, "its date");
    let book = rig.rest_json("/public/orderbook/BTC_KRW");
    assert!(book["data"]["asks"][0]["price"].is_string());
    let trades = rig.rest_json("/public/transaction_history/BTC_KRW?count=3");
    assert_eq!(trades["data"].as_array().unwrap().len(), 3);
    assert_eq!(rig.rest_json("/public/ticker/NOPE_KRW")["status"], "5500");
    assert_eq!(rig.rest("/public/x").status, 404);
}

#[test]
fn streams_of_both_sockets_have_names_of_their_own() {
    let mut rig = rig(&config(1, 2, 500.0));
    let legacy = rig.open("/pub/ws");
    let current = rig.open("/websocket/v1");
    for kind in ["transaction", "orderbookdepth", "orderbooksnapshot"] {
        rig.send(
            legacy,
            &format!(r#"{{"type":"{kind}","symbols":["BTC_KRW","ETH_KRW"]}}"#),
        );
    }
    rig.send(
        legacy,
        r#"{"type":"ticker","symbols":["BTC_KRW"],"tickTypes":["30M","1H","12H","24H","MID"]}"#,
    );
    rig.send(current, r#"[{"ticket":"t"},{"type":"trade","codes":["KRW-BTC"]},{"type":"ticker","codes":["KRW-BTC"]},{"type":"orderbook","codes":["KRW-BTC"]}]"#);
    rig.run_for(2 * SECOND_NS);
    assert!(rig
        .json(current)
        .iter()
        .all(|told| told["code"] == "KRW-BTC"));
    assert!(rig
        .json(legacy)
        .iter()
        .all(|told| told.get("code").is_none()));
}
