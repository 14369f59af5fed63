//! The channels' messages.

use super::super::names::Names;
use super::super::Frames;
use super::Channel;
use crate::encode::Encode;
use crate::hub::Subscriptions;
use crate::market::{Event, Market, Side, Symbol, SymbolId, Ticks, Trade};
use crate::time::{write_rfc3339, Calendar, ExchangeClock, SECOND_NS};

/// Length of the channel's candles.
const CANDLE_NS: u64 = 300 * SECOND_NS;

/// The feed of all products.
pub struct Feed {
    traded: Vec<bool>,
    traded_in_batch: Vec<bool>,
    tick_ns: u64,
    ticks: u64,
}

impl Feed {
    pub fn new(market: &Market) -> Self {
        let count = market.symbols().len();
        Self {
            traded: vec![false; count],
            traded_in_batch: vec![false; count],
            tick_ns: SECOND_NS,
            ticks: 0,
        }
    }

    pub fn tick_ns(&self) -> u64 {
        self.tick_ns
    }

    /// Allocates nothing once the buffers have grown.
    pub fn on_event(
        &mut self,
        names: &Names,
        market: &Market,
        event: &Event,
        wanted: &Subscriptions,
        frames: &mut Frames,
    ) {
        let id = event.symbol;
        let (name, symbol, clock, born_ns) = (
            names.of(id),
            market.symbol(id),
            market.clock(),
            event.published_ns,
        );
        let mut add = |channel: Channel, sequence: u64, write: &dyn Fn(&mut Vec<u8>)| {
            let stream = channel.stream(id);
            if wanted.wants(stream) {
                let head = |out: &mut Vec<u8>| write_head(out, channel.data_name(), clock, born_ns);
                frames.add_numbered(stream, sequence, born_ns, head, |out| write(out));
            }
        };
        if event.trades().next().is_some() {
            (
                self.traded[id.0 as usize],
                self.traded_in_batch[id.0 as usize],
            ) = (true, true);
            let trade = symbol.last().fill.trade;
            add(Channel::MarketTrades, trade, &|out| {
                write_trades(out, clock, name, symbol, "update", event.trades())
            });
            add(Channel::Ticker, trade, &|out| {
                write_ticker(out, name, symbol, "update")
            });
        }
        add(Channel::Level2, event.sequence, &|out| {
            write_levels(
                out,
                clock,
                name,
                symbol,
                "update",
                event.matched_ns,
                event.levels(),
            );
        });
    }

    /// Heartbeats, candles, batched tickers.
    pub fn on_tick(
        &mut self,
        names: &Names,
        market: &Market,
        wanted: &Subscriptions,
        frames: &mut Frames,
    ) {
        self.ticks += 1;
        let (now_ns, clock) = (self.tick_ns, market.clock());
        let mut add =
            |channel: Channel, id: SymbolId, sequence: u64, write: &dyn Fn(&mut Vec<u8>)| {
                let stream = channel.stream(id);
                if wanted.wants(stream) {
                    let head =
                        |out: &mut Vec<u8>| write_head(out, channel.data_name(), clock, now_ns);
                    frames.add_numbered(stream, sequence, now_ns, head, |out| write(out));
                }
            };
        let counter = self.ticks;
        add(Channel::Heartbeats, SymbolId(0), counter, &|out| {
            let calendar = Calendar::of(clock.unix_ns(now_ns));
            out.text(r#","events":[{"current_time":""#);
            calendar.write_date(out, "-");
            out.text(" ");
            calendar.write_time(out, ":", 9);
            out.text(r#" +0000 UTC m=+"#)
                .decimal(now_ns, 9)
                .text(r#"","heartbeat_counter":""#)
                .number(counter)
                .push(b'"');
            write_tail(out);
        });
        for id in market.ids() {
            let (name, symbol) = (names.of(id), market.symbol(id));
            let trade = symbol.last().fill.trade;
            if std::mem::take(&mut self.traded[id.0 as usize]) {
                add(Channel::Candles, id, trade, &|out| {
                    write_candles(out, market, name, symbol, "update", now_ns)
                });
            }
            if self.ticks % 5 == 0 && std::mem::take(&mut self.traded_in_batch[id.0 as usize]) {
                add(Channel::TickerBatch, id, trade, &|out| {
                    write_ticker(out, name, symbol, "update")
                });
            }
        }
        self.tick_ns += SECOND_NS;
    }
}

/// The envelope up to the connection's own number.
pub fn write_head(out: &mut Vec<u8>, channel: &str, clock: &ExchangeClock, now_ns: u64) {
    out.text(r#"{"channel":""#)
        .text(channel)
        .text(r#"","client_id":"","timestamp":""#);
    write_rfc3339(out, clock.unix_ns(now_ns), 9);
    out.text(r#"","sequence_num":"#);
}

/// The end of the only event, of the list of events, and of the envelope.
pub fn write_tail(out: &mut Vec<u8>) {
    out.text("}]}");
}

/// What a new subscriber gets first, from the list of events on.
pub(super) fn write_snapshot(
    out: &mut Vec<u8>,
    market: &Market,
    names: &Names,
    channel: Channel,
    id: SymbolId,
    now_ns: u64,
) {
    let (name, symbol, clock) = (names.of(id), market.symbol(id), market.clock());
    match channel {
        Channel::Ticker | Channel::TickerBatch | Channel::Heartbeats => {
            write_ticker(out, name, symbol, "snapshot")
        }
        Channel::Candles => write_candles(out, market, name, symbol, "snapshot", now_ns),
        Channel::MarketTrades => {
            // Newest first, as REST lists them.
            let trades = symbol.trades.iter().rev().take(100).copied();
            write_trades(out, clock, name, symbol, "snapshot", trades);
        }
        Channel::Level2 => {
            let side = |side: Side| {
                symbol
                    .book
                    .levels(side)
                    .map(move |(price, _)| (side, price))
            };
            let levels = side(Side::Bid).chain(side(Side::Ask));
            write_levels(out, clock, name, symbol, "snapshot", now_ns, levels);
        }
    }
}

fn write_event(out: &mut Vec<u8>, kind: &str) {
    out.text(r#","events":[{"type":""#).text(kind).push(b'"');
}

fn write_levels(
    out: &mut Vec<u8>,
    clock: &ExchangeClock,
    name: &str,
    symbol: &Symbol,
    kind: &str,
    at_ns: u64,
    levels: impl Iterator<Item = (Side, Ticks)>,
) {
    let instrument = &symbol.instrument;
    write_event(out, kind);
    out.text(r#","product_id":""#)
        .text(name)
        .text(r#"","updates":["#);
    for (index, (side, price)) in levels.enumerate() {
        out.text(if index > 0 { "," } else { "" })
            .text(r#"{"side":""#);
        out.text(if side == Side::Bid { "bid" } else { "offer" })
            .text(r#"","event_time":""#);
        write_rfc3339(out, clock.unix_ns(at_ns), 6);
        out.text(r#"","price_level":""#)
            .trimmed(price, instrument.price_decimals)
            .text(r#"","new_quantity":""#);
        out.trimmed(
            symbol.book.quantity_at(side, price),
            instrument.quantity_decimals,
        )
        .text(r#""}"#);
    }
    out.push(b']');
    write_tail(out);
}

/// `side` is the maker's.
fn write_trades(
    out: &mut Vec<u8>,
    clock: &ExchangeClock,
    name: &str,
    symbol: &Symbol,
    kind: &str,
    trades: impl Iterator<Item = Trade>,
) {
    let instrument = &symbol.instrument;
    write_event(out, kind);
    out.text(r#","trades":["#);
    for (index, trade) in trades.enumerate() {
        out.text(if index > 0 { "," } else { "" })
            .text(r#"{"trade_id":""#)
            .number(trade.fill.trade);
        out.text(r#"","product_id":""#)
            .text(name)
            .text(r#"","price":""#);
        out.trimmed(trade.fill.price, instrument.price_decimals)
            .text(r#"","size":""#);
        out.trimmed(trade.fill.quantity, instrument.quantity_decimals)
            .text(r#"","side":""#);
        out.text(if trade.side == Side::Ask {
            "BUY"
        } else {
            "SELL"
        })
        .text(r#"","time":""#);
        write_rfc3339(out, clock.unix_ns(trade.matched_ns), 6);
        out.text(r#""}"#);
    }
    out.push(b']');
    write_tail(out);
}

fn write_ticker(out: &mut Vec<u8>, name: &str, symbol: &Symbol, kind: &str) {
    let instrument = &symbol.instrument;
    let (price, quantity) = (instrument.price_decimals, instrument.quantity_decimals);
    let day = symbol.statistics.day();
    write_event(out, kind);
    out.text(r#","tickers":[{"type":"ticker","product_id":""#)
        .text(name)
        .text(r#"","price":""#);
    out.trimmed(day.close, price)
        .text(r#"","volume_24_h":""#)
        .trimmed(day.volume, quantity);
    // The market is younger than a year, so that the day's bounds are the year's.
    for (key, at) in [
        ("low_24_h", day.low),
        ("high_24_h", day.high),
        ("low_52_w", day.low),
        ("high_52_w", day.high),
    ] {
        out.text(r#"",""#)
            .text(key)
            .text(r#"":""#)
            .trimmed(at, price);
    }
    let per_cent = u128::from(day.close.abs_diff(day.open)) * 10_000_000_000 / u128::from(day.open);
    let sign = if day.close < day.open && per_cent > 0 {
        "-"
    } else {
        ""
    };
    out.text(r#"","price_percent_chg_24_h":""#)
        .text(sign)
        .rescaled(per_cent, 8, 8);
    for (side, keys) in [
        (Side::Bid, ["best_bid", "best_bid_quantity"]),
        (Side::Ask, ["best_ask", "best_ask_quantity"]),
    ] {
        let (best, size) = symbol.book.best(side).unwrap_or((0, 0));
        out.text(r#"",""#)
            .text(keys[0])
            .text(r#"":""#)
            .trimmed(best, price);
        out.text(r#"",""#)
            .text(keys[1])
            .text(r#"":""#)
            .trimmed(size, quantity);
    }
    out.text(r#""}]"#);
    write_tail(out);
}

fn write_candles(
    out: &mut Vec<u8>,
    market: &Market,
    name: &str,
    symbol: &Symbol,
    kind: &str,
    now_ns: u64,
) {
    let (price, quantity) = (
        symbol.instrument.price_decimals,
        symbol.instrument.quantity_decimals,
    );
    let start = (market.clock().opened_unix_ns + now_ns) / CANDLE_NS * CANDLE_NS;
    let candle = symbol.statistics.span(start, start + CANDLE_NS);
    write_event(out, kind);
    out.text(r#","candles":[{"start":""#)
        .number(start / SECOND_NS);
    for (key, at) in [
        ("high", candle.high),
        ("low", candle.low),
        ("open", candle.open),
        ("close", candle.close),
    ] {
        out.text(r#"",""#)
            .text(key)
            .text(r#"":""#)
            .trimmed(at, price);
    }
    out.text(r#"","volume":""#)
        .trimmed(candle.volume, quantity)
        .text(r#"","product_id":""#)
        .text(name)
        .text(r#""}]"#);
    write_tail(out);
}
