//! TLS and permessage-deflate under the same loop.

mod support;

use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use support::{count, json, load, load_briefly, serve, serve_tls, Behaviour};

#[test]
fn wss_is_loaded_when_its_authority_is_trusted_and_refused_otherwise() {
    let certificates = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/certificates");
    let authority = certificates.join("server.pem");
    let chain = CertificateDer::pem_file_iter(&authority)
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let key = PrivateKeyDer::from_pem_file(certificates.join("server.key")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    let url = format!("wss://{}/echo", serve_tls(Arc::new(config)));
    let brief = ["--duration", "200ms", "--warmup", "0ms"];

    let trusted = [
        "--ca-file",
        authority.to_str().unwrap(),
        "--connections",
        "2",
        "--in-flight",
        "4",
    ];
    let result = json(&load(&[&[url.as_str()], &brief[..], &trusted[..]].concat()));
    assert_eq!(result["verdict"], "ok", "{result}");
    assert!(count(&result, "received") > 0);
    assert!(
        result["options"]["tls"]
            .as_str()
            .unwrap()
            .starts_with("TLSv1_3"),
        "{result}"
    );

    let large = [
        "--ca-file",
        authority.to_str().unwrap(),
        "--size",
        "300000",
        "--binary",
    ];
    let result = json(&load(&[&[url.as_str()], &brief[..], &large[..]].concat()));
    assert_eq!(result["verdict"], "ok", "{result}");

    let output = load(&[&[url.as_str()], &brief[..]].concat());
    assert_eq!(output.status.code(), Some(1));
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("TLS with 127.0.0.1"),
        "{output:?}"
    );
}

#[test]
fn deflate_is_agreed_on_used_and_reported() {
    let server = serve(Behaviour::Deflate);
    let result = load_briefly(
        server,
        &[
            "--deflate",
            "--json-payload",
            "--size",
            "500",
            "--in-flight",
            "4",
        ],
    );
    assert_eq!(result["verdict"], "ok", "{result}");
    assert!(
        result["options"]["deflate"]
            .as_str()
            .unwrap()
            .starts_with("permessage-deflate"),
        "{result}"
    );
    let without = load_briefly(server, &[]);
    assert_eq!(without["options"]["deflate"], serde_json::Value::Null);
    let unwilling = load_briefly(serve(Behaviour::Echo), &["--deflate"]);
    assert_eq!(
        (
            unwilling["verdict"].as_str(),
            &unwilling["options"]["deflate"]
        ),
        (Some("ok"), &serde_json::Value::Null)
    );
}

#[test]
fn messages_in_fragments_are_echoed_whole() {
    let server = support::serve(support::Behaviour::Echo);
    for more in [
        &["--fragments", "2", "--size", "108"][..],
        &["--fragments", "7", "--size", "1000", "--ping-between"],
        &["--fragments", "40", "--size", "20", "--in-flight", "8"],
        &[
            "--fragments",
            "3",
            "--size",
            "108",
            "--binary",
            "--ping-between",
            "--rate",
            "300",
        ],
        &["--fragments", "5", "--json-payload", "--connections", "3"],
    ] {
        let result = support::load_briefly(server, more);
        assert_ne!(result["verdict"], "failed", "{more:?}: {result}");
        assert!(
            support::count(&result, "received") > 1,
            "{more:?}: {result}"
        );
        assert_eq!(
            support::count(&result, "sent_total"),
            support::count(&result, "received_total"),
            "{more:?}"
        );
    }
}

#[test]
fn a_result_can_carry_its_share_of_the_ceiling() {
    let server = support::serve(support::Behaviour::Echo);
    let result = support::load_briefly(server, &["--ceiling", "--in-flight", "2"]);
    let (rate, share) = (
        &result["ceiling"]["round_trips_per_s"],
        &result["ceiling"]["share"],
    );
    let reached = result["round_trips_per_s"].as_f64().unwrap() / rate.as_f64().unwrap();
    assert!((share.as_f64().unwrap() - reached).abs() < 1e-9, "{result}");
    assert!(support::load_briefly(server, &[])["ceiling"].is_null());
}
