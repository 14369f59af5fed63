//! A session under test, and messages for it written without our encoder.

#![allow(dead_code)] // Each test file uses its part.

use feedbench_wire::fix::message::Message;
use feedbench_wire::fix::profile::Profile;
use feedbench_wire::fix::session::{Config, Event, Now, Role, Session};
use feedbench_wire::fix::store::{MemoryStore, Store};
use feedbench_wire::fix::tag;
use feedbench_wire::fix::time::{Precision, UtcTime, MAXIMUM_TIME_BYTES};

/// 2026-11-21, 14:30 UTC.
const START_NS: i64 = 1_795_271_400_000_000_000;

/// So many milliseconds after the beginning of a test.
pub fn at(milliseconds: u64) -> Now {
    Now {
        utc: UtcTime {
            unix_ns: START_NS + milliseconds as i64 * 1_000_000,
        },
        monotonic_ns: milliseconds * 1_000_000,
    }
}

/// The time as a peer would write it.
pub fn time_text(now: Now) -> String {
    let mut text = [0; MAXIMUM_TIME_BYTES];
    let length = now.utc.format(Precision::Milliseconds, &mut text);
    String::from_utf8(text[..length].to_vec()).unwrap()
}

/// A message from its fields behind BodyLength, with a bar as separator.
pub fn wire(begin_string: &str, fields: &str) -> Vec<u8> {
    let body = fields.replace('|', "\x01");
    let mut bytes = format!("8={begin_string}\x019={}\x01{body}", body.len()).into_bytes();
    let sum: u32 = bytes.iter().map(|byte| u32::from(*byte)).sum();
    bytes.extend_from_slice(format!("10={:03}\x01", sum % 256).as_bytes());
    bytes
}

/// The acceptor ISLD, as seen by its peer TW.
pub struct Desk {
    pub session: Session<MemoryStore>,
    pub milliseconds: u64,
    pub events: Vec<String>,
}

impl Desk {
    /// Connected, with no byte exchanged.
    pub fn new(profile: Profile, role: Role) -> Self {
        let config = Config {
            profile,
            role,
            sender_comp_id: "ISLD".to_owned(),
            target_comp_id: "TW".to_owned(),
            logon_fields: Vec::new(),
        };
        let mut desk = Self {
            session: Session::new(config, MemoryStore::new(1000)),
            milliseconds: 0,
            events: Vec::new(),
        };
        desk.session.connect(at(0)).unwrap();
        desk
    }

    pub fn acceptor(profile: Profile) -> Self {
        Self::new(
            profile,
            Role::Acceptor {
                authenticator: None,
            },
        )
    }

    pub fn initiator(profile: Profile) -> Self {
        Self::new(
            profile,
            Role::Initiator {
                heartbeat_seconds: 30,
                reset: false,
                signer: None,
            },
        )
    }

    /// An acceptor of FIX 4.4 with both Logons exchanged, each with number 1.
    pub fn logged_on() -> Self {
        let mut desk = Self::acceptor(Profile::fix44());
        desk.receive("A", 1, "98=0|108=30|");
        assert_eq!(desk.sent(), ["35=A|34=1|98=0|108=30|"]);
        assert_eq!(desk.events(), ["LoggedOn"]);
        desk
    }

    pub fn now(&self) -> Now {
        at(self.milliseconds)
    }

    /// A message from TW with a sound header.
    pub fn message(&self, msg_type: &str, number: u64, body: &str) -> Vec<u8> {
        let time = time_text(self.now());
        let begin_string = self.session.config().profile.begin_string;
        wire(
            begin_string,
            &format!("35={msg_type}|34={number}|49=TW|52={time}|56=ISLD|{body}"),
        )
    }

    pub fn receive(&mut self, msg_type: &str, number: u64, body: &str) {
        let message = self.message(msg_type, number, body);
        self.receive_bytes(&message);
    }

    /// The same as a possible duplicate, sent first a second ago.
    pub fn receive_again(&mut self, msg_type: &str, number: u64, body: &str) {
        let time = time_text(self.now());
        let original = time_text(at(self.milliseconds.saturating_sub(1000)));
        self.receive_fields(&format!(
            "35={msg_type}|34={number}|43=Y|49=TW|52={time}|56=ISLD|122={original}|{body}"
        ));
    }

    pub fn receive_fields(&mut self, fields: &str) {
        let message = wire(self.session.config().profile.begin_string, fields);
        self.receive_bytes(&message);
    }

    pub fn receive_bytes(&mut self, bytes: &[u8]) {
        self.session.feed(bytes);
        self.poll();
    }

    pub fn wait(&mut self, milliseconds: u64) {
        self.milliseconds += milliseconds;
        self.poll();
    }

    pub fn poll(&mut self) {
        let now = self.now();
        while let Some(event) = self.session.poll(now).unwrap() {
            let text = match event {
                Event::Application(message) => format!("Application {}", summary(&message)),
                Event::Rejected(message) => format!("Rejected {}", summary(&message)),
                Event::LoggedOut(message) => format!("LoggedOut {}", summary(&message)),
                Event::Refused { message, reason } => {
                    format!("Refused {} {reason:?}", summary(&message))
                }
                other => format!("{other:?}"),
            };
            self.events.push(text);
        }
    }

    pub fn events(&mut self) -> Vec<String> {
        std::mem::take(&mut self.events)
    }

    /// What the session sent since the last look, without frame, names and SendingTime.
    pub fn sent(&mut self) -> Vec<String> {
        let output = self.session.output().to_vec();
        self.session.sent(output.len());
        let mut rest = &output[..];
        let mut messages = Vec::new();
        while let Some((message, length)) = Message::parse(rest).unwrap() {
            assert_eq!(message.get(tag::SENDER_COMP_ID), Some(&b"ISLD"[..]));
            assert_eq!(message.get(tag::TARGET_COMP_ID), Some(&b"TW"[..]));
            messages.push(plain(&message));
            rest = &rest[length..];
        }
        assert!(rest.is_empty(), "half a message in the output");
        messages
    }

    pub fn next_incoming(&self) -> u64 {
        self.session.store().next_incoming()
    }
}

fn summary(message: &Message<'_>) -> String {
    let number = message.unsigned(tag::MSG_SEQ_NUM).unwrap_or(0);
    format!("{} {number}", String::from_utf8_lossy(message.msg_type()))
}

fn plain(message: &Message<'_>) -> String {
    message
        .fields()
        .map(|field| field.unwrap())
        .filter(|field| {
            ![
                tag::SENDER_COMP_ID,
                tag::TARGET_COMP_ID,
                tag::SENDING_TIME,
                tag::ORIG_SENDING_TIME,
            ]
            .contains(&field.tag)
        })
        .map(|field| format!("{}={}|", field.tag, String::from_utf8_lossy(field.value)))
        .collect()
}
