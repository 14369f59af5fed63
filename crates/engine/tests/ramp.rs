//! The ramp: what it counts, where a target breaks, and that nothing is left behind.

mod support;

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use support::stamps::{compact, serve, Fault};
use support::{count, engine, errors};

/// Short patience: what these servers do not answer at once they never answer.
const BRIEF: [&str; 8] = [
    "--quiet",
    "1s",
    "--stuck",
    "1500ms",
    "--connect-timeout",
    "20s",
    "--requests",
    "10",
];

fn ramp(server: SocketAddr, more: &[&str]) -> (Output, Vec<Value>, Value) {
    let output = engine()
        .args(["ramp", "--json", &format!("ws://{server}/stamp")])
        .args(BRIEF)
        .args(more)
        .output()
        .unwrap();
    let (rounds, end) = lines(&output);
    (output, rounds, end)
}

fn lines(output: &Output) -> (Vec<Value>, Value) {
    let text = String::from_utf8_lossy(&output.stdout);
    let mut lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let end = lines
        .pop()
        .unwrap_or_else(|| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    assert_eq!(end["kind"], "end");
    lines.retain(|line| line["kind"] == "round");
    assert_eq!(count(&end["descriptors"], "leaked"), 0, "{end}");
    (lines, end)
}

#[test]
fn rounds_grow_and_keep_their_connections() {
    let (output, rounds, end) = ramp(
        serve(Fault::None, compact),
        &["--rounds", "4", "--add", "3"],
    );
    assert!(output.status.success(), "{output:?}");
    for (number, round) in (1..).zip(&rounds) {
        assert_eq!(count(round, "round"), number);
        assert_eq!(count(round, "connected"), 3 * number);
        assert_eq!((count(round, "opened"), count(round, "renewed")), (3, 0));
        assert_eq!(count(round, "answered"), 30 * number, "{round}");
        assert_eq!(count(&round["latency_ns"], "count"), 30 * number);
        assert_eq!(
            (&round["ended"], round["lost_share"].as_f64()),
            (&"answered".into(), Some(0.0))
        );
        assert!(count(round, "elapsed_ns") >= round["latency_ns"]["p50"].as_u64().unwrap() / 2);
    }
    assert_eq!(
        (rounds.len(), &end["stopped"], &end["broken"]),
        (4, &"complete".into(), &Value::Null)
    );
    assert_eq!(count(&end, "answered"), 300);
    // 4 KiB is the bar for a plain connection, also with its requests under way.
    for state in ["idle_bytes", "burst_bytes"] {
        let bytes = count(&end["connection_memory"], state);
        assert!((1..4096).contains(&bytes), "{state}: {bytes}");
    }
}

#[test]
fn each_fault_is_counted_and_breaks_the_target() {
    let table = [
        (Fault::DropEvery(5), "lost", 20),
        (Fault::CountOff(5), "wrong", 20),
        (Fault::Binary, "wrong", 100),
        (Fault::Silent, "lost", 100),
    ];
    for (fault, field, of_hundred) in table {
        let (_, rounds, end) = ramp(serve(fault, compact), &["--rounds", "1", "--add", "10"]);
        assert_eq!(
            count(&rounds[0], field),
            of_hundred,
            "{fault:?}: {}",
            rounds[0]
        );
        assert_eq!(count(&rounds[0], "answered"), 100 - of_hundred, "{fault:?}");
        let share = end["broken"]["lost_share"].as_f64().unwrap();
        assert!(
            (share - of_hundred as f64 / 100.0).abs() < 1e-9,
            "{fault:?}: {end}"
        );
    }
    // Not each connection's tenth and last answer: its repetition may come when the round has ended.
    for (fault, field) in [
        (Fault::RepeatEvery(4), "duplicated"),
        (Fault::SwapEvery(4), "out_of_order"),
    ] {
        let (_, rounds, _) = ramp(serve(fault, compact), &["--rounds", "1", "--add", "10"]);
        assert_eq!(count(&rounds[0], field), 20, "{fault:?}: {}", rounds[0]);
    }
}

#[test]
fn a_server_that_turns_clients_away_breaks_in_the_round_that_it_does() {
    let server = serve(Fault::RefuseBeyond(10), compact);
    let (_, rounds, end) = ramp(server, &["--rounds", "3", "--add", "5"]);
    let connected: Vec<_> = rounds
        .iter()
        .map(|round| count(round, "connected"))
        .collect();
    let failed: Vec<_> = rounds
        .iter()
        .map(|round| count(round, "failed_connects"))
        .collect();
    assert_eq!((connected, failed), (vec![5, 10, 10], vec![0, 0, 5]));
    assert_eq!(errors(&rounds[2], "connect"), 5);
    assert_eq!(count(&end["broken"], "round"), 3);
    assert!(
        end["broken"]["cause"].as_str().unwrap().contains("503"),
        "{end}"
    );
}

#[test]
fn lost_connections_are_renewed_once_in_the_next_round() {
    // Each connection dies with its eleventh request: it lives for one round of ten.
    let (_, rounds, _) = ramp(
        serve(Fault::DieAfter(10), compact),
        &["--rounds", "3", "--add", "4"],
    );
    let renewed: Vec<_> = rounds.iter().map(|round| count(round, "renewed")).collect();
    let answered: Vec<_> = rounds
        .iter()
        .map(|round| count(round, "answered"))
        .collect();
    assert_eq!((renewed, answered), (vec![0, 0, 4], vec![40, 40, 80]));
    assert_eq!(errors(&rounds[1], "closed"), 4, "{}", rounds[1]);
}

#[test]
fn a_dead_server_ends_the_ramp() {
    let (output, rounds, end) = ramp(
        serve(Fault::DieAfter(0), compact),
        &["--rounds", "5", "--add", "2"],
    );
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        (rounds.len(), &end["stopped"]),
        (1, &"nothing_answered".into())
    );
    assert_eq!(rounds[0]["ended"], "disconnected", "{}", rounds[0]);
    let nobody = engine()
        .args(["ramp", "ws://127.0.0.1:1/stamp"])
        .output()
        .unwrap();
    assert_eq!(nobody.status.code(), Some(1));
    let talk = String::from_utf8_lossy(&nobody.stderr);
    assert!(
        talk.contains("no connection could be opened") && talk.lines().count() == 1,
        "{talk}"
    );
}

#[test]
fn heartbeats_are_answered_and_answer_no_request() {
    let (_, rounds, _) = ramp(
        serve(Fault::Silent, compact),
        &["--rounds", "1", "--add", "5", "--heartbeat", "50ms"],
    );
    let (pings, pongs) = (count(&rounds[0], "pings"), count(&rounds[0], "pongs"));
    assert!(pings >= 5 && pongs > 0 && pongs <= pings, "{}", rounds[0]);
    assert_eq!(
        (count(&rounds[0], "answered"), count(&rounds[0], "wrong")),
        (0, 0)
    );
}

#[test]
fn an_interrupt_keeps_the_rounds_before_it() {
    let server = serve(Fault::None, compact);
    let mut child = engine()
        .args(["ramp", "--json", &format!("ws://{server}/stamp")])
        .args(["--rounds", "5000", "--add", "1", "--requests", "100"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut text = String::new();
    while text.matches(r#""kind":"round""#).count() < 3 {
        out.read_line(&mut text).unwrap();
    }
    // SAFETY: the child is ours and not waited for yet, so its number is still its own.
    unsafe { libc::kill(child.id() as i32, libc::SIGINT) };
    let rest: Vec<String> = out.lines().map_while(Result::ok).collect();
    let end: Value = serde_json::from_str(rest.last().unwrap()).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(
        (&end["kind"], &end["stopped"]),
        (&"end".into(), &"interrupted".into())
    );
    assert!(
        count(&end, "rounds") >= 3 && end["broken"].is_null(),
        "{end}"
    );
    assert_eq!(count(&end["descriptors"], "leaked"), 0);
}

#[test]
fn too_many_connections_for_the_file_limit_are_one_clear_line() {
    let output = Command::new("sh")
        .args([
            "-c",
            "ulimit -n 256; exec \"$0\" ramp ws://127.0.0.1:1/stamp",
        ])
        .arg(env!("CARGO_BIN_EXE_feedbench-engine"))
        .output()
        .unwrap();
    let talk = String::from_utf8_lossy(&output.stderr);
    assert!(
        talk.contains("10064 files are needed, 256 are allowed (see `ulimit -Hn`)"),
        "{talk}"
    );
    assert_eq!((output.status.code(), talk.lines().count()), (Some(1), 1));
}

/// In a network of its own, where a port range of 50 stands for one that is used up.
#[test]
fn more_connections_than_ports_come_from_further_loopback_addresses() {
    let script =
        "ip link set lo up && echo 40000 40049 > /proc/sys/net/ipv4/ip_local_port_range && \
                  exec 3< <(\"$0\" floor --listen 127.0.0.1:9000) && read -u 3 address && \
                  \"$0\" ramp --json --add 120 --rounds 1 --requests 1 ws://$address/stamp";
    let output = Command::new("unshare")
        .args([
            "--net",
            "--kill-child",
            "--fork",
            "--pid",
            "--mount-proc",
            "bash",
            "-c",
            script,
        ])
        .arg(env!("CARGO_BIN_EXE_feedbench-engine"))
        .output();
    let Some(output) = output.ok().filter(|output| !output.stdout.is_empty()) else {
        eprintln!("skipped: no network namespace can be made here");
        return;
    };
    let (rounds, _) = lines(&output);
    assert_eq!(
        (
            count(&rounds[0], "connected"),
            count(&rounds[0], "failed_connects")
        ),
        (120, 0),
        "{}",
        rounds[0]
    );
}

#[test]
fn idle_connections_are_held_pinged_and_asked_at_the_end() {
    let server = support::serve(support::Behaviour::Echo);
    let output = idle(server, &["--ping", "50ms"]);
    assert!(output.status.success(), "{output:?}");
    let (rounds, end) = lines(&output);
    assert_eq!((rounds.len(), count(&rounds[0], "answered")), (1, 20));
    assert!(count(&rounds[0], "pings") >= 20, "{}", rounds[0]);
    assert_eq!(end["broken"], Value::Null);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        text.starts_with(r#"{"schema":1,"kind":"connected","round":1,"connected":20}"#),
        "{text}"
    );
}

#[test]
fn idle_connections_that_the_server_drops_are_missed() {
    let server = support::serve(support::Behaviour::DropIdle);
    let (rounds, end) = lines(&idle(server, &[]));
    assert_eq!(
        (
            count(&rounds[0], "connected"),
            count(&rounds[0], "answered")
        ),
        (0, 0)
    );
    assert_eq!(errors(&rounds[0], "closed"), 20, "{}", rounds[0]);
    assert_eq!(count(&end["broken"], "round"), 1);
}

fn idle(server: SocketAddr, more: &[&str]) -> Output {
    engine()
        .args(["idle", "--json", &format!("ws://{server}/echo")])
        .args(["--connections", "20", "--duration", "400ms"])
        .args(more)
        .output()
        .unwrap()
}
