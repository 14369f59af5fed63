//! Where the beginning and the end are written: tables for people, lines of JSON for programs.

use anyhow::{Context, Result};
use serde::Serialize;
use std::fs::File;
use std::io::Write;
use std::path::Path;

/// The run's own output.
pub struct Output {
    json_file: Option<File>,
    json: bool,
    /// A command that runs in the namespace has stdout to itself.
    stdout: bool,
}

impl Output {
    /// Opens the file, if there is to be one.
    pub fn new(json: bool, json_file: Option<&Path>, stdout: bool) -> Result<Self> {
        let create = |path: &Path| {
            File::create(path).with_context(|| format!("cannot write {}", path.display()))
        };
        Ok(Self {
            json_file: json_file.map(create).transpose()?,
            json,
            stdout,
        })
    }

    /// Says `text` to people and `document` to programs.
    pub fn write(&mut self, text: &str, document: &impl Serialize) -> Result<()> {
        let mut line = serde_json::to_vec(document)?;
        line.push(b'\n');
        if let Some(file) = &mut self.json_file {
            file.write_all(&line).context("cannot write --json-file")?;
        }
        let mut stdout = std::io::stdout().lock();
        let written = match (self.stdout, self.json) {
            (true, true) => stdout.write_all(&line),
            (true, false) => stdout.write_all(text.as_bytes()),
            (false, _) => {
                eprint!("{text}");
                Ok(())
            }
        };
        written
            .and_then(|()| stdout.flush())
            .context("cannot write to stdout")
    }
}
