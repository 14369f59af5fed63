//! Starting a market thread, reaching it, and waiting for its end.

use super::config::RuntimeConfig;
use super::market_thread::MarketThread;
use super::totals::Totals;
use crate::seam::Command;
use feedbench_exchange::market::ConfigError;
use rustix::event::{eventfd, EventfdFlags};
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::mpsc::{channel, Sender};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

/// Why a market thread did not start, or did not end well.
#[derive(Debug, thiserror::Error)]
pub enum RuntimeError {
    /// No market can be made of the configuration.
    #[error("the market cannot open")]
    Market(#[from] ConfigError),
    /// Nobody could connect.
    #[error("an exchange needs at least one door")]
    NoDoors,
    /// Slices outside of what can be measured.
    #[error("slices of {0} ns are not between 1 ms and 10 s")]
    Slice(u64),
    /// The ledger could not be begun or went wrong.
    #[error("the ledger {path} cannot be written")]
    Ledger {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The CPU does not exist or is not allowed.
    #[error("cannot run on CPU {cpu}")]
    Cpu {
        /// As asked for.
        cpu: usize,
        /// Why.
        source: io::Error,
    },
    /// The kernel refused something that the thread cannot do without.
    #[error("cannot {what}")]
    System {
        /// What was tried.
        what: &'static str,
        /// Why it failed.
        source: io::Error,
    },
    /// A defect of this program.
    #[error("the market thread panicked; its message stands above")]
    Panicked,
}

/// The market thread has ended and takes no more commands; the command comes back.
#[derive(Debug, thiserror::Error)]
#[error("the market thread has ended")]
pub struct Gone(pub Box<Command>);

impl std::fmt::Debug for Command {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Open { .. } => "Open",
            Self::Connect(..) => "Connect",
            Self::Attach(..) => "Attach",
            Self::Abandon(_) => "Abandon",
            Self::Rest { .. } => "Rest",
            Self::Stop => "Stop",
        })
    }
}

/// The way to a market thread; cheap to clone.
#[derive(Clone)]
pub struct Commands {
    queue: Sender<Command>,
    bell: Arc<OwnedFd>,
}

impl Commands {
    /// Sends a command and wakes the thread.
    pub fn send(&self, command: Command) -> Result<(), Gone> {
        self.queue
            .send(command)
            .map_err(|error| Gone(Box::new(error.0)))?;
        // Fails only when 2^64 - 2 bells have not been heard; the thread is then awake.
        let _ = rustix::io::write(&*self.bell, &1_u64.to_ne_bytes());
        Ok(())
    }
}

/// A running market thread.
pub struct RuntimeHandle {
    commands: Commands,
    handshake_delay: Duration,
    thread: JoinHandle<Result<Totals, RuntimeError>>,
}

impl RuntimeHandle {
    /// The way to the thread.
    pub fn commands(&self) -> Commands {
        self.commands.clone()
    }

    /// How long the answer to a WebSocket request waits, by the fault plan.
    pub fn handshake_delay(&self) -> Duration {
        self.handshake_delay
    }

    /// True once the thread has ended, by [`Command::Stop`], by its limit or by an error.
    pub fn is_finished(&self) -> bool {
        self.thread.is_finished()
    }

    /// Waits for the end.
    pub fn join(self) -> Result<Totals, RuntimeError> {
        self.thread.join().unwrap_or(Err(RuntimeError::Panicked))
    }
}

/// Starts a market thread; it is ready when this returns.
pub fn spawn(config: RuntimeConfig) -> Result<RuntimeHandle, RuntimeError> {
    let system = |what| {
        move |error: rustix::io::Errno| RuntimeError::System {
            what,
            source: error.into(),
        }
    };
    let bell = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)
        .map_err(system("make an eventfd"))?;
    let bell = Arc::new(bell);
    let (queue, commands) = channel();
    let (ready, started) = channel();
    let handshake_delay = Duration::from_nanos(config.faults.handshake_delay_ns);
    let own_bell = bell.clone();
    let run = move || match MarketThread::new(config, commands, own_bell) {
        Ok(thread) => {
            // The other side waits for it, unless it is gone itself.
            let _ = ready.send(());
            thread.run()
        }
        Err(error) => Err(error),
    };
    let thread = std::thread::Builder::new()
        .name("market".to_owned())
        .spawn(run)
        .map_err(|source| RuntimeError::System {
            what: "start the market thread",
            source,
        })?;
    let handle = RuntimeHandle {
        commands: Commands { queue, bell },
        handshake_delay,
        thread,
    };
    match started.recv() {
        Ok(()) => Ok(handle),
        // It ended before it was ready: its error says why.
        Err(_) => match handle.join() {
            Err(error) => Err(error),
            Ok(_) => Err(RuntimeError::Panicked),
        },
    }
}
