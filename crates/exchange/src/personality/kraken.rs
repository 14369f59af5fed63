//! Kraken, WebSocket v2: ticker, book with checksums, trade, ohlc and instrument by message; v1: ticker, trade, spread,
//! book and ohlc in lists; and REST.
//!
//! Source: docs.kraken.com/api (2026-11). Prices and quantities are JSON numbers with all the decimals of their pair,
//! which the checksum relies on.

pub mod checksum;
mod feed;
mod rest;
mod session;
mod v1;

use super::names::Names;
use super::{Frames, Incoming, Personality, Reply, Request, Response, StreamId};
use crate::hub::Subscriptions;
use crate::market::{Event, Market, SymbolId};
use feed::Feed;

/// What a stream tells of one pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// On each trade.
    TickerOnTrades,
    /// On each change of the best prices.
    TickerOnBest,
    /// The book to a depth, by its place in [`DEPTHS`].
    Book(usize),
    /// Each trade.
    Trade,
    /// Candles, by the place of their length in [`INTERVALS`].
    Ohlc(usize),
    /// Reference data of all pairs.
    Instrument,
}

/// Depths to which a book can be had.
pub const DEPTHS: [usize; 5] = [10, 25, 100, 500, 1_000];
/// Lengths of candles in minutes.
pub const INTERVALS: [u64; 9] = [1, 5, 15, 30, 60, 240, 1_440, 10_080, 21_600];

impl Channel {
    fn stream(self, symbol: SymbolId) -> StreamId {
        let kind = match self {
            Self::TickerOnTrades => 0,
            Self::TickerOnBest => 1,
            Self::Trade => 2,
            Self::Instrument => 3,
            Self::Book(index) => 4 + index as u32,
            Self::Ohlc(index) => 9 + index as u32,
        };
        StreamId(symbol.0 << 6 | kind)
    }

    fn name(self) -> &'static str {
        match self {
            Self::TickerOnTrades | Self::TickerOnBest => "ticker",
            Self::Book(_) => "book",
            Self::Trade => "trade",
            Self::Ohlc(_) => "ohlc",
            Self::Instrument => "instrument",
        }
    }
}

/// What a stream of v1 tells of one pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum V1Channel {
    /// On each trade.
    Ticker,
    /// Each trade.
    Trade,
    /// On each change of the best prices.
    Spread,
    /// The book to a depth, by its place in [`DEPTHS`].
    Book(usize),
    /// Candles, by the place of their length in [`INTERVALS`].
    Ohlc(usize),
}

impl V1Channel {
    fn stream(self, symbol: SymbolId) -> StreamId {
        let kind = match self {
            Self::Ticker => 32,
            Self::Trade => 33,
            Self::Spread => 34,
            Self::Book(index) => 35 + index as u32,
            Self::Ohlc(index) => 40 + index as u32,
        };
        StreamId(symbol.0 << 6 | kind)
    }
}

/// One connection, of either version.
#[derive(Debug)]
pub enum Session {
    /// Lists.
    V1(v1::Session),
    /// Objects.
    V2(session::Session),
}

/// The personality.
pub struct Kraken {
    names: Names,
    /// With the names that v1 gives to assets.
    old_names: Names,
    feed: Feed,
    connections: u64,
}

impl Kraken {
    /// For a market that has just opened.
    pub fn new(market: &Market) -> Self {
        let names = Names::new(market, |instrument| {
            format!("{}/{}", instrument.base, instrument.quote_as("USD"))
        });
        let old_names = Names::new(market, |instrument| {
            let [_, _, name] = rest::pair_names(instrument);
            name
        });
        Self {
            names,
            old_names,
            feed: Feed::new(market),
            connections: 0,
        }
    }
}

impl Personality for Kraken {
    type Session = Session;

    fn name(&self) -> &'static str {
        "kraken"
    }

    fn open(
        &mut self,
        _market: &Market,
        request: &Request<'_>,
        _now_ns: u64,
        replies: &mut Vec<Reply>,
    ) -> Result<Session, Response> {
        self.connections += 1;
        match request.path.trim_end_matches('/') {
            "/v2" => Ok(Session::V2(session::Session::open(
                self.connections,
                replies,
            ))),
            "" => Ok(Session::V1(v1::Session::open(self.connections, replies))),
            _ => Err(Response::new(404, "Not found")),
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
        let (Incoming::Text(text) | Incoming::Binary(text)) = incoming else {
            return;
        };
        match session {
            Session::V1(session) => {
                session.on_message(&self.old_names, market, text, now_ns, replies)
            }
            Session::V2(session) => session.on_message(&self.names, market, text, now_ns, replies),
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
        _market: &Market,
        session: &mut Session,
        now_ns: u64,
        replies: &mut Vec<Reply>,
    ) {
        match session {
            Session::V1(session) => session.on_deadline(now_ns, replies),
            Session::V2(session) => session.on_deadline(now_ns, replies),
        }
    }

    fn number(&self, session: &mut Session, now_ns: u64) -> u64 {
        match session {
            Session::V1(session) => session.was_sent(now_ns),
            Session::V2(session) => session.was_sent(now_ns),
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
        self.feed.on_event(
            [&self.names, &self.old_names],
            market,
            event,
            wanted,
            frames,
        );
    }

    fn tick_ns(&self) -> u64 {
        self.feed.tick_ns()
    }

    fn on_tick(&mut self, market: &Market, wanted: &Subscriptions, frames: &mut Frames) {
        self.feed
            .on_tick([&self.names, &self.old_names], market, wanted, frames);
    }

    fn stream_name(&self, stream: StreamId) -> String {
        let pair = self.names.of(SymbolId(stream.0 >> 6));
        let channel = match stream.0 & 63 {
            0 | 1 => "ticker".to_owned(),
            2 => "trade".to_owned(),
            3 => return "instrument".to_owned(),
            kind @ 4..=8 => format!("book-{}", DEPTHS[kind as usize - 4]),
            kind @ 9..=17 => format!("ohlc-{}", INTERVALS[kind as usize - 9]),
            32 => "v1 ticker".to_owned(),
            33 => "v1 trade".to_owned(),
            34 => "v1 spread".to_owned(),
            kind @ 35..=39 => format!("v1 book-{}", DEPTHS[kind as usize - 35]),
            kind => format!("v1 ohlc-{}", INTERVALS[kind as usize - 40]),
        };
        format!("{channel}:{pair}")
    }

    fn rest(&mut self, market: &Market, request: &Request<'_>, now_ns: u64) -> Response {
        rest::answer(market, request, now_ns)
    }
}
