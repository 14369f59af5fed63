//! The handshake by hyper, for libraries that begin after it or hang on to hyper's upgrade.

use std::convert::Infallible;
use std::error::Error;
use std::future::Future;
use std::sync::Arc;

use base64::prelude::{Engine, BASE64_STANDARD};
use http_body_util::Empty;
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    HeaderMap, HeaderName, CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY,
    SEC_WEBSOCKET_VERSION, UPGRADE,
};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::upgrade::Upgraded;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use sha1::{Digest, Sha1};

use crate::{acceptor, serve, Model, Server};

/// An answer without content.
pub type Body = Empty<Bytes>;

/// Serves HTTP/1.1 and leaves each request, which may be upgraded, to `route`.
pub fn serve_http<F>(
    server: Server,
    route: impl Fn(Request<Incoming>, Arc<Server>) -> F + Clone + Send + Sync + 'static,
) -> Result<(), Box<dyn Error>>
where
    F: Future<Output = Response<Body>> + Send + 'static,
{
    let acceptor = acceptor(&server)?;
    serve(server, move |stream, server| {
        let (acceptor, route) = (acceptor.clone(), route.clone());
        async move {
            let stream = acceptor.accept(stream).await?;
            let service = service_fn(move |request| {
                let answer = route(request, Arc::clone(&server));
                async move { Ok::<_, Infallible>(answer.await) }
            });
            http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .with_upgrades()
                .await?;
            Ok::<_, Box<dyn Error + Send + Sync>>(())
        }
    })
}

/// Shakes hands, and leaves what follows it to `converse`.
pub fn serve_upgrades<F>(
    server: Server,
    converse: impl Fn(TokioIo<Upgraded>, Model, Arc<Server>) -> F + Clone + Send + Sync + 'static,
) -> Result<(), Box<dyn Error>>
where
    F: Future + Send + 'static,
    F::Output: Send,
{
    serve_http(server, move |mut request, server| {
        let converse = converse.clone();
        async move {
            let Some(model) = Model::of_path(request.uri().path()) else {
                return refusal(StatusCode::NOT_FOUND);
            };
            let Some(response) = handshake(&request) else {
                return refusal(StatusCode::BAD_REQUEST);
            };
            tokio::spawn(async move {
                if let Ok(upgraded) = hyper::upgrade::on(&mut request).await {
                    converse(TokioIo::new(upgraded), model, server).await;
                }
            });
            response
        }
    })
}

/// An answer that refuses.
pub fn refusal(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Empty::new());
    *response.status_mut() = status;
    response
}

/// 101 for a request that RFC 6455 (4.2.1) accepts.
fn handshake(request: &Request<Incoming>) -> Option<Response<Body>> {
    let headers = request.headers();
    let key = headers.get(SEC_WEBSOCKET_KEY)?;
    let well_formed = request.method() == Method::GET
        && has_token(headers, CONNECTION, "upgrade")
        && has_token(headers, UPGRADE, "websocket")
        && headers.get(SEC_WEBSOCKET_VERSION)? == "13"
        && BASE64_STANDARD
            .decode(key)
            .is_ok_and(|nonce| nonce.len() == 16);
    if !well_formed {
        return None;
    }
    let digest = Sha1::new()
        .chain_update(key)
        .chain_update("258EAFA5-E914-47DA-95CA-C5AB0DC85B11")
        .finalize();
    Response::builder()
        .status(StatusCode::SWITCHING_PROTOCOLS)
        .header(CONNECTION, "Upgrade")
        .header(UPGRADE, "websocket")
        .header(SEC_WEBSOCKET_ACCEPT, BASE64_STANDARD.encode(digest))
        .body(Empty::new())
        .ok()
}

fn has_token(headers: &HeaderMap, name: HeaderName, token: &str) -> bool {
    let values = headers.get_all(name);
    let mut tokens = values
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','));
    tokens.any(|given| given.trim().eq_ignore_ascii_case(token))
}
