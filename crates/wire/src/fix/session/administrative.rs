//! Session messages: Logon, TestRequest, ResendRequest, SequenceReset, Logout.

use super::super::message::Message;
use super::super::number;
use super::super::profile::{Recovery, ResetOnLogon};
use super::super::store::Store;
use super::super::tag;
use super::super::validate::Problem;
use super::event::Notice;
use super::header::Header;
use super::{DisconnectReason, Now, Phase, RejectReason, Role, Session, SessionError};

const SECOND_NS: u64 = 1_000_000_000;

impl<S: Store> Session<S> {
    /// A sound session message whose turn it is.
    pub(super) fn administrate(
        &mut self,
        message: &Message<'_>,
        sequence: u64,
        now: Now,
    ) -> Result<(), SessionError> {
        let recovers = self.config.profile.recovery == Recovery::Resend;
        match message.msg_type() {
            b"1" => self.send_heartbeat(message.get(tag::TEST_REQ_ID), now),
            b"2" if recovers => self.answer_resend_request(message, sequence, now),
            b"3" => {
                self.notices.push_back(Notice::Rejected);
                Ok(())
            }
            b"4" if recovers => self.fill_gap(message, sequence, now),
            b"5" => self.receive_logout(now),
            // A second Logon without reset, or recovery where there is none.
            b"A" | b"2" | b"4" => {
                let problem = Problem {
                    reason: RejectReason::InvalidMsgType,
                    tag: None,
                };
                self.refuse(message, sequence, problem, now)
            }
            // A Heartbeat was noticed when its bytes came.
            _ => Ok(()),
        }
    }

    /// The first message of a connection: the Logon, or an initiator hears why it may not log on.
    pub(super) fn receive_first(
        &mut self,
        message: &Message<'_>,
        header: &Header<'_>,
        sequence: u64,
        now: Now,
    ) -> Result<(), SessionError> {
        if message.msg_type() != b"A" {
            if sequence == self.store.next_incoming() {
                self.store.set_next_incoming(sequence + 1)?;
            }
            let notice = match message.msg_type() {
                b"3" => Notice::Rejected,
                _ => Notice::LoggedOut,
            };
            self.notices.push_back(notice);
            self.disconnect(DisconnectReason::LogonRefused);
            return Ok(());
        }
        let asks_reset = message.flag(tag::RESET_SEQ_NUM_FLAG);
        if let Err(text) = self.check_logon(message, asks_reset) {
            return self.end(&text, DisconnectReason::LogonRefused, now);
        }
        let is_acceptor = matches!(self.config.role, Role::Acceptor { .. });
        let resets = asks_reset || self.config.profile.reset_on_logon == ResetOnLogon::Always;
        if is_acceptor && resets {
            self.store.reset()?;
        } else if asks_reset {
            // Our own Logon used up a number already, so only the other direction begins again.
            self.store.set_next_incoming(1)?;
        }
        let expected = self.store.next_incoming();
        if sequence < expected && !header.poss_dup {
            let text = format!("MsgSeqNum too low, expecting {expected} but received {sequence}");
            return self.end(&text, DisconnectReason::SequenceTooLow, now);
        }
        if sequence > expected && self.config.profile.recovery == Recovery::RejectGap {
            return self.too_high(message, sequence, now);
        }
        self.heartbeat_ns = message.unsigned(tag::HEART_BT_INT).unwrap_or(0) * SECOND_NS;
        if is_acceptor {
            // Binance's answer to its required flag is documented without it.
            let repeats = self.config.profile.reset_on_logon != ResetOnLogon::Required;
            self.send_logon(asks_reset && repeats, now)?;
        }
        self.phase = Phase::Active;
        self.notices.push_back(Notice::LoggedOn);
        if sequence == expected {
            self.store.set_next_incoming(sequence + 1)?;
        } else if sequence > expected {
            self.too_high(message, sequence, now)?;
        }
        Ok(())
    }

    fn check_logon(&mut self, logon: &Message<'_>, asks_reset: bool) -> Result<(), String> {
        self.check_fields(logon)
            .map_err(|problem| match problem.tag {
                Some(tag) => format!("{} ({tag})", problem.reason.text()),
                None => problem.reason.text().to_owned(),
            })?;
        let profile = &self.config.profile;
        if logon.unsigned(tag::ENCRYPT_METHOD) != Some(0) {
            return Err("Unsupported EncryptMethod (98), only 0".to_owned());
        }
        let heartbeat = logon
            .unsigned(tag::HEART_BT_INT)
            .and_then(|seconds| u32::try_from(seconds).ok());
        if !heartbeat.is_some_and(|seconds| profile.heartbeat_seconds.contains(&seconds)) {
            let range = &profile.heartbeat_seconds;
            return Err(format!(
                "HeartBtInt (108) must be between {} and {}",
                range.start(),
                range.end()
            ));
        }
        if let Some(version) = profile.default_appl_ver_id {
            if logon.get(tag::DEFAULT_APPL_VER_ID) != Some(version.as_bytes()) {
                return Err(format!("DefaultApplVerID (1137) must be {version}"));
            }
        }
        let Role::Acceptor { authenticator } = &self.config.role else {
            return Ok(());
        };
        if profile.reset_on_logon == ResetOnLogon::Required && !asks_reset {
            return Err("ResetSeqNumFlag (141) must be Y".to_owned());
        }
        match authenticator {
            Some(authenticator) => authenticator
                .check(logon)
                .map_err(|error| error.to_string()),
            None => Ok(()),
        }
    }

    pub(super) fn answer_resend_request(
        &mut self,
        message: &Message<'_>,
        sequence: u64,
        now: Now,
    ) -> Result<(), SessionError> {
        let last = self.store.next_outgoing() - 1;
        let from = message.unsigned(tag::BEGIN_SEQ_NO).unwrap_or(0);
        let through = match message.unsigned(tag::END_SEQ_NO) {
            // 999999 was the way to say "all" before FIX 4.2.
            Some(end) if end > 0 && end < last => end,
            _ => last,
        };
        if from == 0 || from > through {
            let problem = Problem::new(RejectReason::ValueIncorrect, tag::BEGIN_SEQ_NO);
            return self.refuse(message, sequence, problem, now);
        }
        self.resend(from, through, now)
    }

    fn fill_gap(
        &mut self,
        message: &Message<'_>,
        sequence: u64,
        now: Now,
    ) -> Result<(), SessionError> {
        match message.get(tag::NEW_SEQ_NO).and_then(number::unsigned) {
            Some(next) if next > sequence => Ok(self.store.set_next_incoming(next)?),
            _ => {
                let problem = Problem::new(RejectReason::ValueIncorrect, tag::NEW_SEQ_NO);
                self.refuse(message, sequence, problem, now)
            }
        }
    }

    /// SequenceReset in reset mode, or a Logon that begins anew: both are valid whatever their number.
    pub(super) fn reset_numbers(
        &mut self,
        message: &Message<'_>,
        sequence: u64,
        now: Now,
    ) -> Result<(), SessionError> {
        if let Err(problem) = self.check_fields(message) {
            return self.refuse(message, sequence, problem, now);
        }
        if message.msg_type() == b"A" {
            if sequence != 1 {
                let problem = Problem::new(RejectReason::ValueIncorrect, tag::MSG_SEQ_NUM);
                return self.refuse(message, sequence, problem, now);
            }
            self.awaited_resend = None;
            self.queue.clear();
            self.store.reset()?;
            self.store.set_next_incoming(2)?;
            return self.send_logon(true, now);
        }
        match message.unsigned(tag::NEW_SEQ_NO) {
            Some(next) if next >= self.store.next_incoming() => {
                self.queue.clear();
                self.awaited_resend = None;
                Ok(self.store.set_next_incoming(next)?)
            }
            _ => {
                let problem = Problem::new(RejectReason::ValueIncorrect, tag::NEW_SEQ_NO);
                self.refuse(message, sequence, problem, now)
            }
        }
    }

    pub(super) fn receive_logout(&mut self, now: Now) -> Result<(), SessionError> {
        if self.phase != Phase::LogoutSent {
            self.send_logout(self.config.profile.logout_answer, now)?;
        }
        self.notices.push_back(Notice::LoggedOut);
        self.disconnect(DisconnectReason::LoggedOut);
        Ok(())
    }
}
