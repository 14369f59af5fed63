//! Intended send times, one after the other.

use rand_core::SeedableRng;
use rand_distr::{Distribution, Exp1};
use rand_pcg::Pcg64Mcg;

use crate::Pacer;

/// Yields the intended time of each send in ns since the start of sending, never decreasing.
///
/// Each time is computed from the message's number, not by adding rounded gaps: a pacer that sleeps "1e9 / rate" ns
/// per message at 30,000 messages/s would lose a third of a nanosecond each time and be 36 ms late after an hour.
/// Poisson gaps have to be added up; they are added in 2^-32 ns, so that the sum drifts by less than a nanosecond in
/// four billion messages.
#[derive(Clone, Debug)]
pub struct Schedule {
    pacer: Pacer,
    /// Number of the next send.
    next: u64,
    poisson: Option<Arrivals>,
}

/// The running sum of a Poisson process.
///
/// PCG because its output is fixed by its publication and does not change with a release of the `rand` crates.
#[derive(Clone, Debug)]
struct Arrivals {
    generator: Pcg64Mcg,
    /// Mean gap in ns.
    mean_gap_ns: f64,
    /// Time of the last arrival in 2^-32 ns.
    elapsed: u128,
}

const FRACTION_BITS: u32 = 32;

impl Arrivals {
    fn next_ns(&mut self) -> u64 {
        let gap: f64 = Exp1.sample(&mut self.generator);
        let gap_ns = gap * self.mean_gap_ns;
        // `as` saturates; one gap beyond 2^63 ns would be 292 years.
        self.elapsed += (gap_ns * (1u64 << FRACTION_BITS) as f64) as u128;
        u64::try_from(self.elapsed >> FRACTION_BITS).unwrap_or(u64::MAX)
    }
}

impl Schedule {
    pub(crate) fn new(pacer: Pacer) -> Self {
        let poisson = match pacer {
            Pacer::Poisson { rate_per_s, seed } => Some(Arrivals {
                generator: Pcg64Mcg::seed_from_u64(seed),
                mean_gap_ns: 1e12 / rate_per_s.millihertz() as f64,
                elapsed: 0,
            }),
            _ => None,
        };
        Self {
            pacer,
            next: 0,
            poisson,
        }
    }

    /// How many intended times were handed out.
    #[must_use]
    pub fn handed_out(&self) -> u64 {
        self.next
    }

    /// The intended time of the next send in ns since the start, or `None` when only an answer can release it (the
    /// closed loop, after its first `in_flight` sends at time 0). Does not allocate.
    #[inline]
    pub fn next_ns(&mut self) -> Option<u64> {
        let number = self.next;
        let due = match self.pacer {
            Pacer::Closed { in_flight } => {
                if number >= u64::from(in_flight.get()) {
                    return None;
                }
                0
            }
            Pacer::Burst {
                messages,
                interval_ns,
            } => (number / u64::from(messages.get())).saturating_mul(interval_ns.get()),
            Pacer::Constant { rate_per_s } => rate_per_s.span_ns(number),
            Pacer::Poisson { .. } => self.poisson.as_mut().map_or(0, Arrivals::next_ns),
        };
        self.next += 1;
        Some(due)
    }
}

impl Iterator for Schedule {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        self.next_ns()
    }
}
