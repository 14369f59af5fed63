//! What happened, in order, in memory until the end.

use feedbench_record::{Receipt, ReceiptKind};

/// 24 MiB a million; a chunk of 1.5 MiB is one short pause at most.
const CHUNK: usize = 1 << 16;

/// Receipts in chunks: one growing array would be copied now and then, for as long as a hundred messages take.
#[derive(Debug, Default)]
pub struct Journal {
    chunks: Vec<Vec<Receipt>>,
}

impl Journal {
    /// Adds one record.
    #[inline]
    pub fn push(&mut self, receipt: Receipt) {
        match self.chunks.last_mut() {
            Some(chunk) if chunk.len() < CHUNK => chunk.push(receipt),
            _ => {
                let mut chunk = Vec::with_capacity(CHUNK);
                chunk.push(receipt);
                self.chunks.push(chunk);
            }
        }
    }

    /// Adds what is no message.
    pub fn note(&mut self, at_ns: u64, subscriber: u32, kind: ReceiptKind) {
        self.push(Receipt {
            at_ns,
            subscriber,
            bytes: 0,
            crc32: 0,
            kind,
        });
    }

    /// All of it, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Receipt> {
        self.chunks.iter().flatten()
    }
}
