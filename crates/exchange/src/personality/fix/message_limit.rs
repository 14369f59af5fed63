//! How many messages a client may send: Binance's limit on market data sessions, and what LimitQuery (XLQ) tells of it.
//!
//! Source: `fix-api.md` of binance-spot-api-docs, "Message Limits" and "LimitResponse". What ends a session that sends
//! more is documented (Logout, then the connection); its words are not.

use super::super::limits::Window;
use crate::encode::Encode;
use crate::time::SECOND_NS;

/// Messages in each [`INTERVAL_S`].
pub const MOST_MESSAGES: u32 = 2_000;
const INTERVAL_S: u64 = 60;
/// LimitType of messages.
const MESSAGE_LIMIT: &str = "2";

/// One connection's use of the limit.
#[derive(Clone, Copy, Debug)]
pub struct MessageLimit {
    window: Window,
    /// What its session had received when it was looked at last; a session lives longer than a connection.
    received: u64,
}

impl MessageLimit {
    /// Of a connection that begins when its session has received so many.
    pub fn new(received: u64) -> Self {
        Self {
            window: Window::new(MOST_MESSAGES, INTERVAL_S * SECOND_NS),
            received,
        }
    }

    /// Counts up to what the session has received now; false if that is too much.
    pub fn holds(&mut self, received: u64, now_ns: u64) -> bool {
        let more = u32::try_from(received - self.received).unwrap_or(u32::MAX);
        self.received = received;
        self.window.take(more, now_ns)
    }

    /// The body of a LimitResponse.
    pub fn write(&self, id: &str, body: &mut Vec<u8>) {
        body.text("6136=").text(id).text("\x0125003=1\x0125004=");
        body.text(MESSAGE_LIMIT).text("\x0125005=");
        body.number(self.window.used().into()).text("\x0125006=");
        body.number(MOST_MESSAGES.into()).text("\x0125007=");
        body.number(INTERVAL_S).text("\x0125008=s\x01");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_may_send_two_thousand_messages_a_minute() {
        let mut limit = MessageLimit::new(500);
        assert!(limit.holds(2_500, 1) && !limit.holds(2_501, 2));
        assert!(limit.holds(2_502, 60 * SECOND_NS + 1), "a new minute");
        let mut body = Vec::new();
        limit.write("L", &mut body);
        let text = String::from_utf8(body).unwrap().replace('\x01', "|");
        assert_eq!(
            text,
            "6136=L|25003=1|25004=2|25005=1|25006=2000|25007=60|25008=s|"
        );
    }
}
