//! What each event, and each tick of the clock, means to those who listen.

use super::super::batch::Batch;
use super::super::Frames;
use super::stream::{Kind, Pace, Stream};
use super::{About, Encoding, Levels, Trades};
use crate::hub::Subscriptions;
use crate::market::{Action, Best, Event, Lots, Market, Side, Symbol, SymbolId, Ticks};
use std::marker::PhantomData;

/// What the streams of one symbol have told.
struct SymbolFeed {
    best: Best,
    /// By place in [`Encoding::STREAMS`]; those that tell in real time stay empty.
    batches: Vec<Batch>,
}

/// The feed of all symbols.
pub struct Feed<E> {
    symbols: Vec<SymbolFeed>,
    /// When each stream is due that goes by the clock, by place in [`Encoding::STREAMS`]; `u64::MAX` for the others.
    due_ns: Vec<u64>,
    bids: Vec<(Ticks, Lots)>,
    asks: Vec<(Ticks, Lots)>,
    encoding: PhantomData<E>,
}

/// Time between messages of a stream that goes by the clock.
fn every_ns(kind: Kind) -> Option<u64> {
    match kind {
        Kind::Changes(Pace::Every(every_ns)) | Kind::Snapshot { every_ns, .. } => Some(every_ns),
        Kind::Trades | Kind::Best | Kind::Changes(Pace::RealTime) => None,
    }
}

impl<E: Encoding> Feed<E> {
    /// For a market that has just opened.
    pub fn new(market: &Market) -> Self {
        let symbols = market.symbols().iter().map(|symbol| SymbolFeed {
            best: symbol.best(),
            batches: vec![Batch::from(symbol.sequence + 1); E::STREAMS.len()],
        });
        let opened_ns = market.clock().opened_unix_ns;
        let due_ns = E::STREAMS.iter().map(|(_, kind)| {
            every_ns(*kind).map_or(u64::MAX, |every_ns| every_ns - opened_ns % every_ns)
        });
        Self {
            symbols: symbols.collect(),
            due_ns: due_ns.collect(),
            bids: Vec::new(),
            asks: Vec::new(),
            encoding: PhantomData,
        }
    }

    pub fn tick_ns(&self) -> u64 {
        self.due_ns.iter().copied().min().unwrap_or(u64::MAX)
    }

    /// Streams in real time. Allocates nothing once the buffers have grown.
    pub fn on_event(
        &mut self,
        names: &[String],
        market: &Market,
        event: &Event,
        wanted: &Subscriptions,
        frames: &mut Frames,
    ) {
        let symbol = market.symbol(event.symbol);
        let feed = &mut self.symbols[event.symbol.0 as usize];
        let best = symbol.best();
        let best_changed = std::mem::replace(&mut feed.best, best) != best;
        let about = about(names, market, event.symbol, event.published_ns);
        for (place, (_, kind)) in (0..).zip(E::STREAMS) {
            if every_ns(*kind).is_some() {
                feed.batches[place as usize].note(event);
            }
            let stream = Stream {
                symbol: event.symbol.0,
                place,
            };
            if !wanted.wants(stream.id()) {
                continue;
            }
            let mut add = |sequence: u64, write: &dyn Fn(&mut Vec<u8>)| {
                frames.add(stream.id(), sequence, event.published_ns, write);
            };
            match (kind, &event.action) {
                (Kind::Trades, Action::Take { side, fills, .. }) => {
                    let trades = Trades {
                        fills,
                        side: *side,
                        unix_ns: market.clock().unix_ns(event.matched_ns),
                    };
                    add(fills[0].trade, &|out| E::trades(out, about, trades));
                }
                (Kind::Best, _) => {
                    if let ([Some(bid), Some(ask)], true) = (best, best_changed) {
                        let update = event.sequence;
                        add(update, &|out| E::best(out, about, update, [bid, ask]));
                    }
                }
                (Kind::Changes(Pace::RealTime), _) => {
                    set(&mut self.bids, symbol, event.levels(), Side::Bid);
                    set(&mut self.asks, symbol, event.levels(), Side::Ask);
                    let levels = Levels {
                        updates: (Some(event.sequence), event.sequence),
                        bids: &self.bids,
                        asks: &self.asks,
                    };
                    add(event.sequence, &|out| E::levels(out, about, levels));
                }
                _ => {}
            }
        }
    }

    /// Streams that go by the clock.
    pub fn on_tick(
        &mut self,
        names: &[String],
        market: &Market,
        wanted: &Subscriptions,
        frames: &mut Frames,
    ) {
        let now_ns = self.tick_ns();
        for (place, (_, kind)) in (0..).zip(E::STREAMS) {
            let Some(every_ns) = every_ns(*kind).filter(|_| self.due_ns[place] == now_ns) else {
                continue;
            };
            self.due_ns[place] += every_ns;
            for id in market.ids() {
                let symbol = market.symbol(id);
                let batch = &mut self.symbols[id.0 as usize].batches[place];
                let stream = Stream {
                    symbol: id.0,
                    place: place as u32,
                };
                if !batch.is_empty() && wanted.wants(stream.id()) {
                    let first = match kind {
                        Kind::Snapshot { levels, .. } => {
                            best_levels(&mut self.bids, symbol, Side::Bid, *levels);
                            best_levels(&mut self.asks, symbol, Side::Ask, *levels);
                            None
                        }
                        _ => {
                            let (bids, asks) = batch.sides();
                            set(
                                &mut self.bids,
                                symbol,
                                bids.iter().rev().copied(),
                                Side::Bid,
                            );
                            set(&mut self.asks, symbol, asks.iter().copied(), Side::Ask);
                            Some(batch.first())
                        }
                    };
                    let levels = Levels {
                        updates: (first, symbol.sequence),
                        bids: &self.bids,
                        asks: &self.asks,
                    };
                    let about = about(names, market, id, now_ns);
                    frames.add(stream.id(), symbol.sequence, now_ns, |out| {
                        E::levels(out, about, levels);
                    });
                }
                batch.settle(symbol.sequence);
            }
        }
    }
}

fn about<'a>(names: &'a [String], market: &'a Market, id: SymbolId, born_ns: u64) -> About<'a> {
    About {
        name: &names[id.0 as usize],
        number: id.0,
        instrument: &market.symbol(id).instrument,
        unix_ns: market.clock().unix_ns(born_ns),
    }
}

/// Puts those levels of one side into a list, with what stands there now.
fn set(
    list: &mut Vec<(Ticks, Lots)>,
    symbol: &Symbol,
    levels: impl Iterator<Item = (Side, Ticks)>,
    side: Side,
) {
    list.clear();
    let own = levels.filter(|(of, _)| *of == side);
    list.extend(own.map(|(_, price)| (price, symbol.book.quantity_at(side, price))));
}

fn best_levels(list: &mut Vec<(Ticks, Lots)>, symbol: &Symbol, side: Side, count: usize) {
    list.clear();
    let levels = symbol.book.levels(side).take(count);
    list.extend(levels.map(|(price, level)| (price, level.quantity)));
}
