//! Bithumb Global: codes, topics by URL and by command, books by `ver`, the client's ping.

mod common;

use common::{config, shape, Got, Rig};
use feedbench_exchange::market::{Book, MarketConfig, Side};
use feedbench_exchange::personality::bithumb_global::BithumbGlobal;
use feedbench_exchange::personality::Incoming;
use feedbench_exchange::time::SECOND_NS;
use proptest::prelude::*;
use serde_json::{json, Value};
use std::collections::BTreeMap;

fn rig(config: &MarketConfig) -> Rig<BithumbGlobal> {
    Rig::new(config, BithumbGlobal::new)
}

type Levels = BTreeMap<(bool, String), f64>;

fn set(kept: &mut Levels, data: &Value) {
    for (key, bid) in [("b", true), ("s", false)] {
        for level in data[key].as_array().unwrap() {
            let quantity: f64 = level[1].as_str().unwrap().parse().unwrap();
            let at = (bid, level[0].as_str().unwrap().to_owned());
            match quantity == 0.0 {
                true => _ = kept.remove(&at),
                false => _ = kept.insert(at, quantity),
            }
        }
    }
}

fn ver(data: &Value) -> u64 {
    data["ver"].as_str().unwrap().parse().unwrap()
}

fn levels(book: &Book, config: &MarketConfig) -> Levels {
    let (price, quantity) = (
        config.instruments[0].price_decimals as i32,
        config.instruments[0].quantity_decimals as i32,
    );
    let of = |side: Side| {
        book.levels(side).map(move |(at, level)| {
            let text = format!("{:.10}", at as f64 / 10f64.powi(price));
            (
                (side == Side::Bid, text),
                level.quantity as f64 / 10f64.powi(quantity),
            )
        })
    };
    of(Side::Bid).chain(of(Side::Ask)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn the_first_message_or_a_rest_snapshot_and_the_increments_make_the_same_book(
        seed: u64, rate in 20.0f64..2_000.0, join_ms in 0u64..900,
    ) {
        let config = config(seed, 1, rate);
        let mut rig = rig(&config);
        rig.run_until(join_ms * 1_000_000);
        let connection = rig.open("/message/realtime?subscribe=ORDERBOOK:BTC-USDT");
        rig.run_for(SECOND_NS / 2);
        let snapshot = rig.rest_json("/openapi/v1/spot/orderBook?symbol=BTC-USDT")["data"].clone();
        rig.run_for(SECOND_NS);
        let told = rig.json(connection);
        let (mut by_stream, mut by_rest) = (Levels::new(), Levels::new());
        set(&mut by_rest, &snapshot);
        let books: Vec<&Value> = told.iter().filter(|told| told["topic"] == "ORDERBOOK").collect();
        prop_assert_eq!(&books[0]["code"], "00006");
        prop_assert!(books[1..].iter().all(|told| told["code"] == "00007"));
        prop_assert!(books.windows(2).all(|pair| ver(&pair[0]["data"]) < ver(&pair[1]["data"])));
        for told in books {
            set(&mut by_stream, &told["data"]);
            if ver(&told["data"]) > ver(&snapshot) {
                set(&mut by_rest, &told["data"]);
            }
        }
        let expected = levels(&rig.market.symbols()[0].book, &config);
        prop_assert_eq!(&by_stream, &expected);
        prop_assert_eq!(&by_rest, &expected);
    }

    #[test]
    fn whatever_a_client_sends_is_answered(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let mut rig = rig(&config(1, 1, 1.0));
        let connection = rig.open("/message/realtime");
        rig.incoming(connection, Incoming::Text(&bytes));
        prop_assert_eq!(rig.texts(connection).len(), 2);
    }

    #[test]
    fn whatever_path_is_asked_for_is_served_or_refused(target in "/(openapi/v1/spot/|message/realtime)?[ -~]{0,40}") {
        let mut rig = rig(&config(1, 1, 1.0));
        rig.rest(&target);
        let _ = rig.try_open(&target);
    }
}

#[test]
fn commands_are_answered_with_their_codes() {
    let mut rig = rig(&config(1, 1, 1.0));
    let connection = rig.open("/message/realtime");
    assert_eq!(
        rig.texts(connection),
        [r#"{"code":"00002","msg":"connect success"}"#]
    );
    let mut code = |text: &str| {
        serde_json::from_str::<Value>(&rig.ask(connection, text)[0]).unwrap()["code"].clone()
    };
    for (text, expected) in [
        (r#"{"cmd":"ping"}"#, "0"),
        (
            r#"{"cmd":"subscribe","args":["ORDERBOOK:BTC-USDT","TRADE:BTC-USDT"]}"#,
            "00001",
        ),
        (
            r#"{"cmd":"unSubscribe","args":["ORDERBOOK:BTC-USDT"]}"#,
            "00003",
        ),
        (
            r#"{"cmd":"unsubscribe","args":["TRADE:BTC-USDT"]}"#,
            "00003",
        ),
        (r#"{"cmd":"subscribe","args":["ORDERBOOK:NO-PE"]}"#, "10005"),
        (r#"{"cmd":"subscribe"}"#, "10005"),
        (r#"{"cmd":"authKey","args":[]}"#, "10001"),
        (
            r#"{"cmd":"authKey","args":["key","1622446975394","signature"]}"#,
            "00000",
        ),
        (r#"{"cmd":"dance"}"#, "10000"),
        ("[1]", "10000"),
    ] {
        assert_eq!(code(text), expected, "{text}");
    }
}

#[test]
fn messages_have_the_shape_of_a_recorded_one() {
    let recorded = r#"{"code":"00007","data":{"symbol":"BTC-USDT","b":[["34613.4400000000","0.015396"]],"ver":"509670303","s":[]},"topic":"ORDERBOOK","timestamp":1622446975394}"#;
    let mut rig = rig(&config(1, 1, 300.0));
    let connection =
        rig.open("/message/realtime?subscribe=ORDERBOOK:BTC-USDT,TRADE:BTC-USDT,TICKER:BTC-USDT");
    rig.run_for(SECOND_NS);
    // The decimals of quantities differ by symbol, and zeros at their end are left out.
    let alike = |text: &str| {
        (1..10).fold(shape(text), |shape, n| {
            shape.replace(&format!("number.{n}\""), "quantity\"")
        })
    };
    let bid = rig
        .texts(connection)
        .into_iter()
        .find(|text| text.contains(r#""b":[["#) && text.contains("00007"))
        .unwrap();
    assert_eq!(alike(&bid), alike(recorded));
    let told = rig.json(connection);
    for topic in ["TRADE", "TICKER"] {
        let codes: Vec<&Value> = told
            .iter()
            .filter(|told| told["topic"] == topic)
            .map(|told| &told["code"])
            .collect();
        assert_eq!(
            (codes[0], codes[1]),
            (&json!("00006"), &json!("00007")),
            "{topic}"
        );
    }
}

#[test]
fn a_client_must_ping_every_thirty_seconds() {
    let mut rig = rig(&config(1, 1, 0.01));
    let (mute, lively) = (rig.open("/message/realtime"), rig.open("/message/realtime"));
    for _ in 0..4 {
        rig.run_for(20 * SECOND_NS);
        rig.send(lively, r#"{"cmd":"ping"}"#);
    }
    assert_eq!(
        rig.got[mute.0 as usize][1],
        (
            30 * SECOND_NS,
            Got::Close(1000, "no ping within 30 seconds")
        )
    );
    assert!(matches!(rig.last(lively), Got::Text(_)));
}

#[test]
fn rest_answers_have_the_documented_shapes() {
    let mut rig = rig(&config(1, 2, 300.0));
    rig.run_until(SECOND_NS);
    assert_eq!(
        rig.rest_json("/openapi/v1/serverTime")["data"],
        1_618_677_818_075u64
    );
    assert_eq!(
        rig.rest_json("/openapi/v1/spot/ticker?symbol=ALL")["data"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
    assert_eq!(
        rig.rest_json("/openapi/v1/spot/ticker?symbol=ETH-USDT")["data"][0]["s"],
        "ETH-USDT"
    );
    assert!(rig.rest_json("/openapi/v1/spot/trades?symbol=BTC-USDT")["data"][0]["ver"].is_string());
    assert_eq!(
        rig.rest_json("/openapi/v1/spot/config")["data"]["spotConfig"][1]["symbol"],
        "ETH-USDT"
    );
    assert_eq!(
        rig.rest_json("/openapi/v1/spot/orderBook?symbol=NO")["success"],
        false
    );
}
