//! Coinbase Advanced Trade: ticker, ticker_batch, level2, market_trades, candles and heartbeats, one channel for each
//! message, in an envelope that numbers the messages of each connection.
//!
//! Source: docs.cdp.coinbase.com/advanced-trade (2026-11). Public channels need no key; a token is not checked. REST
//! is the public part; its limit, 10 requests a second for each address, is the one that the documents give.

mod feed;
mod rest;
mod session;

use super::limits::TokenBucket;
use super::names::Names;
use super::{Frames, Incoming, Personality, Reply, Request, Response, StreamId};
use crate::hub::Subscriptions;
use crate::market::{Event, Market, SymbolId};
use crate::time::SECOND_NS;
use feed::Feed;
pub use session::Session;
use std::collections::HashMap;

/// A connection is closed if nothing was sent on it for so long; heartbeats keep it open.
const SILENCE_NS: u64 = 90 * SECOND_NS;
/// A connection that has not subscribed within this time is closed.
const SUBSCRIBE_WITHIN_NS: u64 = 5 * SECOND_NS;

/// What a stream tells of one product, or of none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Channel {
    /// On each trade.
    Ticker,
    /// Every five seconds.
    TickerBatch,
    /// Each changed level.
    Level2,
    /// Each trade.
    MarketTrades,
    /// Five-minute candles, every second in which there were trades.
    Candles,
    /// Every second, whatever happens.
    Heartbeats,
}

impl Channel {
    const ALL: [(&'static str, Self); 6] = [
        ("ticker", Self::Ticker),
        ("ticker_batch", Self::TickerBatch),
        ("level2", Self::Level2),
        ("market_trades", Self::MarketTrades),
        ("candles", Self::Candles),
        ("heartbeats", Self::Heartbeats),
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

    /// The name in the envelope: level 2 comes back under another.
    fn data_name(self) -> &'static str {
        match self {
            Self::Level2 => "l2_data",
            other => other.name(),
        }
    }

    fn stream(self, product: SymbolId) -> StreamId {
        StreamId(product.0 << 3 | self as u32)
    }
}

/// The personality.
pub struct CoinbaseAdvanced {
    names: Names,
    feed: Feed,
    buckets: HashMap<u64, TokenBucket>,
}

impl CoinbaseAdvanced {
    /// For a market that has just opened.
    pub fn new(market: &Market) -> Self {
        let names = Names::new(market, |instrument| {
            format!("{}-{}", instrument.base, instrument.quote_as("USD"))
        });
        Self {
            names,
            feed: Feed::new(market),
            buckets: HashMap::new(),
        }
    }
}

impl Personality for CoinbaseAdvanced {
    type Session = Session;

    fn name(&self) -> &'static str {
        "coinbase-advanced"
    }

    fn open(
        &mut self,
        _market: &Market,
        request: &Request<'_>,
        now_ns: u64,
        _replies: &mut Vec<Reply>,
    ) -> Result<Session, Response> {
        match request.path {
            "" | "/" => Ok(Session::new(now_ns)),
            _ => Err(Response::new(404, r#"{"error":"not found"}"#)),
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
        if let Incoming::Text(text) | Incoming::Binary(text) = incoming {
            session.on_message(&self.names, market, text, now_ns, replies);
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
        session.number(now_ns)
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
        let (channel, _) = Channel::ALL[(stream.0 & 7) as usize];
        format!("{channel}:{}", self.names.of(SymbolId(stream.0 >> 3)))
    }

    fn rest(&mut self, market: &Market, request: &Request<'_>, now_ns: u64) -> Response {
        let bucket = self
            .buckets
            .entry(request.peer)
            .or_insert_with(|| TokenBucket::new(10, 10));
        if !bucket.take(now_ns) {
            return self.too_many_requests(1);
        }
        rest::answer(&self.names, market, request, now_ns).unwrap_or_else(|refusal| refusal)
    }

    fn too_many_requests(&self, retry_after_s: u64) -> Response {
        rest::failure(429, "RESOURCE_EXHAUSTED", "too many requests").retry_after(retry_after_s)
    }
}
