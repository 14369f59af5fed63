//! Binance spot: JSON streams by path and by SUBSCRIBE, raw and combined, in milliseconds and microseconds, and REST.
//!
//! Source: the exchange's `web-socket-streams.md` and `rest-api.md` as of 2026-07-21; shapes, number formats and the
//! order of keys as in a recording of 2024-08-08. The futures' kline path is the same stream under another host.

mod feed;
pub(super) mod limiter;
mod message;
pub(super) mod rest;
mod session;
mod stream;

use super::{Frames, Incoming, Personality, Reply, Request, Response, StreamId};
use crate::hub::Subscriptions;
use crate::market::{Event, Instrument, Market};
use feed::Feed;
use limiter::Limiter;
pub(super) use session::Find;
pub use session::{Session, SessionLimits};
use std::collections::HashMap;

/// How the symbols are called, and back.
pub(super) struct Names {
    pub(super) upper: Vec<String>,
    pub(super) lower: Vec<String>,
    pub(super) by_lower: HashMap<String, u32>,
}

impl Names {
    pub(super) fn new(market: &Market) -> Self {
        let name =
            |instrument: &Instrument| format!("{}{}", instrument.base, instrument.quote_as("USDT"));
        let upper: Vec<String> = market
            .symbols()
            .iter()
            .map(|symbol| name(&symbol.instrument))
            .collect();
        let lower: Vec<String> = upper.iter().map(|name| name.to_lowercase()).collect();
        let by_lower = lower.iter().cloned().zip(0..).collect();
        Self {
            upper,
            lower,
            by_lower,
        }
    }
}

/// The personality.
pub struct Binance {
    names: Names,
    feed: Feed,
    limits: SessionLimits,
    limiter: Limiter,
}

impl Binance {
    /// For a market that has just opened.
    pub fn new(market: &Market) -> Self {
        Self::with_limits(market, SessionLimits::default())
    }

    /// With other limits than the exchange's own, to bring their consequences about sooner.
    pub fn with_limits(market: &Market, limits: SessionLimits) -> Self {
        Self {
            names: Names::new(market),
            feed: Feed::new(market),
            limits,
            limiter: Limiter::default(),
        }
    }

    /// Number of a stream by its name, as a connection with these settings gets it.
    pub fn stream(&self, name: &str, combined: bool, microseconds: bool) -> Option<StreamId> {
        find(&self.names)(name, combined, microseconds)
    }
}

/// All streams of these symbols.
fn find(names: &Names) -> impl Fn(&str, bool, bool) -> Option<StreamId> + '_ {
    |name, combined, microseconds| {
        let stream = stream::Stream::parse(name, &names.by_lower)?;
        Some(stream.id(combined, microseconds))
    }
}

impl Personality for Binance {
    type Session = Session;

    fn name(&self) -> &'static str {
        "binance"
    }

    fn open(
        &mut self,
        market: &Market,
        request: &Request<'_>,
        now_ns: u64,
        replies: &mut Vec<Reply>,
    ) -> Result<Session, Response> {
        let _ = market;
        Session::open(&find(&self.names), self.limits, request, now_ns, replies)
    }

    fn on_message(
        &mut self,
        _market: &Market,
        session: &mut Session,
        incoming: Incoming<'_>,
        now_ns: u64,
        replies: &mut Vec<Reply>,
    ) {
        session.on_message(&find(&self.names), incoming, now_ns, replies);
    }

    fn deadline_ns(&self, session: &Session) -> u64 {
        session.deadline_ns()
    }

    fn on_deadline(
        &mut self,
        market: &Market,
        session: &mut Session,
        now_ns: u64,
        replies: &mut Vec<Reply>,
    ) {
        session.on_deadline(market.clock(), now_ns, replies);
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
        let stream = stream::Stream::of_id(stream);
        let mut name = Vec::new();
        stream.write_name(&self.names.lower[stream.symbol as usize], &mut name);
        String::from_utf8_lossy(&name).into_owned()
    }

    fn rest(&mut self, market: &Market, request: &Request<'_>, now_ns: u64) -> Response {
        rest::answer(&self.names, &mut self.limiter, market, request, now_ns)
    }

    fn too_many_requests(&self, retry_after_s: u64) -> Response {
        limiter::too_much_weight(retry_after_s)
    }
}
