//! Spoils the messages of one connection.

use super::{FaultKind, FaultPlan, MessageFault, Which};
use crate::market::random::Random;

/// What is to be sent in place of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outgoing {
    /// A whole message, and what was done to it.
    Message {
        /// As it goes out.
        payload: Vec<u8>,
        /// `None` for one that is as it should be.
        fault: Option<FaultKind>,
    },
    /// Nothing; a message was left out.
    Nothing,
    /// A frame that announces the whole payload but ends after `sent_bytes` of it, and with it the connection.
    Cut {
        /// The whole payload.
        payload: Vec<u8>,
        /// Less than its length.
        sent_bytes: usize,
    },
}

/// The faults of one connection's messages, in the order in which they are sent.
#[derive(Clone, Debug)]
pub struct Injector {
    faults: Vec<MessageFault>,
    random: Random,
    messages: u64,
    /// A message that waits for the next to overtake it.
    held: Option<Vec<u8>>,
    cut: bool,
}

impl Injector {
    pub(super) fn new(plan: &FaultPlan, connection: u64) -> Self {
        let random = Random::new(plan.seed, connection);
        Self {
            faults: plan.messages.clone(),
            random,
            messages: 0,
            held: None,
            cut: false,
        }
    }

    /// False if nothing can befall any message, so that the sender need not ask.
    pub fn is_idle(&self) -> bool {
        self.faults.is_empty()
    }

    /// The next message of the connection: appends what is to be sent now. After a cut, nothing.
    pub fn apply(&mut self, payload: &[u8], out: &mut Vec<Outgoing>) {
        if self.cut {
            return;
        }
        let fault = self.draw();
        // Drawn for each message, so that one fault does not change where the others strike.
        let bits = self.random.bits();
        let position = |length: usize| ((u128::from(bits) * length as u128) >> 64) as usize;
        let whole = |fault| Outgoing::Message {
            payload: payload.to_vec(),
            fault,
        };
        match fault {
            None => out.push(whole(None)),
            Some(FaultKind::Gap) => out.push(Outgoing::Nothing),
            Some(kind @ FaultKind::Duplicate) => out.extend([whole(None), whole(Some(kind))]),
            Some(FaultKind::Reorder) if self.held.is_none() => {
                self.held = Some(payload.to_vec());
                return;
            }
            // Two in a row cannot each overtake the other; the second goes as it is.
            Some(FaultKind::Reorder) => out.push(whole(None)),
            Some(kind @ FaultKind::MalformedJson) => {
                // No beginning of an object or a list is JSON by itself; an empty text is not, either.
                let payload = payload[..position(payload.len())].to_vec();
                out.push(Outgoing::Message {
                    payload,
                    fault: Some(kind),
                });
            }
            Some(kind @ FaultKind::InvalidUtf8) => {
                let mut payload = payload.to_vec();
                match payload.len() {
                    0 => payload.push(0xff),
                    // A byte of eight ones stands nowhere in UTF-8.
                    length => payload[position(length)] = 0xff,
                }
                out.push(Outgoing::Message {
                    payload,
                    fault: Some(kind),
                });
            }
            Some(FaultKind::Cut) => {
                self.cut = true;
                out.push(Outgoing::Cut {
                    payload: payload.to_vec(),
                    sent_bytes: position(payload.len()),
                });
                return;
            }
        }
        if let Some(payload) = self.held.take() {
            out.push(Outgoing::Message {
                payload,
                fault: Some(FaultKind::Reorder),
            });
        }
    }

    fn draw(&mut self) -> Option<FaultKind> {
        let number = self.messages;
        self.messages += 1;
        let mut struck = None;
        for fault in &self.faults {
            let strikes = match &fault.which {
                Which::Messages(numbers) => numbers.contains(&number),
                Which::Every(n) => *n > 0 && (number + 1) % n == 0,
                Which::PerMillion(share) => self.random.below(1_000_000) < u64::from(*share),
            };
            if strikes && struck.is_none() {
                struck = Some(fault.kind);
            }
        }
        struck
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn plan(faults: &[(FaultKind, Which)]) -> FaultPlan {
        let messages = faults.iter().map(|(kind, which)| MessageFault {
            kind: *kind,
            which: which.clone(),
        });
        FaultPlan {
            seed: 3,
            messages: messages.collect(),
            ..FaultPlan::default()
        }
    }

    fn outgoing(plan: &FaultPlan, count: u64) -> Vec<Outgoing> {
        let mut injector = plan.injector(0);
        let mut out = Vec::new();
        (0..count)
            .for_each(|number| injector.apply(format!(r#"{{"n":{number}}}"#).as_bytes(), &mut out));
        out
    }

    fn texts(out: &[Outgoing]) -> String {
        let text = |outgoing: &Outgoing| match outgoing {
            Outgoing::Message { payload, .. } => String::from_utf8_lossy(payload)
                .replace("{\"n\":", "")
                .replace('}', " "),
            Outgoing::Nothing => "- ".to_owned(),
            Outgoing::Cut { .. } => "|".to_owned(),
        };
        out.iter().map(text).collect()
    }

    #[test]
    fn each_fault_does_what_its_name_says() {
        let at = |kind, number| {
            texts(&outgoing(
                &plan(&[(kind, Which::Messages(vec![number]))]),
                5,
            ))
        };
        assert_eq!(at(FaultKind::Gap, 2), "0 1 - 3 4 ");
        assert_eq!(at(FaultKind::Duplicate, 2), "0 1 2 2 3 4 ");
        assert_eq!(at(FaultKind::Reorder, 2), "0 1 3 2 4 ");
        assert_eq!(
            at(FaultKind::Cut, 2),
            "0 1 |",
            "after the cut there is no connection"
        );
        let both = [
            (FaultKind::Reorder, Which::Messages(vec![1, 2])),
            (FaultKind::Gap, Which::Every(4)),
        ];
        assert_eq!(texts(&outgoing(&plan(&both), 5)), "0 2 1 - 4 ");
    }

    #[test]
    fn shares_are_kept_about() {
        let out = outgoing(
            &plan(&[(FaultKind::Gap, Which::PerMillion(100_000))]),
            10_000,
        );
        let gaps = out
            .iter()
            .filter(|outgoing| **outgoing == Outgoing::Nothing)
            .count();
        assert!((900..1_100).contains(&gaps), "{gaps}");
    }

    proptest! {
        #[test]
        fn spoiled_messages_are_spoiled_and_the_others_are_not(seed: u64, text in "[a-z\"\\\\é]{0,30}") {
            let message = serde_json::json!({"text": text}).to_string();
            for kind in [FaultKind::MalformedJson, FaultKind::InvalidUtf8, FaultKind::Cut] {
                let mut injector = FaultPlan { seed, ..plan(&[(kind, Which::Messages(vec![1]))]) }.injector(9);
                let mut out = Vec::new();
                injector.apply(message.as_bytes(), &mut out);
                injector.apply(message.as_bytes(), &mut out);
                prop_assert_eq!(&out[0], &Outgoing::Message { payload: message.clone().into_bytes(), fault: None });
                match (&out[1], kind) {
                    (Outgoing::Message { payload, .. }, FaultKind::MalformedJson) => {
                        prop_assert!(serde_json::from_slice::<serde_json::Value>(payload).is_err());
                        prop_assert!(message.as_bytes().starts_with(payload));
                    }
                    (Outgoing::Message { payload, .. }, _) => prop_assert!(std::str::from_utf8(payload).is_err()),
                    (Outgoing::Cut { payload, sent_bytes }, _) => prop_assert!(*sent_bytes < payload.len()),
                    other => panic!("{other:?}"),
                }
            }
        }

        #[test]
        fn the_same_plan_and_connection_have_the_same_faults(seed: u64, shares in proptest::collection::vec(0u32..300_000, 6)) {
            let faults: Vec<_> = FaultKind::ALL.into_iter().zip(shares).map(|(kind, share)| (kind, Which::PerMillion(share))).collect();
            let plan = FaultPlan { seed, ..plan(&faults) };
            prop_assert_eq!(outgoing(&plan, 50), outgoing(&plan, 50));
        }

        #[test]
        fn without_cuts_and_gaps_nothing_is_lost(seed: u64, share in 0u32..500_000) {
            let faults = [(FaultKind::Reorder, Which::PerMillion(share)), (FaultKind::Duplicate, Which::PerMillion(share))];
            let out = outgoing(&FaultPlan { seed, ..plan(&faults) }, 100);
            let text = texts(&out);
            let told: std::collections::BTreeSet<u64> = text.split_whitespace().map(|n| n.parse().unwrap()).collect();
            // Only the very last message can still be waiting for one to overtake it.
            prop_assert!((0..99).all(|number| told.contains(&number)));
        }
    }
}
