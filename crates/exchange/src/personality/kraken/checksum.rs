//! The checksum by which a client knows that its book is the exchange's.

use crate::encode::Encode;
use crate::market::{Book, Side};

/// Levels of each side that count.
const LEVELS: usize = 10;

/// CRC-32 over the ten best asks, then the ten best bids: price and quantity of each as printed with all decimals of
/// the pair, without the point and without zeros in front. Those are the digits of the ticks and of the lots.
pub fn checksum(book: &Book) -> u32 {
    checksum_as_printed(book, [0, 0])
}

/// As [`checksum`], for prices and quantities printed with so many decimals more than their pair has.
pub fn checksum_as_printed(book: &Book, more_decimals: [u32; 2]) -> u32 {
    let zeros = more_decimals.map(|decimals| &[b'0'; 8][..decimals as usize]);
    // 20 levels of at most 28 + 28 digits.
    let mut digits = Vec::with_capacity(2 * LEVELS * 56);
    for side in [Side::Ask, Side::Bid] {
        for (price, level) in book.levels(side).take(LEVELS) {
            digits.number(price).extend_from_slice(zeros[0]);
            digits.number(level.quantity).extend_from_slice(zeros[1]);
        }
    }
    crc32fast::hash(&digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The worked example of the exchange's page "Book checksum (v2)": BTC/USD with one decimal in prices, eight in
    /// quantities.
    #[test]
    fn the_documented_example_comes_out() {
        let asks: [(u64, u64); 10] = [
            (452_852, 100_000),
            (452_864, 154_571_953),
            (452_866, 154_571_109),
            (452_896, 154_560_911),
            (452_902, 15_890_660),
            (452_918, 154_553_491),
            (452_947, 4_454_749),
            (452_961, 35_380_000),
            (452_975, 9_945_542),
            (452_995, 18_772_827),
        ];
        let bids: [(u64, u64); 10] = [
            (452_835, 10_000_000),
            (452_834, 154_582_015),
            (452_821, 10_000_000),
            (452_810, 10_000_000),
            (452_803, 154_592_586),
            (452_790, 7_990_000),
            (452_776, 3_310_103),
            (452_775, 30_000_000),
            (452_773, 154_602_737),
            (452_766, 15_445_238),
        ];
        let mut book = Book::default();
        for (side, levels) in [(Side::Ask, asks), (Side::Bid, bids)] {
            for (id, (price, quantity)) in levels.into_iter().enumerate() {
                book.place(id as u64, side, price, quantity);
            }
        }
        assert_eq!(checksum(&book), 3_310_070_434);
    }
}
