//! Echo and stamp servers with rust-websocket, a thread for each connection.

use std::net::TcpStream;
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;

use feedbench_target::{end_on_signal, run, Answer, Model, Server};
use websocket::server::upgrade::sync::IntoWs;
use websocket::OwnedMessage;

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn converse(stream: TcpStream, server: &Server) -> Outcome {
    stream.set_nodelay(true)?;
    let Ok(upgrade) = stream.into_ws() else {
        return Ok(()); // no WebSocket handshake
    };
    let Some(model) = Model::of_path(&upgrade.uri()) else {
        return upgrade.reject().map(drop).map_err(|(_, error)| error.into());
    };
    let mut client = upgrade.accept().map_err(|(_, error)| error)?;
    if let Some(greeting) = model.greeting() {
        client.send_message(&OwnedMessage::Text(greeting))?;
    }
    loop {
        let message = client.recv_message()?;
        let payload: &[u8] = match &message {
            OwnedMessage::Text(text) => text.as_bytes(),
            OwnedMessage::Binary(bytes) => bytes,
            OwnedMessage::Ping(payload) => {
                client.send_message(&OwnedMessage::Pong(payload.clone()))?;
                continue;
            }
            OwnedMessage::Pong(_) => continue,
            OwnedMessage::Close(_) => return Ok(client.send_message(&OwnedMessage::Close(None))?),
        };
        server.before_answer(payload);
        match model.answer(payload) {
            Answer::Same => client.send_message(&message)?,
            Answer::Text(text) => client.send_message(&OwnedMessage::Text(text))?,
            Answer::End => return Ok(client.send_message(&OwnedMessage::Close(None))?),
        }
    }
}

fn main() -> ExitCode {
    run(|server| {
        end_on_signal()?;
        let listener = server.listen()?;
        let server = Arc::new(server);
        loop {
            let (stream, _) = listener.accept()?;
            let server = Arc::clone(&server);
            // What a connection ends with is the peer's affair: it left, or broke the protocol.
            thread::spawn(move || converse(stream, &server).ok());
        }
    })
}
