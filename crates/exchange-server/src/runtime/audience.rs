//! Who gets something, whose turn it is, and who holds up an unpaced market.

use super::clock::monotonic_ns;
use super::market_thread::MarketThread;
use feedbench_exchange::hub::ConnectionId;
use feedbench_exchange::time::SECOND_NS;

/// How long a client of an unpaced market may hold up all others.
const STALL_NS: u64 = 5 * SECOND_NS;
impl MarketThread {
    /// Whose slice it is, if subscribers take turns.
    pub(super) fn turn(&mut self) -> Option<(u16, ConnectionId)> {
        let slices = self.slices.as_mut()?;
        let doors = &self.doors;
        let is_member =
            |(door, id): (u16, ConnectionId)| doors[usize::from(door)].is_subscriber(id);
        let connections = &self.connections;
        let members = || {
            let all = connections
                .places()
                .filter(|(_, connection)| connection.in_hub)
                .map(|(_, connection)| (connection.door, connection.id));
            all.filter(|&member| is_member(member)).collect()
        };
        // Nobody has subscribed: then nobody is excluded, either.
        slices.turn(monotonic_ns(), members, is_member)
    }

    /// Connections that get something.
    pub(super) fn subscribers(&self) -> usize {
        let subscribed = self.connections.places().filter(|(_, connection)| {
            connection.in_hub
                && connection.socket().is_some()
                && self.doors[usize::from(connection.door)].is_subscriber(connection.id)
        });
        subscribed.count()
    }

    /// Whether an unpaced market must wait for somebody who has too much waiting. Who holds it up for too long goes.
    pub(super) fn is_held_up(&mut self, now_ns: u64) -> bool {
        let quarter = self.lobby.queue_bytes / 4;
        let connections = &mut self.connections;
        self.sender.congested.retain(|&place| {
            connections
                .get(place)
                .is_some_and(|connection| connection.waiting_bytes() > quarter)
        });
        if self.sender.congested.is_empty() {
            self.stalled_since_ns = None;
            return false;
        }
        match self.stalled_since_ns {
            None => {
                self.pauses += 1;
                self.stalled_since_ns = Some(now_ns);
            }
            Some(since_ns) if now_ns - since_ns > STALL_NS => {
                self.stalled_since_ns = None;
                for place in std::mem::take(&mut self.sender.congested) {
                    self.part_with_slow(place);
                }
            }
            Some(_) => {}
        }
        true
    }
}
