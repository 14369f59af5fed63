//! Binance: the order book that a client keeps, the commands, the shapes of real messages, the ends of a connection.

mod common;

use common::{config, shape, Got, Rig};
use feedbench_exchange::market::{Book, MarketConfig, Side};
use feedbench_exchange::personality::binance::{Binance, SessionLimits};
use feedbench_exchange::personality::{Incoming, Personality, Request};
use feedbench_exchange::time::{DAY_NS, SECOND_NS};
use proptest::prelude::*;
use serde_json::{json, Value};
use std::collections::BTreeMap;

fn rig(config: &MarketConfig) -> Rig<Binance> {
    Rig::new(config, Binance::new)
}

/// A book kept as the exchange's documentation tells a client to.
#[derive(Default)]
struct Kept {
    last: u64,
    sides: [BTreeMap<String, String>; 2],
}

impl Kept {
    fn of(snapshot: &Value) -> Self {
        let mut kept = Self {
            last: snapshot["lastUpdateId"].as_u64().unwrap(),
            ..Self::default()
        };
        kept.set(&snapshot["bids"], &snapshot["asks"]);
        kept
    }

    fn set(&mut self, bids: &Value, asks: &Value) {
        for (side, levels) in self.sides.iter_mut().zip([bids, asks]) {
            for level in levels.as_array().unwrap() {
                let [price, quantity] = [0, 1].map(|i| level[i].as_str().unwrap().to_owned());
                if quantity == "0.00000000" {
                    side.remove(&price);
                } else {
                    side.insert(price, quantity);
                }
            }
        }
    }

    fn apply(&mut self, update: &Value) {
        let [first, last] = ["U", "u"].map(|key| update[key].as_u64().unwrap());
        if last <= self.last {
            return;
        }
        assert!(first <= self.last + 1, "a gap: {first} after {}", self.last);
        self.set(&update["b"], &update["a"]);
        self.last = last;
    }
}

fn sides(book: &Book, config: &MarketConfig, symbol: usize) -> [BTreeMap<String, String>; 2] {
    let instrument = &config.instruments[symbol];
    let number = |units: u64, decimals: u32| {
        let text = format!("{:0>1$}", units, decimals as usize + 1);
        let (whole, fraction) = text.split_at(text.len() - decimals as usize);
        format!("{whole}.{fraction:0<8}")
    };
    [Side::Bid, Side::Ask].map(|side| {
        let levels = book.levels(side);
        levels
            .map(|(price, level)| {
                (
                    number(price, instrument.price_decimals),
                    number(level.quantity, instrument.quantity_decimals),
                )
            })
            .collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn a_client_that_joins_snapshot_and_stream_keeps_the_same_book(
        seed: u64,
        rate in 20.0f64..3_000.0,
        fast: bool,
        snapshot_at_ms in 0u64..1_500,
    ) {
        let config = config(seed, 2, rate);
        let mut rig = rig(&config);
        let stream = if fast { "ethusdt@depth@100ms" } else { "ethusdt@depth" };
        let connection = rig.open(&format!("/ws/{stream}"));
        rig.run_until(snapshot_at_ms * 1_000_000);
        let mut kept = Kept::of(&rig.rest_json("/api/v3/depth?symbol=ETHUSDT&limit=5000"));
        // Stop just after a batch, so that the client has been told all.
        rig.run_until(4 * SECOND_NS);
        let last_batch_ns = rig.got[0].last().unwrap().0;
        let updates = rig.json(connection);
        for pair in updates.windows(2) {
            prop_assert_eq!(pair[1]["U"].as_u64().unwrap(), pair[0]["u"].as_u64().unwrap() + 1);
            prop_assert!(pair[1]["U"].as_u64() <= pair[1]["u"].as_u64());
            prop_assert!(pair[0]["E"].as_u64() < pair[1]["E"].as_u64());
        }
        // A batch tells the levels that changed since the one before, each once.
        for update in &updates {
            let numbers = update["U"].as_u64().unwrap()..=update["u"].as_u64().unwrap();
            let of_symbol = |event: &&feedbench_exchange::market::Event| event.symbol.0 == 1 && numbers.contains(&event.sequence);
            let changed: std::collections::BTreeSet<_> = rig.events.iter().filter(of_symbol).flat_map(|event| event.levels().collect::<Vec<_>>()).collect();
            let told = ["a", "b"].map(|key| update[key].as_array().unwrap().len()).iter().sum::<usize>();
            prop_assert_eq!(told, changed.len());
        }
        updates.iter().for_each(|update| kept.apply(update));
        let mut again = Rig::new(&config, Binance::new);
        again.run_until(last_batch_ns - 1);
        prop_assert_eq!(&kept.sides, &sides(&again.market.symbols()[1].book, &config, 1));
        prop_assert_eq!(kept.last, again.market.symbols()[1].sequence);
    }

    #[test]
    fn trades_are_numbered_without_gaps_and_tell_what_happened(seed: u64, rate in 50.0f64..3_000.0) {
        let config = config(seed, 1, rate);
        let mut rig = rig(&config);
        let trades = rig.open("/ws/btcusdt@trade");
        let aggregates = rig.open("/ws/btcusdt@aggTrade");
        rig.run_until(2 * SECOND_NS);
        let trades = rig.json(trades);
        let made: Vec<_> = rig.events.iter().flat_map(|event| event.trades().map(|t| (t, event.published_ns)).collect::<Vec<_>>()).collect();
        prop_assert_eq!(trades.len(), made.len());
        for (told, (made, published_ns)) in trades.iter().zip(&made) {
            prop_assert_eq!(told["t"].as_u64().unwrap(), made.fill.trade);
            prop_assert_eq!(told["E"].as_u64().unwrap(), rig.market.clock().unix_ms(*published_ns));
            prop_assert_eq!(told["T"].as_u64().unwrap(), rig.market.clock().unix_ms(made.matched_ns));
            prop_assert_eq!(told["m"].as_bool().unwrap(), made.side == Side::Ask);
        }
        let told = rig.json(aggregates);
        for pair in told.windows(2) {
            prop_assert_eq!(pair[1]["a"].as_u64().unwrap(), pair[0]["a"].as_u64().unwrap() + 1);
            prop_assert_eq!(pair[1]["f"].as_u64().unwrap(), pair[0]["l"].as_u64().unwrap() + 1);
        }
        prop_assert_eq!(told.last().map(|told| told["l"].clone()), trades.last().map(|told| told["t"].clone()));
    }

    #[test]
    fn the_best_prices_are_those_of_the_book(seed: u64) {
        let config = config(seed, 1, 500.0);
        let mut rig = rig(&config);
        let connection = rig.open("/ws/btcusdt@bookTicker/btcusdt@depth5@100ms");
        rig.run_until(SECOND_NS);
        let told = rig.json(connection);
        let last = told.iter().rfind(|told| told.get("u").is_some()).unwrap();
        let [bids, asks] = sides(&rig.market.symbols()[0].book, &config, 0);
        let bid = bids.iter().max_by_key(|(price, _)| price.replace('.', "").parse::<u64>().unwrap()).unwrap();
        let ask = asks.iter().min_by_key(|(price, _)| price.replace('.', "").parse::<u64>().unwrap()).unwrap();
        prop_assert_eq!([&last["b"], &last["B"], &last["a"], &last["A"]], [bid.0, bid.1, ask.0, ask.1]);
        let numbers: Vec<u64> = told.iter().filter_map(|told| told["u"].as_u64()).collect();
        prop_assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn whatever_a_client_sends_is_answered_or_ends_the_connection(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let mut rig = rig(&config(1, 1, 1.0));
        let connection = rig.open("/ws");
        rig.incoming(connection, Incoming::Text(&bytes));
        let Got::Text(answer) = rig.last(connection) else { panic!("no answer") };
        let answer: Value = serde_json::from_str(answer).unwrap();
        prop_assert!(answer.get("code").is_some() || answer.get("result").is_some());
    }

    #[test]
    fn whatever_command_a_client_makes_up_is_answered(
        method in prop_oneof![Just("SUBSCRIBE"), Just("UNSUBSCRIBE"), Just("LIST_SUBSCRIPTIONS"), Just("SET_PROPERTY"), Just("GET_PROPERTY"), Just("X")],
        params in proptest::collection::vec(prop_oneof![
            Just(json!("btcusdt@trade")), Just(json!("combined")), Just(json!(true)), Just(json!(7)), Just(json!(null)), Just(json!("ü@\""))
        ], 0..4),
        id in prop_oneof![Just(json!(1)), Just(json!(null)), Just(json!("a-1")), Just(json!(1.5)), Just(json!({})), Just(json!("%"))],
    ) {
        let mut rig = rig(&config(1, 1, 100.0));
        let connection = rig.open("/stream");
        let answers = rig.ask(connection, &json!({"method": method, "params": params, "id": id}).to_string());
        prop_assert_eq!(answers.len(), 1);
        let answer: Value = serde_json::from_str(&answers[0]).unwrap();
        prop_assert!(answer.get("result").is_some() != answer.get("code").is_some());
        rig.run_for(SECOND_NS);
    }

    #[test]
    fn whatever_path_is_asked_for_is_served_or_refused(target in "/(api/v3|ws|stream)?(/|\\?)?[ -~]{0,40}") {
        let mut rig = rig(&config(1, 2, 1.0));
        let response = rig.rest(&target);
        prop_assert!(response.status == 200 || response.status >= 400);
        let _ = rig.try_open(&target);
    }
}

#[test]
fn commands_are_answered_as_documented() {
    let mut rig = rig(&config(1, 2, 100.0));
    let connection = rig.open("/ws/btcusdt@aggTrade");
    for (command, answer) in [
        (
            r#"{"method":"LIST_SUBSCRIPTIONS","id":3}"#,
            r#"{"result":["btcusdt@aggTrade"],"id":3}"#,
        ),
        (
            r#"{"method":"SUBSCRIBE","params":["ethusdt@depth","nonsense"],"id":"a-9"}"#,
            r#"{"result":null,"id":"a-9"}"#,
        ),
        (
            r#"{"method":"LIST_SUBSCRIPTIONS","id":null}"#,
            r#"{"result":["btcusdt@aggTrade","ethusdt@depth","nonsense"],"id":null}"#,
        ),
        (
            r#"{"method":"UNSUBSCRIBE","params":["btcusdt@aggTrade"],"id":312}"#,
            r#"{"result":null,"id":312}"#,
        ),
        (
            r#"{"method":"GET_PROPERTY","params":["combined"],"id":2}"#,
            r#"{"result":false,"id":2}"#,
        ),
        (
            r#"{"method":"SET_PROPERTY","params":["combined",true],"id":5}"#,
            r#"{"result":null,"id":5}"#,
        ),
        (
            r#"{"method":"GET_PROPERTY","params":["combined"],"id":2}"#,
            r#"{"result":true,"id":2}"#,
        ),
        (
            r#"{"method":"GET_PROPERTY","params":["other"],"id":2}"#,
            r#"{"code":0,"msg":"Unknown property","id":2}"#,
        ),
        (
            r#"{"method":"SET_PROPERTY","params":["combined","yes"],"id":2}"#,
            r#"{"code":1,"msg":"Invalid value type: expected Boolean","id":2}"#,
        ),
        (
            r#"{"method":"GET_PROPERTY","params":[1],"id":2}"#,
            r#"{"code":2,"msg":"Invalid request: property name must be a string","id":2}"#,
        ),
        (
            r#"{"method":"GET_PROPERTY","params":["combined",1],"id":2}"#,
            r#"{"code":2,"msg":"Invalid request: too many parameters","id":2}"#,
        ),
        (
            r#"{"method":"LIST_SUBSCRIPTIONS","id":[]}"#,
            r#"{"code":2,"msg":"Invalid request: request ID must be an unsigned integer"}"#,
        ),
        (
            r#"{"method":"PUBLISH","params":[],"id":1}"#,
            r#"{"code":2,"msg":"Invalid request: unknown variant `PUBLISH`, expected one of `SUBSCRIBE`, `UNSUBSCRIBE`, `LIST_SUBSCRIPTIONS`, `SET_PROPERTY`, `GET_PROPERTY` at line 1 column 19"}"#,
        ),
        (
            r#"{"params":["btcusdt@aggTrade"],"id":1}"#,
            r#"{"code":2,"msg":"Invalid request: missing field `method` at line 1 column 38"}"#,
        ),
        (
            "nonsense",
            r#"{"code":3,"msg":"Invalid JSON: expected ident at line 1 column 2"}"#,
        ),
        (
            "",
            r#"{"code":3,"msg":"Invalid JSON: EOF while parsing a value at line 1 column 0"}"#,
        ),
    ] {
        rig.run_for(SECOND_NS / 2);
        assert_eq!(rig.ask(connection, command), [answer], "{command}");
    }
}

#[test]
fn combined_streams_name_themselves_and_microseconds_are_asked_for() {
    let mut rig = rig(&config(1, 1, 500.0));
    let plain = rig.open("/stream?streams=btcusdt@trade/btcusdt@depth5@100ms");
    let fine = rig.open("/stream?streams=btcusdt%40trade&timeUnit=MICROSECOND");
    let raw = rig.open("/ws/btcusdt@trade");
    rig.run_until(SECOND_NS);
    let (plain, fine, raw) = (rig.json(plain), rig.json(fine), rig.json(raw));
    assert!(plain
        .iter()
        .any(|message| message["stream"] == "btcusdt@depth5@100ms"));
    let trades: Vec<&Value> = plain
        .iter()
        .filter(|m| m["stream"] == "btcusdt@trade")
        .map(|m| &m["data"])
        .collect();
    assert_eq!(trades, raw.iter().collect::<Vec<_>>());
    assert!(trades.len() > 10);
    for (coarse, fine) in trades.iter().zip(&fine) {
        assert_eq!(
            fine["data"]["E"].as_u64().unwrap() / 1_000,
            coarse["E"].as_u64().unwrap()
        );
        assert_eq!(fine["data"]["p"], coarse["p"]);
    }
}

#[test]
fn unknown_paths_below_ws_are_accepted() {
    let mut rig = rig(&config(1, 1, 500.0));
    for target in [
        "/ws/0",
        "/ws",
        "/ws/",
        "/stream",
        "/stream/",
        "/stream?streams=",
        "/ws/btcusdt@trade/7",
    ] {
        let connection = rig.open(target);
        assert_eq!(
            rig.ask(
                connection,
                r#"{"method":"SUBSCRIBE","params":["btcusdt@trade"],"id":1}"#
            )
            .len(),
            1
        );
        rig.run_for(SECOND_NS);
        assert!(rig.got[connection.0 as usize].len() > 10, "{target}");
    }
    assert_eq!(rig.try_open("/other").unwrap_err().status, 404);
}

#[test]
fn the_sixth_message_in_a_second_ends_the_connection() {
    let mut rig = rig(&config(1, 1, 1.0));
    let connection = rig.open("/ws");
    for _ in 0..2 {
        rig.incoming(connection, Incoming::Ping);
        rig.incoming(connection, Incoming::Pong(b""));
        rig.send(connection, r#"{"method":"LIST_SUBSCRIPTIONS","id":3}"#);
    }
    assert_eq!(rig.last(connection), &Got::Close(1008, "Too many requests"));
    let calm = rig.open("/ws");
    for _ in 0..20 {
        rig.run_for(SECOND_NS / 4);
        rig.send(calm, r#"{"method":"LIST_SUBSCRIPTIONS","id":3}"#);
    }
    assert!(matches!(rig.last(calm), Got::Text(_)));
}

#[test]
fn pings_come_every_20_seconds_and_want_their_pong_within_60() {
    let mut rig = rig(&config(1, 1, 0.1));
    let (mute, polite, wrong) = (rig.open("/ws"), rig.open("/ws"), rig.open("/ws"));
    for _ in 0..9 {
        rig.run_for(10 * SECOND_NS);
        rig.incoming(wrong, Incoming::Pong(b"unasked"));
        if let Some((_, Got::Ping(payload))) = rig.got[polite.0 as usize].last().cloned() {
            rig.incoming(polite, Incoming::Pong(&payload));
        }
    }
    assert!(
        matches!(rig.last(wrong), Got::Close(1008, "Pong timeout")),
        "pongs that copy no ping do not count"
    );
    let times: Vec<u64> = rig.got[mute.0 as usize]
        .iter()
        .map(|(at, _)| at / SECOND_NS)
        .collect();
    assert_eq!(times, [20, 40, 60, 80]);
    assert_eq!(rig.last(mute), &Got::Close(1008, "Pong timeout"));
    let Got::Ping(payload) = rig.last(polite) else {
        panic!("{:?}", rig.last(polite))
    };
    assert_eq!(
        String::from_utf8_lossy(payload),
        (common::OPENED_UNIX_NS / 1_000_000 + 80_000).to_string()
    );
}

#[test]
fn a_connection_is_cut_after_24_hours_or_earlier_on_demand() {
    let limits = SessionLimits {
        age_ns: 7 * SECOND_NS,
        ..SessionLimits::default()
    };
    assert_eq!(SessionLimits::default().age_ns, DAY_NS);
    let mut rig = Rig::new(&config(1, 1, 0.1), |market| {
        Binance::with_limits(market, limits)
    });
    let connection = rig.open("/stream");
    rig.run_for(10 * SECOND_NS);
    let [(at, Got::Text(notice)), (_, Got::Close(1001, ""))] = &rig.got[connection.0 as usize][..]
    else {
        panic!()
    };
    assert_eq!(*at, 7 * SECOND_NS);
    assert!(
        notice.starts_with(r#"{"stream":"!serverShutdown","data":{"e":"serverShutdown","E":16186"#),
        "{notice}"
    );
}

#[test]
fn more_than_1024_streams_are_refused() {
    let mut rig = rig(&config(1, 1, 1.0));
    let connection = rig.open("/ws");
    let names: Vec<String> = (0..1_024).map(|i| format!("x{i}@trade")).collect();
    let subscribe =
        |names: &[String]| json!({"method": "SUBSCRIBE", "params": names, "id": 1}).to_string();
    assert_eq!(
        rig.ask(connection, &subscribe(&names)),
        [r#"{"result":null,"id":1}"#]
    );
    assert!(rig.ask(connection, &subscribe(&["y@trade".to_owned()]))[0]
        .contains("too many subscriptions"));
}

#[test]
fn candles_close_with_their_trades_and_agree_with_rest() {
    let mut rig = rig(&config(3, 1, 200.0));
    let connection = rig.open("/ws/btcusdt@kline_1s/btcusdt@kline_1m/btcusdt@trade");
    rig.run_until(64 * SECOND_NS);
    let told = rig.json(connection);
    let closed: Vec<&Value> = told
        .iter()
        .map(|told| &told["k"])
        .filter(|k| k["x"] == true && k["i"] == "1s")
        .collect();
    assert!(closed.len() >= 62);
    let trades: Vec<&Value> = told.iter().filter(|told| told["e"] == "trade").collect();
    // The first candles hold what happened before the connection.
    for candle in &closed[2..] {
        let within = |trade: &&&Value| {
            trade["T"].as_u64() >= candle["t"].as_u64()
                && trade["T"].as_u64() <= candle["T"].as_u64()
        };
        assert_eq!(
            candle["n"].as_u64().unwrap() as usize,
            trades.iter().filter(within).count()
        );
    }
    let minute = told
        .iter()
        .map(|told| &told["k"])
        .find(|k| k["x"] == true && k["i"] == "1m")
        .unwrap();
    let listed = rig.rest_json("/api/v3/klines?symbol=BTCUSDT&interval=1m");
    let row = listed
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row[0] == minute["t"])
        .unwrap();
    assert_eq!(
        [&row[1], &row[4], &row[5], &row[8]],
        [&minute["o"], &minute["c"], &minute["v"], &minute["n"]]
    );
}

#[test]
fn rest_answers_have_the_documented_shapes() {
    let mut rig = rig(&config(1, 2, 300.0));
    rig.run_until(3 * SECOND_NS);
    assert_eq!(rig.rest("/api/v3/ping").body, b"{}");
    let ticker = rig.rest_json("/api/v3/ticker/24hr?symbol=BTCUSDT");
    let one = rig.rest_json("/api/v3/ticker/price?symbol=BTCUSDT");
    assert_eq!(ticker["lastPrice"], one["price"]);
    assert_eq!(
        rig.rest_json("/api/v3/ticker/24hr")
            .as_array()
            .unwrap()
            .len(),
        2
    );
    assert_eq!(
        rig.rest_json(r#"/api/v3/ticker/bookTicker?symbols=["ETHUSDT"]"#)[0]["symbol"],
        "ETHUSDT"
    );
    let trades = rig.rest_json("/api/v3/trades?symbol=BTCUSDT&limit=7");
    assert_eq!(trades.as_array().unwrap().len(), 7);
    let aggregates = rig.rest_json("/api/v3/aggTrades?symbol=BTCUSDT");
    assert_eq!(
        aggregates.as_array().unwrap().last().unwrap()["l"],
        trades[6]["id"]
    );
    let info = rig.rest_json("/api/v3/exchangeInfo");
    assert_eq!(info["symbols"][1]["symbol"], "ETHUSDT");
    assert_eq!(info["symbols"][0]["filters"][0]["tickSize"], "0.01000000");
    assert_eq!(rig.rest_json("/api/v3/avgPrice?symbol=BTCUSDT")["mins"], 5);
    assert_eq!(
        shape(std::str::from_utf8(&rig.rest("/api/v3/depth?symbol=BTCUSDT&limit=1").body).unwrap()),
        r#"{lastUpdateId:number,bids:[["number.8","number.8"]],asks:[["number.8","number.8"]]}"#
    );
    for (target, status, code) in [
        ("/api/v3/depth?symbol=NOPE", 400, -1121),
        ("/api/v3/depth", 400, -1102),
        ("/api/v3/trades?symbol=BTCUSDT&limit=x", 400, -1100),
        ("/api/v3/klines?symbol=BTCUSDT&interval=9m", 400, -1120),
    ] {
        let response = rig.rest(target);
        let body: Value = serde_json::from_slice(&response.body).unwrap();
        assert_eq!(
            (response.status, body["code"].as_i64().unwrap()),
            (status, code),
            "{target}"
        );
    }
    let header = |rig: &mut Rig<Binance>| {
        let response = rig.rest("/api/v3/depth?symbol=BTCUSDT&limit=5000");
        let used = response
            .headers
            .iter()
            .find(|(name, _)| *name == "X-MBX-USED-WEIGHT-1M")
            .unwrap();
        used.1.parse::<u32>().unwrap()
    };
    let before = header(&mut rig);
    assert_eq!(header(&mut rig), before + 250);
    let fine = Request {
        headers: &[("x-mbx-time-unit", "MICROSECOND")],
        ..Request::get("/api/v3/time")
    };
    let fine = rig.hub.personality().rest(&rig.market, &fine, rig.now_ns);
    assert!(
        fine.body.starts_with(br#"{"serverTime":161867782007568"#),
        "{}",
        String::from_utf8_lossy(&fine.body)
    );
}

#[test]
fn too_much_weight_is_refused_with_429_and_then_banned_with_418() {
    let mut rig = rig(&config(1, 1, 1.0));
    let mut statuses = Vec::new();
    for _ in 0..40 {
        let response = rig.rest("/api/v3/depth?symbol=BTCUSDT&limit=5000");
        statuses.push(response.status);
        if response.status != 200 {
            assert!(response
                .headers
                .iter()
                .any(|(name, value)| *name == "Retry-After" && value.parse::<u64>().unwrap() > 0));
        }
    }
    assert_eq!(statuses[..24], [200; 24]);
    assert_eq!(statuses[24..34], [429; 10]);
    assert_eq!(statuses[34..], [418; 6]);
    rig.run_for(121 * SECOND_NS);
    assert_eq!(rig.rest("/api/v3/ping").status, 200);
}

/// Keys, their order, and the format of each number, against a real recording (skipped where it is absent).
#[test]
fn messages_have_the_shape_of_recorded_ones() {
    let Some(text) = common::recording("binance-spot-btcusdt-20240808.gz") else {
        return;
    };
    let mut recorded: BTreeMap<String, String> = BTreeMap::new();
    let depth = |text: &str| one_level(&shape(text));
    for line in text.lines().take(3_000) {
        let (_, frame) = line.split_once(' ').unwrap();
        let name = frame
            .strip_prefix(r#"{"stream":""#)
            .map_or("snapshot", |rest| rest.split('"').next().unwrap());
        recorded
            .entry(name.to_owned())
            .or_insert_with(|| depth(frame));
    }
    assert_eq!(recorded.len(), 4);
    let mut rig = rig(&config(1, 1, 500.0));
    let connection =
        rig.open("/stream?streams=btcusdt@trade/btcusdt@bookTicker/btcusdt@depth@100ms");
    rig.run_until(SECOND_NS);
    let snapshot = String::from_utf8(rig.rest("/api/v3/depth?symbol=BTCUSDT").body).unwrap();
    assert_eq!(recorded["snapshot"], depth(&snapshot));
    for text in rig.texts(connection) {
        let message: Value = serde_json::from_str(&text).unwrap();
        let data = &message["data"];
        if data
            .get("b")
            .is_some_and(|bids| bids.as_array().is_some_and(Vec::is_empty))
            || data["a"] == json!([])
        {
            continue;
        }
        // A trade says whether the buyer was the maker, one way or the other.
        let alike = |shape: &str| shape.replace("m:false", "m:true");
        assert_eq!(
            alike(&recorded[message["stream"].as_str().unwrap()]),
            alike(&depth(&text))
        );
    }
}

/// A shape in which each list of levels has one.
fn one_level(shape: &str) -> String {
    let level = r#"["number.8","number.8"]"#;
    let mut shape = shape.to_owned();
    while shape.contains(&format!("{level},{level}")) {
        shape = shape.replace(&format!("{level},{level}"), level);
    }
    shape
}
