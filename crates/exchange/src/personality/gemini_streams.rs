//! Gemini's WebSocket API of today: Binance's names of streams, but times in nanoseconds, an update id with each best
//! price, and a snapshot as the first message of a book if the URL asks for one. REST is that of [`super::gemini`].
//!
//! Source: developer.gemini.com, "Streams" and "Message Format" and the AsyncAPI document (version 0.10.7), read in
//! 2026-11. Where those say nothing, this is a choice: what `conninfo` and `ping` answer (an empty object), that a
//! subscription is all or nothing, and that a snapshot's update range begins at 1. Limits on messages and pings of the
//! server are documented nowhere and not kept. Streams and methods of an account want a key, which nobody has here.

mod feed;
mod message;
mod session;
mod stream;

use super::gemini::rest::{self, Rest};
use super::names::Names;
use super::{Frames, Incoming, Personality, Reply, Request, Response, StreamId};
use crate::hub::Subscriptions;
use crate::market::{Event, Market};
use feed::Feed;
pub use session::Session;
use stream::Stream;

/// The personality.
pub struct GeminiStreams {
    /// As REST spells them.
    upper: Names,
    /// As streams spell them.
    lower: Names,
    feed: Feed,
    rest: Rest,
}

impl GeminiStreams {
    /// For a market that has just opened.
    pub fn new(market: &Market) -> Self {
        Self {
            upper: super::gemini::names(market),
            lower: Names::new(market, |instrument| {
                format!("{}{}", instrument.base, instrument.quote_as("USD")).to_lowercase()
            }),
            feed: Feed::new(market),
            rest: Rest::default(),
        }
    }
}

impl Personality for GeminiStreams {
    type Session = Session;

    fn name(&self) -> &'static str {
        "gemini-streams"
    }

    fn open(
        &mut self,
        _market: &Market,
        request: &Request<'_>,
        _now_ns: u64,
        _replies: &mut Vec<Reply>,
    ) -> Result<Session, Response> {
        match request.path {
            "" | "/" => Ok(Session::new(request)),
            _ => Err(Response::new(404, r#"{"error":"Not Found"}"#)),
        }
    }

    fn on_message(
        &mut self,
        market: &Market,
        session: &mut Session,
        incoming: Incoming<'_>,
        now_ns: u64,
        replies: &mut Vec<Reply>,
    ) {
        if let Incoming::Text(text) | Incoming::Binary(text) = incoming {
            session.on_message(&self.lower, market, text, now_ns, replies);
        }
    }

    fn on_event(
        &mut self,
        market: &Market,
        event: &Event,
        wanted: &Subscriptions,
        frames: &mut Frames,
    ) {
        self.feed
            .on_event(&self.lower, market, event, wanted, frames);
    }

    fn tick_ns(&self) -> u64 {
        self.feed.tick_ns()
    }

    fn on_tick(&mut self, market: &Market, wanted: &Subscriptions, frames: &mut Frames) {
        self.feed.on_tick(&self.lower, market, wanted, frames);
    }

    fn stream_name(&self, stream: StreamId) -> String {
        Stream::of_id(stream).name(&self.lower)
    }

    fn rest(&mut self, market: &Market, request: &Request<'_>, now_ns: u64) -> Response {
        self.rest.answer(&self.upper, market, request, now_ns)
    }

    fn too_many_requests(&self, retry_after_s: u64) -> Response {
        rest::too_many_requests(retry_after_s)
    }
}
