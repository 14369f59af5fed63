//! Echo and stamp servers with wtx.

use std::process::ExitCode;
use std::sync::Arc;

use feedbench_target::{run, serve, Answer, Model, Server};
use httparse::Request;
use tokio::net::TcpStream;
use wtx::collection::Vector;
use wtx::web_socket::{Frame, OpCode, WebSocketAcceptor, WebSocketPayloadOrigin};

async fn converse(stream: TcpStream, server: Arc<Server>) -> wtx::Result<()> {
    let mut model = None;
    let mut socket = WebSocketAcceptor::default()
        .no_masking(false)
        .req(|request: &Request<'_, '_>| {
            model = request.path.and_then(Model::of_path);
            match model {
                Some(_) => Ok(()),
                None => Err(wtx::Error::ClosedConnection), // the library sends nothing for a refusal
            }
        })
        .accept(stream)
        .await?;
    let model = model.expect("only known paths are accepted");
    if let Some(greeting) = model.greeting() {
        let mut greeting = greeting.into_bytes();
        socket
            .write_frame(&mut Frame::new_fin(OpCode::Text, &mut greeting))
            .await?;
    }
    // In parts, since an echo writes a frame that lies in the reader's buffer.
    let (mut common, mut reader, mut writer) = socket.split_mut();
    let mut buffer = Vector::new();
    loop {
        let mut frame = reader
            .read_frame(&mut buffer, &mut common, WebSocketPayloadOrigin::Adaptive)
            .await?;
        match frame.op_code() {
            OpCode::Close => return Ok(()), // it has been answered
            OpCode::Text | OpCode::Binary => {}
            _ => continue, // a ping has been answered
        }
        server.before_answer(frame.payload());
        match model.answer(frame.payload()) {
            Answer::Same => writer.write_frame(&mut common, &mut frame).await?,
            Answer::Text(text) => {
                let mut text = text.into_bytes();
                writer
                    .write_frame(&mut common, &mut Frame::new_fin(OpCode::Text, &mut text))
                    .await?;
            }
            Answer::End => {
                let mut unsupported = 1003u16.to_be_bytes();
                return writer
                    .write_frame(
                        &mut common,
                        &mut Frame::new_fin(OpCode::Close, &mut unsupported),
                    )
                    .await;
            }
        }
        buffer.clear();
    }
}

fn main() -> ExitCode {
    run(|server| serve(server, converse))
}
