//! Coinbase Exchange: ticker, ticker_batch, level2, level2_batch, matches, heartbeat and full by message, and REST.
//!
//! Source: docs.cdp.coinbase.com/exchange (2026-11); shapes, number formats and orders of keys as in a recording of
//! 2021-04-17, plus the best sizes in tickers that came later. `side` is the maker's in matches and the taker's in
//! tickers, as recorded. Sizes that trade are printed without the zeros at their end, sizes that rest with them.

mod feed;
mod message;
mod rest;
mod session;

use super::limits::TokenBucket;
use super::names::Names;
use super::{Frames, Incoming, Personality, Reply, Request, Response, StreamId};
use crate::hub::Subscriptions;
use crate::market::{Event, Market, SymbolId};
use feed::Feed;
pub use session::{Session, SessionLimits};
use std::collections::HashMap;

/// What a stream tells of one product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// On each match.
    Ticker,
    /// Every five seconds.
    TickerBatch,
    /// Each changed level.
    Level2,
    /// The changed levels of 50 ms.
    Level2Batch,
    /// Each match.
    Matches,
    /// Every second.
    Heartbeat,
    /// Each step of each order.
    Full,
}

impl Channel {
    const ALL: [(&'static str, Self); 7] = [
        ("ticker", Self::Ticker),
        ("ticker_batch", Self::TickerBatch),
        ("level2", Self::Level2),
        ("level2_batch", Self::Level2Batch),
        ("matches", Self::Matches),
        ("heartbeat", Self::Heartbeat),
        ("full", Self::Full),
    ];

    fn parse(name: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, channel)| *channel)
    }

    fn name(self) -> &'static str {
        Self::ALL[self as usize].0
    }

    fn stream(self, product: SymbolId) -> StreamId {
        StreamId(product.0 << 3 | self as u32)
    }
}

/// The personality.
pub struct Coinbase {
    names: Names,
    feed: Feed,
    limits: SessionLimits,
    buckets: HashMap<u64, TokenBucket>,
}

impl Coinbase {
    /// For a market that has just opened.
    pub fn new(market: &Market) -> Self {
        Self::with_limits(market, SessionLimits::default())
    }

    /// With other limits than the exchange's own.
    pub fn with_limits(market: &Market, limits: SessionLimits) -> Self {
        let names = Names::new(market, |instrument| {
            format!("{}-{}", instrument.base, instrument.quote_as("USD"))
        });
        Self {
            names,
            feed: Feed::new(market),
            limits,
            buckets: HashMap::new(),
        }
    }
}

impl Personality for Coinbase {
    type Session = Session;

    fn name(&self) -> &'static str {
        "coinbase"
    }

    fn open(
        &mut self,
        _market: &Market,
        request: &Request<'_>,
        now_ns: u64,
        _replies: &mut Vec<Reply>,
    ) -> Result<Session, Response> {
        match request.path {
            "" | "/" => Ok(Session::new(self.limits, now_ns)),
            _ => Err(Response::new(404, r#"{"message":"NotFound"}"#)),
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
        session.on_message(&self.names, &self.feed, market, incoming, now_ns, replies);
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

    fn slow_consumer(&self) -> Vec<Reply> {
        let error = r#"{"type":"error","message":"ErrSlowConsume"}"#;
        vec![
            Reply::Text(error.into()),
            Reply::Close {
                code: 1008,
                reason: "ErrSlowConsume",
            },
        ]
    }

    fn stream_name(&self, stream: StreamId) -> String {
        let (channel, _) = Channel::ALL[(stream.0 & 7) as usize];
        format!("{channel}:{}", self.names.of(SymbolId(stream.0 >> 3)))
    }

    fn rest(&mut self, market: &Market, request: &Request<'_>, now_ns: u64) -> Response {
        // Public limit: 10 requests a second for each address, bursts of 15.
        let bucket = self
            .buckets
            .entry(request.peer)
            .or_insert_with(|| TokenBucket::new(10, 15));
        if !bucket.take(now_ns) {
            return self.too_many_requests(1);
        }
        rest::answer(&self.names, &self.feed, market, request, now_ns)
            .unwrap_or_else(|refusal| refusal)
    }

    fn too_many_requests(&self, retry_after_s: u64) -> Response {
        Response::new(429, r#"{"message":"Public rate limit exceeded"}"#).retry_after(retry_after_s)
    }
}
