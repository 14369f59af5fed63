//! What is due, and doing it: events and timers in the order of the market's time, each when its time has come.

use super::clock::monotonic_ns;
use super::config::Pacing;
use super::market_thread::MarketThread;
use super::sender::Moment;
use feedbench_exchange::hub::ConnectionId;
use feedbench_exchange::market::Order;

/// Work goes on for so long before sockets are looked at: a pong or a request waits no longer than this, and the look
/// (about 0.3 µs) costs less than a hundredth.
const LOOK_EVERY_NS: u64 = 50_000;
/// With less time than this to go, a look at the sockets could make the next message late.
const SPIN_ONLY_NS: u64 = 5_000;
/// What is due next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Due {
    Door(usize),
    Event,
    End,
}

impl MarketThread {
    /// Does what is due; returns how long the thread may sleep then.
    pub(super) fn work(&mut self) -> u64 {
        if self.opened_ns.is_none() {
            if self.subscribers() < self.wait_for_subscribers {
                return u64::MAX;
            }
            self.open();
        }
        let began_ns = monotonic_ns();
        loop {
            let (due_ns, due) = self.next_due();
            let now_ns = monotonic_ns();
            if self.pacing == Pacing::Unpaced {
                if due_ns == u64::MAX || self.is_held_up(now_ns) {
                    self.send_held();
                    return u64::MAX;
                }
            } else {
                let to_go_ns = self
                    .opened_ns
                    .unwrap_or(0)
                    .saturating_add(due_ns)
                    .saturating_sub(now_ns);
                if to_go_ns > 0 {
                    self.send_held();
                }
                if to_go_ns > SPIN_ONLY_NS {
                    return match self.pacing {
                        Pacing::Hybrid { spin_lead_ns } => to_go_ns.saturating_sub(spin_lead_ns),
                        _ => 0,
                    };
                }
                if to_go_ns > 0 {
                    // Nothing is heard of clients until then, so the event can be made while it is waited for.
                    if due == Due::Event && self.prepared_ns.is_none() {
                        self.make_event();
                    }
                    std::hint::spin_loop();
                    continue;
                }
            }
            self.carry_out(due_ns, due, now_ns);
            if self.stopping || now_ns - began_ns > LOOK_EVERY_NS {
                self.send_held();
                return 0;
            }
        }
    }

    /// What is due next, by the time of the market. Timers come before events, since an event is for those who come
    /// after it; of two doors the first.
    fn next_due(&self) -> (u64, Due) {
        if let Some(prepared_ns) = self.prepared_ns {
            return (prepared_ns, Due::Event);
        }
        let mut next = (self.market.next_ns(), Due::Event);
        for (index, door) in self.doors.iter().enumerate().rev() {
            let due_ns = door.due_ns();
            if due_ns <= next.0 {
                next = (due_ns, Due::Door(index));
            }
        }
        match self.limit.duration_ns {
            Some(end_ns) if end_ns < next.0 => (end_ns, Due::End),
            _ => next,
        }
    }

    fn carry_out(&mut self, due_ns: u64, due: Due, drawn_ns: u64) {
        self.done_ns = self.done_ns.max(due_ns);
        match due {
            Due::End => self.stopping = true,
            Due::Event => {
                if self.prepared_ns.take().is_none() {
                    self.make_event();
                    self.prepared_ns = None;
                }
                self.events += 1;
                for index in 0..self.doors.len() {
                    self.deliver(index, drawn_ns);
                }
            }
            Due::Door(index) => {
                let mut replies = std::mem::take(&mut self.replies);
                self.doors[index].on_time(&self.market, self.done_ns, &mut replies);
                if self.market_config.is_none() {
                    self.events += self.doors[index].frames().list().len() as u64;
                }
                self.deliver(index, drawn_ns);
                for (connection, reply) in replies.drain(..) {
                    self.upkeep_reply(index, connection, reply);
                }
                self.replies = replies;
                // Replays that have come to their end.
                self.stopping |= self.doors.iter().all(|door| door.is_over());
            }
        }
        self.stopping |= self
            .limit
            .events
            .is_some_and(|events| self.events >= events);
    }

    /// Applies the next event to the market and encodes it. It must be the next thing to be carried out: timers before
    /// it would find a market that is ahead of them.
    fn make_event(&mut self) {
        let event = self.market.next().expect("one is due");
        for door in &mut self.doors {
            door.on_event(&self.market, &event);
        }
        self.prepared_ns = Some(event.published_ns);
    }

    /// Does what a client asks of the market: it is told first, then everybody else. Takes place before anything that
    /// is due later, and tells of it at once.
    pub(super) fn trade(&mut self, index: usize, client: Option<ConnectionId>, order: &Order) {
        let drawn_ns = monotonic_ns();
        let is_open = self.opened_ns.is_some() && self.market_config.is_some();
        let execution = is_open.then(|| {
            self.done_ns = self.now_ns().min(self.next_due().0).max(self.done_ns);
            self.market.submit(order, self.done_ns)
        });
        if let Some(client) = client {
            let now_ns = self.done_ns;
            self.doors[index].on_execution(&self.market, client, execution.as_ref(), now_ns);
            self.deliver_to(index, drawn_ns, None);
        }
        for event in execution.iter().flat_map(|execution| &execution.events) {
            self.events += 1;
            for door in &mut self.doors {
                door.on_event(&self.market, event);
            }
            for index in 0..self.doors.len() {
                self.deliver(index, drawn_ns);
            }
        }
        self.send_held();
    }

    /// Withdraws the orders of clients that are gone.
    pub(super) fn withdraw(&mut self) {
        for order in std::mem::take(&mut self.withdrawals) {
            self.trade(0, None, &order);
        }
    }

    fn deliver(&mut self, index: usize, drawn_ns: u64) {
        if self.doors[index].frames().list().is_empty() {
            return;
        }
        let only = match self.turn() {
            Some((door, connection)) if usize::from(door) == index => Some(connection),
            Some(_) => return,
            None => None,
        };
        self.deliver_to(index, drawn_ns, only);
    }

    /// Sends what a door made last to everybody who is owed it, or to one of them.
    fn deliver_to(&mut self, index: usize, drawn_ns: u64, only: Option<ConnectionId>) {
        let opened_ns = self.opened_ns.filter(|_| self.pacing != Pacing::Unpaced);
        let more = self.more_is_due(opened_ns, drawn_ns);
        let several = self.doors[index].frames().list().len() > 1;
        let moment = Moment {
            now_ns: self.done_ns,
            scheduled_ns: opened_ns.map_or(drawn_ns, |opened_ns| opened_ns + self.done_ns),
            drawn_ns,
            opened_ns,
            clock: *self.market.clock(),
            hold: self.holds_back() && (more || several),
            more: self.holds_back() && more,
            only,
        };
        self.sender.deliver(
            index,
            &mut *self.doors[index],
            &mut self.connections,
            &mut self.writing,
            moment,
            &mut self.door_totals[index],
        );
        self.part_with_failed();
    }

    /// Whether the next message was due at `now_ns` already.
    fn more_is_due(&self, opened_ns: Option<u64>, now_ns: u64) -> bool {
        let (due_ns, due) = self.next_due();
        let is_due = match opened_ns {
            Some(opened_ns) => opened_ns.saturating_add(due_ns) <= now_ns,
            None => due_ns < u64::MAX,
        };
        is_due && due != Due::End
    }

    /// Whether messages that are due together leave together; those that may be spoiled each go their own way.
    fn holds_back(&self) -> bool {
        self.coalesce && !self.lobby.spoils_messages()
    }

    /// Nothing more is due: what was held back waits for nothing.
    pub(super) fn send_held(&mut self) {
        let paced = self.pacing != Pacing::Unpaced;
        self.sender.flush(&mut self.connections, paced);
        self.part_with_failed();
    }
}
