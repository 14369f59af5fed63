//! The sinks `sqlite`, where each message is a row before the next is handed over, and `sqlite_behind`, where a thread
//! of its own inserts.

use std::sync::mpsc::{channel, Receiver, Sender};
use std::thread::{self, JoinHandle};

use rusqlite::types::ValueRef;
use rusqlite::{params, Connection};

use super::settings::Settings;
use super::sink::{Error, Kind, Moment, Sink};

const SCHEMA: &str = "
PRAGMA synchronous=OFF; PRAGMA journal_mode=WAL;
CREATE TABLE IF NOT EXISTS test_details (test_id INTEGER PRIMARY KEY, vps_id TEXT, connector_id TEXT, exchange_id TEXT,
                                         stream_id TEXT, stream_args TEXT, datetime_start INTEGER);
CREATE TABLE IF NOT EXISTS events (event_id INTEGER PRIMARY KEY, datetime_received INTEGER, event TEXT,
                                   received_ns INTEGER);
";

pub struct Sqlite(Option<Connection>);

impl Sqlite {
    pub fn open(settings: &Settings) -> Result<Self, Error> {
        let database = Connection::open(&settings.output)?;
        database.execute_batch(SCHEMA)?;
        database.execute(
            "INSERT INTO test_details (vps_id, connector_id, exchange_id, stream_id, stream_args, datetime_start)
             VALUES (?, ?, ?, ?, ?, ?)",
            params![
                rustix::system::uname().nodename().to_str()?,
                settings.target,
                settings.exchange,
                settings.stream,
                settings.subscribe,
                Moment::now().unix_ms as i64,
            ],
        )?;
        Ok(Self(Some(database)))
    }
}

impl Sink for Sqlite {
    fn message(&mut self, at: Moment, kind: Kind, payload: &[u8]) -> Result<(), Error> {
        let event = match kind {
            Kind::Text => ValueRef::Text(payload),
            Kind::Binary => ValueRef::Blob(payload),
        };
        let database = self.0.as_ref().ok_or("it is closed")?;
        database
            .prepare_cached(
                "INSERT INTO events (datetime_received, event, received_ns) VALUES (?, ?, ?)",
            )?
            .execute(params![
                at.unix_ms as i64,
                rusqlite::types::ToSqlOutput::Borrowed(event),
                at.monotonic_ns as i64
            ])?;
        Ok(())
    }

    fn end(&mut self, _at: Moment, _reason: &str) -> Result<(), Error> {
        match self.0.take().map(Connection::close) {
            Some(Err((_, error))) => Err(error.into()),
            _ => Ok(()),
        }
    }
}

type Received = (Moment, Kind, Vec<u8>);

pub struct Behind {
    /// None once the end has come.
    waiting: Option<Sender<Received>>,
    thread: Option<JoinHandle<Result<(), Error>>>,
}

impl Behind {
    pub fn new(inserter: Sqlite) -> Self {
        let (waiting, received) = channel();
        Self {
            waiting: Some(waiting),
            thread: Some(thread::spawn(move || insert(inserter, received))),
        }
    }

    /// What the thread came to.
    fn outcome(&mut self) -> Result<(), Error> {
        self.waiting = None;
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(outcome)) => outcome,
            _ => Err("its thread is gone".into()),
        }
    }
}

fn insert(mut inserter: Sqlite, received: Receiver<Received>) -> Result<(), Error> {
    for (at, kind, payload) in received {
        inserter.message(at, kind, &payload)?;
    }
    inserter.end(Moment::now(), "")
}

impl Sink for Behind {
    fn message(&mut self, at: Moment, kind: Kind, payload: &[u8]) -> Result<(), Error> {
        let sent = self
            .waiting
            .as_ref()
            .map(|waiting| waiting.send((at, kind, payload.to_vec())));
        match sent {
            Some(Ok(())) => Ok(()),
            _ => self.outcome(), // the thread has ended, so it says why
        }
    }

    fn end(&mut self, _at: Moment, _reason: &str) -> Result<(), Error> {
        self.outcome()
    }
}
