//! The messages' text: prices with the instrument's decimals, quantities with eight, times in nanoseconds.

use crate::encode::Encode;
use crate::market::{Instrument, Lots, Side, Symbol, Ticks, Trade};

/// Decimals that this exchange prints of every quantity.
const QUANTITY_DECIMALS: u32 = 8;

fn write_quantity(out: &mut Vec<u8>, instrument: &Instrument, quantity: Lots) {
    let decimals = instrument.quantity_decimals;
    out.rescaled(quantity.into(), decimals, QUANTITY_DECIMALS);
}

fn write_levels(
    out: &mut Vec<u8>,
    instrument: &Instrument,
    levels: impl Iterator<Item = (Ticks, Lots)>,
) {
    out.push(b'[');
    for (index, (price, quantity)) in levels.enumerate() {
        out.text(if index > 0 { ",[\"" } else { "[\"" })
            .decimal(price, instrument.price_decimals)
            .text("\",\"");
        write_quantity(out, instrument, quantity);
        out.text("\"]");
    }
    out.push(b']');
}

/// The best prices, with the last trade's.
pub fn write_best(out: &mut Vec<u8>, name: &str, symbol: &Symbol, unix_ns: u64) {
    let instrument = &symbol.instrument;
    out.text(r#"{"u":"#)
        .number(symbol.sequence)
        .text(r#","E":"#)
        .number(unix_ns)
        .text(r#","s":""#)
        .text(name)
        .push(b'"');
    let [bid, ask] = symbol.best().map(|best| best.unwrap_or((0, 0)));
    let last = symbol.last().fill;
    for (keys, (price, quantity)) in [
        (["b", "B"], bid),
        (["a", "A"], ask),
        (["c", "C"], (last.price, last.quantity)),
    ] {
        out.text(",\"")
            .text(keys[0])
            .text("\":\"")
            .decimal(price, instrument.price_decimals)
            .text("\",\"")
            .text(keys[1])
            .text("\":\"");
        write_quantity(out, instrument, quantity);
        out.push(b'"');
    }
    out.push(b'}');
}

pub fn write_trade(out: &mut Vec<u8>, name: &str, symbol: &Symbol, trade: &Trade, unix_ns: u64) {
    out.text(r#"{"E":"#)
        .number(unix_ns)
        .text(r#","s":""#)
        .text(name)
        .text(r#"","t":"#)
        .number(trade.fill.trade)
        .text(r#","p":""#)
        .decimal(trade.fill.price, symbol.instrument.price_decimals)
        .text(r#"","q":""#);
    write_quantity(out, &symbol.instrument, trade.fill.quantity);
    out.text(r#"","m":"#)
        .boolean(trade.side == Side::Ask)
        .push(b'}');
}

/// A range of updates, and the quantities that these levels have now; zero for a level that is gone.
pub fn write_depth(
    out: &mut Vec<u8>,
    name: &str,
    symbol: &Symbol,
    unix_ns: u64,
    first: u64,
    bids: impl Iterator<Item = Ticks>,
    asks: impl Iterator<Item = Ticks>,
) {
    let quantity = |side| move |price| (price, symbol.book.quantity_at(side, price));
    out.text(r#"{"e":"depthUpdate","E":"#)
        .number(unix_ns)
        .text(r#","s":""#)
        .text(name)
        .text(r#"","U":"#)
        .number(first)
        .text(r#","u":"#)
        .number(symbol.sequence)
        .text(r#","b":"#);
    write_levels(out, &symbol.instrument, bids.map(quantity(Side::Bid)));
    out.text(r#","a":"#);
    write_levels(out, &symbol.instrument, asks.map(quantity(Side::Ask)));
    out.push(b'}');
}

/// The best `count` levels of each side.
pub fn write_book(out: &mut Vec<u8>, symbol: &Symbol, count: usize) {
    let levels = |side| {
        let levels = symbol.book.levels(side).take(count);
        levels.map(|(price, level)| (price, level.quantity))
    };
    out.text(r#"{"lastUpdateId":"#)
        .number(symbol.sequence)
        .text(r#","bids":"#);
    write_levels(out, &symbol.instrument, levels(Side::Bid));
    out.text(r#","asks":"#);
    write_levels(out, &symbol.instrument, levels(Side::Ask));
    out.push(b'}');
}
