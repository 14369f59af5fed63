//! `--fault KIND:KEY=VALUE,…`

use super::units::{drift_ppb, duration_ns, signed_duration_ns};
use anyhow::{bail, ensure, Context, Result};
use feedbench_exchange::faults::{FaultKind, FaultPlan, MessageFault, Spell, Which};

/// One fault as it was asked for.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// Something that happens to messages.
    Message(MessageFault),
    /// Nothing is sent or read from this age of a connection on.
    HalfOpen(u64),
    /// No pings and heartbeats from this age on.
    Mute(u64),
    /// The connection is closed at this age.
    Disconnect(u64),
    /// The answer to a handshake waits so long.
    Handshake(u64),
    /// REST answers 429 for a while, every so often.
    Refusals(Spell),
    /// The exchange's wall clock is wrong.
    Clock {
        /// By so much at the opening.
        skew_ns: i64,
        /// And gains so many billionths.
        drift_ppb: i64,
    },
}

const MESSAGE_FAULTS: [(&str, FaultKind); 6] = [
    ("gap", FaultKind::Gap),
    ("duplicate", FaultKind::Duplicate),
    ("reorder", FaultKind::Reorder),
    ("malformed-json", FaultKind::MalformedJson),
    ("invalid-utf8", FaultKind::InvalidUtf8),
    ("cut", FaultKind::Cut),
];

impl Fault {
    /// Adds it to a plan; what concerns the clock is the caller's.
    pub fn apply(&self, plan: &mut FaultPlan) {
        match self {
            Self::Message(fault) => plan.messages.push(fault.clone()),
            Self::HalfOpen(after_ns) => plan.half_open_after_ns = Some(*after_ns),
            Self::Mute(after_ns) => plan.mute_after_ns = Some(*after_ns),
            Self::Disconnect(after_ns) => plan.disconnect_after_ns = Some(*after_ns),
            Self::Handshake(delay_ns) => plan.handshake_delay_ns = *delay_ns,
            Self::Refusals(spell) => plan.refusals = Some(*spell),
            Self::Clock { .. } => {}
        }
    }
}

/// Reads `gap:every=1000`.
pub fn parse(text: &str) -> Result<Fault> {
    let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
    let mut values = Values::parse(rest)?;
    let fault = match kind {
        "half-open" => Fault::HalfOpen(values.duration("after")?),
        "mute" => Fault::Mute(values.duration("after")?),
        "disconnect" => Fault::Disconnect(values.duration("after")?),
        "handshake" => Fault::Handshake(values.duration("delay")?),
        "refusals" => {
            let spell = Spell {
                every_ns: values.duration("every")?,
                length_ns: values.duration("for")?,
            };
            ensure!(
                spell.length_ns < spell.every_ns,
                "`for` must be shorter than `every`, or REST never answers"
            );
            Fault::Refusals(spell)
        }
        "clock" => {
            let skew = values
                .take("skew")
                .map(|text| signed_duration_ns(&text))
                .transpose()?;
            let drift = values
                .take("drift")
                .map(|text| drift_ppb(&text))
                .transpose()?;
            ensure!(
                skew.is_some() || drift.is_some(),
                "a wrong clock needs skew=-1.272s or drift=1.4ms/5m"
            );
            Fault::Clock {
                skew_ns: skew.unwrap_or(0),
                drift_ppb: drift.unwrap_or(0),
            }
        }
        other => {
            let known = MESSAGE_FAULTS.iter().find(|(name, _)| *name == other);
            let Some(&(_, kind)) = known else {
                let messages = MESSAGE_FAULTS.map(|(name, _)| name).join(", ");
                bail!("there is no fault {other:?}; there are {messages}, half-open, mute, disconnect, handshake, refusals and clock");
            };
            Fault::Message(MessageFault {
                kind,
                which: values.which()?,
            })
        }
    };
    values.all_taken()?;
    Ok(fault)
}

/// `KEY=VALUE` pairs of which each is to be used once.
struct Values(Vec<(String, String)>);

impl Values {
    fn parse(text: &str) -> Result<Self> {
        let pairs = text.split(',').filter(|pair| !pair.is_empty());
        let read = pairs.map(|pair| {
            let (key, value) = pair
                .split_once('=')
                .with_context(|| format!("{pair:?} is not KEY=VALUE"))?;
            Ok((key.to_owned(), value.to_owned()))
        });
        Ok(Self(read.collect::<Result<_>>()?))
    }

    fn take(&mut self, key: &str) -> Option<String> {
        let at = self.0.iter().position(|(name, _)| name == key)?;
        Some(self.0.remove(at).1)
    }

    fn duration(&mut self, key: &str) -> Result<u64> {
        let text = self
            .take(key)
            .with_context(|| format!("it needs {key}=DURATION, such as {key}=30s"))?;
        let ns = duration_ns(&text)?;
        ensure!(ns > 0, "{key} must be above zero");
        Ok(ns)
    }

    fn which(&mut self) -> Result<Which> {
        if let Some(text) = self.take("every") {
            let every = text.parse().ok().filter(|&every| every > 0);
            return Ok(Which::Every(every.with_context(|| {
                format!("every={text}: write how many messages, such as every=1000")
            })?));
        }
        if let Some(text) = self.take("share") {
            let share = text
                .parse()
                .ok()
                .filter(|share: &f64| (0.0..=1.0).contains(share));
            let share = share
                .with_context(|| format!("share={text}: write 0 to 1, such as share=0.001"))?;
            return Ok(Which::PerMillion((share * 1e6).round() as u32));
        }
        if let Some(text) = self.take("at") {
            let numbers: Option<Vec<u64>> =
                text.split('+').map(|number| number.parse().ok()).collect();
            return Ok(Which::Messages(numbers.with_context(|| {
                format!("at={text}: write the numbers of messages, counted from 0, such as at=5+9")
            })?));
        }
        bail!("it needs every=N, share=0.001 or at=5+9")
    }

    fn all_taken(&self) -> Result<()> {
        match self.0.first() {
            Some((key, _)) => bail!("{key:?} means nothing to this fault, or stands there twice"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_read() {
        let message = |kind, which| Fault::Message(MessageFault { kind, which });
        for (text, fault) in [
            (
                "gap:every=1000",
                message(FaultKind::Gap, Which::Every(1_000)),
            ),
            (
                "reorder:share=0.001",
                message(FaultKind::Reorder, Which::PerMillion(1_000)),
            ),
            (
                "cut:at=5+9",
                message(FaultKind::Cut, Which::Messages(vec![5, 9])),
            ),
            ("disconnect:after=30s", Fault::Disconnect(30_000_000_000)),
            (
                "refusals:every=10s,for=2s",
                Fault::Refusals(Spell {
                    every_ns: 10_000_000_000,
                    length_ns: 2_000_000_000,
                }),
            ),
            (
                "clock:skew=-1.272s,drift=1.4ms/5m",
                Fault::Clock {
                    skew_ns: -1_272_000_000,
                    drift_ppb: 4_666,
                },
            ),
        ] {
            assert_eq!(parse(text).unwrap(), fault, "{text}");
        }
    }

    #[test]
    fn what_means_nothing_is_refused_with_what_would() {
        for (text, words) in [
            ("earthquake:every=5", "there are gap"),
            ("gap", "needs every=N"),
            ("gap:every=0", "every=1000"),
            ("gap:every=5,share=0.1", "means nothing"),
            ("gap:share=2", "0 to 1"),
            ("cut:at=a", "at=5+9"),
            ("disconnect", "after=30s"),
            ("disconnect:after=0s", "above zero"),
            ("disconnect:30s", "KEY=VALUE"),
            ("refusals:every=1s,for=2s", "shorter"),
            ("clock", "skew"),
        ] {
            let error = format!("{:#}", parse(text).unwrap_err());
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
