//! How `ramp` and `idle` are told what to do.

use std::num::NonZeroU32;
use std::path::PathBuf;

use anyhow::{ensure, Result};
use clap::Args;

use crate::cli::duration_ns;
use crate::payload::{PayloadKind, PayloadRequest};

/// How `ramp` is told what to do. The defaults are the study's.
#[derive(Debug, Clone, Args)]
pub struct RampArguments {
    /// ws:// or wss:// URL that answers stamps
    pub url: String,
    /// Rounds
    #[arg(long, default_value = "100")]
    pub rounds: NonZeroU32,
    /// Connections added in each round
    #[arg(long, default_value = "100")]
    pub add: NonZeroU32,
    /// Requests of each connection in each round, all sent at once
    #[arg(long, default_value = "100")]
    pub requests: NonZeroU32,
    /// Echoes of this many bytes of text instead of stamps
    #[arg(long, value_name = "BYTES")]
    pub echo: Option<usize>,
    /// Let the connections of a round stand this long before their requests
    #[arg(long, default_value = "0s", value_parser = duration_ns)]
    pub hold: u64,
    /// Ping every connection at this interval ("0s": not at all)
    #[arg(long, default_value = "5s", value_parser = duration_ns)]
    pub heartbeat: u64,
    /// For each handshake
    #[arg(long, default_value = "10s", value_parser = duration_ns)]
    pub connect_timeout: u64,
    /// A round ends after this silence, if --nearly-all of its requests are answered
    #[arg(long, default_value = "20s", value_parser = duration_ns)]
    pub quiet: u64,
    /// See --quiet
    #[arg(long, default_value = "0.9")]
    pub nearly_all: f64,
    /// A round ends after this silence in any case
    #[arg(long, default_value = "100s", value_parser = duration_ns)]
    pub stuck: u64,
    /// A target breaks in the round that loses a larger share of its requests
    #[arg(long, default_value = "0.01")]
    pub allowed_lost_share: f64,
    /// Authorities that wss:// trusts, PEM [default: the Mozilla roots]
    #[arg(long, value_name = "FILE")]
    pub ca_file: Option<PathBuf>,
    /// Bind to this CPU
    #[arg(long)]
    pub cpu: Option<usize>,
    /// Decides mask keys and handshake nonces
    #[arg(long, default_value = "1")]
    pub seed: u64,
    /// Print one JSON object for each round as it ends, then one for the whole
    #[arg(long)]
    pub json: bool,
}

impl RampArguments {
    /// Refuses what makes no sense, before anything is started.
    pub fn check(&self) -> Result<()> {
        for (name, share) in [
            ("--nearly-all", self.nearly_all),
            ("--allowed-lost-share", self.allowed_lost_share),
        ] {
            ensure!(
                (0.0..=1.0).contains(&share),
                "{name} is {share}, not a share from 0 to 1"
            );
        }
        for (name, duration_ns) in [
            ("--quiet", self.quiet),
            ("--stuck", self.stuck),
            ("--connect-timeout", self.connect_timeout),
        ] {
            ensure!(duration_ns > 0, "{name} is 0");
        }
        let most = u64::from(self.rounds.get()) * u64::from(self.add.get());
        ensure!(
            most <= u64::from(u32::MAX),
            "{most} connections are more than can be numbered"
        );
        Ok(())
    }

    /// What is asked.
    pub fn payload(&self) -> PayloadRequest {
        PayloadRequest {
            kind: if self.echo.is_some() {
                PayloadKind::Text
            } else {
                PayloadKind::Stamp
            },
            bytes: self.echo,
            file: None,
        }
    }
}

/// How `idle` is told what to do: a ramp of one round that waits before its requests.
#[derive(Debug, Clone, Args)]
pub struct IdleArguments {
    /// ws:// or wss:// URL that echoes
    pub url: String,
    /// Connections
    #[arg(short, long, default_value = "1000")]
    pub connections: NonZeroU32,
    /// How long they say nothing
    #[arg(short, long, default_value = "60s", value_parser = duration_ns)]
    pub duration: u64,
    /// Ping every connection at this interval ("0s": not at all)
    #[arg(long, default_value = "0s", value_parser = duration_ns)]
    pub ping: u64,
    /// Bytes of the message that each is asked at the end
    #[arg(short, long, default_value = "108")]
    pub size: usize,
    /// For each handshake, and for the answers at the end
    #[arg(long, default_value = "10s", value_parser = duration_ns)]
    pub timeout: u64,
    /// Authorities that wss:// trusts, PEM [default: the Mozilla roots]
    #[arg(long, value_name = "FILE")]
    pub ca_file: Option<PathBuf>,
    /// Bind to this CPU
    #[arg(long)]
    pub cpu: Option<usize>,
    /// Print JSON, as `ramp` does
    #[arg(long)]
    pub json: bool,
}

impl IdleArguments {
    /// The ramp of one round that this is.
    pub fn as_ramp(&self) -> RampArguments {
        RampArguments {
            url: self.url.clone(),
            rounds: NonZeroU32::MIN,
            add: self.connections,
            requests: NonZeroU32::MIN,
            echo: Some(self.size),
            hold: self.duration,
            heartbeat: self.ping,
            connect_timeout: self.timeout,
            quiet: self.timeout,
            nearly_all: 1.0,
            stuck: self.timeout,
            allowed_lost_share: 0.0,
            ca_file: self.ca_file.clone(),
            cpu: self.cpu,
            seed: 1,
            json: self.json,
        }
    }
}
