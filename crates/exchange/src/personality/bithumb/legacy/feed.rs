//! The older socket's messages: every number is a string.

use super::super::super::names::Names;
use super::super::super::Frames;
use super::super::feed::{KOREA_NS, LEVELS};
use super::{Kind, SPANS};
use crate::encode::Encode;
use crate::hub::Subscriptions;
use crate::market::statistics::Candle;
use crate::market::{Event, Market, Side, Symbol, SymbolId, Ticks};
use crate::time::{Calendar, DAY_NS, SECOND_NS};

const MINUTE_NS: u64 = 60 * SECOND_NS;

/// Appends what an event tells to those who filter for it.
pub fn on_event(
    names: &Names,
    market: &Market,
    event: &Event,
    wanted: &Subscriptions,
    frames: &mut Frames,
) {
    let id = event.symbol;
    let (name, symbol) = (names.of(id), market.symbol(id));
    let unix_ns = market.clock().unix_ns(event.published_ns);
    let matched_unix_ns = market.clock().unix_ns(event.matched_ns);
    let mut add = |kind: Kind, sequence: u64, write: &dyn Fn(&mut Vec<u8>)| {
        let stream = kind.stream(id);
        if wanted.wants(stream) {
            frames.add(stream, sequence, event.published_ns, write);
        }
    };
    if event.levels().next().is_some() {
        add(Kind::Depth, event.sequence, &|out| {
            write_depth(out, name, symbol, event, matched_unix_ns)
        });
    }
    if event.trades().next().is_none() {
        return;
    }
    let trade = symbol.last().fill.trade;
    add(Kind::Transaction, trade, &|out| {
        write_transactions(out, name, symbol, event, matched_unix_ns)
    });
    for span in 0..SPANS.len() {
        add(Kind::Ticker(span), trade, &|out| {
            write_ticker(out, name, symbol, span, unix_ns)
        });
    }
}

/// Appends the books that are due every second.
pub fn on_tick(
    names: &Names,
    market: &Market,
    now_ns: u64,
    wanted: &Subscriptions,
    frames: &mut Frames,
) {
    for id in market.ids() {
        let stream = Kind::Snapshot.stream(id);
        if wanted.wants(stream) {
            frames.add(stream, market.symbol(id).sequence, now_ns, |out| {
                write_snapshot(out, names, market, id, now_ns)
            });
        }
    }
}

/// `2021-06-02 08:43:34.555058` in Korea.
pub fn write_time(out: &mut Vec<u8>, unix_ns: u64, decimals: u32) {
    let calendar = Calendar::of(unix_ns + KOREA_NS);
    calendar.write_date(out, "-");
    out.push(b' ');
    calendar.write_time(out, ":", decimals);
}

fn write_transactions(out: &mut Vec<u8>, name: &str, symbol: &Symbol, event: &Event, unix_ns: u64) {
    let instrument = &symbol.instrument;
    let decimals = [instrument.price_decimals, instrument.quantity_decimals];
    // The trades of this event are the last in the list; the one before them is what the first is compared with.
    let before = symbol
        .trades
        .len()
        .checked_sub(event.trades().count() + 1)
        .map(|index| symbol.trades[index].fill.price);
    let mut before: Option<Ticks> = before;
    out.text(r#"{"type":"transaction","content":{"list":["#);
    for (index, trade) in event.trades().enumerate() {
        let fill = trade.fill;
        let buyer_took = trade.side == Side::Bid;
        out.text(if index > 0 { "," } else { "" })
            .text(r#"{"buySellGb":""#)
            .text(if buyer_took { "2" } else { "1" });
        out.text(r#"","contPrice":""#)
            .trimmed(fill.price, decimals[0])
            .text(r#"","contQty":""#)
            .trimmed(fill.quantity, decimals[1])
            .text(r#"","contAmt":""#);
        let amount = u128::from(fill.price) * u128::from(fill.quantity);
        out.rescaled(amount, decimals[0] + decimals[1], 4)
            .text(r#"","contDtm":""#);
        write_time(out, unix_ns, 6);
        let fell = before.is_some_and(|before| fill.price < before);
        out.text(r#"","updn":""#)
            .text(if fell { "dn" } else { "up" })
            .text(r#"","symbol":""#)
            .text(name)
            .text(r#""}"#);
        before = Some(fill.price);
    }
    out.text("]}}");
}

fn write_depth(out: &mut Vec<u8>, name: &str, symbol: &Symbol, event: &Event, unix_ns: u64) {
    let instrument = &symbol.instrument;
    out.text(r#"{"type":"orderbookdepth","content":{"list":["#);
    for (index, (side, price)) in event.levels().enumerate() {
        let orders = symbol
            .book
            .level(side, price)
            .map_or(0, |level| level.orders);
        out.text(if index > 0 { "," } else { "" })
            .text(r#"{"symbol":""#)
            .text(name)
            .text(r#"","orderType":""#)
            .text(if side == Side::Ask { "ask" } else { "bid" });
        out.text(r#"","price":""#)
            .trimmed(price, instrument.price_decimals)
            .text(r#"","quantity":""#);
        out.trimmed(
            symbol.book.quantity_at(side, price),
            instrument.quantity_decimals,
        );
        out.text(r#"","total":""#)
            .number(orders as u64)
            .text(r#""}"#);
    }
    out.text(r#"],"datetime":""#)
        .number(unix_ns / 1_000)
        .text(r#""}}"#);
}

fn write_snapshot(out: &mut Vec<u8>, names: &Names, market: &Market, id: SymbolId, now_ns: u64) {
    let symbol = market.symbol(id);
    out.text(r#"{"type":"orderbooksnapshot","content":{"symbol":""#)
        .text(names.of(id))
        .text(r#"","datetime":""#)
        .number(market.clock().unix_ns(now_ns) / 1_000);
    for (key, side) in [(r#"","asks":["#, Side::Ask), (r#"],"bids":["#, Side::Bid)] {
        out.text(key);
        for (index, (price, level)) in symbol.book.levels(side).take(LEVELS).enumerate() {
            out.text(if index > 0 { ",[\"" } else { "[\"" })
                .trimmed(price, symbol.instrument.price_decimals)
                .text("\",\"")
                .trimmed(level.quantity, symbol.instrument.quantity_decimals)
                .text("\"]");
        }
    }
    out.text("]}}");
}

/// The candle that a ticker tells of.
fn candle(symbol: &Symbol, span: usize, unix_ns: u64) -> Candle {
    match SPANS[span] {
        ("24H", _) => symbol.statistics.day(),
        ("MID", _) => {
            let midnight_ns = (unix_ns + KOREA_NS) / DAY_NS * DAY_NS - KOREA_NS;
            symbol.statistics.span(midnight_ns, midnight_ns + DAY_NS)
        }
        (_, minutes) => {
            let until_ns = unix_ns.next_multiple_of(MINUTE_NS);
            let from_ns = until_ns.saturating_sub(minutes * MINUTE_NS);
            symbol.statistics.span(from_ns, until_ns)
        }
    }
}

fn write_ticker(out: &mut Vec<u8>, name: &str, symbol: &Symbol, span: usize, unix_ns: u64) {
    let candle = candle(symbol, span, unix_ns);
    let instrument = &symbol.instrument;
    let [price, quantity] = [instrument.price_decimals, instrument.quantity_decimals];
    let calendar = Calendar::of(unix_ns + KOREA_NS);
    out.text(r#"{"type":"ticker","content":{"symbol":""#)
        .text(name)
        .text(r#"","tickType":""#)
        .text(SPANS[span].0)
        .text(r#"","date":""#);
    calendar.write_date(out, "");
    out.text(r#"","time":""#);
    calendar.write_time(out, "", 0);
    for (key, value) in [
        ("openPrice", candle.open),
        ("closePrice", candle.close),
        ("lowPrice", candle.low),
        ("highPrice", candle.high),
        ("prevClosePrice", candle.open),
    ] {
        out.text("\",\"")
            .text(key)
            .text("\":\"")
            .trimmed(value, price);
    }
    out.text(r#"","value":""#)
        .rescaled(candle.turnover, price + quantity, 8);
    let sold = candle.volume - candle.taker_buy_volume;
    for (key, value) in [
        ("volume", candle.volume),
        ("sellVolume", sold),
        ("buyVolume", candle.taker_buy_volume),
    ] {
        out.text("\",\"")
            .text(key)
            .text("\":\"")
            .trimmed(value, quantity);
    }
    let sign = if candle.close < candle.open { "-" } else { "" };
    let change = candle.close.abs_diff(candle.open);
    let per_cent = u128::from(change) * 10_000 / u128::from(candle.open);
    out.text(r#"","chgRate":""#)
        .text(if per_cent > 0 { sign } else { "" })
        .rescaled(per_cent, 2, 2)
        .text(r#"","chgAmt":""#)
        .text(sign)
        .trimmed(change, price);
    // Bought as a percentage of sold.
    let power = u128::from(candle.taker_buy_volume) * 10_000 / u128::from(sold.max(1));
    out.text(r#"","volumePower":""#)
        .rescaled(power, 2, 2)
        .text(r#""}}"#);
}
