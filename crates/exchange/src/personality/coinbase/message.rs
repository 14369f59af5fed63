//! The messages' text.

use crate::encode::Encode;
use crate::market::{Event, Lots, Side, Symbol, SymbolId, Ticks, Trade};
use crate::time::{write_rfc3339, ExchangeClock};

/// An order's number as the UUID that this exchange gives its orders: random to look at, one for each order.
pub fn write_order_id(out: &mut Vec<u8>, product: SymbolId, order: u64) {
    // SplitMix's finisher is a bijection, so different orders keep different halves.
    let mixed = |number: u64| {
        let mixed = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    };
    let high = mixed(order.wrapping_add(0x9e37_79b9_7f4a_7c15));
    let low = u64::from(product.0) << 48 | (order & 0xffff_ffff_ffff);
    let bits = u128::from(high) << 64 | u128::from(low);
    // Version 4, variant 1.
    let bits = bits & !(0xf << 76) & !(0x3 << 62) | 0x4 << 76 | 0x2 << 62;
    for nibble in (0..32u32).rev() {
        out.push(b"0123456789abcdef"[(bits >> (nibble * 4) & 0xf) as usize]);
        if matches!(nibble, 24 | 20 | 16 | 12) {
            out.push(b'-');
        }
    }
}

/// Appends `"…Z"` in microseconds.
pub fn write_time(out: &mut Vec<u8>, clock: &ExchangeClock, at_ns: u64) {
    out.push(b'"');
    write_rfc3339(out, clock.unix_ns(at_ns), 6);
    out.push(b'"');
}

/// An event, and what is needed to tell it.
pub struct Told<'a> {
    pub clock: &'a ExchangeClock,
    pub name: &'a str,
    pub symbol: &'a Symbol,
    pub event: &'a Event,
}

impl Told<'_> {
    fn head<'b>(
        &self,
        out: &'b mut Vec<u8>,
        kind: &str,
        sequence: u64,
        order: u64,
    ) -> &'b mut Vec<u8> {
        out.text(r#"{"type":""#).text(kind).text(r#"","time":"#);
        write_time(out, self.clock, self.event.matched_ns);
        out.text(r#","product_id":""#)
            .text(self.name)
            .text(r#"","sequence":"#)
            .number(sequence);
        out.text(r#","order_id":""#);
        write_order_id(out, self.event.symbol, order);
        out.push(b'"');
        out
    }

    pub fn received(
        &self,
        out: &mut Vec<u8>,
        sequence: u64,
        order: u64,
        side: Side,
        price: Option<Ticks>,
        quantity: Lots,
    ) {
        let instrument = &self.symbol.instrument;
        self.head(out, "received", sequence, order)
            .text(r#","size":""#);
        out.trimmed(quantity, instrument.quantity_decimals);
        if let Some(price) = price {
            out.text(r#"","price":""#)
                .trimmed(price, instrument.price_decimals);
        }
        out.text(r#"","side":""#)
            .text(side.order_word())
            .text(r#"","order_type":""#);
        out.text(if price.is_some() { "limit" } else { "market" })
            .text(r#""}"#);
    }

    pub fn open(
        &self,
        out: &mut Vec<u8>,
        sequence: u64,
        order: u64,
        side: Side,
        price: Ticks,
        quantity: Lots,
    ) {
        let instrument = &self.symbol.instrument;
        self.head(out, "open", sequence, order)
            .text(r#","price":""#);
        out.trimmed(price, instrument.price_decimals)
            .text(r#"","remaining_size":""#);
        out.trimmed(quantity, instrument.quantity_decimals);
        out.text(r#"","side":""#)
            .text(side.order_word())
            .text(r#""}"#);
    }

    pub fn done(
        &self,
        out: &mut Vec<u8>,
        sequence: u64,
        order: u64,
        side: Side,
        rested: Option<(Ticks, Lots)>,
        reason: &str,
    ) {
        let instrument = &self.symbol.instrument;
        self.head(out, "done", sequence, order);
        if let Some((price, remaining)) = rested {
            out.text(r#","price":""#)
                .trimmed(price, instrument.price_decimals)
                .text(r#"","remaining_size":""#);
            out.trimmed(remaining, instrument.quantity_decimals)
                .push(b'"');
        }
        out.text(r#","reason":""#)
            .text(reason)
            .text(r#"","side":""#)
            .text(side.order_word())
            .text(r#""}"#);
    }

    pub fn matched(&self, out: &mut Vec<u8>, sequence: u64, trade: &Trade) {
        write_match(
            out,
            self.clock,
            self.name,
            self.symbol,
            self.event.symbol,
            trade,
            sequence,
            "match",
        );
    }
}

#[expect(
    clippy::too_many_arguments,
    reason = "one message, told twice: as it happens and as the last one"
)]
pub fn write_match(
    out: &mut Vec<u8>,
    clock: &ExchangeClock,
    name: &str,
    symbol: &Symbol,
    id: SymbolId,
    trade: &Trade,
    sequence: u64,
    kind: &str,
) {
    let instrument = &symbol.instrument;
    out.text(r#"{"type":""#)
        .text(kind)
        .text(r#"","trade_id":"#)
        .number(trade.fill.trade);
    out.text(r#","maker_order_id":""#);
    write_order_id(out, id, trade.fill.maker);
    out.text(r#"","taker_order_id":""#);
    write_order_id(out, id, trade.taker);
    out.text(r#"","side":""#)
        .text(trade.side.opposite().order_word())
        .text(r#"","size":""#);
    out.trimmed(trade.fill.quantity, instrument.quantity_decimals)
        .text(r#"","price":""#);
    out.trimmed(trade.fill.price, instrument.price_decimals)
        .text(r#"","product_id":""#)
        .text(name);
    out.text(r#"","sequence":"#)
        .number(sequence)
        .text(r#","time":"#);
    write_time(out, clock, trade.matched_ns);
    out.push(b'}');
}

pub fn write_ticker(
    out: &mut Vec<u8>,
    clock: &ExchangeClock,
    name: &str,
    symbol: &Symbol,
    trade: &Trade,
    sequence: u64,
) {
    let instrument = &symbol.instrument;
    let (price, quantity) = (instrument.price_decimals, instrument.quantity_decimals);
    let day = symbol.statistics.day();
    out.text(r#"{"type":"ticker","sequence":"#)
        .number(sequence)
        .text(r#","product_id":""#)
        .text(name);
    out.text(r#"","price":""#)
        .trimmed(trade.fill.price, price)
        .text(r#"","open_24h":""#)
        .trimmed(day.open, price);
    out.text(r#"","volume_24h":""#)
        .rescaled(day.volume.into(), quantity, 8);
    out.text(r#"","low_24h":""#)
        .trimmed(day.low, price)
        .text(r#"","high_24h":""#)
        .trimmed(day.high, price);
    // No month is kept: the market is younger than a day or forgets.
    out.text(r#"","volume_30d":""#)
        .rescaled(day.volume.into(), quantity, 8);
    for (side, key) in [
        (Side::Bid, r#"","best_bid":""#),
        (Side::Ask, r#"","best_ask":""#),
    ] {
        let (best, size) = symbol.book.best(side).unwrap_or((0, 0));
        out.text(key).decimal(best, price);
        let key = if side == Side::Bid {
            r#"","best_bid_size":""#
        } else {
            r#"","best_ask_size":""#
        };
        out.text(key).rescaled(size.into(), quantity, 8);
    }
    out.text(r#"","side":""#)
        .text(trade.side.order_word())
        .text(r#"","time":"#);
    write_time(out, clock, trade.matched_ns);
    out.text(r#","trade_id":"#)
        .number(trade.fill.trade)
        .text(r#","last_size":""#);
    out.trimmed(trade.fill.quantity, quantity).text(r#""}"#);
}

pub fn write_heartbeat(
    out: &mut Vec<u8>,
    clock: &ExchangeClock,
    name: &str,
    symbol: &Symbol,
    sequence: u64,
    now_ns: u64,
) {
    out.text(r#"{"type":"heartbeat","sequence":"#)
        .number(sequence)
        .text(r#","last_trade_id":"#);
    out.number(symbol.last().fill.trade)
        .text(r#","product_id":""#)
        .text(name)
        .text(r#"","time":"#);
    write_time(out, clock, now_ns);
    out.push(b'}');
}

pub fn write_change(out: &mut Vec<u8>, symbol: &Symbol, side: Side, price: Ticks) {
    let instrument = &symbol.instrument;
    out.text("[\"")
        .text(side.order_word())
        .text("\",\"")
        .decimal(price, instrument.price_decimals)
        .text("\",\"");
    out.decimal(
        symbol.book.quantity_at(side, price),
        instrument.quantity_decimals,
    )
    .text("\"]");
}

pub fn write_snapshot(out: &mut Vec<u8>, name: &str, symbol: &Symbol) {
    let instrument = &symbol.instrument;
    out.text(r#"{"type":"snapshot","product_id":""#)
        .text(name)
        .text(r#"","asks":["#);
    for (side, key) in [(Side::Ask, ""), (Side::Bid, r#"],"bids":["#)] {
        out.text(key);
        for (index, (price, level)) in symbol.book.levels(side).enumerate() {
            out.text(if index > 0 { ",[\"" } else { "[\"" })
                .decimal(price, instrument.price_decimals);
            out.text("\",\"")
                .decimal(level.quantity, instrument.quantity_decimals)
                .text("\"]");
        }
    }
    out.text("]}");
}
