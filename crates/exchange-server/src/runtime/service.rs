//! What the loop does between messages: sockets, commands, upkeep.

use super::clock::{monotonic_ns, unix_ns};
use super::handle::RuntimeError;
use super::market_thread::{MarketThread, UPKEEP_EVERY_NS};
use super::poller::BELL;
use crate::seam::Command;
use std::sync::mpsc::TryRecvError;

impl MarketThread {
    /// Serves sockets and commands; waits so long for them.
    pub(super) fn serve(&mut self, timeout_ns: u64) -> Result<(), RuntimeError> {
        debug_assert!(
            self.prepared_ns.is_none(),
            "clients would find a market that is ahead of what was sent"
        );
        let mut ready = std::mem::take(&mut self.ready);
        if self.opened_ns.is_none() && !self.fixed_clock {
            // The market's own time stands still until it opens; what clients are told of the time must not.
            self.market.set_opening(unix_ns());
        }
        self.poller
            .wait(timeout_ns, &mut ready)
            .map_err(|source| RuntimeError::System {
                what: "wait for sockets",
                source,
            })?;
        for one in &ready {
            if one.token == BELL {
                self.hear_bell();
            } else {
                self.serve_socket(*one);
            }
        }
        self.ready = ready;
        self.withdraw();
        Ok(())
    }

    fn hear_bell(&mut self) {
        // The bell is silenced first: a command that comes later rings again.
        let _ = rustix::io::read(&*self.bell, &mut [0; 8]);
        loop {
            match self.commands.try_recv() {
                Ok(Command::Open {
                    door,
                    request,
                    deflate,
                    verdict,
                }) => self.open_connection(door, &request, deflate, verdict),
                Ok(Command::Connect(door, established)) => self.connect(door, established),
                Ok(Command::Attach(ticket, established)) => self.attach(ticket, established),
                Ok(Command::Abandon(ticket)) => self.abandon(ticket),
                Ok(Command::Rest {
                    door,
                    request,
                    answer,
                }) => {
                    let response = self.rest(door, &request);
                    // Whoever asked may be gone.
                    let _ = answer.send(response);
                }
                Ok(Command::Stop) => self.stopping = true,
                Err(TryRecvError::Empty | TryRecvError::Disconnected) => break,
            }
        }
    }

    pub(super) fn upkeep(&mut self) -> Result<(), RuntimeError> {
        let now_ns = monotonic_ns();
        self.upkeep_ns = now_ns + UPKEEP_EVERY_NS;
        self.end_lingerers(now_ns);
        if let Some(ledger) = &mut self.sender.ledger {
            ledger.hand_over();
            self.stopping |= ledger.has_failed();
        }
        Ok(())
    }
}
