//! What differs between the exchanges' FIX, as values.

use crate::encode::Encode;
use crate::market::{Instrument, Lots, Ticks};
use feedbench_wire::fix::profile::{Profile, ResetOnLogon};
use feedbench_wire::fix::time::{Precision, UtcTime, MAXIMUM_TIME_BYTES};

/// Decimals that Binance prints of every price and quantity.
const BINANCE_DECIMALS: u32 = 8;
/// Messages of a session that can be sent again.
const KEPT_MESSAGES: usize = 10_000;

/// One exchange's FIX.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// FIX 4.2 and 4.4 as the standard has them, with order entry.
    Standard,
    /// Binance spot market data, FIX 4.4: no recovery, fields of its own, changes of the book in batches of 100 ms.
    /// Source: `fix-api.md` of binance-spot-api-docs.
    Binance,
    /// Coinbase Exchange market data, FIXT.1.1 with FIX 5.0 SP2.
    Coinbase,
    /// No exchange: answers what public acceptance suites of FIX engines send, by echoing orders.
    Acceptance,
}

impl Dialect {
    /// Whose FIX it is.
    pub fn exchange(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::Binance => "binance",
            Self::Coinbase => "coinbase",
            Self::Acceptance => "acceptance",
        }
    }

    /// Name of the door.
    pub fn name(self) -> &'static str {
        match self {
            Self::Standard => "standard fix",
            Self::Binance => "binance fix",
            Self::Coinbase => "coinbase fix",
            Self::Acceptance => "acceptance fix",
        }
    }

    /// Our SenderCompID.
    pub fn comp_id(self) -> &'static str {
        match self {
            Self::Standard => "FEEDBENCH",
            Self::Binance => "SPOT",
            Self::Coinbase => "Coinbase",
            Self::Acceptance => "ISLD",
        }
    }

    /// The rules for a client that begins with this BeginString.
    pub fn profile(self, begin_string: &[u8]) -> Option<Profile> {
        let profile = match (self, begin_string) {
            (Self::Standard | Self::Acceptance, b"FIX.4.2") => Profile::fix42(),
            (Self::Standard | Self::Acceptance, b"FIX.4.4") => Profile::fix44(),
            (Self::Binance, b"FIX.4.4") => Profile::binance(),
            (Self::Coinbase, b"FIXT.1.1") => Profile::coinbase(),
            _ => return None,
        };
        Some(match self {
            Self::Acceptance => Profile {
                reset_on_logon: ResetOnLogon::Always,
                ..profile
            },
            _ => profile,
        })
    }

    /// Whether a client may call itself so. Names become file names, so there are no others than these.
    pub fn may_call(self, client: &[u8]) -> bool {
        let longest = match self {
            Self::Binance => 8,
            _ => 64,
        };
        let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        !client.is_empty() && client.len() <= longest && client.iter().all(is_plain)
    }

    /// How many sent messages a session keeps.
    pub fn kept_messages(self) -> usize {
        match self {
            Self::Binance => 0,
            _ => KEPT_MESSAGES,
        }
    }

    /// Whether orders are taken here: the others' documents describe doors for market data alone.
    pub fn takes_orders(self) -> bool {
        self == Self::Standard
    }

    /// What it calls an instrument.
    pub fn symbol(self, instrument: &Instrument) -> String {
        let (base, separator, dollar) = match self {
            Self::Binance => (&instrument.base, "", "USDT"),
            Self::Coinbase => (&instrument.base, "-", "USD"),
            Self::Standard | Self::Acceptance => (&instrument.base, "/", "USD"),
        };
        format!("{base}{separator}{}", instrument.quote_as(dollar))
    }

    /// The smallest and the largest MarketDepth of a book that is kept by its changes; 0 is all of it.
    pub fn book_depths(self) -> std::ops::RangeInclusive<u64> {
        match self {
            Self::Binance => 2..=5_000,
            _ => 0..=0,
        }
    }
}

/// Prints prices and quantities of one instrument.
#[derive(Clone, Copy, Debug)]
pub struct Units {
    price: u32,
    quantity: u32,
    shown: Option<u32>,
}

impl Units {
    pub fn of(dialect: Dialect, instrument: &Instrument) -> Self {
        Self {
            price: instrument.price_decimals,
            quantity: instrument.quantity_decimals,
            shown: (dialect == Dialect::Binance).then_some(BINANCE_DECIMALS),
        }
    }

    pub fn price(self, out: &mut Vec<u8>, tag: &str, price: Ticks) {
        self.decimal(out, tag, price, self.price);
    }

    pub fn quantity(self, out: &mut Vec<u8>, tag: &str, quantity: Lots) {
        self.decimal(out, tag, quantity, self.quantity);
    }

    fn decimal(self, out: &mut Vec<u8>, tag: &str, units: u64, decimals: u32) {
        out.text(tag);
        match self.shown {
            Some(shown) => out.rescaled(units.into(), decimals, shown),
            None => out.decimal(units, decimals),
        }
        .text("\x01");
    }

    /// A price between ticks, with two more decimals.
    pub fn mean_price(self, out: &mut Vec<u8>, tag: &str, turnover: u128, quantity: Lots) {
        let mean = (turnover * 100).checked_div(quantity.into()).unwrap_or(0);
        out.text(tag)
            .rescaled(mean, self.price + 2, self.price + 2)
            .text("\x01");
    }

    /// Reads a price; `None` if it is not a whole number of ticks, at least one.
    pub fn parse_price(self, text: &[u8]) -> Option<Ticks> {
        parse(text, self.price)
    }

    /// Reads a quantity; `None` if it is not a whole number of lots, at least one.
    pub fn parse_quantity(self, text: &[u8]) -> Option<Lots> {
        parse(text, self.quantity)
    }
}

/// So many of anything an order may ask for, so that sums stay within 64 bits.
const MOST_UNITS: u64 = 1_000_000_000_000_000;

fn parse(text: &[u8], decimals: u32) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?;
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let fraction = fraction.trim_end_matches('0');
    if fraction.len() > decimals as usize {
        return None;
    }
    let digits = format!("{whole}{fraction:0<width$}", width = decimals as usize);
    digits
        .bytes()
        .all(|digit| digit.is_ascii_digit())
        .then(|| digits.parse().ok())?
        .filter(|units| (1..=MOST_UNITS).contains(units))
}

/// Appends a UTCTimestamp field.
pub fn time(out: &mut Vec<u8>, tag: &str, unix_ns: u64, precision: Precision) {
    let (text, length) = formatted(unix_ns, precision);
    out.extend_from_slice(tag.as_bytes());
    out.extend_from_slice(&text[..length]);
    out.push(1);
}

/// Appends MDEntryDate and MDEntryTime.
pub fn entry_time(out: &mut Vec<u8>, unix_ns: u64) {
    let (text, length) = formatted(unix_ns, Precision::Milliseconds);
    let (date, of_day) = (&text[..8], &text[9..length]);
    for part in [b"272=", date, b"\x01", b"273=", of_day, b"\x01"] {
        out.extend_from_slice(part);
    }
}

fn formatted(unix_ns: u64, precision: Precision) -> ([u8; MAXIMUM_TIME_BYTES], usize) {
    let mut text = [0; MAXIMUM_TIME_BYTES];
    let time = UtcTime {
        unix_ns: i64::try_from(unix_ns).unwrap_or(i64::MAX),
    };
    let length = time.format(precision, &mut text);
    (text, length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_whole_units_or_nothing() {
        let units = Units {
            price: 2,
            quantity: 5,
            shown: None,
        };
        for (text, ticks) in [
            ("61837.64", Some(6_183_764)),
            ("61837.6", Some(6_183_760)),
            ("61837", Some(6_183_700)),
            ("61837.640", Some(6_183_764)),
            (".5", Some(50)),
            ("61837.645", None),
            ("0", None),
            ("-1", None),
            ("1e5", None),
            ("", None),
            ("99999999999999999999", None),
        ] {
            assert_eq!(units.parse_price(text.as_bytes()), ticks, "{text}");
        }
        let mut out = Vec::new();
        units.mean_price(&mut out, "6=", 10 * 1_000 + 20 * 2_001, 30);
        assert_eq!(out, b"6=16.6733\x01");
    }
}
