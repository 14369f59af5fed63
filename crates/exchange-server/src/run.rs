//! One run, from the first socket to the totals.

mod wait;

use crate::cli::{Cli, DeflateKind};
use crate::output::Output;
use anyhow::{Context, Result};
use feedbench_exchange_server::announcement::{Beginning, End};
use feedbench_exchange_server::certificates::{usual_folder, Certificates};
use feedbench_exchange_server::front::{bind, Front, FrontConfig, Limits, Sender};
use feedbench_exchange_server::namespace::{self, Child};
use feedbench_exchange_server::personalities::PORTS;
use feedbench_exchange_server::runtime::{self, Commands, RuntimeError};
use feedbench_exchange_server::seam::DoorId;
use feedbench_exchange_server::signals::Signals;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::sync::Arc;

/// Runs until a signal, a limit or the end of the command in the namespace.
pub fn run(cli: &Cli) -> Result<ExitCode> {
    let config = cli.runtime()?;
    let seed = config.market.as_ref().map(|market| market.seed);
    let ledger = config.ledger.clone();
    let signals = Signals::block().context("cannot wait for signals")?;
    raise_file_limit();
    let certificates = certificates(cli)?;
    let command_json =
        tempfile::NamedTempFile::new().context("cannot make a file for --json-file")?;
    let json_file = match (&cli.json_file, cli.namespace) {
        (None, true) => Some(command_json.path()),
        (file, _) => file.as_deref(),
    };
    let mut output = Output::new(cli.json, json_file, !cli.namespace)?;

    let places = cli.places();
    let mut beginning = Beginning::new(seed, ledger.clone());
    if let (true, Some(certificates)) = (cli.namespace, &certificates) {
        let plan = namespace::Plan {
            places: &places,
            authority: &certificates.authority,
            trust_files: &cli.trust_file,
            command: &cli.command[0],
        };
        plan.enter()?;
        beginning.hosts = plan.hosts().into_iter().collect();
    }
    let dialects = cli.dialects();
    let mut doors = doors(cli, places.len() + dialects.len())?;
    let fix_doors = doors.split_off(places.len());
    for ((listener, _), place) in doors.iter().zip(&places) {
        beginning.door(place.name, listener.local_addr()?, certificates.is_some());
    }
    for ((listener, _), dialect) in fix_doors.iter().zip(&dialects) {
        let address = listener.local_addr()?;
        beginning.fix_door(dialect.exchange(), address, certificates.is_some());
    }
    if cli.namespace {
        doors.extend(real_doors(places.len())?);
    }
    beginning.ca = certificates.as_ref().map(|it| it.authority.clone());

    let handle = runtime::spawn(config)?;
    let commands = handle.commands();
    let front = FrontConfig {
        doors,
        fix_doors,
        tls: certificates
            .as_ref()
            .map(Certificates::server_config)
            .transpose()?,
        handshake_delay: handle.handshake_delay(),
        deflate: cli.deflate.map(DeflateKind::agreement),
        limits: Limits::default(),
        avoid_cpu: cli.cpu,
    };
    let front = Front::start(front, sender(&commands)).context("cannot start the front")?;
    output.write(&beginning.table(), &beginning)?;
    let child = match (cli.command.is_empty(), &certificates, json_file) {
        (false, Some(certificates), Some(json)) => {
            Some(Child::start(&cli.command, &certificates.authority, json)?)
        }
        _ => None,
    };

    // The pipe is closed when the market thread has ended, for whatever reason.
    let (pipe, held) =
        nix::unistd::pipe2(nix::fcntl::OFlag::O_CLOEXEC).context("cannot make a pipe")?;
    let market = std::thread::spawn(move || {
        let _held = held;
        handle.join()
    });
    let status = wait::until_ended(&signals, pipe.as_fd(), &commands, child)?;
    let totals = market.join().unwrap_or(Err(RuntimeError::Panicked));
    front.stop();
    let totals = totals?;
    let end = End::new(&totals, ledger.as_ref());
    output.write(&end.text(), &end)?;
    Ok(status.map_or(ExitCode::SUCCESS, ExitCode::from))
}

/// Every connection takes a file descriptor, and the usual limit is 1024.
fn raise_file_limit() {
    use nix::sys::resource::{getrlimit, setrlimit, Resource};
    if let Ok((_, most)) = getrlimit(Resource::RLIMIT_NOFILE) {
        // Without it fewer clients find a place; the listener says so when it comes to that.
        let _ = setrlimit(Resource::RLIMIT_NOFILE, most, most);
    }
}

fn sender(commands: &Commands) -> Sender {
    let commands = commands.clone();
    // A command that comes back is dropped, and with it the way to answer: the front says that the exchange closes.
    Arc::new(move |command| drop(commands.send(command)))
}

fn certificates(cli: &Cli) -> Result<Option<Certificates>> {
    if cli.no_tls {
        return Ok(None);
    }
    let folder = match &cli.certificates {
        Some(folder) => folder.clone(),
        None => usual_folder()?,
    };
    Ok(Some(Certificates::in_folder(&folder, cli.host)?))
}

/// As many as there are places, where the command line says.
fn doors(cli: &Cli, count: usize) -> Result<Vec<(TcpListener, DoorId)>> {
    let mut doors = Vec::new();
    for number in 0u16..count as u16 {
        let port = match cli.port {
            0 => 0,
            first => first.checked_add(number).with_context(|| {
                format!("--port {first} leaves no room for the others below 65536")
            })?,
        };
        doors.push((bind(SocketAddr::new(cli.host, port))?, DoorId(number)));
    }
    Ok(doors)
}

/// In a namespace: the exchanges' own ports, each place on an address of its own.
fn real_doors(count: usize) -> Result<Vec<(TcpListener, DoorId)>> {
    let numbers = 0u8..count as u8;
    let addresses = numbers.flat_map(|number| PORTS.map(|port| (number, port)));
    addresses
        .map(|(number, port)| {
            let address = SocketAddr::new(namespace::address(number).into(), port);
            Ok((bind(address)?, DoorId(number.into())))
        })
        .collect()
}
