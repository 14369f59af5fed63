//! One client: its session, and what it has subscribed to.

use super::super::StreamId;
use super::maintenance::Maintenance;
use super::message_limit::MessageLimit;
use super::Dialect;
use feedbench_wire::fix::session::{Now, Session};
use feedbench_wire::fix::store::Store;
use std::collections::HashMap;

/// A session whose numbers are in memory or in a file.
pub type FixSession = Session<Box<dyn Store>>;

/// A connection, from its first byte on.
pub enum Connection {
    /// Nobody knows yet who it is.
    Unknown {
        /// What came of the first message.
        bytes: Vec<u8>,
        /// When the connection is given up.
        until_ns: u64,
    },
    /// A session.
    Known(Box<Client>),
    /// It is about to be closed.
    Ended,
}

/// See the module.
pub struct Client {
    /// Its place in the list of all who ever came, by which it is known beyond a connection.
    pub seat: u32,
    pub session: FixSession,
    /// Streams by MDReqID.
    pub requests: HashMap<String, Vec<StreamId>>,
    /// MDReqID by stream.
    pub ids: HashMap<StreamId, String>,
    /// The order of which the market has not told yet.
    pub awaiting: Option<super::orders::Awaiting>,
    /// What it may send, at doors that limit it.
    pub limit: Option<MessageLimit>,
    /// When its connection ends, from its Logon on.
    pub maintenance: Option<Maintenance>,
}

impl Client {
    pub fn new(seat: u32, session: FixSession, dialect: Dialect) -> Self {
        let limit = MessageLimit::new(session.received_messages());
        Self {
            seat,
            session,
            requests: HashMap::new(),
            ids: HashMap::new(),
            awaiting: None,
            limit: (dialect == Dialect::Binance).then_some(limit),
            maintenance: None,
        }
    }

    /// Sends a message; its body was encoded before. A session that has logged out sends nothing any more, and a store
    /// that fails is found when the client speaks next.
    pub fn send(&mut self, msg_type: &str, now: Now, body: &[u8]) {
        let _ = self
            .session
            .send(msg_type, now, |message| message.fields(body));
    }

    /// When something is due although it says nothing; `u64::MAX` for never.
    pub fn deadline_ns(&self) -> u64 {
        let announcement_ns = match &self.maintenance {
            Some(maintenance) if self.session.is_logged_on() => maintenance.due_ns(),
            _ => u64::MAX,
        };
        announcement_ns.min(self.session.deadline().unwrap_or(u64::MAX))
    }

    /// Forgets a request; returns its streams.
    pub fn unsubscribe(&mut self, id: &str) -> Vec<StreamId> {
        let streams = self.requests.remove(id).unwrap_or_default();
        streams
            .iter()
            .for_each(|stream| _ = self.ids.remove(stream));
        streams
    }
}
