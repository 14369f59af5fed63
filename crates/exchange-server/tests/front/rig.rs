//! A front with a stand-in for the market thread, and raw clients.

use feedbench_exchange::personality::Response;
use feedbench_exchange_server::certificates::Certificates;
use feedbench_exchange_server::front::{bind, Front, FrontConfig, Limits};
use feedbench_exchange_server::seam::{Command, DoorId, Established, Ticket};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::Arc;
use std::time::Duration;

/// Far beyond what anything takes here; only a test that fails waits so long.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// What the market thread would have been given.
pub enum Got {
    Attached(Ticket, Established),
    Abandoned(Ticket),
    Connected(DoorId, Established),
}

/// A running front.
pub struct Rig {
    pub address: SocketAddr,
    pub got: Receiver<Got>,
    pub certificates: Certificates,
    front: Option<Front>,
    _folder: tempfile::TempDir,
}

impl Rig {
    pub fn start() -> Self {
        Self::with(|_| {})
    }

    pub fn with(change: impl FnOnce(&mut FrontConfig)) -> Self {
        let (commands, received) = channel();
        let (tell, got) = channel();
        std::thread::spawn(move || stand_in(&received, &tell));
        Self::sending(commands, got, change)
    }

    /// In front of a market thread that has ended.
    pub fn without_market() -> Self {
        let (commands, _) = channel();
        let (_, got) = channel();
        Self::sending(commands, got, |_| {})
    }

    fn sending(
        commands: Sender<Command>,
        got: Receiver<Got>,
        change: impl FnOnce(&mut FrontConfig),
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let host = "127.0.0.1".parse().unwrap();
        let certificates = Certificates::in_folder(folder.path(), host).unwrap();
        let listener = bind(SocketAddr::new(host, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let mut config = FrontConfig {
            doors: vec![(listener, DoorId(3))],
            fix_doors: Vec::new(),
            tls: Some(certificates.server_config().unwrap()),
            handshake_delay: Duration::ZERO,
            deflate: None,
            limits: Limits::default(),
            avoid_cpu: None,
        };
        change(&mut config);
        let front = Front::start(
            config,
            Arc::new(move |command| drop(commands.send(command))),
        );
        Self {
            address,
            got,
            certificates,
            front: Some(front.unwrap()),
            _folder: folder,
        }
    }

    /// A plain connection.
    pub fn connect(&self) -> TcpStream {
        let socket = TcpStream::connect(self.address).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        socket
    }

    /// All that the server says to these bytes until it closes.
    pub fn answer(&self, bytes: &[u8]) -> String {
        let mut socket = self.connect();
        // It may close before it has read everything.
        let _ = socket.write_all(bytes);
        until_closed(socket)
    }

    /// What the market thread got.
    pub fn attached(&self) -> (Ticket, Established) {
        match self.got.recv_timeout(PATIENCE).unwrap() {
            Got::Attached(ticket, established) => (ticket, established),
            _ => panic!("it was abandoned, or is FIX"),
        }
    }

    /// A TLS client's settings, which trust the rig's authority.
    pub fn client_config(&self, protocols: &[&[u8]]) -> rustls::ClientConfig {
        use rustls_pki_types::pem::PemObject;
        let mut roots = rustls::RootCertStore::empty();
        let authority =
            rustls_pki_types::CertificateDer::from_pem_file(&self.certificates.authority);
        roots.add(authority.unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
        config
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        self.front.take().unwrap().stop();
    }
}

/// Reads until the end; a reset is an end, too.
pub fn until_closed(mut socket: TcpStream) -> String {
    let mut answer = Vec::new();
    match socket.read_to_end(&mut answer) {
        Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => panic!("it does not close"),
        _ => String::from_utf8_lossy(&answer).into_owned(),
    }
}

/// One connection's ticket.
pub const TICKET: Ticket = Ticket {
    door: DoorId(3),
    connection: 7,
    generation: 9,
};

fn stand_in(commands: &Receiver<Command>, tell: &Sender<Got>) {
    for command in commands {
        match command {
            Command::Open {
                door,
                request,
                verdict,
                ..
            } => {
                assert_eq!(door, DoorId(3));
                let decided = match request.path.as_str() {
                    "/refused" => Err(Response::new(400, r#"{"reason":"no such stream"}"#)),
                    _ => Ok(TICKET),
                };
                if verdict.send(decided).is_err() {
                    let _ = tell.send(Got::Abandoned(TICKET));
                }
            }
            Command::Attach(ticket, established) => {
                drop(tell.send(Got::Attached(ticket, established)))
            }
            Command::Abandon(ticket) => drop(tell.send(Got::Abandoned(ticket))),
            Command::Rest {
                request, answer, ..
            } => {
                let host = request.headers.iter().find(|(name, _)| name == "host");
                let body = serde_json::json!({
                    "method": request.method, "path": request.path, "query": request.query,
                    "host": host.map(|(_, value)| value), "peer": request.peer,
                });
                let mut response = Response::new(200, body.to_string());
                response
                    .headers
                    .push(("X-MBX-USED-WEIGHT-1M", "5".to_owned()));
                let _ = answer.send(response);
            }
            Command::Connect(door, established) => {
                drop(tell.send(Got::Connected(door, established)))
            }
            Command::Stop => return,
        }
    }
}
