//! FIX: messages in a stream of bytes, and what clients say to the exchange's doors.

use feedbench_exchange::hub::{ConnectionId, Hub};
use feedbench_exchange::market::{Arrivals, Market, MarketConfig};
use feedbench_exchange::personality::fix::{Dialect, Fix, FixConfig};
use feedbench_exchange::personality::{Incoming, Reply, Request};
use feedbench_exchange::time::{ExchangeClock, MILLISECOND_NS};
use feedbench_wire::fix::encode::Encoder;
use feedbench_wire::fix::message::Message;

/// What is read is the same however little of it had arrived, garbled bytes are skipped by at least one, and a message
/// whose fields can be read is written again byte for byte, apart from leading zeros of its length.
pub fn messages(bytes: &[u8]) {
    let mut rest = bytes;
    loop {
        let whole = Message::parse(rest);
        for end in [rest.len() / 3, rest.len().saturating_sub(1)] {
            if let Ok(Some(early)) = Message::parse(&rest[..end]) {
                assert_eq!(whole, Ok(Some(early)), "taken back");
            }
        }
        match whole {
            Ok(None) => return,
            Ok(Some((message, length))) => {
                assert!(length <= rest.len() && message.bytes() == &rest[..length]);
                write_again(&message);
                rest = &rest[length..];
            }
            Err(garbled) => {
                assert!((1..=rest.len()).contains(&garbled.skip_bytes));
                rest = &rest[garbled.skip_bytes..];
            }
        }
        if rest.is_empty() {
            return;
        }
    }
}

fn write_again(message: &Message<'_>) {
    let Ok(fields) = message.fields().collect::<Result<Vec<_>, _>>() else {
        return;
    };
    let text = |bytes| std::str::from_utf8(bytes).ok();
    let (Some(begin_string), Some(msg_type)) =
        (text(message.begin_string()), text(message.msg_type()))
    else {
        return;
    };
    let mut out = Vec::new();
    let mut again = Encoder::new(&mut out, begin_string, msg_type);
    for field in fields.iter().skip(1) {
        again.field(field.tag, field.value);
    }
    if again.finish().is_err() {
        // An empty value, or a separator in a data field.
        return;
    }
    let (read, length) = Message::parse(&out)
        .expect("the encoder writes messages")
        .expect("whole ones");
    assert_eq!(length, out.len());
    let reread: Result<Vec<_>, _> = read.fields().collect();
    assert_eq!(reread, Ok(fields));
}

/// A door keeps its head, whatever a client says: only whole, sound messages leave, numbered without a gap, nothing
/// after the end, and the books keep their invariants.
///
/// The first byte chooses the door. Each line of the rest is a portion; one that begins with `!` is a body, `D 11=1|…`,
/// which gets a sound header, so that the fuzzer reaches what is behind one.
pub fn session(bytes: &[u8]) {
    let Some((&choice, script)) = bytes.split_first() else {
        return;
    };
    let dialects = [
        Dialect::Standard,
        Dialect::Binance,
        Dialect::Coinbase,
        Dialect::Acceptance,
    ];
    let mut desk = Desk::new(dialects[usize::from(choice) % dialects.len()]);
    for line in script.split(|&byte| byte == b'\n').take(64) {
        if desk.ended {
            break;
        }
        let portion = match line.strip_prefix(b"!") {
            Some(body) => desk.sound(body),
            None => line.to_vec(),
        };
        desk.feed(&portion);
        desk.run(5);
    }
    for symbol in desk.market.symbols() {
        symbol.book.assert_invariants();
    }
}

const OPENED_UNIX_NS: u64 = 1_795_271_400_000_000_000;

struct Desk {
    market: Market,
    hub: Hub<Fix>,
    client: ConnectionId,
    dialect: Dialect,
    said: u64,
    heard: u64,
    ended: bool,
    now_ns: u64,
}

impl Desk {
    fn new(dialect: Dialect) -> Self {
        let arrivals = Arrivals::Constant {
            rate_per_s: 1_000.0,
        };
        let mut config = MarketConfig::new(1, 2, arrivals);
        config.mix.resting_orders = 50;
        let market = Market::open(&config, ExchangeClock::right(OPENED_UNIX_NS))
            .expect("the configuration is sound");
        let mut hub = Hub::new(Fix::new(dialect, FixConfig::default(), &market));
        let opened = hub.open(&market, &Request::get("/"), 0, &mut Vec::new());
        Self {
            client: opened.expect("FIX refuses nobody at the door"),
            market,
            hub,
            dialect,
            said: 0,
            heard: 0,
            ended: false,
            now_ns: 0,
        }
    }

    /// A message with a sound header: `line` is its type, a space, and its body with bars.
    fn sound(&mut self, line: &[u8]) -> Vec<u8> {
        let split = line.iter().position(|&byte| byte == b' ');
        let (msg_type, body) = line.split_at(split.unwrap_or(line.len()));
        let body: Vec<u8> = body
            .iter()
            .skip(1)
            .map(|&byte| if byte == b'|' { 1 } else { byte })
            .collect();
        let begin_string = match self.dialect {
            Dialect::Coinbase => "FIXT.1.1",
            _ => "FIX.4.4",
        };
        self.said += 1;
        let mut out = Vec::new();
        let msg_type = String::from_utf8_lossy(msg_type).into_owned();
        let mut message = Encoder::new(&mut out, begin_string, &msg_type);
        message.unsigned(34, self.said);
        message.text(49, "ME");
        message.text(52, "20261121-14:30:00");
        message.text(56, self.dialect.comp_id());
        if body.last() == Some(&1) {
            message.fields(&body);
        }
        if message.finish().is_err() {
            self.said -= 1;
        }
        out
    }

    fn feed(&mut self, bytes: &[u8]) {
        let mut bytes = bytes;
        while !self.ended {
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
            replies.into_iter().for_each(|reply| self.carry_out(reply));
            if !goes_on {
                return;
            }
            bytes = &[];
        }
    }

    fn carry_out(&mut self, reply: Reply) {
        assert!(!self.ended, "{reply:?} after the end");
        match reply {
            Reply::Output => {
                let mut out = Vec::new();
                self.hub.take_output(self.client, &mut out);
                self.hear(&out);
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
            Reply::End => {
                self.ended = true;
                for order in self.hub.close(self.client) {
                    self.market.submit(&order, self.now_ns);
                }
            }
            Reply::Received(_) => {}
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
                self.hub
                    .write(frame, recipient.connection, (self.now_ns, clock), &mut out);
                self.hear(&out);
            }
        }
    }

    /// What left is whole, and its numbers go on, unless it is sent again or the numbers begin anew.
    fn hear(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while !rest.is_empty() {
            let (message, length) = Message::parse(rest)
                .expect("what leaves is sound")
                .expect("and whole");
            let number = message.unsigned(34).expect("every message has a number");
            if !message.flag(43) {
                assert!(
                    number == self.heard + 1 || number == 1,
                    "{number} comes after {}",
                    self.heard
                );
                self.heard = number;
            }
            rest = &rest[length..];
        }
    }

    fn run(&mut self, milliseconds: u64) {
        let until_ns = self.now_ns + milliseconds * MILLISECOND_NS;
        while self.market.next_ns() <= until_ns {
            let event = self.market.next().expect("one is due");
            self.now_ns = event.published_ns;
            self.hub.on_event(&self.market, &event);
            self.deliver();
        }
        self.now_ns = until_ns;
    }
}
