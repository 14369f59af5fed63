//! What the pollers share: settings, interval, record, ends (`spec/feed.md`, Pollers).

use std::fmt::Display;
use std::sync::atomic::Ordering;
use std::sync::Arc;
use std::time::Duration;

use rustls::ClientConfig;

use super::decode::Decoder;
use super::settings::{delay, file, knob, nanoseconds, output, trusting, Address};
use super::sink::{Nowhere, Sink};
use super::stamps::Stamps;
use super::{fail, Kind, Moment, Shared};

const USUAL_INTERVAL: Duration = Duration::from_millis(20);
const OK: u16 = 200;

/// Asks one exchange for one resource, again and again, from the command line to the exit status.
pub struct Poll {
    /// What to ask for.
    pub url: String,
    /// Whether HTTP/2 was asked for: by ALPN, or by prior knowledge without TLS.
    pub http2: bool,
    /// Whom to trust; says by ALPN which HTTP is wanted.
    pub tls: ClientConfig,
    interval: Duration,
    delay: Duration,
    parse: bool,
    shared: Arc<Shared>,
}

/// What a question brought.
pub struct Answer {
    /// Of HTTP.
    pub status: u16,
    /// The header's text.
    pub retry_after: Option<String>,
    /// All of it.
    pub body: Vec<u8>,
}

impl Poll {
    /// Reads the settings and opens the sink; a wrong setting ends the process.
    pub fn open() -> Self {
        let url = Address::read("http", "https").url;
        let http2 = knob("FEEDBENCH_HTTP", &["1.1", "2"]) == "2";
        let interval = nanoseconds("FEEDBENCH_POLL_INTERVAL_NS", USUAL_INTERVAL);
        let mut tls = trusting(file("FEEDBENCH_CA_FILE").as_deref());
        tls.alpn_protocols = vec![if http2 {
            b"h2".to_vec()
        } else {
            b"http/1.1".to_vec()
        }];
        let kind = knob("FEEDBENCH_SINK", &["stamps", "none"]);
        let output = output(&kind);
        let sink: Box<dyn Sink> = match kind.as_str() {
            "none" => Box::new(Nowhere),
            _ => Box::new(Stamps::open(&output).unwrap_or_else(|error| {
                fail(&format!("cannot write {output}: {error}"));
            })),
        };
        Self {
            url,
            http2,
            tls,
            interval,
            delay: delay(),
            parse: knob("FEEDBENCH_PARSE", &["off", "on"]) == "on",
            shared: Shared::start(sink, &output, file("FEEDBENCH_EXIT_FILE")),
        }
    }

    /// Asks and records until the end of the process.
    pub async fn follow<E: Display>(self, mut ask: impl AsyncFnMut() -> Result<Answer, E>) -> ! {
        self.shared.write(|sink| sink.connected(Moment::now()));
        self.shared.is_connected.store(true, Ordering::SeqCst);
        let mut has_answered = false;
        loop {
            let sent_ns = Moment::now().monotonic_ns;
            let answer = tokio::select! {
                answer = ask() => answer,
                () = self.shared.asked.notified() => self.shared.finish(""),
            };
            let received = Moment::after(self.delay);
            match answer {
                Ok(answer) => {
                    has_answered = true;
                    self.record(received, sent_ns, &answer);
                    self.pause(sent_ns, &answer).await;
                }
                Err(error) if has_answered => self.shared.finish(&format!("lost: {error}")),
                Err(error) => self
                    .shared
                    .finish(&format!("cannot connect to {}: {error}", self.url)),
            }
        }
    }

    fn record(&self, received: Moment, sent_ns: u64, answer: &Answer) {
        let mut payload = sent_ns.to_le_bytes().to_vec();
        payload.extend(u32::from(answer.status).to_le_bytes()); // two bytes, and two of zero
        payload.extend(&answer.body);
        self.shared.write(|sink| sink.answer(received, &payload));
        if self.parse {
            Decoder::Json.decode(Kind::Text, &answer.body);
        }
    }

    async fn pause(&self, sent_ns: u64, answer: &Answer) {
        let told = answer.retry_after.as_ref().filter(|_| answer.status != OK);
        let pause = match told.and_then(|seconds| seconds.parse().ok()) {
            Some(seconds) => Duration::from_secs(seconds),
            None => {
                let spent = Duration::from_nanos(Moment::now().monotonic_ns - sent_ns);
                self.interval.saturating_sub(spent)
            }
        };
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = self.shared.asked.notified() => self.shared.finish(""),
        }
    }
}
