//! A market thread, and clients that come through a front of a few lines.

use feedbench_exchange::ledger::{Ledger, Sent};
use feedbench_exchange::market::{Arrivals, MarketConfig};
use feedbench_exchange::personality::binance::Binance;
use feedbench_exchange::personality::Response;
use feedbench_exchange_server::runtime::{
    spawn, Commands, Limit, Pacing, RuntimeConfig, RuntimeHandle, Totals,
};
use feedbench_exchange_server::seam::{Command, DoorId, Established, OwnedRequest, Ticket};
use feedbench_wire::deflate::Agreement;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::time::Duration;
use tokio::sync::oneshot;
use tungstenite::protocol::{Role, WebSocketConfig};
use tungstenite::{Error, Message, WebSocket};

/// Long enough for any machine: only a test that fails waits so long.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// One symbol, events at fixed distances.
pub fn market(rate_per_s: f64) -> MarketConfig {
    let mut config = MarketConfig::new(7, 2, Arrivals::Constant { rate_per_s });
    config.mix.resting_orders = 200;
    config
}

/// Binance's door alone, a fixed date, a ledger, so many events as fast as they go once one client has subscribed.
pub fn unpaced(events: u64) -> RuntimeConfig {
    let mut config = RuntimeConfig::new(Some(market(1_000.0))).door(Binance::new);
    config.pacing = Pacing::Unpaced;
    config.opened_unix_ns = Some(1_618_677_817_000_000_000);
    config.limit = Limit {
        events: Some(events),
        ..Limit::default()
    };
    config.wait_for_subscribers = 1;
    config
}

pub struct Rig {
    /// What connections from now on have agreed on.
    pub deflate: Option<Agreement>,
    handle: RuntimeHandle,
    commands: Commands,
    directory: tempfile::TempDir,
}

/// What a run left behind.
pub struct Left {
    pub totals: Totals,
    bytes: Vec<u8>,
}

impl Left {
    pub fn ledger(&self) -> Ledger<'_> {
        Ledger::read(&self.bytes).unwrap()
    }

    pub fn sent(&self) -> Vec<Sent> {
        self.ledger().messages().collect()
    }

    pub fn streams(&self) -> BTreeMap<u32, String> {
        self.ledger().streams().clone()
    }
}

impl Rig {
    pub fn start(mut config: RuntimeConfig) -> Self {
        let directory = tempfile::tempdir().unwrap();
        config.ledger = Some(directory.path().join("ledger.fbl"));
        let handle = spawn(config).unwrap();
        Self {
            deflate: None,
            commands: handle.commands(),
            handle,
            directory,
        }
    }

    pub fn ledger_path(&self) -> PathBuf {
        self.directory.path().join("ledger.fbl")
    }

    pub fn commands(&self) -> Commands {
        self.commands.clone()
    }

    pub fn open(&self, door: u16, target: &str) -> Result<Ticket, Response> {
        let (verdict, answer) = oneshot::channel();
        let command = Command::Open {
            door: DoorId(door),
            request: request(target),
            deflate: self.deflate,
            verdict,
        };
        self.commands.send(command).unwrap();
        answer.blocking_recv().unwrap()
    }

    pub fn attach(&self, ticket: Ticket, socket: TcpStream, leftover: &[u8]) {
        self.attach_tls(ticket, socket, None, leftover);
    }

    pub fn attach_tls(
        &self,
        ticket: Ticket,
        socket: TcpStream,
        tls: Option<Box<rustls::ServerConnection>>,
        leftover: &[u8],
    ) {
        socket.set_nonblocking(true).unwrap();
        let established = Established {
            socket,
            tls,
            leftover: leftover.to_vec(),
        };
        self.commands
            .send(Command::Attach(ticket, established))
            .unwrap();
    }

    /// A client whose bytes the test reads itself.
    pub fn connect_raw(&self, door: u16, target: &str) -> TcpStream {
        let ticket = self.open(door, target).unwrap();
        let (client, server) = pair();
        self.attach(ticket, server, b"");
        client
    }

    pub fn connect(&self, target: &str) -> Client {
        self.connect_to(0, target)
    }

    pub fn connect_to(&self, door: u16, target: &str) -> Client {
        client(self.connect_raw(door, target))
    }

    pub fn rest(&self, target: &str) -> Response {
        let (answer, response) = oneshot::channel();
        let command = Command::Rest {
            door: DoorId(0),
            request: request(target),
            answer,
        };
        self.commands.send(command).unwrap();
        response.blocking_recv().unwrap()
    }

    /// Waits for the end that a limit brings.
    pub fn wait(self) -> Left {
        let totals = self.handle.join().unwrap();
        let bytes = std::fs::read(self.directory.path().join("ledger.fbl")).unwrap();
        Left { totals, bytes }
    }

    pub fn stop(self) -> Left {
        self.commands.send(Command::Stop).unwrap();
        self.wait()
    }
}

pub fn request(target: &str) -> OwnedRequest {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    OwnedRequest {
        method: "GET".to_owned(),
        path: path.to_owned(),
        query: query.to_owned(),
        headers: Vec::new(),
        peer: 1,
    }
}

/// Both ends of a connection over loopback; the client's first.
pub fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    client.set_read_timeout(Some(PATIENCE)).unwrap();
    client.set_nodelay(true).unwrap();
    (client, listener.accept().unwrap().0)
}

pub fn client<S: Read + Write>(socket: S) -> Client<S> {
    let config = WebSocketConfig::default();
    Client(WebSocket::from_raw_socket(
        socket,
        Role::Client,
        Some(config),
    ))
}

/// An independent client.
pub struct Client<S = TcpStream>(pub WebSocket<S>);

impl<S: Read + Write> Client<S> {
    /// The next message or how it ended.
    pub fn next(&mut self) -> Result<Message, Error> {
        self.0.read()
    }

    pub fn text(&mut self) -> String {
        loop {
            match self.next().unwrap() {
                Message::Text(text) => return text.to_string(),
                Message::Ping(_) | Message::Pong(_) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    pub fn send(&mut self, text: &str) {
        self.0.send(Message::text(text)).unwrap();
    }

    /// All texts up to the end, and the status code of the close frame, if there was one.
    pub fn rest(&mut self) -> (Vec<String>, Option<u16>) {
        let (mut texts, mut code) = (Vec::new(), None);
        loop {
            match self.next() {
                Ok(Message::Text(text)) => texts.push(text.to_string()),
                Ok(Message::Close(frame)) => code = frame.map(|frame| u16::from(frame.code)),
                Ok(_) => {}
                Err(Error::Io(error)) if error.kind() == std::io::ErrorKind::WouldBlock => {
                    panic!("nothing came for {PATIENCE:?}")
                }
                Err(_) => return (texts, code),
            }
        }
    }
}
