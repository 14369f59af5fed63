//! The front over real sockets, in front of a market thread that is a test's.

mod bad_input;
mod fix;
mod http;
mod rig;
mod websocket;
