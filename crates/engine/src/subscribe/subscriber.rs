//! One subscriber: bytes in, messages out.

use std::os::fd::{AsRawFd, OwnedFd};

use feedbench_wire::frame::{self, Header, Opcode};

use crate::connection::{close_reason, ConnectionError, MESSAGE_LIMIT_BYTES};
use crate::opening::Opened;
use crate::tls::Tls;
use crate::transport::send_now;

/// Needs no secret, see `Stencil`.
const MASK: [u8; 4] = [0x5a, 0xc3, 0x96, 0x3c];

/// An open connection that receives, and says little.
pub struct Subscriber {
    socket: OwnedFd,
    tls: Option<Tls>,
    /// The beginning of a frame whose rest is still to come.
    partial: Vec<u8>,
    /// The message whose frames have not all come.
    fragments: Option<(Opcode, Vec<u8>)>,
    /// Bytes for the network that it has not taken yet.
    out: Vec<u8>,
    plain: Vec<u8>,
    /// False once it has stopped reading.
    pub reads: bool,
}

impl Subscriber {
    /// Also gives the bytes that came with the handshake.
    pub fn new(opened: Opened) -> (Self, Vec<u8>) {
        let subscriber = Self {
            socket: opened.socket,
            tls: opened.tls,
            partial: Vec::new(),
            fragments: None,
            out: Vec::new(),
            plain: Vec::new(),
            reads: true,
        };
        (subscriber, opened.leftover)
    }

    /// The socket.
    pub fn socket(&self) -> i32 {
        self.socket.as_raw_fd()
    }

    /// Takes bytes from the network and hands each whole message to `message`.
    pub fn take(
        &mut self,
        bytes: &[u8],
        message: &mut impl FnMut(Opcode, &[u8]),
    ) -> Result<(), ConnectionError> {
        let Some(tls) = &mut self.tls else {
            return self.take_plain(bytes, message);
        };
        let mut plain = std::mem::take(&mut self.plain);
        plain.clear();
        tls.decrypt(bytes, &mut plain)?;
        tls.drain_to(&mut self.out)?;
        let outcome = self.take_plain(&plain, message);
        self.plain = plain;
        outcome
    }

    /// The same after TLS, and for bytes that came with the handshake.
    pub fn take_plain(
        &mut self,
        bytes: &[u8],
        message: &mut impl FnMut(Opcode, &[u8]),
    ) -> Result<(), ConnectionError> {
        if self.partial.is_empty() {
            let used = self.take_frames(bytes, message)?;
            self.partial.extend_from_slice(&bytes[used..]);
        } else {
            let mut joined = std::mem::take(&mut self.partial);
            joined.extend_from_slice(bytes);
            let used = self.take_frames(&joined, message)?;
            joined.drain(..used);
            self.partial = joined;
        }
        Ok(())
    }

    /// How many bytes the whole frames at the beginning of `bytes` take.
    fn take_frames(
        &mut self,
        bytes: &[u8],
        message: &mut impl FnMut(Opcode, &[u8]),
    ) -> Result<usize, ConnectionError> {
        let mut used = 0;
        while let Some((header, header_bytes)) = Header::parse(&bytes[used..])? {
            if header.mask.is_some() {
                return Err(ConnectionError::Protocol(
                    "a server's frames must not be masked",
                ));
            }
            if header.compressed {
                return Err(ConnectionError::Protocol(
                    "a compressed message without permessage-deflate",
                ));
            }
            if header.payload_bytes > MESSAGE_LIMIT_BYTES as u64 {
                return Err(ConnectionError::Protocol("a frame of more than 256 MiB"));
            }
            let start = used + header_bytes;
            let Some(payload) = bytes.get(start..start + header.payload_bytes as usize) else {
                break;
            };
            used = start + payload.len();
            self.take_frame(header, payload, message)?;
        }
        Ok(used)
    }

    fn take_frame(
        &mut self,
        header: Header,
        payload: &[u8],
        message: &mut impl FnMut(Opcode, &[u8]),
    ) -> Result<(), ConnectionError> {
        match header.opcode {
            Opcode::Ping => return self.queue(Opcode::Pong, payload),
            Opcode::Pong => return Ok(()),
            Opcode::Close => return Err(ConnectionError::Closed(close_reason(payload))),
            Opcode::Text | Opcode::Binary if self.fragments.is_some() => {
                return Err(ConnectionError::Protocol("a new message inside another"))
            }
            Opcode::Text | Opcode::Binary if header.fin => message(header.opcode, payload),
            Opcode::Text | Opcode::Binary => {
                self.fragments = Some((header.opcode, payload.to_vec()));
            }
            Opcode::Continuation => {
                let Some((opcode, mut whole)) = self.fragments.take() else {
                    return Err(ConnectionError::Protocol("a continuation of nothing"));
                };
                if whole.len() + payload.len() > MESSAGE_LIMIT_BYTES {
                    return Err(ConnectionError::Protocol("a message of more than 256 MiB"));
                }
                whole.extend_from_slice(payload);
                if header.fin {
                    message(opcode, &whole);
                } else {
                    self.fragments = Some((opcode, whole));
                }
            }
        }
        Ok(())
    }

    /// Puts a frame into the queue for the network.
    pub fn queue(&mut self, opcode: Opcode, payload: &[u8]) -> Result<(), ConnectionError> {
        let header = Header::message(opcode, payload.len() as u64, Some(MASK));
        match &mut self.tls {
            None => frame::append(&mut self.out, header, payload),
            Some(tls) => {
                let mut encoded = Vec::new();
                frame::append(&mut encoded, header, payload);
                tls.encrypt(&encoded)?;
                tls.drain_to(&mut self.out)?;
            }
        }
        Ok(())
    }

    /// Sends what waits, as far as the socket takes it.
    pub fn flush(&mut self) -> Result<(), ConnectionError> {
        while !self.out.is_empty() {
            match send_now(self.socket(), &self.out) {
                Ok(count) => drop(self.out.drain(..count)),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Says goodbye, if the socket takes it at once: who does not listen any more misses nothing.
    pub fn say_goodbye(&mut self) {
        let _ = self
            .queue(Opcode::Close, &1000_u16.to_be_bytes())
            .and_then(|()| self.flush());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use feedbench_wire::handshake::Established;

    fn subscriber() -> (Subscriber, std::os::unix::net::UnixStream) {
        let (here, there) = std::os::unix::net::UnixStream::pair().unwrap();
        here.set_nonblocking(true).unwrap();
        let opened = Opened {
            socket: here.into(),
            tls: None,
            established: Established::default(),
            leftover: Vec::new(),
            handshake_ns: 0,
        };
        (Subscriber::new(opened).0, there)
    }

    fn framed(opcode: Opcode, fin: bool, payload: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let header = Header {
            fin,
            ..Header::message(opcode, payload.len() as u64, None)
        };
        frame::append(&mut bytes, header, payload);
        bytes
    }

    #[test]
    fn messages_are_whole_however_the_bytes_come() {
        let mut stream = framed(Opcode::Text, true, b"one");
        stream.extend(framed(Opcode::Text, false, b"tw"));
        stream.extend(framed(Opcode::Ping, true, b"?"));
        stream.extend(framed(Opcode::Continuation, true, b"o"));
        stream.extend(framed(Opcode::Binary, true, &[7; 70_000]));
        for step in [1, 2, 7, 4096, stream.len()] {
            let (mut subscriber, _there) = subscriber();
            let mut messages = Vec::new();
            for bytes in stream.chunks(step) {
                subscriber
                    .take(bytes, &mut |opcode, payload| {
                        messages.push((opcode, payload.to_vec()));
                    })
                    .unwrap();
            }
            let expected = vec![
                (Opcode::Text, b"one".to_vec()),
                (Opcode::Text, b"two".to_vec()),
                (Opcode::Binary, vec![7; 70_000]),
            ];
            assert_eq!(messages, expected, "in steps of {step}");
            assert!(!subscriber.out.is_empty(), "the ping is answered");
        }
    }

    #[test]
    fn what_breaks_the_protocol_is_refused() {
        let table = [
            (
                framed(Opcode::Continuation, true, b"x"),
                "a continuation of nothing",
            ),
            (
                [
                    framed(Opcode::Text, false, b"a"),
                    framed(Opcode::Text, true, b"b"),
                ]
                .concat(),
                "a new message inside another",
            ),
            (
                framed(Opcode::Close, true, &1001_u16.to_be_bytes()),
                "status 1001",
            ),
            (vec![0x81, 0x81, 0, 0, 0, 0, 65], "must not be masked"),
            (vec![0xC1, 0x01, 65], "compressed message without"),
        ];
        for (bytes, words) in table {
            let (mut subscriber, _there) = subscriber();
            let error = subscriber.take(&bytes, &mut |_, _| {}).unwrap_err();
            assert!(error.to_string().contains(words), "{words}: {error}");
        }
    }
}
