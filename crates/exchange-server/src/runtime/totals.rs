//! What a market thread did, all told.

use feedbench_record::{ExactHistogram, Summary};
use serde::Serialize;

/// One door.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DoorTotals {
    /// Name of its personality.
    pub name: String,
    /// Connections that it accepted.
    pub connections: u64,
    /// WebSocket requests that it refused.
    pub refusals: u64,
    /// REST requests that it answered.
    pub rest_requests: u64,
    /// Messages of clients.
    pub messages_received: u64,
    /// Messages of streams, counted once for each recipient.
    pub messages_sent: u64,
    /// Payload bytes of those, as they are before compression.
    pub bytes_sent: u64,
    /// Bytes of those as WebSocket frames, compressed where that was agreed on, or as FIX messages; without TLS.
    pub framed_bytes_sent: u64,
    /// Clients that were parted with because they read too slowly.
    pub slow_consumers: u64,
    /// Clients that were parted with because they broke the protocol.
    pub violations: u64,
}

/// What was asked for as a socket's send buffer, and what the kernel made of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct SendBuffer {
    /// As asked.
    pub asked_bytes: Option<usize>,
    /// As read back from the first connection; Linux doubles what was asked, for its own use.
    pub found_bytes: usize,
}

/// Everything, as a value for the run's record.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Totals {
    /// Of this structure.
    pub schema: u32,
    /// False if messages left as fast as they could: then `send_lag_ns` says nothing and is empty.
    pub paced: bool,
    /// When the market opened, `CLOCK_MONOTONIC`; `null` if it never did.
    pub opened_ns: Option<u64>,
    /// Time of the market that passed.
    pub duration_ns: u64,
    /// Events of the market, or messages of a replay.
    pub events: u64,
    /// Messages of streams that went to at least one client or into the ledger.
    pub messages: u64,
    /// By door, in the order of their numbers.
    pub doors: Vec<DoorTotals>,
    /// Most connections at a time.
    pub connections_at_once: usize,
    /// Messages that were not sent because a connection was half open or had been cut.
    pub dropped: u64,
    /// From when a message should have left until its first write began.
    pub send_lag_ns: Option<Summary>,
    /// Of the sockets; `null` without connections.
    pub send_buffer: Option<SendBuffer>,
    /// Times that an unpaced market waited for a client to take what it was owed.
    pub pauses: u64,
    /// Records of the ledger.
    pub ledger_records: u64,
    /// Most records that waited for the disk at a time.
    pub ledger_backlog: u64,
}

/// The clock's part of the totals while the thread runs.
pub(super) struct Lag {
    histogram: ExactHistogram,
}

impl Lag {
    pub(super) fn new() -> Self {
        Self {
            histogram: ExactHistogram::new(),
        }
    }

    /// Counts a message that should have left and one moment at which it did.
    pub(super) fn record(&mut self, scheduled_ns: u64, sent_ns: u64) {
        self.histogram.record(sent_ns.saturating_sub(scheduled_ns));
    }

    pub(super) fn summary(&self) -> Summary {
        self.histogram.summary()
    }
}
