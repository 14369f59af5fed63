//! Messages that leave: numbered, stored, and then put into the output.

use super::super::encode::Encoder;
use super::super::message::Message;
use super::super::store::Store;
use super::super::tag::{self, Tag};
use super::super::time::{UtcTime, MAXIMUM_TIME_BYTES};
use super::super::validate::Problem;
use super::header::{is_rewritten, Header};
use super::{Config, Now, Phase, RejectReason, Role, Session, SessionError};

/// BusinessRejectReason (380) 3: the application does not know the message.
const UNSUPPORTED_MESSAGE_TYPE: u64 = 3;

impl<S: Store> Session<S> {
    /// Sends an application message, whose body the closure writes, and returns its number.
    ///
    /// # Errors
    /// [`SessionError::NotLoggedOn`] and [`SessionError::Encode`] leave everything as it was.
    pub fn send(
        &mut self,
        msg_type: &str,
        now: Now,
        body: impl FnOnce(&mut Encoder<'_>),
    ) -> Result<u64, SessionError> {
        if self.phase != Phase::Active {
            return Err(SessionError::NotLoggedOn);
        }
        self.write(msg_type, now, true, body)
    }

    /// Tells the other side at the session level what is wrong with a message that it sent.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub fn reject(
        &mut self,
        ref_seq_num: u64,
        ref_msg_type: &str,
        text: &str,
        now: Now,
        further: impl FnOnce(&mut Encoder<'_>),
    ) -> Result<u64, SessionError> {
        self.send_checked("3", now, |message| {
            message.unsigned(tag::REF_SEQ_NUM, ref_seq_num);
            message.text(tag::TEXT, text);
            message.text(tag::REF_MSG_TYPE, ref_msg_type);
            further(message);
        })
    }

    /// Tells the other side that the application does not know this kind of message.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub fn reject_unsupported(
        &mut self,
        ref_seq_num: u64,
        ref_msg_type: &str,
        now: Now,
    ) -> Result<u64, SessionError> {
        self.reject_business(
            ref_seq_num,
            ref_msg_type,
            UNSUPPORTED_MESSAGE_TYPE,
            "Unsupported Message Type",
            now,
        )
    }

    /// Tells the other side that the application cannot do what a sound message asks.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub fn reject_business(
        &mut self,
        ref_seq_num: u64,
        ref_msg_type: &str,
        reason: u64,
        text: &str,
        now: Now,
    ) -> Result<u64, SessionError> {
        self.send("j", now, |message| {
            message.unsigned(tag::REF_SEQ_NUM, ref_seq_num);
            message.text(tag::TEXT, text);
            message.text(tag::REF_MSG_TYPE, ref_msg_type);
            message.unsigned(tag::BUSINESS_REJECT_REASON, reason);
        })
    }

    /// Begins to log out. [`super::Event::LoggedOut`] follows, or a time limit.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub fn logout(&mut self, text: &str, now: Now) -> Result<(), SessionError> {
        if self.phase != Phase::Active {
            return Err(SessionError::NotLoggedOn);
        }
        self.send_logout(text, now)?;
        self.phase = Phase::LogoutSent;
        self.logout_sent_ns = now.monotonic_ns;
        Ok(())
    }

    fn send_checked(
        &mut self,
        msg_type: &str,
        now: Now,
        body: impl FnOnce(&mut Encoder<'_>),
    ) -> Result<u64, SessionError> {
        if self.phase != Phase::Active {
            return Err(SessionError::NotLoggedOn);
        }
        self.write(msg_type, now, false, body)
    }

    /// Writes a message with the next number. Only stored messages are sent again when they are asked for.
    fn write(
        &mut self,
        msg_type: &str,
        now: Now,
        stored: bool,
        body: impl FnOnce(&mut Encoder<'_>),
    ) -> Result<u64, SessionError> {
        let sequence = self.store.next_outgoing();
        let start = self.output.len();
        let mut encoder = begin(
            &mut self.output,
            &self.config,
            msg_type,
            sequence,
            now.utc,
            None,
        );
        body(&mut encoder);
        encoder.finish()?;
        let message = stored.then_some(&self.output[start..]);
        if let Err(error) = self.store.append(message) {
            self.output.truncate(start);
            return Err(error.into());
        }
        self.last_sent_ns = now.monotonic_ns;
        Ok(sequence)
    }

    fn write_session_message(
        &mut self,
        msg_type: &str,
        now: Now,
        body: impl FnOnce(&mut Encoder<'_>),
    ) -> Result<(), SessionError> {
        self.write(msg_type, now, false, body).map(|_| ())
    }

    pub(super) fn send_logon(&mut self, reset: bool, now: Now) -> Result<(), SessionError> {
        let (heartbeat_seconds, signer) = match &self.config.role {
            Role::Acceptor { .. } => (self.heartbeat_ns / 1_000_000_000, None),
            Role::Initiator {
                heartbeat_seconds,
                signer,
                ..
            } => (u64::from(*heartbeat_seconds), signer.clone()),
        };
        let raw_data = signer.map(|signer| {
            let mut time = [0; MAXIMUM_TIME_BYTES];
            let length = now.utc.format(self.config.profile.precision, &mut time);
            signer.raw_data(
                &self.config.sender_comp_id,
                &self.config.target_comp_id,
                self.store.next_outgoing(),
                std::str::from_utf8(&time[..length]).unwrap_or_default(),
            )
        });
        let version = self.config.profile.default_appl_ver_id;
        let fields = self.config.logon_fields.clone();
        self.write_session_message("A", now, |message| {
            if let Some(raw_data) = raw_data {
                message.data(tag::RAW_DATA_LENGTH, tag::RAW_DATA, raw_data.as_bytes());
            }
            message.unsigned(tag::ENCRYPT_METHOD, 0);
            message.unsigned(tag::HEART_BT_INT, heartbeat_seconds);
            if reset {
                message.flag(tag::RESET_SEQ_NUM_FLAG, true);
            }
            for (tag, value) in &fields {
                message.text(*tag, value);
            }
            if let Some(version) = version {
                message.text(tag::DEFAULT_APPL_VER_ID, version);
            }
        })
    }

    pub(super) fn send_heartbeat(
        &mut self,
        test_req_id: Option<&[u8]>,
        now: Now,
    ) -> Result<(), SessionError> {
        self.write_session_message("0", now, |message| {
            if let Some(id) = test_req_id {
                message.field(tag::TEST_REQ_ID, id);
            }
        })
    }

    pub(super) fn send_test_request(&mut self, now: Now) -> Result<(), SessionError> {
        self.test_requested_ns = Some(now.monotonic_ns);
        // Any message shows that the other side is alive, so the word need not tell one request from another.
        self.write_session_message("1", now, |message| message.text(tag::TEST_REQ_ID, "TEST"))
    }

    pub(super) fn send_logout(&mut self, text: &str, now: Now) -> Result<(), SessionError> {
        self.write_session_message("5", now, |message| {
            if !text.is_empty() {
                message.text(tag::TEXT, text);
            }
        })
    }

    pub(super) fn send_resend_request(&mut self, now: Now) -> Result<(), SessionError> {
        let from = self.store.next_incoming();
        self.write_session_message("2", now, |message| {
            message.unsigned(tag::BEGIN_SEQ_NO, from);
            // All from there: what comes meanwhile may be lost as well.
            message.unsigned(tag::END_SEQ_NO, 0);
        })
    }

    pub(super) fn send_reject(
        &mut self,
        message: &Message<'_>,
        sequence: u64,
        problem: Problem,
        now: Now,
    ) -> Result<(), SessionError> {
        let highest = self.config.profile.highest_reject_reason;
        self.write_session_message("3", now, |reject| {
            route_back(message, reject);
            reject.unsigned(tag::REF_SEQ_NUM, sequence);
            reject.text(tag::TEXT, problem.reason.text());
            if let Some(tag) = problem.tag {
                reject.unsigned(tag::REF_TAG_ID, u64::from(tag));
            }
            if !message.msg_type().is_empty() {
                reject.field(tag::REF_MSG_TYPE, message.msg_type());
            }
            if problem.reason as u32 <= highest {
                reject.unsigned(tag::SESSION_REJECT_REASON, problem.reason as u64);
            }
        })
    }

    /// Sends `from..=through` again: application messages as possible duplicates, gap fills for everything else.
    pub(super) fn resend(&mut self, from: u64, through: u64, now: Now) -> Result<(), SessionError> {
        let mut gap_from = from;
        for sequence in from..=through {
            let mut stored = std::mem::take(&mut self.resent);
            if self.store.load(sequence, &mut stored)? {
                if gap_from < sequence {
                    self.write_gap_fill(gap_from, sequence, now)?;
                }
                self.write_again(&stored, sequence, now)?;
                gap_from = sequence + 1;
            }
            self.resent = stored;
        }
        if gap_from <= through {
            self.write_gap_fill(gap_from, through + 1, now)?;
        }
        self.last_sent_ns = now.monotonic_ns;
        Ok(())
    }

    fn write_gap_fill(&mut self, from: u64, next: u64, now: Now) -> Result<(), SessionError> {
        let mut time = [0; MAXIMUM_TIME_BYTES];
        let length = now.utc.format(self.config.profile.precision, &mut time);
        let original = Some(&time[..length]);
        let mut message = begin(&mut self.output, &self.config, "4", from, now.utc, original);
        message.unsigned(tag::NEW_SEQ_NO, next);
        message.flag(tag::GAP_FILL_FLAG, true);
        message.finish()?;
        Ok(())
    }

    fn write_again(&mut self, stored: &[u8], sequence: u64, now: Now) -> Result<(), SessionError> {
        let Ok(Some((message, _))) = Message::parse(stored) else {
            unreachable!("the store keeps what the encoder wrote");
        };
        let msg_type = String::from_utf8_lossy(message.msg_type());
        let original = Header::of(&message).sending_time;
        let mut again = begin(
            &mut self.output,
            &self.config,
            &msg_type,
            sequence,
            now.utc,
            original,
        );
        for field in message.fields().map_while(Result::ok) {
            if !is_rewritten(field.tag) {
                again.raw(field.tag, field.value);
            }
        }
        again.finish()?;
        Ok(())
    }
}

/// Where a rejected message was passed on, the reject goes back: on whose behalf it came, to them it is delivered.
fn route_back(message: &Message<'_>, reject: &mut Encoder<'_>) {
    const ON_BEHALF_OF: [Tag; 3] = [115, 116, 144];
    const DELIVER_TO: [Tag; 3] = [128, 129, 145];
    let back = ON_BEHALF_OF.into_iter().zip(DELIVER_TO);
    let forth = DELIVER_TO.into_iter().zip(ON_BEHALF_OF);
    let routes = forth.chain(back);
    for (from, to) in routes {
        if let Some(value) = message.get(from).filter(|value| !value.is_empty()) {
            reject.field(to, value);
        }
    }
}

/// A message with its header. `original_time` makes it a possible duplicate.
fn begin<'a>(
    out: &'a mut Vec<u8>,
    config: &Config,
    msg_type: &str,
    sequence: u64,
    utc: UtcTime,
    original_time: Option<&[u8]>,
) -> Encoder<'a> {
    let mut message = Encoder::new(out, config.profile.begin_string, msg_type);
    message.unsigned(tag::MSG_SEQ_NUM, sequence);
    if original_time.is_some() {
        message.flag(tag::POSS_DUP_FLAG, true);
    }
    message.text(tag::SENDER_COMP_ID, &config.sender_comp_id);
    message.time(tag::SENDING_TIME, utc, config.profile.precision);
    message.text(tag::TARGET_COMP_ID, &config.target_comp_id);
    if let Some(time) = original_time {
        message.raw(tag::ORIG_SENDING_TIME, time);
    }
    message
}

/// So that a caller of [`Session::reject`] can add the reason of the standard.
impl From<RejectReason> for u64 {
    fn from(reason: RejectReason) -> Self {
        reason as Self
    }
}
