//! Echo and stamp servers with axum.

use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;

use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::extract::State;
use axum::response::Response;
use axum::routing::any;
use axum::serve::ListenerExt;
use axum::Router;
use feedbench_target::{listen, run, terminated, worker_threads, Answer, Model, Server};

async fn converse(mut socket: WebSocket, model: Model, server: Arc<Server>) -> Result<(), axum::Error> {
    if let Some(greeting) = model.greeting() {
        socket.send(greeting.into()).await?;
    }
    while let Some(message) = socket.recv().await {
        let message = message?;
        let payload = match &message {
            Message::Text(text) => text.as_bytes(),
            Message::Binary(bytes) => bytes,
            _ => continue, // pings and closes are answered by the library
        };
        server.before_answer(payload);
        match model.answer(payload) {
            Answer::Same => socket.send(message).await?,
            Answer::Text(text) => socket.send(text.into()).await?,
            Answer::End => return socket.send(Message::Close(None)).await,
        }
    }
    Ok(())
}

fn upgrade(upgrade: WebSocketUpgrade, model: Model, server: Arc<Server>) -> Response {
    // What a connection ends with is the peer's affair: it left, or broke the protocol.
    upgrade.on_upgrade(move |socket| async move {
        let _ = converse(socket, model, server).await;
    })
}

async fn echo(socket: WebSocketUpgrade, State(server): State<Arc<Server>>) -> Response {
    upgrade(socket, Model::Echo, server)
}

async fn stamp(socket: WebSocketUpgrade, State(server): State<Arc<Server>>) -> Response {
    upgrade(socket, Model::Stamp, server)
}

async fn serve(server: Server) -> Result<(), Box<dyn Error>> {
    let listener = listen(&server)?.tap_io(|stream| {
        // It fails only for a connection that is gone.
        let _ = stream.set_nodelay(true);
    });
    let router = Router::new()
        .route("/echo", any(echo))
        .route("/stamp", any(stamp))
        .with_state(Arc::new(server));
    tokio::select! {
        failed = axum::serve(listener, router) => Ok(failed?),
        ended = terminated() => Ok(ended?),
    }
}

fn main() -> ExitCode {
    run(|server| worker_threads(&server)?.block_on(serve(server)))
}
