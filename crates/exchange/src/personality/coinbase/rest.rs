//! REST: products, tickers, books, trades.

use super::super::names::Names;
use super::super::{Request, Response};
use super::feed::Feed;
use super::message::{write_order_id, write_time};
use crate::encode::Encode;
use crate::market::{Market, Side, Symbol, SymbolId};
use crate::time::{write_rfc3339, MILLISECOND_NS};

/// Answers a request.
pub fn answer(
    names: &Names,
    feed: &Feed,
    market: &Market,
    request: &Request<'_>,
    now_ns: u64,
) -> Result<Response, Response> {
    if request.method != "GET" {
        return Err(Response::new(405, r#"{"message":"Method not allowed"}"#));
    }
    let parts: Vec<&str> = request.path.trim_matches('/').split('/').collect();
    let product = |name: &str| names.find(name).ok_or_else(not_found);
    match parts[..] {
        ["time"] => Ok(Response::written(|out| {
            let unix_ns = market.clock().unix_ns(now_ns);
            out.text(r#"{"iso":""#);
            write_rfc3339(out, unix_ns, 6);
            out.text(r#"","epoch":"#)
                .decimal(unix_ns / MILLISECOND_NS, 3)
                .push(b'}');
        })),
        ["products"] => Ok(Response::list(names.all(), |out, (id, name)| {
            write_product(out, name, market.symbol(id))
        })),
        ["products", name] => {
            let id = product(name)?;
            Ok(Response::written(|out| {
                write_product(out, name, market.symbol(id))
            }))
        }
        ["products", name, "ticker"] => {
            let id = product(name)?;
            Ok(Response::written(|out| write_ticker(out, market, id)))
        }
        ["products", name, "book"] => book(feed, market, product(name)?, request, now_ns),
        ["products", name, "trades"] => trades(market, product(name)?, request),
        ["products", name, "stats"] => {
            let symbol = market.symbol(product(name)?);
            Ok(Response::written(|out| write_statistics(out, symbol)))
        }
        ["currencies"] => {
            let mut currencies: Vec<(&str, u32)> = Vec::new();
            for symbol in market.symbols() {
                let instrument = &symbol.instrument;
                let both = [
                    (instrument.base.as_str(), instrument.quantity_decimals),
                    (instrument.quote_as("USD"), 2),
                ];
                for currency in both {
                    if !currencies.iter().any(|known| known.0 == currency.0) {
                        currencies.push(currency);
                    }
                }
            }
            Ok(Response::list(
                currencies.into_iter(),
                |out, (name, decimals)| write_currency(out, name, decimals),
            ))
        }
        _ => Err(not_found()),
    }
}

fn not_found() -> Response {
    Response::new(404, r#"{"message":"NotFound"}"#)
}

fn write_product(out: &mut Vec<u8>, name: &str, symbol: &Symbol) {
    let instrument = &symbol.instrument;
    let (base, quote) = (&instrument.base, instrument.quote_as("USD"));
    out.text(r#"{"id":""#)
        .text(name)
        .text(r#"","base_currency":""#)
        .text(base)
        .text(r#"","quote_currency":""#);
    out.text(quote)
        .text(r#"","quote_increment":""#)
        .decimal(1, instrument.price_decimals);
    out.text(r#"","base_increment":""#)
        .decimal(1, instrument.quantity_decimals)
        .text(r#"","display_name":""#);
    out.text(base)
        .text("/")
        .text(quote)
        .text(r#"","min_market_funds":"1","margin_enabled":false,"post_only":false,"#);
    out.text(r#""limit_only":false,"cancel_only":false,"status":"online","status_message":"","#);
    out.text(
        r#""trading_disabled":false,"fx_stablecoin":false,"max_slippage_percentage":"0.03000000","#,
    );
    out.text(r#""auction_mode":false,"high_bid_limit_percentage":""}"#);
}

fn write_currency(out: &mut Vec<u8>, name: &str, decimals: u32) {
    out.text(r#"{"id":""#)
        .text(name)
        .text(r#"","name":""#)
        .text(name)
        .text(r#"","min_size":""#);
    out.decimal(1, decimals)
        .text(r#"","status":"online","message":"","max_precision":""#)
        .decimal(1, decimals);
    let kind = if name == "USD" { "fiat" } else { "crypto" };
    out.text(r#"","convertible_to":[],"details":{"type":""#)
        .text(kind)
        .text(r#""},"supported_networks":[]}"#);
}

fn write_ticker(out: &mut Vec<u8>, market: &Market, id: SymbolId) {
    let symbol = market.symbol(id);
    let (price, quantity) = (
        symbol.instrument.price_decimals,
        symbol.instrument.quantity_decimals,
    );
    let last = symbol.last();
    let best = |side| symbol.book.best(side).map_or(0, |(price, _)| price);
    out.text(r#"{"ask":""#)
        .decimal(best(Side::Ask), price)
        .text(r#"","bid":""#)
        .decimal(best(Side::Bid), price);
    out.text(r#"","volume":""#)
        .rescaled(symbol.statistics.day().volume.into(), quantity, 8);
    out.text(r#"","trade_id":"#)
        .number(last.fill.trade)
        .text(r#","price":""#)
        .trimmed(last.fill.price, price);
    out.text(r#"","size":""#)
        .trimmed(last.fill.quantity, quantity)
        .text(r#"","time":"#);
    write_time(out, market.clock(), last.matched_ns);
    out.push(b'}');
}

fn write_statistics(out: &mut Vec<u8>, symbol: &Symbol) {
    let (price, quantity) = (
        symbol.instrument.price_decimals,
        symbol.instrument.quantity_decimals,
    );
    let day = symbol.statistics.day();
    out.text(r#"{"open":""#)
        .trimmed(day.open, price)
        .text(r#"","high":""#)
        .trimmed(day.high, price);
    out.text(r#"","low":""#)
        .trimmed(day.low, price)
        .text(r#"","last":""#)
        .trimmed(day.close, price);
    out.text(r#"","volume":""#)
        .rescaled(day.volume.into(), quantity, 8)
        .text(r#"","volume_30day":""#);
    out.rescaled(day.volume.into(), quantity, 8).text(r#""}"#);
}

/// Level 1: the best of each side; 2: all levels with their number of orders; 3: each order.
fn book(
    feed: &Feed,
    market: &Market,
    id: SymbolId,
    request: &Request<'_>,
    now_ns: u64,
) -> Result<Response, Response> {
    let level = request.parameter("level").unwrap_or_else(|| "1".to_owned());
    let symbol = market.symbol(id);
    let (price, quantity) = (
        symbol.instrument.price_decimals,
        symbol.instrument.quantity_decimals,
    );
    let write_side = |out: &mut Vec<u8>, side: Side| {
        let mut separator = "[\"";
        if level == "3" {
            for order in symbol.book.orders(side) {
                out.text(separator)
                    .decimal(order.price, price)
                    .text("\",\"")
                    .decimal(order.quantity, quantity);
                out.text("\",\"");
                write_order_id(out, id, order.id);
                out.text("\"]");
                separator = ",[\"";
            }
            return;
        }
        let count = if level == "1" { 1 } else { usize::MAX };
        for (at, level) in symbol.book.levels(side).take(count) {
            out.text(separator)
                .decimal(at, price)
                .text("\",\"")
                .decimal(level.quantity, quantity)
                .text("\",");
            out.number(level.orders.into()).text("]");
            separator = ",[\"";
        }
    };
    if !matches!(level.as_str(), "1" | "2" | "3") {
        return Err(Response::new(400, r#"{"message":"Invalid level"}"#));
    }
    Ok(Response::written(|out| {
        out.text(r#"{"bids":["#);
        write_side(out, Side::Bid);
        out.text(r#"],"asks":["#);
        write_side(out, Side::Ask);
        out.text(r#"],"sequence":"#).number(feed.sequence(id));
        out.text(r#","auction_mode":false,"auction":null,"time":"#);
        write_time(out, market.clock(), now_ns);
        out.push(b'}');
    }))
}

/// Newest first; `side` is the maker's.
fn trades(market: &Market, id: SymbolId, request: &Request<'_>) -> Result<Response, Response> {
    let limit = match request
        .parameter("limit")
        .map(|limit| limit.parse::<usize>())
    {
        None => 1_000,
        Some(Ok(limit @ 1..)) => limit.min(1_000),
        Some(_) => return Err(Response::new(400, r#"{"message":"Invalid limit"}"#)),
    };
    let symbol = market.symbol(id);
    let (price, quantity) = (
        symbol.instrument.price_decimals,
        symbol.instrument.quantity_decimals,
    );
    Ok(Response::list(
        symbol.trades.iter().rev().take(limit),
        |out, trade| {
            out.text(r#"{"trade_id":"#)
                .number(trade.fill.trade)
                .text(r#","side":""#);
            out.text(trade.side.opposite().order_word())
                .text(r#"","size":""#);
            out.rescaled(trade.fill.quantity.into(), quantity, 8)
                .text(r#"","price":""#);
            out.rescaled(trade.fill.price.into(), price, 8)
                .text(r#"","time":"#);
            write_time(out, market.clock(), trade.matched_ns);
            out.push(b'}');
        },
    ))
}
