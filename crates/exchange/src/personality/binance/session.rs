//! One WebSocket connection: its subscriptions, its requests, its pings, its end.

use super::super::limits::Window;
use super::super::{percent_decoded, Incoming, Reply, Request, Response, StreamId};
use crate::encode::Encode;
use crate::time::{ExchangeClock, DAY_NS, MILLISECOND_NS, SECOND_NS};
use serde::Deserialize;
use serde_json::Value;

/// What the exchange demands of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionLimits {
    /// Messages a client may send per second, pings and pongs included; one more ends the connection.
    pub messages_per_s: u32,
    /// Streams a connection may listen to.
    pub streams: usize,
    /// Time between the server's pings.
    pub ping_every_ns: u64,
    /// Time within which a ping must be answered.
    pub pong_within_ns: u64,
    /// Age at which a connection is cut.
    pub age_ns: u64,
}

impl Default for SessionLimits {
    /// As documented.
    fn default() -> Self {
        Self {
            messages_per_s: 5,
            streams: 1_024,
            ping_every_ns: 20 * SECOND_NS,
            pong_within_ns: 60 * SECOND_NS,
            age_ns: DAY_NS,
        }
    }
}

/// A request; serde_json words its errors as the exchange does, which uses it, too.
#[derive(Deserialize)]
struct Command {
    method: Method,
    #[serde(default)]
    params: Vec<Value>,
    #[serde(default)]
    id: Value,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
enum Method {
    Subscribe,
    Unsubscribe,
    ListSubscriptions,
    SetProperty,
    GetProperty,
}

/// One connection.
#[derive(Debug)]
pub struct Session {
    limits: SessionLimits,
    combined: bool,
    microseconds: bool,
    /// As the client spelled them, in its order; unknown names are kept, as the exchange does.
    streams: Vec<String>,
    messages: Window,
    opened_ns: u64,
    next_ping_ns: u64,
    /// Payload and time of the oldest ping without its pong.
    unanswered: Option<(Vec<u8>, u64)>,
    ended: bool,
}

/// Number of a stream by its name, as a connection gets it that is combined or not and wants microseconds or not.
pub type Find<'a> = &'a dyn Fn(&str, bool, bool) -> Option<StreamId>;

impl Session {
    /// Any path below `/ws` and `/stream` is accepted, with names that exist or not: clients connect to `/ws/0`.
    pub(in super::super) fn open(
        find: Find<'_>,
        limits: SessionLimits,
        request: &Request<'_>,
        now_ns: u64,
        replies: &mut Vec<Reply>,
    ) -> Result<Self, Response> {
        let unit = request.parameter("timeUnit").unwrap_or_default();
        let (combined, names) = if let Some(names) = request.path.strip_prefix("/ws") {
            (false, percent_decoded(names))
        } else if request.path.trim_end_matches('/') == "/stream" {
            (true, request.parameter("streams").unwrap_or_default())
        } else {
            return Err(Response::new(
                404,
                "<html><body><h2>404 Not found</h2></body></html>",
            ));
        };
        let mut session = Self {
            limits,
            combined,
            microseconds: unit.eq_ignore_ascii_case("microsecond"),
            streams: Vec::new(),
            messages: Window::new(limits.messages_per_s, SECOND_NS),
            opened_ns: now_ns,
            next_ping_ns: now_ns + limits.ping_every_ns,
            unanswered: None,
            ended: false,
        };
        for name in names
            .split('/')
            .filter(|name| !name.is_empty())
            .take(limits.streams)
        {
            session.subscribe(find, name, replies);
        }
        Ok(session)
    }

    fn subscribe(&mut self, find: Find<'_>, name: &str, replies: &mut Vec<Reply>) {
        if self.streams.iter().any(|stream| stream == name) {
            return;
        }
        self.streams.push(name.to_owned());
        replies.extend(self.number(find, name).map(Reply::Subscribe));
    }

    fn unsubscribe(&mut self, find: Find<'_>, name: &str, replies: &mut Vec<Reply>) {
        self.streams.retain(|stream| stream != name);
        replies.extend(self.number(find, name).map(Reply::Unsubscribe));
    }

    fn number(&self, find: Find<'_>, name: &str) -> Option<StreamId> {
        find(name, self.combined, self.microseconds)
    }

    /// Takes what the client sent. After the end it says nothing more.
    pub(in super::super) fn on_message(
        &mut self,
        find: Find<'_>,
        incoming: Incoming<'_>,
        now_ns: u64,
        replies: &mut Vec<Reply>,
    ) {
        if self.ended {
            return;
        }
        if !self.messages.take(1, now_ns) {
            self.ended = true;
            replies.push(Reply::Close {
                code: 1008,
                reason: "Too many requests",
            });
            return;
        }
        match incoming {
            Incoming::Ping | Incoming::Bytes(_) => {}
            Incoming::Pong(payload) => {
                // One that was not asked for is allowed and does not count.
                if self
                    .unanswered
                    .as_ref()
                    .is_some_and(|(expected, _)| expected == payload)
                {
                    self.unanswered = None;
                }
            }
            Incoming::Text(text) | Incoming::Binary(text) => {
                let answer = self.command(find, text, replies);
                replies.push(Reply::Text(answer));
            }
        }
    }

    /// Carries a command out and returns its answer.
    fn command(&mut self, find: Find<'_>, text: &[u8], replies: &mut Vec<Reply>) -> Vec<u8> {
        let Command { method, params, id } = match serde_json::from_slice(text) {
            Ok(command) => command,
            Err(error) if error.is_data() => {
                return failure(2, &format!("Invalid request: {error}"), None)
            }
            Err(error) => return failure(3, &format!("Invalid JSON: {error}"), None),
        };
        if !is_id(&id) {
            return failure(
                2,
                "Invalid request: request ID must be an unsigned integer",
                None,
            );
        }
        match method {
            Method::Subscribe | Method::Unsubscribe => {
                let Some(names) = params
                    .iter()
                    .map(Value::as_str)
                    .collect::<Option<Vec<&str>>>()
                else {
                    return failure(
                        2,
                        "Invalid request: stream name must be a string",
                        Some(&id),
                    );
                };
                if matches!(method, Method::Unsubscribe) {
                    names
                        .iter()
                        .for_each(|name| self.unsubscribe(find, name, replies));
                    return result(&Value::Null, &id);
                }
                let more = names
                    .iter()
                    .filter(|name| !self.streams.iter().any(|stream| stream == *name))
                    .count();
                if self.streams.len() + more > self.limits.streams {
                    return failure(2, "Invalid request: too many subscriptions", Some(&id));
                }
                names
                    .iter()
                    .for_each(|name| self.subscribe(find, name, replies));
                result(&Value::Null, &id)
            }
            Method::ListSubscriptions => result(&Value::from(self.streams.clone()), &id),
            Method::GetProperty => match params.as_slice() {
                [Value::String(name)] if name == "combined" => {
                    result(&Value::Bool(self.combined), &id)
                }
                [Value::String(_)] => failure(0, "Unknown property", Some(&id)),
                [_] | [] => failure(
                    2,
                    "Invalid request: property name must be a string",
                    Some(&id),
                ),
                [_, ..] => failure(2, "Invalid request: too many parameters", Some(&id)),
            },
            Method::SetProperty => match params.as_slice() {
                [Value::String(name), Value::Bool(combined)] if name == "combined" => {
                    self.set_combined(find, *combined, replies);
                    result(&Value::Null, &id)
                }
                [Value::String(name), _] if name == "combined" => {
                    failure(1, "Invalid value type: expected Boolean", Some(&id))
                }
                [Value::String(_), _] => failure(0, "Unknown property", Some(&id)),
                [_, _, _, ..] => failure(2, "Invalid request: too many parameters", Some(&id)),
                [Value::String(_)] => failure(1, "Invalid value type: expected Boolean", Some(&id)),
                _ => failure(
                    2,
                    "Invalid request: property name must be a string",
                    Some(&id),
                ),
            },
        }
    }

    fn set_combined(&mut self, find: Find<'_>, combined: bool, replies: &mut Vec<Reply>) {
        let numbers = |session: &Self| -> Vec<StreamId> {
            let names = session.streams.iter();
            names
                .filter_map(|name| session.number(find, name))
                .collect()
        };
        replies.extend(numbers(self).into_iter().map(Reply::Unsubscribe));
        self.combined = combined;
        replies.extend(numbers(self).into_iter().map(Reply::Subscribe));
    }

    fn pong_due_ns(&self) -> u64 {
        self.unanswered.as_ref().map_or(u64::MAX, |(_, sent_ns)| {
            sent_ns + self.limits.pong_within_ns
        })
    }

    /// The next ping, the last moment for a pong, or the connection's old age.
    pub(in super::super) fn deadline_ns(&self) -> u64 {
        if self.ended {
            return u64::MAX;
        }
        self.next_ping_ns
            .min(self.pong_due_ns())
            .min(self.opened_ns.saturating_add(self.limits.age_ns))
    }

    /// Pings, or ends the connection.
    pub(in super::super) fn on_deadline(
        &mut self,
        clock: &ExchangeClock,
        now_ns: u64,
        replies: &mut Vec<Reply>,
    ) {
        let now_ms = clock.unix_ns(now_ns) / MILLISECOND_NS;
        if now_ns >= self.opened_ns.saturating_add(self.limits.age_ns) {
            self.ended = true;
            replies.push(Reply::text(|out| {
                let stream = r#"{"stream":"!serverShutdown","data":"#;
                out.text(if self.combined { stream } else { "" });
                out.text(r#"{"e":"serverShutdown","E":"#).number(now_ms);
                out.text(if self.combined { "}}" } else { "}" });
            }));
            replies.push(Reply::Close {
                code: 1001,
                reason: "",
            });
        } else if now_ns >= self.pong_due_ns() {
            self.ended = true;
            replies.push(Reply::Close {
                code: 1008,
                reason: "Pong timeout",
            });
        } else if now_ns >= self.next_ping_ns {
            self.next_ping_ns = now_ns + self.limits.ping_every_ns;
            let payload = now_ms.to_string().into_bytes();
            if self.unanswered.is_none() {
                self.unanswered = Some((payload.clone(), now_ns));
            }
            replies.push(Reply::Ping(payload));
        }
    }
}

/// An int64, a text of at most 36 letters and digits, or nothing.
fn is_id(id: &Value) -> bool {
    match id {
        Value::Null => true,
        Value::Number(number) => number.is_i64() || number.is_u64(),
        // Clients send UUIDs, whose hyphens the exchange's page does not mention.
        Value::String(text) => {
            text.len() <= 36 && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
        }
        _ => false,
    }
}

fn result(result: &Value, id: &Value) -> Vec<u8> {
    format!(r#"{{"result":{result},"id":{id}}}"#).into_bytes()
}

fn failure(code: u8, message: &str, id: Option<&Value>) -> Vec<u8> {
    let message = Value::from(message);
    match id {
        Some(id) => format!(r#"{{"code":{code},"msg":{message},"id":{id}}}"#),
        None => format!(r#"{{"code":{code},"msg":{message}}}"#),
    }
    .into_bytes()
}
