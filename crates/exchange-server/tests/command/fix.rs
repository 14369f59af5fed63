//! FIX through the command's sockets: plain and over TLS, with numbers that outlive it, and Binance's documented Logon.

use super::rig::{command, Exchange};
use base64::engine::general_purpose::STANDARD;
use base64::Engine;
use feedbench_exchange::ledger::Ledger;
use feedbench_wire::fix::authentication::LogonSigner;
use nix::sys::signal::Signal;
use rustls_pki_types::pem::PemObject;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

const PATIENCE: Duration = Duration::from_secs(60);

/// One end of a connection that speaks FIX without our codec.
struct Client<S> {
    socket: S,
    received: Vec<u8>,
    begin_string: &'static str,
    target: &'static str,
    sequence: u64,
}

fn connect(exchange: &Exchange, personality: &str, target: &'static str) -> Client<TcpStream> {
    let socket = TcpStream::connect(exchange.fix_address(personality)).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    Client {
        socket,
        received: Vec::new(),
        begin_string: "FIX.4.4",
        target,
        sequence: 0,
    }
}

fn checked(head: &str) -> String {
    let sum: u32 = head.bytes().map(u32::from).sum();
    format!("{head}10={:03}\x01", sum % 256)
}

impl<S: Read + Write> Client<S> {
    fn say(&mut self, msg_type: &str, body: &str) {
        self.sequence += 1;
        let unix = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap();
        let mut time = Vec::new();
        let calendar = feedbench_exchange::time::Calendar::of(unix.as_nanos() as u64);
        calendar.write_date(&mut time, "");
        time.push(b'-');
        calendar.write_time(&mut time, ":", 3);
        let time = String::from_utf8(time).unwrap();
        let body = format!(
            "35={msg_type}|34={}|49=ME|52={time}|56={}|{body}",
            self.sequence, self.target
        )
        .replace('|', "\x01");
        let head = format!("8={}\x019={}\x01{body}", self.begin_string, body.len());
        self.socket.write_all(checked(&head).as_bytes()).unwrap();
    }

    /// The next message, with bars for separators; empty at the end of the connection.
    fn hear(&mut self) -> String {
        loop {
            let end = self.received.windows(4).position(|four| four == b"\x0110=");
            if let Some(end) = end.filter(|end| self.received.len() >= end + 8) {
                let message: Vec<u8> = self.received.drain(..end + 8).collect();
                return String::from_utf8(message).unwrap().replace('\x01', "|");
            }
            let mut bytes = [0; 65_536];
            match self.socket.read(&mut bytes).unwrap_or(0) {
                0 => return String::new(),
                count => self.received.extend_from_slice(&bytes[..count]),
            }
        }
    }

    /// The next message that holds this.
    fn hear_until(&mut self, words: &str) -> String {
        loop {
            let message = self.hear();
            assert!(!message.is_empty(), "the connection ended without {words}");
            if message.contains(words) {
                return message;
            }
        }
    }
}

/// The private key that Binance documents for checking implementations.
const DOCUMENTED_KEY: &str = "MC4CAQAwBQYDK2VwBCIEIIJEYWtGBrhACmb9Dvy+qa8WEf0lQOl1s4CLIAB9m89u";
/// What stands before an Ed25519 public key in DER (RFC 8410, section 4).
const ED25519_PREFIX: [u8; 12] = [
    0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00,
];
const TRADES: &str = "262=t|263=1|264=1|267=1|269=2|146=1|55=";

#[test]
fn one_event_leaves_through_both_doors_and_is_in_the_ledger() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = folder.path().join("run.ledger");
    let arguments = format!(
        "--personality binance --fix --symbols 1 --rate 2000 --ledger {}",
        ledger.display()
    );
    let exchange = Exchange::start(&arguments);
    let mut client = connect(&exchange, "binance", "SPOT");
    client.say("A", "98=0|108=30|141=Y|");
    assert!(client.hear().contains("|35=A|"));
    client.say("V", &format!("{TRADES}BTCUSDT|"));
    let trade = client.hear_until("|35=X|");
    client.say("5", "");
    client.hear_until("|35=5|");
    exchange.signal(Signal::SIGTERM);
    exchange.end();
    let bytes = std::fs::read(&ledger).unwrap();
    let ledger = Ledger::read(&bytes).unwrap();
    let body = &trade[trade.find("|268=").unwrap() + 1..trade.find("|10=").unwrap() + 1];
    let crc32 = crc32fast::hash(body.replace('|', "\x01").as_bytes());
    let sent = ledger
        .messages()
        .find(|sent| sent.payload_crc32 == crc32)
        .unwrap_or_else(|| panic!("{body} is not in the ledger"));
    assert_eq!(ledger.streams()[&sent.stream], "binance fix BTCUSDT trades");
    assert!(sent.born_ns <= sent.sent_ns);
}

#[test]
fn fix_is_spoken_over_tls_by_the_first_byte() {
    let exchange = Exchange::start("--personality coinbase --fix --symbols 1");
    let address = exchange.fix_address("coinbase");
    let mut roots = rustls::RootCertStore::empty();
    let ca = exchange.beginning["ca"].as_str().unwrap();
    let authority = rustls_pki_types::CertificateDer::from_pem_file(ca).unwrap();
    roots.add(authority).unwrap();
    let config = rustls::ClientConfig::builder()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = "localhost".try_into().unwrap();
    let session = rustls::ClientConnection::new(Arc::new(config), name).unwrap();
    let socket = TcpStream::connect(address).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut client = Client {
        socket: rustls::StreamOwned::new(session, socket),
        received: Vec::new(),
        begin_string: "FIXT.1.1",
        target: "Coinbase",
        sequence: 0,
    };
    client.say("A", "98=0|108=30|141=Y|1137=9|");
    assert!(client.hear().contains("|1137=9|"));
    client.say("V", &format!("{TRADES}BTC-USD|"));
    assert!(client.hear_until("|35=X|").contains("|269=2|"));
}

#[test]
fn a_restarted_exchange_sends_again_what_was_missed() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = format!(
        "--personality kraken --fix --symbols 1 --fix-store {}",
        folder.path().display()
    );
    let exchange = Exchange::start(&arguments);
    let mut client = connect(&exchange, "standard", "FEEDBENCH");
    client.say("A", "98=0|108=30|");
    client.say("V", "262=s|263=0|264=1|267=2|269=0|269=1|146=1|55=BTC/USD|");
    client.hear_until("|35=W|34=2|");
    exchange.signal(Signal::SIGTERM);
    let goodbye = client.hear_until("|35=5|");
    assert!(goodbye.contains("|34=3|"), "{goodbye}");
    client.say("5", "");
    exchange.end();

    let exchange = Exchange::start(&arguments);
    let mut again = connect(&exchange, "standard", "FEEDBENCH");
    again.sequence = client.sequence;
    again.say("A", "98=0|108=30|");
    assert!(again.hear().contains("|35=A|34=4|"));
    again.say("2", "7=1|16=0|");
    let resent: Vec<String> = (0..3).map(|_| again.hear()).collect();
    for (message, words) in
        resent
            .iter()
            .zip(["|35=4|34=1|43=Y|", "|35=W|34=2|43=Y|", "|35=4|34=3|43=Y|"])
    {
        assert!(message.contains(words), "{message} without {words}");
    }
}

#[test]
fn orders_are_timed_in_the_ledger() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = folder.path().join("run.ledger");
    let arguments = format!(
        "--personality binance --fix --symbols 1 --ledger {}",
        ledger.display()
    );
    let exchange = Exchange::start(&arguments);
    let mut client = connect(&exchange, "standard", "FEEDBENCH");
    client.say("A", "98=0|108=30|141=Y|");
    let time = "60=20261121-14:30:00|";
    client.say(
        "D",
        &format!("11=1|54=1|55=BTC/USD|40=2|38=1|44=100|{time}"),
    );
    client.hear_until("|150=0|");
    client.say("F", &format!("11=2|41=1|54=1|55=BTC/USD|{time}"));
    client.hear_until("|150=4|");
    exchange.signal(Signal::SIGTERM);
    exchange.end();
    let bytes = std::fs::read(&ledger).unwrap();
    let ledger = Ledger::read(&bytes).unwrap();
    for name in [
        "standard fix ME acknowledgements",
        "standard fix ME cancels",
    ] {
        let (stream, _) = ledger
            .streams()
            .iter()
            .find(|(_, one)| *one == name)
            .unwrap();
        let sent: Vec<_> = ledger
            .messages()
            .filter(|one| one.stream == *stream)
            .collect();
        assert!(
            sent.len() == 1 && sent[0].born_ns < sent[0].sent_ns,
            "{name}: {sent:?}"
        );
    }
}

fn field<'m>(message: &'m str, tag: &str) -> &'m str {
    let found = message.split('|').find_map(|field| field.strip_prefix(tag));
    found.unwrap()
}

#[test]
fn the_documented_logon_of_binance_is_accepted_and_a_changed_one_is_not() {
    let vectors = include_str!("../../../../spec/vectors/fix.json");
    let vectors: serde_json::Value = serde_json::from_str(vectors).unwrap();
    let all = vectors["messages"].as_array().unwrap();
    let documented = all
        .iter()
        .find(|one| one["id"] == "logon.binance.documented");
    let documented = documented.unwrap()["wire"].as_str().unwrap();
    let api_key = field(documented, "553=");
    let signer = LogonSigner::from_pkcs8(&STANDARD.decode(DOCUMENTED_KEY).unwrap()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("public.pem");
    let der = [&ED25519_PREFIX[..], &signer.public_key()].concat();
    let pem = STANDARD.encode(der);
    let pem = format!("-----BEGIN PUBLIC KEY-----\n{pem}\n-----END PUBLIC KEY-----\n");
    std::fs::write(&key, pem).unwrap();
    // Until somebody subscribes, the market's time, and with it the clock, stands still.
    let arguments = format!(
        "--personality binance --fix --symbols 1 --opened-unix 1719487045 --wait-for 1 --fix-key {api_key}={}",
        key.display()
    );
    for (change, accepted) in [(("|34=1|", "|34=1|"), true), (("|34=1|", "|34=2|"), false)] {
        let exchange = Exchange::start(&arguments);
        let mut client = connect(&exchange, "binance", "SPOT");
        let logon = documented.replace(change.0, change.1);
        let head = &logon[..logon.len() - "10=000|".len()].replace('|', "\x01");
        client.socket.write_all(checked(head).as_bytes()).unwrap();
        let answer = client.hear();
        assert_eq!(answer.contains("|35=A|"), accepted, "{change:?}: {answer}");
    }
}

#[test]
fn a_key_that_cannot_be_read_is_told_before_anything_starts() {
    let cache = tempfile::tempdir().unwrap();
    let output = command(&cache, "--fix --fix-key K=/nowhere.pem")
        .output()
        .unwrap();
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("/nowhere.pem"));
}
