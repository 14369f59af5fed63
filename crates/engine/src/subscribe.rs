//! `feedbench-engine subscribe`: many subscribers of one feed, each message stamped as it arrives.
//!
//! One thread reads for all of them, so the last of 512 sockets is read about half a millisecond after the first:
//! that much of a first-to-last skew is ours. Subscribing to the exchange itself, without a relay, measures it.

mod arguments;
mod crowd;
mod journal;
mod subscriber;
mod summary;

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Context, Result};

pub use arguments::SubscribeArguments;

use crate::result::SCHEMA;
use crate::system;
use crowd::Crowd;

/// Files that a process holds besides its connections.
const OTHER_FILES: u64 = 64;

/// Runs the sub-command.
pub fn run(arguments: &SubscribeArguments) -> Result<ExitCode> {
    arguments.check()?;
    if let Some(cpu) = arguments.cpu {
        system::pin_thread(cpu).with_context(|| format!("cannot run on CPU {cpu}"))?;
    }
    let subscribers = arguments.subscribers.get();
    system::raise_file_limit(u64::from(subscribers) + OTHER_FILES)
        .context("too many subscribers for this process")?;
    // Made at once, so that a place where nothing can be written shows itself before the run.
    let output = match &arguments.output {
        Some(path) => Some((
            std::fs::File::create(path)
                .with_context(|| format!("cannot write {}", path.display()))?,
            path,
        )),
        None => None,
    };
    let interrupt = system::catch_interrupts();
    let mut crowd = Crowd::new(arguments, interrupt)?;
    crowd.open()?;
    if arguments.json {
        say(&serde_json::json!({"schema": SCHEMA, "connected": subscribers}))?;
    }
    crowd.follow()?;
    let outcome = crowd.finish();
    if let Some((file, path)) = output {
        outcome
            .write_receipts(arguments, file)
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    let summary = outcome.summary(arguments);
    if arguments.json {
        say(&summary)?;
    } else {
        print!("{}", summary.text());
    }
    Ok(if summary.received_total == 0 {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

/// One JSON object on a line of its own, at once.
fn say(object: &impl serde::Serialize) -> Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", serde_json::to_string(object)?)?;
    out.flush()?;
    Ok(())
}
