//! The market thread against the least that could be done, slice by slice in one process.
//!
//! Both send the same messages over the same sockets, which a thread on another CPU drains. The raw loop writes frames
//! that were built beforehand; the market thread makes events, applies them to its books, encodes them, and keeps a
//! ledger. A ratio from slices side by side holds on a busy machine too, where two runs one after the other would
//! measure the machine.

mod raw;
mod rig;

use super::clock::{monotonic_ns, thread_cpu_ns};
use super::config::{Limit, Pacing, RuntimeConfig};
use super::handle::{spawn, RuntimeError};
use super::market_thread::{pin, MarketThread};
use crate::seam::{Command, DoorId};
use feedbench_exchange::market::{Arrivals, MarketConfig};
use feedbench_exchange::personality::binance::Binance;
use feedbench_exchange::time::SECOND_NS;
use feedbench_record::Summary;
use raw::{RawLoop, Script};
use rig::{connect, established, pairs, request, Reader};
use rustix::event::{eventfd, EventfdFlags};
use std::io;
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::mpsc::channel;
use std::sync::Arc;
use tokio::sync::oneshot;

/// Long against filling and draining the sockets' buffers.
const SLICE_NS: u64 = 50_000_000;
const WARMUP_SLICES: usize = 4;
const OPENED_UNIX_NS: u64 = 1_618_677_817_000_000_000;
/// Frames that the raw loop repeats.
const RAW_FRAMES: usize = 4_096;
/// Turns of each sender when lateness is compared.
const LATENESS_TURNS: usize = 5;

/// Where things run, and for how long.
#[derive(Clone, Debug)]
pub struct Setting {
    /// CPU of the senders.
    pub cpu: usize,
    /// CPU of the reader.
    pub reader_cpu: usize,
    /// Time for each row.
    pub duration_ns: u64,
    /// Where the ledgers go; without, none is kept.
    pub ledger: Option<PathBuf>,
}

/// What a slice came to, all recipients counted.
#[derive(Clone, Copy, Debug)]
pub struct Rate {
    /// Messages per second.
    pub per_s: f64,
    /// Messages per second of the sender's CPU time: without its waits for the reader, and for the scheduler.
    pub per_cpu_s: f64,
}

impl Rate {
    fn over(self, other: Self) -> Self {
        Self {
            per_s: self.per_s / other.per_s,
            per_cpu_s: self.per_cpu_s / other.per_cpu_s,
        }
    }
}

/// How messages leave: the market thread's while it is late, as it always is without pacing, and the raw loop's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writes {
    /// The exchange as anybody runs it, which writes together what is due together, beside a loop that writes each
    /// message by itself.
    AsShipped,
    /// Like for like: both have one write for each message and subscriber.
    OneEach,
    /// Like for like: the exchange as anybody runs it, and the raw loop writes batches of the same mean size.
    Batched,
}

/// Medians over slices.
#[derive(Clone, Copy, Debug)]
pub struct Throughput {
    /// The market thread's.
    pub market: Rate,
    /// The raw loop's.
    pub raw: Rate,
    /// First over second, slice by slice.
    pub ratio: Rate,
    /// Messages in each write of the market thread and of the raw loop.
    pub batches: [usize; 2],
}

/// How late messages left, beside a raw loop that writes the same messages at the same times.
#[derive(Clone, Debug)]
pub struct Lateness {
    /// The market thread's.
    pub market: Summary,
    /// The raw loop's: what any single sender has of queueing and of the machine.
    pub raw: Summary,
}

/// Counts from a beginning on.
pub(super) struct Watch {
    began_ns: u64,
    began_cpu_ns: u64,
}

impl Watch {
    pub(super) fn start() -> Self {
        Self {
            began_ns: monotonic_ns(),
            began_cpu_ns: thread_cpu_ns(),
        }
    }

    /// The rate of so many messages, once the slice is over.
    pub(super) fn rate(&self, messages: u64, length_ns: u64) -> Option<Rate> {
        let took_ns = monotonic_ns() - self.began_ns;
        let per = |ns: u64| messages as f64 * SECOND_NS as f64 / ns as f64;
        (took_ns >= length_ns).then(|| Rate {
            per_s: per(took_ns),
            per_cpu_s: per(thread_cpu_ns() - self.began_cpu_ns),
        })
    }
}

fn market(rate_per_s: f64) -> MarketConfig {
    MarketConfig::new(1, 1, Arrivals::Constant { rate_per_s })
}

fn system(what: &'static str) -> impl FnOnce(io::Error) -> RuntimeError {
    move |source| RuntimeError::System { what, source }
}

/// How many messages per second go to so many subscribers, with those of a raw loop over the same sockets.
pub fn throughput(
    setting: &Setting,
    subscribers: usize,
    writes: Writes,
) -> Result<Throughput, RuntimeError> {
    let (ends, sockets) = pairs(subscribers).map_err(system("connect over loopback"))?;
    let reader = Reader::start(ends, setting.reader_cpu).map_err(system("start the reader"))?;
    let mut thread = market_thread(setting, &sockets, writes)?;
    let script = Script::of(&market(1_000_000.0), RAW_FRAMES);
    let mut raw = RawLoop::new(&sockets, script).map_err(system("make an epoll set"))?;
    let slices = (setting.duration_ns / (2 * SLICE_NS)).max(8) as usize + WARMUP_SLICES;
    let mut found: Vec<(Rate, Rate)> = Vec::new();
    let mut raw_batch = 1;
    for slice in 0..slices {
        // Each goes first in every other pair.
        let first = (slice % 2 == 0)
            .then(|| thread.slice(SLICE_NS))
            .transpose()?;
        let yardstick = raw.slice(raw_batch).map_err(system("write"))?;
        let own = match first {
            Some(first) => first,
            None => thread.slice(SLICE_NS)?,
        };
        if slice >= WARMUP_SLICES {
            found.push((own, yardstick));
        }
        if writes == Writes::Batched {
            raw_batch = thread.mean_batch();
        }
    }
    let own_batch = match writes {
        Writes::OneEach => 1,
        Writes::AsShipped | Writes::Batched => thread.mean_batch(),
    };
    reader.stop();
    Ok(Throughput {
        market: median(found.iter().map(|(own, _)| *own)),
        raw: median(found.iter().map(|(_, raw)| *raw)),
        ratio: median(found.iter().map(|(own, raw)| own.over(*raw))),
        batches: [own_batch, raw_batch],
    })
}

/// An unpaced market thread that the caller drives, with subscribers on these sockets.
fn market_thread(
    setting: &Setting,
    sockets: &[TcpStream],
    writes: Writes,
) -> Result<MarketThread, RuntimeError> {
    let mut config = RuntimeConfig::new(Some(market(1_000_000.0))).door(Binance::new);
    config.pacing = Pacing::Unpaced;
    config.opened_unix_ns = Some(OPENED_UNIX_NS);
    config.cpu = Some(setting.cpu);
    config.ledger.clone_from(&setting.ledger);
    config.wait_for_subscribers = sockets.len();
    config.coalesce = writes != Writes::OneEach;
    let bell = eventfd(0, EventfdFlags::NONBLOCK).map_err(|errno| system("ring")(errno.into()))?;
    let (_commands, queue) = channel();
    let mut thread = MarketThread::new(config, queue, Arc::new(bell))?;
    for socket in sockets {
        let (verdict, mut answer) = oneshot::channel();
        thread.open_connection(DoorId(0), &request(), None, verdict);
        let ticket = answer
            .try_recv()
            .expect("answered at once")
            .expect("accepted");
        let socket = socket.try_clone().map_err(system("copy a socket"))?;
        thread.attach(ticket, established(socket));
    }
    Ok(thread)
}

/// How late the messages of so many events per second leave for one subscriber, the sender spinning. The two senders
/// take turns; the answer is each one's turn with the median p99.
pub fn lateness(setting: &Setting, rate_per_s: f64) -> Result<Lateness, RuntimeError> {
    let turn_ns = setting.duration_ns / (2 * LATENESS_TURNS as u64);
    let mut found = (Vec::new(), Vec::new());
    for _ in 0..LATENESS_TURNS {
        let (messages, own) = market_lateness(setting, rate_per_s, turn_ns)?;
        found.0.push(own);
        found.1.push(raw_lateness(setting, rate_per_s, messages)?);
    }
    let middle = |mut summaries: Vec<Summary>| {
        summaries.sort_by_key(|summary| summary.p99);
        summaries.swap_remove(summaries.len() / 2)
    };
    Ok(Lateness {
        market: middle(found.0),
        raw: middle(found.1),
    })
}

/// Messages that were sent, and how late.
fn market_lateness(
    setting: &Setting,
    rate_per_s: f64,
    duration_ns: u64,
) -> Result<(usize, Summary), RuntimeError> {
    let (ends, mut sockets) = pairs(1).map_err(system("connect over loopback"))?;
    let reader = Reader::start(ends, setting.reader_cpu).map_err(system("start the reader"))?;
    let mut config = RuntimeConfig::new(Some(market(rate_per_s))).door(Binance::new);
    config.pacing = Pacing::Spin;
    config.cpu = Some(setting.cpu);
    config.ledger.clone_from(&setting.ledger);
    config.opened_unix_ns = Some(OPENED_UNIX_NS);
    config.wait_for_subscribers = 1;
    config.limit = Limit {
        duration_ns: Some(duration_ns),
        events: None,
    };
    let handle = spawn(config)?;
    connect(&handle.commands(), sockets.remove(0));
    let totals = handle.join();
    reader.stop();
    let totals = totals?;
    Ok((
        totals.messages as usize,
        totals.send_lag_ns.unwrap_or_default(),
    ))
}

fn raw_lateness(
    setting: &Setting,
    rate_per_s: f64,
    messages: usize,
) -> Result<Summary, RuntimeError> {
    let (ends, sockets) = pairs(1).map_err(system("connect over loopback"))?;
    let reader = Reader::start(ends, setting.reader_cpu).map_err(system("start the reader"))?;
    let script = Script::of(&market(rate_per_s), messages);
    // A thread of its own, as the market has one, so that the caller is not left on that CPU.
    let cpu = setting.cpu;
    let paced = move || {
        pin(cpu)?;
        RawLoop::new(&sockets, script)?.paced()
    };
    let lag = std::thread::spawn(paced).join().expect("it does not panic");
    reader.stop();
    lag.map_err(system("write"))
}

/// Resident memory that an idle subscriber costs, from so many of them.
pub fn memory_bytes(subscribers: usize) -> Result<f64, RuntimeError> {
    let (ends, sockets) = pairs(subscribers).map_err(system("connect over loopback"))?;
    let mut config = RuntimeConfig::new(Some(market(1.0))).door(Binance::new);
    config.wait_for_subscribers = usize::MAX;
    let handle = spawn(config)?;
    let before = resident_bytes().map_err(system("read /proc/self/statm"))?;
    for socket in sockets {
        connect(&handle.commands(), socket);
    }
    // The answer to this comes after all sockets were attached.
    let (answer, response) = oneshot::channel();
    let rest = Command::Rest {
        door: DoorId(0),
        request: request(),
        answer,
    };
    handle.commands().send(rest).expect("it runs");
    response.blocking_recv().expect("it answers");
    let after = resident_bytes().map_err(system("read /proc/self/statm"))?;
    handle.commands().send(Command::Stop).expect("it runs");
    drop(ends);
    handle.join()?;
    Ok((after - before) as f64 / subscribers as f64)
}

fn resident_bytes() -> io::Result<i64> {
    let text = std::fs::read_to_string("/proc/self/statm")?;
    let pages: i64 = text
        .split(' ')
        .nth(1)
        .and_then(|pages| pages.parse().ok())
        .ok_or(io::ErrorKind::InvalidData)?;
    Ok(pages * rustix::param::page_size() as i64)
}

fn median(rates: impl Iterator<Item = Rate> + Clone) -> Rate {
    let middle = |mut values: Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    Rate {
        per_s: middle(rates.clone().map(|rate| rate.per_s).collect()),
        per_cpu_s: middle(rates.map(|rate| rate.per_cpu_s).collect()),
    }
}
