//! `feedbench-engine ramp`: round after round more connections, all of which send their requests at once.
//!
//! The experiment of Tomasetti (2021), without the faults of its client. Connections that are lost are opened again
//! before the next round and nowhere else, so that nothing can call itself without end; a failed connection counts as
//! failed; the heartbeat is a ping and can't be taken for a request's answer.

mod arguments;
mod round;

use std::io::Write;
use std::num::NonZeroU64;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;

use anyhow::{bail, ensure, Context, Result};
use feedbench_pace::Pacer;
use feedbench_record::ExactHistogram;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use serde::Serialize;

use crate::clock::{Clock, MonotonicClock};
use crate::endpoint::Endpoint;
use crate::opening::Opener;
use crate::payload::Payload;
use crate::recorder::{Counts, Recorder, Window};
use crate::result::SCHEMA;
use crate::session::{Heartbeat, Patience, Session, SessionParts, Workspace};
use crate::stencil::Fragmenting;
use crate::system;
use crate::transport::{Epoll, Wait};
pub use arguments::{IdleArguments, RampArguments};
use round::{first_broken, ConnectionMemory, Descriptors, Ended, RampEnd, Round, Stopped};

/// Loaded time of a round on the pacer's clock: the whole burst is due at its beginning.
const BURST_NS: NonZeroU64 = NonZeroU64::new(1_000_000).unwrap();
/// Answers are not given up one by one: the rule for the end of a round does it.
const NO_TIMEOUT_NS: u64 = 1 << 60;
/// Greetings are waited for this long, and looked for at these intervals.
const GREETING_NS: u64 = 1_000_000_000;
const GREETING_LOOK_NS: u64 = 500_000;
/// Files that a process holds besides its connections.
const OTHER_FILES: u64 = 64;
const INTERRUPTED_STATUS: u8 = 130;

/// Runs `idle`.
pub fn run_idle(idle: &IdleArguments) -> Result<ExitCode> {
    run(&idle.as_ramp())
}

/// Runs the sub-command.
pub fn run(arguments: &RampArguments) -> Result<ExitCode> {
    arguments.check()?;
    if let Some(cpu) = arguments.cpu {
        system::pin_thread(cpu).with_context(|| format!("cannot run on CPU {cpu}"))?;
    }
    let most = u64::from(arguments.rounds.get()) * u64::from(arguments.add.get());
    system::raise_file_limit(most + OTHER_FILES)
        .context("too many connections for this process")?;
    let interrupt = system::catch_interrupts();
    let before = system::open_descriptors().context("cannot count this process's descriptors")?;
    let (rounds, stopped, memory, most, beyond) = {
        let mut ramp = Ramp::new(arguments, interrupt)?;
        let own = system::open_descriptors()?;
        let (rounds, stopped) = ramp.play(|round| show(arguments, round))?;
        let most = system::open_descriptors()?;
        let beyond = most.saturating_sub(own + ramp.session.open() as u64);
        ramp.session.close();
        (rounds, stopped, ramp.memory, most, beyond)
    };
    let after = system::open_descriptors()?;
    let end = RampEnd {
        schema: SCHEMA,
        kind: "end",
        url: arguments.url.clone(),
        rounds: rounds.len() as u32,
        stopped,
        broken: first_broken(&rounds, arguments.allowed_lost_share),
        allowed_lost_share: arguments.allowed_lost_share,
        requests_ns: rounds.iter().map(|round| round.elapsed_ns).sum(),
        connecting_ns: rounds.iter().map(|round| round.connecting_ns).sum(),
        answered: rounds.iter().map(|round| round.answered).sum(),
        requests: rounds.iter().map(|round| round.requests).sum(),
        connection_memory: memory,
        descriptors: Descriptors {
            before,
            most,
            after,
            leaked: beyond + after.saturating_sub(before),
        },
    };
    show_end(arguments, &end)?;
    ensure!(
        end.descriptors.leaked == 0,
        "{} descriptors were left open: this is a fault of the engine",
        end.descriptors.leaked
    );
    Ok(match (stopped, end.answered) {
        (Stopped::Interrupted, _) => ExitCode::from(INTERRUPTED_STATUS),
        (_, 0) => ExitCode::FAILURE,
        _ => ExitCode::SUCCESS,
    })
}

/// A ramp under way.
struct Ramp<'a> {
    arguments: &'a RampArguments,
    interrupt: &'static AtomicBool,
    clock: MonotonicClock,
    session: Session<Epoll>,
    opener: Opener,
    memory: ConnectionMemory,
    /// Greetings that there will be once all new connections are greeted.
    greetings: u64,
}

/// Said when a round's connections stand and nothing was asked yet: whoever wants to know what they cost the target
/// looks now.
#[derive(Serialize)]
struct Standing {
    schema: u32,
    kind: &'static str,
    round: u32,
    connected: u32,
}

/// What connecting came to.
#[derive(Default)]
struct Connecting {
    opened: u32,
    renewed: u32,
    failed: u32,
    elapsed_ns: u64,
    handshakes: Option<ExactHistogram>,
}

impl<'a> Ramp<'a> {
    fn new(arguments: &'a RampArguments, interrupt: &'static AtomicBool) -> Result<Self> {
        let clock = MonotonicClock;
        let endpoint = Arc::new(Endpoint::new(&arguments.url, arguments.ca_file.as_deref())?);
        let mut random = SmallRng::seed_from_u64(arguments.seed);
        let opener = Opener::new(
            endpoint,
            None,
            arguments.connect_timeout,
            SmallRng::from_rng(&mut random),
        )?;
        let mut session = Session::new(SessionParts {
            transport: Epoll::new()?,
            payload: Payload::new(&arguments.payload())?,
            pacer: Pacer::Burst {
                messages: arguments.requests,
                interval_ns: BURST_NS,
            },
            timeout_ns: NO_TIMEOUT_NS,
            reopener: None,
            recorder: Recorder::new(true, 0),
            key: random.random(),
            fragmenting: Fragmenting::default(),
        });
        session.set_patience(Patience::WhileAnswersCome {
            quiet_ns: arguments.quiet,
            nearly_all: arguments.nearly_all,
            stuck_ns: arguments.stuck,
        });
        if arguments.heartbeat > 0 {
            session.set_heartbeat(Heartbeat::new(arguments.heartbeat, clock.now_ns()));
        }
        Ok(Self {
            arguments,
            interrupt,
            clock,
            session,
            opener,
            memory: ConnectionMemory::default(),
            greetings: 0,
        })
    }

    fn interrupted(&self) -> bool {
        self.interrupt.load(Ordering::Relaxed)
    }

    /// Plays all rounds, and hands each over as it ends.
    fn play(
        &mut self,
        mut show: impl FnMut(&Round) -> Result<()>,
    ) -> Result<(Vec<Round>, Stopped)> {
        let answered = AtomicU64::new(0);
        let mut work = Workspace::new(self.interrupt, &answered);
        let mut rounds = Vec::new();
        for number in 1..=self.arguments.rounds.get() {
            let connecting = self.connect(number)?;
            if self.interrupted() {
                return Ok((rounds, Stopped::Interrupted));
            }
            if number == 1 && self.session.open() == 0 {
                let errors = &self.session.recorder.errors;
                bail!(
                    "no connection could be opened: {}",
                    errors
                        .first()
                        .map_or("no reason is known", |error| &error.first)
                );
            }
            self.await_greetings(&mut work);
            let standing = Standing {
                schema: SCHEMA,
                kind: "connected",
                round: number,
                connected: self.session.open() as u32,
            };
            show_standing(self.arguments, &standing)?;
            let pings = self.heartbeats();
            if self.arguments.hold > 0 {
                let until_ns = self.clock.now_ns() + self.arguments.hold;
                self.session.hold(until_ns, &self.clock, &mut work);
            }
            let round = self.burst(number, connecting, pings, &mut work);
            show(&round)?;
            let (ended, answered) = (round.ended, round.answered);
            rounds.push(round);
            if ended == Ended::Interrupted {
                return Ok((rounds, Stopped::Interrupted));
            }
            if answered == 0 {
                return Ok((rounds, Stopped::NothingAnswered));
            }
        }
        Ok((rounds, Stopped::Complete))
    }

    /// Lets the greetings come in first: their receipt is no part of the burst. One that does not come in time is
    /// found missing by the check of the first answer.
    fn await_greetings(&mut self, work: &mut Workspace<'_>) {
        if self.arguments.echo.is_some() {
            return;
        }
        let until_ns = self.clock.now_ns() + GREETING_NS;
        while self.session.recorder.greetings < self.greetings {
            let now_ns = self.clock.now_ns();
            if now_ns >= until_ns || self.session.open() == 0 || self.interrupted() {
                return;
            }
            self.session
                .hold(now_ns + GREETING_LOOK_NS, &self.clock, work);
        }
    }

    /// Opens what the round adds and what earlier rounds lost, as many at once as a round adds.
    fn connect(&mut self, number: u32) -> Result<Connecting> {
        let add = self.arguments.add.get();
        let mut wanted = self.session.vacant((number * add) as usize);
        wanted.reverse();
        let mut places = vec![None; add as usize];
        let mut outcomes = Vec::new();
        let mut done = Connecting::default();
        let mut times = ExactHistogram::new();
        let greetings_before = self.session.recorder.greetings;
        let began_ns = self.clock.now_ns();
        loop {
            let now_ns = self.clock.now_ns();
            for (place, slot) in places
                .iter_mut()
                .enumerate()
                .filter(|(_, slot)| slot.is_none())
            {
                let Some(token) = wanted
                    .pop()
                    .filter(|_| !self.interrupt.load(Ordering::Relaxed))
                else {
                    break;
                };
                // The opener counts by places, so that it needs no room for ten thousand.
                match self.opener.start(place as u32, now_ns) {
                    Ok(()) => *slot = Some(token),
                    Err(error) => self.fail(&mut done, &error),
                }
            }
            if places.iter().all(Option::is_none) && (wanted.is_empty() || self.interrupted()) {
                break;
            }
            self.opener.poll(&self.clock, Wait::Sleep, &mut outcomes)?;
            let now_ns = self.clock.now_ns();
            for (place, outcome) in outcomes.drain(..) {
                let Some(token) = places[place as usize].take() else {
                    continue;
                };
                match outcome {
                    Err(error) => self.fail(&mut done, &error),
                    Ok(opened) => {
                        times.record(opened.handshake_ns);
                        match self.session.adopt(token, opened, now_ns) {
                            Err(error) => self.fail(&mut done, &error),
                            Ok(()) => {
                                done.opened += 1;
                                done.renewed += u32::from(token < (number - 1) * add);
                            }
                        }
                    }
                }
            }
        }
        self.greetings = greetings_before + u64::from(done.opened);
        done.elapsed_ns = self.clock.now_ns() - began_ns;
        done.handshakes = Some(times);
        Ok(done)
    }

    fn fail(&mut self, done: &mut Connecting, error: &dyn std::error::Error) {
        done.failed += 1;
        self.session.recorder.error("connect", &error.to_string());
    }

    /// All connections send all requests of the round; then the answers are waited for.
    fn burst(
        &mut self,
        number: u32,
        connecting: Connecting,
        pings: (u64, u64),
        work: &mut Workspace<'_>,
    ) -> Round {
        let wanted = number * self.arguments.add.get();
        let connected = self.session.open() as u32;
        let idle_bytes = (self.session.connection_bytes() as u64).checked_div(u64::from(connected));
        let before = self.session.recorder.counts;
        let start_ns = self.clock.now_ns();
        let window = Window {
            start_ns,
            drop_until_ns: start_ns,
            measure_from_ns: start_ns,
            end_ns: start_ns + BURST_NS.get(),
            slice: number,
        };
        self.session.run(window, &self.clock, work);
        let burst_bytes =
            (self.session.connection_bytes() as u64).checked_div(u64::from(connected));
        self.memory.idle_bytes = self.memory.idle_bytes.max(idle_bytes.unwrap_or(0));
        self.memory.burst_bytes = self.memory.burst_bytes.max(burst_bytes.unwrap_or(0));
        // All connections gone is a failure of the session; here it is the end of a round.
        let disconnected = self.session.failure.take().is_some();
        let engine_resident_bytes = system::resident_bytes();
        let recorder = &mut self.session.recorder;
        let counts = since(recorder.counts, before);
        let errors = std::mem::take(&mut recorder.errors);
        let (latency_ns, lateness_ns) = (recorder.latency.summary(), recorder.lateness.summary());
        let elapsed_ns = latency_ns.max.unwrap_or(0) - lateness_ns.min.unwrap_or(0);
        let all = u64::from(wanted) * u64::from(self.arguments.requests.get());
        let ended = if self.interrupted() {
            Ended::Interrupted
        } else if disconnected {
            Ended::Disconnected
        } else if counts.lost > 0 {
            Ended::Silence
        } else {
            Ended::Answered
        };
        let (pings_now, pongs_now) = self.heartbeats();
        let round = Round {
            schema: SCHEMA,
            kind: "round",
            round: number,
            wanted,
            connected,
            opened: connecting.opened,
            renewed: connecting.renewed,
            failed_connects: connecting.failed,
            connecting_ns: connecting.elapsed_ns,
            handshake_ns: connecting
                .handshakes
                .map(|times| times.summary())
                .unwrap_or_default(),
            requests: all,
            sent: counts.sent,
            answered: counts.received - counts.wrong,
            lost: counts.lost,
            wrong: counts.wrong,
            duplicated: counts.duplicated,
            out_of_order: counts.out_of_order,
            lost_share: 0.0,
            elapsed_ns,
            answers_per_s: 0.0,
            latency_ns,
            lateness_ns,
            ended,
            pings: pings_now - pings.0,
            pongs: pongs_now - pings.1,
            engine_resident_bytes,
            errors,
        };
        self.session.shrink();
        round.complete()
    }

    fn heartbeats(&self) -> (u64, u64) {
        (self.session.recorder.pings, self.session.recorder.pongs)
    }
}

/// What was counted since `before`.
fn since(now: Counts, before: Counts) -> Counts {
    Counts {
        sent: now.sent - before.sent,
        received: now.received - before.received,
        lost: now.lost - before.lost,
        wrong: now.wrong - before.wrong,
        duplicated: now.duplicated - before.duplicated,
        out_of_order: now.out_of_order - before.out_of_order,
        ..Counts::default()
    }
}

fn show_standing(arguments: &RampArguments, standing: &Standing) -> Result<()> {
    if arguments.json {
        let mut out = std::io::stdout().lock();
        writeln!(out, "{}", serde_json::to_string(standing)?)?;
        out.flush()?;
    }
    Ok(())
}

/// Each round at once: a ramp may be ended at any time, and somebody draws its progress.
fn show(arguments: &RampArguments, round: &Round) -> Result<()> {
    let mut out = std::io::stdout().lock();
    if arguments.json {
        writeln!(out, "{}", serde_json::to_string(round)?)?;
    } else {
        if round.round == 1 {
            writeln!(
                out,
                "round  connected  failed    answered  lost %  time ms  answers/s  p50 ms  p99 ms  connecting ms"
            )?;
        }
        let ms = |ns: u64| ns as f64 / 1e6;
        writeln!(
            out,
            "{:>5}  {:>9}  {:>6}  {:>10}  {:>6.2}  {:>7.0}  {:>9.0}  {:>6.1}  {:>6.1}  {:>13.1}",
            round.round,
            round.connected,
            round.failed_connects,
            round.answered,
            round.lost_share * 100.0,
            ms(round.elapsed_ns),
            round.answers_per_s,
            ms(round.latency_ns.p50.unwrap_or(0)),
            ms(round.latency_ns.p99.unwrap_or(0)),
            ms(round.connecting_ns),
        )?;
    }
    out.flush()?;
    Ok(())
}

fn show_end(arguments: &RampArguments, end: &RampEnd) -> Result<()> {
    let mut out = std::io::stdout().lock();
    if arguments.json {
        writeln!(out, "{}", serde_json::to_string(end)?)?;
        return Ok(());
    }
    match &end.broken {
        None => writeln!(out, "It did not break.")?,
        Some(broken) => writeln!(
            out,
            "It broke in round {} with {} connections: {:.2} % lost ({}).",
            broken.round,
            broken.connections,
            broken.lost_share * 100.0,
            broken.cause
        )?,
    }
    writeln!(
        out,
        "The engine held {} bytes for each connection, {} in a burst; {} descriptors leaked.",
        end.connection_memory.idle_bytes, end.connection_memory.burst_bytes, end.descriptors.leaked
    )?;
    Ok(())
}
