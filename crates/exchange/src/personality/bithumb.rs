//! Bithumb (Korea), WebSocket 2.x: ticker, trade and orderbook by one message, in default and simple keys, and REST.
//!
//! Source: apidocs.bithumb.com (2026-11), and what a client that speaks it reads; the idle limit and the text `PING`
//! are Upbit's, whose interface this one copies. Prices are in won where the quote is the exchange's own dollar.

mod feed;
mod rest;
mod session;

use super::names::Names;
use super::{Frames, Incoming, Personality, Reply, Request, Response, StreamId};
use crate::hub::Subscriptions;
use crate::market::{Event, Market, SymbolId};
use feed::Feed;
pub use session::Session;

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
        StreamId(symbol.0 << 3 | (self as u32) << 1 | u32::from(simple))
    }
}

/// The personality.
pub struct Bithumb {
    names: Names,
    feed: Feed,
}

impl Bithumb {
    /// For a market that has just opened.
    pub fn new(market: &Market) -> Self {
        let names = Names::new(market, |instrument| {
            format!("{}-{}", instrument.quote_as("KRW"), instrument.base)
        });
        Self { names, feed: Feed }
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
        _replies: &mut Vec<Reply>,
    ) -> Result<Session, Response> {
        match request.path.trim_end_matches('/') {
            "/websocket/v1" => Ok(Session::new(now_ns)),
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
        session.on_message(&self.names, market, incoming, now_ns, replies);
    }

    fn deadline_ns(&self, session: &Session) -> u64 {
        session.deadline_ns()
    }

    fn on_deadline(
        &mut self,
        _market: &Market,
        session: &mut Session,
        now_ns: u64,
        replies: &mut Vec<Reply>,
    ) {
        session.on_deadline(now_ns, replies);
    }

    fn number(&self, session: &mut Session, now_ns: u64) -> u64 {
        session.was_used(now_ns);
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
    }

    fn tick_ns(&self) -> u64 {
        u64::MAX
    }

    fn on_tick(&mut self, _market: &Market, _wanted: &Subscriptions, _frames: &mut Frames) {}

    fn rest(&mut self, market: &Market, request: &Request<'_>, now_ns: u64) -> Response {
        rest::answer(&self.names, market, request, now_ns)
    }
}
