//! Decoding what was received, as a program that uses it would; the outcome is dropped.

use super::sink::Kind;

const SBE_HEADER_BYTES: usize = 8;
const SBE_TRADES: u64 = 10_000;
const SBE_BEST: u64 = 10_001;
const SBE_SNAPSHOT: u64 = 10_002;
const SBE_CHANGES: u64 = 10_003;
const ITCH_HEADER_BYTES: usize = 11;

/// How messages are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decoder {
    /// As texts.
    Json,
    /// Binance's binary messages (`docs/exchange.md`).
    Sbe,
    /// Messages of fixed width like Nasdaq's.
    Itch,
    /// The client's own business.
    Own,
}

impl Decoder {
    /// By its name.
    pub fn named(name: &str) -> Self {
        match name {
            "sbe" => Self::Sbe,
            "itch" => Self::Itch,
            _ => Self::Json,
        }
    }

    /// Reads every field. What is no such message was recorded like any other.
    pub fn decode(self, kind: Kind, payload: &[u8]) {
        match (self, kind) {
            (Self::Json, Kind::Text) => drop(std::hint::black_box(serde_json::from_slice::<
                serde_json::Value,
            >(payload))),
            (Self::Sbe, Kind::Binary) => drop(std::hint::black_box(sbe(payload))),
            (Self::Itch, Kind::Binary) => drop(std::hint::black_box(itch(payload))),
            _ => {}
        }
    }
}

/// Each trade, best price or level in numbers: prices and quantities as the message's whole numbers.
pub(super) fn sbe(message: &[u8]) -> Option<Vec<Vec<u64>>> {
    let mut at = SBE_HEADER_BYTES;
    let block = little(message, 0, 2)? as usize;
    let template = little(message, 2, 2)?;
    let head = fields(message, at, head_widths(template)?)?;
    if template == SBE_BEST {
        return Some(vec![head]);
    }
    at += block;
    let mut found = Vec::new();
    let count_bytes = if template == SBE_TRADES { 4 } else { 2 };
    let groups = if template == SBE_TRADES { 1 } else { 2 };
    let widths: &[usize] = if template == SBE_TRADES {
        &[8, 8, 8, 1]
    } else {
        &[8, 8]
    };
    for side in 0..groups {
        let width = little(message, at, 2)? as usize;
        let count = little(message, at + 2, count_bytes)?;
        at += 2 + count_bytes;
        for _ in 0..count {
            let mut entry = head.clone();
            entry.push(side);
            entry.extend(fields(message, at, widths)?);
            found.push(entry);
            at += width;
        }
    }
    Some(found)
}

fn head_widths(template: u64) -> Option<&'static [usize]> {
    match template {
        SBE_TRADES => Some(&[8, 8, 1, 1]),
        SBE_BEST => Some(&[8, 8, 1, 1, 8, 8, 8, 8]),
        SBE_SNAPSHOT => Some(&[8, 8, 1, 1]),
        SBE_CHANGES => Some(&[8, 8, 8, 1, 1]),
        _ => None,
    }
}

/// Each message in numbers.
pub(super) fn itch(mut message: &[u8]) -> Option<Vec<Vec<u64>>> {
    let mut found = Vec::new();
    while let Some(&kind) = message.first() {
        let widths: &[usize] = match kind {
            b'P' => &[8, 1, 8, 8, 8, 8],
            b'Q' => &[8, 8, 8, 8, 8, 8],
            b'L' => &[1, 8, 8, 8, 8],
            _ => return None,
        };
        let bytes: usize = ITCH_HEADER_BYTES + widths.iter().sum::<usize>();
        let mut at = 0;
        let mut entry = Vec::with_capacity(4 + widths.len());
        for &width in [1, 2, 2, 6].iter().chain(widths) {
            entry.push(big(message, at, width)?);
            at += width;
        }
        found.push(entry);
        message = message.get(bytes..)?;
    }
    Some(found)
}

fn fields(message: &[u8], mut at: usize, widths: &[usize]) -> Option<Vec<u64>> {
    let mut found = Vec::with_capacity(widths.len());
    for &width in widths {
        found.push(little(message, at, width)?);
        at += width;
    }
    Some(found)
}

fn little(message: &[u8], at: usize, width: usize) -> Option<u64> {
    let bytes = message.get(at..at + width)?;
    Some(
        bytes
            .iter()
            .rev()
            .fold(0, |value, &byte| value << 8 | u64::from(byte)),
    )
}

fn big(message: &[u8], at: usize, width: usize) -> Option<u64> {
    let bytes = message.get(at..at + width)?;
    Some(
        bytes
            .iter()
            .fold(0, |value, &byte| value << 8 | u64::from(byte)),
    )
}

#[cfg(test)]
mod tests {
    use super::{itch, sbe};

    fn bytes(hex: &str) -> Vec<u8> {
        (0..hex.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap())
            .collect()
    }

    /// `spec/vectors/binary-market-data.json`: two trades, 5 and 6, in each encoding.
    #[test]
    fn trades_are_read_field_by_field() {
        let message = bytes(
            "1200102701000000e7e74acc2dc0050017e04acc2dc00500fefb1900020000000500000000000000545b5e0000000000\
             0300000000000000000600000000000000555b5e00000000000400000000000000000742544355534454",
        );
        let found = sbe(&message).unwrap();
        let numbers: Vec<&[u64]> = found.iter().map(|trade| &trade[5..]).collect();
        assert_eq!(numbers, [[5, 6_183_764, 3, 0], [6, 6_183_765, 4, 0]]);
        assert!(sbe(&message[..40]).is_none());
        let message = bytes(
            "500001000036c46167de58000000000000001f530000000000000bb842544355534454200000059fc50e7d0000000000\
             00000005",
        );
        let found = itch(&message).unwrap();
        assert_eq!(found[0][4..7], [31, u64::from(b'S'), 3_000]);
        assert_eq!(found[0][8..], [6_183_764_000_000, 5]);
        assert!(itch(&message[1..]).is_none());
        assert!(itch(&message[..30]).is_none());
    }
}
