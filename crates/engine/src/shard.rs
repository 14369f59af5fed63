//! One thread's part of a run: it opens its connections, takes its turns and gives back what it recorded.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::time::Duration;

use feedbench_pace::{Pacer, Rate};
use feedbench_record::{ExactHistogram, Sample, SampleWriter};
use feedbench_wire::deflate::Offer;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use crate::clock::Clock;
use crate::endpoint::Endpoint;
use crate::opening::Opener;
use crate::payload::Payload;
use crate::recorder::{Recorder, Window};
use crate::request::TargetRequest;
use crate::result::Options;
use crate::session::{Session, SessionParts, Workspace};
use crate::slices::{Turn, TurnClock};
use crate::system::{self, RunDelay};
use crate::transport::{Transport, Wait};

/// Samples that a thread has room for before it must ask for more: 8 MiB, shared by all targets.
const SAMPLE_ROOM: usize = 1 << 18;
/// Handshakes under way at once; a listen queue of 128 is still common.
const HANDSHAKES_AT_ONCE: usize = 128;

/// The last part of a wait for the clock, in which the thread does not sleep.
const SPIN_NS: u64 = 500_000;
/// The longest sleep at a time while waiting for the clock.
const NAP_NS: u64 = 50_000_000;

/// A sample file that several threads append to.
pub type SharedSamples = Mutex<SampleWriter<std::fs::File>>;

/// A target with everything that can be worked out before the first connection.
pub struct Prepared {
    /// What was asked for.
    pub request: TargetRequest,
    /// Where it is.
    pub endpoint: Arc<Endpoint>,
    /// What to send.
    pub payload: Payload,
    /// Open if samples are wanted.
    pub samples: Option<SharedSamples>,
}

/// What one thread recorded about one target.
pub struct ShardOutcome {
    /// Counts, histograms, errors.
    pub recorder: Recorder,
    /// Handshake times.
    pub handshakes: ExactHistogram,
    /// Time that opening took.
    pub opening_ns: u64,
    /// Read from the first connection.
    pub options: Option<Options>,
    /// Why it could not be loaded, or not to the end.
    pub failure: Option<String>,
    /// Measured time.
    pub measured_ns: u64,
    /// Measured slices that were begun.
    pub slices: u32,
    /// When each of those began.
    pub slice_starts_ns: Vec<u64>,
    /// CPU time of this thread for this target.
    pub cpu_ns: u64,
    /// Gaps over 1 ms.
    pub stalls: u64,
    /// Connections opened again.
    pub reconnects: u64,
    /// Answers after the end of their windows, and the time of waiting for them.
    pub drained: (u64, u64),
}

/// What all threads share.
pub struct Shared<'a> {
    /// The targets.
    pub targets: &'a [Prepared],
    /// In which order they are loaded.
    pub turns: &'a [Turn],
    /// When they begin, if it is by the clock.
    pub start: Option<TurnClock>,
    /// Number of threads.
    pub threads: u32,
    /// Decides arrivals, mask keys and handshake nonces.
    pub seed: u64,
    /// CPU to bind to; further threads take the following ones.
    pub cpu: Option<usize>,
    /// Set by ^C and SIGTERM.
    pub interrupt: &'a AtomicBool,
    /// Answers so far, one counter per thread.
    pub answered: &'a [AtomicU64],
    /// All threads begin together.
    pub barrier: &'a Barrier,
}

/// A target as one thread drives it.
pub struct Lane<T> {
    /// Its connections, schedule and records.
    pub session: Session<T>,
    handshakes: ExactHistogram,
    opening_ns: u64,
    options: Option<Options>,
    measured_ns: u64,
    slices: u32,
    slice_starts_ns: Vec<u64>,
    cpu_ns: u64,
}

/// Runs the part of thread `index`.
pub fn run<T: Transport>(
    shared: &Shared<'_>,
    index: u32,
    clock: &impl Clock,
    make_transport: &impl Fn() -> io::Result<T>,
) -> io::Result<Vec<ShardOutcome>> {
    if let Some(cpu) = shared.cpu {
        system::pin_thread(cpu + index as usize).map_err(|error| {
            io::Error::new(error.kind(), format!("cannot run on CPU {cpu}: {error}"))
        })?;
    }
    let lanes: io::Result<Vec<_>> = shared
        .targets
        .iter()
        .map(|target| Lane::open(shared, index, target, clock, make_transport()?))
        .collect();
    // Every thread gets here, whatever happened to it, or the others would wait for ever.
    shared.barrier.wait();
    let mut lanes = lanes?;
    let mut work = Workspace::new(shared.interrupt, &shared.answered[index as usize]);
    let mut samples = Vec::new();
    if shared.targets.iter().any(|target| target.samples.is_some()) {
        // Written once, so that no page fault falls into the timed part.
        samples.resize(
            SAMPLE_ROOM,
            Sample {
                slice: u32::MAX,
                ..Sample::default()
            },
        );
        samples.clear();
    }
    let mut start = shared.start;
    for turn in shared.turns {
        if let Some(due) = start {
            wait_until(due.at_ns, clock, shared.interrupt);
            start = Some(due.after(turn));
        }
        if shared.interrupt.load(Ordering::Relaxed) {
            break;
        }
        let lane = &mut lanes[turn.target];
        if lane.session.failure.is_none() {
            lane.take_turn(
                turn,
                clock,
                &mut work,
                &mut samples,
                &shared.targets[turn.target],
            );
        }
    }
    Ok(lanes.into_iter().map(Lane::finish).collect())
}

impl<T: Transport> Lane<T> {
    /// Opens this thread's share of the target's connections. A target that cannot be reached is a lane with a
    /// failure, so that the others go on.
    pub fn open(
        shared: &Shared<'_>,
        index: u32,
        target: &Prepared,
        clock: &impl Clock,
        transport: T,
    ) -> io::Result<Self> {
        let request = &target.request;
        let (first, count) = share(request.connections.get(), shared.threads, index);
        let mut random = SmallRng::seed_from_u64(shared.seed ^ u64::from(index) << 32);
        let offer = request.offer_deflate.then(Offer::usual);
        let make_opener = |random: &mut SmallRng| {
            Opener::new(
                target.endpoint.clone(),
                offer,
                request.timeout_ns,
                SmallRng::from_rng(random),
            )
        };
        let mut opener = make_opener(&mut random)?;
        let pacer = share_pacer(
            request.pacer,
            shared.threads,
            shared.seed ^ u64::from(index),
        );
        let open_loop = !pacer.waits_for_answers();
        let session = Session::new(SessionParts {
            transport,
            payload: target.payload.clone(),
            pacer,
            timeout_ns: request.timeout_ns,
            reopener: if request.reconnect {
                Some(make_opener(&mut random)?)
            } else {
                None
            },
            recorder: Recorder::new(open_loop, first),
            key: random.random(),
            fragmenting: request.fragmenting(),
        });
        let mut lane = Self {
            session,
            handshakes: ExactHistogram::new(),
            opening_ns: 0,
            options: None,
            measured_ns: 0,
            slices: 0,
            slice_starts_ns: Vec::new(),
            cpu_ns: 0,
        };
        let began_ns = clock.now_ns();
        let ramp = request.ramp_per_s;
        if let Err(failure) = lane.open_all(&mut opener, count, ramp, clock, shared.interrupt) {
            lane.session.recorder.error("connect", &failure);
            lane.session.failure = Some(failure);
        }
        lane.opening_ns = clock.now_ns() - began_ns;
        Ok(lane)
    }

    /// Keeps [`HANDSHAKES_AT_ONCE`] under way, or starts them at the rate of the ramp. The first failure ends it.
    fn open_all(
        &mut self,
        opener: &mut Opener,
        count: u32,
        ramp: Option<Rate>,
        clock: &impl Clock,
        interrupt: &AtomicBool,
    ) -> Result<(), String> {
        let began_ns = clock.now_ns();
        let (mut started, mut opened) = (0, 0);
        let mut outcomes = Vec::new();
        while opened < count {
            if interrupt.load(Ordering::Relaxed) {
                return Err(format!("interrupted after {opened} of {count} connections"));
            }
            let now_ns = clock.now_ns();
            let due = |number: u32| {
                ramp.is_none_or(|rate| began_ns + rate.span_ns(u64::from(number)) <= now_ns)
            };
            while started < count && opener.under_way() < HANDSHAKES_AT_ONCE && due(started) {
                opener
                    .start(started, now_ns)
                    .map_err(|error| error.to_string())?;
                started += 1;
            }
            let wait = if ramp.is_some() && started < count {
                Wait::Poll
            } else {
                Wait::Sleep
            };
            opener
                .poll(clock, wait, &mut outcomes)
                .map_err(|error| error.to_string())?;
            for (token, outcome) in outcomes.drain(..) {
                let connection = outcome.map_err(|error| error.to_string())?;
                self.handshakes.record(connection.handshake_ns);
                if self.options.is_none() {
                    self.options = Some(Options::of(&connection));
                }
                self.session
                    .adopt(token, connection, now_ns)
                    .map_err(|error| error.to_string())?;
                opened += 1;
            }
        }
        Ok(())
    }

    fn take_turn(
        &mut self,
        turn: &Turn,
        clock: &impl Clock,
        work: &mut Workspace<'_>,
        samples: &mut Vec<Sample>,
        target: &Prepared,
    ) {
        let cpu_before_ns = system::thread_cpu_ns();
        // A loop that spins sees its stalls by the clock.
        let scheduler_before = (!self.session.spins()).then(RunDelay::of_this_thread);
        let start_ns = clock.now_ns();
        let drop_until_ns = start_ns + turn.drop_ns;
        let measure_from_ns = drop_until_ns + turn.warmup_ns;
        let end_ns = start_ns + turn.length_ns;
        let window = Window {
            start_ns,
            drop_until_ns,
            measure_from_ns,
            end_ns,
            slice: turn.slice,
        };
        self.session.recorder.samples = target.samples.is_some().then(|| std::mem::take(samples));
        let measured_ns = self.session.run(window, clock, work);
        self.cpu_ns += system::thread_cpu_ns() - cpu_before_ns;
        self.session.stalls +=
            scheduler_before.map_or(0, |before| RunDelay::of_this_thread().stalls_since(before));
        self.measured_ns += measured_ns;
        if measured_ns > 0 {
            self.slices += 1;
            self.slice_starts_ns.push(start_ns);
        }
        if let (Some(mut taken), Some(writer)) =
            (self.session.recorder.samples.take(), &target.samples)
        {
            let mut writer = writer
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            taken.drain(..).for_each(|sample| writer.append(sample));
            *samples = taken;
        }
    }

    fn finish(mut self) -> ShardOutcome {
        self.session.close();
        ShardOutcome {
            handshakes: self.handshakes,
            opening_ns: self.opening_ns,
            options: self.options,
            measured_ns: self.measured_ns,
            slices: self.slices,
            slice_starts_ns: self.slice_starts_ns,
            cpu_ns: self.cpu_ns,
            failure: self.session.failure.take(),
            stalls: self.session.stalls,
            reconnects: self.session.reconnects,
            drained: self.session.drained(),
            recorder: self.session.recorder,
        }
    }
}

impl Options {
    fn of(connection: &crate::opening::Opened) -> Self {
        let socket = std::os::fd::AsRawFd::as_raw_fd(&connection.socket);
        Self {
            deflate: connection
                .established
                .deflate
                .map(|agreement| agreement.to_string()),
            nodelay: system::nodelay(socket),
            congestion_control: system::congestion_control(socket),
            tls: connection
                .tls
                .as_ref()
                .and_then(crate::tls::Tls::description),
            subprotocol: connection.established.subprotocol.clone(),
        }
    }
}

/// Sleeps while there is time, then spins: a sleeper is woken late by some tens of microseconds.
fn wait_until(at_ns: u64, clock: &impl Clock, interrupt: &AtomicBool) {
    loop {
        let left_ns = at_ns.saturating_sub(clock.now_ns());
        if left_ns == 0 || interrupt.load(Ordering::Relaxed) {
            return;
        }
        if left_ns > SPIN_NS {
            // In short naps, so that ^C is seen.
            std::thread::sleep(Duration::from_nanos((left_ns - SPIN_NS).min(NAP_NS)));
        } else {
            std::hint::spin_loop();
        }
    }
}

/// First number and count of a thread's connections; the first threads take one more if it does not come out even.
fn share(connections: u32, threads: u32, index: u32) -> (u32, u32) {
    let (each, rest) = (connections / threads, connections % threads);
    (
        each * index + rest.min(index),
        each + u32::from(index < rest),
    )
}

/// A thread's part of a rate that is meant for all connections. The parts add up to the whole.
fn share_pacer(pacer: Pacer, threads: u32, seed: u64) -> Pacer {
    let part = |rate: Rate| {
        Rate::try_from(((rate.as_f64() / f64::from(threads)) * 1000.0).round() / 1000.0)
            .unwrap_or(rate)
    };
    match pacer {
        Pacer::Constant { rate_per_s } => Pacer::Constant {
            rate_per_s: part(rate_per_s),
        },
        Pacer::Poisson { rate_per_s, .. } => Pacer::Poisson {
            rate_per_s: part(rate_per_s),
            seed,
        },
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_make_the_whole_without_gaps() {
        for (connections, threads) in [(1, 1), (7, 3), (512, 2), (5, 5)] {
            let mut next = 0;
            for index in 0..threads {
                let (first, count) = share(connections, threads, index);
                assert_eq!(first, next, "{connections} over {threads}");
                next += count;
            }
            assert_eq!(next, connections);
        }
    }
}
