//! The orders of one symbol: what comes, and when.

use super::arrivals::ArrivalTimes;
use super::publication::Publisher;
use super::random::Random;
use super::{
    Action, Event, Execution, Fill, Lots, MarketConfig, Mix, OrderAction, Side, Symbol, SymbolId,
    Ticks,
};
use smallvec::SmallVec;
use std::collections::BTreeMap;

/// Levels that no cancel or market order removes, so that each side always has a best price.
const LEAST_LEVELS: usize = 10;

/// Makes the events of one symbol.
pub struct Flow {
    random: Random,
    mix: Mix,
    typical_quantity: Lots,
    opening_price: Ticks,
    times: ArrivalTimes,
    publisher: Publisher,
    matched_ns: u64,
    published_ns: u64,
    orders: u64,
    trades: u64,
    aggregates: u64,
    /// Clients' orders that rest, with what is needed to find them. The market's own orders never withdraw them.
    guests: BTreeMap<u64, (Side, Ticks)>,
}

impl Flow {
    /// The `index`-th of `count` symbols. Each draws from streams of its own, so that more symbols or other arrivals
    /// do not change what the orders of this one are.
    pub fn new(config: &MarketConfig, index: usize, count: usize) -> Self {
        let stream = |purpose: u64| Random::new(config.seed, index as u64 * 3 + purpose);
        let phase = index as f64 / count as f64;
        let mut times = ArrivalTimes::new(config.arrivals.shared_among(count), stream(1), phase);
        let mut publisher = Publisher::new(config.publication, stream(2));
        let matched_ns = times.next_ns();
        Self {
            random: stream(0),
            mix: config.mix,
            typical_quantity: config.instruments[index].typical_quantity,
            opening_price: config.instruments[index].opening_price,
            matched_ns,
            published_ns: publisher.publish_ns(matched_ns),
            times,
            publisher,
            orders: 0,
            trades: 0,
            aggregates: 0,
            guests: BTreeMap::new(),
        }
    }

    /// When the next event is published.
    pub fn published_ns(&self) -> u64 {
        self.published_ns
    }

    /// Fills the book to its usual depth and makes one trade, all at time zero.
    pub fn open(&mut self, symbol: &mut Symbol) {
        let ask = self.opening_price.max(2);
        for (side, price) in [(Side::Bid, ask - 1), (Side::Ask, ask)] {
            self.opening_order(symbol, side, price);
        }
        // A side of least depth first, then as the orders come.
        let levels = (self.mix.reach_ticks.min(LEAST_LEVELS as u64)).min(ask - 1);
        for distance in 0..levels {
            self.opening_order(symbol, Side::Bid, ask - 1 - distance);
            self.opening_order(symbol, Side::Ask, ask + distance);
        }
        while symbol.book.resting_orders() < self.mix.resting_orders as usize {
            let side = self.either_side();
            let price = self.limit_price(symbol, side);
            self.opening_order(symbol, side, price);
        }
        let action = self.take(symbol, Side::Bid);
        let event = Event {
            symbol: SymbolId(0),
            sequence: symbol.sequence + 1,
            matched_ns: 0,
            published_ns: 0,
            action,
        };
        symbol.count(&event);
    }

    fn opening_order(&mut self, symbol: &mut Symbol, side: Side, price: Ticks) {
        let quantity = self.quantity();
        symbol.book.place(self.next_order(), side, price, quantity);
        symbol.sequence += 1;
    }

    /// Applies the next event to the symbol and returns it, and draws when the one after it is due.
    pub fn step(&mut self, id: SymbolId, symbol: &mut Symbol) -> Event {
        let event = Event {
            symbol: id,
            sequence: symbol.sequence + 1,
            matched_ns: self.matched_ns,
            published_ns: self.published_ns,
            action: self.act(symbol),
        };
        symbol.count(&event);
        self.matched_ns = self.times.next_ns();
        self.published_ns = self.publisher.publish_ns(self.matched_ns);
        event
    }

    /// Cancels weigh more in a deep book and less in a shallow one, so that its depth is stationary whatever the mix.
    fn act(&mut self, symbol: &mut Symbol) -> Action {
        let usual = u64::from(self.mix.resting_orders);
        let limit = u64::from(self.mix.limit) * usual;
        let market = u64::from(self.mix.market) * usual;
        // A mix without cancels has them nevertheless once the book holds ten times its usual depth.
        let resting = symbol.book.resting_orders() as u64;
        let cancel_weight = u64::from(self.mix.cancel)
            .max(u64::from(resting > 10 * usual) * u64::from(self.mix.limit));
        let cancel = cancel_weight * resting;
        let drawn = self.random.below(limit + market + cancel);
        let side = self.either_side();
        if drawn < market && symbol.book.level_count(side.opposite()) > self.least_levels() {
            self.take(symbol, side)
        } else if drawn < market + cancel {
            self.cancel(symbol)
                .unwrap_or_else(|side| self.place(symbol, side))
        } else {
            self.place(symbol, side)
        }
    }

    /// Does what a client asks, at this time, which is also when it is published: the client hears of it at once, so
    /// nobody may hear of it later. Later events of the symbol keep their order.
    pub fn submit(
        &mut self,
        id: SymbolId,
        symbol: &mut Symbol,
        action: OrderAction,
        now_ns: u64,
    ) -> Execution {
        let mut actions: SmallVec<[Action; 2]> = SmallVec::new();
        let mut execution = Execution {
            order: 0,
            resting: 0,
            withdrawn: None,
            events: SmallVec::new(),
        };
        match action {
            OrderAction::Cancel { order } => {
                execution.order = order;
                if let Some(action) = self.withdraw(symbol, order) {
                    if let Action::Cancel { quantity, .. } = action {
                        execution.withdrawn = Some(quantity);
                    }
                    actions.push(action);
                }
            }
            OrderAction::New {
                side,
                limit,
                quantity,
                rests,
            } => {
                let order = self.next_order();
                execution.order = order;
                let (fills, left) = self.fill(symbol, side, limit, quantity, 0);
                if !fills.is_empty() {
                    actions.push(Action::Take {
                        order,
                        side,
                        quantity,
                        fills,
                    });
                }
                let crosses = |price| {
                    let best = symbol.book.best(side.opposite());
                    best.is_some_and(|(best, _)| match side {
                        Side::Bid => best <= price,
                        Side::Ask => best >= price,
                    })
                };
                match limit.filter(|&price| left > 0 && rests && !crosses(price)) {
                    Some(price) => {
                        symbol.book.place(order, side, price, left);
                        self.guests.insert(order, (side, price));
                        execution.resting = left;
                        actions.push(Action::Place {
                            order,
                            side,
                            price,
                            quantity: left,
                        });
                    }
                    None => execution.withdrawn = (left > 0).then_some(left),
                }
            }
        }
        for action in actions {
            let event = Event {
                symbol: id,
                sequence: symbol.sequence + 1,
                matched_ns: now_ns,
                published_ns: now_ns,
                action,
            };
            symbol.count(&event);
            execution.events.push(event);
        }
        execution
    }

    /// Takes a client's order out of the book, if it is still there.
    fn withdraw(&mut self, symbol: &mut Symbol, order: u64) -> Option<Action> {
        let (side, price) = self.guests.remove(&order)?;
        let slot = symbol.book.find(side, price, order)?;
        let order = symbol.book.cancel(slot);
        Some(Action::Cancel {
            order: order.id,
            side,
            price,
            quantity: order.quantity,
        })
    }

    /// Levels that the market's own orders leave: enough that clients may withdraw all of theirs.
    fn least_levels(&self) -> usize {
        LEAST_LEVELS + self.guests.len()
    }

    fn place(&mut self, symbol: &mut Symbol, side: Side) -> Action {
        let price = self.limit_price(symbol, side);
        let quantity = self.quantity();
        let order = self.next_order();
        symbol.book.place(order, side, price, quantity);
        Action::Place {
            order,
            side,
            price,
            quantity,
        }
    }

    /// Withdraws an order drawn at random; names the side instead if that side could not spare its level.
    fn cancel(&mut self, symbol: &mut Symbol) -> Result<Action, Side> {
        let index = self.random.below(symbol.book.resting_orders() as u64) as usize;
        let (slot, &order) = symbol.book.resting_order(index);
        let alone = symbol
            .book
            .level(order.side, order.price)
            .is_some_and(|level| level.orders == 1);
        let is_guest = !self.guests.is_empty() && self.guests.contains_key(&order.id);
        if is_guest || alone && symbol.book.level_count(order.side) <= self.least_levels() {
            return Err(order.side);
        }
        symbol.book.cancel(slot);
        Ok(Action::Cancel {
            order: order.id,
            side: order.side,
            price: order.price,
            quantity: order.quantity,
        })
    }

    /// A market order; it stops before it would leave its maker's side with too few levels.
    fn take(&mut self, symbol: &mut Symbol, side: Side) -> Action {
        let quantity = self.quantity();
        let order = self.next_order();
        let (fills, _) = self.fill(symbol, side, None, quantity, 1);
        Action::Take {
            order,
            side,
            quantity,
            fills,
        }
    }

    /// Takes from the other side, best price first, as far as the limit allows and enough levels remain; returns the
    /// trades and what found nobody. The first `trades_anyway` trades may leave fewer levels.
    fn fill(
        &mut self,
        symbol: &mut Symbol,
        side: Side,
        limit: Option<Ticks>,
        quantity: Lots,
        trades_anyway: usize,
    ) -> (SmallVec<[Fill; 4]>, Lots) {
        let mut fills: SmallVec<[Fill; 4]> = SmallVec::new();
        let mut wanted = quantity;
        let acceptable = |price: Ticks| match (limit, side) {
            (None, _) => true,
            (Some(limit), Side::Bid) => price <= limit,
            (Some(limit), Side::Ask) => price >= limit,
        };
        while wanted > 0
            && (fills.len() < trades_anyway
                || symbol.book.level_count(side.opposite()) > self.least_levels())
            && symbol
                .book
                .best(side.opposite())
                .is_some_and(|(best, _)| acceptable(best))
        {
            let Some((maker, taken)) = symbol.book.take_best(side.opposite(), wanted) else {
                break;
            };
            wanted -= taken;
            self.trades += 1;
            if fills.last().is_none_or(|fill| fill.price != maker.price) {
                self.aggregates += 1;
            }
            if taken == maker.quantity && !self.guests.is_empty() {
                self.guests.remove(&maker.id);
            }
            fills.push(Fill {
                trade: self.trades,
                aggregate: self.aggregates,
                maker: maker.id,
                price: maker.price,
                quantity: taken,
                maker_remaining: maker.quantity - taken,
            });
        }
        (fills, wanted)
    }

    /// A price that improves on, joins or stands behind the best, counted from the opposite side so that it never
    /// crosses. Distances have the heavy tail of real books: twice as far is half as likely to be passed.
    fn limit_price(&mut self, symbol: &Symbol, side: Side) -> Ticks {
        let distance = ((1.0 / self.random.unit()).min(self.mix.reach_ticks as f64) as u64).max(1);
        let (opposite, _) = symbol
            .book
            .best(side.opposite())
            .expect("each side has a best price");
        match side {
            // At least one: asks never go below two ticks, so a bid always has room.
            Side::Bid => opposite.saturating_sub(distance).max(1),
            Side::Ask => (opposite + distance).max(2),
        }
    }

    /// Exponential, at least one lot.
    fn quantity(&mut self) -> Lots {
        1 + (self.random.exponential() * self.typical_quantity as f64) as Lots
    }

    fn either_side(&mut self) -> Side {
        if self.random.per_mille(500) {
            Side::Bid
        } else {
            Side::Ask
        }
    }

    fn next_order(&mut self) -> u64 {
        self.orders += 1;
        self.orders
    }
}
