//! Bithumb (Korea), WebSocket 2.x: ticker, trade and orderbook by one message, in default and simple keys; the older
//! socket: ticker, transaction, orderbookdepth and orderbooksnapshot by filters; and REST of both.
//!
//! Source: apidocs.bithumb.com (2026-11), and what a client that speaks it reads; the idle limit and the text `PING`
//! are Upbit's, whose interface this one copies. Prices are in won where the quote is the exchange's own dollar.

mod feed;
mod legacy;
mod legacy_rest;
mod rest;
mod session;

use super::names::Names;
use super::{Frames, Incoming, Personality, Reply, Request, Response, StreamId};
use crate::hub::Subscriptions;
use crate::market::{Event, Market, SymbolId};
use crate::time::SECOND_NS;
use feed::Feed;

/// What a stream tells of one symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// On each trade.
    Ticker,
    /// Each trade.
    Trade,
    /// The best levels, on each change of the book.
    Orderbook,
}

impl Kind {
    fn parse(name: &str) -> Option<Self> {
        match name {
            "ticker" => Some(Self::Ticker),
            "trade" => Some(Self::Trade),
            "orderbook" => Some(Self::Orderbook),
            _ => None,
        }
    }

    /// In default or in simple keys.
    fn stream(self, symbol: SymbolId, simple: bool) -> StreamId {
        StreamId(symbol.0 << 4 | (self as u32) << 1 | u32::from(simple))
    }
}

/// One connection, of either socket.
#[derive(Debug)]
pub enum Session {
    /// Requests replace each other.
    V2(session::Session),
    /// Filters add up.
    Legacy(legacy::Session),
}

/// The personality.
pub struct Bithumb {
    names: Names,
    /// As the older socket spells them: `BTC_KRW`.
    legacy_names: Names,
    feed: Feed,
    /// When the older socket's books are due.
    tick_ns: u64,
}

impl Bithumb {
    /// For a market that has just opened.
    pub fn new(market: &Market) -> Self {
        let names = Names::new(market, |instrument| {
            format!("{}-{}", instrument.quote_as("KRW"), instrument.base)
        });
        let legacy_names = Names::new(market, |instrument| {
            format!("{}_{}", instrument.base, instrument.quote_as("KRW"))
        });
        Self {
            names,
            legacy_names,
            feed: Feed,
            tick_ns: SECOND_NS,
        }
    }
}

impl Personality for Bithumb {
    type Session = Session;

    fn name(&self) -> &'static str {
        "bithumb"
    }

    fn open(
        &mut self,
        _market: &Market,
        request: &Request<'_>,
        now_ns: u64,
        replies: &mut Vec<Reply>,
    ) -> Result<Session, Response> {
        match request.path.trim_end_matches('/') {
            "/websocket/v1" => Ok(Session::V2(session::Session::new(now_ns))),
            "/pub/ws" => Ok(Session::Legacy(legacy::Session::open(replies))),
            _ => Err(Response::new(
                404,
                r#"{"error":{"name":404,"message":"Not Found"}}"#,
            )),
        }
    }

    fn on_message(
        &mut self,
        market: &Market,
        session: &mut Session,
        incoming: Incoming<'_>,
        now_ns: u64,
        replies: &mut Vec<Reply>,
    ) {
        match session {
            Session::V2(session) => {
                session.on_message(&self.names, market, incoming, now_ns, replies);
            }
            Session::Legacy(session) => session.on_message(&self.legacy_names, incoming, replies),
        }
    }

    fn deadline_ns(&self, session: &Session) -> u64 {
        match session {
            Session::V2(session) => session.deadline_ns(),
            Session::Legacy(_) => u64::MAX,
        }
    }

    fn on_deadline(
        &mut self,
        _market: &Market,
        session: &mut Session,
        now_ns: u64,
        replies: &mut Vec<Reply>,
    ) {
        if let Session::V2(session) = session {
            session.on_deadline(now_ns, replies);
        }
    }

    fn number(&self, session: &mut Session, now_ns: u64) -> u64 {
        if let Session::V2(session) = session {
            session.was_used(now_ns);
        }
        0
    }

    fn on_event(
        &mut self,
        market: &Market,
        event: &Event,
        wanted: &Subscriptions,
        frames: &mut Frames,
    ) {
        self.feed
            .on_event(&self.names, market, event, wanted, frames);
        legacy::feed::on_event(&self.legacy_names, market, event, wanted, frames);
    }

    fn tick_ns(&self) -> u64 {
        self.tick_ns
    }

    fn on_tick(&mut self, market: &Market, wanted: &Subscriptions, frames: &mut Frames) {
        let now_ns = self.tick_ns;
        legacy::feed::on_tick(&self.legacy_names, market, now_ns, wanted, frames);
        self.tick_ns += SECOND_NS;
    }

    fn stream_name(&self, stream: StreamId) -> String {
        let symbol = SymbolId(stream.0 >> 4);
        if let Some(kind) = legacy::Kind::name(stream) {
            return format!("{kind}:{}", self.legacy_names.of(symbol));
        }
        let kind = ["ticker", "trade", "orderbook"][(stream.0 >> 1 & 3) as usize];
        let format = if stream.0 & 1 == 1 { ":SIMPLE" } else { "" };
        format!("{kind}:{}{format}", self.names.of(symbol))
    }

    fn rest(&mut self, market: &Market, request: &Request<'_>, now_ns: u64) -> Response {
        match request.path.strip_prefix("/public/") {
            Some(path) => legacy_rest::answer(&self.legacy_names, market, path, request, now_ns),
            None => rest::answer(&self.names, market, request, now_ns),
        }
    }
}
