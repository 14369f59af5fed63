//! The ledger's own thread, so that the disk never delays a message.

use feedbench_exchange::ledger::{Header, LedgerWriter, Sent};
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{channel, Receiver, Sender, TryRecvError};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

/// Records that change hands at once: about 0.1 ms of 10^7 records/s, and the sender allocates or locks once for each.
const CHUNK_RECORDS: usize = 1_024;
/// How long the writer sleeps when nothing is there. It is never woken: a wake-up would cost the sender a system call.
const NAP: Duration = Duration::from_millis(2);

/// What goes into the ledger.
enum Entry {
    Begin(Header),
    Name(u32, String),
    Sent(Sent),
}

/// The market thread's end.
pub struct LedgerThread {
    chunk: Vec<Entry>,
    full: Sender<Vec<Entry>>,
    empty: Receiver<Vec<Entry>>,
    written: Arc<AtomicU64>,
    handed_over: u64,
    backlog: u64,
    thread: JoinHandle<io::Result<()>>,
}

/// What became of a ledger.
pub struct LedgerTotals {
    /// Messages and names, the end not counted.
    pub records: u64,
    /// Most that waited for the disk at a time.
    pub backlog: u64,
}

impl LedgerThread {
    /// Creates the file and starts its thread.
    pub fn start(path: &Path) -> io::Result<Self> {
        let file = File::create(path)?;
        let (full, to_write) = channel();
        let (written_chunks, empty) = channel();
        let written = Arc::new(AtomicU64::new(0));
        let counter = written.clone();
        let thread = std::thread::Builder::new()
            .name("ledger".to_owned())
            .spawn(move || write_all(file, &to_write, &written_chunks, &counter))?;
        Ok(Self {
            chunk: Vec::with_capacity(CHUNK_RECORDS),
            full,
            empty,
            written,
            handed_over: 0,
            backlog: 0,
            thread,
        })
    }

    /// The market opens. Comes before everything else.
    pub fn begin(&mut self, header: Header) {
        self.push(Entry::Begin(header));
        self.hand_over();
    }

    /// A stream's name, before its first message.
    pub fn name_stream(&mut self, stream: u32, name: String) {
        self.push(Entry::Name(stream, name));
    }

    /// A message. Allocates once in [`CHUNK_RECORDS`] at most.
    #[inline]
    pub fn append(&mut self, sent: Sent) {
        self.push(Entry::Sent(sent));
    }

    #[inline]
    fn push(&mut self, entry: Entry) {
        self.chunk.push(entry);
        if self.chunk.len() == CHUNK_RECORDS {
            self.hand_over();
        }
    }

    /// Hands over what there is, so that a crash loses little.
    pub fn hand_over(&mut self) {
        if self.chunk.is_empty() {
            return;
        }
        let empty = self
            .empty
            .try_recv()
            .unwrap_or_else(|_| Vec::with_capacity(CHUNK_RECORDS));
        let chunk = std::mem::replace(&mut self.chunk, empty);
        self.handed_over += chunk.len() as u64;
        let waiting = self.handed_over - self.written.load(Ordering::Relaxed);
        self.backlog = self.backlog.max(waiting);
        // Fails only when the writer ended early: `has_failed` tells, and `finish` says why.
        let _ = self.full.send(chunk);
    }

    /// True once the disk has refused something.
    pub fn has_failed(&self) -> bool {
        self.thread.is_finished()
    }

    /// Writes the end record and waits for the disk.
    pub fn finish(mut self) -> io::Result<LedgerTotals> {
        self.hand_over();
        drop(self.full);
        self.thread
            .join()
            .unwrap_or_else(|_| Err(io::Error::other("the ledger's thread panicked")))?;
        Ok(LedgerTotals {
            // The header is no record.
            records: self.handed_over - 1,
            backlog: self.backlog,
        })
    }
}

fn write_all(
    file: File,
    full: &Receiver<Vec<Entry>>,
    empty: &Sender<Vec<Entry>>,
    written: &AtomicU64,
) -> io::Result<()> {
    let mut file = Some(file);
    let mut writer: Option<LedgerWriter<File>> = None;
    loop {
        let mut chunk = match full.try_recv() {
            Ok(chunk) => chunk,
            Err(TryRecvError::Empty) => {
                if let Some(writer) = &mut writer {
                    writer.flush()?;
                }
                std::thread::sleep(NAP);
                continue;
            }
            Err(TryRecvError::Disconnected) => break,
        };
        written.fetch_add(chunk.len() as u64, Ordering::Relaxed);
        for entry in chunk.drain(..) {
            match (entry, &mut writer) {
                (Entry::Begin(header), _) => {
                    let file = file.take().expect("a ledger begins once");
                    writer = Some(LedgerWriter::new(file, &header)?);
                }
                (Entry::Name(stream, name), Some(writer)) => writer.name_stream(stream, &name)?,
                (Entry::Sent(sent), Some(writer)) => writer.append(&sent)?,
                (Entry::Name(..) | Entry::Sent(_), None) => {
                    unreachable!("nothing is sent before the market opens")
                }
            }
        }
        // Gone only when the market thread is.
        let _ = empty.send(chunk);
    }
    match writer {
        Some(writer) => writer.finish().map(drop),
        None => Ok(()),
    }
}
