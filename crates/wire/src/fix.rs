//! FIX: tag=value messages and the session layer that numbers, checks and recovers them.
//!
//! Bytes and times go in, bytes and deadlines come out. [`message`] cuts a byte stream into messages without copying,
//! [`encode`] writes them, [`dictionary`] knows which fields a message may have, and [`session`] is the state machine
//! of one connection end, with its numbers and sent messages in a [`store`].

pub mod authentication;
mod checksum;
pub mod dictionary;
pub mod encode;
pub mod field;
pub mod message;
pub mod number;
pub mod profile;
pub mod session;
pub mod store;
pub mod tag;
pub mod time;
mod validate;
