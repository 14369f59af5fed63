//! Quantiles as ratios of integers.

use std::str::FromStr;

/// A quantile q = numerator / denominator with 0 < q ≤ 1.
///
/// A float would not do: 99.9 / 100 is 0.9990000000000001 in `f64`, and the rank of p99.9 among 1,000 values is then
/// 1,000, the maximum, instead of 999. With integers ⌈q·n⌉ is exact for every n.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Quantile {
    numerator: u64,
    denominator: u64,
}

/// Why a text names no quantile.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no quantile: write p50, p99, p99.9 …, above p0 and up to p100, with at most 12 decimals")]
pub struct QuantileError(String);

impl Quantile {
    /// The median.
    pub const P50: Self = Self::new(1, 2);
    /// 90 % of values are not above this.
    pub const P90: Self = Self::new(9, 10);
    /// 95 % of values are not above this.
    pub const P95: Self = Self::new(19, 20);
    /// 99 % of values are not above this.
    pub const P99: Self = Self::new(99, 100);
    /// 99.9 % of values are not above this.
    pub const P99_9: Self = Self::new(999, 1_000);
    /// 99.99 % of values are not above this.
    pub const P99_99: Self = Self::new(9_999, 10_000);
    /// The largest value.
    pub const MAX: Self = Self::new(1, 1);

    /// The quantile numerator / denominator.
    ///
    /// # Panics
    /// Unless 0 < numerator ≤ denominator; in a `const` that is a compile error.
    #[must_use]
    pub const fn new(numerator: u64, denominator: u64) -> Self {
        assert!(
            numerator > 0 && numerator <= denominator,
            "a quantile lies in (0, 1]"
        );
        Self {
            numerator,
            denominator,
        }
    }

    /// The nearest rank ⌈q·n⌉ among `count` values, counted from 1; 0 only for no values at all.
    #[must_use]
    pub fn rank(self, count: u64) -> u64 {
        let scaled = u128::from(self.numerator) * u128::from(count);
        // At most `count`, as q ≤ 1, so the cast keeps everything.
        scaled.div_ceil(u128::from(self.denominator)) as u64
    }
}

impl FromStr for Quantile {
    type Err = QuantileError;

    fn from_str(text: &str) -> Result<Self, QuantileError> {
        let error = || QuantileError(text.to_owned());
        let percent = text.strip_prefix('p').ok_or_else(error)?;
        let (whole, decimals) = percent.split_once('.').unwrap_or((percent, ""));
        let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty()
            || whole.len() > 3
            || decimals.len() > 12
            || !digits(whole)
            || !digits(decimals)
        {
            return Err(error());
        }
        if percent.ends_with('.') {
            return Err(error());
        }
        let numerator: u64 = format!("{whole}{decimals}").parse().map_err(|_| error())?;
        let denominator = 100 * 10u64.pow(decimals.len() as u32);
        if numerator == 0 || numerator > denominator {
            return Err(error());
        }
        Ok(Self {
            numerator,
            denominator,
        })
    }
}
