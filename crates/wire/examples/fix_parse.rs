//! How fast this crate parses FIX: for each line on stdin, one pass over the messages of a file, with BodyLength and
//! CheckSum verified and every field read; prints the nanoseconds that it took. `make bench-fix` runs it beside others.
//!
//! `cargo run --release -p feedbench-wire --example fix_parse -- MESSAGES`

use std::error::Error;
use std::hint::black_box;
use std::io::{BufRead, Write};
use std::time::Instant;

use feedbench_wire::fix::message::Message;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("needs MESSAGES")?;
    let bytes = std::fs::read(path)?;
    let mut stdout = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        line?;
        let began = Instant::now();
        let mut rest = &bytes[..];
        while let Some((message, length)) = Message::parse(rest)? {
            for field in message.fields() {
                let field = field?;
                black_box((field.tag, field.value));
            }
            rest = &rest[length..];
            if rest.is_empty() {
                break;
            }
        }
        writeln!(stdout, "{}", began.elapsed().as_nanos())?;
        stdout.flush()?;
    }
    Ok(())
}
