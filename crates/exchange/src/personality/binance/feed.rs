//! The streams: what each event, and each tenth of a second, means to those who listen.

use super::super::Frames;
use super::stream::{Interval, Kind, Stream};
use super::Names;
use crate::encode::Encode;
use crate::hub::Subscriptions;
use crate::market::statistics::Candle;
use crate::market::{
    Action, Event, Fill, Instrument, Lots, Market, Side, Symbol, SymbolId, Ticks, Trade,
};
use crate::time::{ExchangeClock, MILLISECOND_NS, SECOND_NS};

/// Time between batches of the fast streams.
const TICK_NS: u64 = 100 * MILLISECOND_NS;
/// Ticks between messages of the slow streams.
const SLOW_TICKS: u64 = 10;
/// Decimals that this exchange prints of every price and quantity.
const SHOWN: u32 = 8;

/// Levels that changed since the last batch, and the first update that the next batch will tell.
#[derive(Clone, Debug)]
struct Batch {
    first: u64,
    levels: Vec<(Side, Ticks)>,
}

impl Batch {
    fn note(&mut self, event: &Event) {
        self.levels.extend(event.levels());
        // A long time without a batch, as at 1000 ms and high rates: keep each level once.
        if self.levels.len() >= 4_096 && self.levels.len().is_power_of_two() {
            self.levels.sort_unstable();
            self.levels.dedup();
        }
    }
}

type Best = [Option<(Ticks, Lots)>; 2];

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

fn best(symbol: &Symbol) -> Best {
    [symbol.book.best(Side::Bid), symbol.book.best(Side::Ask)]
}

/// Prints the units of one instrument.
#[derive(Clone, Copy)]
pub struct Units {
    price: u32,
    quantity: u32,
}

impl Units {
    pub fn of(instrument: &Instrument) -> Self {
        Self {
            price: instrument.price_decimals,
            quantity: instrument.quantity_decimals,
        }
    }

    pub fn price(self, out: &mut Vec<u8>, price: Ticks) -> &mut Vec<u8> {
        Self::shown(out, price, self.price)
    }

    pub fn quantity(self, out: &mut Vec<u8>, quantity: Lots) -> &mut Vec<u8> {
        Self::shown(out, quantity, self.quantity)
    }

    fn shown(out: &mut Vec<u8>, units: u64, decimals: u32) -> &mut Vec<u8> {
        match units.checked_mul(10u64.pow(SHOWN - decimals)) {
            Some(scaled) => out.decimal(scaled, SHOWN),
            None => out.rescaled(units.into(), decimals, SHOWN),
        }
    }

    pub fn turnover(self, out: &mut Vec<u8>, turnover: u128) -> &mut Vec<u8> {
        out.rescaled(turnover, self.price + self.quantity, SHOWN)
    }

    /// `[["price","quantity"],…]`
    pub fn levels(self, out: &mut Vec<u8>, levels: impl Iterator<Item = (Ticks, Lots)>) {
        out.push(b'[');
        for (index, (price, quantity)) in levels.enumerate() {
            out.text(if index > 0 { ",[\"" } else { "[\"" });
            self.price(out, price).text("\",\"");
            self.quantity(out, quantity).text("\"]");
        }
        out.push(b']');
    }
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

/// Prints times in the unit that the connection chose.
#[derive(Clone, Copy)]
pub struct Times<'a> {
    clock: &'a ExchangeClock,
    unit_ns: u64,
}

impl<'a> Times<'a> {
    pub fn new(clock: &'a ExchangeClock, microseconds: bool) -> Self {
        Self {
            clock,
            unit_ns: if microseconds { 1_000 } else { MILLISECOND_NS },
        }
    }

    pub fn at(self, now_ns: u64) -> u64 {
        self.unix(self.clock.unix_ns(now_ns))
    }

    pub fn unix(self, unix_ns: u64) -> u64 {
        unix_ns / self.unit_ns
    }
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
            let batch = Batch {
                first: symbol.sequence + 1,
                levels: Vec::new(),
            };
            SymbolFeed {
                best: best(symbol),
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
        let now = best(symbol);
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
        feed.slow.note(event);
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
    if batch.levels.is_empty() {
        return;
    }
    let units = Units::of(&symbol.instrument);
    let (first, last, born_ns) = (batch.first, symbol.sequence, desk.born_ns);
    desk.sequence = last;
    if desk.wants(id.0, Kind::Depth { fast }) {
        batch.levels.sort_unstable();
        batch.levels.dedup();
        let asks_from = batch.levels.partition_point(|(side, _)| *side == Side::Bid);
        let (bids, asks) = batch.levels.split_at(asks_from);
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
    batch.first = last + 1;
    batch.levels.clear();
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

fn write_trade(
    out: &mut Vec<u8>,
    times: Times<'_>,
    name: &str,
    units: Units,
    trade: &Trade,
    born_ns: u64,
) {
    out.text(r#"{"e":"trade","E":"#)
        .number(times.at(born_ns))
        .text(r#","s":""#)
        .text(name);
    out.text(r#"","t":"#)
        .number(trade.fill.trade)
        .text(r#","p":""#);
    units.price(out, trade.fill.price).text(r#"","q":""#);
    units
        .quantity(out, trade.fill.quantity)
        .text(r#"","T":"#)
        .number(times.at(trade.matched_ns));
    out.text(r#","m":"#)
        .boolean(trade.side == Side::Ask)
        .text(r#","M":true}"#);
}

/// `"a":…,"p":…,…,"M":true`, for the stream and for REST.
pub fn write_aggregate(
    out: &mut Vec<u8>,
    times: Times<'_>,
    units: Units,
    fills: &[Fill],
    side: Side,
    matched_ns: u64,
) {
    let quantity = fills.iter().map(|fill| fill.quantity).sum();
    out.text(r#""a":"#)
        .number(fills[0].aggregate)
        .text(r#","p":""#);
    units.price(out, fills[0].price).text(r#"","q":""#);
    units
        .quantity(out, quantity)
        .text(r#"","f":"#)
        .number(fills[0].trade);
    out.text(r#","l":"#)
        .number(fills[fills.len() - 1].trade)
        .text(r#","T":"#)
        .number(times.at(matched_ns));
    out.text(r#","m":"#)
        .boolean(side == Side::Ask)
        .text(r#","M":true"#);
}

fn write_best(out: &mut Vec<u8>, units: Units, bid: (Ticks, Lots), ask: (Ticks, Lots)) {
    out.text(r#"","b":""#);
    units.price(out, bid.0).text(r#"","B":""#);
    units.quantity(out, bid.1).text(r#"","a":""#);
    units.price(out, ask.0).text(r#"","A":""#);
    units.quantity(out, ask.1).push(b'"');
}

/// The best `count` levels of a side.
pub fn write_side(out: &mut Vec<u8>, units: Units, symbol: &Symbol, side: Side, count: usize) {
    units.levels(
        out,
        symbol
            .book
            .levels(side)
            .take(count)
            .map(|(price, level)| (price, level.quantity)),
    );
}

/// Turnover over volume; the price itself where nothing was traded.
pub fn write_mean<'a>(out: &'a mut Vec<u8>, units: Units, candle: &Candle) -> &'a mut Vec<u8> {
    if candle.volume == 0 {
        return units.price(out, candle.close);
    }
    // Ticks with SHOWN decimals: turnover in ticks × lots, divided by lots.
    let mean = candle.turnover * 10u128.pow(SHOWN - units.price) / u128::from(candle.volume);
    out.rescaled(mean, SHOWN, SHOWN)
}

/// `"p":…,"P":…`: the change, absolute and in per cent with three decimals.
pub fn write_change(out: &mut Vec<u8>, units: Units, candle: &Candle, keys: [&str; 2]) {
    let sign = if candle.close < candle.open { "-" } else { "" };
    let change = candle.close.abs_diff(candle.open);
    let per_cent = u128::from(change) * 100_000 / u128::from(candle.open);
    out.text("\"").text(keys[0]).text("\":\"").text(sign);
    units
        .price(out, change)
        .text("\",\"")
        .text(keys[1])
        .text("\":\"")
        .text(if per_cent > 0 { sign } else { "" });
    out.rescaled(per_cent, 3, 3).push(b'"');
}

fn write_ticker(out: &mut Vec<u8>, times: Times<'_>, symbol: &Symbol, born_ns: u64) {
    let units = Units::of(&symbol.instrument);
    let day = symbol.statistics.day();
    write_change(out, units, &day, ["p", "P"]);
    out.text(r#","w":""#);
    write_mean(out, units, &day).text(r#"","x":""#);
    units.price(out, day.open).text(r#"","c":""#);
    units.price(out, day.close).text(r#"","Q":""#);
    units.quantity(out, symbol.last().fill.quantity);
    if let [Some(bid), Some(ask)] = best(symbol) {
        write_best(out, units, bid, ask);
    }
    out.text(r#","o":""#);
    units.price(out, day.open).text(r#"","h":""#);
    units.price(out, day.high).text(r#"","l":""#);
    units.price(out, day.low).text(r#"","v":""#);
    units.quantity(out, day.volume).text(r#"","q":""#);
    units.turnover(out, day.turnover).text(r#"","O":"#);
    let closes_ns = times.clock.unix_ns(born_ns);
    out.number(times.unix(closes_ns.saturating_sub(86_400 * SECOND_NS)))
        .text(r#","C":"#);
    out.number(times.unix(closes_ns))
        .text(r#","F":"#)
        .number(day.first_trade);
    out.text(r#","L":"#)
        .number(day.last_trade)
        .text(r#","n":"#)
        .number(day.trades());
}

fn write_mini_ticker(
    out: &mut Vec<u8>,
    times: Times<'_>,
    name: &str,
    symbol: &Symbol,
    born_ns: u64,
) {
    let units = Units::of(&symbol.instrument);
    let day = symbol.statistics.day();
    out.text(r#"{"e":"24hrMiniTicker","E":"#)
        .number(times.at(born_ns))
        .text(r#","s":""#)
        .text(name);
    out.text(r#"","c":""#);
    units.price(out, day.close).text(r#"","o":""#);
    units.price(out, day.open).text(r#"","h":""#);
    units.price(out, day.high).text(r#"","l":""#);
    units.price(out, day.low).text(r#"","v":""#);
    units.quantity(out, day.volume).text(r#"","q":""#);
    units.turnover(out, day.turnover).text(r#""}"#);
}

fn write_window_ticker(
    out: &mut Vec<u8>,
    times: Times<'_>,
    name: &str,
    symbol: &Symbol,
    hours: u64,
    (born_ns, unix_ns): (u64, u64),
) {
    let units = Units::of(&symbol.instrument);
    let minute_ns = 60 * SECOND_NS;
    let until_ns = unix_ns.next_multiple_of(minute_ns);
    let from_ns = until_ns.saturating_sub(hours * 60 * minute_ns);
    let span = symbol.statistics.span(from_ns, until_ns);
    out.text(match hours {
        1 => r#"{"e":"1hTicker","E":"#,
        4 => r#"{"e":"4hTicker","E":"#,
        _ => r#"{"e":"1dTicker","E":"#,
    });
    out.number(times.at(born_ns))
        .text(r#","s":""#)
        .text(name)
        .text(r#"","#);
    write_change(out, units, &span, ["p", "P"]);
    for (key, price) in [
        ("o", span.open),
        ("h", span.high),
        ("l", span.low),
        ("c", span.close),
    ] {
        out.text(",\"").text(key).text("\":\"");
        units.price(out, price).push(b'"');
    }
    out.text(r#","w":""#);
    write_mean(out, units, &span).text(r#"","v":""#);
    units.quantity(out, span.volume).text(r#"","q":""#);
    units
        .turnover(out, span.turnover)
        .text(r#"","O":"#)
        .number(times.unix(from_ns));
    out.text(r#","C":"#)
        .number(times.at(born_ns))
        .text(r#","F":"#)
        .number(span.first_trade);
    out.text(r#","L":"#)
        .number(span.last_trade)
        .text(r#","n":"#)
        .number(span.trades())
        .push(b'}');
}

fn write_candle(out: &mut Vec<u8>, units: Units, candle: &Candle, closed: bool) {
    if candle.trades() > 0 {
        out.text(r#""f":"#)
            .number(candle.first_trade)
            .text(r#","L":"#)
            .number(candle.last_trade);
    } else {
        out.text(r#""f":-1,"L":-1"#);
    }
    for (key, price) in [
        ("o", candle.open),
        ("c", candle.close),
        ("h", candle.high),
        ("l", candle.low),
    ] {
        out.text(",\"").text(key).text("\":\"");
        units.price(out, price).push(b'"');
    }
    out.text(r#","v":""#);
    units
        .quantity(out, candle.volume)
        .text(r#"","n":"#)
        .number(candle.trades());
    out.text(r#","x":"#).boolean(closed).text(r#","q":""#);
    units.turnover(out, candle.turnover).text(r#"","V":""#);
    units
        .quantity(out, candle.taker_buy_volume)
        .text(r#"","Q":""#);
    units
        .turnover(out, candle.taker_buy_turnover)
        .text(r#"","B":"0""#);
}
