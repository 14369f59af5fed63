//! A limit order book: orders by price, then by age.

use super::{Lots, Ticks};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A side of the book, or of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// Buys.
    Bid,
    /// Sells.
    Ask,
}

impl Side {
    /// The other side.
    pub fn opposite(self) -> Self {
        match self {
            Self::Bid => Self::Ask,
            Self::Ask => Self::Bid,
        }
    }

    /// As most exchanges spell an order's side.
    pub fn order_word(self) -> &'static str {
        match self {
            Self::Bid => "buy",
            Self::Ask => "sell",
        }
    }
}

/// Handle of a resting order; valid until the order is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot(u32);

const NONE: u32 = u32::MAX;

/// A resting order. Orders of one level form a list, oldest first.
#[derive(Clone, Copy, Debug)]
pub struct Order {
    /// Number, unique in the book.
    pub id: u64,
    /// Where it rests.
    pub side: Side,
    /// Its limit.
    pub price: Ticks,
    /// What remains.
    pub quantity: Lots,
    older: u32,
    newer: u32,
    /// Where this order stands in `Book::resting`.
    position: u32,
}

/// All orders at one price.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    /// Sum of the orders.
    pub quantity: Lots,
    /// How many.
    pub orders: u32,
    oldest: u32,
    newest: u32,
}

/// One side's levels under keys that sort the best price first on both sides.
#[derive(Clone, Debug, Default)]
struct Ladder(BTreeMap<u64, Level>);

impl Side {
    fn key(self, price: Ticks) -> u64 {
        match self {
            Self::Bid => u64::MAX - price,
            Self::Ask => price,
        }
    }
}

/// The book of one symbol.
#[derive(Clone, Debug, Default)]
pub struct Book {
    bids: Ladder,
    asks: Ladder,
    slots: Vec<Order>,
    free: Vec<u32>,
    /// Slots in use, in no order, for drawing one at random.
    resting: Vec<u32>,
}

impl Book {
    fn ladder(&self, side: Side) -> &BTreeMap<u64, Level> {
        match side {
            Side::Bid => &self.bids.0,
            Side::Ask => &self.asks.0,
        }
    }

    fn ladder_mut(&mut self, side: Side) -> &mut BTreeMap<u64, Level> {
        match side {
            Side::Bid => &mut self.bids.0,
            Side::Ask => &mut self.asks.0,
        }
    }

    /// Price and level, best first.
    pub fn levels(&self, side: Side) -> impl DoubleEndedIterator<Item = (Ticks, &Level)> + '_ {
        self.ladder(side)
            .iter()
            .map(move |(&key, level)| (side.key(key), level))
    }

    /// How many prices have orders.
    pub fn level_count(&self, side: Side) -> usize {
        self.ladder(side).len()
    }

    /// The best price and its quantity.
    pub fn best(&self, side: Side) -> Option<(Ticks, Lots)> {
        self.levels(side)
            .next()
            .map(|(price, level)| (price, level.quantity))
    }

    /// The orders at one price; `None` if there are none.
    pub fn level(&self, side: Side, price: Ticks) -> Option<&Level> {
        self.ladder(side).get(&side.key(price))
    }

    /// The quantity at one price; zero if there is none.
    pub fn quantity_at(&self, side: Side, price: Ticks) -> Lots {
        self.level(side, price).map_or(0, |level| level.quantity)
    }

    /// The orders of one side, best price first, oldest first.
    pub fn orders(&self, side: Side) -> impl Iterator<Item = &Order> + '_ {
        self.ladder(side).values().flat_map(|level| {
            let newer =
                |&slot: &u32| Some(self.slots[slot as usize].newer).filter(|&newer| newer != NONE);
            std::iter::successors(Some(level.oldest), newer).map(|slot| &self.slots[slot as usize])
        })
    }

    /// A resting order by its number, at the price where it rests.
    pub fn find(&self, side: Side, price: Ticks, id: u64) -> Option<Slot> {
        let level = self.level(side, price)?;
        let newer =
            |&slot: &u32| Some(self.slots[slot as usize].newer).filter(|&newer| newer != NONE);
        std::iter::successors(Some(level.oldest), newer)
            .find(|&slot| self.slots[slot as usize].id == id)
            .map(Slot)
    }

    /// How many orders rest, both sides together.
    pub fn resting_orders(&self) -> usize {
        self.resting.len()
    }

    /// The `index`-th resting order (below [`Book::resting_orders`]) in an order that is arbitrary but repeatable.
    pub fn resting_order(&self, index: usize) -> (Slot, &Order) {
        let slot = self.resting[index];
        (Slot(slot), &self.slots[slot as usize])
    }

    /// Rests a new order behind those of the same price. The caller sees to it that it does not cross.
    pub fn place(&mut self, id: u64, side: Side, price: Ticks, quantity: Lots) {
        debug_assert!(
            quantity > 0
                && self
                    .best(side.opposite())
                    .is_none_or(|(best, _)| { side.key(price) > side.key(best) })
        );
        let order = Order {
            id,
            side,
            price,
            quantity,
            older: NONE,
            newer: NONE,
            position: self.resting.len() as u32,
        };
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None => {
                self.slots.push(order);
                self.slots.len() as u32 - 1
            }
        };
        let empty = Level {
            quantity: 0,
            orders: 0,
            oldest: slot,
            newest: NONE,
        };
        let level = self
            .ladder_mut(side)
            .entry(side.key(price))
            .or_insert(empty);
        let older = std::mem::replace(&mut level.newest, slot);
        level.quantity += quantity;
        level.orders += 1;
        self.slots[slot as usize] = Order { older, ..order };
        if older != NONE {
            self.slots[older as usize].newer = slot;
        }
        self.resting.push(slot);
    }

    /// Withdraws an order and returns it as it was.
    pub fn cancel(&mut self, slot: Slot) -> Order {
        let order = self.slots[slot.0 as usize];
        if order.older != NONE {
            self.slots[order.older as usize].newer = order.newer;
        }
        if order.newer != NONE {
            self.slots[order.newer as usize].older = order.older;
        }
        let key = order.side.key(order.price);
        let ladder = self.ladder_mut(order.side);
        let level = ladder.get_mut(&key).expect("a resting order has a level");
        level.quantity -= order.quantity;
        level.orders -= 1;
        if level.orders == 0 {
            ladder.remove(&key);
        } else {
            if level.oldest == slot.0 {
                level.oldest = order.newer;
            }
            if level.newest == slot.0 {
                level.newest = order.older;
            }
        }
        self.resting.swap_remove(order.position as usize);
        if let Some(&moved) = self.resting.get(order.position as usize) {
            self.slots[moved as usize].position = order.position;
        }
        self.free.push(slot.0);
        order
    }

    /// Takes up to `wanted` from the best order of a side. Returns the maker as it was before and the quantity taken.
    pub fn take_best(&mut self, side: Side, wanted: Lots) -> Option<(Order, Lots)> {
        let (&key, level) = self.ladder(side).iter().next()?;
        let slot = level.oldest;
        let order = self.slots[slot as usize];
        let taken = wanted.min(order.quantity);
        if taken == order.quantity {
            self.cancel(Slot(slot));
        } else {
            self.slots[slot as usize].quantity -= taken;
            self.ladder_mut(side)
                .get_mut(&key)
                .expect("just seen")
                .quantity -= taken;
        }
        Some((order, taken))
    }

    /// Panics unless everything that must hold of a book holds.
    pub fn assert_invariants(&self) {
        if let (Some((bid, _)), Some((ask, _))) = (self.best(Side::Bid), self.best(Side::Ask)) {
            assert!(bid < ask, "crossed: bid {bid}, ask {ask}");
        }
        let mut counted = 0;
        for side in [Side::Bid, Side::Ask] {
            for (price, level) in self.levels(side) {
                let (mut slot, mut older) = (level.oldest, NONE);
                let (mut quantity, mut orders) = (0, 0);
                while slot != NONE {
                    let order = &self.slots[slot as usize];
                    assert_eq!((order.side, order.price, order.older), (side, price, older));
                    assert_eq!(self.resting[order.position as usize], slot);
                    assert!(order.quantity > 0, "an order without quantity rests");
                    quantity += order.quantity;
                    orders += 1;
                    (older, slot) = (slot, order.newer);
                }
                assert_eq!(
                    (level.quantity, level.orders, level.newest),
                    (quantity, orders, older)
                );
                counted += orders;
            }
        }
        assert_eq!(counted as usize, self.resting.len());
        assert_eq!(self.resting.len() + self.free.len(), self.slots.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn orders_are_taken_by_price_then_by_age() {
        let mut book = Book::default();
        for (id, price, quantity) in [(1, 101, 5), (2, 100, 3), (3, 100, 4)] {
            book.place(id, Side::Ask, price, quantity);
        }
        let taken: Vec<_> =
            std::iter::from_fn(|| book.take_best(Side::Ask, 2).map(|(o, q)| (o.id, q))).collect();
        assert_eq!(
            taken,
            [(2, 2), (2, 1), (3, 2), (3, 2), (1, 2), (1, 2), (1, 1)]
        );
        assert_eq!(book.best(Side::Ask), None);
    }

    #[test]
    #[should_panic(expected = "crossed")]
    fn a_crossed_book_is_noticed() {
        let mut book = Book::default();
        book.place(1, Side::Bid, 10, 1);
        let mut other = Book::default();
        other.place(1, Side::Ask, 10, 1);
        book.asks = other.asks;
        book.assert_invariants();
    }

    proptest! {
        #[test]
        fn any_sequence_of_orders_keeps_the_invariants(steps in proptest::collection::vec((0u8..4, 0u64..40, 1u64..9), 0..200)) {
            let mut book = Book::default();
            for (id, (kind, at, quantity)) in steps.into_iter().enumerate() {
                match kind {
                    0 => book.place(id as u64, Side::Bid, 1 + at, quantity),
                    1 => book.place(id as u64, Side::Ask, 41 + at, quantity),
                    2 if book.resting_orders() > 0 => {
                        let (slot, _) = book.resting_order(at as usize % book.resting_orders());
                        book.cancel(slot);
                    }
                    _ => _ = book.take_best(if at % 2 == 0 { Side::Bid } else { Side::Ask }, quantity),
                }
                book.assert_invariants();
            }
            prop_assert_eq!(book.orders(Side::Bid).count() + book.orders(Side::Ask).count(), book.resting_orders());
        }
    }
}
