//! Feed client over FIX 4.4 with our own sessions (`crates/wire`): blocking, on one thread.

use std::error::Error;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::process::{self, exit};
use std::time::{Duration, Instant, SystemTime};

use feedbench_target::feed::{Abilities, Feed, Kind};
use feedbench_wire::fix::message::Message;
use feedbench_wire::fix::profile::Profile;
use feedbench_wire::fix::session::{Config, DisconnectReason, Event, Now, Role, Session};
use feedbench_wire::fix::store::MemoryStore;
use feedbench_wire::fix::tag::Tag;
use feedbench_wire::fix::time::UtcTime;
use rustls::pki_types::ServerName;
use rustls::{ClientConnection, StreamOwned};

/// How long reading waits before it looks at the session's timers, and whether the end was asked for.
const LOOK_EVERY: Duration = Duration::from_millis(250);
const HEARTBEAT_SECONDS: u32 = 30;
const WRONG_USAGE: i32 = 2;
const TEXT: Tag = 58;
const MD_REQ_ID: Tag = 262;

/// A socket, plain or with TLS.
trait Stream: Read + Write {}
impl<T: Read + Write> Stream for T {}

/// What is asked for: `/TARGETCOMPID/SYMBOL/ENTRYTYPES`, where a symbol may have a slash in it.
struct Wanted<'a> {
    target: &'a str,
    symbol: &'a str,
    entry_types: Vec<&'a str>,
}

impl<'a> Wanted<'a> {
    fn of(path: &'a str) -> Option<Self> {
        let (target, rest) = path.strip_prefix('/').unwrap_or(path).split_once('/')?;
        let (symbol, entry_types) = rest.rsplit_once('/')?;
        let whole = [target, symbol, entry_types]
            .iter()
            .all(|part| !part.is_empty());
        whole.then(|| Self {
            target,
            symbol,
            entry_types: entry_types.split(',').collect(),
        })
    }
}

fn connect(feed: &Feed) -> Result<Box<dyn Stream>, Box<dyn Error>> {
    let settings = &feed.settings;
    let socket = TcpStream::connect((settings.host.as_str(), settings.port))?;
    socket.set_nodelay(true)?;
    socket.set_read_timeout(Some(LOOK_EVERY))?;
    if !settings.is_encrypted {
        return Ok(Box::new(socket));
    }
    let name = ServerName::try_from(settings.host.clone())?;
    let connection = ClientConnection::new(settings.tls(), name)?;
    Ok(Box::new(StreamOwned::new(connection, socket)))
}

fn session(wanted: &Wanted<'_>) -> Session<MemoryStore> {
    let config = Config {
        profile: match wanted.target {
            "SPOT" => Profile::binance(),
            "Coinbase" => Profile::coinbase(),
            _ => Profile::fix44(),
        },
        role: Role::Initiator {
            heartbeat_seconds: HEARTBEAT_SECONDS,
            reset: true,
            signer: None,
        },
        // Unique among the sessions of one machine, and short enough for Binance.
        sender_comp_id: format!("F{}", process::id()),
        target_comp_id: wanted.target.to_owned(),
        logon_fields: Vec::new(),
    };
    Session::new(config, MemoryStore::new(0))
}

/// Asks for every change from now on (263=1), of the best prices alone where prices are asked for (264=1).
fn subscribe(
    session: &mut Session<MemoryStore>,
    wanted: &Wanted<'_>,
    now: Now,
) -> Result<(), Box<dyn Error>> {
    session.send("V", now, |request| {
        request.text(MD_REQ_ID, "1");
        request.text(263, "1");
        request.text(264, "1");
        request.text(266, "Y");
        request.unsigned(267, wanted.entry_types.len() as u64);
        for entry_type in &wanted.entry_types {
            request.text(269, entry_type);
        }
        request.text(146, "1");
        request.text(55, wanted.symbol);
    })?;
    Ok(())
}

fn text_of(message: &Message<'_>) -> String {
    String::from_utf8_lossy(message.get(TEXT).unwrap_or_default()).into_owned()
}

/// What a user of the library does with a message: looks at each field. The session has split the bytes into
/// messages and checked them before.
fn decode(message: &Message<'_>) -> usize {
    message
        .fields()
        .map_while(Result::ok)
        .map(|field| field.value.len())
        .sum()
}

/// Follows to the end; how it ended.
fn follow(
    feed: &Feed,
    stream: &mut dyn Stream,
    wanted: &Wanted<'_>,
) -> Result<String, Box<dyn Error>> {
    let began = Instant::now();
    let parses = std::env::var("FEEDBENCH_PARSE").is_ok_and(|value| value == "on");
    let mut session = session(wanted);
    session.connect(now(began))?;
    let (mut bytes, mut ending, mut is_leaving) = (vec![0; 65_536], String::new(), false);
    loop {
        let mut subscribes = false;
        while let Some(event) = session.poll(now(began))? {
            match event {
                Event::Application(message) if matches!(message.msg_type(), b"W" | b"X") => {
                    let at = feed.now();
                    feed.record(at, Kind::Text, message.bytes());
                    if parses {
                        std::hint::black_box(decode(&message));
                    }
                }
                Event::LoggedOn => subscribes = true,
                Event::Application(message) | Event::Rejected(message) => {
                    return Ok(format!("lost: refused: {}", text_of(&message)));
                }
                Event::LoggedOut(message) => {
                    ending = format!("closed: logout {}", text_of(&message))
                        .trim_end()
                        .to_owned();
                }
                Event::Gap { expected, received } => {
                    return Ok(format!(
                        "lost: MsgSeqNum {received} came, {expected} was expected"
                    ));
                }
                Event::Disconnect(DisconnectReason::LoggedOut) => {
                    drop(write(stream, &mut session)); // the answer to its Logout, if it still listens
                    return Ok(ending);
                }
                Event::Disconnect(reason) => return Ok(format!("lost: {reason}")),
                Event::Refused { .. } | Event::Garbled(_) => {}
            }
        }
        if subscribes {
            feed.connected();
            subscribe(&mut session, wanted, now(began))?;
        }
        if feed.is_ending() && !is_leaving && session.is_logged_on() {
            is_leaving = true;
            session.logout("", now(began))?;
        }
        write(stream, &mut session)?;
        match stream.read(&mut bytes) {
            Ok(0) => return Err("it hung up".into()),
            Ok(count) => session.feed(&bytes[..count]),
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

fn write(stream: &mut dyn Stream, session: &mut Session<MemoryStore>) -> std::io::Result<()> {
    if session.output().is_empty() {
        return Ok(());
    }
    stream.write_all(session.output())?;
    stream.flush()?;
    session.sent(session.output().len());
    Ok(())
}

fn now(began: Instant) -> Now {
    let unix = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    Now {
        utc: UtcTime {
            unix_ns: i64::try_from(unix.as_nanos()).unwrap_or(i64::MAX),
        },
        monotonic_ns: u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX),
    }
}

fn main() {
    let abilities = Abilities {
        fix: true,
        ..Abilities::default()
    };
    let feed = Feed::open("rust/feedbench-wire", abilities);
    let Some(wanted) = Wanted::of(&feed.settings.stream) else {
        eprintln!(
            "the stream {} is not /TARGETCOMPID/SYMBOL/ENTRYTYPES",
            feed.settings.stream
        );
        exit(WRONG_USAGE);
    };
    let mut stream = connect(&feed).unwrap_or_else(|error| feed.cannot_connect(error));
    match follow(&feed, stream.as_mut(), &wanted) {
        Ok(reason) => feed.ended(&reason),
        Err(error) if feed.is_connected() => feed.lost(error),
        Err(error) => feed.cannot_connect(error),
    }
}
