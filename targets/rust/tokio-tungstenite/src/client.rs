//! Feed client with tokio-tungstenite.

use feedbench_target::feed::{Abilities, Feed, Kind};
use futures_util::{SinkExt, StreamExt};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{
    connect_async_tls_with_config, Connector, MaybeTlsStream, WebSocketStream,
};

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

async fn connect(feed: &Feed) -> Result<Socket, Error> {
    let connector = match feed.settings.is_encrypted {
        true => Connector::Rustls(feed.settings.tls()),
        false => Connector::Plain,
    };
    let url = &feed.settings.url;
    let (socket, _) = connect_async_tls_with_config(url, None, false, Some(connector)).await?;
    Ok(socket)
}

/// The closing handshake is done.
fn leave(feed: &Feed, frame: Option<CloseFrame>) -> ! {
    match frame {
        Some(frame) => feed.closed(frame.code.into(), &frame.reason),
        None => feed.closed(1005, ""), // RFC 6455, section 7.1.5
    }
}

async fn follow(feed: &Feed, socket: &mut Socket) -> Result<(), Error> {
    for subscription in feed.settings.subscriptions() {
        socket.send(subscription.into()).await?;
    }
    let mut is_closing = false;
    let mut closed = None;
    loop {
        let before = feed.settings.stamp_before.then(|| feed.now());
        let message = tokio::select! {
            biased;
            message = socket.next() => message,
            () = feed.asked_to_end(), if !is_closing => {
                is_closing = true;
                socket.close(None).await?;
                continue;
            }
        };
        let at = before.unwrap_or_else(|| feed.now());
        match message.unwrap_or(Err(Error::ConnectionClosed)) {
            Ok(Message::Text(text)) => feed.record(at, Kind::Text, text.as_bytes()),
            Ok(Message::Binary(bytes)) => feed.record(at, Kind::Binary, &bytes),
            Ok(Message::Close(frame)) => closed = Some(frame), // the next call answers it
            Ok(_) => {}                                        // pings are answered by the library
            Err(error) => return closed.map_or(Err(error), |frame| leave(feed, frame)),
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let abilities = Abilities {
        stamp_before: true,
        ..Abilities::default()
    };
    let feed = Feed::open("rust/tokio-tungstenite", abilities);
    let mut socket = match connect(&feed).await {
        Ok(socket) => socket,
        Err(error) => feed.cannot_connect(error),
    };
    feed.connected();
    if let Err(error) = follow(&feed, &mut socket).await {
        feed.lost(error);
    }
}
