//! What a client's application messages ask, read out of their fields.

use feedbench_wire::fix::message::Message;
use feedbench_wire::fix::tag::{self, Tag};

/// An application message that the session layer found sound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Its number, for a reject.
    pub sequence: u64,
    /// Value of field 35.
    pub msg_type: String,
    /// What it asks.
    pub ask: Ask,
}

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ask {
    /// MarketDataRequest.
    MarketData(MarketDataRequest),
    /// SecurityListRequest.
    Securities {
        /// SecurityReqID.
        id: String,
        /// SecurityListRequestType: 0 one symbol, 4 all.
        kind: u64,
        /// Which one.
        symbol: Option<String>,
    },
    /// NewOrderSingle.
    Order(NewOrder),
    /// OrderCancelRequest.
    Cancel {
        /// ClOrdID of the request.
        id: String,
        /// ClOrdID of the order.
        original: String,
    },
    /// Binance's LimitQuery.
    Limits {
        /// ReqID.
        id: String,
    },
    /// Anything else.
    Other,
}

/// A MarketDataRequest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MarketDataRequest {
    /// MDReqID.
    pub id: String,
    /// SubscriptionRequestType: 0 snapshot, 1 subscribe, 2 unsubscribe.
    pub kind: u64,
    /// MarketDepth: 0 the whole book, 1 its top.
    pub depth: u64,
    /// MDUpdateType: 0 full refresh, 1 changes.
    pub update_type: Option<u64>,
    /// AggregatedBook.
    pub aggregated: bool,
    /// MDEntryTypes.
    pub entry_types: Vec<u8>,
    /// Symbols.
    pub symbols: Vec<String>,
}

/// A NewOrderSingle, with amounts as they were written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewOrder {
    /// ClOrdID.
    pub id: String,
    /// Symbol.
    pub symbol: String,
    /// Side: 1 buy, 2 sell.
    pub side: u8,
    /// OrdType: 1 market, 2 limit.
    pub kind: u8,
    /// OrderQty.
    pub quantity: Vec<u8>,
    /// Price.
    pub price: Vec<u8>,
    /// TimeInForce: 0 day, 1 good till cancel, 3 immediate or cancel.
    pub time_in_force: u8,
}

impl Request {
    /// Reads a message.
    pub fn of(message: &Message<'_>) -> Self {
        let text = |tag: Tag| {
            let value = message.get(tag);
            value.map(|value| String::from_utf8_lossy(value).into_owned())
        };
        let byte = |tag: Tag, usual: u8| {
            let value = message.get(tag).and_then(|value| value.first());
            value.copied().unwrap_or(usual)
        };
        let bytes = |tag: Tag| message.get(tag).unwrap_or_default().to_vec();
        let ask = match message.msg_type() {
            b"V" => Ask::MarketData(market_data(message)),
            b"x" => Ask::Securities {
                id: text(320).unwrap_or_default(),
                kind: message.unsigned(559).unwrap_or(0),
                symbol: text(55),
            },
            b"D" => Ask::Order(NewOrder {
                id: text(11).unwrap_or_default(),
                symbol: text(55).unwrap_or_default(),
                side: byte(54, 0),
                kind: byte(40, 0),
                quantity: bytes(38),
                price: bytes(44),
                time_in_force: byte(59, b'0'),
            }),
            b"F" => Ask::Cancel {
                id: text(11).unwrap_or_default(),
                original: text(41).unwrap_or_default(),
            },
            b"XLQ" => Ask::Limits {
                id: text(6136).unwrap_or_default(),
            },
            _ => Ask::Other,
        };
        Self {
            sequence: message.unsigned(tag::MSG_SEQ_NUM).unwrap_or(0),
            msg_type: String::from_utf8_lossy(message.msg_type()).into_owned(),
            ask,
        }
    }
}

fn market_data(message: &Message<'_>) -> MarketDataRequest {
    let mut request = MarketDataRequest {
        aggregated: true,
        ..MarketDataRequest::default()
    };
    for field in message.fields().map_while(Result::ok) {
        let text = || String::from_utf8_lossy(field.value).into_owned();
        let number = || feedbench_wire::fix::number::unsigned(field.value);
        match field.tag {
            262 => request.id = text(),
            263 => request.kind = number().unwrap_or(u64::MAX),
            264 => request.depth = number().unwrap_or(u64::MAX),
            265 => request.update_type = number(),
            266 => request.aggregated = field.value == b"Y",
            269 => request.entry_types.extend(field.value.first()),
            55 => request.symbols.push(text()),
            _ => {}
        }
    }
    request
}
