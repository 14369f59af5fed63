//! MarketDataRequest (V): which streams it wants, or why not.

use super::dialect::Dialect;
use super::request::MarketDataRequest;
use super::stream::Kind;

/// MDReqRejReason (281) with words, and Binance's number of the error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub reason: char,
    pub code: Option<i32>,
    pub text: String,
}

impl Refusal {
    pub fn new(reason: char, text: impl Into<String>) -> Self {
        Self {
            reason,
            code: None,
            text: text.into(),
        }
    }
}

/// What a request wants of each symbol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    pub kinds: Vec<Kind>,
    /// Levels of the snapshot; `None` if no book is wanted.
    pub depth: Option<u64>,
    /// Whether the snapshot tells the last trade.
    pub trade: bool,
    pub subscribes: bool,
}

impl Wanted {
    /// What a request means in a dialect.
    pub fn of(request: &MarketDataRequest, dialect: Dialect) -> Result<Self, Refusal> {
        let has = |entry_type| request.entry_types.contains(&entry_type);
        let is_binance = dialect == Dialect::Binance;
        if !(request.kind == 1 || request.kind == 0 && !is_binance) {
            return Err(Refusal::new(
                '4',
                "Unsupported SubscriptionRequestType (263)",
            ));
        }
        if !request.aggregated {
            return Err(Refusal::new(
                '7',
                "Unsupported AggregatedBook (266), only Y",
            ));
        }
        if request.kind == 1 && request.update_type == Some(0) {
            return Err(Refusal::new('6', "Unsupported MDUpdateType (265), only 1"));
        }
        let known = request.entry_types.iter().all(|one| b"012".contains(one));
        if !known || request.entry_types.is_empty() || has(b'0') != has(b'1') {
            let text = "Unsupported MDEntryType (269): trades (2), bid and offer together (0 and 1), or all";
            return Err(Refusal::new('8', text));
        }
        let mut kinds = Vec::new();
        if has(b'2') {
            kinds.push(Kind::Trades);
        }
        if has(b'0') {
            kinds.push(match request.depth {
                1 => Kind::Top,
                depth if dialect.book_depths().contains(&depth) => Kind::Book,
                _ => {
                    let depths = dialect.book_depths();
                    let text = match (depths.start(), depths.end()) {
                        (0, 0) => "Unsupported MarketDepth (264): 0 or 1".to_owned(),
                        (_, most) => format!("Unsupported MarketDepth (264): 1 to {most}"),
                    };
                    return Err(Refusal::new('5', text));
                }
            });
        }
        if request.symbols.is_empty() {
            return Err(Refusal::new('0', "No Symbol (55)"));
        }
        Ok(Self {
            kinds,
            depth: has(b'0').then_some(request.depth),
            trade: has(b'2') && !is_binance,
            subscribes: request.kind == 1,
        })
    }

    /// Whether each symbol's snapshot says anything: Binance sends none of trades.
    pub fn has_snapshot(&self) -> bool {
        self.depth.is_some() || self.trade
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(kind: u64, depth: u64, entry_types: &[u8]) -> MarketDataRequest {
        MarketDataRequest {
            id: "1".to_owned(),
            kind,
            depth,
            update_type: None,
            aggregated: true,
            entry_types: entry_types.to_vec(),
            symbols: vec!["BTC/USD".to_owned()],
        }
    }

    #[test]
    fn what_a_dialect_does_not_have_is_refused_with_its_reason() {
        for (dialect, request, reason) in [
            (Dialect::Standard, request(3, 0, b"01"), '4'),
            (Dialect::Binance, request(0, 1, b"01"), '4'),
            (Dialect::Standard, request(1, 5, b"01"), '5'),
            (Dialect::Binance, request(1, 5001, b"01"), '5'),
            (Dialect::Standard, request(1, 0, b"0"), '8'),
            (Dialect::Standard, request(1, 0, b"4"), '8'),
            (Dialect::Standard, request(1, 0, b""), '8'),
        ] {
            assert_eq!(
                Wanted::of(&request, dialect).unwrap_err().reason,
                reason,
                "{request:?}"
            );
        }
        let whole = Wanted::of(&request(1, 0, b"012"), Dialect::Standard).unwrap();
        assert_eq!(whole.kinds, [Kind::Trades, Kind::Book]);
        let trades = Wanted::of(&request(1, 1, b"2"), Dialect::Binance).unwrap();
        assert!(!trades.has_snapshot());
    }
}
