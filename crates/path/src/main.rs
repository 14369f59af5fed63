//! `feedbench-path`: see `--help`. `feedbench path` starts it.

use anyhow::Result;
use clap::{Args, Parser, Subcommand};
use feedbench_path::emulator::{Path, ADDRESSES};
use feedbench_path::link::Shape;
use feedbench_path::verify::verify;
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::SignalFd;
use serde_json::json;
use std::io::{stdout, Write};
use std::os::fd::AsFd;
use std::process::ExitCode;

/// A network path on one machine: two network namespaces, and a delay, jitter, losses and a rate between them.
#[derive(Parser)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Lays a path until SIGTERM: prints its ends as a line of JSON, and at last what it carried.
    Run(PathArguments),
    /// Lays a path, measures it and prints what was found; status 1 when that is not what was asked.
    Verify(PathArguments),
}

#[derive(Args)]
struct PathArguments {
    /// From one end to the other; a round trip takes it twice.
    #[arg(long, default_value_t = 0)]
    delay_ns: u64,
    /// Each packet's delay is drawn from the delay ± this.
    #[arg(long, default_value_t = 0)]
    jitter_ns: u64,
    /// Share of packets that are lost, in each direction.
    #[arg(long, default_value_t = 0.0, value_parser = share)]
    loss: f64,
    /// In each direction, IP headers included.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    rate_bits_per_s: Option<u64>,
    /// How long a packet may wait to be sent at that rate before it is dropped.
    #[arg(long, default_value_t = 100_000_000)]
    queue_ns: u64,
    /// The congestion control of connections at both ends, such as cubic or bbr.
    #[arg(long)]
    congestion: Option<String>,
    /// The same seed loses and delays the same packets.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

impl PathArguments {
    fn shape(&self) -> Result<Shape> {
        anyhow::ensure!(
            self.jitter_ns <= self.delay_ns,
            "a jitter of {} ns is more than the delay of {} ns",
            self.jitter_ns,
            self.delay_ns
        );
        Ok(Shape {
            delay_ns: self.delay_ns,
            jitter_ns: self.jitter_ns,
            loss: self.loss,
            rate_bits_per_s: self.rate_bits_per_s,
            queue_ns: self.queue_ns,
        })
    }
}

fn share(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|share| (0.0..1.0).contains(share))
        .ok_or_else(|| format!("{text:?} is no share of at least 0 and below 1"))
}

fn main() -> ExitCode {
    act(&Cli::parse()).unwrap_or_else(|error| {
        eprintln!("feedbench path: {error:#}");
        ExitCode::FAILURE
    })
}

fn act(cli: &Cli) -> Result<ExitCode> {
    match &cli.command {
        Command::Run(arguments) => run(arguments),
        Command::Verify(arguments) => {
            let verdict = verify(
                arguments.shape()?,
                arguments.congestion.as_deref(),
                arguments.seed,
            )?;
            say(&serde_json::to_value(&verdict)?)?;
            Ok(ExitCode::from(u8::from(!verdict.departures.is_empty())))
        }
    }
}

fn run(arguments: &PathArguments) -> Result<ExitCode> {
    let mut ending = SigSet::empty();
    ending.add(Signal::SIGTERM);
    ending.add(Signal::SIGINT);
    ending.thread_block()?; // before there are threads, which inherit it
    let stop = SignalFd::new(&ending)?;
    let shape = arguments.shape()?;
    let (mut path, ends) = Path::lay([shape; 2], arguments.congestion.as_deref(), arguments.seed)?;
    let described: Vec<_> = (0..2)
        .map(|end| json!({"namespace": ends[end].file(), "address": ADDRESSES[end]}))
        .collect();
    say(
        &json!({"schema": 1, "shape": shape, "congestion": arguments.congestion, "ends": described}),
    )?;
    path.carry(stop.as_fd())?;
    say(&json!({"schema": 1, "carried": path.carried()}))?;
    Ok(ExitCode::SUCCESS)
}

/// A line of JSON that is read at once.
fn say(content: &serde_json::Value) -> Result<()> {
    let mut output = stdout().lock();
    writeln!(output, "{content}")?;
    output.flush()?;
    Ok(())
}
