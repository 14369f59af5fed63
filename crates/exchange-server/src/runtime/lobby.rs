//! Clients coming and speaking.

use super::connection::{Buffers, Connection, Outcome, Phase};
use super::connections::Place;
use super::faulty::Faulty;
use super::market_thread::MarketThread;
use super::packer::Packing;
use super::poller::Ready;
use super::totals::SendBuffer;
use crate::seam::{DoorId, Established, OwnedRequest, Ticket};
use feedbench_exchange::faults::FaultPlan;
use feedbench_exchange::hub::ConnectionId;
use feedbench_exchange::inbound::{Arrival, Inbound};
use feedbench_exchange::market::Order;
use feedbench_exchange::personality::{Incoming, Reply, Request, Response, Transport};
use feedbench_wire::deflate::Agreement;
use feedbench_wire::frame::Opcode;
use rustix::net::sockopt;
use std::collections::VecDeque;
use std::io;
use std::net::TcpStream;
use tokio::sync::oneshot;

/// What the thread knows of clients apart from their connections.
pub struct Lobby {
    faults: FaultPlan,
    send_buffer_bytes: Option<usize>,
    /// What may wait for a client.
    pub queue_bytes: usize,
    pub(super) linger_ns: u64,
    /// Who is on the way out, and until when at most, by the machine's clock.
    pub(super) lingering: VecDeque<(u64, Place)>,
    /// Who will be disconnected by the fault plan, and when, by the market's time.
    pub(super) condemned: VecDeque<(u64, Place)>,
    /// Half-open connections that the hub has given up; their sockets stay.
    pub silent: usize,
}

impl Lobby {
    pub fn new(
        faults: FaultPlan,
        send_buffer_bytes: Option<usize>,
        queue_bytes: usize,
        linger_ns: u64,
    ) -> Self {
        Self {
            faults,
            send_buffer_bytes,
            queue_bytes,
            linger_ns,
            lingering: VecDeque::new(),
            condemned: VecDeque::new(),
            silent: 0,
        }
    }
}

impl Lobby {
    /// Whether single messages are spoiled, which each connection then gets by itself.
    pub fn spoils_messages(&self) -> bool {
        !self.faults.messages.is_empty()
    }
}

/// What is to be done for a client after it has spoken, in order.
enum Answer {
    Pong(Vec<u8>),
    Reply(Reply),
    Close,
}

impl MarketThread {
    /// A WebSocket request: asks the door.
    pub(super) fn open_connection(
        &mut self,
        door: DoorId,
        request: &OwnedRequest,
        deflate: Option<Agreement>,
        verdict: oneshot::Sender<Result<Ticket, Response>>,
    ) {
        let index = usize::from(door.0);
        let now_ns = self.now_ns();
        let Some(hub) = self.doors.get_mut(index).filter(|_| !self.stopping) else {
            // Whoever asked may be gone.
            let _ = verdict.send(Err(Response::new(503, "the exchange has closed")));
            return;
        };
        let mut replies = Vec::new();
        let market = &self.market;
        let opened = request.with(|request| hub.open(market, request, now_ns, &mut replies));
        let id = match opened {
            Ok(id) => id,
            Err(refusal) => {
                self.door_totals[index].refusals += 1;
                let _ = verdict.send(Err(refusal));
                return;
            }
        };
        self.door_totals[index].connections += 1;
        let place = self.connections.open(door.0, id);
        self.spoil(place, now_ns);
        if let (Some(connection), Some(agreement)) = (self.connections.get(place), deflate) {
            connection.packing = Some(Packing::new(&agreement));
            connection.inbound = Inbound::inflating(agreement);
        }
        for reply in replies {
            self.reply(place, reply);
        }
        let ticket = Ticket {
            door,
            connection: id.0,
            generation: place.generation,
        };
        if verdict.send(Ok(ticket)).is_err() {
            self.abandon(ticket);
        }
    }

    /// A FIX connection.
    pub(super) fn connect(&mut self, door: DoorId, established: Established) {
        let index = usize::from(door.0);
        let now_ns = self.now_ns();
        let Some(hub) = self.doors.get_mut(index).filter(|_| !self.stopping) else {
            return;
        };
        let request = Request::get("/");
        let Ok(id) = hub.open(&self.market, &request, now_ns, &mut Vec::new()) else {
            return;
        };
        self.door_totals[index].connections += 1;
        let place = self.connections.open(door.0, id);
        self.spoil(place, now_ns);
        let ticket = Ticket {
            door,
            connection: id.0,
            generation: place.generation,
        };
        self.attach(ticket, established);
    }

    /// Gives a new connection its part of the fault plan.
    fn spoil(&mut self, place: Place, now_ns: u64) {
        let faults = &self.lobby.faults;
        let Some(connection) = self.connections.get(place) else {
            return;
        };
        let from = |after_ns: Option<u64>| {
            after_ns.map_or(u64::MAX, |after_ns| now_ns.saturating_add(after_ns))
        };
        connection.faulty = Faulty::new(faults, place.generation);
        connection.half_open_from_ns = from(faults.half_open_after_ns);
        connection.mute_from_ns = from(faults.mute_after_ns);
        if faults.disconnect_after_ns.is_some() {
            let at_ns = from(faults.disconnect_after_ns);
            self.lobby.condemned.push_back((at_ns, place));
        }
    }

    /// The socket of an accepted connection.
    pub(super) fn attach(&mut self, ticket: Ticket, established: Established) {
        let Some(place) = self.connections.take_pending(ticket.generation) else {
            return;
        };
        if self.prepare(&established.socket, place).is_err() {
            return self.give_up(place);
        }
        let Some(connection) = self.connections.get(place) else {
            return;
        };
        let Established {
            socket,
            tls,
            mut leftover,
        } = established;
        let outcome = connection.attach(socket, tls, &mut leftover, &mut self.writing);
        match outcome {
            Outcome::Broken => self.give_up(place),
            _ => {
                self.hear(place, &mut leftover);
                self.shut_if_flushed(place);
            }
        }
    }

    fn prepare(&mut self, socket: &TcpStream, place: Place) -> io::Result<()> {
        socket.set_nonblocking(true)?;
        socket.set_nodelay(true)?;
        let asked_bytes = self.lobby.send_buffer_bytes;
        if let Some(asked_bytes) = asked_bytes {
            sockopt::set_socket_send_buffer_size(socket, asked_bytes)?;
        }
        if self.send_buffer.is_none() {
            self.send_buffer = Some(SendBuffer {
                asked_bytes,
                found_bytes: sockopt::socket_send_buffer_size(socket)?,
            });
        }
        self.poller.add(socket, place.token())
    }

    /// The client of an accepted connection went away before its socket came.
    pub(super) fn abandon(&mut self, ticket: Ticket) {
        if let Some(place) = self.connections.take_pending(ticket.generation) {
            self.give_up(place);
        }
    }

    /// A REST request.
    pub(super) fn rest(&mut self, door: DoorId, request: &OwnedRequest) -> Response {
        let index = usize::from(door.0);
        let now_ns = self.now_ns();
        let Some(hub) = self.doors.get_mut(index) else {
            return Response::new(404, "there is no such door");
        };
        self.door_totals[index].rest_requests += 1;
        if let Some(after_s) = self.lobby.faults.refused_for_s(now_ns) {
            return hub.too_many_requests(after_s);
        }
        let market = &self.market;
        request.with(|request| hub.rest(market, request, now_ns))
    }

    /// A socket can be read or written.
    pub(super) fn serve_socket(&mut self, ready: Ready) {
        let place = Place::of_token(ready.token);
        if ready.writable {
            let Some(connection) = self.connections.get(place) else {
                return;
            };
            connection.unblock();
            match connection.flush() {
                Outcome::Broken => return self.give_up(place),
                _ => self.shut_if_flushed(place),
            }
        }
        if ready.readable {
            self.read(place);
        }
    }

    /// Reads until there is nothing more.
    fn read(&mut self, place: Place) {
        let mut reading = std::mem::take(&mut self.reading);
        let now_ns = self.now_ns();
        while let Some(connection) = self.connections.get(place) {
            if now_ns >= connection.half_open_from_ns {
                break;
            }
            match connection.receive(&mut reading) {
                Ok(None) => break,
                Ok(Some(received)) => {
                    let ended = received.ended;
                    self.hear(place, received.bytes);
                    if ended {
                        self.give_up(place);
                    }
                }
                Err(_) => self.give_up(place),
            }
        }
        self.reading = reading;
    }

    /// Takes what a client sent.
    fn hear(&mut self, place: Place, bytes: &mut [u8]) {
        let now_ns = self.now_ns();
        let Some(connection) = self.connections.get(place) else {
            return;
        };
        let (door, id) = (usize::from(connection.door), connection.id);
        let listens = connection.phase == Phase::Open;
        if self.doors[door].transport() == Transport::Fix {
            if listens {
                self.hear_fix(place, (door, id), bytes);
            }
            return;
        }
        let mut inbound = std::mem::take(&mut connection.inbound);
        let (hub, market) = (&mut self.doors[door], &self.market);
        let totals = &mut self.door_totals[door];
        let mut answers = Vec::new();
        let mut replies = Vec::new();
        let result = inbound.feed(bytes, hub.message_limit_bytes(), |arrival| {
            let incoming = match arrival {
                Arrival::Close => return answers.push(Answer::Close),
                // The hub may have given the number to somebody else.
                _ if !listens => return,
                Arrival::Text(text) => Incoming::Text(text),
                Arrival::Binary(bytes) => Incoming::Binary(bytes),
                Arrival::Pong(payload) => Incoming::Pong(payload),
                Arrival::Ping(payload) => {
                    answers.push(Answer::Pong(payload.to_vec()));
                    Incoming::Ping
                }
            };
            totals.messages_received += 1;
            hub.on_message(market, id, incoming, now_ns, &mut replies);
            answers.extend(replies.drain(..).map(Answer::Reply));
        });
        if let Some(connection) = self.connections.get(place) {
            connection.inbound = inbound;
        }
        for answer in answers {
            match answer {
                Answer::Pong(payload) => self.send(place, Opcode::Pong, &payload),
                Answer::Reply(reply) => self.reply(place, reply),
                Answer::Close => self.return_close(place),
            }
        }
        if let Err(violation) = result {
            self.part_with_violator(place, violation);
        }
    }

    /// Takes what a FIX client sent. What follows an order in the same bytes is read when the order is done, so that it
    /// may refer to it.
    fn hear_fix(&mut self, place: Place, (door, id): (usize, ConnectionId), bytes: &[u8]) {
        let mut bytes = bytes;
        loop {
            let (mut replies, now_ns) = (Vec::new(), self.now_ns());
            let incoming = Incoming::Bytes(bytes);
            self.doors[door].on_message(&self.market, id, incoming, now_ns, &mut replies);
            let goes_on = replies.iter().any(|reply| matches!(reply, Reply::Order(_)));
            for reply in replies {
                self.reply(place, reply);
            }
            let is_in_hub = self.connections.get(place).is_some_and(|one| one.in_hub);
            if !goes_on || !is_in_hub {
                return;
            }
            bytes = &[];
        }
    }

    /// Sends a frame of one connection's own, unless it is on the way out, silent, or has too much waiting already.
    pub(super) fn send(&mut self, place: Place, opcode: Opcode, payload: &[u8]) {
        self.send_own(place, |connection, writing| {
            connection.send_frame(opcode, payload, writing)
        });
    }

    fn send_own(
        &mut self,
        place: Place,
        send: impl FnOnce(&mut Connection, &mut Buffers) -> Outcome,
    ) {
        let now_ns = self.now_ns();
        let bound_bytes = self.lobby.queue_bytes;
        let Some(connection) = self.connections.get(place) else {
            return;
        };
        if connection.phase != Phase::Open || now_ns >= connection.half_open_from_ns {
            return;
        }
        if connection.waiting_bytes() > bound_bytes {
            return self.part_with_slow(place);
        }
        if send(connection, &mut self.writing) == Outcome::Broken {
            self.give_up(place);
        }
    }

    /// Sends what a FIX session has ready.
    fn send_output(&mut self, place: Place) {
        let Some(connection) = self.connections.get(place).filter(|one| one.in_hub) else {
            return;
        };
        let (door, id) = (usize::from(connection.door), connection.id);
        let mut output = Vec::new();
        self.doors[door].take_output(id, &mut output);
        // As with other answers, the queue's bound is not what a large snapshot is held to.
        self.send_own(place, |connection, writing| {
            connection.send(&output, usize::MAX, writing)
        });
    }

    /// A session wants something of the market.
    fn ask_market(&mut self, place: Place, order: &Order) {
        let Some(connection) = self.connections.get(place).filter(|one| one.in_hub) else {
            return;
        };
        let (door, id) = (usize::from(connection.door), connection.id);
        self.trade(door, Some(id), order);
    }

    /// Carries out what a session wants.
    pub(super) fn reply(&mut self, place: Place, reply: Reply) {
        match reply {
            Reply::Text(text) => self.send(place, Opcode::Text, &text),
            Reply::Ping(payload) => self.send(place, Opcode::Ping, &payload),
            Reply::Close { code, reason } => self.close(place, code, reason),
            Reply::Order(order) => self.ask_market(place, &order),
            Reply::Output => self.send_output(place),
            Reply::Received(messages) => {
                if let Some(connection) = self.connections.get(place) {
                    let door = usize::from(connection.door);
                    self.door_totals[door].messages_received += messages;
                }
            }
            Reply::End => self.end(place),
            Reply::Subscribe(_) | Reply::Unsubscribe(_) => {
                unreachable!("the hub keeps subscriptions to itself")
            }
        }
    }

    /// Carries out what a session wants because its time has come: pings and heartbeats, which a mute connection does
    /// not get, or its end.
    pub(super) fn upkeep_reply(&mut self, door: usize, id: ConnectionId, reply: Reply) {
        let now_ns = self.done_ns;
        let Some((place, connection)) = self.connections.of_hub(door, id) else {
            return;
        };
        let is_mute = now_ns >= connection.mute_from_ns;
        if !is_mute || matches!(reply, Reply::Close { .. } | Reply::End) {
            self.reply(place, reply);
        }
    }
}
