//! All subscribers of one process: opened, read, thrown out and brought back by one thread.

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use anyhow::{bail, Context, Result};
use feedbench_record::{identity, Receipt, ReceiptKind};
use feedbench_wire::frame::Opcode;
use rand::rngs::SmallRng;
use rand::SeedableRng;

use super::arguments::SubscribeArguments;
use super::journal::Journal;
use super::subscriber::Subscriber;
use super::summary::{Outcome, Storm};
use crate::clock::{Clock, MonotonicClock};
use crate::connection::ConnectionError;
use crate::endpoint::Endpoint;
use crate::opening::{Opened, Opener};
use crate::result::ErrorCount;
use crate::system;
use crate::transport::{receive_now, Epoll, Ready, Transport, Wait};

const RECEIVE_BYTES: usize = 64 << 10;
/// Handshakes under way at once while the run begins; a listen queue of 128 is still common.
const HANDSHAKES_AT_ONCE: usize = 64;
/// Who was refused tries again so much later, as impatient clients do.
const RETRY_NS: u64 = 100_000_000;
/// A sleep is never longer, so that a signal between two looks at its flag is not missed.
const LONGEST_SLEEP_NS: u64 = 100_000_000;
/// What is still on its way at the end is waited for no longer than this.
const LONGEST_END_NS: u64 = 10_000_000_000;
/// Receive buffer of a subscriber that has stopped: what it holds is not the relay's trouble.
const SLOW_BUFFER_BYTES: i32 = 4096;

/// Everything of a run.
pub struct Crowd<'a> {
    arguments: &'a SubscribeArguments,
    interrupt: &'a AtomicBool,
    clock: MonotonicClock,
    opener: Opener,
    transport: Epoll,
    alarm_ns: u64,
    /// By number; each is also the opener's and the transport's token.
    subscribers: Vec<Option<Subscriber>>,
    buffer: Box<[u8]>,
    journal: Journal,
    /// When to try again, and who.
    retries: VecDeque<(u64, u32)>,
    opened_ns: u64,
    first_message_ns: Option<u64>,
    last_message_ns: u64,
    slow_begun: bool,
    storm: Option<Storm>,
    connections: u64,
    ending: bool,
    errors: Vec<ErrorCount>,
}

impl<'a> Crowd<'a> {
    /// Nobody is connected yet.
    pub fn new(arguments: &'a SubscribeArguments, interrupt: &'a AtomicBool) -> Result<Self> {
        let endpoint = Arc::new(Endpoint::new(&arguments.url, arguments.ca_file.as_deref())?);
        let random = SmallRng::seed_from_u64(arguments.seed);
        Ok(Self {
            arguments,
            interrupt,
            clock: MonotonicClock,
            opener: Opener::new(endpoint, None, arguments.timeout, random)?,
            transport: Epoll::new()?,
            alarm_ns: 0,
            subscribers: (0..arguments.subscribers.get()).map(|_| None).collect(),
            buffer: vec![0; RECEIVE_BYTES].into_boxed_slice(),
            journal: Journal::default(),
            retries: VecDeque::new(),
            opened_ns: 0,
            first_message_ns: None,
            last_message_ns: 0,
            slow_begun: false,
            storm: None,
            connections: 0,
            ending: false,
            errors: Vec::new(),
        })
    }

    /// Connects all; the first failure ends it.
    pub fn open(&mut self) -> Result<()> {
        let count = self.arguments.subscribers.get();
        let (mut started, mut outcomes) = (0, Vec::new());
        while self.connections < u64::from(count) {
            if self.interrupt.load(Ordering::Relaxed) {
                bail!(
                    "interrupted after {} of {count} subscribers",
                    self.connections
                );
            }
            while started < count && self.opener.under_way() < HANDSHAKES_AT_ONCE {
                self.opener
                    .start(started, self.clock.now_ns())
                    .with_context(|| format!("subscriber {} of {count}", started + 1))?;
                started += 1;
            }
            self.opener
                .poll(&self.clock, Wait::Sleep, &mut outcomes)
                .context("cannot wait for handshakes")?;
            for (place, outcome) in outcomes.drain(..) {
                let opened =
                    outcome.with_context(|| format!("subscriber {} of {count}", place + 1))?;
                self.enter(place, opened);
            }
        }
        self.opened_ns = self.clock.now_ns();
        Ok(())
    }

    /// Receives until the end: of the time, by a signal, or since everybody has gone.
    pub fn follow(&mut self) -> Result<()> {
        loop {
            let now_ns = self.clock.now_ns();
            let over = self
                .arguments
                .duration
                .is_some_and(|duration| now_ns >= self.opened_ns + duration);
            if over || self.interrupt.load(Ordering::Relaxed) || self.is_deserted() {
                return Ok(());
            }
            self.cause_trouble(now_ns);
            self.retry(now_ns);
            self.step(self.next_moment_ns())?;
        }
    }

    /// What is still on its way arrives; then all leave.
    pub fn finish(mut self) -> Outcome {
        self.ending = true;
        self.retries.clear();
        let began_ns = self.clock.now_ns();
        for place in 0..self.subscribers.len() as u32 {
            self.resume(place);
        }
        self.last_message_ns = self.last_message_ns.max(began_ns);
        while !self.is_deserted() {
            let now_ns = self.clock.now_ns();
            let quiet_at_ns = self.last_message_ns + self.arguments.quiet;
            if now_ns >= quiet_at_ns || now_ns >= began_ns + LONGEST_END_NS {
                break;
            }
            if let Err(error) = self.step(quiet_at_ns) {
                self.count_error("wait", &format!("{error:#}"));
                break;
            }
        }
        for subscriber in self.subscribers.iter_mut().flatten() {
            subscriber.say_goodbye();
        }
        Outcome {
            journal: self.journal,
            slow: self.arguments.slow,
            subscribers: self.arguments.subscribers.get(),
            elapsed_ns: self.clock.now_ns() - self.opened_ns,
            connections: self.connections,
            storm: self.storm,
            errors: self.errors,
        }
    }

    fn is_deserted(&self) -> bool {
        let nobody = self.subscribers.iter().all(Option::is_none);
        nobody && self.retries.is_empty() && self.opener.under_way() == 0
    }

    /// When something is to be done even if nothing arrives.
    fn next_moment_ns(&self) -> u64 {
        let arguments = self.arguments;
        let after_first = |wait: u64| self.first_message_ns.map(|first_ns| first_ns + wait);
        let slow = (arguments.slow > 0 && !self.slow_begun)
            .then(|| after_first(arguments.slow_after))
            .flatten();
        let storm = arguments
            .storm_after
            .filter(|_| self.storm.is_none())
            .and_then(after_first);
        let end = arguments.duration.map(|duration| self.opened_ns + duration);
        let retry = self.retries.front().map(|&(at_ns, _)| at_ns);
        let moments = [slow, storm, end, retry];
        moments.into_iter().flatten().min().unwrap_or(u64::MAX)
    }

    /// Moves everything on once; sleeps until `until_ns` at the latest if there is nothing to do.
    fn step(&mut self, until_ns: u64) -> Result<()> {
        let wait = if self.opener.under_way() > 0 {
            let mut outcomes = Vec::new();
            self.opener.poll(&self.clock, Wait::Poll, &mut outcomes)?;
            for (place, outcome) in outcomes {
                match outcome {
                    Ok(opened) => self.enter(place, opened),
                    Err(error) => self.fail_to_open(place, &error.to_string()),
                }
            }
            Wait::Poll
        } else {
            let now_ns = self.clock.now_ns();
            let wanted_ns = until_ns.min(now_ns + LONGEST_SLEEP_NS);
            if self.alarm_ns <= now_ns || self.alarm_ns > wanted_ns {
                self.transport.set_alarm(wanted_ns);
                self.alarm_ns = wanted_ns;
            }
            Wait::Sleep
        };
        let mut ready = Vec::new();
        self.transport
            .ready(wait, &mut ready)
            .context("cannot wait for messages")?;
        for event in ready {
            self.serve(event);
        }
        Ok(())
    }

    fn enter(&mut self, place: u32, opened: Opened) {
        let now_ns = self.clock.now_ns();
        let (mut subscriber, leftover) = Subscriber::new(opened);
        self.connections += 1;
        self.journal.note(now_ns, place, ReceiptKind::Connected);
        if let Some(storm) = &mut self.storm {
            storm.came_back(place, now_ns);
        }
        let asked = (self.arguments.send.iter())
            .try_for_each(|text| subscriber.queue(Opcode::Text, text.as_bytes()))
            .and_then(|()| subscriber.flush())
            .and_then(|()| Ok(self.transport.add(place, subscriber.socket())?));
        self.subscribers[place as usize] = Some(subscriber);
        let outcome = asked.and_then(|()| self.take(place, &leftover, now_ns, true));
        match outcome {
            // Edge-triggered: what arrived before the socket was added is told by `add` itself.
            Ok(()) => {}
            Err(error) => self.end(place, &error),
        }
    }

    fn serve(&mut self, event: Ready) {
        let place = event.token;
        let Some(subscriber) = &mut self.subscribers[place as usize] else {
            return;
        };
        if event.writable {
            if let Err(error) = subscriber.flush() {
                return self.end(place, &error);
            }
        }
        if subscriber.reads {
            self.read(place, event.ended);
        } else if event.ended {
            self.end(place, &ConnectionError::Ended);
        }
    }

    /// Until the socket is empty.
    fn read(&mut self, place: u32, to_the_end: bool) {
        loop {
            let Some(subscriber) = &self.subscribers[place as usize] else {
                return;
            };
            let mut buffer = std::mem::take(&mut self.buffer);
            let received = receive_now(subscriber.socket(), &mut buffer);
            let now_ns = self.clock.now_ns();
            let outcome = match received {
                Ok(0) => Err(ConnectionError::Ended),
                Ok(count) => {
                    let more = to_the_end || count == buffer.len();
                    self.take(place, &buffer[..count], now_ns, false)
                        .map(|()| more)
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(true),
                Err(error) => Err(error.into()),
            };
            self.buffer = buffer;
            match outcome {
                Ok(true) => {}
                Ok(false) => return,
                Err(error) => return self.end(place, &error),
            }
        }
    }

    /// Notes every whole message, and sends what the bytes want answered.
    fn take(
        &mut self,
        place: u32,
        bytes: &[u8],
        at_ns: u64,
        plain: bool,
    ) -> Result<(), ConnectionError> {
        let Some(subscriber) = &mut self.subscribers[place as usize] else {
            return Ok(());
        };
        let mut arrived = false;
        let journal = &mut self.journal;
        let mut note = |opcode: Opcode, payload: &[u8]| {
            let (bytes, crc32) = identity(payload);
            let kind = if opcode == Opcode::Text {
                ReceiptKind::Text
            } else {
                ReceiptKind::Binary
            };
            journal.push(Receipt {
                at_ns,
                subscriber: place,
                bytes,
                crc32,
                kind,
            });
            arrived = true;
        };
        let outcome = if plain {
            subscriber.take_plain(bytes, &mut note)
        } else {
            subscriber.take(bytes, &mut note)
        };
        if arrived {
            self.first_message_ns.get_or_insert(at_ns);
            self.last_message_ns = at_ns;
        }
        outcome.and_then(|()| subscriber.flush())
    }

    fn end(&mut self, place: u32, error: &ConnectionError) {
        self.journal
            .note(self.clock.now_ns(), place, ReceiptKind::Ended);
        self.leave(place);
        if !self.ending {
            self.count_error(error.kind(), &error.to_string());
            if self.arguments.reconnect || self.storm.is_some() {
                self.retries
                    .push_back((self.clock.now_ns() + RETRY_NS, place));
            }
        }
    }

    fn leave(&mut self, place: u32) {
        if let Some(subscriber) = self.subscribers[place as usize].take() {
            self.transport.remove(place, subscriber.socket());
        }
    }

    fn retry(&mut self, now_ns: u64) {
        while let Some(&(at_ns, place)) = self.retries.front() {
            if at_ns > now_ns {
                return;
            }
            self.retries.pop_front();
            self.start(place);
        }
    }

    fn start(&mut self, place: u32) {
        if let Err(error) = self.opener.start(place, self.clock.now_ns()) {
            self.fail_to_open(place, &error.to_string());
        }
    }

    fn fail_to_open(&mut self, place: u32, text: &str) {
        self.count_error("connect", text);
        if let Some(storm) = &mut self.storm {
            storm.refused += 1;
        }
        if !self.ending {
            self.retries
                .push_back((self.clock.now_ns() + RETRY_NS, place));
        }
    }

    fn count_error(&mut self, kind: &str, text: &str) {
        match self.errors.iter_mut().find(|error| error.kind == kind) {
            Some(error) => error.count += 1,
            None => self.errors.push(ErrorCount {
                kind: kind.to_owned(),
                count: 1,
                first: text.to_owned(),
            }),
        }
    }

    fn cause_trouble(&mut self, now_ns: u64) {
        let Some(first_ns) = self.first_message_ns else {
            return;
        };
        if !self.slow_begun && now_ns >= first_ns + self.arguments.slow_after {
            self.slow_begun = true;
            for place in 0..self.arguments.slow {
                self.stop(place, now_ns);
            }
        }
        let due = |after: u64| now_ns >= first_ns + after;
        if self.storm.is_none() && self.arguments.storm_after.is_some_and(due) {
            self.storm_begins();
        }
    }

    fn stop(&mut self, place: u32, now_ns: u64) {
        if let Some(subscriber) = &mut self.subscribers[place as usize] {
            subscriber.reads = false;
            // A refusal only means that the kernel holds more of what it does not read.
            let _ = system::set_option(
                subscriber.socket(),
                libc::SOL_SOCKET,
                libc::SO_RCVBUF,
                SLOW_BUFFER_BYTES,
            );
            self.journal.note(now_ns, place, ReceiptKind::Stopped);
        }
    }

    /// Its readiness was told while it did not look.
    fn resume(&mut self, place: u32) {
        let Some(subscriber) = &mut self.subscribers[place as usize] else {
            return;
        };
        if !subscriber.reads {
            subscriber.reads = true;
            self.journal
                .note(self.clock.now_ns(), place, ReceiptKind::Resumed);
            self.read(place, true);
        }
    }

    /// Without a word, as when a network was away.
    fn storm_begins(&mut self) {
        let began_ns = self.clock.now_ns();
        self.storm = Some(Storm::new(began_ns, self.arguments.subscribers.get()));
        for place in 0..self.subscribers.len() as u32 {
            if self.subscribers[place as usize].is_some() {
                self.journal.note(began_ns, place, ReceiptKind::Left);
                self.leave(place);
                self.retries.push_back((0, place));
            }
        }
        // Those whose handshake is under way go on with it; all others begin in this moment.
        for (_, place) in std::mem::take(&mut self.retries) {
            self.start(place);
        }
    }
}
