//! REST over HTTP/1.1 and HTTP/2, plain and TLS, by clients of other makes.

use crate::rig::{until_closed, Rig};
use serde_json::Value;
use std::io::Write;
use std::sync::Arc;
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig};

const LOOPBACK: u64 = 0x7f00_0001;

#[test]
fn http_1_over_tcp_and_tls() {
    let rig = Rig::start();
    let pem = std::fs::read(&rig.certificates.authority).unwrap();
    let authority: Vec<Certificate<'static>> = ureq::tls::parse_pem(&pem)
        .filter_map(|item| match item.unwrap() {
            PemItem::Certificate(certificate) => Some(certificate),
            _ => None,
        })
        .collect();
    let tls = TlsConfig::builder()
        .root_certs(RootCerts::Specific(Arc::new(authority)))
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .build();
    let agent: ureq::Agent = ureq::Agent::config_builder().tls_config(tls).build().into();
    for scheme in ["http", "https"] {
        let url = format!("{scheme}://{}/api/v3/depth?symbol=BTC%2FUSD", rig.address);
        let mut response = agent.get(&url).call().unwrap();
        let header = |name| {
            response
                .headers()
                .get(name)
                .unwrap()
                .to_str()
                .unwrap()
                .to_owned()
        };
        assert_eq!(header("x-mbx-used-weight-1m"), "5");
        assert!(header("date").ends_with("GMT"));
        assert!(header("content-length").parse::<usize>().unwrap() > 0);
        assert!(header("content-type").starts_with("application/json"));
        let body = response.body_mut().read_to_string().unwrap();
        let seen: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(
            (&seen["path"], &seen["query"], &seen["peer"]),
            (
                &"/api/v3/depth".into(),
                &"symbol=BTC%2FUSD".into(),
                &LOOPBACK.into()
            )
        );
    }
}

#[test]
fn requests_on_one_connection_are_answered_in_order() {
    let rig = Rig::start();
    let mut socket = rig.connect();
    let requests: String = (0..50)
        .map(|n| format!("GET /{n} HTTP/1.1\r\nHost: x\r\n\r\n"))
        .collect();
    let last =
        "POST /last HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbody";
    socket.write_all((requests + last).as_bytes()).unwrap();
    let text = until_closed(socket);
    let paths: Vec<&str> = text
        .split(r#""path":""#)
        .skip(1)
        .map(|rest| rest.split('"').next().unwrap())
        .collect();
    assert_eq!(
        paths[..50],
        (0..50).map(|n| format!("/{n}")).collect::<Vec<_>>()
    );
    assert_eq!(paths[50..], ["/last"]);
    assert_eq!(text.matches("HTTP/1.1 200 OK").count(), 51);
}

/// Several requests at once on one HTTP/2 connection.
async fn http_2(
    stream: impl tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
    scheme: &str,
) {
    let (send, connection) = h2::client::handshake(stream).await.unwrap();
    tokio::spawn(connection);
    let mut send = send.ready().await.unwrap();
    let answers: Vec<_> = (0..20)
        .map(|n| {
            let request = http::Request::get(format!("{scheme}://api.binance.com/{n}?a=b"));
            send.send_request(request.body(()).unwrap(), true)
                .unwrap()
                .0
        })
        .collect();
    for (n, answer) in answers.into_iter().enumerate() {
        let response = answer.await.unwrap();
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["x-mbx-used-weight-1m"], "5");
        let mut body = response.into_body();
        let mut text = Vec::new();
        while let Some(part) = body.data().await {
            text.extend(part.unwrap());
        }
        let seen: Value = serde_json::from_slice(&text).unwrap();
        assert_eq!(
            (&seen["path"], &seen["host"]),
            (&format!("/{n}").into(), &"api.binance.com".into())
        );
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
}

#[test]
fn http_2_over_tls_by_the_clients_choice_of_protocol() {
    let rig = Rig::start();
    let connector =
        tokio_rustls::TlsConnector::from(Arc::new(rig.client_config(&[b"h2", b"http/1.1"])));
    runtime().block_on(async {
        let socket = tokio::net::TcpStream::connect(rig.address).await.unwrap();
        let name = "api.binance.com".try_into().unwrap();
        let stream = connector.connect(name, socket).await.unwrap();
        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
        http_2(stream, "https").await;
    });
}

#[test]
fn http_2_without_tls_by_its_preface_even_byte_by_byte() {
    let rig = Rig::start();
    runtime().block_on(async {
        let (near, far) = tokio::io::duplex(1 << 16);
        let socket = tokio::net::TcpStream::connect(rig.address).await.unwrap();
        socket.set_nodelay(true).unwrap();
        tokio::spawn(trickle(far, socket));
        http_2(near, "http").await;
    });
}

/// Passes on the first bytes one by one.
async fn trickle(mut near: tokio::io::DuplexStream, mut far: tokio::net::TcpStream) {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    for _ in 0..5 {
        let byte = near.read_u8().await.unwrap();
        far.write_u8(byte).await.unwrap();
        far.flush().await.unwrap();
        tokio::time::sleep(std::time::Duration::from_millis(8)).await;
    }
    let _ = tokio::io::copy_bidirectional(&mut near, &mut far).await;
}

#[test]
fn an_exchange_whose_market_has_ended_says_so() {
    let rig = Rig::without_market();
    let answer = rig.answer(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
}
