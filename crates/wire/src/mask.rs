//! Masking (RFC 6455, section 5.3): each payload byte is XORed with one of four key bytes.

/// The four bytes a client XORs its payload with.
pub type MaskKey = [u8; 4];

/// Masks or unmasks `bytes` in place: XOR undoes itself.
///
/// `position` is the payload offset of `bytes[0]`, so that a payload may be handled in parts.
/// Works on eight bytes at a time, which the compiler widens to the vector registers of the target.
#[inline]
pub fn apply(key: MaskKey, bytes: &mut [u8], position: usize) {
    let turned = turn(key, position);
    let word = u64::from(u32::from_ne_bytes(turned));
    let word = word | (word << 32);
    let mut chunks = bytes.chunks_exact_mut(8);
    for chunk in &mut chunks {
        let mut eight = [0_u8; 8];
        eight.copy_from_slice(chunk);
        chunk.copy_from_slice(&(u64::from_ne_bytes(eight) ^ word).to_ne_bytes());
    }
    for (index, byte) in chunks.into_remainder().iter_mut().enumerate() {
        *byte ^= turned[index & 3];
    }
}

/// The key as it stands `position` bytes into the payload.
#[inline]
#[must_use]
pub fn turn(key: MaskKey, position: usize) -> MaskKey {
    [
        key[position & 3],
        key[(position + 1) & 3],
        key[(position + 2) & 3],
        key[(position + 3) & 3],
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The definition, letter by letter: transformed-octet-i = original-octet-i XOR key-octet-(i MOD 4).
    fn by_definition(key: MaskKey, bytes: &[u8], position: usize) -> Vec<u8> {
        let mask = |(index, byte): (usize, &u8)| byte ^ key[(index + position) % 4];
        bytes.iter().enumerate().map(mask).collect()
    }

    proptest! {
        #[test]
        fn agrees_with_the_definition(key: [u8; 4], bytes: Vec<u8>, position in 0_usize..9) {
            let mut masked = bytes.clone();
            apply(key, &mut masked, position);
            prop_assert_eq!(masked, by_definition(key, &bytes, position));
        }

        #[test]
        fn twice_is_nothing(key: [u8; 4], bytes: Vec<u8>) {
            let mut masked = bytes.clone();
            apply(key, &mut masked, 0);
            apply(key, &mut masked, 0);
            prop_assert_eq!(masked, bytes);
        }

        #[test]
        fn parts_make_the_whole(key: [u8; 4], bytes: Vec<u8>, cut in 0_usize..200) {
            let cut = cut.min(bytes.len());
            let mut whole = bytes.clone();
            apply(key, &mut whole, 0);
            let mut parts = bytes;
            let (head, tail) = parts.split_at_mut(cut);
            apply(key, head, 0);
            apply(key, tail, cut);
            prop_assert_eq!(parts, whole);
        }
    }
}
