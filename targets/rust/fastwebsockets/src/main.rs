//! Echo and stamp servers with fastwebsockets.

use std::hint;
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use fastwebsockets::upgrade::{is_upgrade_request, upgrade, UpgradeFut};
use fastwebsockets::{FragmentCollector, Frame, OpCode, WebSocketError};
use http_body_util::Empty;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;
use tokio::signal::unix::{signal, SignalKind};

#[derive(Clone, Copy)]
struct Knobs {
    delay: Duration,
    log_messages: bool,
}

impl Knobs {
    fn from_environment() -> Self {
        let variable = |name| std::env::var(name).unwrap_or_default();
        Self {
            delay: Duration::from_nanos(variable("FEEDBENCH_DELAY_NS").parse().unwrap_or(0)),
            log_messages: variable("FEEDBENCH_LOG_MESSAGES") == "true",
        }
    }

    fn before_answer(self, payload: &[u8]) {
        if self.log_messages {
            println!("{}", String::from_utf8_lossy(payload));
        }
        if !self.delay.is_zero() {
            let start = Instant::now();
            while start.elapsed() < self.delay {
                hint::spin_loop();
            }
        }
    }
}

#[derive(Deserialize)]
struct StampRequest {
    c: i64,
}

#[derive(Serialize)]
struct Stamp {
    c: i64,
    ts: u64,
}

fn stamp_frame(c: i64) -> Frame<'static> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let ts = now.expect("the clock stands after 1970").as_secs();
    let json = serde_json::to_vec(&Stamp { c, ts }).expect("two numbers always serialize");
    Frame::text(json.into())
}

async fn echo(upgraded: UpgradeFut, knobs: Knobs) -> Result<(), WebSocketError> {
    let mut socket = FragmentCollector::new(upgraded.await?);
    loop {
        let frame = socket.read_frame().await?;
        match frame.opcode {
            OpCode::Close => return Ok(()), // it has been answered
            OpCode::Text | OpCode::Binary => {
                knobs.before_answer(&frame.payload);
                socket.write_frame(frame).await?;
            }
            _ => {}
        }
    }
}

async fn stamp(upgraded: UpgradeFut, knobs: Knobs) -> Result<(), WebSocketError> {
    let mut socket = FragmentCollector::new(upgraded.await?);
    socket.write_frame(stamp_frame(0)).await?;
    loop {
        let frame = socket.read_frame().await?;
        match frame.opcode {
            OpCode::Close => return Ok(()),
            OpCode::Text | OpCode::Binary => {
                knobs.before_answer(&frame.payload);
                match serde_json::from_slice::<StampRequest>(&frame.payload) {
                    Ok(request) => socket.write_frame(stamp_frame(request.c)).await?,
                    Err(_) => return socket.write_frame(Frame::close(1003, b"")).await,
                }
            }
            _ => {}
        }
    }
}

fn refusal(status: StatusCode) -> Response<Empty<Bytes>> {
    let mut response = Response::new(Empty::new());
    *response.status_mut() = status;
    response
}

async fn route(
    mut request: Request<Incoming>,
    knobs: Knobs,
) -> Result<Response<Empty<Bytes>>, WebSocketError> {
    let path = request.uri().path().to_owned();
    let upgrade_wanted = is_upgrade_request(&request);
    if path != "/echo" && path != "/stamp" {
        return Ok(refusal(StatusCode::NOT_FOUND));
    }
    let (response, upgraded) = match upgrade(&mut request) {
        Ok(accepted) if upgrade_wanted => accepted,
        Ok(_) => return Ok(refusal(StatusCode::UPGRADE_REQUIRED)),
        Err(_) => return Ok(refusal(StatusCode::BAD_REQUEST)),
    };
    // A connection's error is the peer's affair: it left, or broke the protocol.
    if path == "/echo" {
        tokio::spawn(async move { echo(upgraded, knobs).await.ok() });
    } else {
        tokio::spawn(async move { stamp(upgraded, knobs).await.ok() });
    }
    Ok(response)
}

async fn serve(listener: TcpListener, knobs: Knobs) -> std::io::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    loop {
        let (stream, _) = tokio::select! {
            accepted = listener.accept() => accepted?,
            _ = terminate.recv() => return Ok(()),
            _ = interrupt.recv() => return Ok(()),
        };
        stream.set_nodelay(true)?;
        let service = service_fn(move |request| route(request, knobs));
        let connection = http1::Builder::new()
            .serve_connection(TokioIo::new(stream), service)
            .with_upgrades();
        tokio::spawn(async move { connection.await.ok() });
    }
}

fn arguments() -> Option<(String, u16)> {
    let given: Vec<String> = std::env::args().skip(1).collect();
    match given.as_slice() {
        [host_flag, host, port_flag, port] if host_flag == "--host" && port_flag == "--port" => {
            Some((host.clone(), port.parse().ok()?))
        }
        _ => None,
    }
}

fn main() -> ExitCode {
    let Some((host, port)) = arguments() else {
        eprintln!("usage: feedbench-fastwebsockets --host HOST --port PORT");
        return ExitCode::from(2);
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()
        .expect("a runtime");
    let outcome = runtime.block_on(async {
        let listener = TcpListener::bind((host.as_str(), port))
            .await
            .map_err(|error| format!("cannot listen on {host}:{port}: {error}"))?;
        serve(listener, Knobs::from_environment())
            .await
            .map_err(|error| format!("cannot accept: {error}"))
    });
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}
