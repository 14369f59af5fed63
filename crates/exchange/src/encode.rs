//! Writes numbers and text into byte buffers as exchanges print them, without formatting machinery.
//!
//! The hot path: nothing here allocates, except when the buffer itself grows.

/// Appends protocol text to a byte buffer; each call returns the buffer, so that a message reads as one sentence.
pub trait Encode {
    /// Appends text as it is.
    fn text(&mut self, text: &str) -> &mut Self;
    /// Appends a whole number.
    fn number(&mut self, number: u64) -> &mut Self;
    /// Appends `true` or `false`.
    fn boolean(&mut self, value: bool) -> &mut Self;
    /// Appends `units × 10^-decimals` with all its decimals: (123, 2) is `1.23`.
    fn decimal(&mut self, units: u64, decimals: u32) -> &mut Self;
    /// As [`Encode::decimal`], without the zeros at the end: (100, 2) is `1`, (120, 2) is `1.2`.
    fn trimmed(&mut self, units: u64, decimals: u32) -> &mut Self;
    /// Prints a number that has `decimals` with `shown` of them: filled up with zeros, or cut.
    fn rescaled(&mut self, units: u128, decimals: u32, shown: u32) -> &mut Self;
    /// Appends a JSON string with its quotes, escaped where JSON asks for it.
    fn quoted(&mut self, text: &str) -> &mut Self;
}

impl Encode for Vec<u8> {
    #[inline]
    fn text(&mut self, text: &str) -> &mut Self {
        self.extend_from_slice(text.as_bytes());
        self
    }

    #[inline]
    fn number(&mut self, number: u64) -> &mut Self {
        let mut digits = itoa::Buffer::new();
        self.extend_from_slice(digits.format(number).as_bytes());
        self
    }

    fn boolean(&mut self, value: bool) -> &mut Self {
        self.text(if value { "true" } else { "false" })
    }

    #[inline]
    fn decimal(&mut self, units: u64, decimals: u32) -> &mut Self {
        if decimals == 0 {
            return self.number(units);
        }
        let scale = 10u64.pow(decimals);
        self.number(units / scale);
        self.push(b'.');
        let mut digits = itoa::Buffer::new();
        let fraction = digits.format(units % scale).as_bytes();
        const ZEROS: [u8; 20] = [b'0'; 20];
        self.extend_from_slice(&ZEROS[..decimals as usize - fraction.len()]);
        self.extend_from_slice(fraction);
        self
    }

    fn trimmed(&mut self, units: u64, decimals: u32) -> &mut Self {
        let (mut units, mut decimals) = (units, decimals);
        while decimals > 0 && units % 10 == 0 {
            units /= 10;
            decimals -= 1;
        }
        self.decimal(units, decimals)
    }

    fn rescaled(&mut self, units: u128, decimals: u32, shown: u32) -> &mut Self {
        let scaled = if shown >= decimals {
            units.saturating_mul(10u128.pow(shown - decimals))
        } else {
            units / 10u128.pow(decimals - shown)
        };
        match u64::try_from(scaled) {
            Ok(scaled) => self.decimal(scaled, shown),
            Err(_) => {
                // A day's turnover can pass 2^64 units of 10^-8: print the whole part and the fraction apart.
                let scale = 10u128.pow(shown);
                let mut digits = itoa::Buffer::new();
                self.extend_from_slice(digits.format(scaled / scale).as_bytes());
                if shown > 0 {
                    self.push(b'.');
                    let fraction = (scaled % scale) + scale;
                    self.extend_from_slice(&digits.format(fraction).as_bytes()[1..]);
                }
                self
            }
        }
    }

    fn quoted(&mut self, text: &str) -> &mut Self {
        serde_json::to_writer(&mut *self, text).expect("writing to memory cannot fail");
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(write: impl Fn(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn decimals_keep_or_drop_their_zeros() {
        assert_eq!(shown(|out| _ = out.decimal(6_183_763, 2)), "61837.63");
        assert_eq!(shown(|out| _ = out.decimal(5, 5)), "0.00005");
        assert_eq!(shown(|out| _ = out.decimal(7, 0)), "7");
        assert_eq!(shown(|out| _ = out.trimmed(79_200, 5)), "0.792");
        assert_eq!(shown(|out| _ = out.trimmed(0, 5)), "0");
        assert_eq!(
            shown(|out| _ = out.rescaled(6_183_763, 2, 8)),
            "61837.63000000"
        );
        assert_eq!(
            shown(|out| _ = out.rescaled(123_456_789, 9, 8)),
            "0.12345678"
        );
        assert_eq!(
            shown(|out| _ = out.rescaled(u128::from(u64::MAX) * 10, 1, 3)),
            "18446744073709551615.000"
        );
    }

    proptest! {
        #[test]
        fn a_decimal_reads_back_as_the_number_that_was_written(units: u64, decimals in 0u32..12) {
            let text = shown(|out| _ = out.decimal(units, decimals));
            let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
            prop_assert_eq!(fraction.len(), decimals as usize);
            let read: u64 = format!("{whole}{fraction}").parse().unwrap();
            prop_assert_eq!(read, units);
            let wide = shown(|out| _ = out.rescaled(u128::from(units), decimals, 12));
            prop_assert!(wide.starts_with(&text));
        }
    }
}
