//! A private certificate authority, and a certificate of it for every name that clients call.
//!
//! Both are kept as PEM files, so that a client that was told to trust the authority goes on to. They are made anew
//! when they are missing, damaged, near their end, or lack a name.

mod issue;
mod kept;

use crate::personalities::Name;
use rustls::ServerConfig;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use std::fs::{self, File};
use std::io;
use std::net::IpAddr;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use time::OffsetDateTime;

/// Why there is no certificate.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// Neither a cache folder nor a home.
    #[error("no folder for the certificates: set HOME or XDG_CACHE_HOME, or name one with --certificates")]
    NoFolder,
    /// A file or its folder.
    #[error("cannot write the certificate authority {path}: {cause}; name another folder with --certificates")]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        cause: io::Error,
    },
    /// Making one went wrong.
    #[error("cannot make a certificate")]
    Issue(#[from] rcgen::Error),
    /// TLS will not have it.
    #[error("cannot use the certificate")]
    Tls(#[from] rustls::Error),
    /// What was just written cannot be read.
    #[error("cannot read the certificates back")]
    Pem(#[from] rustls_pki_types::pem::Error),
}

/// Files of an authority and of a certificate that it issued.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificates {
    /// What clients are to trust.
    pub authority: PathBuf,
    authority_key: PathBuf,
    certificate: PathBuf,
    key: PathBuf,
}

impl Certificates {
    /// Those in a folder, which is made if it is not there; `host` is a name of this server beyond the usual.
    pub fn in_folder(folder: &Path, host: IpAddr) -> Result<Self, CertificateError> {
        Self::at(folder, &names(host), OffsetDateTime::now_utc())
    }

    fn at(folder: &Path, names: &[String], now: OffsetDateTime) -> Result<Self, CertificateError> {
        let folder_error = |cause| CertificateError::File {
            path: folder.to_owned(),
            cause,
        };
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)
            .map_err(folder_error)?;
        let folder = folder.canonicalize().map_err(folder_error)?;
        let file = |name: &str| folder.join(name);
        let certificates = Self {
            authority: file("ca.pem"),
            authority_key: file("ca-key.pem"),
            certificate: file("server.pem"),
            key: file("server-key.pem"),
        };
        // Of two that start at once, one makes them and the other finds them. Released when the file is closed.
        let lock = file("lock");
        let lock_error = |cause| CertificateError::File {
            path: lock.clone(),
            cause,
        };
        let held = File::create(&lock).map_err(lock_error)?;
        nix::fcntl::Flock::lock(held, nix::fcntl::FlockArg::LockExclusive)
            .map_err(|(_, error)| lock_error(error.into()))
            .and_then(|_held| certificates.renew(names, now))?;
        Ok(certificates)
    }

    fn renew(&self, names: &[String], now: OffsetDateTime) -> Result<(), CertificateError> {
        let authority = match kept::authority(&self.authority, &self.authority_key, now) {
            Some(authority) => authority,
            None => {
                let (authority, pem) = issue::authority(now)?;
                write(&self.authority_key, &authority.key().serialize_pem(), 0o600)?;
                write(&self.authority, &pem, 0o644)?;
                authority
            }
        };
        if !kept::is_certificate(&self.certificate, &self.key, &self.authority, names, now) {
            let (key, pem) = issue::certificate(&authority, names, now)?;
            write(&self.key, &key.serialize_pem(), 0o600)?;
            write(&self.certificate, &pem, 0o644)?;
        }
        Ok(())
    }

    /// TLS for a server: 1.2 and 1.3, HTTP/2 and HTTP/1.1.
    pub fn server_config(&self) -> Result<Arc<ServerConfig>, CertificateError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let chain: Vec<CertificateDer<'static>> =
            CertificateDer::pem_file_iter(&self.certificate)?.collect::<Result<_, _>>()?;
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(chain, PrivateKeyDer::from_pem_file(&self.key)?)?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }
}

/// Where certificates are kept unless another folder is named.
pub fn usual_folder() -> Result<PathBuf, CertificateError> {
    let variable = |name| std::env::var_os(name).map(PathBuf::from);
    variable("XDG_CACHE_HOME")
        .filter(|folder| folder.is_absolute())
        .or_else(|| Some(variable("HOME")?.join(".cache")))
        .map(|cache| cache.join("feedbench").join("certificates"))
        .ok_or(CertificateError::NoFolder)
}

/// All names and addresses by which clients may call this server.
fn names(host: IpAddr) -> Vec<String> {
    let mut names: Vec<String> = ["localhost", "127.0.0.1", "::1"].map(str::to_owned).into();
    let exchanges = Name::ALL.iter().flat_map(|name| name.hosts());
    names.extend(exchanges.map(|&host| host.to_owned()));
    let host = host.to_string();
    if !names.contains(&host) {
        names.push(host);
    }
    names
}

/// Through a file beside it, so that nobody reads half of one, with its mode from the first byte on.
fn write(path: &Path, text: &str, mode: u32) -> Result<(), CertificateError> {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    let beside = path.with_extension("new");
    let written = || {
        // One that an interrupted start left behind may have another mode.
        match fs::remove_file(&beside) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(mode)
            .open(&beside)?;
        file.write_all(text.as_bytes())?;
        fs::rename(&beside, path)
    };
    written().map_err(|cause| CertificateError::File {
        path: path.to_owned(),
        cause,
    })
}

#[cfg(test)]
mod tests;
