//! The older socket, `/pub/ws`: a filter by type, one connection's filters beside each other.
//!
//! Source: apidocs.bithumb.com v1.2.0, and recorded messages of 2021-06-02. Times are Korea's, without saying so.

pub mod feed;

use super::super::names::Names;
use super::super::{Incoming, Reply, StreamId};
use crate::market::SymbolId;
use serde::Deserialize;

/// What a stream tells of one symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Each trade.
    Transaction,
    /// What an event changed in the book.
    Depth,
    /// The best levels, once a second.
    Snapshot,
    /// On each trade, over the time span of this place in [`SPANS`].
    Ticker(usize),
}

/// Time spans of tickers, with their length in minutes; `MID` begins at Korea's midnight.
pub const SPANS: [(&str, u64); 5] = [
    ("30M", 30),
    ("1H", 60),
    ("12H", 720),
    ("24H", 1_440),
    ("MID", 0),
];
/// Without `tickTypes`.
const USUAL_SPAN: usize = 3;

impl Kind {
    /// Streams of 2.x leave this bit alone.
    const LEGACY: u32 = 8;

    /// The stream of a symbol.
    pub fn stream(self, symbol: SymbolId) -> StreamId {
        let kind = match self {
            Self::Transaction => 0,
            Self::Depth => 1,
            Self::Snapshot => 2,
            Self::Ticker(span) => 3 + span as u32,
        };
        StreamId(symbol.0 << 4 | Self::LEGACY | kind)
    }

    /// What a stream's number says, if it is one of the older socket.
    pub fn name(stream: StreamId) -> Option<String> {
        let kind = (stream.0 & Self::LEGACY != 0).then_some((stream.0 & 7) as usize)?;
        Some(match kind {
            0 => "transaction".to_owned(),
            1 => "orderbookdepth".to_owned(),
            2 => "orderbooksnapshot".to_owned(),
            span => format!("ticker:{}", SPANS[span - 3].0),
        })
    }
}

#[derive(Deserialize)]
struct Filter {
    r#type: String,
    symbols: Vec<String>,
    #[serde(default, rename = "tickTypes")]
    spans: Vec<String>,
}

/// One connection.
#[derive(Debug, Default)]
pub struct Session {
    subscribed: Vec<StreamId>,
}

impl Session {
    /// Greets.
    pub(super) fn open(replies: &mut Vec<Reply>) -> Self {
        replies.push(status("0000", "Connected Successfully"));
        Self::default()
    }

    pub(super) fn on_message(
        &mut self,
        names: &Names,
        incoming: Incoming<'_>,
        replies: &mut Vec<Reply>,
    ) {
        let (Incoming::Text(text) | Incoming::Binary(text)) = incoming else {
            return;
        };
        let Some(streams) = resolve(names, text) else {
            return replies.push(status("5100", "Invalid Filter Syntax"));
        };
        replies.push(status("0000", "Filter Registered Successfully"));
        for stream in streams {
            if !self.subscribed.contains(&stream) {
                self.subscribed.push(stream);
                replies.push(Reply::Subscribe(stream));
            }
        }
    }
}

fn status(code: &str, message: &str) -> Reply {
    Reply::Text(format!(r#"{{"status":"{code}","resmsg":"{message}"}}"#).into_bytes())
}

/// The streams of a filter; `None` if it is not understood, or names what does not exist.
fn resolve(names: &Names, text: &[u8]) -> Option<Vec<StreamId>> {
    let filter: Filter = serde_json::from_slice(text).ok()?;
    let kinds = match filter.r#type.as_str() {
        "transaction" => vec![Kind::Transaction],
        "orderbookdepth" => vec![Kind::Depth],
        "orderbooksnapshot" => vec![Kind::Snapshot],
        "ticker" if filter.spans.is_empty() => vec![Kind::Ticker(USUAL_SPAN)],
        "ticker" => filter
            .spans
            .iter()
            .map(|name| SPANS.iter().position(|(known, _)| known == name))
            .map(|span| span.map(Kind::Ticker))
            .collect::<Option<_>>()?,
        _ => return None,
    };
    let symbols: Vec<SymbolId> = filter
        .symbols
        .iter()
        .map(|name| names.find(name))
        .collect::<Option<_>>()?;
    let each = |kind: &Kind| {
        let kind = *kind;
        symbols
            .iter()
            .map(move |&symbol| kind.stream(symbol))
            .collect::<Vec<_>>()
    };
    (!symbols.is_empty()).then(|| kinds.iter().flat_map(each).collect())
}
