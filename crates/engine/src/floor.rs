//! The floor: an echo server that does as little as a server can. Started as a child by `ceiling`, `limit` and tests.
//!
//! One thread, one `recv` and one `send` per event. The path `/stamp` is answered with the clock, any other by an echo. It can also pause on purpose and keep a log of its pauses, which
//! shows what a load generator should have seen.

use std::fs::File;
use std::io::{self, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use clap::Args;
use feedbench_wire::frame::{self, Header, Opcode};
use feedbench_wire::handshake::{Acceptance, Upgrade};
use feedbench_wire::mask;

use crate::cli::duration_ns;
use crate::clock::{Clock, MonotonicClock};
use crate::system::{self, check};
use crate::transport::{receive_now, send_now, Epoll, Ready, Transport, Wait};

/// The listening socket's token, beyond any connection's.
const LISTENER: u32 = u32::MAX;
/// Connections that may wait to be accepted; the kernel lowers it to `net.core.somaxconn`.
const BACKLOG: i32 = 4096;

/// How the floor server is told what to do.
#[derive(Debug, Args)]
pub struct FloorArguments {
    /// Address to listen on; port 0 takes any and prints it
    #[arg(long, default_value = "127.0.0.1:0")]
    pub listen: SocketAddr,
    /// Echo bytes as they come, without WebSocket
    #[arg(long)]
    pub raw: bool,
    /// Bind to this CPU
    #[arg(long)]
    pub cpu: Option<usize>,
    /// Pause this long …
    #[arg(long, value_parser = duration_ns, requires = "every")]
    pub stall: Option<u64>,
    /// … at intervals of this
    #[arg(long, value_parser = duration_ns)]
    pub every: Option<u64>,
    /// Write a line `begin_ns end_ns` (CLOCK_MONOTONIC) for each pause
    #[arg(long)]
    pub stall_log: Option<PathBuf>,
}

/// Serves until SIGTERM or ^C.
pub fn run(arguments: &FloorArguments) -> Result<ExitCode> {
    if let Some(cpu) = arguments.cpu {
        system::pin_thread(cpu).with_context(|| format!("cannot run on CPU {cpu}"))?;
    }
    let interrupt = system::catch_interrupts();
    system::die_with_parent();
    let listener = TcpListener::bind(arguments.listen)
        .with_context(|| format!("cannot listen on {}", arguments.listen))?;
    // SAFETY: the descriptor belongs to `listener`. A second `listen` only changes the backlog.
    check(unsafe { libc::listen(listener.as_raw_fd(), BACKLOG) })?;
    listener.set_nonblocking(true)?;
    system::raise_file_limit(16_384).ok();
    println!("{}", listener.local_addr()?);
    let mut floor = Floor::new(&listener, arguments.raw)?;
    let mut pauses = Pauses::new(arguments)?;
    while !interrupt.load(std::sync::atomic::Ordering::Relaxed) {
        floor.serve_once(&listener, pauses.next_ns)?;
        pauses.pause_if_due()?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Pauses at fixed intervals.
struct Pauses {
    length_ns: u64,
    every_ns: u64,
    next_ns: Option<u64>,
    log: Option<File>,
}

impl Pauses {
    fn new(arguments: &FloorArguments) -> Result<Self> {
        let log = arguments.stall_log.as_ref().map(|path| {
            File::create(path).with_context(|| format!("cannot write {}", path.display()))
        });
        let every_ns = arguments.every.unwrap_or(0);
        let next_ns = arguments.stall.map(|_| MonotonicClock.now_ns() + every_ns);
        Ok(Self {
            length_ns: arguments.stall.unwrap_or(0),
            every_ns,
            next_ns,
            log: log.transpose()?,
        })
    }

    fn pause_if_due(&mut self) -> io::Result<()> {
        let begin_ns = MonotonicClock.now_ns();
        let Some(next_ns) = self.next_ns.filter(|&next_ns| next_ns <= begin_ns) else {
            return Ok(());
        };
        std::thread::sleep(std::time::Duration::from_nanos(self.length_ns));
        self.next_ns = Some(next_ns + self.every_ns);
        match &mut self.log {
            Some(log) => writeln!(log, "{begin_ns} {}", MonotonicClock.now_ns()),
            None => Ok(()),
        }
    }
}

struct Client {
    socket: OwnedFd,
    upgraded: bool,
    /// Answers with the clock, as `/stamp` wants it.
    stamps: bool,
    /// Bytes received and not answered yet.
    pending: Vec<u8>,
    /// Bytes of the answer that the socket did not take.
    out: Vec<u8>,
}

struct Floor {
    epoll: Epoll,
    clients: Vec<Option<Client>>,
    free: Vec<u32>,
    ready: Vec<Ready>,
    buffer: Box<[u8]>,
    raw: bool,
}

impl Floor {
    fn new(listener: &TcpListener, raw: bool) -> io::Result<Self> {
        let mut epoll = Epoll::new()?;
        epoll.add(LISTENER, listener.as_raw_fd())?;
        let buffer = vec![0; 256 << 10].into_boxed_slice();
        Ok(Self {
            epoll,
            clients: Vec::new(),
            free: Vec::new(),
            ready: Vec::new(),
            buffer,
            raw,
        })
    }

    /// Waits for events until `alarm_ns` and serves them.
    fn serve_once(&mut self, listener: &TcpListener, alarm_ns: Option<u64>) -> io::Result<()> {
        if let Some(alarm_ns) = alarm_ns {
            self.epoll.set_alarm(alarm_ns);
        }
        let mut ready = std::mem::take(&mut self.ready);
        self.epoll.ready(Wait::Sleep, &mut ready)?;
        for Ready { token, .. } in ready.drain(..) {
            if token == LISTENER {
                self.accept(listener)?;
            } else if self.echo(token).is_err() {
                if let Some(client) = self.clients[token as usize].take() {
                    self.epoll.remove(token, client.socket.as_raw_fd());
                    self.free.push(token);
                }
            }
        }
        self.ready = ready;
        Ok(())
    }

    fn accept(&mut self, listener: &TcpListener) -> io::Result<()> {
        loop {
            // SAFETY: no address is asked for; the descriptor that comes back is ours alone.
            let descriptor = unsafe {
                let flags = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
                libc::accept4(
                    listener.as_raw_fd(),
                    std::ptr::null_mut(),
                    std::ptr::null_mut(),
                    flags,
                )
            };
            if descriptor < 0 {
                return Ok(());
            }
            // SAFETY: just accepted and owned by nobody else.
            let socket = unsafe { OwnedFd::from_raw_fd(descriptor) };
            system::set_option(descriptor, libc::IPPROTO_TCP, libc::TCP_NODELAY, 1)?;
            system::set_congestion_control(descriptor);
            let token = self.free.pop().unwrap_or_else(|| {
                self.clients.push(None);
                self.clients.len() as u32 - 1
            });
            self.epoll.add(token, descriptor)?;
            self.clients[token as usize] = Some(Client {
                socket,
                upgraded: self.raw,
                stamps: false,
                pending: Vec::new(),
                out: Vec::new(),
            });
        }
    }

    fn echo(&mut self, token: u32) -> io::Result<()> {
        let Some(client) = self.clients[token as usize].as_mut() else {
            return Ok(());
        };
        client.push_out()?;
        loop {
            let count = match receive_now(client.socket.as_raw_fd(), &mut self.buffer) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            };
            let bytes = &mut self.buffer[..count];
            if self.raw {
                client.send(bytes)?;
            } else if client.upgraded && !client.stamps && client.pending.is_empty() {
                let (used, answer) = echo_frames(bytes)?;
                client.pending.extend_from_slice(&bytes[used..]);
                client.send(&bytes[answer])?;
            } else {
                client.pending.extend_from_slice(bytes);
                client.answer_pending()?;
            }
            if count < self.buffer.len() {
                return Ok(());
            }
        }
    }
}

impl Client {
    fn answer_pending(&mut self) -> io::Result<()> {
        let mut pending = std::mem::take(&mut self.pending);
        if !self.upgraded {
            let Some(upgrade) = Upgrade::parse(&pending).map_err(io::Error::other)? else {
                self.pending = pending;
                return Ok(());
            };
            let mut answer = Acceptance::default().encode(&upgrade);
            self.stamps = upgrade.path == "/stamp";
            if self.stamps {
                append_stamp(&mut answer, 0);
            }
            self.send(&answer)?;
            pending.drain(..upgrade.head_bytes);
            self.upgraded = true;
        }
        let (used, answer) = echo_frames(&mut pending)?;
        if self.stamps {
            let stamps = stamp_frames(&pending[answer])?;
            self.send(&stamps)?;
        } else {
            self.send(&pending[answer])?;
        }
        pending.drain(..used);
        self.pending = pending;
        Ok(())
    }

    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        let taken = match self.out.is_empty() && !bytes.is_empty() {
            true => match send_now(self.socket.as_raw_fd(), bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
                outcome => outcome?,
            },
            false => 0,
        };
        self.out.extend_from_slice(&bytes[taken..]);
        Ok(())
    }

    fn push_out(&mut self) -> io::Result<()> {
        if self.out.is_empty() {
            return Ok(());
        }
        match send_now(self.socket.as_raw_fd(), &self.out) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
            outcome => outcome.map(|taken| drop(self.out.drain(..taken))),
        }
    }
}

/// Turns a client's whole frames into a server's in place: unmasked, and moved to the front, since without its key
/// each answer is shorter than its question. Returns how many bytes were used and where the answer stands.
fn echo_frames(bytes: &mut [u8]) -> io::Result<(usize, std::ops::Range<usize>)> {
    let (mut used, mut written) = (0, 0);
    while let Some((header, header_bytes)) =
        Header::parse(&bytes[used..]).map_err(io::Error::other)?
    {
        let length = header.payload_bytes as usize;
        let start = used + header_bytes;
        if bytes.len() < start + length {
            break;
        }
        if header.opcode == Opcode::Close {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        let opcode = if header.opcode == Opcode::Ping {
            Opcode::Pong
        } else {
            header.opcode
        };
        let answer = Header {
            mask: None,
            opcode,
            ..header
        };
        let mut encoded = [0; frame::MAXIMUM_HEADER_BYTES];
        let answer_bytes = answer.encode(&mut encoded);
        bytes[written..written + answer_bytes].copy_from_slice(&encoded[..answer_bytes]);
        bytes.copy_within(start..start + length, written + answer_bytes);
        written += answer_bytes;
        if let Some(key) = header.mask {
            mask::apply(key, &mut bytes[written..written + length], 0);
        }
        written += length;
        used = start + length;
    }
    Ok((used, 0..written))
}

/// Answers to questions that [`echo_frames`] has unmasked.
fn stamp_frames(mut questions: &[u8]) -> io::Result<Vec<u8>> {
    let mut answers = Vec::new();
    while let Some((header, header_bytes)) = Header::parse(questions).map_err(io::Error::other)? {
        let end = header_bytes + header.payload_bytes as usize;
        let (frame, rest) = questions.split_at(end);
        match header.opcode {
            Opcode::Pong => answers.extend_from_slice(frame),
            _ => {
                let question: Question = serde_json::from_slice(&frame[header_bytes..])?;
                append_stamp(&mut answers, question.c);
            }
        }
        questions = rest;
    }
    Ok(answers)
}

/// What `/stamp` is asked.
#[derive(serde::Deserialize)]
struct Question {
    c: u64,
}

/// Adds the answer to message `count`, or the greeting.
fn append_stamp(answers: &mut Vec<u8>, count: u64) {
    let unix = SystemTime::now().duration_since(UNIX_EPOCH);
    let unix_s = unix.map_or(0, |since| since.as_secs());
    let text = format!("{{\"c\":{count},\"ts\":{unix_s}}}");
    let header = Header::message(Opcode::Text, text.len() as u64, None);
    frame::append(answers, header, text.as_bytes());
}
