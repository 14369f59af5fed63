//! One connection, from its first byte on: TLS or not, HTTP/1.1 or HTTP/2.

use super::patience::Patience;
use super::service::Service;
use super::stream::Stream;
use super::Shared;
use crate::seam::{Command, DoorId};
use feedbench_exchange::personality::Transport;
use feedbench_wire::handshake::HEAD_LIMIT_BYTES;
use hyper::server::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::Interest;
use tokio::net::TcpStream;

/// The first byte of a TLS record that carries a handshake.
const TLS_HANDSHAKE: u8 = 0x16;
/// How HTTP/2 without TLS begins; no HTTP/1 method does.
const HTTP_2_PREFACE: &[u8] = b"PRI";
/// Between looks at a socket that holds too little to tell.
const LOOK_AGAIN: Duration = Duration::from_millis(5);
/// Requests at once on one HTTP/2 connection, the usual limit of servers.
const STREAMS: u32 = 100;

/// Serves a connection until it ends or is handed over. What goes wrong is the client's: nobody here needs to know.
pub async fn serve(
    socket: TcpStream,
    peer: IpAddr,
    (door, transport): (DoorId, Transport),
    patience: Patience,
    shared: Arc<Shared>,
) {
    if transport == Transport::Fix {
        let limit = shared.limits.first_request;
        // Dropped with everything that belongs to it when the client says nothing.
        let _ = tokio::time::timeout(limit, hand_over(socket, door, &shared)).await;
        return;
    }
    let patience = Arc::new(patience);
    let service = Service::new(shared.clone(), door, peer, patience.clone());
    tokio::select! {
        // An error ends this connection; the client has had its HTTP answer or TLS alert where there is one to give.
        _ = converse(socket, service, &shared) => {}
        () = patience.exhausted(shared.limits.first_request) => {}
    }
}

/// FIX has no handshake of its own below its sessions, which are the market thread's: only TLS is done here.
async fn hand_over(
    socket: TcpStream,
    door: DoorId,
    shared: &Shared,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    socket.set_nodelay(true)?;
    let stream = match (first_bytes(&socket).await?, &shared.tls) {
        (Beginning::Tls, None) => return Ok(()),
        (Beginning::Tls, Some(acceptor)) => Stream::Tls(Box::new(acceptor.accept(socket).await?)),
        _ => Stream::Plain(socket),
    };
    (shared.send)(Command::Connect(door, stream.into_established(Vec::new())?));
    Ok(())
}

async fn converse(
    socket: TcpStream,
    service: Service,
    shared: &Shared,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    socket.set_nodelay(true)?;
    let (stream, http2) = match (first_bytes(&socket).await?, &shared.tls) {
        (Beginning::Tls, None) => return Ok(()),
        (Beginning::Tls, Some(acceptor)) => {
            let stream = acceptor.accept(socket).await?;
            let http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
            (Stream::Tls(Box::new(stream)), http2)
        }
        (Beginning::Http2, _) => (Stream::Plain(socket), true),
        (Beginning::Http1, _) => (Stream::Plain(socket), false),
    };
    let io = TokioIo::new(stream);
    if http2 {
        http2::Builder::new(TokioExecutor::new())
            .timer(TokioTimer::new())
            .max_concurrent_streams(STREAMS)
            .max_header_list_size(HEAD_LIMIT_BYTES as u32)
            .keep_alive_interval(shared.limits.idle)
            .serve_connection(io, service)
            .await?;
    } else {
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(shared.limits.idle)
            .max_buf_size(HEAD_LIMIT_BYTES)
            // A client that has said all it will still wants its answer.
            .half_close(true)
            .serve_connection(io, service)
            .with_upgrades()
            .await?;
    }
    Ok(())
}

enum Beginning {
    Tls,
    Http1,
    Http2,
}

/// Looks at the first bytes without taking them.
async fn first_bytes(socket: &TcpStream) -> io::Result<Beginning> {
    let mut bytes = [0; HTTP_2_PREFACE.len()];
    loop {
        let count = socket.peek(&mut bytes).await?;
        match &bytes[..count] {
            [] => return Err(io::ErrorKind::UnexpectedEof.into()),
            [TLS_HANDSHAKE, ..] => return Ok(Beginning::Tls),
            HTTP_2_PREFACE => return Ok(Beginning::Http2),
            seen if HTTP_2_PREFACE.starts_with(seen) => {
                // What is there stays readable, so waiting for readiness would not wait.
                if socket.ready(Interest::READABLE).await?.is_read_closed() {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                tokio::time::sleep(LOOK_AGAIN).await;
            }
            _ => return Ok(Beginning::Http1),
        }
    }
}
