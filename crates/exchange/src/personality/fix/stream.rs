//! Numbers of streams: those of each symbol, and those that belong to one client.

use super::super::StreamId;

const SYMBOL_KINDS: u32 = 3;
const CLIENT_KINDS: u32 = 4;

/// What a symbol's stream tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Each trade.
    Trades,
    /// The best bid and offer.
    Top,
    /// Every level that changed.
    Book,
}

impl Kind {
    pub const ALL: [Self; SYMBOL_KINDS as usize] = [Self::Trades, Self::Top, Self::Book];

    pub fn word(self) -> &'static str {
        match self {
            Self::Trades => "trades",
            Self::Top => "top",
            Self::Book => "book",
        }
    }
}

/// What a client hears of its own orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Report {
    /// An order was taken, or refused by the market: order to ack.
    Acknowledgement,
    /// An order traded.
    Fill,
    /// An order was withdrawn: cancel to confirm.
    Cancel,
    /// There was nothing to withdraw.
    CancelReject,
}

impl Report {
    pub const ALL: [Self; CLIENT_KINDS as usize] = [
        Self::Acknowledgement,
        Self::Fill,
        Self::Cancel,
        Self::CancelReject,
    ];

    fn word(self) -> &'static str {
        match self {
            Self::Acknowledgement => "acknowledgements",
            Self::Fill => "fills",
            Self::Cancel => "cancels",
            Self::CancelReject => "cancel rejects",
        }
    }
}

/// A stream, by what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Of a symbol.
    Symbol(u32, Kind),
    /// Of the client with this seat.
    Client(u32, Report),
}

impl Stream {
    pub fn id(self, symbols: u32) -> StreamId {
        StreamId(match self {
            Self::Symbol(symbol, kind) => symbol * SYMBOL_KINDS + kind as u32,
            Self::Client(seat, report) => {
                symbols * SYMBOL_KINDS + seat * CLIENT_KINDS + report as u32
            }
        })
    }

    pub fn of(id: StreamId, symbols: u32) -> Self {
        match id.0.checked_sub(symbols * SYMBOL_KINDS) {
            None => Self::Symbol(
                id.0 / SYMBOL_KINDS,
                Kind::ALL[(id.0 % SYMBOL_KINDS) as usize],
            ),
            Some(of_client) => Self::Client(
                of_client / CLIENT_KINDS,
                Report::ALL[(of_client % CLIENT_KINDS) as usize],
            ),
        }
    }

    /// MsgType of its messages.
    pub fn msg_type(self) -> &'static str {
        match self {
            Self::Symbol(..) => "X",
            Self::Client(_, Report::CancelReject) => "9",
            Self::Client(..) => "8",
        }
    }

    /// For the ledger; `names` are those of the symbols and of the clients.
    pub fn name(self, symbols: &[String], clients: &[String]) -> String {
        match self {
            Self::Symbol(symbol, kind) => format!("{} {}", symbols[symbol as usize], kind.word()),
            Self::Client(seat, report) => format!("{} {}", clients[seat as usize], report.word()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_stream_has_a_number_of_its_own() {
        let symbols = (0..2).flat_map(|symbol| Kind::ALL.map(|kind| Stream::Symbol(symbol, kind)));
        let clients =
            (0..2).flat_map(|seat| Report::ALL.map(|report| Stream::Client(seat, report)));
        for (number, stream) in (0..).zip(symbols.chain(clients)) {
            assert_eq!(stream.id(2), StreamId(number));
            assert_eq!(Stream::of(StreamId(number), 2), stream);
        }
    }
}
