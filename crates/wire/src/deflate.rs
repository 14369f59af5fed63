//! permessage-deflate (RFC 7692): what two ends agree on, and the compression of whole messages.
//!
//! [`Offer`] and [`Agreement`] are values with the header's text form; [`Compressor`] and [`Decompressor`] hold the
//! streams. An agreed extension is a result that a benchmark must report: it moves CPU time and bytes by factors.

mod codec;
mod negotiation;

pub use codec::{Compressor, Decompressor};
pub use negotiation::{Agreement, ClientWindow, Offer};

/// The token in `Sec-WebSocket-Extensions`.
pub const EXTENSION: &str = "permessage-deflate";

/// What went wrong with compression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeflateError {
    /// The peer's parameters are malformed, or answer something that was not offered.
    #[error("permessage-deflate cannot be agreed on: {0}")]
    Negotiation(String),
    /// The compressed bytes are no DEFLATE stream.
    #[error("a compressed message is damaged: {0}")]
    Damaged(String),
    /// The message grows beyond the limit: a bomb, or a limit too small.
    #[error(
        "a compressed message is larger than the limit of {limit_bytes} bytes once decompressed"
    )]
    TooLarge {
        /// The limit that was given.
        limit_bytes: usize,
    },
}
