//! The least that a load generator on epoll can do: the same bytes, counted and not looked at, and no clock.
//!
//! It is the yardstick of `ceiling` (raw TCP) and of `limit` (WebSocket frames built beforehand).

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use feedbench_record::ExactHistogram;
use feedbench_wire::handshake::{ClientHandshake, ClientRequest};

use crate::clock::{Clock, MonotonicClock};
use crate::system::{self, check};
use crate::transport::{receive_now, send_now};

/// Bytes received at once.
const RECEIVE_BYTES: usize = 256 << 10;
/// The token of the timer that ends a run.
const TIMER: u64 = u64::MAX;

/// What travels.
#[derive(Debug, Clone)]
pub struct RawMessage {
    /// One message as it goes out.
    pub question: Vec<u8>,
    /// How many bytes come back for it.
    pub answer_bytes: usize,
}

struct RawConnection {
    socket: TcpStream,
    /// Bytes of an answer that is not whole yet.
    part_bytes: usize,
    /// Messages on the way.
    waiting: usize,
    /// When they left; only filled when latency is wanted.
    sent_ns: VecDeque<u64>,
}

/// Connections in a closed loop without framing, check or histogram.
pub struct RawLoop {
    epoll: OwnedFd,
    timer: OwnedFd,
    connections: Vec<RawConnection>,
    message: RawMessage,
    in_flight: usize,
    /// `in_flight` questions in a row, to send any number of them at once.
    questions: Vec<u8>,
    buffer: Vec<u8>,
}

impl RawLoop {
    /// Connects; `path` is given for a WebSocket server, whose handshake is then done first.
    pub fn connect(
        address: SocketAddr,
        path: Option<&str>,
        connections: u32,
        in_flight: u32,
        message: RawMessage,
    ) -> io::Result<Self> {
        // SAFETY: no pointers; the descriptors that come back are ours alone.
        let (epoll, timer) = unsafe {
            let epoll = check(libc::epoll_create1(libc::EPOLL_CLOEXEC))?;
            let timer = libc::timerfd_create(
                libc::CLOCK_MONOTONIC,
                libc::TFD_CLOEXEC | libc::TFD_NONBLOCK,
            );
            (
                OwnedFd::from_raw_fd(epoll),
                OwnedFd::from_raw_fd(check(timer)?),
            )
        };
        add(&epoll, timer.as_raw_fd(), TIMER)?;
        let mut opened = Vec::new();
        for token in 0..u64::from(connections) {
            let mut socket = TcpStream::connect(address)?;
            socket.set_nodelay(true)?;
            system::set_congestion_control(socket.as_raw_fd());
            if let Some(path) = path {
                shake_hands(&mut socket, &address.to_string(), path)?;
            }
            socket.set_nonblocking(true)?;
            add(&epoll, socket.as_raw_fd(), token)?;
            opened.push(RawConnection {
                socket,
                part_bytes: 0,
                waiting: 0,
                sent_ns: VecDeque::new(),
            });
        }
        let in_flight = in_flight as usize;
        let questions = message.question.repeat(in_flight);
        Ok(Self {
            epoll,
            timer,
            connections: opened,
            message,
            in_flight,
            questions,
            buffer: vec![0; RECEIVE_BYTES],
        })
    }

    /// Runs for `length_ns`, then waits for the missing answers. Returns the answers that came before the end and the
    /// time until then.
    pub fn run(&mut self, length_ns: u64) -> io::Result<(u64, u64)> {
        self.run_with::<false>(length_ns, &mut ExactHistogram::new())
    }

    /// The same with two reads of the clock for each message, and its latency.
    pub fn run_stamped(
        &mut self,
        length_ns: u64,
        latency: &mut ExactHistogram,
    ) -> io::Result<(u64, u64)> {
        self.run_with::<true>(length_ns, latency)
    }

    fn run_with<const STAMPED: bool>(
        &mut self,
        length_ns: u64,
        latency: &mut ExactHistogram,
    ) -> io::Result<(u64, u64)> {
        let began_ns = MonotonicClock.now_ns();
        self.set_timer(length_ns)?;
        for index in 0..self.connections.len() {
            self.send::<STAMPED>(index, self.in_flight)?;
        }
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; 256];
        let (mut answers, mut waiting) = (0_u64, self.connections.len() * self.in_flight);
        let mut end = None;
        while waiting > 0 {
            // SAFETY: `events` has room for as many events as are asked for.
            let count = unsafe {
                libc::epoll_wait(
                    self.epoll.as_raw_fd(),
                    events.as_mut_ptr(),
                    events.len() as i32,
                    -1,
                )
            };
            for event in &events[..usize::try_from(count).unwrap_or(0)] {
                if event.u64 == TIMER {
                    self.set_timer(0)?;
                    end = Some((answers, MonotonicClock.now_ns() - began_ns));
                    continue;
                }
                let index = event.u64 as usize;
                let count = self.receive::<STAMPED>(index, latency)?;
                answers += count as u64;
                waiting -= count;
                if end.is_none() && count > 0 {
                    self.send::<STAMPED>(index, count)?;
                    waiting += count;
                }
            }
        }
        Ok(end.unwrap_or((answers, MonotonicClock.now_ns() - began_ns)))
    }

    /// How many answers became whole.
    fn receive<const STAMPED: bool>(
        &mut self,
        index: usize,
        latency: &mut ExactHistogram,
    ) -> io::Result<usize> {
        let connection = &mut self.connections[index];
        let bytes = match receive_now(connection.socket.as_raw_fd(), &mut self.buffer) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(0),
            Err(error) => return Err(error),
        };
        let held = connection.part_bytes + bytes;
        connection.part_bytes = held % self.message.answer_bytes;
        let count = held / self.message.answer_bytes;
        connection.waiting -= count;
        if STAMPED {
            let received_ns = MonotonicClock.now_ns();
            connection
                .sent_ns
                .drain(..count)
                .for_each(|sent_ns| latency.record(received_ns - sent_ns));
        }
        Ok(count)
    }

    /// Sends `count` questions. At most `in_flight` are ever on the way, which a socket buffer takes at once unless
    /// they are very large; then this waits for room, as there is nothing else to do.
    fn send<const STAMPED: bool>(&mut self, index: usize, count: usize) -> io::Result<()> {
        let connection = &mut self.connections[index];
        connection.waiting += count;
        if STAMPED {
            let sent_ns = MonotonicClock.now_ns();
            connection
                .sent_ns
                .extend(std::iter::repeat_n(sent_ns, count));
        }
        let mut rest = &self.questions[..count * self.message.question.len()];
        while !rest.is_empty() {
            match send_now(connection.socket.as_raw_fd(), rest) {
                Ok(taken) => rest = &rest[taken..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => std::thread::yield_now(),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Rings once after `length_ns`; 0 silences it.
    fn set_timer(&mut self, length_ns: u64) -> io::Result<()> {
        let zero = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let length = libc::timespec {
            tv_sec: (length_ns / 1_000_000_000) as libc::time_t,
            tv_nsec: (length_ns % 1_000_000_000) as libc::c_long,
        };
        let timer = libc::itimerspec {
            it_interval: zero,
            it_value: length,
        };
        // SAFETY: `timer` outlives the call; no old value is asked for.
        check(unsafe {
            libc::timerfd_settime(self.timer.as_raw_fd(), 0, &timer, std::ptr::null_mut())
        })
        .map(drop)
    }
}

fn add(epoll: &OwnedFd, socket: RawFd, token: u64) -> io::Result<()> {
    let mut event = libc::epoll_event {
        events: libc::EPOLLIN as u32,
        u64: token,
    };
    // SAFETY: `event` outlives the call, and the kernel checks the descriptors.
    check(unsafe { libc::epoll_ctl(epoll.as_raw_fd(), libc::EPOLL_CTL_ADD, socket, &mut event) })
        .map(drop)
}

/// The bytes of an upgrade request, as every raw connection sends them.
pub fn upgrade_request(host: &str, path: &str) -> io::Result<ClientHandshake> {
    let request = ClientRequest {
        host,
        path,
        key: *b"feedbench raw...",
        subprotocols: &[],
        deflate: None,
        headers: &[],
    };
    ClientHandshake::new(&request).map_err(io::Error::other)
}

fn shake_hands(socket: &mut TcpStream, host: &str, path: &str) -> io::Result<()> {
    let handshake = upgrade_request(host, path)?;
    socket.write_all(handshake.request())?;
    let mut received = Vec::new();
    let mut byte = [0_u8];
    // Byte by byte, so that nothing behind the head is swallowed; it happens once per connection.
    while handshake
        .receive(&received)
        .map_err(io::Error::other)?
        .is_none()
    {
        socket.read_exact(&mut byte)?;
        received.push(byte[0]);
    }
    Ok(())
}
