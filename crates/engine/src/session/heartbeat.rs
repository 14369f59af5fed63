//! Pings at intervals, so that a connection without traffic is seen to live or to be gone.

/// Spreads one ping for each connection evenly over an interval: ten thousand at once would be a burst of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Heartbeat {
    interval_ns: u64,
    /// Where the present round through the connections began.
    began_ns: u64,
    /// Connections that had their turn in this round.
    served: usize,
}

impl Heartbeat {
    /// Every connection once in `interval_ns`, from now on.
    pub fn new(interval_ns: u64, now_ns: u64) -> Self {
        Self {
            interval_ns: interval_ns.max(1),
            began_ns: now_ns,
            served: 0,
        }
    }

    /// The connections whose turn has come since the last call. What a pause left out is not made up for.
    pub fn due(&mut self, now_ns: u64, connections: usize) -> std::ops::Range<usize> {
        let elapsed_ns = now_ns.saturating_sub(self.began_ns);
        let turn = u128::from(elapsed_ns.min(self.interval_ns)) * connections as u128;
        let until = (turn / u128::from(self.interval_ns)) as usize;
        let due = self.served.min(until)..until;
        self.served = until;
        if elapsed_ns >= self.interval_ns {
            self.served = 0;
            self.began_ns = now_ns;
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_connection_has_its_turn_once_in_an_interval() {
        for step_ns in [1, 7, 10, 100, 1000] {
            let mut heartbeat = Heartbeat::new(1000, 0);
            let mut pings = [0; 13];
            for now_ns in (step_ns..=10_000).step_by(step_ns as usize) {
                heartbeat
                    .due(now_ns, 13)
                    .for_each(|index| pings[index] += 1);
            }
            assert!(
                pings.iter().all(|&count| (9..=10).contains(&count)),
                "{step_ns}: {pings:?}"
            );
        }
    }

    #[test]
    fn a_long_pause_is_not_made_up_for() {
        let mut heartbeat = Heartbeat::new(1000, 0);
        assert_eq!(heartbeat.due(50_000, 4), 0..4);
        assert_eq!(heartbeat.due(50_100, 4), 0..0);
    }
}
