//! One WebSocket connection: its requests and its subscriptions.

use super::super::names::Names;
use super::super::{Reply, Request};
use super::message::{write_book, write_depth};
use super::stream::{Kind, Stream};
use crate::encode::Encode;
use crate::market::{Market, Side};
use crate::time::MILLISECOND_NS;
use serde::Deserialize;
use serde_json::Value;

/// Levels that the method `depth` tells where none are asked for, and at most.
const DEPTH_LEVELS: [usize; 2] = [100, 5_000];

#[derive(Deserialize)]
struct Command {
    #[serde(default)]
    id: Value,
    method: String,
    #[serde(default)]
    params: Value,
}

#[derive(Deserialize)]
struct Depth {
    symbol: String,
    limit: Option<usize>,
}

/// Why a request failed, as the exchange numbers it.
#[derive(Clone, Copy)]
enum Failure {
    /// Account streams and orders want a key.
    NoKey,
    Parameters,
    Method,
}

impl Failure {
    fn parts(self) -> (u64, &'static str, &'static str) {
        match self {
            Self::NoKey => (401, "-1002", "Authentication required"),
            Self::Parameters => (400, "-1013", "Invalid parameters"),
            Self::Method => (400, "-1020", "Unsupported operation"),
        }
    }
}

/// One connection.
#[derive(Debug)]
pub struct Session {
    /// In the order of subscription.
    subscribed: Vec<Stream>,
    /// Levels of each side in a book's first message; `None` for no such message.
    snapshot_levels: Option<usize>,
}

impl Session {
    pub(super) fn new(request: &Request<'_>) -> Self {
        let asked = request
            .parameter("snapshot")
            .and_then(|levels| levels.parse::<i64>().ok());
        Self {
            subscribed: Vec::new(),
            snapshot_levels: match asked {
                None | Some(0) => None,
                Some(levels) => Some(usize::try_from(levels).unwrap_or(usize::MAX)),
            },
        }
    }

    pub(super) fn on_message(
        &mut self,
        names: &Names,
        market: &Market,
        text: &[u8],
        now_ns: u64,
        replies: &mut Vec<Reply>,
    ) {
        let Ok(Command { id, method, params }) = serde_json::from_slice(text) else {
            return replies.push(failed(&Value::Null, Failure::Parameters));
        };
        if !(id.is_string() || id.is_i64() || id.is_u64()) {
            return replies.push(failed(&Value::Null, Failure::Parameters));
        }
        // The documents spell these in small letters for one product and in capitals for the other.
        let outcome = match method.as_str() {
            "subscribe" | "SUBSCRIBE" => {
                return self.subscribe(names, market, &id, &params, now_ns, replies)
            }
            "unsubscribe" | "UNSUBSCRIBE" => {
                self.unsubscribe(names, &params, replies).map(|()| None)
            }
            "list_subscriptions" | "LIST_SUBSCRIPTIONS" => Ok(Some(self.list(names))),
            "depth" => depth(names, market, &params).map(Some),
            "time" => {
                let unix_ms = market.clock().unix_ns(now_ns) / MILLISECOND_NS;
                Ok(Some(format!(r#"{{"serverTime":{unix_ms}}}"#).into_bytes()))
            }
            "ping" | "conninfo" => Ok(Some(b"{}".to_vec())),
            other if other.starts_with("order.") || other.starts_with("rfq.") => {
                Err(Failure::NoKey)
            }
            _ => Err(Failure::Method),
        };
        replies.push(match outcome {
            Ok(result) => done(&id, result.as_deref()),
            Err(failure) => failed(&id, failure),
        });
    }

    /// The answer, then each book's snapshot, then the streams.
    fn subscribe(
        &mut self,
        names: &Names,
        market: &Market,
        id: &Value,
        params: &Value,
        now_ns: u64,
        replies: &mut Vec<Reply>,
    ) {
        let streams = match streams(names, params) {
            Ok(streams) => streams,
            Err(failure) => return replies.push(failed(id, failure)),
        };
        replies.push(done(id, None));
        for stream in streams {
            if self.subscribed.contains(&stream) {
                continue;
            }
            self.subscribed.push(stream);
            if let (Kind::Depth { .. }, Some(levels)) = (stream.kind, self.snapshot_levels) {
                replies.push(snapshot(names, market, stream, levels, now_ns));
            }
            replies.push(Reply::Subscribe(stream.id()));
        }
    }

    fn unsubscribe(
        &mut self,
        names: &Names,
        params: &Value,
        replies: &mut Vec<Reply>,
    ) -> Result<(), Failure> {
        for stream in streams(names, params)? {
            self.subscribed.retain(|known| *known != stream);
            replies.push(Reply::Unsubscribe(stream.id()));
        }
        Ok(())
    }

    fn list(&self, names: &Names) -> Vec<u8> {
        let subscribed = self.subscribed.iter().map(|stream| stream.name(names));
        Value::from_iter(subscribed).to_string().into_bytes()
    }
}

/// All streams that are named, or none.
fn streams(names: &Names, params: &Value) -> Result<Vec<Stream>, Failure> {
    let list = params.as_array().ok_or(Failure::Parameters)?;
    let stream = |name: &Value| {
        let name = name.as_str().ok_or(Failure::Parameters)?;
        match name.split_once('@') {
            Some(("orders" | "balances" | "positions", _)) => Err(Failure::NoKey),
            _ => Stream::parse(name, names).ok_or(Failure::Parameters),
        }
    };
    list.iter().map(stream).collect()
}

fn depth(names: &Names, market: &Market, params: &Value) -> Result<Vec<u8>, Failure> {
    let Depth { symbol, limit } = Depth::deserialize(params).map_err(|_| Failure::Parameters)?;
    let id = names.find(&symbol).ok_or(Failure::Parameters)?;
    let [usual, most] = DEPTH_LEVELS;
    let limit = limit.unwrap_or(usual);
    if !(1..=most).contains(&limit) {
        return Err(Failure::Parameters);
    }
    let mut book = Vec::new();
    write_book(&mut book, market.symbol(id), limit);
    Ok(book)
}

/// A book as one update from nothing.
fn snapshot(names: &Names, market: &Market, stream: Stream, levels: usize, now_ns: u64) -> Reply {
    let symbol = market.symbol(stream.symbol);
    let prices = |side: Side| {
        symbol
            .book
            .levels(side)
            .take(levels)
            .map(|(price, _)| price)
    };
    Reply::text(|out| {
        let unix_ns = market.clock().unix_ns(now_ns);
        let name = names.of(stream.symbol);
        let (bids, asks) = (prices(Side::Bid), prices(Side::Ask));
        write_depth(out, name, symbol, unix_ns, 1, bids, asks);
    })
}

fn done(id: &Value, result: Option<&[u8]>) -> Reply {
    Reply::text(|out| {
        out.text(r#"{"id":"#)
            .text(&id.to_string())
            .text(r#","status":200"#);
        if let Some(result) = result {
            out.text(r#","result":"#).extend_from_slice(result);
        }
        out.push(b'}');
    })
}

fn failed(id: &Value, failure: Failure) -> Reply {
    let (status, code, message) = failure.parts();
    Reply::text(|out| {
        out.text(r#"{"id":"#)
            .text(&id.to_string())
            .text(r#","status":"#)
            .number(status)
            .text(r#","error":{"code":"#)
            .text(code)
            .text(r#","msg":"#)
            .quoted(message)
            .text("}}");
    })
}
