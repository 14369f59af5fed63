//! The exchange on sockets: a front that accepts and shakes hands, and one market thread that owns everything else.

pub mod announcement;
pub mod certificates;
pub mod front;
pub mod namespace;
pub mod personalities;
pub mod runtime;
pub mod seam;
pub mod signals;

/// Talk: to stderr, at once, so that stdout stays for data.
pub fn say(line: &str) {
    eprintln!("feedbench exchange: {line}");
}
