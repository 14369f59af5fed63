//! Bybit V5, spot: books of four depths, public trades, tickers and candles, in batches that leave every few
//! milliseconds.
//!
//! Source: bybit-exchange.github.io/docs/v5 (2026-11): paths, topics, how often each is pushed, keys, limits. From
//! memory: the words of errors over WebSocket, and ten topics at most in a request.

mod feed;
mod rest;
mod session;
mod topic;

use super::limits::Window;
use super::names::Names;
use super::{Frames, Incoming, Personality, Reply, Request, Response, StreamId};
use crate::hub::Subscriptions;
use crate::market::{Event, Market};
use crate::time::{MILLISECOND_NS, SECOND_NS};
use feed::Feed;
pub use session::Session;
use std::collections::HashMap;
use topic::Topic;

/// A connection on which nothing goes either way is closed after so long.
const SILENCE_NS: u64 = 600 * SECOND_NS;
/// REST requests of one address within [`REQUESTS_NS`].
const REQUESTS: u32 = 600;
const REQUESTS_NS: u64 = 5 * SECOND_NS;
/// Connections of one address within [`CONNECTIONS_NS`].
const CONNECTIONS: u32 = 500;
const CONNECTIONS_NS: u64 = 300 * SECOND_NS;

/// The personality.
pub struct Bybit {
    names: Names,
    feed: Feed,
    requests: HashMap<u64, Window>,
    connections: HashMap<u64, Window>,
    opened: u64,
}

impl Bybit {
    /// For a market that has just opened.
    pub fn new(market: &Market) -> Self {
        let names = Names::new(market, |instrument| {
            format!("{}{}", instrument.base, instrument.quote_as("USDT"))
        });
        Self {
            names,
            feed: Feed::new(market),
            requests: HashMap::new(),
            connections: HashMap::new(),
            opened: 0,
        }
    }
}

impl Personality for Bybit {
    type Session = Session;

    fn name(&self) -> &'static str {
        "bybit"
    }

    fn open(
        &mut self,
        _market: &Market,
        request: &Request<'_>,
        now_ns: u64,
        _replies: &mut Vec<Reply>,
    ) -> Result<Session, Response> {
        if request.path != "/v5/public/spot" {
            return Err(Response::new(404, ""));
        }
        let window = self
            .connections
            .entry(request.peer)
            .or_insert_with(|| Window::new(CONNECTIONS, CONNECTIONS_NS));
        if !window.take(1, now_ns) {
            return Err(self.too_many_requests(1));
        }
        self.opened += 1;
        Ok(Session::new(self.opened, now_ns))
    }

    fn on_message(
        &mut self,
        market: &Market,
        session: &mut Session,
        incoming: Incoming<'_>,
        now_ns: u64,
        replies: &mut Vec<Reply>,
    ) {
        session.was_heard(now_ns);
        if let Incoming::Text(text) | Incoming::Binary(text) = incoming {
            session.on_message(&self.names, &self.feed, market, text, now_ns, replies);
        }
    }

    fn deadline_ns(&self, session: &Session) -> u64 {
        session.deadline_ns()
    }

    fn on_deadline(
        &mut self,
        _market: &Market,
        session: &mut Session,
        _now_ns: u64,
        replies: &mut Vec<Reply>,
    ) {
        session.on_deadline(replies);
    }

    fn number(&self, session: &mut Session, now_ns: u64) -> u64 {
        session.was_heard(now_ns);
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
        self.feed.tick_ns()
    }

    fn on_tick(&mut self, market: &Market, wanted: &Subscriptions, frames: &mut Frames) {
        self.feed.on_tick(&self.names, market, wanted, frames);
    }

    fn stream_name(&self, stream: StreamId) -> String {
        Topic::of_id(stream).name(&self.names)
    }

    fn rest(&mut self, market: &Market, request: &Request<'_>, now_ns: u64) -> Response {
        let window = self
            .requests
            .entry(request.peer)
            .or_insert_with(|| Window::new(REQUESTS, REQUESTS_NS));
        if !window.take(1, now_ns) {
            return self.too_many_requests(1);
        }
        let now_unix_ms = market.clock().unix_ns(now_ns) / MILLISECOND_NS;
        rest::answer(&self.names, &self.feed, market, request, now_ns)
            .unwrap_or_else(|refusal| refusal.response(now_unix_ms))
    }

    /// 403, as the exchange says it of addresses; it names no time after which to come again.
    fn too_many_requests(&self, _retry_after_s: u64) -> Response {
        Response::new(403, "access too frequent")
    }
}
