//! The topics' messages. `timestamp` is the server's, in milliseconds; `ver` rises with each event of a symbol.

use super::super::names::Names;
use super::super::Frames;
use super::Topic;
use crate::encode::Encode;
use crate::hub::Subscriptions;
use crate::market::{Event, Lots, Market, Side, Symbol, Ticks, Trade};
use crate::time::{ExchangeClock, SECOND_NS};

/// Decimals that this exchange prints of every price.
const PRICE_DECIMALS: u32 = 10;

/// Without state: every message tells of one event.
#[derive(Debug, Default)]
pub struct Feed;

impl Feed {
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
        let (name, symbol) = (names.of(id), market.symbol(id));
        let (born_ns, unix_ms) = (
            event.published_ns,
            market.clock().unix_ms(event.published_ns),
        );
        let stream = Topic::OrderBook.stream(id);
        if wanted.wants(stream) {
            frames.add(stream, event.sequence, born_ns, |out| {
                let levels = |wanted: Side| {
                    let quantity = |(side, price)| (price, symbol.book.quantity_at(side, price));
                    event
                        .levels()
                        .filter(move |(side, _)| *side == wanted)
                        .map(quantity)
                };
                write_book(
                    out,
                    "00007",
                    name,
                    symbol,
                    levels(Side::Bid),
                    levels(Side::Ask),
                    unix_ms,
                );
            });
        }
        let mut traded = false;
        for trade in event.trades() {
            traded = true;
            let stream = Topic::Trade.stream(id);
            if wanted.wants(stream) {
                frames.add(stream, trade.fill.trade, born_ns, |out| {
                    write_trade(out, "00007", market.clock(), name, symbol, &trade, unix_ms);
                });
            }
        }
        let stream = Topic::Ticker.stream(id);
        if traded && wanted.wants(stream) {
            frames.add(stream, event.sequence, born_ns, |out| {
                write_ticker(out, "00007", name, symbol, unix_ms)
            });
        }
    }
}

fn write_end(out: &mut Vec<u8>, topic: Topic, unix_ms: u64) {
    out.text(r#"},"topic":""#)
        .text(topic.name())
        .text(r#"","timestamp":"#)
        .number(unix_ms)
        .push(b'}');
}

/// Prints a price.
pub fn write_price<'a>(out: &'a mut Vec<u8>, symbol: &Symbol, price: Ticks) -> &'a mut Vec<u8> {
    out.rescaled(
        price.into(),
        symbol.instrument.price_decimals,
        PRICE_DECIMALS,
    )
}

/// `["price","quantity"],…`
pub fn write_levels(
    out: &mut Vec<u8>,
    symbol: &Symbol,
    levels: impl Iterator<Item = (Ticks, Lots)>,
) {
    for (index, (price, quantity)) in levels.enumerate() {
        out.text(if index > 0 { ",[\"" } else { "[\"" });
        write_price(out, symbol, price).text("\",\"");
        out.trimmed(quantity, symbol.instrument.quantity_decimals)
            .text("\"]");
    }
}

/// The book, or what changed in it.
pub fn write_book(
    out: &mut Vec<u8>,
    code: &str,
    name: &str,
    symbol: &Symbol,
    bids: impl Iterator<Item = (Ticks, Lots)>,
    asks: impl Iterator<Item = (Ticks, Lots)>,
    unix_ms: u64,
) {
    out.text(r#"{"code":""#)
        .text(code)
        .text(r#"","data":{"symbol":""#)
        .text(name)
        .text(r#"","b":["#);
    write_levels(out, symbol, bids);
    out.text(r#"],"ver":""#)
        .number(symbol.sequence)
        .text(r#"","s":["#);
    write_levels(out, symbol, asks);
    out.push(b']');
    write_end(out, Topic::OrderBook, unix_ms);
}

/// One trade, with its time in whole seconds as text.
pub fn write_trade(
    out: &mut Vec<u8>,
    code: &str,
    clock: &ExchangeClock,
    name: &str,
    symbol: &Symbol,
    trade: &Trade,
    unix_ms: u64,
) {
    out.text(r#"{"code":""#)
        .text(code)
        .text(r#"","data":{"p":""#);
    write_price(out, symbol, trade.fill.price)
        .text(r#"","s":""#)
        .text(trade.side.order_word());
    out.text(r#"","v":""#)
        .trimmed(trade.fill.quantity, symbol.instrument.quantity_decimals);
    out.text(r#"","t":""#)
        .number(clock.unix_ns(trade.matched_ns) / SECOND_NS)
        .text(r#"","symbol":""#)
        .text(name);
    out.text(r#"","ver":""#).number(trade.fill.trade).push(b'"');
    write_end(out, Topic::Trade, unix_ms);
}

/// Last price, highest, lowest, change as a share, volume.
pub fn write_day(out: &mut Vec<u8>, symbol: &Symbol) {
    let day = symbol.statistics.day();
    for (key, price) in [("c", day.close), ("h", day.high), ("l", day.low)] {
        out.text("\"").text(key).text("\":\"");
        write_price(out, symbol, price).text("\",");
    }
    let share = u128::from(day.close.abs_diff(day.open)) * 10_000 / u128::from(day.open);
    out.text(r#""p":""#)
        .text(if day.close < day.open && share > 0 {
            "-"
        } else {
            ""
        })
        .rescaled(share, 4, 4);
    out.text(r#"","v":""#)
        .trimmed(day.volume, symbol.instrument.quantity_decimals)
        .push(b'"');
}

/// 24 hours.
pub fn write_ticker(out: &mut Vec<u8>, code: &str, name: &str, symbol: &Symbol, unix_ms: u64) {
    out.text(r#"{"code":""#).text(code).text(r#"","data":{"#);
    write_day(out, symbol);
    out.text(r#","symbol":""#)
        .text(name)
        .text(r#"","ver":""#)
        .number(symbol.sequence)
        .push(b'"');
    write_end(out, Topic::Ticker, unix_ms);
}
