//! What real clients were seen to do that the exchanges' documents do not tell: each must be served.

mod common;

use common::{config, Got, Rig};
use feedbench_exchange::market::MarketConfig;
use feedbench_exchange::personality::binance::Binance;
use feedbench_exchange::personality::bithumb_global::BithumbGlobal;
use feedbench_exchange::personality::coinbase::Coinbase;
use feedbench_exchange::personality::gemini::Gemini;
use feedbench_exchange::personality::kraken::Kraken;
use feedbench_exchange::personality::Incoming;
use feedbench_exchange::time::SECOND_NS;
use serde_json::Value;

fn market() -> MarketConfig {
    config(1, 2, 500.0)
}

#[test]
fn ccxt_connects_to_a_numbered_path_and_subscribes_piece_by_piece_with_ids_of_any_size() {
    let mut rig = Rig::new(&market(), Binance::new);
    let connection = rig.open("/ws/0");
    for (stream, id) in [
        ("btcusdt@trade", "1"),
        ("btcusdt@miniTicker", "9527"),
        ("btcusdt@depth@100ms", "1795269582569"),
    ] {
        let request = format!(r#"{{"method":"SUBSCRIBE","params":["{stream}"],"id":{id}}}"#);
        let answer = format!(r#"{{"result":null,"id":{id}}}"#);
        assert_eq!(rig.ask(connection, &request), [answer]);
    }
    rig.run_for(3 * SECOND_NS);
    let told = rig.json(connection);
    for kind in ["trade", "24hrMiniTicker", "depthUpdate"] {
        assert!(told.iter().any(|told| told["e"] == kind), "{kind}");
    }
}

#[test]
fn the_siebly_client_sends_empty_pings() {
    let mut rig = Rig::new(&market(), Binance::new);
    let connection = rig.open("/ws/btcusdt@trade");
    for _ in 0..30 {
        rig.incoming(connection, Incoming::Ping);
        rig.run_for(SECOND_NS);
    }
    let ended = |got: &(u64, Got)| matches!(got.1, Got::Close(..));
    assert!(!rig.got[connection.0 as usize].iter().any(ended));
}

#[test]
fn a_depth_stream_brackets_the_book_that_is_fetched_after_it_began() {
    let mut rig = Rig::new(&market(), Binance::new);
    let connection = rig.open("/ws/btcusdt@depth@100ms");
    rig.run_for(SECOND_NS);
    let book = rig.rest_json("/api/v3/depth?symbol=BTCUSDT&limit=1000");
    let last = book["lastUpdateId"].as_u64().unwrap();
    rig.run_for(SECOND_NS);
    let joins = |told: &Value| {
        let first = told["U"].as_u64().unwrap();
        first <= last + 1 && told["u"].as_u64().unwrap() > last
    };
    assert_eq!(
        rig.json(connection)
            .iter()
            .filter(|told| joins(told))
            .count(),
        1
    );
}

#[test]
fn cryptofeed_writes_a_slash_at_the_end_of_geminis_path_and_asks_for_each_symbols_details() {
    let mut rig = Rig::new(&market(), Gemini::new);
    for path in ["/v2/marketdata", "/v2/marketdata/"] {
        let connection = rig.open(path);
        rig.send(
            connection,
            r#"{"type":"subscribe","subscriptions":[{"name":"l2","symbols":["BTCUSD"]}]}"#,
        );
        assert!(!rig.json(connection).is_empty(), "{path}");
    }
    for symbol in rig.rest_json("/v1/symbols").as_array().unwrap() {
        let path = format!("/v1/symbols/details/{}", symbol.as_str().unwrap());
        let details = rig.rest_json(&path);
        for key in [
            "symbol",
            "base_currency",
            "quote_currency",
            "tick_size",
            "status",
        ] {
            assert!(!details[key].is_null(), "{path}: {key}");
        }
    }
}

#[test]
fn coinbases_channels_are_names_or_objects_or_both_and_products_stand_at_either_place() {
    let mut rig = Rig::new(&market(), Coinbase::new);
    for request in [
        r#"{"type":"subscribe","product_ids":["BTC-USD"],"channels":["matches"]}"#,
        r#"{"type":"subscribe","channels":[{"name":"matches","product_ids":["BTC-USD"]}]}"#,
        r#"{"type":"subscribe","product_ids":["BTC-USD"],"channels":["matches",{"name":"ticker","product_ids":["ETH-USD"]}]}"#,
    ] {
        let connection = rig.open("/");
        rig.send(connection, request);
        rig.run_for(SECOND_NS);
        let told = rig.json(connection);
        assert!(
            told.iter()
                .any(|told| told["type"] == "match" && told["product_id"] == "BTC-USD"),
            "{request}"
        );
    }
}

#[test]
fn ccxt_asks_coinbase_for_currencies_and_products_first() {
    let mut rig = Rig::new(&market(), Coinbase::new);
    for path in ["/currencies", "/products"] {
        assert!(
            !rig.rest_json(path).as_array().unwrap().is_empty(),
            "{path}"
        );
    }
}

#[test]
fn krakens_clients_ping_before_they_subscribe_and_leave_the_request_number_out() {
    let mut rig = Rig::new(&market(), Kraken::new);
    let connection = rig.open("/v2");
    let pong: Value =
        serde_json::from_str(&rig.ask(connection, r#"{"method":"ping"}"#)[0]).unwrap();
    assert_eq!(pong["method"], "pong");
    let answers = rig.ask(
        connection,
        r#"{"method":"subscribe","params":{"channel":"trade","symbol":["BTC/USD"]}}"#,
    );
    let answer: Value = serde_json::from_str(&answers[0]).unwrap();
    assert_eq!(
        (&answer["success"], answer.get("req_id")),
        (&Value::Bool(true), None)
    );
}

#[test]
fn crypto_ws_client_writes_unsubscribe_in_small_letters() {
    let mut rig = Rig::new(&market(), BithumbGlobal::new);
    for word in ["unsubscribe", "unSubscribe"] {
        let connection = rig.open("/message/realtime?subscribe=TRADE:BTC-USDT");
        let request = format!(r#"{{"cmd":"{word}","args":["TRADE:BTC-USDT"]}}"#);
        let answer: Value = serde_json::from_str(&rig.ask(connection, &request)[0]).unwrap();
        assert_eq!(answer["code"], "00003", "{word}");
    }
}
