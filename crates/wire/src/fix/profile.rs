//! What differs between the sessions of exchanges, as values.

use std::ops::RangeInclusive;

use super::dictionary::Dictionary;
use super::time::Precision;

const SECOND_NS: i64 = 1_000_000_000;

/// What happens when a message's number is higher than the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recovery {
    /// The missing messages are asked for, and later ones wait: the standard.
    Resend,
    /// The message is rejected and the session ends. There is no ResendRequest.
    RejectGap,
}

/// When a Logon begins the numbers of both directions again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResetOnLogon {
    /// When it says so with ResetSeqNumFlag.
    WhenAsked,
    /// Each time, whatever it says.
    Always,
    /// It must say so, or is refused.
    Required,
}

/// How far SendingTime may be from the receiver's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SendingTimeWindow {
    /// How much older than the clock.
    pub past_ns: i64,
    /// How much newer than the clock.
    pub future_ns: i64,
}

/// The rules of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// Value of field 8.
    pub begin_string: &'static str,
    /// Value of field 1137, when the session has one.
    pub default_appl_ver_id: Option<&'static str>,
    /// Which messages and fields exist.
    pub dictionary: &'static Dictionary,
    /// Decimals of the times that are sent.
    pub precision: Precision,
    /// What a gap leads to.
    pub recovery: Recovery,
    /// What a Logon does to the numbers.
    pub reset_on_logon: ResetOnLogon,
    /// Allowed HeartBtInt. 0 means no heartbeats.
    pub heartbeat_seconds: RangeInclusive<u32>,
    /// Silence after which a TestRequest asks, and after another such time the connection is given up, in tenths of
    /// HeartBtInt.
    pub patience_tenths: u32,
    /// Whether a Logout goes before giving up.
    pub logout_on_silence: bool,
    /// What the answer to a Logout says, if anything.
    pub logout_answer: &'static str,
    /// Allowed difference of SendingTime from the clock, if it is checked.
    pub sending_time_window: Option<SendingTimeWindow>,
    /// Highest SessionRejectReason that this version of FIX knows; higher ones are left out of a Reject.
    pub highest_reject_reason: u32,
}

impl Profile {
    /// FIX 4.4 as the standard has it.
    #[must_use]
    pub fn fix44() -> Self {
        Self {
            begin_string: "FIX.4.4",
            default_appl_ver_id: None,
            dictionary: Dictionary::standard(),
            precision: Precision::Milliseconds,
            recovery: Recovery::Resend,
            reset_on_logon: ResetOnLogon::WhenAsked,
            heartbeat_seconds: 0..=3600,
            patience_tenths: 12,
            logout_on_silence: false,
            logout_answer: "",
            sending_time_window: Some(SendingTimeWindow {
                past_ns: 120 * SECOND_NS,
                future_ns: 120 * SECOND_NS,
            }),
            highest_reject_reason: 99,
        }
    }

    /// FIX 4.2 as the standard has it.
    #[must_use]
    pub fn fix42() -> Self {
        Self {
            begin_string: "FIX.4.2",
            highest_reject_reason: 11,
            ..Self::fix44()
        }
    }

    /// FIXT.1.1 with messages of FIX 5.0 SP2.
    #[must_use]
    pub fn fixt() -> Self {
        Self {
            begin_string: "FIXT.1.1",
            default_appl_ver_id: Some("9"),
            dictionary: Dictionary::fixt(),
            ..Self::fix44()
        }
    }

    /// Coinbase Exchange market data: [`Self::fixt`] with a heartbeat of at most five minutes.
    #[must_use]
    pub fn coinbase() -> Self {
        Self {
            heartbeat_seconds: 1..=300,
            ..Self::fixt()
        }
    }

    /// Binance spot: no recovery, numbers from 1 in each session, times in microseconds.
    #[must_use]
    pub fn binance() -> Self {
        Self {
            dictionary: Dictionary::binance(),
            precision: Precision::Microseconds,
            recovery: Recovery::RejectGap,
            reset_on_logon: ResetOnLogon::Required,
            heartbeat_seconds: 5..=60,
            patience_tenths: 10,
            logout_on_silence: true,
            logout_answer: "Logout acknowledgment.",
            sending_time_window: Some(SendingTimeWindow {
                past_ns: 5 * SECOND_NS,
                future_ns: SECOND_NS,
            }),
            ..Self::fix44()
        }
    }
}
