//! A stamp server that misbehaves on request.

use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use feedbench_wire::frame::Opcode;
use feedbench_wire::handshake::{Acceptance, Upgrade};
use serde_json::Value;

use super::{listen, read_more, send, take_frame};

/// What a stamp server does otherwise than it should.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Nothing.
    None,
    /// Answers each n-th message with the number after its own.
    CountOff(u64),
    /// Leaves out each n-th answer.
    DropEvery(u64),
    /// Answers each n-th message twice.
    RepeatEvery(u64),
    /// Answers each n-th message only after the next one.
    SwapEvery(u64),
    /// Shows a clock that is an hour slow, or fast.
    ClockOff(i64),
    /// Leaves the time out.
    NoTime,
    /// Does not greet.
    NoGreeting,
    /// Greets with a clock that is an hour slow.
    OddGreeting,
    /// Greets twice.
    GreetTwice,
    /// Sends the answer as a binary message.
    Binary,
    /// Closes the TCP connection after n messages.
    DieAfter(u64),
    /// Answers the handshake with 503 once n connections stand.
    RefuseBeyond(usize),
    /// Answers no message.
    Silent,
}

/// How a JSON library writes.
pub type Style = fn(count: u64, unix_s: f64) -> String;

/// What most libraries write.
pub fn compact(count: u64, unix_s: f64) -> String {
    format!("{{\"c\":{count},\"ts\":{unix_s:.0}}}")
}

/// A stamp server that lives as long as the test's process.
pub fn serve(fault: Fault, style: Style) -> SocketAddr {
    let standing = Arc::new(AtomicUsize::new(0));
    listen(move |socket| {
        let outcome = serve_one(socket, fault, style, &standing);
        standing.fetch_sub(1, Ordering::SeqCst);
        outcome
    })
}

fn unix_s() -> f64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_secs_f64()
        .floor()
}

fn serve_one(
    mut socket: impl Read + Write,
    fault: Fault,
    style: Style,
    standing: &AtomicUsize,
) -> io::Result<()> {
    let before = standing.fetch_add(1, Ordering::SeqCst);
    let mut received = Vec::new();
    let upgrade = loop {
        match Upgrade::parse(&received).map_err(io::Error::other)? {
            Some(upgrade) => break upgrade,
            None => read_more(&mut socket, &mut received)?,
        }
    };
    if matches!(fault, Fault::RefuseBeyond(most) if before >= most) {
        return socket.write_all(b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n");
    }
    received.drain(..upgrade.head_bytes);
    socket.write_all(&Acceptance::default().encode(&upgrade))?;
    let greetings = match fault {
        Fault::NoGreeting => 0,
        Fault::GreetTwice => 2,
        _ => 1,
    };
    let greeted_s = if fault == Fault::OddGreeting {
        unix_s() - 3600.0
    } else {
        unix_s()
    };
    for _ in 0..greetings {
        send(&mut socket, Opcode::Text, style(0, greeted_s).as_bytes())?;
    }
    let mut held = None;
    loop {
        let Some((header, message)) = take_frame(&mut received) else {
            read_more(&mut socket, &mut received)?;
            continue;
        };
        match header.opcode {
            Opcode::Close => return Ok(()),
            Opcode::Ping => {
                send(&mut socket, Opcode::Pong, &message)?;
                continue;
            }
            _ => {}
        }
        let question: Value = serde_json::from_slice(&message).map_err(io::Error::other)?;
        let number = question["c"].as_u64().ok_or(io::ErrorKind::InvalidData)?;
        let text = |number| style(number, unix_s());
        match fault {
            Fault::DropEvery(every) if number % every == 0 => continue,
            Fault::Silent => continue,
            Fault::DieAfter(last) if number > last => return Ok(()),
            Fault::SwapEvery(every) if number % every == 0 => {
                held = Some(text(number));
                continue;
            }
            _ => {}
        }
        let answer = match fault {
            Fault::CountOff(every) if number % every == 0 => text(number + 1_000_000),
            Fault::ClockOff(seconds) => style(number, unix_s() + seconds as f64),
            Fault::NoTime => format!("{{\"c\":{number}}}"),
            _ => text(number),
        };
        let opcode = if fault == Fault::Binary {
            Opcode::Binary
        } else {
            Opcode::Text
        };
        send(&mut socket, opcode, answer.as_bytes())?;
        match fault {
            Fault::RepeatEvery(every) if number % every == 0 => {
                send(&mut socket, opcode, answer.as_bytes())?;
            }
            _ => {}
        }
        if let Some(late) = held.take() {
            send(&mut socket, opcode, late.as_bytes())?;
        }
    }
}
