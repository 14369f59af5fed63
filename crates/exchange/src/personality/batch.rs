//! Levels that changed since a stream's last message.

use crate::market::{Event, Side, Ticks};

/// A level of the book, by its side and price.
type Level = (Side, Ticks);

/// What the next message of a stream of changed levels will tell.
#[derive(Clone, Debug)]
pub struct Batch {
    first: u64,
    levels: Vec<Level>,
}

impl Batch {
    /// Nothing has changed; the next event will have this sequence.
    pub fn from(first: u64) -> Self {
        Self {
            first,
            levels: Vec::new(),
        }
    }

    /// Sequence of the first event that it tells.
    pub fn first(&self) -> u64 {
        self.first
    }

    /// Takes note of an event's levels.
    pub fn note(&mut self, event: &Event) {
        self.levels.extend(event.levels());
        // A long time without a batch, as at 1000 ms and high rates: keep each level once.
        if self.levels.len() >= 4_096 && self.levels.len().is_power_of_two() {
            self.levels.sort_unstable();
            self.levels.dedup();
        }
    }

    /// Takes over what a stream with shorter batches is about to tell, so that an event is noted only once for both.
    pub fn absorb(&mut self, shorter: &Self) {
        self.levels.extend_from_slice(&shorter.levels);
    }

    /// True if nothing has changed.
    pub fn is_empty(&self) -> bool {
        self.levels.is_empty()
    }

    /// Bids and asks that changed, each once, in the order of their prices.
    pub fn sides(&mut self) -> (&[Level], &[Level]) {
        self.levels.sort_unstable();
        self.levels.dedup();
        let asks_from = self.levels.partition_point(|(side, _)| *side == Side::Bid);
        self.levels.split_at(asks_from)
    }

    /// All was told up to an event of this sequence.
    pub fn settle(&mut self, last: u64) {
        self.first = last + 1;
        self.levels.clear();
    }
}
