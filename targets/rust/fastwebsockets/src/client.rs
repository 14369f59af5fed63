//! Feed client with fastwebsockets, on hyper's connection as its documentation shows.

use std::error::Error;
use std::future::Future;

use fastwebsockets::{FragmentCollector, Frame, OpCode, Payload, WebSocketError};
use feedbench_target::feed::{Abilities, Feed, Kind};
use http_body_util::Empty;
use hyper::body::Bytes;
use hyper::header::{CONNECTION, HOST, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION, UPGRADE};
use hyper::upgrade::Upgraded;
use hyper::Request;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

type Socket = FragmentCollector<TokioIo<Upgraded>>;

/// Runs hyper's connection beside us.
struct Spawn;

impl<F: Future<Output: Send> + Send + 'static> hyper::rt::Executor<F> for Spawn {
    fn execute(&self, connection: F) {
        tokio::spawn(connection);
    }
}

async fn shake_hands(
    feed: &Feed,
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
) -> Result<Socket, Box<dyn Error>> {
    let settings = &feed.settings;
    let request = Request::get(&settings.stream)
        .header(HOST, format!("{}:{}", settings.host, settings.port))
        .header(UPGRADE, "websocket")
        .header(CONNECTION, "upgrade")
        .header(SEC_WEBSOCKET_KEY, fastwebsockets::handshake::generate_key())
        .header(SEC_WEBSOCKET_VERSION, "13")
        .body(Empty::<Bytes>::new())?;
    let (socket, _) = fastwebsockets::handshake::client(&Spawn, request, stream).await?;
    Ok(FragmentCollector::new(socket))
}

async fn connect(feed: &Feed) -> Result<Socket, Box<dyn Error>> {
    let settings = &feed.settings;
    let stream = TcpStream::connect((settings.host.as_str(), settings.port)).await?;
    if !settings.is_encrypted {
        return shake_hands(feed, stream).await;
    }
    let connector = TlsConnector::from(settings.tls());
    let name = settings.host.clone().try_into()?;
    shake_hands(feed, connector.connect(name, stream).await?).await
}

/// The peer's close frame, as its payload stands on the wire.
fn closed(feed: &Feed, payload: &[u8]) -> ! {
    match payload {
        [high, low, reason @ ..] => feed.closed(
            u16::from_be_bytes([*high, *low]),
            &String::from_utf8_lossy(reason),
        ),
        _ => feed.closed(1005, ""),
    }
}

async fn follow(feed: &Feed, socket: &mut Socket) -> Result<(), WebSocketError> {
    for subscription in feed.settings.subscriptions() {
        let message = Frame::text(Payload::Borrowed(subscription.as_bytes()));
        socket.write_frame(message).await?;
    }
    let mut is_closing = false;
    loop {
        let before = feed.settings.stamp_before.then(|| feed.now());
        let asked = tokio::select! {
            biased;
            frame = socket.read_frame() => {
                let at = before.unwrap_or_else(|| feed.now());
                let frame = frame?;
                match frame.opcode {
                    OpCode::Text => feed.record(at, Kind::Text, &frame.payload),
                    OpCode::Binary => feed.record(at, Kind::Binary, &frame.payload),
                    OpCode::Close => closed(feed, &frame.payload),
                    _ => {} // a ping has been answered
                }
                false
            }
            () = feed.asked_to_end(), if !is_closing => true,
        };
        if asked {
            is_closing = true;
            socket.write_frame(Frame::close(1000, b"")).await?;
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let abilities = Abilities {
        stamp_before: true,
        ..Abilities::default()
    };
    let feed = Feed::open("rust/fastwebsockets", abilities);
    let mut socket = match connect(&feed).await {
        Ok(socket) => socket,
        Err(error) => feed.cannot_connect(error),
    };
    feed.connected();
    if let Err(error) = follow(&feed, &mut socket).await {
        feed.lost(error);
    }
}
