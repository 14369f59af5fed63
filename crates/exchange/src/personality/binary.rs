//! Personalities that send binary messages: one market, one way to subscribe, and an [`Encoding`] that writes.
//!
//! Subscriptions, limits, pings and REST are Binance's for both: its SBE streams share them by its documents, and the
//! ITCH-like one has no exchange of its own that it could ask. Streams are binary frames, answers to clients are text.

mod feed;
mod itch;
mod sbe;
mod stream;

use super::binance::limiter::{too_much_weight, Limiter};
use super::binance::{rest, Find, Names, Session, SessionLimits};
use super::{Frames, Incoming, Personality, Reply, Request, Response, StreamId};
use crate::hub::Subscriptions;
use crate::market::{Event, Fill, Instrument, Lots, Market, Side, Ticks};
use feed::Feed;
use feedbench_wire::frame::Opcode;
pub use itch::ItchLike;
pub use sbe::Sbe;
use stream::Stream;
pub use stream::{Kind, Pace};

/// Binance's SBE market data streams.
pub type BinanceSbe = Binary<Sbe>;
/// Messages of fixed width as Nasdaq's ITCH has them.
pub type Itch = Binary<ItchLike>;

/// What every message says beside its numbers.
#[derive(Clone, Copy, Debug)]
pub struct About<'a> {
    /// How the symbol is called.
    pub name: &'a str,
    /// Its number, from 0.
    pub number: u32,
    /// Its units.
    pub instrument: &'a Instrument,
    /// When it was published, by the exchange's clock.
    pub unix_ns: u64,
}

/// Trades of one taker.
#[derive(Clone, Copy, Debug)]
pub struct Trades<'a> {
    /// Never empty.
    pub fills: &'a [Fill],
    /// The taker's side.
    pub side: Side,
    /// When they were matched, by the exchange's clock.
    pub unix_ns: u64,
}

/// Levels of one book, or their changes; a quantity of zero takes a level away.
#[derive(Clone, Copy, Debug)]
pub struct Levels<'a> {
    /// First and last update that a message of changes tells; of a snapshot only the last.
    pub updates: (Option<u64>, u64),
    /// In the order in which they are told.
    pub bids: &'a [(Ticks, Lots)],
    /// Likewise.
    pub asks: &'a [(Ticks, Lots)],
}

/// How messages are written. Nothing here allocates, except when the buffer itself grows.
pub trait Encoding: 'static {
    /// The personality's name.
    const NAME: &'static str;
    /// Its streams by what follows the `@`; a stream's number holds its place in this list.
    const STREAMS: &'static [(&'static str, Kind)];

    /// All trades of one event.
    fn trades(out: &mut Vec<u8>, about: About<'_>, trades: Trades<'_>);

    /// The best prices with their quantities, as they are after this update.
    fn best(out: &mut Vec<u8>, about: About<'_>, update: u64, best: [(Ticks, Lots); 2]);

    /// Levels of a book.
    fn levels(out: &mut Vec<u8>, about: About<'_>, levels: Levels<'_>);
}

/// The personality.
pub struct Binary<E: Encoding> {
    names: Names,
    feed: Feed<E>,
    limits: SessionLimits,
    limiter: Limiter,
}

impl<E: Encoding> Binary<E> {
    /// For a market that has just opened.
    pub fn new(market: &Market) -> Self {
        Self {
            names: Names::new(market),
            feed: Feed::new(market),
            limits: SessionLimits::default(),
            limiter: Limiter::default(),
        }
    }
}

/// All streams of these symbols; a connection gets them alike, combined or not.
fn find<E: Encoding>(names: &Names) -> impl Fn(&str, bool, bool) -> Option<StreamId> + '_ {
    |name, _, _| Stream::parse::<E>(name, &names.by_lower).map(Stream::id)
}

impl<E: Encoding> Personality for Binary<E> {
    type Session = Session;

    fn name(&self) -> &'static str {
        E::NAME
    }

    fn opcode(&self) -> Opcode {
        Opcode::Binary
    }

    fn open(
        &mut self,
        _market: &Market,
        request: &Request<'_>,
        now_ns: u64,
        replies: &mut Vec<Reply>,
    ) -> Result<Session, Response> {
        let find: Find<'_> = &find::<E>(&self.names);
        Session::open(find, self.limits, request, now_ns, replies)
    }

    fn on_message(
        &mut self,
        _market: &Market,
        session: &mut Session,
        incoming: Incoming<'_>,
        now_ns: u64,
        replies: &mut Vec<Reply>,
    ) {
        session.on_message(&find::<E>(&self.names), incoming, now_ns, replies);
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
            .on_event(&self.names.upper, market, event, wanted, frames);
    }

    fn tick_ns(&self) -> u64 {
        self.feed.tick_ns()
    }

    fn on_tick(&mut self, market: &Market, wanted: &Subscriptions, frames: &mut Frames) {
        self.feed.on_tick(&self.names.upper, market, wanted, frames);
    }

    fn stream_name(&self, stream: StreamId) -> String {
        let stream = Stream::of_id(stream);
        let (kind, _) = E::STREAMS[stream.place as usize];
        format!("{}@{kind}", self.names.lower[stream.symbol as usize])
    }

    fn rest(&mut self, market: &Market, request: &Request<'_>, now_ns: u64) -> Response {
        rest::answer(&self.names, &mut self.limiter, market, request, now_ns)
    }

    fn too_many_requests(&self, retry_after_s: u64) -> Response {
        too_much_weight(retry_after_s)
    }
}
