//! The market thread: one market, many doors, every established WebSocket, one pacer.
//!
//! The thread sleeps or spins until the next event or timer is due, encodes what it means to each door once for all
//! who subscribed, and writes it to their sockets. A client that does not take what it is owed has a queue of its own
//! and is parted with when that is full; nobody waits for it. What was sent, and when, goes to the ledger on another
//! thread. [`spawn`] starts it all; [`Commands`] is how the front reaches it.

mod audience;
mod clock;
mod config;
mod connection;
mod connections;
mod delivery;
mod faulty;
mod handle;
mod ledger_thread;
pub mod limit;
mod lobby;
mod market_thread;
mod packer;
mod parting;
mod poller;
mod schedule;
mod sender;
mod service;
mod slices;
mod totals;

pub use config::{Limit, MakeDoor, Pacing, RuntimeConfig};
pub use handle::{spawn, Commands, Gone, RuntimeError, RuntimeHandle};
pub use totals::{DoorTotals, SendBuffer, Totals};
