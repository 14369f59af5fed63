//! Coinbase Exchange: books kept by level and by order, sequences, acknowledgements, the shapes of real messages.

mod common;

use common::{config, shape, Got, Rig};
use feedbench_exchange::market::{Book, MarketConfig, Side};
use feedbench_exchange::personality::coinbase::{Coinbase, SessionLimits};
use feedbench_exchange::personality::{Incoming, Personality};
use feedbench_exchange::time::SECOND_NS;
use proptest::prelude::*;
use serde_json::{json, Value};
use std::collections::{BTreeMap, HashMap};

fn rig(config: &MarketConfig) -> Rig<Coinbase> {
    Rig::new(config, Coinbase::new)
}

fn subscribe(channels: &[&str], products: &[&str]) -> String {
    json!({"type": "subscribe", "product_ids": products, "channels": channels}).to_string()
}

fn number(units: u64, decimals: u32) -> String {
    let text = format!("{:0>1$}", units, decimals as usize + 1);
    let (whole, fraction) = text.split_at(text.len() - decimals as usize);
    format!("{whole}.{fraction}")
}

type Levels = BTreeMap<(String, String), String>;

fn levels(book: &Book, config: &MarketConfig) -> Levels {
    let instrument = &config.instruments[0];
    let sides = [(Side::Bid, "buy"), (Side::Ask, "sell")];
    let levels = sides.iter().flat_map(|&(side, word)| {
        book.levels(side)
            .map(move |(price, level)| (word, price, level))
    });
    levels
        .map(|(word, price, level)| {
            let price = number(price, instrument.price_decimals);
            (
                (word.to_owned(), price),
                number(level.quantity, instrument.quantity_decimals),
            )
        })
        .collect()
}

fn kept(messages: &[Value]) -> Levels {
    let mut kept = Levels::new();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    for message in messages {
        match message["type"].as_str().unwrap() {
            "snapshot" => {
                for (word, key) in [("buy", "bids"), ("sell", "asks")] {
                    for level in message[key].as_array().unwrap() {
                        kept.insert((word.to_owned(), text(&level[0])), text(&level[1]));
                    }
                }
            }
            "l2update" => {
                for change in message["changes"].as_array().unwrap() {
                    let key = (text(&change[0]), text(&change[1]));
                    match text(&change[2]) {
                        size if size.parse::<f64>() == Ok(0.0) => _ = kept.remove(&key),
                        size => _ = kept.insert(key, size),
                    }
                }
            }
            _ => {}
        }
    }
    kept
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn snapshot_and_updates_make_the_same_book(seed: u64, rate in 20.0f64..2_000.0, join_ms in 0u64..900) {
        let config = config(seed, 1, rate);
        let mut rig = rig(&config);
        let (single, batched) = (rig.open("/"), rig.open("/"));
        rig.run_until(join_ms * 1_000_000);
        rig.send(single, &subscribe(&["level2"], &["BTC-USD"]));
        rig.send(batched, &subscribe(&["level2_batch"], &["BTC-USD"]));
        rig.run_until(3 * SECOND_NS);
        prop_assert_eq!(kept(&rig.json(single)), levels(&rig.market.symbols()[0].book, &config));
        let last_batch_ns = rig.got[batched.0 as usize].last().unwrap().0;
        let mut again = Rig::new(&config, Coinbase::new);
        again.run_until(last_batch_ns.max(join_ms * 1_000_000) - u64::from(last_batch_ns > join_ms * 1_000_000));
        prop_assert_eq!(kept(&rig.json(batched)), levels(&again.market.symbols()[0].book, &config));
    }

    #[test]
    fn the_full_channel_has_no_gaps_and_rebuilds_the_book_order_by_order(seed: u64, rate in 20.0f64..2_000.0) {
        let config = config(seed, 1, rate);
        let mut rig = rig(&config);
        let connection = rig.open("/");
        rig.run_until(SECOND_NS / 3);
        rig.send(connection, &subscribe(&["full"], &["BTC-USD"]));
        rig.run_until(SECOND_NS / 2);
        let snapshot = rig.rest_json("/products/BTC-USD/book?level=3");
        rig.run_until(2 * SECOND_NS);
        let decimals = config.instruments[0].quantity_decimals as i32;
        let lots = |text: &Value| (text.as_str().unwrap().parse::<f64>().unwrap() * 10f64.powi(decimals)).round() as u64;
        let mut orders: HashMap<String, u64> = HashMap::new();
        for side in ["bids", "asks"] {
            for order in snapshot[side].as_array().unwrap() {
                orders.insert(order[2].as_str().unwrap().to_owned(), lots(&order[1]));
            }
        }
        let mut last = None;
        for message in rig.json(connection).iter().skip(1) {
            let sequence = message["sequence"].as_u64().unwrap();
            prop_assert!(last.is_none_or(|last| sequence == last + 1), "{sequence} after {last:?}");
            last = Some(sequence);
            if sequence <= snapshot["sequence"].as_u64().unwrap() {
                continue;
            }
            let order = message["order_id"].as_str().map(str::to_owned);
            match message["type"].as_str().unwrap() {
                "open" => _ = orders.insert(order.unwrap(), lots(&message["remaining_size"])),
                "done" if message.get("price").is_some() => {
                    let left = orders.remove(&order.unwrap());
                    prop_assert_eq!(left, Some(lots(&message["remaining_size"])));
                }
                "match" => *orders.get_mut(message["maker_order_id"].as_str().unwrap()).unwrap() -= lots(&message["size"]),
                _ => {}
            }
        }
        let book = &rig.market.symbols()[0].book;
        let mut expected: Vec<u64> = [Side::Bid, Side::Ask].iter().flat_map(|&side| book.orders(side)).map(|o| o.quantity).collect();
        let mut kept: Vec<u64> = orders.into_values().collect();
        expected.sort_unstable();
        kept.sort_unstable();
        prop_assert_eq!(kept, expected);
    }

    #[test]
    fn matches_tickers_and_heartbeats_agree(seed: u64) {
        let mut rig = rig(&config(seed, 1, 400.0));
        let connection = rig.open("/");
        rig.send(connection, &subscribe(&["matches", "ticker", "heartbeat"], &["BTC-USD"]));
        rig.run_until(4 * SECOND_NS);
        let told = rig.json(connection);
        let of = |kind: &str| told.iter().filter(|told| told["type"] == kind).collect::<Vec<_>>();
        let (matches, tickers) = (of("match"), of("ticker"));
        prop_assert_eq!(matches.len() + 1, tickers.len(), "one ticker stands for the time before");
        for (matched, ticker) in matches.iter().zip(&tickers[1..]) {
            prop_assert_eq!(&matched["trade_id"], &ticker["trade_id"]);
            prop_assert_eq!(&matched["sequence"], &ticker["sequence"]);
            prop_assert!(matched["side"] != ticker["side"], "the maker's side and the taker's");
        }
        prop_assert!(matches.windows(2).all(|pair| pair[0]["sequence"].as_u64() < pair[1]["sequence"].as_u64()));
        let first = of("last_match")[0]["trade_id"].as_u64().unwrap();
        if let Some(matched) = matches.first() {
            prop_assert_eq!(matched["trade_id"].as_u64().unwrap(), first + 1);
        }
        prop_assert_eq!(of("heartbeat").len(), 5);
    }

    #[test]
    fn whatever_a_client_sends_is_answered(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let mut rig = rig(&config(1, 1, 1.0));
        let connection = rig.open("/");
        rig.incoming(connection, Incoming::Text(&bytes));
        let Got::Text(answer) = rig.last(connection) else { panic!("no answer") };
        prop_assert_eq!(&serde_json::from_str::<Value>(answer).unwrap()["type"], "error");
    }

    #[test]
    fn whatever_path_is_asked_for_is_served_or_refused(target in "/(products|time)?(/BTC-USD)?[ -~]{0,30}") {
        let response = rig(&config(1, 2, 1.0)).rest(&target);
        prop_assert!(response.status == 200 || response.status >= 400);
    }
}

#[test]
fn acknowledgements_list_all_subscriptions() {
    let mut rig = rig(&config(1, 2, 1.0));
    let connection = rig.open("/");
    let ack = |rig: &mut Rig<Coinbase>, text: &str| rig.ask(connection, text)[0].clone();
    assert_eq!(
        ack(
            &mut rig,
            r#"{"type":"subscribe","product_ids":["ETH-USD"],"channels":["level2",{"name":"ticker","product_ids":["BTC-USD"]}]}"#
        ),
        r#"{"type":"subscriptions","channels":[{"name":"level2","product_ids":["ETH-USD"]},{"name":"ticker","product_ids":["ETH-USD","BTC-USD"]}]}"#
    );
    assert_eq!(
        ack(
            &mut rig,
            r#"{"type":"subscribe","channels":[{"name":"heartbeat","product_ids":["ETH-USD"]}]}"#
        ),
        r#"{"type":"subscriptions","channels":[{"name":"level2","product_ids":["ETH-USD"]},{"name":"ticker","product_ids":["ETH-USD","BTC-USD"]},{"name":"heartbeat","product_ids":["ETH-USD"]}]}"#
    );
    assert_eq!(
        ack(
            &mut rig,
            r#"{"type":"unsubscribe","product_ids":["ETH-USD"],"channels":["level2","heartbeat"]}"#
        ),
        r#"{"type":"subscriptions","channels":[{"name":"ticker","product_ids":["ETH-USD","BTC-USD"]}]}"#
    );
    assert_eq!(
        ack(&mut rig, r#"{"type":"unsubscribe","channels":["ticker"]}"#),
        r#"{"type":"subscriptions","channels":[]}"#
    );
}

#[test]
fn mistakes_are_told_with_their_reason() {
    let mut rig = rig(&config(1, 1, 1.0));
    let connection = rig.open("/");
    for (text, message, reason) in [
        (
            r#"{"type":"subscribe","product_ids":["X-USD"],"channels":["ticker"]}"#,
            "Failed to subscribe",
            "X-USD is not a valid product",
        ),
        (
            r#"{"type":"subscribe","product_ids":["BTC-USD"],"channels":["l9"]}"#,
            "Failed to subscribe",
            "l9 is not a valid channel",
        ),
        (
            r#"{"type":"subscribe","channels":["ticker"]}"#,
            "Failed to subscribe",
            "no products specified",
        ),
        (
            r#"{"type":"subscribe"}"#,
            "Failed to subscribe",
            "no channels specified",
        ),
        (
            r#"{"type":"hello"}"#,
            "Type has to be either subscribe or unsubscribe",
            "hello",
        ),
    ] {
        let answer: Value = serde_json::from_str(&rig.ask(connection, text)[0]).unwrap();
        assert_eq!(
            answer,
            json!({"type": "error", "message": message, "reason": reason})
        );
    }
    assert!(rig.ask(connection, "{")[0].contains("Malformed JSON"));
}

#[test]
fn a_connection_must_subscribe_within_five_seconds() {
    let mut rig = rig(&config(1, 1, 1.0));
    let (idle, busy) = (rig.open("/"), rig.open("/"));
    rig.run_for(4 * SECOND_NS);
    rig.send(busy, &subscribe(&["heartbeat"], &["BTC-USD"]));
    rig.run_for(4 * SECOND_NS);
    assert!(matches!(
        &rig.got[idle.0 as usize][..],
        [(5_000_000_000, Got::Close(1008, _))]
    ));
    assert!(matches!(rig.last(busy), Got::Text(_)));
}

#[test]
fn level2_can_want_a_key_and_too_many_messages_end_the_connection() {
    let limits = SessionLimits {
        level2_needs_key: true,
        messages_per_s: 3,
        ..SessionLimits::default()
    };
    let mut rig = Rig::new(&config(1, 1, 1.0), |market| {
        Coinbase::with_limits(market, limits)
    });
    let connection = rig.open("/");
    assert!(
        rig.ask(connection, &subscribe(&["level2"], &["BTC-USD"]))[0]
            .contains("requires authentication")
    );
    let with_key = r#"{"type":"subscribe","product_ids":["BTC-USD"],"channels":["level2"],"key":"k","signature":"s"}"#;
    assert!(rig.ask(connection, with_key)[0].contains("subscriptions"));
    rig.send(connection, "{}");
    rig.send(connection, "{}");
    assert_eq!(
        rig.last(connection),
        &Got::Close(1008, "Rate limit exceeded")
    );
    assert_eq!(rig.hub.personality().slow_consumer().len(), 2);
}

#[test]
fn rest_answers_have_the_documented_shapes_and_limits() {
    let mut rig = rig(&config(1, 2, 300.0));
    rig.run_until(2 * SECOND_NS);
    let text =
        |rig: &mut Rig<Coinbase>, target: &str| String::from_utf8(rig.rest(target).body).unwrap();
    assert_eq!(
        text(&mut rig, "/time"),
        r#"{"iso":"2021-04-17T16:43:39.075687Z","epoch":1618677819.075}"#
    );
    assert_eq!(
        shape(&text(&mut rig, "/products/BTC-USD/ticker"))
            .split("trade_id")
            .next()
            .unwrap(),
        r#"{ask:"number.2",bid:"number.2",volume:"number.8","#
    );
    assert_eq!(rig.rest_json("/products").as_array().unwrap().len(), 2);
    assert_eq!(rig.rest_json("/currencies")[1]["id"], "USD");
    assert_eq!(
        rig.rest_json("/products/ETH-USD")["quote_increment"],
        "0.01"
    );
    let trades = rig.rest_json("/products/BTC-USD/trades?limit=3");
    assert_eq!(
        trades[0]["trade_id"].as_u64().unwrap(),
        trades[2]["trade_id"].as_u64().unwrap() + 2
    );
    assert!(
        rig.rest_json("/products/BTC-USD/book")["bids"]
            .as_array()
            .unwrap()
            .len()
            == 1
    );
    assert!(rig.rest_json("/products/BTC-USD/stats")["open"].is_string());
    assert_eq!(rig.rest("/products/NOPE/ticker").status, 404);
    rig.run_for(10 * SECOND_NS);
    let statuses: Vec<u16> = (0..17).map(|_| rig.rest("/time").status).collect();
    assert_eq!(
        (&statuses[..15], &statuses[15..]),
        (&[200; 15][..], &[429; 2][..])
    );
}

/// Keys, their order, and the format of each number, against a real recording (skipped where it is absent).
#[test]
fn messages_have_the_shape_of_recorded_ones() {
    let Some(text) = common::recording("coinbase-20210417.gz") else {
        return;
    };
    let mut recorded: BTreeMap<String, String> = BTreeMap::new();
    for line in text
        .lines()
        .filter(|line| line.starts_with(|c: char| c.is_ascii_digit()))
    {
        let frame = line.split_once(": ").unwrap().1;
        let kind = frame
            .strip_prefix(r#"{"type":""#)
            .unwrap()
            .split('"')
            .next()
            .unwrap();
        recorded
            .entry(kind.to_owned())
            .or_insert_with(|| plain(frame));
    }
    assert_eq!(recorded.len(), 6);
    let mut rig = rig(&config(1, 1, 500.0));
    let connection = rig.open("/");
    rig.send(
        connection,
        &subscribe(&["level2", "ticker", "matches"], &["BTC-USD"]),
    );
    rig.run_until(SECOND_NS);
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for text in rig.texts(connection) {
        let kind = serde_json::from_str::<Value>(&text).unwrap()["type"]
            .as_str()
            .unwrap()
            .to_owned();
        // The best sizes came after the recording; the subscriptions are other ones.
        let ours = plain(&text)
            .replace(r#"best_bid_size:"number","#, "")
            .replace(r#"best_ask_size:"number","#, "");
        if kind != "subscriptions" {
            assert_eq!(recorded[&kind], ours);
        }
        *seen.entry(kind).or_default() += 1;
    }
    assert_eq!(seen.len(), 6, "{seen:?}");
}

/// A shape without the number of decimals, which differs by product, in which each list has one level.
fn plain(text: &str) -> String {
    let mut shape = shape(text);
    for digit in 0..10 {
        shape = shape.replace(&format!("number.{digit}"), "number");
    }
    let level = r#"["number","number"]"#;
    while shape.contains(&format!("{level},{level}")) {
        shape = shape.replace(&format!("{level},{level}"), level);
    }
    shape
}
