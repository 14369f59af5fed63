//! Waiting for signals and for the end of the market thread, without waking up in between.

use nix::errno::Errno;
use nix::poll::{poll, PollFd, PollFlags, PollTimeout};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use std::os::fd::{AsFd, BorrowedFd};

/// What ended the wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// A signal to end, or to pass on.
    Signal {
        /// Which.
        signal: Signal,
        /// Typed at the terminal, which sends it to all programs in the foreground.
        from_terminal: bool,
    },
    /// A child has ended.
    Child,
    /// The other end of the watched pipe was closed.
    Closed,
}

/// Signals that are delivered here and nowhere else.
pub struct Signals(SignalFd);

/// Those that end a run.
const ENDING: [Signal; 3] = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP];

fn set() -> SigSet {
    let mut set: SigSet = ENDING.into_iter().collect();
    set.add(Signal::SIGCHLD);
    set
}

impl Signals {
    /// Before any thread is started, since threads inherit what is blocked.
    pub fn block() -> nix::Result<Self> {
        set().thread_block()?;
        let flags = SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK;
        Ok(Self(SignalFd::with_flags(&set(), flags)?))
    }

    /// For a child, which gets signals as usual. Safe between fork and exec.
    pub fn unblock_in_child() -> nix::Result<()> {
        set().thread_unblock()
    }

    /// Waits for a signal, or for the writing end of `pipe` to be closed.
    pub fn wait(&self, pipe: Option<BorrowedFd<'_>>) -> nix::Result<Woken> {
        loop {
            if let Some(info) = self.0.read_signal()? {
                let Ok(signal) = Signal::try_from(info.ssi_signo as i32) else {
                    continue;
                };
                return Ok(match signal {
                    Signal::SIGCHLD => Woken::Child,
                    signal => Woken::Signal {
                        signal,
                        from_terminal: info.ssi_code == libc::SI_KERNEL,
                    },
                });
            }
            let mut watched: Vec<PollFd<'_>> = [Some(self.0.as_fd()), pipe]
                .into_iter()
                .flatten()
                .map(|fd| PollFd::new(fd, PollFlags::POLLIN))
                .collect();
            match poll(&mut watched, PollTimeout::NONE) {
                Err(Errno::EINTR) => continue,
                other => other?,
            };
            // Signals first: they were read above when both have come.
            let happened = |fd: &PollFd<'_>| fd.revents().is_some_and(|events| !events.is_empty());
            if !happened(&watched[0]) && watched.get(1).is_some_and(happened) {
                return Ok(Woken::Closed);
            }
        }
    }
}
