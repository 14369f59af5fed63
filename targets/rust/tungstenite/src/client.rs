//! Feed client with tungstenite: blocking, on one thread.

use std::io::ErrorKind;
use std::net::TcpStream;
use std::time::Duration;

use feedbench_target::feed::{Abilities, Feed, Kind};
use tungstenite::protocol::CloseFrame;
use tungstenite::stream::MaybeTlsStream;
use tungstenite::{client_tls_with_config, Connector, Error, Message, WebSocket};

/// How long reading waits before it looks whether the end was asked for.
const LOOK_EVERY: Duration = Duration::from_millis(250);

type Socket = WebSocket<MaybeTlsStream<TcpStream>>;

fn connect(feed: &Feed) -> Result<Socket, Box<dyn std::error::Error>> {
    let settings = &feed.settings;
    let stream = TcpStream::connect((settings.host.as_str(), settings.port))?;
    let waiting = stream.try_clone()?;
    let connector = match settings.is_encrypted {
        true => Connector::Rustls(settings.tls()),
        false => Connector::Plain,
    };
    let (socket, _) = client_tls_with_config(&settings.url, stream, None, Some(connector))?;
    waiting.set_read_timeout(Some(LOOK_EVERY))?;
    Ok(socket)
}

/// Nothing came for a while, or a signal did.
fn is_pause(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

/// The closing handshake is done.
fn leave(feed: &Feed, frame: Option<CloseFrame>) -> ! {
    match frame {
        Some(frame) => feed.closed(frame.code.into(), &frame.reason),
        None => feed.closed(1005, ""), // RFC 6455, section 7.1.5
    }
}

fn follow(feed: &Feed, socket: &mut Socket) -> Result<(), Error> {
    for subscription in feed.settings.subscriptions() {
        socket.send(subscription.into())?;
    }
    let mut is_closing = false;
    let mut closed = None;
    loop {
        let before = feed.settings.stamp_before.then(|| feed.now());
        let message = socket.read(); // pings and closes are answered by the library
        let at = before.unwrap_or_else(|| feed.now());
        match message {
            Ok(Message::Text(text)) => feed.record(at, Kind::Text, text.as_bytes()),
            Ok(Message::Binary(bytes)) => feed.record(at, Kind::Binary, &bytes),
            Ok(Message::Close(frame)) => closed = Some(frame), // the next call answers it
            Ok(_) => {}
            Err(Error::Io(error)) if is_pause(error.kind()) => {}
            Err(error) => return closed.map_or(Err(error), |frame| leave(feed, frame)),
        }
        if feed.is_ending() && !is_closing {
            is_closing = true;
            socket.close(None)?;
        }
    }
}

fn main() {
    let abilities = Abilities {
        stamp_before: true,
        ..Abilities::default()
    };
    let feed = Feed::open("rust/tungstenite", abilities);
    let mut socket = connect(&feed).unwrap_or_else(|error| feed.cannot_connect(error));
    feed.connected();
    if let Err(error) = follow(&feed, &mut socket) {
        feed.lost(error);
    }
}
