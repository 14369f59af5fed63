//! The WebSocket protocol (RFC 6455) as functions on bytes: no socket, no clock, no allocation in the hot path.

pub mod deflate;
pub mod frame;
pub mod handshake;
pub mod mask;
pub mod utf8;
