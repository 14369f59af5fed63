//! Connections whose TLS handshake the front has finished.

use crate::rig::{client, pair, unpaced, Rig};
use feedbench_exchange::ledger::Received;
use rustls_pki_types::{PrivatePkcs8KeyDer, ServerName};
use std::sync::Arc;

fn configs() -> (Arc<rustls::ServerConfig>, Arc<rustls::ClientConfig>) {
    let own = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let key = PrivatePkcs8KeyDer::from(own.signing_key.serialize_der());
    let server = rustls::ServerConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![own.cert.der().clone()], key.into())
        .unwrap();
    let mut roots = rustls::RootCertStore::empty();
    roots.add(own.cert.der().clone()).unwrap();
    let client = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    (Arc::new(server), Arc::new(client))
}

#[test]
fn a_client_over_tls_gets_the_same_and_can_speak() {
    let (server_config, client_config) = configs();
    let rig = Rig::start(unpaced(2_000));
    let ticket = rig.open(0, "/ws").unwrap();
    let (client_socket, mut server_socket) = pair();
    let accepting = std::thread::spawn(move || {
        let mut tls = rustls::ServerConnection::new(server_config).unwrap();
        while tls.is_handshaking() {
            tls.complete_io(&mut server_socket).unwrap();
        }
        (server_socket, tls)
    });
    let name = ServerName::try_from("localhost").unwrap();
    let session = rustls::ClientConnection::new(client_config, name).unwrap();
    let mut stream = rustls::StreamOwned::new(session, client_socket);
    while stream.conn.is_handshaking() {
        stream.conn.complete_io(&mut stream.sock).unwrap();
    }
    let (server_socket, tls) = accepting.join().unwrap();
    rig.attach_tls(ticket, server_socket, Some(Box::new(tls)), b"");
    let mut client = client(stream);
    client.send(r#"{"method":"SUBSCRIBE","params":["btcusdt@bookTicker"],"id":1}"#);
    assert_eq!(client.text(), r#"{"result":null,"id":1}"#);
    let (texts, code) = client.rest();
    assert_eq!(code, Some(1001));
    let sent = rig.wait().sent();
    assert!(texts.len() > 500);
    let received = texts.iter().map(|text| Received::of(text.as_bytes()));
    let recorded = sent.iter().map(|sent| Received {
        payload_bytes: sent.payload_bytes,
        payload_crc32: sent.payload_crc32,
    });
    assert!(received.eq(recorded));
}
