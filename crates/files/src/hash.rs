//! SHA-256 values, written as 64 lowercase hexadecimal digits.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use sha2::{Digest, Sha256};

/// A SHA-256 value: of an entry, a unit's definition, a result's content, a study.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hash([u8; 32]);

impl Hash {
    /// The head of an empty ledger, and what the first entry gives as its predecessor.
    pub const ZERO: Self = Self([0; 32]);

    /// The hash of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// The hash of all that a reader gives, whatever its length.
    pub fn of_reader(mut reader: impl std::io::Read) -> std::io::Result<Self> {
        let mut hasher = Sha256::new();
        let mut chunk = vec![0; 1 << 16];
        loop {
            match reader.read(&mut chunk) {
                Ok(0) => return Ok(Self(hasher.finalize().into())),
                Ok(count) => hasher.update(&chunk[..count]),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// The 32 bytes themselves.
    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// From 32 bytes that are a SHA-256 value already.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The first byte, by which files are spread over folders.
    pub fn first(&self) -> u8 {
        self.0[0]
    }

    /// The first 12 digits, for messages.
    pub fn short(&self) -> String {
        self.to_string()[..12].to_owned()
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A plan prints two of them for every unit, so no text is allocated.
        let mut digits = [0; 64];
        for (pair, byte) in digits.as_chunks_mut::<2>().0.iter_mut().zip(self.0) {
            *pair = [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]];
        }
        f.write_str(str::from_utf8(&digits).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hash({})", self.short())
    }
}

/// A text that is not 64 lowercase hexadecimal digits.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{0}` is not a SHA-256 value (64 lowercase hexadecimal digits)")]
pub struct HashError(String);

impl FromStr for Hash {
    type Err = HashError;

    fn from_str(text: &str) -> Result<Self, HashError> {
        let mut bytes = [0; 32];
        let (pairs, rest) = text.as_bytes().as_chunks::<2>();
        let is_whole = pairs.len() == bytes.len() && rest.is_empty();
        let read = |(byte, pair): (&mut u8, &[u8; 2])| value(*pair).map(|v| *byte = v).is_some();
        if is_whole && bytes.iter_mut().zip(pairs).all(read) {
            Ok(Self(bytes))
        } else {
            Err(HashError(text.into()))
        }
    }
}

impl Serialize for Hash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Hash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// Lowercase digits alone: one value has one spelling, or a flipped case bit would go unseen.
fn value([high, low]: [u8; 2]) -> Option<u8> {
    let digit = |c: u8| match c {
        b'0'..=b'9' => Some(c - b'0'),
        b'a'..=b'f' => Some(c - b'a' + 10),
        _ => None,
    };
    Some(16 * digit(high)? + digit(low)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_of_abc_is_the_published_one_and_reads_back() {
        let text = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(Hash::of(b"abc").to_string(), text);
        assert_eq!(text.parse(), Ok(Hash::of(b"abc")));
        assert_eq!(Hash::of(b"abc").short(), "ba7816bf8f01");
        assert_eq!(Hash::of(b"abc").first(), 0xba);
        assert_eq!(format!("{:?}", Hash::of(b"abc")), "Hash(ba7816bf8f01)");
    }

    #[test]
    fn one_value_has_one_spelling() {
        let text = Hash::of(b"abc").to_string();
        for bad in [text.to_uppercase(), text[1..].into(), format!("{text}00"), "g".repeat(64)] {
            assert!(bad.parse::<Hash>().is_err(), "{bad}");
        }
    }
}
