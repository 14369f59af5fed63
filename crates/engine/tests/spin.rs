//! The spinner as a process: it gives way, it stops when told, and it does not outlive whoever started it.

use std::fs;
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const ENGINE: &str = env!("CARGO_BIN_EXE_feedbench-engine");

/// The policy's number in `sched(7)`, and field 41 of `/proc/PID/stat`.
const SCHED_IDLE: &str = "5";

fn spinner() -> Child {
    Command::new(ENGINE)
        .args(["spin", "--cpu", "0"])
        .spawn()
        .unwrap()
}

/// Asks until the answer is yes; a test must wait for another process, but not for a fixed time.
fn eventually(sentence: &str, holds: impl Fn() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(
            start.elapsed() < Duration::from_secs(20),
            "never happened: {sentence}"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A field of `/proc/PID/stat`, counted from 1 as in proc(5); `None` once the process is gone.
fn stat(pid: u32, field: usize) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in field 2 may hold blanks.
    let (_, rest) = text.rsplit_once(") ")?;
    rest.split(' ').nth(field - 3).map(str::to_owned)
}

fn alive(pid: u32) -> bool {
    stat(pid, 3).is_some_and(|state| state != "Z")
}

#[test]
fn it_gives_way_and_ends_on_sigterm() {
    let mut spinner = spinner();
    let pid = spinner.id();
    eventually("it runs under SCHED_IDLE", || {
        stat(pid, 41).as_deref() == Some(SCHED_IDLE)
    });
    let pid = i32::try_from(pid).unwrap();
    // SAFETY: the process is our child and not yet waited for, so the number is still its own.
    assert_eq!(unsafe { libc::kill(pid, libc::SIGTERM) }, 0);
    assert_eq!(spinner.wait().unwrap().code(), Some(0));
}

#[test]
fn it_does_not_outlive_its_parent() {
    let script = format!("{ENGINE} spin --cpu 0 & echo $!; read line");
    let mut parent = Command::new("sh")
        .args(["-c", &script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut output = parent.stdout.take().unwrap();
    while !line.ends_with('\n') {
        let mut byte = [0];
        output.read_exact(&mut byte).unwrap();
        line.push(byte[0].into());
    }
    let pid = line.trim().parse().unwrap();
    eventually("it spins", || stat(pid, 41).as_deref() == Some(SCHED_IDLE));
    // Killed, not asked: the parent has no chance to clean up.
    parent.kill().unwrap();
    parent.wait().unwrap();
    eventually("it is gone", || !alive(pid));
}

#[test]
fn a_cpu_that_is_not_there_is_one_clear_line() {
    for command in [
        &["spin", "--cpu", "1000"][..],
        &["jitter", "--cpu", "1000", "--duration", "1ms"],
    ] {
        let output = Command::new(ENGINE)
            .args(command)
            .env("RUST_BACKTRACE", "0")
            .output()
            .unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("cannot run on CPU 1000"), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
}

#[test]
fn jitter_prints_json_that_adds_up() {
    let arguments = ["jitter", "--cpu", "0", "--duration", "50ms", "--json"];
    let output = Command::new(ENGINE).args(arguments).output().unwrap();
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&report["schema"], &report["cpu"]), (&1.into(), &0.into()));
    // Bookkeeping after a gap is taken out, so slightly less than was asked for may have been watched.
    assert!(
        report["watched_ns"].as_u64().unwrap() > 10_000_000,
        "{report}"
    );
    let share = |cause: &str| report[cause]["lost_share"].as_f64().unwrap();
    let total = report["lost_share"].as_f64().unwrap();
    assert!(
        (total - share("descheduled") - share("interrupted")).abs() < 1e-9,
        "{report}"
    );
    assert!((0.0..=1.0).contains(&total), "{report}");
}
