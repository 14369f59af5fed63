//! When each message of a WebSocket server was on the wire, for clients that are not changed for it.
//!
//! Packets come with the kernel's stamp ([`ring`]); [`packet`] reads their headers, [`stream`] puts each connection's
//! bytes in order, [`messages`] finds the messages in them. All but the ring are functions on bytes.

pub mod capture;
pub mod clock;
pub mod messages;
pub mod packet;
pub mod ring;
pub mod stamps;
pub mod stream;
