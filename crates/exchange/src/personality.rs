//! How each exchange speaks of the same market.
//!
//! A personality is two things. Its *feed* turns events and the passing of time into frames of numbered streams, each
//! encoded once for all who subscribed. Its *session* is what one connection has said: it takes the client's bytes
//! and answers as the exchange documents, or ends the connection. Neither has a clock or a socket.

mod batch;
pub mod binance;
pub mod binary;
pub mod bithumb;
pub mod bithumb_global;
pub mod bybit;
pub mod coinbase;
pub mod coinbase_advanced;
pub mod fix;
pub mod gemini;
pub mod gemini_streams;
pub mod kraken;
pub mod limits;
pub mod names;

use crate::hub::Subscriptions;
use crate::market::{Event, Execution, Market, Order};
use crate::time::ExchangeClock;
use feedbench_wire::frame::Opcode;

/// Number of a stream of one personality, such as "trades of the third symbol, in microseconds".
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(pub u32);

/// What the connections of a personality carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// WebSocket messages; the same port answers REST requests.
    WebSocket,
    /// FIX messages, without any frame around them: each session numbers, times and seals its own.
    Fix,
}

/// What arrived on a connection. The door answers a WebSocket's ping with its pong by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Incoming<'a> {
    /// A whole text message; UTF-8 was checked by nobody yet.
    Text(&'a [u8]),
    /// A whole binary message.
    Binary(&'a [u8]),
    /// A ping; the door has answered it.
    Ping,
    /// A pong with its payload.
    Pong(&'a [u8]),
    /// Bytes of a FIX connection, in any portions.
    Bytes(&'a [u8]),
}

/// What a session wants done for its connection, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// Send a text message.
    Text(Vec<u8>),
    /// Send a ping with this payload.
    Ping(Vec<u8>),
    /// Send a close frame, then close.
    Close {
        /// Status code of RFC 6455.
        code: u16,
        /// What the exchange says of it.
        reason: &'static str,
    },
    /// Deliver this stream from now on.
    Subscribe(StreamId),
    /// Do not deliver it any more.
    Unsubscribe(StreamId),
    /// Do this in the market, tell the session with [`Personality::on_execution`], and let it read on by giving it no
    /// more bytes.
    Order(Order),
    /// Send what [`Personality::take_output`] has.
    Output,
    /// So many FIX messages were in the bytes.
    Received(u64),
    /// Close the connection when all is sent.
    End,
}

impl Reply {
    /// A text message written by `write`.
    pub fn text(write: impl FnOnce(&mut Vec<u8>)) -> Self {
        let mut text = Vec::new();
        write(&mut text);
        Self::Text(text)
    }
}

/// An HTTP request: for REST, or to open a WebSocket.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// `GET`, `POST`, …
    pub method: &'a str,
    /// Without the query: `/api/v3/depth`.
    pub path: &'a str,
    /// What follows the question mark, still percent-encoded; empty if nothing does.
    pub query: &'a str,
    /// Names in lower case.
    pub headers: &'a [(&'a str, &'a str)],
    /// Who asks, for limits by address: any number that stands for the address.
    pub peer: u64,
}

impl<'a> Request<'a> {
    /// A GET of a path with its query, without headers.
    pub fn get(target: &'a str) -> Self {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        Self {
            method: "GET",
            path,
            query,
            headers: &[],
            peer: 0,
        }
    }

    /// The value of a query parameter, percent-decoded; the first if it is given twice.
    pub fn parameter(&self, name: &str) -> Option<String> {
        self.query.split('&').find_map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            (percent_decoded(key) == name).then(|| percent_decoded(value))
        })
    }

    /// The value of a header, by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&'a str> {
        self.headers
            .iter()
            .find(|(key, _)| *key == name)
            .map(|(_, value)| *value)
    }
}

/// Decodes `%41` and `+`; leaves what is not well-formed as it is, and replaces what is not UTF-8.
pub fn percent_decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let hex = |index: usize| {
            bytes
                .get(index)
                .and_then(|&digit| char::from(digit).to_digit(16))
        };
        match (bytes[at], hex(at + 1), hex(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                decoded.push((high * 16 + low) as u8);
                at += 3;
            }
            (byte, ..) => {
                decoded.push(if byte == b'+' { b' ' } else { byte });
                at += 1;
            }
        }
    }
    String::from_utf8(decoded)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// An HTTP answer. The door adds what every answer carries: date, length, connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// Status code.
    pub status: u16,
    /// Headers of the exchange's own, with `Retry-After` where it applies.
    pub headers: Vec<(&'static str, String)>,
    /// JSON.
    pub body: Vec<u8>,
}

impl Response {
    /// An answer with a body and no headers of its own.
    pub fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: body.into(),
        }
    }

    /// The same, with the seconds after which the client may come again.
    pub fn retry_after(mut self, seconds: u64) -> Self {
        self.headers.push(("Retry-After", seconds.to_string()));
        self
    }

    /// 200 with a list, each item written by `write`.
    pub fn list<T>(items: impl Iterator<Item = T>, write: impl Fn(&mut Vec<u8>, T)) -> Self {
        Self::written(|out| {
            out.push(b'[');
            for (index, item) in items.enumerate() {
                out.extend_from_slice(if index > 0 { b"," } else { b"" });
                write(out, item);
            }
            out.push(b']');
        })
    }

    /// 200 with a body written by `write`.
    pub fn written(write: impl FnOnce(&mut Vec<u8>)) -> Self {
        let mut body = Vec::new();
        write(&mut body);
        Self::new(200, body)
    }
}

/// One encoded message of a stream, somewhere in [`Frames`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Who gets it.
    pub stream: StreamId,
    /// The exchange's own number of it, as the ledger records it; zero where the exchange has none.
    pub sequence: u64,
    /// When what it tells was published: its birth.
    pub born_ns: u64,
    start: usize,
    end: usize,
    /// Where each connection's own message number goes in, if the exchange counts by connection.
    splice: Option<usize>,
}

/// The frames of one moment, one after the other in one buffer that is used again: no allocation once it has grown.
#[derive(Clone, Debug, Default)]
pub struct Frames {
    bytes: Vec<u8>,
    list: Vec<Frame>,
}

impl Frames {
    /// Forgets all frames.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.list.clear();
    }

    /// All frames, in the order in which they were made.
    pub fn list(&self) -> &[Frame] {
        &self.list
    }

    /// A frame's bytes before and after the place of the connection's own number; all before if it has none.
    pub fn parts(&self, frame: &Frame) -> (&[u8], &[u8]) {
        let split = frame.splice.unwrap_or(frame.end);
        (
            &self.bytes[frame.start..split],
            &self.bytes[split..frame.end],
        )
    }

    /// True if each connection puts a number of its own between the two parts.
    pub fn is_numbered(frame: &Frame) -> bool {
        frame.splice.is_some()
    }

    /// Adds a frame written by `write`.
    pub fn add(
        &mut self,
        stream: StreamId,
        sequence: u64,
        born_ns: u64,
        write: impl FnOnce(&mut Vec<u8>),
    ) {
        let start = self.bytes.len();
        write(&mut self.bytes);
        self.list.push(Frame {
            stream,
            sequence,
            born_ns,
            start,
            end: self.bytes.len(),
            splice: None,
        });
    }

    /// Adds a frame in which each connection's own number stands between what the two functions write.
    pub fn add_numbered(
        &mut self,
        stream: StreamId,
        sequence: u64,
        born_ns: u64,
        before: impl FnOnce(&mut Vec<u8>),
        after: impl FnOnce(&mut Vec<u8>),
    ) {
        let start = self.bytes.len();
        before(&mut self.bytes);
        let splice = Some(self.bytes.len());
        after(&mut self.bytes);
        self.list.push(Frame {
            stream,
            sequence,
            born_ns,
            start,
            end: self.bytes.len(),
            splice,
        });
    }
}

/// One exchange's way of speaking.
pub trait Personality {
    /// What one connection has said and is owed.
    type Session;

    /// The name in the command line, in the ledger, and in reports.
    fn name(&self) -> &'static str;

    /// What its connections carry.
    fn transport(&self) -> Transport {
        Transport::WebSocket
    }

    /// What the messages of its streams are, over WebSocket; its answers to clients are text.
    fn opcode(&self) -> Opcode {
        Opcode::Text
    }

    /// Begins a session on a WebSocket request, or refuses it with an HTTP answer. A FIX connection begins without a
    /// request: then only the peer's address is told, and nothing is refused.
    fn open(
        &mut self,
        market: &Market,
        request: &Request<'_>,
        now_ns: u64,
        replies: &mut Vec<Reply>,
    ) -> Result<Self::Session, Response>;

    /// Takes what the client sent.
    fn on_message(
        &mut self,
        market: &Market,
        session: &mut Self::Session,
        incoming: Incoming<'_>,
        now_ns: u64,
        replies: &mut Vec<Reply>,
    );

    /// When the session wants [`Personality::on_deadline`]; `u64::MAX` for never.
    fn deadline_ns(&self, session: &Self::Session) -> u64 {
        let _ = session;
        u64::MAX
    }

    /// Does what is due: pings, heartbeats, the end of the connection.
    fn on_deadline(
        &mut self,
        market: &Market,
        session: &mut Self::Session,
        now_ns: u64,
        replies: &mut Vec<Reply>,
    ) {
        let _ = (market, session, now_ns, replies);
    }

    /// A frame is about to be delivered to this session: returns the connection's own number for it, where the
    /// exchange counts by connection, and takes note that the connection was not silent.
    fn number(&self, session: &mut Self::Session, now_ns: u64) -> u64 {
        let _ = (session, now_ns);
        0
    }

    /// Appends a frame as this FIX session gets it: numbered, timed and kept for resending. Nothing, if it cannot have it.
    fn write(
        &mut self,
        session: &mut Self::Session,
        frame: &Frame,
        body: &[u8],
        now: (u64, ExchangeClock),
        out: &mut Vec<u8>,
    ) {
        let _ = (session, frame, now);
        out.extend_from_slice(body);
    }

    /// Appends what a FIX session has ready to be sent.
    fn take_output(&mut self, session: &mut Self::Session, out: &mut Vec<u8>) {
        let _ = (session, out);
    }

    /// What became of the first [`Reply::Order`] that has not been told of; `None`: the market is not open.
    fn on_execution(
        &mut self,
        market: &Market,
        session: &mut Self::Session,
        execution: Option<&Execution>,
        now_ns: u64,
        frames: &mut Frames,
    ) {
        let _ = (market, session, execution, now_ns, frames);
    }

    /// The connection is gone. Returns the orders that go with it.
    fn on_close(&mut self, session: Self::Session) -> Vec<Order> {
        drop(session);
        Vec::new()
    }

    /// The exchange closes: its parting words.
    fn goodbye(
        &mut self,
        market: &Market,
        session: &mut Self::Session,
        now_ns: u64,
        replies: &mut Vec<Reply>,
    ) {
        let _ = (market, session, now_ns);
        replies.push(Reply::Close {
            code: 1001,
            reason: "the exchange closes",
        });
    }

    /// Encodes what an event, just applied to the market, means to the streams that somebody wants.
    fn on_event(
        &mut self,
        market: &Market,
        event: &Event,
        wanted: &Subscriptions,
        frames: &mut Frames,
    );

    /// When the feed wants [`Personality::on_tick`]: batches, snapshots, tickers by the second. `u64::MAX` for never.
    fn tick_ns(&self) -> u64 {
        u64::MAX
    }

    /// Encodes what is due by the clock.
    fn on_tick(&mut self, market: &Market, wanted: &Subscriptions, frames: &mut Frames) {
        let _ = (market, wanted, frames);
    }

    /// The exchange's name of a stream that was subscribed to, for the ledger: `btcusdt@trade`.
    fn stream_name(&self, stream: StreamId) -> String;

    /// What REST answers to those who ask too often: they may come again after so many seconds.
    fn too_many_requests(&self, retry_after_s: u64) -> Response {
        Response::new(429, r#"{"message":"Too Many Requests"}"#).retry_after(retry_after_s)
    }

    /// True once nothing more will ever be sent, as at the end of a replay.
    fn is_over(&self) -> bool {
        false
    }

    /// False if what is due by the clock is due at once, so that its times mean nothing.
    fn is_paced(&self) -> bool {
        true
    }

    /// The largest message that a client may send.
    fn message_limit_bytes(&self) -> usize {
        1 << 16
    }

    /// How the exchange parts with a client that sends a larger one.
    fn message_too_large(&self) -> Vec<Reply> {
        vec![Reply::Close {
            code: 1009,
            reason: "Message too big",
        }]
    }

    /// How the exchange parts with a client that reads too slowly.
    fn slow_consumer(&self) -> Vec<Reply> {
        vec![Reply::Close {
            code: 1008,
            reason: "slow consumer",
        }]
    }

    /// Answers a REST request.
    fn rest(&mut self, market: &Market, request: &Request<'_>, now_ns: u64) -> Response {
        let _ = (market, request, now_ns);
        Response::new(404, r#"{"message":"Not Found"}"#)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn query_parameters_are_decoded() {
        let request = Request::get("/x?a=1&symbol=BTC%2FUSD&b+c=%zz%4");
        assert_eq!(request.parameter("symbol").as_deref(), Some("BTC/USD"));
        assert_eq!(request.parameter("b c").as_deref(), Some("%zz%4"));
        assert_eq!(request.parameter("d"), None);
    }

    #[test]
    fn a_numbered_frame_is_split_where_the_number_goes() {
        let mut frames = Frames::default();
        frames.add(StreamId(1), 0, 0, |out| out.extend(b"whole"));
        frames.add_numbered(
            StreamId(2),
            0,
            0,
            |out| out.extend(b"n="),
            |out| out.extend(b"."),
        );
        let [whole, numbered] = frames.list() else {
            panic!()
        };
        assert_eq!(frames.parts(whole), (&b"whole"[..], &b""[..]));
        assert_eq!(frames.parts(numbered), (&b"n="[..], &b"."[..]));
        assert!(Frames::is_numbered(numbered) && !Frames::is_numbered(whole));
    }
}
