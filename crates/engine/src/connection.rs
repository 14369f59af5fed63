//! One open WebSocket connection: frames out, answers in.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use feedbench_wire::deflate::{Compressor, Decompressor, DeflateError};
use feedbench_wire::frame::{self, FrameError, Header, Opcode};
use feedbench_wire::mask;

use crate::check::{Check, Sent};
use crate::clock::Clock;
use crate::opening::Opened;
use crate::payload::{Number, Payload};
use crate::recorder::Recorder;
use crate::stencil::{Stencil, HEARTBEAT};
use crate::tls::Tls;
use crate::transport::Transport;

/// A message beyond this is not an answer to anything that was sent.
pub const MESSAGE_LIMIT_BYTES: usize = 256 << 20;

/// Why a connection ended.
#[derive(Debug, thiserror::Error)]
pub enum ConnectionError {
    /// The end of the stream.
    #[error("the server closed the TCP connection")]
    Ended,
    /// A close frame.
    #[error("the server closed the WebSocket connection ({0})")]
    Closed(String),
    /// The system reports an error.
    #[error("the connection broke: {0}")]
    Broken(#[from] io::Error),
    /// Bytes that are no frame.
    #[error("the server broke the protocol: {0}")]
    Frame(#[from] FrameError),
    /// Frames that may not follow each other, or are masked.
    #[error("the server broke the protocol: {0}")]
    Protocol(&'static str),
    /// A compressed message that cannot be read.
    #[error("the server broke the protocol: {0}")]
    Deflate(#[from] DeflateError),
}

impl ConnectionError {
    /// The kind under which results count it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Ended | Self::Closed(_) => "closed",
            Self::Broken(_) => "broken",
            Self::Frame(_) | Self::Protocol(_) | Self::Deflate(_) => "protocol",
        }
    }
}

/// The two streams of permessage-deflate.
struct Deflate {
    compressor: Compressor,
    decompressor: Decompressor,
    plain: Vec<u8>,
    packed: Vec<u8>,
}

/// A message in several frames.
struct Fragments {
    opcode: Opcode,
    compressed: bool,
    bytes: Vec<u8>,
}

/// What rarely is there: it stays out of the way of what always is.
#[derive(Default)]
struct Layers {
    tls: Option<Tls>,
    deflate: Option<Deflate>,
    fragments: Option<Fragments>,
    plain: Vec<u8>,
}

/// An open connection with the messages on the way. Kept small: a loop over 512 of them should not wait for memory.
pub struct Connection {
    token: u32,
    socket: OwnedFd,
    /// The next message's number.
    next: Option<Number>,
    /// What was sent and is not answered yet.
    pub check: Check,
    /// Messages that answers released and that were not sent yet.
    released: usize,
    /// Intended times of messages that are due and could not be sent yet.
    due: VecDeque<u64>,
    /// Bytes for the network that it has not taken yet, from `out_start`.
    out: Vec<u8>,
    out_start: usize,
    /// The beginning of a frame whose rest is still to come.
    partial: Vec<u8>,
    layers: Option<Box<Layers>>,
}

impl Connection {
    /// A connection that has sent nothing yet; also gives the bytes that arrived with the handshake.
    pub fn new(token: u32, opened: Opened, payload: &Payload) -> (Self, Vec<u8>) {
        let deflate = opened.established.deflate.map(|agreement| Deflate {
            compressor: Compressor::new(
                agreement.client_window_bits(),
                agreement.client_no_context_takeover,
                flate2::Compression::default(),
            ),
            decompressor: Decompressor::new(
                agreement.server_window_bits(),
                agreement.server_no_context_takeover,
                MESSAGE_LIMIT_BYTES,
            ),
            plain: Vec::new(),
            packed: Vec::new(),
        });
        let layered = opened.tls.is_some() || deflate.is_some();
        let layers = layered.then(|| {
            Box::new(Layers {
                tls: opened.tls,
                deflate,
                ..Layers::default()
            })
        });
        let connection = Self {
            token,
            socket: opened.socket,
            next: payload.counter.map(|counter| counter.number(0)),
            check: Check::new(payload),
            released: 0,
            due: VecDeque::new(),
            out: Vec::new(),
            out_start: 0,
            partial: Vec::new(),
            layers,
        };
        (connection, opened.leftover)
    }

    /// The socket, for `Transport::add` and options.
    pub fn socket(&self) -> i32 {
        self.socket.as_raw_fd()
    }

    /// A message became due; it is sent by the next [`flush`](Self::flush).
    #[inline]
    pub fn push_due(&mut self, intended_ns: u64) {
        self.due.push_back(intended_ns);
    }

    /// Answers released this many messages; they are sent by the next [`flush`](Self::flush).
    #[inline]
    pub fn release(&mut self, count: usize) {
        self.released += count;
    }

    /// Forgets what answers released: the window is over.
    pub fn hold_back(&mut self) {
        self.released = 0;
    }

    /// Messages that are due or released and were not sent.
    pub fn unsent(&self) -> usize {
        self.due.len() + self.released
    }

    /// Forgets due messages that the socket did not take in time; returns how many.
    pub fn drop_due(&mut self) -> usize {
        std::mem::take(&mut self.due).len()
    }

    /// Sends all that is due or released, as far as the socket takes it. Messages that must wait stay due: they are
    /// stamped when they really leave. Allocation-free once the buffers have grown.
    #[inline]
    pub fn flush(
        &mut self,
        stencil: &mut Stencil,
        transport: &mut impl Transport,
        clock: &impl Clock,
        recorder: &mut Recorder,
    ) -> Result<(), ConnectionError> {
        loop {
            if self.out_start < self.out.len() && !self.push_out(transport)? {
                return Ok(());
            }
            let count = self.unsent();
            if count == 0 {
                return Ok(());
            }
            let now_ns = clock.now_ns();
            let count = count.min(stencil.room());
            if self.layers.is_none() {
                (0..count).for_each(|_| self.note_sent(now_ns, recorder));
                self.send_frames(count, stencil, transport)?;
            } else {
                for _ in 0..count {
                    self.note_sent(now_ns, recorder);
                    self.append_frame(stencil)?;
                }
            }
        }
    }

    /// Takes one message from the due or released ones to the messages on the way.
    #[inline]
    fn note_sent(&mut self, now_ns: u64, recorder: &mut Recorder) {
        let intended_ns = match self.due.pop_front() {
            Some(intended_ns) => intended_ns,
            // In a closed loop a message is meant to leave when the one before is answered: now.
            None => {
                self.released -= 1;
                now_ns
            }
        };
        // Due times are looked at before the clock is read, so this only guards against a clock that steps back.
        let sent_ns = now_ns.max(intended_ns);
        self.check.sent(Sent {
            intended_ns,
            sent_ns,
        });
        recorder.sent(intended_ns);
    }

    /// Hands frames to the socket without copying them first; only what it does not take is kept.
    #[inline]
    fn send_frames(
        &mut self,
        count: usize,
        stencil: &mut Stencil,
        transport: &mut impl Transport,
    ) -> Result<(), ConnectionError> {
        let frames = stencil.next_frames(count, &mut self.next, &self.check);
        let taken = match transport.send(self.token, self.socket.as_raw_fd(), frames) {
            Ok(taken) => taken,
            Err(error) if is_temporary(&error) => 0,
            Err(error) => return Err(error.into()),
        };
        if taken < frames.len() {
            self.out.extend_from_slice(&frames[taken..]);
        }
        Ok(())
    }

    /// Adds the next message's frame to `out`, compressed and encrypted as agreed.
    fn append_frame(&mut self, stencil: &mut Stencil) -> Result<(), ConnectionError> {
        let (header_bytes, key, opcode) =
            (stencil.header_bytes, stencil.key, stencil.payload.opcode);
        let frame = stencil.next_frames(1, &mut self.next, &self.check);
        let Some(layers) = &mut self.layers else {
            self.out.extend_from_slice(frame);
            return Ok(());
        };
        let Some(deflate) = &mut layers.deflate else {
            return layers.send_plain(frame, &mut self.out);
        };
        deflate.plain.clear();
        deflate.plain.extend_from_slice(&frame[header_bytes..]);
        mask::apply(key, &mut deflate.plain, 0);
        deflate.packed.clear();
        deflate
            .compressor
            .compress(&deflate.plain, &mut deflate.packed)?;
        let header = Header::message(opcode, deflate.packed.len() as u64, Some(key));
        let mut frame = std::mem::take(&mut deflate.plain);
        frame.clear();
        frame::append(
            &mut frame,
            Header {
                compressed: true,
                ..header
            },
            &deflate.packed,
        );
        layers.send_plain(&frame, &mut self.out)
    }

    /// Sends what waits in `out`; true when nothing waits any more.
    fn push_out(&mut self, transport: &mut impl Transport) -> Result<bool, ConnectionError> {
        while self.out_start < self.out.len() {
            match transport.send(
                self.token,
                self.socket.as_raw_fd(),
                &self.out[self.out_start..],
            ) {
                Ok(taken) => self.out_start += taken,
                Err(error) if is_temporary(&error) => return Ok(false),
                Err(error) => return Err(error.into()),
            }
        }
        self.out.clear();
        self.out_start = 0;
        Ok(true)
    }

    /// Takes bytes from the network and judges every whole answer in them; returns how many messages were answered.
    ///
    /// All answers of one call carry the time at which the call that received them returned: that is when the
    /// program could have seen them.
    #[inline]
    pub fn take(
        &mut self,
        sent: &Payload,
        bytes: &[u8],
        received_ns: u64,
        recorder: &mut Recorder,
    ) -> Result<usize, ConnectionError> {
        let Some(Layers {
            tls: Some(tls),
            plain,
            ..
        }) = self.layers.as_deref_mut()
        else {
            return self.take_plain(sent, bytes, received_ns, recorder);
        };
        let mut plain = std::mem::take(plain);
        plain.clear();
        tls.decrypt(bytes, &mut plain)?;
        tls.drain_to(&mut self.out)?;
        let answered = self.take_plain(sent, &plain, received_ns, recorder);
        if let Some(layers) = &mut self.layers {
            layers.plain = plain;
        }
        answered
    }

    /// The same after TLS, and for bytes that came with the handshake.
    #[inline]
    pub fn take_plain(
        &mut self,
        sent: &Payload,
        bytes: &[u8],
        received_ns: u64,
        recorder: &mut Recorder,
    ) -> Result<usize, ConnectionError> {
        if self.partial.is_empty() {
            let (used, answered) = self.take_frames(sent, bytes, received_ns, recorder)?;
            self.partial.extend_from_slice(&bytes[used..]);
            return Ok(answered);
        }
        let mut joined = std::mem::take(&mut self.partial);
        joined.extend_from_slice(bytes);
        let (used, answered) = self.take_frames(sent, &joined, received_ns, recorder)?;
        joined.drain(..used);
        self.partial = joined;
        Ok(answered)
    }

    /// Judges the whole frames at the beginning of `bytes`: how many bytes they take, how many messages they answer.
    #[inline]
    fn take_frames(
        &mut self,
        sent: &Payload,
        bytes: &[u8],
        received_ns: u64,
        recorder: &mut Recorder,
    ) -> Result<(usize, usize), ConnectionError> {
        let (mut used, mut answered) = (0, 0);
        while let Some((header, header_bytes)) = Header::parse(&bytes[used..])? {
            if header.mask.is_some() {
                return Err(ConnectionError::Protocol(
                    "a server's frames must not be masked",
                ));
            }
            if header.payload_bytes > MESSAGE_LIMIT_BYTES as u64 {
                return Err(ConnectionError::Protocol("a frame of more than 256 MiB"));
            }
            let start = used + header_bytes;
            let Some(payload) = bytes.get(start..start + header.payload_bytes as usize) else {
                break;
            };
            used = start + payload.len();
            let plain_message = header.fin && !header.compressed && !self.in_fragments();
            answered += if plain_message && matches!(header.opcode, Opcode::Text | Opcode::Binary) {
                recorder.judge(
                    self.check.answer(sent, header.opcode, payload, received_ns),
                    received_ns,
                    self.token,
                )
            } else {
                self.take_odd_frame(sent, header, payload, received_ns, recorder)?
            };
        }
        Ok((used, answered))
    }

    fn in_fragments(&self) -> bool {
        self.layers
            .as_ref()
            .is_some_and(|layers| layers.fragments.is_some())
    }

    /// Control frames, fragments and compressed messages.
    #[cold]
    fn take_odd_frame(
        &mut self,
        sent: &Payload,
        header: Header,
        payload: &[u8],
        received_ns: u64,
        recorder: &mut Recorder,
    ) -> Result<usize, ConnectionError> {
        match header.opcode {
            Opcode::Ping => return self.answer_ping(payload).map(|()| 0),
            Opcode::Pong => {
                recorder.pongs += u64::from(payload == HEARTBEAT);
                return Ok(0);
            }
            Opcode::Close => return Err(ConnectionError::Closed(close_reason(payload))),
            Opcode::Continuation | Opcode::Text | Opcode::Binary => {}
        }
        let layers = self.layers.get_or_insert_default();
        match (header.opcode, &mut layers.fragments) {
            (Opcode::Continuation, None) => {
                return Err(ConnectionError::Protocol("a continuation of nothing"))
            }
            (Opcode::Continuation, Some(fragments)) => {
                if fragments.bytes.len() + payload.len() > MESSAGE_LIMIT_BYTES {
                    return Err(ConnectionError::Protocol("a message of more than 256 MiB"));
                }
                fragments.bytes.extend_from_slice(payload);
            }
            (_, Some(_)) => return Err(ConnectionError::Protocol("a new message inside another")),
            (opcode, none) => {
                *none = Some(Fragments {
                    opcode,
                    compressed: header.compressed,
                    bytes: payload.to_vec(),
                });
            }
        }
        let Some(message) = layers.fragments.take_if(|_| header.fin) else {
            return Ok(0);
        };
        let verdict = if message.compressed {
            let not_agreed =
                ConnectionError::Protocol("a compressed message without permessage-deflate");
            let deflate = layers.deflate.as_mut().ok_or(not_agreed)?;
            deflate.plain.clear();
            deflate
                .decompressor
                .decompress(&message.bytes, true, &mut deflate.plain)?;
            self.check
                .answer(sent, message.opcode, &deflate.plain, received_ns)
        } else {
            self.check
                .answer(sent, message.opcode, &message.bytes, received_ns)
        };
        Ok(recorder.judge(verdict, received_ns, self.token))
    }

    /// Queues a control frame for the next flush. Its key needs no secret either, see [`Stencil`].
    fn queue_control(&mut self, opcode: Opcode, payload: &[u8]) -> Result<(), ConnectionError> {
        let header = Header::message(opcode, payload.len() as u64, Some([0x5a, 0xc3, 0x96, 0x3c]));
        let mut frame = Vec::new();
        frame::append(&mut frame, header, payload);
        match &mut self.layers {
            Some(layers) => layers.send_plain(&frame, &mut self.out),
            None => {
                self.out.extend_from_slice(&frame);
                Ok(())
            }
        }
    }

    /// Asks whether the other side lives; the ping leaves with the next flush.
    pub fn ping(&mut self) -> Result<(), ConnectionError> {
        self.queue_control(Opcode::Ping, HEARTBEAT)
    }

    /// Memory beyond the value itself.
    pub fn heap_bytes(&self) -> usize {
        let layers = self.layers.as_ref().map_or(0, |_| size_of::<Layers>());
        let due = self.due.capacity() * size_of::<u64>();
        self.check.heap_bytes() + due + self.out.capacity() + self.partial.capacity() + layers
    }

    /// Gives back the memory of the messages that are no longer under way.
    pub fn shrink(&mut self) {
        self.check.shrink();
        self.due.shrink_to_fit();
        self.out.shrink_to_fit();
        self.partial.shrink_to_fit();
    }

    fn answer_ping(&mut self, payload: &[u8]) -> Result<(), ConnectionError> {
        self.queue_control(Opcode::Pong, payload)
    }

    /// Queues a close frame (1000, normal closure) for the next flush.
    pub fn say_goodbye(&mut self) -> Result<(), ConnectionError> {
        self.queue_control(Opcode::Close, &1000_u16.to_be_bytes())
    }

    /// Says goodbye, if the socket takes it at once.
    pub fn close(&mut self, transport: &mut impl Transport) {
        if self.say_goodbye().is_ok() {
            // The run is over: a peer that does not listen any more misses nothing.
            let _ = self.push_out(transport);
        }
        transport.remove(self.token, self.socket.as_raw_fd());
    }
}

impl Layers {
    /// Adds a frame to the bytes for the network, through TLS if there is one.
    fn send_plain(&mut self, frame: &[u8], out: &mut Vec<u8>) -> Result<(), ConnectionError> {
        match &mut self.tls {
            None => out.extend_from_slice(frame),
            Some(tls) => {
                tls.encrypt(frame)?;
                tls.drain_to(out)?;
            }
        }
        Ok(())
    }
}

fn is_temporary(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}

/// Status and reason of a close frame as people read them.
pub fn close_reason(payload: &[u8]) -> String {
    match payload.split_first_chunk::<2>() {
        None => "without a status".to_owned(),
        Some((code, reason)) => format!(
            "status {} {}",
            u16::from_be_bytes(*code),
            String::from_utf8_lossy(reason)
        )
        .trim_end()
        .to_owned(),
    }
}
