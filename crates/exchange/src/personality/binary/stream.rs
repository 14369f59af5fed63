//! Names of streams, and their numbers.

use super::super::StreamId;
use super::Encoding;
use std::collections::HashMap;

/// When a stream of a book tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// With each event.
    RealTime,
    /// Every so many nanoseconds, at whole multiples of them, if anything has changed.
    Every(u64),
}

/// What a stream tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The trades of each taker.
    Trades,
    /// Each change of the best prices or their quantities.
    Best,
    /// Changes of the book.
    Changes(Pace),
    /// So many of the best levels.
    Snapshot {
        /// On each side.
        levels: usize,
        /// How often, if anything has changed.
        every_ns: u64,
    },
}

/// A stream of one symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    /// Number of the symbol.
    pub symbol: u32,
    /// Place in [`Encoding::STREAMS`].
    pub place: u32,
}

impl Stream {
    /// By its name: `btcusdt@depth20`, in lower case.
    pub fn parse<E: Encoding>(name: &str, symbols: &HashMap<String, u32>) -> Option<Self> {
        let (symbol, kind) = name.split_once('@')?;
        let place = E::STREAMS.iter().position(|(known, _)| *known == kind)?;
        Some(Self {
            symbol: *symbols.get(symbol)?,
            place: place as u32,
        })
    }

    pub fn id(self) -> StreamId {
        StreamId(self.symbol << 2 | self.place)
    }

    /// The stream of a number that [`Stream::id`] gave.
    pub fn of_id(id: StreamId) -> Self {
        Self {
            symbol: id.0 >> 2,
            place: id.0 & 3,
        }
    }
}
