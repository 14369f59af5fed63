//! One symbol as a client may know it: its book, its last trades, its statistics.

use super::statistics::Statistics;
use super::{Book, Event, Instrument, Lots, Side, Ticks, Trade};
use std::collections::VecDeque;

/// Number of a symbol in its market.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SymbolId(pub u32);

/// The best bid and the best ask with their quantities.
pub type Best = [Option<(Ticks, Lots)>; 2];

/// Trades that REST answers can look back on.
const REMEMBERED_TRADES: usize = 1_000;

/// The published state of one symbol.
#[derive(Clone, Debug)]
pub struct Symbol {
    /// What is traded.
    pub instrument: Instrument,
    /// The book after the last event.
    pub book: Book,
    /// Candles and the last 24 hours.
    pub statistics: Statistics,
    /// The last trades, oldest first; never empty once the market is open.
    pub trades: VecDeque<Trade>,
    /// Of the last event; the first has 1.
    pub sequence: u64,
}

impl Symbol {
    /// An empty book, in a market that opens at this time.
    pub fn new(instrument: Instrument, opened_unix_ns: u64) -> Self {
        let trades = VecDeque::with_capacity(REMEMBERED_TRADES);
        let statistics = Statistics::new(opened_unix_ns);
        Self {
            instrument,
            book: Book::default(),
            statistics,
            trades,
            sequence: 0,
        }
    }

    /// Counts an event that was applied to the book.
    pub fn count(&mut self, event: &Event) {
        self.sequence = event.sequence;
        for trade in event.trades() {
            self.statistics.add(&trade);
            if self.trades.len() == REMEMBERED_TRADES {
                self.trades.pop_front();
            }
            self.trades.push_back(trade);
        }
    }

    /// The best prices as they stand.
    pub fn best(&self) -> Best {
        [self.book.best(Side::Bid), self.book.best(Side::Ask)]
    }

    /// The last trade.
    pub fn last(&self) -> &Trade {
        self.statistics.last()
    }
}
