//! FIX: the market through sessions that number, check and recover their messages.
//!
//! [`Dialect`] says whose FIX it is. A connection belongs to nobody until its Logon names a client; the client's session
//! lives on when the connection ends, in memory or in a file, so that what was missed can be asked for. Bodies of market
//! data are encoded once for all who subscribed; each session puts its own header before them.

mod client;
mod conversation;
mod dialect;
mod echo;
mod feed;
mod maintenance;
mod market_data;
mod message_limit;
mod orders;
mod request;
mod seats;
mod securities;
mod stream;
mod subscription;
mod trading;

use super::{Frame, Frames, Incoming, Personality, Reply, Response, StreamId, Transport};
use crate::hub::Subscriptions;
use crate::market::{Event, Execution, Market, Order};
use crate::time::{ExchangeClock, SECOND_NS};
pub use client::Connection;
use conversation::session_now;
pub use dialect::Dialect;
use feed::Feed;
use feedbench_wire::fix::authentication::Ed25519Keys;
use feedbench_wire::fix::session::Identity;
use orders::Desk;
use seats::Seats;
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use stream::Stream;

/// How long a connection may take for its first message.
const PATIENCE_NS: u64 = 10 * SECOND_NS;
/// A first message is a Logon, which needs no more.
const MOST_FIRST_BYTES: usize = 4_096;

/// What may be set.
#[derive(Clone, Debug, Default)]
pub struct FixConfig {
    /// Where sessions keep numbers and messages beyond this process; without, they last as long as it does.
    pub stores: Option<PathBuf>,
    /// Who may log on at doors whose exchange signs Logons; without, everybody.
    pub keys: Option<Ed25519Keys>,
    /// Doors whose exchange announces its maintenance end each connection so long after its Logon.
    pub maintenance_s: Option<u64>,
}

/// The personality.
pub struct Fix {
    dialect: Dialect,
    maintenance_s: Option<u64>,
    seats: Seats,
    symbols: Vec<String>,
    by_name: HashMap<String, u32>,
    feed: Feed,
    desk: Desk,
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
        Self {
            dialect,
            maintenance_s: config.maintenance_s.filter(|_| dialect == Dialect::Binance),
            seats: Seats::new(dialect, config),
            by_name: symbols.iter().cloned().zip(0..).collect(),
            feed: Feed::new(dialect, market),
            symbols,
            desk: Desk::default(),
            echoed: HashMap::new(),
        }
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
                    Ok(Some(identity)) => self.seats.take(&identity),
                    _ => None,
                };
                let Some(mut client) = seated else {
                    return replies.push(Reply::End);
                };
                let now = session_now(market.clock(), now_ns);
                if client.session.connect(now).is_err() {
                    self.seats.park(client);
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
            Connection::Known(client) => client.deadline_ns(),
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
        let orders = self.desk.withdraw_all(client.seat);
        self.seats.park(*client);
        orders
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
        Stream::of(stream, self.symbols.len() as u32).name(&self.symbols, self.seats.clients())
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
