//! Clients that do not read.

use crate::rig::{client, unpaced, Rig, PATIENCE};
use feedbench_exchange::ledger::Ledger;
use feedbench_exchange_server::runtime::{Limit, Pacing};

#[test]
fn a_client_that_does_not_read_is_parted_with_and_delays_nobody() {
    let mut config = unpaced(0);
    // A high rate fills the sluggard's buffers soon; paced, so that nobody waits for it.
    config.market = Some(crate::rig::market(20_000.0));
    config.pacing = Pacing::default();
    config.limit = Limit::default();
    config.send_buffer_bytes = Some(8_192);
    config.queue_bytes = 32_768;
    config.linger_ns = PATIENCE.as_nanos() as u64;
    config.wait_for_subscribers = 2;
    let rig = Rig::start(config);
    let sluggard = rig.connect_raw(0, "/ws/btcusdt@bookTicker");
    let mut reader = rig.connect("/ws/btcusdt@bookTicker");
    // Far more than all of the sluggard's buffers hold: it must be gone by then, and the reader has lost nothing.
    let (enough, gone) = std::sync::mpsc::channel();
    let reading = std::thread::spawn(move || {
        let mut texts: Vec<String> = (0..60_000).map(|_| reader.text()).collect();
        enough.send(()).unwrap();
        texts.extend(reader.rest().0);
        texts
    });
    gone.recv().unwrap();
    // What it finds when it reads at last: whole messages, then the exchange's parting words.
    let (found, code) = client(sluggard).rest();
    assert_eq!(code, Some(1008));
    let left = rig.stop();
    let texts = reading.join().unwrap();
    assert_eq!(left.totals.doors[0].slow_consumers, 1);
    assert!(left.totals.send_buffer.unwrap().found_bytes >= 8_192);
    let sent = left.sent();
    assert!(sent[..60_000]
        .iter()
        .zip(&texts)
        .all(|(sent, text)| sent.payload_bytes as usize == text.len()));
    assert_eq!((sent[0].recipients, sent[59_999].recipients), (2, 1));
    assert_eq!(found[..], texts[..found.len()]);
}

#[test]
fn an_unpaced_market_waits_for_its_slowest_subscriber() {
    let mut config = unpaced(20_000);
    config.send_buffer_bytes = Some(8_192);
    config.queue_bytes = 32_768;
    let rig = Rig::start(config);
    let mut reader = rig.connect("/ws/btcusdt@bookTicker");
    // It reads nothing until the market has sent no more for a while.
    let path = rig.ledger_path();
    let count = || {
        std::thread::sleep(std::time::Duration::from_millis(500));
        let bytes = std::fs::read(&path).unwrap();
        Ledger::read(&bytes).map_or(0, |ledger| ledger.messages().count())
    };
    let mut before = 0;
    loop {
        let now = count();
        if now == before && now > 0 {
            break;
        }
        before = now;
    }
    let (texts, code) = reader.rest();
    assert_eq!(code, Some(1001), "it was never cut");
    assert!(before < texts.len(), "it was waited for");
    let left = rig.wait();
    assert_eq!(left.totals.doors[0].slow_consumers, 0);
    assert_eq!(left.totals.messages, texts.len() as u64);
    assert!(left.totals.pauses > 0, "it had to wait");
}

#[test]
fn what_is_sent_before_the_socket_comes_waits_for_it() {
    let mut config = unpaced(0);
    config.wait_for_subscribers = 0;
    config.pacing = Pacing::default();
    config.limit = Limit::default();
    let rig = Rig::start(config);
    let ticket = rig.open(0, "/ws/btcusdt@bookTicker").unwrap();
    let mut other = rig.connect("/ws/btcusdt@bookTicker");
    for _ in 0..100 {
        other.text();
    }
    let (socket, server) = crate::rig::pair();
    rig.attach(ticket, server, b"");
    let mut late = client(socket);
    let first = late.text();
    let left_behind = late.text();
    assert_ne!(first, left_behind);
    let left = rig.stop();
    assert_eq!(left.sent()[0].payload_bytes as usize, first.len());
    assert_eq!(left.sent()[1].payload_bytes as usize, left_behind.len());
}

#[test]
fn an_abandoned_connection_is_forgotten() {
    let mut config = unpaced(10);
    config.wait_for_subscribers = 2;
    let rig = Rig::start(config);
    let ticket = rig.open(0, "/ws/btcusdt@bookTicker").unwrap();
    rig.commands()
        .send(feedbench_exchange_server::seam::Command::Abandon(ticket))
        .unwrap();
    let mut clients = [
        rig.connect("/ws/btcusdt@trade"),
        rig.connect("/ws/btcusdt@trade"),
    ];
    clients.iter_mut().for_each(|client| drop(client.rest()));
    let left = rig.wait();
    assert_eq!(left.totals.connections_at_once, 2);
}
