//! The front: accepts, shakes hands, speaks TLS and HTTP, and hands established WebSockets and FIX connections to the
//! market thread.
//!
//! It runs on one thread of its own and shares nothing with the market thread but the [`Command`]s it sends.

mod connection;
mod listener;
mod patience;
mod service;
mod stream;
mod upgrade;

pub use listener::{bind, BindError};

use crate::seam::{Command, DoorId};
use feedbench_exchange::personality::Transport;
use feedbench_wire::deflate::Agreement;
use std::net::TcpListener;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::{oneshot, Semaphore};

/// How commands reach the market thread.
pub type Sender = Arc<dyn Fn(Command) + Send + Sync>;

/// What the front is told when it starts.
pub struct FrontConfig {
    /// Bound sockets and the personality behind each; several may lead to the same.
    pub doors: Vec<(TcpListener, DoorId)>,
    /// The same for FIX.
    pub fix_doors: Vec<(TcpListener, DoorId)>,
    /// For connections that begin with a TLS handshake; without it they are closed.
    pub tls: Option<Arc<rustls::ServerConfig>>,
    /// The answer to a WebSocket handshake waits so long.
    pub handshake_delay: Duration,
    /// What we want of permessage-deflate where a client offers it; without, every offer is declined.
    pub deflate: Option<Agreement>,
    /// How long clients may take, and how many at once.
    pub limits: Limits,
    /// The CPU that the market thread has to itself.
    pub avoid_cpu: Option<usize>,
}

/// How much patience the front has with clients.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// From accept to the end of the first request's head; TLS handshake included.
    pub first_request: Duration,
    /// Between requests of a connection, and for the heads of later ones.
    pub idle: Duration,
    /// Connections whose first request is not yet answered. More wait in the kernel's queue.
    pub handshakes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            first_request: Duration::from_secs(10),
            idle: Duration::from_secs(75),
            handshakes: 1_024,
        }
    }
}

/// What all connections share.
struct Shared {
    send: Sender,
    tls: Option<tokio_rustls::TlsAcceptor>,
    handshake_delay: Duration,
    deflate: Option<Agreement>,
    limits: Limits,
    handshakes: Arc<Semaphore>,
}

/// The running front.
pub struct Front {
    stop: oneshot::Sender<()>,
    thread: JoinHandle<()>,
}

impl Front {
    /// Starts the thread. The sockets accept from now on.
    pub fn start(config: FrontConfig, send: Sender) -> std::io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let listeners = {
            let _context = runtime.enter();
            let doors = config
                .doors
                .into_iter()
                .map(|at| (at, Transport::WebSocket));
            let fix_doors = config.fix_doors.into_iter().map(|at| (at, Transport::Fix));
            doors
                .chain(fix_doors)
                .map(|((socket, door), transport)| {
                    socket.set_nonblocking(true)?;
                    let listener = tokio::net::TcpListener::from_std(socket)?;
                    Ok((listener, door, transport))
                })
                .collect::<std::io::Result<Vec<_>>>()?
        };
        let shared = Arc::new(Shared {
            send,
            tls: config.tls.map(tokio_rustls::TlsAcceptor::from),
            handshake_delay: config.handshake_delay,
            deflate: config.deflate,
            handshakes: Arc::new(Semaphore::new(config.limits.handshakes)),
            limits: config.limits,
        });
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::Builder::new()
            .name("front".into())
            .spawn(move || {
                if let Some(cpu) = config.avoid_cpu {
                    leave_cpu(cpu);
                }
                runtime.block_on(async {
                    for (listener, door, transport) in listeners {
                        let accept = listener::accept(listener, (door, transport), shared.clone());
                        tokio::spawn(accept);
                    }
                    // Also when the handle was dropped.
                    let _ = stopped.await;
                });
            })?;
        Ok(Self { stop, thread })
    }

    /// Closes the doors and every connection that the market thread does not own.
    pub fn stop(self) {
        // The thread has ended already if nobody receives this.
        let _ = self.stop.send(());
        if self.thread.join().is_err() {
            crate::say("the front thread has panicked (see above)");
        }
    }
}

/// Takes a CPU away from this thread if that leaves it another.
fn leave_cpu(cpu: usize) {
    use nix::sched::{sched_getaffinity, sched_setaffinity, CpuSet};
    use nix::unistd::Pid;
    let this = Pid::from_raw(0);
    let Ok(mut cpus) = sched_getaffinity(this) else {
        return;
    };
    let others = (0..CpuSet::count()).any(|other| other != cpu && cpus.is_set(other) == Ok(true));
    if others && cpus.unset(cpu).is_ok() {
        // A front on the market thread's CPU is slower, not wrong.
        let _ = sched_setaffinity(this, &cpus);
    }
}
