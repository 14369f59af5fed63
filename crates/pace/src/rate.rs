//! Messages per second, without a float.

use std::num::NonZeroU64;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A rate in thousandths of a message per second.
///
/// People write rates as decimals (`0.5`, `1000`), and a float rate would make the k-th intended time drift: after an
/// hour at 30,000 messages/s, k × (1e9 ÷ rate) in `f64` is off by whole nanoseconds. Three decimals are kept as an
/// integer instead, so that every intended time is one exact division.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate {
    millihertz: NonZeroU64,
}

/// Why a number is no rate.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("a rate of {0} messages/s is not usable: give a number from 0.001 to 1000000000, with at most three decimals")]
pub struct RateError(pub f64);

/// No socket reaches one message per nanosecond, and intended times would no longer be distinct.
const HIGHEST_PER_SECOND: f64 = 1e9;

impl Rate {
    /// A whole number of messages per second; `None` for 0 and for more than one per nanosecond.
    #[must_use]
    pub fn per_second(messages: u64) -> Option<Self> {
        if messages > HIGHEST_PER_SECOND as u64 {
            return None;
        }
        NonZeroU64::new(messages * 1000).map(|millihertz| Self { millihertz })
    }

    /// The rate in thousandths of a message per second.
    #[must_use]
    pub fn millihertz(self) -> u64 {
        self.millihertz.get()
    }

    /// The rate as people print it; for display, never for scheduling.
    #[must_use]
    pub fn as_f64(self) -> f64 {
        self.millihertz.get() as f64 / 1000.0
    }

    /// The time of `count` messages at this rate in ns, rounded down; saturates after 584 years.
    #[must_use]
    pub fn span_ns(self, count: u64) -> u64 {
        let span = u128::from(count) * 1_000_000_000_000 / u128::from(self.millihertz.get());
        u64::try_from(span).unwrap_or(u64::MAX)
    }
}

impl TryFrom<f64> for Rate {
    type Error = RateError;

    fn try_from(per_second: f64) -> Result<Self, RateError> {
        let millihertz = (per_second * 1000.0).round();
        let whole = (millihertz - per_second * 1000.0).abs() <= millihertz.abs() * 1e-12;
        // A NaN fails both comparisons, hence the positive form.
        if whole && millihertz >= 1.0 && per_second <= HIGHEST_PER_SECOND {
            if let Some(millihertz) = NonZeroU64::new(millihertz as u64) {
                return Ok(Self { millihertz });
            }
        }
        Err(RateError(per_second))
    }
}

impl std::str::FromStr for Rate {
    type Err = RateError;

    fn from_str(text: &str) -> Result<Self, RateError> {
        text.parse::<f64>()
            .map_err(|_| RateError(f64::NAN))
            .and_then(Self::try_from)
    }
}

impl std::fmt::Display for Rate {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}", self.as_f64())
    }
}

impl Serialize for Rate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let millihertz = self.millihertz.get();
        if millihertz % 1000 == 0 {
            serializer.serialize_u64(millihertz / 1000)
        } else {
            serializer.serialize_f64(self.as_f64())
        }
    }
}

impl<'de> Deserialize<'de> for Rate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let per_second = f64::deserialize(deserializer)?;
        Self::try_from(per_second).map_err(serde::de::Error::custom)
    }
}
