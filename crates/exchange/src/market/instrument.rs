//! What is traded, and in which units.

use super::{Lots, Ticks};
use serde::{Deserialize, Serialize};

/// One traded pair. A quote of `USD` stands for each exchange's own dollar: USDT on Binance, USD on Coinbase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Instrument {
    /// What is bought: `BTC`.
    pub base: String,
    /// What it is paid with: `USD`.
    pub quote: String,
    /// A tick is 10^-this.
    pub price_decimals: u32,
    /// A lot is 10^-this.
    pub quantity_decimals: u32,
    /// Where trading begins, in ticks.
    pub opening_price: Ticks,
    /// Mean size of an order, in lots.
    pub typical_quantity: Lots,
}

/// Base, decimals of price and quantity, opening price in ticks, typical size in lots.
const WELL_KNOWN: [(&str, u32, u32, Ticks, Lots); 12] = [
    ("BTC", 2, 5, 6_183_764, 12_000),
    ("ETH", 2, 4, 268_231, 8_000),
    ("SOL", 2, 3, 15_412, 9_000),
    ("XRP", 4, 1, 6_127, 4_000),
    ("DOGE", 5, 0, 10_243, 3_000),
    ("ADA", 4, 1, 3_482, 9_000),
    ("LTC", 2, 3, 6_251, 4_000),
    ("LINK", 3, 2, 10_480, 3_000),
    ("AVAX", 2, 2, 2_318, 2_500),
    ("DOT", 3, 2, 4_711, 8_000),
    ("BCH", 1, 4, 3_489, 9_000),
    ("ATOM", 3, 2, 4_822, 6_000),
];

impl Instrument {
    /// The `index`-th symbol of a made-up market: well-known names first, then `F12`, `F13`, …
    pub fn numbered(index: usize) -> Self {
        let (base, price_decimals, quantity_decimals, opening_price, typical_quantity) =
            match WELL_KNOWN.get(index) {
                Some(&(base, price, quantity, opening, typical)) => {
                    (base.to_owned(), price, quantity, opening, typical)
                }
                None => (format!("F{index}"), 4, 2, 10_000 + 37 * index as u64, 5_000),
            };
        Self {
            base,
            quote: "USD".to_owned(),
            price_decimals,
            quantity_decimals,
            opening_price,
            typical_quantity,
        }
    }

    /// The quote's name on an exchange that calls its dollar `dollar`.
    pub fn quote_as<'a>(&'a self, dollar: &'a str) -> &'a str {
        if self.quote == "USD" {
            dollar
        } else {
            &self.quote
        }
    }
}
