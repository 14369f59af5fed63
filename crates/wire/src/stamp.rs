//! The messages of the stamp model: `{"c":7}` asks, `{"c":7,"ts":1700000000}` answers, and `{"c":0,"ts":…}` greets.
//!
//! Every JSON library writes the answer in its own way: with or without spaces, either key first, the time as a whole
//! number, with a fraction, or in milliseconds. Nearly all of them are plain enough to be read in one pass over the
//! bytes; whatever is not goes to a full parser, so that no server is called wrong for its style.

use serde::Deserialize;

/// Below this a number of seconds, from here on one of milliseconds: the year 5138 in seconds, March 1973 in ms.
const LEAST_MILLISECONDS: f64 = 1e11;
/// 2^53: beyond it a JSON number need not be exact.
const GREATEST_COUNT: u64 = 1 << 53;
/// Decimal digits that always fit into a `u64`.
const MOST_DIGITS: usize = 19;

/// An answer or a greeting.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stamp {
    /// The message's number; 0 greets.
    pub count: u64,
    /// The server's clock as it was written, in seconds or milliseconds since 1970.
    time: f64,
}

/// Why some bytes are no stamp.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct StampError(String);

impl Stamp {
    /// Reads an answer. Allocation-free for what JSON libraries usually write.
    #[inline]
    pub fn parse(bytes: &[u8]) -> Result<Self, StampError> {
        match Self::parse_plain(bytes) {
            Some(stamp) => Ok(stamp),
            None => Self::parse_any(bytes),
        }
    }

    /// The server's clock in seconds since 1970, whichever unit it was written in.
    #[must_use]
    pub fn unix_s(&self) -> f64 {
        if self.time < LEAST_MILLISECONDS {
            self.time
        } else {
            self.time / 1e3
        }
    }

    /// The usual forms, in one pass: two keys without escapes, two plain numbers, spaces anywhere between them.
    #[must_use]
    pub fn parse_plain(bytes: &[u8]) -> Option<Self> {
        let mut rest = Rest(bytes);
        let (mut count, mut time) = (None, None);
        rest.token(b'{')?;
        loop {
            rest.token(b'"')?;
            let count_first = match rest.0 {
                [b'c', b'"', after @ ..] if count.is_none() => {
                    rest.0 = after;
                    true
                }
                [b't', b's', b'"', after @ ..] if time.is_none() => {
                    rest.0 = after;
                    false
                }
                _ => return None,
            };
            rest.token(b':')?;
            rest.skip_spaces();
            if count_first {
                count = Some(rest.whole()?.0).filter(|&count| count <= GREATEST_COUNT);
                count?;
            } else {
                time = Some(rest.number()?);
            }
            match (count, time) {
                (Some(count), Some(time)) => {
                    rest.token(b'}')?;
                    rest.skip_spaces();
                    return rest.0.is_empty().then_some(Self { count, time });
                }
                _ => rest.token(b',')?,
            }
        }
    }

    /// Any JSON that means a stamp.
    #[cold]
    pub fn parse_any(bytes: &[u8]) -> Result<Self, StampError> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Fields {
            c: f64,
            ts: f64,
        }
        // serde would also take an array of two numbers.
        if bytes.trim_ascii_start().first() != Some(&b'{') {
            return Err(StampError("no JSON object".to_owned()));
        }
        let Fields { c, ts } =
            serde_json::from_slice(bytes).map_err(|error| StampError(error.to_string()))?;
        let whole = c.fract() == 0.0 && (0.0..=GREATEST_COUNT as f64).contains(&c);
        if !whole {
            return Err(StampError(format!("c is {c}, which counts nothing")));
        }
        if ts < 0.0 {
            return Err(StampError(format!("ts is {ts}, before 1970")));
        }
        Ok(Self {
            count: c as u64,
            time: ts,
        })
    }
}

/// What is still to be read.
struct Rest<'a>(&'a [u8]);

impl Rest<'_> {
    #[inline]
    fn skip_spaces(&mut self) {
        while let [b' ' | b'\t' | b'\r' | b'\n', after @ ..] = self.0 {
            self.0 = after;
        }
    }

    /// This character, after any spaces.
    #[inline]
    fn token(&mut self, wanted: u8) -> Option<()> {
        self.skip_spaces();
        let (&found, after) = self.0.split_first()?;
        self.0 = after;
        (found == wanted).then_some(())
    }

    /// A whole number without sign, exponent or leading zeros, and how many digits it has.
    #[inline]
    fn whole(&mut self) -> Option<(u64, usize)> {
        let digits = self.0.iter().take_while(|byte| byte.is_ascii_digit());
        let digits = digits.count();
        if digits == 0 || digits > MOST_DIGITS || (digits > 1 && self.0[0] == b'0') {
            return None;
        }
        let (number, after) = self.0.split_at(digits);
        self.0 = after;
        let value = number
            .iter()
            .fold(0, |value, digit| value * 10 + u64::from(digit - b'0'));
        Some((value, digits))
    }

    /// The same with an optional fraction, right to the last place of a double but one.
    #[inline]
    fn number(&mut self) -> Option<f64> {
        let (whole, digits) = self.whole()?;
        let [b'.', fraction @ ..] = self.0 else {
            return Some(whole as f64);
        };
        let places = fraction.iter().take_while(|byte| byte.is_ascii_digit());
        let places = places.count();
        if places == 0 || digits + places > MOST_DIGITS {
            return None;
        }
        let scaled = fraction[..places]
            .iter()
            .fold(whole, |value, digit| value * 10 + u64::from(digit - b'0'));
        self.0 = &fraction[places..];
        Some(scaled as f64 / 10_f64.powi(places as i32))
    }
}
