//! One connection: commands, codes, and the client's ping every 30 seconds.

use super::super::names::Names;
use super::super::{Reply, Request};
use super::feed::{write_book, write_ticker, write_trade};
use super::Topic;
use crate::encode::Encode;
use crate::market::{Market, Side, SymbolId};
use crate::time::SECOND_NS;
use serde::Deserialize;

/// A client that has not sent a ping for so long is cut off.
const PING_WITHIN_NS: u64 = 30 * SECOND_NS;

#[derive(Deserialize)]
struct Command {
    cmd: Option<String>,
    #[serde(default)]
    args: Vec<String>,
}

/// One connection.
#[derive(Debug)]
pub struct Session {
    subscribed: Vec<(Topic, SymbolId)>,
    last_ping_ns: u64,
    ended: bool,
}

fn code(code: &str, message: &str) -> Reply {
    Reply::text(|out| {
        _ = out
            .text(r#"{"code":""#)
            .text(code)
            .text(r#"","msg":"#)
            .quoted(message)
            .text("}")
    })
}

impl Session {
    /// Greets, and subscribes to the topics of the URL.
    pub(super) fn open(
        names: &Names,
        market: &Market,
        request: &Request<'_>,
        now_ns: u64,
        replies: &mut Vec<Reply>,
    ) -> Self {
        let mut session = Self {
            subscribed: Vec::new(),
            last_ping_ns: now_ns,
            ended: false,
        };
        replies.push(code("00002", "connect success"));
        if let Some(topics) = request.parameter("subscribe") {
            let topics: Vec<String> = topics.split(',').map(str::to_owned).collect();
            session.subscribe(names, market, &topics, now_ns, replies);
        }
        session
    }

    pub(super) fn deadline_ns(&self) -> u64 {
        match self.ended {
            true => u64::MAX,
            false => self.last_ping_ns + PING_WITHIN_NS,
        }
    }

    pub(super) fn on_deadline(&mut self, replies: &mut Vec<Reply>) {
        self.ended = true;
        replies.push(Reply::Close {
            code: 1000,
            reason: "no ping within 30 seconds",
        });
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
            return replies.push(code("10000", "No cmd"));
        };
        // The documentation spells it `unSubscribe`; clients in the wild do not.
        match command
            .cmd
            .as_deref()
            .map(str::to_ascii_lowercase)
            .as_deref()
        {
            Some("ping") => {
                self.last_ping_ns = now_ns;
                replies.push(code("0", "pong"));
            }
            Some("subscribe") => self.subscribe(names, market, &command.args, now_ns, replies),
            Some("unsubscribe") => self.unsubscribe(names, &command.args, replies),
            Some("authkey") => match &command.args[..] {
                [] => replies.push(code("10001", "No apiKey")),
                [key, ..] if key.is_empty() => replies.push(code("10001", "No apiKey")),
                [_, _, _] => replies.push(code("00000", "auth key success")),
                _ => replies.push(code("10003", "Signature verification failed")),
            },
            _ => replies.push(code("10000", "No cmd")),
        }
    }

    fn subscribe(
        &mut self,
        names: &Names,
        market: &Market,
        topics: &[String],
        now_ns: u64,
        replies: &mut Vec<Reply>,
    ) {
        let known: Option<Vec<_>> = topics
            .iter()
            .map(|topic| Topic::parse(topic, names))
            .collect();
        let Some(known) = known.filter(|known| !known.is_empty()) else {
            return replies.push(code("10005", "No topic"));
        };
        replies.push(code("00001", "subscribe success"));
        for (topic, id) in known {
            if self.subscribed.contains(&(topic, id)) {
                continue;
            }
            self.subscribed.push((topic, id));
            replies.push(Reply::Subscribe(topic.stream(id)));
            let (name, symbol) = (names.of(id), market.symbol(id));
            let unix_ms = market.clock().unix_ms(now_ns);
            replies.push(Reply::text(|out| match topic {
                Topic::OrderBook => {
                    let levels = |side: Side| {
                        symbol
                            .book
                            .levels(side)
                            .map(|(price, level)| (price, level.quantity))
                    };
                    write_book(
                        out,
                        "00006",
                        name,
                        symbol,
                        levels(Side::Bid),
                        levels(Side::Ask),
                        unix_ms,
                    );
                }
                Topic::Trade => write_trade(
                    out,
                    "00006",
                    market.clock(),
                    name,
                    symbol,
                    symbol.last(),
                    unix_ms,
                ),
                Topic::Ticker => write_ticker(out, "00006", name, symbol, unix_ms),
            }));
        }
    }

    fn unsubscribe(&mut self, names: &Names, topics: &[String], replies: &mut Vec<Reply>) {
        let gone: Vec<_> = topics
            .iter()
            .filter_map(|topic| Topic::parse(topic, names))
            .collect();
        self.subscribed.retain(|known| !gone.contains(known));
        replies.extend(
            gone.into_iter()
                .map(|(topic, id)| Reply::Unsubscribe(topic.stream(id))),
        );
        replies.push(code("00003", "unsubscribe success"));
    }
}
