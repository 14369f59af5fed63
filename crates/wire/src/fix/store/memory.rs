//! A store that lasts as long as the process.

use std::collections::VecDeque;

use super::{Store, StoreError};

/// The last messages, up to a limit. Older ones are filled as gaps when they are asked for.
#[derive(Debug, Clone)]
pub struct MemoryStore {
    next_outgoing: u64,
    next_incoming: u64,
    kept: VecDeque<(u64, Vec<u8>)>,
    capacity_messages: usize,
}

impl MemoryStore {
    /// A new session that keeps at most so many messages.
    #[must_use]
    pub fn new(capacity_messages: usize) -> Self {
        Self {
            next_outgoing: 1,
            next_incoming: 1,
            kept: VecDeque::new(),
            capacity_messages,
        }
    }
}

impl Store for MemoryStore {
    fn next_outgoing(&self) -> u64 {
        self.next_outgoing
    }

    fn next_incoming(&self) -> u64 {
        self.next_incoming
    }

    fn append(&mut self, message: Option<&[u8]>) -> Result<(), StoreError> {
        if let Some(message) = message.filter(|_| self.capacity_messages > 0) {
            // The oldest buffer is used again, so a full store does not allocate.
            let mut buffer = if self.kept.len() < self.capacity_messages {
                Vec::new()
            } else {
                self.kept.pop_front().unwrap_or_default().1
            };
            buffer.clear();
            buffer.extend_from_slice(message);
            self.kept.push_back((self.next_outgoing, buffer));
        }
        self.next_outgoing += 1;
        Ok(())
    }

    fn set_next_incoming(&mut self, number: u64) -> Result<(), StoreError> {
        self.next_incoming = number;
        Ok(())
    }

    fn set_next_outgoing(&mut self, number: u64) -> Result<(), StoreError> {
        self.next_outgoing = number;
        self.kept.retain(|(kept, _)| *kept < number);
        Ok(())
    }

    fn load(&mut self, number: u64, message: &mut Vec<u8>) -> Result<bool, StoreError> {
        let found = self.kept.binary_search_by_key(&number, |(kept, _)| *kept);
        if let Ok(index) = found {
            message.clear();
            message.extend_from_slice(&self.kept[index].1);
        }
        Ok(found.is_ok())
    }

    fn reset(&mut self) -> Result<(), StoreError> {
        self.next_outgoing = 1;
        self.next_incoming = 1;
        self.kept.clear();
        Ok(())
    }
}
