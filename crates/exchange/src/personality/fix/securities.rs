//! The list of symbols (y), asked for with x.

use super::client::Client;
use super::dialect::Units;
use super::request::Request;
use super::{Dialect, Fix};
use crate::encode::Encode;
use crate::market::{Market, SymbolId};
use feedbench_wire::fix::session::Now;

impl Fix {
    /// SecurityList, or Binance's InstrumentList.
    pub(super) fn securities(
        &self,
        market: &Market,
        client: &mut Client,
        (id, kind, symbol): (&str, u64, Option<&str>),
        request: &Request,
        now: Now,
    ) {
        let numbers: Vec<u32> = match (kind, symbol) {
            (4, _) => (0..self.symbols.len() as u32).collect(),
            (0, Some(name)) => self.by_name.get(name).copied().into_iter().collect(),
            _ => Vec::new(),
        };
        let is_binance = self.dialect == Dialect::Binance;
        if is_binance && numbers.is_empty() {
            let text = "Invalid symbol.";
            // Fails only when the session has ended meanwhile.
            let _ =
                client
                    .session
                    .reject(request.sequence, &request.msg_type, text, now, |reject| {
                        reject.signed(25016, -1121);
                    });
            return;
        }
        let mut body = Vec::new();
        body.text("320=").text(id).text("\x01");
        if !is_binance {
            // 0: here they are; 2: nothing fits; 1: an unknown kind of request.
            let result = match (numbers.is_empty(), kind) {
                (false, _) => 0,
                (true, 0) => 2,
                (true, _) => 1,
            };
            body.text("322=")
                .text(id)
                .text("\x01560=")
                .number(result)
                .text("\x01");
        }
        if !numbers.is_empty() {
            body.text("146=").number(numbers.len() as u64).text("\x01");
        }
        for number in numbers {
            let name = &self.symbols[number as usize];
            let instrument = &market.symbol(SymbolId(number)).instrument;
            let units = Units::of(self.dialect, instrument);
            let quote = instrument.quote_as(if is_binance { "USDT" } else { "USD" });
            body.text("55=").text(name).text("\x01");
            body.text("15=").text(quote).text("\x01");
            if is_binance {
                let most = 9_000 * 10u64.pow(instrument.quantity_decimals);
                for (tag, lots) in [
                    ("562=", 1),
                    ("1140=", most),
                    ("25039=", 1),
                    ("25040=", 1),
                    ("25041=", most),
                    ("25042=", 1),
                ] {
                    units.quantity(&mut body, tag, lots);
                }
                units.price(&mut body, "969=", 1);
            } else if self.dialect == Dialect::Coinbase {
                units.quantity(&mut body, "561=", 1);
                units.quantity(&mut body, "562=", 1);
                units.price(&mut body, "969=", 1);
            } else {
                // FIX 4.4 has no place for the smallest step of the price.
                units.quantity(&mut body, "561=", 1);
                units.quantity(&mut body, "562=", 1);
            }
        }
        client.send("y", now, &body);
    }
}
