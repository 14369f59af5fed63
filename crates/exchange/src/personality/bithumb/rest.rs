//! REST: markets, tickers, books, trades.

use super::super::names::Names;
use super::super::{Request, Response};
use super::feed::{write_units, Message};
use super::Kind;
use crate::encode::Encode;
use crate::market::{Market, Side, SymbolId};

/// Answers a request below `/v1`.
pub fn answer(names: &Names, market: &Market, request: &Request<'_>, now_ns: u64) -> Response {
    let wanted = |key: &str| -> Option<Vec<SymbolId>> {
        request
            .parameter(key)?
            .split(',')
            .map(|name| names.find(name))
            .collect()
    };
    let answer = match request.path.trim_end_matches('/') {
        "/v1/market/all" => Some(Response::list(names.all(), |out, (id, name)| {
            let base = &market.symbol(id).instrument.base;
            out.text(r#"{"market":""#)
                .text(name)
                .text(r#"","korean_name":""#)
                .text(base);
            out.text(r#"","english_name":""#).text(base).text(r#""}"#);
        })),
        "/v1/ticker" => wanted("markets").map(|ids| {
            Response::list(ids.into_iter(), |out, id| {
                write_ticker(out, names, market, id, now_ns)
            })
        }),
        "/v1/orderbook" => wanted("markets").map(|ids| {
            Response::list(ids.into_iter(), |out, id| {
                write_book(out, names, market, id, now_ns)
            })
        }),
        "/v1/trades/ticks" => wanted("market")
            .and_then(|ids| ids.first().copied())
            .map(|id| {
                let count = request
                    .parameter("count")
                    .and_then(|count| count.parse().ok())
                    .unwrap_or(1);
                trades(names, market, id, count)
            }),
        _ => return failure(404, "NOT_FOUND", "Not Found"),
    };
    answer.unwrap_or_else(|| failure(404, "404", "Code not found"))
}

fn failure(status: u16, name: &str, message: &str) -> Response {
    let mut body = Vec::new();
    body.text(r#"{"error":{"name":"#)
        .quoted(name)
        .text(r#","message":"#)
        .quoted(message)
        .text("}}");
    Response::new(status, body)
}

/// The stream's ticker under the names that REST gives its first and last keys.
fn write_ticker(out: &mut Vec<u8>, names: &Names, market: &Market, id: SymbolId, now_ns: u64) {
    let mut message = Vec::new();
    Message::now(names, market, id, now_ns, false).write(&mut message, Kind::Ticker);
    let message = String::from_utf8(message).expect("printed as text");
    let message = message.replacen(r#""type":"ticker","code""#, r#""market""#, 1);
    out.text(
        message
            .replacen(r#","stream_type":"SNAPSHOT""#, "", 1)
            .as_str(),
    );
}

fn write_book(out: &mut Vec<u8>, names: &Names, market: &Market, id: SymbolId, now_ns: u64) {
    let symbol = market.symbol(id);
    let decimals = symbol.instrument.quantity_decimals;
    let total = |side: Side| {
        symbol
            .book
            .levels(side)
            .take(30)
            .map(|(_, level)| level.quantity)
            .sum()
    };
    out.text(r#"{"market":""#)
        .text(names.of(id))
        .text(r#"","timestamp":"#)
        .number(market.clock().unix_ms(now_ns));
    out.text(r#","total_ask_size":"#)
        .trimmed(total(Side::Ask), decimals);
    out.text(r#","total_bid_size":"#)
        .trimmed(total(Side::Bid), decimals)
        .text(r#","orderbook_units":["#);
    write_units(out, symbol, false);
    out.text("]}");
}

/// Newest first, at most 500.
fn trades(names: &Names, market: &Market, id: SymbolId, count: usize) -> Response {
    let symbol = market.symbol(id);
    let (price, quantity) = (
        symbol.instrument.price_decimals,
        symbol.instrument.quantity_decimals,
    );
    Response::list(
        symbol.trades.iter().rev().take(count.clamp(1, 500)),
        |out, trade| {
            out.text(r#"{"market":""#)
                .text(names.of(id))
                .text(r#"","timestamp":"#);
            out.number(market.clock().unix_ms(trade.matched_ns))
                .text(r#","trade_price":"#);
            out.trimmed(trade.fill.price, price)
                .text(r#","trade_volume":"#)
                .trimmed(trade.fill.quantity, quantity);
            out.text(r#","ask_bid":""#)
                .text(if trade.side == Side::Bid {
                    "BID"
                } else {
                    "ASK"
                });
            out.text(r#"","sequential_id":"#)
                .number(trade.fill.trade)
                .push(b'}');
        },
    )
}
