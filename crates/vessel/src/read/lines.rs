//! Lines of a stream, in a buffer that does not grow.
//!
//! `BufRead::read_until` would keep a line of ten gigabytes; here a line longer than the limit is
//! skipped and said to be so.

use std::io::{self, Read};

const CHUNK: usize = 1 << 18;

/// A line without its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Line<'a> {
    /// Its bytes.
    Whole(&'a [u8]),
    /// More bytes than the limit; they are gone.
    TooLong,
}

/// The lines of a reader.
pub struct Lines<R> {
    reader: R,
    buffer: Box<[u8]>,
    /// What is buffered and not handed out yet.
    start: usize,
    end: usize,
    limit: usize,
    number: u64,
}

impl<R: Read> Lines<R> {
    pub fn new(reader: R, limit: usize) -> Self {
        let buffer = vec![0; CHUNK + limit].into_boxed_slice();
        Self { reader, buffer, start: 0, end: 0, limit, number: 0 }
    }

    /// The number of the line that was handed out last, the first being 1.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The next line, if there is one.
    pub fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        self.take(false)
    }

    /// The first line, if there is one. One that is too long ends there: nothing after it matters.
    pub fn header(&mut self) -> io::Result<Option<Line<'_>>> {
        self.take(true)
    }

    fn take(&mut self, is_header: bool) -> io::Result<Option<Line<'_>>> {
        let mut searched = self.start;
        let mut is_skipping = false;
        loop {
            if let Some(found) = memchr::memchr(b'\n', &self.buffer[searched..self.end]) {
                let (from, to) = (self.start, searched + found);
                self.start = to + 1;
                return Ok(Some(self.line(from, to, is_skipping)));
            }
            searched = self.end;
            if self.end - self.start > self.limit {
                if is_header {
                    return Ok(Some(Line::TooLong));
                }
                is_skipping = true;
                (self.start, self.end, searched) = (0, 0, 0);
            }
            if self.buffer.len() - self.end < CHUNK / 2 {
                self.buffer.copy_within(self.start..self.end, 0);
                (searched, self.end) = (searched - self.start, self.end - self.start);
                self.start = 0;
            }
            let n = read(&mut self.reader, &mut self.buffer[self.end..])?;
            self.end += n;
            if n == 0 {
                let (from, to) = (self.start, self.end);
                (self.start, self.end) = (0, 0);
                let is_empty = from == to && !is_skipping;
                return Ok((!is_empty).then(|| self.line(from, to, is_skipping)));
            }
        }
    }

    fn line(&mut self, from: usize, to: usize, is_skipping: bool) -> Line<'_> {
        self.number += 1;
        let bytes = &self.buffer[from..to];
        if is_skipping || bytes.len() > self.limit {
            return Line::TooLong;
        }
        Line::Whole(bytes.strip_suffix(b"\r").unwrap_or(bytes))
    }
}

fn read(reader: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match reader.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Gives a few bytes at a time.
    struct Drip<'a>(&'a [u8], usize);

    impl Read for Drip<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let n = self.1.min(self.0.len()).min(buffer.len());
            buffer[..n].copy_from_slice(&self.0[..n]);
            self.0 = &self.0[n..];
            Ok(n)
        }
    }

    fn all(text: &[u8], drip: usize, limit: usize) -> Vec<Option<Vec<u8>>> {
        let mut lines = Lines::new(Drip(text, drip), limit);
        let mut seen = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            seen.push(if let Line::Whole(bytes) = line { Some(bytes.to_vec()) } else { None });
        }
        assert_eq!(lines.number(), seen.len() as u64);
        seen
    }

    #[test]
    fn a_long_line_is_skipped_and_the_next_is_whole() {
        let mut text = vec![b'x'; 3 * CHUNK];
        text.extend(b"\r\nnext\r\nlast");
        let want = vec![None, Some(b"next".to_vec()), Some(b"last".to_vec())];
        assert_eq!(all(&text, usize::MAX, 100), want);
        assert_eq!(all(&text, 1000, 100), want);
    }

    #[test]
    fn a_header_that_is_too_long_is_not_read_to_its_end() {
        let mut lines = Lines::new(io::repeat(0), 100);
        assert_eq!(lines.header().unwrap(), Some(Line::TooLong));
    }

    proptest! {
        #[test]
        fn lines_are_those_of_a_split(
            lines in prop::collection::vec("[a-z]{0,40}", 1..60),
            drip in 1usize..50,
        ) {
            let text = lines.join("\n") + "\n";
            let want: Vec<_> = lines
                .iter()
                .map(|line| (line.len() <= 20).then(|| line.as_bytes().to_vec()))
                .collect();
            prop_assert_eq!(all(text.as_bytes(), drip, 20), want);
        }
    }
}
