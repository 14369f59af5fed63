//! From what was recorded to a result with a verdict. Pure: no clock, no socket.

use feedbench_record::{ExactHistogram, Summary};

use crate::recorder::{Counts, Recorder};
use crate::request::{Request, TargetRequest};
use crate::result::{ErrorCount, LoadResult, Verdict, SCHEMA};
use crate::shard::{Prepared, ShardOutcome};
use crate::warning;

/// A rate is missed when it is off by more than this.
const RATE_TOLERANCE: f64 = 0.01;
/// Errors after which the figures may still be used: the answers came, if late.
const HARMLESS_ERRORS: [&str; 1] = ["late"];

/// All of a target's threads together.
pub struct Judgement {
    /// The result.
    pub result: LoadResult,
    /// For the histogram log.
    pub recorder: Recorder,
}

/// Adds up the threads and says what it means. Lost samples are an error of ours that the target does not cause, but
/// a result without its samples is not whole either.
pub fn judge(
    request: &Request,
    target: &Prepared,
    outcomes: Vec<ShardOutcome>,
    interrupted: bool,
    samples_error: Option<String>,
) -> Option<Judgement> {
    let mut outcomes = outcomes.into_iter();
    let mut sum = outcomes.next()?;
    for other in outcomes {
        sum.recorder.merge(other.recorder);
        sum.handshakes.merge(&other.handshakes);
        sum.opening_ns = sum.opening_ns.max(other.opening_ns);
        sum.failure = sum.failure.or(other.failure);
        sum.measured_ns = sum.measured_ns.max(other.measured_ns);
        sum.slices = sum.slices.max(other.slices);
        // A slice has begun when its last thread has.
        for (start_ns, other_ns) in sum.slice_starts_ns.iter_mut().zip(other.slice_starts_ns) {
            *start_ns = (*start_ns).max(other_ns);
        }
        sum.cpu_ns += other.cpu_ns;
        sum.stalls += other.stalls;
        sum.reconnects += other.reconnects;
        sum.drained = (
            sum.drained.0 + other.drained.0,
            sum.drained.1.max(other.drained.1),
        );
    }
    if let Some(text) = samples_error {
        sum.recorder.error("samples", &text);
        sum.failure.get_or_insert(text);
    }
    let (verdict, cause) = verdict(&target.request, &sum);
    let result = assemble(request, target, &mut sum, (verdict, cause), interrupted);
    Some(Judgement {
        result,
        recorder: sum.recorder,
    })
}

fn assemble(
    request: &Request,
    target: &Prepared,
    sum: &mut ShardOutcome,
    (verdict, cause): (Verdict, Option<String>),
    interrupted: bool,
) -> LoadResult {
    let asked = &target.request;
    let open_loop = !asked.pacer.waits_for_answers();
    let recorder = &mut sum.recorder;
    if !open_loop {
        // In a closed loop the intended and the actual moment are one.
        recorder.latency_from_send = recorder.latency.clone();
        recorder.lateness = ExactHistogram::new();
        recorder.lateness.record_many(0, recorder.latency.count());
    }
    let latency_ns = recorder.latency.summary();
    let counts = recorder.counts;
    let seconds = sum.measured_ns as f64 / 1e9;
    let per_second = |count: u64| {
        if seconds > 0.0 {
            count as f64 / seconds
        } else {
            0.0
        }
    };
    let handshakes = sum.handshakes.count();
    let mut result = LoadResult {
        schema: SCHEMA,
        name: asked.name.clone(),
        url: asked.url.clone(),
        verdict,
        cause,
        connections: asked.connections.get(),
        threads: request.threads.get(),
        transport: request.transport,
        cpu: request.cpu,
        pacer: asked.pacer,
        payload: asked.payload.clone(),
        measured_ns: sum.measured_ns,
        slices: sum.slices,
        slice_starts_ns: match request.start_at_ns {
            Some(_) => std::mem::take(&mut sum.slice_starts_ns),
            None => Vec::new(),
        },
        sent: counts.sent,
        received: counts.received,
        lost: counts.lost,
        duplicated: counts.duplicated,
        out_of_order: counts.out_of_order,
        wrong: counts.wrong,
        sent_total: counts.sent_total,
        received_total: counts.received_total,
        round_trips_per_s: per_second(counts.in_time),
        ceiling: None,
        bytes_per_s: (target.payload.stamp.is_none())
            .then(|| 2.0 * target.payload.bytes.len() as f64 * per_second(counts.in_time)),
        handshakes,
        handshakes_per_s: if sum.opening_ns > 0 {
            handshakes as f64 * 1e9 / sum.opening_ns as f64
        } else {
            0.0
        },
        handshake_ns: sum.handshakes.summary(),
        latency_from_send_ns: if open_loop {
            recorder.latency_from_send.summary()
        } else {
            latency_ns.clone()
        },
        lateness_ns: recorder.lateness.summary(),
        latency_ns,
        warmup: std::mem::take(&mut recorder.warmup).summarize(),
        options: sum.options.clone().unwrap_or_default(),
        engine_cpu_ns: sum.cpu_ns,
        engine_stalls: sum.stalls,
        reconnects: sum.reconnects,
        interrupted,
        errors: recorder.errors.clone(),
        warnings: Vec::new(),
    };
    let spins = open_loop || request.transport == crate::transport::TransportKind::BusyPoll;
    result.warnings = warning::advice(&result, target.payload.is_numbered(), spins);
    result
}

fn verdict(asked: &TargetRequest, sum: &ShardOutcome) -> (Verdict, Option<String>) {
    let counts = &sum.recorder.counts;
    if let Some(failure) = &sum.failure {
        return (Verdict::Failed, Some(failure.clone()));
    }
    let faults = [
        (counts.wrong, "wrong"),
        (counts.lost, "lost"),
        (counts.duplicated, "duplicated"),
        (counts.out_of_order, "out of order"),
    ];
    let faults: Vec<_> = faults
        .iter()
        .filter(|fault| fault.0 > 0)
        .map(|(n, word)| format!("{n} {word}"))
        .collect();
    if !faults.is_empty() {
        return (
            Verdict::Failed,
            Some(format!(
                "of {} messages {}",
                counts.sent_total,
                faults.join(", ")
            )),
        );
    }
    let harmless = |error: &ErrorCount| {
        HARMLESS_ERRORS.contains(&error.kind.as_str())
            || (asked.reconnect && error.kind == "closed")
    };
    if let Some(error) = sum.recorder.errors.iter().find(|error| !harmless(error)) {
        return (
            Verdict::Failed,
            Some(format!("{} ({} times)", error.first, error.count)),
        );
    }
    match missed_rate(
        counts,
        sum.drained,
        asked.pacer.offered_per_second(asked.connections.get()),
    ) {
        Some(cause) => (Verdict::MissedRate, Some(cause)),
        None => (Verdict::Ok, None),
    }
}

/// Why the offered rate was not reached, if it was not.
///
/// Answers that come after the end of measuring are no proof by themselves: a target that pauses just then is late and
/// still fast enough. It is too slow only if it also answers the rest more slowly than the rate.
fn missed_rate(
    counts: &Counts,
    (late, drain_ns): (u64, u64),
    offered_per_s: Option<f64>,
) -> Option<String> {
    let offered_per_s = offered_per_s?;
    let scheduled = counts.scheduled as f64;
    let tolerated = scheduled * RATE_TOLERANCE;
    let share = |part: f64| part / scheduled.max(1.0) * 100.0;
    let unsent = scheduled - counts.sent as f64;
    if unsent > tolerated {
        return Some(format!(
            "{:.1} % of the messages could not be sent",
            share(unsent)
        ));
    }
    let unanswered = scheduled - counts.in_time as f64;
    let drained_per_s = late as f64 * 1e9 / drain_ns.max(1) as f64;
    (unanswered > tolerated && drained_per_s < offered_per_s).then(|| {
        format!(
            "{:.1} % of the messages were answered only after the measured time, at {drained_per_s:.0}/s instead of \
             {offered_per_s:.0}/s",
            share(unanswered)
        )
    })
}

/// The result of a target that never came so far as to be connected to.
pub fn unreachable(request: &Request, asked: &TargetRequest, cause: &str) -> LoadResult {
    LoadResult {
        schema: SCHEMA,
        name: asked.name.clone(),
        url: asked.url.clone(),
        verdict: Verdict::Failed,
        cause: Some(cause.to_owned()),
        connections: asked.connections.get(),
        threads: request.threads.get(),
        transport: request.transport,
        cpu: request.cpu,
        pacer: asked.pacer,
        payload: asked.payload.clone(),
        measured_ns: 0,
        slices: 0,
        slice_starts_ns: Vec::new(),
        sent: 0,
        received: 0,
        lost: 0,
        duplicated: 0,
        out_of_order: 0,
        wrong: 0,
        sent_total: 0,
        received_total: 0,
        round_trips_per_s: 0.0,
        ceiling: None,
        bytes_per_s: Some(0.0),
        handshakes: 0,
        handshakes_per_s: 0.0,
        handshake_ns: Summary::default(),
        latency_ns: Summary::default(),
        latency_from_send_ns: Summary::default(),
        lateness_ns: Summary::default(),
        warmup: crate::warmup::WarmupBins::default().summarize(),
        options: crate::result::Options::default(),
        engine_cpu_ns: 0,
        engine_stalls: 0,
        reconnects: 0,
        interrupted: false,
        errors: vec![ErrorCount {
            kind: "setup".to_owned(),
            count: 1,
            first: cause.to_owned(),
        }],
        warnings: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missed_rate_is_told_from_a_pause_at_the_end() {
        let counts = |scheduled, sent, in_time| Counts {
            scheduled,
            sent,
            in_time,
            ..Counts::default()
        };
        let table = [
            ("all in time", counts(1000, 1000, 1000), (0, 0), false),
            (
                "a few still on the way",
                counts(1000, 1000, 995),
                (5, 5_000_000),
                false,
            ),
            (
                "a socket that took only 90 %",
                counts(1000, 900, 900),
                (0, 0),
                true,
            ),
            (
                "80 % answered, the rest at 800/s",
                counts(5000, 5000, 4000),
                (1000, 1_250_000_000),
                true,
            ),
            (
                "a pause at the end, then 90 answers at once",
                counts(5000, 5000, 4910),
                (90, 15_000_000),
                false,
            ),
        ];
        for (sentence, counts, drained, missed) in table {
            assert_eq!(
                missed_rate(&counts, drained, Some(1000.0)).is_some(),
                missed,
                "{sentence}"
            );
        }
        assert_eq!(
            missed_rate(&counts(0, 0, 0), (0, 0), None),
            None,
            "a closed loop has no rate to miss"
        );
    }
}
