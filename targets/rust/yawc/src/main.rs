//! Echo and stamp servers with yawc.

use std::process::ExitCode;
use std::sync::Arc;

use feedbench_target::{refusal, run, serve_http, Answer, Body, Model, Server};
use futures_util::{SinkExt, StreamExt};
use http_body_util::Empty;
use hyper::body::Incoming;
use hyper::{Request, Response, StatusCode};
use yawc::frame::{Frame, OpCode};
use yawc::{Options, UpgradeFut, WebSocket};

/// Of a message; the default of 1 MiB would refuse the larger payloads.
const LARGEST_BYTES: usize = 16 << 20;

async fn converse(upgrade: UpgradeFut, model: Model, server: Arc<Server>) -> yawc::Result<()> {
    let mut socket = upgrade.await?;
    if let Some(greeting) = model.greeting() {
        socket.send(Frame::text(greeting)).await?;
    }
    while let Some(frame) = socket.next().await {
        let text = frame.opcode() == OpCode::Text;
        if !text && frame.opcode() != OpCode::Binary {
            continue; // pings and closes are answered by the library
        }
        server.before_answer(frame.payload());
        match model.answer(frame.payload()) {
            Answer::Same => socket.send(frame).await?,
            Answer::Text(text) => socket.send(Frame::text(text)).await?,
            Answer::End => return socket.close().await,
        }
    }
    Ok(())
}

async fn route(mut request: Request<Incoming>, server: Arc<Server>) -> Response<Body> {
    let Some(model) = Model::of_path(request.uri().path()) else {
        return refusal(StatusCode::NOT_FOUND);
    };
    let limits = Options::default().with_limits(LARGEST_BYTES, 2 * LARGEST_BYTES);
    let options = match server.deflate {
        Some(true) => limits.with_balanced_compression(),
        _ => limits,
    };
    match WebSocket::upgrade_with_options(&mut request, options) {
        Ok((response, upgrade)) => {
            tokio::spawn(async move { converse(upgrade, model, server).await.ok() });
            response.map(|_| Empty::new())
        }
        Err(_) => refusal(StatusCode::BAD_REQUEST),
    }
}

fn main() -> ExitCode {
    run(|server| serve_http(server, route))
}
