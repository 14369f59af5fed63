//! A recording over real sockets.

use crate::rig::Rig;
use feedbench_exchange::replay::{Pace, Recording, Replay};
use feedbench_exchange_server::runtime::RuntimeConfig;

fn rig(pace: Pace, rounds: Option<u64>) -> Rig {
    let lines: String = (0..500)
        .map(|n| format!("{} {{\"n\":{n}}}\n", 1_000_000_000 + n * 100_000))
        .collect();
    let entries: Result<Vec<_>, _> = Recording::new(lines.as_bytes()).collect();
    let replay = Replay::new(entries.unwrap(), pace, rounds).unwrap();
    let mut config = RuntimeConfig::new(None).door(move |_| replay);
    config.wait_for_subscribers = 1;
    Rig::start(config)
}

#[test]
fn a_replay_waits_for_its_first_subscriber_and_ends_with_its_last_message() {
    for pace in [Pace::Speed(1.0), Pace::Unpaced] {
        let rig = rig(pace, Some(2));
        let (texts, code) = rig.connect("/any/path").rest();
        let numbers: Vec<String> = (0..1_000)
            .map(|n| format!("{{\"n\":{}}}", n % 500))
            .collect();
        assert_eq!(texts, numbers);
        assert_eq!(code, Some(1001));
        let left = rig.wait();
        assert_eq!(left.ledger().header().seed, None);
        assert_eq!(left.ledger().header().paced, pace != Pace::Unpaced);
        assert_eq!(left.totals.events, 1_000);
        assert_eq!(left.streams()[&0], "replay everything");
    }
}
