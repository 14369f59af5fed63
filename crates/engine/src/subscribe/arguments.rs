//! What `subscribe` is told.

use std::num::NonZeroU32;
use std::path::PathBuf;

use anyhow::{ensure, Result};
use clap::Args;

use crate::cli::duration_ns;

/// How `subscribe` is told what to do.
#[derive(Debug, Clone, Args)]
pub struct SubscribeArguments {
    /// ws:// or wss:// URL of a relay or an exchange
    pub url: String,
    /// Subscribers, each with a connection of its own
    #[arg(short = 'n', long, default_value = "1")]
    pub subscribers: NonZeroU32,
    /// End so long after all are connected [default: at SIGTERM, or when all connections have ended]
    #[arg(short, long, value_parser = duration_ns)]
    pub duration: Option<u64>,
    /// Message that each sends once it is connected; repeatable
    #[arg(long, value_name = "TEXT")]
    pub send: Vec<String>,
    /// A subscriber whose connection ended connects again
    #[arg(long)]
    pub reconnect: bool,
    /// At the end, go on until nothing has come for so long
    #[arg(long, default_value = "500ms", value_parser = duration_ns)]
    pub quiet: u64,
    /// For each handshake
    #[arg(long, default_value = "10s", value_parser = duration_ns)]
    pub timeout: u64,

    /// The first so many subscribers stop reading, until the end
    #[arg(
        long,
        default_value = "0",
        value_name = "SUBSCRIBERS",
        help_heading = "Faults"
    )]
    pub slow: u32,
    /// So long after the first message
    #[arg(long, default_value = "1s", value_parser = duration_ns, requires = "slow", help_heading = "Faults")]
    pub slow_after: u64,
    /// So long after the first message all leave in one moment and come back at once
    #[arg(long, value_parser = duration_ns, value_name = "DURATION", help_heading = "Faults")]
    pub storm_after: Option<u64>,

    /// Authorities that wss:// trusts, PEM [default: the Mozilla roots]
    #[arg(long, value_name = "FILE", help_heading = "Engine")]
    pub ca_file: Option<PathBuf>,
    /// Bind to this CPU
    #[arg(long, help_heading = "Engine")]
    pub cpu: Option<usize>,
    /// Decides mask keys and handshake nonces
    #[arg(long, default_value = "1", help_heading = "Engine")]
    pub seed: u64,

    /// Write every receipt to this file (spec/feed.md, Subscribers)
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,
    /// Print a JSON object when all are connected, and one at the end
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

impl SubscribeArguments {
    /// Refuses what makes no sense, before anything is opened.
    pub fn check(&self) -> Result<()> {
        let subscribers = self.subscribers.get();
        ensure!(
            self.slow < subscribers || self.slow == 0,
            "--slow {} of {subscribers} subscribers leaves nobody to read",
            self.slow
        );
        ensure!(self.timeout > 0, "--timeout is 0");
        ensure!(self.duration != Some(0), "--duration is 0");
        ensure!(
            self.slow == 0 || self.storm_after.is_none(),
            "--slow and --storm-after are two experiments: choose one"
        );
        Ok(())
    }
}
