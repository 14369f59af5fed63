//! Carries packets between two namespaces, each direction by its own link.

use feedbench_record::{ExactHistogram, Summary};
use nix::errno::Errno;
use nix::poll::{ppoll, PollFd, PollFlags};
use nix::sys::time::TimeSpec;
use serde::Serialize;
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use crate::link::{Account, Link, Shape};
use crate::namespace::{Namespace, NamespaceError};
use crate::tun::Tun;

/// The addresses of the two ends, each in its namespace.
pub const ADDRESSES: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 77, 0, 1), Ipv4Addr::new(10, 77, 0, 2)];
const DEVICE: &str = "path0";
const LONGEST_PACKET_BYTES: usize = 1 << 16;
/// Packets that are read in a row before those that are due have their turn.
const READ_AT_ONCE: usize = 64;

/// What keeps a path from being laid.
#[derive(Debug, thiserror::Error)]
pub enum PathError {
    /// An end of it.
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    /// Its devices.
    #[error("no TUN device can be made here (it takes /dev/net/tun and CAP_NET_ADMIN)")]
    Tun(#[source] io::Error),
    /// While it ran.
    #[error("the path broke while carrying packets")]
    Carrying(#[source] io::Error),
}

/// What a direction has done.
#[derive(Clone, Debug, Serialize)]
pub struct Carried {
    /// Packets and bytes.
    #[serde(flatten)]
    pub account: Account,
    /// How long after its time each packet was handed over: the emulator's own fault.
    pub lateness_ns: Summary,
}

/// What lies between two namespaces.
pub struct Path {
    devices: [Tun; 2],
    links: [Link; 2],
    lateness: [ExactHistogram; 2],
    started: Instant,
}

impl Path {
    /// Lays a path; returns its ends, with [`ADDRESSES`], too. `shapes[0]` is from the first end to the second;
    /// `congestion` is for connections at both.
    pub fn lay(
        shapes: [Shape; 2],
        congestion: Option<&str>,
        seed: u64,
    ) -> Result<(Self, [Namespace; 2]), PathError> {
        let ends = [Namespace::new(congestion)?, Namespace::new(congestion)?];
        let open = |end: usize| {
            ends[end]
                .run(move || Tun::open(DEVICE, ADDRESSES[end]))
                .map_err(PathError::Tun)
        };
        let devices = [open(0)?, open(1)?];
        let path = Self {
            devices,
            links: [
                Link::new(shapes[0], seed),
                Link::new(shapes[1], seed ^ u64::MAX),
            ],
            lateness: [ExactHistogram::new(), ExactHistogram::new()],
            started: Instant::now(),
        };
        Ok((path, ends))
    }

    /// Carries packets until `stop` can be read.
    pub fn carry(&mut self, stop: BorrowedFd<'_>) -> Result<(), PathError> {
        let mut buffer = vec![0; LONGEST_PACKET_BYTES];
        while !self.wait(stop).map_err(PathError::Carrying)? {
            for from in 0..2 {
                self.take_in(from, &mut buffer)
                    .map_err(PathError::Carrying)?;
                self.hand_over(from);
            }
        }
        Ok(())
    }

    /// What each direction has done so far.
    #[must_use]
    pub fn carried(&self) -> [Carried; 2] {
        [0, 1].map(|direction| Carried {
            account: self.links[direction].account(),
            lateness_ns: Summary::from(&self.lateness[direction]),
        })
    }

    /// Sleeps until a packet comes or is due; whether `stop` can be read.
    fn wait(&self, stop: BorrowedFd<'_>) -> io::Result<bool> {
        let next_ns = self.links.iter().filter_map(Link::next_due_ns).min();
        let patience =
            next_ns.map(|due_ns| Duration::from_nanos(due_ns.saturating_sub(self.now_ns())));
        let mut watched = [
            PollFd::new(stop, PollFlags::POLLIN),
            PollFd::new(self.devices[0].as_fd(), PollFlags::POLLIN),
            PollFd::new(self.devices[1].as_fd(), PollFlags::POLLIN),
        ];
        match ppoll(&mut watched, patience.map(TimeSpec::from_duration), None) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        Ok(watched[0]
            .revents()
            .is_some_and(|events| !events.is_empty()))
    }

    fn take_in(&mut self, from: usize, buffer: &mut [u8]) -> io::Result<()> {
        for _ in 0..READ_AT_ONCE {
            let Some(bytes) = self.devices[from].read(buffer)? else {
                break;
            };
            let now_ns = self.now_ns();
            self.links[from].admit(now_ns, buffer[..bytes].to_vec());
        }
        Ok(())
    }

    fn hand_over(&mut self, from: usize) {
        while let Some((due_ns, packet)) = self.links[from].take_due(self.now_ns()) {
            self.devices[1 - from].write(&packet);
            self.lateness[from].record(self.now_ns() - due_ns);
        }
    }

    fn now_ns(&self) -> u64 {
        self.started.elapsed().as_nanos() as u64
    }
}
