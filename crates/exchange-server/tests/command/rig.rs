//! A running command.

use nix::sys::signal::{kill, Signal};
use nix::unistd::Pid;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use tempfile::TempDir;

/// The command with these arguments and a cache of its own.
pub fn command(cache: &TempDir, arguments: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_feedbench-exchange"));
    command
        .args(arguments.split_whitespace())
        .env("XDG_CACHE_HOME", cache.path())
        .stdin(Stdio::null());
    command
}

/// A run that ends by itself.
pub fn output(arguments: &str) -> Output {
    let cache = tempfile::tempdir().unwrap();
    command(&cache, arguments).output().unwrap()
}

/// A run with `--json`, after its first line.
pub struct Exchange {
    pub beginning: Value,
    child: Child,
    stdout: BufReader<ChildStdout>,
    _cache: TempDir,
}

impl Exchange {
    pub fn start(arguments: &str) -> Self {
        let cache = tempfile::tempdir().unwrap();
        let mut child = command(&cache, &format!("--json {arguments}"))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        Self {
            beginning: serde_json::from_str(&line).unwrap(),
            child,
            stdout,
            _cache: cache,
        }
    }

    /// `127.0.0.1:40001`
    pub fn address(&self, personality: &str) -> String {
        let url = self.beginning["urls"][personality]["rest"]
            .as_str()
            .unwrap();
        url.strip_prefix("http://").unwrap().to_owned()
    }

    /// The same for FIX.
    pub fn fix_address(&self, personality: &str) -> String {
        let url = self.beginning["urls"][personality]["fix"].as_str().unwrap();
        url.strip_prefix("tcp://").unwrap().to_owned()
    }

    pub fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id() as i32), signal).unwrap();
    }

    /// Waits for the end and returns the last line.
    pub fn end(mut self) -> Value {
        let mut rest = String::new();
        self.stdout.read_to_string(&mut rest).unwrap();
        assert!(self.child.wait().unwrap().success());
        assert_eq!(rest.lines().count(), 1, "{rest}");
        serde_json::from_str(&rest).unwrap()
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        // Only a test that failed leaves one behind; one that has ended cannot be killed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
