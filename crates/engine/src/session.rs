//! The loop: one target, one window, any pacer, any transport, any clock.

mod drain;
mod heartbeat;
#[cfg(test)]
mod tests;
mod upkeep;

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use feedbench_pace::{Pacer, Schedule};
use feedbench_wire::mask::MaskKey;

pub use drain::Patience;
pub use heartbeat::Heartbeat;

use crate::clock::Clock;
use crate::connection::{Connection, ConnectionError};
use crate::opening::{OpenError, Opened, Opener};
use crate::payload::Payload;
use crate::recorder::{Recorder, Window};
use crate::stencil::{Fragmenting, Stencil};
use crate::system;
use crate::transport::{Ready, Transport, Wait};
use drain::Drain;

/// Bytes received at once, for all connections of a thread: it stays in the cache.
const RECEIVE_BYTES: usize = 256 << 10;
/// How often the loop reports progress and looks whether it is time for something rare.
const TICK_NS: u64 = 10_000_000;
/// Overdue answers are looked for this often per time-out: a look touches every connection's memory.
const LOOKS_PER_TIMEOUT: u64 = 16;
/// The same while a connection is being opened again.
const REOPEN_TICK_NS: u64 = 1_000_000;
/// Ready sockets that are all received from before any is sent to. The kernel's code for receiving stays in the
/// CPU's cache meanwhile, and an answer's time of receipt does not contain the sending of others' next messages.
const SERVED_TOGETHER: usize = 16;
/// A spinning loop that does not come round for this long was not on its CPU.
const STALL_NS: u64 = 1_000_000;

/// What the loop borrows from its thread.
pub struct Workspace<'a> {
    receive: Box<[u8]>,
    ready: Vec<Ready>,
    reopened: Vec<(u32, Result<Opened, OpenError>)>,
    /// Set by ^C and SIGTERM.
    pub interrupt: &'a AtomicBool,
    /// Answers so far, for whoever shows progress.
    pub answered: &'a AtomicU64,
}

impl<'a> Workspace<'a> {
    /// Buffers for one thread.
    pub fn new(interrupt: &'a AtomicBool, answered: &'a AtomicU64) -> Self {
        Self {
            receive: vec![0; RECEIVE_BYTES].into_boxed_slice(),
            ready: Vec::with_capacity(1024),
            reopened: Vec::new(),
            interrupt,
            answered,
        }
    }
}

/// A target as one thread sees it: its connections, its schedule, its records.
pub struct Session<T> {
    transport: T,
    connections: Vec<Option<Connection>>,
    open: usize,
    /// Connections that got something due and were not flushed yet.
    touched: Vec<usize>,
    stencil: Stencil,
    pacer: Pacer,
    schedule: Schedule,
    /// The next intended time, in loaded time.
    next_due: Option<u64>,
    /// Whose turn it is when all connections share a schedule.
    turn: usize,
    /// Loaded time before the current window: the schedule goes on where it stopped.
    active_ns: u64,
    timeout_ns: u64,
    /// When the waiting for answers after a window ends.
    patience: Patience,
    heartbeat: Option<Heartbeat>,
    /// When overdue answers are looked for next.
    next_look_ns: u64,
    /// Opens broken connections again, if that is wanted.
    reopener: Option<Opener>,
    /// Connections that were opened again.
    pub reconnects: u64,
    /// Times that the loop was not on its CPU for more than 1 ms.
    pub stalls: u64,
    /// Why the target cannot be loaded any more.
    pub failure: Option<String>,
    /// Everything counted and timed.
    pub recorder: Recorder,
    answers_after_end: u64,
    drain_ns: u64,
}

/// What a session is made of, besides its connections.
pub struct SessionParts<T> {
    /// Moves the bytes.
    pub transport: T,
    /// What to send.
    pub payload: Payload,
    /// When to send.
    pub pacer: Pacer,
    /// How long to wait for an answer.
    pub timeout_ns: u64,
    /// Present if broken connections are opened again.
    pub reopener: Option<Opener>,
    /// Where everything is counted.
    pub recorder: Recorder,
    /// Masks the frames.
    pub key: MaskKey,
    /// Cuts the messages.
    pub fragmenting: Fragmenting,
}

impl<T: Transport> Session<T> {
    /// A session without connections.
    pub fn new(parts: SessionParts<T>) -> Self {
        let mut schedule = parts.pacer.schedule();
        let next_due = if parts.pacer.waits_for_answers() {
            None
        } else {
            schedule.next_ns()
        };
        Self {
            transport: parts.transport,
            connections: Vec::new(),
            open: 0,
            touched: Vec::new(),
            stencil: Stencil::in_fragments(parts.payload, parts.key, parts.fragmenting),
            pacer: parts.pacer,
            schedule,
            next_due,
            turn: 0,
            active_ns: 0,
            timeout_ns: parts.timeout_ns,
            patience: Patience::Fixed {
                timeout_ns: parts.timeout_ns,
            },
            heartbeat: None,
            next_look_ns: 0,
            reopener: parts.reopener,
            reconnects: 0,
            stalls: 0,
            failure: None,
            recorder: parts.recorder,
            answers_after_end: 0,
            drain_ns: 0,
        }
    }

    /// Takes over an open connection.
    pub fn adopt(
        &mut self,
        token: u32,
        opened: Opened,
        now_ns: u64,
    ) -> Result<(), ConnectionError> {
        let (mut connection, leftover) = Connection::new(token, opened, &self.stencil.payload);
        self.transport.add(token, connection.socket())?;
        let index = token as usize;
        if self.connections.len() <= index {
            self.connections.resize_with(index + 1, || None);
        }
        connection.take_plain(&self.stencil.payload, &leftover, now_ns, &mut self.recorder)?;
        self.connections[index] = Some(connection);
        self.open += 1;
        Ok(())
    }

    /// Waits for missing answers by this rule instead of the time-out.
    pub fn set_patience(&mut self, patience: Patience) {
        self.patience = patience;
    }

    /// Pings every connection at this interval from now on.
    pub fn set_heartbeat(&mut self, heartbeat: Heartbeat) {
        self.heartbeat = Some(heartbeat);
    }

    /// Connections that stand.
    pub fn open(&self) -> usize {
        self.open
    }

    /// Numbers below `count` that no open connection has.
    pub fn vacant(&self, count: usize) -> Vec<u32> {
        let vacant = |index: &usize| self.connections.get(*index).is_none_or(Option::is_none);
        (0..count)
            .filter(vacant)
            .map(|index| index as u32)
            .collect()
    }

    /// The engine's own memory for its connections, without what the kernel keeps for their sockets.
    pub fn connection_bytes(&self) -> usize {
        let beyond = self
            .connections
            .iter()
            .flatten()
            .map(Connection::heap_bytes);
        self.connections.capacity() * size_of::<Option<Connection>>() + beyond.sum::<usize>()
    }

    /// Gives back what only the last window needed.
    pub fn shrink(&mut self) {
        self.connections
            .iter_mut()
            .flatten()
            .for_each(Connection::shrink);
        self.recorder.latency.clear();
        self.recorder.latency_from_send.clear();
        self.recorder.lateness.clear();
    }

    /// Answers that came after the end of their windows, and the time that it took to wait for them.
    pub fn drained(&self) -> (u64, u64) {
        (self.answers_after_end, self.drain_ns)
    }

    /// Loads the target for one window, then waits for the answers that are missing. Returns the measured time,
    /// which is shorter than planned after an interrupt or a failure.
    ///
    /// Open loops never sleep: they look at the sockets and the schedule in turn. A message whose time has passed
    /// leaves at once and keeps its intended time, so that nobody's delay is left out.
    pub fn run(&mut self, mut window: Window, clock: &impl Clock, work: &mut Workspace<'_>) -> u64 {
        let spins = self.spins();
        let wait = if spins { Wait::Poll } else { Wait::Sleep };
        self.recorder.begin(window, self.active_ns);
        let mut now_ns = clock.now_ns();
        let mut tick_ns = self.set_tick(now_ns, &window);
        let mut drain = None;
        let sent_before = self.recorder.counts.sent_total;
        self.release_all(clock);
        loop {
            let stopped = work.interrupt.load(Ordering::Relaxed) || self.failure.is_some();
            if stopped && now_ns < window.end_ns {
                window.end_ns = now_ns.max(window.start_ns);
                self.recorder.begin(window, self.active_ns);
            }
            self.send_due(now_ns, &window, clock);
            if now_ns >= window.end_ns {
                let (sent, received) = (
                    self.recorder.counts.sent_total,
                    self.recorder.counts.received_total,
                );
                let drain = drain.get_or_insert_with(|| Drain::new(now_ns, received));
                let progress = (sent - sent_before, self.recorder.waiting as u64);
                let over = drain.is_over(self.patience, now_ns, received, progress);
                let answered = self.recorder.waiting == 0 && !self.holds_unsent();
                if answered || self.open == 0 || over || self.may_not_wait(stopped) {
                    break;
                }
            }
            let before_ns = now_ns;
            now_ns = match self.serve_ready(wait, &window, clock, work) {
                Some(last_ns) => last_ns,
                None => clock.now_ns(),
            };
            self.stalls += u64::from(spins && now_ns > before_ns + STALL_NS);
            if now_ns >= tick_ns {
                self.look_around(now_ns, &window, clock, work);
                tick_ns = self.set_tick(now_ns, &window);
            }
        }
        if let Some(drain) = drain {
            self.answers_after_end += self.recorder.counts.received_total - drain.received_before;
            self.drain_ns += now_ns - drain.began_ns;
        }
        self.give_up_rest();
        self.active_ns += window.end_ns - window.start_ns;
        work.answered
            .store(self.recorder.counts.received_total, Ordering::Relaxed);
        window.measured_ns()
    }

    /// True if an interrupt ends the waiting too, because it may be long.
    fn may_not_wait(&self, stopped: bool) -> bool {
        stopped && !matches!(self.patience, Patience::Fixed { .. })
    }

    /// True if the loop never sleeps.
    pub fn spins(&self) -> bool {
        !self.pacer.waits_for_answers() || self.transport.never_sleeps()
    }

    /// In a closed loop every connection may send up to its depth.
    fn release_all(&mut self, clock: &impl Clock) {
        let Pacer::Closed { in_flight } = self.pacer else {
            return;
        };
        for index in 0..self.connections.len() {
            if let Some(connection) = &mut self.connections[index] {
                connection
                    .release((in_flight.get() as usize).saturating_sub(connection.check.waiting()));
                self.flush(index, clock);
            }
        }
    }

    /// Sends what the schedule wants to have left by now. Nothing to do in a closed loop.
    #[inline]
    fn send_due(&mut self, now_ns: u64, window: &Window, clock: &impl Clock) {
        let Some(mut due_ns) = self.next_due else {
            return;
        };
        let until_ns = (now_ns + 1).min(window.end_ns);
        loop {
            let intended_ns = window.start_ns + due_ns.saturating_sub(self.active_ns);
            if intended_ns >= until_ns {
                break;
            }
            match self.pacer {
                Pacer::Burst { .. } => {
                    (0..self.connections.len()).for_each(|index| self.push_due(index, intended_ns))
                }
                _ => {
                    let index = self.next_turn();
                    self.push_due(index, intended_ns);
                }
            }
            let Some(next_ns) = self.schedule.next_ns() else {
                break;
            };
            due_ns = next_ns;
            self.next_due = Some(next_ns);
        }
        while let Some(index) = self.touched.pop() {
            self.flush(index, clock);
        }
    }

    /// The next open connection; any if none is open.
    fn next_turn(&mut self) -> usize {
        for _ in 0..self.connections.len() {
            self.turn = (self.turn + 1) % self.connections.len();
            if self.connections[self.turn].is_some() {
                break;
            }
        }
        self.turn
    }

    fn push_due(&mut self, index: usize, intended_ns: u64) {
        self.recorder.scheduled(intended_ns);
        match &mut self.connections[index] {
            Some(connection) => {
                if connection.unsent() == 0 {
                    self.touched.push(index);
                }
                connection.push_due(intended_ns);
            }
            None => self.recorder.counts.unsent += 1,
        }
    }

    /// Waits for sockets and serves those that are ready; the time of the last receipt, if there was one.
    #[inline]
    fn serve_ready(
        &mut self,
        wait: Wait,
        window: &Window,
        clock: &impl Clock,
        work: &mut Workspace<'_>,
    ) -> Option<u64> {
        work.ready.clear();
        if let Err(error) = self.transport.ready(wait, &mut work.ready) {
            self.failure = Some(format!("the transport failed: {error}"));
        }
        let mut last_ns = None;
        for group in work.ready.chunks(SERVED_TOGETHER) {
            for (position, ready) in group.iter().enumerate() {
                // While the kernel works on this socket, the memory of the next ones comes nearer.
                if let Some(after_next) = group.get(position + 2) {
                    system::prefetch(&self.connections[after_next.token as usize]);
                }
                if let Some(next) = group.get(position + 1) {
                    if let Some(connection) = &self.connections[next.token as usize] {
                        connection.check.prefetch();
                    }
                }
                if ready.readable {
                    last_ns = self
                        .receive(*ready, window, clock, &mut work.receive)
                        .or(last_ns);
                }
            }
            for ready in group {
                self.flush(ready.token as usize, clock);
            }
        }
        last_ns
    }

    /// Receives all that one socket holds and judges it; in a closed loop answers release messages, which the caller
    /// sends. One `recv` and one `send` per round trip, however many messages travel in it.
    #[inline]
    fn receive(
        &mut self,
        ready: Ready,
        window: &Window,
        clock: &impl Clock,
        buffer: &mut [u8],
    ) -> Option<u64> {
        let index = ready.token as usize;
        let closed_loop = self.next_due.is_none();
        let mut last_ns = None;
        loop {
            let connection = self.connections[index].as_mut()?;
            let count = match self
                .transport
                .receive(index as u32, connection.socket(), buffer)
            {
                Ok(0) => {
                    self.drop_connection(index, &ConnectionError::Ended, clock);
                    return last_ns;
                }
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return last_ns,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    self.drop_connection(index, &error.into(), clock);
                    return last_ns;
                }
            };
            let received_ns = clock.now_ns();
            last_ns = Some(received_ns);
            match connection.take(
                &self.stencil.payload,
                &buffer[..count],
                received_ns,
                &mut self.recorder,
            ) {
                Ok(answered) if closed_loop && received_ns < window.end_ns => {
                    connection.release(answered)
                }
                Ok(_) => {}
                Err(error) => {
                    self.drop_connection(index, &error, clock);
                    return last_ns;
                }
            }
            if count < buffer.len() && !ready.ended {
                return last_ns;
            }
        }
    }

    #[inline]
    fn flush(&mut self, index: usize, clock: &impl Clock) {
        let Some(connection) = &mut self.connections[index] else {
            return;
        };
        if let Err(error) = connection.flush(
            &mut self.stencil,
            &mut self.transport,
            clock,
            &mut self.recorder,
        ) {
            self.drop_connection(index, &error, clock);
        }
    }

    fn holds_unsent(&self) -> bool {
        self.connections
            .iter()
            .flatten()
            .any(|connection| connection.unsent() > 0)
    }

    /// Rings the transport's alarm in time for the next look around and for the end of the window.
    fn set_tick(&mut self, now_ns: u64, window: &Window) -> u64 {
        let reopening = self
            .reopener
            .as_ref()
            .is_some_and(|opener| opener.under_way() > 0);
        let tick_ns = now_ns + if reopening { REOPEN_TICK_NS } else { TICK_NS };
        let tick_ns = if now_ns < window.end_ns {
            tick_ns.min(window.end_ns)
        } else {
            tick_ns
        };
        self.transport.set_alarm(tick_ns);
        tick_ns
    }
}
