//! What a session must remember beyond a connection: the numbers of both directions and the messages sent.

mod file;
mod memory;

pub use file::FileStore;
pub use memory::MemoryStore;

/// The store could not keep or find something. The session cannot go on without risking a number used twice.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file system says no.
    #[error("the FIX message store failed: {0}")]
    Io(#[from] std::io::Error),
    /// A record that is complete has another checksum: the file was changed or the disk has erred.
    #[error(
        "the FIX message store is damaged at byte {at}; move the file away to begin at number 1"
    )]
    Damaged {
        /// Where the record begins.
        at: u64,
    },
    /// The file begins with something else.
    #[error("this file is not a FIX message store")]
    Foreign,
}

/// Numbers and sent messages of one session.
///
/// What a method has changed must be there after a crash of the process when the method has returned.
pub trait Store {
    /// The number of the next message to send.
    fn next_outgoing(&self) -> u64;

    /// The number of the next message to receive.
    fn next_incoming(&self) -> u64;

    /// Keeps a message under [`Self::next_outgoing`] and goes on to the next number.
    ///
    /// `None` for session messages: their numbers are filled with a SequenceReset when they are asked for.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be kept.
    fn append(&mut self, message: Option<&[u8]>) -> Result<(), StoreError>;

    /// Sets the number of the next message to receive.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be kept.
    fn set_next_incoming(&mut self, number: u64) -> Result<(), StoreError>;

    /// Sets the number of the next message to send, for a SequenceReset by hand.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be kept.
    fn set_next_outgoing(&mut self, number: u64) -> Result<(), StoreError>;

    /// Puts the message that was sent under `number` into `message`, or says that there is none.
    ///
    /// # Errors
    /// [`StoreError`] when it was kept and cannot be read.
    fn load(&mut self, number: u64, message: &mut Vec<u8>) -> Result<bool, StoreError>;

    /// Forgets all and begins both directions with 1.
    ///
    /// # Errors
    /// [`StoreError`] when that cannot be kept.
    fn reset(&mut self) -> Result<(), StoreError>;
}

impl<S: Store + ?Sized> Store for Box<S> {
    fn next_outgoing(&self) -> u64 {
        (**self).next_outgoing()
    }

    fn next_incoming(&self) -> u64 {
        (**self).next_incoming()
    }

    fn append(&mut self, message: Option<&[u8]>) -> Result<(), StoreError> {
        (**self).append(message)
    }

    fn set_next_incoming(&mut self, number: u64) -> Result<(), StoreError> {
        (**self).set_next_incoming(number)
    }

    fn set_next_outgoing(&mut self, number: u64) -> Result<(), StoreError> {
        (**self).set_next_outgoing(number)
    }

    fn load(&mut self, number: u64, message: &mut Vec<u8>) -> Result<bool, StoreError> {
        (**self).load(number, message)
    }

    fn reset(&mut self) -> Result<(), StoreError> {
        (**self).reset()
    }
}
