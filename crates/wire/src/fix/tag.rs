//! Numbers of the fields that the session layer itself reads and writes.

/// The number before the equals sign of a field.
pub type Tag = u32;

/// Byte that ends each field.
pub const SOH: u8 = 1;

/// First number of a message range that shall be sent again.
pub const BEGIN_SEQ_NO: Tag = 7;
/// Version of the protocol, always the first field.
pub const BEGIN_STRING: Tag = 8;
/// Bytes between the end of this field and the checksum, always the second field.
pub const BODY_LENGTH: Tag = 9;
/// Sum of all bytes before this field modulo 256, always the last field.
pub const CHECK_SUM: Tag = 10;
/// Last number of a message range that shall be sent again; 0 means all.
pub const END_SEQ_NO: Tag = 16;
/// Number of the message in its direction.
pub const MSG_SEQ_NUM: Tag = 34;
/// Kind of the message, always the third field.
pub const MSG_TYPE: Tag = 35;
/// The number that comes next.
pub const NEW_SEQ_NO: Tag = 36;
/// The message may have been received before under the same number.
pub const POSS_DUP_FLAG: Tag = 43;
/// Number of the message that is answered.
pub const REF_SEQ_NUM: Tag = 45;
/// Who sent the message.
pub const SENDER_COMP_ID: Tag = 49;
/// When the message was sent, in UTC.
pub const SENDING_TIME: Tag = 52;
/// For whom the message is.
pub const TARGET_COMP_ID: Tag = 56;
/// Words for a reader.
pub const TEXT: Tag = 58;
/// Bytes of [`RAW_DATA`].
pub const RAW_DATA_LENGTH: Tag = 95;
/// Bytes of any value, here a signature.
pub const RAW_DATA: Tag = 96;
/// The message may have been sent before under another number.
pub const POSS_RESEND: Tag = 97;
/// Encryption of the session; only 0, none, exists in practice.
pub const ENCRYPT_METHOD: Tag = 98;
/// Seconds of silence after which a heartbeat is sent.
pub const HEART_BT_INT: Tag = 108;
/// A word that the answering heartbeat repeats.
pub const TEST_REQ_ID: Tag = 112;
/// When a message that is sent again was sent first.
pub const ORIG_SENDING_TIME: Tag = 122;
/// The sequence reset stands for messages that are not sent again.
pub const GAP_FILL_FLAG: Tag = 123;
/// Both directions begin again with number 1.
pub const RESET_SEQ_NUM_FLAG: Tag = 141;
/// The field that a reject is about.
pub const REF_TAG_ID: Tag = 371;
/// Type of the message that is rejected.
pub const REF_MSG_TYPE: Tag = 372;
/// Why the session layer rejects.
pub const SESSION_REJECT_REASON: Tag = 373;
/// Identifier of the application message that is rejected.
pub const BUSINESS_REJECT_REF_ID: Tag = 379;
/// Why the application rejects.
pub const BUSINESS_REJECT_REASON: Tag = 380;
/// Who logs on; Binance expects the API key here.
pub const USERNAME: Tag = 553;
/// Version of the application messages inside FIXT.1.1.
pub const DEFAULT_APPL_VER_ID: Tag = 1137;

/// The data field whose length `length_tag` announces.
///
/// Only such a field may hold [`SOH`], so a reader must know all pairs of the standard.
#[inline]
#[must_use]
pub fn data_after(length_tag: Tag) -> Option<Tag> {
    Some(match length_tag {
        90 => 91,
        93 => 89,
        95 => 96,
        212 => 213,
        348 | 350 | 352 | 354 | 356 | 358 | 360 | 362 | 364 | 445 => length_tag + 1,
        618 | 621 => length_tag + 1,
        1184 | 1280 | 1282 => length_tag + 1,
        1397 => 1398,
        1468 => 1469,
        1525 => 1527,
        1578 => 1580,
        1664 => 1665,
        _ => return None,
    })
}
