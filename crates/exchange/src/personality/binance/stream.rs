//! Names of streams, and their numbers.

use super::super::StreamId;
use crate::time::{Calendar, DAY_NS, SECOND_NS};
use std::collections::HashMap;

/// What a stream tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Each trade.
    Trade,
    /// Each price at which a taker traded.
    AggTrade,
    /// Each change of the best prices or their quantities.
    BookTicker,
    /// Changes of the book, every second or (`fast`) every 100 ms.
    Depth {
        /// Every 100 ms.
        fast: bool,
    },
    /// The best levels.
    Levels {
        /// 5, 10 or 20.
        count: usize,
        /// Every 100 ms.
        fast: bool,
    },
    /// 24 hours, all fields.
    Ticker,
    /// 24 hours, few fields.
    MiniTicker,
    /// Mean price of five minutes.
    AvgPrice,
    /// 1, 4 or 24 hours.
    WindowTicker {
        /// Length of the window.
        hours: u64,
    },
    /// Candles.
    Kline {
        /// Which length, and where days begin.
        interval: Interval,
    },
    /// The mini tickers of all symbols that changed.
    AllMiniTickers,
}

/// Length of a candle, and the zone in which its days begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    index: usize,
    /// Days begin at midnight in UTC+8 rather than UTC.
    pub east: bool,
}

/// Name and length in seconds; weeks and months are worked out by the calendar.
const INTERVALS: [(&str, u64); 16] = [
    ("1s", 1),
    ("1m", 60),
    ("3m", 180),
    ("5m", 300),
    ("15m", 900),
    ("30m", 1_800),
    ("1h", 3_600),
    ("2h", 7_200),
    ("4h", 14_400),
    ("6h", 21_600),
    ("8h", 28_800),
    ("12h", 43_200),
    ("1d", 86_400),
    ("3d", 259_200),
    ("1w", 604_800),
    ("1M", 2_678_400),
];

const EAST_NS: u64 = 8 * 3_600 * SECOND_NS;

impl Interval {
    /// By name: `1m`, or `1d@+08:00`.
    pub fn parse(name: &str) -> Option<Self> {
        let (name, east) = match name.strip_suffix("@+08:00") {
            Some(name) => (name, true),
            None => (name, false),
        };
        let index = INTERVALS
            .iter()
            .position(|(interval, _)| *interval == name)?;
        Some(Self { index, east })
    }

    /// The name, without the zone.
    pub fn name(self) -> &'static str {
        INTERVALS[self.index].0
    }

    /// Beginning of the candle in which a moment of Unix time lies, and the beginning of the next.
    pub fn bounds(self, unix_ns: u64) -> (u64, u64) {
        let shift_ns = if self.east { EAST_NS } else { 0 };
        let local_ns = unix_ns + shift_ns;
        let (start, end) = match self.name() {
            "1w" => {
                // 1970 began on a Thursday; weeks begin on Monday, three days before.
                let week_ns = 7 * DAY_NS;
                let start = (local_ns + 3 * DAY_NS) / week_ns * week_ns;
                (start.saturating_sub(3 * DAY_NS), start + 4 * DAY_NS)
            }
            "1M" => {
                let first =
                    |at_ns: u64| at_ns - at_ns % DAY_NS - (Calendar::of(at_ns).day - 1) * DAY_NS;
                let start = first(local_ns);
                (start, first(start + 31 * DAY_NS))
            }
            _ => {
                let length_ns = INTERVALS[self.index].1 * SECOND_NS;
                let start = local_ns / length_ns * length_ns;
                (start, start + length_ns)
            }
        };
        (start.saturating_sub(shift_ns), end - shift_ns)
    }

    /// All intervals in both zones.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..INTERVALS.len()).flat_map(|index| [false, true].map(|east| Self { index, east }))
    }
}

/// A stream of one symbol, or of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    /// Number of the symbol; zero where the stream is of all.
    pub symbol: u32,
    /// What it tells.
    pub kind: Kind,
}

impl Stream {
    /// By its name: `btcusdt@depth@100ms`. Names are in lower case, as the exchange wants them.
    pub fn parse(name: &str, symbols: &HashMap<String, u32>) -> Option<Self> {
        if name == "!miniTicker@arr" {
            return Some(Self {
                symbol: 0,
                kind: Kind::AllMiniTickers,
            });
        }
        let (symbol, kind) = name.split_once('@')?;
        let symbol = *symbols.get(symbol)?;
        let (plain, fast) = match kind.strip_suffix("@100ms") {
            Some(plain) => (plain, true),
            None => (kind.strip_suffix("@1000ms").unwrap_or(kind), false),
        };
        let kind = match (plain, fast) {
            ("depth", fast) => Kind::Depth { fast },
            ("depth5", fast) => Kind::Levels { count: 5, fast },
            ("depth10", fast) => Kind::Levels { count: 10, fast },
            ("depth20", fast) => Kind::Levels { count: 20, fast },
            ("trade", false) => Kind::Trade,
            ("aggTrade", false) => Kind::AggTrade,
            ("bookTicker", false) => Kind::BookTicker,
            ("ticker", false) => Kind::Ticker,
            ("miniTicker", false) => Kind::MiniTicker,
            ("avgPrice", false) => Kind::AvgPrice,
            ("ticker_1h", false) => Kind::WindowTicker { hours: 1 },
            ("ticker_4h", false) => Kind::WindowTicker { hours: 4 },
            ("ticker_1d", false) => Kind::WindowTicker { hours: 24 },
            (other, false) => Kind::Kline {
                interval: Interval::parse(other.strip_prefix("kline_")?)?,
            },
            _ => return None,
        };
        Some(Self { symbol, kind })
    }

    /// Number of the stream as a connection with these settings gets it.
    pub fn id(self, combined: bool, microseconds: bool) -> StreamId {
        let kind = match self.kind {
            Kind::Trade => 0,
            Kind::AggTrade => 1,
            Kind::BookTicker => 2,
            Kind::Depth { fast } => 3 + u32::from(fast),
            Kind::Levels { count, fast } => 5 + u32::from(fast) + 2 * (count as u32 / 10),
            Kind::Ticker => 11,
            Kind::MiniTicker => 12,
            Kind::AvgPrice => 13,
            Kind::WindowTicker { hours } => 14 + (hours / 4).min(2) as u32,
            Kind::AllMiniTickers => 18,
            Kind::Kline { interval } => 20 + 2 * interval.index as u32 + u32::from(interval.east),
        };
        StreamId(self.symbol << 8 | kind << 2 | u32::from(microseconds) << 1 | u32::from(combined))
    }

    /// The stream of a number that [`Stream::id`] gave.
    pub fn of_id(id: StreamId) -> Self {
        let kind = match id.0 >> 2 & 63 {
            0 => Kind::Trade,
            1 => Kind::AggTrade,
            2 => Kind::BookTicker,
            depth @ 3..=4 => Kind::Depth { fast: depth == 4 },
            levels @ 5..=10 => Kind::Levels {
                count: [5, 10, 20][(levels as usize - 5) / 2],
                fast: levels % 2 == 0,
            },
            11 => Kind::Ticker,
            12 => Kind::MiniTicker,
            13 => Kind::AvgPrice,
            window @ 14..=16 => Kind::WindowTicker {
                hours: [1, 4, 24][window as usize - 14],
            },
            18 => Kind::AllMiniTickers,
            kline => Kind::Kline {
                interval: Interval {
                    index: (kline as usize - 20) / 2,
                    east: kline % 2 == 1,
                },
            },
        };
        Self {
            symbol: id.0 >> 8,
            kind,
        }
    }

    /// The name under which combined streams carry it.
    pub fn write_name(self, lower: &str, out: &mut Vec<u8>) {
        use crate::encode::Encode;
        let pace = |fast| if fast { "@100ms" } else { "" };
        if self.kind != Kind::AllMiniTickers {
            out.text(lower).text("@");
        }
        match self.kind {
            Kind::Trade => out.text("trade"),
            Kind::AggTrade => out.text("aggTrade"),
            Kind::BookTicker => out.text("bookTicker"),
            Kind::Depth { fast } => out.text("depth").text(pace(fast)),
            Kind::Levels { count, fast } => out.text("depth").number(count as u64).text(pace(fast)),
            Kind::Ticker => out.text("ticker"),
            Kind::MiniTicker => out.text("miniTicker"),
            Kind::AvgPrice => out.text("avgPrice"),
            Kind::WindowTicker { hours: 24 } => out.text("ticker_1d"),
            Kind::WindowTicker { hours } => out.text("ticker_").number(hours).text("h"),
            Kind::Kline { interval } => out
                .text("kline_")
                .text(interval.name())
                .text(if interval.east { "@+08:00" } else { "" }),
            Kind::AllMiniTickers => out.text("!miniTicker@arr"),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn names() -> Vec<String> {
        let mut kinds: Vec<String> = [
            "trade",
            "aggTrade",
            "bookTicker",
            "ticker",
            "miniTicker",
            "avgPrice",
        ]
        .into_iter()
        .chain([
            "depth",
            "depth@100ms",
            "depth5",
            "depth5@100ms",
            "depth10",
            "depth10@100ms",
        ])
        .chain([
            "depth20",
            "depth20@100ms",
            "ticker_1h",
            "ticker_4h",
            "ticker_1d",
        ])
        .map(str::to_owned)
        .collect();
        kinds.extend(INTERVALS.iter().map(|(name, _)| format!("kline_{name}")));
        kinds.extend(
            INTERVALS
                .iter()
                .map(|(name, _)| format!("kline_{name}@+08:00")),
        );
        let mut names: Vec<String> = kinds
            .iter()
            .flat_map(|kind| ["btcusdt", "ethusdt"].map(|symbol| format!("{symbol}@{kind}")))
            .collect();
        names.push("!miniTicker@arr".to_owned());
        names
    }

    #[test]
    fn each_name_has_a_number_of_its_own_and_reads_back() {
        let symbols = HashMap::from([("btcusdt".to_owned(), 0), ("ethusdt".to_owned(), 1)]);
        let mut seen = HashSet::new();
        for name in names() {
            let stream = Stream::parse(&name, &symbols).unwrap_or_else(|| panic!("{name}"));
            for (combined, microseconds) in
                [(false, false), (false, true), (true, false), (true, true)]
            {
                assert!(
                    seen.insert(stream.id(combined, microseconds)),
                    "{name} shares its number"
                );
                assert_eq!(
                    Stream::of_id(stream.id(combined, microseconds)),
                    stream,
                    "{name}"
                );
            }
            let mut written = Vec::new();
            stream.write_name(["btcusdt", "ethusdt"][stream.symbol as usize], &mut written);
            assert_eq!(String::from_utf8(written).unwrap(), name);
        }
        for unknown in [
            "BTCUSDT@trade",
            "btcusdt",
            "btcusdt@",
            "xrpusdt@trade",
            "btcusdt@trade@100ms",
            "!ticker@arr",
            "",
        ] {
            assert_eq!(Stream::parse(unknown, &symbols), None, "{unknown}");
        }
    }

    #[test]
    fn candles_begin_where_the_calendar_says() {
        let bounds = |name: &str, unix_s: u64| {
            let (start, end) = Interval::parse(name).unwrap().bounds(unix_s * SECOND_NS);
            (start / SECOND_NS, end / SECOND_NS)
        };
        let saturday = 1_618_677_817; // 2021-04-17 16:43:37
        assert_eq!(bounds("1m", saturday), (1_618_677_780, 1_618_677_840));
        assert_eq!(
            bounds("1w", saturday),
            (1_618_185_600, 1_618_790_400),
            "Monday to Monday"
        );
        assert_eq!(
            bounds("1M", saturday),
            (1_617_235_200, 1_619_827_200),
            "the whole of April"
        );
        assert_eq!(
            bounds("1d@+08:00", saturday),
            (1_618_675_200, 1_618_761_600),
            "already the 18th there"
        );
    }
}
