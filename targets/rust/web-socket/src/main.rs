//! Echo and stamp servers with web-socket.

use std::io;
use std::process::ExitCode;
use std::sync::Arc;

use feedbench_target::{run, serve_upgrades, Answer, Model, Server};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use tokio::io::BufReader;
use web_socket::{CloseCode, DataType, Event, MessageType, Stream, WebSocket};

/// Status code of RFC 6455 for text that is not UTF-8; the library has no name for it.
const INVALID_TEXT: u16 = 1007;

type Socket = WebSocket<BufReader<TokioIo<Upgraded>>>;

/// Answers one message, or says with which code the connection ends.
async fn answer(
    socket: &mut Socket,
    kind: MessageType,
    message: &[u8],
    model: Model,
    server: &Server,
) -> io::Result<Option<u16>> {
    let text = std::str::from_utf8(message);
    if kind.is_text() && text.is_err() {
        return Ok(Some(INVALID_TEXT));
    }
    server.before_answer(message);
    match (model.answer(message), text) {
        (Answer::Same, Ok(text)) if kind.is_text() => socket.send(text).await?,
        (Answer::Same, _) => socket.send(message).await?,
        (Answer::Text(text), _) => socket.send(text.as_str()).await?,
        (Answer::End, _) => return Ok(Some(CloseCode::Unsupported as u16)),
    }
    Ok(None)
}

async fn converse(stream: TokioIo<Upgraded>, model: Model, server: Arc<Server>) -> io::Result<()> {
    let mut socket = WebSocket::server(BufReader::new(stream));
    if let Some(greeting) = model.greeting() {
        socket.send(greeting.as_str()).await?;
    }
    let mut message = Vec::new();
    loop {
        let kind = match socket.recv_event().await? {
            Event::Data { ty, data } => {
                message.extend_from_slice(&data);
                match ty {
                    DataType::Complete(kind) | DataType::Stream(Stream::End(kind)) => kind,
                    DataType::Stream(_) => continue,
                }
            }
            Event::Ping(payload) => {
                socket.send_pong(payload).await?;
                continue;
            }
            Event::Pong(_) => continue,
            Event::Error(_) => return socket.close(CloseCode::ProtocolError).await,
            Event::Close { .. } => return socket.close(()).await,
        };
        if let Some(code) = answer(&mut socket, kind, &message, model, &server).await? {
            return socket.close((code, "")).await;
        }
        message.clear();
    }
}

fn main() -> ExitCode {
    run(|server| serve_upgrades(server, converse))
}
