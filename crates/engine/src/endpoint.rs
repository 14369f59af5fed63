//! Where a URL leads: address, `Host` header, path, and the TLS settings if it is secure.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, ServerName};

/// Why a URL leads nowhere.
#[derive(Debug, thiserror::Error)]
pub enum EndpointError {
    /// Not a URL of ours.
    #[error("{url:?} is not a usable URL: {problem} (like ws://127.0.0.1:9001/echo)")]
    Url {
        /// What was given.
        url: String,
        /// What is the matter with it.
        problem: String,
    },
    /// The name has no address.
    #[error("cannot find the host of {url}: {error}")]
    Unresolved {
        /// What was given.
        url: String,
        /// What the resolver says.
        error: std::io::Error,
    },
    /// The CA file is of no use.
    #[error("cannot use the CA file {path}: {problem}")]
    Authority {
        /// The file.
        path: PathBuf,
        /// What is the matter with it.
        problem: String,
    },
}

/// What it takes to connect, worked out once per target.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// Where to connect.
    pub address: SocketAddr,
    /// For the `Host` header.
    pub host: String,
    /// Path and query.
    pub path: String,
    /// Present for `wss`.
    pub tls: Option<TlsEndpoint>,
}

/// Settings and the name that the certificate must show.
#[derive(Debug, Clone)]
pub struct TlsEndpoint {
    /// Shared by all connections, with its session cache.
    pub config: Arc<rustls::ClientConfig>,
    /// The name to be proved.
    pub name: ServerName<'static>,
}

impl Endpoint {
    /// Reads a `ws://` or `wss://` URL and resolves its host. Without a CA file, `wss` trusts the Mozilla roots.
    pub fn new(url: &str, ca_file: Option<&Path>) -> Result<Self, EndpointError> {
        let problem = |problem: &str| EndpointError::Url {
            url: url.to_owned(),
            problem: problem.to_owned(),
        };
        let uri: http::Uri = url
            .parse()
            .map_err(|error: http::uri::InvalidUri| problem(&error.to_string()))?;
        let secure = match uri.scheme_str() {
            Some("ws") => false,
            Some("wss") => true,
            Some(other) => {
                return Err(problem(&format!(
                    "the scheme {other} is neither ws nor wss"
                )))
            }
            None => return Err(problem("it does not begin with ws:// or wss://")),
        };
        let authority = uri.authority().ok_or_else(|| problem("it names no host"))?;
        let host = authority
            .host()
            .trim_start_matches('[')
            .trim_end_matches(']');
        // `Authority::port` takes a port beyond 65535 for none at all.
        let port = match authority.as_str().strip_prefix(authority.host()) {
            Some("") if secure => 443,
            Some("") => 80,
            Some(port) => match port.trim_start_matches(':').parse() {
                Ok(port @ 1..) => port,
                _ => return Err(problem("its port is not a number from 1 to 65535")),
            },
            None => return Err(problem("user names have no meaning here")),
        };
        let address = (host, port)
            .to_socket_addrs()
            .and_then(|mut found| {
                found
                    .next()
                    .ok_or_else(|| std::io::Error::other("the name has no address"))
            })
            .map_err(|error| EndpointError::Unresolved {
                url: url.to_owned(),
                error,
            })?;
        let tls = if secure {
            Some(TlsEndpoint::new(host, ca_file, &problem)?)
        } else {
            None
        };
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        Ok(Self {
            address,
            host: authority.as_str().to_owned(),
            path: path.to_owned(),
            tls,
        })
    }
}

impl TlsEndpoint {
    fn new(
        host: &str,
        ca_file: Option<&Path>,
        problem: &dyn Fn(&str) -> EndpointError,
    ) -> Result<Self, EndpointError> {
        let name =
            ServerName::try_from(host.to_owned()).map_err(|error| problem(&error.to_string()))?;
        let mut roots = rustls::RootCertStore::empty();
        match ca_file {
            Some(path) => trust_file(&mut roots, path)?,
            None => roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| problem(&error.to_string()))?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Self {
            config: Arc::new(config),
            name,
        })
    }
}

fn trust_file(roots: &mut rustls::RootCertStore, path: &Path) -> Result<(), EndpointError> {
    let fail = |problem: String| EndpointError::Authority {
        path: path.to_owned(),
        problem,
    };
    let certificates =
        CertificateDer::pem_file_iter(path).map_err(|error| fail(error.to_string()))?;
    for certificate in certificates {
        let certificate = certificate.map_err(|error| fail(error.to_string()))?;
        roots
            .add(certificate)
            .map_err(|error| fail(error.to_string()))?;
    }
    if roots.is_empty() {
        return Err(fail("it holds no certificate (PEM is expected)".to_owned()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_people_type() {
        let table = [
            (
                "ws://127.0.0.1:9001/echo",
                "127.0.0.1:9001",
                "127.0.0.1:9001",
                "/echo",
            ),
            ("ws://127.0.0.1", "127.0.0.1:80", "127.0.0.1", "/"),
            (
                "ws://[::1]:8080/a?b=c",
                "[::1]:8080",
                "[::1]:8080",
                "/a?b=c",
            ),
            (
                "wss://127.0.0.1/feed",
                "127.0.0.1:443",
                "127.0.0.1",
                "/feed",
            ),
        ];
        for (url, address, host, path) in table {
            let endpoint = Endpoint::new(url, None).unwrap();
            assert_eq!(endpoint.address.to_string(), address, "{url}");
            assert_eq!(
                (endpoint.host.as_str(), endpoint.path.as_str()),
                (host, path),
                "{url}"
            );
            assert_eq!(endpoint.tls.is_some(), url.starts_with("wss"), "{url}");
        }
    }

    #[test]
    fn says_what_is_wrong_with_the_rest() {
        let table = [
            ("http://127.0.0.1/", "neither ws nor wss"),
            ("127.0.0.1:9001", "does not begin with ws://"),
            ("ws://", "not a usable URL"),
            ("ws://127.0.0.1:99999/", "from 1 to 65535"),
            ("ws://127.0.0.1:0/", "from 1 to 65535"),
            ("ws://me@127.0.0.1:80/", "user names"),
            ("ws://no-such-host.invalid/", "cannot find the host"),
        ];
        for (url, words) in table {
            let error = Endpoint::new(url, None).unwrap_err().to_string();
            assert!(error.contains(words), "{url}: {error}");
        }
        let error = Endpoint::new("wss://127.0.0.1/", Some(Path::new("/no/such.pem"))).unwrap_err();
        assert!(error.to_string().contains("/no/such.pem"), "{error}");
    }
}
