//! From an HTTP request to a WebSocket that the market thread owns.

use super::patience::Patience;
use super::service::{closing, into_answer, Answer};
use super::stream::Stream;
use super::{Sender, Shared};
use crate::seam::{Command, DoorId, Established, OwnedRequest, Ticket};
use bytes::Bytes;
use feedbench_exchange::personality::Response;
use feedbench_wire::deflate::Agreement;
use feedbench_wire::handshake::{accept_for, Upgrade, UpgradeError};
use http::header::{
    HeaderValue, ALLOW, CONNECTION, CONTENT_TYPE, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_EXTENSIONS,
    SEC_WEBSOCKET_VERSION, UPGRADE,
};
use http::StatusCode;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use std::sync::Arc;
use tokio::io::AsyncWriteExt;
use tokio::sync::oneshot;

/// Accepts or refuses a request to speak WebSocket, and hands the socket over once the answer is out.
pub async fn answer(
    shared: &Arc<Shared>,
    door: DoorId,
    patience: Arc<Patience>,
    request: hyper::Request<Incoming>,
    wanted: OwnedRequest,
) -> Answer {
    let deflate = match Upgrade::parse(&head(&request)) {
        Ok(upgrade) => shared.deflate.and_then(|wanted| agreed(upgrade, wanted)),
        Err(error) => {
            patience.answered();
            return malformed(&error);
        }
    };
    let accept = accept_for(header(&request, "sec-websocket-key"));
    let (verdict, decided) = oneshot::channel();
    (shared.send)(Command::Open {
        door,
        request: wanted,
        deflate,
        verdict,
    });
    let ticket = match decided.await {
        Ok(Ok(ticket)) => Held::new(ticket, shared.send.clone()),
        refused => {
            patience.answered();
            return refused.map_or_else(
                |_| closing(),
                |verdict| into_answer(verdict.err().unwrap_or_else(|| Response::new(500, ""))),
            );
        }
    };
    tokio::time::sleep(shared.handshake_delay).await;
    tokio::spawn(async move {
        // Without a socket the ticket is given back.
        if let Ok(established) = established(hyper::upgrade::on(request)).await {
            ticket.attach(established);
        }
        patience.answered();
    });
    switching_protocols(&accept, deflate)
}

/// The answer to the first of a client's offers to compress that can be understood, if it has one.
fn agreed(upgrade: Option<Upgrade>, wanted: Agreement) -> Option<Agreement> {
    let offers = upgrade?.deflate;
    offers.first().map(|offer| offer.answer(wanted))
}

fn switching_protocols(accept: &str, deflate: Option<Agreement>) -> Answer {
    let mut answer = Answer::new(Full::default());
    *answer.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = answer.headers_mut();
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    // Base64 is always a header's value.
    if let Ok(accept) = HeaderValue::from_str(accept) {
        headers.insert(SEC_WEBSOCKET_ACCEPT, accept);
    }
    // Tokens and small numbers always are.
    if let Some(Ok(agreement)) = deflate.map(|it| HeaderValue::try_from(it.to_string())) {
        headers.insert(SEC_WEBSOCKET_EXTENSIONS, agreement);
    }
    answer
}

async fn established(
    upgrade: hyper::upgrade::OnUpgrade,
) -> Result<Established, Box<dyn std::error::Error + Send + Sync>> {
    let upgraded: Upgraded = upgrade.await?;
    let parts = upgraded
        .downcast::<TokioIo<Stream>>()
        .map_err(|_| "the connection is of another kind than it was accepted as")?;
    let mut stream = parts.io.into_inner();
    stream.flush().await?;
    Ok(stream.into_established(parts.read_buf.to_vec())?)
}

/// The head as it was sent, for the checks that every WebSocket of this project goes through.
fn head(request: &hyper::Request<Incoming>) -> Vec<u8> {
    let path = request.uri().path_and_query().map_or("/", |it| it.as_str());
    let mut head = format!("{} {path} {:?}\r\n", request.method(), request.version()).into_bytes();
    for (name, value) in request.headers() {
        head.extend([name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"].concat());
    }
    head.extend(b"\r\n");
    head
}

fn header<'r>(request: &'r hyper::Request<Incoming>, name: &str) -> &'r str {
    let value = request.headers().get(name);
    value
        .and_then(|value| value.to_str().ok())
        .unwrap_or("")
        .trim()
}

/// The answer to a request that asks for a WebSocket wrongly.
fn malformed(error: &UpgradeError) -> Answer {
    let (status, header) = match error {
        UpgradeError::NotHttp(_) | UpgradeError::Header(_) => (StatusCode::BAD_REQUEST, None),
        UpgradeError::TooLarge => (StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, None),
        UpgradeError::Method(_) => (StatusCode::METHOD_NOT_ALLOWED, Some((ALLOW, "GET"))),
        UpgradeError::NoUpgrade => (StatusCode::UPGRADE_REQUIRED, Some((UPGRADE, "websocket"))),
        // RFC 6455, 4.2.2: the versions that would do.
        UpgradeError::Version(_) => (
            StatusCode::UPGRADE_REQUIRED,
            Some((SEC_WEBSOCKET_VERSION, "13")),
        ),
    };
    let mut answer = Answer::new(Full::from(Bytes::from(format!("{error}\n"))));
    *answer.status_mut() = status;
    let text = (CONTENT_TYPE, "text/plain; charset=utf-8");
    for (name, value) in [Some(text), header].into_iter().flatten() {
        answer
            .headers_mut()
            .insert(name, HeaderValue::from_static(value));
    }
    answer
}

/// A ticket that is given back unless a socket is attached to it.
struct Held {
    ticket: Option<Ticket>,
    send: Sender,
}

impl Held {
    fn new(ticket: Ticket, send: Sender) -> Self {
        Self {
            ticket: Some(ticket),
            send,
        }
    }

    fn attach(mut self, established: Established) {
        if let Some(ticket) = self.ticket.take() {
            (self.send)(Command::Attach(ticket, established));
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket.take() {
            (self.send)(Command::Abandon(ticket));
        }
    }
}
