//! The topics' messages.

use super::super::names::Names;
use super::super::Frames;
use super::topic::{Kind, Topic, DEPTHS, INTERVALS};
use crate::encode::Encode;
use crate::hub::Subscriptions;
use crate::market::statistics::Candle;
use crate::market::{Event, Instrument, Lots, Market, Side, Symbol, SymbolId, Ticks};
use crate::time::{ExchangeClock, MILLISECOND_NS, SECOND_NS};
use std::cmp::Ordering;

/// Time between batches of the fastest topic.
const TICK_NS: u64 = 10 * MILLISECOND_NS;
/// Ticks between tickers.
const TICKER_TICKS: u64 = 5;
/// Ticks between candles.
const CANDLE_TICKS: u64 = 100;
/// Candles leave so many ticks after the whole second: a candle that closes has all its trades by then, which take a
/// moment to be published.
const CANDLE_PHASE: u64 = 10;
/// The best prices are told again when they stood still for so long.
const REPEATED_AFTER_NS: u64 = 3 * SECOND_NS;
const MINUTE_NS: u64 = 60 * SECOND_NS;

type Level = (Ticks, Lots);

/// A book as its subscribers know it: as it was when its last message was made.
#[derive(Clone, Debug)]
struct Told {
    /// Bids and asks, best first.
    sides: [Vec<Level>; 2],
    update: u64,
    sequence: u64,
    matched_ns: u64,
    at_ns: u64,
}

impl Told {
    fn of(symbol: &Symbol, depth: usize) -> Self {
        Self {
            sides: [Side::Bid, Side::Ask].map(|side| top(symbol, side, depth).collect()),
            update: symbol.sequence + 1,
            sequence: symbol.sequence,
            matched_ns: symbol.last().matched_ns,
            at_ns: 0,
        }
    }

    /// Takes over how the book stands. Leaves in `changes` what is other than before, with nothing for levels that are
    /// gone or no longer among the best; true if there is anything.
    fn move_on(
        &mut self,
        symbol: &Symbol,
        depth: usize,
        (matched_ns, at_ns): (u64, u64),
        changes: &mut [Vec<Level>; 2],
        scratch: &mut Vec<Level>,
    ) -> bool {
        self.sequence = symbol.sequence;
        for (index, side) in [Side::Bid, Side::Ask].into_iter().enumerate() {
            scratch.clear();
            scratch.extend(top(symbol, side, depth));
            changes[index].clear();
            differences(side, &self.sides[index], scratch, &mut changes[index]);
            std::mem::swap(&mut self.sides[index], scratch);
        }
        let is_changed = changes.iter().any(|side| !side.is_empty());
        if is_changed {
            self.update += 1;
            (self.matched_ns, self.at_ns) = (matched_ns, at_ns);
        }
        is_changed
    }
}

fn top(symbol: &Symbol, side: Side, depth: usize) -> impl Iterator<Item = Level> + '_ {
    let levels = symbol.book.levels(side).take(depth);
    levels.map(|(price, level)| (price, level.quantity))
}

/// What turns one list of levels, best first, into another.
fn differences(side: Side, before: &[Level], after: &[Level], into: &mut Vec<Level>) {
    let (mut old, mut new) = (before.iter().peekable(), after.iter().peekable());
    loop {
        let order = match (old.peek(), new.peek()) {
            (None, None) => return,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(known), Some(level)) => match side {
                Side::Bid => level.0.cmp(&known.0),
                Side::Ask => known.0.cmp(&level.0),
            },
        };
        let known = old.next_if(|_| order != Ordering::Greater);
        let level = new.next_if(|_| order != Ordering::Less);
        match (known, level) {
            (Some(gone), None) => into.push((gone.0, 0)),
            (known, Some(level)) if known != Some(level) => into.push(*level),
            _ => {}
        }
    }
}

struct SymbolFeed {
    books: [Told; DEPTHS.len()],
    /// Of the last event.
    matched_ns: u64,
    ticker_is_due: bool,
    candles_are_due: bool,
}

/// The feed of all symbols.
pub struct Feed {
    symbols: Vec<SymbolFeed>,
    tick_ns: u64,
    ticks: u64,
    changes: [Vec<Level>; 2],
    scratch: Vec<Level>,
}

impl Feed {
    pub fn new(market: &Market) -> Self {
        let symbols = market.symbols().iter().map(|symbol| SymbolFeed {
            books: DEPTHS.map(|(depth, _)| Told::of(symbol, depth)),
            matched_ns: 0,
            ticker_is_due: false,
            candles_are_due: false,
        });
        // Batches leave at whole hundredths of the true second, so that candles end where they should.
        let opened_ns = market.clock().opened_unix_ns;
        Self {
            symbols: symbols.collect(),
            tick_ns: TICK_NS - opened_ns % TICK_NS,
            ticks: opened_ns / TICK_NS % CANDLE_TICKS,
            changes: Default::default(),
            scratch: Vec::new(),
        }
    }

    pub fn tick_ns(&self) -> u64 {
        self.tick_ns
    }

    /// Trades leave at once. Allocates nothing once the buffers have grown.
    pub fn on_event(
        &mut self,
        names: &Names,
        market: &Market,
        event: &Event,
        wanted: &Subscriptions,
        frames: &mut Frames,
    ) {
        let feed = &mut self.symbols[event.symbol.0 as usize];
        feed.matched_ns = event.matched_ns;
        let Some(first) = event.trades().next() else {
            return;
        };
        (feed.ticker_is_due, feed.candles_are_due) = (true, true);
        let topic = Topic {
            symbol: event.symbol,
            kind: Kind::Trades,
        };
        if wanted.wants(topic.id()) {
            let born_ns = event.published_ns;
            frames.add(topic.id(), first.fill.trade, born_ns, |out| {
                write_trades(out, names, market, event)
            });
        }
    }

    /// Books, tickers and candles.
    pub fn on_tick(
        &mut self,
        names: &Names,
        market: &Market,
        wanted: &Subscriptions,
        frames: &mut Frames,
    ) {
        self.ticks += 1;
        let (ticks, now_ns) = (self.ticks, self.tick_ns);
        for id in market.ids() {
            for (index, (_, every)) in DEPTHS.iter().enumerate() {
                if ticks % every == 0 {
                    self.send_book(names, market, (id, index), wanted, frames);
                }
            }
            let feed = &mut self.symbols[id.0 as usize];
            if ticks % TICKER_TICKS == 0 && std::mem::take(&mut feed.ticker_is_due) {
                let topic = Topic {
                    symbol: id,
                    kind: Kind::Ticker,
                };
                if wanted.wants(topic.id()) {
                    let trade = market.symbol(id).last().fill.trade;
                    frames.add(topic.id(), trade, now_ns, |out| {
                        write_ticker(out, names, market, id, now_ns)
                    });
                }
            }
            if ticks % CANDLE_TICKS == CANDLE_PHASE {
                let is_due = std::mem::take(&mut feed.candles_are_due);
                send_candles(names, market, (id, now_ns), is_due, wanted, frames);
            }
        }
        self.tick_ns += TICK_NS;
    }

    fn send_book(
        &mut self,
        names: &Names,
        market: &Market,
        (id, index): (SymbolId, usize),
        wanted: &Subscriptions,
        frames: &mut Frames,
    ) {
        let symbol = market.symbol(id);
        let feed = &mut self.symbols[id.0 as usize];
        let (told, depth, now_ns) = (&mut feed.books[index], DEPTHS[index].0, self.tick_ns);
        let is_changed = told.sequence != symbol.sequence
            && told.move_on(
                symbol,
                depth,
                (feed.matched_ns, now_ns),
                &mut self.changes,
                &mut self.scratch,
            );
        // The best prices come whole each time.
        let is_repeated = depth == 1 && !is_changed && now_ns >= told.at_ns + REPEATED_AFTER_NS;
        if is_repeated {
            told.at_ns = now_ns;
        }
        let topic = Topic {
            symbol: id,
            kind: Kind::Book(index),
        };
        if !(is_changed || is_repeated) || !wanted.wants(topic.id()) {
            return;
        }
        let (kind, sides) = match depth {
            1 => ("snapshot", &told.sides),
            _ => ("delta", &self.changes),
        };
        let told = &*told;
        frames.add(topic.id(), told.update, now_ns, |out| {
            write_book(out, names, market, (topic, kind, now_ns), told, sides)
        });
    }

    /// What a new subscriber of a book gets first: the book as the others know it, whom the next change finds there.
    pub fn write_snapshot(
        &self,
        out: &mut Vec<u8>,
        names: &Names,
        market: &Market,
        topic: Topic,
        now_ns: u64,
    ) {
        if let Kind::Book(index) = topic.kind {
            let told = &self.symbols[topic.symbol.0 as usize].books[index];
            let head = (topic, "snapshot", now_ns);
            write_book(out, names, market, head, told, &told.sides);
        }
    }

    /// The deepest book as it was told last, cut to so many levels, for REST.
    pub fn write_told(
        &self,
        out: &mut Vec<u8>,
        names: &Names,
        market: &Market,
        (id, limit): (SymbolId, usize),
        now_ns: u64,
    ) {
        let told = &self.symbols[id.0 as usize].books[DEPTHS.len() - 1];
        let instrument = &market.symbol(id).instrument;
        let clock = market.clock();
        out.text(r#"{"s":""#).text(names.of(id)).push(b'"');
        for (key, side) in [(r#","b":"#, &told.sides[0]), (r#","a":"#, &told.sides[1])] {
            out.text(key);
            write_levels(out, instrument, &side[..limit.min(side.len())]);
        }
        out.text(r#","ts":"#)
            .number(milliseconds(clock, now_ns))
            .text(r#","u":"#)
            .number(told.update)
            .text(r#","seq":"#)
            .number(told.sequence)
            .text(r#","cts":"#)
            .number(milliseconds(clock, told.matched_ns))
            .push(b'}');
    }
}

/// Those that closed, and every second in which there were trades those that run.
fn send_candles(
    names: &Names,
    market: &Market,
    (id, now_ns): (SymbolId, u64),
    is_due: bool,
    wanted: &Subscriptions,
    frames: &mut Frames,
) {
    let symbol = market.symbol(id);
    // By true time: the exchange's clock may be wrong, its candles are not.
    let second_ns = market.clock().opened_unix_ns + now_ns - CANDLE_PHASE * TICK_NS;
    for (index, (interval, minutes)) in INTERVALS.iter().enumerate() {
        let topic = Topic {
            symbol: id,
            kind: Kind::Candle(index),
        };
        let length_ns = minutes * MINUTE_NS;
        let closed = second_ns % length_ns == 0;
        if !(closed || is_due) || !wanted.wants(topic.id()) {
            continue;
        }
        let within_ns = if closed { second_ns - 1 } else { second_ns };
        let start = within_ns / length_ns * length_ns;
        let candle = symbol.statistics.span(start, start + length_ns);
        let mut known = symbol.trades.iter().rev();
        let last = known
            .find(|trade| trade.fill.trade <= candle.last_trade)
            .unwrap_or(symbol.last());
        frames.add(topic.id(), last.fill.trade, now_ns, |out| {
            write_head(out, names, market.clock(), topic, now_ns);
            out.text(r#","type":"snapshot","data":[{"start":"#)
                .number(start / MILLISECOND_NS)
                .text(r#","end":"#)
                .number((start + length_ns) / MILLISECOND_NS - 1)
                .text(r#","interval":""#)
                .text(interval)
                .push(b'"');
            write_candle(out, &symbol.instrument, &candle);
            out.text(r#","confirm":"#)
                .boolean(closed)
                .text(r#","timestamp":"#)
                .number(milliseconds(market.clock(), last.matched_ns))
                .text("}]}");
        });
    }
}

fn milliseconds(clock: &ExchangeClock, now_ns: u64) -> u64 {
    clock.unix_ns(now_ns) / MILLISECOND_NS
}

fn write_head(out: &mut Vec<u8>, names: &Names, clock: &ExchangeClock, topic: Topic, now_ns: u64) {
    out.text(r#"{"topic":""#);
    match topic.kind {
        Kind::Book(index) => _ = out.text("orderbook.").number(DEPTHS[index].0 as u64),
        Kind::Trades => _ = out.text("publicTrade"),
        Kind::Ticker => _ = out.text("tickers"),
        Kind::Candle(index) => _ = out.text("kline.").text(INTERVALS[index].0),
    }
    out.text(".")
        .text(names.of(topic.symbol))
        .text(r#"","ts":"#)
        .number(milliseconds(clock, now_ns));
}

/// `[["price","size"],…]`
fn write_levels(out: &mut Vec<u8>, instrument: &Instrument, levels: &[Level]) {
    out.push(b'[');
    for (index, &(price, quantity)) in levels.iter().enumerate() {
        out.text(if index > 0 { ",[\"" } else { "[\"" })
            .decimal(price, instrument.price_decimals)
            .text("\",\"")
            .trimmed(quantity, instrument.quantity_decimals)
            .text("\"]");
    }
    out.push(b']');
}

fn write_book(
    out: &mut Vec<u8>,
    names: &Names,
    market: &Market,
    (topic, kind, now_ns): (Topic, &str, u64),
    told: &Told,
    sides: &[Vec<Level>; 2],
) {
    let instrument = &market.symbol(topic.symbol).instrument;
    write_head(out, names, market.clock(), topic, now_ns);
    out.text(r#","type":""#)
        .text(kind)
        .text(r#"","data":{"s":""#)
        .text(names.of(topic.symbol))
        .text(r#"","b":"#);
    write_levels(out, instrument, &sides[0]);
    out.text(r#","a":"#);
    write_levels(out, instrument, &sides[1]);
    out.text(r#","u":"#)
        .number(told.update)
        .text(r#","seq":"#)
        .number(told.sequence)
        .text(r#"},"cts":"#)
        .number(milliseconds(market.clock(), told.matched_ns))
        .push(b'}');
}

/// All trades of one order. `S` is the taker's side.
fn write_trades(out: &mut Vec<u8>, names: &Names, market: &Market, event: &Event) {
    let (name, clock) = (names.of(event.symbol), market.clock());
    let instrument = &market.symbol(event.symbol).instrument;
    let topic = Topic {
        symbol: event.symbol,
        kind: Kind::Trades,
    };
    write_head(out, names, clock, topic, event.published_ns);
    out.text(r#","type":"snapshot","data":["#);
    for (index, trade) in event.trades().enumerate() {
        out.text(if index > 0 { "," } else { "" })
            .text(r#"{"i":""#)
            .number(trade.fill.trade)
            .text(r#"","T":"#)
            .number(milliseconds(clock, trade.matched_ns))
            .text(r#","p":""#)
            .decimal(trade.fill.price, instrument.price_decimals)
            .text(r#"","v":""#)
            .trimmed(trade.fill.quantity, instrument.quantity_decimals)
            .text(r#"","S":""#)
            .text(side_word(trade.side))
            .text(r#"","s":""#)
            .text(name)
            .text(r#"","BT":false,"RPI":false,"seq":"#)
            .number(trade.sequence)
            .push(b'}');
    }
    out.text("]}");
}

/// As the exchange spells a taker's side.
pub fn side_word(side: Side) -> &'static str {
    match side {
        Side::Bid => "Buy",
        Side::Ask => "Sell",
    }
}

fn write_ticker(out: &mut Vec<u8>, names: &Names, market: &Market, id: SymbolId, now_ns: u64) {
    let symbol = market.symbol(id);
    let topic = Topic {
        symbol: id,
        kind: Kind::Ticker,
    };
    write_head(out, names, market.clock(), topic, now_ns);
    out.text(r#","type":"snapshot","cs":"#)
        .number(symbol.sequence)
        .text(r#","data":{"symbol":""#)
        .text(names.of(id))
        .push(b'"');
    write_day(out, symbol);
    out.text(r#","usdIndexPrice":""}}"#);
}

/// What REST and the stream both tell of the last 24 hours, each key with its comma.
pub fn write_day(out: &mut Vec<u8>, symbol: &Symbol) {
    let instrument = &symbol.instrument;
    let (price, quantity) = (instrument.price_decimals, instrument.quantity_decimals);
    let day = symbol.statistics.day();
    for (key, at) in [
        ("lastPrice", day.close),
        ("highPrice24h", day.high),
        ("lowPrice24h", day.low),
        ("prevPrice24h", day.open),
    ] {
        out.text(",\"")
            .text(key)
            .text("\":\"")
            .decimal(at, price)
            .push(b'"');
    }
    out.text(r#","volume24h":""#)
        .trimmed(day.volume, quantity)
        .text(r#"","turnover24h":""#)
        .rescaled(day.turnover, price + quantity, 8);
    let change = u128::from(day.close.abs_diff(day.open)) * 10_000 / u128::from(day.open);
    let is_negative = day.close < day.open && change > 0;
    out.text(r#"","price24hPcnt":""#)
        .text(if is_negative { "-" } else { "" })
        .rescaled(change, 4, 4)
        .push(b'"');
}

fn write_candle(out: &mut Vec<u8>, instrument: &Instrument, candle: &Candle) {
    let (price, quantity) = (instrument.price_decimals, instrument.quantity_decimals);
    for (key, at) in [
        ("open", candle.open),
        ("close", candle.close),
        ("high", candle.high),
        ("low", candle.low),
    ] {
        out.text(",\"")
            .text(key)
            .text("\":\"")
            .decimal(at, price)
            .push(b'"');
    }
    out.text(r#","volume":""#)
        .trimmed(candle.volume, quantity)
        .text(r#"","turnover":""#)
        .rescaled(candle.turnover, price + quantity, 8)
        .push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn differences_turn_one_book_into_the_other(
            before in proptest::collection::btree_map(1u64..30, 1u64..4, 0..12),
            after in proptest::collection::btree_map(1u64..30, 1u64..4, 0..12),
        ) {
            for side in [Side::Bid, Side::Ask] {
                let listed = |levels: &BTreeMap<u64, u64>| -> Vec<Level> {
                    let mut list: Vec<Level> = levels.iter().map(|(p, q)| (*p, *q)).collect();
                    if side == Side::Bid {
                        list.reverse();
                    }
                    list
                };
                let mut changes = Vec::new();
                differences(side, &listed(&before), &listed(&after), &mut changes);
                let mut applied = before.clone();
                for (price, quantity) in changes {
                    match quantity {
                        0 => prop_assert!(applied.remove(&price).is_some()),
                        _ => prop_assert!(applied.insert(price, quantity) != Some(quantity)),
                    }
                }
                prop_assert_eq!(&applied, &after);
            }
        }
    }
}
