//! The least that opening WebSocket connections can cost: one request for all, and an answer that is not looked at.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd};

use crate::clock::{Clock, MonotonicClock};
use crate::dialing::connect;
use crate::handshakes::{reset_on_close, Handshakes};
use crate::raw_loop::upgrade_request;
use crate::transport::{receive_now, send_now, Epoll, Ready, Transport, Wait};

/// Opens and resets connections for `length_ns`, `at_once` of them under way.
pub fn run(
    address: SocketAddr,
    path: &str,
    at_once: usize,
    length_ns: u64,
) -> io::Result<Handshakes> {
    let handshake = upgrade_request(&address.to_string(), path)?;
    let mut epoll = Epoll::new()?;
    let mut sockets: Vec<Option<OwnedFd>> = (0..at_once).map(|_| None).collect();
    let mut free: Vec<u32> = (0..at_once as u32).collect();
    let mut ready: Vec<Ready> = Vec::new();
    let mut scratch = [0; 4096];
    let began_ns = MonotonicClock.now_ns();
    let mut completed = 0;
    loop {
        let elapsed_ns = MonotonicClock.now_ns() - began_ns;
        if elapsed_ns >= length_ns {
            return Ok(Handshakes {
                completed,
                elapsed_ns,
            });
        }
        for token in free.drain(..) {
            let socket = connect(address, None).map_err(io::Error::other)?;
            epoll.add(token, socket.as_raw_fd())?;
            // On loopback the connection stands when `connect` returns.
            send_now(socket.as_raw_fd(), handshake.request())?;
            sockets[token as usize] = Some(socket);
        }
        ready.clear();
        epoll.ready(Wait::Sleep, &mut ready)?;
        for &Ready { token, .. } in &ready {
            let Some(socket) = &sockets[token as usize] else {
                continue;
            };
            match receive_now(socket.as_raw_fd(), &mut scratch) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(_) => {
                    completed += 1;
                    reset_on_close(socket.as_raw_fd())?;
                    sockets[token as usize] = None;
                    free.push(token);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
    }
}
