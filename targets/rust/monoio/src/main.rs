//! Echo and stamp servers with monoio-tungstenite.

use std::process::ExitCode;
use std::rc::Rc;

use feedbench_target::{end_on_signal, run, Answer, Model, Server};
use monoio::io::{sink::SinkExt, stream::Stream};
use monoio::net::{TcpListener, TcpStream};
use monoio::{FusionDriver, RuntimeBuilder};
use monoio_tungstenite::handshake::server::{Request, Response};
use monoio_tungstenite::http::StatusCode;
use monoio_tungstenite::{accept_hdr, Message, Result};

async fn converse(stream: TcpStream, server: Rc<Server>) -> Result<()> {
    stream.set_nodelay(true)?;
    let mut model = None;
    let by_path = |request: &Request, response: Response| {
        model = Model::of_path(request.uri().path());
        match model {
            Some(_) => Ok(response),
            None => {
                let mut refusal = response.map(|()| None);
                *refusal.status_mut() = StatusCode::NOT_FOUND;
                Err(Box::new(refusal))
            }
        }
    };
    let mut socket = accept_hdr(stream, by_path).await?;
    let model = model.expect("only known paths are accepted");
    if let Some(greeting) = model.greeting() {
        socket.send_and_flush(Message::text(greeting)).await?;
    }
    while let Some(message) = socket.next().await {
        let message = message?;
        let payload: &[u8] = match &message {
            Message::Text(text) => text.as_bytes(),
            Message::Binary(bytes) => bytes,
            _ => continue, // pings and closes are answered by the library
        };
        server.before_answer(payload);
        match model.answer(payload) {
            Answer::Same => socket.send_and_flush(message).await?,
            Answer::Text(text) => socket.send_and_flush(Message::text(text)).await?,
            Answer::End => socket.close(None).await?,
        }
    }
    Ok(())
}

fn main() -> ExitCode {
    run(|server| {
        end_on_signal()?;
        let mut runtime = RuntimeBuilder::<FusionDriver>::new().build()?;
        runtime.block_on(async {
            let listener = TcpListener::from_std(server.listen()?)?;
            let server = Rc::new(server);
            loop {
                let (stream, _) = listener.accept().await?;
                let server = Rc::clone(&server);
                // What a connection ends with is the peer's affair: it left, or broke the protocol.
                monoio::spawn(async move { converse(stream, server).await.ok() });
            }
        })
    })
}
