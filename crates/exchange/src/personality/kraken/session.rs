//! One connection of v2: requests, acknowledgements one by one, heartbeats in silence.

use super::super::names::Names;
use super::super::Reply;
use super::feed::{write_book_snapshot, write_instruments, write_ohlc, write_ticker, write_trades};
use super::{Channel, DEPTHS, INTERVALS};
use crate::encode::Encode;
use crate::market::{Market, SymbolId};
use crate::time::{write_rfc3339, SECOND_NS};
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
struct Command {
    method: String,
    #[serde(default)]
    params: Params,
    req_id: Option<i64>,
}

#[derive(Default, Deserialize)]
struct Params {
    #[serde(default)]
    channel: String,
    #[serde(default)]
    symbol: Vec<String>,
    event_trigger: Option<String>,
    depth: Option<u64>,
    interval: Option<u64>,
    snapshot: Option<bool>,
}

/// One connection.
#[derive(Debug)]
pub struct Session {
    subscribed: Vec<(Channel, SymbolId)>,
    last_sent_ns: u64,
}

impl Session {
    /// Greets with the status of the system.
    pub(super) fn open(connection: u64, replies: &mut Vec<Reply>) -> Self {
        replies.push(Reply::text(|out| {
            out.text(r#"{"channel":"status","type":"update","data":[{"version":"2.0.10","system":"online","#);
            out.text(r#""api_version":"v2","connection_id":"#).number(9_000_000_000_000_000_000 + connection).text("}]}");
        }));
        Self {
            subscribed: Vec::new(),
            last_sent_ns: 0,
        }
    }

    /// Something was sent, so that no heartbeat is due for a second.
    pub(super) fn was_sent(&mut self, now_ns: u64) {
        self.last_sent_ns = now_ns;
    }

    /// Heartbeats come only after a subscription, and only in silence.
    pub(super) fn deadline_ns(&self) -> u64 {
        match self.subscribed.is_empty() {
            true => u64::MAX,
            false => self.last_sent_ns + SECOND_NS,
        }
    }

    pub(super) fn on_deadline(&mut self, now_ns: u64, replies: &mut Vec<Reply>) {
        replies.push(Reply::Text(br#"{"channel":"heartbeat"}"#.to_vec()));
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
        let mut time = Vec::new();
        write_rfc3339(&mut time, market.clock().unix_ns(now_ns), 6);
        let time = String::from_utf8(time).expect("digits");
        let command: Command = match serde_json::from_slice(text) {
            Ok(command) => command,
            Err(error) if error.is_data() => {
                // The number of the request, where it can be made out, lets the client know which one it was.
                let request: Value = serde_json::from_slice(text).unwrap_or_default();
                let answer = Answer {
                    method: request["method"].as_str(),
                    request: request["req_id"].as_i64(),
                    time: &time,
                };
                return replies.push(answer.failure("Malformed request", None));
            }
            Err(_) => {
                let answer = Answer {
                    method: None,
                    request: None,
                    time: &time,
                };
                return replies.push(answer.failure("Malformed request", None));
            }
        };
        let answer = Answer {
            method: Some(&command.method),
            request: command.req_id,
            time: &time,
        };
        match command.method.as_str() {
            "ping" => replies.push(answer.pong()),
            "subscribe" => self.subscribe(names, market, &command.params, &answer, now_ns, replies),
            "unsubscribe" => self.unsubscribe(names, &command.params, &answer, replies),
            _ => replies.push(answer.failure("Unsupported method", None)),
        }
    }

    fn subscribe(
        &mut self,
        names: &Names,
        market: &Market,
        params: &Params,
        answer: &Answer<'_>,
        now_ns: u64,
        replies: &mut Vec<Reply>,
    ) {
        let channel = match resolve(params) {
            Ok(channel) => channel,
            Err(error) => return replies.push(answer.failure(error, None)),
        };
        if channel == Channel::Instrument {
            let first = SymbolId(0);
            replies.push(answer.success(channel, params, None));
            if !self.subscribed.contains(&(channel, first)) {
                self.subscribed.push((channel, first));
                replies.push(Reply::Subscribe(channel.stream(first)));
                replies.push(Reply::text(|out| write_instruments(out, names, market)));
            }
            return;
        }
        if params.symbol.is_empty() {
            return replies.push(answer.failure("Symbol(s) not found", None));
        }
        for name in &params.symbol {
            let Some(id) = names.find(name) else {
                replies.push(
                    answer.failure(&format!("Currency pair not supported {name}"), Some(name)),
                );
                continue;
            };
            if self.subscribed.contains(&(channel, id)) {
                replies.push(answer.failure("Already subscribed", Some(name)));
                continue;
            }
            self.subscribed.push((channel, id));
            replies.push(answer.success(channel, params, Some(name)));
            replies.push(Reply::Subscribe(channel.stream(id)));
            // Trades have a snapshot only if it is asked for.
            if params.snapshot.unwrap_or(channel != Channel::Trade) {
                let (symbol, clock) = (market.symbol(id), market.clock());
                replies.push(Reply::text(|out| match channel {
                    Channel::Book(index) => write_book_snapshot(out, name, symbol, DEPTHS[index]),
                    Channel::Trade => {
                        let from = symbol.trades.len().saturating_sub(50);
                        write_trades(
                            out,
                            clock,
                            name,
                            symbol,
                            "snapshot",
                            symbol.trades.range(from..).copied(),
                        );
                    }
                    Channel::Ohlc(index) => write_ohlc(
                        out,
                        clock,
                        name,
                        symbol,
                        INTERVALS[index],
                        now_ns,
                        "snapshot",
                    ),
                    _ => write_ticker(out, name, symbol, "snapshot"),
                }));
            }
        }
    }

    fn unsubscribe(
        &mut self,
        names: &Names,
        params: &Params,
        answer: &Answer<'_>,
        replies: &mut Vec<Reply>,
    ) {
        let channel = match resolve(params) {
            Ok(channel) => channel,
            Err(error) => return replies.push(answer.failure(error, None)),
        };
        let all: Vec<Option<&String>> = match channel {
            Channel::Instrument => vec![None],
            _ => params.symbol.iter().map(Some).collect(),
        };
        for name in all {
            let id = name.map_or(Some(SymbolId(0)), |name| names.find(name));
            let Some(at) = self
                .subscribed
                .iter()
                .position(|known| Some(*known) == id.map(|id| (channel, id)))
            else {
                replies.push(answer.failure("Subscription Not Found", name.map(String::as_str)));
                continue;
            };
            let (_, id) = self.subscribed.remove(at);
            replies.push(Reply::Unsubscribe(channel.stream(id)));
            replies.push(answer.success(channel, params, name.map(String::as_str)));
        }
    }
}

fn resolve(params: &Params) -> Result<Channel, &'static str> {
    match params.channel.as_str() {
        "ticker" => match params.event_trigger.as_deref() {
            None | Some("trades") => Ok(Channel::TickerOnTrades),
            Some("bbo") => Ok(Channel::TickerOnBest),
            Some(_) => Err("Event trigger not supported"),
        },
        "book" => {
            let depth = params.depth.unwrap_or(10);
            let index = DEPTHS.iter().position(|known| *known as u64 == depth);
            index
                .map(Channel::Book)
                .ok_or("Subscription depth not supported")
        }
        "trade" => Ok(Channel::Trade),
        "ohlc" => {
            let interval = params.interval.unwrap_or(1);
            let index = INTERVALS.iter().position(|known| *known == interval);
            index
                .map(Channel::Ohlc)
                .ok_or("Subscription ohlc interval not supported")
        }
        "instrument" => Ok(Channel::Instrument),
        _ => Err("Subscription channel not supported"),
    }
}

/// What every answer repeats of its request.
struct Answer<'a> {
    method: Option<&'a str>,
    request: Option<i64>,
    time: &'a str,
}

impl Answer<'_> {
    /// `time_in` and `time_out` let a client tell network from server; here the server takes no time.
    fn write_end(&self, out: &mut Vec<u8>) {
        out.text(r#","time_in":""#)
            .text(self.time)
            .text(r#"","time_out":""#)
            .text(self.time)
            .push(b'"');
        if let Some(request) = self.request {
            out.text(r#","req_id":"#).text(&request.to_string());
        }
        out.push(b'}');
    }

    fn failure(&self, error: &str, symbol: Option<&str>) -> Reply {
        Reply::text(|out| {
            out.text(r#"{"error":"#).quoted(error);
            if let Some(method) = self.method {
                out.text(r#","method":"#).quoted(method);
            }
            out.text(r#","success":false"#);
            if let Some(symbol) = symbol {
                out.text(r#","symbol":"#).quoted(symbol);
            }
            self.write_end(out);
        })
    }

    fn success(&self, channel: Channel, params: &Params, symbol: Option<&str>) -> Reply {
        Reply::text(|out| {
            out.text(r#"{"method":"#)
                .quoted(self.method.unwrap_or_default());
            out.text(r#","result":{"channel":""#)
                .text(channel.name())
                .push(b'"');
            match channel {
                Channel::Book(index) => _ = out.text(r#","depth":"#).number(DEPTHS[index] as u64),
                Channel::Ohlc(index) => _ = out.text(r#","interval":"#).number(INTERVALS[index]),
                Channel::TickerOnTrades => _ = out.text(r#","event_trigger":"trades""#),
                Channel::TickerOnBest => _ = out.text(r#","event_trigger":"bbo""#),
                Channel::Trade | Channel::Instrument => {}
            }
            if self.method == Some("subscribe") {
                out.text(r#","snapshot":"#)
                    .boolean(params.snapshot.unwrap_or(channel != Channel::Trade));
            }
            if let Some(symbol) = symbol {
                out.text(r#","symbol":"#).quoted(symbol);
            }
            out.text(r#"},"success":true"#);
            self.write_end(out);
        })
    }

    fn pong(&self) -> Reply {
        Reply::text(|out| {
            out.text(r#"{"method":"pong""#);
            // The request's number stands before the times here.
            if let Some(request) = self.request {
                out.text(r#","req_id":"#).text(&request.to_string());
            }
            Answer {
                request: None,
                ..*self
            }
            .write_end(out);
        })
    }
}
