//! REST below `/openapi/v1`.

use super::super::names::Names;
use super::super::{Request, Response};
use super::feed::{write_day, write_levels, write_price};
use crate::encode::Encode;
use crate::market::{Market, Side, SymbolId};
use crate::time::SECOND_NS;

/// Answers a request; what is wrong is told with status 200, as the exchange did. Its documentation gives no code for
/// an unknown path, and only a number for an unknown symbol.
pub fn answer(names: &Names, market: &Market, request: &Request<'_>, now_ns: u64) -> Response {
    let wanted = request.parameter("symbol").unwrap_or_default();
    let find = || names.find(&wanted).ok_or("9002");
    let data = match request.path.strip_prefix("/openapi/v1/") {
        Some("serverTime") => Ok(market.clock().unix_ms(now_ns).to_string().into_bytes()),
        Some("spot/ticker") if wanted == "ALL" => {
            Ok(tickers(names, market, names.all().map(|(id, _)| id)))
        }
        Some("spot/ticker") => find().map(|id| tickers(names, market, [id].into_iter())),
        Some("spot/orderBook") => find().map(|id| book(names, market, id)),
        Some("spot/trades") => find().map(|id| trades(market, id)),
        Some("spot/config") => Ok(config(names, market)),
        _ => Err("404"),
    };
    let timestamp = market.clock().unix_ms(now_ns);
    match data {
        Ok(data) => Response::written(|out| {
            out.text(r#"{"data":"#).extend_from_slice(&data);
            out.text(r#","code":"0","msg":"success","timestamp":"#)
                .number(timestamp)
                .text(r#","success":true}"#);
        }),
        Err(code) => Response::written(|out| {
            out.text(r#"{"data":null,"code":""#)
                .text(code)
                .text(r#"","msg":"verifySymbolOrPathFail","timestamp":"#);
            out.number(timestamp).text(r#","success":false}"#);
        }),
    }
}

fn tickers(names: &Names, market: &Market, ids: impl Iterator<Item = SymbolId>) -> Vec<u8> {
    let mut out = b"[".to_vec();
    for (index, id) in ids.enumerate() {
        out.text(if index > 0 { ",{" } else { "{" });
        write_day(&mut out, market.symbol(id));
        out.text(r#","s":""#).text(names.of(id)).text(r#""}"#);
    }
    out.push(b']');
    out
}

/// The book as it stands; its `ver` is that of the last event, so that the topic's messages bracket it.
fn book(names: &Names, market: &Market, id: SymbolId) -> Vec<u8> {
    let symbol = market.symbol(id);
    let levels = |side| {
        symbol
            .book
            .levels(side)
            .map(|(price, level)| (price, level.quantity))
    };
    let mut out = br#"{"b":["#.to_vec();
    write_levels(&mut out, symbol, levels(Side::Bid));
    out.text(r#"],"s":["#);
    write_levels(&mut out, symbol, levels(Side::Ask));
    out.text(r#"],"ver":""#)
        .number(symbol.sequence)
        .text(r#"","symbol":""#)
        .text(names.of(id))
        .text(r#""}"#);
    out
}

/// The last hundred, newest first.
fn trades(market: &Market, id: SymbolId) -> Vec<u8> {
    let symbol = market.symbol(id);
    let mut out = b"[".to_vec();
    for (index, trade) in symbol.trades.iter().rev().take(100).enumerate() {
        out.text(if index > 0 { ",{\"p\":\"" } else { "{\"p\":\"" });
        write_price(&mut out, symbol, trade.fill.price)
            .text(r#"","s":""#)
            .text(trade.side.order_word());
        out.text(r#"","v":""#)
            .trimmed(trade.fill.quantity, symbol.instrument.quantity_decimals)
            .text(r#"","t":""#);
        out.number(market.clock().unix_ns(trade.matched_ns) / SECOND_NS)
            .text(r#"","ver":""#);
        out.number(trade.fill.trade).text(r#""}"#);
    }
    out.push(b']');
    out
}

fn config(names: &Names, market: &Market) -> Vec<u8> {
    let mut out = br#"{"spotConfig":["#.to_vec();
    for (id, name) in names.all() {
        let instrument = &market.symbol(id).instrument;
        out.text(if id.0 > 0 { "," } else { "" })
            .text(r#"{"symbol":""#)
            .text(name)
            .text(r#"","accuracy":[""#);
        out.number(instrument.price_decimals.into())
            .text("\",\"")
            .number(instrument.quantity_decimals.into());
        out.text(r#""],"percentPrice":{"multiplierUp":"3.0","multiplierDown":"0.1"}}"#);
    }
    out.text("]}");
    out
}
