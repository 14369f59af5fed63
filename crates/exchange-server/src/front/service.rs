//! What is done with each HTTP request.

use super::patience::Patience;
use super::{upgrade, Shared};
use crate::seam::{Command, DoorId, OwnedRequest};
use bytes::Bytes;
use feedbench_exchange::personality::Response;
use http::header::{HeaderValue, CONTENT_TYPE, HOST, UPGRADE};
use http::StatusCode;
use http_body_util::Full;
use hyper::body::Incoming;
use std::convert::Infallible;
use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use tokio::sync::oneshot;

/// An answer on its way to the client.
pub type Answer = hyper::Response<Full<Bytes>>;

/// Answers the requests of one connection.
#[derive(Clone)]
pub struct Service {
    shared: Arc<Shared>,
    door: DoorId,
    peer: IpAddr,
    patience: Arc<Patience>,
}

impl Service {
    /// For a connection from `peer`.
    pub fn new(shared: Arc<Shared>, door: DoorId, peer: IpAddr, patience: Arc<Patience>) -> Self {
        Self {
            shared,
            door,
            peer,
            patience,
        }
    }

    async fn answer(self, request: hyper::Request<Incoming>) -> Answer {
        let wanted = owned(&request, self.peer);
        if wants_websocket(&request) {
            return upgrade::answer(&self.shared, self.door, self.patience, request, wanted).await;
        }
        let answer = self.rest(wanted).await;
        self.patience.answered();
        answer
    }

    async fn rest(&self, request: OwnedRequest) -> Answer {
        let (answer, answered) = oneshot::channel();
        (self.shared.send)(Command::Rest {
            door: self.door,
            request,
            answer,
        });
        answered.await.map_or_else(|_| closing(), into_answer)
    }
}

impl hyper::service::Service<hyper::Request<Incoming>> for Service {
    type Response = Answer;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Answer, Infallible>> + Send>>;

    fn call(&self, request: hyper::Request<Incoming>) -> Self::Future {
        self.patience.request_arrived();
        let service = self.clone();
        Box::pin(async move { Ok(service.answer(request).await) })
    }
}

/// Other upgrades, such as curl's offer of HTTP/2, may be passed over (RFC 9110, 7.8).
fn wants_websocket(request: &hyper::Request<Incoming>) -> bool {
    let upgrades = request.headers().get_all(UPGRADE).iter();
    request.version() < http::Version::HTTP_2
        && upgrades
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(','))
            .any(|protocol| protocol.trim().eq_ignore_ascii_case("websocket"))
}

/// The request in the personality's terms. Over HTTP/2 the host has no header of its own; here it gets one.
fn owned(request: &hyper::Request<Incoming>, peer: IpAddr) -> OwnedRequest {
    let uri = request.uri();
    let mut headers: Vec<(String, String)> = request
        .headers()
        .iter()
        .map(|(name, value)| {
            let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
            (name.as_str().to_owned(), value)
        })
        .collect();
    if let (Some(authority), false) = (uri.authority(), request.headers().contains_key(HOST)) {
        headers.push(("host".to_owned(), authority.to_string()));
    }
    OwnedRequest {
        method: request.method().as_str().to_owned(),
        path: uri.path().to_owned(),
        query: uri.query().unwrap_or("").to_owned(),
        headers,
        peer: number(peer),
    }
}

/// An address as a number: IPv4 and what IPv6 maps to it are the same.
fn number(peer: IpAddr) -> u64 {
    match peer.to_canonical() {
        IpAddr::V4(address) => u64::from(u32::from(address)),
        // Providers give each customer 64 bits of network, so limits by address go by these.
        IpAddr::V6(address) => (u128::from(address) >> 64) as u64,
    }
}

/// A personality's answer, with what every answer carries. Date, length and connection are hyper's to add.
pub fn into_answer(response: Response) -> Answer {
    let mut answer = Answer::new(Full::from(response.body));
    *answer.status_mut() =
        StatusCode::from_u16(response.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = answer.headers_mut();
    headers.insert(
        CONTENT_TYPE,
        HeaderValue::from_static("application/json;charset=UTF-8"),
    );
    for (name, value) in response.headers {
        if let (Ok(name), Ok(value)) = (
            http::HeaderName::try_from(name),
            HeaderValue::try_from(value),
        ) {
            headers.insert(name, value);
        }
    }
    answer
}

/// The market has closed while the client waited.
pub fn closing() -> Answer {
    into_answer(Response::new(503, r#"{"msg":"the exchange is closing"}"#))
}
