//! When each message is meant to leave.
//!
//! A [`Pacer`] is a value: closed loop, burst, constant rate or Poisson arrivals. Its [`Schedule`] answers one
//! question, the intended time of the k-th send in nanoseconds since the start, without a clock and without drift.
//! So the engine has one loop for all pacers, and the test of a ten-hour run takes a millisecond.

#![forbid(unsafe_code)]

mod pacer;
mod rate;
mod schedule;

pub use pacer::Pacer;
pub use rate::{Rate, RateError};
pub use schedule::Schedule;
