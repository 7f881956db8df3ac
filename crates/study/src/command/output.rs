//! What a program printed: the beginning and the end, within a bound.

use std::collections::VecDeque;
use std::io::Read;

/// As much is kept of the beginning, and as much of the end.
const HALF: usize = 32 << 10;
/// The longest line that a message repeats.
const LINE: usize = 300;

/// Output, bounded.
#[derive(Default)]
pub(super) struct Output {
    first: Vec<u8>,
    last: VecDeque<u8>,
    left_out: u64,
}

impl Output {
    /// Takes in what a pipe gives until it ends, telling `end` when that is.
    pub(super) fn drain(mut pipe: impl Read, take: &dyn Fn(&[u8])) {
        let mut chunk = [0; 8192];
        loop {
            match pipe.read(&mut chunk) {
                Ok(0) => return,
                Ok(count) => take(&chunk[..count]),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(_) => return, // nothing more is to be had from it
            }
        }
    }

    /// Takes some bytes in.
    pub(super) fn take(&mut self, bytes: &[u8]) {
        let room = HALF - self.first.len();
        let (first, rest) = bytes.split_at(room.min(bytes.len()));
        self.first.extend(first);
        self.last.extend(rest);
        let surplus = self.last.len().saturating_sub(HALF);
        self.last.drain(..surplus);
        self.left_out += surplus as u64;
    }

    /// All that is kept, with a word where something was left out.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.first.clone();
        if self.left_out > 0 {
            let word = format!("\n[... {} bytes left out ...]\n", self.left_out);
            bytes.extend(word.bytes());
        }
        bytes.extend(&self.last);
        bytes
    }

    /// The last line that says anything, for a message.
    pub(super) fn last_line(&self) -> String {
        let bytes = self.bytes();
        let text = String::from_utf8_lossy(&bytes);
        let line = text.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or("");
        let line: String = line.chars().filter(|c| !c.is_control()).collect();
        let end = line.floor_char_boundary(LINE);
        if end < line.len() { format!("{} ...", &line[..end]) } else { line }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_and_the_end_are_kept() {
        let mut output = Output::default();
        for line in 0..20_000 {
            output.take(format!("line {line:05}\n").as_bytes());
        }
        let bytes = output.bytes();
        let text = String::from_utf8(bytes).unwrap();
        assert!(text.starts_with("line 00000\n") && text.ends_with("line 19999\n"));
        assert!(text.contains("\n[... 154464 bytes left out ...]\n"), "{}", text.len());
        assert_eq!(text.len(), 2 * HALF + "\n[... 154464 bytes left out ...]\n".len());
        assert_eq!(output.last_line(), "line 19999");
    }

    #[test]
    fn short_output_is_kept_as_it_is() {
        let mut output = Output::default();
        assert_eq!((output.bytes().len(), output.last_line()), (0, String::new()));
        output.take(b"one\ntwo \x1b[31m\n\n");
        assert_eq!(output.bytes(), b"one\ntwo \x1b[31m\n\n");
        assert_eq!(output.last_line(), "two [31m");
    }
}
