//! `--market FILE`: a market and its faults as TOML.

use super::configure::Symbols;
use super::fault::{self, Fault};
use anyhow::{ensure, Context, Result};
use feedbench_exchange::market::{Arrivals, Instrument, Mix, Publication};
use serde::Deserialize;
use std::path::Path;

const SCHEMA: u32 = 1;

/// Everything that may stand in the file; what does not is as usual.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MarketFile {
    schema: u32,
    /// As `--seed`.
    pub seed: Option<u64>,
    /// As `--symbols`.
    pub symbols: Option<Symbols>,
    /// In all detail, instead of `symbols`.
    pub instruments: Vec<Instrument>,
    /// When events happen.
    pub arrivals: Option<Arrivals>,
    /// What happens.
    pub mix: Option<Mix>,
    /// How long it takes to be told.
    pub publication: Option<Publication>,
    /// As `--fault`.
    #[serde(deserialize_with = "faults")]
    pub faults: Vec<Fault>,
    /// As `--fault-seed`.
    pub fault_seed: Option<u64>,
}

impl MarketFile {
    /// Reads a file; the error names it.
    pub fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read {}", path.display()))?;
        Self::parse(&text).with_context(|| format!("{} is no market", path.display()))
    }

    fn parse(text: &str) -> Result<Self> {
        let file: Self = toml::from_str(text)?;
        ensure!(
            file.schema == SCHEMA,
            "it needs `schema = {SCHEMA}`, not {}",
            file.schema
        );
        ensure!(
            file.symbols.is_none() || file.instruments.is_empty(),
            "it has both `symbols` and `instruments`; one of them says it all"
        );
        Ok(file)
    }
}

fn faults<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<Fault>, D::Error> {
    let texts = Vec::<String>::deserialize(deserializer)?;
    texts
        .iter()
        .map(|text| {
            let named = |error| serde::de::Error::custom(format!("fault {text:?}: {error:#}"));
            fault::parse(text).map_err(named)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_whole_file_is_read() {
        let file = MarketFile::parse(
            r#"
            schema = 1
            seed = 7
            symbols = ["BTC", "ETH/EUR"]
            arrivals = { kind = "hawkes", rate_per_s = 5000, branching_ratio = 0.7, decay_per_s = 20 }
            faults = ["gap:every=1000", "clock:skew=-1.272s"]
            [mix]
            limit = 50
            market = 8
            cancel = 42
            resting_orders = 500
            reach_ticks = 100
            "#,
        )
        .unwrap();
        assert_eq!((file.seed, file.faults.len()), (Some(7), 2));
        assert_eq!(file.symbols.unwrap().instruments().unwrap()[1].quote, "EUR");
        assert_eq!(file.arrivals.unwrap().rate_per_s(), 5_000.0);
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(lines in proptest::collection::vec(
            "(schema = 1|seed|symbols|arrivals|faults|\\[mix\\]|limit|\\[\\[instruments\\]\\]|base)?( = )?([0-9.eE+-]{1,20}|\"[ -~]{0,12}\"|[ -~]{0,30})",
            0..8,
        )) {
            // What is read must also be a market or be refused, not panic.
            if let Ok(file) = MarketFile::parse(&lines.join("\n")) {
                let _ = file.symbols.map(|symbols| symbols.instruments());
            }
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, words) in [
            ("seed = 1", "schema = 1"),
            ("schema = 2", "schema = 1"),
            ("schema = 1\nsead = 1", "sead"),
            ("schema = 1\nfaults = [\"gap\"]", "every=N"),
            ("schema = 1\nsymbols = -1", "symbols"),
            ("schema = 1\nsymbols = 2\n[[instruments]]\nbase = \"A\"\nquote = \"B\"\nprice_decimals = 2\nquantity_decimals = 2\nopening_price = 5\ntypical_quantity = 5", "both"),
            ("schema", "expected"),
        ] {
            let error = format!("{:#}", MarketFile::parse(text).unwrap_err());
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
