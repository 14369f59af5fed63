//! What a user, or a program, is told at the start and at the end.

use crate::runtime::Totals;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

const SCHEMA: u32 = 1;

/// Where one personality is reached; `None` where it has no such door.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Urls {
    ws: Option<String>,
    rest: Option<String>,
    wss: Option<String>,
    rest_tls: Option<String>,
    fix: Option<String>,
    fix_tls: Option<String>,
}

/// A URL of an address; `None` where TLS is wanted and there is none.
fn url(scheme: &str, mut address: SocketAddr, exists: bool) -> Option<String> {
    if address.ip().is_unspecified() {
        // Nobody can call "any address"; whoever is on this machine can call this one.
        address.set_ip([127, 0, 0, 1].into());
    }
    exists.then(|| format!("{scheme}://{address}"))
}

/// The first line on stdout with `--json`: spec/exchange.schema.json.
#[derive(Clone, Debug, Serialize)]
pub struct Beginning {
    schema: u32,
    /// Of this process.
    pub pid: u32,
    /// Of the market; a replay alone has none.
    pub seed: Option<u64>,
    /// By personality.
    pub urls: BTreeMap<&'static str, Urls>,
    /// Of the authority that clients are to trust.
    pub ca: Option<PathBuf>,
    /// Where each message is recorded.
    pub ledger: Option<PathBuf>,
    /// In a namespace: the address of each real host name.
    pub hosts: BTreeMap<&'static str, Ipv4Addr>,
}

impl Beginning {
    /// Of this process.
    pub fn new(seed: Option<u64>, ledger: Option<PathBuf>) -> Self {
        Self {
            schema: SCHEMA,
            pid: std::process::id(),
            seed,
            urls: BTreeMap::new(),
            ca: None,
            ledger,
            hosts: BTreeMap::new(),
        }
    }

    /// Adds a personality that listens on this address.
    pub fn door(&mut self, name: &'static str, address: SocketAddr, tls: bool) {
        let urls = self.urls.entry(name).or_default();
        urls.ws = url("ws", address, true);
        urls.rest = url("http", address, true);
        urls.wss = url("wss", address, tls);
        urls.rest_tls = url("https", address, tls);
    }

    /// Adds the address where a personality speaks FIX.
    pub fn fix_door(&mut self, name: &'static str, address: SocketAddr, tls: bool) {
        let urls = self.urls.entry(name).or_default();
        urls.fix = url("tcp", address, true);
        urls.fix_tls = url("tcp+tls", address, tls);
    }

    /// For people.
    pub fn table(&self) -> String {
        let has_fix = self.urls.values().any(|urls| urls.fix.is_some());
        let mut table = String::new();
        let mut row = |name: &str, columns: [&str; 3]| {
            let [ws, rest, fix] = columns;
            let line = format!("{name:<18} {ws:<28} {rest:<28} {fix}");
            table.push_str(line.trim_end());
            table.push('\n');
        };
        row(
            "exchange",
            ["WebSocket", "REST", if has_fix { "FIX" } else { "" }],
        );
        for (name, urls) in &self.urls {
            row(
                name,
                [&urls.ws, &urls.rest, &urls.fix].map(|url| url.as_deref().unwrap_or("")),
            );
        }
        if let Some(ca) = &self.ca {
            let _ = writeln!(
                table,
                "{} on the same ports, for clients that trust {}",
                if has_fix {
                    "wss://, https:// and FIX over TLS"
                } else {
                    "wss:// and https://"
                },
                ca.display()
            );
        }
        if !self.hosts.is_empty() {
            table.push_str("the exchanges' own host names lead here, on ports 443, 9443 and 80\n");
        }
        table
    }
}

/// The last line on stdout with `--json`.
#[derive(Clone, Debug, Serialize)]
pub struct End<'a> {
    schema: u32,
    /// As in the beginning.
    pub ledger: Option<&'a PathBuf>,
    /// What was done.
    pub totals: &'a Totals,
}

impl<'a> End<'a> {
    /// Of a run.
    pub fn new(totals: &'a Totals, ledger: Option<&'a PathBuf>) -> Self {
        Self {
            schema: SCHEMA,
            ledger,
            totals,
        }
    }

    /// For people.
    pub fn text(&self) -> String {
        let totals = self.totals;
        let mut text = format!(
            "{} events in {:.1} s\n",
            totals.events,
            totals.duration_ns as f64 / 1e9
        );
        for door in &totals.doors {
            if door.connections + door.refusals + door.rest_requests == 0 {
                continue;
            }
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "{}: {} messages ({}; {} as frames) sent to {} connections, {} REST requests, {} refused, {} too slow, {} against the protocol",
                door.name,
                door.messages_sent,
                size(door.bytes_sent),
                size(door.framed_bytes_sent),
                door.connections,
                door.rest_requests,
                door.refusals,
                door.slow_consumers,
                door.violations,
            );
        }
        if let Some(lag) = totals.send_lag_ns.as_ref().filter(|lag| lag.count > 0) {
            let us = |ns: Option<u64>| {
                ns.map_or("–".to_owned(), |ns| format!("{:.1} µs", ns as f64 / 1e3))
            };
            let _ = writeln!(
                text,
                "sent late by {} (median), {} (p99), {} (most)",
                us(lag.p50),
                us(lag.p99),
                us(lag.max)
            );
        }
        if totals.dropped > 0 {
            let _ = writeln!(
                text,
                "{} messages not sent, by the fault plan",
                totals.dropped
            );
        }
        if let Some(ledger) = self.ledger {
            let _ = writeln!(
                text,
                "ledger {}: {} records",
                ledger.display(),
                totals.ledger_records
            );
        }
        text
    }
}

fn size(bytes: u64) -> String {
    match bytes {
        0..=9_999 => format!("{bytes} B"),
        10_000..=9_999_999 => format!("{:.1} kB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_can_be_called() {
        let mut beginning = Beginning::new(None, None);
        beginning.door("six", "[::1]:80".parse().unwrap(), true);
        beginning.door("any", "0.0.0.0:9001".parse().unwrap(), false);
        beginning.fix_door("any", "0.0.0.0:9002".parse().unwrap(), true);
        let (six, any) = (&beginning.urls["six"], &beginning.urls["any"]);
        assert_eq!(six.wss.as_deref(), Some("wss://[::1]:80"));
        assert_eq!(six.fix, None);
        assert_eq!(any.ws.as_deref(), Some("ws://127.0.0.1:9001"));
        assert_eq!(
            (any.wss.as_ref(), any.fix_tls.as_deref()),
            (None, Some("tcp+tls://127.0.0.1:9002"))
        );
    }
}
