//! `feedbench-engine ceiling`: how fast this machine's TCP goes round, without framing, check or histogram.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Args;
use feedbench_record::{ExactHistogram, Summary};
use serde::{Deserialize, Serialize};

use crate::cli::duration_ns;
use crate::floor_child::FloorChild;
use crate::raw_loop::{RawLoop, RawMessage};
use crate::request::{Request, RequestError};
use crate::result::SCHEMA;
use crate::system;

/// Before measuring, for each shape.
const WARMUP_NS: u64 = 100_000_000;

/// How `ceiling` is told what to measure.
#[derive(Debug, Args)]
pub struct CeilingArguments {
    /// Read shapes, duration and CPUs from this JSON file instead
    #[arg(long, value_name = "FILE")]
    pub request: Option<PathBuf>,
    /// Numbers of connections
    #[arg(short, long, value_delimiter = ',', default_value = "1")]
    pub connections: Vec<NonZeroU32>,
    /// Messages outstanding on each connection
    #[arg(long, value_delimiter = ',', default_value = "1")]
    pub in_flight: Vec<NonZeroU32>,
    /// Bytes of a message
    #[arg(short, long, value_delimiter = ',', default_value = "108")]
    pub size: Vec<NonZeroU32>,
    /// Time for each combination
    #[arg(short, long, default_value = "1s", value_parser = duration_ns)]
    pub duration: u64,
    /// CPU of the loop
    #[arg(long)]
    pub cpu: Option<usize>,
    /// CPU of the echo server
    #[arg(long)]
    pub server_cpu: Option<usize>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// One load shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shape {
    /// Connections.
    pub connections: NonZeroU32,
    /// Messages outstanding on each.
    pub in_flight: NonZeroU32,
    /// Bytes of a message.
    pub bytes: NonZeroU32,
}

/// A request for several shapes.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct CeilingRequest {
    schema: u32,
    duration_ns: u64,
    #[serde(default)]
    cpu: Option<usize>,
    #[serde(default)]
    server_cpu: Option<usize>,
    shapes: Vec<Shape>,
}

/// What one shape reaches.
#[derive(Debug, Serialize)]
struct Ceiling {
    #[serde(flatten)]
    shape: Shape,
    round_trips_per_s: f64,
    latency_ns: Summary,
}

#[derive(Debug, Serialize)]
struct Ceilings {
    schema: u32,
    cpu: Option<usize>,
    server_cpu: Option<usize>,
    results: Vec<Ceiling>,
}

/// Runs the sub-command.
pub fn run(arguments: &CeilingArguments) -> Result<ExitCode> {
    let request = arguments.to_request()?;
    if let Some(cpu) = request.cpu {
        system::pin_thread(cpu).with_context(|| format!("cannot run on CPU {cpu}"))?;
    }
    let floor = FloorChild::start(true, request.server_cpu)?;
    let most = request
        .shapes
        .iter()
        .map(|shape| u64::from(shape.connections.get()))
        .max()
        .unwrap_or(0);
    system::raise_file_limit(most + 64).context("too many connections for this process")?;
    // Each shape once, whatever was asked for.
    let shapes: BTreeMap<Shape, ()> = request.shapes.iter().map(|&shape| (shape, ())).collect();
    let results: Result<Vec<_>> = shapes
        .into_keys()
        .map(|shape| measure(shape, &floor, request.duration_ns))
        .collect();
    let ceilings = Ceilings {
        schema: SCHEMA,
        cpu: request.cpu,
        server_cpu: request.server_cpu,
        results: results?,
    };
    if arguments.json {
        println!("{}", serde_json::to_string_pretty(&ceilings)?);
    } else {
        println!("connections  in flight  bytes  round trips/s  p50 µs  p99 µs");
        for Ceiling {
            shape:
                Shape {
                    connections,
                    in_flight,
                    bytes,
                },
            round_trips_per_s,
            latency_ns,
        } in &ceilings.results
        {
            let us = |value: Option<u64>| value.unwrap_or(0) as f64 / 1e3;
            let (p50, p99) = (us(latency_ns.p50), us(latency_ns.p99));
            println!("{connections:>11}  {in_flight:>9}  {bytes:>5}  {round_trips_per_s:>13.0}  {p50:>6.1}  {p99:>6.1}");
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Round trips per second of a raw loop with this shape, measured now.
pub fn round_trips_per_s(shape: Shape, server_cpu: Option<usize>, duration_ns: u64) -> Result<f64> {
    let floor = FloorChild::start(true, server_cpu)?;
    Ok(measure(shape, &floor, duration_ns)?.round_trips_per_s)
}

/// Half of the time counts round trips without a clock, the other half takes the time of each.
fn measure(shape: Shape, floor: &FloorChild, duration_ns: u64) -> Result<Ceiling> {
    let bytes = shape.bytes.get() as usize;
    let message = RawMessage {
        question: vec![b'.'; bytes],
        answer_bytes: bytes,
    };
    let mut raw = RawLoop::connect(
        floor.address,
        None,
        shape.connections.get(),
        shape.in_flight.get(),
        message,
    )
    .context("cannot connect to the echo server")?;
    let broke = "the echo server broke off";
    raw.run(WARMUP_NS).context(broke)?;
    let (answers, elapsed_ns) = raw.run(duration_ns / 2).context(broke)?;
    let mut latency = ExactHistogram::new();
    raw.run_stamped(duration_ns / 2, &mut latency)
        .context(broke)?;
    let round_trips_per_s = answers as f64 * 1e9 / elapsed_ns.max(1) as f64;
    Ok(Ceiling {
        shape,
        round_trips_per_s,
        latency_ns: latency.summary(),
    })
}

impl CeilingArguments {
    fn to_request(&self) -> Result<CeilingRequest> {
        let Some(path) = &self.request else {
            let mut shapes = Vec::new();
            for &connections in &self.connections {
                for &in_flight in &self.in_flight {
                    shapes.extend(self.size.iter().map(|&bytes| Shape {
                        connections,
                        in_flight,
                        bytes,
                    }));
                }
            }
            let (cpu, server_cpu) = (self.cpu, self.server_cpu);
            return Ok(CeilingRequest {
                schema: SCHEMA,
                duration_ns: self.duration,
                cpu,
                server_cpu,
                shapes,
            });
        };
        let request: CeilingRequest = Request::read_json(path)?;
        if request.schema != SCHEMA {
            let text = format!(
                "schema {} is not known here, only {SCHEMA} is",
                request.schema
            );
            return Err(RequestError::Senseless(text).into());
        }
        Ok(request)
    }
}
