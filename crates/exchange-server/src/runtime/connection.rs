//! One client's socket, and what waits for it.

use super::faulty::Faulty;
use super::packer::{Packer, Packing};
use feedbench_exchange::hub::ConnectionId;
use feedbench_exchange::inbound::Inbound;
use feedbench_wire::frame::{append, Header, Opcode};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};

/// A drained queue larger than this gives its memory back.
const KEPT_QUEUE_BYTES: usize = 4_096;

/// What became of bytes that were to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Sent, or waiting within the bound.
    Taken,
    /// More waits than may.
    TooSlow,
    /// The socket is of no use any more.
    Broken,
}

/// How far a connection's end has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Not at all.
    Open,
    /// Our close frame is on its way; the client's has yet to come.
    AwaitingClose,
    /// Nothing is expected of the client any more; what waits is sent, then the socket is shut.
    Flushing,
    /// The socket is shut on our side; the client has yet to shut its own.
    Shut,
}

/// Shared by all connections, so that an idle one needs no buffer of its own.
#[derive(Default)]
pub struct Buffers {
    /// Bytes from a socket.
    raw: Vec<u8>,
    /// What TLS made of them.
    plain: Vec<u8>,
    /// What TLS made of bytes to be sent.
    sealed: Vec<u8>,
    /// Compresses messages to be sent.
    pub packer: Packer,
}

impl Buffers {
    pub fn for_reading() -> Self {
        Self {
            raw: vec![0; 1 << 16],
            ..Self::default()
        }
    }

    pub fn for_writing() -> Self {
        Self::default()
    }
}

/// One connection, from its acceptance until its socket is closed.
pub struct Connection {
    /// Number of its door.
    pub door: u16,
    /// The hub's number of it; meaningless once the hub has closed it.
    pub id: ConnectionId,
    /// Whether the hub knows it.
    pub in_hub: bool,
    /// Our own number, never used again: the ledger's number of the connection.
    pub generation: u32,
    /// Time of the market at which it falls silent for good.
    pub half_open_from_ns: u64,
    /// Time of the market from which it gets no pings and heartbeats.
    pub mute_from_ns: u64,
    /// What spoils its messages.
    pub faulty: Option<Box<Faulty>>,
    /// What came of a message so far.
    pub inbound: Inbound,
    /// How its messages are compressed, if they are.
    pub packing: Option<Packing>,
    /// How far its end has come.
    pub phase: Phase,
    socket: Option<TcpStream>,
    tls: Option<Box<rustls::ServerConnection>>,
    /// The socket took less than it was offered and has not said since that there is room.
    blocked: bool,
    /// Whether its queue holds what is to leave with the messages that are made next.
    pub is_held: bool,
    /// Bytes that wait, from `queue_sent` on: for TLS sealed ones, but plain ones before there is a socket.
    queue: Vec<u8>,
    queue_sent: usize,
}

impl Connection {
    /// Accepted, without a socket yet.
    pub fn pending(door: u16, id: ConnectionId, generation: u32) -> Self {
        Self {
            door,
            id,
            in_hub: true,
            generation,
            half_open_from_ns: u64::MAX,
            mute_from_ns: u64::MAX,
            faulty: None,
            inbound: Inbound::default(),
            packing: None,
            phase: Phase::Open,
            socket: None,
            tls: None,
            blocked: false,
            is_held: false,
            queue: Vec::new(),
            queue_sent: 0,
        }
    }

    /// The socket is there: sends what has waited for it. Appends what TLS has read beyond the handshake.
    pub fn attach(
        &mut self,
        socket: TcpStream,
        mut tls: Option<Box<rustls::ServerConnection>>,
        leftover: &mut Vec<u8>,
        buffers: &mut Buffers,
    ) -> Outcome {
        if let Some(tls) = &mut tls {
            // Each message is taken out of the session at once; its usual limit would only cut large ones.
            tls.set_buffer_limit(None);
            if open_records(tls, leftover).is_err() {
                return Outcome::Broken;
            }
        }
        self.socket = Some(socket);
        self.tls = tls;
        let waiting = std::mem::take(&mut self.queue);
        self.send(&waiting, usize::MAX, buffers)
    }

    /// The socket, once there is one.
    pub fn socket(&self) -> Option<&TcpStream> {
        self.socket.as_ref()
    }

    /// Bytes that wait.
    pub fn waiting_bytes(&self) -> usize {
        self.queue.len() - self.queue_sent
    }

    /// Sends whole frames, or lets what does not fit wait. Allocates only when something must wait.
    #[inline]
    pub fn send(&mut self, frames: &[u8], bound_bytes: usize, buffers: &mut Buffers) -> Outcome {
        match self.seal(frames, buffers) {
            Some(bytes) => self.send_sealed(bytes, bound_bytes),
            None => Outcome::Broken,
        }
    }

    /// Puts whole frames where [`Connection::flush`] will find them.
    #[inline]
    pub fn hold(&mut self, frames: &[u8], buffers: &mut Buffers) -> Outcome {
        match self.seal(frames, buffers) {
            Some(bytes) => {
                self.queue.extend_from_slice(bytes);
                Outcome::Taken
            }
            None => Outcome::Broken,
        }
    }

    /// Frames as the socket is to get them.
    #[inline]
    fn seal<'a>(&mut self, frames: &'a [u8], buffers: &'a mut Buffers) -> Option<&'a [u8]> {
        let Some(tls) = &mut self.tls else {
            return Some(frames);
        };
        let sealed = &mut buffers.sealed;
        sealed.clear();
        tls.writer().write_all(frames).ok()?;
        drain(tls, sealed).ok()?;
        Some(sealed)
    }

    #[inline]
    fn send_sealed(&mut self, bytes: &[u8], bound_bytes: usize) -> Outcome {
        let mut sent = 0;
        if let (Some(socket), true) = (&self.socket, self.queue.is_empty()) {
            match send_now(socket, bytes) {
                Ok(count) if count == bytes.len() => return Outcome::Taken,
                Ok(count) => sent = count,
                Err(Errno::AGAIN) => {}
                Err(_) => return Outcome::Broken,
            }
            self.blocked = true;
        }
        self.queue.extend_from_slice(&bytes[sent..]);
        match self.waiting_bytes() <= bound_bytes {
            true => Outcome::Taken,
            false => Outcome::TooSlow,
        }
    }

    /// There is room in the socket again.
    pub fn unblock(&mut self) {
        self.blocked = false;
    }

    /// Sends what waits, as far as the socket takes it.
    pub fn flush(&mut self) -> Outcome {
        let Some(socket) = self.socket.as_ref().filter(|_| !self.blocked) else {
            return Outcome::Taken;
        };
        while self.queue_sent < self.queue.len() {
            match send_now(socket, &self.queue[self.queue_sent..]) {
                Ok(count) => self.queue_sent += count,
                Err(Errno::AGAIN) => {
                    self.blocked = true;
                    // A queue that is never quite empty must not keep all that it ever held.
                    if self.queue_sent > self.queue.len() / 2 {
                        self.queue.drain(..self.queue_sent);
                        self.queue_sent = 0;
                    }
                    return Outcome::Taken;
                }
                Err(_) => return Outcome::Broken,
            }
        }
        self.queue.clear();
        self.queue_sent = 0;
        self.queue.shrink_to(KEPT_QUEUE_BYTES);
        Outcome::Taken
    }

    /// Sends a frame of its own: an answer, a ping, a close.
    pub fn send_frame(&mut self, opcode: Opcode, payload: &[u8], buffers: &mut Buffers) -> Outcome {
        let mut frame = Vec::with_capacity(payload.len() + 10);
        match self.packing.as_mut().filter(|_| !opcode.is_control()) {
            None => {
                let header = Header::message(opcode, payload.len() as u64, None);
                append(&mut frame, header, payload);
            }
            Some(packing) => {
                buffers.packer.begin();
                match buffers.packer.frame(packing, opcode, payload) {
                    Some(packed) => frame.extend_from_slice(packed),
                    None => return Outcome::Broken,
                }
            }
        }
        // Answers are not what a queue's bound is for; a client that floods us is limited by its personality.
        self.send(&frame, usize::MAX, buffers)
    }

    /// Reads once and hands over what there was: `None` if there is nothing now, an empty slice at the end of the
    /// stream or before TLS has a whole record.
    pub fn receive<'a>(&mut self, buffers: &'a mut Buffers) -> io::Result<Option<Received<'a>>> {
        let Some(socket) = &self.socket else {
            return Ok(None);
        };
        let count = match rustix::net::recv(socket, &mut buffers.raw[..], RecvFlags::DONTWAIT) {
            Ok((count, _)) => count,
            Err(Errno::AGAIN) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let ended = count == 0;
        let Some(tls) = &mut self.tls else {
            return Ok(Some(Received {
                bytes: &mut buffers.raw[..count],
                ended,
            }));
        };
        buffers.plain.clear();
        let mut wire = &buffers.raw[..count];
        while !wire.is_empty() {
            tls.read_tls(&mut wire)?;
            open_records(tls, &mut buffers.plain)?;
        }
        buffers.sealed.clear();
        drain(tls, &mut buffers.sealed)?;
        if self.send_sealed(&buffers.sealed, usize::MAX) == Outcome::Broken {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        Ok(Some(Received {
            bytes: &mut buffers.plain,
            ended,
        }))
    }

    /// Tells the other side that nothing more will come. Call it when nothing waits.
    pub fn shut(&mut self, buffers: &mut Buffers) {
        if let Some(tls) = &mut self.tls {
            tls.send_close_notify();
            let _ = self.send(&[], usize::MAX, buffers);
        }
        if let Some(socket) = &self.socket {
            // Fails only where the other side is gone already.
            let _ = socket.shutdown(Shutdown::Write);
        }
    }
}

/// What [`Connection::receive`] found.
pub struct Received<'a> {
    /// Plain bytes.
    pub bytes: &'a mut [u8],
    /// The client will send nothing more.
    pub ended: bool,
}

/// Appends the plain bytes of the records that are whole.
fn open_records(tls: &mut rustls::ServerConnection, plain: &mut Vec<u8>) -> io::Result<()> {
    let state = tls.process_new_packets().map_err(io::Error::other)?;
    let start = plain.len();
    plain.resize(start + state.plaintext_bytes_to_read(), 0);
    tls.reader().read_exact(&mut plain[start..])
}

fn drain(tls: &mut rustls::ServerConnection, sealed: &mut Vec<u8>) -> io::Result<()> {
    while tls.wants_write() {
        tls.write_tls(sealed)?;
    }
    Ok(())
}

#[inline]
fn send_now(socket: &TcpStream, bytes: &[u8]) -> Result<usize, Errno> {
    if bytes.is_empty() {
        return Ok(0);
    }
    rustix::net::send(socket, bytes, SendFlags::NOSIGNAL | SendFlags::DONTWAIT)
}
