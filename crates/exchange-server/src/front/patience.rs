//! How long a new connection may hold a place among the open handshakes.

use std::sync::Mutex;
use std::time::Duration;
use tokio::sync::{Notify, OwnedSemaphorePermit};

/// A connection's place among the open handshakes, given back when its first request is answered.
pub struct Patience {
    permit: Mutex<Option<OwnedSemaphorePermit>>,
    arrived: Notify,
}

impl Patience {
    /// For a connection that was just accepted.
    pub fn new(permit: OwnedSemaphorePermit) -> Self {
        Self {
            permit: Mutex::new(Some(permit)),
            arrived: Notify::new(),
        }
    }

    /// A request's head is whole: the client is not one of those who hold connections open and say nothing.
    pub fn request_arrived(&self) {
        self.arrived.notify_one();
    }

    /// The first request is answered.
    pub fn answered(&self) {
        let mut permit = self.permit.lock().unwrap_or_else(|held| held.into_inner());
        permit.take();
    }

    /// Ends when the first request did not arrive within `limit`; never if it did.
    pub async fn exhausted(&self, limit: Duration) {
        if tokio::time::timeout(limit, self.arrived.notified())
            .await
            .is_ok()
        {
            std::future::pending::<()>().await;
        }
    }
}
