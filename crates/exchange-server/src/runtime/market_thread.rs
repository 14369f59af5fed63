//! The thread from its opening to its end: what is due is done, then sockets and commands are served, then it sleeps or
//! spins.

use super::clock::{both_ns, monotonic_ns};
use super::config::{Limit, Pacing, RuntimeConfig};
use super::connection::Buffers;
use super::connections::Connections;
use super::handle::RuntimeError;
use super::ledger_thread::LedgerThread;
use super::limit::{Rate, Watch};
use super::lobby::Lobby;
use super::poller::{Poller, Ready};
use super::sender::Sender;
use super::slices::Slices;
use super::totals::{DoorTotals, SendBuffer, Totals};
use crate::seam::Command;
use feedbench_exchange::hub::{ConnectionId, Door};
use feedbench_exchange::ledger::Header;
use feedbench_exchange::market::{Market, MarketConfig, Order};
use feedbench_exchange::personality::Reply;
use feedbench_exchange::time::{ExchangeClock, SECOND_NS};
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::mpsc::Receiver;
use std::sync::Arc;

/// How often the ledger gets what there is, and connections that linger are looked at.
pub(super) const UPKEEP_EVERY_NS: u64 = 20_000_000;
/// How long clients have to answer a goodbye.
const GOODBYE_NS: u64 = SECOND_NS / 2;

/// Everything that the thread owns. [`Lobby`] is the part of it that speaks with clients.
pub struct MarketThread {
    pub(super) market: Market,
    pub(super) doors: Vec<Box<dyn Door>>,
    pub(super) connections: Connections,
    pub(super) sender: Sender,
    pub(super) writing: Buffers,
    pub(super) reading: Buffers,
    pub(super) poller: Poller,
    pub(super) door_totals: Vec<DoorTotals>,
    pub(super) send_buffer: Option<SendBuffer>,
    pub(super) lobby: Lobby,
    /// Time of the market up to which everything was done.
    pub(super) done_ns: u64,
    /// On the machine's clock; `None` before.
    pub(super) opened_ns: Option<u64>,
    pub(super) market_config: Option<MarketConfig>,
    pub(super) clock: ExchangeClock,
    /// On the machine's clock: when the exchange's clock showed its opening time. `None` if that is not the truth
    /// anyway, or has yet to be seen.
    opens_ns: Option<u64>,
    pub(super) fixed_clock: bool,
    pub(super) pacing: Pacing,
    pub(super) coalesce: bool,
    pub(super) limit: Limit,
    pub(super) wait_for_subscribers: usize,
    pub(super) slices: Option<Slices<(u16, ConnectionId)>>,
    ledger_path: Option<PathBuf>,
    seed: Option<u64>,
    pub(super) commands: Receiver<Command>,
    pub(super) bell: Arc<OwnedFd>,
    pub(super) ready: Vec<Ready>,
    pub(super) replies: Vec<(ConnectionId, Reply)>,
    /// Orders of clients that are gone.
    pub(super) withdrawals: Vec<Order>,
    pub(super) upkeep_ns: u64,
    pub(super) stalled_since_ns: Option<u64>,
    /// When the event is due that was made already and waits to be sent.
    pub(super) prepared_ns: Option<u64>,
    pub(super) events: u64,
    pub(super) pauses: u64,
    pub(super) stopping: bool,
}

impl MarketThread {
    pub fn new(
        config: RuntimeConfig,
        commands: Receiver<Command>,
        bell: Arc<OwnedFd>,
    ) -> Result<Self, RuntimeError> {
        if config.doors.is_empty() {
            return Err(RuntimeError::NoDoors);
        }
        if let Some(slice_ns) = config.slice_ns {
            if !(1_000_000..=10 * SECOND_NS).contains(&slice_ns) {
                return Err(RuntimeError::Slice(slice_ns));
            }
        }
        // The ledger's thread starts before this one is pinned, so that it does not inherit the CPU.
        let ledger = match &config.ledger {
            Some(path) => Some(LedgerThread::start(path).map_err(ledger_error(path))?),
            None => None,
        };
        if let Some(cpu) = config.cpu {
            pin(cpu).map_err(|source| RuntimeError::Cpu { cpu, source })?;
        }
        let poller = Poller::new(&*bell).map_err(|source| RuntimeError::System {
            what: "make an epoll set",
            source,
        })?;
        let mut clock = ExchangeClock {
            opened_unix_ns: 0,
            skew_ns: config.clock_skew_ns,
            drift_ppb: config.clock_drift_ppb,
        };
        let mut market = match &config.market {
            Some(config) => Market::open(config, clock)?,
            None => Market::silent(clock),
        };
        // The two clocks are read together and once the books are filled, which can take a while; what the doors take
        // to be made only makes the first events late.
        let (now_ns, now_unix_ns) = both_ns();
        let (opens_ns, opened_unix_ns) = match (config.opened_unix_ns, config.wait_for_subscribers)
        {
            (Some(opened_unix_ns), _) => (None, opened_unix_ns),
            (None, 0) => (Some(now_ns), now_unix_ns),
            // A market that waits opens on a whole second of the same clock, so that what doors work out from the
            // phase of its seconds stays right.
            (None, _) => (None, now_unix_ns - now_unix_ns % SECOND_NS),
        };
        market.set_opening(opened_unix_ns);
        clock.opened_unix_ns = opened_unix_ns;
        let doors: Vec<Box<dyn Door>> =
            config.doors.into_iter().map(|make| make(&market)).collect();
        let is_paced = doors.iter().all(|door| door.is_paced());
        let door_totals = doors.iter().map(|door| DoorTotals {
            name: door.name().to_owned(),
            ..DoorTotals::default()
        });
        Ok(Self {
            door_totals: door_totals.collect(),
            connections: Connections::new(doors.len()),
            sender: Sender::new(doors.len(), config.queue_bytes, ledger),
            writing: Buffers::for_writing(),
            reading: Buffers::for_reading(),
            poller,
            send_buffer: None,
            lobby: Lobby::new(
                config.faults,
                config.send_buffer_bytes,
                config.queue_bytes,
                config.linger_ns,
            ),
            done_ns: 0,
            opened_ns: None,
            seed: config.market.as_ref().map(|market| market.seed),
            market_config: config.market,
            market,
            doors,
            clock,
            opens_ns,
            fixed_clock: config.opened_unix_ns.is_some(),
            pacing: if is_paced {
                config.pacing
            } else {
                Pacing::Unpaced
            },
            coalesce: config.coalesce,
            limit: config.limit,
            wait_for_subscribers: config.wait_for_subscribers,
            slices: config
                .slice_ns
                .map(|slice_ns| Slices::new(slice_ns, config.slice_seed)),
            ledger_path: config.ledger,
            commands,
            bell,
            ready: Vec::new(),
            replies: Vec::new(),
            withdrawals: Vec::new(),
            upkeep_ns: 0,
            stalled_since_ns: None,
            prepared_ns: None,
            events: 0,
            pauses: 0,
            stopping: false,
        })
    }

    /// Until a limit, a command or an error ends it.
    pub fn run(mut self) -> Result<Totals, RuntimeError> {
        while !self.stopping {
            let idle_ns = self.work();
            self.serve(idle_ns.min(UPKEEP_EVERY_NS))?;
            if monotonic_ns() >= self.upkeep_ns {
                self.upkeep()?;
            }
        }
        self.finish()
    }

    /// Goes on for so long, for a benchmark.
    pub(super) fn slice(&mut self, length_ns: u64) -> Result<Rate, RuntimeError> {
        let sent = |thread: &Self| -> u64 {
            let doors = thread.door_totals.iter();
            doors.map(|door| door.messages_sent).sum()
        };
        let (before, watch) = (sent(self), Watch::start());
        loop {
            let idle_ns = self.work();
            self.serve(idle_ns.min(UPKEEP_EVERY_NS))?;
            if let Some(rate) = watch.rate(sent(self) - before, length_ns) {
                return Ok(rate);
            }
        }
    }

    /// Messages that left together, on average so far.
    pub(super) fn mean_batch(&self) -> usize {
        (self.sender.messages / self.sender.flushes.max(1)).max(1) as usize
    }

    /// The time of the market.
    pub(super) fn now_ns(&self) -> u64 {
        match (self.opened_ns, self.pacing) {
            (None, _) | (_, Pacing::Unpaced) => self.done_ns,
            (Some(opened_ns), _) => monotonic_ns().saturating_sub(opened_ns).max(self.done_ns),
        }
    }

    pub(super) fn open(&mut self) {
        let opened_ns = match self.opens_ns {
            Some(opens_ns) => opens_ns,
            None if self.fixed_clock => monotonic_ns(),
            None => {
                let (at_ns, at_unix_ns) = both_ns();
                let opens_unix_ns = at_unix_ns.next_multiple_of(SECOND_NS);
                self.clock.opened_unix_ns = opens_unix_ns;
                self.market.set_opening(opens_unix_ns);
                at_ns + (opens_unix_ns - at_unix_ns)
            }
        };
        self.opened_ns = Some(opened_ns);
        self.begin_ledger(opened_ns);
    }

    fn begin_ledger(&mut self, opened_ns: u64) {
        if let Some(ledger) = &mut self.sender.ledger {
            ledger.begin(Header {
                clock: "CLOCK_MONOTONIC".to_owned(),
                opened_ns,
                opened_unix_ns: self.clock.unix_ns(0),
                seed: self.seed,
                paced: self.pacing != Pacing::Unpaced,
            });
        }
    }

    /// Says goodbye, ends the ledger, adds up.
    fn finish(mut self) -> Result<Totals, RuntimeError> {
        let duration_ns = self.now_ns();
        self.say_goodbye();
        let until_ns = monotonic_ns() + GOODBYE_NS;
        while self.connections.len() > self.lobby.silent && monotonic_ns() < until_ns {
            self.serve(UPKEEP_EVERY_NS)?;
        }
        if self.opened_ns.is_none() {
            self.begin_ledger(monotonic_ns());
        }
        let paced = self.pacing != Pacing::Unpaced;
        let mut totals = Totals {
            schema: 1,
            paced,
            opened_ns: self.opened_ns,
            duration_ns,
            events: self.events,
            messages: self.sender.messages,
            doors: self.door_totals,
            connections_at_once: self.connections.at_once,
            dropped: self.sender.dropped,
            send_lag_ns: paced.then(|| self.sender.lag.summary()),
            send_buffer: self.send_buffer,
            pauses: self.pauses,
            ledger_records: 0,
            ledger_backlog: 0,
        };
        if let (Some(ledger), Some(path)) = (self.sender.ledger, &self.ledger_path) {
            let written = ledger.finish().map_err(ledger_error(path))?;
            totals.ledger_records = written.records;
            totals.ledger_backlog = written.backlog;
        }
        Ok(totals)
    }
}

fn ledger_error(path: &std::path::Path) -> impl FnOnce(io::Error) -> RuntimeError + '_ {
    |source| RuntimeError::Ledger {
        path: path.to_owned(),
        source,
    }
}

/// Keeps the calling thread on a CPU.
pub(super) fn pin(cpu: usize) -> io::Result<()> {
    let mut set = rustix::thread::CpuSet::new();
    if cpu >= rustix::thread::CpuSet::MAX_CPU {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "there are never so many",
        ));
    }
    set.set(cpu);
    Ok(rustix::thread::sched_setaffinity(None, &set)?)
}
