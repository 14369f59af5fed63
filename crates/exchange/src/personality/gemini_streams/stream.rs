//! Names of streams, and their numbers.

use super::super::names::Names;
use super::super::StreamId;
use crate::market::SymbolId;

/// What a stream tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Each change of the best prices or their quantities.
    BookTicker,
    /// Each trade.
    Trade,
    /// Changes of the book, every second or (`fast`) every 100 ms.
    Depth {
        /// Every 100 ms.
        fast: bool,
    },
    /// The best levels, likewise.
    Levels {
        /// 5, 10 or 20.
        count: usize,
        /// Every 100 ms.
        fast: bool,
    },
}

impl Kind {
    /// By the name after the `@`; the place in this list is part of a stream's number.
    pub const ALL: [(&'static str, Self); 10] = [
        ("bookTicker", Self::BookTicker),
        ("trade", Self::Trade),
        ("depth", Self::Depth { fast: false }),
        ("depth@100ms", Self::Depth { fast: true }),
        ("depth5", Self::levels(5, false)),
        ("depth5@100ms", Self::levels(5, true)),
        ("depth10", Self::levels(10, false)),
        ("depth10@100ms", Self::levels(10, true)),
        ("depth20", Self::levels(20, false)),
        ("depth20@100ms", Self::levels(20, true)),
    ];

    const fn levels(count: usize, fast: bool) -> Self {
        Self::Levels { count, fast }
    }
}

/// One stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    pub symbol: SymbolId,
    pub kind: Kind,
}

impl Stream {
    /// By its name: `btcusd@depth@100ms`.
    pub fn parse(name: &str, symbols: &Names) -> Option<Self> {
        let (symbol, kind) = name.split_once('@')?;
        let (_, kind) = *Kind::ALL.iter().find(|(known, _)| *known == kind)?;
        let symbol = symbols.find(symbol)?;
        Some(Self { symbol, kind })
    }

    pub fn id(self) -> StreamId {
        let place = Kind::ALL.iter().position(|(_, kind)| *kind == self.kind);
        StreamId(self.symbol.0 << 4 | place.expect("all kinds are in the list") as u32)
    }

    /// The stream of a number that [`Stream::id`] gave.
    pub fn of_id(id: StreamId) -> Self {
        Self {
            symbol: SymbolId(id.0 >> 4),
            kind: Kind::ALL[(id.0 & 15) as usize].1,
        }
    }

    pub fn name(self, symbols: &Names) -> String {
        let (kind, _) = Kind::ALL[(self.id().0 & 15) as usize];
        format!("{}@{kind}", symbols.of(self.symbol))
    }
}
