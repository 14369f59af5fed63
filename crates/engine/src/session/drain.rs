//! After the last message has left: how long to wait for the answers that are missing.

/// When the waiting ends although answers are missing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Patience {
    /// This long after the end of the window.
    Fixed {
        /// From the end of the window.
        timeout_ns: u64,
    },
    /// As long as answers keep coming, as the rounds of a ramp want it: an overloaded server may take minutes.
    WhileAnswersCome {
        /// Silence that ends it once nearly all have come.
        quiet_ns: u64,
        /// What share is nearly all.
        nearly_all: f64,
        /// Silence that ends it in any case.
        stuck_ns: u64,
    },
}

/// The waiting after one window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drain {
    /// When it began.
    pub began_ns: u64,
    /// Answers before it.
    pub received_before: u64,
    received: u64,
    progress_ns: u64,
}

impl Drain {
    /// Begins to wait.
    pub fn new(now_ns: u64, received: u64) -> Self {
        Self {
            began_ns: now_ns,
            received_before: received,
            received,
            progress_ns: now_ns,
        }
    }

    /// True if patience is at its end. Of the `sent` messages of the window, `missing` have no answer yet.
    pub fn is_over(
        &mut self,
        patience: Patience,
        now_ns: u64,
        received: u64,
        (sent, missing): (u64, u64),
    ) -> bool {
        if received != self.received {
            self.received = received;
            self.progress_ns = now_ns;
        }
        let silent_ns = now_ns.saturating_sub(self.progress_ns);
        match patience {
            Patience::Fixed { timeout_ns } => now_ns >= self.began_ns + timeout_ns,
            Patience::WhileAnswersCome {
                quiet_ns,
                nearly_all,
                stuck_ns,
            } => {
                let answered = sent.saturating_sub(missing) as f64;
                let enough = answered >= nearly_all * sent as f64;
                silent_ns
                    >= if enough {
                        quiet_ns.min(stuck_ns)
                    } else {
                        stuck_ns
                    }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: Patience = Patience::WhileAnswersCome {
        quiet_ns: 20,
        nearly_all: 0.9,
        stuck_ns: 100,
    };

    #[test]
    fn a_fixed_time_out_counts_from_the_end_of_the_window() {
        let mut drain = Drain::new(1000, 5);
        let patience = Patience::Fixed { timeout_ns: 50 };
        assert!(!drain.is_over(patience, 1049, 9, (10, 1)));
        assert!(drain.is_over(patience, 1050, 10, (10, 0)));
    }

    #[test]
    fn silence_ends_a_round_sooner_when_nearly_all_is_answered() {
        for (missing, silence, over) in [
            (10, 19, false),
            (10, 20, true),
            (11, 20, false),
            (11, 99, false),
            (11, 100, true),
            (100, 100, true),
        ] {
            let mut drain = Drain::new(1000, 0);
            let found = drain.is_over(RULE, 1000 + silence, 0, (100, missing));
            assert_eq!(found, over, "{missing} missing after {silence}");
        }
    }

    #[test]
    fn each_answer_begins_the_silence_anew() {
        let mut drain = Drain::new(0, 0);
        for step in 1..1000 {
            assert!(!drain.is_over(RULE, step * 19, step, (10_000, 900)));
        }
        assert!(drain.is_over(RULE, 999 * 19 + 20, 999, (10_000, 900)));
    }
}
