//! What a market is made of, as a value that a scenario can hold.

use super::{Arrivals, Instrument, Publication};
use serde::{Deserialize, Serialize};

/// How often each kind of event happens, as weights, and how deep the books are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mix {
    /// Weight of new limit orders.
    pub limit: u32,
    /// Weight of market orders, each of which makes one or more trades.
    pub market: u32,
    /// Weight of cancels while the book is at its usual depth; more when deeper, fewer when shallower.
    pub cancel: u32,
    /// Orders that usually rest in a book, both sides together.
    pub resting_orders: u32,
    /// How far from the best price orders are placed at most, in ticks.
    pub reach_ticks: u64,
}

impl Default for Mix {
    /// The Binance recording of 2024-08-08 has a trade in about one of nine changes of the book.
    fn default() -> Self {
        Self {
            limit: 50,
            market: 8,
            cancel: 42,
            resting_orders: 1_000,
            reach_ticks: 2_000,
        }
    }
}

/// Everything that decides which events a market makes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MarketConfig {
    /// Same seed, same events.
    pub seed: u64,
    /// One book for each.
    pub instruments: Vec<Instrument>,
    /// When events happen; the rate is shared equally among the instruments.
    pub arrivals: Arrivals,
    /// What happens.
    pub mix: Mix,
    /// How long the exchange takes to publish what happened.
    pub publication: Publication,
}

impl MarketConfig {
    /// `symbols` made-up instruments under one arrival process, everything else as usual.
    pub fn new(seed: u64, symbols: usize, arrivals: Arrivals) -> Self {
        Self {
            seed,
            instruments: (0..symbols).map(Instrument::numbered).collect(),
            arrivals,
            mix: Mix::default(),
            publication: Publication::default(),
        }
    }

    /// Says what is wrong with a configuration that no market can be made of.
    pub fn check(&self) -> Result<(), ConfigError> {
        if self.instruments.is_empty() {
            return Err(ConfigError::NoInstruments);
        }
        for (index, instrument) in self.instruments.iter().enumerate() {
            let name = || format!("{}/{}", instrument.base, instrument.quote);
            if self.instruments[..index]
                .iter()
                .any(|i| (&i.base, &i.quote) == (&instrument.base, &instrument.quote))
            {
                return Err(ConfigError::Twice(name()));
            }
            let letters = |text: &str| {
                !text.is_empty()
                    && text
                        .bytes()
                        .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit())
            };
            if !letters(&instrument.base) || !letters(&instrument.quote) {
                return Err(ConfigError::Name(name()));
            }
            // Exchanges print at most eight decimals; 10^12 of a unit leaves room for sums in 64 bits.
            let decimals = instrument.price_decimals.max(instrument.quantity_decimals);
            let amounts = [instrument.opening_price, instrument.typical_quantity];
            if decimals > 8
                || amounts
                    .iter()
                    .any(|&amount| amount == 0 || amount > 1_000_000_000_000)
            {
                return Err(ConfigError::Units(name()));
            }
        }
        let rate = self.arrivals.rate_per_s();
        if !(rate.is_finite() && (1e-6..=1e9).contains(&rate)) {
            return Err(ConfigError::Rate(rate));
        }
        if let Arrivals::Hawkes {
            branching_ratio,
            decay_per_s,
            ..
        } = self.arrivals
        {
            let possible = (0.0..1.0).contains(&branching_ratio)
                && decay_per_s.is_finite()
                && decay_per_s > 0.0;
            if !possible {
                return Err(ConfigError::Hawkes {
                    branching_ratio,
                    decay_per_s,
                });
            }
        }
        if self.mix.limit == 0 || self.mix.resting_orders == 0 || self.mix.reach_ticks == 0 {
            return Err(ConfigError::Mix);
        }
        Ok(())
    }
}

/// Why a configuration makes no market.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ConfigError {
    /// Nothing to trade.
    #[error("a market needs at least one instrument")]
    NoInstruments,
    /// Two instruments share a name.
    #[error("the instrument {0} is listed twice")]
    Twice(String),
    /// A name that streams and paths could not carry.
    #[error("the instrument {0:?} needs names of capital letters and digits")]
    Name(String),
    /// Prices or quantities out of range.
    #[error("the instrument {0} needs at most 8 decimals, and an opening price and typical quantity of 1 to 10^12 units")]
    Units(String),
    /// A rate that is no rate.
    #[error("an arrival rate of {0} events/s is not between 0.000001 and 1,000,000,000")]
    Rate(f64),
    /// A process that would not stay finite.
    #[error("a Hawkes process needs 0 <= branching_ratio < 1 and decay_per_s > 0, not {branching_ratio} and {decay_per_s}")]
    Hawkes {
        /// As given.
        branching_ratio: f64,
        /// As given.
        decay_per_s: f64,
    },
    /// Books that could never fill.
    #[error("the event mix needs limit, resting_orders and reach_ticks above zero")]
    Mix,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_impossible_market_is_refused_with_its_reason() {
        let good = MarketConfig::new(1, 2, Arrivals::Poisson { rate_per_s: 10.0 });
        assert_eq!(good.check(), Ok(()));
        let refused = |change: &dyn Fn(&mut MarketConfig)| {
            let mut config = good.clone();
            change(&mut config);
            config.check().unwrap_err()
        };
        assert_eq!(
            refused(&|c| c.instruments.clear()),
            ConfigError::NoInstruments
        );
        assert_eq!(
            refused(&|c| c.instruments[1] = c.instruments[0].clone()),
            ConfigError::Twice("BTC/USD".into())
        );
        assert_eq!(
            refused(&|c| c.instruments[0].base = "b\"".into()),
            ConfigError::Name("b\"/USD".into())
        );
        assert_eq!(
            refused(&|c| c.instruments[0].price_decimals = 9),
            ConfigError::Units("BTC/USD".into())
        );
        assert_eq!(
            refused(&|c| c.instruments[0].opening_price = 0),
            ConfigError::Units("BTC/USD".into())
        );
        assert_eq!(
            refused(&|c| c.arrivals = Arrivals::Poisson { rate_per_s: 0.0 }),
            ConfigError::Rate(0.0)
        );
        let runaway = Arrivals::Hawkes {
            rate_per_s: 1.0,
            branching_ratio: 1.0,
            decay_per_s: 1.0,
        };
        assert!(matches!(
            refused(&|c| c.arrivals = runaway),
            ConfigError::Hawkes { .. }
        ));
        assert_eq!(refused(&|c| c.mix.limit = 0), ConfigError::Mix);
    }

    #[test]
    fn a_configuration_survives_json_and_refuses_unknown_keys() {
        let config = MarketConfig::new(
            1,
            2,
            Arrivals::Hawkes {
                rate_per_s: 5.0,
                branching_ratio: 0.5,
                decay_per_s: 9.0,
            },
        );
        let text = serde_json::to_string(&config).unwrap();
        assert_eq!(serde_json::from_str::<MarketConfig>(&text).unwrap(), config);
        assert!(
            serde_json::from_str::<MarketConfig>(&text.replace("\"seed\"", "\"sead\"")).is_err()
        );
    }
}
