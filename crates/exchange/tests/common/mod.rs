//! A market with one personality and its connections, driven as the binary will drive it but without sockets.
#![allow(dead_code)] // Each test file uses its part.

use feedbench_exchange::hub::{ConnectionId, Hub};
use feedbench_exchange::market::{Arrivals, Event, Market, MarketConfig};
use feedbench_exchange::personality::{Incoming, Personality, Reply, Request, Response};
use feedbench_exchange::time::ExchangeClock;
use feedbench_wire::frame::Opcode;
use serde_json::Value;

/// 2021-04-17 16:43:37.075687 UTC
pub const OPENED_UNIX_NS: u64 = 1_618_677_817_075_687_000;

/// What a connection got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Got {
    Text(String),
    Binary(Vec<u8>),
    Ping(Vec<u8>),
    Close(u16, &'static str),
}

pub struct Rig<P: Personality> {
    pub market: Market,
    pub hub: Hub<P>,
    pub now_ns: u64,
    /// By connection, with the time.
    pub got: Vec<Vec<(u64, Got)>>,
    pub events: Vec<Event>,
}

pub fn config(seed: u64, symbols: usize, rate_per_s: f64) -> MarketConfig {
    let arrivals = Arrivals::Hawkes {
        rate_per_s,
        branching_ratio: 0.5,
        decay_per_s: 100.0,
    };
    let mut config = MarketConfig::new(seed, symbols, arrivals);
    config.mix.resting_orders = 200;
    config
}

impl<P: Personality> Rig<P> {
    pub fn new(config: &MarketConfig, personality: impl FnOnce(&Market) -> P) -> Self {
        let market = Market::open(config, ExchangeClock::right(OPENED_UNIX_NS)).unwrap();
        let hub = Hub::new(personality(&market));
        Self {
            market,
            hub,
            now_ns: 0,
            got: Vec::new(),
            events: Vec::new(),
        }
    }

    pub fn open(&mut self, target: &str) -> ConnectionId {
        self.try_open(target)
            .unwrap_or_else(|refusal| panic!("{target}: {refusal:?}"))
    }

    pub fn try_open(&mut self, target: &str) -> Result<ConnectionId, Response> {
        let mut replies = Vec::new();
        let connection = self.hub.open(
            &self.market,
            &Request::get(target),
            self.now_ns,
            &mut replies,
        )?;
        self.got
            .resize_with(self.got.len().max(connection.0 as usize + 1), Vec::new);
        self.take(connection, replies);
        Ok(connection)
    }

    fn take(&mut self, connection: ConnectionId, replies: Vec<Reply>) {
        for reply in replies {
            let got = match reply {
                Reply::Text(text) => Got::Text(String::from_utf8(text).unwrap()),
                Reply::Ping(payload) => Got::Ping(payload),
                Reply::Close { code, reason } => Got::Close(code, reason),
                other => panic!("{other:?} is for hubs and FIX"),
            };
            self.got[connection.0 as usize].push((self.now_ns, got));
        }
    }

    pub fn send(&mut self, connection: ConnectionId, text: &str) {
        self.incoming(connection, Incoming::Text(text.as_bytes()));
    }

    pub fn incoming(&mut self, connection: ConnectionId, incoming: Incoming<'_>) {
        let mut replies = Vec::new();
        self.hub.on_message(
            &self.market,
            connection,
            incoming,
            self.now_ns,
            &mut replies,
        );
        self.take(connection, replies);
    }

    /// Sends a text and returns the texts that came at once.
    pub fn ask(&mut self, connection: ConnectionId, text: &str) -> Vec<String> {
        let before = self.got[connection.0 as usize].len();
        self.send(connection, text);
        self.got[connection.0 as usize][before..]
            .iter()
            .map(|(_, got)| match got {
                Got::Text(text) => text.clone(),
                other => panic!("{other:?}"),
            })
            .collect()
    }

    fn deliver(&mut self) {
        let (got, now_ns) = (&mut self.got, self.now_ns);
        let is_text = self.hub.personality().opcode() == Opcode::Text;
        self.hub.deliver(now_ns, |connection, _, parts| {
            let payload = parts.concat();
            let message = match is_text {
                true => Got::Text(String::from_utf8(payload).unwrap()),
                false => Got::Binary(payload),
            };
            got[connection.0 as usize].push((now_ns, message));
        });
    }

    /// Lets the market and all timers run up to and including a moment.
    pub fn run_until(&mut self, until_ns: u64) {
        loop {
            let (event_ns, due_ns) = (self.market.next_ns(), self.hub.due_ns());
            if event_ns.min(due_ns) > until_ns {
                break;
            }
            if due_ns <= event_ns {
                self.now_ns = self.now_ns.max(due_ns);
                let mut replies = Vec::new();
                self.hub.on_time(&self.market, self.now_ns, &mut replies);
                self.deliver();
                for (connection, reply) in replies {
                    self.take(connection, vec![reply]);
                }
            } else {
                self.now_ns = event_ns;
                let event = self.market.next().unwrap();
                self.hub.on_event(&self.market, &event);
                self.deliver();
                self.events.push(event);
            }
        }
        self.now_ns = until_ns;
    }

    pub fn run_for(&mut self, length_ns: u64) {
        self.run_until(self.now_ns + length_ns);
    }

    pub fn rest(&mut self, target: &str) -> Response {
        self.hub
            .personality()
            .rest(&self.market, &Request::get(target), self.now_ns)
    }

    pub fn rest_json(&mut self, target: &str) -> Value {
        let response = self.rest(target);
        assert_eq!(
            response.status,
            200,
            "{target}: {}",
            String::from_utf8_lossy(&response.body)
        );
        serde_json::from_slice(&response.body).unwrap_or_else(|error| panic!("{target}: {error}"))
    }

    pub fn texts(&self, connection: ConnectionId) -> Vec<String> {
        let texts = self.got[connection.0 as usize]
            .iter()
            .filter_map(|(_, got)| match got {
                Got::Text(text) => Some(text.clone()),
                _ => None,
            });
        texts.collect()
    }

    /// The binary messages, with the time.
    pub fn binary(&self, connection: ConnectionId) -> Vec<(u64, Vec<u8>)> {
        let messages =
            self.got[connection.0 as usize]
                .iter()
                .filter_map(|(at_ns, got)| match got {
                    Got::Binary(payload) => Some((*at_ns, payload.clone())),
                    _ => None,
                });
        messages.collect()
    }

    pub fn json(&self, connection: ConnectionId) -> Vec<Value> {
        self.texts(connection)
            .iter()
            .map(|text| serde_json::from_str(text).expect(text))
            .collect()
    }

    pub fn last(&self, connection: ConnectionId) -> &Got {
        &self.got[connection.0 as usize]
            .last()
            .expect("something was sent")
            .1
    }
}

/// The keys of an object in their order, with each value's shape: `text`, `number:2` (decimals), `[…]`, `{…}`.
/// Two messages with the same shape are alike in all that a strict parser may rely on.
pub fn shape(text: &str) -> String {
    let mut shape = String::new();
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '"' => {
                let mut content = String::new();
                while let Some(c) = rest.next().filter(|&c| c != '"') {
                    content.push(c);
                }
                let is_key = rest.peek() == Some(&':');
                shape.push_str(&match is_key {
                    true => content,
                    false => format!(
                        "\"{}\"",
                        number_shape(&content).unwrap_or_else(|| "text".to_owned())
                    ),
                });
            }
            '{' | '}' | '[' | ']' | ',' | ':' => shape.push(c),
            _ => {
                let mut content = String::from(c);
                while let Some(c) = rest.next_if(|c| !matches!(c, ',' | '}' | ']')) {
                    content.push(c);
                }
                shape.push_str(&number_shape(&content).unwrap_or(content));
            }
        }
    }
    shape
}

fn number_shape(text: &str) -> Option<String> {
    text.parse::<f64>().ok()?;
    Some(match text.split_once('.') {
        Some((_, decimals)) => format!("number.{}", decimals.len()),
        None => "number".to_owned(),
    })
}

/// A real recording, unpacked, from the directory that FEEDBENCH_RECORDINGS names; `None`, saying so, without.
pub fn recording(name: &str) -> Option<String> {
    let Ok(directory) = std::env::var("FEEDBENCH_RECORDINGS") else {
        eprintln!("skipped: FEEDBENCH_RECORDINGS names no directory with {name}");
        return None;
    };
    let path = std::path::Path::new(&directory).join(name);
    let file =
        std::fs::File::open(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut text = String::new();
    std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(file), &mut text).unwrap();
    Some(text)
}
