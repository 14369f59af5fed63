//! Maintenance on demand: a client is told by News (B) that its connection will end, then it is logged out.
//!
//! Source: `fix-api.md` of binance-spot-api-docs, "News": every ten seconds a countdown, at last that the connection is
//! about to be closed. When it begins is the exchange's affair; here it is so long after each Logon.

use crate::time::SECOND_NS;

/// Time between two announcements.
const EVERY_NS: u64 = 10 * SECOND_NS;

/// What a connection still has before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Maintenance {
    closes_ns: u64,
    /// When the next announcement is due; `u64::MAX` after the last.
    due_ns: u64,
}

/// What is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Announcement {
    /// A headline.
    Countdown(String),
    /// The last headline, with which the session ends.
    Last(&'static str),
}

impl Maintenance {
    /// Of a connection that logged on now and ends after this time. The countdown keeps to whole tens of seconds before
    /// the end.
    pub fn new(now_ns: u64, after_s: u64) -> Self {
        let closes_ns = now_ns.saturating_add(after_s.saturating_mul(SECOND_NS));
        let announcements = (closes_ns - now_ns).saturating_sub(1) / EVERY_NS;
        Self {
            closes_ns,
            due_ns: closes_ns - announcements * EVERY_NS,
        }
    }

    /// When [`Maintenance::announcement`] has something.
    pub fn due_ns(&self) -> u64 {
        self.due_ns
    }

    /// What is due, if anything is; each thing once.
    pub fn announcement(&mut self, now_ns: u64) -> Option<Announcement> {
        if now_ns < self.due_ns {
            return None;
        }
        if now_ns >= self.closes_ns {
            self.due_ns = u64::MAX;
            let last = "Your connection is about to be closed. Please reconnect.";
            return Some(Announcement::Last(last));
        }
        let seconds = (self.closes_ns - self.due_ns) / SECOND_NS;
        while self.due_ns <= now_ns {
            self.due_ns += EVERY_NS;
        }
        Some(Announcement::Countdown(format!(
            "You'll be disconnected in {seconds} seconds. Please reconnect."
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// When and what, for a clock that is looked at when something is due.
    fn all(after_s: u64) -> Vec<(u64, String)> {
        let mut maintenance = Maintenance::new(5 * SECOND_NS, after_s);
        let mut all = Vec::new();
        while maintenance.due_ns() < u64::MAX {
            let now_ns = maintenance.due_ns();
            assert_eq!(maintenance.announcement(now_ns - 1), None);
            let said = match maintenance.announcement(now_ns).unwrap() {
                Announcement::Countdown(headline) => headline,
                Announcement::Last(headline) => headline.to_owned(),
            };
            assert_eq!(maintenance.announcement(now_ns), None, "once");
            all.push((now_ns / SECOND_NS - 5, said));
        }
        all
    }

    #[test]
    fn the_countdown_goes_by_tens_and_ends_with_the_connection() {
        let seconds = |after_s| {
            all(after_s)
                .iter()
                .map(|(at_s, _)| *at_s)
                .collect::<Vec<_>>()
        };
        assert_eq!(seconds(25), [5, 15, 25]);
        assert_eq!(seconds(30), [10, 20, 30]);
        assert_eq!(seconds(10), [10]);
        assert_eq!(seconds(1), [1]);
        let said = all(25);
        assert_eq!(
            said[0].1,
            "You'll be disconnected in 20 seconds. Please reconnect."
        );
        assert_eq!(
            said[2].1,
            "Your connection is about to be closed. Please reconnect."
        );
    }

    #[test]
    fn a_clock_that_leaps_skips_what_it_has_passed() {
        let mut maintenance = Maintenance::new(0, 60);
        let at_ns = 35 * SECOND_NS;
        assert!(maintenance.announcement(at_ns).is_some());
        assert_eq!(maintenance.due_ns(), 40 * SECOND_NS);
        let last = maintenance.announcement(90 * SECOND_NS);
        assert!(matches!(last, Some(Announcement::Last(_))));
    }
}
