//! Echo and stamp servers with ratchet.

use std::process::ExitCode;
use std::sync::Arc;

use bytes::BytesMut;
use feedbench_target::{acceptor, run, serve, Answer, MaybeTls, Model, Server};
use ratchet_rs::{
    accept_with, CloseCode, CloseReason, Error, Message, NoExtProvider, PayloadType, SubprotocolRegistry, WebSocketConfig,
    WebSocketResponse,
};
use tokio::io::BufReader;

async fn converse(stream: MaybeTls, server: Arc<Server>) -> Result<(), Error> {
    let upgrader = accept_with(
        BufReader::new(stream),
        WebSocketConfig::default(),
        NoExtProvider,
        SubprotocolRegistry::default(),
    )
    .await?;
    let Some(model) = Model::of_path(upgrader.uri().path()) else {
        return upgrader.reject(WebSocketResponse::new(404)?).await;
    };
    let mut socket = upgrader.upgrade().await?.websocket;
    if let Some(greeting) = model.greeting() {
        socket.write_text(greeting).await?;
        socket.flush().await?;
    }
    let mut message = BytesMut::new();
    loop {
        message.clear();
        let kind = match socket.read(&mut message).await? {
            Message::Text => PayloadType::Text,
            Message::Binary => PayloadType::Binary,
            Message::Ping(_) | Message::Pong(_) => continue, // a ping is answered by the library
            Message::Close(_) => return Ok(()),
        };
        server.before_answer(&message);
        match model.answer(&message) {
            Answer::Same => socket.write(&message, kind).await?,
            Answer::Text(text) => socket.write_text(text).await?,
            Answer::End => {
                let reason = CloseReason::new(CloseCode::Unsupported, None);
                return socket.close(reason).await;
            }
        }
        socket.flush().await?;
    }
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
