//! `load.json`: what came out, as other programs read it (see `spec/README.md`).

use feedbench_pace::Pacer;
use feedbench_record::Summary;
use serde::Serialize;

use crate::payload::PayloadRequest;
use crate::transport::TransportKind;
use crate::warmup::Warmup;
use crate::warning::Warning;

/// The schema of requests and results.
pub const SCHEMA: u32 = 1;

/// Whether the figures may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Everything that was sent was answered rightly, at the rate that was asked for.
    Ok,
    /// The rate that was asked for was missed by more than 1 %.
    MissedRate,
    /// Something was lost, wrong or broken; the cause says what.
    Failed,
}

/// What went wrong, how often, and the words of the first time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ErrorCount {
    /// Short name.
    pub kind: String,
    /// Times.
    pub count: u64,
    /// The first one in words.
    pub first: String,
}

/// What was in force on the connections.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Options {
    /// The agreement on permessage-deflate, if there is one.
    pub deflate: Option<String>,
    /// TCP_NODELAY, read back from a socket.
    pub nodelay: bool,
    /// TCP_CONGESTION, read back from a socket.
    pub congestion_control: Option<String>,
    /// TLS version and cipher suite.
    pub tls: Option<String>,
    /// The subprotocol that the server chose.
    pub subprotocol: Option<String>,
}

/// How near a load came to what the machine's TCP can do.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CeilingShare {
    /// Of a raw loop without framing or checks, measured right after the load.
    pub round_trips_per_s: f64,
    /// The load's round trips as a share of that.
    pub share: f64,
}

/// All about one target.
#[derive(Debug, Clone, Serialize)]
pub struct LoadResult {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The target's name in the request.
    pub name: String,
    /// Where it was found.
    pub url: String,
    /// Whether the figures may be used.
    pub verdict: Verdict,
    /// Why not, if not.
    pub cause: Option<String>,
    /// Connections asked for.
    pub connections: u32,
    /// Threads of the engine.
    pub threads: u32,
    /// How bytes reached the loop.
    pub transport: TransportKind,
    /// CPU that the engine was bound to.
    pub cpu: Option<usize>,
    /// How load was offered.
    pub pacer: Pacer,
    /// What was sent.
    pub payload: PayloadRequest,
    /// Measured time.
    pub measured_ns: u64,
    /// Measured slices; 1 if unsliced.
    pub slices: u32,
    /// When each of those began, on this host's `CLOCK_MONOTONIC`; only if turns begin by the clock.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub slice_starts_ns: Vec<u64>,
    /// Messages sent in measured time.
    pub sent: u64,
    /// Answers to those.
    pub received: u64,
    /// Those without an answer.
    pub lost: u64,
    /// Second answers.
    pub duplicated: u64,
    /// Answers after that of a younger message.
    pub out_of_order: u64,
    /// Answers with another content.
    pub wrong: u64,
    /// Messages since connecting.
    pub sent_total: u64,
    /// Answers since connecting.
    pub received_total: u64,
    /// Answers within measured time, per second of it.
    pub round_trips_per_s: f64,
    /// The raw TCP ceiling of the same shape, if it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ceiling: Option<CeilingShare>,
    /// Payload bytes of those, both ways; absent for stamps, whose sizes are the server's choice.
    pub bytes_per_s: Option<f64>,
    /// Connections that opened.
    pub handshakes: u64,
    /// Those per second of opening.
    pub handshakes_per_s: f64,
    /// From before `connect` to the whole answer.
    pub handshake_ns: Summary,
    /// From intended send time to answer.
    pub latency_ns: Summary,
    /// From actual send time to answer.
    pub latency_from_send_ns: Summary,
    /// Actual minus intended send time.
    pub lateness_ns: Summary,
    /// The first part of the run.
    pub warmup: Warmup,
    /// What was in force.
    pub options: Options,
    /// CPU time that the engine's threads spent on this target.
    pub engine_cpu_ns: u64,
    /// Gaps over 1 ms in which the engine did not run while it should have.
    pub engine_stalls: u64,
    /// Connections that were opened again.
    pub reconnects: u64,
    /// True after ^C or SIGTERM.
    pub interrupted: bool,
    /// What went wrong.
    pub errors: Vec<ErrorCount>,
    /// What to know before believing the figures.
    pub warnings: Vec<Warning>,
}

impl LoadResult {
    /// Something of ours went wrong after measuring; the first cause stays.
    pub fn fail(&mut self, kind: &str, text: &str) {
        self.verdict = Verdict::Failed;
        self.cause.get_or_insert_with(|| text.to_owned());
        self.errors.push(ErrorCount {
            kind: kind.to_owned(),
            count: 1,
            first: text.to_owned(),
        });
    }
}

/// Several targets on standard output.
#[derive(Debug, Serialize)]
pub struct LoadResults<'a> {
    /// [`SCHEMA`].
    pub schema: u32,
    /// In the order of the request.
    pub results: &'a [LoadResult],
}
