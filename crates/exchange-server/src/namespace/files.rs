//! Files of the system that read differently inside.

use super::NamespaceError;
use nix::mount::{mount, MsFlags};
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::net::Ipv4Addr;
use std::path::Path;

/// Nobody answers on this address and port, and the kernel says so at once: a name that is not in the hosts file is
/// not found.
const RESOLV_CONF: &str = "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n";
/// Sockets of a name service cache, which would be asked before the hosts file and answers from outside.
const CACHES: [&str; 2] = ["/run/nscd", "/var/run/nscd"];

/// Puts own files for name resolution in place of the system's.
pub fn put_in_place(hosts: &[(&str, Ipv4Addr)], authority: &Path) -> Result<(), NamespaceError> {
    let folder = tempfile::tempdir().map_err(|cause| failed(authority, cause))?;
    let put = |path: &str, text: &str| {
        let target = Path::new(path);
        if !target.exists() {
            // Where nothing is, nothing can be mounted; without the file, resolvers take these settings by default.
            return Ok(());
        }
        let own = folder.path().join("own");
        // A mounted file goes on to exist when its name is used for another.
        let written = fs::remove_file(&own)
            .or_else(|error| match error.kind() {
                io::ErrorKind::NotFound => Ok(()),
                _ => Err(error),
            })
            .and_then(|()| fs::write(&own, text));
        written.map_err(|cause| failed(target, cause))?;
        bind(&own, target)
    };
    put("/etc/hosts", &hosts_file(hosts))?;
    put("/etc/resolv.conf", RESOLV_CONF)?;
    let switch = fs::read_to_string("/etc/nsswitch.conf").unwrap_or_default();
    put("/etc/nsswitch.conf", &files_only(&switch))?;
    for cache in CACHES
        .map(Path::new)
        .into_iter()
        .filter(|cache| cache.is_dir())
    {
        let nothing = None::<&Path>;
        mount(nothing, cache, Some("tmpfs"), MsFlags::MS_RDONLY, nothing)
            .map_err(|error| failed(cache, error.into()))?;
    }
    Ok(())
}

/// Shows `own` wherever `target` is opened.
pub fn bind(own: &Path, target: &Path) -> Result<(), NamespaceError> {
    let nothing = None::<&Path>;
    mount(Some(own), target, nothing, MsFlags::MS_BIND, nothing)
        .map_err(|error| failed(target, error.into()))
}

fn failed(path: &Path, cause: io::Error) -> NamespaceError {
    NamespaceError::File {
        path: path.to_owned(),
        cause,
    }
}

fn hosts_file(hosts: &[(&str, Ipv4Addr)]) -> String {
    let mut text = "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n".to_owned();
    let this = nix::unistd::gethostname().ok();
    if let Some(this) = this.and_then(|name| name.into_string().ok()) {
        // Programs look themselves up; writing to a string cannot fail.
        let _ = writeln!(text, "127.0.0.1 {this}");
    }
    for (name, address) in hosts {
        let _ = writeln!(text, "{address} {name}");
    }
    text
}

/// `nsswitch.conf` with host names from the hosts file alone.
fn files_only(switch: &str) -> String {
    let others = switch
        .lines()
        .filter(|line| !line.trim_start().starts_with("hosts:"));
    let mut text: String = others.flat_map(|line| [line, "\n"]).collect();
    text.push_str("hosts: files\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_names_come_from_the_hosts_file_alone() {
        let switch = "passwd: files systemd\nhosts: files resolve [!UNAVAIL=return] dns\n";
        assert_eq!(files_only(switch), "passwd: files systemd\nhosts: files\n");
    }

    #[test]
    fn each_host_has_its_line() {
        let text = hosts_file(&[("api.binance.com", super::super::address(0))]);
        assert!(
            text.lines()
                .any(|line| line == "127.101.0.1 api.binance.com"),
            "{text}"
        );
        assert!(text.starts_with("127.0.0.1 localhost\n"));
    }
}
