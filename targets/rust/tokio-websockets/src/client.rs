//! Feed client with tokio-websockets.

use std::error::Error;

use feedbench_target::feed::{Abilities, Feed, Kind};
use futures_util::{SinkExt, StreamExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_websockets::{ClientBuilder, Connector, MaybeTlsStream, Message, WebSocketStream};

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

async fn connect(feed: &Feed) -> Result<Socket, Box<dyn Error>> {
    let connector = match feed.settings.is_encrypted {
        true => Connector::Rustls(TlsConnector::from(feed.settings.tls())),
        false => Connector::Plain,
    };
    let client = ClientBuilder::from_uri(feed.settings.url.parse()?);
    let (socket, _) = client.connector(&connector).connect().await?;
    Ok(socket)
}

/// Comes back when the connection has ended without a close frame.
async fn follow(feed: &Feed, socket: &mut Socket) -> Result<(), tokio_websockets::Error> {
    for subscription in feed.settings.subscriptions() {
        socket.send(Message::text(subscription.to_owned())).await?;
    }
    let mut is_closing = false;
    let mut closed: Option<(u16, String)> = None;
    loop {
        let before = feed.settings.stamp_before.then(|| feed.now());
        let message = tokio::select! {
            biased;
            message = socket.next() => message,
            () = feed.asked_to_end(), if !is_closing => {
                is_closing = true;
                socket.send(Message::close(None, "")).await?;
                continue;
            }
        };
        let at = before.unwrap_or_else(|| feed.now());
        let message = match (message, &closed) {
            (Some(Ok(message)), _) => message,
            (_, Some((code, reason))) => feed.closed(*code, reason),
            (Some(Err(error)), None) => return Err(error),
            (None, None) => return Ok(()),
        };
        if let Some((code, reason)) = message.as_close() {
            closed = Some((u16::from(code), reason.to_owned())); // the next call answers it
        } else if message.is_text() {
            feed.record(at, Kind::Text, message.as_payload());
        } else if message.is_binary() {
            feed.record(at, Kind::Binary, message.as_payload());
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let abilities = Abilities {
        stamp_before: true,
        ..Abilities::default()
    };
    let feed = Feed::open("rust/tokio-websockets", abilities);
    let mut socket = match connect(&feed).await {
        Ok(socket) => socket,
        Err(error) => feed.cannot_connect(error),
    };
    feed.connected();
    match follow(&feed, &mut socket).await {
        Ok(()) => feed.lost("no close frame"),
        Err(error) => feed.lost(error),
    }
}
