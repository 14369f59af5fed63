//! The market thread with real sockets and an independent client; no test asserts a time.

mod deflate;
mod faults;
mod ledger;
mod protocol;
mod replay;
mod rig;
mod slow;
mod stream;
mod tls;
mod wall_clock;
