//! What the loop does rarely: overdue answers, broken connections, the end.

use std::sync::atomic::Ordering;

use feedbench_pace::Pacer;

use super::{Session, Workspace, LOOKS_PER_TIMEOUT, TICK_NS};
use crate::clock::Clock;
use crate::connection::{Connection, ConnectionError};
use crate::recorder::Window;
use crate::transport::{Transport, Wait};

impl<T: Transport> Session<T> {
    /// Gives up answers that are overdue, opens connections again, reports progress.
    pub(super) fn look_around(
        &mut self,
        now_ns: u64,
        window: &Window,
        clock: &impl Clock,
        work: &mut Workspace<'_>,
    ) {
        if now_ns >= self.next_look_ns {
            self.next_look_ns = now_ns + self.timeout_ns / LOOKS_PER_TIMEOUT;
            self.give_up_overdue(now_ns, window, clock);
        }
        self.beat(now_ns, clock);
        self.reopen(clock, work);
        work.answered
            .store(self.recorder.counts.received_total, Ordering::Relaxed);
    }

    /// Lets the connections stand until `until_ns`: pings are sent and answered, whoever leaves is noticed, and nothing
    /// else happens.
    pub fn hold(&mut self, until_ns: u64, clock: &impl Clock, work: &mut Workspace<'_>) {
        let window = Window {
            start_ns: until_ns,
            drop_until_ns: until_ns,
            measure_from_ns: until_ns,
            end_ns: until_ns,
            slice: 0,
        };
        loop {
            let now_ns = clock.now_ns();
            if now_ns >= until_ns || self.open == 0 || work.interrupt.load(Ordering::Relaxed) {
                return;
            }
            self.transport.set_alarm(until_ns.min(now_ns + TICK_NS));
            self.serve_ready(Wait::Sleep, &window, clock, work);
            self.look_around(clock.now_ns(), &window, clock, work);
        }
    }

    /// Sends the pings that are due.
    fn beat(&mut self, now_ns: u64, clock: &impl Clock) {
        let Some(heartbeat) = &mut self.heartbeat else {
            return;
        };
        for index in heartbeat.due(now_ns, self.connections.len()) {
            let Some(connection) = &mut self.connections[index] else {
                continue;
            };
            match connection.ping() {
                Ok(()) => {
                    self.recorder.pings += 1;
                    self.flush(index, clock);
                }
                Err(error) => self.drop_connection(index, &error, clock),
            }
        }
    }

    /// Counts answers as lost that are overdue; a closed loop goes on with the next message.
    fn give_up_overdue(&mut self, now_ns: u64, window: &Window, clock: &impl Clock) {
        let overdue_ns = now_ns.saturating_sub(self.timeout_ns);
        for index in 0..self.connections.len() {
            let Some(connection) = &mut self.connections[index] else {
                continue;
            };
            let mut given_up = 0;
            while let Some(sent) = connection.check.give_up(&self.stencil.payload, overdue_ns) {
                self.recorder.lost(sent);
                given_up += 1;
            }
            if given_up > 0 {
                self.recorder
                    .error("timeout", "an answer did not come within the time-out");
                if self.pacer.waits_for_answers() && now_ns < window.end_ns {
                    connection.release(given_up);
                    self.flush(index, clock);
                }
            }
        }
    }

    /// Takes over connections that were opened again, and tries once more where that failed.
    fn reopen(&mut self, clock: &impl Clock, work: &mut Workspace<'_>) {
        let Some(opener) = &mut self.reopener else {
            return;
        };
        if opener.under_way() == 0 {
            return;
        }
        if let Err(error) = opener.poll(clock, Wait::Poll, &mut work.reopened) {
            self.recorder.error("reconnect", &error.to_string());
        }
        for (token, outcome) in work.reopened.drain(..) {
            match outcome {
                Ok(opened) => match self.adopt(token, opened, clock.now_ns()) {
                    Ok(()) => {
                        self.reconnects += 1;
                        if let (Pacer::Closed { in_flight }, Some(connection)) =
                            (self.pacer, &mut self.connections[token as usize])
                        {
                            connection.release(in_flight.get() as usize);
                            self.flush(token as usize, clock);
                        }
                    }
                    Err(error) => self.recorder.error("reconnect", &error.to_string()),
                },
                Err(error) => {
                    self.recorder.error("reconnect", &error.to_string());
                    self.start_reopening(token, clock);
                }
            }
        }
    }

    fn start_reopening(&mut self, token: u32, clock: &impl Clock) {
        if let Some(opener) = &mut self.reopener {
            if let Err(error) = opener.start(token, clock.now_ns()) {
                self.recorder.error("reconnect", &error.to_string());
                if self.open == 0 && opener.under_way() == 0 {
                    self.failure = Some(error.to_string());
                }
            }
        }
    }

    /// A connection ended: its messages are lost, and it is opened again if that is wanted.
    #[cold]
    pub(super) fn drop_connection(
        &mut self,
        index: usize,
        error: &ConnectionError,
        clock: &impl Clock,
    ) {
        let Some(mut connection) = self.connections[index].take() else {
            return;
        };
        self.transport.remove(index as u32, connection.socket());
        self.open -= 1;
        self.recorder.error(error.kind(), &error.to_string());
        self.give_up_on(&mut connection);
        if self.reopener.is_some() {
            self.start_reopening(index as u32, clock);
        } else if self.open == 0 {
            let count = self.connections.len();
            let all = if count == 1 {
                String::new()
            } else {
                format!(" (all {count} connections are gone)")
            };
            self.failure = Some(format!("{error}{all}"));
        }
    }

    fn give_up_on(&mut self, connection: &mut Connection) {
        while let Some(sent) = connection.check.give_up(&self.stencil.payload, u64::MAX) {
            self.recorder.lost(sent);
        }
        connection.hold_back();
        self.recorder.counts.unsent += connection.drop_due() as u64;
    }

    /// After the drain: what is still missing is lost.
    pub(super) fn give_up_rest(&mut self) {
        if self.recorder.waiting > 0 {
            self.recorder
                .error("timeout", "an answer did not come within the time-out");
        }
        let mut connections = std::mem::take(&mut self.connections);
        connections
            .iter_mut()
            .flatten()
            .for_each(|connection| self.give_up_on(connection));
        self.connections = connections;
        self.recorder.compact();
    }

    /// Says goodbye on all connections.
    pub fn close(&mut self) {
        for mut connection in self.connections.drain(..).flatten() {
            connection.close(&mut self.transport);
        }
        self.open = 0;
    }
}
