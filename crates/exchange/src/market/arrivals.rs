//! When orders arrive: evenly, at random, or in bursts that excite themselves.

use super::random::Random;
use crate::time::SECOND_NS;
use serde::{Deserialize, Serialize};

/// An arrival process, as a value. Rates are events per second over all symbols.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Arrivals {
    /// Evenly spaced.
    Constant {
        /// Events per second.
        rate_per_s: f64,
    },
    /// Independent of each other.
    Poisson {
        /// Mean events per second.
        rate_per_s: f64,
    },
    /// Self-exciting, with an exponential kernel: each event raises the intensity, which then decays.
    Hawkes {
        /// Mean events per second in the long run.
        rate_per_s: f64,
        /// Events that one event causes directly, on average; below 1. The share of events that others caused.
        branching_ratio: f64,
        /// How fast the excitement decays: 1 / decay is its mean duration in seconds.
        decay_per_s: f64,
    },
}

impl Arrivals {
    /// Mean events per second.
    pub fn rate_per_s(&self) -> f64 {
        match *self {
            Self::Constant { rate_per_s }
            | Self::Poisson { rate_per_s }
            | Self::Hawkes { rate_per_s, .. } => rate_per_s,
        }
    }

    /// The share that one of `count` equal symbols has of this process.
    pub fn shared_among(self, count: usize) -> Self {
        let share = |rate_per_s: f64| rate_per_s / count as f64;
        match self {
            Self::Constant { rate_per_s } => Self::Constant {
                rate_per_s: share(rate_per_s),
            },
            Self::Poisson { rate_per_s } => Self::Poisson {
                rate_per_s: share(rate_per_s),
            },
            Self::Hawkes {
                rate_per_s,
                branching_ratio,
                decay_per_s,
            } => Self::Hawkes {
                rate_per_s: share(rate_per_s),
                branching_ratio,
                decay_per_s,
            },
        }
    }
}

/// The times of one process, in order.
#[derive(Clone, Debug)]
pub struct ArrivalTimes {
    arrivals: Arrivals,
    random: Random,
    last_ns: u64,
    drawn: u64,
    /// Part of a period by which a constant process is shifted, so that symbols take turns.
    phase: f64,
    /// Hawkes: intensity above the base rate just after the last arrival, per second.
    excitement_per_s: f64,
}

impl ArrivalTimes {
    /// Starts at time zero; `phase` (0 to 1) shifts a constant process by that part of its period.
    pub fn new(arrivals: Arrivals, random: Random, phase: f64) -> Self {
        Self {
            arrivals,
            random,
            last_ns: 0,
            drawn: 0,
            phase,
            excitement_per_s: 0.0,
        }
    }

    /// The next arrival, never before the last.
    pub fn next_ns(&mut self) -> u64 {
        self.drawn += 1;
        self.last_ns = match self.arrivals {
            Arrivals::Constant { rate_per_s } => {
                ((self.drawn as f64 - 1.0 + self.phase) * (SECOND_NS as f64 / rate_per_s)) as u64
            }
            Arrivals::Poisson { rate_per_s } => {
                let gap_s = self.random.exponential() / rate_per_s;
                self.after(gap_s)
            }
            Arrivals::Hawkes {
                rate_per_s,
                branching_ratio,
                decay_per_s,
            } => self.hawkes(
                rate_per_s * (1.0 - branching_ratio),
                branching_ratio,
                decay_per_s,
            ),
        };
        self.last_ns
    }

    fn after(&self, gap_s: f64) -> u64 {
        self.last_ns + libm::round(gap_s * SECOND_NS as f64) as u64
    }

    /// Exact, without rejection: the next arrival is the earlier of one from the base rate and one from the decaying
    /// excitement, which may never come (Dassios and Zhao 2013, "Exact simulation of Hawkes process with
    /// exponentially decaying intensity").
    fn hawkes(&mut self, base_per_s: f64, branching_ratio: f64, decay_per_s: f64) -> u64 {
        let from_base_s = self.random.exponential() / base_per_s;
        let remaining = 1.0 - decay_per_s * self.random.exponential() / self.excitement_per_s;
        let gap_s = if self.excitement_per_s > 0.0 && remaining > 0.0 {
            from_base_s.min(-libm::log(remaining) / decay_per_s)
        } else {
            from_base_s
        };
        let decayed = self.excitement_per_s * libm::exp(-decay_per_s * gap_s);
        self.excitement_per_s = decayed + branching_ratio * decay_per_s;
        self.after(gap_s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(arrivals: Arrivals, count: usize) -> Vec<u64> {
        let mut times = ArrivalTimes::new(arrivals, Random::new(3, 0), 0.0);
        (0..count).map(|_| times.next_ns()).collect()
    }

    /// Variance of the counts in windows over their mean: 1 for Poisson, 1 / (1 - n)² for Hawkes over long windows.
    fn dispersion(times: &[u64], window_ns: u64) -> f64 {
        let windows = (times.last().unwrap() / window_ns) as usize;
        let mut counts = vec![0.0; windows + 1];
        times
            .iter()
            .for_each(|time| counts[(time / window_ns) as usize] += 1.0);
        counts.pop();
        let mean = counts.iter().sum::<f64>() / windows as f64;
        counts
            .iter()
            .map(|count| (count - mean) * (count - mean))
            .sum::<f64>()
            / windows as f64
            / mean
    }

    #[test]
    fn constant_arrivals_are_evenly_spaced_and_do_not_drift() {
        let times = times(
            Arrivals::Constant {
                rate_per_s: 100_000.0,
            },
            1_000_001,
        );
        assert_eq!(
            (times[0], times[1], times[1_000_000]),
            (0, 10_000, 10 * SECOND_NS)
        );
    }

    #[test]
    fn poisson_arrivals_have_the_rate_and_the_dispersion_of_chance() {
        let times = times(
            Arrivals::Poisson {
                rate_per_s: 1_000.0,
            },
            200_000,
        );
        let rate = 200_000.0 / (*times.last().unwrap() as f64 / 1e9);
        assert!((rate - 1_000.0).abs() < 10.0, "{rate}");
        let dispersion = dispersion(&times, SECOND_NS / 10);
        assert!((dispersion - 1.0).abs() < 0.1, "{dispersion}");
    }

    #[test]
    fn hawkes_arrivals_have_the_rate_and_come_in_bursts() {
        let arrivals = Arrivals::Hawkes {
            rate_per_s: 1_000.0,
            branching_ratio: 0.8,
            decay_per_s: 200.0,
        };
        let times = times(arrivals, 1_000_000);
        assert!(times.windows(2).all(|pair| pair[0] <= pair[1]));
        let rate = 1_000_000.0 / (*times.last().unwrap() as f64 / 1e9);
        assert!((rate - 1_000.0).abs() < 30.0, "{rate}");
        let dispersion = dispersion(&times, SECOND_NS);
        assert!(
            (20.0..30.0).contains(&dispersion),
            "theory says 25, found {dispersion}"
        );
    }

    #[test]
    fn symbols_share_a_constant_rate_by_taking_turns() {
        let shared = Arrivals::Constant { rate_per_s: 400.0 }.shared_among(4);
        let mut all: Vec<u64> = (0..4)
            .flat_map(|symbol| {
                let mut times = ArrivalTimes::new(shared, Random::new(1, 0), symbol as f64 / 4.0);
                (0..10).map(move |_| times.next_ns()).collect::<Vec<_>>()
            })
            .collect();
        all.sort_unstable();
        assert!(all.windows(2).all(|pair| pair[1] - pair[0] == 2_500_000));
    }
}
