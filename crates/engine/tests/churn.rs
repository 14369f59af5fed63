//! Churn and storms: every visit is counted once, and a fault is a failed visit.

mod support;

use std::net::SocketAddr;

use serde_json::Value;
use support::{count, engine, errors, json, serve, Behaviour};

fn churn(server: SocketAddr, more: &[&str]) -> Value {
    let output = engine()
        .args(["churn", "--json", &format!("ws://{server}/echo")])
        .args(more)
        .output()
        .unwrap();
    json(&output)
}

#[test]
fn visits_come_and_go() {
    let result = churn(
        serve(Behaviour::Echo),
        &["--duration", "300ms", "--at-once", "8", "--messages", "3"],
    );
    let completed = count(&result, "completed");
    assert!(completed >= 8, "{result}");
    assert_eq!(
        (count(&result, "begun"), count(&result, "failed")),
        (completed, 0),
        "{result}"
    );
    for (times, each) in [
        ("handshake_ns", 1),
        ("latency_ns", 3),
        ("close_ns", 1),
        ("visit_ns", 1),
    ] {
        assert_eq!(
            count(&result[times], "count"),
            each * completed,
            "{times}: {result}"
        );
    }
    assert!(
        count(&result["visit_ns"], "max") <= count(&result, "elapsed_ns"),
        "{result}"
    );
}

#[test]
fn a_storm_begins_all_at_once_and_ends_with_the_last() {
    let result = churn(
        serve(Behaviour::Echo),
        &["--storm", "60", "--messages", "0", "--timeout", "30s"],
    );
    assert_eq!(
        (count(&result, "begun"), count(&result, "completed")),
        (60, 60),
        "{result}"
    );
    assert_eq!(result["storm"], true);
}

#[test]
fn a_rate_is_kept_and_its_lateness_told() {
    let result = churn(
        serve(Behaviour::Echo),
        &["--duration", "500ms", "--rate", "100", "--timeout", "30s"],
    );
    // 50 visits are due; a busy machine may begin the last ones after the end, and then leaves them out.
    assert!((1..=50).contains(&count(&result, "begun")), "{result}");
    assert_eq!(
        count(&result["lateness_ns"], "count"),
        count(&result, "begun"),
        "{result}"
    );
}

#[test]
fn each_fault_fails_its_visits() {
    let table = [
        (Behaviour::Refuse, "connect"),
        (Behaviour::Silent, "timeout"),
        (Behaviour::DieAfter(0), "closed"),
        (Behaviour::CloseAfter(0), "closed"),
        (Behaviour::Garbage, "protocol"),
        (Behaviour::Mask, "protocol"),
    ];
    for (behaviour, kind) in table {
        let result = churn(serve(behaviour), &["--storm", "5", "--timeout", "300ms"]);
        assert_eq!(
            (count(&result, "failed"), count(&result, "completed")),
            (5, 0),
            "{behaviour:?}: {result}"
        );
        let found = errors(&result, kind) + errors(&result, "broken");
        assert_eq!(found, 5, "{behaviour:?}: {result}");
    }
    let result = churn(
        serve(Behaviour::ChangeEvery(1)),
        &["--storm", "5", "--timeout", "30s"],
    );
    assert_eq!(errors(&result, "wrong"), 1, "{result}");
    assert_eq!(count(&result, "failed"), 0, "a wrong answer ends no visit");
}
