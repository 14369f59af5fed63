//! Opens connections, many at a time: TCP, TLS, WebSocket.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;

use feedbench_wire::deflate::Offer;
use feedbench_wire::handshake::{ClientHandshake, ClientRequest, Established, HandshakeError};
use rand::rngs::SmallRng;
use rand::Rng;

use crate::clock::Clock;
use crate::dialing::Sources;
use crate::endpoint::Endpoint;
use crate::system::take_socket_error;
use crate::tls::Tls;
use crate::transport::{receive_now, send_now, Epoll, Ready, Transport, Wait};

/// Why a connection did not open.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The system refused a socket.
    #[error("cannot make a socket: {0}")]
    Socket(io::Error),
    /// Nobody there, or nobody willing.
    #[error("cannot connect to {address}: {error}{hint}")]
    Connect {
        /// Where to.
        address: SocketAddr,
        /// What the system says.
        error: io::Error,
        /// What to try.
        hint: &'static str,
    },
    /// The peer went away before it answered.
    #[error("{0} closed the connection during the handshake")]
    Closed(SocketAddr),
    /// TLS failed.
    #[error("TLS with {0} failed: {1}")]
    Tls(SocketAddr, String),
    /// The server does not speak WebSocket as it should.
    #[error("the handshake with {0} failed: {1}")]
    Handshake(SocketAddr, HandshakeError),
    /// No answer.
    #[error("no handshake from {address} within {} ms", timeout_ns / 1_000_000)]
    Timeout {
        /// Who did not answer.
        address: SocketAddr,
        /// How long it was waited for.
        timeout_ns: u64,
    },
}

/// An open connection.
#[derive(Debug)]
pub struct Opened {
    /// The socket, non-blocking.
    pub socket: OwnedFd,
    /// The session of `wss`.
    pub tls: Option<Tls>,
    /// What was agreed.
    pub established: Established,
    /// Plain bytes that came with the answer's head.
    pub leftover: Vec<u8>,
    /// From before `connect` to the whole answer.
    pub handshake_ns: u64,
}

/// A connection on its way to being open.
#[derive(Debug)]
struct Opening {
    socket: OwnedFd,
    tls: Option<Tls>,
    handshake: ClientHandshake,
    /// True once the request is in `out` (with TLS only after the TLS handshake).
    requested: bool,
    /// Bytes for the network that it has not taken yet.
    out: Vec<u8>,
    received: Vec<u8>,
    started_ns: u64,
}

/// Opens connections to one endpoint. Any number may be under way; none waits for another.
#[derive(Debug)]
pub struct Opener {
    endpoint: Arc<Endpoint>,
    deflate: Option<Offer>,
    timeout_ns: u64,
    epoll: Epoll,
    ready: Vec<Ready>,
    openings: Vec<Option<Opening>>,
    under_way: usize,
    scratch: Box<[u8]>,
    random: SmallRng,
    sources: Sources,
    /// When time-outs are looked for next.
    next_look_ns: u64,
}

/// Between two looks for time-outs.
const LOOK_INTERVAL_NS: u64 = 20_000_000;

impl Opener {
    /// Nothing is under way yet.
    pub fn new(
        endpoint: Arc<Endpoint>,
        deflate: Option<Offer>,
        timeout_ns: u64,
        random: SmallRng,
    ) -> io::Result<Self> {
        Ok(Self {
            endpoint,
            deflate,
            timeout_ns,
            epoll: Epoll::new()?,
            ready: Vec::new(),
            openings: Vec::new(),
            under_way: 0,
            scratch: vec![0; 16 * 1024].into_boxed_slice(),
            random,
            sources: Sources::default(),
            next_look_ns: 0,
        })
    }

    /// Connections that are neither open nor failed yet.
    pub fn under_way(&self) -> usize {
        self.under_way
    }

    /// Begins to open one connection; its outcome comes from [`poll`](Self::poll) under the same token.
    pub fn start(&mut self, token: u32, now_ns: u64) -> Result<(), OpenError> {
        let index = token as usize;
        if self.openings.len() <= index {
            self.openings.resize_with(index + 1, || None);
        }
        let address = self.endpoint.address;
        let request = ClientRequest {
            host: &self.endpoint.host,
            path: &self.endpoint.path,
            key: self.random.random(),
            subprotocols: &[],
            deflate: self.deflate,
            headers: &[],
        };
        let handshake =
            ClientHandshake::new(&request).map_err(|error| OpenError::Handshake(address, error))?;
        let tls = match &self.endpoint.tls {
            Some(tls) => {
                Some(Tls::new(tls).map_err(|error| OpenError::Tls(address, error.to_string()))?)
            }
            None => None,
        };
        let socket = self.sources.connect(address)?;
        self.epoll
            .add(token, socket.as_raw_fd())
            .map_err(OpenError::Socket)?;
        let (out, received) = (Vec::new(), Vec::new());
        let mut opening = Opening {
            socket,
            tls,
            handshake,
            requested: false,
            out,
            received,
            started_ns: now_ns,
        };
        // On loopback the connection stands already, and one round through epoll is saved.
        opening.send(address)?;
        self.openings[index] = Some(opening);
        self.under_way += 1;
        Ok(())
    }

    /// Moves on whatever can be moved on, and tells what ended, well or not.
    pub fn poll(
        &mut self,
        clock: &impl Clock,
        wait: Wait,
        outcomes: &mut Vec<(u32, Result<Opened, OpenError>)>,
    ) -> io::Result<()> {
        if wait == Wait::Sleep {
            self.epoll.set_alarm(clock.now_ns() + LOOK_INTERVAL_NS);
        }
        let mut ready = std::mem::take(&mut self.ready);
        self.epoll.ready(wait, &mut ready)?;
        for Ready { token, .. } in ready.drain(..) {
            let Some(opening) = self.openings[token as usize].as_mut() else {
                continue;
            };
            match opening.drive(self.endpoint.address, &mut self.scratch) {
                Ok(None) => {}
                Ok(Some(established)) => {
                    let opened = self
                        .take(token)
                        .map(|opening| opening.opened(established, clock.now_ns()));
                    outcomes.extend(opened.map(|opened| (token, Ok(opened))));
                }
                Err(error) => {
                    self.take(token);
                    outcomes.push((token, Err(error)));
                }
            }
        }
        self.ready = ready;
        self.give_up(clock.now_ns(), outcomes);
        Ok(())
    }

    fn take(&mut self, token: u32) -> Option<Opening> {
        let opening = self.openings[token as usize].take()?;
        self.epoll.remove(token, opening.socket.as_raw_fd());
        self.under_way -= 1;
        Some(opening)
    }

    fn give_up(&mut self, now_ns: u64, outcomes: &mut Vec<(u32, Result<Opened, OpenError>)>) {
        if now_ns < self.next_look_ns {
            return;
        }
        self.next_look_ns = now_ns + LOOK_INTERVAL_NS;
        let (address, timeout_ns) = (self.endpoint.address, self.timeout_ns);
        let late = |opening: &Opening| opening.started_ns + timeout_ns < now_ns;
        for token in 0..self.openings.len() as u32 {
            if self.openings[token as usize].as_ref().is_some_and(late) {
                self.take(token);
                outcomes.push((
                    token,
                    Err(OpenError::Timeout {
                        address,
                        timeout_ns,
                    }),
                ));
            }
        }
    }
}

impl Opening {
    /// Sends and receives until nothing moves; the agreement once the server's answer is whole.
    fn drive(
        &mut self,
        address: SocketAddr,
        scratch: &mut [u8],
    ) -> Result<Option<Established>, OpenError> {
        loop {
            self.send(address)?;
            let count = match receive_now(self.socket.as_raw_fd(), scratch) {
                Ok(0) => return Err(OpenError::Closed(address)),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(connect_error(address, error)),
            };
            match &mut self.tls {
                Some(tls) => tls
                    .decrypt(&scratch[..count], &mut self.received)
                    .map_err(|error| OpenError::Tls(address, error.to_string()))?,
                None => self.received.extend_from_slice(&scratch[..count]),
            }
            if self.requested {
                let answer = self.handshake.receive(&self.received);
                if let Some(established) =
                    answer.map_err(|error| OpenError::Handshake(address, error))?
                {
                    return Ok(Some(established));
                }
            }
        }
    }

    fn send(&mut self, address: SocketAddr) -> Result<(), OpenError> {
        let tls_error = |error: io::Error| OpenError::Tls(address, error.to_string());
        if !self.requested && self.tls.as_ref().is_none_or(|tls| !tls.is_handshaking()) {
            self.requested = true;
            match &mut self.tls {
                Some(tls) => tls.encrypt(self.handshake.request()).map_err(tls_error)?,
                None => self.out.extend_from_slice(self.handshake.request()),
            }
        }
        if let Some(tls) = &mut self.tls {
            tls.drain_to(&mut self.out).map_err(tls_error)?;
        }
        if self.out.is_empty() {
            return Ok(());
        }
        match send_now(self.socket.as_raw_fd(), &self.out) {
            Ok(count) => drop(self.out.drain(..count)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => {
                // A refusal is reported by whichever call comes first.
                let error = take_socket_error(self.socket.as_raw_fd())
                    .err()
                    .unwrap_or(error);
                return Err(connect_error(address, error));
            }
        }
        Ok(())
    }

    fn opened(mut self, established: Established, now_ns: u64) -> Opened {
        let leftover = self.received.split_off(established.head_bytes);
        let handshake_ns = now_ns.saturating_sub(self.started_ns);
        Opened {
            socket: self.socket,
            tls: self.tls,
            established,
            leftover,
            handshake_ns,
        }
    }
}

/// The error of a `connect`, with what to try.
pub fn connect_error(address: SocketAddr, error: io::Error) -> OpenError {
    let hint = match error.kind() {
        io::ErrorKind::ConnectionRefused => " (is the server running, and on this port?)",
        io::ErrorKind::AddrNotAvailable => {
            " (all local ports are in use; wait a minute or use fewer connections)"
        }
        _ => "",
    };
    OpenError::Connect {
        address,
        error,
        hint,
    }
}
