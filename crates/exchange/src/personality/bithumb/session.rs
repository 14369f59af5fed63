//! One connection: a request is a list, and the last request replaces what came before.

use super::super::names::Names;
use super::super::{Incoming, Reply};
use super::feed::Message;
use super::Kind;
use crate::encode::Encode;
use crate::market::{Market, SymbolId};
use crate::time::SECOND_NS;
use serde::Deserialize;

/// A connection on which nothing was sent or received for so long is closed.
const IDLE_NS: u64 = 120 * SECOND_NS;

/// One element of the list: a ticket, a subscription, or the format of all of them.
#[derive(Deserialize)]
struct Part {
    ticket: Option<String>,
    r#type: Option<String>,
    #[serde(default)]
    codes: Vec<String>,
    #[serde(default, rename = "isOnlySnapshot")]
    only_snapshot: bool,
    #[serde(default, rename = "isOnlyRealtime")]
    only_realtime: bool,
    format: Option<String>,
}

/// One connection.
#[derive(Debug)]
pub struct Session {
    subscribed: Vec<(Kind, SymbolId, bool)>,
    last_used_ns: u64,
    ended: bool,
}

impl Session {
    pub(super) fn new(now_ns: u64) -> Self {
        Self {
            subscribed: Vec::new(),
            last_used_ns: now_ns,
            ended: false,
        }
    }

    /// Something went over the connection.
    pub(super) fn was_used(&mut self, now_ns: u64) {
        self.last_used_ns = now_ns;
    }

    pub(super) fn deadline_ns(&self) -> u64 {
        match self.ended {
            true => u64::MAX,
            false => self.last_used_ns + IDLE_NS,
        }
    }

    pub(super) fn on_deadline(&mut self, _now_ns: u64, replies: &mut Vec<Reply>) {
        self.ended = true;
        replies.push(Reply::Close {
            code: 1000,
            reason: "idle for 120 seconds",
        });
    }

    pub(super) fn on_message(
        &mut self,
        names: &Names,
        market: &Market,
        incoming: Incoming<'_>,
        now_ns: u64,
        replies: &mut Vec<Reply>,
    ) {
        if self.ended {
            return;
        }
        self.was_used(now_ns);
        let (Incoming::Text(text) | Incoming::Binary(text)) = incoming else {
            return;
        };
        if text == b"PING" {
            return replies.push(Reply::Text(br#"{"status":"UP"}"#.to_vec()));
        }
        match resolve(names, text) {
            Ok((parts, simple)) => self.subscribe(names, market, parts, simple, now_ns, replies),
            Err((name, message)) => replies.push(Reply::text(|out| {
                out.text(r#"{"error":{"name":""#)
                    .text(name)
                    .text(r#"","message":"#)
                    .quoted(message)
                    .text("}}");
            })),
        }
    }

    fn subscribe(
        &mut self,
        names: &Names,
        market: &Market,
        wanted: Vec<Wanted>,
        simple: bool,
        now_ns: u64,
        replies: &mut Vec<Reply>,
    ) {
        let before = self
            .subscribed
            .drain(..)
            .map(|(kind, id, simple)| Reply::Unsubscribe(kind.stream(id, simple)));
        replies.extend(before);
        for Wanted {
            kind,
            ids,
            snapshot,
            realtime,
        } in wanted
        {
            for id in ids {
                if snapshot {
                    let message = Message::now(names, market, id, now_ns, simple);
                    replies.push(Reply::text(|out| message.write(out, kind)));
                }
                if realtime && !self.subscribed.contains(&(kind, id, simple)) {
                    self.subscribed.push((kind, id, simple));
                    replies.push(Reply::Subscribe(kind.stream(id, simple)));
                }
            }
        }
    }
}

struct Wanted {
    kind: Kind,
    ids: Vec<SymbolId>,
    snapshot: bool,
    realtime: bool,
}

/// The subscriptions, and whether keys are to be short. Codes that do not exist are passed over.
fn resolve(
    names: &Names,
    text: &[u8],
) -> Result<(Vec<Wanted>, bool), (&'static str, &'static str)> {
    let parts: Vec<Part> =
        serde_json::from_slice(text).map_err(|_| ("WRONG_FORMAT", "Format이 맞지 않습니다."))?;
    if !parts.iter().any(|part| part.ticket.is_some()) {
        return Err(("NO_TICKET", "티켓이 존재하지 않습니다."));
    }
    let simple = match parts.iter().find_map(|part| part.format.as_deref()) {
        None | Some("DEFAULT") => false,
        Some("SIMPLE") => true,
        Some(_) => return Err(("WRONG_FORMAT", "Format이 맞지 않습니다.")),
    };
    let mut wanted = Vec::new();
    for part in parts {
        let Some(name) = part.r#type else { continue };
        let kind = Kind::parse(&name).ok_or(("NO_TYPE", "타입이 존재하지 않습니다."))?;
        if part.codes.is_empty() {
            return Err(("NO_CODES", "코드가 존재하지 않습니다."));
        }
        let ids = part
            .codes
            .iter()
            .filter_map(|code| names.find(code))
            .collect();
        wanted.push(Wanted {
            kind,
            ids,
            snapshot: !part.only_realtime,
            realtime: !part.only_snapshot,
        });
    }
    match wanted.is_empty() {
        true => Err(("NO_TYPE", "타입이 존재하지 않습니다.")),
        false => Ok((wanted, simple)),
    }
}
