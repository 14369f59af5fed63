//! From packets to a file of stamps for each connection.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use serde::Serialize;

use crate::clock::Offset;
use crate::messages::{Messages, MessagesError};
use crate::packet::{parse, Segment};
use crate::ring::Packet;
use crate::stamps::StampsFile;
use crate::stream::{Gap, Stream};

/// What was found of one connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Followed {
    /// The client's address.
    pub peer: String,
    /// The file with its messages.
    pub file: PathBuf,
    /// How many there are.
    pub messages: u64,
    /// Why it was followed no further; none when it was followed to its end.
    pub trouble: Option<String>,
}

/// The connections of one server, from their beginning.
#[derive(Debug)]
pub struct Capture {
    folder: PathBuf,
    connections: Vec<Connection>,
    by_peer: HashMap<(IpAddr, u16), usize>,
    /// Packets that did not fit into the ring's memory.
    pub cut: u64,
}

impl Capture {
    /// One that writes its files into `folder`.
    #[must_use]
    pub fn new(folder: PathBuf) -> Self {
        Self {
            folder,
            connections: Vec::new(),
            by_peer: HashMap::new(),
            cut: 0,
        }
    }

    /// Takes a packet; `offset` is that of now. Those of connections that were open before are passed over.
    ///
    /// # Errors
    /// When a file can't be written.
    pub fn take(&mut self, packet: Packet<'_>, offset: Offset) -> io::Result<()> {
        if packet.bytes.len() < packet.whole_bytes {
            self.cut += 1;
        }
        let Some(segment) = parse(packet.bytes) else {
            return Ok(());
        };
        if segment.opens {
            return self.open(segment);
        }
        match self.by_peer.get(&segment.destination) {
            Some(&index) => self.connections[index].take(segment, packet.stamp_ns, offset),
            None => Ok(()),
        }
    }

    fn open(&mut self, segment: Segment<'_>) -> io::Result<()> {
        let index = self.connections.len();
        let (address, port) = segment.destination;
        let path = self.folder.join(format!("{index}-{port}.stamps"));
        self.connections.push(Connection {
            stream: Stream::new(segment.sequence.wrapping_add(1)),
            messages: Messages::default(),
            file: StampsFile::create(&path)?,
            followed: Followed {
                peer: SocketAddr::from((address, port)).to_string(),
                file: path,
                messages: 0,
                trouble: None,
            },
            latest: (0, 0),
        });
        self.by_peer.insert(segment.destination, index);
        Ok(())
    }

    /// Ends the files.
    ///
    /// # Errors
    /// When one can't be written.
    pub fn finish(self) -> io::Result<Vec<Followed>> {
        self.connections
            .into_iter()
            .map(Connection::finish)
            .collect()
    }
}

#[derive(Debug)]
struct Connection {
    stream: Stream,
    messages: Messages,
    file: StampsFile,
    followed: Followed,
    /// CLOCK_MONOTONIC ns and Unix ms of what was written last.
    latest: (u64, u64),
}

/// What ends the following of one connection, or of all.
enum Trouble {
    Connection(String),
    File(io::Error),
}

impl Connection {
    fn take(&mut self, segment: Segment<'_>, real_ns: i64, offset: Offset) -> io::Result<()> {
        if self.followed.trouble.is_some() || segment.payload.is_empty() {
            return Ok(());
        }
        match self.follow(segment, real_ns, offset) {
            Ok(()) => Ok(()),
            Err(Trouble::Connection(reason)) => {
                self.followed.trouble = Some(reason);
                Ok(())
            }
            Err(Trouble::File(error)) => Err(error),
        }
    }

    fn follow(
        &mut self,
        segment: Segment<'_>,
        real_ns: i64,
        offset: Offset,
    ) -> Result<(), Trouble> {
        let Self {
            stream,
            messages,
            file,
            followed,
            latest,
        } = self;
        let mut outcome = Ok(());
        stream
            .take(
                segment.sequence,
                segment.payload,
                offset.monotonic_ns(real_ns),
                |bytes, stamp_ns| {
                    if outcome.is_ok() {
                        *latest = (stamp_ns, offset.real_ms(stamp_ns));
                        outcome = written(messages, file, followed, bytes, *latest);
                    }
                },
            )
            .map_err(|gap: Gap| Trouble::Connection(gap.to_string()))?;
        outcome
    }

    fn finish(mut self) -> io::Result<Followed> {
        if self.followed.trouble.is_none() && self.stream.has_gap() {
            self.followed.trouble = Some("packets were missed: the stream has a gap".to_owned());
        }
        let reason = self.followed.trouble.as_deref().unwrap_or_default();
        self.file.end(self.latest.0, self.latest.1, reason)?;
        Ok(self.followed)
    }
}

fn written(
    messages: &mut Messages,
    file: &mut StampsFile,
    followed: &mut Followed,
    bytes: &[u8],
    (stamp_ns, unix_ms): (u64, u64),
) -> Result<(), Trouble> {
    let was_open = messages.is_open();
    let mut outcome = Ok(());
    messages
        .take(bytes, stamp_ns, |message| {
            if outcome.is_ok() {
                followed.messages += 1;
                outcome = file.message(message.opcode, message.payload, message.stamp_ns, unix_ms);
            }
        })
        .map_err(|error: MessagesError| Trouble::Connection(error.to_string()))?;
    if messages.is_open() && !was_open {
        outcome = outcome.and_then(|()| file.connected(stamp_ns, unix_ms));
    }
    outcome.map_err(Trouble::File)
}
