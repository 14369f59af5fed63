//! Candles, and the statistics of the last 24 hours that tickers show.

use super::{Lots, Side, Ticks, Trade};
use crate::time::SECOND_NS;
use std::collections::VecDeque;

/// What happened in a span of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candle {
    /// First price.
    pub open: Ticks,
    /// Highest price.
    pub high: Ticks,
    /// Lowest price.
    pub low: Ticks,
    /// Last price.
    pub close: Ticks,
    /// Sum of quantities.
    pub volume: Lots,
    /// Sum of price × quantity, in ticks × lots.
    pub turnover: u128,
    /// Sum of quantities of which the taker was the buyer.
    pub taker_buy_volume: Lots,
    /// Sum of price × quantity of which the taker was the buyer.
    pub taker_buy_turnover: u128,
    /// Number of the first trade.
    pub first_trade: u64,
    /// Number of the last trade.
    pub last_trade: u64,
}

impl Candle {
    /// A span without a trade, at the price before it; `last_trade` is below `first_trade`.
    pub fn still(price: Ticks, next_trade: u64) -> Self {
        Self {
            open: price,
            high: price,
            low: price,
            close: price,
            volume: 0,
            turnover: 0,
            taker_buy_volume: 0,
            taker_buy_turnover: 0,
            first_trade: next_trade,
            last_trade: next_trade - 1,
        }
    }

    fn of(trade: &Trade) -> Self {
        let turnover = u128::from(trade.fill.price) * u128::from(trade.fill.quantity);
        let bought = trade.side == Side::Bid;
        Self {
            volume: trade.fill.quantity,
            turnover,
            taker_buy_volume: if bought { trade.fill.quantity } else { 0 },
            taker_buy_turnover: if bought { turnover } else { 0 },
            last_trade: trade.fill.trade,
            ..Self::still(trade.fill.price, trade.fill.trade)
        }
    }

    /// This span followed by a later one that has trades.
    fn then(&mut self, later: &Self) {
        if self.trades() == 0 {
            *self = *later;
            return;
        }
        self.high = self.high.max(later.high);
        self.low = self.low.min(later.low);
        self.close = later.close;
        self.volume += later.volume;
        self.turnover += later.turnover;
        self.taker_buy_volume += later.taker_buy_volume;
        self.taker_buy_turnover += later.taker_buy_turnover;
        self.last_trade = later.last_trade;
    }

    /// How many trades.
    pub fn trades(&self) -> u64 {
        self.last_trade + 1 - self.first_trade
    }
}

const MINUTE_NS: u64 = 60 * SECOND_NS;
const DAY_MINUTES: u64 = 1_440;

/// Candles of the last 24 hours by the minute, and of the last two minutes by the second.
///
/// The 24-hour window slides minute by minute, as tickers need no finer step; spans without a trade take no room.
/// Minutes are those of true Unix time, as candles of real exchanges are.
#[derive(Clone, Debug, Default)]
pub struct Statistics {
    opened_unix_ns: u64,
    /// (number of the minute since 1970, candle), oldest first.
    minutes: VecDeque<(u64, Candle)>,
    seconds: VecDeque<(u64, Candle)>,
    /// All minutes but the last, added up.
    settled: Option<Candle>,
    last: Option<Trade>,
}

impl Statistics {
    /// Of a market that opened at this time.
    pub fn new(opened_unix_ns: u64) -> Self {
        Self {
            opened_unix_ns,
            ..Self::default()
        }
    }

    /// The market opens at another time than was said when it was made; nothing but its first trade was counted yet.
    pub fn set_opening(&mut self, opened_unix_ns: u64) {
        self.opened_unix_ns = opened_unix_ns;
        self.minutes.clear();
        self.seconds.clear();
        self.settled = None;
        if let Some(first) = self.last.take() {
            self.add(&first);
        }
    }

    /// Counts a trade.
    pub fn add(&mut self, trade: &Trade) {
        let candle = Candle::of(trade);
        let unix_ns = self.opened_unix_ns + trade.matched_ns;
        add_to(&mut self.seconds, unix_ns / SECOND_NS, candle, 120);
        if add_to(&mut self.minutes, unix_ns / MINUTE_NS, candle, DAY_MINUTES) {
            let settled = self.minutes.len() - 1;
            self.settled = sum(self.minutes.iter().take(settled));
        }
        self.last = Some(*trade);
    }

    /// The last trade; there is one from the opening on.
    pub fn last(&self) -> &Trade {
        self.last.as_ref().expect("the market opens with a trade")
    }

    /// The 24 hours up to the last trade.
    pub fn day(&self) -> Candle {
        let (_, current) = self.minutes.back().expect("the market opens with a trade");
        match self.settled {
            Some(mut day) => {
                day.then(current);
                day
            }
            None => *current,
        }
    }

    /// The span of Unix time from one moment (a whole minute, or a whole second of the last two minutes) until before
    /// another.
    pub fn span(&self, from_unix_ns: u64, until_unix_ns: u64) -> Candle {
        let whole_minutes = from_unix_ns % MINUTE_NS == 0 && until_unix_ns % MINUTE_NS == 0;
        let (candles, unit_ns) = if whole_minutes {
            (&self.minutes, MINUTE_NS)
        } else {
            (&self.seconds, SECOND_NS)
        };
        let from = from_unix_ns / unit_ns;
        let until = until_unix_ns.div_ceil(unit_ns);
        let before = candles.iter().rev().find(|(number, _)| *number < from);
        sum(candles
            .iter()
            .filter(|(number, _)| (from..until).contains(number)))
        .unwrap_or_else(|| match before {
            Some((_, candle)) => Candle::still(candle.close, candle.last_trade + 1),
            None => Candle::still(self.last().fill.price, self.last().fill.trade + 1),
        })
    }
}

/// Adds to the last candle or begins the next; true if one began. Forgets candles `keep` units old.
fn add_to(candles: &mut VecDeque<(u64, Candle)>, number: u64, candle: Candle, keep: u64) -> bool {
    match candles.back_mut() {
        Some((last, current)) if *last == number => {
            current.then(&candle);
            false
        }
        _ => {
            candles.push_back((number, candle));
            while candles
                .front()
                .is_some_and(|(first, _)| first + keep <= number)
            {
                candles.pop_front();
            }
            true
        }
    }
}

fn sum<'a>(candles: impl Iterator<Item = &'a (u64, Candle)>) -> Option<Candle> {
    candles
        .map(|(_, candle)| *candle)
        .reduce(|mut total, candle| {
            total.then(&candle);
            total
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::market::Fill;

    fn trade(number: u64, matched_ns: u64, price: Ticks, quantity: Lots) -> Trade {
        let fill = Fill {
            trade: number,
            aggregate: number,
            maker: 1,
            price,
            quantity,
            maker_remaining: 0,
        };
        Trade {
            fill,
            taker: 2,
            side: if number % 2 == 0 {
                Side::Bid
            } else {
                Side::Ask
            },
            sequence: number,
            matched_ns,
        }
    }

    #[test]
    fn the_day_forgets_what_is_older() {
        let mut statistics = Statistics::default();
        statistics.add(&trade(1, 0, 500, 7));
        statistics.add(&trade(2, MINUTE_NS, 100, 2));
        statistics.add(&trade(3, MINUTE_NS + 1, 110, 3));
        let day = statistics.day();
        assert_eq!(
            (day.open, day.high, day.low, day.close, day.volume),
            (500, 500, 100, 110, 12)
        );
        assert_eq!(
            (day.turnover, day.taker_buy_volume, day.trades()),
            (3_500 + 200 + 330, 2, 3)
        );
        statistics.add(&trade(4, DAY_MINUTES * MINUTE_NS, 120, 1));
        let day = statistics.day();
        assert_eq!(
            (
                day.open,
                day.high,
                day.volume,
                day.first_trade,
                day.last_trade
            ),
            (100, 120, 6, 2, 4)
        );
    }

    #[test]
    fn spans_add_up_their_trades_and_stand_still_without() {
        let mut statistics = Statistics::default();
        statistics.add(&trade(1, 5, 500, 7));
        statistics.add(&trade(2, SECOND_NS, 400, 2));
        let second = statistics.span(SECOND_NS, 2 * SECOND_NS);
        assert_eq!((second.open, second.volume, second.trades()), (400, 2, 1));
        let minute = statistics.span(0, MINUTE_NS);
        assert_eq!((minute.open, minute.close, minute.trades()), (500, 400, 2));
        let still = statistics.span(MINUTE_NS, 2 * MINUTE_NS);
        assert_eq!(
            (still.open, still.volume, still.trades(), still.first_trade),
            (400, 0, 0, 3)
        );
    }
}
