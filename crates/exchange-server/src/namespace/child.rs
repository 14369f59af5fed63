//! The command that runs in the namespace.

use super::bundles::VARIABLES;
use super::NamespaceError;
use crate::signals::Signals;
use nix::sys::signal::{kill, Signal};
use nix::unistd::Pid;
use std::ffi::OsString;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitStatus};

/// They lead to machines that are out of reach.
const PROXIES: [&str; 6] = [
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
];

/// A running command.
pub struct Child(std::process::Child);

impl Child {
    /// Starts `command` (not empty) with our stdin, stdout and stderr. It finds the URLs in `json`, and trusts
    /// `authority` through every variable that is known to name trusted certificates.
    pub fn start(
        command: &[OsString],
        authority: &Path,
        json: &Path,
    ) -> Result<Self, NamespaceError> {
        let mut child = Command::new(&command[0]);
        child.args(&command[1..]);
        child.envs(VARIABLES.map(|variable| (variable, authority)));
        child.env("FEEDBENCH_EXCHANGE_JSON", json);
        for proxy in PROXIES {
            child.env_remove(proxy);
        }
        let prepare = || {
            Signals::unblock_in_child()?;
            // Without the exchange it has nobody to talk to.
            nix::sys::prctl::set_pdeathsig(Signal::SIGTERM)?;
            Ok(())
        };
        // SAFETY: both are single system calls, which may be made between fork and exec.
        unsafe { child.pre_exec(prepare) };
        child
            .spawn()
            .map(Self)
            .map_err(|cause| NamespaceError::Command {
                command: command[0].to_string_lossy().into_owned(),
                cause,
            })
    }

    /// Passes a signal on. One that is gone needs none.
    pub fn signal(&self, signal: Signal) {
        let _ = kill(Pid::from_raw(self.0.id() as i32), signal);
    }

    /// Its exit status if it has ended: its own, or 128 and the signal that ended it, as shells say.
    pub fn ended(&mut self) -> std::io::Result<Option<u8>> {
        let code = |status: ExitStatus| {
            let code = status.code().or(status.signal().map(|signal| 128 + signal));
            code.and_then(|code| u8::try_from(code).ok())
                .unwrap_or(u8::MAX)
        };
        Ok(self.0.try_wait()?.map(code))
    }
}
