//! What a session tells its owner.

use super::super::message::{GarbledReason, Message};

/// Something that happened in a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event<'a> {
    /// Both Logons are exchanged: application messages may be sent.
    LoggedOn,
    /// An application message in its turn, with all fields checked. Each number is given out once.
    Application(Message<'a>),
    /// The other side rejected a message of ours at the session level.
    Rejected(Message<'a>),
    /// We rejected the message, which is not given out.
    Refused {
        /// The message that was rejected.
        message: Message<'a>,
        /// Why.
        reason: RejectReason,
    },
    /// Bytes were ignored because they are no message.
    Garbled(GarbledReason),
    /// A message came before its turn, and those between were asked for.
    Gap {
        /// The next number.
        expected: u64,
        /// The number that came.
        received: u64,
    },
    /// The other side logged out, or answered our Logout.
    LoggedOut(Message<'a>),
    /// Write the output and close the connection.
    Disconnect(DisconnectReason),
}

/// Why a connection shall be closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DisconnectReason {
    /// Logouts were exchanged.
    #[error("both sides logged out")]
    LoggedOut,
    /// The first message was no Logon.
    #[error("the first message was no Logon")]
    NotALogon,
    /// The first message names another version or other parties, so there is nobody to answer.
    #[error("the Logon's BeginString or CompIDs are not those of the session")]
    UnknownParty,
    /// The Logon was refused; a Logout tells why.
    #[error("the Logon was refused")]
    LogonRefused,
    /// No Logon came in time.
    #[error("no Logon came within ten seconds")]
    LogonTimeout,
    /// No answer to our Logout came in time.
    #[error("our Logout was not answered within ten seconds")]
    LogoutTimeout,
    /// A TestRequest was not answered.
    #[error("nothing was received for two heartbeat intervals and a TestRequest was not answered")]
    Silence,
    /// Another BeginString in a running session.
    #[error("a message had another BeginString")]
    BeginString,
    /// A message without a number.
    #[error("a message had no MsgSeqNum")]
    NoSequenceNumber,
    /// A number that was used before, without PossDupFlag.
    #[error("a message had a MsgSeqNum that was used before")]
    SequenceTooLow,
    /// A number too high in a profile without recovery.
    #[error("messages are missing and this session has no recovery")]
    Gap,
    /// SenderCompID or TargetCompID changed.
    #[error("a message had other CompIDs")]
    CompId,
    /// SendingTime is too far from the clock, or before OrigSendingTime.
    #[error("a message's SendingTime was not plausible")]
    SendingTime,
}

/// SessionRejectReason (373).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum RejectReason {
    /// No field has this number.
    InvalidTagNumber = 0,
    /// A field that must be there is not.
    RequiredTagMissing = 1,
    /// The field exists, but not in this message.
    TagNotDefinedForMessage = 2,
    /// Nothing behind the equals sign.
    TagWithoutValue = 4,
    /// Not among the allowed values.
    ValueIncorrect = 5,
    /// A letter where a number should be, and the like.
    IncorrectDataFormat = 6,
    /// Other names than those of the session.
    CompIdProblem = 9,
    /// SendingTime too far from the clock, or before OrigSendingTime.
    SendingTimeAccuracy = 10,
    /// No such message.
    InvalidMsgType = 11,
    /// A field twice outside of a group.
    TagAppearsMoreThanOnce = 13,
    /// A header field behind the body.
    OutOfRequiredOrder = 14,
    /// An entry of a group that does not begin with its first field.
    GroupOutOfOrder = 15,
    /// More or fewer entries than announced.
    IncorrectGroupCount = 16,
}

impl RejectReason {
    /// The words of the standard.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::InvalidTagNumber => "Invalid tag number",
            Self::RequiredTagMissing => "Required tag missing",
            Self::TagNotDefinedForMessage => "Tag not defined for this message type",
            Self::TagWithoutValue => "Tag specified without a value",
            Self::ValueIncorrect => "Value is incorrect (out of range) for this tag",
            Self::IncorrectDataFormat => "Incorrect data format for value",
            Self::CompIdProblem => "CompID problem",
            Self::SendingTimeAccuracy => "SendingTime accuracy problem",
            Self::InvalidMsgType => "Invalid MsgType",
            Self::TagAppearsMoreThanOnce => "Tag appears more than once",
            Self::OutOfRequiredOrder => "Tag specified out of required order",
            Self::GroupOutOfOrder => "Repeating group fields out of order",
            Self::IncorrectGroupCount => "Incorrect NumInGroup count for repeating group",
        }
    }
}

/// An event before its message is attached.
#[derive(Debug, Clone, Copy)]
pub(super) enum Notice {
    LoggedOn,
    Application,
    Rejected,
    Refused(RejectReason),
    Garbled(GarbledReason),
    Gap { expected: u64, received: u64 },
    LoggedOut,
    Disconnect(DisconnectReason),
}

impl Notice {
    pub(super) fn event(self, message: Option<Message<'_>>) -> Event<'_> {
        match (self, message) {
            (Self::Application, Some(message)) => Event::Application(message),
            (Self::Rejected, Some(message)) => Event::Rejected(message),
            (Self::Refused(reason), Some(message)) => Event::Refused { message, reason },
            (Self::LoggedOut, Some(message)) => Event::LoggedOut(message),
            (Self::LoggedOn, _) => Event::LoggedOn,
            (Self::Garbled(reason), _) => Event::Garbled(reason),
            (Self::Gap { expected, received }, _) => Event::Gap { expected, received },
            (Self::Disconnect(reason), _) => Event::Disconnect(reason),
            (notice, None) => unreachable!("{notice:?} is only noted about a message"),
        }
    }
}
