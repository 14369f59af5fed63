//! `feedbench-engine jitter`: how much of a CPU's time a program that wants all of it does not get.
//!
//! A loop reads the clock and does nothing else. A gap of more than a microsecond between two readings is time that
//! something else had: another process, if the scheduler counts a forced switch meanwhile, otherwise an interrupt or
//! the hypervisor. The two are told apart because only the first can be cured from inside (a shield, fewer
//! neighbours); and both bound what may be claimed of a latency measured here.

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};
use feedbench_record::{ExactHistogram, Summary};
use serde::Serialize;

use crate::clock::{Clock, MonotonicClock};
use crate::system;

/// An iteration takes 20 to 60 ns; a timer interrupt, the shortest thing that can come between, more than this.
const GAP_NS: u64 = 1_000;

/// The arguments of `jitter`.
#[derive(Debug, clap::Args)]
pub struct JitterArguments {
    /// The CPU to watch
    #[arg(long)]
    cpu: usize,
    /// How long, such as 500ms or 2s
    #[arg(long = "duration", default_value = "2s", value_parser = crate::cli::duration_ns)]
    duration_ns: u64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What was lost to one cause.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Loss {
    /// Sum of the gaps as a share of the time watched, 0 to 1.
    pub lost_share: f64,
    /// Sum of the gaps.
    pub lost_ns: u64,
    /// The gaps themselves.
    pub gap_ns: Summary,
}

/// What a CPU gave to a program that wanted all of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    schema: u32,
    /// The CPU watched.
    pub cpu: usize,
    /// How long it was watched.
    pub watched_ns: u64,
    /// Gaps above this were counted as lost time.
    pub gap_threshold_ns: u64,
    /// Time lost to both causes as a share of the time watched.
    pub lost_share: f64,
    /// Gaps in which the scheduler switched to something else.
    pub descheduled: Loss,
    /// Gaps without a switch: interrupts and the hypervisor.
    pub interrupted: Loss,
    /// From one reading of the clock to the next, gaps included.
    pub iteration_ns: Summary,
}

/// Watches one CPU and prints what it gave.
///
/// # Errors
/// If the CPU does not exist or is not allowed.
pub fn run(arguments: &JitterArguments) -> Result<ExitCode> {
    let stop = system::catch_interrupts();
    let cpu = arguments.cpu;
    system::pin_thread(cpu)
        .with_context(|| format!("cannot run on CPU {cpu}; see `nproc` and `taskset -p $$`"))?;
    let watch = Watch::over(
        arguments.duration_ns,
        &MonotonicClock,
        forced_switches,
        stop,
    );
    let report = watch.report(cpu);
    if arguments.json {
        println!("{}", serde_json::to_string(&report)?);
    } else {
        print!("{report}");
    }
    Ok(ExitCode::SUCCESS)
}

/// Times that the scheduler took the CPU from the calling thread. About 0.2 µs, hence only asked after a gap.
fn forced_switches() -> u64 {
    // SAFETY: rusage is made of integers, for which zero is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` is a valid place for one rusage. The call cannot fail for this thread.
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, &mut usage) };
    u64::try_from(usage.ru_nivcsw).unwrap_or(0)
}

/// The loop's counts.
#[derive(Debug, Default)]
struct Watch {
    watched_ns: u64,
    iterations: ExactHistogram,
    descheduled: ExactHistogram,
    interrupted: ExactHistogram,
}

impl Watch {
    /// Reads the clock until `duration_ns` have passed or `stop` is set. Does not allocate after its beginning.
    fn over(
        duration_ns: u64,
        clock: &impl Clock,
        switches: impl Fn() -> u64,
        stop: &AtomicBool,
    ) -> Self {
        let mut watch = Self::default();
        let mut bookkeeping_ns = 0;
        let mut switches_before = switches();
        let start_ns = clock.now_ns();
        let mut last_ns = start_ns;
        while last_ns - start_ns < duration_ns && !stop.load(Ordering::Relaxed) {
            let now_ns = clock.now_ns();
            let gap_ns = now_ns - last_ns;
            watch.iterations.record(gap_ns);
            last_ns = now_ns;
            if gap_ns > GAP_NS {
                let switches_now = switches();
                if switches_now > switches_before {
                    watch.descheduled.record(gap_ns);
                } else {
                    watch.interrupted.record(gap_ns);
                }
                switches_before = switches_now;
                // What this bookkeeping took is the loop's own time, not the machine's.
                let resumed_ns = clock.now_ns();
                bookkeeping_ns += resumed_ns - last_ns;
                last_ns = resumed_ns;
            }
        }
        watch.watched_ns = last_ns - start_ns - bookkeeping_ns;
        watch
    }

    fn report(&self, cpu: usize) -> Report {
        let (descheduled, interrupted) =
            (self.loss(&self.descheduled), self.loss(&self.interrupted));
        Report {
            schema: 1,
            cpu,
            watched_ns: self.watched_ns,
            gap_threshold_ns: GAP_NS,
            lost_share: descheduled.lost_share + interrupted.lost_share,
            descheduled,
            interrupted,
            iteration_ns: self.iterations.summary(),
        }
    }

    fn loss(&self, gaps: &ExactHistogram) -> Loss {
        let lost_ns = u64::try_from(gaps.sum()).unwrap_or(u64::MAX);
        Loss {
            lost_share: lost_ns as f64 / self.watched_ns.max(1) as f64,
            lost_ns,
            gap_ns: gaps.summary(),
        }
    }
}

impl std::fmt::Display for Report {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let microseconds = |value: Option<u64>| {
            value.map_or("–".to_owned(), |ns| format!("{:.1} µs", ns as f64 / 1e3))
        };
        let watched_s = self.watched_ns as f64 / 1e9;
        writeln!(
            formatter,
            "CPU {}: {:.3} % of {watched_s:.1} s lost",
            self.cpu,
            self.lost_share * 100.0
        )?;
        let rows = [
            ("another process ran", &self.descheduled),
            ("interrupt or hypervisor", &self.interrupted),
        ];
        for (cause, loss) in rows {
            writeln!(
                formatter,
                "  {cause:<24} {:>7.3} %  {:>8} gaps  p50 {:>10}  p99 {:>10}  max {:>10}",
                loss.lost_share * 100.0,
                loss.gap_ns.count,
                microseconds(loss.gap_ns.p50),
                microseconds(loss.gap_ns.p99),
                microseconds(loss.gap_ns.max),
            )?;
        }
        let nanoseconds =
            |value: Option<u64>| value.map_or("–".to_owned(), |ns| format!("{ns} ns"));
        writeln!(
            formatter,
            "  one reading of the clock: p50 {}, p99 {}, p99.99 {}, max {}",
            nanoseconds(self.iteration_ns.p50),
            nanoseconds(self.iteration_ns.p99),
            nanoseconds(self.iteration_ns.p99_99),
            microseconds(self.iteration_ns.max),
        )
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// A clock that steps by 20 ns, and loses `lost_ns` at the reading with number `at`.
    struct Script {
        readings: Cell<u64>,
        losses: Vec<(u64, u64)>,
    }

    impl Script {
        fn lost_ns(&self) -> u64 {
            let readings = self.readings.get();
            self.losses
                .iter()
                .filter(|(at, _)| *at <= readings)
                .map(|(_, lost_ns)| lost_ns)
                .sum()
        }
    }

    impl Clock for Script {
        fn now_ns(&self) -> u64 {
            self.readings.set(self.readings.get() + 1);
            self.readings.get() * 20 + self.lost_ns()
        }
    }

    fn watched(losses: &[(u64, u64)], switch_at: u64) -> Report {
        let clock = Script {
            readings: Cell::new(0),
            losses: losses.to_vec(),
        };
        let switches = || u64::from(clock.readings.get() >= switch_at);
        Watch::over(1_000_000, &clock, switches, &AtomicBool::new(false)).report(3)
    }

    #[test]
    fn a_quiet_cpu_loses_nothing() {
        let report = watched(&[], u64::MAX);
        assert_eq!(report.lost_share, 0.0);
        assert_eq!(report.watched_ns, 1_000_000);
        assert_eq!(report.iteration_ns.count, 50_000);
        assert_eq!(report.iteration_ns.max, Some(20));
        assert_eq!(
            report.descheduled.gap_ns.count + report.interrupted.gap_ns.count,
            0
        );
    }

    #[test]
    fn gaps_are_told_apart_by_the_switch_count() {
        let report = watched(&[(100, 16_000), (200, 300_000)], 200);
        assert_eq!(report.interrupted.lost_ns, 16_020);
        assert_eq!(report.descheduled.lost_ns, 300_020);
        assert_eq!(report.descheduled.gap_ns.max, Some(300_020));
        let lost_share = 316_040.0 / report.watched_ns as f64;
        assert!((report.lost_share - lost_share).abs() < 1e-12);
    }

    #[test]
    fn a_switch_is_charged_to_one_gap_only() {
        let report = watched(&[(100, 16_000), (200, 17_000)], 100);
        assert_eq!(
            (report.descheduled.lost_ns, report.interrupted.lost_ns),
            (16_020, 17_020)
        );
    }

    #[test]
    fn the_time_of_the_bookkeeping_is_not_watched() {
        let report = watched(&[(100, 16_000)], u64::MAX);
        assert_eq!(report.iteration_ns.count * 20 + 16_000, report.watched_ns);
    }

    #[test]
    fn an_interrupt_ends_the_watch_and_keeps_its_report() {
        let clock = Script {
            readings: Cell::new(0),
            losses: vec![],
        };
        let report = Watch::over(1_000_000, &clock, || 0, &AtomicBool::new(true)).report(0);
        assert_eq!(report.watched_ns, 0);
        assert_eq!(report.iteration_ns.count, 0);
        assert_eq!(report.lost_share, 0.0);
    }
}
