//! Listening sockets.

use super::patience::Patience;
use super::{connection, Shared};
use crate::seam::DoorId;
use feedbench_exchange::personality::Transport;
use socket2::{Domain, Protocol, Socket, Type};
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

/// Connections that may wait in the kernel; it may allow fewer (`net.core.somaxconn`).
const BACKLOG: i32 = 4_096;
/// After an accept that failed for want of something, such as file descriptors.
const PAUSE: Duration = Duration::from_millis(100);

/// Why a socket does not listen.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// Another process has it.
    #[error("port {port} on {host} is taken; `ss -ltnp 'sport = :{port}'` says by whom; --port 0 takes free ones", host = .0.ip(), port = .0.port())]
    Taken(SocketAddr),
    /// A port below 1024, or whatever this machine reserves.
    #[error("port {port} on {host} needs root here; choose one above 1023, or --port 0", host = .0.ip(), port = .0.port())]
    Reserved(SocketAddr),
    /// An address that this machine does not have.
    #[error("this machine has no address {}; `ip address` lists those it has", .0.ip())]
    NoSuchAddress(SocketAddr),
    /// Anything else.
    #[error("cannot listen on {0}: {1}")]
    Other(SocketAddr, io::Error),
}

/// Binds and listens. Port 0 takes a free one.
pub fn bind(address: SocketAddr) -> Result<TcpListener, BindError> {
    let listen = || {
        let socket = Socket::new(
            Domain::for_address(address),
            Type::STREAM,
            Some(Protocol::TCP),
        )?;
        // A port whose old connections linger may be bound again; one that somebody listens on may not.
        socket.set_reuse_address(true)?;
        socket.bind(&address.into())?;
        socket.listen(BACKLOG)?;
        Ok(socket.into())
    };
    listen().map_err(|error: io::Error| match error.kind() {
        io::ErrorKind::AddrInUse => BindError::Taken(address),
        io::ErrorKind::PermissionDenied => BindError::Reserved(address),
        io::ErrorKind::AddrNotAvailable => BindError::NoSuchAddress(address),
        _ => BindError::Other(address, error),
    })
}

/// Accepts until the runtime ends. While too many handshakes are open, clients wait in the kernel's queue.
pub async fn accept(
    listener: tokio::net::TcpListener,
    (door, transport): (DoorId, Transport),
    shared: Arc<Shared>,
) {
    let mut complained = false;
    loop {
        let Ok(permit) = shared.handshakes.clone().acquire_owned().await else {
            return;
        };
        match listener.accept().await {
            Ok((socket, peer)) => {
                let patience = Patience::new(permit);
                tokio::spawn(connection::serve(
                    socket,
                    peer.ip(),
                    (door, transport),
                    patience,
                    shared.clone(),
                ));
            }
            // The client gave up while it waited.
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
            Err(error) => {
                if !std::mem::replace(&mut complained, true) {
                    crate::say(&format!(
                        "cannot accept a connection: {error}; trying again (too many files: `ulimit -n`)"
                    ));
                }
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}
