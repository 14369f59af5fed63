//! A network namespace that lives as long as a thread of ours does: nothing has to be removed afterwards.

use nix::sched::{unshare, CloneFlags};
use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{channel, Sender};
use std::thread;

use crate::tun::bring_up;

type Job = Box<dyn FnOnce() + Send>;

/// What kept a namespace from being made.
#[derive(Debug, thiserror::Error)]
pub enum NamespaceError {
    /// The kernel, or our rights.
    #[error(
        "no network namespace can be made here (it takes root, or CAP_SYS_ADMIN and CAP_NET_ADMIN)"
    )]
    Refused(#[source] io::Error),
    /// Within it.
    #[error("the namespace's loopback device does not come up")]
    Loopback(#[source] io::Error),
    /// `congestion` names none that this kernel has, or that we may use.
    #[error("the congestion control `{name}` can't be used here; this kernel has: {available}")]
    Congestion {
        /// What was asked for.
        name: String,
        /// As the kernel lists them.
        available: String,
        /// Why not.
        source: io::Error,
    },
}

/// A namespace of its own with its loopback device up. It goes when this value and all processes in it are gone.
pub struct Namespace {
    jobs: Sender<Job>,
    thread_id: libc::pid_t,
}

impl Namespace {
    /// Makes one, empty but for `lo`; connections opened in it use `congestion` (a name as in
    /// `net.ipv4.tcp_congestion_control`), if given.
    pub fn new(congestion: Option<&str>) -> Result<Self, NamespaceError> {
        let (jobs, waiting) = channel::<Job>();
        let (ready, outcome) = channel();
        thread::spawn(move || {
            let entered = unshare(CloneFlags::CLONE_NEWNET);
            // SAFETY: gettid takes nothing and cannot fail.
            let thread_id = unsafe { libc::gettid() };
            let refused = entered.is_err();
            let _ = ready.send(entered.map(|()| thread_id));
            if !refused {
                waiting.into_iter().for_each(|job| job());
            }
        });
        let thread_id = outcome
            .recv()
            .expect("the thread answers before anything else")
            .map_err(|errno| NamespaceError::Refused(errno.into()))?;
        let namespace = Self { jobs, thread_id };
        namespace
            .run(|| bring_up("lo"))
            .map_err(NamespaceError::Loopback)?;
        if let Some(name) = congestion {
            namespace.set_congestion(name)?;
        }
        Ok(namespace)
    }

    /// Does `work` in the namespace: sockets that it opens stay there, wherever they are used.
    pub fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> T {
        let (done, result) = channel();
        let job: Job = Box::new(move || {
            let _ = done.send(work());
        });
        self.jobs.send(job).unwrap_or_else(|_| {
            unreachable!("the thread waits for as long as this value is there")
        });
        result.recv().expect("a job does not panic")
    }

    /// What `nsenter --net=` and setns(2) want, for as long as this process lives.
    #[must_use]
    pub fn file(&self) -> PathBuf {
        format!(
            "/proc/{}/task/{}/ns/net",
            std::process::id(),
            self.thread_id
        )
        .into()
    }

    fn set_congestion(&self, name: &str) -> Result<(), NamespaceError> {
        let wanted = name.to_owned();
        // /proc/sys/net is that of whoever looks at it.
        let set = || {
            let wanted = wanted.clone();
            self.run(move || fs::write("/proc/sys/net/ipv4/tcp_congestion_control", wanted))
        };
        set()
            .or_else(|error| match error.kind() {
                io::ErrorKind::PermissionDenied => while_allowed(name, set),
                _ => Err(error),
            })
            .map_err(|source| NamespaceError::Congestion {
                name: name.to_owned(),
                available: fs::read_to_string(
                    "/proc/sys/net/ipv4/tcp_available_congestion_control",
                )
                .map_or_else(|_| "unknown".to_owned(), |list| list.trim().to_owned()),
                source,
            })
    }
}

/// Outside the machine's first namespace only algorithms that it allows to all may be chosen: `name` is one of them
/// for as long as `work` takes. Connections that have chosen by then need it no more.
fn while_allowed(name: &str, work: impl Fn() -> io::Result<()>) -> io::Result<()> {
    const ALLOWED: &str = "/proc/sys/net/ipv4/tcp_allowed_congestion_control";
    let before = fs::read_to_string(ALLOWED)?;
    fs::write(ALLOWED, format!("{} {name}", before.trim()))?;
    let result = work();
    fs::write(ALLOWED, before)?;
    result
}
