//! One direction of a path as a pure value: what becomes of each packet, and when it comes out.

use rand_core::{RngCore, SeedableRng};
use rand_pcg::Pcg64Mcg;
use serde::Serialize;
use std::collections::VecDeque;

const NS_PER_S: u64 = 1_000_000_000;

/// What a direction does to packets.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Shape {
    /// From the moment in which a packet was sent to the moment in which it is handed over.
    pub delay_ns: u64,
    /// The delay is drawn from `delay_ns` ± this, every value as likely. Packets do not overtake one another.
    pub jitter_ns: u64,
    /// The share of packets that is lost, each by itself.
    pub loss: f64,
    /// How fast packets are sent, one after the other, headers of IP included; without it, at once.
    pub rate_bits_per_s: Option<u64>,
    /// How long a packet may wait to be sent at that rate; one that would wait longer is dropped.
    pub queue_ns: u64,
}

impl Shape {
    /// How long a packet of so many bytes takes to be sent.
    #[must_use]
    pub fn sending_ns(&self, bytes: usize) -> u64 {
        self.rate_bits_per_s
            .map_or(0, |rate| (bytes as u64 * 8 * NS_PER_S).div_ceil(rate))
    }
}

/// What became of packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Account {
    /// Taken in.
    pub packets: u64,
    /// Handed over.
    pub delivered: u64,
    /// Lost by chance, as was asked.
    pub lost: u64,
    /// Dropped because too many waited before them.
    pub dropped: u64,
    /// Of those handed over, with their IP headers.
    pub delivered_bytes: u64,
}

/// A direction with the packets that are under way on it. Times are nanoseconds of one clock, whichever.
pub struct Link {
    shape: Shape,
    random: Pcg64Mcg,
    sent_until_ns: u64,
    last_due_ns: u64,
    under_way: VecDeque<(u64, Vec<u8>)>,
    account: Account,
}

impl Link {
    /// A link at rest; the same seed loses and delays the same packets.
    #[must_use]
    pub fn new(shape: Shape, seed: u64) -> Self {
        Self {
            shape,
            random: Pcg64Mcg::seed_from_u64(seed),
            sent_until_ns: 0,
            last_due_ns: 0,
            under_way: VecDeque::new(),
            account: Account::default(),
        }
    }

    /// Takes a packet in. It is sent before it may be lost: a lost packet has used the path.
    pub fn admit(&mut self, now_ns: u64, packet: Vec<u8>) {
        self.account.packets += 1;
        let begins_ns = self.sent_until_ns.max(now_ns);
        if self.shape.rate_bits_per_s.is_some() && begins_ns - now_ns > self.shape.queue_ns {
            self.account.dropped += 1;
            return;
        }
        self.sent_until_ns = begins_ns + self.shape.sending_ns(packet.len());
        // Both numbers are drawn for each packet, so that the losses of a seed do not depend on the jitter.
        let (fate, place) = (self.share(), self.share());
        if fate < self.shape.loss {
            self.account.lost += 1;
            return;
        }
        let jitter_ns = (self.shape.jitter_ns as f64 * (2.0 * place - 1.0)).round() as i64;
        let delay_ns = self.shape.delay_ns.saturating_add_signed(jitter_ns);
        self.last_due_ns = self.last_due_ns.max(self.sent_until_ns + delay_ns);
        self.under_way.push_back((self.last_due_ns, packet));
    }

    /// The next packet if it is due, with the time at which it was.
    pub fn take_due(&mut self, now_ns: u64) -> Option<(u64, Vec<u8>)> {
        if self.next_due_ns()? > now_ns {
            return None;
        }
        let (due_ns, packet) = self.under_way.pop_front()?;
        self.account.delivered += 1;
        self.account.delivered_bytes += packet.len() as u64;
        Some((due_ns, packet))
    }

    /// When the next packet comes out; None when none is under way.
    #[must_use]
    pub fn next_due_ns(&self) -> Option<u64> {
        self.under_way.front().map(|(due_ns, _)| *due_ns)
    }

    /// So far.
    #[must_use]
    pub fn account(&self) -> Account {
        self.account
    }

    /// Uniform in [0, 1).
    fn share(&mut self) -> f64 {
        (self.random.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PLAIN: Shape = Shape {
        delay_ns: 20_000_000,
        jitter_ns: 0,
        loss: 0.0,
        rate_bits_per_s: None,
        queue_ns: 100_000_000,
    };

    fn due_times(shape: Shape, sent_ns: impl IntoIterator<Item = u64>, bytes: usize) -> Vec<u64> {
        let mut link = Link::new(shape, 7);
        for now_ns in sent_ns {
            link.admit(now_ns, vec![0; bytes]);
        }
        std::iter::from_fn(|| link.take_due(u64::MAX))
            .map(|(due_ns, _)| due_ns)
            .collect()
    }

    #[test]
    fn a_packet_comes_out_after_the_delay_and_not_before() {
        let mut link = Link::new(PLAIN, 7);
        link.admit(5, b"packet".to_vec());
        assert_eq!(link.take_due(20_000_004), None);
        assert_eq!(
            link.take_due(20_000_005),
            Some((20_000_005, b"packet".to_vec()))
        );
        assert_eq!(link.take_due(u64::MAX), None);
    }

    #[test]
    fn packets_leave_one_after_the_other_at_the_rate() {
        // 1,250 bytes at 10 Mbit/s take 1 ms.
        let shape = Shape {
            rate_bits_per_s: Some(10_000_000),
            ..PLAIN
        };
        assert_eq!(
            due_times(shape, [0, 0, 0, 50_000_000], 1_250),
            [21_000_000, 22_000_000, 23_000_000, 71_000_000]
        );
    }

    #[test]
    fn who_would_wait_too_long_to_be_sent_is_dropped() {
        let shape = Shape {
            rate_bits_per_s: Some(10_000_000),
            queue_ns: 2_000_000,
            ..PLAIN
        };
        let mut link = Link::new(shape, 7);
        (0..10).for_each(|_| link.admit(0, vec![0; 1_250]));
        // One is sent at once, and two ms of others may wait; the fourth is the last that begins within them.
        assert_eq!((link.account().packets, link.account().dropped), (10, 7));
    }

    #[test]
    fn the_share_that_is_lost_is_what_was_asked() {
        let shape = Shape {
            loss: 0.01,
            ..PLAIN
        };
        let mut link = Link::new(shape, 7);
        (0..100_000).for_each(|now_ns| link.admit(now_ns, Vec::new()));
        // Four standard deviations of a binomial with n = 100,000 and p = 0.01 are 126.
        assert!(
            (874..=1126).contains(&link.account().lost),
            "{:?}",
            link.account()
        );
    }

    #[test]
    fn the_jitter_fills_its_range_evenly() {
        let shape = Shape {
            jitter_ns: 2_000_000,
            ..PLAIN
        };
        // So far apart that none would overtake another.
        let sent_ns = (0..10_000).map(|number| number * 1_000_000_000);
        let mut delays_ns: Vec<u64> = due_times(shape, sent_ns.clone(), 100)
            .iter()
            .zip(sent_ns)
            .map(|(due_ns, sent_ns)| due_ns - sent_ns)
            .collect();
        delays_ns.sort_unstable();
        assert!(delays_ns[0] >= 18_000_000 && delays_ns[9_999] <= 22_000_000);
        for (share, wanted_ns) in [
            (0.25, 19_000_000.0),
            (0.5, 20_000_000.0),
            (0.75, 21_000_000.0),
        ] {
            let found_ns = delays_ns[(10_000.0 * share) as usize] as f64;
            assert!(
                (found_ns - wanted_ns).abs() < 100_000.0,
                "p{share}: {found_ns}"
            );
        }
    }

    #[test]
    fn a_seed_loses_the_same_packets_whatever_the_jitter() {
        let lost = |jitter_ns| {
            let mut link = Link::new(
                Shape {
                    loss: 0.3,
                    jitter_ns,
                    ..PLAIN
                },
                11,
            );
            (0..1_000)
                .map(|now_ns| {
                    let before = link.account().lost;
                    link.admit(now_ns, Vec::new());
                    link.account().lost > before
                })
                .collect::<Vec<bool>>()
        };
        assert_eq!(lost(0), lost(5_000_000));
    }

    proptest! {
        #[test]
        fn packets_keep_their_order_and_each_is_accounted_for(
            gaps_ns in prop::collection::vec(0u64..3_000_000, 1..200),
            jitter_ns in 0u64..30_000_000,
            loss in 0.0f64..1.0,
            rate in prop::option::of(1_000u64..1_000_000_000),
        ) {
            let shape = Shape { jitter_ns, loss, rate_bits_per_s: rate, ..PLAIN };
            let mut link = Link::new(shape, 3);
            let mut now_ns = 0;
            for (number, gap_ns) in gaps_ns.iter().enumerate() {
                now_ns += gap_ns;
                link.admit(now_ns, (number as u64).to_be_bytes().to_vec());
            }
            let found: Vec<(u64, Vec<u8>)> = std::iter::from_fn(|| link.take_due(u64::MAX)).collect();
            prop_assert!(found.windows(2).all(|pair| pair[0].0 <= pair[1].0 && pair[0].1 < pair[1].1));
            let account = link.account();
            prop_assert_eq!(account.packets, gaps_ns.len() as u64);
            prop_assert_eq!(account.packets, account.delivered + account.lost + account.dropped);
            prop_assert_eq!(account.delivered, found.len() as u64);
        }
    }
}
