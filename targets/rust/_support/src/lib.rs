//! What every Rust target needs besides its library: arguments, knobs, the stamp protocol, an orderly end.
//!
//! `spec/README.md` says what a server target does, `spec/feed.md` what a `feed` client does. A target reads its [`Server`] from the command line and the
//! environment, binds its [`Server::listen`]er, and answers each message as its [`Model`] says.

#[cfg(feature = "client")]
pub mod feed;
#[cfg(feature = "hyper")]
mod hyper_server;
mod model;
mod server;
#[cfg(feature = "tls")]
mod tls;
#[cfg(feature = "tokio")]
mod tokio_server;

#[cfg(feature = "hyper")]
pub use hyper_server::{refusal, serve_http, serve_upgrades, Body};
pub use model::{Answer, Model};
pub use server::{end_on_signal, run, Server};
#[cfg(feature = "tls")]
pub use tls::{acceptor, MaybeTls};
#[cfg(feature = "tokio")]
pub use tokio_server::{listen, serve, terminated, worker_threads};
