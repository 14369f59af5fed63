//! Hubs of different personalities behind one type, so that one thread can drive them all over the same market.

use super::{ConnectionId, Hub, Recipient};
use crate::market::{Event, Execution, Market, Order};
use crate::personality::{
    Frames, Incoming, Personality, Reply, Request, Response, StreamId, Transport,
};
use crate::time::ExchangeClock;
use feedbench_wire::frame::Opcode;

/// A [`Hub`], whichever its personality. One virtual call for an event and for a frame, none for a subscriber.
pub trait Door {
    /// See [`Personality::name`].
    fn name(&self) -> &'static str;

    /// See [`Personality::transport`].
    fn transport(&self) -> Transport;

    /// See [`Personality::opcode`].
    fn opcode(&self) -> Opcode;

    /// See [`Hub::open`].
    fn open(
        &mut self,
        market: &Market,
        request: &Request<'_>,
        now_ns: u64,
        replies: &mut Vec<Reply>,
    ) -> Result<ConnectionId, Response>;

    /// See [`Hub::on_message`].
    fn on_message(
        &mut self,
        market: &Market,
        connection: ConnectionId,
        incoming: Incoming<'_>,
        now_ns: u64,
        replies: &mut Vec<Reply>,
    );

    /// See [`Hub::close`].
    fn close(&mut self, connection: ConnectionId) -> Vec<Order>;

    /// See [`Hub::goodbye`].
    fn goodbye(
        &mut self,
        market: &Market,
        connection: ConnectionId,
        now_ns: u64,
        replies: &mut Vec<Reply>,
    );

    /// See [`Hub::on_execution`].
    fn on_execution(
        &mut self,
        market: &Market,
        connection: ConnectionId,
        execution: Option<&Execution>,
        now_ns: u64,
    );

    /// See [`Hub::write`].
    fn write(
        &mut self,
        frame: usize,
        connection: ConnectionId,
        now: (u64, ExchangeClock),
        out: &mut Vec<u8>,
    );

    /// See [`Hub::take_output`].
    fn take_output(&mut self, connection: ConnectionId, out: &mut Vec<u8>);

    /// See [`Hub::is_subscriber`].
    fn is_subscriber(&self, connection: ConnectionId) -> bool;

    /// See [`Hub::due_ns`].
    fn due_ns(&self) -> u64;

    /// See [`Hub::on_time`].
    fn on_time(&mut self, market: &Market, now_ns: u64, replies: &mut Vec<(ConnectionId, Reply)>);

    /// See [`Hub::on_event`].
    fn on_event(&mut self, market: &Market, event: &Event);

    /// See [`Hub::frames`].
    fn frames(&self) -> &Frames;

    /// See [`Hub::recipients`].
    fn recipients(
        &mut self,
        frame: usize,
        only: Option<ConnectionId>,
        now_ns: u64,
        into: &mut Vec<Recipient>,
    );

    /// See [`Personality::rest`].
    fn rest(&mut self, market: &Market, request: &Request<'_>, now_ns: u64) -> Response;

    /// See [`Personality::stream_name`].
    fn stream_name(&self, stream: StreamId) -> String;

    /// See [`Personality::slow_consumer`].
    fn slow_consumer(&self) -> Vec<Reply>;

    /// See [`Personality::message_limit_bytes`].
    fn message_limit_bytes(&self) -> usize;

    /// See [`Personality::message_too_large`].
    fn message_too_large(&self) -> Vec<Reply>;

    /// See [`Personality::too_many_requests`].
    fn too_many_requests(&self, retry_after_s: u64) -> Response;

    /// See [`Personality::is_over`].
    fn is_over(&self) -> bool;

    /// See [`Personality::is_paced`].
    fn is_paced(&self) -> bool;
}

impl<P: Personality> Door for Hub<P> {
    fn name(&self) -> &'static str {
        self.personality.name()
    }

    fn transport(&self) -> Transport {
        self.personality.transport()
    }

    fn opcode(&self) -> Opcode {
        self.personality.opcode()
    }

    fn open(
        &mut self,
        market: &Market,
        request: &Request<'_>,
        now_ns: u64,
        replies: &mut Vec<Reply>,
    ) -> Result<ConnectionId, Response> {
        Hub::open(self, market, request, now_ns, replies)
    }

    fn on_message(
        &mut self,
        market: &Market,
        connection: ConnectionId,
        incoming: Incoming<'_>,
        now_ns: u64,
        replies: &mut Vec<Reply>,
    ) {
        Hub::on_message(self, market, connection, incoming, now_ns, replies);
    }

    fn close(&mut self, connection: ConnectionId) -> Vec<Order> {
        Hub::close(self, connection)
    }

    fn goodbye(
        &mut self,
        market: &Market,
        connection: ConnectionId,
        now_ns: u64,
        replies: &mut Vec<Reply>,
    ) {
        Hub::goodbye(self, market, connection, now_ns, replies);
    }

    fn on_execution(
        &mut self,
        market: &Market,
        connection: ConnectionId,
        execution: Option<&Execution>,
        now_ns: u64,
    ) {
        Hub::on_execution(self, market, connection, execution, now_ns);
    }

    fn write(
        &mut self,
        frame: usize,
        connection: ConnectionId,
        now: (u64, ExchangeClock),
        out: &mut Vec<u8>,
    ) {
        Hub::write(self, frame, connection, now, out);
    }

    fn take_output(&mut self, connection: ConnectionId, out: &mut Vec<u8>) {
        Hub::take_output(self, connection, out);
    }

    fn is_subscriber(&self, connection: ConnectionId) -> bool {
        Hub::is_subscriber(self, connection)
    }

    fn due_ns(&self) -> u64 {
        Hub::due_ns(self)
    }

    fn on_time(&mut self, market: &Market, now_ns: u64, replies: &mut Vec<(ConnectionId, Reply)>) {
        Hub::on_time(self, market, now_ns, replies);
    }

    fn on_event(&mut self, market: &Market, event: &Event) {
        Hub::on_event(self, market, event);
    }

    fn frames(&self) -> &Frames {
        Hub::frames(self)
    }

    fn recipients(
        &mut self,
        frame: usize,
        only: Option<ConnectionId>,
        now_ns: u64,
        into: &mut Vec<Recipient>,
    ) {
        Hub::recipients(self, frame, only, now_ns, into);
    }

    fn rest(&mut self, market: &Market, request: &Request<'_>, now_ns: u64) -> Response {
        self.personality.rest(market, request, now_ns)
    }

    fn stream_name(&self, stream: StreamId) -> String {
        self.personality.stream_name(stream)
    }

    fn slow_consumer(&self) -> Vec<Reply> {
        self.personality.slow_consumer()
    }

    fn message_limit_bytes(&self) -> usize {
        self.personality.message_limit_bytes()
    }

    fn message_too_large(&self) -> Vec<Reply> {
        self.personality.message_too_large()
    }

    fn too_many_requests(&self, retry_after_s: u64) -> Response {
        self.personality.too_many_requests(retry_after_s)
    }

    fn is_over(&self) -> bool {
        self.personality.is_over()
    }

    fn is_paced(&self) -> bool {
        self.personality.is_paced()
    }
}
