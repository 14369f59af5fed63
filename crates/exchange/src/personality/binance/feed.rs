//! The streams: what each event, and each tenth of a second, means to those who listen.

use super::super::batch::Batch;
use super::super::Frames;
use super::message::{
    write_aggregate, write_best, write_candle, write_mean, write_mini_ticker, write_side,
    write_ticker, write_trade, write_window_ticker, Times, Units,
};
use super::stream::{Interval, Kind, Stream};
use super::Names;
use crate::encode::Encode;
use crate::hub::Subscriptions;
use crate::market::{Action, Best, Event, Market, Side, Symbol, SymbolId, Ticks};
use crate::time::{ExchangeClock, MILLISECOND_NS, SECOND_NS};

/// Time between batches of the fast streams.
const TICK_NS: u64 = 100 * MILLISECOND_NS;
/// Ticks between messages of the slow streams.
const SLOW_TICKS: u64 = 10;

struct SymbolFeed {
    best: Best,
    fast: Batch,
    slow: Batch,
    traded: bool,
}

/// The feed of all symbols.
pub struct Feed {
    symbols: Vec<SymbolFeed>,
    tick_ns: u64,
    ticks: u64,
}

/// Encodes one message for each way in which it is wanted: raw or combined, in milliseconds or microseconds.
struct Desk<'a> {
    names: &'a Names,
    wanted: &'a Subscriptions,
    frames: &'a mut Frames,
    clock: &'a ExchangeClock,
    sequence: u64,
    born_ns: u64,
}

impl Desk<'_> {
    #[inline]
    fn send(&mut self, symbol: u32, kind: Kind, write: impl Fn(&mut Vec<u8>, Times<'_>, &str)) {
        let stream = Stream { symbol, kind };
        let upper = &self.names.upper[symbol as usize];
        for microseconds in [false, true] {
            let times = Times::new(self.clock, microseconds);
            let raw = stream.id(false, microseconds);
            if self.wanted.wants(raw) {
                self.frames.add(raw, self.sequence, self.born_ns, |out| {
                    write(out, times, upper)
                });
            }
            let combined = stream.id(true, microseconds);
            if self.wanted.wants(combined) {
                self.frames
                    .add(combined, self.sequence, self.born_ns, |out| {
                        out.text(r#"{"stream":""#);
                        stream.write_name(&self.names.lower[symbol as usize], out);
                        out.text(r#"","data":"#);
                        write(out, times, upper);
                        out.push(b'}');
                    });
            }
        }
    }

    fn wants(&self, symbol: u32, kind: Kind) -> bool {
        let stream = Stream { symbol, kind };
        let ways = [(false, false), (false, true), (true, false), (true, true)];
        ways.iter()
            .any(|&(combined, microseconds)| self.wanted.wants(stream.id(combined, microseconds)))
    }
}

impl Feed {
    /// For a market that has just opened.
    pub fn new(market: &Market) -> Self {
        let symbols = market.symbols().iter().map(|symbol| {
            let batch = Batch::from(symbol.sequence + 1);
            SymbolFeed {
                best: symbol.best(),
                fast: batch.clone(),
                slow: batch,
                traded: false,
            }
        });
        // Batches leave at whole tenths of the true second, so that candles end where they should.
        let opened_ns = market.clock().opened_unix_ns;
        let phase = opened_ns / TICK_NS % SLOW_TICKS;
        Self {
            symbols: symbols.collect(),
            tick_ns: TICK_NS - opened_ns % TICK_NS,
            ticks: phase,
        }
    }

    pub fn tick_ns(&self) -> u64 {
        self.tick_ns
    }

    /// Real-time streams. Allocates nothing once the buffers have grown.
    pub fn on_event(
        &mut self,
        names: &Names,
        market: &Market,
        event: &Event,
        wanted: &Subscriptions,
        frames: &mut Frames,
    ) {
        let number = event.symbol.0;
        let symbol = market.symbol(event.symbol);
        let units = Units::of(&symbol.instrument);
        let born_ns = event.published_ns;
        let mut desk = Desk {
            names,
            wanted,
            frames,
            clock: market.clock(),
            sequence: event.sequence,
            born_ns,
        };
        if let Action::Take { side, fills, .. } = &event.action {
            self.symbols[number as usize].traded = true;
            for trade in event.trades() {
                desk.sequence = trade.fill.trade;
                desk.send(number, Kind::Trade, |out, times, name| {
                    write_trade(out, times, name, units, &trade, born_ns)
                });
            }
            for fills in fills.chunk_by(|a, b| a.aggregate == b.aggregate) {
                desk.sequence = fills[0].aggregate;
                desk.send(number, Kind::AggTrade, |out, times, name| {
                    out.text(r#"{"e":"aggTrade","E":"#)
                        .number(times.at(born_ns))
                        .text(r#","s":""#)
                        .text(name);
                    out.text(r#"","#);
                    write_aggregate(out, times, units, fills, *side, event.matched_ns);
                    out.push(b'}');
                });
            }
        }
        let now = symbol.best();
        if self.symbols[number as usize].best != now {
            self.symbols[number as usize].best = now;
            if let [Some(bid), Some(ask)] = now {
                desk.sequence = event.sequence;
                desk.send(number, Kind::BookTicker, |out, _, name| {
                    out.text(r#"{"u":"#)
                        .number(event.sequence)
                        .text(r#","s":""#)
                        .text(name);
                    write_best(out, units, bid, ask);
                    out.push(b'}');
                });
            }
        }
        let feed = &mut self.symbols[number as usize];
        feed.fast.note(event);
    }

    /// Batches, snapshots, tickers and candles.
    pub fn on_tick(
        &mut self,
        names: &Names,
        market: &Market,
        wanted: &Subscriptions,
        frames: &mut Frames,
    ) {
        self.ticks += 1;
        // One tick after the whole second, so that a candle that closes has all its trades, which take a moment to
        // be published.
        let slow = self.ticks % SLOW_TICKS == 1;
        let clock = market.clock();
        let mut desk = Desk {
            names,
            wanted,
            frames,
            clock,
            sequence: 0,
            born_ns: self.tick_ns,
        };
        for id in market.ids() {
            let symbol = market.symbol(id);
            let feed = &mut self.symbols[id.0 as usize];
            feed.slow.absorb(&feed.fast);
            send_depth(&mut desk, id, symbol, &mut feed.fast, true);
            if slow {
                send_depth(&mut desk, id, symbol, &mut feed.slow, false);
                send_slow(&mut desk, id, symbol, self.ticks / SLOW_TICKS);
            }
        }
        if slow {
            self.send_all_mini_tickers(&mut desk, market);
            self.symbols.iter_mut().for_each(|feed| feed.traded = false);
        }
        self.tick_ns += TICK_NS;
    }

    fn send_all_mini_tickers(&self, desk: &mut Desk<'_>, market: &Market) {
        let (names, born_ns) = (desk.names, desk.born_ns);
        desk.send(0, Kind::AllMiniTickers, |out, times, _| {
            out.push(b'[');
            let mut separator = "";
            for (index, symbol) in market
                .symbols()
                .iter()
                .enumerate()
                .filter(|(i, _)| self.symbols[*i].traded)
            {
                out.text(separator);
                write_mini_ticker(out, times, &names.upper[index], symbol, born_ns);
                separator = ",";
            }
            out.push(b']');
        });
    }
}

/// The changes since the last batch, and the best levels, if there were changes.
fn send_depth(desk: &mut Desk<'_>, id: SymbolId, symbol: &Symbol, batch: &mut Batch, fast: bool) {
    if batch.is_empty() {
        return;
    }
    let units = Units::of(&symbol.instrument);
    let (first, last, born_ns) = (batch.first(), symbol.sequence, desk.born_ns);
    desk.sequence = last;
    if desk.wants(id.0, Kind::Depth { fast }) {
        let (bids, asks) = batch.sides();
        let quantity =
            |&(side, price): &(Side, Ticks)| (price, symbol.book.quantity_at(side, price));
        desk.send(id.0, Kind::Depth { fast }, |out, times, name| {
            out.text(r#"{"e":"depthUpdate","E":"#)
                .number(times.at(born_ns))
                .text(r#","s":""#)
                .text(name);
            out.text(r#"","U":"#)
                .number(first)
                .text(r#","u":"#)
                .number(last)
                .text(r#","b":"#);
            units.levels(out, bids.iter().rev().map(quantity));
            out.text(r#","a":"#);
            units.levels(out, asks.iter().map(quantity));
            out.push(b'}');
        });
    }
    for count in [5, 10, 20] {
        desk.send(id.0, Kind::Levels { count, fast }, |out, _, _| {
            out.text(r#"{"lastUpdateId":"#)
                .number(last)
                .text(r#","bids":"#);
            write_side(out, units, symbol, Side::Bid, count);
            out.text(r#","asks":"#);
            write_side(out, units, symbol, Side::Ask, count);
            out.push(b'}');
        });
    }
    batch.settle(last);
}

/// What leaves every second or two.
fn send_slow(desk: &mut Desk<'_>, id: SymbolId, symbol: &Symbol, seconds: u64) {
    let born_ns = desk.born_ns;
    let units = Units::of(&symbol.instrument);
    desk.sequence = symbol.last().fill.trade;
    desk.send(id.0, Kind::Ticker, |out, times, name| {
        out.text(r#"{"e":"24hrTicker","E":"#)
            .number(times.at(born_ns))
            .text(r#","s":""#)
            .text(name)
            .text(r#"","#);
        write_ticker(out, times, symbol, born_ns);
        out.push(b'}');
    });
    desk.send(id.0, Kind::MiniTicker, |out, times, name| {
        write_mini_ticker(out, times, name, symbol, born_ns)
    });
    // Candles and windows go by true time: the exchange's clock may be wrong, its candles are not.
    let unix_ns = desk.clock.opened_unix_ns + born_ns;
    let minute_ns = 60 * SECOND_NS;
    desk.send(id.0, Kind::AvgPrice, |out, times, name| {
        let span = symbol.statistics.span(
            (unix_ns / minute_ns + 1).saturating_sub(5) * minute_ns,
            unix_ns.next_multiple_of(minute_ns),
        );
        out.text(r#"{"e":"avgPrice","E":"#)
            .number(times.at(born_ns))
            .text(r#","s":""#)
            .text(name);
        out.text(r#"","i":"5m","w":""#);
        write_mean(out, units, &span)
            .text(r#"","T":"#)
            .number(times.at(symbol.last().matched_ns))
            .push(b'}');
    });
    for hours in [1, 4, 24] {
        desk.send(id.0, Kind::WindowTicker { hours }, |out, times, name| {
            write_window_ticker(out, times, name, symbol, hours, (born_ns, unix_ns));
        });
    }
    let second_ns = unix_ns - TICK_NS;
    for interval in Interval::all() {
        let closed = interval.bounds(second_ns).0 == second_ns;
        if (closed || seconds % 2 == 0) && desk.wants(id.0, Kind::Kline { interval }) {
            // At the end of a candle its last message, which says so; otherwise the candle as it stands.
            let (start, end) = interval.bounds(if closed { second_ns - 1 } else { unix_ns });
            let candle = symbol.statistics.span(start, end);
            desk.send(id.0, Kind::Kline { interval }, |out, times, name| {
                out.text(r#"{"e":"kline","E":"#)
                    .number(times.at(born_ns))
                    .text(r#","s":""#)
                    .text(name);
                out.text(r#"","k":{"t":"#)
                    .number(times.unix(start))
                    .text(r#","T":"#);
                out.number(times.unix(end) - 1).text(r#","s":""#).text(name);
                out.text(r#"","i":""#).text(interval.name()).text(r#"","#);
                write_candle(out, units, &candle, closed);
                out.text("}}");
            });
        }
    }
}
