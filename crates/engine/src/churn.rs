//! `feedbench-engine churn`: connect, say a few words, close; again and again, or many at once (a storm).

use std::io::{self, Write};
use std::num::NonZeroU32;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use anyhow::{ensure, Context, Result};
use clap::Args;
use feedbench_pace::Rate;
use feedbench_record::{ExactHistogram, Summary};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use serde::Serialize;

use crate::cli::duration_ns;
use crate::clock::{Clock, MonotonicClock};
use crate::connection::{Connection, ConnectionError};
use crate::endpoint::Endpoint;
use crate::opening::{Opened, Opener};
use crate::payload::{Payload, PayloadKind, PayloadRequest};
use crate::recorder::{Recorder, Window};
use crate::result::{ErrorCount, SCHEMA};
use crate::stencil::Stencil;
use crate::system;
use crate::transport::{receive_now, Epoll, Ready, Transport, Wait};

/// Files that a process holds besides its connections.
const OTHER_FILES: u64 = 64;
const RECEIVE_BYTES: usize = 64 << 10;
const INTERRUPTED_STATUS: u8 = 130;

/// How `churn` is told what to do.
#[derive(Debug, Clone, Args)]
pub struct ChurnArguments {
    /// ws:// or wss:// URL that echoes
    pub url: String,
    /// Visits begin during this time; those under way are waited for
    #[arg(short, long, default_value = "5s", value_parser = duration_ns, conflicts_with = "storm")]
    pub duration: u64,
    /// Visits under way at any time
    #[arg(long, default_value = "64", conflicts_with = "storm")]
    pub at_once: NonZeroU32,
    /// Visits per second [default: as many as --at-once brings]
    #[arg(long, conflicts_with = "storm")]
    pub rate: Option<Rate>,
    /// Begin this many visits in the same moment, and no more
    #[arg(long, value_name = "CONNECTIONS")]
    pub storm: Option<NonZeroU32>,
    /// Messages of each visit, one after the other
    #[arg(short, long, default_value = "1")]
    pub messages: u32,
    /// Bytes of a message
    #[arg(short, long, default_value = "108")]
    pub size: usize,
    /// For each handshake, answer and farewell
    #[arg(long, default_value = "5s", value_parser = duration_ns)]
    pub timeout: u64,
    /// Authorities that wss:// trusts, PEM [default: the Mozilla roots]
    #[arg(long, value_name = "FILE")]
    pub ca_file: Option<std::path::PathBuf>,
    /// Bind to this CPU
    #[arg(long)]
    pub cpu: Option<usize>,
    /// Decides mask keys and handshake nonces
    #[arg(long, default_value = "1")]
    pub seed: u64,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// What came of it.
#[derive(Debug, Serialize)]
struct ChurnResult {
    schema: u32,
    url: String,
    storm: bool,
    at_once: u32,
    rate_per_s: Option<f64>,
    messages: u32,
    /// From the first visit's beginning to the last one's end.
    elapsed_ns: u64,
    begun: u64,
    completed: u64,
    failed: u64,
    /// Completed visits per second.
    visits_per_s: f64,
    /// From before `connect` to the whole answer.
    handshake_ns: Summary,
    /// Of each message.
    latency_ns: Summary,
    /// From our close frame to the end of the stream.
    close_ns: Summary,
    /// From the beginning to the end of a visit.
    visit_ns: Summary,
    /// How late visits began, at a rate.
    lateness_ns: Summary,
    interrupted: bool,
    errors: Vec<ErrorCount>,
}

/// Runs the sub-command.
pub fn run(arguments: &ChurnArguments) -> Result<ExitCode> {
    ensure!(arguments.timeout > 0, "--timeout is 0");
    if let Some(cpu) = arguments.cpu {
        system::pin_thread(cpu).with_context(|| format!("cannot run on CPU {cpu}"))?;
    }
    let at_once = arguments.storm.unwrap_or(arguments.at_once).get();
    system::raise_file_limit(u64::from(at_once) + OTHER_FILES)
        .context("too many connections for this process")?;
    let interrupt = system::catch_interrupts();
    let mut churn = Churn::new(arguments, at_once)?;
    churn.run(interrupt)?;
    let result = churn.result(interrupt.load(Ordering::Relaxed));
    show(arguments, &result)?;
    Ok(match (result.interrupted, result.completed) {
        (true, _) => ExitCode::from(INTERRUPTED_STATUS),
        (false, 0) => ExitCode::FAILURE,
        _ => ExitCode::SUCCESS,
    })
}

/// A connection that is open.
struct Visit {
    connection: Connection,
    begun_ns: u64,
    /// Messages without an answer, those not sent yet included.
    left: u32,
    /// When the present wait began: for an answer, or for the end.
    waiting_since_ns: u64,
    saying_goodbye: bool,
}

struct Churn<'a> {
    arguments: &'a ChurnArguments,
    clock: MonotonicClock,
    opener: Opener,
    transport: Epoll,
    stencil: Stencil,
    recorder: Recorder,
    /// By place; each is also the opener's and the transport's token.
    visits: Vec<Option<Visit>>,
    begun_ns: Vec<u64>,
    free: Vec<u32>,
    begun: u64,
    completed: u64,
    failed: u64,
    elapsed_ns: u64,
    handshakes: ExactHistogram,
    closes: ExactHistogram,
    whole: ExactHistogram,
    lateness: ExactHistogram,
}

impl<'a> Churn<'a> {
    fn new(arguments: &'a ChurnArguments, at_once: u32) -> Result<Self> {
        let endpoint = Arc::new(Endpoint::new(&arguments.url, arguments.ca_file.as_deref())?);
        let payload = Payload::new(&PayloadRequest {
            kind: PayloadKind::Text,
            bytes: Some(arguments.size),
            file: None,
        })?;
        let mut random = SmallRng::seed_from_u64(arguments.seed);
        let mut recorder = Recorder::new(false, 0);
        let whole_run = Window {
            start_ns: 0,
            drop_until_ns: 0,
            measure_from_ns: 0,
            end_ns: u64::MAX,
            slice: 0,
        };
        recorder.begin(whole_run, 0);
        Ok(Self {
            arguments,
            clock: MonotonicClock,
            opener: Opener::new(
                endpoint,
                None,
                arguments.timeout,
                SmallRng::from_rng(&mut random),
            )?,
            transport: Epoll::new()?,
            stencil: Stencil::new(payload, random.random()),
            recorder,
            visits: (0..at_once).map(|_| None).collect(),
            begun_ns: vec![0; at_once as usize],
            free: (0..at_once).rev().collect(),
            begun: 0,
            completed: 0,
            failed: 0,
            elapsed_ns: 0,
            handshakes: ExactHistogram::new(),
            closes: ExactHistogram::new(),
            whole: ExactHistogram::new(),
            lateness: ExactHistogram::new(),
        })
    }

    /// Never sleeps: the moment at which a connection opens should not depend on when we were woken.
    fn run(&mut self, interrupt: &AtomicBool) -> Result<()> {
        let (mut outcomes, mut ready) = (Vec::new(), Vec::new());
        let mut buffer = vec![0; RECEIVE_BYTES].into_boxed_slice();
        let began_ns = self.clock.now_ns();
        loop {
            let now_ns = self.clock.now_ns();
            if !interrupt.load(Ordering::Relaxed) {
                self.begin_visits(began_ns, now_ns);
            }
            self.opener.poll(&self.clock, Wait::Poll, &mut outcomes)?;
            for (place, outcome) in outcomes.drain(..) {
                match outcome {
                    Ok(opened) => self.enter(place, opened),
                    Err(error) => self.fail(place, "connect", &error.to_string()),
                }
            }
            self.transport.ready(Wait::Poll, &mut ready)?;
            for event in ready.drain(..) {
                self.serve(event, &mut buffer);
            }
            self.give_up_overdue();
            let idle = self.free.len() == self.visits.len();
            if idle
                && (self.is_over(began_ns, self.clock.now_ns())
                    || interrupt.load(Ordering::Relaxed))
            {
                self.elapsed_ns = self.clock.now_ns() - began_ns;
                return Ok(());
            }
        }
    }

    /// True once no visit may begin any more.
    fn is_over(&self, began_ns: u64, now_ns: u64) -> bool {
        match self.arguments.storm {
            Some(storm) => self.begun >= u64::from(storm.get()),
            None => now_ns >= began_ns + self.arguments.duration,
        }
    }

    fn begin_visits(&mut self, began_ns: u64, now_ns: u64) {
        while !self.is_over(began_ns, now_ns) {
            if let Some(rate) = self.arguments.rate {
                let due_ns = began_ns + rate.span_ns(self.begun);
                if due_ns > now_ns {
                    return;
                }
                // Recorded when it can begin: without a free place it waits here, and is the later for it.
                if !self.free.is_empty() {
                    self.lateness.record(now_ns - due_ns);
                }
            }
            let Some(place) = self.free.pop() else {
                return;
            };
            self.begun += 1;
            self.begun_ns[place as usize] = now_ns;
            if let Err(error) = self.opener.start(place, now_ns) {
                self.fail(place, "connect", &error.to_string());
            }
        }
    }

    fn enter(&mut self, place: u32, opened: Opened) {
        self.handshakes.record(opened.handshake_ns);
        let now_ns = self.clock.now_ns();
        let (mut connection, leftover) = Connection::new(place, opened, &self.stencil.payload);
        let outcome = self
            .transport
            .add(place, connection.socket())
            .map_err(ConnectionError::from);
        let outcome = outcome.and_then(|()| {
            connection.take_plain(&self.stencil.payload, &leftover, now_ns, &mut self.recorder)
        });
        self.visits[place as usize] = Some(Visit {
            connection,
            begun_ns: self.begun_ns[place as usize],
            left: self.arguments.messages,
            waiting_since_ns: now_ns,
            saying_goodbye: false,
        });
        match outcome {
            Ok(_) => self.go_on(place),
            Err(error) => self.end(place, &error),
        }
    }

    /// The next message, or the farewell.
    fn go_on(&mut self, place: u32) {
        let now_ns = self.clock.now_ns();
        let Some(visit) = &mut self.visits[place as usize] else {
            return;
        };
        visit.waiting_since_ns = now_ns;
        let outcome = if visit.left > 0 {
            visit.connection.release(1);
            Ok(())
        } else {
            visit.saying_goodbye = true;
            visit.connection.say_goodbye()
        };
        let outcome = outcome.and_then(|()| {
            visit.connection.flush(
                &mut self.stencil,
                &mut self.transport,
                &self.clock,
                &mut self.recorder,
            )
        });
        if let Err(error) = outcome {
            self.end(place, &error);
        }
    }

    fn serve(&mut self, event: Ready, buffer: &mut [u8]) {
        let place = event.token;
        loop {
            let Some(visit) = &mut self.visits[place as usize] else {
                return;
            };
            let count = match receive_now(visit.connection.socket(), buffer) {
                Ok(0) => return self.end(place, &ConnectionError::Ended),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return self.end(place, &error.into()),
            };
            let now_ns = self.clock.now_ns();
            match visit.connection.take(
                &self.stencil.payload,
                &buffer[..count],
                now_ns,
                &mut self.recorder,
            ) {
                Ok(0) => {}
                Ok(answered) => {
                    visit.left = visit.left.saturating_sub(answered as u32);
                    self.go_on(place);
                }
                // The server's close frame answers ours; its end of the stream follows.
                Err(ConnectionError::Closed(_)) if visit.saying_goodbye => {}
                Err(error) => return self.end(place, &error),
            }
        }
        // Whatever a full socket did not take before may go now.
        if let Some(visit) = self.visits[place as usize]
            .as_mut()
            .filter(|_| event.writable)
        {
            let sent = visit.connection.flush(
                &mut self.stencil,
                &mut self.transport,
                &self.clock,
                &mut self.recorder,
            );
            if let Err(error) = sent {
                self.end(place, &error);
            }
        }
    }

    /// The stream has ended: as it should after the farewell, else too early.
    fn end(&mut self, place: u32, error: &ConnectionError) {
        let over = matches!(error, ConnectionError::Ended | ConnectionError::Broken(_));
        let Some(visit) = self.visits[place as usize].as_ref() else {
            return;
        };
        if !(visit.saying_goodbye && over) {
            return self.fail(place, error.kind(), &error.to_string());
        }
        let now_ns = self.clock.now_ns();
        self.closes.record(now_ns - visit.waiting_since_ns);
        self.whole.record(now_ns - visit.begun_ns);
        self.completed += 1;
        self.leave(place);
    }

    fn fail(&mut self, place: u32, kind: &str, text: &str) {
        self.failed += 1;
        self.recorder.error(kind, text);
        self.leave(place);
    }

    fn leave(&mut self, place: u32) {
        if let Some(visit) = self.visits[place as usize].take() {
            self.transport.remove(place, visit.connection.socket());
        }
        self.free.push(place);
    }

    fn give_up_overdue(&mut self) {
        let overdue_ns = self.clock.now_ns().saturating_sub(self.arguments.timeout);
        for place in 0..self.visits.len() {
            let overdue = |visit: &Visit| visit.waiting_since_ns < overdue_ns;
            if self.visits[place].as_ref().is_some_and(overdue) {
                self.fail(
                    place as u32,
                    "timeout",
                    "no answer or no farewell within the time-out",
                );
            }
        }
    }

    fn result(&mut self, interrupted: bool) -> ChurnResult {
        let counts = self.recorder.counts;
        if counts.wrong > 0 {
            let text = format!("{} answers were not what was sent", counts.wrong);
            self.recorder.error("wrong", &text);
        }
        ChurnResult {
            schema: SCHEMA,
            url: self.arguments.url.clone(),
            storm: self.arguments.storm.is_some(),
            at_once: self.visits.len() as u32,
            rate_per_s: self.arguments.rate.map(Rate::as_f64),
            messages: self.arguments.messages,
            elapsed_ns: self.elapsed_ns,
            begun: self.begun,
            completed: self.completed,
            failed: self.failed,
            visits_per_s: self.completed as f64 * 1e9 / self.elapsed_ns.max(1) as f64,
            handshake_ns: self.handshakes.summary(),
            latency_ns: self.recorder.latency.summary(),
            close_ns: self.closes.summary(),
            visit_ns: self.whole.summary(),
            lateness_ns: self.lateness.summary(),
            interrupted,
            errors: std::mem::take(&mut self.recorder.errors),
        }
    }
}

fn show(arguments: &ChurnArguments, result: &ChurnResult) -> Result<()> {
    let mut out = io::stdout().lock();
    if arguments.json {
        writeln!(out, "{}", serde_json::to_string_pretty(result)?)?;
    } else {
        writeln!(
            out,
            "{}  {} visits, {:.0}/s, {} failed",
            result.url, result.completed, result.visits_per_s, result.failed
        )?;
        for (name, times) in [
            ("handshake", &result.handshake_ns),
            ("message", &result.latency_ns),
            ("close", &result.close_ns),
        ]
        .into_iter()
        .filter(|(_, times)| times.count > 0)
        {
            let ms = |value: Option<u64>| value.unwrap_or(0) as f64 / 1e6;
            writeln!(
                out,
                "  {name:<10} p50 {:.3} ms, p99 {:.3} ms, max {:.3} ms",
                ms(times.p50),
                ms(times.p99),
                ms(times.max)
            )?;
        }
    }
    for error in &result.errors {
        eprintln!("{}: {} ({} times)", result.url, error.first, error.count);
    }
    Ok(())
}
