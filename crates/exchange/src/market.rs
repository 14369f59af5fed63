//! A deterministic market: the same configuration and seed make the same events on every platform.
//!
//! Prices are whole ticks and quantities whole lots. The only floating point is in arrival times and sizes; it uses
//! the four basic operations, which IEEE 754 rounds the same way everywhere, and `libm`'s software logarithm and
//! exponential, which are built from them.

pub mod arrivals;
pub mod book;
pub mod config;
pub mod event;
pub mod flow;
pub mod instrument;
pub mod order;
pub mod publication;
pub mod random;
pub mod statistics;
pub mod symbol;

pub use arrivals::Arrivals;
pub use book::{Book, Side};
pub use config::{ConfigError, MarketConfig, Mix};
pub use event::{Action, Event, Fill, Trade};
pub use instrument::Instrument;
pub use order::{Execution, Order, OrderAction};
pub use publication::Publication;
pub use symbol::{Best, Symbol, SymbolId};

use crate::time::ExchangeClock;
use flow::Flow;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Smallest increment of price, as a count.
pub type Ticks = u64;
/// Smallest increment of quantity, as a count.
pub type Lots = u64;

/// N symbols whose events come out in the order of their publication.
///
/// The books are those that a client can know: [`Iterator::next`] applies an event to its book as it returns it.
pub struct Market {
    clock: ExchangeClock,
    symbols: Vec<Symbol>,
    flows: Vec<Flow>,
    /// When each symbol publishes next; ties go to the lower symbol.
    due: BinaryHeap<Reverse<(u64, usize)>>,
}

impl Market {
    /// Opens the market: books filled, one trade made, nothing published yet.
    pub fn open(config: &MarketConfig, clock: ExchangeClock) -> Result<Self, ConfigError> {
        config.check()?;
        let count = config.instruments.len();
        let mut market = Self {
            clock,
            symbols: Vec::new(),
            flows: Vec::new(),
            due: BinaryHeap::new(),
        };
        for (index, instrument) in config.instruments.iter().enumerate() {
            let mut symbol = Symbol::new(instrument.clone(), clock.opened_unix_ns);
            let mut flow = Flow::new(config, index, count);
            flow.open(&mut symbol);
            market.due.push(Reverse((flow.published_ns(), index)));
            market.symbols.push(symbol);
            market.flows.push(flow);
        }
        Ok(market)
    }

    /// A market in which nothing is traded: for replays, which bring their own messages.
    pub fn silent(clock: ExchangeClock) -> Self {
        Self {
            clock,
            symbols: Vec::new(),
            flows: Vec::new(),
            due: BinaryHeap::new(),
        }
    }

    /// What the exchange's wall clock shows.
    pub fn clock(&self) -> &ExchangeClock {
        &self.clock
    }

    /// All symbols, in the order of the configuration.
    pub fn symbols(&self) -> &[Symbol] {
        &self.symbols
    }

    /// One symbol.
    pub fn symbol(&self, id: SymbolId) -> &Symbol {
        &self.symbols[id.0 as usize]
    }

    /// All symbols' numbers.
    pub fn ids(&self) -> impl Iterator<Item = SymbolId> {
        (0..self.symbols.len() as u32).map(SymbolId)
    }

    /// Sets what the wall clock shows at the opening, for a market that has yet to open.
    pub fn set_opening(&mut self, opened_unix_ns: u64) {
        self.clock.opened_unix_ns = opened_unix_ns;
        for symbol in &mut self.symbols {
            symbol.statistics.set_opening(opened_unix_ns);
        }
    }

    /// Does what a client asks. Nothing that is due before `now_ns` may be left to be done.
    pub fn submit(&mut self, order: &Order, now_ns: u64) -> Execution {
        let index = order.symbol.0 as usize;
        let symbol = &mut self.symbols[index];
        self.flows[index].submit(order.symbol, symbol, order.action, now_ns)
    }

    /// When the next event is published: timers due before it see the books as they stand.
    pub fn next_ns(&self) -> u64 {
        self.due
            .peek()
            .map_or(u64::MAX, |Reverse((published_ns, _))| *published_ns)
    }
}

impl Iterator for Market {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        let mut due = self.due.peek_mut()?;
        let index = due.0 .1;
        let flow = &mut self.flows[index];
        let event = flow.step(SymbolId(index as u32), &mut self.symbols[index]);
        due.0 .0 = flow.published_ns();
        Some(event)
    }
}
