//! The sum that ends a message.

/// Sum of all bytes modulo 256.
///
/// The fold is over `u8`, so the compiler adds as many bytes per instruction as the vector unit has lanes.
#[inline]
pub(crate) fn sum(bytes: &[u8]) -> u8 {
    bytes.iter().fold(0_u8, |sum, &byte| sum.wrapping_add(byte))
}

/// The three digits of field 10.
#[inline]
pub(crate) fn digits(sum: u8) -> [u8; 3] {
    [b'0' + sum / 100, b'0' + sum / 10 % 10, b'0' + sum % 10]
}
