//! MarketDataIncrementalRefresh (X): what each event, and with Binance each tenth of a second, means to those who listen.
//!
//! The body is encoded once, from NoMDEntries (268) on; each session puts its header and MDReqID before it.

use super::super::batch::Batch;
use super::super::Frames;
use super::dialect::{entry_time, time, Dialect, Units};
use super::stream::{Kind, Stream};
use crate::encode::Encode;
use crate::hub::Subscriptions;
use crate::market::{Action, Best, Event, Lots, Market, Side, Symbol, Ticks, Trade};
use crate::time::{ExchangeClock, MILLISECOND_NS};
use feedbench_wire::fix::time::Precision;

/// Time between Binance's batches of changed levels.
const TICK_NS: u64 = 100 * MILLISECOND_NS;

struct SymbolFeed {
    best: Best,
    batch: Batch,
}

/// The feed of all symbols.
pub struct Feed {
    dialect: Dialect,
    symbols: Vec<SymbolFeed>,
    tick_ns: u64,
}

/// One entry of a book.
struct Entry<'a> {
    action: &'static str,
    side: Side,
    price: Ticks,
    quantity: Lots,
    /// Number of the event; of Binance's batches the first and the last.
    updates: (Option<u64>, u64),
    symbol: &'a str,
    unix_ns: u64,
    is_first: bool,
}

impl Feed {
    /// For a market that has just opened.
    pub fn new(dialect: Dialect, market: &Market) -> Self {
        let symbols = market.symbols().iter().map(|symbol| SymbolFeed {
            best: symbol.best(),
            batch: Batch::from(symbol.sequence + 1),
        });
        Self {
            dialect,
            symbols: symbols.collect(),
            tick_ns: match dialect {
                Dialect::Binance => TICK_NS - market.clock().opened_unix_ns % TICK_NS,
                _ => u64::MAX,
            },
        }
    }

    pub fn tick_ns(&self) -> u64 {
        self.tick_ns
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
        let number = event.symbol.0;
        let symbols = names.len() as u32;
        let stream = |kind| Stream::Symbol(number, kind).id(symbols);
        let symbol = market.symbol(event.symbol);
        let name = names[number as usize].as_str();
        let units = Units::of(self.dialect, &symbol.instrument);
        let born_ns = event.published_ns;
        let unix_ns = market.clock().unix_ns(born_ns);
        if wanted.wants(stream(Kind::Trades)) && matches!(event.action, Action::Take { .. }) {
            let first = event.trades().next().map_or(0, |trade| trade.fill.trade);
            frames.add(stream(Kind::Trades), first, born_ns, |out| {
                write_count(out, event.trades().count());
                for (index, trade) in event.trades().enumerate() {
                    let is_first = index == 0;
                    write_trade(
                        self.dialect,
                        out,
                        units,
                        name,
                        &trade,
                        market.clock(),
                        (unix_ns, is_first),
                    );
                }
            });
        }
        let feed = &mut self.symbols[number as usize];
        let (before, now) = (
            std::mem::replace(&mut feed.best, symbol.best()),
            symbol.best(),
        );
        if before != now && wanted.wants(stream(Kind::Top)) {
            frames.add(stream(Kind::Top), event.sequence, born_ns, |out| {
                let sides = [(Side::Bid, now[0]), (Side::Ask, now[1])];
                write_count(out, sides.iter().flat_map(|(_, best)| best).count());
                let mut is_first = true;
                for (side, best) in sides {
                    let Some((price, quantity)) = best else {
                        continue;
                    };
                    let entry = Entry {
                        action: "1",
                        side,
                        price,
                        quantity,
                        updates: (None, event.sequence),
                        symbol: name,
                        unix_ns,
                        is_first: std::mem::take(&mut is_first),
                    };
                    write_entry(self.dialect, out, units, &entry);
                }
            });
        }
        if self.dialect == Dialect::Binance {
            feed.batch.note(event);
        } else if wanted.wants(stream(Kind::Book)) {
            frames.add(stream(Kind::Book), event.sequence, born_ns, |out| {
                write_count(out, event.levels().count());
                for (index, (side, price)) in event.levels().enumerate() {
                    let quantity = symbol.book.quantity_at(side, price);
                    let entry = Entry {
                        action: change(event, symbol, side, price),
                        side,
                        price,
                        quantity,
                        updates: (None, event.sequence),
                        symbol: name,
                        unix_ns,
                        is_first: index == 0,
                    };
                    write_entry(self.dialect, out, units, &entry);
                }
            });
        }
    }

    /// Binance's batches.
    pub fn on_tick(
        &mut self,
        names: &[String],
        market: &Market,
        wanted: &Subscriptions,
        frames: &mut Frames,
    ) {
        let unix_ns = market.clock().unix_ns(self.tick_ns);
        for (id, feed) in market.ids().zip(&mut self.symbols) {
            if feed.batch.is_empty() {
                continue;
            }
            let symbol = market.symbol(id);
            let stream = Stream::Symbol(id.0, Kind::Book).id(names.len() as u32);
            if wanted.wants(stream) {
                let units = Units::of(self.dialect, &symbol.instrument);
                let updates = (Some(feed.batch.first()), symbol.sequence);
                let (bids, asks) = feed.batch.sides();
                frames.add(stream, symbol.sequence, self.tick_ns, |out| {
                    write_count(out, bids.len() + asks.len());
                    for (index, &(side, price)) in bids.iter().rev().chain(asks).enumerate() {
                        let quantity = symbol.book.quantity_at(side, price);
                        let entry = Entry {
                            action: if quantity == 0 { "2" } else { "1" },
                            side,
                            price,
                            quantity,
                            updates,
                            symbol: &names[id.0 as usize],
                            unix_ns,
                            is_first: index == 0,
                        };
                        write_entry(self.dialect, out, units, &entry);
                    }
                });
            }
            feed.batch.settle(symbol.sequence);
        }
        self.tick_ns += TICK_NS;
    }
}

/// MDUpdateAction of a level after an event: 0 new, 1 changed, 2 gone.
fn change(event: &Event, symbol: &Symbol, side: Side, price: Ticks) -> &'static str {
    match (symbol.book.level(side, price), &event.action) {
        (None, _) => "2",
        (Some(level), Action::Place { .. }) if level.orders == 1 => "0",
        _ => "1",
    }
}

fn write_count(out: &mut Vec<u8>, entries: usize) {
    out.text("268=").number(entries as u64).text("\x01");
}

fn entry_type(side: Side) -> &'static str {
    match side {
        Side::Bid => "269=0\x01",
        Side::Ask => "269=1\x01",
    }
}

fn write_entry(dialect: Dialect, out: &mut Vec<u8>, units: Units, entry: &Entry<'_>) {
    out.text("279=").text(entry.action).text("\x01");
    if dialect == Dialect::Binance {
        units.price(out, "270=", entry.price);
        if entry.quantity > 0 {
            units.quantity(out, "271=", entry.quantity);
        }
        out.text(entry_type(entry.side));
        // What is left out is the same as in the entry before.
        if entry.is_first {
            out.text("55=").text(entry.symbol).text("\x01");
            if let (Some(first), _) = entry.updates {
                out.text("25043=").number(first).text("\x01");
            }
            out.text("25044=").number(entry.updates.1).text("\x01");
        }
        return;
    }
    out.text(entry_type(entry.side));
    out.text("55=").text(entry.symbol).text("\x01");
    units.price(out, "270=", entry.price);
    units.quantity(out, "271=", entry.quantity);
    write_published(dialect, out, entry.unix_ns);
}

/// When it was published: FIX 4.4 has a date and a time for it, FIX 5.0 a time in one.
fn write_published(dialect: Dialect, out: &mut Vec<u8>, unix_ns: u64) {
    match dialect {
        Dialect::Coinbase => time(out, "60=", unix_ns, Precision::Microseconds),
        _ => entry_time(out, unix_ns),
    }
}

fn write_trade(
    dialect: Dialect,
    out: &mut Vec<u8>,
    units: Units,
    name: &str,
    trade: &Trade,
    clock: &ExchangeClock,
    (unix_ns, is_first): (u64, bool),
) {
    out.text("279=0\x01");
    let fill = &trade.fill;
    let aggressor = match trade.side {
        Side::Bid => "2446=1\x01",
        Side::Ask => "2446=2\x01",
    };
    if dialect == Dialect::Binance {
        units.price(out, "270=", fill.price);
        units.quantity(out, "271=", fill.quantity);
        out.text("269=2\x01");
        if is_first {
            out.text("55=").text(name).text("\x01");
        }
        let matched = clock.unix_ns(trade.matched_ns);
        time(out, "60=", matched, Precision::Microseconds);
        out.text("1003=").number(fill.trade).text("\x01");
        out.text(aggressor);
        return;
    }
    out.text("269=2\x01278=").number(fill.trade).text("\x01");
    out.text("55=").text(name).text("\x01");
    units.price(out, "270=", fill.price);
    units.quantity(out, "271=", fill.quantity);
    write_published(dialect, out, unix_ns);
    if dialect == Dialect::Coinbase {
        out.text(aggressor);
    }
}

/// The entries of a snapshot (W), from NoMDEntries on: `depth` levels of each side, all for 0, and the last trade.
pub fn write_snapshot(
    out: &mut Vec<u8>,
    dialect: Dialect,
    symbol: &Symbol,
    depth: Option<u64>,
    trade: bool,
) {
    let units = Units::of(dialect, &symbol.instrument);
    let most = match depth {
        None => 0,
        Some(0) => usize::MAX,
        Some(depth) => usize::try_from(depth).unwrap_or(usize::MAX),
    };
    let counts = [Side::Bid, Side::Ask].map(|side| symbol.book.level_count(side).min(most));
    write_count(out, counts[0] + counts[1] + usize::from(trade));
    for side in [Side::Bid, Side::Ask] {
        for (price, level) in symbol.book.levels(side).take(most) {
            out.text(entry_type(side));
            units.price(out, "270=", price);
            units.quantity(out, "271=", level.quantity);
        }
    }
    if trade {
        out.text("269=2\x01");
        units.price(out, "270=", symbol.last().fill.price);
        units.quantity(out, "271=", symbol.last().fill.quantity);
    }
}
