//! One end of a FIX session, acceptor or initiator, without socket and clock.
//!
//! Bytes that arrive go in with [`Session::feed`], what follows from them comes out of [`Session::poll`], and the bytes
//! to send stand in [`Session::output`]. [`Session::deadline`] tells when to poll although nothing arrived.
//!
//! ```text
//! loop {
//!     session.feed(&received);
//!     while let Some(event) = session.poll(now())? { … }
//!     let written = socket.write(session.output())?;
//!     session.sent(written);
//!     wait for bytes or for session.deadline();
//! }
//! ```

mod administrative;
mod event;
mod header;
mod receive;
mod send;
mod timers;

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use super::authentication::{Authenticator, LogonSigner};
use super::encode::EncodeError;
use super::message::Message;
use super::profile::Profile;
use super::store::{Store, StoreError};
use super::tag::Tag;
use super::time::UtcTime;

pub use event::{DisconnectReason, Event, RejectReason};
pub use header::Identity;

use event::Notice;

/// The time, from two clocks: one that others share and one that never jumps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Now {
    /// For SendingTime.
    pub utc: UtcTime,
    /// For heartbeats and waiting, since any moment.
    pub monotonic_ns: u64,
}

/// Which side this end is.
#[derive(Debug, Clone)]
pub enum Role {
    /// Waits for a Logon.
    Acceptor {
        /// Decides who may log on; without one, everybody with the right CompIDs.
        authenticator: Option<Arc<dyn Authenticator + Send + Sync>>,
    },
    /// Sends the first Logon.
    Initiator {
        /// HeartBtInt of the Logon.
        heartbeat_seconds: u32,
        /// Whether to begin both directions with number 1.
        reset: bool,
        /// Signs the Logon.
        signer: Option<Arc<LogonSigner>>,
    },
}

/// What a session is told once.
#[derive(Debug, Clone)]
pub struct Config {
    /// Rules of the exchange.
    pub profile: Profile,
    /// Which side.
    pub role: Role,
    /// Our name, SenderCompID of what is sent.
    pub sender_comp_id: String,
    /// The other side's name.
    pub target_comp_id: String,
    /// Further fields of our Logon, such as Username (553), in the order of their numbers.
    pub logon_fields: Vec<(Tag, String)>,
}

/// Why the session cannot do what it was asked to.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// Messages are lost or numbers would be used twice: close the connection.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The message was not sent and used no number.
    #[error("the FIX message cannot be written: {0}")]
    Encode(#[from] EncodeError),
    /// There is no session to send in.
    #[error("the FIX session is not logged on; wait for Event::LoggedOn")]
    NotLoggedOn,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Disconnected,
    AwaitingLogon,
    LogonSent,
    Active,
    LogoutSent,
}

/// Missing messages have been asked for.
#[derive(Debug, Clone, Copy)]
struct AwaitedResend {
    /// Satisfied when the next incoming number is higher.
    through: u64,
    /// How far the incoming numbers were at the last look, to notice that nothing comes.
    incoming: u64,
    asked_ns: u64,
}

/// Where the message is that the last event was about.
#[derive(Debug)]
enum Current {
    Nothing,
    Input(Range<usize>),
    Queued(Vec<u8>),
}

/// One end of a session.
#[derive(Debug)]
pub struct Session<S> {
    config: Config,
    store: S,
    phase: Phase,
    heartbeat_ns: u64,
    /// Received bytes; those before `input_at` are done with.
    input: Vec<u8>,
    input_at: usize,
    output: Vec<u8>,
    notices: VecDeque<Notice>,
    current: Current,
    /// Messages that came before their turn.
    queue: BTreeMap<u64, Vec<u8>>,
    awaited_resend: Option<AwaitedResend>,
    connected_ns: u64,
    last_received_ns: u64,
    last_sent_ns: u64,
    test_requested_ns: Option<u64>,
    logout_sent_ns: u64,
    received_messages: u64,
    /// Working memory of the validation.
    seen: Vec<Tag>,
    /// Working memory of resending.
    resent: Vec<u8>,
}

impl<S: Store> Session<S> {
    /// A session that is not connected yet. Its numbers are those of the store.
    pub fn new(config: Config, store: S) -> Self {
        Self {
            config,
            store,
            phase: Phase::Disconnected,
            heartbeat_ns: 0,
            input: Vec::new(),
            input_at: 0,
            output: Vec::new(),
            notices: VecDeque::new(),
            current: Current::Nothing,
            queue: BTreeMap::new(),
            awaited_resend: None,
            connected_ns: 0,
            last_received_ns: 0,
            last_sent_ns: 0,
            test_requested_ns: None,
            logout_sent_ns: 0,
            received_messages: 0,
            seen: Vec::new(),
            resent: Vec::new(),
        }
    }

    /// A connection is there. An initiator's Logon is ready to be sent; an acceptor waits for one.
    ///
    /// # Errors
    /// [`SessionError`] when the store fails or a configured Logon field cannot be written.
    pub fn connect(&mut self, now: Now) -> Result<(), SessionError> {
        self.input.clear();
        self.input_at = 0;
        self.output.clear();
        self.notices.clear();
        self.current = Current::Nothing;
        self.queue.clear();
        self.awaited_resend = None;
        self.test_requested_ns = None;
        self.connected_ns = now.monotonic_ns;
        self.last_received_ns = now.monotonic_ns;
        self.last_sent_ns = now.monotonic_ns;
        match self.config.role {
            Role::Acceptor { .. } => self.phase = Phase::AwaitingLogon,
            Role::Initiator { reset, .. } => {
                if reset {
                    self.store.reset()?;
                }
                self.send_logon(reset, now)?;
                self.phase = Phase::LogonSent;
            }
        }
        Ok(())
    }

    /// The connection is gone. The numbers stay for the next one.
    pub fn disconnected(&mut self) {
        self.phase = Phase::Disconnected;
        self.output.clear();
    }

    /// Takes bytes from the connection, in any portions.
    pub fn feed(&mut self, bytes: &[u8]) {
        if self.input_at > 0 {
            self.input.drain(..self.input_at);
            self.input_at = 0;
            self.current = Current::Nothing;
        }
        self.input.extend_from_slice(bytes);
    }

    /// What happened next, or `None` when there is nothing until more bytes or the [`deadline`](Self::deadline).
    ///
    /// # Errors
    /// [`SessionError::Store`]: the connection should be closed.
    pub fn poll(&mut self, now: Now) -> Result<Option<Event<'_>>, SessionError> {
        let notice = loop {
            if let Some(notice) = self.notices.pop_front() {
                break notice;
            }
            self.check_timers(now)?;
            if self.notices.is_empty() && !self.next_message(now)? {
                return Ok(None);
            }
        };
        Ok(Some(notice.event(self.current_message())))
    }

    /// Bytes to write to the connection, also after a [`Event::Disconnect`].
    #[must_use]
    pub fn output(&self) -> &[u8] {
        &self.output
    }

    /// So many bytes of the output are written.
    pub fn sent(&mut self, bytes: usize) {
        self.output.drain(..bytes);
    }

    /// Whether application messages can be sent.
    #[must_use]
    pub fn is_logged_on(&self) -> bool {
        self.phase == Phase::Active
    }

    /// Messages received so far, whatever became of them, garbled ones apart.
    #[must_use]
    pub fn received_messages(&self) -> u64 {
        self.received_messages
    }

    /// The numbers and messages.
    #[must_use]
    pub fn store(&self) -> &S {
        &self.store
    }

    /// The rules and names that the session was made with.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    fn current_message(&self) -> Option<Message<'_>> {
        let bytes = match &self.current {
            Current::Nothing => return None,
            Current::Input(range) => &self.input[range.clone()],
            Current::Queued(bytes) => bytes,
        };
        Message::parse(bytes)
            .ok()
            .flatten()
            .map(|(message, _)| message)
    }

    fn disconnect(&mut self, reason: DisconnectReason) {
        self.phase = Phase::Disconnected;
        self.notices.push_back(Notice::Disconnect(reason));
    }
}
