//! WebSocket v1: messages are lists that begin with the number of their channel, which the acknowledgement gave.

use super::super::Reply;
use super::checksum::checksum_as_printed;
use super::feed::{mean_ticks, Visible};
use super::{V1Channel, DEPTHS, INTERVALS};
use crate::encode::Encode;
use crate::market::{Event, Lots, Market, Side, Symbol, SymbolId, Ticks, Trade};
use crate::personality::names::Names;
use crate::time::{ExchangeClock, SECOND_NS};
use serde::Deserialize;

/// Decimals of quantities in this version.
const QUANTITY_DECIMALS: u32 = 8;

#[derive(Deserialize)]
struct Command {
    event: String,
    #[serde(default)]
    pair: Vec<String>,
    subscription: Option<Subscription>,
    reqid: Option<i64>,
}

#[derive(Deserialize)]
struct Subscription {
    name: String,
    depth: Option<u64>,
    interval: Option<u64>,
}

/// One connection.
#[derive(Debug)]
pub struct Session {
    subscribed: Vec<(V1Channel, SymbolId)>,
    last_sent_ns: u64,
}

impl Session {
    /// Greets with the status of the system.
    pub(super) fn open(connection: u64, replies: &mut Vec<Reply>) -> Self {
        replies.push(Reply::text(|out| {
            out.text(r#"{"connectionID":"#)
                .number(9_000_000_000_000_000_000 + connection);
            out.text(r#","event":"systemStatus","status":"online","version":"1.9.6"}"#);
        }));
        Self {
            subscribed: Vec::new(),
            last_sent_ns: 0,
        }
    }

    pub(super) fn was_sent(&mut self, now_ns: u64) {
        self.last_sent_ns = now_ns;
    }

    pub(super) fn deadline_ns(&self) -> u64 {
        match self.subscribed.is_empty() {
            true => u64::MAX,
            false => self.last_sent_ns + SECOND_NS,
        }
    }

    pub(super) fn on_deadline(&mut self, now_ns: u64, replies: &mut Vec<Reply>) {
        replies.push(Reply::Text(br#"{"event":"heartbeat"}"#.to_vec()));
        self.last_sent_ns = now_ns;
    }

    pub(super) fn on_message(
        &mut self,
        names: &Names,
        market: &Market,
        text: &[u8],
        now_ns: u64,
        replies: &mut Vec<Reply>,
    ) {
        self.was_sent(now_ns);
        let Ok(command) = serde_json::from_slice::<Command>(text) else {
            return replies.push(Reply::Text(
                br#"{"errorMessage":"Malformed request","event":"error"}"#.to_vec(),
            ));
        };
        let subscribe = match command.event.as_str() {
            "ping" => {
                return replies.push(Reply::text(|out| {
                    out.text(r#"{"event":"pong""#);
                    write_request(out, command.reqid);
                    out.push(b'}');
                }))
            }
            "subscribe" => true,
            "unsubscribe" => false,
            _ => return replies.push(failure("Unsupported event", None, command.reqid)),
        };
        let channel = match resolve(command.subscription.as_ref()) {
            Ok(channel) => channel,
            Err(error) => return replies.push(failure(error, None, command.reqid)),
        };
        if command.pair.is_empty() {
            return replies.push(failure("Pair field must be an array", None, command.reqid));
        }
        for pair in &command.pair {
            let Some(id) = names.find(pair) else {
                let error = format!("Currency pair not supported {pair}");
                replies.push(failure(&error, Some(pair), command.reqid));
                continue;
            };
            let known = self
                .subscribed
                .iter()
                .position(|known| *known == (channel, id));
            if !subscribe && known.is_none() {
                replies.push(failure("Subscription Not Found", Some(pair), command.reqid));
                continue;
            }
            let status = if subscribe {
                "subscribed"
            } else {
                "unsubscribed"
            };
            replies.push(acknowledgement(channel, id, pair, status, command.reqid));
            match known {
                None => {
                    self.subscribed.push((channel, id));
                    replies.push(Reply::Subscribe(channel.stream(id)));
                    let symbol = market.symbol(id);
                    replies.push(Reply::text(|out| {
                        write_first(out, market.clock(), channel, id, pair, symbol, now_ns)
                    }));
                }
                Some(at) if !subscribe => {
                    self.subscribed.remove(at);
                    replies.push(Reply::Unsubscribe(channel.stream(id)));
                }
                Some(_) => {}
            }
        }
    }
}

fn resolve(subscription: Option<&Subscription>) -> Result<V1Channel, &'static str> {
    let subscription = subscription.ok_or("Subscription field must be an object")?;
    match subscription.name.as_str() {
        "ticker" => Ok(V1Channel::Ticker),
        "trade" => Ok(V1Channel::Trade),
        "spread" => Ok(V1Channel::Spread),
        "book" => {
            let depth = subscription.depth.unwrap_or(10);
            let index = DEPTHS.iter().position(|known| *known as u64 == depth);
            index
                .map(V1Channel::Book)
                .ok_or("Subscription depth not supported")
        }
        "ohlc" => {
            let interval = subscription.interval.unwrap_or(1);
            let index = INTERVALS.iter().position(|known| *known == interval);
            index
                .map(V1Channel::Ohlc)
                .ok_or("Subscription ohlc interval not supported")
        }
        _ => Err("Subscription name invalid"),
    }
}

fn write_request(out: &mut Vec<u8>, request: Option<i64>) {
    if let Some(request) = request {
        out.text(r#","reqid":"#).text(&request.to_string());
    }
}

fn failure(error: &str, pair: Option<&str>, request: Option<i64>) -> Reply {
    Reply::text(|out| {
        out.text(r#"{"errorMessage":"#)
            .quoted(error)
            .text(r#","event":"subscriptionStatus""#);
        if let Some(pair) = pair {
            out.text(r#","pair":"#).quoted(pair);
        }
        write_request(out, request);
        out.text(r#","status":"error"}"#);
    })
}

/// The channel's number here is the one that its data will carry: clients look it up by it.
fn acknowledgement(
    channel: V1Channel,
    id: SymbolId,
    pair: &str,
    status: &str,
    request: Option<i64>,
) -> Reply {
    Reply::text(|out| {
        out.text(r#"{"channelID":"#)
            .number(channel.number(id))
            .text(r#","channelName":""#);
        channel.write_name(out);
        out.text(r#"","event":"subscriptionStatus","pair":"#)
            .quoted(pair);
        write_request(out, request);
        out.text(r#","status":""#)
            .text(status)
            .text(r#"","subscription":{"#);
        match channel {
            V1Channel::Book(index) => {
                _ = out
                    .text(r#""depth":"#)
                    .number(DEPTHS[index] as u64)
                    .text(r#","name":"book""#)
            }
            V1Channel::Ohlc(index) => {
                _ = out
                    .text(r#""interval":"#)
                    .number(INTERVALS[index])
                    .text(r#","name":"ohlc""#)
            }
            other => {
                out.text(r#""name":""#);
                other.write_name(out);
                out.push(b'"');
            }
        }
        out.text("}}");
    })
}

impl V1Channel {
    /// The number that stands first in each message; one for each channel and pair.
    fn number(self, id: SymbolId) -> u64 {
        300 + u64::from(self.stream(id).0)
    }

    fn write_name(self, out: &mut Vec<u8>) {
        match self {
            Self::Ticker => out.text("ticker"),
            Self::Trade => out.text("trade"),
            Self::Spread => out.text("spread"),
            Self::Book(index) => out.text("book-").number(DEPTHS[index] as u64),
            Self::Ohlc(index) => out.text("ohlc-").number(INTERVALS[index]),
        };
    }
}

fn write_first(
    out: &mut Vec<u8>,
    clock: &ExchangeClock,
    channel: V1Channel,
    id: SymbolId,
    pair: &str,
    symbol: &Symbol,
    now_ns: u64,
) {
    let message = Message {
        clock,
        channel,
        id,
        pair,
        symbol,
    };
    match channel {
        V1Channel::Ticker => message.write_ticker(out),
        V1Channel::Spread => message.write_spread(out, now_ns),
        V1Channel::Ohlc(_) => message.write_ohlc(out, now_ns),
        V1Channel::Book(_) => message.write_book(out, now_ns),
        V1Channel::Trade => {
            let from = symbol.trades.len().saturating_sub(50);
            message.write_trades(out, symbol.trades.range(from..).copied());
        }
    }
}

/// Writes the messages of one channel and pair.
pub struct Message<'a> {
    pub clock: &'a ExchangeClock,
    pub channel: V1Channel,
    pub id: SymbolId,
    pub pair: &'a str,
    pub symbol: &'a Symbol,
}

impl Message<'_> {
    /// Prices have five decimals here, or the pair's own if those are more.
    fn price_decimals(&self) -> u32 {
        self.symbol.instrument.price_decimals.max(5)
    }

    fn price<'b>(&self, out: &'b mut Vec<u8>, price: Ticks) -> &'b mut Vec<u8> {
        out.rescaled(
            price.into(),
            self.symbol.instrument.price_decimals,
            self.price_decimals(),
        )
    }

    fn quantity<'b>(&self, out: &'b mut Vec<u8>, quantity: Lots) -> &'b mut Vec<u8> {
        out.rescaled(
            quantity.into(),
            self.symbol.instrument.quantity_decimals,
            QUANTITY_DECIMALS,
        )
    }

    /// Seconds with six decimals.
    fn time<'b>(&self, out: &'b mut Vec<u8>, at_ns: u64) -> &'b mut Vec<u8> {
        out.decimal(self.clock.unix_ns(at_ns) / 1_000, 6)
    }

    fn begin(&self, out: &mut Vec<u8>) {
        out.text("[").number(self.channel.number(self.id)).text(",");
    }

    fn end(&self, out: &mut Vec<u8>) {
        out.text(",\"");
        self.channel.write_name(out);
        out.text("\",\"").text(self.pair).text("\"]");
    }

    fn write_levels(
        &self,
        out: &mut Vec<u8>,
        levels: impl Iterator<Item = (Ticks, Lots)>,
        at_ns: u64,
    ) {
        out.push(b'[');
        for (index, (price, quantity)) in levels.enumerate() {
            out.text(if index > 0 { ",[\"" } else { "[\"" });
            self.price(out, price).text("\",\"");
            self.quantity(out, quantity).text("\",\"");
            self.time(out, at_ns).text("\"]");
        }
        out.push(b']');
    }

    fn depth(&self) -> usize {
        match self.channel {
            V1Channel::Book(index) => DEPTHS[index],
            _ => DEPTHS[0],
        }
    }

    /// The book to the channel's depth, without a checksum.
    fn write_book(&self, out: &mut Vec<u8>, now_ns: u64) {
        let levels = |side| {
            self.symbol
                .book
                .levels(side)
                .take(self.depth())
                .map(|(price, level)| (price, level.quantity))
        };
        self.begin(out);
        out.text(r#"{"as":"#);
        self.write_levels(out, levels(Side::Ask), now_ns);
        out.text(r#","bs":"#);
        self.write_levels(out, levels(Side::Bid), now_ns);
        out.push(b'}');
        self.end(out);
    }

    /// What an event changed in sight, of the one side that it changed; nothing if it changed nothing there.
    pub fn write_book_update(&self, out: &mut Vec<u8>, event: &Event) {
        let visible = Visible::of(event, self.symbol, self.depth());
        let side = visible.side();
        self.begin(out);
        out.text(if side == Side::Ask {
            r#"{"a":"#
        } else {
            r#"{"b":"#
        });
        self.write_levels(out, visible.of_side(side), event.matched_ns);
        let instrument = &self.symbol.instrument;
        let scales = [
            self.price_decimals() - instrument.price_decimals,
            QUANTITY_DECIMALS - instrument.quantity_decimals,
        ];
        out.text(r#","c":""#)
            .number(checksum_as_printed(&self.symbol.book, scales).into())
            .text("\"}");
        self.end(out);
    }

    /// Trades, oldest first.
    pub fn write_trades(&self, out: &mut Vec<u8>, trades: impl Iterator<Item = Trade>) {
        self.begin(out);
        out.push(b'[');
        for (index, trade) in trades.enumerate() {
            out.text(if index > 0 { ",[\"" } else { "[\"" });
            self.price(out, trade.fill.price).text("\",\"");
            self.quantity(out, trade.fill.quantity).text("\",\"");
            self.time(out, trade.matched_ns);
            out.text(if trade.side == Side::Bid {
                r#"","b","m",""]"#
            } else {
                r#"","s","m",""]"#
            });
        }
        out.push(b']');
        self.end(out);
    }

    /// The best prices.
    pub fn write_spread(&self, out: &mut Vec<u8>, at_ns: u64) {
        let [bid, ask] =
            [Side::Bid, Side::Ask].map(|side| self.symbol.book.best(side).unwrap_or((0, 0)));
        self.begin(out);
        out.text("[\"");
        self.price(out, bid.0).text("\",\"");
        self.price(out, ask.0).text("\",\"");
        self.time(out, at_ns).text("\",\"");
        self.quantity(out, bid.1).text("\",\"");
        self.quantity(out, ask.1).text("\"]");
        self.end(out);
    }

    /// Best prices and 24 hours; each figure is of today and of the last 24 hours, which are the same here.
    pub fn write_ticker(&self, out: &mut Vec<u8>) {
        let day = self.symbol.statistics.day();
        self.begin(out);
        for (side, key) in [(Side::Ask, "{\"a\":[\""), (Side::Bid, "\"],\"b\":[\"")] {
            let (best, size) = self.symbol.book.best(side).unwrap_or((0, 0));
            out.text(key);
            self.price(out, best)
                .text("\",")
                .number(size / 10u64.pow(self.symbol.instrument.quantity_decimals))
                .text(",\"");
            self.quantity(out, size);
        }
        out.text("\"],\"c\":[\"");
        self.price(out, day.close).text("\",\"");
        self.quantity(out, self.symbol.last().fill.quantity)
            .text("\"],\"v\":[\"");
        self.quantity(out, day.volume).text("\",\"");
        self.quantity(out, day.volume).text("\"],\"p\":[\"");
        self.price(out, mean_ticks(&day)).text("\",\"");
        self.price(out, mean_ticks(&day))
            .text("\"],\"t\":[")
            .number(day.trades())
            .text(",")
            .number(day.trades());
        for (key, price) in [
            ("],\"l\":[\"", day.low),
            ("\"],\"h\":[\"", day.high),
            ("\"],\"o\":[\"", day.open),
        ] {
            out.text(key);
            self.price(out, price).text("\",\"");
            self.price(out, price);
        }
        out.text("\"]}");
        self.end(out);
    }

    /// The candle as it stands.
    pub fn write_ohlc(&self, out: &mut Vec<u8>, now_ns: u64) {
        let V1Channel::Ohlc(index) = self.channel else {
            return;
        };
        let length_ns = INTERVALS[index] * 60 * SECOND_NS;
        let start = (self.clock.opened_unix_ns + now_ns) / length_ns * length_ns;
        let candle = self.symbol.statistics.span(start, start + length_ns);
        self.begin(out);
        out.text("[\"");
        self.time(out, self.symbol.last().matched_ns)
            .text("\",\"")
            .decimal((start + length_ns) / 1_000, 6);
        for price in [
            candle.open,
            candle.high,
            candle.low,
            candle.close,
            mean_ticks(&candle),
        ] {
            out.text("\",\"");
            self.price(out, price);
        }
        out.text("\",\"");
        self.quantity(out, candle.volume)
            .text("\",")
            .number(candle.trades())
            .text("]");
        self.end(out);
    }
}
