//! Orders from outside: what a client asks of the same book that the market's own orders rest in, and what became of it.

use super::{Event, Lots, Side, SymbolId, Ticks};
use smallvec::SmallVec;

/// What a client asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    /// In which book.
    pub symbol: SymbolId,
    /// What to do there.
    pub action: OrderAction,
}

/// What is to be done in a book.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderAction {
    /// Buy or sell.
    New {
        /// `Bid` buys.
        side: Side,
        /// The worst price that will do; a market order has none.
        limit: Option<Ticks>,
        /// At least one.
        quantity: Lots,
        /// Whether what finds nobody at once may wait in the book; that of a market order never does.
        rests: bool,
    },
    /// Withdraw what remains of an order.
    Cancel {
        /// Its number, as [`Execution::order`] told it.
        order: u64,
    },
}

impl Order {
    /// The number of the order that is to be withdrawn; 0 for a new one.
    pub fn number(&self) -> u64 {
        match self.action {
            OrderAction::New { .. } => 0,
            OrderAction::Cancel { order } => order,
        }
    }
}

/// What became of an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Execution {
    /// The order's number, unique in its symbol; of a cancel, that of the order to cancel.
    pub order: u64,
    /// What rests of it in the book.
    pub resting: Lots,
    /// What was withdrawn: by a cancel, or because it found nobody and does not rest. `None` when there was nothing
    /// to cancel.
    pub withdrawn: Option<Lots>,
    /// What the market publishes of it, already applied to the book: trades first, then the rest's place.
    pub events: SmallVec<[Event; 2]>,
}
