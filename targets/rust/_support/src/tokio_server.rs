//! The same for servers on tokio.

use std::future::Future;
use std::io;
use std::sync::Arc;

use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{signal, SignalKind};

use crate::Server;

/// A runtime with as many threads as the knob says: the current-thread runtime for one.
pub fn worker_threads(server: &Server) -> io::Result<Runtime> {
    let mut builder = match server.threads {
        1 => Builder::new_current_thread(),
        threads => {
            let mut builder = Builder::new_multi_thread();
            builder.worker_threads(threads);
            builder
        }
    };
    builder.enable_all().build()
}

/// A listening socket of tokio's.
pub fn listen(server: &Server) -> io::Result<TcpListener> {
    let listener = server.listen()?;
    listener.set_nonblocking(true)?;
    TcpListener::from_std(listener)
}

/// Comes back when the process was asked to end by SIGTERM or SIGINT.
pub async fn terminated() -> io::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::select! {
        _ = terminate.recv() => Ok(()),
        _ = interrupt.recv() => Ok(()),
    }
}

/// Accepts connections until the process is asked to end, and hands each, with TCP_NODELAY set, to a task of its own.
/// What a task returns is the peer's affair: it left, or broke the protocol.
pub fn serve<F>(
    server: Server,
    on_connection: impl Fn(TcpStream, Arc<Server>) -> F,
) -> Result<(), Box<dyn std::error::Error>>
where
    F: Future + Send + 'static,
    F::Output: Send,
{
    let runtime = worker_threads(&server)?;
    runtime.block_on(async {
        let listener = listen(&server)?;
        let server = Arc::new(server);
        let accepting = async {
            loop {
                let (stream, _) = listener.accept().await?;
                stream.set_nodelay(true)?;
                tokio::spawn(on_connection(stream, Arc::clone(&server)));
            }
        };
        tokio::select! {
            failed = accepting => failed,
            ended = terminated() => Ok(ended?),
        }
    })
}
