//! A store that outlives the process: one file to which records are appended.
//!
//! A record is its CRC-32 (4 bytes, little endian, over the rest), its kind (1), a number (8), a length (4) and so many
//! bytes of message. A process that dies while it writes leaves part of a record at the end, which is cut off when the
//! file is opened again: nothing of it was sent, because bytes leave after they are stored.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::{Store, StoreError};

const MAGIC: &[u8; 8] = b"FBFIX\x00\x00\x01";
const HEAD_BYTES: usize = 17;

const SENT: u8 = 1;
const SKIPPED: u8 = 2;
const INCOMING: u8 = 3;
const OUTGOING: u8 = 4;
const RESET: u8 = 5;

/// Where a message is in the file.
#[derive(Debug, Clone, Copy)]
struct Place {
    at: u64,
    length: usize,
}

/// Numbers and sent messages in a file.
#[derive(Debug)]
pub struct FileStore {
    file: File,
    end: u64,
    next_outgoing: u64,
    next_incoming: u64,
    places: HashMap<u64, Place>,
    record: Vec<u8>,
}

impl FileStore {
    /// Opens the file, or makes it, and reads how far the session got.
    ///
    /// # Errors
    /// [`StoreError`] when the file cannot be opened, is no store, or has a record that was changed.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        if !MAGIC.starts_with(&bytes[..bytes.len().min(MAGIC.len())]) {
            return Err(StoreError::Foreign);
        }
        let mut store = Self {
            file,
            end: MAGIC.len() as u64,
            next_outgoing: 1,
            next_incoming: 1,
            places: HashMap::new(),
            record: Vec::new(),
        };
        if bytes.len() < MAGIC.len() {
            store.file.write_all_at(MAGIC, 0)?;
        } else {
            store.replay(&bytes)?;
        }
        store.file.set_len(store.end)?;
        Ok(store)
    }

    fn replay(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        while let Some((head, rest)) = bytes[self.end as usize..].split_first_chunk::<HEAD_BYTES>()
        {
            let [c0, c1, c2, c3, kind, number @ .., l0, l1, l2, l3] = *head;
            let length = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
            let Some(message) = rest.get(..length) else {
                break;
            };
            let mut sum = crc32fast::Hasher::new();
            sum.update(&head[4..]);
            sum.update(message);
            if sum.finalize() != u32::from_le_bytes([c0, c1, c2, c3]) {
                return Err(StoreError::Damaged { at: self.end });
            }
            self.apply(kind, u64::from_le_bytes(number), length);
        }
        Ok(())
    }

    /// Takes over what a record says, which stands at the end of what was read or written so far.
    fn apply(&mut self, kind: u8, number: u64, length: usize) {
        let at = self.end + HEAD_BYTES as u64;
        match kind {
            SENT => {
                self.places.insert(number, Place { at, length });
                self.next_outgoing = number + 1;
            }
            SKIPPED => self.next_outgoing = number + 1,
            INCOMING => self.next_incoming = number,
            OUTGOING => {
                self.next_outgoing = number;
                self.places.retain(|kept, _| *kept < number);
            }
            _ => {
                self.next_outgoing = 1;
                self.next_incoming = 1;
                self.places.clear();
            }
        }
        self.end = at + length as u64;
    }

    fn write(&mut self, kind: u8, number: u64, message: &[u8]) -> Result<(), StoreError> {
        self.record.clear();
        self.record.extend_from_slice(&[0; 4]);
        self.record.push(kind);
        self.record.extend_from_slice(&number.to_le_bytes());
        self.record
            .extend_from_slice(&(message.len() as u32).to_le_bytes());
        self.record.extend_from_slice(message);
        let sum = crc32fast::hash(&self.record[4..]);
        self.record[..4].copy_from_slice(&sum.to_le_bytes());
        // At the known end and not where the file ends: a record that failed half way is written over.
        self.file.write_all_at(&self.record, self.end)?;
        self.apply(kind, number, message.len());
        Ok(())
    }
}

impl Store for FileStore {
    fn next_outgoing(&self) -> u64 {
        self.next_outgoing
    }

    fn next_incoming(&self) -> u64 {
        self.next_incoming
    }

    fn append(&mut self, message: Option<&[u8]>) -> Result<(), StoreError> {
        match message {
            Some(message) => self.write(SENT, self.next_outgoing, message),
            None => self.write(SKIPPED, self.next_outgoing, &[]),
        }
    }

    fn set_next_incoming(&mut self, number: u64) -> Result<(), StoreError> {
        self.write(INCOMING, number, &[])
    }

    fn set_next_outgoing(&mut self, number: u64) -> Result<(), StoreError> {
        self.write(OUTGOING, number, &[])
    }

    fn load(&mut self, number: u64, message: &mut Vec<u8>) -> Result<bool, StoreError> {
        let Some(place) = self.places.get(&number) else {
            return Ok(false);
        };
        message.resize(place.length, 0);
        self.file.read_exact_at(message, place.at)?;
        Ok(true)
    }

    fn reset(&mut self) -> Result<(), StoreError> {
        self.write(RESET, 1, &[])
    }
}
