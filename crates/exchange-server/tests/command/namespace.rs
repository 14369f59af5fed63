//! Clients that know only the exchanges' real names. Skipped, and said so, where the kernel allows no namespace.

use crate::rig::command;
use std::process::{Output, Stdio};

/// Runs a shell script in a namespace; `None` where there can be none.
fn script(options: &str, script: &str) -> Option<Output> {
    let cache = tempfile::tempdir().unwrap();
    let run = command(&cache, &format!("{options} --namespace -- sh -c"))
        .arg(script)
        .stdout(Stdio::piped())
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&run.stderr);
    if stderr.contains("does not let user") {
        eprintln!("skipped: {stderr}");
        return None;
    }
    Some(run)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn real_names_lead_here_with_trusted_certificates_and_nothing_else_is_there() {
    if std::process::Command::new("curl")
        .arg("--version")
        .output()
        .is_err()
    {
        return eprintln!("skipped: there is no curl");
    }
    let asked = "curl -sS https://api.binance.com/api/v3/time; echo; \
                 curl -sS https://stream.binance.com:9443/api/v3/ping; echo; \
                 curl -sS http://api.kraken.com/0/public/Time; echo; \
                 curl -sS -m 5 https://example.com; echo $?; \
                 curl -sS -m 5 http://192.0.2.1; echo $?; \
                 ls /sys/class/net >/dev/null; cat /proc/net/dev | tail -n +3 | cut -d: -f1";
    let Some(run) = script("", asked) else { return };
    let stdout = text(&run.stdout);
    let lines: Vec<&str> = stdout.lines().map(str::trim).collect();
    assert!(
        lines[0].starts_with(r#"{"serverTime":"#),
        "{stdout} {}",
        text(&run.stderr)
    );
    assert_eq!(lines[1], "{}");
    assert!(lines[2].contains("unixtime"), "{stdout}");
    assert_eq!(
        lines[3..5],
        ["6", "7"],
        "curl's codes for no such host and no route: {stdout}"
    );
    assert_eq!(lines[5..], ["lo"], "no other interface");
}

#[test]
fn the_command_finds_the_urls_and_its_status_and_output_are_ours() {
    let told = r#"head -n 1 "$FEEDBENCH_EXCHANGE_JSON"; echo "${https_proxy-none}"; exit 7"#;
    let Some(run) = script("--json --personality binance", told) else {
        return;
    };
    assert_eq!(run.status.code(), Some(7), "{}", text(&run.stderr));
    let stdout = text(&run.stdout);
    let (json, rest) = stdout.split_once('\n').unwrap();
    let beginning: serde_json::Value = serde_json::from_str(json).unwrap();
    assert_eq!(beginning["hosts"]["api.binance.com"], "127.101.0.1");
    assert_eq!(rest, "none\n");
}

#[test]
fn a_signal_reaches_the_command() {
    let cache = tempfile::tempdir().unwrap();
    let waits = "trap 'echo told; exit 3' HUP; echo ready; while :; do sleep 0.05; done";
    let mut child = command(&cache, "--personality gemini --namespace -- sh -c")
        .arg(waits)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    std::io::BufRead::read_line(&mut stdout, &mut line).unwrap();
    if line == "ready\n" {
        let pid = nix::unistd::Pid::from_raw(child.id() as i32);
        nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGHUP).unwrap();
    }
    let mut told = String::new();
    std::io::Read::read_to_string(&mut stdout, &mut told).unwrap();
    let run = child.wait_with_output().unwrap();
    if text(&run.stderr).contains("does not let user") {
        return eprintln!("skipped: {}", text(&run.stderr));
    }
    assert_eq!((run.status.code(), told.as_str()), (Some(3), "told\n"));
}

#[test]
fn a_market_that_ends_takes_the_command_with_it() {
    let Some(run) = script("--duration 300ms", "exec sleep 600") else {
        return;
    };
    assert_eq!(run.status.code(), Some(128 + 15), "{}", text(&run.stderr));
}

#[test]
fn a_command_that_is_not_there_is_named() {
    let cache = tempfile::tempdir().unwrap();
    let run = command(&cache, "--namespace -- /nowhere/bot")
        .output()
        .unwrap();
    let stderr = text(&run.stderr);
    if !stderr.contains("does not let user") {
        assert_eq!(run.status.code(), Some(1));
        assert!(
            stderr.contains("cannot run /nowhere/bot: No such file"),
            "{stderr}"
        );
    }
}
