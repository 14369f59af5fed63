//! What the kernel is asked for.

use super::NamespaceError;
use nix::errno::Errno;
use nix::mount::{mount, MsFlags};
use nix::sched::CloneFlags;
use nix::sys::socket::{socket, AddressFamily, SockFlag, SockType};
use nix::unistd::{getegid, geteuid};
use std::fs;
use std::os::fd::AsRawFd;
use std::path::Path;

fn forbidden(what: &'static str) -> impl Fn(Errno) -> NamespaceError {
    move |cause| NamespaceError::Forbidden {
        user: geteuid().as_raw(),
        what,
        cause,
    }
}

/// Moves this process into new network and mount namespaces; where that takes a user namespace, into one that maps
/// only this user, as itself.
pub fn unshare() -> Result<(), NamespaceError> {
    let wanted = CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWNS;
    match nix::sched::unshare(wanted) {
        Err(Errno::EPERM) => {
            let (user, group) = (geteuid(), getegid());
            nix::sched::unshare(wanted | CloneFlags::CLONE_NEWUSER)
                .map_err(forbidden("unshare"))?;
            map_user("/proc/self/setgroups", "deny")?;
            map_user("/proc/self/uid_map", &format!("{user} {user} 1"))?;
            map_user("/proc/self/gid_map", &format!("{group} {group} 1"))?;
        }
        other => other.map_err(forbidden("unshare"))?,
    }
    // What is mounted here from now on must not appear outside.
    let nothing = None::<&Path>;
    let private = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
    mount(nothing, "/", nothing, private, nothing).map_err(forbidden("make mounts private"))
}

fn map_user(path: &str, text: &str) -> Result<(), NamespaceError> {
    let as_errno = |error: std::io::Error| Errno::from_raw(error.raw_os_error().unwrap_or(0));
    fs::write(path, text)
        .map_err(as_errno)
        .map_err(forbidden("map the user"))
}

/// A new network namespace has a loopback interface that is down.
pub fn raise_loopback() -> Result<(), NamespaceError> {
    let control = socket(
        AddressFamily::Inet,
        SockType::Datagram,
        SockFlag::SOCK_CLOEXEC,
        None,
    )
    .map_err(forbidden("make a socket"))?;
    // SAFETY: all bytes zero are a valid ifreq, which consists of numbers and an union of them.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
        *to = *from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    // SAFETY: the socket is open, and SIOCSIFFLAGS reads an ifreq, which lives until the call returns.
    let outcome = unsafe { libc::ioctl(control.as_raw_fd(), libc::SIOCSIFFLAGS as _, &request) };
    Errno::result(outcome)
        .map(drop)
        .map_err(forbidden("raise the loopback interface"))
}
