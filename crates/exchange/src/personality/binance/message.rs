//! The messages' text: numbers with eight decimals, times in the connection's unit.

use crate::encode::Encode;
use crate::market::statistics::Candle;
use crate::market::{Fill, Instrument, Lots, Side, Symbol, Ticks, Trade};
use crate::time::{ExchangeClock, MILLISECOND_NS, SECOND_NS};

/// Decimals that this exchange prints of every price and quantity.
const SHOWN: u32 = 8;

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

pub fn write_trade(
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

pub fn write_best(out: &mut Vec<u8>, units: Units, bid: (Ticks, Lots), ask: (Ticks, Lots)) {
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

pub fn write_ticker(out: &mut Vec<u8>, times: Times<'_>, symbol: &Symbol, born_ns: u64) {
    let units = Units::of(&symbol.instrument);
    let day = symbol.statistics.day();
    write_change(out, units, &day, ["p", "P"]);
    out.text(r#","w":""#);
    write_mean(out, units, &day).text(r#"","x":""#);
    units.price(out, day.open).text(r#"","c":""#);
    units.price(out, day.close).text(r#"","Q":""#);
    units.quantity(out, symbol.last().fill.quantity);
    if let [Some(bid), Some(ask)] = symbol.best() {
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

pub fn write_mini_ticker(
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

pub fn write_window_ticker(
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

pub fn write_candle(out: &mut Vec<u8>, units: Units, candle: &Candle, closed: bool) {
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
