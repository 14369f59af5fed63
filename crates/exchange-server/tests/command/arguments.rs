//! What cannot be is refused in one clear line.

use crate::rig::output;
use std::net::TcpListener;

#[test]
fn each_mistake_is_one_line_and_a_failure() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let file = tempfile::NamedTempFile::new().unwrap();
    let path = file.path().display();
    let words = |text: &str| text.to_owned();
    for (arguments, expected) in [
        (
            format!("--personality binance --port {port}"),
            format!("port {port} on 127.0.0.1 is taken; `ss -ltnp"),
        ),
        (words("--port 65535"), words("no room for the others")),
        (words("--host 192.0.2.1"), words("no address 192.0.2.1")),
        (words("--rate 0"), words("arrival rate")),
        (words("--market /nowhere.toml"), words("/nowhere.toml")),
        (
            words("--ledger /nowhere/x.ledger"),
            words("/nowhere/x.ledger"),
        ),
        (
            words("--json-file /nowhere/x.json"),
            words("/nowhere/x.json"),
        ),
        (format!("--certificates {path}/x"), words("--certificates")),
        (words("--cpu 4095"), words("CPU 4095")),
    ] {
        let run = output(&arguments);
        let stderr = String::from_utf8(run.stderr).unwrap();
        assert_eq!(run.status.code(), Some(1), "{arguments}: {stderr}");
        assert!(stderr.contains(&expected), "{arguments}: {stderr}");
        assert_eq!(stderr.lines().count(), 1, "{arguments}: {stderr}");
        assert!(run.stdout.is_empty(), "{arguments}");
    }
}

#[test]
fn mistakes_of_the_command_line_name_what_is_possible() {
    for (arguments, expected) in [
        ("--personality ftx", "binance"),
        ("--fault earthquake:every=5", "malformed-json"),
        ("--rate fast", "--rate"),
        ("--duration 5", "no unit"),
        ("--symbols 0", "1 to 10000"),
        ("--no-tls --namespace -- true", "cannot be used with"),
        ("--namespace", "COMMAND"),
    ] {
        let run = output(arguments);
        let stderr = String::from_utf8(run.stderr).unwrap();
        assert_eq!(run.status.code(), Some(2), "{arguments}: {stderr}");
        assert!(stderr.contains(expected), "{arguments}: {stderr}");
    }
}

#[test]
fn help_explains_what_there_is() {
    let help = String::from_utf8(output("--help").stdout).unwrap();
    for word in [
        "Personalities:",
        "Rates:",
        "Faults",
        "TLS:",
        "--namespace",
        "gap",
        "bithumb-global",
    ] {
        assert!(help.contains(word), "{word}");
    }
}
