//! What to do: the request that other programs write and that the command line makes.

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use feedbench_pace::{Pacer, Rate};
use serde::Deserialize;

use crate::payload::{PayloadKind, PayloadRequest};
use crate::result::SCHEMA;
use crate::slices::Timing;
use crate::stencil::Fragmenting;
use crate::transport::TransportKind;

/// A whole run.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Decides the order of slices and the times of Poisson arrivals.
    #[serde(default = "one")]
    pub seed: u64,
    /// Length of a slice; `null` loads the targets one after the other.
    #[serde(default)]
    pub slice_ns: Option<u64>,
    /// Share of each slice that is dropped at its head.
    #[serde(default)]
    pub drop_first: f64,
    /// Warm-up per target.
    #[serde(default)]
    pub warmup_ns: u64,
    /// Measured time per target.
    pub measure_ns: u64,
    /// CPU that the engine binds itself to.
    #[serde(default)]
    pub cpu: Option<usize>,
    /// How bytes reach the loop.
    #[serde(default)]
    pub transport: TransportKind,
    /// Threads, each with its share of the connections.
    #[serde(default = "one_thread")]
    pub threads: NonZeroU32,
    /// When the first turn begins, on this host's `CLOCK_MONOTONIC`; each further one begins when the last should
    /// have ended and `turn_gap_ns` have passed. So several engines take the same turns at the same time. `null`:
    /// at once, each turn as soon as the last is done.
    #[serde(default)]
    pub start_at_ns: Option<u64>,
    /// For the answers to a turn's last messages, before the next begins by the clock.
    #[serde(default)]
    pub turn_gap_ns: u64,
    /// Which of several engines with this seed it is: turns are the same for all, times of arrivals are not.
    #[serde(default)]
    pub agent: u32,
    /// Who is loaded.
    pub targets: Vec<TargetRequest>,
}

/// One target.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetRequest {
    /// Its name in the results.
    pub name: String,
    /// `ws://` or `wss://`.
    pub url: String,
    /// Where `load.json`, `samples.fbs` and `histogram.hlog` go.
    #[serde(default)]
    pub directory: Option<PathBuf>,
    /// Connections over all threads.
    pub connections: NonZeroU32,
    /// What to send.
    pub payload: PayloadRequest,
    /// When to send.
    pub pacer: Pacer,
    /// Offer permessage-deflate.
    #[serde(default)]
    pub offer_deflate: bool,
    /// PEM file with the authorities that `wss` trusts.
    #[serde(default)]
    pub ca_file: Option<PathBuf>,
    /// For handshakes and for answers.
    #[serde(default = "two_seconds")]
    pub timeout_ns: u64,
    /// Open broken connections again.
    #[serde(default)]
    pub reconnect: bool,
    /// Connections opened per second; `null` opens them all at once.
    #[serde(default)]
    pub ramp_per_s: Option<Rate>,
    /// Frames of each message.
    #[serde(default = "one_frame")]
    pub fragments: NonZeroU32,
    /// A ping between each two frames of a message.
    #[serde(default)]
    pub ping_between: bool,
    /// Sample file, if it is not to be in `directory`.
    #[serde(default)]
    pub samples: Option<PathBuf>,
    /// Histogram log, if it is not to be in `directory`.
    #[serde(default)]
    pub hlog: Option<PathBuf>,
}

fn one() -> u64 {
    1
}

fn one_thread() -> NonZeroU32 {
    NonZeroU32::MIN
}

fn one_frame() -> NonZeroU32 {
    NonZeroU32::MIN
}

fn two_seconds() -> u64 {
    2_000_000_000
}

/// Why a request cannot be carried out.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    /// The file cannot be read.
    #[error("cannot read the request {path}: {error}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        error: std::io::Error,
    },
    /// The file is no request.
    #[error("{path} is no usable request: {error}")]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What the parser says, with line and column.
        error: serde_json::Error,
    },
    /// Its values make no sense together.
    #[error("the request makes no sense: {0}")]
    Senseless(String),
}

impl Request {
    /// Reads any request file; its values are not looked at.
    pub fn read_json<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, RequestError> {
        let text = std::fs::read_to_string(path).map_err(|error| RequestError::Unreadable {
            path: path.to_owned(),
            error,
        })?;
        serde_json::from_str(&text).map_err(|error| RequestError::Malformed {
            path: path.to_owned(),
            error,
        })
    }

    /// Refuses what cannot be carried out, before anything is started.
    pub fn check(&self) -> Result<(), RequestError> {
        let senseless = |text: String| Err(RequestError::Senseless(text));
        if self.schema != SCHEMA {
            return senseless(format!(
                "schema {} is not known here, only {SCHEMA} is",
                self.schema
            ));
        }
        if self.targets.is_empty() {
            return senseless("it names no target".to_owned());
        }
        if !(0.0..1.0).contains(&self.drop_first) {
            return senseless(format!(
                "drop_first is {}, not a share from 0 to below 1",
                self.drop_first
            ));
        }
        if self.measure_ns == 0 {
            return senseless("there is no time to measure in (measure_ns is 0)".to_owned());
        }
        if self.slice_ns.is_some_and(|slice_ns| slice_ns < 1_000_000) {
            return senseless("a slice below 1 ms is shorter than what it disturbs".to_owned());
        }
        let threads = self.threads.get();
        if threads > 1 && self.targets.len() > 1 {
            return senseless(
                "several threads can load one target only, as slices need one loop".to_owned(),
            );
        }
        for target in &self.targets {
            if target.connections.get() < threads {
                return senseless(format!(
                    "{} has fewer connections than there are threads",
                    target.name
                ));
            }
            let fragmented = target.fragments.get() > 1;
            if fragmented && (target.offer_deflate || target.payload.kind == PayloadKind::Stamp) {
                return senseless(format!(
                    "{} is to get fragments: only messages without compression and stamps are cut",
                    target.name
                ));
            }
            if target.ping_between && !fragmented {
                return senseless(format!(
                    "{} is to get pings between fragments, but there is one only",
                    target.name
                ));
            }
            if target.timeout_ns == 0 {
                return senseless(format!("the time-out of {} is 0", target.name));
            }
        }
        Ok(())
    }

    /// How long and in which order.
    pub fn timing(&self) -> Timing {
        Timing {
            warmup_ns: self.warmup_ns,
            measure_ns: self.measure_ns,
            slice_ns: self.slice_ns,
            drop_first: self.drop_first,
            seed: self.seed,
        }
    }
}

impl TargetRequest {
    /// Where samples go, if they are wanted.
    pub fn samples_path(&self) -> Option<PathBuf> {
        self.samples
            .clone()
            .or_else(|| Some(self.directory.as_ref()?.join("samples.fbs")))
    }

    /// How messages are cut.
    pub fn fragmenting(&self) -> Fragmenting {
        Fragmenting {
            fragments: self.fragments,
            pings: self.ping_between,
        }
    }

    /// Where the histogram log goes, if it is wanted.
    pub fn hlog_path(&self) -> Option<PathBuf> {
        self.hlog
            .clone()
            .or_else(|| Some(self.directory.as_ref()?.join("histogram.hlog")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"{"schema": 1, "seed": 123, "slice_ns": 25000000, "drop_first": 0.1, "warmup_ns": 1000000000,
        "measure_ns": 1000000000, "cpu": 1, "transport": "epoll",
        "targets": [{"name": "node-ws+connections=1", "url": "ws://127.0.0.1:9001/echo", "directory": "/abs",
            "connections": 1, "payload": {"kind": "binary", "bytes": 108, "file": null},
            "pacer": {"kind": "closed", "in_flight": 1}, "offer_deflate": false, "ca_file": null,
            "timeout_ns": 2000000000}]}"#;

    fn read(text: &str) -> Result<Request, String> {
        let request: Request = serde_json::from_str(text).map_err(|error| error.to_string())?;
        request.check().map_err(|error| error.to_string())?;
        Ok(request)
    }

    #[test]
    fn the_example_of_the_specification_is_read() {
        let request = read(GOOD).unwrap();
        assert_eq!(
            request.targets[0].samples_path().unwrap(),
            Path::new("/abs/samples.fbs")
        );
    }

    #[test]
    fn a_bad_request_is_refused_with_words() {
        let table = [
            (r#""schema": 1"#, r#""schema": 2"#, "schema 2 is not known"),
            (r#""seed": 123"#, r#""sead": 123"#, "unknown field `sead`"),
            (r#""in_flight": 1"#, r#""in_flight": 0"#, "nonzero"),
            (r#""connections": 1,"#, r#""connections": 0,"#, "nonzero"),
            (
                r#""offer_deflate""#,
                r#""offer_deflat""#,
                "unknown field `offer_deflat`",
            ),
            (
                r#""transport": "epoll""#,
                r#""transport": "dpdk""#,
                "unknown variant `dpdk`",
            ),
            (
                r#""drop_first": 0.1"#,
                r#""drop_first": 1.0"#,
                "not a share",
            ),
            (r#""slice_ns": 25000000"#, r#""slice_ns": 25"#, "below 1 ms"),
            (
                r#""measure_ns": 1000000000"#,
                r#""measure_ns": 0"#,
                "no time to measure",
            ),
            (
                r#""cpu": 1"#,
                r#""cpu": 1, "threads": 2"#,
                "fewer connections than there are threads",
            ),
            (
                r#""offer_deflate": false"#,
                r#""offer_deflate": true, "fragments": 2"#,
                "without compression",
            ),
            (
                r#""offer_deflate": false"#,
                r#""offer_deflate": false, "ping_between": true"#,
                "there is one only",
            ),
            (
                r#""kind": "binary""#,
                r#""kind": "xml""#,
                "unknown variant `xml`",
            ),
        ];
        for (good, bad, words) in table {
            assert!(GOOD.contains(good), "{good}");
            let error = read(&GOOD.replacen(good, bad, 1)).unwrap_err();
            assert!(error.contains(words), "{bad}: {error}");
        }
        assert!(read(&GOOD[..GOOD.len() - 2]).unwrap_err().contains("EOF"));
    }
}
