//! Public REST under `/v5/market`: time, instruments, tickers, books, recent trades, candles.
//!
//! Source: bybit-exchange.github.io/docs/v5/market (2026-11): paths, parameters, bounds and keys. From memory: the words
//! of errors, and that a book is the one that the deepest topic told last.

use super::super::names::Names;
use super::super::{Request, Response};
use super::feed::{side_word, write_day, Feed};
use super::topic::INTERVALS;
use crate::encode::Encode;
use crate::market::statistics::Candle;
use crate::market::{Instrument, Market, Side, Symbol, SymbolId};
use crate::time::MILLISECOND_NS;

const MINUTE_NS: u64 = 60_000_000_000;
/// Levels of a book unless a limit is given, and at most; and so with trades and candles.
const BOOK_LEVELS: [usize; 2] = [1, 200];
const TRADES: [usize; 2] = [60, 60];
const CANDLES: [usize; 2] = [200, 1_000];

/// The exchange's way of saying no, with HTTP's 200 or 404.
pub struct Refusal {
    status: u16,
    code: u32,
    message: String,
}

impl Refusal {
    fn parameter(message: impl Into<String>) -> Self {
        Self {
            status: 200,
            code: 10_001,
            message: message.into(),
        }
    }

    /// As it is sent.
    pub fn response(&self, now_unix_ms: u64) -> Response {
        let mut body = Vec::new();
        body.text(r#"{"retCode":"#)
            .number(self.code.into())
            .text(r#","retMsg":"#)
            .quoted(&self.message)
            .text(r#","result":{},"retExtInfo":{},"time":"#)
            .number(now_unix_ms)
            .push(b'}');
        Response::new(self.status, body)
    }
}

/// Answers a request.
pub fn answer(
    names: &Names,
    feed: &Feed,
    market: &Market,
    request: &Request<'_>,
    now_ns: u64,
) -> Result<Response, Refusal> {
    let now_unix_ns = market.clock().unix_ns(now_ns);
    let path = request.path.strip_prefix("/v5/market/").unwrap_or_default();
    if path == "time" {
        return Ok(success(now_unix_ns, |out| {
            out.text(r#"{"timeSecond":""#)
                .number(now_unix_ns / 1_000_000_000)
                .text(r#"","timeNano":""#)
                .number(now_unix_ns)
                .text(r#""}"#);
        }));
    }
    if ![
        "instruments-info",
        "tickers",
        "orderbook",
        "recent-trade",
        "kline",
    ]
    .contains(&path)
    {
        return Err(Refusal {
            status: 404,
            code: 404,
            message: "not found".to_owned(),
        });
    }
    if request.parameter("category").as_deref() != Some("spot") {
        return Err(Refusal::parameter("params error: category must be spot"));
    }
    let named = match request.parameter("symbol").filter(|name| !name.is_empty()) {
        None => None,
        Some(name) => {
            let unknown = || Refusal::parameter("Not supported symbols");
            Some(names.find(&name).ok_or_else(unknown)?)
        }
    };
    let one = || named.ok_or_else(|| Refusal::parameter("params error: symbol is missing"));
    match path {
        "instruments-info" => Ok(success(now_unix_ns, |out| {
            write_list(out, names, market, named, write_instrument)
        })),
        "tickers" => Ok(success(now_unix_ns, |out| {
            write_list(out, names, market, named, write_ticker)
        })),
        "orderbook" => {
            let asked = (one()?, limit(request, BOOK_LEVELS)?);
            Ok(success(now_unix_ns, |out| {
                feed.write_told(out, names, market, asked, now_ns)
            }))
        }
        "recent-trade" => {
            let (id, limit) = (one()?, limit(request, TRADES)?);
            Ok(success(now_unix_ns, |out| {
                write_trades(out, names, market, id, limit)
            }))
        }
        _ => {
            let (id, limit) = (one()?, limit(request, CANDLES)?);
            let bounds = Bounds::of(request, market, now_unix_ns, limit)?;
            Ok(success(now_unix_ns, |out| {
                write_candles(out, names.of(id), market.symbol(id), bounds)
            }))
        }
    }
}

fn success(now_unix_ns: u64, write: impl FnOnce(&mut Vec<u8>)) -> Response {
    Response::written(|out| {
        out.text(r#"{"retCode":0,"retMsg":"OK","result":"#);
        write(out);
        out.text(r#","retExtInfo":{},"time":"#)
            .number(now_unix_ns / MILLISECOND_NS)
            .push(b'}');
    })
}

/// A limit out of bounds is brought back to them.
fn limit(request: &Request<'_>, [usual, most]: [usize; 2]) -> Result<usize, Refusal> {
    match request
        .parameter("limit")
        .map(|limit| limit.parse::<usize>())
    {
        None => Ok(usual),
        Some(Ok(limit)) => Ok(limit.clamp(1, most)),
        Some(Err(_)) => Err(Refusal::parameter("params error: limit is no number")),
    }
}

fn write_list(
    out: &mut Vec<u8>,
    names: &Names,
    market: &Market,
    named: Option<SymbolId>,
    write: impl Fn(&mut Vec<u8>, &str, &Symbol),
) {
    out.text(r#"{"category":"spot","list":["#);
    let listed = names
        .all()
        .filter(|(id, _)| named.is_none_or(|named| named == *id));
    for (index, (id, name)) in listed.enumerate() {
        out.text(if index > 0 { "," } else { "" });
        write(out, name, market.symbol(id));
    }
    out.text("]}");
}

fn write_instrument(out: &mut Vec<u8>, name: &str, symbol: &Symbol) {
    let instrument = &symbol.instrument;
    let (price, quantity) = (instrument.price_decimals, instrument.quantity_decimals);
    out.text(r#"{"symbol":""#)
        .text(name)
        .text(r#"","baseCoin":""#)
        .text(&instrument.base)
        .text(r#"","quoteCoin":""#)
        .text(instrument.quote_as("USDT"))
        .text(r#"","innovation":"0","status":"Trading","marginTrading":"none","lotSizeFilter":{"basePrecision":""#)
        .decimal(1, quantity)
        .text(r#"","quotePrecision":""#)
        .decimal(1, price + quantity)
        .text(r#"","minOrderQty":""#)
        .decimal(1, quantity)
        .text(r#"","maxOrderQty":"1000000","minOrderAmt":"1","maxOrderAmt":"150000000"},"priceFilter":{"tickSize":""#)
        .decimal(1, price)
        .text(r#""}}"#);
}

fn write_ticker(out: &mut Vec<u8>, name: &str, symbol: &Symbol) {
    let instrument = &symbol.instrument;
    out.text(r#"{"symbol":""#).text(name).push(b'"');
    for (side, keys) in [
        (Side::Bid, ["bid1Price", "bid1Size"]),
        (Side::Ask, ["ask1Price", "ask1Size"]),
    ] {
        let (price, quantity) = symbol.book.best(side).unwrap_or((0, 0));
        out.text(",\"")
            .text(keys[0])
            .text("\":\"")
            .decimal(price, instrument.price_decimals)
            .text("\",\"")
            .text(keys[1])
            .text("\":\"")
            .trimmed(quantity, instrument.quantity_decimals)
            .push(b'"');
    }
    write_day(out, symbol);
    out.push(b'}');
}

/// Newest first. `side` is the taker's.
fn write_trades(out: &mut Vec<u8>, names: &Names, market: &Market, id: SymbolId, limit: usize) {
    let symbol = market.symbol(id);
    let instrument = &symbol.instrument;
    out.text(r#"{"category":"spot","list":["#);
    for (index, trade) in symbol.trades.iter().rev().take(limit).enumerate() {
        out.text(if index > 0 { "," } else { "" })
            .text(r#"{"execId":""#)
            .number(trade.fill.trade)
            .text(r#"","symbol":""#)
            .text(names.of(id))
            .text(r#"","price":""#)
            .decimal(trade.fill.price, instrument.price_decimals)
            .text(r#"","size":""#)
            .trimmed(trade.fill.quantity, instrument.quantity_decimals)
            .text(r#"","side":""#)
            .text(side_word(trade.side))
            .text(r#"","time":""#)
            .number(market.clock().unix_ns(trade.matched_ns) / MILLISECOND_NS)
            .text(r#"","isBlockTrade":false,"isRPITrade":false,"seq":""#)
            .number(trade.sequence)
            .text(r#""}"#);
    }
    out.text("]}");
}

/// Which candles are asked for, in true Unix time.
#[derive(Clone, Copy)]
struct Bounds {
    length_ns: u64,
    /// Where the first and the last begin.
    first_ns: u64,
    last_ns: u64,
}

impl Bounds {
    /// None is older than the market.
    fn of(
        request: &Request<'_>,
        market: &Market,
        now_unix_ns: u64,
        limit: usize,
    ) -> Result<Self, Refusal> {
        let interval = request.parameter("interval").unwrap_or_default();
        let known = INTERVALS.iter().find(|(name, _)| *name == interval);
        let (_, minutes) = known.ok_or_else(|| Refusal::parameter("Invalid period!"))?;
        let length_ns = minutes * MINUTE_NS;
        let time_ns = |key: &str| -> Result<Option<u64>, Refusal> {
            match request.parameter(key).map(|ms| ms.parse::<u64>()) {
                None => Ok(None),
                Some(Ok(ms)) => Ok(Some(ms.saturating_mul(MILLISECOND_NS))),
                Some(Err(_)) => Err(Refusal::parameter(format!(
                    "params error: {key} is no time"
                ))),
            }
        };
        let until_ns = time_ns("end")?.unwrap_or(now_unix_ns).min(now_unix_ns);
        let last_ns = until_ns / length_ns * length_ns;
        let earliest_ns = last_ns.saturating_sub((limit as u64 - 1) * length_ns);
        let opened_ns = market.clock().opened_unix_ns / length_ns * length_ns;
        let start_ns = time_ns("start")?.unwrap_or(0).div_ceil(length_ns);
        Ok(Self {
            length_ns,
            first_ns: start_ns
                .saturating_mul(length_ns)
                .max(earliest_ns)
                .max(opened_ns),
            last_ns,
        })
    }
}

/// Newest first.
fn write_candles(out: &mut Vec<u8>, name: &str, symbol: &Symbol, bounds: Bounds) {
    out.text(r#"{"category":"spot","symbol":""#)
        .text(name)
        .text(r#"","list":["#);
    let mut start_ns = bounds.last_ns;
    let mut separator = "";
    while start_ns >= bounds.first_ns {
        let candle = symbol
            .statistics
            .span(start_ns, start_ns + bounds.length_ns);
        out.text(separator);
        separator = ",";
        write_candle(out, &symbol.instrument, start_ns, &candle);
        let Some(before_ns) = start_ns.checked_sub(bounds.length_ns) else {
            break;
        };
        start_ns = before_ns;
    }
    out.text("]}");
}

/// `["start","open","high","low","close","volume","turnover"]`
fn write_candle(out: &mut Vec<u8>, instrument: &Instrument, start_ns: u64, candle: &Candle) {
    let (price, quantity) = (instrument.price_decimals, instrument.quantity_decimals);
    out.text("[\"").number(start_ns / MILLISECOND_NS).push(b'"');
    for at in [candle.open, candle.high, candle.low, candle.close] {
        out.text(",\"").decimal(at, price).push(b'"');
    }
    out.text(",\"")
        .trimmed(candle.volume, quantity)
        .text("\",\"")
        .rescaled(candle.turnover, price + quantity, 8)
        .text("\"]");
}
