//! Public REST under `/api/v3/brokerage`: time, products, the last trades with the best prices, books.
//!
//! Source: the API reference at docs.cdp.coinbase.com (2026-11): paths, parameters and keys. From memory: the words of
//! errors, and that a list may be asked for without a limit (100 trades then, the whole book).

use super::super::names::Names;
use super::super::{Request, Response};
use crate::encode::Encode;
use crate::market::{Market, Side, Symbol, SymbolId, Trade};
use crate::time::{write_rfc3339, ExchangeClock, MILLISECOND_NS, SECOND_NS};

/// Trades in an answer unless a limit is given, and at most.
const TRADES: [usize; 2] = [100, 1_000];

/// Answers a request.
pub fn answer(
    names: &Names,
    market: &Market,
    request: &Request<'_>,
    now_ns: u64,
) -> Result<Response, Response> {
    let find = |name: &str| {
        let unknown = || failure(404, "NOT_FOUND", "valid product not found");
        names.find(name).ok_or_else(unknown)
    };
    let path = request.path.strip_prefix("/api/v3/brokerage/");
    let parts: Vec<&str> = path.unwrap_or_default().split('/').collect();
    match parts[..] {
        ["time"] => Ok(time(market.clock().unix_ns(now_ns))),
        ["market", "products"] => Ok(Response::written(|out| {
            out.text(r#"{"products":["#);
            for (id, name) in names.all() {
                out.text(if id.0 > 0 { "," } else { "" });
                write_product(out, name, market.symbol(id));
            }
            let count = market.symbols().len() as u64;
            out.text(r#"],"num_products":"#).number(count).push(b'}');
        })),
        ["market", "products", name] => {
            let id = find(name)?;
            Ok(Response::written(|out| {
                write_product(out, name, market.symbol(id))
            }))
        }
        ["market", "products", name, "ticker"] => {
            let id = find(name)?;
            let limit = limit(request)?.unwrap_or(TRADES[0]).min(TRADES[1]);
            Ok(Response::written(|out| {
                write_trades(out, market.clock(), name, market.symbol(id), limit)
            }))
        }
        ["market", "product_book"] => {
            let name = request.parameter("product_id").unwrap_or_default();
            if name.is_empty() {
                return Err(failure(400, "INVALID_ARGUMENT", "product_id is required"));
            }
            let id = find(&name)?;
            let limit = limit(request)?.unwrap_or(usize::MAX);
            Ok(Response::written(|out| {
                write_book(out, market, id, &name, limit, now_ns)
            }))
        }
        _ => Err(failure(404, "NOT_FOUND", "not found")),
    }
}

/// The exchange's way of saying no.
pub fn failure(status: u16, error: &str, message: &str) -> Response {
    let mut body = Vec::new();
    body.text(r#"{"error":"#)
        .quoted(error)
        .text(r#","error_details":"#)
        .quoted(message)
        .text(r#","message":"#)
        .quoted(message)
        .push(b'}');
    Response::new(status, body)
}

fn limit(request: &Request<'_>) -> Result<Option<usize>, Response> {
    match request.parameter("limit").map(|limit| limit.parse()) {
        None => Ok(None),
        Some(Ok(limit @ 1..)) => Ok(Some(limit)),
        Some(_) => Err(failure(400, "INVALID_ARGUMENT", "invalid limit")),
    }
}

fn time(unix_ns: u64) -> Response {
    Response::written(|out| {
        out.text(r#"{"iso":""#);
        write_rfc3339(out, unix_ns, 0);
        out.text(r#"","epochSeconds":""#)
            .number(unix_ns / SECOND_NS)
            .text(r#"","epochMillis":""#)
            .number(unix_ns / MILLISECOND_NS)
            .text(r#""}"#);
    })
}

fn write_product(out: &mut Vec<u8>, name: &str, symbol: &Symbol) {
    let instrument = &symbol.instrument;
    let (price, quantity) = (instrument.price_decimals, instrument.quantity_decimals);
    let (base, quote) = (instrument.base.as_str(), instrument.quote_as("USD"));
    let day = symbol.statistics.day();
    let change = u128::from(day.close.abs_diff(day.open)) * 10_000_000_000 / u128::from(day.open);
    let sign = if day.close < day.open && change > 0 {
        "-"
    } else {
        ""
    };
    out.text(r#"{"product_id":""#)
        .text(name)
        .text(r#"","price":""#)
        .trimmed(day.close, price)
        .text(r#"","price_percentage_change_24h":""#)
        .text(sign)
        .rescaled(change, 8, 8)
        .text(r#"","volume_24h":""#)
        .trimmed(day.volume, quantity)
        .text(r#"","volume_percentage_change_24h":"0""#);
    for (key, units, decimals) in [
        ("base_increment", 1, quantity),
        ("quote_increment", 1, price),
        ("price_increment", 1, price),
        ("base_min_size", 1, quantity),
        ("base_max_size", 1_000_000, 0),
        ("quote_min_size", 1, 0),
        ("quote_max_size", 150_000_000, 0),
    ] {
        out.text(",\"")
            .text(key)
            .text("\":\"")
            .decimal(units, decimals)
            .push(b'"');
    }
    for (key, text) in [
        ("base_name", base),
        ("quote_name", quote),
        ("base_currency_id", base),
        ("quote_currency_id", quote),
        ("base_display_symbol", base),
        ("quote_display_symbol", quote),
        ("status", "online"),
        ("product_type", "SPOT"),
        ("alias", ""),
    ] {
        out.text(",\"").text(key).text("\":").quoted(text);
    }
    for key in [
        "watched",
        "is_disabled",
        "new",
        "cancel_only",
        "limit_only",
        "post_only",
        "trading_disabled",
        "auction_mode",
        "view_only",
    ] {
        out.text(",\"").text(key).text("\":false");
    }
    out.text(r#","alias_to":[],"display_name":""#)
        .text(name)
        .text(r#"","approximate_quote_24h_volume":""#)
        .rescaled(day.turnover, price + quantity, 2)
        .text(r#""}"#);
}

/// Newest first, then the best prices. `side` is the maker's.
fn write_trades(
    out: &mut Vec<u8>,
    clock: &ExchangeClock,
    name: &str,
    symbol: &Symbol,
    limit: usize,
) {
    let instrument = &symbol.instrument;
    out.text(r#"{"trades":["#);
    for (index, trade) in symbol.trades.iter().rev().take(limit).enumerate() {
        out.text(if index > 0 { "," } else { "" });
        write_trade(out, clock, name, symbol, trade);
    }
    out.push(b']');
    for (key, side) in [("best_bid", Side::Bid), ("best_ask", Side::Ask)] {
        let best = symbol.book.best(side).map_or(0, |(price, _)| price);
        out.text(",\"")
            .text(key)
            .text("\":\"")
            .trimmed(best, instrument.price_decimals)
            .push(b'"');
    }
    out.push(b'}');
}

fn write_trade(
    out: &mut Vec<u8>,
    clock: &ExchangeClock,
    name: &str,
    symbol: &Symbol,
    trade: &Trade,
) {
    let instrument = &symbol.instrument;
    out.text(r#"{"trade_id":""#)
        .number(trade.fill.trade)
        .text(r#"","product_id":""#)
        .text(name)
        .text(r#"","price":""#)
        .trimmed(trade.fill.price, instrument.price_decimals)
        .text(r#"","size":""#)
        .trimmed(trade.fill.quantity, instrument.quantity_decimals)
        .text(r#"","time":""#);
    write_rfc3339(out, clock.unix_ns(trade.matched_ns), 6);
    let side = match trade.side {
        Side::Ask => "BUY",
        Side::Bid => "SELL",
    };
    out.text(r#"","side":""#)
        .text(side)
        .text(r#"","exchange":"coinbase"}"#);
}

fn write_book(
    out: &mut Vec<u8>,
    market: &Market,
    id: SymbolId,
    name: &str,
    limit: usize,
    now_ns: u64,
) {
    let symbol = market.symbol(id);
    let instrument = &symbol.instrument;
    let price = instrument.price_decimals;
    out.text(r#"{"pricebook":{"product_id":""#)
        .text(name)
        .push(b'"');
    for (side, key) in [(Side::Bid, r#","bids":["#), (Side::Ask, r#","asks":["#)] {
        out.text(key);
        for (index, (at, level)) in symbol.book.levels(side).take(limit).enumerate() {
            out.text(if index > 0 { "," } else { "" })
                .text(r#"{"price":""#)
                .trimmed(at, price)
                .text(r#"","size":""#)
                .trimmed(level.quantity, instrument.quantity_decimals)
                .text(r#""}"#);
        }
        out.push(b']');
    }
    out.text(r#","time":""#);
    write_rfc3339(out, market.clock().unix_ns(now_ns), 6);
    let [bid, ask] = symbol.best().map(|best| best.map_or(0, |(price, _)| price));
    let (spread, sum) = (ask - bid, u128::from(bid) + u128::from(ask));
    out.text(r#""},"last":""#)
        .trimmed(symbol.last().fill.price, price)
        .text(r#"","mid_market":""#)
        .rescaled(sum * 5, price + 1, price + 1)
        .text(r#"","spread_bps":""#)
        // Spread over middle, in hundredths of a per cent with four decimals.
        .rescaled(u128::from(spread) * 2 * 100_000_000 / sum, 4, 4)
        .text(r#"","spread_absolute":""#)
        .trimmed(spread, price)
        .text(r#""}"#);
}
