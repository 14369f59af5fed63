//! When each message of a recording is due.

use serde::{Deserialize, Serialize};

/// How fast a recording is replayed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pace {
    /// So many times as fast as it was recorded; above zero, 1 for its own pace.
    Speed(f64),
    /// As fast as it goes: everything is due at once.
    Unpaced,
}

/// A message that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Due {
    /// Which message of the recording.
    pub index: usize,
    /// Which time round, from zero.
    pub round: u64,
    /// When, in nanoseconds since the replay began. Never before the one that came before it.
    pub due_ns: u64,
}

/// The times of a replay, without end if it loops.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// Since the first message; never falling.
    offsets_ns: Vec<u64>,
    /// From the first message of one round to that of the next.
    round_ns: u64,
    pace: Pace,
    rounds: Option<u64>,
    first: usize,
    next: usize,
    round: u64,
}

impl Schedule {
    /// For messages recorded at these times. A recorder's clock may step back; what it recorded then is due with what
    /// came before it.
    pub fn new(unix_ns: impl IntoIterator<Item = u64>, pace: Pace) -> Self {
        let mut offsets_ns: Vec<u64> = Vec::new();
        let mut first_ns = None;
        for at_ns in unix_ns {
            let offset_ns = at_ns.saturating_sub(*first_ns.get_or_insert(at_ns));
            offsets_ns.push(offset_ns.max(offsets_ns.last().copied().unwrap_or(0)));
        }
        let last_ns = offsets_ns.last().copied().unwrap_or(0);
        // Between two rounds lies the mean gap between two messages.
        let round_ns = last_ns + last_ns / (offsets_ns.len() as u64).saturating_sub(1).max(1);
        Self {
            offsets_ns,
            round_ns,
            pace,
            rounds: Some(1),
            first: 0,
            next: 0,
            round: 0,
        }
    }

    /// So many times over; `None` for without end.
    pub fn rounds(self, rounds: Option<u64>) -> Self {
        Self { rounds, ..self }
    }

    /// Begins with this message, which is due at once: where a replay that was broken off goes on.
    pub fn starting_at(self, index: usize) -> Self {
        Self {
            first: index.min(self.offsets_ns.len()),
            next: index.min(self.offsets_ns.len()),
            ..self
        }
    }

    fn due_ns(&self, offset_ns: u128) -> u64 {
        let due_ns = match self.pace {
            Pace::Unpaced => 0.0,
            // Exact at the recording's own pace; otherwise to one part in 2^53.
            Pace::Speed(1.0) => return u64::try_from(offset_ns).unwrap_or(u64::MAX),
            Pace::Speed(speed) => offset_ns as f64 / speed,
        };
        due_ns as u64
    }
}

impl Iterator for Schedule {
    type Item = Due;

    fn next(&mut self) -> Option<Due> {
        if self.next == self.offsets_ns.len() {
            self.next = 0;
            self.round += 1;
        }
        if self.offsets_ns.is_empty() || self.rounds.is_some_and(|rounds| self.round >= rounds) {
            // Stays at its end.
            self.next = self.offsets_ns.len();
            self.round = self.rounds.unwrap_or(0).saturating_sub(1);
            return None;
        }
        let skipped_ns = self
            .offsets_ns
            .get(self.first)
            .copied()
            .unwrap_or(self.round_ns);
        let offset_ns = u128::from(self.round) * u128::from(self.round_ns)
            + u128::from(self.offsets_ns[self.next]);
        let due = Due {
            index: self.next,
            round: self.round,
            due_ns: self.due_ns(offset_ns.saturating_sub(skipped_ns.into())),
        };
        self.next += 1;
        Some(due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn due(schedule: Schedule) -> Vec<(usize, u64)> {
        schedule
            .take(20)
            .map(|due| (due.index, due.due_ns))
            .collect()
    }

    #[test]
    fn messages_are_due_at_their_own_pace_or_another() {
        let recorded = [1_000, 1_100, 1_050, 1_400];
        let at = |pace| due(Schedule::new(recorded, pace));
        assert_eq!(
            at(Pace::Speed(1.0)),
            [(0, 0), (1, 100), (2, 100), (3, 400)],
            "time does not run back"
        );
        assert_eq!(at(Pace::Speed(2.0)), [(0, 0), (1, 50), (2, 50), (3, 200)]);
        assert_eq!(at(Pace::Speed(0.5)), [(0, 0), (1, 200), (2, 200), (3, 800)]);
        assert_eq!(at(Pace::Unpaced), [(0, 0), (1, 0), (2, 0), (3, 0)]);
    }

    #[test]
    fn rounds_follow_each_other_after_the_mean_gap() {
        let schedule = Schedule::new([0, 10, 20], Pace::Speed(1.0)).rounds(Some(2));
        assert_eq!(
            due(schedule.clone()),
            [(0, 0), (1, 10), (2, 20), (0, 30), (1, 40), (2, 50)]
        );
        assert_eq!(schedule.clone().rounds(None).take(1_000).count(), 1_000);
        assert_eq!(
            due(schedule.starting_at(1)),
            [(1, 0), (2, 10), (0, 20), (1, 30), (2, 40)]
        );
        assert_eq!(due(Schedule::new([], Pace::Speed(1.0)).rounds(None)), []);
        assert_eq!(
            due(Schedule::new([5], Pace::Speed(1.0)).rounds(Some(2))),
            [(0, 0), (0, 0)]
        );
        let mut ended = Schedule::new([5], Pace::Unpaced);
        assert_eq!(
            (ended.next().is_some(), ended.next(), ended.next()),
            (true, None, None)
        );
    }

    proptest! {
        #[test]
        fn due_times_never_fall(
            recorded in proptest::collection::vec(0u64..1_000_000, 0..20),
            speed in prop_oneof![Just(1.0), 0.01f64..100.0],
            start in 0usize..25,
        ) {
            let schedule = Schedule::new(recorded, Pace::Speed(speed)).rounds(Some(3)).starting_at(start);
            let due: Vec<u64> = schedule.map(|due| due.due_ns).collect();
            prop_assert!(due.windows(2).all(|pair| pair[0] <= pair[1]));
        }
    }
}
