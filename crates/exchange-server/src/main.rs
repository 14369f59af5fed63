//! `feedbench-exchange`: see `--help`.

mod cli;
mod output;
mod run;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    run::run(&cli::Cli::parse()).unwrap_or_else(|error| {
        feedbench_exchange_server::say(&format!("{error:#}"));
        ExitCode::FAILURE
    })
}
