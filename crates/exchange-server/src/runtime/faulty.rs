//! A connection whose messages are spoiled: the plan's injector, with what the ledger wants to know of each message.

use feedbench_exchange::faults::{FaultKind, FaultPlan, Injector, Outgoing};

/// What the ledger says of a message apart from its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meaning {
    /// The ledger's number of the stream.
    pub stream: u32,
    /// The exchange's own number.
    pub sequence: u64,
    /// When it was born.
    pub born_ns: u64,
    /// When it should have left.
    pub scheduled_ns: u64,
    /// Payload without the connection's own number.
    pub payload_bytes: u32,
    /// Of the same.
    pub payload_crc32: u32,
}

/// What is to be done with one connection's message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deed {
    /// Send this payload.
    Send(Vec<u8>),
    /// Send nothing.
    LeaveOut,
    /// Send so many bytes of a frame with this payload, then end the connection.
    Cut(Vec<u8>, usize),
}

/// See the module.
pub struct Faulty {
    injector: Injector,
    scratch: Vec<Outgoing>,
    /// What the message means that waits to be overtaken.
    held: Option<Meaning>,
}

impl Faulty {
    /// `None` if nothing can befall any message.
    pub fn new(plan: &FaultPlan, connection: u32) -> Option<Box<Self>> {
        let injector = plan.injector(connection.into());
        (!injector.is_idle()).then(|| {
            Box::new(Self {
                injector,
                scratch: Vec::new(),
                held: None,
            })
        })
    }

    /// Passes a message through; calls `carry_out` for each thing to be done, with the fault's number (zero: none).
    pub fn pass(
        &mut self,
        payload: &[u8],
        meaning: Meaning,
        mut carry_out: impl FnMut(Deed, Meaning, u8),
    ) {
        self.injector.apply(payload, &mut self.scratch);
        if self.scratch.is_empty() {
            // Held back to be overtaken, or after a cut.
            self.held = Some(meaning);
        }
        for outgoing in self.scratch.drain(..) {
            match outgoing {
                Outgoing::Nothing => carry_out(Deed::LeaveOut, meaning, FaultKind::Gap.code()),
                Outgoing::Cut {
                    payload,
                    sent_bytes,
                } => carry_out(
                    Deed::Cut(payload, sent_bytes),
                    meaning,
                    FaultKind::Cut.code(),
                ),
                Outgoing::Message { payload, fault } => {
                    let meaning = match fault {
                        Some(FaultKind::Reorder) => self.held.take().unwrap_or(meaning),
                        // What is spoiled is known by the bytes as they go out.
                        Some(FaultKind::MalformedJson | FaultKind::InvalidUtf8) => Meaning {
                            payload_bytes: payload.len() as u32,
                            payload_crc32: crc32fast::hash(&payload),
                            ..meaning
                        },
                        _ => meaning,
                    };
                    carry_out(
                        Deed::Send(payload),
                        meaning,
                        fault.map_or(0, FaultKind::code),
                    );
                }
            }
        }
    }
}
