//! Advice on how far the figures can be believed; it is stored with them.

use feedbench_pace::Pacer;
use serde::{Serialize, Serializer};

use crate::result::LoadResult;

/// The stall that the closed loop's blindness is explained with.
const EXAMPLE_STALL_S: f64 = 0.1;
/// Below this many messages no 99th percentile has a 95 % upper bound: 0.99^n ≤ 0.025 needs n ≥ 368.
const FEW_SAMPLES: u64 = 368;
/// The engine is near its limit when it uses this share of its CPU without being told to spin.
const BUSY_SHARE: f64 = 0.9;

/// One piece of advice.
#[derive(Debug, Clone, PartialEq)]
pub enum Warning {
    /// A closed loop does not see what a stall would have done to others.
    ClosedLoop {
        /// Messages that would have been due during [`EXAMPLE_STALL_S`] at the rate measured.
        hidden: f64,
        /// Messages that such a stall holds up in this loop.
        seen: u64,
    },
    /// The engine itself sent late.
    Lateness {
        /// 99.9th percentile of lateness.
        p99_9_ns: u64,
        /// 99th percentile of latency.
        latency_p99_ns: u64,
    },
    /// Too few messages for the tail.
    FewSamples(u64),
    /// The engine was nearly always busy, so the target may be faster than it looks.
    GeneratorBound(f64),
    /// The engine was not on its CPU.
    EngineStalls(u64),
    /// The offered rate was missed.
    MissedRate(String),
    /// Nothing makes two messages differ.
    Unnumbered,
    /// Another congestion control than asked for.
    CongestionControl(String),
}

impl Warning {
    /// A short name for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::ClosedLoop { .. } => "closed_loop",
            Self::Lateness { .. } => "lateness",
            Self::FewSamples(_) => "few_samples",
            Self::GeneratorBound(_) => "generator_bound",
            Self::EngineStalls(_) => "engine_stalls",
            Self::MissedRate(_) => "missed_rate",
            Self::Unnumbered => "unnumbered",
            Self::CongestionControl(_) => "congestion_control",
        }
    }

    /// The advice in words.
    pub fn text(&self) -> String {
        match self {
            Self::ClosedLoop { hidden, seen } => format!(
                "Closed loop: nothing is sent while the target pauses, so pauses hide themselves (coordinated \
                 omission). At this rate a pause of 100 ms would have hit about {hidden:.0} messages of independent \
                 clients; here it shows in {seen}. For latency under load use --rate."
            ),
            Self::Lateness { p99_9_ns, latency_p99_ns } => format!(
                "The engine itself sent late (p99.9 {:.1} µs) by more than a tenth of the p99 latency ({:.1} µs): \
                 latency_ns contains the engine's delay, latency_from_send_ns does not.",
                *p99_9_ns as f64 / 1e3,
                *latency_p99_ns as f64 / 1e3
            ),
            Self::FewSamples(count) => {
                format!("Only {count} messages: p99 has no upper bound below {FEW_SAMPLES}, p99.9 below 3688.")
            }
            Self::GeneratorBound(share) => format!(
                "The engine was busy {:.0} % of the time: the target may be faster than shown. Use --threads, or see \
                 `feedbench ceiling`.",
                share * 100.0
            ),
            Self::EngineStalls(count) => {
                format!("The engine was kept off its CPU for over 1 ms {count} times; some latencies are its own.")
            }
            Self::MissedRate(cause) => format!("{cause}."),
            Self::Unnumbered => "The payload has no counter, so one message is like the other: a lost answer shows \
                                 only at the end, a swapped one not at all."
                .to_owned(),
            Self::CongestionControl(name) => format!("TCP congestion control is {name}: this kernel has no cubic."),
        }
    }
}

impl Serialize for Warning {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Fields {
            code: &'static str,
            text: String,
        }
        Fields {
            code: self.code(),
            text: self.text(),
        }
        .serialize(serializer)
    }
}

/// Everything that a reader of this result should know.
pub fn advice(result: &LoadResult, numbered: bool, spins: bool) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if let Pacer::Closed { in_flight } = result.pacer {
        let hidden = result.round_trips_per_s * EXAMPLE_STALL_S;
        warnings.push(Warning::ClosedLoop {
            hidden,
            seen: u64::from(in_flight.get()) * u64::from(result.connections),
        });
    } else if let (Some(p99_9_ns), Some(latency_p99_ns)) =
        (result.lateness_ns.p99_9, result.latency_ns.p99)
    {
        if p99_9_ns > latency_p99_ns / 10 {
            warnings.push(Warning::Lateness {
                p99_9_ns,
                latency_p99_ns,
            });
        }
    }
    if result.latency_ns.count < FEW_SAMPLES {
        warnings.push(Warning::FewSamples(result.latency_ns.count));
    }
    let busy = result.engine_cpu_ns as f64
        / (result.measured_ns.max(1) as f64 * f64::from(result.threads));
    if !spins && busy > BUSY_SHARE {
        warnings.push(Warning::GeneratorBound(busy.min(1.0)));
    }
    if result.engine_stalls > 0 {
        warnings.push(Warning::EngineStalls(result.engine_stalls));
    }
    if let (crate::result::Verdict::MissedRate, Some(cause)) = (result.verdict, &result.cause) {
        warnings.push(Warning::MissedRate(cause.clone()));
    }
    if !numbered {
        warnings.push(Warning::Unnumbered);
    }
    match result.options.congestion_control.as_deref() {
        None | Some(crate::system::CONGESTION_CONTROL) => {}
        Some(other) => warnings.push(Warning::CongestionControl(other.to_owned())),
    }
    warnings
}
