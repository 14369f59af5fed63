//! Relays a feed with tokio-tungstenite, on both sides.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use feedbench_target::feed::{Kind, Relay, Upstream};
use feedbench_target::terminated;
use futures_util::{SinkExt, StreamExt};
use tokio::net::TcpStream;
use tokio::sync::broadcast::{self, Receiver, Sender};
use tokio::sync::watch;
use tokio::task::{yield_now, JoinSet};
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tokio_tungstenite::tungstenite::http::StatusCode;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{
    accept_hdr_async, connect_async_tls_with_config, Connector, WebSocketStream,
};

/// tokio's broadcast channel keeps the newest of them for all; a client that is further behind is let go.
const MOST_WAITING: usize = 1024;
/// After so many messages clients get their turn, however much more lies ready: none is let go for our own hurry.
const AT_A_TIME: u32 = 32;
const CLOSING_AT_MOST: Duration = Duration::from_secs(1);

/// One connection upstream, to its end by a close frame.
async fn follow(
    relay: &Relay,
    upstream: &mut Upstream<'_>,
    clients: &Sender<Message>,
) -> Result<Option<CloseFrame>, Error> {
    let connector = match relay.is_encrypted {
        true => Connector::Rustls(relay.tls()),
        false => Connector::Plain,
    };
    let (mut socket, _) =
        connect_async_tls_with_config(&relay.url, None, false, Some(connector)).await?;
    for subscription in relay.subscriptions() {
        socket.send(subscription.into()).await?;
    }
    upstream.connected();
    let mut closed = None;
    let mut turn = 0_u32;
    loop {
        turn = (turn + 1) % AT_A_TIME;
        if turn == 0 {
            yield_now().await;
        }
        let message = socket.next().await;
        let at = relay.now();
        let message = match message.unwrap_or(Err(Error::ConnectionClosed)) {
            Ok(Message::Close(frame)) => {
                closed = Some(frame); // the next call answers it
                continue;
            }
            Ok(message) => message,
            Err(error) => return closed.ok_or(error),
        };
        let kind = match message {
            Message::Text(_) => Kind::Text,
            Message::Binary(_) => Kind::Binary,
            _ => continue, // pings are answered by the library
        };
        let _ = clients.send(message.clone()); // it counts references; an error says that nobody is there
        relay.entered(at, kind, &message.into_data());
    }
}

async fn stay_connected(relay: &Relay, clients: Sender<Message>) {
    let mut upstream = Upstream::of(relay);
    loop {
        let reason = match follow(relay, &mut upstream, &clients).await {
            Ok(Some(frame)) => format!("closed: {} {}", u16::from(frame.code), frame.reason),
            Ok(None) => "closed: 1005".to_owned(), // RFC 6455, section 7.1.5
            Err(error) => format!("lost: {error}"),
        };
        upstream.again(reason.trim_end()).await;
    }
}

async fn accept(stream: TcpStream) -> Result<WebSocketStream<TcpStream>, Error> {
    stream.set_nodelay(true)?;
    // The callback's error type is the library's, and large.
    #[allow(clippy::result_large_err)]
    let by_path = |request: &Request, response: Response| {
        if request.uri().path() == "/feed" {
            return Ok(response);
        }
        let mut refusal = ErrorResponse::new(None);
        *refusal.status_mut() = StatusCode::NOT_FOUND;
        Err(refusal)
    };
    accept_hdr_async(stream, by_path).await
}

/// Passes on what is broadcast, until the client leaves, is too far behind, or the relay ends.
async fn pass_on(
    mut socket: WebSocketStream<TcpStream>,
    mut messages: Receiver<Message>,
    mut ending: watch::Receiver<()>,
) -> Result<(), Error> {
    loop {
        tokio::select! {
            message = messages.recv() => match message {
                Ok(message) => socket.send(message).await?,
                Err(_) => return Ok(()),
            },
            // A client has nothing to say; this answers its pings and its close.
            said = socket.next() => match said {
                Some(said) => _ = said?,
                None => return Ok(()),
            },
            _ = ending.changed() => break,
        }
    }
    let away = CloseFrame {
        code: CloseCode::Away,
        reason: "".into(),
    };
    socket.close(Some(away)).await?;
    while socket.next().await.is_some_and(|said| said.is_ok()) {} // its answer is the last
    Ok(())
}

/// One client, with a connection upstream of its own unless one serves all.
async fn serve(
    relay: Arc<Relay>,
    stream: TcpStream,
    all: Sender<Message>,
    ending: watch::Receiver<()>,
) {
    let Ok(socket) = accept(stream).await else {
        return; // it was refused, or has left
    };
    if relay.is_shared {
        let _ = pass_on(socket, all.subscribe(), ending).await;
        return;
    }
    let (own, messages) = broadcast::channel(MOST_WAITING);
    tokio::select! {
        () = stay_connected(&relay, own) => {}
        _ = pass_on(socket, messages, ending) => {}
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let relay = Arc::new(Relay::open());
    let listener = relay.listen().await;
    let (all, _) = broadcast::channel(MOST_WAITING);
    let (alive, ending) = watch::channel(());
    let mut clients = JoinSet::new();
    let following = relay.is_shared.then(|| {
        let (relay, all) = (Arc::clone(&relay), all.clone());
        tokio::spawn(async move { stay_connected(&relay, all).await })
    });
    let mut asked = pin!(terminated());
    loop {
        tokio::select! {
            // What can't be accepted has left already, or comes when others have.
            Ok((stream, _)) = listener.accept() => {
                clients.spawn(serve(Arc::clone(&relay), stream, all.clone(), ending.clone()));
            }
            Some(_) = clients.join_next() => {} // one has left
            _ = &mut asked => break,
        }
    }
    if let Some(following) = following {
        following.abort();
    }
    drop(alive);
    let _ = timeout(CLOSING_AT_MOST, clients.join_all()).await;
    relay.end()
}
