//! An exchange that sends a recording to anybody who connects.
//!
//! Any path gets every message as it was recorded. A recording of combined streams as Binance sends them is served as
//! that exchange serves its own, too: `/stream` with the streams that were asked for, `/ws` without their wrapping,
//! by path and by SUBSCRIBE, and over REST the book as it stands where the replay has come to, which clients want
//! before they apply its updates.

use super::depth::Depth;
use super::message::{Levels, Message};
use super::{Direction, Due, Entry, Pace, Schedule};
use crate::encode::Encode;
use crate::hub::Subscriptions;
use crate::market::{Event, Market};
use crate::personality::{
    percent_decoded, Frames, Incoming, Personality, Reply, Request, Response, StreamId,
};
use serde::Deserialize;
use serde_json::Value;

/// The stream of everything, as it was recorded.
const EVERYTHING: StreamId = StreamId(0);
/// What a depth request gets if it does not say how many levels, and at most.
const USUAL_LEVELS: usize = 100;
const MOST_LEVELS: usize = 5_000;
/// Quotes of the exchange whose recordings have symbols, the longer first.
const QUOTES: [&str; 8] = ["FDUSD", "USDT", "USDC", "TUSD", "BTC", "ETH", "EUR", "BNB"];

/// Why a recording cannot be replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// There is nothing to send.
    #[error("the recording has no message that the exchange sent")]
    Empty,
    /// A speed that gets nowhere.
    #[error("a replay's speed must be above zero and finite")]
    Speed,
}

/// One recording on its way.
pub struct Replay {
    messages: Vec<Message>,
    /// Names of the wrapped streams.
    names: Vec<String>,
    /// For each message the place of its stream's name.
    streams: Vec<Option<u32>>,
    symbols: Vec<String>,
    schedule: Schedule,
    next: Option<Due>,
    paced: bool,
    /// The book before the first message, if anything is known of it.
    base: Depth,
    depth: Depth,
    /// Messages of this round that the book has in it.
    applied: usize,
    round: u64,
}

impl Replay {
    /// Over a recording's lines, at a pace, so many times over (`None`: without end).
    pub fn new(
        entries: impl IntoIterator<Item = Entry>,
        pace: Pace,
        rounds: Option<u64>,
    ) -> Result<Self, ReplayError> {
        if matches!(pace, Pace::Speed(speed) if !(speed.is_finite() && speed > 0.0)) {
            return Err(ReplayError::Speed);
        }
        let (mut messages, mut times, mut snapshot) = (Vec::new(), Vec::new(), None);
        for entry in entries {
            if entry.direction != Direction::Received {
                continue;
            }
            match Message::snapshot(&entry.frame) {
                // A REST answer that the recorder noted down; the first is the base of all updates.
                Some(levels) => snapshot = snapshot.or(Some(levels)),
                None => {
                    messages.push(Message::of(entry.frame));
                    times.push(entry.unix_ns);
                }
            }
        }
        let (names, streams) = number(messages.iter().map(|message| {
            let (name, _) = message.wrapped.as_ref()?;
            Some(name)
        }));
        let (symbols, _) = number(messages.iter().map(|message| message.symbol.as_ref()));
        let base = base(snapshot.as_ref(), &messages);
        let mut schedule = Schedule::new(times, pace).rounds(rounds);
        let next = schedule.next().ok_or(ReplayError::Empty)?;
        Ok(Self {
            names,
            streams,
            symbols,
            schedule,
            next: Some(next),
            paced: pace != Pace::Unpaced,
            depth: base.clone(),
            base,
            applied: 0,
            round: 0,
            messages,
        })
    }

    /// Takes into the book what was sent. Called before a message is made, never between its making and its sending.
    fn catch_up(&mut self) {
        let Some(due) = self.next else {
            return self.apply_until(self.messages.len());
        };
        if due.round != self.round {
            self.depth.clone_from(&self.base);
            (self.applied, self.round) = (0, due.round);
        }
        self.apply_until(due.index);
    }

    fn apply_until(&mut self, end: usize) {
        for message in &self.messages[self.applied..end] {
            if let Some(levels) = &message.levels {
                self.depth.apply(levels);
            }
        }
        self.applied = end;
    }

    /// Number of a wrapped stream, as `/stream` or as `/ws` carries it.
    fn stream(&self, name: &str, combined: bool) -> Option<StreamId> {
        let index = self.names.iter().position(|known| known == name)?;
        Some(wrapped_stream(index as u32, combined))
    }

    fn depth_answer(&mut self, request: &Request<'_>) -> Response {
        let symbol = request.parameter("symbol").unwrap_or_default();
        if !self.symbols.contains(&symbol) {
            return Response::new(400, r#"{"code":-1121,"msg":"Invalid symbol."}"#);
        }
        let limit = request.parameter("limit");
        let limit = limit.map_or(Some(USUAL_LEVELS), |text| text.parse().ok());
        let Some(limit) = limit else {
            let refusal = r#"{"code":-1100,"msg":"Illegal characters found in parameter 'limit'; legal range is '^[0-9]{1,20}$'."}"#;
            return Response::new(400, refusal);
        };
        self.catch_up();
        Response::written(|out| self.depth.write(limit.min(MOST_LEVELS), out))
    }

    fn write_exchange_info(&self, unix_ms: u64, out: &mut Vec<u8>) {
        out.text(r#"{"timezone":"UTC","serverTime":"#)
            .number(unix_ms)
            .text(r#","rateLimits":[],"exchangeFilters":[],"symbols":["#);
        for (index, symbol) in self.symbols.iter().enumerate() {
            let quote = QUOTES.iter().find(|quote| symbol.ends_with(*quote));
            let (base, quote) =
                symbol.split_at(symbol.len() - quote.map_or(0, |quote| quote.len()));
            out.text(if index > 0 { "," } else { "" })
                .text(r#"{"symbol":"#)
                .quoted(symbol)
                .text(r#","status":"TRADING","baseAsset":"#)
                .quoted(base)
                .text(r#","baseAssetPrecision":8,"quoteAsset":"#)
                .quoted(quote)
                .text(r#","quotePrecision":8,"quoteAssetPrecision":8,"orderTypes":["LIMIT","MARKET"],"#)
                .text(r#""icebergAllowed":false,"ocoAllowed":false,"isSpotTradingAllowed":true,"#)
                .text(r#""isMarginTradingAllowed":false,"filters":["#)
                // Nothing in a recording tells the steps; these are the finest that its numbers can be written in.
                .text(r#"{"filterType":"PRICE_FILTER","minPrice":"0.00000001","maxPrice":"100000000.00000000","tickSize":"0.00000001"},"#)
                .text(r#"{"filterType":"LOT_SIZE","minQty":"0.00000001","maxQty":"100000000.00000000","stepSize":"0.00000001"}"#)
                .text(r#"],"permissions":["SPOT"],"permissionSets":[["SPOT"]]}"#);
        }
        out.text("]}");
    }
}

fn wrapped_stream(index: u32, combined: bool) -> StreamId {
    StreamId(1 + 2 * index + u32::from(combined))
}

/// Distinct names in the order of their first appearance, and the place of each.
fn number<'a>(names: impl Iterator<Item = Option<&'a String>>) -> (Vec<String>, Vec<Option<u32>>) {
    let mut known: Vec<String> = Vec::new();
    let places = names
        .map(|name| {
            let name = name?;
            let place = known.iter().position(|other| other == name);
            Some(place.unwrap_or_else(|| {
                known.push(name.clone());
                known.len() - 1
            }) as u32)
        })
        .collect();
    (known, places)
}

/// The recorded book, or none, with the number that the first update follows.
fn base(snapshot: Option<&Levels>, messages: &[Message]) -> Depth {
    match snapshot {
        Some(levels) => Depth::of(levels),
        None => {
            let first = messages.iter().find(|message| message.levels.is_some());
            Depth::empty(first.map_or(0, |message| first_update_id(message) - 1))
        }
    }
}

fn first_update_id(message: &Message) -> u64 {
    #[derive(Deserialize)]
    struct First {
        #[serde(rename = "U")]
        first: u64,
    }
    let data = message
        .wrapped
        .as_ref()
        .map_or("", |(_, data)| &message.frame[data.clone()]);
    serde_json::from_str(data)
        .map_or(message.sequence, |found: First| found.first)
        .max(1)
}

/// A request as Binance takes it.
#[derive(Deserialize)]
struct Command {
    method: String,
    #[serde(default)]
    params: Vec<String>,
    #[serde(default)]
    id: Value,
}

/// One connection.
#[derive(Clone, Debug)]
pub struct Session {
    /// Whether it gets wrapped messages; `None` if it gets everything as it was recorded.
    combined: Option<bool>,
    /// What it asked for.
    streams: Vec<String>,
}

impl Personality for Replay {
    type Session = Session;

    fn name(&self) -> &'static str {
        "replay"
    }

    fn open(
        &mut self,
        _market: &Market,
        request: &Request<'_>,
        _now_ns: u64,
        replies: &mut Vec<Reply>,
    ) -> Result<Session, Response> {
        let asked = if let Some(names) = request.path.strip_prefix("/ws") {
            Some((false, percent_decoded(names)))
        } else if request.path.trim_end_matches('/') == "/stream" {
            Some((true, request.parameter("streams").unwrap_or_default()))
        } else {
            None
        };
        let Some((combined, names)) = asked.filter(|_| !self.names.is_empty()) else {
            replies.push(Reply::Subscribe(EVERYTHING));
            return Ok(Session {
                combined: None,
                streams: Vec::new(),
            });
        };
        let names = names.split('/').filter(|name| !name.is_empty());
        let streams: Vec<String> = names.map(str::to_owned).collect();
        let known = streams
            .iter()
            .filter_map(|name| self.stream(name, combined));
        replies.extend(known.map(Reply::Subscribe));
        Ok(Session {
            combined: Some(combined),
            streams,
        })
    }

    fn on_message(
        &mut self,
        _market: &Market,
        session: &mut Session,
        incoming: Incoming<'_>,
        _now_ns: u64,
        replies: &mut Vec<Reply>,
    ) {
        let (Incoming::Text(text), Some(combined)) = (incoming, session.combined) else {
            return;
        };
        let answer = match serde_json::from_slice::<Command>(text) {
            Err(error) => {
                let text = Value::from(format!("Invalid request: {error}"));
                format!(r#"{{"code":2,"msg":{text}}}"#)
            }
            Ok(command) => {
                for name in &command.params {
                    let stream = self.stream(name, combined);
                    session.streams.retain(|known| known != name);
                    if command.method == "SUBSCRIBE" {
                        session.streams.push(name.clone());
                        replies.extend(stream.map(Reply::Subscribe));
                    } else if command.method == "UNSUBSCRIBE" {
                        replies.extend(stream.map(Reply::Unsubscribe));
                    }
                }
                let result = match command.method.as_str() {
                    "LIST_SUBSCRIPTIONS" => Value::from(session.streams.clone()),
                    _ => Value::Null,
                };
                format!(r#"{{"result":{result},"id":{}}}"#, command.id)
            }
        };
        replies.push(Reply::Text(answer.into_bytes()));
    }

    fn on_event(
        &mut self,
        _market: &Market,
        _event: &Event,
        _wanted: &Subscriptions,
        _frames: &mut Frames,
    ) {
    }

    fn tick_ns(&self) -> u64 {
        self.next.map_or(u64::MAX, |due| due.due_ns)
    }

    fn on_tick(&mut self, _market: &Market, wanted: &Subscriptions, frames: &mut Frames) {
        self.catch_up();
        let Some(due) = self.next else { return };
        self.next = self.schedule.next();
        let message = &self.messages[due.index];
        let mut add = |stream: StreamId, text: &str| {
            if wanted.wants(stream) {
                frames.add(stream, message.sequence, due.due_ns, |out| {
                    out.extend_from_slice(text.as_bytes());
                });
            }
        };
        add(EVERYTHING, &message.frame);
        if let (Some(index), Some((_, data))) = (self.streams[due.index], &message.wrapped) {
            add(wrapped_stream(index, true), &message.frame);
            add(wrapped_stream(index, false), &message.frame[data.clone()]);
        }
    }

    fn stream_name(&self, stream: StreamId) -> String {
        match stream.0.checked_sub(1) {
            None => "everything".to_owned(),
            Some(number) => self.names[number as usize / 2].clone(),
        }
    }

    fn is_over(&self) -> bool {
        self.next.is_none()
    }

    fn is_paced(&self) -> bool {
        self.paced
    }

    fn rest(&mut self, market: &Market, request: &Request<'_>, now_ns: u64) -> Response {
        let unix_ms = market.clock().unix_ms(now_ns);
        match request.path {
            "/api/v3/ping" => Response::new(200, "{}"),
            "/api/v3/time" => Response::written(|out| {
                out.text(r#"{"serverTime":"#).number(unix_ms).text("}");
            }),
            "/api/v3/exchangeInfo" if !self.symbols.is_empty() => {
                Response::written(|out| self.write_exchange_info(unix_ms, out))
            }
            "/api/v3/depth" if !self.symbols.is_empty() => self.depth_answer(request),
            _ => Response::new(404, r#"{"message":"the recording has no answer to this"}"#),
        }
    }
}
