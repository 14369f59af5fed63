//! Connections over loopback, with a reader on another CPU that drains them.

use crate::runtime::handle::Commands;
use crate::runtime::market_thread::pin;
use crate::runtime::poller::{Poller, Ready};
use crate::seam::{Command, DoorId, Established, OwnedRequest};
use rustix::event::{eventfd, EventfdFlags};
use rustix::net::RecvFlags;
use std::io;
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread::JoinHandle;
use tokio::sync::oneshot;

/// What each subscriber asks for.
pub const STREAMS: &str = "/stream?streams=btcusdt@trade/btcusdt@bookTicker";
/// How often the reader looks whether it is to stop.
const LOOK_NS: u64 = 50_000_000;

/// Opens a connection over a socket that is there already.
pub fn connect(commands: &Commands, socket: TcpStream) {
    let (verdict, answer) = oneshot::channel();
    let open = Command::Open {
        door: DoorId(0),
        request: request(),
        deflate: None,
        verdict,
    };
    commands.send(open).expect("it runs");
    let ticket = answer
        .blocking_recv()
        .expect("it answers")
        .expect("accepted");
    commands
        .send(Command::Attach(ticket, established(socket)))
        .expect("it runs");
}

pub fn request() -> OwnedRequest {
    let (path, query) = STREAMS.split_once('?').expect("it has one");
    OwnedRequest {
        method: "GET".to_owned(),
        path: path.to_owned(),
        query: query.to_owned(),
        headers: Vec::new(),
        peer: 0,
    }
}

pub fn established(socket: TcpStream) -> Established {
    Established {
        socket,
        tls: None,
        leftover: Vec::new(),
    }
}

/// Clients' ends and the exchange's ends of so many connections.
pub fn pairs(count: usize) -> io::Result<(Vec<TcpStream>, Vec<TcpStream>)> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let pair = |_| Ok((TcpStream::connect(address)?, listener.accept()?.0));
    (0..count).map(pair).collect()
}

/// Drains all connections on a CPU of its own.
pub struct Reader {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Reader {
    /// Reads from now on.
    pub fn start(ends: Vec<TcpStream>, cpu: usize) -> io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let drain = move || {
            // A reader on another CPU than wished still reads.
            let _ = pin(cpu);
            drain(&ends, &stopped).unwrap_or_else(|error| panic!("the reader failed: {error}"));
        };
        let thread = std::thread::Builder::new().spawn(drain)?;
        Ok(Self { stop, thread })
    }

    /// Reads no more.
    pub fn stop(self) {
        self.stop.store(true, Ordering::Relaxed);
        // A panic of the reader has been told on stderr.
        let _ = self.thread.join();
    }
}

fn drain(ends: &[TcpStream], stopped: &AtomicBool) -> io::Result<()> {
    let bell = eventfd(0, EventfdFlags::NONBLOCK)?;
    let mut poller = Poller::new(&bell)?;
    for (socket, token) in ends.iter().zip(0..) {
        poller.add(socket, token)?;
    }
    let mut buffer = vec![0_u8; 1 << 18];
    let mut ready: Vec<Ready> = Vec::new();
    while !stopped.load(Ordering::Relaxed) {
        poller.wait(LOOK_NS, &mut ready)?;
        for one in &ready {
            let socket = &ends[one.token as usize];
            while let Ok((1.., _)) = rustix::net::recv(socket, &mut buffer[..], RecvFlags::DONTWAIT)
            {
            }
        }
    }
    Ok(())
}
