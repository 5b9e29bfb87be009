//! Random names, and comparing secrets.

use sha2::{Digest as _, Sha256};

/// Characters that nobody mistakes for each other.
const ALPHABET: &[u8; 56] = b"ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnpqrstuvwxyz23456789";

fn random(length: usize) -> String {
    let mut out = String::with_capacity(length);
    while out.len() < length {
        for byte in sys::random_bits().to_ne_bytes() {
            // 224 is the last multiple of 56 in a byte: each character is as likely as another.
            if byte < 224 && out.len() < length {
                out.push(char::from(ALPHABET[usize::from(byte) % ALPHABET.len()]));
            }
        }
    }
    out
}

/// The name of an upload.
pub(crate) fn file_id() -> String {
    random(10)
}

/// The name of a guest link.
pub(crate) fn link_id() -> String {
    random(16)
}

/// What only one client knows: 43 characters are 249 bits.
pub(crate) fn secret() -> String {
    random(43)
}

/// What is kept of a secret.
pub(crate) fn digest(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Whether two are equal, in a time that does not say where they differ.
pub(crate) fn same(a: &[u8], b: &[u8]) -> bool {
    let difference = a.iter().zip(b).fold(0, |sum, (a, b)| sum | (a ^ b));
    a.len() == b.len() && std::hint::black_box(difference) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_as_long_as_they_are_to_be_and_differ() {
        assert_eq!(
            (file_id().len(), link_id().len(), secret().len()),
            (10, 16, 43)
        );
        assert_ne!(secret(), secret());
        assert!(file_id().bytes().all(|byte| ALPHABET.contains(&byte)));
    }

    #[test]
    fn equal_is_equal_and_a_part_is_not() {
        assert!(same(b"abc", b"abc") && !same(b"abc", b"abd") && !same(b"ab", b"abc"));
        assert_eq!(hex(&digest("")[..4]), "e3b0c442");
    }
}
