//! A floor server in a process of its own, for as long as somebody needs it.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};

/// A running child; it ends when this value goes.
#[derive(Debug)]
pub struct FloorChild {
    child: Child,
    /// Where it listens.
    pub address: SocketAddr,
}

impl FloorChild {
    /// Starts this program again as `floor`, bound to `cpu`, and waits until it listens.
    pub fn start(raw: bool, cpu: Option<usize>) -> Result<Self> {
        let program =
            std::env::current_exe().context("cannot find this program to start it as a server")?;
        let mut command = Command::new(program);
        command
            .arg("floor")
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        if raw {
            command.arg("--raw");
        }
        if let Some(cpu) = cpu {
            command.args(["--cpu", &cpu.to_string()]);
        }
        let mut child = command.spawn().context("cannot start the echo server")?;
        let stdout = child
            .stdout
            .take()
            .context("the echo server has no standard output")?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        let Ok(address) = line.trim().parse() else {
            let status = child.wait()?;
            anyhow::bail!("the echo server did not start ({status})");
        };
        Ok(Self { child, address })
    }
}

impl Drop for FloorChild {
    fn drop(&mut self) {
        // It has nothing to save; an error means that it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
