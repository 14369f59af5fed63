//! Clients going: with a close frame, without a word, or because they cannot be kept.

use super::clock::monotonic_ns;
use super::connection::{Connection, Outcome, Phase};
use super::connections::Place;
use super::market_thread::MarketThread;
use super::sender::Failure;
use feedbench_exchange::inbound::Violation;
use feedbench_exchange::personality::Reply;
use feedbench_wire::frame::Opcode;

impl MarketThread {
    /// Sends a close frame and waits for the client's.
    pub(super) fn close(&mut self, place: Place, code: u16, reason: &str) {
        if self.phase(place) != Some(Phase::Open) {
            return;
        }
        let mut payload = code.to_be_bytes().to_vec();
        payload.extend_from_slice(reason.as_bytes());
        self.send(place, Opcode::Close, &payload);
        self.leave_hub(place);
        self.linger(place, Phase::AwaitingClose);
    }

    /// The client has sent a close frame: answers it, unless it was the answer.
    pub(super) fn return_close(&mut self, place: Place) {
        if matches!(self.phase(place), Some(Phase::Flushing | Phase::Shut)) {
            return;
        }
        self.send(place, Opcode::Close, &1000_u16.to_be_bytes());
        self.leave_hub(place);
        self.linger(place, Phase::Flushing);
    }

    /// Ends a connection without a frame that says so, once what waits is sent.
    pub(super) fn end(&mut self, place: Place) {
        if self.phase(place) == Some(Phase::Open) {
            self.leave_hub(place);
            self.linger(place, Phase::Flushing);
        }
    }

    fn phase(&mut self, place: Place) -> Option<Phase> {
        self.connections
            .get(place)
            .map(|connection| connection.phase)
    }

    pub(super) fn linger(&mut self, place: Place, phase: Phase) {
        let now_ns = self.now_ns();
        let Some(connection) = self.connections.get(place) else {
            return;
        };
        connection.phase = phase;
        if now_ns >= connection.half_open_from_ns {
            self.lobby.silent += 1;
            return;
        }
        let until_ns = monotonic_ns() + self.lobby.linger_ns;
        self.lobby.lingering.push_back((until_ns, place));
        self.shut_if_flushed(place);
    }

    pub(super) fn shut_if_flushed(&mut self, place: Place) {
        if let Some(connection) = self.connections.get(place) {
            let is_last = connection.phase == Phase::Flushing && connection.waiting_bytes() == 0;
            if is_last && connection.socket().is_some() {
                connection.phase = Phase::Shut;
                connection.shut(&mut self.writing);
            }
        }
    }

    /// Lets the hub forget a connection, once.
    fn leave_hub(&mut self, place: Place) {
        let Some(connection) = self.connections.get(place) else {
            return;
        };
        let (door, id) = (connection.door, connection.id);
        if std::mem::replace(&mut connection.in_hub, false) {
            let orders = self.doors[usize::from(door)].close(id);
            // Not now: what a door made may be on its way to others.
            self.withdrawals.extend(orders);
            self.connections.detach_from_hub(door, id);
        }
    }

    /// Ends a connection at once.
    pub(super) fn give_up(&mut self, place: Place) {
        self.leave_hub(place);
        self.connections.remove(place);
    }

    /// Deals with those who failed during the last delivery.
    pub(super) fn part_with_failed(&mut self) {
        while let Some((place, failure)) = self.sender.failed.pop() {
            match failure {
                Failure::TooSlow => self.part_with_slow(place),
                Failure::Broken => self.give_up(place),
                Failure::Cut => {
                    self.leave_hub(place);
                    self.linger(place, Phase::Flushing);
                }
            }
        }
    }

    /// The exchange's parting words for a client that reads too slowly. They wait behind what it has not read; the
    /// connection ends with or without them.
    pub(super) fn part_with_slow(&mut self, place: Place) {
        let Some(connection) = self.connections.get(place).filter(|one| one.in_hub) else {
            return;
        };
        let door = usize::from(connection.door);
        self.door_totals[door].slow_consumers += 1;
        let words = self.doors[door].slow_consumer();
        self.say_last(place, words);
    }

    pub(super) fn part_with_violator(&mut self, place: Place, violation: Violation) {
        let Some(connection) = self.connections.get(place) else {
            return;
        };
        if connection.phase != Phase::Open {
            return;
        }
        let door = usize::from(connection.door);
        self.door_totals[door].violations += 1;
        let words = match violation {
            Violation::TooLarge => self.doors[door].message_too_large(),
            other => vec![Reply::Close {
                code: other.code(),
                reason: "",
            }],
        };
        self.say_last(place, words);
    }

    fn say_last(&mut self, place: Place, words: Vec<Reply>) {
        self.leave_hub(place);
        let mut ends_politely = false;
        for reply in words {
            let (opcode, payload) = match reply {
                Reply::Text(text) => (Opcode::Text, text),
                Reply::Ping(payload) => (Opcode::Ping, payload),
                Reply::Close { code, reason } => {
                    ends_politely = true;
                    let code = code.to_be_bytes();
                    (Opcode::Close, [&code[..], reason.as_bytes()].concat())
                }
                _ => continue,
            };
            let Some(connection) = self.connections.get(place) else {
                return;
            };
            if connection.send_frame(opcode, &payload, &mut self.writing) == Outcome::Broken {
                return self.give_up(place);
            }
        }
        if ends_politely {
            self.linger(place, Phase::Flushing);
        } else {
            self.give_up(place);
        }
    }

    /// Closes what has lingered for too long, and disconnects whom the fault plan says.
    pub(super) fn end_lingerers(&mut self, now_ns: u64) {
        while let Some(&(until_ns, place)) = self.lobby.lingering.front() {
            if until_ns > now_ns {
                break;
            }
            self.lobby.lingering.pop_front();
            self.give_up(place);
        }
        let market_ns = self.now_ns();
        while let Some(&(at_ns, place)) = self.lobby.condemned.front() {
            if at_ns > market_ns {
                break;
            }
            self.lobby.condemned.pop_front();
            self.give_up(place);
        }
    }

    /// Says goodbye to everybody.
    pub(super) fn say_goodbye(&mut self) {
        let is_open = |connection: &Connection| connection.phase == Phase::Open;
        let all = self.connections.places();
        let open: Vec<Place> = all
            .filter(|(_, connection)| is_open(connection))
            .map(|(place, _)| place)
            .collect();
        for place in open {
            let Some(connection) = self.connections.get(place).filter(|one| one.in_hub) else {
                continue;
            };
            let (door, id) = (usize::from(connection.door), connection.id);
            let (mut replies, now_ns) = (Vec::new(), self.now_ns());
            self.doors[door].goodbye(&self.market, id, now_ns, &mut replies);
            for reply in replies {
                self.reply(place, reply);
            }
        }
    }
}
