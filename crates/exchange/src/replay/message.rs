//! What a recorded message is: any text, or one of a combined stream as Binance wraps it.

use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::ops::Range;

/// A price and the quantity that rests there now, as they were written.
pub type Level = (String, String);

/// Levels and the numbers of the events that they come from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Levels {
    /// Number of the last event.
    #[serde(alias = "lastUpdateId")]
    pub u: u64,
    #[serde(alias = "bids")]
    pub b: Vec<Level>,
    #[serde(alias = "asks")]
    pub a: Vec<Level>,
}

/// One recorded message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// As it was received.
    pub frame: String,
    /// Name of its stream and place of its data, if it is wrapped.
    pub wrapped: Option<(String, Range<usize>)>,
    /// The exchange's own number of it; zero where it has none.
    pub sequence: u64,
    /// Its symbol, where it names one.
    pub symbol: Option<String>,
    /// What it changes in the book.
    pub levels: Option<Levels>,
}

#[derive(Deserialize)]
struct Wrapped<'a> {
    #[serde(borrow)]
    stream: Cow<'a, str>,
    #[serde(borrow)]
    data: &'a RawValue,
}

/// What is of interest in data of any stream.
#[derive(Default, Deserialize)]
struct Data {
    /// Of a book.
    u: Option<u64>,
    /// Of a trade.
    t: Option<u64>,
    s: Option<String>,
}

impl Message {
    /// Looks into a frame.
    pub fn of(frame: String) -> Self {
        let mut message = Self {
            frame: String::new(),
            wrapped: None,
            sequence: 0,
            symbol: None,
            levels: None,
        };
        if let Ok(wrapped) = serde_json::from_str::<Wrapped<'_>>(&frame) {
            let text = wrapped.data.get();
            // The raw value borrows from the frame, so its address tells its place.
            let start = text.as_ptr() as usize - frame.as_ptr() as usize;
            message.wrapped = Some((wrapped.stream.into_owned(), start..start + text.len()));
            let data: Data = serde_json::from_str(text).unwrap_or_default();
            message.sequence = data.u.or(data.t).unwrap_or(0);
            message.symbol = data.s;
            if text.contains(r#""depthUpdate""#) {
                message.levels = serde_json::from_str(text).ok();
            }
        }
        message.frame = frame;
        message
    }

    /// The book of a REST answer that was recorded between the messages.
    pub fn snapshot(frame: &str) -> Option<Levels> {
        if !frame.contains(r#""lastUpdateId""#) {
            return None;
        }
        serde_json::from_str(frame).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrapped_message_tells_its_stream_and_where_its_data_stand() {
        let frame = r#"{"stream":"btcusdt@depth@100ms", "data": {"e":"depthUpdate","s":"BTCUSDT","U":3,"u":5,"b":[["1.0","2"]],"a":[]} }"#;
        let message = Message::of(frame.to_owned());
        let (stream, data) = message.wrapped.unwrap();
        assert_eq!(stream, "btcusdt@depth@100ms");
        assert!(frame[data.clone()].starts_with(r#"{"e""#) && frame[data].ends_with('}'));
        assert_eq!(
            (message.sequence, message.symbol.as_deref()),
            (5, Some("BTCUSDT"))
        );
        let levels = message.levels.unwrap();
        assert_eq!((levels.u, levels.b.len(), levels.a.len()), (5, 1, 0));
    }

    #[test]
    fn any_other_text_is_a_message_without_a_stream() {
        for frame in [
            r#"{"type":"match"}"#,
            "not JSON",
            "",
            r#"{"stream":3,"data":4}"#,
        ] {
            let message = Message::of(frame.to_owned());
            assert_eq!((message.frame.as_str(), message.wrapped), (frame, None));
        }
    }

    #[test]
    fn a_snapshot_is_told_from_a_message() {
        let snapshot = r#"{"lastUpdateId":7,"bids":[["1","2"]],"asks":[]}"#;
        assert_eq!(Message::snapshot(snapshot).unwrap().u, 7);
        assert_eq!(Message::snapshot(r#"{"u":7,"b":[],"a":[]}"#), None);
    }
}
