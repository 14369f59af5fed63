//! The channels' messages.

use super::super::names::Names;
use super::super::Frames;
use super::checksum::checksum;
use super::v1::Message;
use super::{Channel, V1Channel, DEPTHS, INTERVALS};
use crate::encode::Encode;
use crate::hub::Subscriptions;
use crate::market::statistics::Candle;
use crate::market::{Best, Event, Lots, Market, Side, Symbol, Ticks, Trade};
use crate::time::{write_rfc3339, ExchangeClock, SECOND_NS};

const MINUTE_NS: u64 = 60 * SECOND_NS;

/// The feed of all pairs.
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

    /// Allocates nothing per event but the digits of a checksum.
    pub fn on_event(
        &mut self,
        [names, old_names]: [&Names; 2],
        market: &Market,
        event: &Event,
        wanted: &Subscriptions,
        frames: &mut Frames,
    ) {
        let id = event.symbol;
        let (name, symbol, clock) = (names.of(id), market.symbol(id), market.clock());
        let mut add = |channel: Channel, sequence: u64, write: &dyn Fn(&mut Vec<u8>)| {
            let stream = channel.stream(id);
            if wanted.wants(stream) {
                frames.add(stream, sequence, event.published_ns, write);
            }
        };
        let trade = symbol.last().fill.trade;
        if event.trades().next().is_some() {
            self.traded[id.0 as usize] = true;
            add(Channel::Trade, trade, &|out| {
                write_trades(out, clock, name, symbol, "update", event.trades())
            });
            add(Channel::TickerOnTrades, trade, &|out| {
                write_ticker(out, name, symbol, "update")
            });
        }
        let best = symbol.best();
        let best_changed = std::mem::replace(&mut self.best[id.0 as usize], best) != best;
        if best_changed {
            add(Channel::TickerOnBest, event.sequence, &|out| {
                write_ticker(out, name, symbol, "update")
            });
        }
        for (index, &depth) in DEPTHS.iter().enumerate() {
            if wanted.wants(Channel::Book(index).stream(id))
                && Visible::of(event, symbol, depth).any()
            {
                add(Channel::Book(index), event.sequence, &|out| {
                    write_book_update(out, clock, name, symbol, event, depth);
                });
            }
        }
        self.on_event_v1(
            old_names.of(id),
            symbol,
            clock,
            event,
            best_changed,
            wanted,
            frames,
        );
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "the second half of `on_event`, for the other version"
    )]
    fn on_event_v1(
        &self,
        pair: &str,
        symbol: &Symbol,
        clock: &ExchangeClock,
        event: &Event,
        best_changed: bool,
        wanted: &Subscriptions,
        frames: &mut Frames,
    ) {
        let id = event.symbol;
        let mut add =
            |channel: V1Channel, sequence: u64, write: &dyn Fn(&mut Vec<u8>, &Message<'_>)| {
                let stream = channel.stream(id);
                if wanted.wants(stream) {
                    let message = Message {
                        clock,
                        channel,
                        id,
                        pair,
                        symbol,
                    };
                    frames.add(stream, sequence, event.published_ns, |out| {
                        write(out, &message)
                    });
                }
            };
        let trade = symbol.last().fill.trade;
        if event.trades().next().is_some() {
            add(V1Channel::Trade, trade, &|out, message| {
                message.write_trades(out, event.trades())
            });
            add(V1Channel::Ticker, trade, &|out, message| {
                message.write_ticker(out)
            });
        }
        if best_changed {
            add(V1Channel::Spread, event.sequence, &|out, message| {
                message.write_spread(out, event.matched_ns)
            });
        }
        for (index, &depth) in DEPTHS.iter().enumerate() {
            let channel = V1Channel::Book(index);
            if wanted.wants(channel.stream(id)) && Visible::of(event, symbol, depth).any() {
                add(channel, event.sequence, &|out, message| {
                    message.write_book_update(out, event)
                });
            }
        }
    }

    /// Candles, every second in which there were trades.
    pub fn on_tick(
        &mut self,
        [names, old_names]: [&Names; 2],
        market: &Market,
        wanted: &Subscriptions,
        frames: &mut Frames,
    ) {
        let now_ns = self.tick_ns;
        for id in market.ids() {
            if !std::mem::take(&mut self.traded[id.0 as usize]) {
                continue;
            }
            let (name, symbol, clock) = (names.of(id), market.symbol(id), market.clock());
            for (index, &interval) in INTERVALS.iter().enumerate() {
                let stream = Channel::Ohlc(index).stream(id);
                if wanted.wants(stream) {
                    frames.add(stream, symbol.last().fill.trade, now_ns, |out| {
                        write_ohlc(out, clock, name, symbol, interval, now_ns, "update");
                    });
                }
                let channel = V1Channel::Ohlc(index);
                let (stream, pair) = (channel.stream(id), old_names.of(id));
                if wanted.wants(stream) {
                    let message = Message {
                        clock,
                        channel,
                        id,
                        pair,
                        symbol,
                    };
                    frames.add(stream, symbol.last().fill.trade, now_ns, |out| {
                        message.write_ohlc(out, now_ns)
                    });
                }
            }
        }
        self.tick_ns += SECOND_NS;
    }
}

/// What an event means to a client that keeps `depth` levels of each side.
///
/// A changed level counts if it is, or until now was, among the best `depth`. For each level that went, the next one
/// comes into sight and has to be told, too. Levels that fall out of sight the client drops by itself.
pub struct Visible<'a> {
    event: &'a Event,
    symbol: &'a Symbol,
    depth: usize,
    side: Side,
    gone: usize,
}

impl<'a> Visible<'a> {
    /// Of an event just applied.
    pub fn of(event: &'a Event, symbol: &'a Symbol, depth: usize) -> Self {
        let side = event.levels().next().map_or(Side::Bid, |(side, _)| side);
        let mut visible = Self {
            event,
            symbol,
            depth,
            side,
            gone: 0,
        };
        visible.gone = visible
            .changed()
            .filter(|(_, quantity)| *quantity == 0)
            .count();
        visible
    }

    /// The worst price that a client sees now; none if the side is shallower than the depth.
    fn worst(&self) -> Option<Ticks> {
        self.symbol
            .book
            .levels(self.side)
            .nth(self.depth - 1)
            .map(|(price, _)| price)
    }

    fn changed(&self) -> impl Iterator<Item = (Ticks, Lots)> + '_ {
        let worst = self.worst();
        // A level that went was in sight if it was better than the worst now.
        let in_sight = move |price: Ticks| match (worst, self.side) {
            (None, _) => true,
            (Some(worst), Side::Bid) => price >= worst,
            (Some(worst), Side::Ask) => price <= worst,
        };
        let quantity = |(side, price)| (price, self.symbol.book.quantity_at(side, price));
        self.event
            .levels()
            .filter(move |(_, price)| in_sight(*price))
            .map(quantity)
    }

    /// Levels that came into sight since others went.
    fn entered(&self) -> impl Iterator<Item = (Ticks, Lots)> + '_ {
        let changed = |price: &Ticks| self.event.levels().any(|(_, other)| other == *price);
        let levels = self
            .symbol
            .book
            .levels(self.side)
            .take(self.depth)
            .skip(self.depth.saturating_sub(self.gone));
        levels
            .filter(move |(price, _)| !changed(price))
            .map(|(price, level)| (price, level.quantity))
    }

    /// The one side that the event changed.
    pub fn side(&self) -> Side {
        self.side
    }

    /// Whether there is anything to tell.
    pub fn any(&self) -> bool {
        self.changed().next().is_some()
    }

    /// Price and quantity of each level to tell of one side.
    pub fn of_side(&self, side: Side) -> impl Iterator<Item = (Ticks, Lots)> + '_ {
        let here = side == self.side;
        self.changed().chain(self.entered()).filter(move |_| here)
    }
}

fn write_levels(out: &mut Vec<u8>, symbol: &Symbol, levels: impl Iterator<Item = (Ticks, Lots)>) {
    let instrument = &symbol.instrument;
    for (index, (price, quantity)) in levels.enumerate() {
        out.text(if index > 0 { "," } else { "" })
            .text(r#"{"price":"#)
            .decimal(price, instrument.price_decimals);
        out.text(r#","qty":"#)
            .decimal(quantity, instrument.quantity_decimals)
            .push(b'}');
    }
}

/// The book to a depth.
pub fn write_book_snapshot(out: &mut Vec<u8>, name: &str, symbol: &Symbol, depth: usize) {
    let levels = |side| {
        symbol
            .book
            .levels(side)
            .take(depth)
            .map(|(price, level)| (price, level.quantity))
    };
    out.text(r#"{"channel":"book","type":"snapshot","data":[{"symbol":""#)
        .text(name)
        .text(r#"","bids":["#);
    write_levels(out, symbol, levels(Side::Bid));
    out.text(r#"],"asks":["#);
    write_levels(out, symbol, levels(Side::Ask));
    out.text(r#"],"checksum":"#)
        .number(checksum(&symbol.book).into())
        .text("}]}");
}

fn write_book_update(
    out: &mut Vec<u8>,
    clock: &ExchangeClock,
    name: &str,
    symbol: &Symbol,
    event: &Event,
    depth: usize,
) {
    let visible = Visible::of(event, symbol, depth);
    out.text(r#"{"channel":"book","type":"update","data":[{"symbol":""#)
        .text(name)
        .text(r#"","bids":["#);
    write_levels(out, symbol, visible.of_side(Side::Bid));
    out.text(r#"],"asks":["#);
    write_levels(out, symbol, visible.of_side(Side::Ask));
    out.text(r#"],"checksum":"#)
        .number(checksum(&symbol.book).into())
        .text(r#","timestamp":""#);
    write_rfc3339(out, clock.unix_ns(event.matched_ns), 6);
    out.text(r#""}]}"#);
}

/// Trades, oldest first.
pub fn write_trades(
    out: &mut Vec<u8>,
    clock: &ExchangeClock,
    name: &str,
    symbol: &Symbol,
    kind: &str,
    trades: impl Iterator<Item = Trade>,
) {
    let instrument = &symbol.instrument;
    out.text(r#"{"channel":"trade","type":""#)
        .text(kind)
        .text(r#"","data":["#);
    for (index, trade) in trades.enumerate() {
        out.text(if index > 0 { "," } else { "" })
            .text(r#"{"symbol":""#)
            .text(name)
            .text(r#"","side":""#);
        out.text(trade.side.order_word())
            .text(r#"","price":"#)
            .decimal(trade.fill.price, instrument.price_decimals);
        out.text(r#","qty":"#)
            .decimal(trade.fill.quantity, instrument.quantity_decimals);
        out.text(r#","ord_type":"market","trade_id":"#)
            .number(trade.fill.trade)
            .text(r#","timestamp":""#);
        write_rfc3339(out, clock.unix_ns(trade.matched_ns), 6);
        out.text(r#""}"#);
    }
    out.text("]}");
}

/// Turnover over volume, with the decimals of prices; the price itself where nothing was traded.
pub fn mean_ticks(candle: &Candle) -> Ticks {
    match candle.volume {
        0 => candle.close,
        volume => (candle.turnover / u128::from(volume)) as Ticks,
    }
}

/// Best prices and 24 hours.
pub fn write_ticker(out: &mut Vec<u8>, name: &str, symbol: &Symbol, kind: &str) {
    let instrument = &symbol.instrument;
    let (price, quantity) = (instrument.price_decimals, instrument.quantity_decimals);
    let day = symbol.statistics.day();
    out.text(r#"{"channel":"ticker","type":""#)
        .text(kind)
        .text(r#"","data":[{"symbol":""#)
        .text(name)
        .push(b'"');
    for (side, keys) in [
        (Side::Bid, ["bid", "bid_qty"]),
        (Side::Ask, ["ask", "ask_qty"]),
    ] {
        let (best, size) = symbol.book.best(side).unwrap_or((0, 0));
        out.text(",\"")
            .text(keys[0])
            .text("\":")
            .decimal(best, price);
        out.text(",\"")
            .text(keys[1])
            .text("\":")
            .decimal(size, quantity);
    }
    out.text(r#","last":"#)
        .decimal(day.close, price)
        .text(r#","volume":"#)
        .decimal(day.volume, quantity);
    out.text(r#","vwap":"#)
        .decimal(mean_ticks(&day), price)
        .text(r#","low":"#)
        .decimal(day.low, price);
    out.text(r#","high":"#)
        .decimal(day.high, price)
        .text(r#","change":"#);
    let change = day.close.abs_diff(day.open);
    let per_cent = u128::from(change) * 10_000 / u128::from(day.open);
    let sign = |some: bool| {
        if some && day.close < day.open {
            "-"
        } else {
            ""
        }
    };
    out.text(sign(change > 0))
        .decimal(change, price)
        .text(r#","change_pct":"#);
    out.text(sign(per_cent > 0))
        .rescaled(per_cent, 2, 2)
        .text("}]}");
}

/// The candle as it stands.
pub fn write_ohlc(
    out: &mut Vec<u8>,
    clock: &ExchangeClock,
    name: &str,
    symbol: &Symbol,
    interval: u64,
    now_ns: u64,
    kind: &str,
) {
    let instrument = &symbol.instrument;
    let (price, quantity) = (instrument.price_decimals, instrument.quantity_decimals);
    let length_ns = interval * MINUTE_NS;
    let start = (clock.opened_unix_ns + now_ns) / length_ns * length_ns;
    let candle = symbol.statistics.span(start, start + length_ns);
    out.text(r#"{"channel":"ohlc","type":""#)
        .text(kind)
        .text(r#"","timestamp":""#);
    write_rfc3339(out, clock.unix_ns(now_ns), 9);
    out.text(r#"","data":[{"symbol":""#)
        .text(name)
        .text(r#"","open":"#)
        .decimal(candle.open, price);
    out.text(r#","high":"#)
        .decimal(candle.high, price)
        .text(r#","low":"#)
        .decimal(candle.low, price);
    out.text(r#","close":"#)
        .decimal(candle.close, price)
        .text(r#","trades":"#)
        .number(candle.trades());
    out.text(r#","volume":"#)
        .decimal(candle.volume, quantity)
        .text(r#","vwap":"#)
        .decimal(mean_ticks(&candle), price);
    out.text(r#","interval_begin":""#);
    write_rfc3339(out, start, 9);
    out.text(r#"","interval":"#)
        .number(interval)
        .text(r#","timestamp":""#);
    write_rfc3339(out, start + length_ns, 6);
    out.text(r#""}]}"#);
}

/// Reference data of all pairs and their assets.
pub fn write_instruments(out: &mut Vec<u8>, names: &Names, market: &Market) {
    let mut assets: Vec<(&str, u32)> = Vec::new();
    for symbol in market.symbols() {
        let instrument = &symbol.instrument;
        let both = [
            (instrument.base.as_str(), instrument.quantity_decimals),
            (instrument.quote_as("USD"), 4),
        ];
        for asset in both {
            if !assets.iter().any(|known| known.0 == asset.0) {
                assets.push(asset);
            }
        }
    }
    out.text(r#"{"channel":"instrument","type":"snapshot","data":{"assets":["#);
    for (index, (name, decimals)) in assets.into_iter().enumerate() {
        out.text(if index > 0 { "," } else { "" })
            .text(r#"{"id":""#)
            .text(name)
            .text(r#"","status":"enabled","#);
        out.text(r#""precision":"#)
            .number(decimals.into())
            .text(r#","precision_display":"#)
            .number(decimals.into());
        out.text(r#","borrowable":false,"collateral_value":0.00}"#);
    }
    out.text(r#"],"pairs":["#);
    for (id, name) in names.all() {
        let instrument = &market.symbol(id).instrument;
        let (price, quantity) = (instrument.price_decimals, instrument.quantity_decimals);
        out.text(if id.0 > 0 { "," } else { "" })
            .text(r#"{"symbol":""#)
            .text(name)
            .text(r#"","base":""#);
        out.text(&instrument.base)
            .text(r#"","quote":""#)
            .text(instrument.quote_as("USD"));
        out.text(r#"","status":"online","qty_precision":"#)
            .number(quantity.into())
            .text(r#","qty_increment":"#);
        out.decimal(1, quantity)
            .text(r#","price_precision":"#)
            .number(price.into())
            .text(r#","cost_precision":5,"#);
        out.text(r#""marginable":false,"has_index":false,"cost_min":0.50,"tick_size":"#)
            .decimal(1, price);
        out.text(r#","price_increment":"#)
            .decimal(1, price)
            .text(r#","qty_min":"#)
            .decimal(1, quantity)
            .push(b'}');
    }
    out.text("]}}");
}
