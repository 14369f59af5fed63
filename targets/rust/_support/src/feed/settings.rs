//! What the command line and the environment say.

use std::env;
use std::path::{Path, PathBuf};
use std::process::exit;
use std::sync::Arc;
use std::time::Duration;

use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore};

use super::decode::Decoder;
use super::fail;

pub(super) const WRONG_USAGE: i32 = 2;
const UNSUPPORTED: i32 = 127;

/// What a library can do beside the rest.
#[derive(Clone, Copy, Debug, Default)]
pub struct Abilities {
    /// permessage-deflate
    pub deflate: bool,
    /// It has a receive call, before which the clock can be read.
    pub stamp_before: bool,
    /// It speaks FIX and no WebSocket: a domain without TLS begins with `fix://`.
    pub fix: bool,
}

/// The command line and the environment of a feed client.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The target's name.
    pub target: &'static str,
    /// A name for the record.
    pub exchange: String,
    /// Where to connect.
    pub host: String,
    /// Where to connect.
    pub port: u16,
    /// Path and query.
    pub stream: String,
    /// All of it.
    pub url: String,
    /// Whether it is wss.
    pub is_encrypted: bool,
    /// Whether the clock is read before the receive call.
    pub stamp_before: bool,
    /// Whether permessage-deflate was switched on or off; `None` leaves the library's default.
    pub deflate: Option<bool>,
    pub(super) subscribe: String,
    pub(super) sink: String,
    pub(super) output: String,
    pub(super) exit_file: Option<PathBuf>,
    pub(super) parse: bool,
    pub(super) decoder: Decoder,
    pub(super) log_messages: bool,
    pub(super) delay: Duration,
    authority: Option<PathBuf>,
}

pub(super) fn end(status: i32, line: &str) -> ! {
    eprintln!("{line}");
    exit(status)
}

fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

/// The variable's value, the first of those allowed when it is unset.
pub(super) fn knob(name: &str, allowed: &[&str]) -> String {
    let value = env::var(name).unwrap_or_else(|_| allowed[0].to_owned());
    if !allowed.contains(&value.as_str()) {
        end(
            UNSUPPORTED,
            &format!("{name}={value}: this client can't do that"),
        );
    }
    value
}

/// The same; the last value wants an ability.
fn knob_if(able: bool, name: &str, allowed: &[&str]) -> String {
    match able {
        true => knob(name, allowed),
        false => knob(name, &allowed[..allowed.len() - 1]),
    }
}

/// A variable in nanoseconds.
pub(super) fn nanoseconds(name: &str, usual: Duration) -> Duration {
    let Some(value) = variable(name) else {
        return usual;
    };
    match value.parse() {
        Ok(nanoseconds) => Duration::from_nanos(nanoseconds),
        Err(_) => end(UNSUPPORTED, &format!("{name}={value}: say a whole number")),
    }
}

pub(super) fn delay() -> Duration {
    nanoseconds("FEEDBENCH_DELAY_NS", Duration::ZERO)
}

/// A variable that names a file.
pub(super) fn file(name: &str) -> Option<PathBuf> {
    variable(name).map(PathBuf::from)
}

/// The file that the record goes to; ends the process where the sink wants one.
pub(super) fn output(sink: &str) -> String {
    let output = variable("FEEDBENCH_OUTPUT").unwrap_or_default();
    if output.is_empty() && sink != "none" {
        end(
            WRONG_USAGE,
            "FEEDBENCH_OUTPUT names no file for what is received",
        );
    }
    output
}

/// Ends the process when it is none.
pub(super) fn port_number(text: &str) -> u16 {
    text.parse().unwrap_or_else(|_| {
        let most = u16::MAX;
        end(
            WRONG_USAGE,
            &format!("the port is {text}: say a number up to {most}"),
        )
    })
}

/// The four arguments.
pub(super) struct Address {
    pub exchange: String,
    pub host: String,
    pub port: u16,
    pub stream: String,
    pub url: String,
    pub is_encrypted: bool,
}

impl Address {
    /// Of the command line; ends the process when something makes no sense.
    pub fn read(plain: &'static str, secure: &'static str) -> Self {
        let given: Vec<String> = env::args().skip(1).collect();
        match given.as_slice().try_into() {
            Ok(address) => Self::of(address, plain, secure),
            Err(_) => end(WRONG_USAGE, "usage: client EXCHANGE DOMAIN PORT STREAM"),
        }
    }

    /// Encrypted unless the domain begins with the plain scheme.
    pub fn of(
        [exchange, domain, port, stream]: &[String; 4],
        plain: &'static str,
        secure: &'static str,
    ) -> Self {
        let number = port_number(port);
        let (scheme, host) = match domain.strip_prefix(&format!("{plain}://")) {
            Some(host) => (plain, host),
            None => (secure, domain.as_str()),
        };
        Self {
            exchange: exchange.clone(),
            host: host.to_owned(),
            port: number,
            stream: stream.clone(),
            url: format!("{scheme}://{host}:{port}{stream}"),
            is_encrypted: scheme == secure,
        }
    }
}

impl Settings {
    /// Ends the process with one line when something makes no sense.
    pub(super) fn read(target: &'static str, abilities: Abilities) -> Self {
        let address = match abilities.fix {
            true => Address::read("fix", "fixs"),
            false => Address::read("ws", "wss"),
        };
        let sink = knob(
            "FEEDBENCH_SINK",
            &["stamps", "sqlite", "sqlite_behind", "none"],
        );
        let deflate = knob_if(
            abilities.deflate,
            "FEEDBENCH_DEFLATE",
            &["default", "off", "on"],
        );
        Self {
            target,
            exchange: address.exchange,
            host: address.host,
            port: address.port,
            stream: address.stream,
            url: address.url,
            is_encrypted: address.is_encrypted,
            stamp_before: knob_if(
                abilities.stamp_before,
                "FEEDBENCH_STAMP",
                &["after", "before"],
            ) == "before",
            deflate: (deflate != "default").then_some(deflate == "on"),
            subscribe: variable("FEEDBENCH_SUBSCRIBE").unwrap_or_default(),
            output: output(&sink),
            sink,
            exit_file: file("FEEDBENCH_EXIT_FILE"),
            parse: knob("FEEDBENCH_PARSE", &["off", "on"]) == "on",
            decoder: match abilities.fix {
                true => Decoder::Own,
                false => Decoder::named(&knob("FEEDBENCH_DECODER", &["json", "sbe", "itch"])),
            },
            log_messages: knob("FEEDBENCH_LOG_MESSAGES", &["false", "true"]) == "true",
            delay: delay(),
            authority: file("FEEDBENCH_CA_FILE"),
        }
    }

    /// What to send once the connection is open.
    pub fn subscriptions(&self) -> impl Iterator<Item = &str> {
        self.subscribe.lines()
    }

    /// Trusts the authority that was named, or the system's; ends the process when it can't be read.
    pub fn tls(&self) -> Arc<ClientConfig> {
        Arc::new(trusting(self.authority.as_deref()))
    }
}

/// Trusts one authority, or the system's; ends the process when it can't be read.
pub(super) fn trusting(authority: Option<&Path>) -> ClientConfig {
    ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .expect("ring has the default versions")
        .with_root_certificates(authorities(authority))
        .with_no_client_auth()
}

fn authorities(authority: Option<&Path>) -> RootCertStore {
    let mut trusted = RootCertStore::empty();
    let Some(file) = authority else {
        trusted.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        return trusted;
    };
    let read = CertificateDer::pem_file_iter(file)
        .and_then(|certificates| certificates.collect::<Result<Vec<_>, _>>());
    match read {
        Ok(certificates) => trusted.add_parsable_certificates(certificates),
        Err(error) => fail(&format!(
            "cannot use FEEDBENCH_CA_FILE {}: {error}",
            file.display()
        )),
    };
    trusted
}
