//! The command line. `load URL …` makes the same request that other programs write as a file.

use std::num::{NonZeroU32, NonZeroU64};
use std::path::PathBuf;

use anyhow::{bail, ensure, Context, Result};
use clap::{Args, Parser, Subcommand};
use feedbench_pace::{Pacer, Rate};

use crate::payload::{PayloadKind, PayloadRequest};
use crate::request::{Request, TargetRequest};
use crate::result::SCHEMA;
use crate::transport::TransportKind;

/// Default slice when several URLs are given: long enough to settle, short against the drift of a shared machine.
const USUAL_SLICE_NS: u64 = 25_000_000;
/// Default size: the message of 108 bytes that several published studies used.
const USUAL_PAYLOAD_BYTES: usize = 108;

/// Loads WebSocket servers and says how long their answers took.
#[derive(Debug, Parser)]
#[command(name = "feedbench-engine", version)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The sub-commands, one module each.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Load one or more servers and check every answer
    Load(Box<LoadArguments>),
    /// Add connections round by round, all of which send their requests at once, until the server breaks
    Ramp(Box<crate::ramp::RampArguments>),
    /// Connect, say a few words and close, again and again; or many at once
    Churn(Box<crate::churn::ChurnArguments>),
    /// Hold connections open that say nothing, then ask each whether it still answers
    Idle(Box<crate::ramp::IdleArguments>),
    /// Follow a relay or an exchange as many subscribers, and stamp every message of each
    Subscribe(Box<crate::subscribe::SubscribeArguments>),
    /// Keep a CPU awake at the lowest priority, until SIGTERM or the death of the parent
    Spin(crate::spin::SpinArguments),
    /// Watch one CPU: how much of its time a busy program does not get
    Jitter(crate::jitter::JitterArguments),
    /// Measure this machine's raw TCP round trips in the same way
    Ceiling(crate::ceiling::CeilingArguments),
    /// Compare the engine with the least that could be done
    #[command(hide = true)]
    Limit(crate::limit::LimitArguments),
    /// A minimal echo server, for benchmarks and tests of the engine itself
    #[command(hide = true)]
    Floor(crate::floor::FloorArguments),
}

/// How `load` is told what to do.
#[derive(Debug, Args)]
pub struct LoadArguments {
    /// ws:// or wss:// URLs; several are measured in random slices side by side
    #[arg(required_unless_present = "request")]
    pub urls: Vec<String>,
    /// Read everything from this JSON file instead (see spec/README.md)
    #[arg(long, value_name = "FILE", conflicts_with = "urls")]
    pub request: Option<PathBuf>,
    /// Print the results as JSON
    #[arg(long)]
    pub json: bool,
    /// No line per second
    #[arg(long)]
    pub quiet: bool,

    /// Connections to each URL
    #[arg(short, long, default_value = "1", help_heading = "Load")]
    pub connections: NonZeroU32,
    /// Measured time for each URL
    #[arg(short, long, default_value = "5s", value_parser = duration_ns, help_heading = "Load")]
    pub duration: u64,
    /// Time before measuring, for each URL
    #[arg(long, default_value = "500ms", value_parser = duration_ns, help_heading = "Load")]
    pub warmup: u64,
    /// Closed loop with this many messages outstanding on each connection
    #[arg(long, default_value = "1", conflicts_with_all = ["rate", "burst"], help_heading = "Load")]
    pub in_flight: NonZeroU32,
    /// Open loop: messages per second over all connections, timed from their intended send times
    #[arg(long, conflicts_with = "burst", help_heading = "Load")]
    pub rate: Option<Rate>,
    /// With --rate: exponential gaps, as independent clients make them
    #[arg(long, requires = "rate", help_heading = "Load")]
    pub poisson: bool,
    /// Open loop: this many messages at once on each connection, every --interval
    #[arg(long, help_heading = "Load")]
    pub burst: Option<NonZeroU32>,
    /// From burst to burst
    #[arg(long, default_value = "1s", value_parser = duration_ns, requires = "burst", help_heading = "Load")]
    pub interval: u64,
    /// Open this many connections per second instead of all at once
    #[arg(long, help_heading = "Load")]
    pub ramp: Option<Rate>,
    /// Open broken connections again
    #[arg(long, help_heading = "Load")]
    pub reconnect: bool,
    /// For handshakes and for answers
    #[arg(long, default_value = "2s", value_parser = duration_ns, help_heading = "Load")]
    pub timeout: u64,

    /// Bytes of the payload [default: 108]
    #[arg(short, long, conflicts_with_all = ["payload_file", "template"], help_heading = "Payload")]
    pub size: Option<usize>,
    /// Binary messages
    #[arg(long, group = "kind", help_heading = "Payload")]
    pub binary: bool,
    /// Text messages (the default)
    #[arg(long, group = "kind", help_heading = "Payload")]
    pub text: bool,
    /// Text messages that are JSON objects with a counter `c`
    #[arg(long, group = "kind", help_heading = "Payload")]
    pub json_payload: bool,
    /// Text messages {"c":n}, answered with the server's clock as {"c":n,"ts":…} (the path /stamp of our targets)
    #[arg(
        long,
        group = "kind",
        conflicts_with = "size",
        help_heading = "Payload"
    )]
    pub stamp: bool,
    /// Send this file, as text unless --binary is given
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with = "template",
        help_heading = "Payload"
    )]
    pub payload_file: Option<PathBuf>,
    /// Send this file with {counter} replaced by the message's number
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with = "kind",
        help_heading = "Payload"
    )]
    pub template: Option<PathBuf>,
    /// Cut each message into this many frames
    #[arg(long, default_value = "1", conflicts_with_all = ["deflate", "stamp"], help_heading = "Payload")]
    pub fragments: NonZeroU32,
    /// A ping between each two frames of a message
    #[arg(long, requires = "fragments", help_heading = "Payload")]
    pub ping_between: bool,
    /// Offer permessage-deflate
    #[arg(long, help_heading = "Payload")]
    pub deflate: bool,

    /// How bytes reach the loop
    #[arg(
        long,
        value_enum,
        default_value = "epoll",
        conflicts_with = "busy_poll",
        help_heading = "Engine"
    )]
    pub transport: TransportKind,
    /// Short for --transport busy-poll
    #[arg(long, help_heading = "Engine")]
    pub busy_poll: bool,
    /// Threads, each with its share of the connections
    #[arg(short, long, default_value = "1", help_heading = "Engine")]
    pub threads: NonZeroU32,
    /// Bind to this CPU, further threads to the following ones
    #[arg(long, help_heading = "Engine")]
    pub cpu: Option<usize>,
    /// Slice length with several URLs ("none": one after the other) [default: 25ms for several URLs]
    #[arg(long, value_parser = slice_ns, help_heading = "Engine")]
    pub slice: Option<u64>,
    /// Decides the order of slices and Poisson arrivals
    #[arg(long, default_value = "1", help_heading = "Engine")]
    pub seed: u64,
    /// Authorities that wss:// trusts, PEM [default: the Mozilla roots]
    #[arg(long, value_name = "FILE", help_heading = "Engine")]
    pub ca_file: Option<PathBuf>,

    /// Write every measured message to this file
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub samples: Option<PathBuf>,
    /// Measure the raw TCP ceiling of the same load shape afterwards, and tell the share of it that was reached
    #[arg(long, conflicts_with_all = ["rate", "burst", "request"], help_heading = "Output")]
    pub ceiling: bool,
    /// CPU of the ceiling's echo server
    #[arg(long, requires = "ceiling", help_heading = "Output")]
    pub ceiling_cpu: Option<usize>,
    /// Write an HdrHistogram log to this file
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub hlog: Option<PathBuf>,
    /// Write load.json, samples.fbs and histogram.hlog there; with several URLs into folders 0, 1, …
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub out: Option<PathBuf>,
}

impl LoadArguments {
    /// The request that these arguments mean.
    pub fn to_request(&self) -> Result<Request> {
        let several = self.urls.len() > 1;
        if several && (self.samples.is_some() || self.hlog.is_some()) {
            bail!("--samples and --hlog take one URL; use --out DIR for several");
        }
        let slice_ns = match self.slice {
            Some(0) => None,
            Some(slice_ns) => Some(slice_ns),
            None => several.then_some(USUAL_SLICE_NS),
        };
        let targets = self
            .urls
            .iter()
            .enumerate()
            .map(|(index, url)| self.target(index, url));
        Ok(Request {
            schema: SCHEMA,
            seed: self.seed,
            slice_ns,
            drop_first: if slice_ns.is_some() { 0.1 } else { 0.0 },
            warmup_ns: self.warmup,
            measure_ns: self.duration,
            cpu: self.cpu,
            transport: if self.busy_poll {
                TransportKind::BusyPoll
            } else {
                self.transport
            },
            threads: self.threads,
            start_at_ns: None,
            turn_gap_ns: 0,
            agent: 0,
            targets: targets.collect::<Result<_>>()?,
        })
    }

    fn target(&self, index: usize, url: &str) -> Result<TargetRequest> {
        let directory = self.out.as_ref().map(|out| {
            if self.urls.len() > 1 {
                out.join(index.to_string())
            } else {
                out.clone()
            }
        });
        Ok(TargetRequest {
            name: url.to_owned(),
            url: url.to_owned(),
            directory,
            connections: self.connections,
            payload: self.payload(),
            pacer: self.pacer()?,
            offer_deflate: self.deflate,
            ca_file: self.ca_file.clone(),
            timeout_ns: self.timeout,
            reconnect: self.reconnect,
            ramp_per_s: self.ramp,
            fragments: self.fragments,
            ping_between: self.ping_between,
            samples: self.samples.clone(),
            hlog: self.hlog.clone(),
        })
    }

    fn payload(&self) -> PayloadRequest {
        let size = Some(self.size.unwrap_or(USUAL_PAYLOAD_BYTES));
        let (kind, bytes, file) = match (&self.payload_file, &self.template) {
            (Some(file), _) if self.binary => (PayloadKind::File, None, Some(file.clone())),
            (Some(file), _) => (PayloadKind::TextFile, None, Some(file.clone())),
            (None, Some(file)) => (PayloadKind::Template, None, Some(file.clone())),
            (None, None) if self.binary => (PayloadKind::Binary, size, None),
            (None, None) if self.stamp => (PayloadKind::Stamp, None, None),
            (None, None) if self.json_payload => (PayloadKind::Json, size, None),
            (None, None) => (PayloadKind::Text, size, None),
        };
        PayloadRequest { kind, bytes, file }
    }

    fn pacer(&self) -> Result<Pacer> {
        Ok(match (self.rate, self.burst) {
            (Some(rate_per_s), _) if self.poisson => Pacer::Poisson {
                rate_per_s,
                seed: self.seed,
            },
            (Some(rate_per_s), _) => Pacer::Constant { rate_per_s },
            (None, Some(messages)) => {
                let interval_ns = NonZeroU64::new(self.interval).context("--interval is 0")?;
                Pacer::Burst {
                    messages,
                    interval_ns,
                }
            }
            (None, None) => Pacer::Closed {
                in_flight: self.in_flight,
            },
        })
    }
}

/// Reads `25ms`, `1.5s`, `2m`; a number needs a unit.
pub fn duration_ns(text: &str) -> Result<u64> {
    let split = text
        .find(|character: char| !character.is_ascii_digit() && character != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let unit_ns: f64 = match unit.trim() {
        "ns" => 1.0,
        "us" | "µs" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "m" => 60e9,
        "h" => 3600e9,
        "" => bail!("{text:?} has no unit: ns, us, ms, s, m or h"),
        other => bail!("{other:?} is no unit of time: use ns, us, ms, s, m or h"),
    };
    let ns = number
        .parse::<f64>()
        .with_context(|| format!("{text:?} is no duration"))?
        * unit_ns;
    ensure!(ns < 1e18, "{text:?} is longer than this program will live");
    Ok(ns.round() as u64)
}

/// The same, or `none` as 0.
fn slice_ns(text: &str) -> Result<u64> {
    if text == "none" {
        Ok(0)
    } else {
        duration_ns(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }

    #[test]
    fn durations_are_read_with_their_unit() {
        let good = [
            ("25ms", 25_000_000),
            ("1.5s", 1_500_000_000),
            ("2m", 120_000_000_000),
            ("7us", 7_000),
        ];
        good.iter()
            .for_each(|&(text, ns)| assert_eq!(duration_ns(text).unwrap(), ns));
        for (text, words) in [
            ("5", "no unit"),
            ("5 fortnights", "is no unit"),
            ("ms", "no duration"),
        ] {
            let error = format!("{:#}", duration_ns(text).unwrap_err());
            assert!(error.contains(words), "{text}: {error}");
        }
    }

    fn request(line: &str) -> Request {
        let Command::Load(load) = Cli::try_parse_from(line.split(' ')).unwrap().command else {
            panic!()
        };
        load.to_request().unwrap()
    }

    #[test]
    fn arguments_become_the_request_that_they_name() {
        let one = request(
            "feedbench-engine load ws://127.0.0.1:1/ --connections 8 --rate 100 --poisson --seed 7",
        );
        assert_eq!(one.slice_ns, None);
        assert_eq!(one.targets[0].connections.get(), 8);
        assert!(matches!(
            one.targets[0].pacer,
            Pacer::Poisson { seed: 7, .. }
        ));
        let two = request(
            "feedbench-engine load ws://127.0.0.1:1/ ws://127.0.0.1:2/ --binary --in-flight 4",
        );
        assert_eq!((two.slice_ns, two.drop_first), (Some(USUAL_SLICE_NS), 0.1));
        assert_eq!(two.targets[1].payload.kind, PayloadKind::Binary);
    }
}
