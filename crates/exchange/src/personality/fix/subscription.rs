//! MarketDataRequest (V): its snapshots, its streams, or its refusal.

use super::client::Client;
use super::market_data::{Refusal, Wanted};
use super::request::MarketDataRequest;
use super::stream::Stream;
use super::{feed, Dialect, Fix};
use crate::encode::Encode;
use crate::market::{Market, SymbolId};
use crate::personality::Reply;
use feedbench_wire::fix::session::Now;
use feedbench_wire::fix::tag;

/// Streams of one connection, as Binance has it.
const MOST_STREAMS: usize = 1_000;

impl Fix {
    /// Subscribes, unsubscribes, or says why not.
    pub(super) fn market_data(
        &mut self,
        market: &Market,
        client: &mut Client,
        request: &MarketDataRequest,
        now: Now,
        replies: &mut Vec<Reply>,
    ) -> Result<(), Refusal> {
        if request.kind == 2 {
            let streams = client.unsubscribe(&request.id);
            replies.extend(streams.into_iter().map(Reply::Unsubscribe));
            return Ok(());
        }
        let wanted = Wanted::of(request, self.dialect)?;
        if client.requests.contains_key(&request.id) {
            return Err(Refusal::new(
                '1',
                format!("MDReqID '{}' is in use", request.id),
            ));
        }
        let symbols = request.symbols.iter().map(|name| {
            let number = self.by_name.get(name).copied();
            number.ok_or_else(|| Refusal::new('0', format!("Unknown symbol '{name}'")))
        });
        let symbols: Vec<u32> = symbols.collect::<Result<_, _>>()?;
        let mut streams = Vec::new();
        for &symbol in symbols.iter().filter(|_| wanted.subscribes) {
            for &kind in &wanted.kinds {
                let stream = Stream::Symbol(symbol, kind).id(self.symbols.len() as u32);
                if streams.contains(&stream) {
                    continue;
                }
                if let Some(active) = client.ids.get(&stream) {
                    return Err(Refusal {
                        reason: '2',
                        code: Some(-1191),
                        text: format!(
                            "Similar subscription is already active on this connection. \
                             Symbol='{}', active subscription id: '{active}'.",
                            self.symbols[symbol as usize]
                        ),
                    });
                }
                streams.push(stream);
            }
        }
        if client.ids.len() + streams.len() > MOST_STREAMS {
            return Err(Refusal::new(
                '2',
                format!("More than {MOST_STREAMS} streams"),
            ));
        }
        if wanted.has_snapshot() {
            for &symbol in &symbols {
                self.snapshot(market, client, &request.id, symbol, &wanted, now);
            }
        }
        for &stream in &streams {
            client.ids.insert(stream, request.id.clone());
            replies.push(Reply::Subscribe(stream));
        }
        if wanted.subscribes {
            client.requests.insert(request.id.clone(), streams);
        }
        Ok(())
    }

    fn snapshot(
        &self,
        market: &Market,
        client: &mut Client,
        id: &str,
        number: u32,
        wanted: &Wanted,
        now: Now,
    ) {
        let symbol = market.symbol(SymbolId(number));
        let mut body = Vec::new();
        body.text("262=").text(id).text("\x0155=");
        body.text(&self.symbols[number as usize]).text("\x01");
        if self.dialect == Dialect::Binance {
            body.text("25044=").number(symbol.sequence).text("\x01");
        }
        feed::write_snapshot(&mut body, self.dialect, symbol, wanted.depth, wanted.trade);
        client.send("W", now, &body);
    }
}

/// MarketDataRequestReject.
pub fn refuse_market_data(client: &mut Client, id: &str, refusal: &Refusal, now: Now) {
    let is_binance = client
        .session
        .config()
        .profile
        .dictionary
        .field(25016)
        .is_some();
    let mut body = Vec::new();
    body.text("262=").text(id).text("\x01281=");
    body.push(refusal.reason as u8);
    body.push(tag::SOH);
    if let Some(code) = refusal.code.filter(|_| is_binance) {
        body.text("25016=").text(&code.to_string()).text("\x01");
    }
    body.text("58=").text(&refusal.text).text("\x01");
    client.send("Y", now, &body);
}
