//! Both versions' messages.

use super::super::names::Names;
use super::super::Frames;
use super::{Channel, Filter, CANDLES};
use crate::encode::Encode;
use crate::hub::Subscriptions;
use crate::market::{Action, Best, Event, Lots, Market, Side, Symbol, Ticks, Trade};
use crate::time::{ExchangeClock, SECOND_NS};

/// The feed of all symbols.
pub struct Feed {
    best: Vec<Best>,
    traded: Vec<bool>,
    tick_ns: u64,
}

impl Feed {
    pub fn new(market: &Market) -> Self {
        let best = market.symbols().iter().map(Symbol::best).collect();
        Self {
            best,
            traded: vec![false; market.symbols().len()],
            tick_ns: SECOND_NS,
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
        let (name, symbol, clock) = (names.of(id), market.symbol(id), market.clock());
        let now = symbol.best();
        let before = std::mem::replace(&mut self.best[id.0 as usize], now);
        for bits in 0..16 {
            let filter = Filter::of_bits(bits);
            let stream = Channel::V1(filter).stream(id);
            if wanted.wants(stream) && tells(event, filter, before, now) {
                let unix_ms = clock.unix_ms(event.published_ns);
                let before_number = |out: &mut Vec<u8>| {
                    out.text(r#"{"type":"update","eventId":"#)
                        .number(event.sequence)
                        .text(r#","timestamp":"#);
                    out.number(unix_ms / 1_000)
                        .text(r#","timestampms":"#)
                        .number(unix_ms);
                    out.text(r#","socket_sequence":"#);
                };
                frames.add_numbered(
                    stream,
                    event.sequence,
                    event.published_ns,
                    before_number,
                    |out| {
                        out.text(r#","events":["#);
                        write_v1_events(out, symbol, event, filter, before, now);
                        out.text("]}");
                    },
                );
            }
        }
        self.traded[id.0 as usize] |= event.trades().next().is_some();
        let stream = Channel::Level2.stream(id);
        if wanted.wants(stream) {
            frames.add(stream, event.sequence, event.published_ns, |out| {
                out.text(r#"{"type":"l2_updates","symbol":""#)
                    .text(name)
                    .text(r#"","changes":["#);
                for (index, (side, price)) in event.levels().enumerate() {
                    out.text(if index > 0 { "," } else { "" });
                    write_level(
                        out,
                        symbol,
                        side,
                        price,
                        symbol.book.quantity_at(side, price),
                    );
                }
                out.text("]}");
            });
            for trade in event.trades() {
                frames.add(stream, trade.fill.trade, event.published_ns, |out| {
                    write_v2_trade(out, clock, name, symbol, &trade);
                });
            }
        }
    }

    /// Candles, every second in which there were trades.
    pub fn on_tick(
        &mut self,
        names: &Names,
        market: &Market,
        wanted: &Subscriptions,
        frames: &mut Frames,
    ) {
        let now_ns = self.tick_ns;
        for id in market
            .ids()
            .filter(|id| std::mem::take(&mut self.traded[id.0 as usize]))
        {
            let (name, symbol) = (names.of(id), market.symbol(id));
            for index in 0..CANDLES.len() {
                let stream = Channel::Candles(index).stream(id);
                if wanted.wants(stream) {
                    frames.add(stream, symbol.last().fill.trade, now_ns, |out| {
                        write_candles(out, market.clock(), name, symbol, index, now_ns);
                    });
                }
            }
        }
        self.tick_ns += SECOND_NS;
    }
}

/// Whether an event means anything to a connection with this filter: each message carries a number, so that none may
/// be empty.
fn tells(event: &Event, filter: Filter, before: Best, now: Best) -> bool {
    let trades = filter.trades && event.trades().next().is_some();
    let sides = [(Side::Bid, filter.bids, 0), (Side::Ask, filter.offers, 1)];
    trades
        || sides.iter().any(|&(side, wanted, index)| {
            wanted
                && match filter.top_of_book {
                    true => before[index] != now[index],
                    false => event.levels().any(|(changed, _)| changed == side),
                }
        })
}

fn write_v1_events(
    out: &mut Vec<u8>,
    symbol: &Symbol,
    event: &Event,
    filter: Filter,
    before: Best,
    now: Best,
) {
    let mut first = true;
    let mut separate =
        |out: &mut Vec<u8>| _ = out.text(if std::mem::take(&mut first) { "" } else { "," });
    let instrument = &symbol.instrument;
    for trade in event.trades().filter(|_| filter.trades) {
        separate(out);
        out.text(r#"{"type":"trade","tid":"#)
            .number(trade.fill.trade)
            .text(r#","price":""#);
        out.decimal(trade.fill.price, instrument.price_decimals)
            .text(r#"","amount":""#);
        out.trimmed(trade.fill.quantity, instrument.quantity_decimals)
            .text(r#"","makerSide":""#);
        out.text(side_word(trade.side.opposite())).text(r#""}"#);
    }
    for (side, wanted, index) in [(Side::Bid, filter.bids, 0), (Side::Ask, filter.offers, 1)] {
        if wanted && filter.top_of_book && before[index] != now[index] {
            let (price, _) = now[index].unwrap_or((0, 0));
            separate(out);
            write_v1_change(out, symbol, side, price, None, "top-of-book");
        }
        if !wanted || filter.top_of_book {
            continue;
        }
        for (_, price) in event.levels().filter(|(changed, _)| *changed == side) {
            let (sign, delta, reason) = match &event.action {
                Action::Place { quantity, .. } => ("", *quantity, "place"),
                Action::Cancel { quantity, .. } => ("-", *quantity, "cancel"),
                Action::Take { fills, .. } => {
                    let taken = fills
                        .iter()
                        .filter(|fill| fill.price == price)
                        .map(|fill| fill.quantity)
                        .sum();
                    ("-", taken, "trade")
                }
            };
            separate(out);
            write_v1_change(out, symbol, side, price, Some((sign, delta)), reason);
        }
    }
}

fn side_word(side: Side) -> &'static str {
    match side {
        Side::Bid => "bid",
        Side::Ask => "ask",
    }
}

/// A change of a level, by a delta with its sign where there is one.
pub fn write_v1_change(
    out: &mut Vec<u8>,
    symbol: &Symbol,
    side: Side,
    price: Ticks,
    delta: Option<(&str, Lots)>,
    reason: &str,
) {
    let instrument = &symbol.instrument;
    out.text(r#"{"type":"change","side":""#)
        .text(side_word(side))
        .text(r#"","price":""#);
    out.decimal(price, instrument.price_decimals)
        .text(r#"","remaining":""#);
    out.trimmed(
        symbol.book.quantity_at(side, price),
        instrument.quantity_decimals,
    );
    if let Some((sign, delta)) = delta {
        out.text(r#"","delta":""#)
            .text(sign)
            .trimmed(delta, instrument.quantity_decimals);
    }
    out.text(r#"","reason":""#).text(reason).text(r#""}"#);
}

fn write_level(out: &mut Vec<u8>, symbol: &Symbol, side: Side, price: Ticks, quantity: Lots) {
    let instrument = &symbol.instrument;
    out.text("[\"")
        .text(side.order_word())
        .text("\",\"")
        .decimal(price, instrument.price_decimals)
        .text("\",\"");
    out.trimmed(quantity, instrument.quantity_decimals)
        .text("\"]");
}

/// All levels and the last 50 trades.
pub fn write_level2_snapshot(
    out: &mut Vec<u8>,
    clock: &ExchangeClock,
    name: &str,
    symbol: &Symbol,
) {
    out.text(r#"{"type":"l2_updates","symbol":""#)
        .text(name)
        .text(r#"","changes":["#);
    let mut separator = "";
    for side in [Side::Bid, Side::Ask] {
        for (price, level) in symbol.book.levels(side) {
            out.text(separator);
            write_level(out, symbol, side, price, level.quantity);
            separator = ",";
        }
    }
    out.text(r#"],"trades":["#);
    let from = symbol.trades.len().saturating_sub(50);
    for (index, trade) in symbol.trades.range(from..).enumerate() {
        out.text(if index > 0 { "," } else { "" });
        write_v2_trade(out, clock, name, symbol, trade);
    }
    out.text(r#"],"auction_events":[]}"#);
}

fn write_v2_trade(
    out: &mut Vec<u8>,
    clock: &ExchangeClock,
    name: &str,
    symbol: &Symbol,
    trade: &Trade,
) {
    let instrument = &symbol.instrument;
    out.text(r#"{"type":"trade","symbol":""#)
        .text(name)
        .text(r#"","event_id":"#)
        .number(trade.sequence);
    out.text(r#","timestamp":"#)
        .number(clock.unix_ms(trade.matched_ns))
        .text(r#","price":""#);
    out.decimal(trade.fill.price, instrument.price_decimals)
        .text(r#"","quantity":""#);
    out.trimmed(trade.fill.quantity, instrument.quantity_decimals)
        .text(r#"","side":""#);
    out.text(trade.side.order_word())
        .text(r#"","tid":"#)
        .number(trade.fill.trade)
        .push(b'}');
}

/// The candle as it stands, in numbers.
pub fn write_candles(
    out: &mut Vec<u8>,
    clock: &ExchangeClock,
    name: &str,
    symbol: &Symbol,
    index: usize,
    now_ns: u64,
) {
    let (length, minutes) = CANDLES[index];
    let instrument = &symbol.instrument;
    let length_ns = minutes * 60 * SECOND_NS;
    let start = (clock.opened_unix_ns + now_ns) / length_ns * length_ns;
    let candle = symbol.statistics.span(start, start + length_ns);
    out.text(r#"{"type":"candles_"#)
        .text(length)
        .text(r#"_updates","symbol":""#)
        .text(name);
    out.text(r#"","changes":[["#).number(start / 1_000_000);
    for price in [candle.open, candle.high, candle.low, candle.close] {
        out.text(",").trimmed(price, instrument.price_decimals);
    }
    out.text(",")
        .trimmed(candle.volume, instrument.quantity_decimals)
        .text("]]}");
}
