//! The channels' messages.

use super::super::names::Names;
use super::super::{Frames, Reply};
use super::Channel;
use crate::encode::Encode;
use crate::hub::Subscriptions;
use crate::market::{Action, Event, Fill, Lots, Market, Side, Symbol, SymbolId, Ticks, Trade};
use crate::time::{write_rfc3339, ExchangeClock, MILLISECOND_NS, SECOND_NS};

/// Time between batches of `level2_batch`.
const TICK_NS: u64 = 50 * MILLISECOND_NS;
const TICKS_PER_S: u64 = SECOND_NS / TICK_NS;

/// What the exchange counts of one product beyond the market's own numbers.
struct Product {
    /// Of the last message that the `full` channel would carry: each order takes several steps.
    sequence: u64,
    /// Of the last match.
    match_sequence: u64,
    /// Levels changed since the last batch.
    changed: Vec<(Side, Ticks)>,
    /// Last trade told by `ticker_batch`.
    told_trade: u64,
}

/// The feed of all products.
pub struct Feed {
    products: Vec<Product>,
    tick_ns: u64,
    ticks: u64,
}

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

impl Feed {
    pub fn new(market: &Market) -> Self {
        let products = market.symbols().iter().map(|symbol| {
            // As if each event before the opening had been one message.
            let sequence = symbol.sequence;
            Product {
                sequence,
                match_sequence: sequence,
                changed: Vec::new(),
                told_trade: symbol.last().fill.trade,
            }
        });
        Self {
            products: products.collect(),
            tick_ns: TICK_NS,
            ticks: 0,
        }
    }

    pub fn tick_ns(&self) -> u64 {
        self.tick_ns
    }

    /// Of the last message of a product.
    pub fn sequence(&self, product: SymbolId) -> u64 {
        self.products[product.0 as usize].sequence
    }

    /// What a new subscriber gets first: the book, the last match, the ticker as it stands.
    pub fn first_frame(
        &self,
        names: &Names,
        market: &Market,
        channel: Channel,
        id: SymbolId,
        now_ns: u64,
    ) -> Option<Reply> {
        let (name, symbol) = (names.of(id), market.symbol(id));
        let product = &self.products[id.0 as usize];
        let clock = market.clock();
        match channel {
            Channel::Level2 | Channel::Level2Batch => {
                Some(Reply::text(|out| write_snapshot(out, name, symbol)))
            }
            Channel::Matches => Some(Reply::text(|out| {
                write_match(
                    out,
                    clock,
                    name,
                    symbol,
                    id,
                    symbol.last(),
                    product.match_sequence,
                    "last_match",
                );
            })),
            Channel::Ticker | Channel::TickerBatch => Some(Reply::text(|out| {
                write_ticker(
                    out,
                    clock,
                    name,
                    symbol,
                    symbol.last(),
                    product.match_sequence,
                );
            })),
            Channel::Heartbeat => Some(Reply::text(|out| {
                write_heartbeat(out, clock, name, symbol, product.sequence, now_ns)
            })),
            Channel::Full => None,
        }
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
        let product = &mut self.products[id.0 as usize];
        let symbol = market.symbol(id);
        let told = Told {
            clock: market.clock(),
            name: names.of(id),
            symbol,
            event,
        };
        let full = Channel::Full.stream(id);
        let full = wanted.wants(full).then_some(full);
        let (level2, born_ns) = (Channel::Level2.stream(id), event.published_ns);
        let mut step = |frames: &mut Frames, write: &dyn Fn(&mut Vec<u8>, u64)| {
            product.sequence += 1;
            if let Some(full) = full {
                frames.add(full, product.sequence, born_ns, |out| {
                    write(out, product.sequence)
                });
            }
            product.sequence
        };
        match &event.action {
            &Action::Place {
                order,
                side,
                price,
                quantity,
            } => {
                step(frames, &|out, sequence| {
                    told.received(out, sequence, order, side, Some(price), quantity)
                });
                step(frames, &|out, sequence| {
                    told.open(out, sequence, order, side, price, quantity)
                });
            }
            &Action::Cancel {
                order,
                side,
                price,
                quantity,
            } => {
                step(frames, &|out, sequence| {
                    told.done(
                        out,
                        sequence,
                        order,
                        side,
                        Some((price, quantity)),
                        "canceled",
                    )
                });
            }
            Action::Take {
                order,
                side,
                quantity,
                fills,
            } => {
                step(frames, &|out, sequence| {
                    told.received(out, sequence, *order, *side, None, *quantity)
                });
                for trade in event.trades() {
                    let Fill {
                        maker,
                        price,
                        maker_remaining,
                        ..
                    } = trade.fill;
                    let sequence =
                        step(frames, &|out, sequence| told.matched(out, sequence, &trade));
                    for (channel, is_ticker) in [(Channel::Matches, false), (Channel::Ticker, true)]
                    {
                        let stream = channel.stream(id);
                        if wanted.wants(stream) {
                            frames.add(stream, sequence, born_ns, |out| match is_ticker {
                                true => write_ticker(
                                    out, told.clock, told.name, symbol, &trade, sequence,
                                ),
                                false => told.matched(out, sequence, &trade),
                            });
                        }
                    }
                    if maker_remaining == 0 {
                        step(frames, &|out, sequence| {
                            told.done(
                                out,
                                sequence,
                                maker,
                                side.opposite(),
                                Some((price, 0)),
                                "filled",
                            );
                        });
                    }
                }
                let taken: Lots = fills.iter().map(|fill| fill.quantity).sum();
                let reason = if taken == *quantity {
                    "filled"
                } else {
                    "canceled"
                };
                step(frames, &|out, sequence| {
                    told.done(out, sequence, *order, *side, None, reason)
                });
            }
        }
        if event.trades().next().is_some() {
            // The number of the last match, not of the steps after it, is what a ticker shows.
            let after_last_match = 1 + u64::from(
                event
                    .trades()
                    .last()
                    .is_some_and(|t| t.fill.maker_remaining == 0),
            );
            product.match_sequence = product.sequence - after_last_match;
        }
        if wanted.wants(level2) {
            for (side, price) in event.levels() {
                frames.add(level2, event.sequence, born_ns, |out| {
                    out.text(r#"{"type":"l2update","product_id":""#)
                        .text(told.name)
                        .text(r#"","changes":["#);
                    write_change(out, symbol, side, price);
                    out.text(r#"],"time":"#);
                    write_time(out, told.clock, event.matched_ns);
                    out.push(b'}');
                });
            }
        }
        product.changed.extend(event.levels());
    }

    /// Batches of level 2, heartbeats, batched tickers.
    pub fn on_tick(
        &mut self,
        names: &Names,
        market: &Market,
        wanted: &Subscriptions,
        frames: &mut Frames,
    ) {
        self.ticks += 1;
        let (now_ns, clock) = (self.tick_ns, market.clock());
        for (id, product) in market.ids().zip(&mut self.products) {
            let (name, symbol) = (names.of(id), market.symbol(id));
            let batch = Channel::Level2Batch.stream(id);
            if wanted.wants(batch) && !product.changed.is_empty() {
                product.changed.sort_unstable();
                product.changed.dedup();
                frames.add(batch, symbol.sequence, now_ns, |out| {
                    out.text(r#"{"type":"l2update","product_id":""#)
                        .text(name)
                        .text(r#"","changes":["#);
                    for (index, &(side, price)) in product.changed.iter().enumerate() {
                        out.text(if index > 0 { "," } else { "" });
                        write_change(out, symbol, side, price);
                    }
                    out.text(r#"],"time":"#);
                    write_time(out, clock, now_ns);
                    out.push(b'}');
                });
            }
            product.changed.clear();
            let heartbeat = Channel::Heartbeat.stream(id);
            if self.ticks % TICKS_PER_S == 0 && wanted.wants(heartbeat) {
                frames.add(heartbeat, product.sequence, now_ns, |out| {
                    write_heartbeat(out, clock, name, symbol, product.sequence, now_ns);
                });
            }
            let ticker = Channel::TickerBatch.stream(id);
            let last = symbol.last();
            if self.ticks % (5 * TICKS_PER_S) == 0
                && wanted.wants(ticker)
                && product.told_trade != last.fill.trade
            {
                product.told_trade = last.fill.trade;
                frames.add(ticker, product.match_sequence, now_ns, |out| {
                    write_ticker(out, clock, name, symbol, last, product.match_sequence);
                });
            }
        }
        self.tick_ns += TICK_NS;
    }
}

/// An event, and what is needed to tell it.
struct Told<'a> {
    clock: &'a ExchangeClock,
    name: &'a str,
    symbol: &'a Symbol,
    event: &'a Event,
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

    fn received(
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

    fn open(
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

    fn done(
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

    fn matched(&self, out: &mut Vec<u8>, sequence: u64, trade: &Trade) {
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
fn write_match(
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

fn write_ticker(
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

fn write_heartbeat(
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

fn write_change(out: &mut Vec<u8>, symbol: &Symbol, side: Side, price: Ticks) {
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

fn write_snapshot(out: &mut Vec<u8>, name: &str, symbol: &Symbol) {
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
