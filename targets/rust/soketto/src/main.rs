//! Echo and stamp servers with soketto.

use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;

use feedbench_target::{acceptor, run, serve, Answer, MaybeTls, Model, Server};
use soketto::handshake::server::Response;
use soketto::handshake::Server as Handshake;
use soketto::Data;
use tokio_util::compat::TokioAsyncReadCompatExt;

async fn converse(
    stream: MaybeTls,
    server: Arc<Server>,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    let mut handshake = Handshake::new(stream.compat());
    let request = handshake.receive_request().await?;
    let (key, model) = (request.key(), Model::of_path(request.path()));
    let Some(model) = model else {
        let refusal = Response::Reject { status_code: 404 };
        return Ok(handshake.send_response(&refusal).await?);
    };
    let response = Response::Accept {
        key,
        protocol: None,
    };
    handshake.send_response(&response).await?;

    let (mut sender, mut receiver) = handshake.into_builder().finish();
    if let Some(greeting) = model.greeting() {
        sender.send_text_owned(greeting).await?;
        sender.flush().await?;
    }
    let mut message = Vec::new();
    loop {
        message.clear();
        // Pings and closes are answered by the library; after a close this fails, which ends the connection.
        let kind = receiver.receive_data(&mut message).await?;
        server.before_answer(&message);
        match (model.answer(&message), kind) {
            (Answer::Same, Data::Text(_)) => {
                sender.send_text(std::str::from_utf8(&message)?).await?
            }
            (Answer::Same, Data::Binary(_)) => sender.send_binary(&message).await?,
            (Answer::Text(text), _) => sender.send_text_owned(text).await?,
            (Answer::End, _) => sender.close().await?,
        }
        sender.flush().await?;
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
