//! Whose turn it is, when subscribers take turns.

use feedbench_exchange::market::random::Random;

/// Gives each member of a group one turn in each round, in an order drawn anew for each round.
pub struct Slices<T> {
    length_ns: u64,
    random: Random,
    /// Who has yet to come in this round, the next one last.
    round: Vec<T>,
    current: Option<T>,
    ends_ns: u64,
}

impl<T: Copy + PartialEq> Slices<T> {
    pub fn new(length_ns: u64, seed: u64) -> Self {
        Self {
            length_ns,
            random: Random::new(seed, 0),
            round: Vec::new(),
            current: None,
            ends_ns: 0,
        }
    }

    /// Whose turn it is at this moment. `members` is asked when a round begins, `is_member` when a turn does, so that
    /// nobody who left holds up the others for more than the rest of a slice.
    pub fn turn(
        &mut self,
        now_ns: u64,
        members: impl FnOnce() -> Vec<T>,
        is_member: impl Fn(T) -> bool,
    ) -> Option<T> {
        if now_ns < self.ends_ns && self.current.is_some() {
            return self.current;
        }
        self.round.retain(|&member| is_member(member));
        if self.round.is_empty() {
            self.round = members();
            for last in (1..self.round.len()).rev() {
                let other = self.random.below(last as u64 + 1) as usize;
                self.round.swap(last, other);
            }
        }
        self.current = self.round.pop();
        self.ends_ns = now_ns + self.length_ns;
        self.current
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whose turn it was in each slice, for members 0 to `count`.
    fn turns(seed: u64, count: u32, slices: u64) -> Vec<u32> {
        let mut order = Slices::new(10, seed);
        (0..slices)
            .map(|slice| {
                let at = |now_ns, order: &mut Slices<u32>| {
                    order.turn(now_ns, || (0..count).collect(), |_| true)
                };
                let first = at(10 * slice, &mut order);
                assert_eq!(first, at(10 * slice + 9, &mut order), "for the whole slice");
                first.unwrap()
            })
            .collect()
    }

    #[test]
    fn each_has_one_turn_in_each_round_in_an_order_by_seed() {
        let turns_of_four = turns(1, 4, 400);
        for round in turns_of_four.chunks(4) {
            let mut round = round.to_vec();
            round.sort_unstable();
            assert_eq!(round, [0, 1, 2, 3]);
        }
        assert_eq!(turns_of_four, turns(1, 4, 400));
        assert_ne!(turns_of_four, turns(2, 4, 400));
        let firsts = turns_of_four
            .chunks(4)
            .filter(|round| round[0] == 0)
            .count();
        assert!(
            (10..40).contains(&firsts),
            "{firsts} of 100 rounds begin with 0"
        );
    }

    #[test]
    fn who_left_has_no_turn_and_who_came_has_one_in_the_next_round() {
        let mut order = Slices::new(10, 1);
        let first = order.turn(0, || vec![1, 2, 3], |_| true).unwrap();
        let left = if first == 1 { 2 } else { 1 };
        let second = order.turn(10, || unreachable!(), |member| member != left);
        assert!(second.is_some() && second != Some(left) && second != Some(first));
        let third = order.turn(20, || vec![4], |_| true);
        assert_eq!(third, Some(4));
        assert_eq!(order.turn(30, Vec::new, |_| true), None, "nobody is there");
        assert_eq!(
            order.turn(31, || vec![5], |_| true),
            Some(5),
            "no turn is lost"
        );
    }
}
