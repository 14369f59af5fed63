//! Echo and stamp servers with compio-ws.

use std::process::ExitCode;
use std::rc::Rc;

use compio::net::{TcpListener, TcpStream};
use compio::runtime::{spawn, Runtime};
use compio_ws::accept_hdr_async;
use compio_ws::tungstenite::handshake::server::{ErrorResponse, Request, Response};
use compio_ws::tungstenite::http::StatusCode;
use compio_ws::tungstenite::{Error, Message};
use feedbench_target::{end_on_signal, run, Answer, Model, Server};

async fn converse(stream: TcpStream, server: Rc<Server>) -> Result<(), Error> {
    stream.set_nodelay(true)?;
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
    let mut socket = accept_hdr_async(stream, by_path).await?;
    let model = model.expect("only known paths are accepted");
    if let Some(greeting) = model.greeting() {
        socket.send(greeting.into()).await?;
    }
    loop {
        let message = socket.read().await?; // pings and closes are answered by the library
        let payload: &[u8] = match &message {
            Message::Text(text) => text.as_bytes(),
            Message::Binary(bytes) => bytes,
            _ => continue,
        };
        server.before_answer(payload);
        match model.answer(payload) {
            Answer::Same => socket.send(message).await?,
            Answer::Text(text) => socket.send(text.into()).await?,
            Answer::End => socket.close(None).await?,
        }
    }
}

fn main() -> ExitCode {
    run(|server| {
        end_on_signal()?;
        Runtime::new()?.block_on(async {
            let listener = TcpListener::from_std(server.listen()?)?;
            let server = Rc::new(server);
            loop {
                let (stream, _) = listener.accept().await?;
                // What a connection ends with is the peer's affair: it left, or broke the protocol.
                spawn(converse(stream, Rc::clone(&server))).detach();
            }
        })
    })
}
