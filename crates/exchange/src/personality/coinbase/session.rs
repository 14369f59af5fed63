//! One connection: what it subscribed to.

use super::super::limits::Window;
use super::super::names::Names;
use super::super::{Incoming, Reply};
use super::feed::Feed;
use super::Channel;
use crate::encode::Encode;
use crate::market::{Market, SymbolId};
use crate::time::SECOND_NS;
use serde::Deserialize;

/// What the exchange demands of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionLimits {
    /// A connection that has not subscribed within this time is closed.
    pub subscribe_within_ns: u64,
    /// Messages a client may send per second.
    pub messages_per_s: u32,
    /// Whether `level2` wants an API key, as it does today. Off by default, as it was in the recordings: clients that
    /// predate the rule can be measured. No signature is checked.
    pub level2_needs_key: bool,
}

impl Default for SessionLimits {
    fn default() -> Self {
        Self {
            subscribe_within_ns: 5 * SECOND_NS,
            messages_per_s: 100,
            level2_needs_key: false,
        }
    }
}

#[derive(Deserialize)]
struct Command {
    r#type: String,
    #[serde(default)]
    product_ids: Vec<String>,
    #[serde(default)]
    channels: Vec<Wanted>,
    key: Option<String>,
    signature: Option<String>,
}

/// Clients name channels as texts and as objects.
#[derive(Deserialize)]
#[serde(untagged)]
enum Wanted {
    Name(String),
    With {
        name: String,
        #[serde(default)]
        product_ids: Vec<String>,
    },
}

/// One connection.
#[derive(Debug)]
pub struct Session {
    limits: SessionLimits,
    /// In the order of subscription.
    subscribed: Vec<(Channel, Vec<SymbolId>)>,
    subscribe_by_ns: u64,
    messages: Window,
    ended: bool,
}

impl Session {
    pub(super) fn new(limits: SessionLimits, now_ns: u64) -> Self {
        Self {
            limits,
            subscribed: Vec::new(),
            subscribe_by_ns: now_ns + limits.subscribe_within_ns,
            messages: Window::new(limits.messages_per_s, SECOND_NS),
            ended: false,
        }
    }

    pub(super) fn deadline_ns(&self) -> u64 {
        if self.ended {
            return u64::MAX;
        }
        self.subscribe_by_ns
    }

    pub(super) fn on_deadline(&mut self, replies: &mut Vec<Reply>) {
        self.ended = true;
        replies.push(Reply::Close {
            code: 1008,
            reason: "no subscription within 5 seconds",
        });
    }

    pub(super) fn on_message(
        &mut self,
        names: &Names,
        feed: &Feed,
        market: &Market,
        incoming: Incoming<'_>,
        now_ns: u64,
        replies: &mut Vec<Reply>,
    ) {
        if self.ended {
            return;
        }
        if !self.messages.take(1, now_ns) {
            self.ended = true;
            replies.push(failure("Rate limit exceeded", "too many messages"));
            replies.push(Reply::Close {
                code: 1008,
                reason: "Rate limit exceeded",
            });
            return;
        }
        let (Incoming::Text(text) | Incoming::Binary(text)) = incoming else {
            return;
        };
        let command: Command = match serde_json::from_slice(text) {
            Ok(command) => command,
            Err(error) if error.is_data() => {
                return replies.push(failure("Failed to subscribe", &error.to_string()))
            }
            Err(error) => return replies.push(failure("Malformed JSON", &error.to_string())),
        };
        let subscribe = match command.r#type.as_str() {
            "subscribe" => true,
            "unsubscribe" => false,
            other => {
                return replies.push(failure(
                    "Type has to be either subscribe or unsubscribe",
                    other,
                ))
            }
        };
        match self.resolve(names, &command, subscribe) {
            Err(reason) => replies.push(failure("Failed to subscribe", &reason)),
            Ok(changes) if subscribe => {
                self.subscribe(names, feed, market, changes, now_ns, replies)
            }
            Ok(changes) => self.unsubscribe(names, changes, replies),
        }
    }

    /// Each channel with its products; all or nothing.
    fn resolve(
        &self,
        names: &Names,
        command: &Command,
        subscribe: bool,
    ) -> Result<Vec<(Channel, Vec<SymbolId>)>, String> {
        let product = |name: &String| {
            names
                .find(name)
                .ok_or_else(|| format!("{name} is not a valid product"))
        };
        let products = |list: &[String]| -> Result<Vec<SymbolId>, String> {
            list.iter().map(product).collect()
        };
        let common = products(&command.product_ids)?;
        let mut changes = Vec::new();
        for wanted in &command.channels {
            let (name, own) = match wanted {
                Wanted::Name(name) => (name, Vec::new()),
                Wanted::With { name, product_ids } => (name, products(product_ids)?),
            };
            let channel =
                Channel::parse(name).ok_or_else(|| format!("{name} is not a valid channel"))?;
            let keyless = command.key.is_none() || command.signature.is_none();
            if subscribe && channel == Channel::Level2 && self.limits.level2_needs_key && keyless {
                return Err("level2 requires authentication".to_owned());
            }
            let mut all = common.clone();
            all.extend(own.into_iter().filter(|id| !common.contains(id)));
            if all.is_empty() && subscribe {
                return Err("no products specified".to_owned());
            }
            changes.push((channel, all));
        }
        // To unsubscribe from products is to do so on all channels.
        if changes.is_empty() && !subscribe && !common.is_empty() {
            return Ok(self
                .subscribed
                .iter()
                .map(|(channel, _)| (*channel, common.clone()))
                .collect());
        }
        if changes.is_empty() {
            return Err("no channels specified".to_owned());
        }
        Ok(changes)
    }

    fn subscribe(
        &mut self,
        names: &Names,
        feed: &Feed,
        market: &Market,
        changes: Vec<(Channel, Vec<SymbolId>)>,
        now_ns: u64,
        replies: &mut Vec<Reply>,
    ) {
        self.subscribe_by_ns = u64::MAX;
        let mut first_frames = Vec::new();
        for (channel, products) in changes {
            let index = self
                .subscribed
                .iter()
                .position(|(known, _)| *known == channel)
                .unwrap_or_else(|| {
                    self.subscribed.push((channel, Vec::new()));
                    self.subscribed.len() - 1
                });
            for product in products {
                if !self.subscribed[index].1.contains(&product) {
                    self.subscribed[index].1.push(product);
                    first_frames.push(Reply::Subscribe(channel.stream(product)));
                    first_frames.extend(feed.first_frame(names, market, channel, product, now_ns));
                }
            }
        }
        replies.push(self.subscriptions(names));
        replies.append(&mut first_frames);
    }

    fn unsubscribe(
        &mut self,
        names: &Names,
        changes: Vec<(Channel, Vec<SymbolId>)>,
        replies: &mut Vec<Reply>,
    ) {
        for (channel, products) in changes {
            for (_, subscribed) in self
                .subscribed
                .iter_mut()
                .filter(|(known, _)| *known == channel)
            {
                // A channel without products: all of them.
                let gone = |id: &SymbolId| products.is_empty() || products.contains(id);
                replies.extend(
                    subscribed
                        .iter()
                        .filter(|id| gone(id))
                        .map(|id| Reply::Unsubscribe(channel.stream(*id))),
                );
                subscribed.retain(|id| !gone(id));
            }
        }
        self.subscribed.retain(|(_, products)| !products.is_empty());
        replies.push(self.subscriptions(names));
    }

    /// All that this connection subscribes to, not only what was asked for last.
    fn subscriptions(&self, names: &Names) -> Reply {
        Reply::text(|out| {
            out.text(r#"{"type":"subscriptions","channels":["#);
            for (index, (channel, products)) in self.subscribed.iter().enumerate() {
                out.text(if index > 0 { "," } else { "" });
                out.text(r#"{"name":""#)
                    .text(channel.name())
                    .text(r#"","product_ids":["#);
                for (index, product) in products.iter().enumerate() {
                    out.text(if index > 0 { ",\"" } else { "\"" })
                        .text(names.of(*product))
                        .text("\"");
                }
                out.text("]}");
            }
            out.text("]}");
        })
    }
}

fn failure(message: &str, reason: &str) -> Reply {
    Reply::text(|out| {
        out.text(r#"{"type":"error","message":"#)
            .quoted(message)
            .text(r#","reason":"#)
            .quoted(reason)
            .push(b'}');
    })
}
