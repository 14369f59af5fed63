//! The opening handshake (RFC 6455, section 4) as functions on bytes, for both sides.
//!
//! Neither side owns a socket: [`ClientHandshake`] gives the bytes to send and judges the bytes received so far;
//! [`Upgrade::parse`] and [`Acceptance`] do the same for a server. What follows the head (a greeting may share its
//! segment) is left to the caller, who is told where it begins.

pub mod client;
pub mod extensions;
pub mod server;

pub use client::{ClientHandshake, ClientRequest, Established, HandshakeError};
pub use server::{refusal, Acceptance, Upgrade, UpgradeError};

use base64::engine::general_purpose::STANDARD;
use base64::Engine;
use sha1::{Digest, Sha1};

/// A head beyond this is refused. Real ones have a few hundred bytes; the limit of nginx and Node is 8 to 16 KiB.
pub const HEAD_LIMIT_BYTES: usize = 16 * 1024;

const HEADERS_LIMIT: usize = 100;

/// RFC 6455, section 1.3: proves that the server speaks WebSocket and did not just echo the key.
const ACCEPT_GUID: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// The `Sec-WebSocket-Accept` that answers this `Sec-WebSocket-Key`.
#[must_use]
pub fn accept_for(key: &str) -> String {
    STANDARD.encode(
        Sha1::new()
            .chain_update(key)
            .chain_update(ACCEPT_GUID)
            .finalize(),
    )
}

/// The values of all headers with this name, in order; `name` in lower case.
fn values<'h>(
    headers: &'h [httparse::Header<'_>],
    name: &'static str,
) -> impl Iterator<Item = &'h str> {
    headers
        .iter()
        .filter(move |header| header.name.eq_ignore_ascii_case(name))
        // Bytes beyond ASCII have no meaning in any header read here, so such a value matches nothing.
        .map(|header| std::str::from_utf8(header.value).unwrap_or("").trim())
}

/// The elements of all comma-separated headers with this name.
fn tokens<'h>(
    headers: &'h [httparse::Header<'_>],
    name: &'static str,
) -> impl Iterator<Item = &'h str> {
    values(headers, name)
        .flat_map(|value| value.split(','))
        .map(str::trim)
        .filter(|token| !token.is_empty())
}
