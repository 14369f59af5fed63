//! Whole numbers as FIX writes them.

/// A number without sign, or `None` when there is anything but digits or it exceeds 64 bits.
#[inline]
#[must_use]
pub fn unsigned(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    let mut number = 0_u64;
    for &byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        number = number.checked_mul(10)?.checked_add(u64::from(digit))?;
    }
    Some(number)
}

/// A number that may begin with a minus sign.
#[must_use]
pub fn signed(text: &[u8]) -> Option<i64> {
    match text {
        [b'-', digits @ ..] => 0_i64.checked_sub_unsigned(unsigned(digits)?),
        digits => i64::try_from(unsigned(digits)?).ok(),
    }
}

/// Whether `text` is a decimal such as `-23.50`, `.5` or `23`: FIX knows no exponents.
#[must_use]
pub fn is_decimal(text: &[u8]) -> bool {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    let points = digits.iter().filter(|byte| **byte == b'.').count();
    let rest = digits.iter().filter(|byte| byte.is_ascii_digit()).count();
    rest > 0 && points <= 1 && rest + points == digits.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_digits_and_nothing_else() {
        assert_eq!(unsigned(b"0"), Some(0));
        assert_eq!(unsigned(b"00042"), Some(42));
        assert_eq!(unsigned(b"18446744073709551615"), Some(u64::MAX));
        for bad in [
            &b""[..],
            b"+1",
            b"-1",
            b" 1",
            b"1 ",
            b"1.0",
            b"18446744073709551616",
        ] {
            assert_eq!(unsigned(bad), None, "{bad:?}");
        }
        assert_eq!(signed(b"-9223372036854775808"), Some(i64::MIN));
        assert_eq!(signed(b"9223372036854775808"), None);
        assert_eq!(signed(b"--1"), None);
    }

    #[test]
    fn decimals_have_digits_and_at_most_one_point() {
        for good in [&b"23"[..], b"23.50", b"-.5", b"5.", b"00.1"] {
            assert!(is_decimal(good), "{good:?}");
        }
        for bad in [&b""[..], b".", b"-", b"1e5", b"1.2.3", b"+1", b"1,5"] {
            assert!(!is_decimal(bad), "{bad:?}");
        }
    }
}
