//! What subscribers get.

use crate::rig::{unpaced, Rig};
use feedbench_exchange::hub::Hub;
use feedbench_exchange::market::Market;
use feedbench_exchange::personality::binance::Binance;
use feedbench_exchange::personality::kraken::Kraken;
use feedbench_exchange::personality::Request;
use feedbench_exchange::time::ExchangeClock;
use feedbench_exchange_server::runtime::{Limit, Pacing};
use std::collections::BTreeSet;

const STREAMS: &str = "/stream?streams=btcusdt@trade/btcusdt@bookTicker/ethusdt@depth@100ms";

/// The same market and personality without threads and sockets: what a client should get.
fn expected(events: usize) -> Vec<String> {
    let clock = ExchangeClock::right(1_618_677_817_000_000_000);
    let mut market = Market::open(&crate::rig::market(1_000.0), clock).unwrap();
    let mut hub = Hub::new(Binance::new(&market));
    hub.open(&market, &Request::get(STREAMS), 0, &mut Vec::new())
        .unwrap();
    let mut texts = Vec::new();
    for _ in 0..events {
        while hub.due_ns() <= market.next_ns() {
            let now_ns = hub.due_ns();
            hub.on_time(&market, now_ns, &mut Vec::new());
            hub.deliver(now_ns, |_, _, parts| texts.push(parts.concat()));
        }
        let event = market.next().unwrap();
        hub.on_event(&market, &event);
        hub.deliver(event.published_ns, |_, _, parts| texts.push(parts.concat()));
    }
    let text = |bytes| String::from_utf8(bytes).unwrap();
    texts.into_iter().map(text).collect()
}

#[test]
fn a_client_gets_exactly_what_the_library_makes_and_the_same_again_with_the_same_seed() {
    let run = || {
        let rig = Rig::start(unpaced(3_000));
        let mut client = rig.connect(STREAMS);
        let (texts, code) = client.rest();
        assert_eq!(code, Some(1001), "a goodbye at the end");
        let left = rig.wait();
        assert_eq!(left.totals.events, 3_000);
        assert_eq!(left.totals.doors[0].messages_sent, texts.len() as u64);
        texts
    };
    let texts = run();
    assert_eq!(texts, expected(3_000));
    assert_eq!(texts, run());
}

#[test]
fn a_paced_market_sends_the_same_and_schedules_it_by_the_clock() {
    let mut config = unpaced(0);
    config.pacing = Pacing::default();
    config.limit = Limit {
        events: Some(300),
        duration_ns: None,
    };
    let rig = Rig::start(config);
    let (texts, _) = rig.connect(STREAMS).rest();
    let left = rig.wait();
    assert_eq!(texts, expected(300));
    let opened_ns = left.ledger().header().opened_ns;
    assert!(left.ledger().header().paced && left.totals.paced);
    for sent in left.sent() {
        assert!(opened_ns <= sent.born_ns && sent.born_ns <= sent.scheduled_ns);
        assert!(
            sent.scheduled_ns <= sent.sent_ns,
            "nothing leaves before it is due"
        );
    }
    let lag = left.totals.send_lag_ns.unwrap();
    assert_eq!(lag.count, texts.len() as u64);
}

#[test]
fn an_unpaced_run_says_so() {
    let rig = Rig::start(unpaced(100));
    rig.connect(STREAMS).rest();
    let left = rig.wait();
    assert!(!left.ledger().header().paced && !left.totals.paced);
    assert_eq!(left.totals.send_lag_ns.map(|lag| lag.count), None);
}

#[test]
fn many_personalities_share_one_market() {
    let config = unpaced(2_000).door(Kraken::new);
    let mut config = config;
    config.wait_for_subscribers = 2;
    let rig = Rig::start(config);
    let mut binance = rig.connect_to(0, "/ws/btcusdt@trade");
    let mut kraken = rig.connect_to(1, "/v2");
    kraken.send(
        r#"{"method":"subscribe","params":{"channel":"trade","symbol":["BTC/USD"],"snapshot":false}}"#,
    );
    let numbers = |texts: &[String], key: &str| -> Vec<u64> {
        let trade = |text: &String| {
            let at = text.find(key)? + key.len();
            let digits: String = text[at..]
                .chars()
                .take_while(char::is_ascii_digit)
                .collect();
            digits.parse().ok()
        };
        texts.iter().filter_map(trade).collect()
    };
    let reading = std::thread::spawn(move || kraken.rest().0);
    let trades = numbers(&binance.rest().0, r#""t":"#);
    let others: BTreeSet<u64> = numbers(&reading.join().unwrap(), r#""trade_id":"#)
        .into_iter()
        .collect();
    assert!(trades.len() > 50, "{}", trades.len());
    assert!(
        others.len() > 20 && others.iter().all(|trade| trades.contains(trade)),
        "both tell of the same trades"
    );
    let left = rig.wait();
    let names: Vec<String> = left.streams().into_values().collect();
    assert!(
        names.contains(&"binance btcusdt@trade".to_owned()),
        "{names:?}"
    );
    assert!(
        names.contains(&"kraken trade:BTC/USD".to_owned()),
        "{names:?}"
    );
}

#[test]
fn in_slices_each_message_goes_to_one_and_the_ledger_names_it() {
    let mut config = unpaced(20_000);
    config.pacing = Pacing::default();
    config.market = Some(crate::rig::market(20_000.0));
    config.limit = Limit {
        events: None,
        duration_ns: Some(400_000_000),
    };
    config.slice_ns = Some(20_000_000);
    config.wait_for_subscribers = 3;
    let rig = Rig::start(config);
    let clients: Vec<_> = (0..3)
        .map(|_| rig.connect("/ws/btcusdt@bookTicker"))
        .collect();
    let readers: Vec<_> = clients
        .into_iter()
        .map(|mut client| std::thread::spawn(move || client.rest().0))
        .collect();
    let got: Vec<Vec<String>> = readers
        .into_iter()
        .map(|reader| reader.join().unwrap())
        .collect();
    let left = rig.wait();
    let sent = left.sent();
    assert!(sent.iter().all(|sent| sent.recipients == 1));
    for (connection, texts) in got.iter().enumerate() {
        let own = sent
            .iter()
            .filter(|sent| sent.connection == connection as u32);
        let lengths: Vec<u32> = own.map(|sent| sent.payload_bytes).collect();
        let received: Vec<u32> = texts.iter().map(|text| text.len() as u32).collect();
        assert_eq!(lengths, received);
        assert!(!texts.is_empty(), "each had a turn");
    }
    let turns = sent
        .windows(2)
        .filter(|pair| pair[0].connection != pair[1].connection);
    assert!(turns.count() >= 3, "turns change");
}

#[test]
fn a_thousand_subscribers_get_all_of_it() {
    let mut config = unpaced(200);
    config.wait_for_subscribers = 1_000;
    let rig = Rig::start(config);
    let mut clients: Vec<_> = (0..1_000)
        .map(|_| rig.connect("/ws/btcusdt@bookTicker"))
        .collect();
    let first = clients[0].rest().0;
    assert!(first.len() > 50);
    for client in &mut clients[1..] {
        assert_eq!(client.rest().0, first);
    }
    let left = rig.wait();
    assert_eq!(left.totals.connections_at_once, 1_000);
    assert!(left.sent().iter().all(|sent| sent.recipients == 1_000));
}
