//! Reads recordings: a time and a raw frame on each line.
//!
//! Two formats are told apart line by line:
//! - `1723161253937085768 {…}`: nanoseconds since 1970, a space, the frame as it was received;
//! - `1618677817.061845: {…}`: seconds since 1970; with `wss://host <-> time` where a connection began and
//!   `wss://host <- time: {…}` for what the client itself sent.

use std::io::BufRead;

/// Which way a line of a recording went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the exchange.
    Received,
    /// To the exchange, over the connection to this URL.
    Sent(String),
    /// A connection to this URL began; there is no frame.
    Connected(String),
}

/// One line of a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Unix time, by the recorder's clock.
    pub unix_ns: u64,
    /// Which way it went.
    pub direction: Direction,
    /// The frame; empty for [`Direction::Connected`].
    pub frame: String,
}

/// Why a recording cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// The file could not be read or is not text.
    #[error("line {line} of the recording cannot be read")]
    Io {
        /// Counted from 1.
        line: usize,
        /// Why.
        source: std::io::Error,
    },
    /// Neither of the formats.
    #[error(
        "line {line} of the recording is neither `<ns> <frame>` nor `<seconds>: <frame>`: {text:?}"
    )]
    Format {
        /// Counted from 1.
        line: usize,
        /// How the line begins.
        text: String,
    },
}

/// The lines of a recording, one by one; empty lines are passed over. Ends after the first error.
pub struct Recording<R> {
    lines: std::io::Lines<R>,
    line: usize,
    failed: bool,
}

impl<R: BufRead> Recording<R> {
    /// Over unpacked text.
    pub fn new(text: R) -> Self {
        Self {
            lines: text.lines(),
            line: 0,
            failed: false,
        }
    }
}

impl<R: BufRead> Iterator for Recording<R> {
    type Item = Result<Entry, RecordingError>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.failed {
            self.line += 1;
            let line = match self.lines.next()? {
                Ok(line) if line.trim().is_empty() => continue,
                Ok(line) => line,
                Err(source) => {
                    self.failed = true;
                    return Some(Err(RecordingError::Io {
                        line: self.line,
                        source,
                    }));
                }
            };
            return Some(parse(&line).ok_or_else(|| {
                self.failed = true;
                RecordingError::Format {
                    line: self.line,
                    text: line.chars().take(60).collect(),
                }
            }));
        }
        None
    }
}

fn parse(line: &str) -> Option<Entry> {
    if let Some((url, time)) = line.split_once(" <-> ").filter(|(url, _)| is_url(url)) {
        let (unix_ns, direction) = (seconds(time.trim())?, Direction::Connected(url.to_owned()));
        return Some(Entry {
            unix_ns,
            direction,
            frame: String::new(),
        });
    }
    if let Some((url, rest)) = line.split_once(" <- ").filter(|(url, _)| is_url(url)) {
        let (time, frame) = rest.split_once(": ")?;
        let (unix_ns, direction) = (seconds(time)?, Direction::Sent(url.to_owned()));
        return Some(Entry {
            unix_ns,
            direction,
            frame: frame.to_owned(),
        });
    }
    let (time, frame) = line.split_once(' ')?;
    let unix_ns = match time.strip_suffix(':') {
        Some(time) => seconds(time)?,
        None => time.parse().ok()?,
    };
    Some(Entry {
        unix_ns,
        direction: Direction::Received,
        frame: frame.to_owned(),
    })
}

fn is_url(text: &str) -> bool {
    text.contains("://") && !text.contains(' ')
}

/// Decimal seconds as nanoseconds, exactly: a float of today's seconds holds only quarters of a microsecond.
fn seconds(text: &str) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) {
        return None;
    }
    let nanoseconds: u64 = format!("{fraction:0<9}").get(..9)?.parse().ok()?;
    whole
        .parse::<u64>()
        .ok()?
        .checked_mul(1_000_000_000)?
        .checked_add(nanoseconds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Vec<Result<Entry, String>> {
        Recording::new(text.as_bytes())
            .map(|entry| entry.map_err(|error| error.to_string()))
            .collect()
    }

    #[test]
    fn both_formats_are_read() {
        let text = "1723161253937085768 {\"a\": 1}\n\nwss://host <-> 1618677816.8434298\n\
                    wss://host <- 1618677817.020616: {\"type\":\"subscribe\"}\n1618677817.061845: {\"b\":\"<- : x\"}\n1618677818: []\n";
        let entry = |unix_ns, direction, frame: &str| {
            Ok(Entry {
                unix_ns,
                direction,
                frame: frame.to_owned(),
            })
        };
        assert_eq!(
            read(text),
            [
                entry(1_723_161_253_937_085_768, Direction::Received, "{\"a\": 1}"),
                entry(
                    1_618_677_816_843_429_800,
                    Direction::Connected("wss://host".to_owned()),
                    ""
                ),
                entry(
                    1_618_677_817_020_616_000,
                    Direction::Sent("wss://host".to_owned()),
                    "{\"type\":\"subscribe\"}"
                ),
                entry(
                    1_618_677_817_061_845_000,
                    Direction::Received,
                    "{\"b\":\"<- : x\"}"
                ),
                entry(1_618_677_818_000_000_000, Direction::Received, "[]"),
            ]
        );
    }

    #[test]
    fn a_line_that_is_neither_is_named() {
        let read = read("1 {}\nhello\n2 {}\n");
        assert_eq!(read.len(), 2, "nothing after the error");
        assert_eq!(
            read[1].as_ref().unwrap_err(),
            "line 2 of the recording is neither `<ns> <frame>` nor `<seconds>: <frame>`: \"hello\""
        );
    }

    #[test]
    fn bytes_that_are_not_text_are_an_error() {
        let mut recording = Recording::new(&b"1 {}\n2 \xff\n"[..]);
        assert!(recording.next().unwrap().is_ok());
        assert!(matches!(
            recording.next(),
            Some(Err(RecordingError::Io { line: 2, .. }))
        ));
        assert!(recording.next().is_none());
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "([0-9:.<\\- \n]|wss://|[^\n]){0,80}") {
            let _ = read(&text);
        }

        #[test]
        fn what_is_written_is_read(unix_ns: u64, frame in "[^\r\n]{1,40}") {
            let read = read(&format!("{unix_ns} {frame}\n"));
            prop_assert_eq!(&read[..], &[Ok(Entry { unix_ns, direction: Direction::Received, frame })]);
        }
    }
}
