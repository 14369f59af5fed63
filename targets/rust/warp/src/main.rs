//! Echo and stamp servers with warp.

use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;

use feedbench_target::{acceptor, run, serve, Answer, MaybeTls, Model, Server};
use futures_util::{SinkExt, StreamExt};
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use warp::ws::{Message, WebSocket, Ws};
use warp::{Filter, Reply};

async fn converse(mut socket: WebSocket, model: Model, server: Arc<Server>) -> Result<(), warp::Error> {
    if let Some(greeting) = model.greeting() {
        socket.send(Message::text(greeting)).await?;
    }
    while let Some(message) = socket.next().await {
        let message = message?;
        if !message.is_text() && !message.is_binary() {
            continue; // pings and closes are answered by the library
        }
        server.before_answer(message.as_bytes());
        match model.answer(message.as_bytes()) {
            Answer::Same => socket.send(message).await?,
            Answer::Text(text) => socket.send(Message::text(text)).await?,
            Answer::End => return socket.close().await,
        }
    }
    Ok(())
}

fn upgrade(ws: Ws, model: Model, server: Arc<Server>) -> impl Reply {
    // What a connection ends with is the peer's affair: it left, or broke the protocol.
    ws.on_upgrade(move |socket| async move {
        let _ = converse(socket, model, server).await;
    })
}

async fn connection(stream: MaybeTls, server: Arc<Server>) -> Result<(), Box<dyn Error + Send + Sync>> {
    let (for_echo, for_stamp) = (Arc::clone(&server), server);
    let echo = warp::path!("echo")
        .and(warp::ws())
        .map(move |ws| upgrade(ws, Model::Echo, Arc::clone(&for_echo)));
    let stamp = warp::path!("stamp")
        .and(warp::ws())
        .map(move |ws| upgrade(ws, Model::Stamp, Arc::clone(&for_stamp)));
    let service = TowerToHyperService::new(warp::service(echo.or(stamp)));
    http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades()
        .await?;
    Ok(())
}

fn main() -> ExitCode {
    run(|server| {
        let acceptor = acceptor(&server)?;
        serve(server, move |stream, server| {
            let acceptor = acceptor.clone();
            async move { connection(acceptor.accept(stream).await?, server).await }
        })
    })
}
