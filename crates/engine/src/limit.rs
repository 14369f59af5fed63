//! `feedbench-engine limit`: the engine against the least that could be done, slice by slice in one process.
//!
//! Both load the same floor server on another CPU. The raw loop sends frames that were built beforehand and counts
//! bytes; the engine checks every answer and keeps exact histograms. A ratio from slices side by side holds
//! on a busy machine too, where two runs one after the other would measure the machine.

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Barrier};

use anyhow::{Context, Result};
use clap::Args;
use feedbench_pace::Pacer;
use feedbench_record::{ExactHistogram, Quantile};
use rand::rngs::{SmallRng, StdRng};
use rand::{Rng, SeedableRng};

use crate::cli::duration_ns;
use crate::clock::{Clock, MonotonicClock};
use crate::endpoint::Endpoint;
use crate::floor_child::FloorChild;
use crate::handshakes;
use crate::opening::Opener;
use crate::payload::{Payload, PayloadKind, PayloadRequest};
use crate::raw_handshakes;
use crate::raw_loop::{RawLoop, RawMessage};
use crate::recorder::Window;
use crate::request::TargetRequest;
use crate::session::Workspace;
use crate::shard::{Lane, Prepared, Shared};
use crate::system;
use crate::transport::{BusyPoll, Epoll, Transport};

/// Long against the first round of 512 connections, in which nothing comes back yet.
const SLICE_NS: u64 = 50_000_000;
const PAYLOAD_BYTES: usize = 108;
const HANDSHAKES_AT_ONCE: usize = 64;
const TIMEOUT_NS: u64 = 5_000_000_000;

/// How long and where.
#[derive(Debug, Args)]
pub struct LimitArguments {
    /// Time for each row, shared by both sides
    #[arg(short, long, default_value = "8s", value_parser = duration_ns)]
    pub duration: u64,
    /// CPU of the loops
    #[arg(long, default_value = "1")]
    pub cpu: usize,
    /// CPU of the echo server
    #[arg(long, default_value = "0")]
    pub server_cpu: usize,
    /// Decides the order of slices
    #[arg(long, default_value = "1")]
    pub seed: u64,
    /// Only the rows whose name contains this
    #[arg(long, default_value = "", hide_default_value = true)]
    pub only: String,
}

/// Which way is good.
#[derive(Debug, Clone, Copy)]
enum Bar {
    AtLeast(f64),
    AtMost(f64),
}

impl Bar {
    fn holds(self, ratio: f64) -> bool {
        match self {
            Self::AtLeast(bar) => ratio >= bar,
            Self::AtMost(bar) => ratio <= bar,
        }
    }
}

impl std::fmt::Display for Bar {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::AtLeast(bar) => write!(formatter, "≥ {bar:.2}"),
            Self::AtMost(bar) => write!(formatter, "≤ {bar:.2}"),
        }
    }
}

/// What is compared.
#[derive(Debug, Clone, Copy)]
enum Question {
    /// Round trips per second in a closed loop with the raw loop's.
    Throughput {
        connections: u32,
        in_flight: u32,
        bar: f64,
    },
    /// The median round trip of one connection with that of the sleeping engine.
    BusyPoll,
    /// Handshakes per second with those of a raw loop.
    Handshakes,
}

/// All rows. The last bar is 20,000 handshakes where the raw loop makes 25,000.
const QUESTIONS: [Question; 6] = [
    Question::Throughput {
        connections: 8,
        in_flight: 1,
        bar: 0.98,
    },
    Question::Throughput {
        connections: 64,
        in_flight: 1,
        bar: 0.98,
    },
    Question::Throughput {
        connections: 512,
        in_flight: 1,
        bar: 0.98,
    },
    Question::Throughput {
        connections: 8,
        in_flight: 64,
        bar: 0.85,
    },
    Question::BusyPoll,
    Question::Handshakes,
];

impl Question {
    fn name(self) -> String {
        match self {
            Self::Throughput {
                connections,
                in_flight,
                ..
            } => {
                format!("raw loop, {connections} connections, W={in_flight}")
            }
            Self::BusyPoll => "epoll engine, busy poll, 1 conn.".to_owned(),
            Self::Handshakes => format!("raw handshakes, {HANDSHAKES_AT_ONCE} at once"),
        }
    }
}

/// Pairs of figures from neighbouring slices.
struct Row {
    name: String,
    unit: &'static str,
    engine: Vec<f64>,
    yardstick: Vec<f64>,
    bar: Bar,
}

/// Runs the sub-command.
pub fn run(arguments: &LimitArguments) -> Result<ExitCode> {
    system::pin_thread(arguments.cpu)
        .with_context(|| format!("cannot run on CPU {}", arguments.cpu))?;
    system::raise_file_limit(4096).context("the limit of open files is too low")?;
    let floor = FloorChild::start(false, Some(arguments.server_cpu))?;
    let bench = Bench {
        arguments,
        floor: &floor,
        interrupt: system::catch_interrupts(),
    };
    println!(
        "{:<34}{:>12}{:>12}{:>8}  {:<16}{:>7}",
        "engine against", "engine", "yardstick", "ratio", "95 % interval", "bar"
    );
    let mut all_hold = true;
    for question in QUESTIONS
        .iter()
        .filter(|question| question.name().contains(&arguments.only))
    {
        all_hold &= bench.answer(*question)?.print();
    }
    Ok(if all_hold {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

impl Row {
    /// Prints the row and tells whether the bar is met.
    fn print(&self) -> bool {
        let (engine, yardstick) = (median(&self.engine).0, median(&self.yardstick).0);
        let ratios: Vec<f64> = self
            .engine
            .iter()
            .zip(&self.yardstick)
            .map(|(one, other)| one / other)
            .collect();
        let (ratio, low, high) = median(&ratios);
        let holds = self.bar.holds(ratio);
        println!(
            "{:<34}{engine:>12.1}{yardstick:>12.1}{ratio:>8.3}  [{low:.3}, {high:.3}]  {:>7}  {} {}",
            self.name,
            self.bar.to_string(),
            if holds { "ok" } else { "MISSED" },
            self.unit,
        );
        holds
    }
}

/// Median with its 95 % interval from order statistics: the ranks n/2 ± 0.98·√n (normal approximation of the
/// binomial). It asks nothing of the distribution, and a slice that another process disturbed counts once.
fn median(values: &[f64]) -> (f64, f64, f64) {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len() as f64 - 1.0;
    let at = |rank: f64| {
        sorted
            .get(rank.clamp(0.0, last) as usize)
            .copied()
            .unwrap_or(f64::NAN)
    };
    let (middle, spread) = (last / 2.0, 0.98 * (sorted.len() as f64).sqrt());
    (
        at(middle.round()),
        at((middle - spread).floor()),
        at((middle + spread).ceil()),
    )
}

struct Bench<'a> {
    arguments: &'a LimitArguments,
    floor: &'a FloorChild,
    interrupt: &'static AtomicBool,
}

impl Bench<'_> {
    fn answer(&self, question: Question) -> Result<Row> {
        let name = question.name();
        match question {
            Question::Throughput {
                connections,
                in_flight,
                bar,
            } => self.throughput(name, connections, in_flight, bar),
            Question::BusyPoll => self.busy_poll(name),
            Question::Handshakes => self.handshakes(name),
        }
    }

    fn url(&self) -> String {
        format!("ws://{}/echo", self.floor.address)
    }

    fn target(&self, connections: u32, in_flight: u32) -> Result<Prepared> {
        let payload = PayloadRequest {
            kind: PayloadKind::Binary,
            bytes: Some(PAYLOAD_BYTES),
            file: None,
        };
        let pacer = Pacer::Closed {
            in_flight: in_flight.try_into()?,
        };
        Ok(Prepared {
            endpoint: Arc::new(Endpoint::new(&self.url(), None)?),
            payload: Payload::new(&payload)?,
            samples: None,
            request: TargetRequest {
                name: "limit".to_owned(),
                url: self.url(),
                directory: None,
                connections: connections.try_into()?,
                payload,
                pacer,
                offer_deflate: false,
                ca_file: None,
                timeout_ns: TIMEOUT_NS,
                reconnect: false,
                ramp_per_s: None,
                fragments: std::num::NonZeroU32::MIN,
                ping_between: false,
                samples: None,
                hlog: None,
            },
        })
    }

    fn lane<T: Transport>(&self, target: &Prepared, transport: T) -> Result<Lane<T>> {
        let shared = Shared {
            targets: std::slice::from_ref(target),
            turns: &[],
            threads: 1,
            start: None,
            seed: self.arguments.seed,
            cpu: None,
            interrupt: self.interrupt,
            answered: &[],
            barrier: &Barrier::new(1),
        };
        let lane = Lane::open(&shared, 0, target, &MonotonicClock, transport)?;
        match &lane.session.failure {
            Some(failure) => anyhow::bail!("{failure}"),
            None => Ok(lane),
        }
    }

    /// Runs both sides in random order, cycle by cycle; the first cycles warm up.
    fn interleave(
        &self,
        mut engine: impl FnMut() -> Result<f64>,
        mut yardstick: impl FnMut() -> Result<f64>,
    ) -> Result<(Vec<f64>, Vec<f64>)> {
        const WARMUP_CYCLES: usize = 4;
        let cycles = (self.arguments.duration / (2 * SLICE_NS)).max(20) as usize;
        let mut random = StdRng::seed_from_u64(self.arguments.seed);
        let (mut engines, mut yardsticks) = (Vec::new(), Vec::new());
        for cycle in 0..cycles + WARMUP_CYCLES {
            let engine_first = random.random::<bool>();
            let first = if engine_first { Some(engine()?) } else { None };
            let other = yardstick()?;
            let one = first.map_or_else(&mut engine, Ok)?;
            if cycle >= WARMUP_CYCLES {
                engines.push(one);
                yardsticks.push(other);
            }
        }
        Ok((engines, yardsticks))
    }

    fn throughput(&self, name: String, connections: u32, in_flight: u32, bar: f64) -> Result<Row> {
        let target = self.target(connections, in_flight)?;
        let mut lane = self.lane(&target, Epoll::new()?)?;
        let message = RawMessage {
            question: frame(&target.payload),
            answer_bytes: 2 + PAYLOAD_BYTES,
        };
        let mut raw = RawLoop::connect(
            self.floor.address,
            Some("/echo"),
            connections,
            in_flight,
            message,
        )?;
        let answered = AtomicU64::new(0);
        let mut work = Workspace::new(self.interrupt, &answered);
        let (engine, yardstick) = self.interleave(
            || slice(&mut lane, &mut work).map(|(rate, _)| rate / 1e3),
            || {
                let (answers, elapsed_ns) = raw.run(SLICE_NS).context("the raw loop broke off")?;
                Ok(answers as f64 * 1e6 / elapsed_ns as f64)
            },
        )?;
        Ok(Row {
            name,
            unit: "thousand round trips/s",
            engine,
            yardstick,
            bar: Bar::AtLeast(bar),
        })
    }

    fn busy_poll(&self, name: String) -> Result<Row> {
        let target = self.target(1, 1)?;
        let mut busy = self.lane(&target, BusyPoll::new()?)?;
        let mut sleepy = self.lane(&target, Epoll::new()?)?;
        let answered = AtomicU64::new(0);
        let mut work = Workspace::new(self.interrupt, &answered);
        let mut other_work = Workspace::new(self.interrupt, &answered);
        let (engine, yardstick) = self.interleave(
            || slice(&mut busy, &mut work).map(|(_, p50_us)| p50_us),
            || slice(&mut sleepy, &mut other_work).map(|(_, p50_us)| p50_us),
        )?;
        Ok(Row {
            name,
            unit: "µs median round trip",
            engine,
            yardstick,
            bar: Bar::AtMost(0.7),
        })
    }

    fn handshakes(&self, name: String) -> Result<Row> {
        let endpoint = Arc::new(Endpoint::new(&self.url(), None)?);
        let random = SmallRng::seed_from_u64(self.arguments.seed);
        let mut opener = Opener::new(endpoint, None, TIMEOUT_NS, random)?;
        let mut times = ExactHistogram::new();
        let per_second =
            |done: handshakes::Handshakes| done.completed as f64 * 1e6 / done.elapsed_ns as f64;
        let (engine, yardstick) = self.interleave(
            || {
                let (at_once, clock) = (HANDSHAKES_AT_ONCE, &MonotonicClock);
                let done = handshakes::run(
                    &mut opener,
                    at_once,
                    SLICE_NS,
                    clock,
                    self.interrupt,
                    &mut times,
                )?;
                Ok(per_second(done))
            },
            || {
                Ok(per_second(raw_handshakes::run(
                    self.floor.address,
                    "/echo",
                    HANDSHAKES_AT_ONCE,
                    SLICE_NS,
                )?))
            },
        )?;
        Ok(Row {
            name,
            unit: "thousand handshakes/s",
            engine,
            yardstick,
            bar: Bar::AtLeast(0.8),
        })
    }
}

/// One slice of the engine with everything switched on: round trips per second, and their median in µs.
fn slice<T: Transport>(lane: &mut Lane<T>, work: &mut Workspace<'_>) -> Result<(f64, f64)> {
    let before = lane.session.recorder.counts;
    let start_ns = MonotonicClock.now_ns();
    let end_ns = start_ns + SLICE_NS;
    let window = Window {
        start_ns,
        drop_until_ns: start_ns,
        measure_from_ns: start_ns,
        end_ns,
        slice: 0,
    };
    let measured_ns = lane.session.run(window, &MonotonicClock, work);
    if let Some(failure) = &lane.session.failure {
        anyhow::bail!("{failure}");
    }
    let recorder = &mut lane.session.recorder;
    let counts = recorder.counts;
    anyhow::ensure!(
        counts.wrong + counts.lost + counts.duplicated + counts.out_of_order == 0,
        "{counts:?}"
    );
    let rate = (counts.in_time - before.in_time) as f64 * 1e9 / measured_ns.max(1) as f64;
    let p50_ns = recorder.latency.value_at(Quantile::P50).unwrap_or(0);
    recorder.latency.clear();
    Ok((rate, p50_ns as f64 / 1e3))
}

/// One masked frame, as the engine sends them.
fn frame(payload: &Payload) -> Vec<u8> {
    use feedbench_wire::frame::{append, Header};
    let mut frame = Vec::new();
    let length = payload.bytes.len() as u64;
    append(
        &mut frame,
        Header::message(payload.opcode, length, Some([0x37, 0xfa, 0x21, 0x3d])),
        &payload.bytes,
    );
    frame
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_has_an_interval_around_it() {
        let values: Vec<f64> = (0..101).map(f64::from).collect();
        assert_eq!(median(&values), (50.0, 40.0, 60.0));
        assert_eq!(median(&[3.0]), (3.0, 3.0, 3.0));
    }

    #[test]
    fn a_bar_can_be_missed() {
        assert!(Bar::AtLeast(0.98).holds(0.98) && !Bar::AtLeast(0.98).holds(0.97));
        assert!(Bar::AtMost(0.7).holds(0.7) && !Bar::AtMost(0.7).holds(0.71));
    }
}
