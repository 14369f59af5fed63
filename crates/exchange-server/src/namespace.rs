//! A place in which the exchanges' real host names lead here and nothing else can be reached.
//!
//! This process moves into a network namespace that has only a loopback interface, and into a mount namespace with
//! an own `/etc/hosts` and an own list of trusted certificates. A client that is started there runs unchanged, with
//! its compiled-in URLs, and no packet of it can leave the machine. It keeps honest clients from calling the real
//! exchanges by mistake; a hostile one that runs as root could find its way out.

mod bundles;
mod child;
mod files;
mod kernel;

pub use child::Child;

use crate::personalities::Place;
use std::ffi::OsStr;
use std::io;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

/// Why there is no namespace, or no command in it.
#[derive(Debug, thiserror::Error)]
pub enum NamespaceError {
    /// The kernel, or what contains us, forbids it.
    #[error(
        "this system does not let user {user} make a namespace ({what}: {cause}); run it as root, in a container with \
         CAP_SYS_ADMIN, or allow user namespaces (sysctl kernel.unprivileged_userns_clone=1 or \
         kernel.apparmor_restrict_unprivileged_userns=0)"
    )]
    Forbidden {
        /// Of this process.
        user: u32,
        /// What was tried.
        what: &'static str,
        /// What the kernel said.
        cause: nix::Error,
    },
    /// A file could not be put in place of another.
    #[error("cannot put an own {path} into the namespace: {cause}")]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        cause: io::Error,
    },
    /// What was to run in it.
    #[error("cannot run {command}: {cause}")]
    Command {
        /// Its name.
        command: String,
        /// Why.
        cause: io::Error,
    },
}

/// What the namespace is made of.
#[derive(Debug)]
pub struct Plan<'a> {
    /// Who answers in it.
    pub places: &'a [Place],
    /// The authority to trust, as PEM.
    pub authority: &'a Path,
    /// More files of trusted certificates to replace by it.
    pub trust_files: &'a [PathBuf],
    /// What will run.
    pub command: &'a OsStr,
}

impl Plan<'_> {
    /// Moves this process into the namespace. Before any thread is started.
    pub fn enter(&self) -> Result<(), NamespaceError> {
        kernel::unshare()?;
        kernel::raise_loopback()?;
        files::put_in_place(&self.hosts(), self.authority)?;
        for bundle in bundles::found(self.command, self.trust_files) {
            files::bind(self.authority, &bundle)?;
        }
        Ok(())
    }

    /// Each real host name with its address here.
    pub fn hosts(&self) -> Vec<(&'static str, Ipv4Addr)> {
        let doors = (0u8..).zip(self.places);
        doors
            .flat_map(|(number, place)| {
                place.hosts.iter().map(move |host| (*host, address(number)))
            })
            .collect()
    }
}

/// The loopback address of a personality: one each, since they all listen on the exchanges' own ports.
pub fn address(number: u8) -> Ipv4Addr {
    Ipv4Addr::new(127, 101, 0, number + 1)
}
