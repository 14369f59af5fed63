//! What holds for any fields, any bytes, any portions, and any connection that loses and repeats messages.

mod fix_desk;

use feedbench_wire::fix::encode::Encoder;
use feedbench_wire::fix::message::Message;
use feedbench_wire::fix::profile::Profile;
use feedbench_wire::fix::session::{Config, Event, Role, Session};
use feedbench_wire::fix::store::{FileStore, MemoryStore, Store};
use feedbench_wire::fix::tag;
use feedbench_wire::fix::time::{Precision, UtcTime, MAXIMUM_TIME_BYTES};
use fix_desk::at;
use proptest::prelude::*;

fn value() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(prop_oneof![2_u8..=255, Just(b'=')], 1..40)
}

fn fields() -> impl Strategy<Value = Vec<(u32, Vec<u8>)>> {
    let tag = (1_u32..30_000).prop_filter("a length announces data", |tag| {
        tag::data_after(*tag).is_none()
    });
    prop::collection::vec((tag, value()), 0..30)
}

fn encode(out: &mut Vec<u8>, fields: &[(u32, Vec<u8>)], data: &[u8]) {
    let mut encoder = Encoder::new(out, "FIX.4.4", "U1");
    for (tag, value) in fields {
        encoder.field(*tag, value);
    }
    encoder.data(tag::RAW_DATA_LENGTH, tag::RAW_DATA, data);
    encoder.finish().unwrap();
}

/// The messages that a reader sees when the bytes arrive in these portions.
fn read_in_portions(bytes: &[u8], portions: &[usize]) -> Vec<Vec<u8>> {
    let mut messages = Vec::new();
    let mut buffer = Vec::new();
    let mut portions = portions.iter().cycle();
    let mut rest = bytes;
    while !rest.is_empty() {
        let portion = (*portions.next().unwrap()).min(rest.len());
        buffer.extend_from_slice(&rest[..portion]);
        rest = &rest[portion..];
        loop {
            match Message::parse(&buffer) {
                Ok(Some((message, length))) => {
                    messages.push(message.bytes().to_vec());
                    buffer.drain(..length);
                }
                Ok(None) => break,
                Err(garbled) => {
                    assert!((1..=buffer.len()).contains(&garbled.skip_bytes));
                    buffer.drain(..garbled.skip_bytes);
                }
            }
        }
    }
    messages
}

proptest! {
    #[test]
    fn what_is_written_is_read(fields in fields(), data in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut bytes = Vec::new();
        encode(&mut bytes, &fields, &data);
        let (message, length) = Message::parse(&bytes).unwrap().unwrap();
        prop_assert_eq!(length, bytes.len());
        let read: Vec<_> = message.fields().map(|field| field.unwrap())
            .map(|field| (field.tag, field.value.to_vec())).collect();
        let mut expected = vec![(tag::MSG_TYPE, b"U1".to_vec())];
        expected.extend(fields);
        expected.push((tag::RAW_DATA_LENGTH, data.len().to_string().into_bytes()));
        expected.push((tag::RAW_DATA, data));
        prop_assert_eq!(read, expected);
    }

    #[test]
    fn any_bytes_are_read_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        read_in_portions(&bytes, &[7, 1, 50]);
        let body = feedbench_wire::fix::field::Fields::new(&bytes);
        prop_assert!(body.count() <= bytes.len());
        let _ = UtcTime::parse(&bytes);
    }

    #[test]
    fn bytes_like_messages_are_handled_without_panic(
        fields in prop::collection::vec("(34|35|36|7|16|43|49|52|56|108|141|268|269|95|96|112|122|[0-9]{1,4})=(1|Y|0|4|A|TW|ISLD|[a-z0-9]{0,4})", 0..20),
        msg_type in "[0-9A-Za-z]{0,2}",
        number in 0_u64..5,
    ) {
        let mut desk = fix_desk::Desk::logged_on();
        let body: String = fields.iter().map(|field| format!("{field}|")).collect();
        desk.receive_fields(&body);
        if desk.session.deadline().is_some() {
            desk.receive(&msg_type, number, &body);
        }
    }

    #[test]
    fn portions_do_not_matter(
        messages in prop::collection::vec((fields(), prop::collection::vec(any::<u8>(), 0..50)), 1..6),
        damage in prop::option::of((any::<prop::sample::Index>(), any::<u8>())),
        portions in prop::collection::vec(1_usize..400, 1..10),
    ) {
        let mut bytes = Vec::new();
        for (fields, data) in &messages {
            encode(&mut bytes, fields, data);
        }
        if let Some((place, byte)) = damage {
            let at = place.index(bytes.len());
            bytes[at] = byte;
        }
        let whole = read_in_portions(&bytes, &[bytes.len()]);
        if damage.is_none() {
            prop_assert_eq!(whole.len(), messages.len());
        }
        prop_assert_eq!(&read_in_portions(&bytes, &portions), &whole);
        prop_assert_eq!(&read_in_portions(&bytes, &[1]), &whole);
    }

    #[test]
    fn times_are_read_as_they_were_written(unix_ms in -9_000_000_000_000_i64..9_000_000_000_000) {
        for (precision, unit_ns) in [(Precision::Seconds, 1_000_000_000), (Precision::Milliseconds, 1_000_000), (Precision::Microseconds, 1_000)] {
            let time = UtcTime { unix_ns: unix_ms * 1_000_000 + 999_999 };
            let mut text = [0; MAXIMUM_TIME_BYTES];
            let length = time.format(precision, &mut text);
            let expected = time.unix_ns.div_euclid(unit_ns) * unit_ns;
            prop_assert_eq!(UtcTime::parse(&text[..length]), Some(UtcTime { unix_ns: expected }));
        }
    }

    #[test]
    fn decimals_are_written_exactly(units in any::<i64>(), decimals in 0_u8..25) {
        let mut bytes = Vec::new();
        let mut encoder = Encoder::new(&mut bytes, "FIX.4.4", "W");
        encoder.decimal(270, units, decimals);
        encoder.finish().unwrap();
        let (message, _) = Message::parse(&bytes).unwrap().unwrap();
        let text = std::str::from_utf8(message.get(270).unwrap()).unwrap();
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        prop_assert_eq!(fraction.len(), usize::from(decimals));
        let digits: i128 = format!("{whole}{fraction}").parse().unwrap();
        prop_assert_eq!(digits, i128::from(units));
        prop_assert_eq!(text.starts_with('-'), units < 0);
    }

    #[test]
    fn a_bad_connection_ends_in_sync(
        steps in prop::collection::vec(step(), 1..120),
        restart in any::<bool>(),
    ) {
        Pair::new(restart).run(&steps);
    }
}

#[derive(Debug, Clone, Copy)]
enum Fate {
    Arrives,
    IsLost,
    ArrivesTwice,
}

#[derive(Debug, Clone)]
enum Step {
    Send { side: usize },
    Pass { side: usize, fate: Fate },
    Wait { milliseconds: u64 },
    Cut,
}

fn step() -> impl Strategy<Value = Step> {
    let fate = prop_oneof![
        6 => Just(Fate::Arrives),
        2 => Just(Fate::IsLost),
        1 => Just(Fate::ArrivesTwice),
    ];
    prop_oneof![
        6 => (0_usize..2).prop_map(|side| Step::Send { side }),
        8 => (0_usize..2, fate).prop_map(|(side, fate)| Step::Pass { side, fate }),
        2 => (1_u64..8_000).prop_map(|milliseconds| Step::Wait { milliseconds }),
        1 => Just(Step::Cut),
    ]
}

/// An initiator and an acceptor with a connection between them that a test mistreats.
struct Pair {
    sessions: Vec<Session<Box<dyn Store>>>,
    paths: Option<tempfile::TempDir>,
    milliseconds: u64,
    sent: [Vec<u64>; 2],
    received: [Vec<u64>; 2],
    /// One side has closed, so the other one's bytes go nowhere.
    closed: bool,
}

impl Pair {
    /// With `restart`, the numbers are in files, and each new connection is that of a new process.
    fn new(restart: bool) -> Self {
        let mut pair = Self {
            sessions: Vec::new(),
            paths: restart.then(|| tempfile::tempdir().unwrap()),
            milliseconds: 0,
            sent: [Vec::new(), Vec::new()],
            received: [Vec::new(), Vec::new()],
            closed: true,
        };
        pair.sessions = (0..2).map(|side| pair.session(side)).collect();
        pair
    }

    fn session(&self, side: usize) -> Session<Box<dyn Store>> {
        let names = ["CLIENT", "EXCHANGE"];
        let role = match side {
            0 => Role::Initiator {
                heartbeat_seconds: 5,
                reset: false,
                signer: None,
            },
            _ => Role::Acceptor {
                authenticator: None,
            },
        };
        let config = Config {
            profile: Profile::fix44(),
            role,
            sender_comp_id: names[side].to_owned(),
            target_comp_id: names[1 - side].to_owned(),
            logon_fields: Vec::new(),
        };
        let store: Box<dyn Store> = match &self.paths {
            Some(directory) => {
                Box::new(FileStore::open(&directory.path().join(names[side])).unwrap())
            }
            None => Box::new(MemoryStore::new(10_000)),
        };
        Session::new(config, store)
    }

    fn run(&mut self, steps: &[Step]) {
        self.reconnect();
        for step in steps {
            match *step {
                Step::Send { side } => self.send(side),
                Step::Pass { side, fate } => self.pass(side, fate),
                Step::Wait { milliseconds } => self.wait(milliseconds),
                Step::Cut => self.closed = true,
            }
            if self.closed {
                self.reconnect();
            }
        }
        self.settle();
        for side in 0..2 {
            assert_eq!(self.received[1 - side], self.sent[side], "sent by {side}");
            assert_eq!(
                self.sessions[1 - side].store().next_incoming(),
                self.sessions[side].store().next_outgoing(),
                "numbers of {side}"
            );
        }
    }

    /// From now on all arrives, and enough time passes for heartbeats to show what is missing.
    fn settle(&mut self) {
        for _ in 0..60 {
            for _ in 0..20 {
                self.pass(0, Fate::Arrives);
                self.pass(1, Fate::Arrives);
            }
            if self.closed {
                self.reconnect();
            }
            self.wait(1_000);
        }
        for _ in 0..100 {
            self.pass(0, Fate::Arrives);
            self.pass(1, Fate::Arrives);
        }
        let silent = |session: &Session<_>| session.output().is_empty();
        assert!(
            self.sessions.iter().all(silent),
            "the sides never stop talking"
        );
    }

    fn reconnect(&mut self) {
        self.closed = false;
        for side in 0..2 {
            self.sessions[side].disconnected();
            if self.paths.is_some() {
                self.sessions[side] = self.session(side);
            }
            self.sessions[side].connect(at(self.milliseconds)).unwrap();
        }
    }

    fn send(&mut self, side: usize) {
        let session = &mut self.sessions[side];
        if session.is_logged_on() {
            let name = self.sent[side].len() as u64;
            let now = at(self.milliseconds);
            session
                .send("f", now, |body| body.unsigned(55, name))
                .unwrap();
            self.sent[side].push(name);
        }
    }

    /// Lets the first message of a side's output meet its fate.
    fn pass(&mut self, side: usize, fate: Fate) {
        let output = self.sessions[side].output();
        let Some((message, length)) = Message::parse(output).unwrap() else {
            return;
        };
        let message = message.bytes().to_vec();
        self.sessions[side].sent(length);
        let times = match fate {
            Fate::Arrives => 1,
            Fate::IsLost => 0,
            Fate::ArrivesTwice => 2,
        };
        for _ in 0..times {
            self.sessions[1 - side].feed(&message);
            self.poll(1 - side);
        }
    }

    fn wait(&mut self, milliseconds: u64) {
        self.milliseconds += milliseconds;
        self.poll(0);
        self.poll(1);
    }

    fn poll(&mut self, side: usize) {
        let now = at(self.milliseconds);
        while let Some(event) = self.sessions[side].poll(now).unwrap() {
            match event {
                Event::Application(message) => {
                    self.received[side].push(message.unsigned(55).unwrap());
                }
                Event::Disconnect(_) => self.closed = true,
                Event::Garbled(reason) => panic!("{reason}"),
                // A Logon that arrives twice is one too many. Everything else is sound.
                Event::Refused { message, reason } if message.msg_type() != b"A" => {
                    panic!("{reason:?}: {}", String::from_utf8_lossy(message.bytes()))
                }
                _ => {}
            }
        }
    }
}
