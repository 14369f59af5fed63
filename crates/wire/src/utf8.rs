//! UTF-8 over fragments: a text message must be valid as a whole, and a character may be cut in two anywhere.

use simdutf8::compat::from_utf8;

/// Checks the bytes of one text message as they come, without keeping them. Does not allocate.
///
/// A wrong byte is reported in the fragment that holds it, not at the end of the message, as RFC 6455 (8.1) lets an
/// endpoint fail the connection at once, with status 1007.
#[derive(Clone, Debug, Default)]
pub struct Utf8Validator {
    /// The beginning of a character whose rest is still to come; at most three bytes stay here.
    cut: [u8; 4],
    cut_bytes: usize,
    /// Bytes of the message before `cut`.
    valid_bytes: u64,
}

/// Where the text stops being UTF-8.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the text is no valid UTF-8 from byte {position} on")]
pub struct Utf8Error {
    /// Offset in the message of the first byte that belongs to no character.
    pub position: u64,
}

impl Utf8Validator {
    /// At the beginning of a message.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next fragment.
    ///
    /// # Errors
    /// If no continuation could make the message valid. The validator is then of no further use.
    pub fn push(&mut self, fragment: &[u8]) -> Result<(), Utf8Error> {
        let rest = self.complete_cut_character(fragment)?;
        match from_utf8(rest) {
            Ok(_) => self.valid_bytes += rest.len() as u64,
            Err(error) => {
                let (valid, tail) = rest.split_at(error.valid_up_to());
                self.valid_bytes += valid.len() as u64;
                if error.error_len().is_some() {
                    return Err(self.error());
                }
                self.cut[..tail.len()].copy_from_slice(tail);
                self.cut_bytes = tail.len();
            }
        }
        Ok(())
    }

    /// Ends the message, and is ready for the next.
    ///
    /// # Errors
    /// If the last character lacks bytes.
    pub fn finish(&mut self) -> Result<(), Utf8Error> {
        let ended = std::mem::take(self);
        if ended.cut_bytes == 0 {
            Ok(())
        } else {
            Err(ended.error())
        }
    }

    /// Feeds the cut character byte by byte; returns what follows it.
    fn complete_cut_character<'a>(
        &mut self,
        mut fragment: &'a [u8],
    ) -> Result<&'a [u8], Utf8Error> {
        while self.cut_bytes > 0 {
            let Some((&byte, rest)) = fragment.split_first() else {
                break;
            };
            fragment = rest;
            self.cut[self.cut_bytes] = byte;
            self.cut_bytes += 1;
            match from_utf8(&self.cut[..self.cut_bytes]) {
                Ok(_) => {
                    self.valid_bytes += self.cut_bytes as u64;
                    self.cut_bytes = 0;
                }
                // Still a valid beginning. Four bytes never are, so `cut` cannot overflow.
                Err(error) if error.error_len().is_none() => {}
                Err(_) => return Err(self.error()),
            }
        }
        Ok(fragment)
    }

    fn error(&self) -> Utf8Error {
        Utf8Error {
            position: self.valid_bytes,
        }
    }
}
