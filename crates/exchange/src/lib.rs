//! An exchange without sockets and without a clock of its own.
//!
//! One [`market`] makes order-book events from a seed. Each [`personality`] speaks of them in one exchange's words:
//! it takes the bytes that a client sent and the time, and returns the bytes to send and when it wants to be called
//! again. The [`ledger`] records when each event was born and sent; [`replay`] schedules recordings; [`faults`] spoils
//! what is sent, on purpose and by seed. Sockets, TLS and the spinning sender stand around this crate.
//!
//! All times are nanoseconds since the market opened unless a name says `unix`; [`time::ExchangeClock`] translates.

pub mod encode;
pub mod faults;
pub mod hub;
pub mod inbound;
pub mod ledger;
pub mod market;
pub mod personality;
pub mod replay;
pub mod time;
