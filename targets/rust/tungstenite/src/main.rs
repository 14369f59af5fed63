//! Echo and stamp servers with tungstenite, a thread for each connection.

use std::net::TcpStream;
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;

use feedbench_target::{end_on_signal, run, Answer, Model, Server};
use tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tungstenite::http::StatusCode;
use tungstenite::{accept_hdr, Message, WebSocket};

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// Shakes hands for the two paths that there are; `None` after a refusal or a broken handshake.
fn accept(stream: TcpStream) -> Option<(WebSocket<TcpStream>, Model)> {
    let mut model = None;
    // The callback's error type is the library's, and large.
    #[allow(clippy::result_large_err)]
    let by_path = |request: &Request, response: Response| {
        model = Model::of_path(request.uri().path());
        match model {
            Some(_) => Ok(response),
            None => {
                let mut refusal = ErrorResponse::new(None);
                *refusal.status_mut() = StatusCode::NOT_FOUND;
                Err(refusal)
            }
        }
    };
    let socket = accept_hdr(stream, by_path).ok()?;
    Some((socket, model?))
}

fn converse(stream: TcpStream, server: &Server) -> Outcome {
    stream.set_nodelay(true)?;
    let Some((mut socket, model)) = accept(stream) else {
        return Ok(());
    };
    if let Some(greeting) = model.greeting() {
        socket.send(greeting.into())?;
    }
    loop {
        let message = socket.read()?; // pings and closes are answered by the library
        let payload = match &message {
            Message::Text(text) => text.as_bytes(),
            Message::Binary(bytes) => bytes,
            _ => continue,
        };
        server.before_answer(payload);
        match model.answer(payload) {
            Answer::Same => socket.send(message)?,
            Answer::Text(text) => socket.send(text.into())?,
            Answer::End => socket.close(None)?, // reading goes on until the peer has answered
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
