//! Order entry: what clients ask of the book, and the ExecutionReports that they get.

use super::super::{Frames, StreamId};
use super::dialect::{time, Dialect, Units};
use super::request::NewOrder;
use super::stream::{Report, Stream};
use crate::encode::Encode;
use crate::market::{
    Action, Event, Execution, Fill, Lots, Market, Order, OrderAction, Side, SymbolId, Ticks,
};
use feedbench_wire::fix::time::Precision;
use std::collections::HashMap;

/// Orders that one client may have in the books at a time: enough for any measurement, and few enough that the market's
/// own orders keep their room.
const MOST_ORDERS: usize = 100;

/// An order of a client.
#[derive(Clone, Debug)]
pub struct Placed {
    seat: u32,
    /// ClOrdID.
    id: String,
    symbol: SymbolId,
    side: Side,
    limit: Option<Ticks>,
    quantity: Lots,
    filled: Lots,
    /// Ticks times lots.
    turnover: u128,
    /// FIX 4.2 has other words for some things.
    is_fix42: bool,
}

impl Placed {
    fn left(&self) -> Lots {
        self.quantity - self.filled
    }
}

/// What a client waits to hear of.
#[derive(Clone, Debug)]
pub enum Awaiting {
    /// A new order.
    New {
        /// As it was asked for.
        order: Placed,
        /// When the client's bytes were read.
        arrived_ns: u64,
    },
    /// The withdrawal of one.
    Cancel {
        /// ClOrdID of the request.
        id: String,
        /// ClOrdID of the order.
        original: String,
        /// Whose.
        seat: u32,
        /// The order, if there is one.
        order: Option<(SymbolId, u64)>,
        /// When the client's bytes were read.
        arrived_ns: u64,
    },
}

/// Why an order never came to the market: OrdRejReason (103) and words.
pub type Refusal = (u64, &'static str);

/// All orders of all clients.
#[derive(Debug, Default)]
pub struct Desk {
    placed: HashMap<(SymbolId, u64), Placed>,
    executions: u64,
}

/// What a report says apart from its order.
struct Told<'a> {
    report: Report,
    /// ExecType and OrdStatus.
    kind: &'static str,
    status: &'static str,
    /// LastQty and LastPx.
    last: Option<(Lots, Ticks)>,
    /// LeavesQty.
    left: Lots,
    /// ClOrdID and OrigClOrdID of a cancel.
    cancel: Option<(&'a str, &'a str)>,
    reason: Option<Refusal>,
    order: u64,
}

impl Desk {
    /// Reads an order; `Err` says why it is refused.
    pub fn read(
        &self,
        new: &NewOrder,
        (seat, is_fix42): (u32, bool),
        symbol: Option<SymbolId>,
        market: &Market,
    ) -> Result<(Placed, OrderAction), Refusal> {
        let symbol = symbol.ok_or((1, "Unknown symbol"))?;
        let own = self.placed.values().filter(|placed| placed.seat == seat);
        if own.clone().count() >= MOST_ORDERS {
            return Err((3, "Order exceeds limit: 100 orders rest already"));
        }
        if own.clone().any(|placed| placed.id == new.id) {
            return Err((6, "Duplicate order: this ClOrdID is in the book"));
        }
        let units = Units::of(Dialect::Standard, &market.symbol(symbol).instrument);
        let side = match new.side {
            b'1' => Side::Bid,
            b'2' => Side::Ask,
            _ => {
                return Err((
                    11,
                    "Unsupported order characteristic: Side (54) must be 1 or 2",
                ))
            }
        };
        let quantity = units.parse_quantity(&new.quantity).ok_or((
            13,
            "Incorrect quantity: OrderQty (38) must be a multiple of the round lot",
        ))?;
        let limit = match new.kind {
            b'1' => None,
            b'2' => Some(units.parse_price(&new.price).ok_or((
                99,
                "Price (44) must be a multiple of the minimum price increment",
            ))?),
            _ => {
                return Err((
                    11,
                    "Unsupported order characteristic: OrdType (40) must be 1 or 2",
                ))
            }
        };
        let rests = match new.time_in_force {
            b'0' | b'1' => limit.is_some(),
            b'3' => false,
            _ => {
                return Err((
                    11,
                    "Unsupported order characteristic: TimeInForce (59) must be 0, 1 or 3",
                ))
            }
        };
        let placed = Placed {
            seat,
            id: new.id.clone(),
            symbol,
            side,
            limit,
            quantity,
            filled: 0,
            turnover: 0,
            is_fix42,
        };
        let action = OrderAction::New {
            side,
            limit,
            quantity,
            rests,
        };
        Ok((placed, action))
    }

    /// Body of the ExecutionReport about an order that never came to the market.
    pub fn refuse(
        &mut self,
        new: &NewOrder,
        is_fix42: bool,
        reason: Refusal,
        unix_ns: u64,
    ) -> Vec<u8> {
        self.executions += 1;
        let mut out = Vec::new();
        let plain = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        out.text("6=0\x0111=").text(&new.id).text("\x0114=0\x0117=");
        out.number(self.executions).text("\x01");
        if is_fix42 {
            out.text("20=0\x01");
        }
        out.text("37=NONE\x01");
        if !new.quantity.is_empty() {
            out.text("38=").text(&plain(&new.quantity)).text("\x01");
        }
        out.text("39=8\x0154=")
            .text(&plain(&[new.side]))
            .text("\x01");
        out.text("55=")
            .text(&new.symbol)
            .text("\x0158=")
            .text(reason.1)
            .text("\x01");
        time(&mut out, "60=", unix_ns, Precision::Milliseconds);
        out.text("103=")
            .number(reason.0)
            .text("\x01150=8\x01151=0\x01");
        out
    }

    /// The order of a client by its ClOrdID.
    pub fn find(&self, seat: u32, id: &str) -> Option<(SymbolId, u64)> {
        let mut all = self.placed.iter();
        all.find(|(_, placed)| placed.seat == seat && placed.id == id)
            .map(|(&key, _)| key)
    }

    /// Makes the reports about what a client awaited.
    pub fn on_execution(
        &mut self,
        awaiting: Awaiting,
        execution: Option<&Execution>,
        symbols: &[String],
        market: &Market,
        now_ns: u64,
        frames: &mut Frames,
    ) {
        match awaiting {
            Awaiting::New { order, arrived_ns } => {
                let context = Context {
                    symbols,
                    market,
                    now_ns,
                    born_ns: arrived_ns,
                };
                self.on_new(order, execution, &context, frames);
            }
            Awaiting::Cancel {
                id,
                original,
                seat,
                order,
                arrived_ns,
            } => {
                let context = Context {
                    symbols,
                    market,
                    now_ns,
                    born_ns: arrived_ns,
                };
                let placed = order
                    .filter(|_| execution.is_some_and(|done| done.withdrawn.is_some()))
                    .and_then(|key| Some((key.1, self.placed.remove(&key)?)));
                match placed {
                    Some((number, placed)) => {
                        let told = Told {
                            cancel: Some((&id, &original)),
                            ..Told::withdrawn(number)
                        };
                        self.write(&placed, told, &context, frames);
                    }
                    None => reject_cancel(seat, &id, &original, &context, frames),
                }
            }
        }
    }

    fn on_new(
        &mut self,
        mut order: Placed,
        execution: Option<&Execution>,
        context: &Context<'_>,
        frames: &mut Frames,
    ) {
        let Some(execution) = execution else {
            let told = Told {
                kind: "8",
                status: "8",
                reason: Some((2, "Exchange closed: the market has not opened")),
                ..Told::new(0, Report::Acknowledgement)
            };
            return self.write(&order, told, context, frames);
        };
        let number = execution.order;
        let told = Told {
            left: order.quantity,
            ..Told::new(number, Report::Acknowledgement)
        };
        self.write(&order, told, context, frames);
        for event in &execution.events {
            if let Action::Take { fills, .. } = &event.action {
                for fill in fills {
                    self.fill(&mut order, number, fill, context, frames);
                }
            }
        }
        if execution.withdrawn.is_some() {
            let told = Told {
                report: Report::Acknowledgement,
                ..Told::withdrawn(number)
            };
            self.write(&order, told, context, frames);
        } else if execution.resting > 0 {
            self.placed.insert((order.symbol, number), order);
        }
    }

    fn fill(
        &mut self,
        order: &mut Placed,
        number: u64,
        fill: &Fill,
        context: &Context<'_>,
        frames: &mut Frames,
    ) {
        order.filled += fill.quantity;
        order.turnover += u128::from(fill.price) * u128::from(fill.quantity);
        let status = if order.left() == 0 { "2" } else { "1" };
        let told = Told {
            kind: if order.is_fix42 { status } else { "F" },
            status,
            last: Some((fill.quantity, fill.price)),
            left: order.left(),
            ..Told::new(number, Report::Fill)
        };
        self.write(order, told, context, frames);
    }

    /// Tells clients whose resting orders somebody took.
    pub fn on_event(
        &mut self,
        event: &Event,
        symbols: &[String],
        market: &Market,
        frames: &mut Frames,
    ) {
        let Action::Take { fills, .. } = &event.action else {
            return;
        };
        if self.placed.is_empty() {
            return;
        }
        let context = Context {
            symbols,
            market,
            now_ns: event.matched_ns,
            born_ns: event.published_ns,
        };
        for fill in fills {
            if let Some(mut placed) = self.placed.remove(&(event.symbol, fill.maker)) {
                self.fill(&mut placed, fill.maker, fill, &context, frames);
                if placed.left() > 0 {
                    self.placed.insert((event.symbol, fill.maker), placed);
                }
            }
        }
    }

    /// A client is gone, and its orders with it.
    pub fn withdraw_all(&mut self, seat: u32) -> Vec<Order> {
        let is_own = |placed: &Placed| placed.seat == seat;
        let own = self.placed.iter().filter(|(_, placed)| is_own(placed));
        let mut orders: Vec<Order> = own
            .map(|(&(symbol, order), _)| Order {
                symbol,
                action: OrderAction::Cancel { order },
            })
            .collect();
        orders.sort_unstable_by_key(|order| (order.symbol, order.number()));
        self.placed.retain(|_, placed| !is_own(placed));
        orders
    }

    /// Writes an ExecutionReport, its fields in ascending order.
    fn write(
        &mut self,
        order: &Placed,
        told: Told<'_>,
        context: &Context<'_>,
        frames: &mut Frames,
    ) {
        self.executions += 1;
        let execution = self.executions;
        let symbol = context.market.symbol(order.symbol);
        let units = Units::of(Dialect::Standard, &symbol.instrument);
        let stream = context.stream(order.seat, told.report);
        frames.add(stream, told.order, context.born_ns, |out| {
            units.mean_price(out, "6=", order.turnover, order.filled);
            let id = told.cancel.map_or(order.id.as_str(), |(id, _)| id);
            out.text("11=").text(id).text("\x01");
            units.quantity(out, "14=", order.filled);
            out.text("17=").number(execution).text("\x01");
            if order.is_fix42 {
                out.text("20=0\x01");
            }
            if let Some((quantity, price)) = told.last {
                units.price(out, "31=", price);
                units.quantity(out, "32=", quantity);
            }
            match told.order {
                0 => out.text("37=NONE\x01"),
                number => out.text("37=").number(number).text("\x01"),
            };
            units.quantity(out, "38=", order.quantity);
            out.text("39=").text(told.status).text("\x01");
            let kind = if order.limit.is_some() { "2" } else { "1" };
            out.text("40=").text(kind).text("\x01");
            if let Some((_, original)) = told.cancel {
                out.text("41=").text(original).text("\x01");
            }
            if let Some(price) = order.limit {
                units.price(out, "44=", price);
            }
            out.text(match order.side {
                Side::Bid => "54=1\x01",
                Side::Ask => "54=2\x01",
            });
            let name = &context.symbols[order.symbol.0 as usize];
            out.text("55=").text(name).text("\x01");
            if let Some((_, words)) = told.reason {
                out.text("58=").text(words).text("\x01");
            }
            time(out, "60=", context.unix_ns(), Precision::Milliseconds);
            if let Some((code, _)) = told.reason {
                out.text("103=").number(code).text("\x01");
            }
            out.text("150=").text(told.kind).text("\x01");
            units.quantity(out, "151=", told.left);
        });
    }
}

/// Where and when something is told.
struct Context<'a> {
    symbols: &'a [String],
    market: &'a Market,
    /// When it was matched.
    now_ns: u64,
    /// When what is answered came.
    born_ns: u64,
}

impl Context<'_> {
    fn stream(&self, seat: u32, report: Report) -> StreamId {
        Stream::Client(seat, report).id(self.symbols.len() as u32)
    }

    fn unix_ns(&self) -> u64 {
        self.market.clock().unix_ns(self.now_ns)
    }
}

impl Told<'_> {
    fn new(order: u64, report: Report) -> Self {
        Self {
            report,
            kind: "0",
            status: "0",
            last: None,
            left: 0,
            cancel: None,
            reason: None,
            order,
        }
    }

    fn withdrawn(order: u64) -> Self {
        Self {
            kind: "4",
            status: "4",
            ..Self::new(order, Report::Cancel)
        }
    }
}

/// OrderCancelReject.
fn reject_cancel(seat: u32, id: &str, original: &str, context: &Context<'_>, frames: &mut Frames) {
    let stream = context.stream(seat, Report::CancelReject);
    frames.add(stream, 0, context.born_ns, |out| {
        out.text("11=")
            .text(id)
            .text("\x0137=NONE\x0139=8\x0141=")
            .text(original);
        out.text("\x0158=Unknown order\x01");
        time(out, "60=", context.unix_ns(), Precision::Milliseconds);
        out.text("102=1\x01434=1\x01");
    });
}
