//! One connection: its subscriptions, and the numbers of its messages.

use super::super::names::Names;
use super::super::Reply;
use super::feed::{write_head, write_snapshot, write_tail};
use super::{Channel, SILENCE_NS, SUBSCRIBE_WITHIN_NS};
use crate::encode::Encode;
use crate::market::{Market, SymbolId};
use serde::Deserialize;

#[derive(Deserialize)]
struct Command {
    r#type: String,
    #[serde(default)]
    channel: String,
    #[serde(default)]
    product_ids: Vec<String>,
}

/// One connection.
#[derive(Debug)]
pub struct Session {
    subscribed: Vec<(Channel, SymbolId)>,
    next_number: u64,
    /// When it is closed unless something happens before.
    until_ns: u64,
    ended: bool,
}

impl Session {
    pub(super) fn new(now_ns: u64) -> Self {
        Self {
            subscribed: Vec::new(),
            next_number: 0,
            until_ns: now_ns + SUBSCRIBE_WITHIN_NS,
            ended: false,
        }
    }

    /// The number of the message that is sent now.
    pub(super) fn number(&mut self, now_ns: u64) -> u64 {
        self.until_ns = now_ns + SILENCE_NS;
        self.next_number += 1;
        self.next_number - 1
    }

    pub(super) fn deadline_ns(&self) -> u64 {
        match self.ended {
            true => u64::MAX,
            false => self.until_ns,
        }
    }

    pub(super) fn on_deadline(&mut self, replies: &mut Vec<Reply>) {
        self.ended = true;
        let reason = if self.subscribed.is_empty() {
            "no subscription within 5 seconds"
        } else {
            "no updates"
        };
        replies.push(Reply::Close { code: 1000, reason });
    }

    pub(super) fn on_message(
        &mut self,
        names: &Names,
        market: &Market,
        text: &[u8],
        now_ns: u64,
        replies: &mut Vec<Reply>,
    ) {
        if self.ended {
            return;
        }
        let Ok(command) = serde_json::from_slice::<Command>(text) else {
            return replies.push(failure("failed to parse the message"));
        };
        let subscribe = match command.r#type.as_str() {
            "subscribe" => true,
            "unsubscribe" => false,
            _ => return replies.push(failure("type must be subscribe or unsubscribe")),
        };
        let Some(channel) = Channel::parse(&command.channel) else {
            return replies.push(failure(&format!(
                "channel {} is not supported",
                command.channel
            )));
        };
        // Heartbeats are of the connection; a list of products with them means nothing.
        let products: Option<Vec<SymbolId>> = match channel {
            Channel::Heartbeats => Some(vec![SymbolId(0)]),
            _ => command
                .product_ids
                .iter()
                .map(|name| names.find(name))
                .collect(),
        };
        let Some(products) = products.filter(|products| !products.is_empty()) else {
            return replies.push(failure("product_ids must name products that exist"));
        };
        let mut changed = Vec::new();
        for id in products {
            let known = self
                .subscribed
                .iter()
                .position(|known| *known == (channel, id));
            match (subscribe, known) {
                (true, None) => {
                    self.subscribed.push((channel, id));
                    changed.push(id);
                }
                (false, Some(at)) => {
                    self.subscribed.remove(at);
                    replies.push(Reply::Unsubscribe(channel.stream(id)));
                }
                _ => {}
            }
        }
        for id in changed {
            replies.push(Reply::Subscribe(channel.stream(id)));
            if channel != Channel::Heartbeats {
                let number = self.number(now_ns);
                replies.push(Reply::text(|out| {
                    write_head(out, channel.data_name(), market.clock(), now_ns);
                    out.number(number);
                    write_snapshot(out, market, names, channel, id, now_ns);
                }));
            }
        }
        let number = self.number(now_ns);
        replies.push(Reply::text(|out| {
            write_head(out, "subscriptions", market.clock(), now_ns);
            out.number(number);
            self.write_subscriptions(out, names);
        }));
    }

    /// All that this connection subscribes to, by channel.
    fn write_subscriptions(&self, out: &mut Vec<u8>, names: &Names) {
        out.text(r#","events":[{"subscriptions":{"#);
        let mut separator = "";
        for (name, channel) in Channel::ALL {
            let mut products = self
                .subscribed
                .iter()
                .filter(|(known, _)| *known == channel)
                .map(|(_, id)| *id)
                .peekable();
            if products.peek().is_none() {
                continue;
            }
            out.text(separator).text("\"").text(name).text("\":[");
            separator = ",";
            for (index, id) in products.enumerate() {
                let product = if channel == Channel::Heartbeats {
                    "heartbeats"
                } else {
                    names.of(id)
                };
                out.text(if index > 0 { ",\"" } else { "\"" })
                    .text(product)
                    .text("\"");
            }
            out.push(b']');
        }
        out.text("}");
        write_tail(out);
    }
}

fn failure(message: &str) -> Reply {
    Reply::text(|out| {
        _ = out
            .text(r#"{"type":"error","message":"#)
            .quoted(message)
            .text("}")
    })
}
