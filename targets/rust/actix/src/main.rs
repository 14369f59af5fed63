//! Echo and stamp servers with actix-ws.

use std::process::ExitCode;
use std::sync::Arc;

use actix_web::rt::{self, System};
use actix_web::web::{self, Data, Payload};
use actix_web::{App, HttpRequest, HttpResponse, HttpServer};
use actix_ws::{AggregatedMessage, AggregatedMessageStream, Closed, Session};
use feedbench_target::{run, Answer, Model, Server};

/// As large as the engine's largest message.
const MAXIMUM_BYTES: usize = 16 << 20;

async fn converse(
    session: &mut Session,
    mut messages: AggregatedMessageStream,
    model: Model,
    server: &Server,
) -> Result<(), Closed> {
    if let Some(greeting) = model.greeting() {
        session.text(greeting).await?;
    }
    while let Some(Ok(message)) = messages.recv().await {
        let payload: &[u8] = match &message {
            AggregatedMessage::Text(text) => text.as_bytes(),
            AggregatedMessage::Binary(bytes) => bytes,
            AggregatedMessage::Ping(payload) => {
                session.pong(payload).await?;
                continue;
            }
            AggregatedMessage::Pong(_) => continue,
            AggregatedMessage::Close(_) => break,
        };
        server.before_answer(payload);
        match (model.answer(payload), message) {
            (Answer::Same, AggregatedMessage::Text(text)) => session.text(text).await?,
            (Answer::Same, AggregatedMessage::Binary(bytes)) => session.binary(bytes).await?,
            (Answer::Text(text), _) => session.text(text).await?,
            _ => break,
        }
    }
    Ok(())
}

async fn upgrade(
    request: HttpRequest,
    body: Payload,
    server: Data<Server>,
) -> actix_web::Result<HttpResponse> {
    let Some(model) = Model::of_path(request.path()) else {
        return Ok(HttpResponse::NotFound().finish());
    };
    let (response, mut session, messages) = actix_ws::handle(&request, body)?;
    let messages = messages
        .max_frame_size(MAXIMUM_BYTES)
        .aggregate_continuations()
        .max_continuation_size(MAXIMUM_BYTES);
    rt::spawn(async move {
        // A session that is closed already needs no closing.
        if converse(&mut session, messages, model, &server).await.is_ok() {
            let _ = session.close(None).await;
        }
    });
    Ok(response)
}

fn main() -> ExitCode {
    run(|server| {
        let listener = server.listen()?;
        let workers = server.threads;
        let server = Arc::new(server);
        System::new().block_on(async move {
            HttpServer::new(move || {
                App::new()
                    .app_data(Data::from(Arc::clone(&server)))
                    .default_service(web::get().to(upgrade))
            })
            .workers(workers)
            .shutdown_timeout(0)
            .on_connect(|connection, _| {
                if let Some(stream) = connection.downcast_ref::<actix_web::rt::net::TcpStream>() {
                    // It fails only for a connection that is gone.
                    let _ = stream.set_nodelay(true);
                }
            })
            .listen(listener)?
            .run()
            .await?;
            Ok(())
        })
    })
}
