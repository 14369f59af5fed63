//! Bithumb Global (bithumb.pro) as of the 2020 study of WebSocket connectors: topics by URL and by command, codes
//! 00006 for a first message and 00007 for what follows, and REST.
//!
//! Source: the exchange's `ws-api.md` and `rest-api.md` of 2020-10-16, and a recorded message of 2021-05-31. The
//! exchange is gone.

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
pub enum Topic {
    /// Changed levels.
    OrderBook,
    /// Each trade.
    Trade,
    /// 24 hours, on each trade.
    Ticker,
}

impl Topic {
    const ALL: [(&'static str, Self); 3] = [
        ("ORDERBOOK", Self::OrderBook),
        ("TRADE", Self::Trade),
        ("TICKER", Self::Ticker),
    ];

    fn name(self) -> &'static str {
        Self::ALL[self as usize].0
    }

    fn stream(self, symbol: SymbolId) -> StreamId {
        StreamId(symbol.0 << 2 | self as u32)
    }

    /// `ORDERBOOK:BTC-USDT`
    fn parse(text: &str, names: &Names) -> Option<(Self, SymbolId)> {
        let (topic, symbol) = text.split_once(':')?;
        let topic = Self::ALL.iter().find(|(name, _)| *name == topic)?.1;
        Some((topic, names.find(symbol)?))
    }
}

/// The personality.
pub struct BithumbGlobal {
    names: Names,
    feed: Feed,
}

impl BithumbGlobal {
    /// For a market that has just opened.
    pub fn new(market: &Market) -> Self {
        let names = Names::new(market, |instrument| {
            format!("{}-{}", instrument.base, instrument.quote_as("USDT"))
        });
        Self { names, feed: Feed }
    }
}

impl Personality for BithumbGlobal {
    type Session = Session;

    fn name(&self) -> &'static str {
        "bithumb-global"
    }

    fn open(
        &mut self,
        market: &Market,
        request: &Request<'_>,
        now_ns: u64,
        replies: &mut Vec<Reply>,
    ) -> Result<Session, Response> {
        if request.path.trim_end_matches('/') != "/message/realtime" {
            return Err(Response::new(404, r#"{"code":"404","msg":"Not Found"}"#));
        }
        Ok(Session::open(&self.names, market, request, now_ns, replies))
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

    fn stream_name(&self, stream: StreamId) -> String {
        let (topic, _) = Topic::ALL[(stream.0 & 3) as usize];
        format!("{topic}:{}", self.names.of(SymbolId(stream.0 >> 2)))
    }

    fn rest(&mut self, market: &Market, request: &Request<'_>, now_ns: u64) -> Response {
        rest::answer(&self.names, market, request, now_ns)
    }
}
