//! REST: symbols, tickers, books, trades.

use super::super::limits::Window;
use super::super::names::Names;
use super::super::{Request, Response};
use super::failure;
use crate::encode::Encode;
use crate::market::{Market, Side, Symbol, SymbolId};
use crate::time::SECOND_NS;
use std::collections::HashMap;

/// Public requests for each minute and address.
const REQUESTS_PER_MINUTE: u32 = 120;

/// The REST API with what each address has asked so far.
#[derive(Debug, Default)]
pub struct Rest(HashMap<u64, Window>);

impl Rest {
    /// Answers a request, or refuses an address that asks too often.
    pub fn answer(
        &mut self,
        names: &Names,
        market: &Market,
        request: &Request<'_>,
        now_ns: u64,
    ) -> Response {
        let requests = self
            .0
            .entry(request.peer)
            .or_insert_with(|| Window::new(REQUESTS_PER_MINUTE, 60 * SECOND_NS));
        if !requests.take(1, now_ns) {
            return too_many_requests(requests.retry_after_s(now_ns));
        }
        answer(names, market, request, now_ns).unwrap_or_else(|refusal| refusal)
    }
}

/// The refusal of an address that asks too often.
pub fn too_many_requests(retry_after_s: u64) -> Response {
    failure(429, "RateLimit", "Requests were made too frequently").retry_after(retry_after_s)
}

fn answer(
    names: &Names,
    market: &Market,
    request: &Request<'_>,
    now_ns: u64,
) -> Result<Response, Response> {
    let find = |name: &str| {
        let id = names.find(&name.to_ascii_uppercase());
        id.ok_or_else(|| {
            failure(
                400,
                "InvalidSymbol",
                &format!("Supplied value '{name}' is not a valid symbol"),
            )
        })
    };
    let parts: Vec<&str> = request.path.trim_matches('/').split('/').collect();
    match parts[..] {
        ["v1", "symbols"] => Ok(Response::written(|out| {
            out.push(b'[');
            for (id, name) in names.all() {
                out.text(if id.0 > 0 { ",\"" } else { "\"" })
                    .text(&name.to_ascii_lowercase())
                    .push(b'"');
            }
            out.push(b']');
        })),
        ["v1", "symbols", "details", "all"] => Ok(Response::written(|out| {
            out.push(b'[');
            for (id, name) in names.all() {
                out.text(if id.0 > 0 { "," } else { "" });
                write_details(out, name, market.symbol(id));
            }
            out.push(b']');
        })),
        ["v1", "symbols", "details", name] => {
            let id = find(name)?;
            Ok(Response::written(|out| {
                write_details(out, names.of(id), market.symbol(id))
            }))
        }
        ["v1", "pubticker", name] => {
            let id = find(name)?;
            Ok(Response::written(|out| {
                write_ticker(out, market, id, now_ns)
            }))
        }
        ["v2", "ticker", name] => {
            let id = find(name)?;
            Ok(Response::written(|out| {
                write_day(out, names.of(id), market.symbol(id))
            }))
        }
        ["v1", "book", name] => {
            let id = find(name)?;
            let limit = |side: &str| {
                request
                    .parameter(side)
                    .and_then(|limit| limit.parse().ok())
                    .unwrap_or(50)
            };
            Ok(Response::written(|out| {
                write_book(out, market, id, [limit("limit_bids"), limit("limit_asks")])
            }))
        }
        ["v1", "trades", name] => {
            let id = find(name)?;
            let limit = request
                .parameter("limit_trades")
                .and_then(|limit| limit.parse().ok())
                .unwrap_or(50usize);
            Ok(Response::written(|out| {
                write_trades(out, market, market.symbol(id), limit.min(500))
            }))
        }
        _ => Err(failure(
            404,
            "EndpointNotFound",
            "API entry point not found",
        )),
    }
}

fn write_details(out: &mut Vec<u8>, name: &str, symbol: &Symbol) {
    let instrument = &symbol.instrument;
    out.text(r#"{"symbol":""#)
        .text(name)
        .text(r#"","base_currency":""#)
        .text(&instrument.base);
    out.text(r#"","quote_currency":""#)
        .text(instrument.quote_as("USD"))
        .text(r#"","tick_size":"#);
    out.decimal(1, instrument.quantity_decimals)
        .text(r#","quote_increment":"#)
        .decimal(1, instrument.price_decimals);
    out.text(r#","min_order_size":""#)
        .decimal(1, instrument.quantity_decimals);
    out.text(r#"","status":"open","wrap_enabled":false,"product_type":"spot","contract_type":"vanilla","#);
    out.text(r#""contract_price_currency":""#)
        .text(instrument.quote_as("USD"))
        .text(r#""}"#);
}

fn best(symbol: &Symbol, side: Side) -> u64 {
    symbol.book.best(side).map_or(0, |(price, _)| price)
}

fn write_ticker(out: &mut Vec<u8>, market: &Market, id: SymbolId, now_ns: u64) {
    let symbol = market.symbol(id);
    let instrument = &symbol.instrument;
    let (price, quantity) = (instrument.price_decimals, instrument.quantity_decimals);
    let day = symbol.statistics.day();
    out.text(r#"{"bid":""#)
        .decimal(best(symbol, Side::Bid), price)
        .text(r#"","ask":""#);
    out.decimal(best(symbol, Side::Ask), price)
        .text(r#"","volume":{""#)
        .text(&instrument.base)
        .text(r#"":""#);
    out.trimmed(day.volume, quantity)
        .text(r#"",""#)
        .text(instrument.quote_as("USD"))
        .text(r#"":""#);
    out.rescaled(day.turnover, price + quantity, price + quantity)
        .text(r#"","timestamp":"#);
    out.number(market.clock().unix_ms(now_ns))
        .text(r#"},"last":""#)
        .decimal(day.close, price)
        .text(r#""}"#);
}

fn write_day(out: &mut Vec<u8>, name: &str, symbol: &Symbol) {
    let price = symbol.instrument.price_decimals;
    let day = symbol.statistics.day();
    out.text(r#"{"symbol":""#)
        .text(name)
        .text(r#"","open":""#)
        .decimal(day.open, price)
        .text(r#"","high":""#);
    out.decimal(day.high, price)
        .text(r#"","low":""#)
        .decimal(day.low, price)
        .text(r#"","close":""#);
    out.decimal(day.close, price)
        .text(r#"","changes":[],"bid":""#)
        .decimal(best(symbol, Side::Bid), price);
    out.text(r#"","ask":""#)
        .decimal(best(symbol, Side::Ask), price)
        .text(r#""}"#);
}

/// A limit of zero is no limit.
fn write_book(out: &mut Vec<u8>, market: &Market, id: SymbolId, limits: [usize; 2]) {
    let symbol = market.symbol(id);
    let instrument = &symbol.instrument;
    let unix_s = market.clock().unix_ms(symbol.last().matched_ns) / 1_000;
    for (side, key, limit) in [
        (Side::Bid, r#"{"bids":["#, limits[0]),
        (Side::Ask, r#"],"asks":["#, limits[1]),
    ] {
        out.text(key);
        let limit = if limit == 0 { usize::MAX } else { limit };
        for (index, (price, level)) in symbol.book.levels(side).take(limit).enumerate() {
            out.text(if index > 0 { "," } else { "" })
                .text(r#"{"price":""#)
                .decimal(price, instrument.price_decimals);
            out.text(r#"","amount":""#)
                .trimmed(level.quantity, instrument.quantity_decimals);
            out.text(r#"","timestamp":""#).number(unix_s).text(r#""}"#);
        }
    }
    out.text("]}");
}

/// Newest first.
fn write_trades(out: &mut Vec<u8>, market: &Market, symbol: &Symbol, limit: usize) {
    let instrument = &symbol.instrument;
    out.push(b'[');
    for (index, trade) in symbol.trades.iter().rev().take(limit).enumerate() {
        let unix_ms = market.clock().unix_ms(trade.matched_ns);
        out.text(if index > 0 { "," } else { "" })
            .text(r#"{"timestamp":"#)
            .number(unix_ms / 1_000);
        out.text(r#","timestampms":"#)
            .number(unix_ms)
            .text(r#","tid":"#)
            .number(trade.fill.trade);
        out.text(r#","price":""#)
            .decimal(trade.fill.price, instrument.price_decimals)
            .text(r#"","amount":""#);
        out.trimmed(trade.fill.quantity, instrument.quantity_decimals)
            .text(r#"","exchange":"gemini","type":""#);
        out.text(trade.side.order_word()).text(r#""}"#);
    }
    out.push(b']');
}
