//! Echo and stamp servers with tokio-websockets.

use std::process::ExitCode;
use std::sync::Arc;

use feedbench_target::{run, serve_upgrades, Answer, Model, Server};
use futures_util::{SinkExt, StreamExt};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use tokio_websockets::{Error, Message, ServerBuilder};

async fn converse(
    stream: TokioIo<Upgraded>,
    model: Model,
    server: Arc<Server>,
) -> Result<(), Error> {
    let mut socket = ServerBuilder::new().serve(stream);
    if let Some(greeting) = model.greeting() {
        socket.send(Message::text(greeting)).await?;
    }
    while let Some(message) = socket.next().await {
        let message = message?;
        if !message.is_text() && !message.is_binary() {
            continue; // pings and closes are answered by the library
        }
        let payload = message.as_payload();
        server.before_answer(payload);
        match model.answer(payload) {
            Answer::Same => socket.send(message).await?,
            Answer::Text(text) => socket.send(Message::text(text)).await?,
            Answer::End => socket.close().await?,
        }
    }
    Ok(())
}

fn main() -> ExitCode {
    run(|server| serve_upgrades(server, converse))
}
