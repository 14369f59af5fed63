//! The hot path: what a door made goes to everybody who is owed it, now or with what is due next, and is recorded.

use super::clock::monotonic_ns;
use super::connection::{Buffers, Connection, Outcome, Phase};
use super::connections::{Connections, Place};
use super::delivery::{Delivery, Whom};
use super::faulty::Meaning;
use super::ledger_thread::LedgerThread;
use super::totals::{DoorTotals, Lag};
use feedbench_exchange::hub::{ConnectionId, Door, Recipient};
use feedbench_exchange::ledger::{Sent, EVERYBODY};
use feedbench_exchange::personality::StreamId;
use feedbench_exchange::time::ExchangeClock;

/// Held back for so long at most, while more is due already.
const HOLD_NS: u64 = 20_000;
/// And so much for one connection.
const HOLD_BYTES: usize = 16_384;
/// A stream that the ledger has not heard of.
const UNNAMED: u32 = u32::MAX;

/// Why a connection cannot go on as before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// More waits for it than may.
    TooSlow,
    /// Its socket is of no use.
    Broken,
    /// It ends in the middle of a frame, on purpose.
    Cut,
}

/// When what is being sent was due.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// Time of the market.
    pub now_ns: u64,
    /// On the machine's clock; of an unpaced run, when it was made.
    pub scheduled_ns: u64,
    /// The machine's clock as it was read last.
    pub drawn_ns: u64,
    /// When the market opened; `None` in an unpaced run, whose times of the market mean nothing on the clock.
    pub opened_ns: Option<u64>,
    /// What the exchange's wall clock shows.
    pub clock: ExchangeClock,
    /// Whether messages are held back until all that is due was made, so that each connection gets its own in one
    /// write: a sender that is late catches up sooner so, and of one event's messages none waits for another's write.
    pub hold: bool,
    /// Whether there is more that is due already; what is held back then waits for it, [`HOLD_NS`] at most.
    pub more: bool,
    /// The only one who gets anything, while subscribers take turns.
    pub only: Option<ConnectionId>,
}

impl Moment {
    /// The market's time of what is written at this time of the machine, and its clock: a FIX message tells when it was
    /// sent.
    pub fn written(&self, sent_ns: u64) -> (u64, ExchangeClock) {
        let now_ns = match self.opened_ns {
            Some(opened_ns) => sent_ns.saturating_sub(opened_ns).max(self.now_ns),
            None => self.now_ns,
        };
        (now_ns, self.clock)
    }
}

/// See the module.
pub struct Sender {
    pub ledger: Option<LedgerThread>,
    pub lag: Lag,
    /// Messages that went to somebody or into the ledger.
    pub messages: u64,
    /// Times that messages left together.
    pub flushes: u64,
    /// Messages that somebody should have got and did not.
    pub dropped: u64,
    /// Who failed during the last delivery.
    pub failed: Vec<(Place, Failure)>,
    /// Who has more waiting than half of the bound, in an unpaced run.
    pub congested: Vec<Place>,
    pub(super) queue_bytes: usize,
    /// Whose queues hold something back.
    held: Vec<Place>,
    /// Their messages, which have yet to leave.
    pub(super) unsent: Vec<(Meaning, Whom)>,
    held_since_ns: u64,
    held_enough: bool,
    /// The ledger's numbers of streams, by door and the door's own number.
    streams: Vec<Vec<u32>>,
    named: u32,
    pub(super) wire: Vec<u8>,
    /// The same, compressed for one connection.
    pub(super) packed: Vec<u8>,
    /// A connection's own number.
    pub(super) digits: Vec<u8>,
    /// Payload of a message that is about to be spoiled.
    pub(super) payload: Vec<u8>,
    recipients: Vec<Recipient>,
}

impl Sender {
    pub fn new(doors: usize, queue_bytes: usize, ledger: Option<LedgerThread>) -> Self {
        Self {
            ledger,
            lag: Lag::new(),
            messages: 0,
            flushes: 0,
            dropped: 0,
            failed: Vec::new(),
            congested: Vec::new(),
            queue_bytes,
            held: Vec::new(),
            unsent: Vec::new(),
            held_since_ns: 0,
            held_enough: false,
            streams: vec![Vec::new(); doors],
            named: 0,
            wire: Vec::new(),
            packed: Vec::new(),
            digits: Vec::new(),
            payload: Vec::new(),
            recipients: Vec::new(),
        }
    }

    /// Sends the frames that a door made last. Allocates nothing but for clients that lag behind or are spoiled.
    pub fn deliver(
        &mut self,
        number: usize,
        door: &mut dyn Door,
        connections: &mut Connections,
        buffers: &mut Buffers,
        moment: Moment,
        totals: &mut DoorTotals,
    ) {
        for index in 0..door.frames().list().len() {
            let mut recipients = std::mem::take(&mut self.recipients);
            recipients.clear();
            door.recipients(index, moment.only, moment.now_ns, &mut recipients);
            if !recipients.is_empty() {
                let meaning = self.meaning(number, &*door, index, moment);
                let mut delivery = Delivery {
                    sender: self,
                    connections,
                    buffers,
                    number,
                    moment,
                    got: 0,
                    framed_bytes: 0,
                    last: EVERYBODY,
                };
                delivery.frame(&mut *door, index, &recipients, meaning);
                let got = delivery.got;
                totals.framed_bytes_sent += delivery.framed_bytes;
                totals.messages_sent += got;
                totals.bytes_sent += got * u64::from(meaning.payload_bytes);
            }
            self.recipients = recipients;
        }
        if !moment.more || self.held_enough {
            self.flush(connections, moment.opened_ns.is_some());
        }
    }

    /// Sends what was held back.
    pub fn flush(&mut self, connections: &mut Connections, paced: bool) {
        if self.unsent.is_empty() {
            return;
        }
        let sent_ns = monotonic_ns();
        for place in self.held.drain(..) {
            let Some(connection) = connections.get(place) else {
                continue;
            };
            connection.is_held = false;
            let outcome = connection.flush();
            let waiting_bytes = connection.waiting_bytes();
            if outcome == Outcome::Broken {
                self.failed.push((place, Failure::Broken));
            } else if waiting_bytes > self.queue_bytes {
                connection.phase = Phase::Flushing;
                self.failed.push((place, Failure::TooSlow));
            } else if !paced && waiting_bytes > self.queue_bytes / 2 {
                self.congested.push(place);
            }
        }
        let ended_ns = monotonic_ns();
        self.flushes += 1;
        let mut unsent = std::mem::take(&mut self.unsent);
        for (meaning, whom) in unsent.drain(..) {
            if paced {
                self.lag.record(meaning.scheduled_ns, sent_ns);
            }
            self.record(meaning, sent_ns, ended_ns, whom, 0);
        }
        self.unsent = unsent;
        self.held_enough = false;
    }

    /// What the ledger will say of a frame. The payload's CRC-32 costs about 20 ns for 200 bytes; without a ledger it
    /// is left out.
    fn meaning(&mut self, number: usize, door: &dyn Door, index: usize, moment: Moment) -> Meaning {
        let frames = door.frames();
        let frame = &frames.list()[index];
        let (before, after) = frames.parts(frame);
        let payload_crc32 = if self.ledger.is_some() {
            let mut crc32 = crc32fast::Hasher::new();
            crc32.update(before);
            crc32.update(after);
            crc32.finalize()
        } else {
            0
        };
        Meaning {
            stream: self.ledger_stream(number, door, frame.stream),
            sequence: frame.sequence,
            born_ns: moment
                .opened_ns
                .map_or(moment.scheduled_ns, |opened_ns| opened_ns + frame.born_ns),
            scheduled_ns: moment.scheduled_ns,
            payload_bytes: (before.len() + after.len()) as u32,
            payload_crc32,
        }
    }

    #[inline]
    fn ledger_stream(&mut self, number: usize, door: &dyn Door, stream: StreamId) -> u32 {
        let known = &mut self.streams[number];
        let index = stream.0 as usize;
        if known.len() <= index {
            known.resize(index + 1, UNNAMED);
        }
        if known[index] == UNNAMED {
            known[index] = self.named;
            self.named += 1;
            if let Some(ledger) = &mut self.ledger {
                let name = format!("{} {}", door.name(), door.stream_name(stream));
                ledger.name_stream(known[index], name);
            }
        }
        known[index]
    }

    /// Something is about to be held back.
    pub(super) fn note_hold(&mut self, now_ns: u64) {
        if self.unsent.is_empty() {
            self.held_since_ns = now_ns;
        }
        self.held_enough |= now_ns.saturating_sub(self.held_since_ns) > HOLD_NS;
    }

    /// Holds a frame back; returns how many will get it.
    #[inline]
    pub(super) fn hold(
        &mut self,
        buffers: &mut Buffers,
        place: Place,
        connection: &mut Connection,
        wire: &[u8],
    ) -> u64 {
        if connection.hold(wire, buffers) == Outcome::Broken {
            self.failed.push((place, Failure::Broken));
            return 0;
        }
        if !std::mem::replace(&mut connection.is_held, true) {
            self.held.push(place);
        }
        self.held_enough |= connection.waiting_bytes() > HOLD_BYTES.min(self.queue_bytes / 2);
        1
    }

    /// Adds a message to the ledger.
    #[inline]
    pub(super) fn record(
        &mut self,
        meaning: Meaning,
        sent_ns: u64,
        ended_ns: u64,
        whom: Whom,
        fault: u8,
    ) {
        self.messages += 1;
        if let Some(ledger) = &mut self.ledger {
            let spread_ns = ended_ns - sent_ns;
            ledger.append(Sent {
                stream: meaning.stream,
                born_ns: meaning.born_ns,
                scheduled_ns: meaning.scheduled_ns,
                sent_ns,
                spread_ns: u32::try_from(spread_ns).unwrap_or(u32::MAX),
                sequence: meaning.sequence,
                connection: whom.connection,
                recipients: whom.recipients,
                payload_bytes: meaning.payload_bytes,
                payload_crc32: meaning.payload_crc32,
                fault,
            });
        }
    }
}
