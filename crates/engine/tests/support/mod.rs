//! An echo server that misbehaves on request, and a way to run the engine against it.

// Each test file uses its own part of this.
#![allow(dead_code)]

pub mod stamps;

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Output};
use std::sync::Arc;

use feedbench_wire::deflate::{Agreement, Compressor, Decompressor};
use feedbench_wire::frame::{append, Header, Opcode};
use feedbench_wire::handshake::{Acceptance, Upgrade};
use feedbench_wire::mask;
use serde_json::Value;

/// What the server does to its answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Behaviour {
    /// Answers rightly.
    Echo,
    /// Leaves out each n-th answer.
    DropEvery(u64),
    /// Answers each n-th message twice.
    RepeatEvery(u64),
    /// Answers each n-th message only after the next one.
    SwapEvery(u64),
    /// Changes the last byte of each n-th answer.
    ChangeEvery(u64),
    /// Answers text as binary.
    ChangeKind,
    /// Reads and says nothing.
    Silent,
    /// Closes the TCP connection after n messages.
    DieAfter(u64),
    /// Sends a close frame after n messages.
    CloseAfter(u64),
    /// Answers the first message and closes the TCP connection in the same moment.
    AnswerAndDie,
    /// Closes a connection that says nothing for 100 ms.
    DropIdle,
    /// Answers in two frames with a ping between them.
    Fragment,
    /// Sends each byte by itself.
    Dribble,
    /// Masks its frames, which a server must not.
    Mask,
    /// Sends bytes that are no frame.
    Garbage,
    /// Answers the handshake with 404.
    Refuse,
    /// Greets before it is asked.
    Greet,
    /// Compresses its answers.
    Deflate,
}

/// A server that lives as long as the test's process.
pub fn serve(behaviour: Behaviour) -> SocketAddr {
    listen(move |socket| {
        if behaviour == Behaviour::DropIdle {
            socket.set_read_timeout(Some(std::time::Duration::from_millis(100)))?;
        }
        serve_one(socket, behaviour)
    })
}

/// The same behind TLS.
pub fn serve_tls(config: Arc<rustls::ServerConfig>) -> SocketAddr {
    listen(move |socket| {
        let session = rustls::ServerConnection::new(config.clone()).map_err(io::Error::other)?;
        serve_one(rustls::StreamOwned::new(session, socket), Behaviour::Echo)
    })
}

/// Serves each connection on a thread of its own, as long as the test's process lives.
pub fn listen(serve: impl Fn(TcpStream) -> io::Result<()> + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let serve = Arc::new(serve);
    std::thread::spawn(move || {
        for socket in listener.incoming().map_while(Result::ok) {
            let serve = serve.clone();
            socket.set_nodelay(true).unwrap();
            // A client that goes away is no fault of the server.
            std::thread::spawn(move || serve(socket).ok());
        }
    });
    address
}

fn serve_one(mut socket: impl Read + Write, behaviour: Behaviour) -> io::Result<()> {
    let mut received = Vec::new();
    let upgrade = loop {
        match Upgrade::parse(&received).map_err(io::Error::other)? {
            Some(upgrade) => break upgrade,
            None => read_more(&mut socket, &mut received)?,
        }
    };
    if behaviour == Behaviour::Refuse {
        return socket
            .write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 13\r\n\r\nnothing here\n");
    }
    received.drain(..upgrade.head_bytes);
    let offer = upgrade
        .deflate
        .first()
        .filter(|_| behaviour == Behaviour::Deflate);
    let agreement = offer.map(|offer| offer.answer(Agreement::default()));
    let acceptance = Acceptance {
        subprotocol: None,
        deflate: agreement,
    };
    let mut head = acceptance.encode(&upgrade);
    if behaviour == Behaviour::Greet {
        // In the same segment, so that it is there before the first message leaves.
        append(&mut head, Header::message(Opcode::Text, 5, None), b"hello");
    }
    socket.write_all(&head)?;
    let mut streams = agreement.map(|agreement| {
        let decompressor = Decompressor::new(agreement.client_window_bits(), false, 1 << 20);
        (
            Compressor::new(
                agreement.server_window_bits(),
                false,
                flate2::Compression::default(),
            ),
            decompressor,
        )
    });
    let (mut number, mut held) = (0, None);
    let mut fragments = Fragments::default();
    loop {
        let Some((header, mut message)) = take_frame(&mut received) else {
            read_more(&mut socket, &mut received)?;
            continue;
        };
        match header.opcode {
            Opcode::Close => return Ok(()),
            Opcode::Ping => send(&mut socket, Opcode::Pong, &message)?,
            _ => {}
        }
        if !fragments.join(header, &mut message) {
            continue;
        }
        number += 1;
        if let Some((compressor, decompressor)) = &mut streams {
            let mut plain = Vec::new();
            decompressor.decompress(&message, true, &mut plain).unwrap();
            message.clear();
            compressor.compress(&plain, &mut message).unwrap();
            let mut frame = Vec::new();
            let header = Header::message(header.opcode, message.len() as u64, None);
            append(
                &mut frame,
                Header {
                    compressed: true,
                    ..header
                },
                &message,
            );
            socket.write_all(&frame)?;
            continue;
        }
        answer(
            &mut socket,
            behaviour,
            number,
            fragments.opcode.expect("a message begins with its kind"),
            message,
            &mut held,
        )?;
    }
}

/// The message of which frames have come.
#[derive(Default)]
struct Fragments {
    opcode: Option<Opcode>,
    bytes: Vec<u8>,
}

impl Fragments {
    /// Takes in a frame; true once its message is whole, which then stands in `payload`.
    fn join(&mut self, header: Header, payload: &mut Vec<u8>) -> bool {
        match header.opcode {
            Opcode::Text | Opcode::Binary => self.opcode = Some(header.opcode),
            Opcode::Continuation => {}
            _ => return false,
        }
        self.bytes.append(payload);
        if header.fin {
            std::mem::swap(&mut self.bytes, payload);
        }
        header.fin
    }
}

fn answer(
    socket: &mut (impl Read + Write),
    behaviour: Behaviour,
    number: u64,
    opcode: Opcode,
    mut message: Vec<u8>,
    held: &mut Option<Vec<u8>>,
) -> io::Result<()> {
    match behaviour {
        Behaviour::DropEvery(every) if number % every == 0 => Ok(()),
        Behaviour::RepeatEvery(every) if number % every == 0 => {
            send(socket, opcode, &message)?;
            send(socket, opcode, &message)
        }
        Behaviour::SwapEvery(every) if number % every == 0 => {
            *held = Some(message);
            Ok(())
        }
        Behaviour::SwapEvery(_) => {
            send(socket, opcode, &message)?;
            held.take()
                .map_or(Ok(()), |late| send(socket, opcode, &late))
        }
        Behaviour::ChangeEvery(every) if number % every == 0 => {
            *message.last_mut().unwrap() ^= 1;
            send(socket, opcode, &message)
        }
        Behaviour::ChangeKind => send(socket, Opcode::Binary, &message),
        Behaviour::Silent => Ok(()),
        Behaviour::AnswerAndDie => {
            send(socket, opcode, &message)?;
            Err(io::ErrorKind::ConnectionAborted.into())
        }
        Behaviour::DieAfter(last) if number > last => Err(io::ErrorKind::ConnectionAborted.into()),
        Behaviour::CloseAfter(last) if number > last => {
            send(socket, Opcode::Close, b"\x03\xe9going away")?;
            std::thread::sleep(std::time::Duration::from_millis(100));
            Err(io::ErrorKind::ConnectionAborted.into())
        }
        Behaviour::Fragment => {
            let (head, tail) = message.split_at(message.len() / 3);
            let mut frames = Vec::new();
            append(
                &mut frames,
                Header {
                    fin: false,
                    ..Header::message(opcode, head.len() as u64, None)
                },
                head,
            );
            append(&mut frames, Header::message(Opcode::Ping, 2, None), b"hi");
            append(
                &mut frames,
                Header::message(Opcode::Continuation, tail.len() as u64, None),
                tail,
            );
            socket.write_all(&frames)
        }
        Behaviour::Dribble => {
            let mut frame = Vec::new();
            append(
                &mut frame,
                Header::message(opcode, message.len() as u64, None),
                &message,
            );
            frame.chunks(1).try_for_each(|byte| socket.write_all(byte))
        }
        Behaviour::Mask => {
            let mut frame = Vec::new();
            append(
                &mut frame,
                Header::message(opcode, message.len() as u64, Some([1, 2, 3, 4])),
                &message,
            );
            socket.write_all(&frame)
        }
        Behaviour::Garbage => socket.write_all(b"\xf7\xff this is no frame"),
        _ => send(socket, opcode, &message),
    }
}

/// Sends one message in one frame.
pub fn send(socket: &mut impl Write, opcode: Opcode, payload: &[u8]) -> io::Result<()> {
    let mut frame = Vec::new();
    append(
        &mut frame,
        Header::message(opcode, payload.len() as u64, None),
        payload,
    );
    socket.write_all(&frame)
}

/// Appends what one read gives; the end of the stream is an error.
pub fn read_more(socket: &mut impl Read, into: &mut Vec<u8>) -> io::Result<()> {
    let mut buffer = [0; 64 << 10];
    match socket.read(&mut buffer)? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        count => {
            into.extend_from_slice(&buffer[..count]);
            Ok(())
        }
    }
}

/// The first whole frame, unmasked.
pub fn take_frame(received: &mut Vec<u8>) -> Option<(Header, Vec<u8>)> {
    let (header, start) = Header::parse(received).unwrap()?;
    let end = start + header.payload_bytes as usize;
    let mut payload = received.get(start..end)?.to_vec();
    mask::apply(
        header.mask.expect("a client masks its frames"),
        &mut payload,
        0,
    );
    received.drain(..end);
    Some((header, payload))
}

/// The engine, ready for arguments.
pub fn engine() -> Command {
    Command::new(env!("CARGO_BIN_EXE_feedbench-engine"))
}

/// Runs `load --json` with these arguments.
pub fn load(arguments: &[&str]) -> Output {
    engine()
        .args(["load", "--json"])
        .args(arguments)
        .output()
        .unwrap()
}

/// Runs `load` for a moment against this server, with further arguments.
pub fn load_briefly(server: SocketAddr, more: &[&str]) -> Value {
    let url = format!("ws://{server}/echo");
    let output = load(
        &[
            &[url.as_str(), "--duration", "200ms", "--warmup", "0ms"],
            more,
        ]
        .concat(),
    );
    json(&output)
}

/// Standard output as JSON.
pub fn json(output: &Output) -> Value {
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&text).unwrap_or_else(|error| {
        panic!("{error}: {text}{}", String::from_utf8_lossy(&output.stderr))
    })
}

/// A count in a result.
pub fn count(result: &Value, field: &str) -> u64 {
    result[field]
        .as_u64()
        .unwrap_or_else(|| panic!("{field} in {result}"))
}

/// How often an error of this kind was counted.
pub fn errors(result: &Value, kind: &str) -> u64 {
    let all = result["errors"].as_array().unwrap();
    all.iter()
        .filter(|error| error["kind"] == kind)
        .map(|error| count(error, "count"))
        .sum()
}

/// True if this kernel has io_uring. The engine's own answer without it is looked at too.
pub fn has_io_uring() -> bool {
    let output = load(&["ws://127.0.0.1:1/", "--transport", "io_uring"]);
    let talk = String::from_utf8_lossy(&output.stderr);
    let has = talk.contains("Connection refused");
    assert!(has || talk.contains("use --transport epoll"), "{talk}");
    has
}
