//! Gemini's market data v1 (subscription by URL) and v2 (subscription by message), and REST.
//!
//! Source: docs.gemini.com, now archived there (2026-11), and recorded messages. v1 numbers each connection's messages
//! from zero, heartbeats included; v2 has neither numbers nor times in its level 2.

mod feed;
pub(super) mod rest;
mod v1;
mod v2;

use super::names::Names;
use super::{Frames, Incoming, Personality, Reply, Request, Response, StreamId};
use crate::hub::Subscriptions;
use crate::market::{Event, Market, SymbolId};
use crate::time::SECOND_NS;
use feed::Feed;
use rest::Rest;

/// Time between heartbeats.
const HEARTBEAT_NS: u64 = 5 * SECOND_NS;

/// What a v1 connection wants to be told; by itself, a stream of each symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Filter {
    /// Only the best prices instead of all levels.
    pub top_of_book: bool,
    /// Changes of bids.
    pub bids: bool,
    /// Changes of asks.
    pub offers: bool,
    /// Trades.
    pub trades: bool,
}

impl Filter {
    fn bits(self) -> u32 {
        [self.top_of_book, self.bids, self.offers, self.trades]
            .iter()
            .rev()
            .fold(0, |bits, &on| bits << 1 | u32::from(on))
    }

    fn of_bits(bits: u32) -> Self {
        let on = |place: u32| bits >> place & 1 == 1;
        Self {
            top_of_book: on(0),
            bids: on(1),
            offers: on(2),
            trades: on(3),
        }
    }
}

/// Candles of v2: name and length in minutes.
const CANDLES: [(&str, u64); 7] = [
    ("1m", 1),
    ("5m", 5),
    ("15m", 15),
    ("30m", 30),
    ("1h", 60),
    ("6h", 360),
    ("1d", 1_440),
];

/// What a stream tells of one symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Channel {
    V1(Filter),
    /// Levels and trades of v2.
    Level2,
    /// By the place of its length in [`CANDLES`].
    Candles(usize),
}

impl Channel {
    fn stream(self, symbol: SymbolId) -> StreamId {
        let kind = match self {
            Self::V1(filter) => filter.bits(),
            Self::Level2 => 16,
            Self::Candles(index) => 17 + index as u32,
        };
        StreamId(symbol.0 << 5 | kind)
    }
}

/// One connection, of either version.
#[derive(Debug)]
pub enum Session {
    /// By URL.
    V1(v1::Session),
    /// By message.
    V2(v2::Session),
}

/// `BTCUSD`; requests spell symbols in either case.
pub(super) fn names(market: &Market) -> Names {
    Names::new(market, |instrument| {
        format!("{}{}", instrument.base, instrument.quote_as("USD"))
    })
}

/// The personality.
pub struct Gemini {
    names: Names,
    feed: Feed,
    rest: Rest,
}

impl Gemini {
    /// For a market that has just opened.
    pub fn new(market: &Market) -> Self {
        Self {
            names: names(market),
            feed: Feed::new(market),
            rest: Rest::default(),
        }
    }
}

impl Personality for Gemini {
    type Session = Session;

    fn name(&self) -> &'static str {
        "gemini"
    }

    fn open(
        &mut self,
        market: &Market,
        request: &Request<'_>,
        now_ns: u64,
        replies: &mut Vec<Reply>,
    ) -> Result<Session, Response> {
        let path = request.path.trim_end_matches('/');
        if path == "/v2/marketdata" {
            return Ok(Session::V2(v2::Session::new(now_ns)));
        }
        let Some(symbol) = path.strip_prefix("/v1/marketdata/") else {
            return Err(failure(
                404,
                "EndpointNotFound",
                "API entry point not found",
            ));
        };
        let Some(id) = self.names.find(&symbol.to_ascii_uppercase()) else {
            let message = format!("Supplied value '{symbol}' is not a valid symbol");
            return Err(failure(400, "InvalidSymbol", &message));
        };
        Ok(Session::V1(v1::Session::open(
            market.symbol(id),
            id,
            request,
            now_ns,
            replies,
        )))
    }

    fn on_message(
        &mut self,
        market: &Market,
        session: &mut Session,
        incoming: Incoming<'_>,
        now_ns: u64,
        replies: &mut Vec<Reply>,
    ) {
        match (session, incoming) {
            (Session::V2(session), Incoming::Text(text) | Incoming::Binary(text)) => {
                session.on_message(&self.names, market, text, now_ns, replies);
            }
            // A v1 connection says all it has to say in its URL.
            (Session::V1(_), _)
            | (Session::V2(_), Incoming::Ping | Incoming::Pong(_) | Incoming::Bytes(_)) => {}
        }
    }

    fn deadline_ns(&self, session: &Session) -> u64 {
        match session {
            Session::V1(session) => session.deadline_ns(),
            Session::V2(session) => session.deadline_ns(),
        }
    }

    fn on_deadline(
        &mut self,
        market: &Market,
        session: &mut Session,
        now_ns: u64,
        replies: &mut Vec<Reply>,
    ) {
        match session {
            Session::V1(session) => session.on_deadline(now_ns, replies),
            Session::V2(session) => session.on_deadline(market, now_ns, replies),
        }
    }

    fn number(&self, session: &mut Session, _now_ns: u64) -> u64 {
        match session {
            Session::V1(session) => session.number(),
            Session::V2(_) => 0,
        }
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
        let name = self.names.of(SymbolId(stream.0 >> 5));
        match stream.0 & 31 {
            16 => format!("l2:{name}"),
            kind @ 17.. => format!("candles_{}:{name}", CANDLES[kind as usize - 17].0),
            bits => {
                let filter = Filter::of_bits(bits);
                let chosen = [
                    (filter.top_of_book, "top_of_book"),
                    (filter.bids, "bids"),
                    (filter.offers, "offers"),
                    (filter.trades, "trades"),
                ];
                let chosen: Vec<&str> = chosen
                    .iter()
                    .filter(|(on, _)| *on)
                    .map(|(_, word)| *word)
                    .collect();
                format!("v1/marketdata/{name}:{}", chosen.join(","))
            }
        }
    }

    fn rest(&mut self, market: &Market, request: &Request<'_>, now_ns: u64) -> Response {
        self.rest.answer(&self.names, market, request, now_ns)
    }

    fn too_many_requests(&self, retry_after_s: u64) -> Response {
        rest::too_many_requests(retry_after_s)
    }
}

fn failure(status: u16, reason: &str, message: &str) -> Response {
    use crate::encode::Encode;
    let mut body = Vec::new();
    body.text(r#"{"result":"error","reason":"#)
        .quoted(reason)
        .text(r#","message":"#)
        .quoted(message)
        .push(b'}');
    Response::new(status, body)
}
