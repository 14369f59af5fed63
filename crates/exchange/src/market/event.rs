//! What happens in a market.

use super::{Lots, Side, SymbolId, Ticks};
use smallvec::SmallVec;

/// One event of one symbol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Whose book changed.
    pub symbol: SymbolId,
    /// One more than the symbol's event before.
    pub sequence: u64,
    /// When the matching engine did it: the trade time `T` of exchanges.
    pub matched_ns: u64,
    /// When the exchange says so: the event time `E`. The event's birth for anyone outside.
    pub published_ns: u64,
    /// What was done.
    pub action: Action,
}

/// What an event did to the book.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// A limit order came to rest.
    Place {
        /// Number of the order, unique in its symbol.
        order: u64,
        /// Where it rests.
        side: Side,
        /// Its limit.
        price: Ticks,
        /// All of it, since it never crosses.
        quantity: Lots,
    },
    /// A resting order was withdrawn.
    Cancel {
        /// Number of the order.
        order: u64,
        /// Where it rested.
        side: Side,
        /// Its limit.
        price: Ticks,
        /// What remained of it.
        quantity: Lots,
    },
    /// A market order took resting orders.
    Take {
        /// Number of the market order.
        order: u64,
        /// The taker's side: `Bid` buys from the asks.
        side: Side,
        /// What it asked for; it got less if the book was too thin.
        quantity: Lots,
        /// Best price first, oldest order first; never empty.
        fills: SmallVec<[Fill; 4]>,
    },
}

/// One trade between the taker and one resting order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fill {
    /// One more than the symbol's trade before.
    pub trade: u64,
    /// Trades of one taker at one price share this number.
    pub aggregate: u64,
    /// Number of the resting order.
    pub maker: u64,
    /// Where it rested.
    pub price: Ticks,
    /// What changed hands.
    pub quantity: Lots,
    /// What remains of the resting order.
    pub maker_remaining: Lots,
}

/// A fill with the circumstances that a list of past trades needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trade {
    /// Who gave and what.
    pub fill: Fill,
    /// Number of the market order.
    pub taker: u64,
    /// The taker's side.
    pub side: Side,
    /// The event's sequence.
    pub sequence: u64,
    /// When it was matched.
    pub matched_ns: u64,
}

impl Event {
    /// The trades of this event; none unless it is a [`Action::Take`].
    pub fn trades(&self) -> impl Iterator<Item = Trade> + '_ {
        let (taker, side, fills): (u64, Side, &[Fill]) = match &self.action {
            Action::Take {
                order, side, fills, ..
            } => (*order, *side, fills),
            Action::Place { .. } | Action::Cancel { .. } => (0, Side::Bid, &[]),
        };
        fills.iter().map(move |&fill| Trade {
            fill,
            taker,
            side,
            sequence: self.sequence,
            matched_ns: self.matched_ns,
        })
    }

    /// Each price level that changed, once, as (side of the book, price).
    pub fn levels(&self) -> impl Iterator<Item = (Side, Ticks)> + '_ {
        let (side, price, fills): (Side, Option<Ticks>, &[Fill]) = match &self.action {
            Action::Place { side, price, .. } | Action::Cancel { side, price, .. } => {
                (*side, Some(*price), &[])
            }
            Action::Take { side, fills, .. } => (side.opposite(), None, fills),
        };
        let taken = fills
            .iter()
            .enumerate()
            .filter(|&(i, fill)| i == 0 || fills[i - 1].price != fill.price);
        price
            .into_iter()
            .chain(taken.map(|(_, fill)| fill.price))
            .map(move |price| (side, price))
    }
}
