//! Faults on purpose, as the client sees them and as the ledger says.

use crate::rig::{unpaced, Rig};
use feedbench_exchange::faults::{FaultKind, FaultPlan, MessageFault, Spell, Which};
use feedbench_exchange::ledger::{join, Received, Sent};
use feedbench_exchange::personality::gemini::Gemini;
use feedbench_exchange_server::runtime::{Limit, Pacing, RuntimeConfig};
use tungstenite::{Error, Message};

fn with(plan: FaultPlan) -> RuntimeConfig {
    let mut config = unpaced(400);
    config.faults = plan;
    config
}

fn at(kind: FaultKind, number: u64) -> FaultPlan {
    FaultPlan {
        messages: vec![MessageFault {
            kind,
            which: Which::Messages(vec![number]),
        }],
        ..FaultPlan::default()
    }
}

/// Messages as they came, how it ended, and the ledger's records.
fn run(plan: FaultPlan) -> (Vec<Vec<u8>>, Option<Error>, Vec<Sent>) {
    let rig = Rig::start(with(plan));
    let mut client = rig.connect("/ws/btcusdt@bookTicker");
    let mut got = Vec::new();
    let end = loop {
        match client.next() {
            Ok(Message::Text(text)) => got.push(text.as_bytes().to_vec()),
            Ok(Message::Close(_)) => break None,
            Ok(_) => {}
            Err(error) => break Some(error),
        }
    };
    drop(client);
    (got, end, rig.wait().sent())
}

fn joined(sent: &[Sent], got: &[Vec<u8>]) -> Vec<Option<usize>> {
    let received: Vec<Received> = got.iter().map(|text| Received::of(text)).collect();
    join(sent.iter().copied(), &received)
}

#[test]
fn a_connections_own_number_stays_in_its_own_messages() {
    // Nothing is spoiled, but each message takes the way of those that may be.
    let mut config = with(at(FaultKind::Gap, u64::MAX)).door(Gemini::new);
    config.wait_for_subscribers = 2;
    let rig = Rig::start(config);
    let mut numbered = rig.connect_to(1, "/v1/marketdata/BTCUSD");
    let mut plain = rig.connect("/ws/btcusdt@bookTicker");
    let (plain_texts, _) = plain.rest();
    let (numbered_texts, _) = numbered.rest();
    rig.wait();
    assert!(plain_texts.len() > 10 && numbered_texts.len() > 10);
    for text in &plain_texts {
        let told: serde_json::Value = serde_json::from_str(text).expect(text);
        assert_eq!(told["s"], "BTCUSDT");
    }
    for (number, text) in numbered_texts.iter().enumerate() {
        let told: serde_json::Value = serde_json::from_str(text).expect(text);
        assert_eq!(told["socket_sequence"], number);
    }
}

#[test]
fn a_gap_is_in_the_ledger_and_nowhere_else() {
    let (got, end, sent) = run(at(FaultKind::Gap, 3));
    assert!(end.is_none());
    assert_eq!((sent[3].fault, sent[3].recipients), (1, 0));
    assert_eq!(sent.len(), got.len() + 1);
    let found = joined(&sent, &got);
    assert!(found.iter().flatten().all(|&index| index != 3));
    assert_eq!(found.iter().flatten().count(), got.len());
}

#[test]
fn a_duplicate_comes_twice_and_is_recorded_twice() {
    let (got, _, sent) = run(at(FaultKind::Duplicate, 3));
    assert_eq!(got[3], got[4]);
    assert_eq!((sent[3].fault, sent[4].fault), (0, 2));
    assert_eq!(
        joined(&sent, &got),
        (0..got.len()).map(Some).collect::<Vec<_>>()
    );
}

#[test]
fn a_reordered_message_keeps_its_birth() {
    let (got, _, sent) = run(at(FaultKind::Reorder, 3));
    assert_eq!(sent[4].fault, 3);
    assert!(
        sent[4].sequence < sent[3].sequence,
        "an older one came after"
    );
    assert!(sent[4].born_ns <= sent[3].born_ns);
    assert_eq!(
        joined(&sent, &got),
        (0..got.len()).map(Some).collect::<Vec<_>>()
    );
}

#[test]
fn malformed_json_arrives_malformed() {
    let (got, _, sent) = run(at(FaultKind::MalformedJson, 3));
    assert!(serde_json::from_slice::<serde_json::Value>(&got[3]).is_err());
    assert!(serde_json::from_slice::<serde_json::Value>(&got[4]).is_ok());
    assert_eq!(
        (sent[3].fault, sent[3].payload_bytes as usize),
        (4, got[3].len())
    );
}

#[test]
fn a_text_that_is_no_text_is_refused_by_the_client() {
    let (got, end, sent) = run(at(FaultKind::InvalidUtf8, 3));
    assert_eq!(got.len(), 3);
    assert!(matches!(end, Some(Error::Utf8(_))), "{end:?}");
    assert_eq!(sent[3].fault, 5);
}

#[test]
fn a_cut_ends_the_connection_within_a_frame() {
    let (got, end, sent) = run(at(FaultKind::Cut, 3));
    assert_eq!(got.len(), 3);
    assert!(end.is_some(), "no close frame came");
    assert_eq!((sent.len(), sent[3].fault), (4, 6));
}

#[test]
fn a_connection_is_disconnected_without_a_word_at_its_age() {
    let plan = FaultPlan {
        disconnect_after_ns: Some(50_000_000),
        ..FaultPlan::default()
    };
    let mut config = with(plan);
    config.pacing = Pacing::default();
    config.limit = Limit::default();
    let rig = Rig::start(config);
    let (_, code) = rig.connect("/ws/btcusdt@bookTicker").rest();
    assert_eq!(code, None);
    rig.stop();
}

#[test]
fn a_half_open_connection_says_and_hears_nothing_more() {
    let plan = FaultPlan {
        half_open_after_ns: Some(0),
        ..FaultPlan::default()
    };
    let rig = Rig::start(with(plan));
    let mut client = rig.connect("/ws/btcusdt@bookTicker");
    client.send(r#"{"method":"LIST_SUBSCRIPTIONS","id":1}"#);
    // Nothing but the end of the run ends it.
    assert_eq!(client.rest(), (vec![], None));
    let left = rig.wait();
    assert_eq!(left.totals.doors[0].messages_received, 0);
    assert!(left.totals.dropped > 0 && left.sent().is_empty());
}

#[test]
fn a_mute_connection_gets_data_but_no_pings() {
    let pings = |plan: FaultPlan| {
        // An hour of the market: it pings every 20 s, and nobody has time to answer.
        let mut config = with(plan);
        config.market = Some(crate::rig::market(10.0));
        config.limit = Limit {
            events: None,
            duration_ns: Some(50_000_000_000),
        };
        let rig = Rig::start(config);
        let mut client = rig.connect("/ws/btcusdt@bookTicker");
        let (mut pings, mut texts) = (0, 0);
        loop {
            match client.next() {
                Ok(Message::Ping(_)) => pings += 1,
                Ok(Message::Text(_)) => texts += 1,
                Ok(_) => {}
                Err(_) => break,
            }
        }
        rig.wait();
        (pings, texts > 10)
    };
    assert_eq!(pings(FaultPlan::default()), (2, true));
    let mute = FaultPlan {
        mute_after_ns: Some(0),
        ..FaultPlan::default()
    };
    assert_eq!(pings(mute), (0, true));
}

#[test]
fn rest_is_refused_during_a_storm() {
    let plan = FaultPlan {
        refusals: Some(Spell {
            every_ns: 1,
            length_ns: 3_000_000_000,
        }),
        ..FaultPlan::default()
    };
    let mut config = with(plan);
    config.wait_for_subscribers = 0;
    config.pacing = Pacing::default();
    config.limit = Limit::default();
    let rig = Rig::start(config);
    let response = rig.rest("/api/v3/ping");
    assert_eq!(response.status, 429);
    assert!(response
        .headers
        .iter()
        .any(|(name, value)| *name == "Retry-After" && value.parse::<u64>().unwrap() >= 1));
    rig.stop();
}

#[test]
fn the_clock_is_wrong_by_as_much_as_was_asked() {
    let shown = |skew_ns| {
        let mut config = unpaced(100);
        config.clock_skew_ns = skew_ns;
        let rig = Rig::start(config);
        let text = rig.connect("/ws/btcusdt@trade").text();
        let message: serde_json::Value = serde_json::from_str(&text).unwrap();
        rig.wait();
        message["E"].as_i64().unwrap()
    };
    assert_eq!(shown(0) - shown(-1_272_000_000), 1_272);
}
