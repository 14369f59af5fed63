//! TLS between the frames and the socket.

use std::io::{self, Read, Write};

use crate::endpoint::TlsEndpoint;

/// One TLS session without a socket: bytes from the network go in, plain bytes come out, and the other way round.
pub struct Tls {
    session: rustls::ClientConnection,
}

impl Tls {
    /// A session that has yet to say hello.
    pub fn new(endpoint: &TlsEndpoint) -> Result<Self, rustls::Error> {
        let mut session =
            rustls::ClientConnection::new(endpoint.config.clone(), endpoint.name.clone())?;
        // Every call drains the session at once; its usual limit of 64 KiB would only cut large messages.
        session.set_buffer_limit(None);
        Ok(Self { session })
    }

    /// True until both sides have their keys.
    pub fn is_handshaking(&self) -> bool {
        self.session.is_handshaking()
    }

    /// Protocol version and cipher suite, for the record.
    pub fn description(&self) -> Option<String> {
        let version = self.session.protocol_version()?;
        let suite = self.session.negotiated_cipher_suite()?;
        Some(format!("{version:?} {:?}", suite.suite()))
    }

    /// Takes plain bytes for sending.
    pub fn encrypt(&mut self, plain: &[u8]) -> io::Result<()> {
        self.session.writer().write_all(plain)
    }

    /// Appends whatever has to go to the network.
    pub fn drain_to(&mut self, wire: &mut Vec<u8>) -> io::Result<()> {
        while self.session.wants_write() {
            self.session.write_tls(wire)?;
        }
        Ok(())
    }

    /// Takes bytes from the network and appends the plain bytes that they give.
    pub fn decrypt(&mut self, mut wire: &[u8], plain: &mut Vec<u8>) -> io::Result<()> {
        while !wire.is_empty() {
            self.session.read_tls(&mut wire)?;
            let state = self
                .session
                .process_new_packets()
                .map_err(io::Error::other)?;
            let start = plain.len();
            plain.resize(start + state.plaintext_bytes_to_read(), 0);
            self.session.reader().read_exact(&mut plain[start..])?;
        }
        Ok(())
    }
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Tls")
            .field("description", &self.description())
            .finish_non_exhaustive()
    }
}
