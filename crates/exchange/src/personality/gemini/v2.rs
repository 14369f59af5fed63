//! One connection of v2: subscriptions by message, without acknowledgement; heartbeats always.

use super::super::names::Names;
use super::super::Reply;
use super::feed::{write_candles, write_level2_snapshot};
use super::{Channel, CANDLES, HEARTBEAT_NS};
use crate::encode::Encode;
use crate::market::{Market, SymbolId};
use serde::Deserialize;

#[derive(Deserialize)]
struct Command {
    r#type: Kind,
    subscriptions: Vec<Subscription>,
}

#[derive(Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Subscribe,
    Unsubscribe,
}

#[derive(Deserialize)]
struct Subscription {
    name: String,
    symbols: Vec<String>,
}

/// One connection.
#[derive(Debug)]
pub struct Session {
    subscribed: Vec<(Channel, SymbolId)>,
    heartbeat_ns: u64,
}

impl Session {
    pub(super) fn new(now_ns: u64) -> Self {
        Self {
            subscribed: Vec::new(),
            heartbeat_ns: now_ns + HEARTBEAT_NS,
        }
    }

    pub(super) fn deadline_ns(&self) -> u64 {
        self.heartbeat_ns
    }

    pub(super) fn on_deadline(&mut self, market: &Market, now_ns: u64, replies: &mut Vec<Reply>) {
        self.heartbeat_ns = now_ns + HEARTBEAT_NS;
        replies.push(Reply::text(|out| {
            out.text(r#"{"type":"heartbeat","timestamp":"#)
                .number(market.clock().unix_ms(now_ns))
                .push(b'}');
        }));
    }

    pub(super) fn on_message(
        &mut self,
        names: &Names,
        market: &Market,
        text: &[u8],
        now_ns: u64,
        replies: &mut Vec<Reply>,
    ) {
        let command: Command = match serde_json::from_slice(text) {
            Ok(command) => command,
            Err(error) => return replies.push(failure("InvalidJson", &error.to_string())),
        };
        for subscription in &command.subscriptions {
            let channel = match subscription.name.strip_prefix("candles_") {
                Some(length) => CANDLES
                    .iter()
                    .position(|(name, _)| *name == length)
                    .map(Channel::Candles),
                None => (subscription.name == "l2").then_some(Channel::Level2),
            };
            let Some(channel) = channel else {
                replies.push(failure(
                    "InvalidSubscription",
                    &format!("Unknown subscription {}", subscription.name),
                ));
                continue;
            };
            for name in &subscription.symbols {
                let Some(id) = names.find(&name.to_ascii_uppercase()) else {
                    replies.push(failure("InvalidSymbol", &format!("Invalid symbol {name}")));
                    continue;
                };
                match command.r#type {
                    Kind::Subscribe => self.subscribe(names, market, channel, id, now_ns, replies),
                    Kind::Unsubscribe => {
                        self.subscribed.retain(|known| *known != (channel, id));
                        replies.push(Reply::Unsubscribe(channel.stream(id)));
                    }
                }
            }
        }
    }

    fn subscribe(
        &mut self,
        names: &Names,
        market: &Market,
        channel: Channel,
        id: SymbolId,
        now_ns: u64,
        replies: &mut Vec<Reply>,
    ) {
        if self.subscribed.contains(&(channel, id)) {
            return;
        }
        self.subscribed.push((channel, id));
        replies.push(Reply::Subscribe(channel.stream(id)));
        let (name, symbol) = (names.of(id), market.symbol(id));
        replies.push(Reply::text(|out| match channel {
            Channel::Candles(index) => {
                write_candles(out, market.clock(), name, symbol, index, now_ns)
            }
            Channel::Level2 | Channel::V1(_) => {
                write_level2_snapshot(out, market.clock(), name, symbol)
            }
        }));
    }
}

fn failure(reason: &str, message: &str) -> Reply {
    Reply::text(|out| {
        out.text(r#"{"result":"error","reason":"#)
            .quoted(reason)
            .text(r#","message":"#)
            .quoted(message)
            .push(b'}');
    })
}
