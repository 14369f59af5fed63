//! The pacer: what decides when the next message is due.

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

use crate::{Rate, Schedule};

/// How a load is offered. A value without clock or socket: the engine holds the loop, the pacer only answers "when".
///
/// | kind | who waits for whom | one schedule serves |
/// |---|---|---|
/// | `closed` | the sender for the answer | one connection |
/// | `burst` | nobody: N messages, then the rest of the interval | one connection |
/// | `constant` | nobody: every 1/rate | all connections, in turn |
/// | `poisson` | nobody: exponential gaps, as independent users make them | all connections, in turn |
///
/// The closed loop hides stalls: while the target sleeps nothing is sent, so a stall costs one slow sample instead of
/// all those that should have been sent meanwhile ("coordinated omission", Gil Tene; measured from the intended
/// time in wrk2). The other three know their intended times beforehand and hide nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Pacer {
    /// Keeps `in_flight` messages outstanding on each connection; each answer releases the next.
    Closed {
        /// Messages outstanding per connection (the pipelining depth W).
        in_flight: NonZeroU32,
    },
    /// `messages` at once on each connection, every `interval_ns`.
    Burst {
        /// Messages in one burst, per connection.
        messages: NonZeroU32,
        /// From the start of one burst to the start of the next, in ns.
        interval_ns: std::num::NonZeroU64,
    },
    /// One message every 1/rate.
    Constant {
        /// Messages per second over all connections.
        rate_per_s: Rate,
    },
    /// Independent exponential gaps with mean 1/rate.
    Poisson {
        /// Mean messages per second over all connections.
        rate_per_s: Rate,
        /// The same seed gives the same schedule on every machine. Requests may leave it out and set one for the
        /// whole campaign; see [`Pacer::with_seed`].
        #[serde(default, skip_serializing_if = "is_zero")]
        seed: u64,
    },
}

// serde's `skip_serializing_if` hands over a reference.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero(seed: &u64) -> bool {
    *seed == 0
}

impl Pacer {
    /// The intended times, counted from the start of sending.
    #[must_use]
    pub fn schedule(&self) -> Schedule {
        Schedule::new(*self)
    }

    /// The same pacer drawing its gaps from `seed`; pacers without chance are returned as they are.
    #[must_use]
    pub fn with_seed(self, seed: u64) -> Self {
        match self {
            Self::Poisson { rate_per_s, .. } => Self::Poisson { rate_per_s, seed },
            other => other,
        }
    }

    /// True if answers release sends, so that stalls of the target hide themselves.
    #[must_use]
    pub fn waits_for_answers(&self) -> bool {
        matches!(self, Self::Closed { .. })
    }

    /// The offered rate over `connections` connections in messages per second; `None` in the closed loop, where
    /// the target decides. For reports, not for scheduling.
    #[must_use]
    pub fn offered_per_second(&self, connections: u32) -> Option<f64> {
        match *self {
            Self::Closed { .. } => None,
            Self::Burst {
                messages,
                interval_ns,
            } => Some(
                f64::from(messages.get()) * f64::from(connections) * 1e9 / interval_ns.get() as f64,
            ),
            Self::Constant { rate_per_s } | Self::Poisson { rate_per_s, .. } => {
                Some(rate_per_s.as_f64())
            }
        }
    }
}
