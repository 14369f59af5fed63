//! All connections, findable by their place, by their hub's number, and by their ticket.

use super::connection::Connection;
use feedbench_exchange::hub::ConnectionId;
use std::collections::HashMap;

/// Nothing stands there.
const NONE: u32 = u32::MAX;

/// A place that is used again, with what tells its tenants apart: the token under which the poller knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub index: u32,
    pub generation: u32,
}

impl Place {
    /// As a number.
    pub fn token(self) -> u64 {
        u64::from(self.generation) << 32 | u64::from(self.index)
    }

    /// Back.
    pub fn of_token(token: u64) -> Self {
        Self {
            index: token as u32,
            generation: (token >> 32) as u32,
        }
    }
}

/// See the module.
#[derive(Default)]
pub struct Connections {
    places: Vec<Option<Connection>>,
    free: Vec<u32>,
    /// By door, then by the hub's number.
    by_hub: Vec<Vec<u32>>,
    /// Those without a socket, by generation.
    pending: HashMap<u32, u32>,
    opened: u32,
    /// Most at a time.
    pub at_once: usize,
}

impl Connections {
    pub fn new(doors: usize) -> Self {
        Self {
            by_hub: vec![Vec::new(); doors],
            ..Self::default()
        }
    }

    /// Adds one that the hub of a door has just opened.
    pub fn open(&mut self, door: u16, id: ConnectionId) -> Place {
        let generation = self.opened;
        self.opened += 1;
        let index = self.free.pop().unwrap_or(self.places.len() as u32);
        if index as usize == self.places.len() {
            self.places.push(None);
        }
        self.places[index as usize] = Some(Connection::pending(door, id, generation));
        let by_hub = &mut self.by_hub[door as usize];
        if by_hub.len() <= id.0 as usize {
            by_hub.resize(id.0 as usize + 1, NONE);
        }
        by_hub[id.0 as usize] = index;
        self.pending.insert(generation, index);
        self.at_once = self.at_once.max(self.len());
        Place { index, generation }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }

    /// The place of a connection that waits for its socket; it waits no longer.
    pub fn take_pending(&mut self, generation: u32) -> Option<Place> {
        let index = self.pending.remove(&generation)?;
        Some(Place { index, generation })
    }

    /// The connection at a place, unless it is another by now.
    #[inline]
    pub fn get(&mut self, place: Place) -> Option<&mut Connection> {
        self.places
            .get_mut(place.index as usize)?
            .as_mut()
            .filter(|connection| connection.generation == place.generation)
    }

    /// The connection that a hub knows by this number.
    #[inline]
    pub fn of_hub(&mut self, door: usize, id: ConnectionId) -> Option<(Place, &mut Connection)> {
        let index = *self.by_hub[door].get(id.0 as usize)?;
        let connection = self.places.get_mut(index as usize)?.as_mut()?;
        let place = Place {
            index,
            generation: connection.generation,
        };
        Some((place, connection))
    }

    /// The hub has forgotten it; its socket lives on until all is sent.
    pub fn detach_from_hub(&mut self, door: u16, id: ConnectionId) {
        if let Some(index) = self.by_hub[door as usize].get_mut(id.0 as usize) {
            *index = NONE;
        }
    }

    /// Closes the socket.
    pub fn remove(&mut self, place: Place) {
        if self.get(place).is_some() {
            self.places[place.index as usize] = None;
            self.free.push(place.index);
            self.pending.remove(&place.generation);
        }
    }

    /// All places that are taken.
    pub fn places(&self) -> impl Iterator<Item = (Place, &Connection)> {
        self.places
            .iter()
            .zip(0..)
            .filter_map(|(connection, index)| {
                let connection = connection.as_ref()?;
                let generation = connection.generation;
                Some((Place { index, generation }, connection))
            })
    }
}
