//! `--replay FILE`

use anyhow::{ensure, Context, Result};
use feedbench_exchange::replay::{Pace, Recording, Replay};
use flate2::read::MultiGzDecoder;
use serde::de::IgnoredAny;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

/// Reads `2.5` or `max`.
pub fn pace(text: &str) -> Result<Pace> {
    if text == "max" {
        return Ok(Pace::Unpaced);
    }
    let speed: Option<f64> = text.parse().ok();
    let speed = speed.filter(|speed| speed.is_finite() && *speed > 0.0);
    Ok(Pace::Speed(speed.with_context(|| {
        format!("{text:?} is no speed: write 1, 10, 0.5 or max")
    })?))
}

/// Reads a recording; `rounds` 0 is without end.
pub fn read(path: &Path, pace: Pace, rounds: u64) -> Result<Replay> {
    let named = || format!("cannot replay {}", path.display());
    let text = unpacked(path).with_context(named)?;
    let whole = whole_lines(&text);
    if whole.len() < text.len() {
        eprintln!(
            "{}: it was cut off in its last line, which is left out",
            path.display()
        );
    }
    let entries: Vec<_> = Recording::new(whole)
        .collect::<Result<_, _>>()
        .with_context(named)?;
    ensure!(
        !entries.is_empty(),
        "cannot replay {}: it is empty",
        path.display()
    );
    Replay::new(entries, pace, (rounds > 0).then_some(rounds)).with_context(named)
}

/// The text of a recording. A recorder that was killed leaves a packed one that ends too early: what can be unpacked
/// of it counts.
fn unpacked(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let mut text = Vec::new();
    if path.extension().is_none_or(|extension| extension != "gz") {
        file.read_to_end(&mut text)?;
        return Ok(text);
    }
    match MultiGzDecoder::new(file).read_to_end(&mut text) {
        Err(error) if text.is_empty() || error.kind() != ErrorKind::UnexpectedEof => Err(error),
        _ => Ok(text),
    }
}

/// Without a last line that neither ends nor holds a whole frame.
fn whole_lines(text: &[u8]) -> &[u8] {
    let end = text
        .iter()
        .rposition(|&byte| byte == b'\n')
        .map_or(0, |at| at + 1);
    let frame = text[end..].splitn(2, |&byte| byte == b' ').nth(1);
    match frame.map(serde_json::from_slice::<IgnoredAny>) {
        Some(Ok(_)) => text,
        _ => &text[..end],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speeds_are_read() {
        assert_eq!(pace("max").unwrap(), Pace::Unpaced);
        assert_eq!(pace("0.5").unwrap(), Pace::Speed(0.5));
        assert!(["0", "-1", "inf", "nan", "fast"]
            .iter()
            .all(|text| pace(text).is_err()));
    }

    #[test]
    fn a_recording_cut_anywhere_is_whole_lines() {
        let text = b"1 {\"a\":1}\n2 {\"a\":22}\n";
        for length in 0..=text.len() {
            let expected = match length {
                0..=8 => 0, // not even the first frame
                9 => 9,     // the first frame, without the end of its line
                10..=19 => 10,
                20 => 20,
                _ => 21,
            };
            assert_eq!(whole_lines(&text[..length]).len(), expected, "{length}");
        }
    }

    #[test]
    fn a_packed_recording_is_read_as_far_as_it_goes() {
        let mut packed = Vec::new();
        for line in ["1 {\"a\":1}\n", "2 {\"a\":2}\n"] {
            let mut member =
                flate2::write::GzEncoder::new(&mut packed, flate2::Compression::fast());
            std::io::Write::write_all(&mut member, line.as_bytes()).unwrap();
        }
        let file = tempfile::Builder::new().suffix(".gz").tempfile().unwrap();
        std::fs::write(file.path(), &packed[..packed.len() - 12]).unwrap();
        assert!(unpacked(file.path()).unwrap().starts_with(b"1 {\"a\":1}\n"));
        assert!(read(file.path(), Pace::Unpaced, 1).is_ok());
    }

    #[test]
    fn what_cannot_be_replayed_is_named() {
        let file = tempfile::NamedTempFile::new().unwrap();
        for text in ["", "hello\n", "1 {}\nhello\n"] {
            std::fs::write(file.path(), text).unwrap();
            let error = read(file.path(), Pace::Unpaced, 1).err().unwrap();
            assert!(
                format!("{error:#}").contains(file.path().to_str().unwrap()),
                "{error:#}"
            );
        }
        assert!(read(Path::new("/nowhere"), Pace::Unpaced, 1).is_err());
    }
}
