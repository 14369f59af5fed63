//! What can be subscribed to, and the numbers of the streams.

use super::super::names::Names;
use super::super::StreamId;
use crate::market::SymbolId;

/// Levels of a book's side, and every how many ticks of 10 ms it is told.
pub const DEPTHS: [(usize, u64); 4] = [(1, 1), (50, 2), (200, 20), (1_000, 20)];

/// Candles: their name and their minutes.
pub const INTERVALS: [(&str, u64); 11] = [
    ("1", 1),
    ("3", 3),
    ("5", 5),
    ("15", 15),
    ("30", 30),
    ("60", 60),
    ("120", 120),
    ("240", 240),
    ("360", 360),
    ("720", 720),
    ("D", 1_440),
];

/// Bits of a stream's number that tell the kind.
const KIND_BITS: u32 = 5;
const TRADES: u32 = DEPTHS.len() as u32;
const TICKER: u32 = TRADES + 1;
const FIRST_CANDLE: u32 = TICKER + 1;

/// What a topic tells of its symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A book, by its place in [`DEPTHS`].
    Book(usize),
    /// Each order's trades.
    Trades,
    /// The last 24 hours.
    Ticker,
    /// A candle, by its place in [`INTERVALS`].
    Candle(usize),
}

/// A topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Topic {
    pub symbol: SymbolId,
    pub kind: Kind,
}

impl Topic {
    /// By its name, such as `orderbook.50.BTCUSDT`.
    pub fn parse(name: &str, names: &Names) -> Option<Self> {
        let (kind, symbol) = name.rsplit_once('.')?;
        let kind = match kind.split_once('.') {
            None if kind == "publicTrade" => Kind::Trades,
            None if kind == "tickers" => Kind::Ticker,
            Some(("orderbook", depth)) => {
                let known = |(levels, _): &(usize, u64)| levels.to_string() == depth;
                Kind::Book(DEPTHS.iter().position(known)?)
            }
            Some(("kline", interval)) => {
                Kind::Candle(INTERVALS.iter().position(|(name, _)| *name == interval)?)
            }
            _ => return None,
        };
        let symbol = names.find(symbol)?;
        Some(Self { symbol, kind })
    }

    /// As clients write it.
    pub fn name(self, names: &Names) -> String {
        let symbol = names.of(self.symbol);
        match self.kind {
            Kind::Book(depth) => format!("orderbook.{}.{symbol}", DEPTHS[depth].0),
            Kind::Trades => format!("publicTrade.{symbol}"),
            Kind::Ticker => format!("tickers.{symbol}"),
            Kind::Candle(interval) => format!("kline.{}.{symbol}", INTERVALS[interval].0),
        }
    }

    /// The number of its stream.
    pub fn id(self) -> StreamId {
        let kind = match self.kind {
            Kind::Book(depth) => depth as u32,
            Kind::Trades => TRADES,
            Kind::Ticker => TICKER,
            Kind::Candle(interval) => FIRST_CANDLE + interval as u32,
        };
        StreamId(self.symbol.0 << KIND_BITS | kind)
    }

    /// The topic of a stream's number.
    pub fn of_id(stream: StreamId) -> Self {
        let kind = match stream.0 & ((1 << KIND_BITS) - 1) {
            TRADES => Kind::Trades,
            TICKER => Kind::Ticker,
            depth @ 0..TRADES => Kind::Book(depth as usize),
            candle => Kind::Candle((candle - FIRST_CANDLE) as usize),
        };
        Self {
            symbol: SymbolId(stream.0 >> KIND_BITS),
            kind,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::market::Market;
    use crate::market::{Arrivals, MarketConfig};
    use crate::time::ExchangeClock;

    #[test]
    fn every_topic_comes_back_from_its_name_and_from_its_number() {
        let config = MarketConfig::new(1, 3, Arrivals::Constant { rate_per_s: 1.0 });
        let market = Market::open(&config, ExchangeClock::right(0)).unwrap();
        let names = Names::new(&market, |instrument| instrument.base.clone());
        let kinds = (0..DEPTHS.len())
            .map(Kind::Book)
            .chain([Kind::Trades, Kind::Ticker])
            .chain((0..INTERVALS.len()).map(Kind::Candle));
        for kind in kinds {
            for symbol in market.ids() {
                let topic = Topic { symbol, kind };
                assert_eq!(Topic::of_id(topic.id()), topic);
                assert_eq!(Topic::parse(&topic.name(&names), &names), Some(topic));
            }
        }
        for name in [
            "",
            "BTC",
            "tickers.X",
            "orderbook.BTC",
            "orderbook.2.BTC",
            "kline.7.BTC",
        ] {
            assert_eq!(Topic::parse(name, &names), None, "{name}");
        }
    }
}
