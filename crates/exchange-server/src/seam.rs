//! What the two halves say to each other.
//!
//! The *front* (tokio, hyper, rustls) accepts, shakes hands and speaks HTTP. The *market thread* owns the market, the
//! books and every established WebSocket; it never waits for a handshake. Commands go from front to market thread.

use feedbench_exchange::personality::{Request, Response};
use feedbench_wire::deflate::Agreement;
use std::net::TcpStream;
use tokio::sync::oneshot;

/// Number of a personality in the order of the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DoorId(pub u16);

/// A connection that the market thread has accepted and whose socket it may not have yet. What its streams send in
/// the meantime waits in its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ticket {
    /// Where it was opened.
    pub door: DoorId,
    /// The hub's number of the connection.
    pub connection: u32,
    /// Tells a connection from an earlier one of the same number.
    pub generation: u32,
}

/// An HTTP request that owns its parts; see [`Request`].
#[derive(Clone, Debug)]
pub struct OwnedRequest {
    /// `GET`, `POST`, …
    pub method: String,
    /// Without the query.
    pub path: String,
    /// What follows the question mark, still percent-encoded.
    pub query: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// Who asks, for limits by address.
    pub peer: u64,
}

impl OwnedRequest {
    /// Calls `answer` with the borrowed form.
    pub fn with<R>(&self, answer: impl FnOnce(&Request<'_>) -> R) -> R {
        let headers: Vec<(&str, &str)> = self
            .headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        answer(&Request {
            method: &self.method,
            path: &self.path,
            query: &self.query,
            headers: &headers,
            peer: self.peer,
        })
    }
}

/// An established socket: of a WebSocket after the 101 has been written, of FIX before anything was read.
pub struct Established {
    /// In non-blocking mode, with nothing of ours left to write.
    pub socket: TcpStream,
    /// The session of a TLS connection; its handshake is over.
    pub tls: Option<Box<rustls::ServerConnection>>,
    /// Plain bytes that the client sent right after its handshake.
    pub leftover: Vec<u8>,
}

/// From the front to the market thread.
pub enum Command {
    /// A WebSocket request: accepted with a ticket, or refused with an HTTP answer.
    Open {
        /// Where.
        door: DoorId,
        /// The upgrade request.
        request: OwnedRequest,
        /// What was agreed on for its compression, if anything was.
        deflate: Option<Agreement>,
        /// Gets the verdict; if it is gone, the connection is abandoned.
        verdict: oneshot::Sender<Result<Ticket, Response>>,
    },
    /// A FIX connection; whose it is, its first message will tell.
    Connect(DoorId, Established),
    /// The socket of an accepted connection.
    Attach(Ticket, Established),
    /// An accepted connection whose client went away before its socket could be handed over.
    Abandon(Ticket),
    /// A REST request.
    Rest {
        /// Where.
        door: DoorId,
        /// What.
        request: OwnedRequest,
        /// Gets the answer.
        answer: oneshot::Sender<Response>,
    },
    /// Say goodbye to all clients, end the ledger, and return the totals.
    Stop,
}
