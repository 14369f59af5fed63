//! Real recordings are read whole, and applying one's depth updates keeps to its sequence (skipped where absent).

mod common;

use feedbench_exchange::hub::{ConnectionId, Hub};
use feedbench_exchange::market::Market;
use feedbench_exchange::personality::{Incoming, Personality, Reply, Request};
use feedbench_exchange::replay::{
    Direction, Entry, Pace, Recording, Replay, ReplayError, Schedule,
};
use feedbench_exchange::time::ExchangeClock;
use serde_json::Value;
use std::collections::BTreeMap;

fn entries(text: &str) -> Vec<Entry> {
    Recording::new(text.as_bytes())
        .collect::<Result<_, _>>()
        .unwrap()
}

#[test]
fn the_binance_recording_has_no_gap_and_keeps_its_time() {
    let Some(text) = common::recording("binance-spot-btcusdt-20240808.gz") else {
        return;
    };
    let entries = entries(&text);
    assert_eq!(entries.len(), 41_249);
    let mut last = None;
    for entry in &entries {
        let message: Value = serde_json::from_str(&entry.frame).unwrap();
        if message["stream"] == "btcusdt@depth@100ms" {
            let first = message["data"]["U"].as_u64().unwrap();
            assert!(last.is_none_or(|last| first == last + 1));
            last = message["data"]["u"].as_u64();
        }
    }
    let schedule = Schedule::new(entries.iter().map(|entry| entry.unix_ns), Pace::Speed(1.0));
    let due: Vec<u64> = schedule.map(|due| due.due_ns).collect();
    assert_eq!(
        *due.last().unwrap(),
        entries.last().unwrap().unix_ns - entries[0].unix_ns
    );
}

#[test]
fn the_coinbase_recording_tells_what_the_client_sent() {
    let Some(text) = common::recording("coinbase-20210417.gz") else {
        return;
    };
    let entries = entries(&text);
    assert_eq!(entries.len(), 9_950, "of 9,952 lines two are empty");
    let count = |wanted: fn(&Direction) -> bool| {
        entries
            .iter()
            .filter(|entry| wanted(&entry.direction))
            .count()
    };
    assert_eq!(
        count(|direction| matches!(direction, Direction::Connected(_))),
        1
    );
    assert_eq!(
        count(|direction| matches!(direction, Direction::Sent(_))),
        3
    );
    assert!(entries
        .iter()
        .skip(1)
        .all(|entry| serde_json::from_str::<Value>(&entry.frame).is_ok()));
}

/// A replay, its clients, and what they got.
struct Player {
    market: Market,
    hub: Hub<Replay>,
}

impl Player {
    fn new(text: &str, rounds: Option<u64>) -> Self {
        let replay = Replay::new(entries(text), Pace::Speed(1.0), rounds).unwrap();
        Self {
            market: Market::silent(ExchangeClock::right(0)),
            hub: Hub::new(replay),
        }
    }

    fn open(&mut self, target: &str) -> ConnectionId {
        self.hub
            .open(&self.market, &Request::get(target), 0, &mut Vec::new())
            .unwrap()
    }

    fn ask(&mut self, connection: ConnectionId, text: &str) -> String {
        let mut replies = Vec::new();
        let incoming = Incoming::Text(text.as_bytes());
        self.hub
            .on_message(&self.market, connection, incoming, 0, &mut replies);
        match &replies[..] {
            [Reply::Text(text)] => String::from_utf8(text.clone()).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    fn rest(&mut self, target: &str) -> String {
        let response = self
            .hub
            .personality()
            .rest(&self.market, &Request::get(target), 0);
        String::from_utf8(response.body).unwrap()
    }

    /// Sends the next message; what each client got, with the time, or `None` at the end.
    fn step(&mut self) -> Option<(u64, Vec<(u32, String)>)> {
        let due_ns = self.hub.due_ns();
        if due_ns == u64::MAX {
            return None;
        }
        self.hub.on_time(&self.market, due_ns, &mut Vec::new());
        let mut got = Vec::new();
        self.hub.deliver(due_ns, |connection, _, parts| {
            got.push((connection.0, String::from_utf8(parts.concat()).unwrap()));
        });
        Some((due_ns, got))
    }

    fn all(&mut self) -> Vec<(u64, u32, String)> {
        let mut all = Vec::new();
        while let Some((due_ns, got)) = self.step() {
            all.extend(
                got.into_iter()
                    .map(|(connection, text)| (due_ns, connection, text)),
            );
        }
        all
    }
}

const COMBINED: &str = r#"
1000 {"stream":"btcusdt@depth","data":{"e":"depthUpdate","s":"BTCUSDT","U":3,"u":4,"b":[["9.0","1"]],"a":[]}}
1010 {"lastUpdateId":5,"bids":[["9.0","2"],["8.0","1"]],"asks":[["11.0","1"]]}
1020 {"stream":"btcusdt@trade","data":{"e":"trade","s":"BTCUSDT","t":77}}
1030 {"stream":"btcusdt@depth","data":{"e":"depthUpdate","s":"BTCUSDT","U":5,"u":7,"b":[["9.0","0.0"]],"a":[["10.0","3"]]}}
"#;

#[test]
fn any_path_gets_everything_as_it_was_recorded_at_its_pace() {
    let text = "wss://x <-> 0.5\nwss://x <- 0.6: {\"type\":\"subscribe\"}\n1.0: {\"a\":1}\n1.5: {\"b\":2}\n";
    let mut player = Player::new(text, Some(2));
    player.open("/whatever?x=1");
    let got = player.all();
    let times: Vec<u64> = got.iter().map(|(due_ns, ..)| due_ns / 1_000_000).collect();
    assert_eq!(times, [0, 500, 1_000, 1_500]);
    let texts: Vec<&str> = got.iter().map(|(_, _, text)| text.as_str()).collect();
    assert_eq!(
        texts,
        [r#"{"a":1}"#, r#"{"b":2}"#, r#"{"a":1}"#, r#"{"b":2}"#]
    );
}

#[test]
fn a_recording_of_combined_streams_is_served_as_its_exchange_serves_them() {
    let mut player = Player::new(COMBINED, Some(1));
    let all = player.open("/");
    let combined = player.open("/stream?streams=btcusdt@trade/btcusdt@kline_1m");
    let raw = player.open("/ws");
    assert_eq!(
        player.ask(
            raw,
            r#"{"method":"SUBSCRIBE","params":["btcusdt@depth"],"id":7}"#
        ),
        r#"{"result":null,"id":7}"#
    );
    assert_eq!(
        player.ask(raw, r#"{"method":"LIST_SUBSCRIPTIONS","id":"x"}"#),
        r#"{"result":["btcusdt@depth"],"id":"x"}"#
    );
    assert!(player
        .ask(raw, "nonsense")
        .starts_with(r#"{"code":2,"msg":"Invalid"#));
    let got = player.all();
    let of = |connection: ConnectionId| -> Vec<&str> {
        let own = got.iter().filter(|(_, owner, _)| *owner == connection.0);
        own.map(|(_, _, text)| text.as_str()).collect()
    };
    assert_eq!(of(all).len(), 3, "the snapshot is no message");
    assert_eq!(of(combined), [of(all)[1]]);
    assert_eq!(of(raw).len(), 2);
    assert!(of(raw)[0].starts_with(r#"{"e":"depthUpdate""#));
}

#[test]
fn the_book_over_rest_follows_the_replay_and_begins_anew_with_each_round() {
    let mut player = Player::new(COMBINED, Some(2));
    player.open("/");
    let base = r#"{"lastUpdateId":5,"bids":[["9.0","2"],["8.0","1"]],"asks":[["11.0","1"]]}"#;
    let depth = "/api/v3/depth?symbol=BTCUSDT&limit=5";
    assert_eq!(player.rest(depth), base);
    player.step();
    player.step();
    assert_eq!(
        player.rest(depth),
        base,
        "the snapshot has the first update in it"
    );
    player.step();
    let next_round = player.rest(depth);
    assert_eq!(next_round, base, "the next message is the first again");
    (0..3).for_each(|_| drop(player.step()));
    let end = r#"{"lastUpdateId":7,"bids":[["8.0","1"]],"asks":[["10.0","3"],["11.0","1"]]}"#;
    assert_eq!(player.rest(depth), end);
    assert!(player.hub.personality().is_over() && player.step().is_none());
    assert_eq!(
        player.rest("/api/v3/depth?symbol=ETHUSDT"),
        r#"{"code":-1121,"msg":"Invalid symbol."}"#
    );
    let info: Value = serde_json::from_str(&player.rest("/api/v3/exchangeInfo")).unwrap();
    assert_eq!(info["symbols"][0]["baseAsset"], "BTC");
    assert_eq!(info["symbols"][0]["quoteAsset"], "USDT");
}

#[test]
fn what_cannot_be_replayed_is_refused() {
    let replay = |text: &str, pace| Replay::new(entries(text), pace, Some(1)).err();
    assert_eq!(replay("", Pace::Unpaced), Some(ReplayError::Empty));
    assert_eq!(
        replay("wss://x <-> 0.5\n", Pace::Unpaced),
        Some(ReplayError::Empty)
    );
    assert_eq!(replay("1 {}\n", Pace::Speed(0.0)), Some(ReplayError::Speed));
    assert_eq!(
        replay("1 {}\n", Pace::Speed(f64::NAN)),
        Some(ReplayError::Speed)
    );
    assert_eq!(replay("1 {}\n", Pace::Unpaced), None);
}

/// Levels by price, in the exchange's own writing.
type Side = BTreeMap<String, String>;

fn apply(side: &mut Side, levels: &Value) {
    for level in levels.as_array().unwrap() {
        let (price, quantity) = (level[0].as_str().unwrap(), level[1].as_str().unwrap());
        if quantity.parse::<f64>().unwrap() == 0.0 {
            side.remove(price);
        } else {
            side.insert(price.to_owned(), quantity.to_owned());
        }
    }
}

#[test]
fn a_client_can_keep_a_book_from_any_place_of_the_binance_recording() {
    let Some(text) = common::recording("binance-spot-btcusdt-20240808.gz") else {
        return;
    };
    let depth = "/api/v3/depth?symbol=BTCUSDT&limit=5000";
    for start in [0, 3, 8, 5_000, 41_000] {
        let mut player = Player::new(&text, Some(1));
        player.open("/ws/btcusdt@depth@100ms");
        (0..start).for_each(|_| drop(player.step()));
        // As the exchange documents it: a snapshot, then the update that spans its number, then one after the other.
        let snapshot: Value = serde_json::from_str(&player.rest(depth)).unwrap();
        let mut last = snapshot["lastUpdateId"].as_u64().unwrap();
        let (mut bids, mut asks) = (Side::new(), Side::new());
        apply(&mut bids, &snapshot["bids"]);
        apply(&mut asks, &snapshot["asks"]);
        assert!(!bids.is_empty());
        let mut updates = 0;
        while let Some((_, got)) = player.step() {
            for (_, update) in got {
                let update: Value = serde_json::from_str(&update).unwrap();
                let (first, final_id) =
                    (update["U"].as_u64().unwrap(), update["u"].as_u64().unwrap());
                if final_id <= last {
                    continue;
                }
                assert!(first <= last + 1, "from {start}: a gap after {last}");
                apply(&mut bids, &update["b"]);
                apply(&mut asks, &update["a"]);
                (last, updates) = (final_id, updates + 1);
            }
        }
        assert!(updates > 10, "{updates}");
        let end: Value = serde_json::from_str(&player.rest(depth)).unwrap();
        assert_eq!(end["lastUpdateId"].as_u64(), Some(last));
        for (side, levels) in [(&bids, &end["bids"]), (&asks, &end["asks"])] {
            for level in levels.as_array().unwrap() {
                assert_eq!(side.get(level[0].as_str().unwrap()).unwrap(), &level[1]);
            }
        }
    }
}
