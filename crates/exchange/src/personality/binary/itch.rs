//! ITCH-like: messages of fixed width, big endian, each with its kind in the first byte, as Nasdaq's TotalView-ITCH 5.0
//! has them. The header is ITCH's; prices and quantities are wider, since ITCH's four bytes hold no coin's.
//!
//! ```text
//! header   kind 1, locate 2, tracking 2, nanoseconds since midnight UTC 6
//! P        header, maker's order 8, maker's side 1, quantity 8, symbol 8, price 8, trade 8              52 bytes
//! Q        header, symbol 8, update 8, bid price 8, bid quantity 8, ask price 8, ask quantity 8         59 bytes
//! L        header, side 1, quantity 8, symbol 8, price 8, update 8                                      44 bytes
//! ```
//!
//! P is ITCH's trade message; Q and L are not ITCH's: best prices, and a level of the book as it is now (0: it is gone).
//! A WebSocket message holds what one event tells: several P or L one after the other where a taker met several orders.

use super::{About, Encoding, Kind, Levels, Pace, Trades};
use crate::market::{Lots, Side, Ticks};
use crate::time::DAY_NS;

/// Decimals of every price and quantity.
const DECIMALS: u32 = 8;
/// Of a symbol, filled up with spaces; longer names are cut, and the locate tells them apart.
const SYMBOL_BYTES: usize = 8;

/// The encoding.
pub struct ItchLike;

impl Encoding for ItchLike {
    const NAME: &'static str = "itch";
    const STREAMS: &'static [(&'static str, Kind)] = &[
        ("trade", Kind::Trades),
        ("bookTicker", Kind::Best),
        ("depth", Kind::Changes(Pace::RealTime)),
    ];

    fn trades(out: &mut Vec<u8>, about: About<'_>, trades: Trades<'_>) {
        for fill in trades.fills {
            header(out, b'P', about);
            number(out, fill.maker);
            out.push(letter(trades.side.opposite()));
            number(out, quantity(about, fill.quantity));
            symbol(out, about);
            number(out, price(about, fill.price));
            number(out, fill.trade);
        }
    }

    fn best(out: &mut Vec<u8>, about: About<'_>, update: u64, best: [(Ticks, Lots); 2]) {
        header(out, b'Q', about);
        symbol(out, about);
        number(out, update);
        for (ticks, lots) in best {
            number(out, price(about, ticks));
            number(out, quantity(about, lots));
        }
    }

    fn levels(out: &mut Vec<u8>, about: About<'_>, levels: Levels<'_>) {
        for (side, levels_of_side) in [(Side::Bid, levels.bids), (Side::Ask, levels.asks)] {
            for &(ticks, lots) in levels_of_side {
                header(out, b'L', about);
                out.push(letter(side));
                number(out, quantity(about, lots));
                symbol(out, about);
                number(out, price(about, ticks));
                number(out, levels.updates.1);
            }
        }
    }
}

/// The locate is the symbol's number, from 1; the tracking number is the exchange's own business, and 0.
fn header(out: &mut Vec<u8>, kind: u8, about: About<'_>) {
    out.push(kind);
    out.extend(((about.number + 1) as u16).to_be_bytes());
    out.extend(0_u16.to_be_bytes());
    let of_day_ns = about.unix_ns % DAY_NS;
    out.extend(&of_day_ns.to_be_bytes()[2..]);
}

fn number(out: &mut Vec<u8>, number: u64) {
    out.extend(number.to_be_bytes());
}

fn price(about: About<'_>, price: Ticks) -> u64 {
    price.saturating_mul(10_u64.pow(DECIMALS - about.instrument.price_decimals))
}

fn quantity(about: About<'_>, quantity: Lots) -> u64 {
    quantity.saturating_mul(10_u64.pow(DECIMALS - about.instrument.quantity_decimals))
}

fn letter(side: Side) -> u8 {
    match side {
        Side::Bid => b'B',
        Side::Ask => b'S',
    }
}

fn symbol(out: &mut Vec<u8>, about: About<'_>) {
    let mut symbol = [b' '; SYMBOL_BYTES];
    let shown = about.name.len().min(SYMBOL_BYTES);
    symbol[..shown].copy_from_slice(&about.name.as_bytes()[..shown]);
    out.extend(symbol);
}
