//! The connections of one personality: who subscribed to what, who is owed what, and when.

mod door;

pub use door::Door;

use crate::encode::Encode;
use crate::market::{Event, Execution, Market, Order};
use crate::personality::{
    Frame, Frames, Incoming, Personality, Reply, Request, Response, StreamId,
};
use crate::time::ExchangeClock;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Number of a connection; used again after the connection is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub u32);

/// Who gets which stream.
#[derive(Clone, Debug, Default)]
pub struct Subscriptions(Vec<Vec<ConnectionId>>);

impl Subscriptions {
    /// True if anybody gets this stream, so that it is worth encoding.
    #[inline]
    pub fn wants(&self, stream: StreamId) -> bool {
        self.0
            .get(stream.0 as usize)
            .is_some_and(|list| !list.is_empty())
    }

    /// All who get this stream, in the order of their subscription.
    pub fn of(&self, stream: StreamId) -> &[ConnectionId] {
        self.0.get(stream.0 as usize).map_or(&[], Vec::as_slice)
    }

    /// Adds a subscriber, and says whether it is new; twice is once.
    pub fn add(&mut self, stream: StreamId, connection: ConnectionId) -> bool {
        let index = stream.0 as usize;
        if self.0.len() <= index {
            self.0.resize_with(index + 1, Vec::new);
        }
        let is_new = !self.0[index].contains(&connection);
        if is_new {
            self.0[index].push(connection);
        }
        is_new
    }

    /// Takes a subscriber off, and says whether it was one.
    pub fn remove(&mut self, stream: StreamId, connection: ConnectionId) -> bool {
        let Some(list) = self.0.get_mut(stream.0 as usize) else {
            return false;
        };
        let before = list.len();
        list.retain(|&subscriber| subscriber != connection);
        list.len() < before
    }

    fn remove_all(&mut self, connection: ConnectionId) {
        self.0
            .iter_mut()
            .for_each(|list| list.retain(|&subscriber| subscriber != connection));
    }
}

/// A session, and the earliest of its deadlines in the queue, so that each session has about one entry there.
struct Connected<S> {
    session: S,
    queued_ns: u64,
    streams: usize,
}

/// Who gets a frame, with the connection's own number of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recipient {
    /// The connection.
    pub connection: ConnectionId,
    /// What goes between the two parts of a frame that is numbered by connection.
    pub number: u64,
}

/// One personality with its connections.
///
/// The caller owns the sockets and the clock. It calls [`Hub::on_time`] when [`Hub::due_ns`] has come, [`Hub::on_event`]
/// for each event of the market, and after both [`Hub::deliver`] for what is to be sent to subscribers.
pub struct Hub<P: Personality> {
    personality: P,
    sessions: Vec<Option<Connected<P::Session>>>,
    free: Vec<u32>,
    subscriptions: Subscriptions,
    /// Deadlines of sessions; one that is out of date is put right when it comes up.
    deadlines: BinaryHeap<Reverse<(u64, ConnectionId)>>,
    frames: Frames,
    scratch: Vec<Reply>,
    recipients: Vec<Recipient>,
    turn: usize,
}

impl<P: Personality> Hub<P> {
    /// Without connections.
    pub fn new(personality: P) -> Self {
        Self {
            personality,
            sessions: Vec::new(),
            free: Vec::new(),
            subscriptions: Subscriptions::default(),
            deadlines: BinaryHeap::new(),
            frames: Frames::default(),
            scratch: Vec::new(),
            recipients: Vec::new(),
            turn: 0,
        }
    }

    /// The personality, for REST.
    pub fn personality(&mut self) -> &mut P {
        &mut self.personality
    }

    /// Who gets what.
    pub fn subscriptions(&self) -> &Subscriptions {
        &self.subscriptions
    }

    /// Answers a WebSocket request: a connection with its first replies appended, or an HTTP refusal.
    pub fn open(
        &mut self,
        market: &Market,
        request: &Request<'_>,
        now_ns: u64,
        replies: &mut Vec<Reply>,
    ) -> Result<ConnectionId, Response> {
        let session = self
            .personality
            .open(market, request, now_ns, &mut self.scratch)?;
        let connection = ConnectionId(self.free.pop().unwrap_or(self.sessions.len() as u32));
        if connection.0 as usize == self.sessions.len() {
            self.sessions.push(None);
        }
        self.sessions[connection.0 as usize] = Some(Connected {
            session,
            queued_ns: u64::MAX,
            streams: 0,
        });
        self.queue_deadline(connection);
        self.settle(connection, replies);
        Ok(connection)
    }

    /// Takes what a client sent; appends what to send to it.
    pub fn on_message(
        &mut self,
        market: &Market,
        connection: ConnectionId,
        incoming: Incoming<'_>,
        now_ns: u64,
        replies: &mut Vec<Reply>,
    ) {
        let Some(Some(connected)) = self.sessions.get_mut(connection.0 as usize) else {
            return;
        };
        self.personality.on_message(
            market,
            &mut connected.session,
            incoming,
            now_ns,
            &mut self.scratch,
        );
        self.queue_deadline(connection);
        self.settle(connection, replies);
    }

    fn queue_deadline(&mut self, connection: ConnectionId) {
        let Some(Some(connected)) = self.sessions.get_mut(connection.0 as usize) else {
            return;
        };
        let deadline_ns = self.personality.deadline_ns(&connected.session);
        if deadline_ns < connected.queued_ns {
            connected.queued_ns = deadline_ns;
            self.deadlines.push(Reverse((deadline_ns, connection)));
        }
    }

    /// Forgets a connection that is gone. Returns the orders that are to be withdrawn with it.
    pub fn close(&mut self, connection: ConnectionId) -> Vec<Order> {
        let connected = self.sessions.get_mut(connection.0 as usize);
        let Some(connected) = connected.and_then(Option::take) else {
            return Vec::new();
        };
        self.subscriptions.remove_all(connection);
        self.deadlines
            .retain(|Reverse((_, owner))| *owner != connection);
        self.free.push(connection.0);
        self.personality.on_close(connected.session)
    }

    /// The exchange closes: appends its parting words for a connection.
    pub fn goodbye(
        &mut self,
        market: &Market,
        connection: ConnectionId,
        now_ns: u64,
        replies: &mut Vec<Reply>,
    ) {
        if let Some(Some(connected)) = self.sessions.get_mut(connection.0 as usize) {
            let session = &mut connected.session;
            self.personality
                .goodbye(market, session, now_ns, &mut self.scratch);
            self.queue_deadline(connection);
            self.settle(connection, replies);
        }
    }

    /// Makes the frames that tell a client what became of its order; `None`: the market is not open.
    pub fn on_execution(
        &mut self,
        market: &Market,
        connection: ConnectionId,
        execution: Option<&Execution>,
        now_ns: u64,
    ) {
        self.frames.clear();
        if let Some(Some(connected)) = self.sessions.get_mut(connection.0 as usize) {
            let session = &mut connected.session;
            self.personality
                .on_execution(market, session, execution, now_ns, &mut self.frames);
        }
    }

    /// Appends a frame made last as a FIX connection gets it.
    pub fn write(
        &mut self,
        frame: usize,
        connection: ConnectionId,
        now: (u64, ExchangeClock),
        out: &mut Vec<u8>,
    ) {
        if let Some(Some(connected)) = self.sessions.get_mut(connection.0 as usize) {
            let frame = &self.frames.list()[frame];
            let (body, _) = self.frames.parts(frame);
            self.personality
                .write(&mut connected.session, frame, body, now, out);
        }
    }

    /// Appends what a FIX session has ready to be sent.
    pub fn take_output(&mut self, connection: ConnectionId, out: &mut Vec<u8>) {
        if let Some(Some(connected)) = self.sessions.get_mut(connection.0 as usize) {
            self.personality.take_output(&mut connected.session, out);
        }
    }

    /// True while a connection gets at least one stream.
    pub fn is_subscriber(&self, connection: ConnectionId) -> bool {
        matches!(self.sessions.get(connection.0 as usize), Some(Some(connected)) if connected.streams > 0)
    }

    /// Carries out the session's subscriptions; passes the rest on.
    fn settle(&mut self, connection: ConnectionId, replies: &mut Vec<Reply>) {
        let Some(Some(connected)) = self.sessions.get_mut(connection.0 as usize) else {
            return self.scratch.clear();
        };
        for reply in self.scratch.drain(..) {
            match reply {
                Reply::Subscribe(stream) => {
                    connected.streams += usize::from(self.subscriptions.add(stream, connection));
                }
                Reply::Unsubscribe(stream) => {
                    connected.streams -= usize::from(self.subscriptions.remove(stream, connection));
                }
                other => replies.push(other),
            }
        }
    }

    /// When [`Hub::on_time`] wants to be called; it may be early.
    pub fn due_ns(&self) -> u64 {
        let session_ns = self
            .deadlines
            .peek()
            .map_or(u64::MAX, |Reverse((deadline_ns, _))| *deadline_ns);
        session_ns.min(self.personality.tick_ns())
    }

    /// Does what is due by `now_ns`: appends replies for single connections, and makes frames for [`Hub::deliver`].
    /// Call it before applying an event that is published later, and again while [`Hub::due_ns`] has come.
    pub fn on_time(
        &mut self,
        market: &Market,
        now_ns: u64,
        replies: &mut Vec<(ConnectionId, Reply)>,
    ) {
        self.frames.clear();
        if self.personality.tick_ns() <= now_ns {
            self.personality
                .on_tick(market, &self.subscriptions, &mut self.frames);
        }
        while let Some(&Reverse((due_ns, connection))) = self.deadlines.peek() {
            if due_ns > now_ns {
                break;
            }
            self.deadlines.pop();
            let Some(Some(connected)) = self.sessions.get_mut(connection.0 as usize) else {
                continue;
            };
            if due_ns != connected.queued_ns {
                continue;
            }
            if self.personality.deadline_ns(&connected.session) <= now_ns {
                self.personality.on_deadline(
                    market,
                    &mut connected.session,
                    now_ns,
                    &mut self.scratch,
                );
                let next_ns = self.personality.deadline_ns(&connected.session);
                debug_assert!(next_ns > now_ns, "a deadline must move on");
            }
            connected.queued_ns = u64::MAX;
            self.queue_deadline(connection);
            let mut own = Vec::new();
            self.settle(connection, &mut own);
            replies.extend(own.into_iter().map(|reply| (connection, reply)));
        }
    }

    /// Makes the frames of an event that the market has just applied.
    pub fn on_event(&mut self, market: &Market, event: &Event) {
        self.frames.clear();
        self.personality
            .on_event(market, event, &self.subscriptions, &mut self.frames);
    }

    /// The frames made last.
    pub fn frames(&self) -> &Frames {
        &self.frames
    }

    /// Appends who gets a frame made last, by its place in the list; only this connection, if one is named. Who comes
    /// first rotates from frame to frame, so that nobody is favoured. What it appends counts as delivered.
    pub fn recipients(
        &mut self,
        frame: usize,
        only: Option<ConnectionId>,
        now_ns: u64,
        into: &mut Vec<Recipient>,
    ) {
        let subscribers = self.subscriptions.of(self.frames.list()[frame].stream);
        let first = self.turn % subscribers.len().max(1);
        self.turn = self.turn.wrapping_add(1);
        let (late, early) = subscribers.split_at(first);
        for &connection in early.iter().chain(late) {
            if only.is_some_and(|only| only != connection) {
                continue;
            }
            if let Some(Some(connected)) = self.sessions.get_mut(connection.0 as usize) {
                let number = self.personality.number(&mut connected.session, now_ns);
                into.push(Recipient { connection, number });
            }
        }
    }

    /// Hands each frame made last to each of its recipients as up to three slices to be sent as one message.
    pub fn deliver(&mut self, now_ns: u64, mut send: impl FnMut(ConnectionId, &Frame, [&[u8]; 3])) {
        let mut recipients = std::mem::take(&mut self.recipients);
        let mut digits = Vec::new();
        for index in 0..self.frames.list().len() {
            recipients.clear();
            self.recipients(index, None, now_ns, &mut recipients);
            let frame = &self.frames.list()[index];
            let (before, after) = self.frames.parts(frame);
            for recipient in &recipients {
                digits.clear();
                if Frames::is_numbered(frame) {
                    digits.number(recipient.number);
                }
                send(recipient.connection, frame, [before, &digits, after]);
            }
        }
        self.recipients = recipients;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::market::{Arrivals, MarketConfig};
    use crate::personality::binance::Binance;
    use crate::time::ExchangeClock;

    fn opened(count: usize) -> (Market, Hub<Binance>, Vec<ConnectionId>) {
        let config = MarketConfig::new(
            1,
            1,
            Arrivals::Constant {
                rate_per_s: 1_000.0,
            },
        );
        let market = Market::open(&config, ExchangeClock::right(0)).unwrap();
        let mut hub = Hub::new(Binance::new(&market));
        let request = Request::get("/ws/btcusdt@trade");
        let connections = (0..count)
            .map(|_| hub.open(&market, &request, 0, &mut Vec::new()).unwrap())
            .collect();
        (market, hub, connections)
    }

    /// Who got each frame, in order.
    fn orders(market: &mut Market, hub: &mut Hub<Binance>, events: usize) -> Vec<Vec<u32>> {
        let mut orders: Vec<Vec<u32>> = Vec::new();
        for _ in 0..events {
            let event = market.next().unwrap();
            hub.on_event(market, &event);
            let mut last = None;
            hub.deliver(event.published_ns, |connection, frame, _| {
                if last != Some(*frame) {
                    orders.push(Vec::new());
                    last = Some(*frame);
                }
                orders.last_mut().unwrap().push(connection.0);
            });
        }
        orders
    }

    #[test]
    fn each_frame_is_encoded_once_and_each_subscriber_is_first_in_turn() {
        let (mut market, mut hub, _) = opened(3);
        let orders = orders(&mut market, &mut hub, 300);
        assert!(orders.len() > 20);
        for (turn, order) in orders.iter().enumerate() {
            let first = turn as u32 % 3;
            assert_eq!(*order, [first, (first + 1) % 3, (first + 2) % 3]);
        }
    }

    #[test]
    fn a_closed_connection_gets_nothing_and_its_number_is_used_again() {
        let (mut market, mut hub, connections) = opened(2);
        hub.close(connections[0]);
        hub.close(connections[0]);
        assert!(orders(&mut market, &mut hub, 100)
            .iter()
            .all(|order| *order == [1]));
        hub.on_message(
            &market,
            connections[0],
            Incoming::Text(b"{}"),
            0,
            &mut Vec::new(),
        );
        let again = hub
            .open(&market, &Request::get("/ws"), 0, &mut Vec::new())
            .unwrap();
        assert_eq!(again, connections[0]);
        assert!(
            orders(&mut market, &mut hub, 100)
                .iter()
                .all(|order| *order == [1]),
            "no subscription is inherited"
        );
    }

    #[test]
    fn deadlines_of_idle_connections_take_one_entry_each() {
        let (market, mut hub, connections) = opened(2);
        for second in 0..1_000 {
            hub.on_message(
                &market,
                connections[0],
                Incoming::Pong(b""),
                second * 1_000_000_000,
                &mut Vec::new(),
            );
        }
        assert_eq!(hub.deadlines.len(), 2);
    }
}
