//! What a market thread is told before it starts.

use feedbench_exchange::faults::FaultPlan;
use feedbench_exchange::hub::{Door, Hub};
use feedbench_exchange::market::{Market, MarketConfig};
use feedbench_exchange::personality::Personality;
use feedbench_exchange::time::SECOND_NS;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Makes a door on the market thread, where it will stay.
pub type MakeDoor = Box<dyn FnOnce(&Market) -> Box<dyn Door> + Send>;

/// How the thread waits until something is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Pacing {
    /// Sleeps until so long before the next event, then spins: the kernel's wake-up is over before it counts.
    Hybrid {
        /// Longer than this machine usually takes to wake a thread.
        spin_lead_ns: u64,
    },
    /// Never sleeps. Takes a whole CPU.
    Spin,
    /// Sends as fast as the slowest subscriber takes it. The market's time then runs as fast as events are made, and
    /// with it all timers: pings and heartbeats come as much sooner as events do.
    Unpaced,
}

impl Default for Pacing {
    /// Wake-ups of a sleeping virtual CPU were seen to take up to 100 µs.
    fn default() -> Self {
        Self::Hybrid {
            spin_lead_ns: 200_000,
        }
    }
}

/// When the thread ends by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limit {
    /// After so much of the market's time.
    pub duration_ns: Option<u64>,
    /// After so many events, or messages of a replay.
    pub events: Option<u64>,
}

/// Everything that a market thread is told.
pub struct RuntimeConfig {
    /// The market; none if there are only replays.
    pub market: Option<MarketConfig>,
    /// In the order of their numbers ([`crate::seam::DoorId`]).
    pub doors: Vec<MakeDoor>,
    /// How it waits.
    pub pacing: Pacing,
    /// The CPU to stay on.
    pub cpu: Option<usize>,
    /// Where the ledger goes; without, nobody keeps one.
    pub ledger: Option<PathBuf>,
    /// What goes wrong on purpose.
    pub faults: FaultPlan,
    /// How far ahead of the truth the exchange's wall clock is at the opening.
    pub clock_skew_ns: i64,
    /// How much that clock gains, in billionths.
    pub clock_drift_ppb: i64,
    /// What the exchange's wall clock shows at the opening, skew apart; without, the truth. With the same seed, the
    /// same time makes the same bytes.
    pub opened_unix_ns: Option<u64>,
    /// Send buffer of each socket; without, the kernel's own choice, which grows.
    pub send_buffer_bytes: Option<usize>,
    /// What may wait for a client beyond its send buffer before it counts as too slow.
    pub queue_bytes: usize,
    /// Whether a sender that is late writes what is due by now together, which lets it catch up sooner. Without, each
    /// message has a write of its own.
    pub coalesce: bool,
    /// How long a client has for its part of the goodbye, and one that reads too slowly for what it is still owed.
    pub linger_ns: u64,
    /// Length of slices: at a time only one subscriber gets anything, in random order. Without, all get everything.
    pub slice_ns: Option<u64>,
    /// Decides the order of slices.
    pub slice_seed: u64,
    /// When it ends.
    pub limit: Limit,
    /// The market opens when so many connections have subscribed to something.
    pub wait_for_subscribers: usize,
}

impl RuntimeConfig {
    /// A market, or none for replays, without doors and with everything as usual.
    pub fn new(market: Option<MarketConfig>) -> Self {
        Self {
            market,
            doors: Vec::new(),
            pacing: Pacing::default(),
            cpu: None,
            ledger: None,
            faults: FaultPlan::default(),
            clock_skew_ns: 0,
            clock_drift_ppb: 0,
            opened_unix_ns: None,
            send_buffer_bytes: None,
            queue_bytes: 1 << 20,
            coalesce: true,
            linger_ns: 5 * SECOND_NS,
            slice_ns: None,
            slice_seed: 1,
            limit: Limit::default(),
            wait_for_subscribers: 0,
        }
    }

    /// Adds a door: `.door(Binance::new)`.
    pub fn door<P: Personality + 'static>(
        mut self,
        make: impl FnOnce(&Market) -> P + Send + 'static,
    ) -> Self {
        self.doors
            .push(Box::new(move |market| Box::new(Hub::new(make(market)))));
        self
    }
}
