//! Who may sit where: a client is known by BeginString and CompID beyond its connections.

use super::client::{Client, FixSession};
use super::{Dialect, FixConfig};
use feedbench_wire::fix::authentication::Authenticator;
use feedbench_wire::fix::session::{Config, Identity, Role, Session};
use feedbench_wire::fix::store::{FileStore, MemoryStore, Store, StoreError};
use feedbench_wire::fix::tag;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

/// Clients that are remembered. Who comes later is not let in.
const MOST_CLIENTS: usize = 10_000;

/// Who a session is with: BeginString and the client's CompID.
type Party = (Vec<u8>, Vec<u8>);

/// See the module.
pub struct Seats {
    dialect: Dialect,
    stores: Option<PathBuf>,
    authenticator: Option<Arc<dyn Authenticator + Send + Sync>>,
    /// By seat.
    clients: Vec<String>,
    seats: HashMap<Party, u32>,
    /// Sessions without a connection, by seat.
    parked: HashMap<u32, FixSession>,
}

impl Seats {
    pub fn new(dialect: Dialect, config: FixConfig) -> Self {
        let keys = config.keys.filter(|_| dialect == Dialect::Binance);
        Self {
            dialect,
            stores: config.stores,
            authenticator: keys.map(|keys| Arc::new(keys) as _),
            clients: Vec::new(),
            seats: HashMap::new(),
            parked: HashMap::new(),
        }
    }

    /// Names of clients by seat.
    pub fn clients(&self) -> &[String] {
        &self.clients
    }

    /// A client's connection is gone; its session stays.
    pub fn park(&mut self, client: Client) {
        self.parked.insert(client.seat, client.session);
    }

    /// The session that a first message is for, unless there is none or it is taken.
    pub fn take(&mut self, identity: &Identity<'_>) -> Option<Client> {
        let profile = self.dialect.profile(identity.begin_string)?;
        let client = identity.sender_comp_id;
        let is_for_us = identity.target_comp_id == self.dialect.comp_id().as_bytes();
        if !is_for_us || !self.dialect.may_call(client) {
            return None;
        }
        let party: Party = (identity.begin_string.to_vec(), client.to_vec());
        if let Some(&seat) = self.seats.get(&party) {
            // Who is connected is not parked: one connection for each name.
            let session = self.parked.remove(&seat)?;
            return Some(Client::new(seat, session, self.dialect));
        }
        if self.clients.len() == MOST_CLIENTS {
            return None;
        }
        let name = String::from_utf8_lossy(client).into_owned();
        let store = self.store(profile.begin_string, &name).ok()?;
        let seat = self.clients.len() as u32;
        let config = Config {
            profile,
            role: Role::Acceptor {
                authenticator: self.authenticator.clone(),
            },
            sender_comp_id: self.dialect.comp_id().to_owned(),
            target_comp_id: name.clone(),
            logon_fields: self.logon_fields(seat),
        };
        self.clients.push(name);
        self.seats.insert(party, seat);
        Some(Client::new(seat, Session::new(config, store), self.dialect))
    }

    fn store(&self, begin_string: &str, client: &str) -> Result<Box<dyn Store>, StoreError> {
        Ok(match &self.stores {
            Some(folder) => {
                let door = self.dialect.name().replace(' ', "-");
                let name = format!("{door}.{begin_string}.{client}.store");
                Box::new(FileStore::open(&folder.join(name))?)
            }
            None => Box::new(MemoryStore::new(self.dialect.kept_messages())),
        })
    }

    /// Binance's Logon carries a number of the session.
    fn logon_fields(&self, seat: u32) -> Vec<(tag::Tag, String)> {
        const UUID: tag::Tag = 25037;
        match self.dialect {
            Dialect::Binance => vec![(UUID, format!("00000000-0000-4000-8000-{seat:012x}"))],
            _ => Vec::new(),
        }
    }
}
