//! Which sockets have something to say.

use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::Timespec;
use rustix::io::Errno;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// Events taken at once. More would only delay the next message.
const EVENTS: usize = 64;
/// The token of the bell that announces commands.
pub const BELL: u64 = u64::MAX;

/// One socket that is ready.
#[derive(Clone, Copy, Debug)]
pub struct Ready {
    /// As it was added.
    pub token: u64,
    /// Something can be read, or the other side is gone.
    pub readable: bool,
    /// There is room to write again.
    pub writable: bool,
}

/// An epoll set.
///
/// Sockets are edge-triggered: the kernel reports each once when its state changes, and one that nobody reads on
/// purpose (a half-open connection) does not come up again and again.
pub struct Poller {
    epoll: OwnedFd,
    events: Vec<Event>,
}

impl Poller {
    /// With the bell in it, which stays ready until it is read.
    pub fn new(bell: impl AsFd) -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, bell, EventData::new_u64(BELL), EventFlags::IN)?;
        Ok(Self {
            epoll,
            events: Vec::with_capacity(EVENTS),
        })
    }

    /// Adds a socket; closing it takes it out again.
    pub fn add(&self, socket: impl AsFd, token: u64) -> io::Result<()> {
        let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        Ok(epoll::add(
            &self.epoll,
            socket,
            EventData::new_u64(token),
            flags,
        )?)
    }

    /// Waits until something is ready or so much time has passed. Replaces what is in `into`.
    pub fn wait(&mut self, timeout_ns: u64, into: &mut Vec<Ready>) -> io::Result<()> {
        into.clear();
        self.events.clear();
        let timeout = Timespec {
            tv_sec: (timeout_ns / 1_000_000_000) as i64,
            tv_nsec: (timeout_ns % 1_000_000_000) as _,
        };
        let spare = rustix::buffer::spare_capacity(&mut self.events);
        match epoll::wait(&self.epoll, spare, Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        for event in &self.events {
            let flags = event.flags;
            into.push(Ready {
                token: event.data.u64(),
                readable: flags.intersects(
                    EventFlags::IN | EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR,
                ),
                writable: flags.contains(EventFlags::OUT),
            });
        }
        Ok(())
    }
}
