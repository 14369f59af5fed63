//! `feedbench-engine`: touches every byte that is timed.

mod ceiling;
mod check;
mod churn;
mod cli;
mod clock;
mod connection;
mod dialing;
mod endpoint;
mod floor;
mod floor_child;
mod handshakes;
mod jitter;
mod judgement;
mod limit;
mod load;
mod opening;
mod payload;
mod ramp;
mod raw_handshakes;
mod raw_loop;
mod recorder;
mod request;
mod result;
mod session;
mod shard;
mod slices;
mod spin;
mod stamps;
mod stencil;
mod subscribe;
mod summary;
mod system;
mod tls;
mod transport;
mod warmup;
mod warning;

use std::process::ExitCode;

use clap::Parser;
use cli::{Cli, Command};

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Load(arguments) => load::run(&arguments),
        Command::Ramp(arguments) => ramp::run(&arguments),
        Command::Churn(arguments) => churn::run(&arguments),
        Command::Subscribe(arguments) => subscribe::run(&arguments),
        Command::Idle(arguments) => ramp::run_idle(&arguments),
        Command::Ceiling(arguments) => ceiling::run(&arguments),
        Command::Limit(arguments) => limit::run(&arguments),
        Command::Floor(arguments) => floor::run(&arguments),
        Command::Spin(arguments) => spin::run(&arguments),
        Command::Jitter(arguments) => jitter::run(&arguments),
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("feedbench-engine: {error:#}");
        ExitCode::FAILURE
    })
}
