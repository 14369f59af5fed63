//! Bithumb 2.x: snapshots and what follows, both sets of keys, the last request replacing the one before.

mod common;

use common::{config, Got, Rig};
use feedbench_exchange::market::{MarketConfig, Side};
use feedbench_exchange::personality::bithumb::Bithumb;
use feedbench_exchange::personality::Incoming;
use feedbench_exchange::time::SECOND_NS;
use proptest::prelude::*;
use serde_json::Value;

fn rig(config: &MarketConfig) -> Rig<Bithumb> {
    Rig::new(config, Bithumb::new)
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
    fn whatever_path_is_asked_for_is_served_or_refused(target in "/(v1)?/?(ticker|orderbook|trades/ticks)?[ -~]{0,30}") {
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
