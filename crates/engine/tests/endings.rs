//! However a run ends, what was measured is there.

mod support;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use feedbench_record::{Ending, SampleReader};
use support::{count, engine, json, load, serve, Behaviour};

#[test]
fn interrupts_end_the_run_with_its_results() {
    let url = format!("ws://{}/", serve(Behaviour::Echo));
    for signal in [libc::SIGINT, libc::SIGTERM] {
        let directory = tempfile::tempdir().unwrap();
        let child = engine()
            .args([
                "load",
                "--json",
                &url,
                "--duration",
                "60s",
                "--warmup",
                "0ms",
                "--out",
            ])
            .arg(directory.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(400));
        // SAFETY: the child is ours and not waited for yet, so its number is still its own.
        unsafe { libc::kill(child.id() as i32, signal) };
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130), "{output:?}");
        let result = json(&output);
        assert_eq!(
            (result["interrupted"].as_bool(), result["verdict"].as_str()),
            (Some(true), Some("ok")),
            "{result}"
        );
        assert!(
            count(&result, "measured_ns") < 30_000_000_000 && count(&result, "received") > 0,
            "{result}"
        );
        let samples = read_samples(&directory.path().join("samples.fbs"));
        assert_eq!(
            (samples.0, samples.1),
            (count(&result, "received"), Ending::Complete)
        );
        assert!(
            directory.path().join("load.json").exists()
                && directory.path().join("histogram.hlog").exists()
        );
    }
}

fn read_samples(path: &Path) -> (u64, Ending) {
    let (samples, ending) = SampleReader::open(path).unwrap().read_all().unwrap();
    for sample in &samples {
        assert!(sample.received_ns >= sample.sent_ns && sample.sent_ns >= sample.intended_ns);
    }
    (samples.len() as u64, ending)
}

#[test]
fn a_disk_that_is_full_from_the_start_is_one_clear_line() {
    let url = format!("ws://{}/", serve(Behaviour::Echo));
    let output = load(&[&url, "--duration", "100ms", "--samples", "/dev/full"]);
    assert_eq!(output.status.code(), Some(1));
    let result = json(&output);
    assert!(
        result["cause"]
            .as_str()
            .unwrap()
            .contains("cannot write samples to /dev/full: No space"),
        "{result}"
    );
}

#[test]
fn a_disk_that_fills_up_leaves_the_result_and_the_samples_before() {
    let url = format!("ws://{}/", serve(Behaviour::Echo));
    let directory = tempfile::tempdir().unwrap();
    let samples = directory.path().join("samples.fbs");
    // A limit on file size stands for the full disk; its signal is ignored, so that the write fails instead.
    let output = Command::new("sh")
        .args([
            "-c",
            "trap '' XFSZ; ulimit -f 1; exec \"$0\" \"$@\"",
            env!("CARGO_BIN_EXE_feedbench-engine"),
        ])
        .args([
            "load",
            "--json",
            &url,
            "--duration",
            "300ms",
            "--in-flight",
            "8",
            "--samples",
        ])
        .arg(&samples)
        .output()
        .unwrap();
    let result = json(&output);
    assert!(
        count(&result, "received") > 100,
        "the measurement itself is whole: {result}"
    );
    assert_eq!(result["verdict"], "failed");
    assert!(
        result["cause"]
            .as_str()
            .unwrap()
            .contains("samples were written, the rest is lost"),
        "{result}"
    );
    let (kept, ending) = read_samples(&samples);
    assert!(kept > 0 && ending == Ending::CutShort, "{kept} {ending:?}");
}

#[test]
fn a_request_file_is_carried_out_or_refused_with_words() {
    let server = serve(Behaviour::Echo);
    let directory = tempfile::tempdir().unwrap();
    let cell = directory.path().join("cell");
    let request = format!(
        r#"{{"schema": 1, "seed": 123, "slice_ns": 25000000, "drop_first": 0.1, "warmup_ns": 50000000,
            "measure_ns": 100000000, "cpu": null, "transport": "epoll",
            "targets": [{{"name": "cell", "url": "ws://{server}/echo", "directory": {:?}, "connections": 2,
              "payload": {{"kind": "binary", "bytes": 108, "file": null}}, "pacer": {{"kind": "closed", "in_flight": 1}},
              "offer_deflate": false, "ca_file": null, "timeout_ns": 2000000000}}]}}"#,
        cell.to_str().unwrap()
    );
    let path = directory.path().join("request.json");
    std::fs::write(&path, &request).unwrap();
    let output = load(&["--request", path.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let result = json(&output);
    let written: serde_json::Value =
        serde_json::from_slice(&std::fs::read(cell.join("load.json")).unwrap()).unwrap();
    assert_eq!(written, result);
    assert_eq!(
        (count(&result, "slices"), count(&result, "measured_ns")),
        (4, 90_000_000)
    );
    assert_eq!(
        read_samples(&cell.join("samples.fbs")),
        (count(&result, "received"), Ending::Complete)
    );

    std::fs::write(&path, request.replace("drop_first", "drop_frist")).unwrap();
    let output = load(&["--request", path.to_str().unwrap()]);
    let talk = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        talk.contains("unknown field `drop_frist`") && talk.contains("line 1"),
        "{talk}"
    );
    assert_eq!(talk.lines().count(), 1, "{talk}");
}

/// The floor server pauses and logs it. An open loop that hides nothing must show at least what the log implies; how
/// much more depends on the machine, so that the upper side is a matter for a quiet one.
#[test]
fn pauses_of_the_server_show_in_the_open_loop() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("pauses");
    let mut floor = engine()
        .args([
            "floor",
            "--stall",
            "100ms",
            "--every",
            "500ms",
            "--stall-log",
        ])
        .arg(&log)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut address = String::new();
    BufReader::new(floor.stdout.take().unwrap())
        .read_line(&mut address)
        .unwrap();
    let url = format!("ws://{}/", address.trim());
    let samples = directory.path().join("samples.fbs");
    let output = load(&[
        &url,
        "--rate",
        "1000",
        "--duration",
        "2s",
        "--samples",
        samples.to_str().unwrap(),
    ]);
    let closed = load(&[&url, "--duration", "100ms"]);
    floor.kill().unwrap();
    floor.wait().unwrap();

    let pauses: Vec<(u64, u64)> = std::fs::read_to_string(&log)
        .unwrap()
        .lines()
        .map(|line| {
            line.split_once(' ')
                .map(|(begin, end)| (begin.parse().unwrap(), end.parse().unwrap()))
                .unwrap()
        })
        .collect();
    let (all, _) = SampleReader::open(&samples).unwrap().read_all().unwrap();
    let implied = |intended: u64| {
        let pause = pauses
            .iter()
            .find(|(begin, end)| (*begin..*end).contains(&intended));
        pause.map_or(0, |(_, end)| end - intended)
    };
    let mut expected: Vec<u64> = all
        .iter()
        .map(|sample| implied(sample.intended_ns))
        .collect();
    expected.sort_unstable();
    let result = json(&output);
    assert_eq!(all.len() as u64, count(&result, "received"));
    for (quantile, name) in [(900, "p90"), (950, "p95"), (990, "p99"), (999, "p99.9")] {
        let implied_ns = expected[(all.len() * quantile).div_ceil(1000) - 1];
        assert!(
            implied_ns > 10_000_000,
            "the pauses reach {name}: {implied_ns}"
        );
        let found_ns = count(&result["latency_ns"], name);
        assert!(
            found_ns as f64 >= implied_ns as f64 * 0.97,
            "{name}: {found_ns} for {implied_ns}"
        );
    }
    let warnings = json(&closed)["warnings"].clone();
    assert!(
        warnings
            .as_array()
            .unwrap()
            .iter()
            .any(|warning| warning["code"] == "closed_loop"),
        "{warnings}"
    );
}
