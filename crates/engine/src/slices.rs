//! In which order several targets are loaded, and for how long each time. Pure: a value from a seed.

use rand::seq::SliceRandom;
use rand::SeedableRng;

/// One turn of one target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// Which target.
    pub target: usize,
    /// Loaded time.
    pub length_ns: u64,
    /// Part at the head that is not recorded.
    pub drop_ns: u64,
    /// Part after that which is warm-up; the rest is measured.
    pub warmup_ns: u64,
    /// Number of this target's measured slice.
    pub slice: u32,
}

/// Turns by the clock instead of one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnClock {
    /// When the next turn begins.
    pub at_ns: u64,
    /// Between the end of one turn and the start of the next.
    pub gap_ns: u64,
}

impl TurnClock {
    /// The clock of the turn that follows `turn`. A turn that began late does not move those after it.
    pub fn after(self, turn: &Turn) -> Self {
        Self {
            at_ns: self.at_ns + turn.length_ns + self.gap_ns,
            ..self
        }
    }
}

/// What a request says about time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Timing {
    /// Warm-up per target.
    pub warmup_ns: u64,
    /// Measured time per target, the dropped heads of its slices included.
    pub measure_ns: u64,
    /// `None`: one target after the other.
    pub slice_ns: Option<u64>,
    /// Share of each slice that is dropped at its head.
    pub drop_first: f64,
    /// Order of the targets.
    pub seed: u64,
}

/// All turns in order. In each cycle every target has one turn, in an order drawn anew: a disturbance that comes
/// regularly then meets no target more often than another.
pub fn turns(timing: &Timing, targets: usize) -> Vec<Turn> {
    let Some(slice_ns) = timing.slice_ns else {
        let length_ns = timing.warmup_ns + timing.measure_ns;
        let turn = |target| Turn {
            target,
            length_ns,
            drop_ns: 0,
            warmup_ns: timing.warmup_ns,
            slice: 0,
        };
        return (0..targets).map(turn).collect();
    };
    let slice_ns = slice_ns.max(1);
    let warmup_cycles = timing.warmup_ns.div_ceil(slice_ns);
    let measured_cycles = timing.measure_ns.div_ceil(slice_ns).max(1);
    let drop_ns = (slice_ns as f64 * timing.drop_first) as u64;
    let mut random = rand::rngs::StdRng::seed_from_u64(timing.seed);
    let mut order: Vec<usize> = (0..targets).collect();
    let mut turns = Vec::new();
    for cycle in 0..warmup_cycles + measured_cycles {
        order.shuffle(&mut random);
        let measured = cycle.checked_sub(warmup_cycles);
        turns.extend(order.iter().map(|&target| Turn {
            target,
            length_ns: slice_ns,
            drop_ns,
            warmup_ns: if measured.is_some() {
                0
            } else {
                slice_ns - drop_ns
            },
            slice: measured.unwrap_or(0) as u32,
        }));
    }
    turns
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: u64 = 1_000_000;

    fn timing(slice_ns: Option<u64>, seed: u64) -> Timing {
        Timing {
            warmup_ns: 100 * MS,
            measure_ns: 1000 * MS,
            slice_ns,
            drop_first: 0.1,
            seed,
        }
    }

    proptest! {
        #[test]
        fn every_target_has_one_turn_in_every_cycle(seed: u64, targets in 1_usize..9) {
            let turns = turns(&timing(Some(25 * MS), seed), targets);
            prop_assert_eq!(turns.len(), 44 * targets);
            for (cycle, chunk) in turns.chunks(targets).enumerate() {
                let mut met: Vec<_> = chunk.iter().map(|turn| turn.target).collect();
                met.sort_unstable();
                prop_assert_eq!(met, (0..targets).collect::<Vec<_>>());
                for turn in chunk {
                    let warmup = if cycle < 4 { turn.length_ns - turn.drop_ns } else { 0 };
                    prop_assert_eq!((turn.warmup_ns, turn.drop_ns), (warmup, 25 * MS / 10));
                }
            }
        }
    }

    #[test]
    fn turns_by_the_clock_keep_their_times_whatever_the_last_one_took() {
        let mut clock = TurnClock {
            at_ns: 1_000,
            gap_ns: 7,
        };
        let mut starts = Vec::new();
        for turn in turns(&timing(None, 1), 3) {
            starts.push(clock.at_ns);
            clock = clock.after(&turn);
        }
        assert_eq!(starts, [1_000, 1_007 + 1100 * MS, 1_014 + 2 * 1100 * MS]);
    }

    #[test]
    fn the_seed_decides_the_order() {
        let order = |seed| {
            turns(&timing(Some(25 * MS), seed), 6)
                .iter()
                .map(|turn| turn.target)
                .collect::<Vec<_>>()
        };
        assert_eq!(order(7), order(7));
        assert_ne!(order(7), order(8));
    }

    #[test]
    fn without_slices_each_target_has_one_long_turn() {
        let turns = turns(&timing(None, 1), 2);
        let turn = |target| Turn {
            target,
            length_ns: 1100 * MS,
            drop_ns: 0,
            warmup_ns: 100 * MS,
            slice: 0,
        };
        assert_eq!(turns, [turn(0), turn(1)]);
    }
}
