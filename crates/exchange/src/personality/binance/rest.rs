//! REST: answers as functions of the market.

use super::super::{Request, Response};
use super::limiter::{failure, Limiter, WEIGHT_PER_MINUTE};
use super::message::{write_aggregate, write_change, write_mean, write_side, Times, Units};
use super::stream::Interval;
use super::Names;
use crate::encode::Encode;
use crate::market::{Fill, Market, Side, Symbol, SymbolId};
use crate::time::{DAY_NS, SECOND_NS};

/// Answers a request below `/api/v3`.
pub fn answer(
    names: &Names,
    limiter: &mut Limiter,
    market: &Market,
    request: &Request<'_>,
    now_ns: u64,
) -> Response {
    let query = Query {
        names,
        market,
        request,
        now_ns,
    };
    let weight = match limiter.take(request.peer, query.weight(), market, now_ns) {
        Ok(weight) => weight,
        Err(refusal) => return refusal,
    };
    let mut response = query.answer().unwrap_or_else(|failure| failure);
    response
        .headers
        .push(("X-MBX-USED-WEIGHT", weight.to_string()));
    response
        .headers
        .push(("X-MBX-USED-WEIGHT-1M", weight.to_string()));
    response
}

struct Query<'a> {
    names: &'a Names,
    market: &'a Market,
    request: &'a Request<'a>,
    now_ns: u64,
}

type Answer = Result<Response, Response>;

impl Query<'_> {
    fn weight(&self) -> u32 {
        let limit = self
            .request
            .parameter("limit")
            .and_then(|limit| limit.parse().ok())
            .unwrap_or(100u32);
        let one = self.request.parameter("symbol").is_some();
        let several = self
            .request
            .parameter("symbols")
            .map(|list| list.matches(',').count() + 1);
        match self
            .request
            .path
            .strip_prefix("/api/v3")
            .unwrap_or_default()
        {
            "/depth" => match limit {
                0..=100 => 5,
                101..=500 => 25,
                501..=1_000 => 50,
                _ => 250,
            },
            "/exchangeInfo" => 20,
            "/ticker/24hr" => match several {
                _ if one => 2,
                Some(0..=20) => 2,
                Some(21..=100) => 40,
                _ => 80,
            },
            "/ticker/price" | "/ticker/bookTicker" => 4 - 2 * u32::from(one),
            "/trades" => 25,
            "/aggTrades" => 4,
            "/klines" | "/avgPrice" => 2,
            _ => 1,
        }
    }

    fn answer(&self) -> Answer {
        if self.request.method != "GET" {
            return Err(failure(405, -1000, "Request method not supported."));
        }
        let now = self.times().at(self.now_ns);
        match self
            .request
            .path
            .strip_prefix("/api/v3")
            .unwrap_or_default()
        {
            "/ping" => Ok(Response::new(200, "{}")),
            "/time" => Ok(Response::written(|out| {
                out.text(r#"{"serverTime":"#).number(now).push(b'}')
            })),
            "/exchangeInfo" => self.exchange_info(now),
            "/depth" => self.depth(),
            "/trades" => self.trades(),
            "/aggTrades" => self.aggregates(),
            "/klines" => self.klines(),
            "/avgPrice" => self.average(),
            "/ticker/24hr" => self.each(Self::write_day),
            "/ticker/price" => self.each(|_, out, name, symbol| {
                out.text(r#"{"symbol":""#).text(name).text(r#"","price":""#);
                Units::of(&symbol.instrument)
                    .price(out, symbol.last().fill.price)
                    .text(r#""}"#);
            }),
            "/ticker/bookTicker" => self.each(Self::write_book_ticker),
            _ => Err(Response::new(
                404,
                "<html><body><h2>404 Not found</h2></body></html>",
            )),
        }
    }

    fn times(&self) -> Times<'_> {
        let unit = self.request.header("x-mbx-time-unit").unwrap_or_default();
        Times::new(
            self.market.clock(),
            unit.eq_ignore_ascii_case("microsecond"),
        )
    }

    fn lookup(&self, name: &str) -> Result<SymbolId, Response> {
        // Parameters are in capitals, and only so.
        let index = self.names.upper.iter().position(|upper| upper == name);
        index
            .map(|index| SymbolId(index as u32))
            .ok_or_else(|| failure(400, -1121, "Invalid symbol."))
    }

    fn mandatory(&self, name: &str) -> Result<String, Response> {
        self.request
            .parameter(name)
            .filter(|value| !value.is_empty())
            .ok_or_else(|| {
                let message = format!(
                    "Mandatory parameter '{name}' was not sent, was empty/null, or malformed."
                );
                failure(400, -1102, &message)
            })
    }

    fn symbol(&self) -> Result<(&str, &Symbol), Response> {
        let id = self.lookup(&self.mandatory("symbol")?)?;
        Ok((&self.names.upper[id.0 as usize], self.market.symbol(id)))
    }

    fn limit(&self, usual: usize, most: usize) -> Result<usize, Response> {
        match self.request.parameter("limit") {
            None => Ok(usual),
            Some(text) => match text.parse::<usize>() {
                Ok(limit) if limit > 0 => Ok(limit.min(most)),
                _ => Err(failure(400, -1100, "Illegal characters found in parameter 'limit'; legal range is '^[0-9]{1,20}$'.")),
            },
        }
    }

    /// One object for `symbol`, a list for `symbols`, and a list of all without either.
    fn each(&self, write: impl Fn(&Self, &mut Vec<u8>, &str, &Symbol)) -> Answer {
        if self.request.parameter("symbol").is_some() {
            let (name, symbol) = self.symbol()?;
            return Ok(Response::written(|out| write(self, out, name, symbol)));
        }
        let ids: Vec<SymbolId> = match self.request.parameter("symbols") {
            None => self.market.ids().collect(),
            Some(list) => {
                let names: Vec<String> = serde_json::from_str(&list).map_err(|_| {
                    failure(
                        400,
                        -1100,
                        "Illegal characters found in parameter 'symbols'.",
                    )
                })?;
                names
                    .iter()
                    .map(|name| self.lookup(name))
                    .collect::<Result<_, _>>()?
            }
        };
        Ok(Response::written(|out| {
            out.push(b'[');
            for (index, id) in ids.iter().enumerate() {
                out.text(if index > 0 { "," } else { "" });
                write(
                    self,
                    out,
                    &self.names.upper[id.0 as usize],
                    self.market.symbol(*id),
                );
            }
            out.push(b']');
        }))
    }

    /// The book as it stands: its `lastUpdateId` is that of the last event, so depth streams bracket it.
    fn depth(&self) -> Answer {
        let (_, symbol) = self.symbol()?;
        let limit = self.limit(100, 5_000)?;
        let units = Units::of(&symbol.instrument);
        Ok(Response::written(|out| {
            out.text(r#"{"lastUpdateId":"#)
                .number(symbol.sequence)
                .text(r#","bids":"#);
            write_side(out, units, symbol, Side::Bid, limit);
            out.text(r#","asks":"#);
            write_side(out, units, symbol, Side::Ask, limit);
            out.push(b'}');
        }))
    }

    fn trades(&self) -> Answer {
        let (_, symbol) = self.symbol()?;
        let (limit, times, units) = (
            self.limit(500, 1_000)?,
            self.times(),
            Units::of(&symbol.instrument),
        );
        Ok(Response::written(|out| {
            out.push(b'[');
            let from = symbol.trades.len().saturating_sub(limit);
            for (index, trade) in symbol.trades.range(from..).enumerate() {
                let fill = &trade.fill;
                out.text(if index > 0 { "," } else { "" });
                out.text(r#"{"id":"#)
                    .number(fill.trade)
                    .text(r#","price":""#);
                units.price(out, fill.price).text(r#"","qty":""#);
                units.quantity(out, fill.quantity).text(r#"","quoteQty":""#);
                units.turnover(out, u128::from(fill.price) * u128::from(fill.quantity));
                out.text(r#"","time":"#).number(times.at(trade.matched_ns));
                out.text(r#","isBuyerMaker":"#)
                    .boolean(trade.side == Side::Ask)
                    .text(r#","isBestMatch":true}"#);
            }
            out.push(b']');
        }))
    }

    fn aggregates(&self) -> Answer {
        let (_, symbol) = self.symbol()?;
        let (limit, times, units) = (
            self.limit(500, 1_000)?,
            self.times(),
            Units::of(&symbol.instrument),
        );
        let trades: Vec<_> = symbol.trades.iter().copied().collect();
        let groups: Vec<_> = trades
            .chunk_by(|a, b| a.fill.aggregate == b.fill.aggregate)
            .collect();
        Ok(Response::written(|out| {
            out.push(b'[');
            for (index, group) in groups[groups.len().saturating_sub(limit)..]
                .iter()
                .enumerate()
            {
                let fills: Vec<Fill> = group.iter().map(|trade| trade.fill).collect();
                out.text(if index > 0 { ",{" } else { "{" });
                write_aggregate(
                    out,
                    times,
                    units,
                    &fills,
                    group[0].side,
                    group[0].matched_ns,
                );
                out.push(b'}');
            }
            out.push(b']');
        }))
    }

    fn klines(&self) -> Answer {
        let (_, symbol) = self.symbol()?;
        let interval =
            Interval::parse(&self.mandatory("interval")?).filter(|interval| !interval.east);
        let interval = interval.ok_or_else(|| failure(400, -1120, "Invalid interval."))?;
        let (limit, times, units) = (
            self.limit(500, 1_000)?,
            self.times(),
            Units::of(&symbol.instrument),
        );
        let opened_ns = self.market.clock().opened_unix_ns;
        let mut bounds = Vec::new();
        let mut at_ns = opened_ns + self.now_ns;
        while bounds.len() < limit && at_ns >= interval.bounds(opened_ns).0 {
            let (start, end) = interval.bounds(at_ns);
            bounds.push((start, end));
            let Some(before) = start.checked_sub(1) else {
                break;
            };
            at_ns = before;
        }
        Ok(Response::written(|out| {
            out.push(b'[');
            for (index, &(start, end)) in bounds.iter().rev().enumerate() {
                let candle = symbol.statistics.span(start, end);
                out.text(if index > 0 { ",[" } else { "[" })
                    .number(times.unix(start));
                for price in [candle.open, candle.high, candle.low, candle.close] {
                    out.text(",\"");
                    units.price(out, price).push(b'"');
                }
                out.text(",\"");
                units
                    .quantity(out, candle.volume)
                    .text("\",")
                    .number(times.unix(end) - 1)
                    .text(",\"");
                units
                    .turnover(out, candle.turnover)
                    .text("\",")
                    .number(candle.trades())
                    .text(",\"");
                units.quantity(out, candle.taker_buy_volume).text("\",\"");
                units
                    .turnover(out, candle.taker_buy_turnover)
                    .text("\",\"0\"]");
            }
            out.push(b']');
        }))
    }

    fn average(&self) -> Answer {
        let (_, symbol) = self.symbol()?;
        let minute_ns = 60 * SECOND_NS;
        let until_ns =
            (self.market.clock().opened_unix_ns + self.now_ns).next_multiple_of(minute_ns);
        let span = symbol
            .statistics
            .span(until_ns.saturating_sub(5 * minute_ns), until_ns);
        Ok(Response::written(|out| {
            out.text(r#"{"mins":5,"price":""#);
            write_mean(out, Units::of(&symbol.instrument), &span).text(r#"","closeTime":"#);
            out.number(self.times().at(symbol.last().matched_ns))
                .push(b'}');
        }))
    }

    fn write_book_ticker(&self, out: &mut Vec<u8>, name: &str, symbol: &Symbol) {
        let units = Units::of(&symbol.instrument);
        out.text(r#"{"symbol":""#).text(name).push(b'"');
        for (side, price_key, quantity_key) in [
            (Side::Bid, "bidPrice", "bidQty"),
            (Side::Ask, "askPrice", "askQty"),
        ] {
            let (price, quantity) = symbol.book.best(side).unwrap_or((0, 0));
            out.text(",\"").text(price_key).text("\":\"");
            units
                .price(out, price)
                .text("\",\"")
                .text(quantity_key)
                .text("\":\"");
            units.quantity(out, quantity).push(b'"');
        }
        out.push(b'}');
    }

    fn write_day(&self, out: &mut Vec<u8>, name: &str, symbol: &Symbol) {
        let units = Units::of(&symbol.instrument);
        let day = symbol.statistics.day();
        let (bid, ask) = (
            symbol.book.best(Side::Bid).unwrap_or((0, 0)),
            symbol.book.best(Side::Ask).unwrap_or((0, 0)),
        );
        out.text(r#"{"symbol":""#).text(name).text(r#"","#);
        write_change(out, units, &day, ["priceChange", "priceChangePercent"]);
        out.text(r#","weightedAvgPrice":""#);
        write_mean(out, units, &day).push(b'"');
        for (key, price) in [("prevClosePrice", day.open), ("lastPrice", day.close)] {
            out.text(",\"").text(key).text("\":\"");
            units.price(out, price).push(b'"');
        }
        out.text(r#","lastQty":""#);
        units
            .quantity(out, symbol.last().fill.quantity)
            .text(r#"","bidPrice":""#);
        units.price(out, bid.0).text(r#"","bidQty":""#);
        units.quantity(out, bid.1).text(r#"","askPrice":""#);
        units.price(out, ask.0).text(r#"","askQty":""#);
        units.quantity(out, ask.1).push(b'"');
        for (key, price) in [
            ("openPrice", day.open),
            ("highPrice", day.high),
            ("lowPrice", day.low),
        ] {
            out.text(",\"").text(key).text("\":\"");
            units.price(out, price).push(b'"');
        }
        let (times, closes_ns) = (self.times(), self.market.clock().unix_ns(self.now_ns));
        out.text(r#","volume":""#);
        units.quantity(out, day.volume).text(r#"","quoteVolume":""#);
        units.turnover(out, day.turnover).text(r#"","openTime":"#);
        out.number(times.unix(closes_ns.saturating_sub(DAY_NS)))
            .text(r#","closeTime":"#)
            .number(times.unix(closes_ns));
        out.text(r#","firstId":"#)
            .number(day.first_trade)
            .text(r#","lastId":"#)
            .number(day.last_trade);
        out.text(r#","count":"#).number(day.trades()).push(b'}');
    }

    fn exchange_info(&self, now: u64) -> Answer {
        let ids: Vec<SymbolId> = match (
            self.request.parameter("symbol"),
            self.request.parameter("symbols"),
        ) {
            (Some(name), _) => vec![self.lookup(&name)?],
            (None, Some(list)) => {
                let names: Vec<String> = serde_json::from_str(&list).map_err(|_| {
                    failure(
                        400,
                        -1100,
                        "Illegal characters found in parameter 'symbols'.",
                    )
                })?;
                names
                    .iter()
                    .map(|name| self.lookup(name))
                    .collect::<Result<_, _>>()?
            }
            (None, None) => self.market.ids().collect(),
        };
        Ok(Response::written(|out| {
            out.text(r#"{"timezone":"UTC","serverTime":"#)
                .number(now)
                .text(r#","rateLimits":["#);
            out.text(
                r#"{"rateLimitType":"REQUEST_WEIGHT","interval":"MINUTE","intervalNum":1,"limit":"#,
            );
            out.number(WEIGHT_PER_MINUTE.into()).text("},");
            out.text(r#"{"rateLimitType":"RAW_REQUESTS","interval":"MINUTE","intervalNum":5,"limit":300000}"#);
            out.text(r#"],"exchangeFilters":[],"symbols":["#);
            for (index, id) in ids.iter().enumerate() {
                out.text(if index > 0 { "," } else { "" });
                self.write_symbol_info(out, *id);
            }
            out.text("]}");
        }))
    }

    fn write_symbol_info(&self, out: &mut Vec<u8>, id: SymbolId) {
        let instrument = &self.market.symbol(id).instrument;
        let (base, quote) = (&instrument.base, instrument.quote_as("USDT"));
        let one = Units::of(instrument);
        out.text(r#"{"symbol":""#)
            .text(&self.names.upper[id.0 as usize])
            .text(r#"","status":"TRADING","baseAsset":""#);
        out.text(base)
            .text(r#"","baseAssetPrecision":8,"quoteAsset":""#)
            .text(quote);
        out.text(r#"","quotePrecision":8,"quoteAssetPrecision":8,"baseCommissionPrecision":8,"#);
        out.text(r#""quoteCommissionPrecision":8,"orderTypes":["LIMIT","LIMIT_MAKER","MARKET"],"icebergAllowed":true,"#);
        out.text(r#""ocoAllowed":false,"otoAllowed":false,"quoteOrderQtyMarketAllowed":true,"allowTrailingStop":false,"#);
        out.text(r#""cancelReplaceAllowed":false,"isSpotTradingAllowed":true,"isMarginTradingAllowed":false,"filters":["#);
        out.text(r#"{"filterType":"PRICE_FILTER","minPrice":""#);
        one.price(out, 1)
            .text(r#"","maxPrice":"1000000000.00000000","tickSize":""#);
        one.price(out, 1)
            .text(r#""},{"filterType":"LOT_SIZE","minQty":""#);
        one.quantity(out, 1)
            .text(r#"","maxQty":"1000000000.00000000","stepSize":""#);
        one.quantity(out, 1).text(
            r#""},{"filterType":"NOTIONAL","minNotional":"5.00000000","applyMinToMarket":true,"#,
        );
        out.text(
            r#""maxNotional":"9000000.00000000","applyMaxToMarket":false,"avgPriceMins":5}],"#,
        );
        out.text(r#""permissions":[],"permissionSets":[["SPOT"]],"defaultSelfTradePreventionMode":"EXPIRE_MAKER","#);
        out.text(r#""allowedSelfTradePreventionModes":["NONE","EXPIRE_TAKER","EXPIRE_MAKER","EXPIRE_BOTH"]}"#);
    }
}
