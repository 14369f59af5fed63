//! The exchanges that can be asked for, and under which host names clients know them.

use crate::runtime::RuntimeConfig;
use feedbench_exchange::personality::{
    binance::Binance, binary::BinanceSbe, binary::Itch, bithumb::Bithumb,
    bithumb_global::BithumbGlobal, bybit::Bybit, coinbase::Coinbase,
    coinbase_advanced::CoinbaseAdvanced, fix::Dialect, gemini::Gemini,
    gemini_streams::GeminiStreams, kraken::Kraken,
};
use std::fmt;

/// The ports on which real exchanges serve WebSockets or REST.
pub const PORTS: [u16; 3] = [443, 9443, 80];

/// One exchange's way of speaking, by its name on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub enum Name {
    /// Binance spot: JSON streams and REST
    Binance,
    /// Coinbase Exchange: level2, ticker, matches, full; REST
    Coinbase,
    /// Coinbase Advanced Trade; REST
    CoinbaseAdvanced,
    /// Kraken v1 and v2, with book checksums; REST
    Kraken,
    /// Gemini v1 and v2; REST
    Gemini,
    /// Gemini's newer, Binance-shaped streams; the same REST
    GeminiStreams,
    /// Bithumb (Korea) 2.x; REST
    Bithumb,
    /// Bithumb Global, as it was in 2020
    BithumbGlobal,
    /// Bybit V5 spot: books, trades, tickers, candles; REST
    Bybit,
    /// Binance's SBE streams, which are binary; its REST
    BinanceSbe,
    /// Binary messages of fixed width like Nasdaq's ITCH, subscribed to as on Binance; its REST
    Itch,
}

impl Name {
    /// In the order in which ports are given out.
    pub const ALL: [Self; 11] = [
        Self::Binance,
        Self::Coinbase,
        Self::CoinbaseAdvanced,
        Self::Kraken,
        Self::Gemini,
        Self::GeminiStreams,
        Self::Bithumb,
        Self::BithumbGlobal,
        Self::Bybit,
        Self::BinanceSbe,
        Self::Itch,
    ];

    /// As in the ledger and in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Binance => "binance",
            Self::Coinbase => "coinbase",
            Self::CoinbaseAdvanced => "coinbase-advanced",
            Self::Kraken => "kraken",
            Self::Gemini => "gemini",
            Self::GeminiStreams => "gemini-streams",
            Self::Bithumb => "bithumb",
            Self::BithumbGlobal => "bithumb-global",
            Self::Bybit => "bybit",
            Self::BinanceSbe => "binance-sbe",
            Self::Itch => "itch",
        }
    }

    /// Adds the personality's door.
    pub fn door(self, config: RuntimeConfig) -> RuntimeConfig {
        match self {
            Self::Binance => config.door(Binance::new),
            Self::Coinbase => config.door(Coinbase::new),
            Self::CoinbaseAdvanced => config.door(CoinbaseAdvanced::new),
            Self::Kraken => config.door(Kraken::new),
            Self::Gemini => config.door(Gemini::new),
            Self::GeminiStreams => config.door(GeminiStreams::new),
            Self::Bithumb => config.door(Bithumb::new),
            Self::BithumbGlobal => config.door(BithumbGlobal::new),
            Self::Bybit => config.door(Bybit::new),
            Self::BinanceSbe => config.door(BinanceSbe::new),
            Self::Itch => config.door(Itch::new),
        }
    }

    /// Its FIX, if it has one.
    pub fn dialect(self) -> Option<Dialect> {
        match self {
            Self::Binance => Some(Dialect::Binance),
            Self::Coinbase => Some(Dialect::Coinbase),
            _ => None,
        }
    }

    /// All hosts that documented clients call, those of an exchange's former name included.
    pub fn hosts(self) -> &'static [&'static str] {
        match self {
            Self::Binance => &[
                "stream.binance.com",
                "data-stream.binance.vision",
                "api.binance.com",
                "api1.binance.com",
                "api2.binance.com",
                "api3.binance.com",
                "api4.binance.com",
                "api-gcp.binance.com",
                "data-api.binance.vision",
                // Called by cryptofeed 2.
                "www.binance.com",
            ],
            Self::Coinbase => &[
                "ws-feed.exchange.coinbase.com",
                "ws-direct.exchange.coinbase.com",
                "api.exchange.coinbase.com",
                // The former names, called by cryptofeed 2.
                "ws-feed.pro.coinbase.com",
                "api.pro.coinbase.com",
            ],
            Self::CoinbaseAdvanced => &["advanced-trade-ws.coinbase.com", "api.coinbase.com"],
            Self::Kraken => &["ws.kraken.com", "api.kraken.com"],
            Self::Gemini => &["api.gemini.com"],
            Self::GeminiStreams => &["ws.gemini.com"],
            Self::Bithumb => &[
                "ws-api.bithumb.com",
                "api.bithumb.com",
                "pubwss.bithumb.com",
            ],
            Self::BithumbGlobal => &["global-api.bithumb.pro", "global-openapi.bithumb.pro"],
            Self::Bybit => &["stream.bybit.com", "api.bybit.com"],
            Self::BinanceSbe => &["stream-sbe.binance.com"],
            // No exchange serves it.
            Self::Itch => &[],
        }
    }
}

/// What one port serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// As in the ledger and in reports.
    pub name: &'static str,
    /// Hosts in whose place it answers.
    pub hosts: &'static [&'static str],
}

impl Place {
    /// A recording, in the place of the exchange whose recordings have books and streams, unless that one is there.
    pub fn replay(others: &[Name]) -> Self {
        let is_free = !others.contains(&Name::Binance);
        Self {
            name: "replay",
            hosts: if is_free { Name::Binance.hosts() } else { &[] },
        }
    }
}

impl From<Name> for Place {
    fn from(name: Name) -> Self {
        Self {
            name: name.as_str(),
            hosts: name.hosts(),
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ValueEnum;

    #[test]
    fn each_host_stands_for_one_personality() {
        let mut hosts: Vec<&str> = Name::ALL
            .iter()
            .flat_map(|name| name.hosts())
            .copied()
            .collect();
        let count = hosts.len();
        hosts.sort_unstable();
        hosts.dedup();
        assert_eq!(hosts.len(), count);
    }

    #[test]
    fn all_can_be_asked_for_by_name() {
        assert_eq!(Name::value_variants(), Name::ALL);
        for name in Name::ALL {
            assert_eq!(Name::from_str(name.as_str(), false), Ok(name));
        }
    }
}
