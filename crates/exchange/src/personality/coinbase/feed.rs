//! The channels' messages.

use super::super::names::Names;
use super::super::{Frames, Reply};
use super::message::{
    write_change, write_heartbeat, write_match, write_snapshot, write_ticker, write_time, Told,
};
use super::Channel;
use crate::encode::Encode;
use crate::hub::Subscriptions;
use crate::market::{Action, Event, Fill, Lots, Market, Side, SymbolId, Ticks};
use crate::time::{MILLISECOND_NS, SECOND_NS};

/// Time between batches of `level2_batch`.
const TICK_NS: u64 = 50 * MILLISECOND_NS;
const TICKS_PER_S: u64 = SECOND_NS / TICK_NS;

/// What the exchange counts of one product beyond the market's own numbers.
struct Product {
    /// Of the last message that the `full` channel would carry: each order takes several steps.
    sequence: u64,
    /// Of the last match.
    match_sequence: u64,
    /// Levels changed since the last batch.
    changed: Vec<(Side, Ticks)>,
    /// Last trade told by `ticker_batch`.
    told_trade: u64,
}

/// The feed of all products.
pub struct Feed {
    products: Vec<Product>,
    tick_ns: u64,
    ticks: u64,
}

impl Feed {
    pub fn new(market: &Market) -> Self {
        let products = market.symbols().iter().map(|symbol| {
            // As if each event before the opening had been one message.
            let sequence = symbol.sequence;
            Product {
                sequence,
                match_sequence: sequence,
                changed: Vec::new(),
                told_trade: symbol.last().fill.trade,
            }
        });
        Self {
            products: products.collect(),
            tick_ns: TICK_NS,
            ticks: 0,
        }
    }

    pub fn tick_ns(&self) -> u64 {
        self.tick_ns
    }

    /// Of the last message of a product.
    pub fn sequence(&self, product: SymbolId) -> u64 {
        self.products[product.0 as usize].sequence
    }

    /// What a new subscriber gets first: the book, the last match, the ticker as it stands.
    pub fn first_frame(
        &self,
        names: &Names,
        market: &Market,
        channel: Channel,
        id: SymbolId,
        now_ns: u64,
    ) -> Option<Reply> {
        let (name, symbol) = (names.of(id), market.symbol(id));
        let product = &self.products[id.0 as usize];
        let clock = market.clock();
        match channel {
            Channel::Level2 | Channel::Level2Batch => {
                Some(Reply::text(|out| write_snapshot(out, name, symbol)))
            }
            Channel::Matches => Some(Reply::text(|out| {
                write_match(
                    out,
                    clock,
                    name,
                    symbol,
                    id,
                    symbol.last(),
                    product.match_sequence,
                    "last_match",
                );
            })),
            Channel::Ticker | Channel::TickerBatch => Some(Reply::text(|out| {
                write_ticker(
                    out,
                    clock,
                    name,
                    symbol,
                    symbol.last(),
                    product.match_sequence,
                );
            })),
            Channel::Heartbeat => Some(Reply::text(|out| {
                write_heartbeat(out, clock, name, symbol, product.sequence, now_ns)
            })),
            Channel::Full => None,
        }
    }

    /// Allocates nothing once the buffers have grown.
    pub fn on_event(
        &mut self,
        names: &Names,
        market: &Market,
        event: &Event,
        wanted: &Subscriptions,
        frames: &mut Frames,
    ) {
        let id = event.symbol;
        let product = &mut self.products[id.0 as usize];
        let symbol = market.symbol(id);
        let told = Told {
            clock: market.clock(),
            name: names.of(id),
            symbol,
            event,
        };
        let full = Channel::Full.stream(id);
        let full = wanted.wants(full).then_some(full);
        let (level2, born_ns) = (Channel::Level2.stream(id), event.published_ns);
        let mut step = |frames: &mut Frames, write: &dyn Fn(&mut Vec<u8>, u64)| {
            product.sequence += 1;
            if let Some(full) = full {
                frames.add(full, product.sequence, born_ns, |out| {
                    write(out, product.sequence)
                });
            }
            product.sequence
        };
        match &event.action {
            &Action::Place {
                order,
                side,
                price,
                quantity,
            } => {
                step(frames, &|out, sequence| {
                    told.received(out, sequence, order, side, Some(price), quantity)
                });
                step(frames, &|out, sequence| {
                    told.open(out, sequence, order, side, price, quantity)
                });
            }
            &Action::Cancel {
                order,
                side,
                price,
                quantity,
            } => {
                step(frames, &|out, sequence| {
                    told.done(
                        out,
                        sequence,
                        order,
                        side,
                        Some((price, quantity)),
                        "canceled",
                    )
                });
            }
            Action::Take {
                order,
                side,
                quantity,
                fills,
            } => {
                step(frames, &|out, sequence| {
                    told.received(out, sequence, *order, *side, None, *quantity)
                });
                for trade in event.trades() {
                    let Fill {
                        maker,
                        price,
                        maker_remaining,
                        ..
                    } = trade.fill;
                    let sequence =
                        step(frames, &|out, sequence| told.matched(out, sequence, &trade));
                    for (channel, is_ticker) in [(Channel::Matches, false), (Channel::Ticker, true)]
                    {
                        let stream = channel.stream(id);
                        if wanted.wants(stream) {
                            frames.add(stream, sequence, born_ns, |out| match is_ticker {
                                true => write_ticker(
                                    out, told.clock, told.name, symbol, &trade, sequence,
                                ),
                                false => told.matched(out, sequence, &trade),
                            });
                        }
                    }
                    if maker_remaining == 0 {
                        step(frames, &|out, sequence| {
                            told.done(
                                out,
                                sequence,
                                maker,
                                side.opposite(),
                                Some((price, 0)),
                                "filled",
                            );
                        });
                    }
                }
                let taken: Lots = fills.iter().map(|fill| fill.quantity).sum();
                let reason = if taken == *quantity {
                    "filled"
                } else {
                    "canceled"
                };
                step(frames, &|out, sequence| {
                    told.done(out, sequence, *order, *side, None, reason)
                });
            }
        }
        if event.trades().next().is_some() {
            // The number of the last match, not of the steps after it, is what a ticker shows.
            let after_last_match = 1 + u64::from(
                event
                    .trades()
                    .last()
                    .is_some_and(|t| t.fill.maker_remaining == 0),
            );
            product.match_sequence = product.sequence - after_last_match;
        }
        if wanted.wants(level2) {
            for (side, price) in event.levels() {
                frames.add(level2, event.sequence, born_ns, |out| {
                    out.text(r#"{"type":"l2update","product_id":""#)
                        .text(told.name)
                        .text(r#"","changes":["#);
                    write_change(out, symbol, side, price);
                    out.text(r#"],"time":"#);
                    write_time(out, told.clock, event.matched_ns);
                    out.push(b'}');
                });
            }
        }
        product.changed.extend(event.levels());
    }

    /// Batches of level 2, heartbeats, batched tickers.
    pub fn on_tick(
        &mut self,
        names: &Names,
        market: &Market,
        wanted: &Subscriptions,
        frames: &mut Frames,
    ) {
        self.ticks += 1;
        let (now_ns, clock) = (self.tick_ns, market.clock());
        for (id, product) in market.ids().zip(&mut self.products) {
            let (name, symbol) = (names.of(id), market.symbol(id));
            let batch = Channel::Level2Batch.stream(id);
            if wanted.wants(batch) && !product.changed.is_empty() {
                product.changed.sort_unstable();
                product.changed.dedup();
                frames.add(batch, symbol.sequence, now_ns, |out| {
                    out.text(r#"{"type":"l2update","product_id":""#)
                        .text(name)
                        .text(r#"","changes":["#);
                    for (index, &(side, price)) in product.changed.iter().enumerate() {
                        out.text(if index > 0 { "," } else { "" });
                        write_change(out, symbol, side, price);
                    }
                    out.text(r#"],"time":"#);
                    write_time(out, clock, now_ns);
                    out.push(b'}');
                });
            }
            product.changed.clear();
            let heartbeat = Channel::Heartbeat.stream(id);
            if self.ticks % TICKS_PER_S == 0 && wanted.wants(heartbeat) {
                frames.add(heartbeat, product.sequence, now_ns, |out| {
                    write_heartbeat(out, clock, name, symbol, product.sequence, now_ns);
                });
            }
            let ticker = Channel::TickerBatch.stream(id);
            let last = symbol.last();
            if self.ticks % (5 * TICKS_PER_S) == 0
                && wanted.wants(ticker)
                && product.told_trade != last.fill.trade
            {
                product.told_trade = last.fill.trade;
                frames.add(ticker, product.match_sequence, now_ns, |out| {
                    write_ticker(out, clock, name, symbol, last, product.match_sequence);
                });
            }
        }
        self.tick_ns += TICK_NS;
    }
}
