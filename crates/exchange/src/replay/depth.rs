//! The book of a recording at the place that its replay has come to, so that a client can begin at any time.

use super::message::Levels;
use crate::encode::Encode;
use std::collections::BTreeMap;

/// One side: by price, the price and quantity as they were written.
type Side = BTreeMap<u128, (String, String)>;

/// A book that takes in updates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Depth {
    last_update_id: u64,
    bids: Side,
    asks: Side,
}

impl Depth {
    /// The book of a snapshot; an update that it has in it already changes nothing.
    pub fn of(snapshot: &Levels) -> Self {
        let mut depth = Self::default();
        depth.apply(snapshot);
        depth
    }

    /// A book that nothing is known of but the number before its first update.
    pub fn empty(last_update_id: u64) -> Self {
        Self {
            last_update_id,
            ..Self::default()
        }
    }

    /// Takes in an update, unless it is older than the book.
    pub fn apply(&mut self, update: &Levels) {
        if update.u <= self.last_update_id {
            return;
        }
        self.last_update_id = update.u;
        for (side, levels) in [(&mut self.bids, &update.b), (&mut self.asks, &update.a)] {
            for (price, quantity) in levels {
                let Some(key) = key(price) else { continue };
                if quantity.bytes().all(|byte| matches!(byte, b'0' | b'.')) {
                    side.remove(&key);
                } else {
                    side.insert(key, (price.clone(), quantity.clone()));
                }
            }
        }
    }

    /// Appends the answer to a depth request: the best levels of each side.
    pub fn write(&self, limit: usize, out: &mut Vec<u8>) {
        out.text(r#"{"lastUpdateId":"#)
            .number(self.last_update_id)
            .text(r#","bids":["#);
        write_levels(self.bids.values().rev().take(limit), out);
        out.text(r#"],"asks":["#);
        write_levels(self.asks.values().take(limit), out);
        out.text("]}");
    }
}

/// Prices of one symbol have the same decimals, so that their digits order them; exactly, unlike floats.
fn key(price: &str) -> Option<u128> {
    let digits: String = price.chars().filter(|&c| c != '.').collect();
    digits.parse().ok()
}

fn write_levels<'a>(levels: impl Iterator<Item = &'a (String, String)>, out: &mut Vec<u8>) {
    for (index, (price, quantity)) in levels.enumerate() {
        out.text(if index > 0 { ",[" } else { "[" })
            .quoted(price)
            .text(",")
            .quoted(quantity)
            .text("]");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn levels(u: u64, b: &[(&str, &str)], a: &[(&str, &str)]) -> Levels {
        let owned = |side: &[(&str, &str)]| {
            side.iter()
                .map(|(price, quantity)| ((*price).to_owned(), (*quantity).to_owned()))
                .collect()
        };
        Levels {
            u,
            b: owned(b),
            a: owned(a),
        }
    }

    fn written(depth: &Depth, limit: usize) -> String {
        let mut out = Vec::new();
        depth.write(limit, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn updates_change_the_book_once_and_the_best_levels_come_first() {
        let snapshot = levels(5, &[("9.0", "1"), ("10.0", "2")], &[("11.0", "3")]);
        let mut depth = Depth::of(&snapshot);
        let all = r#"{"lastUpdateId":5,"bids":[["10.0","2"],["9.0","1"]],"asks":[["11.0","3"]]}"#;
        assert_eq!(written(&depth, 10), all);
        depth.apply(&levels(5, &[("10.0", "0.00")], &[]));
        assert_eq!(written(&depth, 10), all, "what is older changes nothing");
        depth.apply(&levels(8, &[("10.0", "0.00")], &[("10.5", "4")]));
        assert_eq!(
            written(&depth, 1),
            r#"{"lastUpdateId":8,"bids":[["9.0","1"]],"asks":[["10.5","4"]]}"#
        );
    }
}
