//! Is this the answer to what was sent? And which of the messages on the way does it answer?

use std::collections::VecDeque;

use feedbench_wire::frame::Opcode;
use feedbench_wire::stamp::Stamp;

use crate::payload::{Number, Payload};
use crate::stamps::StampRule;

/// When a message left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sent {
    /// When the pacer wanted it to leave.
    pub intended_ns: u64,
    /// When it did.
    pub sent_ns: u64,
}

/// A message on the way, or one that was answered before its predecessors.
#[derive(Debug, Clone, Copy)]
enum Slot {
    Waiting(Sent),
    Answered,
}

/// What one answer means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The answer to the oldest message on the way.
    InOrder(Sent),
    /// A right answer that came before that of an older message; whether the older one is late or lost shows later.
    Early(Sent),
    /// A right answer that came after that of a younger message: these two were swapped.
    OutOfOrder(Sent),
    /// The content of no message that is on the way; it uses up the oldest one.
    Wrong(Sent),
    /// Something that answers nothing at all.
    Unasked,
    /// A second answer to the same message.
    Duplicate,
    /// The answer to a message that was already given up as lost.
    Late,
    /// The greeting of a stamp server; it answers nothing and is wanted once, before anything else.
    Greeting,
    /// A greeting with a time that it cannot have.
    OddGreeting,
    /// A right answer on a connection that was not greeted before.
    Ungreeted(Sent),
}

/// Lost messages remembered per connection, to tell a late answer from a duplicate.
const REMEMBERED_LOST: usize = 1024;

/// The messages on the way on one connection, oldest first, and what the oldest one's answer looks like.
///
/// An echo server answers in order, so that one comparison settles nearly every answer: equal bytes prove content,
/// order and count at once, because the counter makes each payload its own. Only the counter is kept per connection,
/// the rest of the payload is compared with the one that all connections share: it stays in the cache.
#[derive(Debug)]
pub struct Check {
    /// The oldest message's number.
    expected: Option<Number>,
    slots: VecDeque<Slot>,
    /// Number of the oldest slot.
    oldest: u64,
    /// True once a stamp server has greeted, or was found not to have.
    greeted: bool,
    /// Slots that are already answered.
    answered_early: usize,
    /// Numbers given up, the latest last. Hardly any connection has one.
    // The box keeps three words out of a structure that should stay small.
    #[allow(clippy::box_collection)]
    lost: Option<Box<VecDeque<u64>>>,
}

impl Check {
    /// Nothing is on the way yet; message 0 comes next.
    pub fn new(payload: &Payload) -> Self {
        Self {
            expected: payload.counter.map(|counter| counter.number(0)),
            slots: VecDeque::with_capacity(1),
            oldest: 0,
            greeted: false,
            answered_early: 0,
            lost: None,
        }
    }

    /// Messages without an answer.
    #[inline]
    pub fn waiting(&self) -> usize {
        self.slots.len() - self.answered_early
    }

    /// Brings the oldest message's slot into the CPU's cache.
    #[inline]
    pub fn prefetch(&self) {
        if let Some(slot) = self.slots.as_slices().0.first() {
            crate::system::prefetch(slot);
        }
    }

    /// A message left. Allocates only when more are on the way than ever before.
    #[inline]
    pub fn sent(&mut self, sent: Sent) {
        self.slots.push_back(Slot::Waiting(sent));
    }

    /// Memory beyond the value itself.
    pub fn heap_bytes(&self) -> usize {
        let lost = self
            .lost
            .as_ref()
            .map_or(0, |lost| lost.capacity() * size_of::<u64>());
        self.slots.capacity() * size_of::<Slot>() + lost
    }

    /// Gives back the memory of messages that are no longer on the way.
    pub fn shrink(&mut self) {
        self.slots.shrink_to_fit();
    }

    /// How many messages were sent so far.
    pub fn sent_so_far(&self) -> u64 {
        self.oldest + self.slots.len() as u64
    }

    /// Judges one answer; `question` is what all messages were made from. Only stamps ask when it was received.
    #[inline]
    pub fn answer(
        &mut self,
        question: &Payload,
        opcode: Opcode,
        payload: &[u8],
        received_ns: u64,
    ) -> Verdict {
        let equal = match (&question.counter, &self.expected) {
            (Some(counter), Some(number)) => counter.matches(number, payload, &question.bytes),
            _ => match question.stamp {
                Some(rule) => return self.stamp(question, rule, opcode, payload, received_ns),
                None => payload == question.bytes,
            },
        };
        if equal && opcode == question.opcode && self.answered_early == 0 {
            if let Some(Slot::Waiting(times)) = self.slots.pop_front() {
                self.step(question);
                return Verdict::InOrder(times);
            }
        }
        self.odd_answer(question, opcode, payload)
    }

    /// Any answer that is not simply the next one.
    #[cold]
    fn odd_answer(&mut self, question: &Payload, opcode: Opcode, payload: &[u8]) -> Verdict {
        let distance = match (&question.counter, &self.expected) {
            _ if opcode != question.opcode => None,
            (Some(counter), Some(number)) => counter.distance(number, payload, &question.bytes),
            // Without a counter one message is like the other, and the oldest is answered first.
            _ => (payload == question.bytes).then_some(0),
        };
        self.settle(question, distance)
    }

    /// Judges one message of a stamp server: its number, and a clock between sending and receiving.
    fn stamp(
        &mut self,
        question: &Payload,
        rule: StampRule,
        opcode: Opcode,
        payload: &[u8],
        received_ns: u64,
    ) -> Verdict {
        let stamp = match Stamp::parse(payload) {
            Ok(stamp) if opcode == question.opcode => stamp,
            _ => return self.settle(question, None),
        };
        let Some(number) = stamp.count.checked_sub(1) else {
            if self.greeted {
                return Verdict::Duplicate;
            }
            self.greeted = true;
            // Nothing says when it was made but that the run had begun.
            let allowed = rule.allows(&stamp, rule.made_ns(), received_ns);
            return if allowed {
                Verdict::Greeting
            } else {
                Verdict::OddGreeting
            };
        };
        let distance = number as i64 - self.oldest as i64;
        let slot = usize::try_from(distance)
            .ok()
            .and_then(|ahead| self.slots.get(ahead));
        if let Some(Slot::Waiting(sent)) = slot {
            if !rule.allows(&stamp, sent.sent_ns, received_ns) {
                return self.settle(question, None);
            }
        }
        if distance == 0 && self.answered_early == 0 && self.greeted {
            if let Some(Slot::Waiting(sent)) = self.slots.pop_front() {
                self.oldest += 1;
                return Verdict::InOrder(sent);
            }
        }
        match self.settle(question, Some(distance)) {
            Verdict::InOrder(sent) | Verdict::Early(sent) | Verdict::OutOfOrder(sent)
                if !self.greeted =>
            {
                self.greeted = true;
                Verdict::Ungreeted(sent)
            }
            verdict => verdict,
        }
    }

    /// Settles the message at this distance from the oldest; `None` is an answer to nothing that was sent.
    fn settle(&mut self, question: &Payload, distance: Option<i64>) -> Verdict {
        let Some(distance) = distance else {
            return self
                .take_oldest(question)
                .map_or(Verdict::Unasked, Verdict::Wrong);
        };
        let Ok(ahead) = usize::try_from(distance) else {
            return self.past_answer(distance);
        };
        match self.slots.get(ahead).copied() {
            Some(Slot::Waiting(sent)) => {
                let swapped = self
                    .slots
                    .iter()
                    .skip(ahead)
                    .any(|slot| matches!(slot, Slot::Answered));
                if ahead == 0 {
                    self.take_oldest(question);
                } else {
                    self.slots[ahead] = Slot::Answered;
                    self.answered_early += 1;
                }
                match (swapped, ahead) {
                    (true, _) => Verdict::OutOfOrder(sent),
                    (false, 0) => Verdict::InOrder(sent),
                    (false, _) => Verdict::Early(sent),
                }
            }
            Some(Slot::Answered) => Verdict::Duplicate,
            // A number that was never sent, or an answer too many.
            None => self
                .take_oldest(question)
                .map_or(Verdict::Unasked, Verdict::Wrong),
        }
    }

    /// The counter of a message before the oldest one.
    fn past_answer(&mut self, distance: i64) -> Verdict {
        let number = self.oldest.wrapping_add_signed(distance);
        let found = self.lost.as_mut().and_then(|lost| {
            let index = lost.iter().position(|&other| other == number)?;
            lost.remove(index)
        });
        found.map_or(Verdict::Duplicate, |_| Verdict::Late)
    }

    /// Gives up the oldest message if it left before `before_ns`.
    pub fn give_up(&mut self, question: &Payload, before_ns: u64) -> Option<Sent> {
        match self.slots.front() {
            Some(Slot::Waiting(sent)) if sent.sent_ns < before_ns => {
                let lost = self.lost.get_or_insert_default();
                if lost.len() == REMEMBERED_LOST {
                    lost.pop_front();
                }
                lost.push_back(self.oldest);
                self.take_oldest(question)
            }
            _ => None,
        }
    }

    /// Removes the oldest waiting message, and the answered ones that follow it.
    fn take_oldest(&mut self, question: &Payload) -> Option<Sent> {
        let Some(Slot::Waiting(sent)) = self.slots.pop_front() else {
            return None;
        };
        self.step(question);
        while let Some(Slot::Answered) = self.slots.front() {
            self.slots.pop_front();
            self.answered_early -= 1;
            self.step(question);
        }
        Some(sent)
    }

    #[inline]
    fn step(&mut self, question: &Payload) {
        self.oldest += 1;
        if let (Some(counter), Some(number)) = (&question.counter, &mut self.expected) {
            counter.increment(number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::payload::{PayloadKind, PayloadRequest};
    use proptest::prelude::*;

    fn payload() -> Payload {
        let request = PayloadRequest {
            kind: PayloadKind::Text,
            bytes: Some(24),
            file: None,
        };
        Payload::new(&request).unwrap()
    }

    fn message(payload: &Payload, number: u64) -> Vec<u8> {
        let mut bytes = payload.bytes.clone();
        let counter = payload.counter.unwrap();
        counter.write(&counter.number(number), &mut bytes, [0; 4]);
        bytes
    }

    fn sent(number: u64) -> Sent {
        Sent {
            intended_ns: number,
            sent_ns: number,
        }
    }

    /// A check with messages 0 to `count` − 1 on the way, each sent at the time of its number.
    fn check(payload: &Payload, count: u64) -> Check {
        let mut check = Check::new(payload);
        (0..count).for_each(|number| check.sent(sent(number)));
        check
    }

    #[test]
    fn each_kind_of_answer_has_its_verdict() {
        use Verdict::{Duplicate, Early, InOrder, OutOfOrder, Wrong};
        let table: [(&str, &[u64], &[Verdict]); 6] = [
            (
                "in order",
                &[0, 1, 2],
                &[InOrder(sent(0)), InOrder(sent(1)), InOrder(sent(2))],
            ),
            (
                "two swapped",
                &[1, 0, 2],
                &[Early(sent(1)), OutOfOrder(sent(0)), InOrder(sent(2))],
            ),
            (
                "one repeated",
                &[0, 0, 1],
                &[InOrder(sent(0)), Duplicate, InOrder(sent(1))],
            ),
            (
                "an early one repeated",
                &[2, 2, 0],
                &[Early(sent(2)), Duplicate, OutOfOrder(sent(0))],
            ),
            (
                "all backwards",
                &[2, 1, 0],
                &[Early(sent(2)), OutOfOrder(sent(1)), OutOfOrder(sent(0))],
            ),
            (
                "a number never sent",
                &[9, 1],
                &[Wrong(sent(0)), InOrder(sent(1))],
            ),
        ];
        let payload = payload();
        for (sentence, answers, verdicts) in table {
            let mut check = check(&payload, 3);
            let found: Vec<_> = answers
                .iter()
                .map(|&n| check.answer(&payload, Opcode::Text, &message(&payload, n), 0))
                .collect();
            assert_eq!(found, verdicts, "{sentence}");
        }
    }

    #[test]
    fn content_and_kind_have_to_be_right() {
        let payload = payload();
        let mut check = check(&payload, 3);
        let mut changed = message(&payload, 0);
        changed[20] ^= 1;
        assert_eq!(
            check.answer(&payload, Opcode::Text, &changed, 0),
            Verdict::Wrong(sent(0))
        );
        assert_eq!(
            check.answer(&payload, Opcode::Binary, &message(&payload, 1), 0),
            Verdict::Wrong(sent(1))
        );
        assert_eq!(
            check.answer(&payload, Opcode::Text, &message(&payload, 2)[1..], 0),
            Verdict::Wrong(sent(2))
        );
        assert_eq!(
            check.answer(&payload, Opcode::Text, b"hello", 0),
            Verdict::Unasked
        );
    }

    #[test]
    fn an_answer_after_giving_up_is_late_once_and_then_a_duplicate() {
        let payload = payload();
        let mut check = check(&payload, 3);
        assert_eq!(check.give_up(&payload, 1), Some(sent(0)));
        assert_eq!(
            check.give_up(&payload, 1),
            None,
            "message 1 left too late to be overdue"
        );
        let answer = message(&payload, 0);
        assert_eq!(
            check.answer(&payload, Opcode::Text, &answer, 0),
            Verdict::Late
        );
        assert_eq!(
            check.answer(&payload, Opcode::Text, &answer, 0),
            Verdict::Duplicate
        );
        assert_eq!(check.waiting(), 2);
    }

    proptest! {
        /// Whatever order the answers come in, each message is settled exactly once.
        #[test]
        fn every_message_is_settled_once(order in Just((0..40_u64).collect::<Vec<_>>()).prop_shuffle()) {
            let payload = payload();
            let mut check = check(&payload, 40);
            let mut settled = Vec::new();
            let mut swapped = 0;
            for &number in &order {
                match check.answer(&payload, Opcode::Text, &message(&payload, number), 0) {
                    Verdict::InOrder(sent) | Verdict::Early(sent) => settled.push(sent.sent_ns),
                    Verdict::OutOfOrder(sent) => {
                        swapped += 1;
                        settled.push(sent.sent_ns);
                    }
                    odd => prop_assert!(false, "{:?}", odd),
                }
            }
            prop_assert_eq!(&settled, &order);
            prop_assert_eq!(check.waiting(), 0);
            let late = (1..40).filter(|&at| order[..at].iter().any(|&before| before > order[at])).count();
            prop_assert_eq!(swapped, late);
        }
    }
}
