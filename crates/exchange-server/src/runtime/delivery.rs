//! One frame on its way to everybody who is owed it.

use super::clock::monotonic_ns;
use super::connection::{Buffers, Connection, Outcome, Phase};
use super::connections::{Connections, Place};
use super::faulty::{Deed, Meaning};
use super::sender::{Failure, Moment, Sender};
use feedbench_exchange::encode::Encode;
use feedbench_exchange::faults::FaultKind;
use feedbench_exchange::hub::{Door, Recipient};
use feedbench_exchange::ledger::EVERYBODY;
use feedbench_exchange::personality::{Frames, Transport};
use feedbench_wire::frame::{Header, Opcode, MAXIMUM_HEADER_BYTES};

/// Who got a message.
#[derive(Clone, Copy)]
pub struct Whom {
    /// Our number of the connection, or everybody.
    pub connection: u32,
    /// How many.
    pub recipients: u32,
}

/// One frame on its way.
pub struct Delivery<'a> {
    pub sender: &'a mut Sender,
    pub connections: &'a mut Connections,
    pub buffers: &'a mut Buffers,
    /// Of the door.
    pub number: usize,
    pub moment: Moment,
    /// How many got it.
    pub got: u64,
    /// Bytes of the frames that they got.
    pub framed_bytes: u64,
    /// The last of them.
    pub last: u32,
}

impl Delivery<'_> {
    /// Sends it, or holds it back. Allocates nothing.
    pub fn frame(
        &mut self,
        door: &mut dyn Door,
        index: usize,
        recipients: &[Recipient],
        meaning: Meaning,
    ) {
        let (transport, opcode) = (door.transport(), door.opcode());
        let frame = door.frames().list()[index];
        let mut wire = std::mem::take(&mut self.sender.wire);
        let mut packed = std::mem::take(&mut self.sender.packed);
        let numbered = Frames::is_numbered(&frame);
        if transport == Transport::WebSocket && !numbered {
            let parts = door.frames().parts(&frame);
            encode(&mut wire, opcode, [parts.0, parts.1, b""]);
        }
        let mut digits = std::mem::take(&mut self.sender.digits);
        self.buffers.packer.begin();
        // What was held back goes first.
        let hold = self.moment.hold || !self.sender.unsent.is_empty();
        // What is held back leaves later, when the clock is read again.
        let sent_ns = match (hold, transport) {
            (true, Transport::WebSocket) => self.moment.drawn_ns,
            _ => monotonic_ns(),
        };
        if hold {
            self.sender.note_hold(sent_ns);
        } else if self.moment.opened_ns.is_some() {
            self.sender.lag.record(meaning.scheduled_ns, sent_ns);
        }
        let mut spoiled = false;
        for recipient in recipients {
            let Some((place, connection)) =
                self.connections.of_hub(self.number, recipient.connection)
            else {
                continue;
            };
            if connection.phase != Phase::Open || self.moment.now_ns >= connection.half_open_from_ns
            {
                self.sender.dropped += 1;
                continue;
            }
            digits.clear();
            if numbered {
                digits.number(recipient.number);
            }
            if transport == Transport::Fix {
                wire.clear();
                let now = self.moment.written(sent_ns);
                door.write(index, recipient.connection, now, &mut wire);
                if wire.is_empty() {
                    self.sender.dropped += 1;
                    continue;
                }
            }
            if connection.faulty.is_some() {
                spoiled = true;
                let parts = door.frames().parts(&frame);
                let payload = match transport {
                    Transport::WebSocket => [parts.0, &digits, parts.1],
                    Transport::Fix => [&wire[..], b"", b""],
                };
                let (got, framed_bytes) = spoil(
                    self.sender,
                    self.buffers,
                    (place, connection),
                    (transport, opcode, payload),
                    meaning,
                );
                self.got += got;
                self.framed_bytes += framed_bytes;
                continue;
            }
            if numbered {
                let parts = door.frames().parts(&frame);
                encode(&mut wire, opcode, [parts.0, &digits, parts.1]);
                self.buffers.packer.begin();
            }
            self.last = connection.generation;
            let own = match &mut connection.packing {
                None => &wire,
                Some(packing) => {
                    let payload_bytes = meaning.payload_bytes as usize + digits.len();
                    let payload = &wire[wire.len() - payload_bytes..];
                    packed.clear();
                    // A stream in disorder leaves an empty frame, with which the connection ends.
                    let frame = self.buffers.packer.frame(packing, opcode, payload);
                    packed.extend_from_slice(frame.unwrap_or_default());
                    &packed
                }
            };
            let Self {
                sender,
                buffers,
                moment,
                ..
            } = self;
            let got = if own.is_empty() {
                sender.failed.push((place, Failure::Broken));
                0
            } else if hold {
                sender.hold(buffers, place, connection, own)
            } else {
                send(sender, buffers, place, connection, own, *moment)
            };
            self.got += got;
            self.framed_bytes += got * own.len() as u64;
        }
        if !spoiled && self.got > 0 {
            let whom = Whom {
                connection: self.moment.only.map_or(EVERYBODY, |_| self.last),
                recipients: self.got as u32,
            };
            if hold {
                self.sender.unsent.push((meaning, whom));
            } else {
                let ended_ns = monotonic_ns();
                self.sender.record(meaning, sent_ns, ended_ns, whom, 0);
            }
        }
        self.sender.wire = wire;
        self.sender.packed = packed;
        self.sender.digits = digits;
    }
}

/// Writes a frame over what is in `wire`.
#[inline]
fn encode(wire: &mut Vec<u8>, opcode: Opcode, parts: [&[u8]; 3]) {
    let payload_bytes: usize = parts.iter().map(|part| part.len()).sum();
    let mut header = [0; MAXIMUM_HEADER_BYTES];
    let header_bytes = Header::message(opcode, payload_bytes as u64, None).encode(&mut header);
    wire.clear();
    wire.extend_from_slice(&header[..header_bytes]);
    parts.iter().for_each(|part| wire.extend_from_slice(part));
}

/// Sends to one connection; returns how many got it.
#[inline]
fn send(
    sender: &mut Sender,
    buffers: &mut Buffers,
    place: Place,
    connection: &mut Connection,
    wire: &[u8],
    moment: Moment,
) -> u64 {
    match connection.send(wire, sender.queue_bytes, buffers) {
        Outcome::Taken => {
            if moment.opened_ns.is_none() && connection.waiting_bytes() > sender.queue_bytes / 2 {
                sender.congested.push(place);
            }
            1
        }
        Outcome::TooSlow => {
            connection.phase = Phase::Flushing;
            sender.failed.push((place, Failure::TooSlow));
            1
        }
        Outcome::Broken => {
            sender.failed.push((place, Failure::Broken));
            0
        }
    }
}

/// Passes one connection's message through its faults; returns how many messages it got, and the bytes of their frames.
fn spoil(
    sender: &mut Sender,
    buffers: &mut Buffers,
    (place, connection): (Place, &mut Connection),
    (transport, opcode, payload): (Transport, Opcode, [&[u8]; 3]),
    meaning: Meaning,
) -> (u64, u64) {
    let Some(mut faulty) = connection.faulty.take() else {
        return (0, 0);
    };
    let mut whole = std::mem::take(&mut sender.payload);
    whole.clear();
    payload
        .iter()
        .for_each(|part| whole.extend_from_slice(part));
    let (mut got, mut framed_bytes) = (0, 0);
    let mut wire = Vec::new();
    faulty.pass(&whole, meaning, |deed, meaning, fault| {
        let sent_ns = monotonic_ns();
        let (payload, sent_bytes) = match &deed {
            Deed::Send(payload) => (payload.as_slice(), payload.len()),
            Deed::LeaveOut => (&b""[..], 0),
            Deed::Cut(payload, sent_bytes) => (payload.as_slice(), *sent_bytes),
        };
        let mut recipients = 0;
        if deed != Deed::LeaveOut {
            match (transport, &mut connection.packing) {
                (Transport::WebSocket, None) => encode(&mut wire, opcode, [payload, b"", b""]),
                (Transport::WebSocket, Some(packing)) => {
                    buffers.packer.begin();
                    let packed = buffers.packer.frame(packing, opcode, payload);
                    packed.unwrap_or_default().clone_into(&mut wire);
                }
                (Transport::Fix, _) => payload.clone_into(&mut wire),
            }
            if sent_bytes < payload.len() {
                // Of a compressed frame, the same share.
                let left_out = wire.len().min(payload.len()) * (payload.len() - sent_bytes);
                wire.truncate(wire.len() - left_out.div_ceil(payload.len()));
            }
            recipients = 1;
            framed_bytes += wire.len() as u64;
            let failure = match connection.send(&wire, sender.queue_bytes, buffers) {
                Outcome::Broken => Some(Failure::Broken),
                _ if fault == FaultKind::Cut.code() => Some(Failure::Cut),
                Outcome::TooSlow => Some(Failure::TooSlow),
                Outcome::Taken => None,
            };
            if let Some(failure) = failure {
                connection.phase = Phase::Flushing;
                sender.failed.push((place, failure));
            }
        }
        got += u64::from(recipients);
        let whom = Whom {
            connection: connection.generation,
            recipients,
        };
        sender.record(meaning, sent_ns, monotonic_ns(), whom, fault);
    });
    connection.faulty = Some(faulty);
    sender.payload = whole;
    (got, framed_bytes)
}
