//! The hash by which files and configurations are known.

use backcut_files::Hash;

/// SHA-256 in hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    Hash::of(bytes).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sha256_of_abc_is_the_published_one() {
        let want = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256(b"abc"), want);
    }
}
