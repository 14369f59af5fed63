//! One connection: what it subscribed to, and its answers.

use super::super::names::Names;
use super::super::Reply;
use super::feed::Feed;
use super::topic::{Kind, Topic};
use super::SILENCE_NS;
use crate::encode::Encode;
use crate::market::Market;
use serde::Deserialize;
use serde_json::Value;

/// Topics in one request.
const MOST_TOPICS: usize = 10;

#[derive(Deserialize)]
struct Command {
    op: String,
    #[serde(default)]
    args: Vec<Value>,
    #[serde(default)]
    req_id: Value,
}

/// One connection.
#[derive(Debug)]
pub struct Session {
    number: u64,
    subscribed: Vec<Topic>,
    /// When it is closed unless something goes over it before.
    until_ns: u64,
    ended: bool,
}

impl Session {
    pub(super) fn new(number: u64, now_ns: u64) -> Self {
        Self {
            number,
            subscribed: Vec::new(),
            until_ns: now_ns + SILENCE_NS,
            ended: false,
        }
    }

    /// Something went over the connection, in whichever direction.
    pub(super) fn was_heard(&mut self, now_ns: u64) {
        self.until_ns = now_ns + SILENCE_NS;
    }

    pub(super) fn deadline_ns(&self) -> u64 {
        match self.ended {
            true => u64::MAX,
            false => self.until_ns,
        }
    }

    pub(super) fn on_deadline(&mut self, replies: &mut Vec<Reply>) {
        self.ended = true;
        let reason = "no message within 10 minutes";
        replies.push(Reply::Close { code: 1000, reason });
    }

    pub(super) fn on_message(
        &mut self,
        names: &Names,
        feed: &Feed,
        market: &Market,
        text: &[u8],
        now_ns: u64,
        replies: &mut Vec<Reply>,
    ) {
        if self.ended {
            return;
        }
        let Ok(command) = serde_json::from_slice::<Command>(text) else {
            return replies.push(self.answer("", &Value::Null, Err("error:invalid json")));
        };
        let asked = match command.op.as_str() {
            "ping" => return replies.push(self.answer("ping", &command.req_id, Ok("pong"))),
            "subscribe" => self.subscribe(names, &command.args),
            "unsubscribe" => self.unsubscribe(names, &command.args),
            op => Err(format!("error:request op {op} not supported")),
        };
        let told = asked.as_ref().map(|_| "").map_err(String::as_str);
        replies.push(self.answer(&command.op, &command.req_id, told));
        for (topic, joins) in asked.into_iter().flatten() {
            if !joins {
                replies.push(Reply::Unsubscribe(topic.id()));
                continue;
            }
            replies.push(Reply::Subscribe(topic.id()));
            // Books begin with how things stand.
            if let Kind::Book(_) = topic.kind {
                replies.push(Reply::text(|out| {
                    feed.write_snapshot(out, names, market, topic, now_ns)
                }));
            }
        }
    }

    /// All of it or nothing: the topics, each with whether it is joined.
    fn subscribe(&mut self, names: &Names, args: &[Value]) -> Result<Vec<(Topic, bool)>, String> {
        if args.len() > MOST_TOPICS {
            return Err(format!("args size >{MOST_TOPICS}"));
        }
        let mut joined: Vec<(Topic, bool)> = Vec::new();
        for arg in args {
            let topic = find(names, arg)?;
            if self.subscribed.contains(&topic) || joined.contains(&(topic, true)) {
                let name = topic.name(names);
                return Err(format!("error:already subscribed,topic:{name}"));
            }
            joined.push((topic, true));
        }
        self.subscribed
            .extend(joined.iter().map(|(topic, _)| topic));
        Ok(joined)
    }

    fn unsubscribe(&mut self, names: &Names, args: &[Value]) -> Result<Vec<(Topic, bool)>, String> {
        let mut left = Vec::new();
        for arg in args {
            let topic = find(names, arg)?;
            if let Some(at) = self.subscribed.iter().position(|known| *known == topic) {
                self.subscribed.swap_remove(at);
                left.push((topic, false));
            }
        }
        Ok(left)
    }

    fn answer(&self, op: &str, req_id: &Value, told: Result<&str, &str>) -> Reply {
        Reply::text(|out| {
            let (success, message) = match told {
                Ok(message) => (true, message),
                Err(message) => (false, message),
            };
            out.text(r#"{"success":"#)
                .boolean(success)
                .text(r#","ret_msg":"#)
                .quoted(message);
            let number = self.number;
            out.text(&format!(r#","conn_id":"feedbench-{number:012}""#));
            match req_id {
                Value::String(id) => _ = out.text(r#","req_id":"#).quoted(id),
                Value::Number(id) => _ = out.text(&format!(r#","req_id":{id}"#)),
                _ => _ = out.text(r#","req_id":"""#),
            }
            out.text(r#","op":"#).quoted(op).push(b'}');
        })
    }
}

fn find(names: &Names, arg: &Value) -> Result<Topic, String> {
    let name = arg.as_str().unwrap_or_default();
    Topic::parse(name, names).ok_or_else(|| format!("error:handler not found,topic:{name}"))
}
