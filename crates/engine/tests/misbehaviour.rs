//! Every fault of a server is found, counted under its own name, and makes the verdict.

mod support;

use serde_json::Value;
use support::{count, errors, json, load, load_briefly, serve, Behaviour};

#[test]
fn a_good_server_has_no_faults_in_any_load_or_payload() {
    let server = serve(Behaviour::Echo);
    let mut table: Vec<&[&str]> = vec![
        &["--connections", "3"],
        &["--in-flight", "16", "--binary"],
        &["--rate", "500", "--json-payload"],
        &["--rate", "500", "--poisson", "--size", "1"],
        &["--burst", "20", "--interval", "50ms", "--connections", "2"],
        &["--busy-poll", "--size", "200000"],
        &["--threads", "2", "--connections", "3", "--rate", "500"],
        &["--size", "0"],
        &["--ramp", "50", "--connections", "3", "--transport", "epoll"],
    ];
    let ring: [&[&str]; 3] = [
        &["--transport", "io_uring", "--connections", "3"],
        &[
            "--transport",
            "io_uring",
            "--in-flight",
            "16",
            "--size",
            "100000",
        ],
        &["--transport", "io_uring", "--rate", "500"],
    ];
    if support::has_io_uring() {
        table.extend(ring);
    }
    for more in table {
        let result = load_briefly(server, more);
        assert_ne!(result["verdict"], "failed", "{more:?}: {result}");
        assert!(count(&result, "received") > 0, "{more:?}: {result}");
        assert_eq!(
            count(&result, "sent"),
            count(&result, "received"),
            "{more:?}"
        );
        assert_eq!(
            count(&result, "sent_total"),
            count(&result, "received_total"),
            "{more:?}"
        );
        for fault in ["lost", "wrong", "duplicated", "out_of_order"] {
            assert_eq!(count(&result, fault), 0, "{more:?}: {fault}");
        }
        for quantity in ["latency_ns", "latency_from_send_ns", "lateness_ns"] {
            assert_eq!(
                count(&result[quantity], "count"),
                count(&result, "received"),
                "{more:?}: {quantity}"
            );
        }
    }
}

/// A server that swaps every n-th answer with the next one keeps it if none follows.
fn withholds_the_last(behaviour: Behaviour, result: &Value) -> bool {
    matches!(behaviour, Behaviour::SwapEvery(every) if count(result, "sent_total") % every == 0)
}

#[test]
fn each_fault_is_counted_under_its_own_name() {
    let pipelined = ["--in-flight", "8", "--timeout", "2s"];
    let table = [
        (Behaviour::DropEvery(50), "lost"),
        (Behaviour::RepeatEvery(50), "duplicated"),
        (Behaviour::SwapEvery(50), "out_of_order"),
        (Behaviour::ChangeEvery(50), "wrong"),
        (Behaviour::ChangeKind, "wrong"),
    ];
    for (behaviour, fault) in table {
        let result = load_briefly(serve(behaviour), &pipelined);
        assert_eq!(result["verdict"], "failed", "{behaviour:?}");
        assert!(count(&result, fault) > 0, "{behaviour:?}: {result}");
        assert!(
            result["cause"]
                .as_str()
                .unwrap()
                .contains(&fault.replace('_', " ")),
            "{behaviour:?}: {result}"
        );
        for other in ["lost", "wrong", "duplicated", "out_of_order"]
            .iter()
            .filter(|&&other| other != fault)
        {
            assert_eq!(
                count(&result, other),
                u64::from(*other == "lost" && withholds_the_last(behaviour, &result)),
                "{behaviour:?}: {other} in {result}"
            );
        }
        assert_eq!(
            count(&result, "sent"),
            count(&result, "received") + count(&result, "lost"),
            "{behaviour:?}"
        );
    }
}

#[test]
fn odd_but_lawful_servers_are_understood() {
    for behaviour in [Behaviour::Fragment, Behaviour::Dribble] {
        let result = load_briefly(serve(behaviour), &["--in-flight", "3"]);
        assert_eq!(result["verdict"], "ok", "{behaviour:?}: {result}");
        assert!(count(&result, "received") > 0, "{behaviour:?}");
    }
}

#[test]
fn a_connection_that_ends_early_is_a_failure_with_its_cause() {
    let table = [
        (
            Behaviour::DieAfter(20),
            "closed",
            "closed the TCP connection",
        ),
        (
            Behaviour::CloseAfter(20),
            "closed",
            "status 1001 going away",
        ),
        (Behaviour::Mask, "protocol", "must not be masked"),
        (Behaviour::Garbage, "protocol", "reserved bits"),
    ];
    for (behaviour, kind, words) in table {
        let result = load_briefly(serve(behaviour), &[]);
        assert_eq!(result["verdict"], "failed", "{behaviour:?}");
        assert_eq!(errors(&result, kind), 1, "{behaviour:?}: {result}");
        assert!(
            result["cause"].as_str().unwrap().contains(words),
            "{behaviour:?}: {result}"
        );
    }
    let result = load_briefly(serve(Behaviour::DieAfter(20)), &[]);
    assert_eq!(
        (count(&result, "received"), count(&result, "lost")),
        (20, 1),
        "what was measured is kept: {result}"
    );
}

#[test]
fn a_broken_connection_is_opened_again_if_that_is_wanted() {
    let result = load_briefly(
        serve(Behaviour::DieAfter(20)),
        &["--reconnect", "--connections", "2"],
    );
    assert!(count(&result, "reconnects") > 0, "{result}");
    assert!(count(&result, "received") > 40, "{result}");
}

#[test]
fn silence_is_lost_after_the_time_out() {
    let result = load_briefly(
        serve(Behaviour::Silent),
        &["--timeout", "2s", "--connections", "2"],
    );
    assert_eq!(result["verdict"], "failed");
    assert!(
        count(&result, "lost") == 2 && count(&result, "received") == 0,
        "{result}"
    );
    assert_eq!(result["latency_ns"]["p50"], serde_json::Value::Null);
}

#[test]
fn a_message_that_nobody_asked_for_is_an_error() {
    let result = load_briefly(serve(Behaviour::Greet), &[]);
    assert_eq!(
        (result["verdict"].as_str(), errors(&result, "unasked")),
        (Some("failed"), 1),
        "{result}"
    );
}

#[test]
fn a_server_that_cannot_be_reached_is_one_clear_line_and_a_result() {
    let free_port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let refused = serve(Behaviour::Refuse);
    let table = [
        (format!("ws://{free_port}/"), "Connection refused"),
        (format!("ws://{refused}/"), "404 Not Found"),
        ("http://127.0.0.1/".to_owned(), "neither ws nor wss"),
        (format!("ws://{}/", serve_nothing()), "no handshake from"),
    ];
    for (url, words) in table {
        let output = load(&[&url, "--timeout", "200ms"]);
        assert_eq!(output.status.code(), Some(1), "{url}");
        let talk = String::from_utf8(output.stderr.clone()).unwrap();
        assert_eq!(talk.lines().count(), 1, "{url}: {talk}");
        assert!(talk.contains(words), "{url}: {talk}");
        let result = json(&output);
        assert_eq!(result["verdict"], "failed", "{url}");
        assert!(
            result["cause"].as_str().unwrap().contains(words),
            "{url}: {result}"
        );
    }
}

/// Accepts connections (the kernel does) and never answers.
fn serve_nothing() -> std::net::SocketAddr {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::mem::forget(listener); // open until the test's process ends
    address
}

#[test]
fn one_bad_target_does_not_stop_the_others() {
    let (good, bad) = (serve(Behaviour::Echo), serve(Behaviour::DieAfter(5)));
    let urls = [
        format!("ws://{good}/"),
        format!("ws://{bad}/"),
        "ws://127.0.0.1:1/".to_owned(),
    ];
    let output = load(&[
        &urls[0],
        &urls[1],
        &urls[2],
        "--duration",
        "300ms",
        "--warmup",
        "100ms",
        "--slice",
        "20ms",
    ]);
    assert_eq!(output.status.code(), Some(0));
    let results = json(&output)["results"].clone();
    let verdicts: Vec<_> = (0..3)
        .map(|index| results[index]["verdict"].as_str().unwrap())
        .collect();
    assert_eq!(verdicts, ["ok", "failed", "failed"], "{results}");
    assert_eq!(count(&results[0], "slices"), 15);
    assert_eq!(
        count(&results[0], "measured_ns"),
        15 * 18_000_000,
        "the dropped heads are not measured time"
    );
    assert!(!results[0]["warmup"]["bins"].as_array().unwrap().is_empty());
}

#[test]
fn an_end_that_comes_together_with_an_answer_is_seen_at_once() {
    // The server answers and closes in one breath. Without a look at the end the engine would wait for its time-out.
    let result = load_briefly(
        serve(Behaviour::AnswerAndDie),
        &["--connections", "8", "--timeout", "60s", "--in-flight", "2"],
    );
    assert_eq!(
        errors(&result, "closed") + errors(&result, "broken"),
        8,
        "{result}"
    );
    assert!(count(&result, "measured_ns") < 30_000_000_000);
    assert_eq!(errors(&result, "timeout"), 0, "{result}");
}
