//! What becomes of a received message: who sent it, when, and whether it is its turn.

use super::super::message::{is_administrative, Message};
use super::super::profile::Recovery;
use super::super::store::Store;
use super::super::tag;
use super::super::time::UtcTime;
use super::super::validate::{self, Problem};
use super::event::Notice;
use super::header::Header;
use super::{
    AwaitedResend, Current, DisconnectReason, Now, Phase, RejectReason, Session, SessionError,
};

/// Messages that wait for their turn. More are dropped, because the resend brings them again anyway.
const MAXIMUM_QUEUED_MESSAGES: usize = 10_000;

impl<S: Store> Session<S> {
    /// Takes one step with the received bytes. False when there is nothing to do.
    pub(super) fn next_message(&mut self, now: Now) -> Result<bool, SessionError> {
        if self.phase == Phase::Disconnected {
            return Ok(false);
        }
        if let Some(bytes) = self.take_queued() {
            if let Ok(Some((message, _))) = Message::parse(&bytes) {
                self.in_turn(&message, &Header::of(&message), now)?;
            }
            self.current = Current::Queued(bytes);
            return Ok(true);
        }
        // Out of the session while it works on a message in it.
        let input = std::mem::take(&mut self.input);
        let from = self.input_at;
        let outcome = match Message::parse(&input[from..]) {
            Ok(None) => Ok(false),
            Ok(Some((message, length))) => {
                self.input_at += length;
                self.current = Current::Input(from..from + length);
                self.received_messages += 1;
                self.last_received_ns = now.monotonic_ns;
                self.test_requested_ns = None;
                self.receive(&message, now).map(|()| true)
            }
            Err(garbled) => {
                self.input_at += garbled.skip_bytes;
                self.notices.push_back(Notice::Garbled(garbled.reason));
                Ok(true)
            }
        };
        self.input = input;
        outcome
    }

    fn take_queued(&mut self) -> Option<Vec<u8>> {
        let expected = self.store.next_incoming();
        // What a gap fill or a resend has passed meanwhile is a duplicate.
        while self.queue.first_key_value()?.0 < &expected {
            self.queue.pop_first();
        }
        self.queue.remove(&expected)
    }

    fn receive(&mut self, message: &Message<'_>, now: Now) -> Result<(), SessionError> {
        let header = Header::of(message);
        let awaits_logon = matches!(self.phase, Phase::AwaitingLogon | Phase::LogonSent);
        if awaits_logon
            && !matches!(
                (self.phase, message.msg_type()),
                (_, b"A") | (Phase::LogonSent, b"5" | b"3")
            )
        {
            self.disconnect(DisconnectReason::NotALogon);
            return Ok(());
        }
        if message.begin_string() != self.config.profile.begin_string.as_bytes() {
            if awaits_logon {
                self.disconnect(DisconnectReason::UnknownParty);
                return Ok(());
            }
            return self.end("Incorrect BeginString", DisconnectReason::BeginString, now);
        }
        let Some(sequence) = header.sequence else {
            let text = "Required tag missing: MsgSeqNum (34)";
            return self.end(text, DisconnectReason::NoSequenceNumber, now);
        };
        if !self.parties_match(&header) {
            if awaits_logon {
                self.disconnect(DisconnectReason::UnknownParty);
                return Ok(());
            }
            let problem = Problem {
                reason: RejectReason::CompIdProblem,
                tag: None,
            };
            return self.reject_and_end(message, sequence, problem, DisconnectReason::CompId, now);
        }
        if !self.is_timely(&header, now) {
            let problem = Problem::new(RejectReason::SendingTimeAccuracy, tag::SENDING_TIME);
            let reason = DisconnectReason::SendingTime;
            return self.reject_and_end(message, sequence, problem, reason, now);
        }
        if awaits_logon {
            return self.receive_first(message, &header, sequence, now);
        }
        self.take_turn(message, &header, sequence, now)
    }

    /// Decides by the number: too high, too low, or in turn.
    fn take_turn(
        &mut self,
        message: &Message<'_>,
        header: &Header<'_>,
        sequence: u64,
        now: Now,
    ) -> Result<(), SessionError> {
        let is_reset = match message.msg_type() {
            b"4" if self.config.profile.recovery == Recovery::Resend => {
                !message.flag(tag::GAP_FILL_FLAG)
            }
            b"A" => message.flag(tag::RESET_SEQ_NUM_FLAG),
            _ => false,
        };
        if is_reset {
            return self.reset_numbers(message, sequence, now);
        }
        let expected = self.store.next_incoming();
        if sequence < expected {
            return self.too_low(message, header, sequence, now);
        }
        if sequence == expected {
            return self.in_turn(message, header, now);
        }
        match message.msg_type() {
            // A peer that waits for our messages may not be able to send its own: answer first.
            b"2" if self.config.profile.recovery == Recovery::Resend => {
                if let Err(problem) = self.check_fields(message) {
                    self.refuse(message, sequence, problem, now)?;
                } else {
                    self.answer_resend_request(message, sequence, now)?;
                }
            }
            b"5" => return self.receive_logout(now),
            _ if self.queue.len() < MAXIMUM_QUEUED_MESSAGES => {
                self.queue.insert(sequence, message.bytes().to_vec());
            }
            _ => {}
        }
        self.too_high(message, sequence, now)
    }

    pub(super) fn too_high(
        &mut self,
        message: &Message<'_>,
        sequence: u64,
        now: Now,
    ) -> Result<(), SessionError> {
        let expected = self.store.next_incoming();
        if self.config.profile.recovery == Recovery::RejectGap {
            self.queue.clear();
            let problem = Problem::new(RejectReason::ValueIncorrect, tag::MSG_SEQ_NUM);
            self.refuse(message, sequence, problem, now)?;
            let text = format!("MsgSeqNum too high, expecting {expected} but received {sequence}");
            return self.end(&text, DisconnectReason::Gap, now);
        }
        let awaited = self
            .awaited_resend
            .is_some_and(|awaited| expected <= awaited.through);
        if !awaited {
            self.awaited_resend = Some(AwaitedResend {
                through: sequence - 1,
                incoming: expected,
                asked_ns: now.monotonic_ns,
            });
            self.notices.push_back(Notice::Gap {
                expected,
                received: sequence,
            });
            self.send_resend_request(now)?;
        }
        Ok(())
    }

    /// Asks again when nothing came for a while; a resend that makes progress may take its time.
    pub(super) fn repeat_resend_request(&mut self, now: Now) -> Result<(), SessionError> {
        let incoming = self.store.next_incoming();
        let Some(awaited) = &mut self.awaited_resend else {
            return Ok(());
        };
        if incoming > awaited.through {
            self.awaited_resend = None;
            return Ok(());
        }
        let stands_still = awaited.incoming == incoming;
        awaited.incoming = incoming;
        awaited.asked_ns = now.monotonic_ns;
        if stands_still {
            self.send_resend_request(now)?;
        }
        Ok(())
    }

    fn too_low(
        &mut self,
        message: &Message<'_>,
        header: &Header<'_>,
        sequence: u64,
        now: Now,
    ) -> Result<(), SessionError> {
        if header.poss_dup {
            // Received before, so only the times are of interest.
            return self
                .original_time_is_sound(message, header, sequence, now)
                .map(|_| ());
        }
        let expected = self.store.next_incoming();
        let text = format!("MsgSeqNum too low, expecting {expected} but received {sequence}");
        self.end(&text, DisconnectReason::SequenceTooLow, now)
    }

    /// Handles the message whose turn it is and goes on to the next number.
    fn in_turn(
        &mut self,
        message: &Message<'_>,
        header: &Header<'_>,
        now: Now,
    ) -> Result<(), SessionError> {
        let sequence = self.store.next_incoming();
        self.store.set_next_incoming(sequence + 1)?;
        if header.poss_dup && !self.original_time_is_sound(message, header, sequence, now)? {
            return Ok(());
        }
        if let Err(problem) = self.check_fields(message) {
            return self.refuse(message, sequence, problem, now);
        }
        if is_administrative(message.msg_type()) {
            return self.administrate(message, sequence, now);
        }
        self.notices.push_back(Notice::Application);
        Ok(())
    }

    /// Scenarios 2f and 2g: a possible duplicate tells when it was sent first, which was not later.
    fn original_time_is_sound(
        &mut self,
        message: &Message<'_>,
        header: &Header<'_>,
        sequence: u64,
        now: Now,
    ) -> Result<bool, SessionError> {
        let Some(original) = header.orig_sending_time else {
            // Gap fills repeat nothing, and some engines leave the field out.
            if message.msg_type() == b"4" {
                return Ok(true);
            }
            let problem = Problem::new(RejectReason::RequiredTagMissing, tag::ORIG_SENDING_TIME);
            self.refuse(message, sequence, problem, now)?;
            return Ok(false);
        };
        let times = UtcTime::parse(original).zip(header.sending_time.and_then(UtcTime::parse));
        let Some((original, sent)) = times else {
            let problem = Problem::new(RejectReason::IncorrectDataFormat, tag::ORIG_SENDING_TIME);
            self.refuse(message, sequence, problem, now)?;
            return Ok(false);
        };
        if original > sent {
            let problem = Problem::new(RejectReason::SendingTimeAccuracy, tag::ORIG_SENDING_TIME);
            let reason = DisconnectReason::SendingTime;
            self.refuse(message, sequence, problem, now)?;
            self.end(problem.reason.text(), reason, now)?;
            return Ok(false);
        }
        Ok(true)
    }

    pub(super) fn check_fields(&mut self, message: &Message<'_>) -> Result<(), Problem> {
        validate::check(message, self.config.profile.dictionary, &mut self.seen)
    }

    fn parties_match(&self, header: &Header<'_>) -> bool {
        // A missing name is found by the check of the fields.
        let matches = |name: Option<&[u8]>, expected: &str| {
            name.is_none_or(|name| name == expected.as_bytes())
        };
        matches(header.sender_comp_id, &self.config.target_comp_id)
            && matches(header.target_comp_id, &self.config.sender_comp_id)
    }

    fn is_timely(&self, header: &Header<'_>, now: Now) -> bool {
        let Some(window) = self.config.profile.sending_time_window else {
            return true;
        };
        match header.sending_time.and_then(UtcTime::parse) {
            Some(sent) => {
                let age_ns = now.utc.since_ns(sent);
                age_ns <= window.past_ns && age_ns >= -window.future_ns
            }
            None => true,
        }
    }

    /// Rejects a message that has its turn, and tells the owner.
    pub(super) fn refuse(
        &mut self,
        message: &Message<'_>,
        sequence: u64,
        problem: Problem,
        now: Now,
    ) -> Result<(), SessionError> {
        self.notices.push_back(Notice::Refused(problem.reason));
        self.send_reject(message, sequence, problem, now)
    }

    fn reject_and_end(
        &mut self,
        message: &Message<'_>,
        sequence: u64,
        problem: Problem,
        reason: DisconnectReason,
        now: Now,
    ) -> Result<(), SessionError> {
        if sequence == self.store.next_incoming() {
            self.store.set_next_incoming(sequence + 1)?;
        }
        self.refuse(message, sequence, problem, now)?;
        self.end(problem.reason.text(), reason, now)
    }

    /// Logs out without waiting for the answer: the other side is not to be trusted any more.
    pub(super) fn end(
        &mut self,
        text: &str,
        reason: DisconnectReason,
        now: Now,
    ) -> Result<(), SessionError> {
        self.send_logout(text, now)?;
        self.disconnect(reason);
        Ok(())
    }
}
