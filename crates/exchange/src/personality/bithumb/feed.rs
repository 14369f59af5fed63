//! The messages, in default and in simple keys.

use super::super::names::Names;
use super::super::Frames;
use super::Kind;
use crate::encode::Encode;
use crate::hub::Subscriptions;
use crate::market::{Event, Lots, Market, Side, Symbol, SymbolId, Ticks, Trade};
use crate::time::{Calendar, SECOND_NS};

/// Levels of each side in a book.
pub const LEVELS: usize = 30;
/// Korea's time is nine hours ahead of UTC, the whole year.
pub const KOREA_NS: u64 = 9 * 3_600 * SECOND_NS;

/// Without state: every message tells of one event.
#[derive(Debug)]
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
        for simple in [false, true] {
            let mut message = Message::now(names, market, event.symbol, event.published_ns, simple);
            message.stream_type = "REALTIME";
            let mut add = |kind: Kind, sequence: u64, message: &Message<'_>| {
                let stream = kind.stream(event.symbol, simple);
                if wanted.wants(stream) {
                    frames.add(stream, sequence, event.published_ns, |out| {
                        message.write(out, kind)
                    });
                }
            };
            add(Kind::Orderbook, event.sequence, &message);
            for trade in event.trades() {
                message.trade = trade;
                add(Kind::Trade, trade.fill.trade, &message);
                add(Kind::Ticker, trade.fill.trade, &message);
            }
        }
    }
}

/// What a message is made of.
pub struct Message<'a> {
    name: &'a str,
    symbol: &'a Symbol,
    trade: Trade,
    traded_unix_ns: u64,
    unix_ms: u64,
    stream_type: &'static str,
    simple: bool,
}

impl<'a> Message<'a> {
    /// Of the state at a moment: a snapshot.
    pub fn now(
        names: &'a Names,
        market: &'a Market,
        id: SymbolId,
        now_ns: u64,
        simple: bool,
    ) -> Self {
        let symbol = market.symbol(id);
        let trade = *symbol.last();
        let clock = market.clock();
        Self {
            name: names.of(id),
            symbol,
            trade,
            traded_unix_ns: clock.unix_ns(trade.matched_ns),
            unix_ms: clock.unix_ms(now_ns),
            stream_type: "SNAPSHOT",
            simple,
        }
    }

    fn key<'b>(&self, out: &'b mut Vec<u8>, default: &str, simple: &str) -> &'b mut Vec<u8> {
        out.text(",\"")
            .text(if self.simple { simple } else { default })
            .text("\":")
    }

    fn price(&self, out: &mut Vec<u8>, default: &str, simple: &str, price: Ticks) {
        self.key(out, default, simple)
            .trimmed(price, self.symbol.instrument.price_decimals);
    }

    fn quantity(&self, out: &mut Vec<u8>, default: &str, simple: &str, quantity: Lots) {
        self.key(out, default, simple)
            .trimmed(quantity, self.symbol.instrument.quantity_decimals);
    }

    fn text(&self, out: &mut Vec<u8>, default: &str, simple: &str, text: &str) {
        self.key(out, default, simple)
            .text("\"")
            .text(text)
            .text("\"");
    }

    fn number(&self, out: &mut Vec<u8>, default: &str, simple: &str, number: u64) {
        self.key(out, default, simple).number(number);
    }

    /// Appends the message of a kind.
    pub(super) fn write(&self, out: &mut Vec<u8>, kind: Kind) {
        out.text(if self.simple {
            r#"{"ty":""#
        } else {
            r#"{"type":""#
        });
        match kind {
            Kind::Ticker => self.write_ticker(out),
            Kind::Trade => self.write_trade(out),
            Kind::Orderbook => self.write_book(out),
        }
        self.number(out, "timestamp", "tms", self.unix_ms);
        self.text(out, "stream_type", "st", self.stream_type);
        out.push(b'}');
    }

    fn write_change(&self, out: &mut Vec<u8>) {
        let before = self.symbol.statistics.day().open;
        let now = self.trade.fill.price;
        self.price(out, "prev_closing_price", "pcp", before);
        self.text(
            out,
            "change",
            "c",
            match now.cmp(&before) {
                std::cmp::Ordering::Less => "FALL",
                std::cmp::Ordering::Equal => "EVEN",
                std::cmp::Ordering::Greater => "RISE",
            },
        );
        self.price(out, "change_price", "cp", now.abs_diff(before));
    }

    fn ask_bid(&self) -> &'static str {
        match self.trade.side {
            Side::Bid => "BID",
            Side::Ask => "ASK",
        }
    }

    fn write_trade(&self, out: &mut Vec<u8>) {
        let calendar = Calendar::of(self.traded_unix_ns + KOREA_NS);
        out.text("trade\"");
        self.text(out, "code", "cd", self.name);
        self.price(out, "trade_price", "tp", self.trade.fill.price);
        self.quantity(out, "trade_volume", "tv", self.trade.fill.quantity);
        self.text(out, "ask_bid", "ab", self.ask_bid());
        self.write_change(out);
        self.key(out, "trade_date", "td").push(b'"');
        calendar.write_date(out, "-");
        out.push(b'"');
        self.key(out, "trade_time", "ttm").push(b'"');
        calendar.write_time(out, ":", 0);
        out.push(b'"');
        self.number(
            out,
            "trade_timestamp",
            "ttms",
            self.traded_unix_ns / 1_000_000,
        );
        self.number(out, "sequential_id", "sid", self.trade.fill.trade);
    }

    fn write_ticker(&self, out: &mut Vec<u8>) {
        let instrument = &self.symbol.instrument;
        let day = self.symbol.statistics.day();
        let calendar = Calendar::of(self.traded_unix_ns + KOREA_NS);
        let now = self.trade.fill.price;
        out.text("ticker\"");
        self.text(out, "code", "cd", self.name);
        self.price(out, "opening_price", "op", day.open);
        self.price(out, "high_price", "hp", day.high);
        self.price(out, "low_price", "lp", day.low);
        self.price(out, "trade_price", "tp", now);
        self.write_change(out);
        let (change, fell) = (now.abs_diff(day.open), now < day.open);
        // A share with eight decimals.
        let rate = u128::from(change) * 100_000_000 / u128::from(day.open);
        let sign = |some: bool| if some && fell { "-" } else { "" };
        self.key(out, "signed_change_price", "scp")
            .text(sign(change > 0))
            .trimmed(change, instrument.price_decimals);
        self.key(out, "change_rate", "cr").rescaled(rate, 8, 8);
        self.key(out, "signed_change_rate", "scr")
            .text(sign(rate > 0))
            .rescaled(rate, 8, 8);
        self.quantity(out, "trade_volume", "tv", self.trade.fill.quantity);
        // Of the day and of the last 24 hours, which are the same here.
        self.quantity(out, "acc_trade_volume", "atv", day.volume);
        self.quantity(out, "acc_trade_volume_24h", "atv24h", day.volume);
        let decimals = instrument.price_decimals + instrument.quantity_decimals;
        self.key(out, "acc_trade_price", "atp")
            .rescaled(day.turnover, decimals, 8);
        self.key(out, "acc_trade_price_24h", "atp24h")
            .rescaled(day.turnover, decimals, 8);
        self.key(out, "trade_date", "tdt").push(b'"');
        calendar.write_date(out, "");
        out.push(b'"');
        self.key(out, "trade_time", "ttm").push(b'"');
        calendar.write_time(out, "", 0);
        out.push(b'"');
        self.number(
            out,
            "trade_timestamp",
            "ttms",
            self.traded_unix_ns / 1_000_000,
        );
        self.text(out, "ask_bid", "ab", self.ask_bid());
        self.quantity(
            out,
            "acc_ask_volume",
            "aav",
            day.volume - day.taker_buy_volume,
        );
        self.quantity(out, "acc_bid_volume", "abv", day.taker_buy_volume);
        self.price(out, "highest_52_week_price", "h52wp", day.high);
        self.price(out, "lowest_52_week_price", "l52wp", day.low);
        self.text(out, "market_state", "ms", "ACTIVE");
        self.key(out, "is_trading_suspended", "its").boolean(false);
        self.key(out, "delisting_date", "dd").text("null");
        self.text(out, "market_warning", "mw", "NONE");
    }

    fn write_book(&self, out: &mut Vec<u8>) {
        let book = &self.symbol.book;
        let total = |side: Side| {
            book.levels(side)
                .take(LEVELS)
                .map(|(_, level)| level.quantity)
                .sum()
        };
        out.text("orderbook\"");
        self.text(out, "code", "cd", self.name);
        self.quantity(out, "total_ask_size", "tas", total(Side::Ask));
        self.quantity(out, "total_bid_size", "tbs", total(Side::Bid));
        self.key(out, "orderbook_units", "obu").push(b'[');
        write_units(out, self.symbol, self.simple);
        out.push(b']');
        self.number(out, "level", "lv", 1);
    }
}

/// The best levels of both sides, side by side, as far as both have them.
pub fn write_units(out: &mut Vec<u8>, symbol: &Symbol, simple: bool) {
    let (price, quantity) = (
        symbol.instrument.price_decimals,
        symbol.instrument.quantity_decimals,
    );
    let keys = match simple {
        false => [
            r#"{"ask_price":"#,
            r#","bid_price":"#,
            r#","ask_size":"#,
            r#","bid_size":"#,
        ],
        true => [r#"{"ap":"#, r#","bp":"#, r#","as":"#, r#","bs":"#],
    };
    let pairs = symbol
        .book
        .levels(Side::Ask)
        .zip(symbol.book.levels(Side::Bid))
        .take(LEVELS);
    for (index, ((ask, asks), (bid, bids))) in pairs.enumerate() {
        out.text(if index > 0 { "," } else { "" })
            .text(keys[0])
            .trimmed(ask, price)
            .text(keys[1])
            .trimmed(bid, price);
        out.text(keys[2])
            .trimmed(asks.quantity, quantity)
            .text(keys[3])
            .trimmed(bids.quantity, quantity)
            .push(b'}');
    }
}
