//! A FIX 4.4 client: logs on, subscribes to a book, prints what comes as JSON lines, and logs out.
//!
//! `cargo run -p feedbench-wire --example fix_initiator -- 127.0.0.1:9880 SENDER TARGET SYMBOL MESSAGES`
//!
//! The last line tells what the session did: gaps that it noticed, and whether both sides logged out.

use std::error::Error;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant, SystemTime};

use feedbench_wire::fix::profile::Profile;
use feedbench_wire::fix::session::{Config, DisconnectReason, Event, Now, Role, Session};
use feedbench_wire::fix::store::MemoryStore;
use feedbench_wire::fix::tag;
use feedbench_wire::fix::time::UtcTime;

/// How long a read waits before the session's timers are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Without the messages by then, the client gives up.
const DEADLINE: Duration = Duration::from_secs(120);

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [address, sender, target, symbol, messages] = &arguments[..] else {
        return Err("needs ADDRESS SENDER TARGET SYMBOL MESSAGES".into());
    };
    let wanted: usize = messages.parse()?;
    let mut socket = TcpStream::connect(address)?;
    socket.set_nodelay(true)?;
    socket.set_read_timeout(Some(LOOK_EVERY))?;
    let config = Config {
        profile: Profile::fix44(),
        role: Role::Initiator {
            heartbeat_seconds: 30,
            reset: true,
            signer: None,
        },
        sender_comp_id: sender.clone(),
        target_comp_id: target.clone(),
        logon_fields: Vec::new(),
    };
    let mut session = Session::new(config, MemoryStore::new(100));
    let began = Instant::now();
    session.connect(now(began))?;
    let (mut got, mut gaps, mut logged_out) = (0, 0, false);
    let mut bytes = [0; 65_536];
    loop {
        let mut subscribes = false;
        let mut ended = false;
        while let Some(event) = session.poll(now(began))? {
            match event {
                Event::LoggedOn => subscribes = true,
                Event::Gap { .. } => gaps += 1,
                Event::Application(message) if got < wanted && message.msg_type() == b"X" => {
                    got += 1;
                    let number = message.unsigned(tag::MSG_SEQ_NUM).unwrap_or(0);
                    let price = message.get(270).unwrap_or_default();
                    let price = String::from_utf8_lossy(price);
                    println!(r#"{{"kind":"X","number":{number},"price":"{price}"}}"#);
                }
                Event::Disconnect(reason) => {
                    logged_out = reason == DisconnectReason::LoggedOut;
                    ended = true;
                }
                _ => {}
            }
        }
        if subscribes {
            session.send("V", now(began), |message| {
                message.text(262, "1");
                message.text(263, "1");
                message.text(264, "0");
                message.text(265, "1");
                message.text(267, "2");
                message.text(269, "0");
                message.text(269, "1");
                message.text(146, "1");
                message.text(55, symbol);
            })?;
        }
        if session.is_logged_on() && (got == wanted || began.elapsed() > DEADLINE) {
            session.logout("", now(began))?;
        }
        socket.write_all(session.output())?;
        session.sent(session.output().len());
        if ended {
            break;
        }
        match socket.read(&mut bytes) {
            Ok(0) => break,
            Ok(count) => session.feed(&bytes[..count]),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error.into()),
        }
    }
    println!(r#"{{"kind":"end","messages":{got},"gaps":{gaps},"logged_out":{logged_out}}}"#);
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
