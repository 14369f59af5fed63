//! FIX: the market through sessions that number, check and recover their messages.
//!
//! [`Dialect`] says whose FIX it is. A connection belongs to nobody until its Logon names a client; the client's session
//! lives on when the connection ends, in memory or in a file, so that what was missed can be asked for. Bodies of market
//! data are encoded once for all who subscribed; each session puts its own header before them.

mod client;
mod dialect;
mod echo;
mod feed;
mod market_data;
mod orders;
mod request;
mod stream;

use super::{Frame, Frames, Incoming, Personality, Reply, Response, StreamId, Transport};
use crate::encode::Encode;
use crate::hub::Subscriptions;
use crate::market::{Event, Execution, Market, Order, OrderAction, SymbolId};
use crate::time::{ExchangeClock, SECOND_NS};
pub use client::Connection;
use client::{Client, FixSession};
pub use dialect::Dialect;
use dialect::Units;
use feed::Feed;
use feedbench_wire::fix::authentication::{Authenticator, Ed25519Keys};
use feedbench_wire::fix::session::{Config, Event as Happened, Identity, Now, Role, Session};
use feedbench_wire::fix::store::{FileStore, MemoryStore, Store, StoreError};
use feedbench_wire::fix::tag;
use feedbench_wire::fix::time::UtcTime;
use market_data::{Refusal, Wanted};
use orders::{Awaiting, Desk};
use request::{Ask, MarketDataRequest, NewOrder, Request};
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;
use stream::{Report, Stream};

/// How long a connection may take for its first message.
const PATIENCE_NS: u64 = 10 * SECOND_NS;
/// A first message is a Logon, which needs no more.
const MOST_FIRST_BYTES: usize = 4_096;
/// Clients that are remembered. Who comes later is not let in.
const MOST_CLIENTS: usize = 10_000;
/// Streams of one connection, as Binance has it.
const MOST_STREAMS: usize = 1_000;

/// What may be set.
#[derive(Clone, Debug, Default)]
pub struct FixConfig {
    /// Where sessions keep numbers and messages beyond this process; without, they last as long as it does.
    pub stores: Option<PathBuf>,
    /// Who may log on at doors whose exchange signs Logons; without, everybody.
    pub keys: Option<Ed25519Keys>,
}

/// Who a session is with: BeginString and the client's CompID.
type Party = (Vec<u8>, Vec<u8>);

/// The personality.
pub struct Fix {
    dialect: Dialect,
    config: FixConfig,
    authenticator: Option<Arc<dyn Authenticator + Send + Sync>>,
    symbols: Vec<String>,
    by_name: HashMap<String, u32>,
    feed: Feed,
    desk: Desk,
    /// By seat.
    clients: Vec<String>,
    seats: HashMap<Party, u32>,
    /// Sessions without a connection, by seat.
    parked: HashMap<u32, FixSession>,
    /// ClOrdIDs that the acceptance application has seen, by seat.
    echoed: HashMap<u32, HashSet<Vec<u8>>>,
}

impl Fix {
    /// For a market that has just opened.
    pub fn new(dialect: Dialect, config: FixConfig, market: &Market) -> Self {
        let symbols: Vec<String> = market
            .symbols()
            .iter()
            .map(|symbol| dialect.symbol(&symbol.instrument))
            .collect();
        let keys = config.keys.clone().filter(|_| dialect == Dialect::Binance);
        Self {
            dialect,
            authenticator: keys.map(|keys| Arc::new(keys) as _),
            config,
            by_name: symbols.iter().cloned().zip(0..).collect(),
            feed: Feed::new(dialect, market),
            symbols,
            desk: Desk::default(),
            clients: Vec::new(),
            seats: HashMap::new(),
            parked: HashMap::new(),
            echoed: HashMap::new(),
        }
    }

    /// The session that a first message is for, unless there is none or it is taken.
    fn seat(&mut self, identity: &Identity<'_>) -> Option<Client> {
        let profile = self.dialect.profile(identity.begin_string)?;
        let client = identity.sender_comp_id;
        let is_for_us = identity.target_comp_id == self.dialect.comp_id().as_bytes();
        if !is_for_us || !self.dialect.may_call(client) {
            return None;
        }
        let party: Party = (identity.begin_string.to_vec(), client.to_vec());
        if let Some(&seat) = self.seats.get(&party) {
            // Who is connected is not parked: one connection for each name.
            let session = self.parked.remove(&seat)?;
            return Some(Client::new(seat, session));
        }
        if self.clients.len() == MOST_CLIENTS {
            return None;
        }
        let name = String::from_utf8_lossy(client).into_owned();
        let store = self.store(profile.begin_string, &name).ok()?;
        let seat = self.clients.len() as u32;
        let config = Config {
            profile,
            role: Role::Acceptor {
                authenticator: self.authenticator.clone(),
            },
            sender_comp_id: self.dialect.comp_id().to_owned(),
            target_comp_id: name.clone(),
            logon_fields: self.logon_fields(seat),
        };
        self.clients.push(name);
        self.seats.insert(party, seat);
        Some(Client::new(seat, Session::new(config, store)))
    }

    fn store(&self, begin_string: &str, client: &str) -> Result<Box<dyn Store>, StoreError> {
        Ok(match &self.config.stores {
            Some(folder) => {
                let door = self.dialect.name().replace(' ', "-");
                let name = format!("{door}.{begin_string}.{client}.store");
                Box::new(FileStore::open(&folder.join(name))?)
            }
            None => Box::new(MemoryStore::new(self.dialect.kept_messages())),
        })
    }

    /// Binance's Logon carries a number of the session.
    fn logon_fields(&self, seat: u32) -> Vec<(tag::Tag, String)> {
        const UUID: tag::Tag = 25037;
        match self.dialect {
            Dialect::Binance => vec![(UUID, format!("00000000-0000-4000-8000-{seat:012x}"))],
            _ => Vec::new(),
        }
    }

    /// Lets a session work off what it was fed and what is due.
    fn poll(
        &mut self,
        market: &Market,
        client: &mut Client,
        now_ns: u64,
        replies: &mut Vec<Reply>,
    ) {
        let now = session_now(market.clock(), now_ns);
        let mut goes_on = true;
        loop {
            let request = match client.session.poll(now) {
                Ok(None) => break,
                Ok(Some(Happened::Application(message))) => {
                    if self.dialect == Dialect::Acceptance && echo::is_echoed(message.msg_type()) {
                        let seen = self.echoed.entry(client.seat).or_default();
                        let msg_type = String::from_utf8_lossy(message.msg_type()).into_owned();
                        if let Some(body) = echo::body(&message, seen) {
                            client.send(&msg_type, now, &body);
                        }
                        continue;
                    }
                    Request::of(&message)
                }
                Ok(Some(Happened::LoggedOn)) => {
                    self.echoed.remove(&client.seat);
                    continue;
                }
                // A store that fails: numbers could be used twice.
                Ok(Some(Happened::Disconnect(_))) | Err(_) => {
                    goes_on = false;
                    break;
                }
                Ok(Some(_)) => continue,
            };
            self.answer(market, client, &request, now_ns, replies);
            if client.awaiting.is_some() {
                // What comes next may be about this order: it is read when the market has told of it.
                break;
            }
        }
        if !client.session.output().is_empty() {
            replies.push(Reply::Output);
        }
        if !goes_on {
            replies.push(Reply::End);
        }
    }

    fn answer(
        &mut self,
        market: &Market,
        client: &mut Client,
        request: &Request,
        now_ns: u64,
        replies: &mut Vec<Reply>,
    ) {
        let now = session_now(market.clock(), now_ns);
        match &request.ask {
            Ask::MarketData(wish) if self.dialect != Dialect::Acceptance => {
                if let Err(refusal) = self.market_data(market, client, wish, now, replies) {
                    refuse_market_data(client, &wish.id, &refusal, now);
                }
            }
            Ask::Securities { id, kind, symbol } if self.dialect != Dialect::Acceptance => {
                self.securities(market, client, (id, *kind, symbol.as_deref()), request, now);
            }
            Ask::Order(new) if self.dialect.takes_orders() => {
                self.order(market, client, new, now_ns, replies);
            }
            Ask::Cancel { id, original } if self.dialect.takes_orders() => {
                self.cancel(client, id, original, now_ns, replies);
            }
            _ => {
                // Fails only when the session has ended meanwhile.
                let _ = client
                    .session
                    .reject_unsupported(request.sequence, &request.msg_type, now);
            }
        }
    }

    fn market_data(
        &mut self,
        market: &Market,
        client: &mut Client,
        request: &MarketDataRequest,
        now: Now,
        replies: &mut Vec<Reply>,
    ) -> Result<(), Refusal> {
        if request.kind == 2 {
            let streams = client.unsubscribe(&request.id);
            replies.extend(streams.into_iter().map(Reply::Unsubscribe));
            return Ok(());
        }
        let wanted = Wanted::of(request, self.dialect)?;
        if client.requests.contains_key(&request.id) {
            return Err(Refusal::new(
                '1',
                format!("MDReqID '{}' is in use", request.id),
            ));
        }
        let symbols = request.symbols.iter().map(|name| {
            let number = self.by_name.get(name).copied();
            number.ok_or_else(|| Refusal::new('0', format!("Unknown symbol '{name}'")))
        });
        let symbols: Vec<u32> = symbols.collect::<Result<_, _>>()?;
        let mut streams = Vec::new();
        for &symbol in symbols.iter().filter(|_| wanted.subscribes) {
            for &kind in &wanted.kinds {
                let stream = Stream::Symbol(symbol, kind).id(self.symbols.len() as u32);
                if streams.contains(&stream) {
                    continue;
                }
                if let Some(active) = client.ids.get(&stream) {
                    return Err(Refusal {
                        reason: '2',
                        code: Some(-1191),
                        text: format!(
                            "Similar subscription is already active on this connection. \
                             Symbol='{}', active subscription id: '{active}'.",
                            self.symbols[symbol as usize]
                        ),
                    });
                }
                streams.push(stream);
            }
        }
        if client.ids.len() + streams.len() > MOST_STREAMS {
            return Err(Refusal::new(
                '2',
                format!("More than {MOST_STREAMS} streams"),
            ));
        }
        if wanted.has_snapshot() {
            for &symbol in &symbols {
                self.snapshot(market, client, &request.id, symbol, &wanted, now);
            }
        }
        for &stream in &streams {
            client.ids.insert(stream, request.id.clone());
            replies.push(Reply::Subscribe(stream));
        }
        if wanted.subscribes {
            client.requests.insert(request.id.clone(), streams);
        }
        Ok(())
    }

    fn snapshot(
        &self,
        market: &Market,
        client: &mut Client,
        id: &str,
        number: u32,
        wanted: &Wanted,
        now: Now,
    ) {
        let symbol = market.symbol(SymbolId(number));
        let mut body = Vec::new();
        body.text("262=").text(id).text("\x0155=");
        body.text(&self.symbols[number as usize]).text("\x01");
        if self.dialect == Dialect::Binance {
            body.text("25044=").number(symbol.sequence).text("\x01");
        }
        feed::write_snapshot(&mut body, self.dialect, symbol, wanted.depth, wanted.trade);
        client.send("W", now, &body);
    }

    /// SecurityList, or Binance's InstrumentList.
    fn securities(
        &self,
        market: &Market,
        client: &mut Client,
        (id, kind, symbol): (&str, u64, Option<&str>),
        request: &Request,
        now: Now,
    ) {
        let numbers: Vec<u32> = match (kind, symbol) {
            (4, _) => (0..self.symbols.len() as u32).collect(),
            (0, Some(name)) => self.by_name.get(name).copied().into_iter().collect(),
            _ => Vec::new(),
        };
        let is_binance = self.dialect == Dialect::Binance;
        if is_binance && numbers.is_empty() {
            let text = "Invalid symbol.";
            // Fails only when the session has ended meanwhile.
            let _ =
                client
                    .session
                    .reject(request.sequence, &request.msg_type, text, now, |reject| {
                        reject.signed(25016, -1121);
                    });
            return;
        }
        let mut body = Vec::new();
        body.text("320=").text(id).text("\x01");
        if !is_binance {
            // 0: here they are; 2: nothing fits; 1: an unknown kind of request.
            let result = match (numbers.is_empty(), kind) {
                (false, _) => 0,
                (true, 0) => 2,
                (true, _) => 1,
            };
            body.text("322=")
                .text(id)
                .text("\x01560=")
                .number(result)
                .text("\x01");
        }
        if !numbers.is_empty() {
            body.text("146=").number(numbers.len() as u64).text("\x01");
        }
        for number in numbers {
            let name = &self.symbols[number as usize];
            let instrument = &market.symbol(SymbolId(number)).instrument;
            let units = Units::of(self.dialect, instrument);
            let quote = instrument.quote_as(if is_binance { "USDT" } else { "USD" });
            body.text("55=").text(name).text("\x01");
            body.text("15=").text(quote).text("\x01");
            if is_binance {
                let most = 9_000 * 10u64.pow(instrument.quantity_decimals);
                for (tag, lots) in [
                    ("562=", 1),
                    ("1140=", most),
                    ("25039=", 1),
                    ("25040=", 1),
                    ("25041=", most),
                    ("25042=", 1),
                ] {
                    units.quantity(&mut body, tag, lots);
                }
                units.price(&mut body, "969=", 1);
            } else if self.dialect == Dialect::Coinbase {
                units.quantity(&mut body, "561=", 1);
                units.quantity(&mut body, "562=", 1);
                units.price(&mut body, "969=", 1);
            } else {
                // FIX 4.4 has no place for the smallest step of the price.
                units.quantity(&mut body, "561=", 1);
                units.quantity(&mut body, "562=", 1);
            }
        }
        client.send("y", now, &body);
    }

    fn order(
        &mut self,
        market: &Market,
        client: &mut Client,
        new: &NewOrder,
        now_ns: u64,
        replies: &mut Vec<Reply>,
    ) {
        let is_fix42 = client.session.config().profile.begin_string == "FIX.4.2";
        let symbol = self.by_name.get(&new.symbol).copied().map(SymbolId);
        match self.desk.read(new, (client.seat, is_fix42), symbol, market) {
            Ok((order, action)) => {
                let symbol = symbol.expect("an order without a symbol is refused");
                replies.extend(self.reports(client.seat));
                replies.push(Reply::Order(Order { symbol, action }));
                client.awaiting = Some(Awaiting::New {
                    order,
                    arrived_ns: now_ns,
                });
            }
            Err(refusal) => {
                let unix_ns = market.clock().unix_ns(now_ns);
                let body = self.desk.refuse(new, is_fix42, refusal, unix_ns);
                client.send("8", session_now(market.clock(), now_ns), &body);
            }
        }
    }

    fn cancel(
        &mut self,
        client: &mut Client,
        id: &str,
        original: &str,
        now_ns: u64,
        replies: &mut Vec<Reply>,
    ) {
        let order = self.desk.find(client.seat, original);
        client.awaiting = Some(Awaiting::Cancel {
            id: id.to_owned(),
            original: original.to_owned(),
            seat: client.seat,
            order,
            arrived_ns: now_ns,
        });
        // An order that nobody has is asked for, too: the market says that there is nothing to withdraw.
        let (symbol, order) = order.unwrap_or((SymbolId(0), 0));
        replies.extend(self.reports(client.seat));
        replies.push(Reply::Order(Order {
            symbol,
            action: OrderAction::Cancel { order },
        }));
    }

    /// The client's own streams, from its first order on.
    fn reports(&self, seat: u32) -> impl Iterator<Item = Reply> {
        let symbols = self.symbols.len() as u32;
        Report::ALL
            .into_iter()
            .map(move |report| Reply::Subscribe(Stream::Client(seat, report).id(symbols)))
    }
}

fn refuse_market_data(client: &mut Client, id: &str, refusal: &Refusal, now: Now) {
    let is_binance = client
        .session
        .config()
        .profile
        .dictionary
        .field(25016)
        .is_some();
    let mut body = Vec::new();
    body.text("262=").text(id).text("\x01281=");
    body.push(refusal.reason as u8);
    body.push(tag::SOH);
    if let Some(code) = refusal.code.filter(|_| is_binance) {
        body.text("25016=").text(&code.to_string()).text("\x01");
    }
    body.text("58=").text(&refusal.text).text("\x01");
    client.send("Y", now, &body);
}

fn session_now(clock: &ExchangeClock, now_ns: u64) -> Now {
    Now {
        utc: UtcTime {
            unix_ns: i64::try_from(clock.unix_ns(now_ns)).unwrap_or(i64::MAX),
        },
        monotonic_ns: now_ns,
    }
}

impl Personality for Fix {
    type Session = Connection;

    fn name(&self) -> &'static str {
        self.dialect.name()
    }

    fn transport(&self) -> Transport {
        Transport::Fix
    }

    fn open(
        &mut self,
        _market: &Market,
        _request: &super::Request<'_>,
        now_ns: u64,
        _replies: &mut Vec<Reply>,
    ) -> Result<Connection, Response> {
        Ok(Connection::Unknown {
            bytes: Vec::new(),
            until_ns: now_ns.saturating_add(PATIENCE_NS),
        })
    }

    fn on_message(
        &mut self,
        market: &Market,
        connection: &mut Connection,
        incoming: Incoming<'_>,
        now_ns: u64,
        replies: &mut Vec<Reply>,
    ) {
        let Incoming::Bytes(received) = incoming else {
            return;
        };
        let mut client = match std::mem::replace(connection, Connection::Ended) {
            Connection::Ended => return,
            Connection::Known(mut client) => {
                client.session.feed(received);
                client
            }
            Connection::Unknown {
                mut bytes,
                until_ns,
            } => {
                bytes.extend_from_slice(received);
                let seated = match Identity::of(&bytes) {
                    Ok(None) if bytes.len() <= MOST_FIRST_BYTES => {
                        *connection = Connection::Unknown { bytes, until_ns };
                        return;
                    }
                    Ok(Some(identity)) => self.seat(&identity),
                    _ => None,
                };
                let Some(mut client) = seated else {
                    return replies.push(Reply::End);
                };
                let now = session_now(market.clock(), now_ns);
                if client.session.connect(now).is_err() {
                    self.parked.insert(client.seat, client.session);
                    return replies.push(Reply::End);
                }
                client.session.feed(&bytes);
                Box::new(client)
            }
        };
        let before = client.session.received_messages();
        let first = replies.len();
        self.poll(market, &mut client, now_ns, replies);
        let received = client.session.received_messages() - before;
        replies.insert(first, Reply::Received(received));
        *connection = Connection::Known(client);
    }

    fn deadline_ns(&self, connection: &Connection) -> u64 {
        match connection {
            Connection::Unknown { until_ns, .. } => *until_ns,
            Connection::Known(client) => client.session.deadline().unwrap_or(u64::MAX),
            Connection::Ended => u64::MAX,
        }
    }

    fn on_deadline(
        &mut self,
        market: &Market,
        connection: &mut Connection,
        now_ns: u64,
        replies: &mut Vec<Reply>,
    ) {
        match std::mem::replace(connection, Connection::Ended) {
            Connection::Known(mut client) => {
                self.poll(market, &mut client, now_ns, replies);
                *connection = Connection::Known(client);
            }
            Connection::Unknown { .. } => replies.push(Reply::End),
            Connection::Ended => {}
        }
    }

    fn number(&self, _connection: &mut Connection, _now_ns: u64) -> u64 {
        0
    }

    fn write(
        &mut self,
        connection: &mut Connection,
        frame: &Frame,
        body: &[u8],
        (now_ns, clock): (u64, ExchangeClock),
        out: &mut Vec<u8>,
    ) {
        let Connection::Known(client) = connection else {
            return;
        };
        let msg_type = Stream::of(frame.stream, self.symbols.len() as u32).msg_type();
        let id = client.ids.get(&frame.stream);
        // A session that has logged out gets nothing more; a store that fails is found when the client speaks next.
        let _ = client
            .session
            .send(msg_type, session_now(&clock, now_ns), |message| {
                if let Some(id) = id {
                    message.text(262, id);
                }
                message.fields(body);
            });
        self.take_output(connection, out);
    }

    fn take_output(&mut self, connection: &mut Connection, out: &mut Vec<u8>) {
        if let Connection::Known(client) = connection {
            out.extend_from_slice(client.session.output());
            client.session.sent(client.session.output().len());
        }
    }

    fn on_execution(
        &mut self,
        market: &Market,
        connection: &mut Connection,
        execution: Option<&Execution>,
        now_ns: u64,
        frames: &mut Frames,
    ) {
        let Connection::Known(client) = connection else {
            return;
        };
        if let Some(awaiting) = client.awaiting.take() {
            self.desk
                .on_execution(awaiting, execution, &self.symbols, market, now_ns, frames);
        }
    }

    fn on_close(&mut self, connection: Connection) -> Vec<Order> {
        let Connection::Known(mut client) = connection else {
            return Vec::new();
        };
        client.session.disconnected();
        self.parked.insert(client.seat, client.session);
        self.desk.withdraw_all(client.seat)
    }

    fn goodbye(
        &mut self,
        market: &Market,
        connection: &mut Connection,
        now_ns: u64,
        replies: &mut Vec<Reply>,
    ) {
        let now = session_now(market.clock(), now_ns);
        let said = match connection {
            Connection::Known(client) => client.session.logout("The exchange closes", now).is_ok(),
            _ => false,
        };
        replies.push(if said { Reply::Output } else { Reply::End });
    }

    fn on_event(
        &mut self,
        market: &Market,
        event: &Event,
        wanted: &Subscriptions,
        frames: &mut Frames,
    ) {
        self.desk.on_event(event, &self.symbols, market, frames);
        self.feed
            .on_event(&self.symbols, market, event, wanted, frames);
    }

    fn tick_ns(&self) -> u64 {
        self.feed.tick_ns()
    }

    fn on_tick(&mut self, market: &Market, wanted: &Subscriptions, frames: &mut Frames) {
        self.feed.on_tick(&self.symbols, market, wanted, frames);
    }

    fn stream_name(&self, stream: StreamId) -> String {
        Stream::of(stream, self.symbols.len() as u32).name(&self.symbols, &self.clients)
    }

    /// As much as a session reads of one message.
    fn message_limit_bytes(&self) -> usize {
        feedbench_wire::fix::message::MAXIMUM_BODY_BYTES
    }

    /// FIX has no words for it: the connection ends.
    fn slow_consumer(&self) -> Vec<Reply> {
        Vec::new()
    }

    fn rest(&mut self, _market: &Market, _request: &super::Request<'_>, _now_ns: u64) -> Response {
        Response::new(404, "this door speaks FIX")
    }
}
