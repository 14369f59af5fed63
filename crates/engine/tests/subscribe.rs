//! Subscribers: everything that arrives is stamped once, and what a relay does wrong is told.

mod support;

use std::io::{self, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Barrier};
use std::time::Duration;

use feedbench_wire::frame::Opcode;
use feedbench_wire::handshake::{Acceptance, Upgrade};
use serde_json::Value;
use support::{count, engine, errors, listen, read_more, send};

const MESSAGES: u32 = 50;

/// The n-th handshake of this server, done.
fn accept(socket: &mut TcpStream, visits: &AtomicU32) -> io::Result<u32> {
    let mut received = Vec::new();
    let upgrade = loop {
        match Upgrade::parse(&received).map_err(io::Error::other)? {
            Some(upgrade) => break upgrade,
            None => read_more(socket, &mut received)?,
        }
    };
    let acceptance = Acceptance {
        subprotocol: None,
        deflate: None,
    };
    socket.write_all(&acceptance.encode(&upgrade))?;
    Ok(visits.fetch_add(1, Ordering::SeqCst))
}

/// Sends the numbers that `course` gives for the n-th visitor once `together` are there, and then stays.
fn feed(together: usize, course: fn(u32) -> Vec<u32>) -> SocketAddr {
    let visits = Arc::new(AtomicU32::new(0));
    let barrier = Arc::new(Barrier::new(together));
    listen(move |mut socket| {
        let visitor = accept(&mut socket, &visits)?;
        if (visitor as usize) < together {
            barrier.wait();
        }
        for number in course(visitor) {
            send(
                &mut socket,
                Opcode::Text,
                format!("message {number}").as_bytes(),
            )?;
        }
        let mut rest = Vec::new();
        while read_more(&mut socket, &mut rest).is_ok() {}
        Ok(())
    })
}

/// The summary, which is the last line; the first tells that all are connected.
fn subscribe(server: SocketAddr, more: &[&str]) -> Value {
    let output = engine()
        .args(["subscribe", "--json", &format!("ws://{server}/feed")])
        .args(more)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(
        lines.len(),
        2,
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(lines[0].contains("\"connected\""), "{text}");
    serde_json::from_str(lines[1]).unwrap()
}

fn everything(_visitor: u32) -> Vec<u32> {
    (0..MESSAGES).collect()
}

#[test]
fn every_subscriber_has_every_message() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("receipts");
    let result = subscribe(
        feed(5, everything),
        &[
            "-n",
            "5",
            "--duration",
            "3s",
            "--output",
            file.to_str().unwrap(),
        ],
    );
    assert_eq!(
        count(&result, "received_total"),
        u64::from(5 * MESSAGES),
        "{result}"
    );
    assert_eq!(
        count(&result["skew_ns"], "count"),
        u64::from(MESSAGES),
        "{result}"
    );
    for part in result["each"].as_array().unwrap() {
        for flaw in ["missing", "repeated", "reordered"] {
            assert_eq!(count(part, flaw), 0, "{result}");
        }
    }
    // Header, five times connected, all messages, footer.
    let bytes = std::fs::metadata(&file).unwrap().len();
    let records = u64::from(5 + 5 * MESSAGES + 1);
    assert!(
        bytes > 24 * records && bytes < 24 * records + 400,
        "{bytes}"
    );
}

#[test]
fn a_relay_that_forgets_repeats_and_swaps_is_told() {
    let result = subscribe(
        feed(4, |visitor| {
            let mut course: Vec<u32> = (0..MESSAGES).collect();
            match visitor {
                1 => drop(course.remove(20)),
                2 => course.insert(21, 20),
                3 => course.swap(20, 21),
                _ => {}
            }
            course
        }),
        &["-n", "4", "--duration", "3s"],
    );
    // Who visited first is chance, what each visitor was given is not.
    let sum = |flaw: &str| -> u64 {
        let parts = result["each"].as_array().unwrap().iter();
        parts.map(|part| count(part, flaw)).sum()
    };
    let told = ["missing", "repeated", "reordered"].map(sum);
    assert_eq!(told, [1, 1, 1], "{result}");
}

#[test]
fn who_was_thrown_out_comes_back_if_asked_to() {
    let visits = Arc::new(AtomicU32::new(0));
    let server = listen(move |mut socket| {
        let visitor = accept(&mut socket, &visits)?;
        send(
            &mut socket,
            Opcode::Text,
            format!("message {visitor}").as_bytes(),
        )?;
        if visitor == 0 {
            return Ok(());
        }
        let mut rest = Vec::new();
        while read_more(&mut socket, &mut rest).is_ok() {}
        Ok(())
    });
    let result = subscribe(server, &["--reconnect", "--duration", "4s"]);
    assert_eq!(count(&result, "connections"), 2, "{result}");
    assert_eq!(count(&result, "received_total"), 2, "{result}");
    assert_eq!(
        errors(&result, "closed") + errors(&result, "broken"),
        1,
        "{result}"
    );
}

#[test]
fn a_storm_is_over_when_all_are_back() {
    let server = feed(20, |_| vec![1]);
    let result = subscribe(
        server,
        &["-n", "20", "--storm-after", "100ms", "--duration", "5s"],
    );
    let storm = &result["storm"];
    assert_eq!(count(storm, "back"), 20, "{result}");
    assert!(count(storm, "all_back_ns") > 0, "{result}");
    assert_eq!(count(&result, "connections"), 40, "{result}");
}

#[test]
fn one_that_stops_reading_has_its_messages_at_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("receipts");
    let visits = Arc::new(AtomicU32::new(0));
    let server = listen(move |mut socket| {
        accept(&mut socket, &visits)?;
        for number in 0..20 {
            send(
                &mut socket,
                Opcode::Text,
                format!("message {number}").as_bytes(),
            )?;
            std::thread::sleep(Duration::from_millis(20));
        }
        let mut rest = Vec::new();
        while read_more(&mut socket, &mut rest).is_ok() {}
        Ok(())
    });
    let arguments = [
        "-n",
        "2",
        "--slow",
        "1",
        "--slow-after",
        "50ms",
        "--duration",
        "3s",
        "--output",
        file.to_str().unwrap(),
    ];
    let result = subscribe(server, &arguments);
    assert_eq!(count(&result, "received_total"), 40, "{result}");
    let kinds = kinds(&file);
    let place = |kind: u8| kinds.iter().position(|&found| found == kind).unwrap();
    let (stopped, resumed) = (place(6), place(7));
    assert!(stopped < resumed);
    assert!(kinds[resumed..].contains(&1), "nothing was left for it");
}

/// The kind of each record.
fn kinds(file: &Path) -> Vec<u8> {
    let bytes = std::fs::read(file).unwrap();
    let header = 16 + u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize;
    let records = &bytes[header..bytes.len() - 24];
    records.chunks(24).map(|record| record[20]).collect()
}

#[test]
fn what_makes_no_sense_is_refused_in_one_line() {
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = nobody.local_addr().unwrap();
    drop(nobody);
    let url = format!("ws://{address}/feed");
    let table: [(&[&str], &str); 7] = [
        (&[&url], "is the server running"),
        (&["http://127.0.0.1/"], "neither ws nor wss"),
        (&[&url, "-n", "2", "--slow", "2"], "leaves nobody to read"),
        (
            &[&url, "-n", "2", "--slow", "1", "--storm-after", "1s"],
            "choose one",
        ),
        (&[&url, "--duration", "0s"], "--duration is 0"),
        (&[&url, "--output", "/no/such/folder/file"], "cannot write"),
        (&[&url, "--cpu", "4000"], "CPU 4000"),
    ];
    for (arguments, words) in table {
        let output = engine().arg("subscribe").args(arguments).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success(), "{arguments:?}");
        assert!(said.contains(words), "{arguments:?}: {said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
}
