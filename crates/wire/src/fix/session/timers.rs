//! Heartbeats, and the end of patience.

use super::super::store::Store;
use super::{DisconnectReason, Now, Phase, Session, SessionError};

const SECOND_NS: u64 = 1_000_000_000;
/// How long a Logon or the answer to a Logout may take. The standard leaves it open; others take ten seconds too.
const PATIENCE_NS: u64 = 10 * SECOND_NS;

impl<S: Store> Session<S> {
    /// When to [`poll`](Self::poll) although nothing was received, on the monotonic clock.
    #[must_use]
    pub fn deadline(&self) -> Option<u64> {
        match self.phase {
            Phase::Disconnected => None,
            Phase::AwaitingLogon | Phase::LogonSent => Some(self.connected_ns + PATIENCE_NS),
            Phase::Active => [
                self.heartbeat_due(),
                self.silence_due(),
                self.resend_request_due(),
            ]
            .into_iter()
            .flatten()
            .min(),
            Phase::LogoutSent => Some(self.logout_sent_ns + PATIENCE_NS),
        }
    }

    pub(super) fn check_timers(&mut self, now: Now) -> Result<(), SessionError> {
        let due = |deadline: Option<u64>| deadline.is_some_and(|at| at <= now.monotonic_ns);
        match self.phase {
            Phase::Disconnected => {}
            Phase::AwaitingLogon | Phase::LogonSent => {
                if due(self.deadline()) {
                    self.disconnect(DisconnectReason::LogonTimeout);
                }
            }
            Phase::LogoutSent => {
                if due(self.deadline()) {
                    self.disconnect(DisconnectReason::LogoutTimeout);
                }
            }
            Phase::Active => {
                if due(self.silence_due()) {
                    self.break_silence(now)?;
                }
                if self.phase == Phase::Active && due(self.resend_request_due()) {
                    self.repeat_resend_request(now)?;
                }
                if self.phase == Phase::Active && due(self.heartbeat_due()) {
                    self.send_heartbeat(None, now)?;
                }
            }
        }
        Ok(())
    }

    fn heartbeat_due(&self) -> Option<u64> {
        (self.heartbeat_ns > 0).then(|| self.last_sent_ns + self.heartbeat_ns)
    }

    fn silence_due(&self) -> Option<u64> {
        let patience_ns = self.heartbeat_ns / 10 * u64::from(self.config.profile.patience_tenths);
        let since = self.test_requested_ns.unwrap_or(self.last_received_ns);
        (self.heartbeat_ns > 0).then_some(since + patience_ns)
    }

    fn resend_request_due(&self) -> Option<u64> {
        self.awaited_resend
            .map(|awaited| awaited.asked_ns + PATIENCE_NS)
    }

    fn break_silence(&mut self, now: Now) -> Result<(), SessionError> {
        if self.test_requested_ns.is_none() {
            return self.send_test_request(now);
        }
        if self.config.profile.logout_on_silence {
            self.send_logout("Heartbeat timeout", now)?;
        }
        self.disconnect(DisconnectReason::Silence);
        Ok(())
    }
}
