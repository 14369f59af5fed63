//! Receives and sends through io_uring: one system call for a whole batch of both.

use std::collections::VecDeque;
use std::io;
use std::os::fd::RawFd;

use io_uring::{opcode, squeue, types, IoUring};

use super::{Ready, Transport, Wait};
use crate::clock::{Clock, MonotonicClock};

/// Entries of the submission queue; a batch beyond it is submitted in parts.
const ENTRIES: u32 = 1024;
/// Bytes received at once per connection.
const RECEIVE_BYTES: usize = 64 << 10;
/// What a completion belongs to, above the token in its user data.
const RECEIVED: u64 = 0;
const SENT: u64 = 1 << 32;

/// One connection's buffers. The kernel reads and writes them between submission and completion, so they live on
/// the heap, do not move, and stay until `remove` has seen the last completion.
struct Lane {
    socket: RawFd,
    receive: Box<[u8]>,
    /// What the last completion brought.
    arrived: Option<io::Result<usize>>,
    /// How much of it was handed out.
    taken: usize,
    receiving: bool,
    send: Vec<u8>,
    sent: usize,
    sending: bool,
    failure: Option<io::Error>,
    /// The loop heard "would block" and has to be told when the send ends.
    blocked: bool,
}

/// A ring, and a lane for each connection.
///
/// Sends are queued and go to the kernel with the next wait: with N ready connections one system call takes the place
/// of N receives, N sends and a wait.
pub struct Uring {
    ring: IoUring,
    lanes: Vec<Option<Box<Lane>>>,
    queued: VecDeque<squeue::Entry>,
    /// Found while waiting for something else.
    found: Vec<Ready>,
    alarm_ns: u64,
}

impl Uring {
    /// A ring, or a clear word why the kernel has none.
    pub fn new() -> io::Result<Self> {
        let ring = IoUring::builder()
            .setup_coop_taskrun()
            .build(ENTRIES)
            .or_else(|_| IoUring::new(ENTRIES));
        let ring = ring.map_err(|error| {
            let text = format!(
                "this kernel gives no io_uring ({error}): use --transport epoll or busy-poll"
            );
            io::Error::new(error.kind(), text)
        })?;
        Ok(Self {
            ring,
            lanes: Vec::new(),
            queued: VecDeque::new(),
            found: Vec::new(),
            alarm_ns: u64::MAX,
        })
    }

    fn lane(&mut self, token: u32) -> Option<&mut Lane> {
        self.lanes.get_mut(token as usize)?.as_deref_mut()
    }

    fn queue_receive(&mut self, token: u32) {
        let Some(lane) = self.lane(token) else { return };
        lane.receiving = true;
        let (buffer, length) = (lane.receive.as_mut_ptr(), lane.receive.len() as u32);
        let entry = opcode::Recv::new(types::Fd(lane.socket), buffer, length).build();
        self.queued
            .push_back(entry.user_data(RECEIVED | u64::from(token)));
    }

    fn queue_send(&mut self, token: u32) {
        let Some(lane) = self.lane(token) else { return };
        lane.sending = true;
        let rest = &lane.send[lane.sent..];
        let entry = opcode::Send::new(types::Fd(lane.socket), rest.as_ptr(), rest.len() as u32);
        let entry = entry.flags(libc::MSG_NOSIGNAL).build();
        self.queued
            .push_back(entry.user_data(SENT | u64::from(token)));
    }

    /// Hands everything queued to the kernel, and waits if that is wanted.
    fn submit(&mut self, wait: Wait) -> io::Result<()> {
        while let Some(entry) = self.queued.pop_front() {
            // SAFETY: the entry points into a lane's buffers, which stay in place until its completion is seen.
            while unsafe { self.ring.submission().push(&entry) }.is_err() {
                self.ring.submit()?;
            }
        }
        let outcome = match wait {
            Wait::Poll => self.ring.submit(),
            Wait::Sleep => {
                let left_ns = self.alarm_ns.saturating_sub(MonotonicClock.now_ns());
                let left = types::Timespec::new()
                    .sec(left_ns / 1_000_000_000)
                    .nsec((left_ns % 1_000_000_000) as u32);
                self.ring
                    .submitter()
                    .submit_with_args(1, &types::SubmitArgs::new().timespec(&left))
            }
        };
        match outcome {
            Ok(_) => Ok(()),
            // The alarm, a signal, or completions that must be taken first: the caller looks at the queue next.
            Err(error)
                if matches!(
                    error.raw_os_error(),
                    Some(libc::ETIME | libc::EINTR | libc::EBUSY)
                ) =>
            {
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    fn take_completions(&mut self) {
        loop {
            let next = self.ring.completion().next();
            let Some(entry) = next else { return };
            let (kind, token, result) = (
                entry.user_data() & SENT,
                entry.user_data() as u32,
                entry.result(),
            );
            let outcome = if result < 0 {
                Err(io::Error::from_raw_os_error(-result))
            } else {
                Ok(result as usize)
            };
            if kind == RECEIVED {
                self.received(token, outcome);
            } else {
                self.sent(token, outcome);
            }
        }
    }

    fn received(&mut self, token: u32, outcome: io::Result<usize>) {
        let Some(lane) = self.lane(token) else { return };
        lane.receiving = false;
        lane.arrived = Some(outcome);
        lane.taken = 0;
        self.found.push(Ready {
            token,
            readable: true,
            writable: false,
            ended: false,
        });
    }

    fn sent(&mut self, token: u32, outcome: io::Result<usize>) {
        let Some(lane) = self.lane(token) else { return };
        lane.sending = false;
        match outcome {
            Ok(count) => lane.sent += count,
            Err(error) => lane.failure = Some(error),
        }
        if lane.failure.is_none() && lane.sent < lane.send.len() {
            self.queue_send(token);
        } else if std::mem::take(&mut lane.blocked) || lane.failure.is_some() {
            self.found.push(Ready {
                token,
                readable: false,
                writable: true,
                ended: false,
            });
        }
    }
}

impl Transport for Uring {
    fn add(&mut self, token: u32, socket: RawFd) -> io::Result<()> {
        let index = token as usize;
        if self.lanes.len() <= index {
            self.lanes.resize_with(index + 1, || None);
        }
        self.lanes[index] = Some(Box::new(Lane {
            socket,
            receive: vec![0; RECEIVE_BYTES].into_boxed_slice(),
            arrived: None,
            taken: 0,
            receiving: false,
            send: Vec::new(),
            sent: 0,
            sending: false,
            failure: None,
            blocked: false,
        }));
        self.queue_receive(token);
        Ok(())
    }

    /// Ends both directions, so that what is under way completes at once, and waits for that: only then may the
    /// buffers go.
    fn remove(&mut self, token: u32, socket: RawFd) {
        if self.submit(Wait::Poll).is_err() {
            // The ring is broken, and nobody can tell what the kernel still holds: better to lose the memory.
            std::mem::forget(self.lanes.get_mut(token as usize).and_then(Option::take));
            return;
        }
        // SAFETY: no pointers; an error means that the connection has ended already.
        unsafe { libc::shutdown(socket, libc::SHUT_RDWR) };
        while self
            .lane(token)
            .is_some_and(|lane| lane.receiving || lane.sending)
        {
            if self.submit(Wait::Poll).is_err() {
                std::mem::forget(self.lanes.get_mut(token as usize).and_then(Option::take));
                return;
            }
            self.take_completions();
        }
        if let Some(lane) = self.lanes.get_mut(token as usize) {
            *lane = None;
        }
        self.found.retain(|ready| ready.token != token);
    }

    fn ready(&mut self, wait: Wait, into: &mut Vec<Ready>) -> io::Result<()> {
        let wait = if self.found.is_empty() {
            wait
        } else {
            Wait::Poll
        };
        self.submit(wait)?;
        self.take_completions();
        into.append(&mut self.found);
        Ok(())
    }

    fn receive(&mut self, token: u32, _socket: RawFd, into: &mut [u8]) -> io::Result<usize> {
        let Some(lane) = self.lane(token) else {
            return Err(io::ErrorKind::NotConnected.into());
        };
        let count = match lane.arrived.take() {
            None => return Err(io::ErrorKind::WouldBlock.into()),
            Some(Ok(0)) => return Ok(0),
            Some(outcome) => outcome?,
        };
        let rest = &lane.receive[lane.taken..count];
        let given = rest.len().min(into.len());
        into[..given].copy_from_slice(&rest[..given]);
        lane.taken += given;
        if lane.taken < count {
            lane.arrived = Some(Ok(count));
        } else {
            self.queue_receive(token);
        }
        Ok(given)
    }

    fn send(&mut self, token: u32, _socket: RawFd, bytes: &[u8]) -> io::Result<usize> {
        let Some(lane) = self.lane(token) else {
            return Err(io::ErrorKind::NotConnected.into());
        };
        if let Some(error) = lane.failure.take() {
            return Err(error);
        }
        if lane.sending {
            lane.blocked = true;
            return Err(io::ErrorKind::WouldBlock.into());
        }
        lane.send.clear();
        lane.send.extend_from_slice(bytes);
        lane.sent = 0;
        self.queue_send(token);
        Ok(bytes.len())
    }

    fn set_alarm(&mut self, at_ns: u64) {
        self.alarm_ns = at_ns;
    }
}

impl Drop for Uring {
    fn drop(&mut self) {
        for token in 0..self.lanes.len() as u32 {
            if let Some(socket) = self.lane(token).map(|lane| lane.socket) {
                self.remove(token, socket);
            }
        }
    }
}
