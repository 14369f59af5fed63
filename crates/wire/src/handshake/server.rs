//! The server's side of the handshake.

use base64::engine::general_purpose::STANDARD;
use base64::Engine;

use super::extensions;
use super::{accept_for, tokens, values, HEADERS_LIMIT, HEAD_LIMIT_BYTES};
use crate::deflate::{Agreement, Offer, EXTENSION};

/// A client's request to speak WebSocket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upgrade {
    /// Path and query.
    pub path: String,
    /// The `Host` header.
    pub host: String,
    /// What the client offers to speak inside, in its order of preference.
    pub subprotocols: Vec<String>,
    /// Its well-formed offers of permessage-deflate, best first. Others are declined by silence (RFC 7692, 5.1).
    pub deflate: Vec<Offer>,
    /// Bytes of the head; what follows is frames.
    pub head_bytes: usize,
    key: String,
}

/// Why a request is no upgrade; [`UpgradeError::refusal`] is the answer to send.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UpgradeError {
    /// The bytes are no HTTP/1.1 request.
    #[error("this is no HTTP/1.1 request: {0}")]
    NotHttp(String),
    /// The head does not end.
    #[error("the request's head is larger than {HEAD_LIMIT_BYTES} bytes")]
    TooLarge,
    /// Another method than GET.
    #[error("a WebSocket begins with GET, not {0}")]
    Method(String),
    /// An ordinary request, to be answered as one or with 426.
    #[error("this is a WebSocket endpoint: send `Connection: Upgrade` and `Upgrade: websocket`")]
    NoUpgrade,
    /// Another protocol version.
    #[error("WebSocket version {0:?} is not spoken here, only 13")]
    Version(String),
    /// No `Host`, or no key of 16 bytes.
    #[error("`{0}` is absent, repeated or malformed")]
    Header(&'static str),
}

impl Upgrade {
    /// Judges all bytes received so far; `None` while the head is not whole.
    ///
    /// # Errors
    /// As soon as the request cannot become an upgrade any more.
    pub fn parse(received: &[u8]) -> Result<Option<Self>, UpgradeError> {
        let mut headers = [httparse::EMPTY_HEADER; HEADERS_LIMIT];
        let mut request = httparse::Request::new(&mut headers);
        let head_bytes = match request.parse(&received[..received.len().min(HEAD_LIMIT_BYTES)]) {
            Ok(httparse::Status::Complete(bytes)) => bytes,
            Ok(httparse::Status::Partial) if received.len() >= HEAD_LIMIT_BYTES => {
                return Err(UpgradeError::TooLarge);
            }
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(error) => return Err(UpgradeError::NotHttp(error.to_string())),
        };
        check(&request)?;
        let headers = &*request.headers;
        Ok(Some(Self {
            path: request.path.unwrap_or("/").to_owned(),
            host: only(headers, "host")
                .ok_or(UpgradeError::Header("Host"))?
                .to_owned(),
            subprotocols: tokens(headers, "sec-websocket-protocol")
                .map(str::to_owned)
                .collect(),
            deflate: deflate_offers(headers),
            head_bytes,
            key: key(headers)
                .ok_or(UpgradeError::Header("Sec-WebSocket-Key"))?
                .to_owned(),
        }))
    }
}

/// The answer that opens the connection.
#[derive(Clone, Copy, Debug, Default)]
pub struct Acceptance<'a> {
    /// One of the client's subprotocols, or none.
    pub subprotocol: Option<&'a str>,
    /// The answer to one of the client's offers, see [`Offer::answer`].
    pub deflate: Option<Agreement>,
}

impl Acceptance<'_> {
    /// The bytes to send in answer to `upgrade`.
    #[must_use]
    pub fn encode(&self, upgrade: &Upgrade) -> Vec<u8> {
        let mut head = format!(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Accept: {}\r\n",
            accept_for(&upgrade.key)
        );
        if let Some(subprotocol) = self.subprotocol {
            head += &format!("Sec-WebSocket-Protocol: {subprotocol}\r\n");
        }
        if let Some(agreement) = self.deflate {
            head += &format!("Sec-WebSocket-Extensions: {agreement}\r\n");
        }
        head += "\r\n";
        head.into_bytes()
    }
}

impl UpgradeError {
    /// The HTTP answer that says so, after which the connection is closed.
    #[must_use]
    pub fn refusal(&self) -> Vec<u8> {
        let text = self.to_string();
        match self {
            Self::NotHttp(_) | Self::Header(_) => refusal("400 Bad Request", "", &text),
            Self::TooLarge => refusal("431 Request Header Fields Too Large", "", &text),
            Self::Method(_) => refusal("405 Method Not Allowed", "Allow: GET\r\n", &text),
            Self::NoUpgrade => refusal("426 Upgrade Required", "Upgrade: websocket\r\n", &text),
            // RFC 6455, 4.2.2: the versions that would do go into this header.
            Self::Version(_) => refusal(
                "426 Upgrade Required",
                "Sec-WebSocket-Version: 13\r\n",
                &text,
            ),
        }
    }
}

/// An HTTP answer that ends the connection; `headers` are whole lines.
#[must_use]
pub fn refusal(status: &str, headers: &str, text: &str) -> Vec<u8> {
    let length = text.len() + 1;
    format!(
        "HTTP/1.1 {status}\r\nConnection: close\r\nContent-Type: text/plain; charset=utf-8\r\n\
         Content-Length: {length}\r\n{headers}\r\n{text}\n"
    )
    .into_bytes()
}

fn check(request: &httparse::Request<'_, '_>) -> Result<(), UpgradeError> {
    let headers = &*request.headers;
    if request.version != Some(1) {
        return Err(UpgradeError::NotHttp("it is HTTP/1.0".to_owned()));
    }
    if let Some(method) = request.method.filter(|&method| method != "GET") {
        return Err(UpgradeError::Method(method.to_owned()));
    }
    let upgrades = tokens(headers, "upgrade").any(|token| token.eq_ignore_ascii_case("websocket"))
        && tokens(headers, "connection").any(|token| token.eq_ignore_ascii_case("upgrade"));
    if !upgrades {
        return Err(UpgradeError::NoUpgrade);
    }
    match only(headers, "sec-websocket-version") {
        Some("13") => Ok(()),
        other => Err(UpgradeError::Version(other.unwrap_or("").to_owned())),
    }
}

/// The value of a header that stands there exactly once.
fn only<'h>(headers: &'h [httparse::Header<'_>], name: &'static str) -> Option<&'h str> {
    let mut found = values(headers, name);
    found.next().filter(|_| found.next().is_none())
}

/// The key, if it is 16 bytes in base64.
fn key<'h>(headers: &'h [httparse::Header<'_>]) -> Option<&'h str> {
    let key = only(headers, "sec-websocket-key")?;
    let bytes = STANDARD.decode(key).ok()?;
    (bytes.len() == 16).then_some(key)
}

fn deflate_offers(headers: &[httparse::Header<'_>]) -> Vec<Offer> {
    values(headers, "sec-websocket-extensions")
        .filter_map(|line| extensions::parse(line).ok())
        .flatten()
        .filter(|extension| extension.name == EXTENSION)
        .filter_map(|extension| Offer::parse(&extension).ok())
        .collect()
}
