//! Orders and cancels on their way to the market.

use super::client::Client;
use super::conversation::session_now;
use super::orders::Awaiting;
use super::request::NewOrder;
use super::stream::{Report, Stream};
use super::Fix;
use crate::market::{Market, Order, OrderAction, SymbolId};
use crate::personality::Reply;

impl Fix {
    /// A NewOrderSingle: to the market, or refused.
    pub(super) fn order(
        &mut self,
        market: &Market,
        client: &mut Client,
        new: &NewOrder,
        now_ns: u64,
        replies: &mut Vec<Reply>,
    ) {
        let is_fix42 = client.session.config().profile.begin_string == "FIX.4.2";
        let symbol = self.by_name.get(&new.symbol).copied().map(SymbolId);
        match self.desk.read(new, (client.seat, is_fix42), symbol, market) {
            Ok((order, action)) => {
                let symbol = symbol.expect("an order without a symbol is refused");
                replies.extend(self.reports(client.seat));
                replies.push(Reply::Order(Order { symbol, action }));
                client.awaiting = Some(Awaiting::New {
                    order,
                    arrived_ns: now_ns,
                });
            }
            Err(refusal) => {
                let unix_ns = market.clock().unix_ns(now_ns);
                let body = self.desk.refuse(new, is_fix42, refusal, unix_ns);
                client.send("8", session_now(market.clock(), now_ns), &body);
            }
        }
    }

    /// An OrderCancelRequest: the market says what became of it.
    pub(super) fn cancel(
        &mut self,
        client: &mut Client,
        id: &str,
        original: &str,
        now_ns: u64,
        replies: &mut Vec<Reply>,
    ) {
        let order = self.desk.find(client.seat, original);
        client.awaiting = Some(Awaiting::Cancel {
            id: id.to_owned(),
            original: original.to_owned(),
            seat: client.seat,
            order,
            arrived_ns: now_ns,
        });
        // An order that nobody has is asked for, too: the market says that there is nothing to withdraw.
        let (symbol, order) = order.unwrap_or((SymbolId(0), 0));
        replies.extend(self.reports(client.seat));
        replies.push(Reply::Order(Order {
            symbol,
            action: OrderAction::Cancel { order },
        }));
    }

    /// The client's own streams, from its first order on.
    fn reports(&self, seat: u32) -> impl Iterator<Item = Reply> {
        let symbols = self.symbols.len() as u32;
        Report::ALL
            .into_iter()
            .map(move |report| Reply::Subscribe(Stream::Client(seat, report).id(symbols)))
    }
}
