//! What goes wrong on purpose: a plan as a value, carried out by seed.
//!
//! The same plan, seed, connection and messages give the same faults. What concerns single messages is carried out
//! by an [`Injector`] between encoding and sending; what concerns a connection as a whole is asked of the [`FaultPlan`]
//! by the door; a wrong clock is [`crate::time::ExchangeClock`]; an early end of the 24 hours is in the sessions' limits.

mod injector;

pub use injector::{Injector, Outgoing};

use serde::{Deserialize, Serialize};

/// What can happen to a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// It is not sent.
    Gap,
    /// It is sent twice.
    Duplicate,
    /// It is sent after the one that follows it.
    Reorder,
    /// It ends too early to be JSON.
    MalformedJson,
    /// One of its bytes is not UTF-8.
    InvalidUtf8,
    /// The connection ends in the middle of its frame.
    Cut,
}

impl FaultKind {
    /// All kinds.
    pub const ALL: [Self; 6] = [
        Self::Gap,
        Self::Duplicate,
        Self::Reorder,
        Self::MalformedJson,
        Self::InvalidUtf8,
        Self::Cut,
    ];

    /// The number by which the ledger knows it; zero is no fault.
    pub fn code(self) -> u8 {
        self as u8 + 1
    }
}

/// Which messages a fault befalls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Which {
    /// The messages of each connection with these numbers, counted from zero.
    Messages(Vec<u64>),
    /// Every n-th message of each connection.
    Every(u64),
    /// Each message with this probability, in millionths.
    PerMillion(u32),
}

/// One kind of fault, and when it happens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MessageFault {
    /// What happens.
    pub kind: FaultKind,
    /// To which messages. Where two faults would befall the same message, the first in the list does.
    pub which: Which,
}

/// Times at which something lasts: it begins every so often and goes on for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spell {
    /// It begins first after this time, and again after each such time.
    pub every_ns: u64,
    /// How long it lasts.
    pub length_ns: u64,
}

impl Spell {
    /// Whether it lasts at this moment, and if so, when it ends.
    pub fn until_ns(&self, now_ns: u64) -> Option<u64> {
        let began_ns = now_ns
            .checked_div(self.every_ns)?
            .checked_mul(self.every_ns)?;
        let ends_ns = began_ns.saturating_add(self.length_ns);
        (began_ns > 0 && now_ns < ends_ns).then_some(ends_ns)
    }
}

/// Everything that goes wrong in a run. The default: nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FaultPlan {
    /// Of the faults, apart from the market's.
    pub seed: u64,
    /// What happens to messages.
    pub messages: Vec<MessageFault>,
    /// The connection stays open, but nothing is sent any more and nothing that comes is read, from this age on.
    pub half_open_after_ns: Option<u64>,
    /// No pings and heartbeats are sent from this age of the connection on; data is.
    pub mute_after_ns: Option<u64>,
    /// The answer to a handshake waits so long.
    pub handshake_delay_ns: u64,
    /// The connection is closed without a word at this age.
    pub disconnect_after_ns: Option<u64>,
    /// REST answers 429 to everything while it lasts.
    pub refusals: Option<Spell>,
}

impl FaultPlan {
    /// Whether a connection of this age is half open.
    pub fn is_half_open(&self, age_ns: u64) -> bool {
        self.half_open_after_ns
            .is_some_and(|after_ns| age_ns >= after_ns)
    }

    /// Whether a connection of this age has stopped its pings and heartbeats.
    pub fn is_mute(&self, age_ns: u64) -> bool {
        self.mute_after_ns
            .is_some_and(|after_ns| age_ns >= after_ns)
    }

    /// Seconds after which a refused REST client may come again; `None` if it is not refused.
    pub fn refused_for_s(&self, now_ns: u64) -> Option<u64> {
        let ends_ns = self.refusals?.until_ns(now_ns)?;
        Some((ends_ns - now_ns).div_ceil(1_000_000_000).max(1))
    }

    /// Carries out the faults of one connection's messages.
    pub fn injector(&self, connection: u64) -> Injector {
        Injector::new(self, connection)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_read_from_a_scenario_and_refuses_unknown_faults() {
        let text = r#"{"seed":7,"messages":[{"kind":"gap","which":{"per_million":1000}},{"kind":"cut","which":{"messages":[5]}}],
            "mute_after_ns":5,"refusals":{"every_ns":10,"length_ns":3}}"#;
        let plan: FaultPlan = serde_json::from_str(text).unwrap();
        assert_eq!(
            plan.messages[1],
            MessageFault {
                kind: FaultKind::Cut,
                which: Which::Messages(vec![5])
            }
        );
        assert_eq!(
            serde_json::from_str::<FaultPlan>(&serde_json::to_string(&plan).unwrap()).unwrap(),
            plan
        );
        assert!(serde_json::from_str::<FaultPlan>(r#"{"earthquake":1}"#).is_err());
        assert_eq!(
            serde_json::from_str::<FaultPlan>("{}").unwrap(),
            FaultPlan::default()
        );
    }

    #[test]
    fn spells_and_ages_have_their_bounds() {
        let spell = Spell {
            every_ns: 10,
            length_ns: 3,
        };
        let lasting: Vec<u64> = (0..25)
            .filter(|now| spell.until_ns(*now).is_some())
            .collect();
        assert_eq!(lasting, [10, 11, 12, 20, 21, 22]);
        assert_eq!(
            Spell {
                every_ns: 0,
                length_ns: 3
            }
            .until_ns(5),
            None
        );
        let plan = FaultPlan {
            mute_after_ns: Some(5),
            half_open_after_ns: Some(7),
            refusals: Some(spell),
            ..FaultPlan::default()
        };
        assert_eq!(
            (
                plan.is_mute(4),
                plan.is_mute(5),
                plan.is_half_open(6),
                plan.is_half_open(7)
            ),
            (false, true, false, true)
        );
        assert_eq!(
            (plan.refused_for_s(11), plan.refused_for_s(13)),
            (Some(1), None)
        );
        assert!(!FaultPlan::default().is_mute(u64::MAX));
    }

    #[test]
    fn every_kind_has_a_number_of_its_own() {
        assert_eq!(FaultKind::ALL.map(FaultKind::code), [1, 2, 3, 4, 5, 6]);
    }
}
