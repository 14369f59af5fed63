//! Where what was received goes.

use super::settings::Settings;
use super::sqlite::{Behind, Sqlite};
use super::stamps::Stamps;

/// What is told to the user.
pub type Error = Box<dyn std::error::Error + Send + Sync>;

/// When a message was handed over.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// `CLOCK_MONOTONIC`, the same for all processes.
    pub monotonic_ns: u64,
    /// Unix time.
    pub unix_ms: u64,
}

/// What kind of message it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// UTF-8.
    Text = 1,
    /// Bytes.
    Binary = 2,
}

/// Keeps what was received; after each call that is with the kernel.
pub trait Sink: Send {
    fn connected(&mut self, _at: Moment) -> Result<(), Error> {
        Ok(())
    }

    fn message(&mut self, at: Moment, kind: Kind, payload: &[u8]) -> Result<(), Error>;

    /// A poller's message.
    #[cfg(feature = "poll")]
    fn answer(&mut self, _at: Moment, _payload: &[u8]) -> Result<(), Error> {
        Ok(())
    }

    /// The last call; an empty reason for an end that was asked for.
    fn end(&mut self, at: Moment, reason: &str) -> Result<(), Error>;
}

/// The sink that the settings name.
pub fn open(settings: &Settings) -> Result<Box<dyn Sink>, Error> {
    Ok(match settings.sink.as_str() {
        "stamps" => Box::new(Stamps::open(&settings.output)?),
        "sqlite" => Box::new(Sqlite::open(settings)?),
        "sqlite_behind" => Box::new(Behind::new(Sqlite::open(settings)?)),
        _ => Box::new(Nowhere),
    })
}

pub struct Nowhere;

impl Sink for Nowhere {
    fn message(&mut self, _at: Moment, _kind: Kind, _payload: &[u8]) -> Result<(), Error> {
        Ok(())
    }

    fn end(&mut self, _at: Moment, _reason: &str) -> Result<(), Error> {
        Ok(())
    }
}
