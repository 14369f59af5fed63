//! Echo and stamp servers with fastwebsockets.

use std::process::ExitCode;
use std::sync::Arc;

use fastwebsockets::upgrade::{is_upgrade_request, upgrade, UpgradeFut};
use fastwebsockets::{FragmentCollector, Frame, OpCode, WebSocketError};
use feedbench_target::{refusal, run, serve_http, Answer, Body, Model, Server};
use http_body_util::Empty;
use hyper::body::Incoming;
use hyper::{Request, Response, StatusCode};

fn text(text: String) -> Frame<'static> {
    Frame::text(text.into_bytes().into())
}

async fn converse(
    upgraded: UpgradeFut,
    model: Model,
    server: Arc<Server>,
) -> Result<(), WebSocketError> {
    let mut socket = FragmentCollector::new(upgraded.await?);
    if let Some(greeting) = model.greeting() {
        socket.write_frame(text(greeting)).await?;
    }
    loop {
        let frame = socket.read_frame().await?;
        match frame.opcode {
            OpCode::Close => return Ok(()), // it has been answered
            OpCode::Text | OpCode::Binary => {
                server.before_answer(&frame.payload);
                match model.answer(&frame.payload) {
                    Answer::Same => socket.write_frame(frame).await?,
                    Answer::Text(stamp) => socket.write_frame(text(stamp)).await?,
                    Answer::End => return socket.write_frame(Frame::close(1003, b"")).await,
                }
            }
            _ => {} // a ping has been answered
        }
    }
}

async fn route(mut request: Request<Incoming>, server: Arc<Server>) -> Response<Body> {
    let Some(model) = Model::of_path(request.uri().path()) else {
        return refusal(StatusCode::NOT_FOUND);
    };
    let upgrade_wanted = is_upgrade_request(&request);
    match upgrade(&mut request) {
        Ok((response, upgraded)) if upgrade_wanted => {
            tokio::spawn(async move { converse(upgraded, model, server).await.ok() });
            response.map(|_| Empty::new())
        }
        Ok(_) => refusal(StatusCode::UPGRADE_REQUIRED),
        Err(_) => refusal(StatusCode::BAD_REQUEST),
    }
}

fn main() -> ExitCode {
    run(|server| serve_http(server, route))
}
