//! What the feed clients share: command line, environment, record and ends (`spec/feed.md`).

mod decode;
#[cfg(feature = "poll")]
mod poll;
#[cfg(feature = "relay")]
mod relay;
mod settings;
mod sink;
mod sqlite;
mod stamps;

use std::path::{Path, PathBuf};
use std::process::exit;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::time::{clock_gettime, ClockId};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

#[cfg(feature = "poll")]
pub use poll::{Answer, Poll};
#[cfg(feature = "relay")]
pub use relay::{Relay, Upstream};
pub use settings::{Abilities, Settings};
use sink::Sink;
pub use sink::{Kind, Moment};

const FAILED: i32 = 1;
const EXIT_FILE_EVERY: Duration = Duration::from_millis(250);
/// A peer that does not answer the close frame is left after that.
const CLOSING_AT_MOST: Duration = Duration::from_secs(1);

/// One connection to one exchange, from the command line to the exit status.
pub struct Feed {
    /// The command line and the environment.
    pub settings: Settings,
    shared: Arc<Shared>,
}

struct Shared {
    /// Locked while a message is recorded, and from the last record on.
    sink: Mutex<Box<dyn Sink>>,
    output: String,
    is_connected: AtomicBool,
    is_ending: AtomicBool,
    #[cfg(feature = "tokio")]
    asked: tokio::sync::Notify,
}

fn fail(line: &str) -> ! {
    eprintln!("{}", line.lines().next().unwrap_or_default());
    exit(FAILED)
}

impl Feed {
    /// Reads the settings and opens the sink; a wrong setting ends the process.
    pub fn open(target: &'static str, abilities: Abilities) -> Self {
        let settings = Settings::read(target, abilities);
        let sink = sink::open(&settings).unwrap_or_else(|error| {
            fail(&format!("cannot write {}: {error}", settings.output));
        });
        let shared = Shared::start(sink, &settings.output, settings.exit_file.clone());
        Self { settings, shared }
    }

    /// The handshake is done.
    pub fn connected(&self) {
        self.shared.write(|sink| sink.connected(Moment::now()));
        self.shared.is_connected.store(true, Ordering::SeqCst);
    }

    /// When a message was handed over: the first thing to ask for.
    #[inline]
    pub fn now(&self) -> Moment {
        Moment::after(self.settings.delay)
    }

    /// Records a message.
    pub fn record(&self, at: Moment, kind: Kind, payload: &[u8]) {
        self.shared.write(|sink| sink.message(at, kind, payload));
        if self.settings.parse {
            self.settings.decoder.decode(kind, payload);
        }
        if self.settings.log_messages {
            println!("{}", String::from_utf8_lossy(payload));
        }
    }

    /// Whether the handshake, or the logon, was ever done.
    pub fn is_connected(&self) -> bool {
        self.shared.is_connected.load(Ordering::SeqCst)
    }

    /// Whether SIGTERM or the exit file have asked for the end, and it is time for the closing handshake.
    pub fn is_ending(&self) -> bool {
        self.shared.is_ending.load(Ordering::SeqCst)
    }

    /// Comes back when SIGTERM or the exit file have asked for the end.
    #[cfg(feature = "tokio")]
    pub async fn asked_to_end(&self) {
        self.shared.asked.notified().await;
    }

    /// Ends the process: there was no connection.
    pub fn cannot_connect(&self, error: impl std::fmt::Display) -> ! {
        fail(&format!("cannot connect to {}: {error}", self.settings.url))
    }

    /// Ends the process: the exchange has sent a close frame.
    pub fn closed(&self, code: u16, reason: &str) -> ! {
        self.end(format!("closed: {code} {reason}").trim_end())
    }

    /// Ends the process: the connection broke.
    pub fn lost(&self, error: impl std::fmt::Display) -> ! {
        self.end(&format!("lost: {error}"))
    }

    /// Ends the process: the exchange has ended the session, which `reason` tells in one line.
    pub fn ended(&self, reason: &str) -> ! {
        self.end(reason)
    }

    fn end(&self, reason: &str) -> ! {
        match self.is_ending() {
            true => self.shared.finish(""),
            false => self.shared.finish(reason),
        }
    }
}

impl Shared {
    /// Watches for SIGTERM and the exit file from now on.
    fn start(sink: Box<dyn Sink>, output: &str, exit_file: Option<PathBuf>) -> Arc<Self> {
        let shared = Arc::new(Self {
            sink: Mutex::new(sink),
            output: output.to_owned(),
            is_connected: AtomicBool::new(false),
            is_ending: AtomicBool::new(false),
            #[cfg(feature = "tokio")]
            asked: tokio::sync::Notify::new(),
        });
        let signals = Signals::new([SIGTERM, SIGINT]).unwrap_or_else(|error| {
            fail(&format!("cannot wait for SIGTERM: {error}"));
        });
        let watching = Arc::clone(&shared);
        thread::spawn(move || watching.end_when_asked(signals, exit_file.as_deref()));
        shared
    }

    fn lock(&self) -> MutexGuard<'_, Box<dyn Sink>> {
        self.sink.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, step: impl FnOnce(&mut dyn Sink) -> Result<(), sink::Error>) {
        self.written(step(self.lock().as_mut()));
    }

    fn written(&self, outcome: Result<(), sink::Error>) {
        if let Err(error) = outcome {
            fail(&format!("cannot write {}: {error}", self.output));
        }
    }

    fn finish(&self, reason: &str) -> ! {
        let mut sink = self.lock(); // and never again: no other thread records anything more
        self.written(sink.end(Moment::now(), reason));
        if reason.is_empty() {
            exit(0);
        }
        fail(reason)
    }

    fn end_when_asked(&self, mut signals: Signals, exit_file: Option<&Path>) -> ! {
        while signals.pending().next().is_none() && !exit_file.is_some_and(Path::exists) {
            thread::sleep(EXIT_FILE_EVERY);
        }
        self.is_ending.store(true, Ordering::SeqCst);
        if !self.is_connected.load(Ordering::SeqCst) {
            exit(0);
        }
        #[cfg(feature = "tokio")]
        self.asked.notify_one();
        thread::sleep(CLOSING_AT_MOST);
        self.finish("")
    }
}

impl Moment {
    /// Now, or after spinning, for the control whose messages are late by a known time.
    #[inline]
    fn after(delay: Duration) -> Self {
        if !delay.is_zero() {
            let start = Instant::now();
            while start.elapsed() < delay {}
        }
        Self::now()
    }

    /// Without a system call: the kernel shares its clock.
    #[inline]
    fn now() -> Self {
        let monotonic = clock_gettime(ClockId::Monotonic);
        let unix = clock_gettime(ClockId::Realtime);
        Self {
            monotonic_ns: monotonic.tv_sec as u64 * 1_000_000_000 + monotonic.tv_nsec as u64,
            unix_ms: unix.tv_sec as u64 * 1000 + unix.tv_nsec as u64 / 1_000_000,
        }
    }
}
