//! The older REST, `/public/…`: tickers, books and trades of one currency or of all that are paid for alike.

use super::super::names::Names;
use super::super::{Request, Response};
use super::feed::LEVELS;
use super::legacy::feed::write_time;
use crate::encode::Encode;
use crate::market::{Instrument, Market, Side, Symbol, SymbolId};

/// Answers what comes after `/public/`.
pub fn answer(
    names: &Names,
    market: &Market,
    path: &str,
    request: &Request<'_>,
    now_ns: u64,
) -> Response {
    let (what, currencies) = path
        .trim_end_matches('/')
        .split_once('/')
        .unwrap_or((path, ""));
    let (base, quote) = currencies.split_once('_').unwrap_or((currencies, "KRW"));
    let now_ms = market.clock().unix_ms(now_ns);
    let one = names.find(&format!("{base}_{quote}"));
    match (what, base, one) {
        // A market in which nothing is paid with this is an empty one.
        ("ticker", "ALL", _) => success(|out| {
            for id in market.ids() {
                let symbol = market.symbol(id);
                if symbol.instrument.quote_as("KRW") == quote {
                    out.quoted(&symbol.instrument.base).push(b':');
                    write_ticker(out, symbol);
                    out.text("},");
                }
            }
            out.text(r#""date":""#).number(now_ms).text(r#"""#);
        }),
        ("ticker", _, Some(id)) => success(|out| {
            let mut ticker = Vec::new();
            write_ticker(&mut ticker, market.symbol(id));
            out.extend_from_slice(&ticker[1..]);
            out.text(r#","date":""#).number(now_ms).text(r#"""#);
        }),
        ("orderbook", _, Some(id)) => success(|out| {
            let instrument = &market.symbol(id).instrument;
            out.text(r#""timestamp":""#)
                .number(now_ms)
                .text(r#"","payment_currency":""#)
                .text(instrument.quote_as("KRW"));
            out.text(r#"","order_currency":""#)
                .text(&instrument.base)
                .text(r#"""#);
            write_book(out, market.symbol(id));
        }),
        ("transaction_history", _, Some(id)) => {
            let count = request
                .parameter("count")
                .and_then(|count| count.parse().ok());
            transactions(market, id, count.unwrap_or(20))
        }
        ("ticker" | "orderbook" | "transaction_history", ..) => {
            Response::new(200, r#"{"status":"5500","message":"Invalid Parameter"}"#)
        }
        _ => Response::new(404, r#"{"error":{"name":404,"message":"Not Found"}}"#),
    }
}

fn success(write: impl FnOnce(&mut Vec<u8>)) -> Response {
    Response::written(|out| {
        out.text(r#"{"status":"0000","data":{"#);
        write(out);
        out.text("}}");
    })
}

fn decimals(instrument: &Instrument) -> [u32; 2] {
    [instrument.price_decimals, instrument.quantity_decimals]
}

/// An object that is still open. The day and the last 24 hours are the same here.
fn write_ticker(out: &mut Vec<u8>, symbol: &Symbol) {
    let [price, quantity] = decimals(&symbol.instrument);
    let day = symbol.statistics.day();
    for (index, (key, value)) in [
        ("opening_price", day.open),
        ("closing_price", day.close),
        ("min_price", day.low),
        ("max_price", day.high),
        ("prev_closing_price", day.open),
    ]
    .into_iter()
    .enumerate()
    {
        out.text(if index > 0 { ",\"" } else { "{\"" }).text(key);
        out.text("\":\"").trimmed(value, price).push(b'"');
    }
    for key in ["units_traded", "units_traded_24H"] {
        out.text(",\"").text(key).text("\":\"");
        out.trimmed(day.volume, quantity).push(b'"');
    }
    for key in ["acc_trade_value", "acc_trade_value_24H"] {
        out.text(",\"").text(key).text("\":\"");
        out.rescaled(day.turnover, price + quantity, 4).push(b'"');
    }
    let sign = if day.close < day.open { "-" } else { "" };
    let change = day.close.abs_diff(day.open);
    let per_cent = u128::from(change) * 10_000 / u128::from(day.open);
    out.text(r#","fluctate_24H":""#)
        .text(sign)
        .trimmed(change, price)
        .text(r#"","fluctate_rate_24H":""#);
    out.text(if per_cent > 0 { sign } else { "" })
        .rescaled(per_cent, 2, 2)
        .push(b'"');
}

fn write_book(out: &mut Vec<u8>, symbol: &Symbol) {
    let [price_decimals, quantity_decimals] = decimals(&symbol.instrument);
    for (key, side) in [(r#","bids":["#, Side::Bid), (r#","asks":["#, Side::Ask)] {
        out.text(key);
        for (index, (price, level)) in symbol.book.levels(side).take(LEVELS).enumerate() {
            out.text(if index > 0 { "," } else { "" })
                .text(r#"{"price":""#)
                .trimmed(price, price_decimals);
            out.text(r#"","quantity":""#)
                .trimmed(level.quantity, quantity_decimals)
                .text(r#""}"#);
        }
        out.push(b']');
    }
}

/// The last trades, oldest first, at most 100.
fn transactions(market: &Market, id: SymbolId, count: usize) -> Response {
    let symbol = market.symbol(id);
    let [price, quantity] = decimals(&symbol.instrument);
    let from = symbol.trades.len() - count.clamp(1, 100).min(symbol.trades.len());
    Response::written(|out| {
        out.text(r#"{"status":"0000","data":["#);
        for (index, trade) in symbol.trades.range(from..).enumerate() {
            let fill = trade.fill;
            out.text(if index > 0 { "," } else { "" })
                .text(r#"{"transaction_date":""#);
            write_time(out, market.clock().unix_ns(trade.matched_ns), 0);
            out.text(r#"","type":""#)
                .text(if trade.side == Side::Bid {
                    "bid"
                } else {
                    "ask"
                })
                .text(r#"","units_traded":""#);
            out.trimmed(fill.quantity, quantity)
                .text(r#"","price":""#)
                .trimmed(fill.price, price)
                .text(r#"","total":""#);
            let total = u128::from(fill.price) * u128::from(fill.quantity);
            out.rescaled(total, price + quantity, 4).text(r#""}"#);
        }
        out.text("]}");
    })
}
