//! How a server was asked to run, and how it ends.

use std::env;
use std::hint;
use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::path::PathBuf;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use socket2::{Domain, Protocol, Socket, Type};

/// Room for connections that wait to be accepted, as many as the kernel grants.
const BACKLOG: i32 = 4096;

/// The command line and the knobs.
#[derive(Clone, Debug)]
pub struct Server {
    /// Where to listen.
    pub address: SocketAddr,
    /// How many threads serve.
    pub threads: usize,
    /// Certificate chain and private key (PEM) when wss is wanted.
    pub tls: Option<(PathBuf, PathBuf)>,
    /// Whether permessage-deflate was switched on or off; `None` leaves the library's default.
    pub deflate: Option<bool>,
    reuse_port: bool,
    delay: Duration,
    log_messages: bool,
}

impl Server {
    /// Reads `--host HOST --port PORT` and the variables `FEEDBENCH_*`; the error is for the user.
    pub fn from_environment() -> Result<Self, String> {
        let given: Vec<String> = env::args().skip(1).collect();
        let [host_flag, host, port_flag, port] = given.as_slice() else {
            return Err("usage: --host HOST --port PORT".to_owned());
        };
        if host_flag != "--host" || port_flag != "--port" {
            return Err("usage: --host HOST --port PORT".to_owned());
        }
        let variable = |name: &str| env::var(format!("FEEDBENCH_{name}")).ok();
        let is = |name: &str, value: &str| variable(name).is_some_and(|set| set == value);
        let file = |name: &str| {
            variable(name)
                .map(PathBuf::from)
                .ok_or(format!("FEEDBENCH_TLS=on wants FEEDBENCH_{name}"))
        };
        Ok(Self {
            address: resolved(host, port)?,
            threads: number(variable("THREADS"), 1)?.max(1) as usize,
            tls: match is("TLS", "on") {
                true => Some((file("TLS_CERTIFICATE")?, file("TLS_KEY")?)),
                false => None,
            },
            deflate: variable("DEFLATE").map(|value| value == "on"),
            reuse_port: is("REUSE_PORT", "on"),
            delay: Duration::from_nanos(number(variable("DELAY_NS"), 0)?),
            log_messages: is("LOG_MESSAGES", "true"),
        })
    }

    /// A listening socket, in blocking mode.
    pub fn listen(&self) -> io::Result<TcpListener> {
        let domain = Domain::for_address(self.address);
        let socket = Socket::new(domain, Type::STREAM, Some(Protocol::TCP))?;
        socket.set_reuse_address(true)?;
        socket.set_reuse_port(self.reuse_port)?;
        socket.bind(&self.address.into())?;
        socket.listen(BACKLOG)?;
        Ok(socket.into())
    }

    /// What the knobs want done before a message is answered: printing it, and spinning for a while.
    #[inline]
    pub fn before_answer(&self, payload: &[u8]) {
        if self.log_messages {
            println!("{}", String::from_utf8_lossy(payload));
        }
        if !self.delay.is_zero() {
            let start = Instant::now();
            while start.elapsed() < self.delay {
                hint::spin_loop();
            }
        }
    }
}

fn resolved(host: &str, port: &str) -> Result<SocketAddr, String> {
    let port: u16 = port.parse().map_err(|_| format!("{port} is no port"))?;
    let mut found = (host, port)
        .to_socket_addrs()
        .map_err(|error| format!("{host}: {error}"))?;
    found.next().ok_or(format!("{host} has no address"))
}

fn number(value: Option<String>, default: u64) -> Result<u64, String> {
    match value {
        None => Ok(default),
        Some(text) => text
            .parse()
            .map_err(|_| format!("{text} is no whole number")),
    }
}

/// Ends the process with status 0 on SIGTERM or SIGINT, for servers whose threads wait in the library.
pub fn end_on_signal() -> io::Result<()> {
    let mut signals = Signals::new([SIGTERM, SIGINT])?;
    thread::spawn(move || {
        signals.forever().next();
        std::process::exit(0);
    });
    Ok(())
}

/// The whole of `main`: reads the command line, runs `serve`, and says on stderr what went wrong.
pub fn run(serve: impl FnOnce(Server) -> Result<(), Box<dyn std::error::Error>>) -> ExitCode {
    let server = match Server::from_environment() {
        Ok(server) => server,
        Err(message) => {
            eprintln!("{message}");
            return ExitCode::from(2);
        }
    };
    let address = server.address;
    match serve(server) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("serving on {address}: {error}");
            ExitCode::FAILURE
        }
    }
}
