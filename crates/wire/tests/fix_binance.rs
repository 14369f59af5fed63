//! Binance's session: a signed Logon with the documented example, no recovery, times in microseconds.

mod fix_desk;

use std::sync::Arc;

use base64::engine::general_purpose::STANDARD;
use base64::Engine;
use feedbench_wire::fix::authentication::{
    AuthenticationError, Authenticator, Ed25519Keys, LogonSigner,
};
use feedbench_wire::fix::message::Message;
use feedbench_wire::fix::profile::Profile;
use feedbench_wire::fix::session::{Config, Event, Now, Role, Session};
use feedbench_wire::fix::store::MemoryStore;
use feedbench_wire::fix::tag;
use feedbench_wire::fix::time::UtcTime;
use fix_desk::{at, Desk};
use serde_json::Value;

/// The private key that Binance documents for checking implementations, without the lines around it.
const DOCUMENTED_KEY: &str = "MC4CAQAwBQYDK2VwBCIEIIJEYWtGBrhACmb9Dvy+qa8WEf0lQOl1s4CLIAB9m89u";
const API_KEY: &str = "sBRXrJx2DsOraMXOaUovEhgVRcjOvCtQwnWj8VxkOh1xqboS02SPGfKi2h8spZJb";

fn documented_logon() -> Vec<u8> {
    let vectors: Value =
        serde_json::from_str(include_str!("../../../spec/vectors/fix.json")).unwrap();
    let case = vectors["messages"]
        .as_array()
        .unwrap()
        .iter()
        .find(|case| case["id"] == "logon.binance.documented")
        .unwrap();
    case["wire"]
        .as_str()
        .unwrap()
        .replace('|', "\x01")
        .into_bytes()
}

fn signer() -> LogonSigner {
    LogonSigner::from_pkcs8(&STANDARD.decode(DOCUMENTED_KEY).unwrap()).unwrap()
}

fn keys() -> Ed25519Keys {
    let mut keys = Ed25519Keys::default();
    keys.insert(API_KEY, signer().public_key());
    keys
}

/// The moment of the documented Logon.
fn documented_time() -> Now {
    Now {
        utc: UtcTime::parse(b"20240627-11:17:25.223").unwrap(),
        monotonic_ns: 0,
    }
}

fn acceptor() -> Session<MemoryStore> {
    let config = Config {
        profile: Profile::binance(),
        role: Role::Acceptor {
            authenticator: Some(Arc::new(keys())),
        },
        sender_comp_id: "SPOT".to_owned(),
        target_comp_id: "EXAMPLE".to_owned(),
        logon_fields: vec![(25037, "4392a152-3481-4499-921a-6d42c50702e2".to_owned())],
    };
    Session::new(config, MemoryStore::new(10))
}

#[test]
fn the_documented_signature_is_computed() {
    let raw_data = signer().raw_data("EXAMPLE", "SPOT", 1, "20240627-11:17:25.223");
    let logon = documented_logon();
    let (message, _) = Message::parse(&logon).unwrap().unwrap();
    assert_eq!(message.get(tag::RAW_DATA), Some(raw_data.as_bytes()));
}

#[test]
fn the_documented_logon_is_accepted_and_answered_in_microseconds() {
    let mut session = acceptor();
    session.connect(documented_time()).unwrap();
    session.feed(&documented_logon());
    assert_eq!(
        session.poll(documented_time()).unwrap(),
        Some(Event::LoggedOn)
    );
    let answer = String::from_utf8_lossy(session.output()).replace('\x01', "|");
    let expected = "35=A|34=1|49=SPOT|52=20240627-11:17:25.223000|56=EXAMPLE|98=0|108=30|\
                    25037=4392a152-3481-4499-921a-6d42c50702e2|10=";
    assert!(answer.contains(expected), "{answer}");
}

#[test]
fn other_fields_do_not_fit_the_signature() {
    let keys = keys();
    let text = String::from_utf8(documented_logon()).unwrap();
    let check = |from: &str, to: &str| {
        let fields = text.replace(from, to).replace('\x01', "|");
        let body = fields.split_once("|35=").unwrap().1;
        let body = body.rsplit_once("10=").unwrap().0;
        let bytes = fix_desk::wire("FIX.4.4", &format!("35={body}"));
        let (message, _) = Message::parse(&bytes).unwrap().unwrap();
        keys.check(&message)
    };
    assert_eq!(check("", ""), Ok(()));
    for (from, to) in [
        ("49=EXAMPLE", "49=EXAMPLF"),
        ("56=SPOT", "56=SPOTS"),
        ("\x0134=1\x01", "\x0134=2\x01"),
        ("25.223", "25.224"),
        ("96=4M", "96=5M"),
        ("96=4M", "96=.M"),
    ] {
        assert_eq!(check(from, to), Err(AuthenticationError::Signature), "{to}");
    }
    assert_eq!(
        check("553=s", "553=t"),
        Err(AuthenticationError::UnknownKey)
    );
    assert_eq!(check("553=", "554="), Err(AuthenticationError::Incomplete));
}

#[test]
fn a_refused_logon_hears_why() {
    let mut session = acceptor();
    session.connect(documented_time()).unwrap();
    let text = String::from_utf8(documented_logon())
        .unwrap()
        .replace('\x01', "|");
    let body = text
        .split_once("|35=")
        .unwrap()
        .1
        .rsplit_once("10=")
        .unwrap()
        .0;
    let forged = body.replace("96=4M", "96=5M");
    session.feed(&fix_desk::wire("FIX.4.4", &format!("35={forged}")));
    let event = session.poll(documented_time()).unwrap();
    assert!(matches!(event, Some(Event::Disconnect(_))));
    let answer = String::from_utf8_lossy(session.output()).into_owned();
    assert!(answer.contains("58=Signature for this request is not valid\x01"));
}

#[test]
fn both_ends_of_ours_log_on_with_a_signature() {
    let config = Config {
        profile: Profile::binance(),
        role: Role::Initiator {
            heartbeat_seconds: 30,
            reset: true,
            signer: Some(Arc::new(signer())),
        },
        sender_comp_id: "EXAMPLE".to_owned(),
        target_comp_id: "SPOT".to_owned(),
        logon_fields: vec![(553, API_KEY.to_owned()), (25035, "2".to_owned())],
    };
    let mut initiator = Session::new(config, MemoryStore::new(10));
    let mut acceptor = acceptor();
    initiator.connect(at(0)).unwrap();
    acceptor.connect(at(0)).unwrap();
    acceptor.feed(initiator.output());
    assert_eq!(acceptor.poll(at(0)).unwrap(), Some(Event::LoggedOn));
    initiator.feed(acceptor.output());
    assert_eq!(initiator.poll(at(0)).unwrap(), Some(Event::LoggedOn));
}

#[test]
fn logons_without_reset_or_with_another_interval_are_refused() {
    for (body, text) in [
        ("98=0|108=30|", "ResetSeqNumFlag (141) must be Y"),
        (
            "98=0|108=4|141=Y|",
            "HeartBtInt (108) must be between 5 and 60",
        ),
        (
            "98=0|108=61|141=Y|",
            "HeartBtInt (108) must be between 5 and 60",
        ),
    ] {
        let mut desk = Desk::acceptor(Profile::binance());
        desk.receive("A", 1, body);
        assert_eq!(desk.sent(), [format!("35=5|34=1|58={text}|")]);
    }
}

fn logged_on() -> Desk {
    let mut desk = Desk::acceptor(Profile::binance());
    desk.receive("A", 1, "98=0|108=30|141=Y|");
    assert_eq!(desk.sent(), ["35=A|34=1|98=0|108=30|"]);
    desk.events();
    desk
}

#[test]
fn a_gap_is_rejected_and_the_session_ends() {
    let mut desk = logged_on();
    desk.receive("0", 4, "");
    assert_eq!(
        desk.sent(),
        [
            "35=3|34=2|45=4|58=Value is incorrect (out of range) for this tag|371=34|372=0|373=5|",
            "35=5|34=3|58=MsgSeqNum too high, expecting 2 but received 4|"
        ]
    );
    assert_eq!(
        desk.events(),
        ["Refused 0 4 ValueIncorrect", "Disconnect(Gap)"]
    );
}

#[test]
fn a_gap_in_the_logon_ends_the_session_before_it_begins() {
    let mut desk = Desk::acceptor(Profile::binance());
    desk.receive("A", 2, "98=0|108=30|141=Y|");
    assert_eq!(
        desk.events(),
        ["Refused A 2 ValueIncorrect", "Disconnect(Gap)"]
    );
}

#[test]
fn there_is_no_recovery_to_ask_for() {
    for (msg_type, body) in [("2", "7=1|16=0|"), ("4", "36=9|"), ("4", "36=9|123=Y|")] {
        let mut desk = logged_on();
        desk.receive(msg_type, 2, body);
        assert_eq!(
            desk.sent(),
            [format!(
                "35=3|34=2|45=2|58=Invalid MsgType|372={msg_type}|373=11|"
            )]
        );
        assert_eq!(desk.next_incoming(), 3);
    }
}

#[test]
fn silence_ends_with_a_logout() {
    let mut desk = logged_on();
    desk.wait(30_000);
    assert_eq!(desk.sent(), ["35=1|34=2|112=TEST|"]);
    desk.wait(30_000);
    assert_eq!(desk.sent(), ["35=5|34=3|58=Heartbeat timeout|"]);
    assert_eq!(desk.events(), ["Disconnect(Silence)"]);
}

#[test]
fn sending_time_may_be_five_seconds_old_and_one_second_early() {
    for (milliseconds, fits) in [(-5000, true), (-5001, false), (1000, true), (1001, false)] {
        let mut desk = logged_on();
        desk.milliseconds = 10_000;
        let sent = at((10_000 + milliseconds) as u64);
        let time = fix_desk::time_text(sent);
        desk.receive_fields(&format!("35=0|34=2|49=TW|52={time}|56=ISLD|"));
        assert_eq!(desk.session.is_logged_on(), fits, "{milliseconds}");
    }
}

#[test]
fn bytes_that_are_no_key_are_refused() {
    assert!(LogonSigner::from_pkcs8(b"MC4CAQAw").is_err());
}
