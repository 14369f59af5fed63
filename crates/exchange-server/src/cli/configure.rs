//! From the command line, and the file it may name, to a runtime's configuration.

use super::fault::Fault;
use super::market_file::MarketFile;
use super::{ArrivalKind, Cli, PacingKind};
use anyhow::{ensure, Context, Result};
use feedbench_exchange::faults::FaultPlan;
use feedbench_exchange::market::{Arrivals, Instrument, MarketConfig};
use feedbench_exchange::personality::fix::Fix;
use feedbench_exchange_server::runtime::{Limit, Pacing, RuntimeConfig};
use serde::Deserialize;
use std::str::FromStr;

const USUAL_SYMBOLS: usize = 10;
const MOST_SYMBOLS: usize = 10_000;
const USUAL_RATE_PER_S: f64 = 1_000.0;
const USUAL_BRANCHING_RATIO: f64 = 0.6;
const USUAL_DECAY_PER_S: f64 = 10.0;
const USUAL_SEED: u64 = 1;

/// How many symbols, or which.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Symbols {
    /// The first of a made-up list: BTC, ETH, SOL, …
    Count(usize),
    /// `BTC` or `ETH/EUR`.
    Named(Vec<String>),
}

impl FromStr for Symbols {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let symbols = match text.parse() {
            Ok(count) => Self::Count(count),
            Err(_) => Self::Named(text.split(',').map(|name| name.trim().to_owned()).collect()),
        };
        symbols.instruments()?;
        Ok(symbols)
    }
}

impl Symbols {
    /// What they stand for.
    pub fn instruments(&self) -> Result<Vec<Instrument>> {
        match self {
            Self::Count(count) => {
                ensure!(
                    (1..=MOST_SYMBOLS).contains(count),
                    "{count} symbols: 1 to {MOST_SYMBOLS} are possible"
                );
                Ok((0..*count).map(Instrument::numbered).collect())
            }
            Self::Named(names) => names.iter().map(|name| instrument(name)).collect(),
        }
    }
}

/// An instrument by its name, with the units of a well-known one of the same base, or usual ones.
fn instrument(name: &str) -> Result<Instrument> {
    let (base, quote) = name.split_once('/').unwrap_or((name, "USD"));
    let is_word = |word: &str| {
        !word.is_empty()
            && word
                .bytes()
                .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
    };
    ensure!(
        is_word(base) && is_word(quote),
        "{name:?} is no symbol: write BTC or BTC/USD, in capital letters"
    );
    let known = (0..MOST_SYMBOLS)
        .map(Instrument::numbered)
        .find(|known| known.base == base);
    let units = known.unwrap_or_else(|| Instrument::numbered(MOST_SYMBOLS));
    Ok(Instrument {
        base: base.to_owned(),
        quote: quote.to_owned(),
        ..units
    })
}

impl Cli {
    /// What the runtime is told, apart from its doors.
    pub fn runtime(&self) -> Result<RuntimeConfig> {
        let file = match &self.market {
            Some(path) => MarketFile::read(path)?,
            None => MarketFile::default(),
        };
        let names = self.personalities();
        let market = (!names.is_empty())
            .then(|| self.market_config(&file))
            .transpose()?;
        let mut config = RuntimeConfig::new(market);
        let faults = || file.faults.iter().chain(&self.fault);
        config.faults = FaultPlan {
            seed: self.fault_seed.or(file.fault_seed).unwrap_or(USUAL_SEED),
            ..FaultPlan::default()
        };
        faults().for_each(|fault| fault.apply(&mut config.faults));
        for fault in faults() {
            if let Fault::Clock { skew_ns, drift_ppb } = fault {
                (config.clock_skew_ns, config.clock_drift_ppb) = (*skew_ns, *drift_ppb);
            }
        }
        if let Some(seconds) = self.opened_unix {
            let unix_ns = seconds.checked_mul(1_000_000_000);
            config.opened_unix_ns = Some(unix_ns.context("--opened-unix is too far ahead")?);
        }
        config.pacing = match self.pacing {
            PacingKind::Hybrid => Pacing::Hybrid {
                spin_lead_ns: self.spin_lead,
            },
            PacingKind::Spin => Pacing::Spin,
            PacingKind::Unpaced => Pacing::Unpaced,
        };
        config.cpu = self.cpu;
        config.ledger.clone_from(&self.ledger);
        config.send_buffer_bytes = self.send_buffer;
        config.queue_bytes = self.queue;
        config.slice_ns = self.slice;
        config.slice_seed = self.seed.or(file.seed).unwrap_or(USUAL_SEED);
        config.limit = Limit {
            duration_ns: self.duration,
            events: self.events,
        };
        config.wait_for_subscribers = self.wait_for;
        config = names
            .into_iter()
            .fold(config, |config, name| name.door(config));
        if let Some(path) = &self.replay {
            let replay = super::replay::read(path, self.speed, self.rounds)?;
            config = config.door(move |_| replay);
        }
        let fix = super::fix::config(self)?;
        for dialect in self.dialects() {
            let fix = fix.clone();
            config = config.door(move |market| Fix::new(dialect, fix, market));
        }
        Ok(config)
    }

    fn market_config(&self, file: &MarketFile) -> Result<MarketConfig> {
        let seed = self.seed.or(file.seed).unwrap_or(USUAL_SEED);
        let mut market = MarketConfig::new(seed, 0, self.arrivals(file.arrivals)?);
        market.instruments = match (&self.symbols, &file.symbols) {
            (Some(symbols), _) => symbols.instruments()?,
            (None, Some(symbols)) => symbols.instruments()?,
            (None, None) if !file.instruments.is_empty() => file.instruments.clone(),
            (None, None) => Symbols::Count(USUAL_SYMBOLS).instruments()?,
        };
        market.mix = file.mix.unwrap_or_default();
        market.publication = file.publication.unwrap_or_default();
        market.check().context("no market can be made of this")?;
        Ok(market)
    }

    fn arrivals(&self, file: Option<Arrivals>) -> Result<Arrivals> {
        let usual = Arrivals::Poisson {
            rate_per_s: USUAL_RATE_PER_S,
        };
        let given = file.unwrap_or(usual);
        let rate_per_s = self.rate.unwrap_or(given.rate_per_s());
        let kind = self.arrivals.unwrap_or(match given {
            Arrivals::Constant { .. } => ArrivalKind::Constant,
            Arrivals::Poisson { .. } => ArrivalKind::Poisson,
            Arrivals::Hawkes { .. } => ArrivalKind::Hawkes,
        });
        let (branching_ratio, decay_per_s) = match given {
            Arrivals::Hawkes {
                branching_ratio,
                decay_per_s,
                ..
            } => (branching_ratio, decay_per_s),
            _ => (USUAL_BRANCHING_RATIO, USUAL_DECAY_PER_S),
        };
        ensure!(
            kind == ArrivalKind::Hawkes || (self.branching_ratio.is_none() && self.decay.is_none()),
            "--branching-ratio and --decay belong to --arrivals hawkes"
        );
        Ok(match kind {
            ArrivalKind::Constant => Arrivals::Constant { rate_per_s },
            ArrivalKind::Poisson => Arrivals::Poisson { rate_per_s },
            ArrivalKind::Hawkes => Arrivals::Hawkes {
                rate_per_s,
                branching_ratio: self.branching_ratio.unwrap_or(branching_ratio),
                decay_per_s: self.decay.unwrap_or(decay_per_s),
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    fn configured(line: &str) -> Result<RuntimeConfig> {
        Cli::try_parse_from(line.split(' '))?.runtime()
    }

    #[test]
    fn the_command_line_goes_before_the_file() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let text = "schema = 1\nseed = 7\nsymbols = 3\nfaults = [\"gap:every=5\"]\n\
                    arrivals = { kind = \"constant\", rate_per_s = 50 }";
        std::fs::write(file.path(), text).unwrap();
        let line = format!(
            "x --market {} --seed 9 --rate 70 --fault clock:skew=1s",
            file.path().display()
        );
        let config = configured(&line).unwrap();
        let market = config.market.unwrap();
        assert_eq!((market.seed, market.instruments.len()), (9, 3));
        assert_eq!(market.arrivals, Arrivals::Constant { rate_per_s: 70.0 });
        assert_eq!(
            (config.faults.messages.len(), config.clock_skew_ns),
            (1, 1_000_000_000)
        );
        assert_eq!(
            config.doors.len(),
            feedbench_exchange_server::personalities::Name::ALL.len()
        );
    }

    #[test]
    fn symbols_have_the_units_of_their_base() {
        let named = Symbols::from_str("BTC,ETH/EUR,XYZ").unwrap();
        let instruments = named.instruments().unwrap();
        assert_eq!(instruments[0], Instrument::numbered(0));
        assert_eq!(
            (instruments[1].quote.as_str(), instruments[1].price_decimals),
            ("EUR", 2)
        );
        assert_eq!(instruments[2].base, "XYZ");
        for wrong in ["0", "btc", "BTC,", "100000", "BTC/"] {
            assert!(Symbols::from_str(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_cannot_be_is_refused_before_anything_starts() {
        for (line, words) in [
            ("x --rate 0", "arrival rate"),
            ("x --rate nan", "arrival rate"),
            ("x --decay 5", "hawkes"),
            ("x --arrivals hawkes --branching-ratio 1", "branching_ratio"),
            ("x --symbols BTC,BTC", "twice"),
            ("x --market /nowhere.toml", "cannot read /nowhere.toml"),
            ("x --opened-unix 99999999999999", "too far"),
        ] {
            let error = format!("{:#}", configured(line).err().unwrap());
            assert!(error.contains(words), "{line}: {error}");
        }
    }
}
