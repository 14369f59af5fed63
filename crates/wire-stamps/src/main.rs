//! `feedbench-wire-stamps`: when each message of an exchange was on the wire, one file for each connection.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context;
use clap::Parser;
use feedbench_wire_stamps::capture::Capture;
use feedbench_wire_stamps::clock::Offset;
use feedbench_wire_stamps::ring::Ring;
use serde_json::json;

/// Long enough for a block of the ring to be handed over that is not full.
const PATIENCE: Duration = Duration::from_millis(100);
const UNSUPPORTED: u8 = 127;

static ENDING: AtomicBool = AtomicBool::new(false);

/// Stamps what a WebSocket server on this machine sends, on the loopback device and in plain text, until SIGTERM.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    /// The server's port
    #[arg(long)]
    port: u16,
    /// Where the connections' files go (spec/feed.md); it must exist
    #[arg(long)]
    out: PathBuf,
}

extern "C" fn note_signal(_: libc::c_int) {
    ENDING.store(true, Ordering::Relaxed);
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let ring = match Ring::open(arguments.port) {
        Ok(ring) => ring,
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            eprintln!("feedbench-wire-stamps: no right to capture: it wants root or CAP_NET_RAW");
            return ExitCode::from(UNSUPPORTED);
        }
        Err(error) => {
            eprintln!("feedbench-wire-stamps: the kernel gives no ring of packets: {error}");
            return ExitCode::from(UNSUPPORTED);
        }
    };
    match run(&arguments, ring) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("feedbench-wire-stamps: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments, mut ring: Ring) -> anyhow::Result<()> {
    let handler = note_signal as extern "C" fn(libc::c_int);
    for signal in [libc::SIGTERM, libc::SIGINT] {
        // SAFETY: the handler does nothing but store to an atomic.
        unsafe { libc::signal(signal, handler as libc::sighandler_t) };
    }
    println!("{}", json!({"schema": 1, "ready": true}));
    let mut capture = Capture::new(arguments.out.clone());
    let first = Offset::measure();
    let (mut least, mut most, mut uncertainty_ns) = (first.ahead_ns, first.ahead_ns, 0);
    loop {
        // Before the block is looked at: what was asked to end is read to its end.
        let is_ending = ENDING.load(Ordering::Relaxed);
        // Again for each block, since the wall clock is slewed now and then.
        let offset = Offset::measure();
        (least, most) = (least.min(offset.ahead_ns), most.max(offset.ahead_ns));
        uncertainty_ns = uncertainty_ns.max(offset.uncertainty_ns);
        let found = ring
            .next_block(PATIENCE, |packet| capture.take(packet, offset))
            .with_context(|| format!("cannot write into {}", arguments.out.display()))?;
        if is_ending && !found {
            break;
        }
    }
    let counts = ring.counts()?;
    let cut = capture.cut;
    let connections = capture.finish()?;
    let summary = json!({
        "schema": 1,
        "packets": counts.packets,
        "dropped": counts.dropped,
        "cut": cut,
        "clock_uncertainty_ns": uncertainty_ns,
        "clock_slewed_ns": most - least,
        "connections": connections,
    });
    println!("{summary}");
    Ok(())
}
