//! Simple Binary Encoding as Binance's market data streams use it: little endian, times in microseconds, prices and
//! quantities as a mantissa and an exponent that the whole message shares.
//!
//! Source: the exchange's `sbe-market-data-streams.md` and `sbe/schemas/stream_1_0.xml` (schema 1, version 0) as of
//! 2026-07. Nothing is culled here: the exchange may drop best prices that are out of date when it is under load.

use super::{About, Encoding, Kind, Levels, Pace, Trades};
use crate::market::{Lots, Side, Ticks};
use crate::time::MILLISECOND_NS;

const SCHEMA: u16 = 1;
const VERSION: u16 = 0;
/// Event time, transaction time, two exponents.
const TRADES: (u16, u16) = (10_000, 8 + 8 + 1 + 1);
/// Event time, update, two exponents, four mantissas.
const BEST: (u16, u16) = (10_001, 8 + 8 + 1 + 1 + 4 * 8);
/// Event time, update, two exponents.
const SNAPSHOT: (u16, u16) = (10_002, 8 + 8 + 1 + 1);
/// Event time, first and last update, two exponents.
const CHANGES: (u16, u16) = (10_003, 8 + 8 + 8 + 1 + 1);
/// Number, price, quantity, whether the buyer was the maker; that it is the best match is a constant of the schema,
/// which takes no room.
const TRADE_BYTES: u16 = 8 + 8 + 8 + 1;
/// Price, quantity.
const LEVEL_BYTES: u16 = 8 + 8;

/// The encoding.
pub struct Sbe;

impl Encoding for Sbe {
    const NAME: &'static str = "binance-sbe";
    const STREAMS: &'static [(&'static str, Kind)] = &[
        ("trade", Kind::Trades),
        ("bestBidAsk", Kind::Best),
        ("depth", Kind::Changes(Pace::Every(20 * MILLISECOND_NS))),
        (
            "depth20",
            Kind::Snapshot {
                levels: 20,
                every_ns: 50 * MILLISECOND_NS,
            },
        ),
    ];

    fn trades(out: &mut Vec<u8>, about: About<'_>, trades: Trades<'_>) {
        header(out, TRADES);
        number(out, about.unix_ns / 1_000);
        number(out, trades.unix_ns / 1_000);
        exponents(out, about);
        // This group alone has a count of four bytes.
        out.extend(TRADE_BYTES.to_le_bytes());
        out.extend((trades.fills.len() as u32).to_le_bytes());
        for fill in trades.fills {
            number(out, fill.trade);
            number(out, fill.price);
            number(out, fill.quantity);
            out.push(u8::from(trades.side == Side::Ask));
        }
        symbol(out, about);
    }

    fn best(out: &mut Vec<u8>, about: About<'_>, update: u64, best: [(Ticks, Lots); 2]) {
        header(out, BEST);
        number(out, about.unix_ns / 1_000);
        number(out, update);
        exponents(out, about);
        for (price, quantity) in best {
            number(out, price);
            number(out, quantity);
        }
        symbol(out, about);
    }

    fn levels(out: &mut Vec<u8>, about: About<'_>, levels: Levels<'_>) {
        let (first, last) = levels.updates;
        header(out, if first.is_some() { CHANGES } else { SNAPSHOT });
        number(out, about.unix_ns / 1_000);
        if let Some(first) = first {
            number(out, first);
        }
        number(out, last);
        exponents(out, about);
        for side in [levels.bids, levels.asks] {
            out.extend(LEVEL_BYTES.to_le_bytes());
            // A book has fewer levels between two messages than the field can count, but nothing says so.
            let side = &side[..side.len().min(u16::MAX.into())];
            out.extend((side.len() as u16).to_le_bytes());
            for &(price, quantity) in side {
                number(out, price);
                number(out, quantity);
            }
        }
        symbol(out, about);
    }
}

fn header(out: &mut Vec<u8>, (template, block_bytes): (u16, u16)) {
    for field in [block_bytes, template, SCHEMA, VERSION] {
        out.extend(field.to_le_bytes());
    }
}

/// All whole numbers of the schema are signed and eight bytes wide.
fn number(out: &mut Vec<u8>, number: u64) {
    let number = i64::try_from(number).unwrap_or(i64::MAX);
    out.extend(number.to_le_bytes());
}

fn exponents(out: &mut Vec<u8>, about: About<'_>) {
    for decimals in [
        about.instrument.price_decimals,
        about.instrument.quantity_decimals,
    ] {
        out.extend((-(decimals as i8)).to_le_bytes());
    }
}

/// Its length in one byte, then its text.
fn symbol(out: &mut Vec<u8>, about: About<'_>) {
    let name = &about.name.as_bytes()[..about.name.len().min(u8::MAX.into())];
    out.push(name.len() as u8);
    out.extend(name);
}
