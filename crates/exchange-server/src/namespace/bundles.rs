//! Files from which programs take the authorities that they trust.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// Of the system, by distribution: Debian and Alpine; Fedora and Red Hat, twice; SUSE; BSD's place, which some use.
const SYSTEM: [&str; 5] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// Variables that name such a file, for OpenSSL, Go and Rust; Python's requests; curl; Node; websocket-client; Deno.
pub const VARIABLES: [&str; 6] = [
    "SSL_CERT_FILE",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
    "WEBSOCKET_CLIENT_CA_BUNDLE",
    "DENO_CERT",
];

/// All that are there: the system's, those that Python's certifi brought beside the command, and `more`.
pub fn found(command: &OsStr, more: &[PathBuf]) -> BTreeSet<PathBuf> {
    let system = SYSTEM.iter().map(PathBuf::from);
    let prefixes = ["VIRTUAL_ENV", "CONDA_PREFIX"].into_iter();
    let prefixes = prefixes
        .filter_map(|name| std::env::var_os(name).map(PathBuf::from))
        .chain(prefix_of(command));
    // The same file by two names is mounted over once.
    system
        .chain(prefixes.flat_map(|prefix| of_python(&prefix)))
        .filter_map(|path| path.canonicalize().ok())
        // One that was asked for and is not there is an error, which mounting will raise.
        .chain(
            more.iter()
                .map(|path| path.canonicalize().unwrap_or_else(|_| path.clone())),
        )
        .collect()
}

/// `/opt/bot` of `/opt/bot/bin/python`: where a virtual environment keeps its packages.
fn prefix_of(command: &OsStr) -> Option<PathBuf> {
    let command = Path::new(command);
    let path = if command.components().count() > 1 {
        std::path::absolute(command).ok()?
    } else {
        let path = std::env::var_os("PATH")?;
        std::env::split_paths(&path)
            .map(|folder| folder.join(command))
            .find(|candidate| candidate.is_file())?
    };
    Some(path.parent()?.parent()?.to_owned())
}

fn of_python(prefix: &Path) -> Vec<PathBuf> {
    let versions = fs::read_dir(prefix.join("lib")).into_iter().flatten();
    versions
        .filter_map(|entry| Some(entry.ok()?.path()))
        .map(|version| version.join("site-packages/certifi/cacert.pem"))
        .chain([prefix.join("ssl/cacert.pem")])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_virtual_environments_bundle_is_found_by_its_interpreter() {
        let folder = tempfile::tempdir().unwrap();
        let certifi = folder.path().join("lib/python3.11/site-packages/certifi");
        fs::create_dir_all(&certifi).unwrap();
        fs::create_dir_all(folder.path().join("bin")).unwrap();
        fs::write(certifi.join("cacert.pem"), "").unwrap();
        let python = folder.path().join("bin/python");
        fs::write(&python, "").unwrap();
        let bundle = certifi.join("cacert.pem").canonicalize().unwrap();
        assert!(found(python.as_os_str(), &[]).contains(&bundle));
        assert!(!found(OsStr::new("/bin/sh"), &[]).contains(&bundle));
        assert!(found(OsStr::new("sh"), std::slice::from_ref(&bundle)).contains(&bundle));
    }
}
