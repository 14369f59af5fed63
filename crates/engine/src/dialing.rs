//! Sockets on their way to a server, from as many local addresses as it takes.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use crate::opening::{connect_error, OpenError};
use crate::system::{check, set_congestion_control, set_option};

/// The last of the addresses 127.0.0.x that connections may come from. All of 127.0.0.0/8 is this machine.
const LAST_ALIAS: u8 = 250;

/// Where connections come from. One address has about 28,000 ports for connections to one server, fewer while closed
/// ones wait for their end; on loopback the next address then takes over.
#[derive(Debug, Default)]
pub struct Sources {
    /// 0: the system's choice; x: 127.0.0.x, since the ones before had no port left.
    alias: u8,
}

impl Sources {
    /// A non-blocking socket on its way to `address`, without Nagle's delay.
    pub fn connect(&mut self, address: SocketAddr) -> Result<OwnedFd, OpenError> {
        loop {
            let source = (self.alias > 0).then(|| Ipv4Addr::new(127, 0, 0, self.alias));
            match connect(address, source) {
                Err(OpenError::Connect { error, .. })
                    if error.kind() == io::ErrorKind::AddrNotAvailable
                        && is_loopback(address)
                        && self.alias < LAST_ALIAS =>
                {
                    // 127.0.0.1 is what the system chose before.
                    self.alias = self.alias.max(1) + 1;
                }
                // The next time the first address may have ports again.
                Err(error) => {
                    self.alias = 0;
                    return Err(error);
                }
                outcome => return outcome,
            }
        }
    }
}

fn is_loopback(address: SocketAddr) -> bool {
    matches!(address, SocketAddr::V4(four) if four.ip().is_loopback())
}

/// A non-blocking socket on its way to `address`, from `source` or from where the system likes.
pub fn connect(address: SocketAddr, source: Option<Ipv4Addr>) -> Result<OwnedFd, OpenError> {
    let family = if address.is_ipv4() {
        libc::AF_INET
    } else {
        libc::AF_INET6
    };
    let kind = libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: no pointers; the descriptor that comes back is ours alone.
    let socket = unsafe {
        let descriptor = check(libc::socket(family, kind, 0)).map_err(OpenError::Socket)?;
        OwnedFd::from_raw_fd(descriptor)
    };
    set_option(socket.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_NODELAY, 1)
        .map_err(OpenError::Socket)?;
    set_congestion_control(socket.as_raw_fd());
    if let Some(source) = source {
        bind(socket.as_raw_fd(), source).map_err(|error| connect_error(address, error))?;
    }
    match connect_socket(socket.as_raw_fd(), address) {
        Ok(()) => Ok(socket),
        Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => Ok(socket),
        Err(error) => Err(connect_error(address, error)),
    }
}

/// Gives a socket its local address; the port is chosen at `connect`, so that it only has to be free for this server.
fn bind(socket: RawFd, source: Ipv4Addr) -> io::Result<()> {
    set_option(socket, libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT, 1)?;
    let name = libc::sockaddr_in {
        sin_family: libc::AF_INET as libc::sa_family_t,
        sin_port: 0,
        sin_addr: libc::in_addr {
            s_addr: u32::from_ne_bytes(source.octets()),
        },
        sin_zero: [0; 8],
    };
    let size = size_of_val(&name) as libc::socklen_t;
    // SAFETY: the pointer and the size describe `name`.
    check(unsafe { libc::bind(socket, (&raw const name).cast(), size) }).map(drop)
}

fn connect_socket(socket: RawFd, address: SocketAddr) -> io::Result<()> {
    let status = match address {
        SocketAddr::V4(four) => {
            let name = libc::sockaddr_in {
                sin_family: libc::AF_INET as libc::sa_family_t,
                sin_port: four.port().to_be(),
                sin_addr: libc::in_addr {
                    s_addr: u32::from_ne_bytes(four.ip().octets()),
                },
                sin_zero: [0; 8],
            };
            // SAFETY: the pointer and the size describe `name`.
            unsafe {
                libc::connect(
                    socket,
                    (&raw const name).cast(),
                    size_of_val(&name) as libc::socklen_t,
                )
            }
        }
        SocketAddr::V6(six) => {
            let name = libc::sockaddr_in6 {
                sin6_family: libc::AF_INET6 as libc::sa_family_t,
                sin6_port: six.port().to_be(),
                sin6_flowinfo: six.flowinfo(),
                sin6_addr: libc::in6_addr {
                    s6_addr: six.ip().octets(),
                },
                sin6_scope_id: six.scope_id(),
            };
            // SAFETY: the pointer and the size describe `name`.
            unsafe {
                libc::connect(
                    socket,
                    (&raw const name).cast(),
                    size_of_val(&name) as libc::socklen_t,
                )
            }
        }
    };
    check(status).map(drop)
}
