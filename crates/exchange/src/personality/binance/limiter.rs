//! Limits by request weight: 429 for who asks too much, 418 for who does not listen.

use super::super::limits::Window;
use super::super::Response;
use crate::encode::Encode;
use crate::market::Market;
use crate::time::{DAY_NS, SECOND_NS};
use std::collections::HashMap;

/// Request weight for each minute and address.
pub const WEIGHT_PER_MINUTE: u32 = 6_000;
/// Requests that ignore a 429 before the address is banned.
const REFUSALS_BEFORE_BAN: u32 = 10;
const FIRST_BAN_NS: u64 = 120 * SECOND_NS;
const LONGEST_BAN_NS: u64 = 3 * DAY_NS;

/// What each address has used up.
#[derive(Debug, Default)]
pub struct Limiter(HashMap<u64, Address>);

#[derive(Debug)]
struct Address {
    weight: Window,
    refused: u32,
    bans: u32,
    banned_until_ns: u64,
}

impl Limiter {
    /// Counts a request; the weight used in this minute, or the refusal.
    pub fn take(
        &mut self,
        peer: u64,
        weight: u32,
        market: &Market,
        now_ns: u64,
    ) -> Result<u32, Response> {
        let address = self.0.entry(peer).or_insert_with(|| Address {
            weight: Window::new(WEIGHT_PER_MINUTE, 60 * SECOND_NS),
            refused: 0,
            bans: 0,
            banned_until_ns: 0,
        });
        if now_ns < address.banned_until_ns {
            return Err(banned(address.banned_until_ns, market, now_ns));
        }
        if address.weight.take(weight, now_ns) {
            address.refused = 0;
            return Ok(address.weight.used());
        }
        address.refused += 1;
        if address.refused > REFUSALS_BEFORE_BAN {
            // From 2 minutes up to 3 days, twice as long each time.
            let ban_ns = (FIRST_BAN_NS << address.bans.min(12)).min(LONGEST_BAN_NS);
            (address.refused, address.bans) = (0, address.bans + 1);
            address.banned_until_ns = now_ns + ban_ns;
            return Err(banned(address.banned_until_ns, market, now_ns));
        }
        Err(too_much_weight(address.weight.retry_after_s(now_ns)))
    }
}

/// The answer to an address that has used up its weight.
pub fn too_much_weight(retry_after_s: u64) -> Response {
    let message = format!(
        "Too much request weight used; current limit is {WEIGHT_PER_MINUTE} request weight per 1 MINUTE. \
         Please use WebSocket Streams for live updates to avoid polling the API."
    );
    failure(429, -1003, &message).retry_after(retry_after_s)
}

fn banned(until_ns: u64, market: &Market, now_ns: u64) -> Response {
    let until_ms = market.clock().unix_ms(until_ns);
    let message = format!(
        "Way too much request weight used; IP banned until {until_ms}. \
         Please use WebSocket Streams for live updates to avoid bans."
    );
    failure(418, -1003, &message).retry_after((until_ns - now_ns).div_ceil(SECOND_NS))
}

/// The exchange's way of saying no.
pub fn failure(status: u16, code: i32, message: &str) -> Response {
    Response::written(|out| {
        out.text(r#"{"code":"#)
            .text(&code.to_string())
            .text(r#","msg":"#)
            .quoted(message)
            .push(b'}');
    })
    .with_status(status)
}

impl Response {
    fn with_status(self, status: u16) -> Self {
        Self { status, ..self }
    }
}
