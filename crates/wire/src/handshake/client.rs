//! The client's side of the handshake.

use base64::engine::general_purpose::STANDARD;
use base64::Engine;

use super::extensions::{self, is_token};
use super::{accept_for, tokens, values, HEADERS_LIMIT, HEAD_LIMIT_BYTES};
use crate::deflate::{Agreement, DeflateError, Offer, EXTENSION};

/// How much of a refusal's body is quoted; enough for the sentence that says why.
const QUOTED_BODY_BYTES: usize = 200;

/// What the client asks for.
#[derive(Clone, Copy, Debug)]
pub struct ClientRequest<'a> {
    /// Host and port for the `Host` header, IPv6 in brackets.
    pub host: &'a str,
    /// Path and query, beginning with `/`.
    pub path: &'a str,
    /// 16 bytes of chance; a nonce against caches, not a secret.
    pub key: [u8; 16],
    /// In order of preference.
    pub subprotocols: &'a [&'a str],
    /// Offers permessage-deflate.
    pub deflate: Option<Offer>,
    /// Further headers, such as `Origin` or `Authorization`.
    pub headers: &'a [(&'a str, &'a str)],
}

/// A handshake under way: the bytes to send, and what their answer must contain.
#[derive(Clone, Debug)]
pub struct ClientHandshake {
    request: Vec<u8>,
    accept: String,
    subprotocols: Vec<String>,
    deflate: Option<Offer>,
}

/// What was agreed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Established {
    /// The subprotocol that the server chose, if any.
    pub subprotocol: Option<String>,
    /// Compression, if the server took the offer.
    pub deflate: Option<Agreement>,
    /// Bytes of the answer's head; what follows is frames.
    pub head_bytes: usize,
}

/// Why there is no WebSocket connection. The texts quote what the server answered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HandshakeError {
    /// The request itself could not be written.
    #[error("the {part} {value:?} cannot stand in an HTTP request")]
    Request {
        /// Which part of the request.
        part: &'static str,
        /// What was given.
        value: String,
    },
    /// The server refused; a redirection counts as that, since it would change what is measured.
    #[error("the server answered {code} {reason}{detail} instead of 101 Switching Protocols")]
    Refused {
        /// The HTTP status.
        code: u16,
        /// Its reason phrase.
        reason: String,
        /// Where it points to and what its body says, as far as it had arrived; empty or beginning with a space.
        detail: String,
    },
    /// The bytes are no HTTP/1.1 response.
    #[error("the server's answer is no HTTP/1.1 response ({problem}); it begins with {begins:?}")]
    NotHttp {
        /// What the parser stumbled on.
        problem: String,
        /// The first bytes, escaped.
        begins: String,
    },
    /// The head does not end.
    #[error("the head of the server's answer is larger than {HEAD_LIMIT_BYTES} bytes")]
    TooLarge,
    /// A header that makes the 101 a WebSocket is absent or wrong.
    #[error("the server switched protocols, but its `{name}` is {found:?} instead of {wanted:?}")]
    Header {
        /// The header.
        name: &'static str,
        /// Its value, empty if absent.
        found: String,
        /// What it has to be.
        wanted: String,
    },
    /// The server chose what was not on offer.
    #[error("the server chose the {what} {chosen:?}, which was not offered")]
    NotOffered {
        /// Extension or subprotocol.
        what: &'static str,
        /// The server's choice.
        chosen: String,
    },
    /// The extension header breaks its grammar.
    #[error(transparent)]
    Extensions(#[from] extensions::ExtensionsError),
    /// The parameters of permessage-deflate do not answer the offer.
    #[error(transparent)]
    Deflate(#[from] DeflateError),
}

impl ClientHandshake {
    /// Writes the request.
    ///
    /// # Errors
    /// If a part holds characters that would end its line or change the request's meaning.
    pub fn new(request: &ClientRequest<'_>) -> Result<Self, HandshakeError> {
        check(request)?;
        let key = STANDARD.encode(request.key);
        let mut head = format!(
            "GET {} HTTP/1.1\r\nHost: {}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n",
            request.path, request.host
        );
        if !request.subprotocols.is_empty() {
            head += &format!(
                "Sec-WebSocket-Protocol: {}\r\n",
                request.subprotocols.join(", ")
            );
        }
        if let Some(offer) = request.deflate {
            head += &format!("Sec-WebSocket-Extensions: {offer}\r\n");
        }
        for (name, value) in request.headers {
            head += &format!("{name}: {value}\r\n");
        }
        head += "\r\n";
        Ok(Self {
            request: head.into_bytes(),
            accept: accept_for(&key),
            subprotocols: request
                .subprotocols
                .iter()
                .map(|&name| name.to_owned())
                .collect(),
            deflate: request.deflate,
        })
    }

    /// The bytes to send.
    #[must_use]
    pub fn request(&self) -> &[u8] {
        &self.request
    }

    /// Judges all bytes received so far; `None` while the head is not whole. Call it again with more.
    ///
    /// # Errors
    /// As soon as the answer cannot become a WebSocket any more.
    pub fn receive(&self, received: &[u8]) -> Result<Option<Established>, HandshakeError> {
        let mut headers = [httparse::EMPTY_HEADER; HEADERS_LIMIT];
        let mut response = httparse::Response::new(&mut headers);
        let parsed = response.parse(&received[..received.len().min(HEAD_LIMIT_BYTES)]);
        let head_bytes = match parsed {
            Ok(httparse::Status::Complete(bytes)) => bytes,
            Ok(httparse::Status::Partial) if received.len() >= HEAD_LIMIT_BYTES => {
                return Err(HandshakeError::TooLarge);
            }
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(error) => return Err(not_http(&error.to_string(), received)),
        };
        if response.version != Some(1) {
            return Err(not_http("it is HTTP/1.0", received));
        }
        if response.code != Some(101) {
            return Err(refused(&response, &received[head_bytes..]));
        }
        self.check_upgrade(response.headers)?;
        Ok(Some(Established {
            subprotocol: self.chosen_subprotocol(response.headers)?,
            deflate: self.agreed_deflate(response.headers)?,
            head_bytes,
        }))
    }

    fn check_upgrade(&self, headers: &[httparse::Header<'_>]) -> Result<(), HandshakeError> {
        let wrong = |name, header, wanted: &str| {
            let found = values(headers, header).collect::<Vec<_>>().join(", ");
            Err(HandshakeError::Header {
                name,
                found,
                wanted: wanted.to_owned(),
            })
        };
        if !tokens(headers, "upgrade").any(|token| token.eq_ignore_ascii_case("websocket")) {
            return wrong("Upgrade", "upgrade", "websocket");
        }
        if !tokens(headers, "connection").any(|token| token.eq_ignore_ascii_case("upgrade")) {
            return wrong("Connection", "connection", "Upgrade");
        }
        let mut accepts = values(headers, "sec-websocket-accept");
        if (accepts.next(), accepts.next()) != (Some(self.accept.as_str()), None) {
            return wrong("Sec-WebSocket-Accept", "sec-websocket-accept", &self.accept);
        }
        Ok(())
    }

    fn chosen_subprotocol(
        &self,
        headers: &[httparse::Header<'_>],
    ) -> Result<Option<String>, HandshakeError> {
        let chosen: Vec<&str> = values(headers, "sec-websocket-protocol").collect();
        match chosen[..] {
            [] => Ok(None),
            [one] if self.subprotocols.iter().any(|offered| offered == one) => {
                Ok(Some(one.to_owned()))
            }
            _ => Err(HandshakeError::NotOffered {
                what: "subprotocol",
                chosen: chosen.join(", "),
            }),
        }
    }

    fn agreed_deflate(
        &self,
        headers: &[httparse::Header<'_>],
    ) -> Result<Option<Agreement>, HandshakeError> {
        let mut agreed = None;
        for line in values(headers, "sec-websocket-extensions") {
            for extension in extensions::parse(line)? {
                match self.deflate {
                    Some(offer) if extension.name == EXTENSION && agreed.is_none() => {
                        agreed = Some(offer.check_answer(&extension)?);
                    }
                    _ => {
                        let chosen = extension.name;
                        return Err(HandshakeError::NotOffered {
                            what: "extension",
                            chosen,
                        });
                    }
                }
            }
        }
        Ok(agreed)
    }
}

/// Nothing may end a line or the request line's path: a URL from a file must not become a second request.
fn check(request: &ClientRequest<'_>) -> Result<(), HandshakeError> {
    let refuse = |part, value: &str| {
        Err(HandshakeError::Request {
            part,
            value: value.to_owned(),
        })
    };
    let visible = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
    if !visible(request.host) {
        return refuse("host", request.host);
    }
    if !visible(request.path) || !request.path.starts_with('/') {
        return refuse("path", request.path);
    }
    if let Some(name) = request.subprotocols.iter().find(|name| !is_token(name)) {
        return refuse("subprotocol", name);
    }
    for (name, value) in request.headers {
        if !is_token(name) {
            return refuse("header name", name);
        }
        if value
            .bytes()
            .any(|byte| byte.is_ascii_control() && byte != b'\t')
        {
            return refuse("header value", value);
        }
    }
    Ok(())
}

fn refused(response: &httparse::Response<'_, '_>, body: &[u8]) -> HandshakeError {
    let mut detail = String::new();
    if let Some(location) = values(response.headers, "location").next() {
        detail += &format!(" (to {location})");
    }
    let quoted = String::from_utf8_lossy(&body[..body.len().min(QUOTED_BODY_BYTES)]);
    if !quoted.trim().is_empty() {
        detail += &format!(" ({:?})", quoted.trim());
    }
    HandshakeError::Refused {
        code: response.code.unwrap_or(0),
        reason: response.reason.unwrap_or("").to_owned(),
        detail,
    }
}

fn not_http(problem: &str, received: &[u8]) -> HandshakeError {
    HandshakeError::NotHttp {
        problem: problem.to_owned(),
        begins: received[..received.len().min(40)]
            .escape_ascii()
            .to_string(),
    }
}
