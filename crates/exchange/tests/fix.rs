//! The market through FIX sessions: what clients ask, what they get, and what the books say of it.

use feedbench_exchange::hub::{ConnectionId, Hub};
use feedbench_exchange::market::{Arrivals, Event, Market, MarketConfig, Side};
use feedbench_exchange::personality::fix::{Dialect, Fix, FixConfig};
use feedbench_exchange::personality::{Incoming, Reply, Request};
use feedbench_exchange::time::ExchangeClock;
use std::collections::BTreeMap;

const OPENED_UNIX_NS: u64 = 1_795_271_400_000_000_000;
/// When a test's market opens, as FIX writes it.
const NOW: &str = "20261121-14:30:00.000";

/// A market with one door, and one client at it.
struct Desk {
    market: Market,
    hub: Hub<Fix>,
    client: ConnectionId,
    dialect: Dialect,
    sequence: u64,
    now_ns: u64,
    ended: bool,
    got: Vec<String>,
}

impl Desk {
    fn new(dialect: Dialect) -> Self {
        Self::with(dialect, FixConfig::default())
    }

    fn with(dialect: Dialect, config: FixConfig) -> Self {
        let market = MarketConfig::new(
            3,
            2,
            Arrivals::Constant {
                rate_per_s: 1_000.0,
            },
        );
        let market = Market::open(&market, ExchangeClock::right(OPENED_UNIX_NS)).unwrap();
        let mut hub = Hub::new(Fix::new(dialect, config, &market));
        let client = hub.open(&market, &Request::get("/"), 0, &mut Vec::new());
        Self {
            client: client.unwrap(),
            market,
            hub,
            dialect,
            sequence: 0,
            now_ns: 0,
            ended: false,
            got: Vec::new(),
        }
    }

    /// As [`Desk::new`], logged on.
    fn logged_on(dialect: Dialect) -> Self {
        let mut desk = Self::new(dialect);
        desk.say("A", "98=0|108=30|141=Y");
        assert!(desk.take()[0].contains("|35=A|"));
        desk
    }

    fn begin_string(&self) -> &'static str {
        match self.dialect {
            Dialect::Coinbase => "FIXT.1.1",
            _ => "FIX.4.4",
        }
    }

    /// A message of the client.
    fn wire(&mut self, msg_type: &str, body: &str) -> Vec<u8> {
        self.sequence += 1;
        let (sequence, us) = (self.sequence, self.dialect.comp_id());
        let time = format!("20261121-14:30:{:02}.000", self.now_ns / 1_000_000_000);
        let body = format!("35={msg_type}|34={sequence}|49=ME|52={time}|56={us}|{body}|")
            .replace("||", "|")
            .replace('|', "\x01");
        let head = format!("8={}\x019={}\x01{body}", self.begin_string(), body.len());
        let sum: u32 = head.bytes().map(u32::from).sum();
        format!("{head}10={:03}\x01", sum % 256).into_bytes()
    }

    fn say(&mut self, msg_type: &str, body: &str) {
        let bytes = self.wire(msg_type, body);
        self.feed(&bytes);
    }

    /// As the market thread does it.
    fn feed(&mut self, bytes: &[u8]) {
        let mut bytes = bytes;
        loop {
            let mut replies = Vec::new();
            let incoming = Incoming::Bytes(bytes);
            self.hub.on_message(
                &self.market,
                self.client,
                incoming,
                self.now_ns,
                &mut replies,
            );
            let goes_on = replies.iter().any(|reply| matches!(reply, Reply::Order(_)));
            for reply in replies {
                self.carry_out(reply);
            }
            if !goes_on {
                return;
            }
            bytes = &[];
        }
    }

    fn carry_out(&mut self, reply: Reply) {
        match reply {
            Reply::Output => {
                let mut output = Vec::new();
                self.hub.take_output(self.client, &mut output);
                self.receive(&output);
            }
            Reply::Order(order) => {
                let execution = self.market.submit(&order, self.now_ns);
                self.hub
                    .on_execution(&self.market, self.client, Some(&execution), self.now_ns);
                self.deliver();
                for event in &execution.events {
                    self.hub.on_event(&self.market, event);
                    self.deliver();
                }
            }
            Reply::Received(_) => {}
            Reply::End => self.ended = true,
            other => panic!("{other:?} is not for FIX"),
        }
    }

    fn deliver(&mut self) {
        let clock = *self.market.clock();
        for frame in 0..self.hub.frames().list().len() {
            let mut recipients = Vec::new();
            self.hub
                .recipients(frame, None, self.now_ns, &mut recipients);
            for recipient in recipients {
                let mut out = Vec::new();
                let now = (self.now_ns, clock);
                self.hub.write(frame, recipient.connection, now, &mut out);
                self.receive(&out);
            }
        }
    }

    fn receive(&mut self, bytes: &[u8]) {
        let text = String::from_utf8(bytes.to_vec())
            .unwrap()
            .replace('\x01', "|");
        let mut rest = text.as_str();
        while let Some(end) = rest.find("|10=") {
            self.got.push(rest[..end + 8].to_owned());
            rest = &rest[end + 8..];
        }
        assert_eq!(rest, "", "only whole messages leave");
    }

    fn take(&mut self) -> Vec<String> {
        std::mem::take(&mut self.got)
    }

    fn run(&mut self, events: usize) -> Vec<Event> {
        let mut made = Vec::new();
        for _ in 0..events {
            let due_ns = self.market.next_ns();
            while self.hub.due_ns() < due_ns {
                self.now_ns = self.hub.due_ns();
                let mut replies = Vec::new();
                self.hub.on_time(&self.market, self.now_ns, &mut replies);
                self.deliver();
                replies
                    .into_iter()
                    .for_each(|(_, reply)| self.carry_out(reply));
            }
            let event = self.market.next().unwrap();
            self.now_ns = event.published_ns;
            self.hub.on_event(&self.market, &event);
            self.deliver();
            made.push(event);
        }
        made
    }
}

fn fields(message: &str) -> impl Iterator<Item = (u32, &str)> {
    message.split('|').filter_map(|field| {
        let (tag, value) = field.split_once('=')?;
        Some((tag.parse().unwrap(), value))
    })
}

fn value(message: &str, tag: u32) -> &str {
    let found = fields(message).find(|(other, _)| *other == tag);
    found.unwrap_or_else(|| panic!("no {tag} in {message}")).1
}

/// A book as a client keeps it from W and X: type and price to size.
type Kept = BTreeMap<(String, String), String>;

fn keep(book: &mut Kept, message: &str) {
    let (mut action, mut entry_type, mut price, mut size) = ("0", "", "", "");
    let mut settle = |action: &str, entry_type: &str, price: &str, size: &str| {
        let key = (entry_type.to_owned(), price.to_owned());
        match (entry_type, action) {
            ("0" | "1", "2") => drop(book.remove(&key)),
            ("0" | "1", _) => drop(book.insert(key, size.to_owned())),
            _ => {}
        }
    };
    let is_snapshot = message.contains("|35=W|");
    let begins = if is_snapshot { 269 } else { 279 };
    for (tag, text) in fields(message).chain([(begins, "")]) {
        if tag == begins {
            settle(action, entry_type, price, size);
        }
        match tag {
            279 => action = text,
            269 => entry_type = text,
            270 => price = text,
            271 => size = text,
            _ => {}
        }
    }
}

/// The market's book in the dialect's decimals.
fn published(desk: &Desk, decimals: (usize, usize)) -> Kept {
    let symbol = desk.market.symbols()[0].clone();
    let shown = |units: u64, from: u32, to: usize| {
        let text = format!("{:0>1$}", units, from as usize + 1);
        let (whole, fraction) = text.split_at(text.len() - from as usize);
        format!("{whole}.{fraction:0<to$}")
    };
    let mut book = Kept::new();
    for (side, code) in [(Side::Bid, "0"), (Side::Ask, "1")] {
        for (price, level) in symbol.book.levels(side) {
            let instrument = &symbol.instrument;
            let price = shown(price, instrument.price_decimals, decimals.0);
            let size = shown(level.quantity, instrument.quantity_decimals, decimals.1);
            book.insert((code.to_owned(), price), size);
        }
    }
    book
}

#[test]
fn a_book_kept_from_snapshot_and_changes_is_the_markets() {
    for (dialect, symbol, depth, decimals) in [
        (Dialect::Standard, "BTC/USD", 0, (2, 5)),
        (Dialect::Binance, "BTCUSDT", 5_000, (8, 8)),
    ] {
        let mut desk = Desk::logged_on(dialect);
        let types = "267=2|269=0|269=1|";
        let request = format!("262=book|263=1|264={depth}|{types}146=1|55={symbol}");
        desk.run(30);
        desk.say("V", &request);
        desk.run(400);
        // Past the end of the last batch.
        let last = desk.now_ns;
        while dialect == Dialect::Binance && desk.hub.due_ns() < last + 100_000_000 {
            desk.now_ns = desk.hub.due_ns();
            desk.hub.on_time(&desk.market, desk.now_ns, &mut Vec::new());
            desk.deliver();
        }
        let got = desk.take();
        assert!(got[0].contains("|35=W|"), "{}", got[0]);
        assert!(got.len() > 3);
        let mut book = Kept::new();
        got.iter().for_each(|message| keep(&mut book, message));
        assert_eq!(book, published(&desk, decimals), "{dialect:?}");
        assert!(got.iter().all(|message| value(message, 262) == "book"));
    }
}

#[test]
fn each_trade_is_told_once_and_the_numbers_have_no_gap() {
    for (dialect, symbol) in [
        (Dialect::Standard, "BTC/USD"),
        (Dialect::Binance, "BTCUSDT"),
    ] {
        let mut desk = Desk::logged_on(dialect);
        desk.say(
            "V",
            &format!("262=t|263=1|264=1|267=1|269=2|146=1|55={symbol}"),
        );
        let events = desk.run(500);
        let id = if dialect == Dialect::Binance {
            1003
        } else {
            278
        };
        let got = desk.take();
        let told: Vec<u64> = got
            .iter()
            .filter(|message| message.contains("|35=X|"))
            .flat_map(|message| fields(message).filter(|(tag, _)| *tag == id))
            .map(|(_, text)| text.parse().unwrap())
            .collect();
        let made: Vec<u64> = events
            .iter()
            .filter(|event| event.symbol.0 == 0)
            .flat_map(|event| {
                event
                    .trades()
                    .map(|trade| trade.fill.trade)
                    .collect::<Vec<_>>()
            })
            .collect();
        assert!(made.len() > 10 && told == made, "{dialect:?}");
        let numbers: Vec<u64> = got
            .iter()
            .map(|one| value(one, 34).parse().unwrap())
            .collect();
        assert!((2..)
            .zip(&numbers)
            .all(|(expected, &number)| number == expected));
    }
}

#[test]
fn an_unsubscribed_client_gets_nothing_more() {
    let mut desk = Desk::logged_on(Dialect::Standard);
    let rest = "264=0|267=2|269=0|269=1|146=1|55=BTC/USD";
    desk.say("V", &format!("262=a|263=1|{rest}"));
    desk.run(50);
    desk.say("V", &format!("262=a|263=2|{rest}"));
    desk.take();
    desk.run(50);
    assert_eq!(desk.take(), [""; 0]);
}

#[test]
fn requests_that_cannot_be_served_are_answered_with_their_reason() {
    let mut desk = Desk::logged_on(Dialect::Standard);
    let good = "263=1|264=0|267=2|269=0|269=1|146=1|55=BTC/USD";
    desk.say("V", &format!("262=a|{good}"));
    assert!(desk.take()[0].contains("|35=W|"));
    for (id, body, reason) in [
        ("a", good, "1"),
        ("b", good, "2"),
        ("c", "263=1|264=0|267=2|269=0|269=1|146=1|55=NO/NE", "0"),
        ("d", "263=1|264=9|267=2|269=0|269=1|146=1|55=ETH/USD", "5"),
    ] {
        desk.say("V", &format!("262={id}|{body}"));
        let got = desk.take();
        assert!(got.len() == 1 && got[0].contains("|35=Y|"), "{got:?}");
        assert_eq!((value(&got[0], 262), value(&got[0], 281)), (id, reason));
    }
    desk.say("R", "131=1|146=1|55=BTC/USD");
    assert!(desk.take()[0].contains("|372=R|"), "no such message here");
}

#[test]
fn orders_are_acknowledged_filled_and_withdrawn_in_the_same_book() {
    let mut desk = Desk::logged_on(Dialect::Standard);
    desk.run(50);
    desk.say(
        "V",
        "262=a|263=1|264=0|267=3|269=0|269=1|269=2|146=1|55=BTC/USD",
    );
    desk.take();
    // All in one portion: the cancel is about an order that is not there yet when the bytes come.
    let mut bytes = desk.wire(
        "D",
        &format!("11=rest|54=1|55=BTC/USD|40=2|38=0.5|44=100.00|60={NOW}"),
    );
    bytes.extend(desk.wire("F", &format!("11=c|41=rest|54=1|55=BTC/USD|60={NOW}")));
    bytes.extend(desk.wire("F", &format!("11=d|41=rest|54=1|55=BTC/USD|60={NOW}")));
    desk.feed(&bytes);
    let got = desk.take();
    let reports: Vec<(&str, &str)> = got
        .iter()
        .map(|one| (value(one, 35), one.as_str()))
        .collect();
    let [("8", ack), ("X", placed), ("8", gone), ("X", left), ("9", nothing)] = reports[..] else {
        panic!("{got:#?}");
    };
    assert_eq!(
        (value(ack, 150), value(ack, 39), value(ack, 151)),
        ("0", "0", "0.50000")
    );
    assert_eq!((value(placed, 279), value(placed, 270)), ("0", "100.00"));
    assert_eq!(
        (value(gone, 150), value(gone, 11), value(gone, 41)),
        ("4", "c", "rest")
    );
    assert_eq!((value(left, 279), value(left, 270)), ("2", "100.00"));
    assert_eq!((value(nothing, 41), value(nothing, 102)), ("rest", "1"));

    let (best, _) = desk.market.symbols()[0].book.best(Side::Ask).unwrap();
    desk.say(
        "D",
        &format!("11=take|54=1|55=BTC/USD|40=1|38=0.00001|60={NOW}"),
    );
    let got = desk.take();
    let price = format!("{}.{:02}", best / 100, best % 100);
    assert_eq!((value(&got[0], 150), value(&got[1], 150)), ("0", "F"));
    assert_eq!(
        (value(&got[1], 39), value(&got[1], 31)),
        ("2", price.as_str())
    );
    assert!(
        got[2].contains("|269=2|"),
        "the trade is published: {}",
        got[2]
    );

    for (body, reason) in [
        ("55=NO/NE|54=1|40=1|38=1", "1"),
        ("55=BTC/USD|54=1|40=1|38=0.000001", "13"),
        ("55=BTC/USD|54=1|40=2|38=1|44=1.001", "99"),
        ("55=BTC/USD|54=5|40=1|38=1", "11"),
        ("55=BTC/USD|54=1|40=3|38=1", "11"),
    ] {
        desk.say("D", &format!("11=bad|{body}|60={NOW}"));
        let got = desk.take();
        assert_eq!(
            (value(&got[0], 150), value(&got[0], 103)),
            ("8", reason),
            "{body}"
        );
    }
}

#[test]
fn a_resting_order_is_filled_by_the_markets_own_and_goes_with_its_client() {
    let mut desk = Desk::logged_on(Dialect::Standard);
    let (best, _) = desk.market.symbols()[0].book.best(Side::Bid).unwrap();
    let price = format!("{}.{:02}", best / 100, best % 100);
    desk.say(
        "D",
        &format!("11=mine|54=1|55=BTC/USD|40=2|38=5|44={price}|60={NOW}"),
    );
    desk.take();
    desk.run(20_000);
    let got = desk.take();
    let fills: Vec<&String> = got.iter().filter(|one| one.contains("|35=8|")).collect();
    assert!(!fills.is_empty());
    assert!(fills
        .iter()
        .all(|fill| value(fill, 150) == "F" && value(fill, 11) == "mine"));
    desk.say(
        "D",
        &format!("11=low|54=1|55=BTC/USD|40=2|38=1|44=1.00|60={NOW}"),
    );
    let resting = desk.market.symbols()[0].book.quantity_at(Side::Bid, 100);
    assert_eq!(resting, 100_000);
    for order in desk.hub.close(desk.client) {
        desk.market.submit(&order, desk.now_ns);
    }
    assert_eq!(desk.market.symbols()[0].book.quantity_at(Side::Bid, 100), 0);
    desk.market.symbols()[0].book.assert_invariants();
    desk.run(100);
}

#[test]
fn whatever_clients_order_the_market_goes_on() {
    let mut desk = Desk::logged_on(Dialect::Standard);
    for round in 0..300 {
        let side = 1 + round % 2;
        let (bid, _) = desk.market.symbols()[0].book.best(Side::Bid).unwrap();
        let ticks = bid - 50 + round % 100;
        let price = format!("{}.{:02}", ticks / 100, ticks % 100);
        let kind = if round % 3 == 0 {
            "40=1".to_owned()
        } else {
            format!("40=2|44={price}")
        };
        desk.say(
            "D",
            &format!("11=o{round}|54={side}|55=BTC/USD|{kind}|38=900|60={NOW}"),
        );
        desk.run(3);
        desk.say(
            "F",
            &format!("11=c{round}|41=o{round}|54={side}|55=BTC/USD|60={NOW}"),
        );
        let symbol = &desk.market.symbols()[0];
        symbol.book.assert_invariants();
        assert!(symbol.book.level_count(Side::Bid) > 5 && symbol.book.level_count(Side::Ask) > 5);
    }
}

#[test]
fn numbers_outlive_the_process_where_there_is_a_store() {
    let folder = tempfile::tempdir().unwrap();
    let config = FixConfig {
        stores: Some(folder.path().to_owned()),
        ..FixConfig::default()
    };
    let mut desk = Desk::with(Dialect::Standard, config.clone());
    desk.say("A", "98=0|108=30");
    desk.say("V", "262=a|263=0|264=1|267=2|269=0|269=1|146=1|55=BTC/USD");
    assert_eq!(desk.take().len(), 2);
    drop(desk);
    let mut desk = Desk::with(Dialect::Standard, config);
    desk.sequence = 2;
    desk.say("A", "98=0|108=30");
    desk.say("2", "7=2|16=2");
    let got = desk.take();
    assert_eq!(value(&got[0], 34), "3");
    assert!(got[1].contains("|35=W|34=2|43=Y|"), "{}", got[1]);
}

#[test]
fn a_name_is_for_one_connection_at_a_time() {
    let mut desk = Desk::logged_on(Dialect::Standard);
    let first = desk.client;
    let open = desk
        .hub
        .open(&desk.market, &Request::get("/"), 0, &mut Vec::new());
    desk.client = open.unwrap();
    desk.sequence = 0;
    desk.say("A", "98=0|108=30|141=Y");
    assert!(desk.ended && desk.take().is_empty());
    (desk.client, desk.ended, desk.sequence) = (first, false, 1);
    desk.say("1", "112=still");
    assert_eq!(value(&desk.take()[0], 112), "still");
}

#[test]
fn the_acceptance_application_echoes_orders_but_not_twice() {
    let mut desk = Desk::new(Dialect::Acceptance);
    desk.say("A", "98=0|108=30");
    desk.take();
    let order = format!("11=1|21=1|40=1|54=1|55=INTC|60={NOW}");
    for (header, body, echoes) in [("", &order, 1), ("97=Y|", &order, 0), ("", &order, 1)] {
        desk.say("D", &format!("{header}{body}"));
        let got = desk.take();
        assert_eq!(got.len(), echoes, "{header}");
        for echo in got {
            assert!(echo.contains(&format!("|56=ME|{body}|10=")), "{echo}");
        }
    }
}

#[test]
fn who_is_not_expected_is_not_let_in() {
    for (dialect, change) in [
        (Dialect::Standard, ("56=FEEDBENCH", "56=FEEDBONCH")),
        (Dialect::Standard, ("8=FIX.4.4", "8=FIX.4.3")),
        (Dialect::Standard, ("49=ME", "49=..")),
        (Dialect::Standard, ("35=A", "35=0")),
    ] {
        let mut desk = Desk::new(dialect);
        let bytes = desk.wire("A", "98=0|108=30");
        let text = String::from_utf8(bytes)
            .unwrap()
            .replace(change.0, change.1);
        let head = &text[..text.len() - 7];
        let sum: u32 = head.bytes().map(u32::from).sum();
        desk.feed(format!("{head}10={:03}\x01", sum % 256).as_bytes());
        assert!(desk.ended && desk.take().is_empty(), "{change:?}");
    }
    let mut desk = Desk::new(Dialect::Standard);
    desk.feed(b"GET / HTTP/1.1\r\n\r\n");
    assert!(desk.ended);
}
