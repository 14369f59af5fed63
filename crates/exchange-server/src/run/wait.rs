//! Waiting for the end, and bringing it about.

use anyhow::{Context, Result};
use feedbench_exchange_server::namespace::Child;
use feedbench_exchange_server::runtime::Commands;
use feedbench_exchange_server::seam::Command;
use feedbench_exchange_server::signals::{Signals, Woken};
use nix::sys::signal::Signal;
use std::os::fd::BorrowedFd;

/// Waits until the market has ended, and the child if there is one; returns the child's exit status.
///
/// Signals end the market, or go to the child, whose end then ends the market. A market that ends by itself takes the
/// child with it: there is nothing left to talk to.
pub fn until_ended(
    signals: &Signals,
    market: BorrowedFd<'_>,
    commands: &Commands,
    mut child: Option<Child>,
) -> Result<Option<u8>> {
    let mut status = None;
    let mut watched = Some(market);
    while watched.is_some() || child.is_some() {
        match signals.wait(watched).context("cannot wait for signals")? {
            Woken::Closed => {
                watched = None;
                if let Some(child) = &child {
                    child.signal(Signal::SIGTERM);
                }
            }
            Woken::Child => {
                let ended = child.as_mut().map(Child::ended).transpose();
                if let Some(code) = ended.context("cannot wait for the command")?.flatten() {
                    (child, status) = (None, Some(code));
                    stop(commands);
                }
            }
            Woken::Signal {
                signal,
                from_terminal,
            } => match &child {
                // The terminal has sent it to the child already.
                Some(_) if from_terminal => {}
                Some(child) => child.signal(signal),
                None => stop(commands),
            },
        }
    }
    Ok(status)
}

fn stop(commands: &Commands) {
    // If it cannot be told to stop, it has.
    drop(commands.send(Command::Stop));
}
