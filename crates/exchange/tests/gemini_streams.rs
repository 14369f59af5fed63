//! Gemini's Binance-shaped streams: books from the first message on, numbers, times in nanoseconds, requests.

mod common;

use common::{config, shape, Rig, OPENED_UNIX_NS};
use feedbench_exchange::market::{Book, MarketConfig, Side};
use feedbench_exchange::personality::gemini_streams::GeminiStreams;
use feedbench_exchange::personality::Incoming;
use feedbench_exchange::time::{MILLISECOND_NS, SECOND_NS};
use proptest::prelude::*;
use serde_json::{json, Value};
use std::collections::BTreeMap;

fn rig(config: &MarketConfig) -> Rig<GeminiStreams> {
    Rig::new(config, GeminiStreams::new)
}

fn subscribe(streams: &[&str]) -> String {
    json!({"id": "1", "method": "subscribe", "params": streams}).to_string()
}

const SUBSCRIBED: &str = r#"{"id":"1","status":200}"#;

type Levels = BTreeMap<(bool, String), String>;

fn set(kept: &mut Levels, told: &Value, [bids, asks]: [&str; 2]) {
    for (bid, levels) in [(true, &told[bids]), (false, &told[asks])] {
        for level in levels.as_array().unwrap() {
            let [price, quantity] = [0, 1].map(|i| level[i].as_str().unwrap().to_owned());
            if quantity.parse::<f64>().unwrap() == 0.0 {
                kept.remove(&(bid, price));
            } else {
                kept.insert((bid, price), quantity);
            }
        }
    }
}

fn levels(book: &Book, config: &MarketConfig, count: usize) -> Levels {
    let instrument = &config.instruments[0];
    let fixed = |units: u64, decimals: u32, shown: usize| {
        let scale = 10u64.pow(decimals);
        let fraction = format!("{:0>1$}", units % scale, decimals as usize);
        format!("{}.{fraction:0<shown$}", units / scale)
    };
    let price_decimals = instrument.price_decimals;
    let of = |side: Side| {
        book.levels(side).take(count).map(move |(price, level)| {
            let quantity = fixed(level.quantity, instrument.quantity_decimals, 8);
            let price = fixed(price, price_decimals, price_decimals as usize);
            ((side == Side::Bid, price), quantity)
        })
    };
    of(Side::Bid).chain(of(Side::Ask)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn a_client_keeps_the_same_book_from_its_first_message_on(
        seed: u64,
        rate in 20.0f64..2_000.0,
        join_ms in 0u64..1_500,
        fast: bool,
    ) {
        let config = config(seed, 1, rate);
        let mut rig = rig(&config);
        let connection = rig.open("/?snapshot=-1");
        rig.run_until(join_ms * MILLISECOND_NS);
        let stream = if fast { "btcusd@depth@100ms" } else { "btcusd@depth" };
        prop_assert_eq!(&rig.ask(connection, &subscribe(&[stream]))[0], SUBSCRIBED);
        rig.run_until(4 * SECOND_NS);
        let mut kept = Levels::new();
        let (mut last, mut last_ns) = (0, 0);
        for told in &rig.json(connection)[1..] {
            prop_assert!(told["U"].as_u64().unwrap() <= last + 1, "a gap after {}: {}", last, told);
            prop_assert!(told["E"].as_u64().unwrap() >= last_ns);
            (last, last_ns) = (told["u"].as_u64().unwrap(), told["E"].as_u64().unwrap());
            set(&mut kept, told, ["b", "a"]);
        }
        // As the book stood when the last message was made.
        let mut again = common::Rig::new(&config, GeminiStreams::new);
        again.run_until(last_ns - OPENED_UNIX_NS - 1);
        let symbol = &again.market.symbols()[0];
        prop_assert_eq!(last, symbol.sequence);
        prop_assert_eq!(kept, levels(&symbol.book, &config, usize::MAX));
    }

    #[test]
    fn best_prices_and_trades_are_those_of_the_market(seed: u64, rate in 50.0f64..2_000.0) {
        let config = config(seed, 1, rate);
        let mut rig = rig(&config);
        let [best, trades] = [rig.open("/"), rig.open("")];
        rig.send(best, &subscribe(&["btcusd@bookTicker"]));
        rig.send(trades, &subscribe(&["btcusd@trade"]));
        rig.run_until(2 * SECOND_NS);
        let told = rig.json(best);
        prop_assert!(told[1..].windows(2).all(|pair| pair[0]["u"].as_u64() < pair[1]["u"].as_u64()));
        for told in &told[1..] {
            let event = rig.events.iter().find(|event| event.sequence == told["u"].as_u64().unwrap()).unwrap();
            prop_assert_eq!(told["E"].as_u64().unwrap(), OPENED_UNIX_NS + event.published_ns);
        }
        if let Some(last) = told[1..].last() {
            let mut kept = Levels::new();
            let side = |price: &str, quantity: &str| json!([[last[price], last[quantity]]]);
            set(&mut kept, &json!({"b": side("b", "B"), "a": side("a", "A")}), ["b", "a"]);
            prop_assert_eq!(kept, levels(&rig.market.symbols()[0].book, &config, 1));
        }
        let numbers: Vec<u64> = rig.json(trades)[1..].iter().map(|told| told["t"].as_u64().unwrap()).collect();
        let made: Vec<u64> = rig.events.iter().flat_map(|event| event.trades().map(|trade| trade.fill.trade).collect::<Vec<_>>()).collect();
        prop_assert_eq!(numbers, made);
    }

    #[test]
    fn whatever_a_client_sends_is_answered(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let mut rig = rig(&config(1, 1, 1.0));
        let connection = rig.open("/");
        rig.incoming(connection, Incoming::Text(&bytes));
        rig.incoming(connection, Incoming::Binary(&bytes));
        prop_assert_eq!(rig.json(connection).len(), 2);
    }

    #[test]
    fn whatever_path_is_asked_for_is_served_or_refused(target in "/(v1|v2)?/?(book|trades)?[ -~]{0,30}") {
        let mut rig = rig(&config(1, 2, 1.0));
        prop_assert!(rig.rest(&target).status >= 200);
        let _ = rig.try_open(&target);
    }
}

#[test]
fn messages_have_the_documented_shape() {
    let mut rig = rig(&config(1, 1, 300.0));
    for (stream, expected) in [
        (
            "btcusd@bookTicker",
            r#"{u:number,E:number,s:"text",b:"number.2",B:"number.8",a:"number.2",A:"number.8",c:"number.2",C:"number.8"}"#,
        ),
        (
            "btcusd@trade",
            r#"{E:number,s:"text",t:number,p:"number.2",q:"number.8",m:"#,
        ),
        (
            "btcusd@depth@100ms",
            r#"{e:"text",E:number,s:"text",U:number,u:number,b:["#,
        ),
        (
            "btcusd@depth5",
            r#"{lastUpdateId:number,bids:[["number.2","number.8"],"#,
        ),
    ] {
        let connection = rig.open("/");
        rig.send(connection, &subscribe(&[stream]));
        rig.run_for(2 * SECOND_NS);
        let text = &rig.texts(connection)[1];
        assert!(shape(text).starts_with(expected), "{stream}: {text}");
    }
    let connection = rig.open("/");
    rig.send(connection, &subscribe(&["btcusd@depth10@100ms"]));
    rig.run_for(SECOND_NS);
    let told = &rig.json(connection)[1];
    assert_eq!(told["bids"].as_array().unwrap().len(), 10);
    let price = |level: &Value| level[0].as_str().unwrap().parse::<f64>().unwrap();
    assert!(price(&told["bids"][0]) < price(&told["asks"][0]));
}

#[test]
fn requests_are_answered_as_documented() {
    let mut rig = rig(&config(1, 2, 1.0));
    let connection = rig.open("/?snapshot=3");
    for (request, answer) in [
        (
            r#"{"id":7,"method":"ping"}"#,
            r#"{"id":7,"status":200,"result":{}}"#,
        ),
        (
            r#"{"id":"t","method":"time"}"#,
            r#"{"id":"t","status":200,"result":{"serverTime":1618677817075}}"#,
        ),
        (
            r#"{"id":"1","method":"SUBSCRIBE","params":["btcusd@trade","ethusd@depth5"]}"#,
            SUBSCRIBED,
        ),
        (
            r#"{"id":"1","method":"unsubscribe","params":["btcusd@trade"]}"#,
            SUBSCRIBED,
        ),
        (
            r#"{"id":"l","method":"list_subscriptions"}"#,
            r#"{"id":"l","status":200,"result":["ethusd@depth5"]}"#,
        ),
        (
            r#"{"id":"1","method":"subscribe","params":["btcusd@trade","BTCUSD@trade"]}"#,
            r#"{"id":"1","status":400,"error":{"code":-1013,"msg":"Invalid parameters"}}"#,
        ),
        (
            r#"{"id":"1","method":"subscribe","params":["orders@account"]}"#,
            r#"{"id":"1","status":401,"error":{"code":-1002,"msg":"Authentication required"}}"#,
        ),
        (
            r#"{"id":"1","method":"order.place","params":{}}"#,
            r#"{"id":"1","status":401,"error":{"code":-1002,"msg":"Authentication required"}}"#,
        ),
        (
            r#"{"id":"1","method":"dance"}"#,
            r#"{"id":"1","status":400,"error":{"code":-1020,"msg":"Unsupported operation"}}"#,
        ),
        (
            r#"{"method":"ping"}"#,
            r#"{"id":null,"status":400,"error":{"code":-1013,"msg":"Invalid parameters"}}"#,
        ),
        (
            r#"{"id":"1","method":"depth","params":{"symbol":"btcusd","limit":5001}}"#,
            r#"{"id":"1","status":400,"error":{"code":-1013,"msg":"Invalid parameters"}}"#,
        ),
    ] {
        assert_eq!(rig.ask(connection, request), [answer], "{request}");
    }
    let request = r#"{"id":"d","method":"depth","params":{"symbol":"btcusd","limit":2}}"#;
    let answer: Value = serde_json::from_str(&rig.ask(connection, request)[0]).unwrap();
    assert_eq!(answer["result"]["asks"].as_array().unwrap().len(), 2);
    let answers = rig.ask(connection, &subscribe(&["btcusd@depth"]));
    let snapshot: Value = serde_json::from_str(&answers[1]).unwrap();
    assert_eq!(snapshot["b"].as_array().unwrap().len(), 3);
}

#[test]
fn rest_is_that_of_the_older_interfaces() {
    let mut rig = rig(&config(1, 1, 1.0));
    assert_eq!(rig.rest_json("/v1/symbols"), json!(["btcusd"]));
    assert_eq!(rig.rest("/v1/nothing").status, 404);
    let refused = (0..200).find_map(|_| {
        let response = rig.rest("/v1/symbols");
        (response.status == 429).then_some(response)
    });
    let (name, _) = &refused.expect("more than 120 in a minute").headers[0];
    assert_eq!(*name, "Retry-After");
}
