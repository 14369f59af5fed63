//! The four parameters of permessage-deflate, offered and agreed.

use std::fmt;

use super::{DeflateError, EXTENSION};
use crate::handshake::extensions::{Extension, Parameter};

/// The largest LZ77 window is 2^15 bytes; what holds when nobody says otherwise.
const LARGEST_WINDOW_BITS: u8 = 15;
const SMALLEST_WINDOW_BITS: u8 = 8;

/// What an offer says about the client's own window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClientWindow {
    /// Nothing: the server must not ask for a smaller one.
    #[default]
    Unmentioned,
    /// `client_max_window_bits`: the server may ask for any.
    Negotiable,
    /// `client_max_window_bits=N`: the client will not use more than this anyway.
    AtMost(u8),
}

/// What a client is ready to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offer {
    /// Asks the server to forget its window after each message.
    pub server_no_context_takeover: bool,
    /// Announces that the client will forget its own.
    pub client_no_context_takeover: bool,
    /// Asks the server for a window of at most 2^bits bytes.
    pub server_max_window_bits: Option<u8>,
    /// The client's own window.
    pub client_window: ClientWindow,
}

/// What both ends do from now on, with windows as the answer names them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Agreement {
    /// The server forgets its window after each message.
    pub server_no_context_takeover: bool,
    /// The client forgets its window after each message.
    pub client_no_context_takeover: bool,
    /// The server's window is at most 2^bits bytes; `None` leaves it at the largest.
    pub server_max_window_bits: Option<u8>,
    /// The client's window is at most 2^bits bytes; `None` leaves it at the largest.
    pub client_max_window_bits: Option<u8>,
}

impl Agreement {
    /// The window that the server compresses with and the client decompresses with, 8 to 15.
    #[must_use]
    pub fn server_window_bits(&self) -> u8 {
        self.server_max_window_bits.unwrap_or(LARGEST_WINDOW_BITS)
    }

    /// The window that the client compresses with and the server decompresses with, 8 to 15.
    #[must_use]
    pub fn client_window_bits(&self) -> u8 {
        self.client_max_window_bits.unwrap_or(LARGEST_WINDOW_BITS)
    }
}

/// The parameters as they stand in either direction's header; `Some(None)` is a name without a value.
#[derive(Default)]
struct Parameters {
    server_no_context_takeover: bool,
    client_no_context_takeover: bool,
    server_max_window_bits: Option<u8>,
    client_max_window_bits: Option<Option<u8>>,
}

impl Offer {
    /// What browsers offer: everything the server likes, context kept.
    #[must_use]
    pub fn usual() -> Self {
        Self {
            client_window: ClientWindow::Negotiable,
            ..Self::default()
        }
    }

    /// Reads one element of a client's `Sec-WebSocket-Extensions`.
    ///
    /// # Errors
    /// For unknown, repeated or malformed parameters; a server declines such an offer (RFC 7692, 7.1).
    pub fn parse(extension: &Extension) -> Result<Self, DeflateError> {
        let parameters = Parameters::parse(extension)?;
        Ok(Self {
            server_no_context_takeover: parameters.server_no_context_takeover,
            client_no_context_takeover: parameters.client_no_context_takeover,
            server_max_window_bits: parameters.server_max_window_bits,
            client_window: match parameters.client_max_window_bits {
                None => ClientWindow::Unmentioned,
                Some(None) => ClientWindow::Negotiable,
                Some(Some(bits)) => ClientWindow::AtMost(bits),
            },
        })
    }

    /// The answer of a server that wants `wanted`, within what this offer allows: windows are the smaller of both,
    /// and a client that did not mention its window keeps the largest. A window that was asked for is always
    /// named in the answer, even the largest (RFC 7692, 7.1.2.1).
    #[must_use]
    pub fn answer(&self, wanted: Agreement) -> Agreement {
        Agreement {
            server_no_context_takeover: self.server_no_context_takeover
                || wanted.server_no_context_takeover,
            client_no_context_takeover: self.client_no_context_takeover
                || wanted.client_no_context_takeover,
            server_max_window_bits: match self.server_max_window_bits {
                None => wanted.server_max_window_bits,
                Some(asked) => Some(asked.min(wanted.server_window_bits())),
            },
            client_max_window_bits: match self.client_window {
                ClientWindow::Unmentioned => None,
                ClientWindow::Negotiable => wanted.client_max_window_bits,
                ClientWindow::AtMost(bits) => Some(bits.min(wanted.client_window_bits())),
            },
        }
    }

    /// Reads a server's answer to this offer.
    ///
    /// # Errors
    /// If the answer is malformed, or takes liberties that the offer did not give.
    pub fn check_answer(&self, extension: &Extension) -> Result<Agreement, DeflateError> {
        let answer = Parameters::parse(extension)?;
        let refuse = |text: &str| Err(DeflateError::Negotiation(text.to_owned()));
        if self.server_no_context_takeover && !answer.server_no_context_takeover {
            return refuse(
                "the server's answer drops server_no_context_takeover, which was asked for",
            );
        }
        match (self.server_max_window_bits, answer.server_max_window_bits) {
            (Some(_), None) => {
                return refuse(
                    "the server's answer drops server_max_window_bits, which was asked for",
                );
            }
            (Some(asked), Some(given)) if given > asked => {
                return refuse(
                    "the server answers with a larger server_max_window_bits than was asked for",
                );
            }
            _ => {}
        }
        let client_max_window_bits = match (self.client_window, answer.client_max_window_bits) {
            (_, Some(None)) => {
                return refuse("the server answers client_max_window_bits without a value")
            }
            (ClientWindow::Unmentioned, Some(Some(_))) => {
                return refuse("the server answers client_max_window_bits, which was not offered");
            }
            (ClientWindow::AtMost(offered), Some(Some(given))) if given > offered => {
                return refuse(
                    "the server answers with a larger client_max_window_bits than was offered",
                );
            }
            (_, Some(Some(given))) => Some(given),
            (ClientWindow::AtMost(offered), None) => Some(offered),
            (_, None) => None,
        };
        Ok(Agreement {
            server_no_context_takeover: answer.server_no_context_takeover,
            // A client that announced it keeps to it, answered or not (RFC 7692, 7.1.1.2).
            client_no_context_takeover: answer.client_no_context_takeover
                || self.client_no_context_takeover,
            server_max_window_bits: answer.server_max_window_bits,
            client_max_window_bits,
        })
    }
}

impl Parameters {
    fn parse(extension: &Extension) -> Result<Self, DeflateError> {
        let mut parsed = Self::default();
        let mut seen: Vec<&str> = Vec::new();
        for Parameter { name, value } in &extension.parameters {
            let malformed = |what: &str| {
                let shown = value
                    .as_ref()
                    .map_or_else(|| name.clone(), |value| format!("{name}={value}"));
                DeflateError::Negotiation(format!("`{shown}` {what}"))
            };
            if seen.contains(&name.as_str()) {
                return Err(malformed("stands there twice"));
            }
            seen.push(name);
            let bits = value.as_deref().map(window_bits);
            match (name.as_str(), bits) {
                ("server_no_context_takeover", None) => parsed.server_no_context_takeover = true,
                ("client_no_context_takeover", None) => parsed.client_no_context_takeover = true,
                ("server_max_window_bits", Some(Some(bits))) => {
                    parsed.server_max_window_bits = Some(bits)
                }
                ("client_max_window_bits", None) => parsed.client_max_window_bits = Some(None),
                ("client_max_window_bits", Some(Some(bits))) => {
                    parsed.client_max_window_bits = Some(Some(bits));
                }
                ("server_no_context_takeover" | "client_no_context_takeover", _) => {
                    return Err(malformed("takes no value"));
                }
                ("server_max_window_bits" | "client_max_window_bits", _) => {
                    return Err(malformed(
                        "needs a value from 8 to 15 without leading zeros",
                    ));
                }
                _ => return Err(malformed("is no parameter of permessage-deflate")),
            }
        }
        Ok(parsed)
    }
}

/// 8 to 15, without leading zeros (RFC 7692, 7.1.2.1).
fn window_bits(text: &str) -> Option<u8> {
    let canonical = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0');
    let bits = text.parse().ok().filter(|_| canonical)?;
    (SMALLEST_WINDOW_BITS..=LARGEST_WINDOW_BITS)
        .contains(&bits)
        .then_some(bits)
}

impl fmt::Display for Offer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let client_window = match self.client_window {
            ClientWindow::Unmentioned => None,
            ClientWindow::Negotiable => Some(None),
            ClientWindow::AtMost(bits) => Some(Some(bits)),
        };
        write_parameters(
            formatter,
            self.server_no_context_takeover,
            self.client_no_context_takeover,
            self.server_max_window_bits,
            client_window,
        )
    }
}

impl fmt::Display for Agreement {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_parameters(
            formatter,
            self.server_no_context_takeover,
            self.client_no_context_takeover,
            self.server_max_window_bits,
            self.client_max_window_bits.map(Some),
        )
    }
}

fn write_parameters(
    formatter: &mut fmt::Formatter<'_>,
    server_no_context_takeover: bool,
    client_no_context_takeover: bool,
    server_max_window_bits: Option<u8>,
    client_max_window_bits: Option<Option<u8>>,
) -> fmt::Result {
    formatter.write_str(EXTENSION)?;
    if server_no_context_takeover {
        formatter.write_str("; server_no_context_takeover")?;
    }
    if client_no_context_takeover {
        formatter.write_str("; client_no_context_takeover")?;
    }
    if let Some(bits) = server_max_window_bits {
        write!(formatter, "; server_max_window_bits={bits}")?;
    }
    match client_max_window_bits {
        None => Ok(()),
        Some(None) => formatter.write_str("; client_max_window_bits"),
        Some(Some(bits)) => write!(formatter, "; client_max_window_bits={bits}"),
    }
}
