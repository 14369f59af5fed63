//! Echo and stamp servers with tokio-tungstenite.

use std::process::ExitCode;
use std::sync::Arc;

use feedbench_target::{acceptor, run, serve, Answer, MaybeTls, Model, Server};
use futures_util::{SinkExt, StreamExt};
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tokio_tungstenite::tungstenite::http::StatusCode;
use tokio_tungstenite::tungstenite::Error;
use tokio_tungstenite::{accept_hdr_async, WebSocketStream};

/// Shakes hands for the two paths that there are.
async fn accept(stream: MaybeTls) -> Result<(WebSocketStream<MaybeTls>, Model), Error> {
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
    let socket = accept_hdr_async(stream, by_path).await?;
    Ok((socket, model.expect("only known paths are accepted")))
}

async fn converse(stream: MaybeTls, server: Arc<Server>) -> Result<(), Error> {
    let (mut socket, model) = accept(stream).await?;
    if let Some(greeting) = model.greeting() {
        socket.send(greeting.into()).await?;
    }
    while let Some(message) = socket.next().await {
        let message = message?;
        if !message.is_text() && !message.is_binary() {
            continue; // pings and closes are answered by the library
        }
        let payload = match &message {
            tokio_tungstenite::tungstenite::Message::Text(text) => text.as_bytes(),
            tokio_tungstenite::tungstenite::Message::Binary(bytes) => bytes,
            _ => continue,
        };
        server.before_answer(payload);
        match model.answer(payload) {
            Answer::Same => socket.send(message).await?,
            Answer::Text(text) => socket.send(text.into()).await?,
            Answer::End => return socket.close(None).await,
        }
    }
    Ok(())
}

fn main() -> ExitCode {
    run(|server| {
        let acceptor = acceptor(&server)?;
        serve(server, move |stream, server| {
            let acceptor = acceptor.clone();
            async move { converse(acceptor.accept(stream).await?, server).await }
        })
    })
}
