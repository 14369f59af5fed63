//! REST: time, status, pairs, tickers, books, trades, candles.

use super::super::{Request, Response};
use super::feed::mean_ticks;
use super::INTERVALS;
use crate::encode::Encode;
use crate::market::{Instrument, Market, Side, Symbol};
use crate::time::{write_rfc3339, SECOND_NS};

/// How the older interfaces call an asset: the short name, and the long one with its class in front.
fn old_names(asset: &str) -> (&str, Option<&str>) {
    match asset {
        "BTC" => ("XBT", Some("XXBT")),
        "DOGE" => ("XDG", Some("XXDG")),
        "ETH" => ("ETH", Some("XETH")),
        "LTC" => ("LTC", Some("XLTC")),
        "XRP" => ("XRP", Some("XXRP")),
        "USD" => ("USD", Some("ZUSD")),
        "EUR" => ("EUR", Some("ZEUR")),
        other => (other, None),
    }
}

/// Names of a pair: its key in answers (`XXBTZUSD`), the short form (`XBTUSD`), and that of WebSocket v1 (`XBT/USD`).
pub fn pair_names(instrument: &Instrument) -> [String; 3] {
    let (base, quote) = (
        old_names(&instrument.base),
        old_names(instrument.quote_as("USD")),
    );
    let key = match (base.1, quote.1) {
        (Some(base), Some(quote)) => format!("{base}{quote}"),
        _ => format!("{}{}", base.0, quote.0),
    };
    [
        key,
        format!("{}{}", base.0, quote.0),
        format!("{}/{}", base.0, quote.0),
    ]
}

/// Answers a request below `/0/public`; errors come with status 200, as the exchange's do.
pub fn answer(market: &Market, request: &Request<'_>, now_ns: u64) -> Response {
    let result = match request.path.strip_prefix("/0/public/") {
        Some("Time") => Ok(time(market, now_ns)),
        Some("SystemStatus") => Ok(status(market, now_ns)),
        Some("Assets") => Ok(assets(market)),
        Some("AssetPairs") => each(market, request, write_pair),
        Some("Ticker") => each(market, request, write_ticker),
        Some("Depth") => each(market, request, |out, symbol| {
            write_depth(out, market, symbol, count(request, 100, 500))
        }),
        Some("Trades") => each(market, request, |out, symbol| {
            write_trades(out, market, symbol, count(request, 1_000, 1_000))
        }),
        Some("OHLC") => candles(market, request, now_ns),
        _ => Err("EGeneral:Unknown method"),
    };
    match result {
        Ok(result) => Response::written(|out| {
            out.text(r#"{"error":[],"result":"#)
                .extend_from_slice(&result);
            out.push(b'}');
        }),
        Err(error) => {
            Response::written(|out| _ = out.text(r#"{"error":["#).quoted(error).text("]}"))
        }
    }
}

type Answer = Result<Vec<u8>, &'static str>;

fn count(request: &Request<'_>, usual: usize, most: usize) -> usize {
    request
        .parameter("count")
        .and_then(|count| count.parse().ok())
        .unwrap_or(usual)
        .clamp(1, most)
}

fn time(market: &Market, now_ns: u64) -> Vec<u8> {
    let unix_ns = market.clock().unix_ns(now_ns);
    let mut out = Vec::new();
    out.text(r#"{"unixtime":"#)
        .number(unix_ns / SECOND_NS)
        .text(r#","rfc1123":""#);
    write_rfc1123(&mut out, unix_ns);
    out.text(r#""}"#);
    out
}

/// `Sat, 17 Apr 21 16:43:37 +0000`
fn write_rfc1123(out: &mut Vec<u8>, unix_ns: u64) {
    let calendar = crate::time::Calendar::of(unix_ns);
    let weekday = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
        [(unix_ns / crate::time::DAY_NS % 7) as usize];
    let month = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    out.text(weekday)
        .text(", ")
        .text(&format!("{:2}", calendar.day))
        .text(" ")
        .text(month[calendar.month as usize - 1]);
    out.text(&format!(" {:02} ", calendar.year % 100));
    calendar.write_time(out, ":", 0);
    out.text(" +0000");
}

fn status(market: &Market, now_ns: u64) -> Vec<u8> {
    let mut out = Vec::new();
    out.text(r#"{"status":"online","timestamp":""#);
    write_rfc3339(&mut out, market.clock().unix_ns(now_ns), 0);
    out.text(r#""}"#);
    out
}

fn assets(market: &Market) -> Vec<u8> {
    let mut seen: Vec<&str> = Vec::new();
    let mut out = b"{".to_vec();
    for symbol in market.symbols() {
        let instrument = &symbol.instrument;
        for asset in [instrument.base.as_str(), instrument.quote_as("USD")] {
            if !seen.contains(&asset) {
                let (short, long) = old_names(asset);
                out.text(if seen.is_empty() { "\"" } else { ",\"" })
                    .text(long.unwrap_or(short));
                out.text(r#"":{"aclass":"currency","altname":""#)
                    .text(short);
                out.text(r#"","decimals":10,"display_decimals":5,"status":"enabled"}"#);
                seen.push(asset);
            }
        }
    }
    out.push(b'}');
    out
}

/// An object with one key for each pair asked for by any of its names, or for all.
fn each(market: &Market, request: &Request<'_>, write: impl Fn(&mut Vec<u8>, &Symbol)) -> Answer {
    let wanted = request.parameter("pair");
    let wanted: Option<Vec<&str>> = wanted.as_deref().map(|list| list.split(',').collect());
    let mut out = b"{".to_vec();
    let mut found = 0;
    for symbol in market.symbols() {
        let names = pair_names(&symbol.instrument);
        let modern = format!(
            "{}/{}",
            symbol.instrument.base,
            symbol.instrument.quote_as("USD")
        );
        let named = |name: &&str| names.iter().any(|known| known == name) || modern == *name;
        if wanted
            .as_ref()
            .is_none_or(|wanted| wanted.iter().any(named))
        {
            out.text(if found > 0 { ",\"" } else { "\"" })
                .text(&names[0])
                .text("\":");
            write(&mut out, symbol);
            found += 1;
        }
    }
    out.push(b'}');
    match wanted {
        Some(wanted) if found < wanted.len() => Err("EQuery:Unknown asset pair"),
        _ => Ok(out),
    }
}

fn write_pair(out: &mut Vec<u8>, symbol: &Symbol) {
    let instrument = &symbol.instrument;
    let [_, short, old] = pair_names(instrument);
    let asset = |name| old_names(name).1.unwrap_or(old_names(name).0);
    out.text(r#"{"altname":""#)
        .text(&short)
        .text(r#"","wsname":""#)
        .text(&old);
    out.text(r#"","aclass_base":"currency","base":""#)
        .text(asset(&instrument.base));
    out.text(r#"","aclass_quote":"currency","quote":""#)
        .text(asset(instrument.quote_as("USD")));
    out.text(r#"","lot":"unit","cost_decimals":5,"pair_decimals":"#)
        .number(instrument.price_decimals.into());
    out.text(r#","lot_decimals":"#)
        .number(instrument.quantity_decimals.into());
    out.text(r#","lot_multiplier":1,"leverage_buy":[],"leverage_sell":[],"fees":[[0,0.4]],"fees_maker":[[0,0.25]],"#);
    out.text(r#""fee_volume_currency":"ZUSD","margin_call":80,"margin_stop":40,"ordermin":""#);
    out.decimal(1, instrument.quantity_decimals)
        .text(r#"","costmin":"0.5","tick_size":""#);
    out.decimal(1, instrument.price_decimals)
        .text(r#"","status":"online"}"#);
}

fn write_ticker(out: &mut Vec<u8>, symbol: &Symbol) {
    let (price, quantity) = (
        symbol.instrument.price_decimals,
        symbol.instrument.quantity_decimals,
    );
    let day = symbol.statistics.day();
    out.push(b'{');
    for (side, key) in [(Side::Ask, "\"a\":[\""), (Side::Bid, "],\"b\":[\"")] {
        let (best, size) = symbol.book.best(side).unwrap_or((0, 0));
        let whole = size / 10u64.pow(quantity);
        out.text(key)
            .decimal(best, price)
            .text("\",\"")
            .number(whole)
            .text("\",\"")
            .rescaled(size.into(), quantity, 3);
        out.push(b'"');
    }
    let last = &symbol.last().fill;
    out.text(r#"],"c":[""#)
        .decimal(last.price, price)
        .text("\",\"")
        .rescaled(last.quantity.into(), quantity, 8);
    // Each figure is of today and of the last 24 hours, which are the same here.
    for (key, value) in [
        ("v", (u128::from(day.volume), quantity, 8)),
        ("p", (mean_ticks(&day).into(), price, price)),
    ] {
        let (units, decimals, shown) = value;
        out.text(r#""],""#)
            .text(key)
            .text(r#"":[""#)
            .rescaled(units, decimals, shown)
            .text("\",\"");
        out.rescaled(units, decimals, shown);
    }
    out.text(r#""],"t":["#)
        .number(day.trades())
        .text(",")
        .number(day.trades())
        .text(r#"],"l":[""#);
    out.decimal(day.low, price)
        .text("\",\"")
        .decimal(day.low, price)
        .text(r#""],"h":[""#);
    out.decimal(day.high, price)
        .text("\",\"")
        .decimal(day.high, price)
        .text(r#""],"o":""#);
    out.decimal(day.open, price).text(r#""}"#);
}

fn write_depth(out: &mut Vec<u8>, market: &Market, symbol: &Symbol, count: usize) {
    let (price, quantity) = (
        symbol.instrument.price_decimals,
        symbol.instrument.quantity_decimals,
    );
    let unix_s = market.clock().unix_ns(symbol.last().matched_ns) / SECOND_NS;
    for (side, key) in [(Side::Ask, r#"{"asks":["#), (Side::Bid, r#"],"bids":["#)] {
        out.text(key);
        for (index, (at, level)) in symbol.book.levels(side).take(count).enumerate() {
            out.text(if index > 0 { ",[\"" } else { "[\"" })
                .decimal(at, price)
                .text("\",\"");
            out.rescaled(level.quantity.into(), quantity, 3.max(quantity))
                .text("\",")
                .number(unix_s)
                .push(b']');
        }
    }
    out.text("]}");
}

fn write_trades(out: &mut Vec<u8>, market: &Market, symbol: &Symbol, count: usize) {
    let (price, quantity) = (
        symbol.instrument.price_decimals,
        symbol.instrument.quantity_decimals,
    );
    out.push(b'[');
    let from = symbol.trades.len().saturating_sub(count);
    for (index, trade) in symbol.trades.range(from..).enumerate() {
        out.text(if index > 0 { ",[\"" } else { "[\"" })
            .decimal(trade.fill.price, price)
            .text("\",\"");
        out.rescaled(trade.fill.quantity.into(), quantity, 8)
            .text("\",");
        out.decimal(market.clock().unix_ns(trade.matched_ns), 9);
        out.text(if trade.side == Side::Bid {
            r#","b","m","","#
        } else {
            r#","s","m","","#
        });
        out.number(trade.fill.trade).push(b']');
    }
    out.push(b']');
}

fn candles(market: &Market, request: &Request<'_>, now_ns: u64) -> Answer {
    let interval = request
        .parameter("interval")
        .map_or(Ok(1), |text| text.parse::<u64>());
    let interval = interval
        .ok()
        .filter(|interval| INTERVALS.contains(interval))
        .ok_or("EGeneral:Invalid arguments")?;
    let length_ns = interval * 60 * SECOND_NS;
    let opened_ns = market.clock().opened_unix_ns;
    let last = (opened_ns + now_ns) / length_ns;
    let first = (opened_ns / length_ns).max(last.saturating_sub(719));
    each(market, request, |out, symbol| {
        let (price, quantity) = (
            symbol.instrument.price_decimals,
            symbol.instrument.quantity_decimals,
        );
        out.push(b'[');
        for number in first..=last {
            let candle = symbol
                .statistics
                .span(number * length_ns, (number + 1) * length_ns);
            out.text(if number > first { ",[" } else { "[" })
                .number(number * length_ns / SECOND_NS);
            for at in [
                candle.open,
                candle.high,
                candle.low,
                candle.close,
                mean_ticks(&candle),
            ] {
                out.text(",\"").decimal(at, price).push(b'"');
            }
            out.text(",\"")
                .rescaled(candle.volume.into(), quantity, 8)
                .text("\",")
                .number(candle.trades())
                .push(b']');
        }
        out.push(b']');
    })
}
