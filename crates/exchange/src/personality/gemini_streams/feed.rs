//! The streams: what each event, and each tenth of a second, means to those who listen.

use super::super::batch::Batch;
use super::super::names::Names;
use super::super::Frames;
use super::message::{write_best, write_book, write_depth, write_trade};
use super::stream::{Kind, Stream};
use crate::hub::Subscriptions;
use crate::market::{Best, Event, Market, Symbol, SymbolId};
use crate::time::MILLISECOND_NS;

/// Time between messages of the fast streams.
const TICK_NS: u64 = 100 * MILLISECOND_NS;
/// Ticks between messages of the slow ones.
const SLOW_TICKS: u64 = 10;

struct SymbolFeed {
    best: Best,
    fast: Batch,
    slow: Batch,
}

/// What every message of a tick needs.
struct Desk<'a> {
    names: &'a Names,
    market: &'a Market,
    wanted: &'a Subscriptions,
    frames: &'a mut Frames,
    born_ns: u64,
}

/// The feed of all symbols.
pub struct Feed {
    symbols: Vec<SymbolFeed>,
    tick_ns: u64,
    ticks: u64,
}

impl Feed {
    /// For a market that has just opened.
    pub fn new(market: &Market) -> Self {
        let symbols = market.symbols().iter().map(|symbol| SymbolFeed {
            best: symbol.best(),
            fast: Batch::from(symbol.sequence + 1),
            slow: Batch::from(symbol.sequence + 1),
        });
        Self {
            symbols: symbols.collect(),
            tick_ns: TICK_NS,
            ticks: 0,
        }
    }

    pub fn tick_ns(&self) -> u64 {
        self.tick_ns
    }

    /// Best prices and trades. Allocates nothing once the buffers have grown.
    pub fn on_event(
        &mut self,
        names: &Names,
        market: &Market,
        event: &Event,
        wanted: &Subscriptions,
        frames: &mut Frames,
    ) {
        let id = event.symbol;
        let (name, symbol) = (names.of(id), market.symbol(id));
        let (born_ns, unix_ns) = (
            event.published_ns,
            market.clock().unix_ns(event.published_ns),
        );
        let stream = |kind| Stream { symbol: id, kind }.id();
        let trades = stream(Kind::Trade);
        if wanted.wants(trades) {
            for trade in event.trades() {
                frames.add(trades, trade.fill.trade, born_ns, |out| {
                    write_trade(out, name, symbol, &trade, unix_ns)
                });
            }
        }
        let feed = &mut self.symbols[id.0 as usize];
        let best = symbol.best();
        if feed.best != best {
            feed.best = best;
            let stream = stream(Kind::BookTicker);
            if wanted.wants(stream) {
                frames.add(stream, event.sequence, born_ns, |out| {
                    write_best(out, name, symbol, unix_ns)
                });
            }
        }
        feed.fast.note(event);
    }

    /// Changes of the book and best levels.
    pub fn on_tick(
        &mut self,
        names: &Names,
        market: &Market,
        wanted: &Subscriptions,
        frames: &mut Frames,
    ) {
        self.ticks += 1;
        let mut desk = Desk {
            names,
            market,
            wanted,
            frames,
            born_ns: self.tick_ns,
        };
        let slow = self.ticks % SLOW_TICKS == 0;
        for id in market.ids() {
            let feed = &mut self.symbols[id.0 as usize];
            feed.slow.absorb(&feed.fast);
            desk.send_book(id, &mut feed.fast, true);
            if slow {
                desk.send_book(id, &mut feed.slow, false);
            }
        }
        self.tick_ns += TICK_NS;
    }
}

impl Desk<'_> {
    /// The changes since the last batch, and the best levels, if there were changes.
    fn send_book(&mut self, id: SymbolId, batch: &mut Batch, fast: bool) {
        if batch.is_empty() {
            return;
        }
        let (name, symbol) = (self.names.of(id), self.market.symbol(id));
        let unix_ns = self.market.clock().unix_ns(self.born_ns);
        let first = batch.first();
        self.send(symbol, id, Kind::Depth { fast }, |out| {
            let (bids, asks) = batch.sides();
            let bids = bids.iter().rev().map(|(_, price)| *price);
            let asks = asks.iter().map(|(_, price)| *price);
            write_depth(out, name, symbol, unix_ns, first, bids, asks);
        });
        for count in [5, 10, 20] {
            self.send(symbol, id, Kind::Levels { count, fast }, |out| {
                write_book(out, symbol, count)
            });
        }
        batch.settle(symbol.sequence);
    }

    fn send(
        &mut self,
        symbol: &Symbol,
        id: SymbolId,
        kind: Kind,
        write: impl FnOnce(&mut Vec<u8>),
    ) {
        let stream = Stream { symbol: id, kind }.id();
        if self.wanted.wants(stream) {
            self.frames
                .add(stream, symbol.sequence, self.born_ns, write);
        }
    }
}
