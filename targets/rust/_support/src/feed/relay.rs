//! What the relays share: settings, the record of what enters, back-off and ends (`spec/feed.md`, Relays).

use std::env;
use std::path::PathBuf;
use std::process::exit;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustls::ClientConfig;
use tokio::net::TcpListener;
use tokio::time::sleep;

use super::settings::{
    delay, end, file, knob, output, port_number, trusting, Address, WRONG_USAGE,
};
use super::sink::{self, Nowhere, Sink};
use super::stamps::Stamps;
use super::{fail, Kind, Moment};

const FIRST_WAIT: Duration = Duration::from_millis(100); // before connecting again, doubled up to the longest
const LONGEST_WAIT: Duration = Duration::from_secs(2);

/// A feed client upstream and a server downstream, from the command line to the exit status.
pub struct Relay {
    /// What is followed.
    pub url: String,
    /// Whether that is wss.
    pub is_encrypted: bool,
    /// Whether one connection upstream serves all clients; else each has one of its own.
    pub is_shared: bool,
    subscribe: String,
    authority: Option<PathBuf>,
    listen_host: String,
    listen_port: u16,
    delay: Duration,
    /// Locked while something is recorded, and from the last record on.
    sink: Mutex<Box<dyn Sink>>,
    output: String,
}

impl Relay {
    /// Reads the settings and opens the sink; a wrong setting ends the process.
    pub fn open() -> Self {
        let given: Vec<String> = env::args().skip(1).collect();
        let Ok([exchange, domain, port, stream, listen_host, listen_port]) =
            <[String; 6]>::try_from(given)
        else {
            let arguments = "EXCHANGE DOMAIN PORT STREAM LISTEN_HOST LISTEN_PORT";
            end(WRONG_USAGE, &format!("usage: relay {arguments}"));
        };
        let address = Address::of(&[exchange, domain, port, stream], "ws", "wss");
        let kind = knob("FEEDBENCH_SINK", &["none", "stamps"]);
        let output = output(&kind);
        let sink: Box<dyn Sink> = match kind.as_str() {
            "none" => Box::new(Nowhere),
            _ => Box::new(Stamps::open(&output).unwrap_or_else(|error| {
                fail(&format!("cannot write {output}: {error}"));
            })),
        };
        knob("FEEDBENCH_DEFLATE", &["default", "off"]);
        Self {
            url: address.url,
            is_encrypted: address.is_encrypted,
            is_shared: knob("FEEDBENCH_UPSTREAM", &["shared", "each"]) == "shared",
            subscribe: env::var("FEEDBENCH_SUBSCRIBE").unwrap_or_default(),
            authority: file("FEEDBENCH_CA_FILE"),
            listen_port: port_number(&listen_port),
            listen_host,
            delay: delay(),
            sink: Mutex::new(sink),
            output,
        }
    }

    /// Where the clients come; ends the process when it can't be had.
    pub async fn listen(&self) -> TcpListener {
        let (host, port) = (self.listen_host.as_str(), self.listen_port);
        TcpListener::bind((host, port))
            .await
            .unwrap_or_else(|error| fail(&format!("cannot listen on {host}:{port}: {error}")))
    }

    /// What to send once a connection upstream is open.
    pub fn subscriptions(&self) -> impl Iterator<Item = &str> {
        self.subscribe.lines()
    }

    /// Trusts the authority that was named, or the system's; ends the process when it can't be read.
    pub fn tls(&self) -> Arc<ClientConfig> {
        Arc::new(trusting(self.authority.as_deref()))
    }

    /// When a message was handed over: the first thing to ask for.
    #[inline]
    pub fn now(&self) -> Moment {
        Moment::after(self.delay)
    }

    /// Records a message that came from upstream.
    pub fn entered(&self, at: Moment, kind: Kind, payload: &[u8]) {
        self.write(|sink| sink.message(at, kind, payload));
    }

    /// Ends the process as one that was asked to; nothing is recorded after that.
    pub fn end(&self) -> ! {
        let mut sink = self.lock();
        self.written(sink.end(Moment::now(), ""));
        exit(0)
    }

    fn lock(&self) -> MutexGuard<'_, Box<dyn Sink>> {
        self.sink.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, step: impl FnOnce(&mut dyn Sink) -> Result<(), sink::Error>) {
        self.written(step(self.lock().as_mut()));
    }

    fn written(&self, outcome: Result<(), sink::Error>) {
        if let Err(error) = outcome {
            fail(&format!("cannot write {}: {error}", self.output));
        }
    }
}

/// A connection upstream that is made again and again; clients are told nothing of it.
pub struct Upstream<'a> {
    relay: &'a Relay,
    wait: Duration,
}

impl<'a> Upstream<'a> {
    /// Before it was first made.
    pub fn of(relay: &'a Relay) -> Self {
        let wait = FIRST_WAIT;
        Self { relay, wait }
    }

    /// The handshake is done.
    pub fn connected(&mut self) {
        self.wait = FIRST_WAIT;
        self.relay.write(|sink| sink.connected(Moment::now()));
    }

    /// It has ended, or could not be made; comes back when it is time to try again.
    pub async fn again(&mut self, reason: &str) {
        let seconds = self.wait.as_secs_f64();
        eprintln!("{reason}; again in {seconds} s");
        self.relay.write(|sink| sink.end(Moment::now(), reason));
        sleep(self.wait).await;
        self.wait = LONGEST_WAIT.min(2 * self.wait);
    }
}
