//! Wire protocols as functions on bytes: WebSocket (RFC 6455) and FIX. No socket, no clock, no allocation in hot paths.

pub mod deflate;
pub mod fix;
pub mod frame;
pub mod handshake;
pub mod mask;
pub mod stamp;
pub mod utf8;
