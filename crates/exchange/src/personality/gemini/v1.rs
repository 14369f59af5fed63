//! One connection of v1: its URL is its subscription.

use super::super::{Reply, Request};
use super::feed::write_v1_change;
use super::{Channel, Filter, HEARTBEAT_NS};
use crate::encode::Encode;
use crate::market::{Side, Symbol, SymbolId};

/// One connection.
#[derive(Debug)]
pub struct Session {
    /// Number of the next message; heartbeats count, too.
    next_number: u64,
    /// `u64::MAX` if it wants no heartbeats.
    heartbeat_ns: u64,
}

impl Session {
    /// Sends the book, as far as it is wanted, as message 0.
    pub(super) fn open(
        symbol: &Symbol,
        id: SymbolId,
        request: &Request<'_>,
        now_ns: u64,
        replies: &mut Vec<Reply>,
    ) -> Self {
        let on = |name: &str| request.parameter(name).is_some_and(|value| value == "true");
        let top_of_book = on("top_of_book");
        let (bids, offers, trades) = (on("bids"), on("offers"), on("trades"));
        // Without any of these filters everything is told; with one, only what is named.
        let filter = match bids || offers || trades || on("auctions") {
            true => Filter {
                top_of_book,
                bids,
                offers,
                trades,
            },
            false => Filter {
                top_of_book,
                bids: true,
                offers: true,
                trades: true,
            },
        };
        replies.push(Reply::text(|out| {
            out.text(r#"{"type":"update","eventId":"#)
                .number(symbol.sequence);
            out.text(r#","socket_sequence":0,"events":["#);
            let mut first = true;
            for (side, wanted) in [(Side::Bid, filter.bids), (Side::Ask, filter.offers)] {
                let count = if filter.top_of_book { 1 } else { usize::MAX };
                for (price, level) in symbol
                    .book
                    .levels(side)
                    .take(if wanted { count } else { 0 })
                {
                    out.text(if std::mem::take(&mut first) { "" } else { "," });
                    write_v1_change(
                        out,
                        symbol,
                        side,
                        price,
                        Some(("", level.quantity)),
                        "initial",
                    );
                }
            }
            out.text("]}");
        }));
        replies.push(Reply::Subscribe(Channel::V1(filter).stream(id)));
        let heartbeat_ns = if on("heartbeat") {
            now_ns + HEARTBEAT_NS
        } else {
            u64::MAX
        };
        Self {
            next_number: 1,
            heartbeat_ns,
        }
    }

    pub(super) fn number(&mut self) -> u64 {
        self.next_number += 1;
        self.next_number - 1
    }

    pub(super) fn deadline_ns(&self) -> u64 {
        self.heartbeat_ns
    }

    pub(super) fn on_deadline(&mut self, now_ns: u64, replies: &mut Vec<Reply>) {
        self.heartbeat_ns = now_ns + HEARTBEAT_NS;
        let number = self.number();
        replies.push(Reply::text(|out| {
            out.text(r#"{"type":"heartbeat","socket_sequence":"#)
                .number(number)
                .push(b'}');
        }));
    }
}
