//! Fields of a line.
//!
//! Lines without a quotation mark, which is nearly all of them, are cut at commas up to the last
//! column that is needed. The others go through `csv-core`, which knows quoting, into buffers of a
//! fixed size. A quoted field may not go on in the next line: no such file has been seen, and an
//! unclosed quotation mark would swallow the rest of the file.

use csv_core::{ReadRecordResult, Reader};

/// The columns that are needed, in a fixed set of slots.
#[derive(Clone, Debug)]
pub struct Columns<const N: usize> {
    /// GridPosition in the line and slot, by place.
    wanted: Vec<(usize, usize)>,
}

impl<const N: usize> Columns<N> {
    /// From the place of every slot; none for a column that the file lacks.
    pub fn new(places: [Option<usize>; N]) -> Self {
        let mut wanted: Vec<_> =
            places.iter().enumerate().filter_map(|(slot, place)| Some(((*place)?, slot))).collect();
        wanted.sort_unstable();
        Self { wanted }
    }
}

/// Takes lines apart.
pub struct Fields {
    reader: Reader,
    text: Vec<u8>,
    ends: Vec<usize>,
}

impl Fields {
    /// For lines of at most so many bytes.
    pub fn new(line_bytes: usize) -> Self {
        // A line of n bytes has at most n + 1 fields; most never need this room.
        Self { reader: Reader::new(), text: vec![0; line_bytes + 1], ends: vec![0; 64] }
    }

    /// All fields, for a header. None if a quotation mark stays open.
    pub fn all<'a>(&'a mut self, line: &'a [u8]) -> Option<Vec<&'a [u8]>> {
        if memchr::memchr(b'"', line).is_none() {
            return Some(line.split(|byte| *byte == b',').collect());
        }
        let count = self.unquote(line)?;
        let begins = std::iter::once(0).chain(self.ends.iter().copied());
        Some(begins.zip(&self.ends[..count]).map(|(from, to)| &self.text[from..*to]).collect())
    }

    /// The needed fields; those that the line or the file lacks are empty. None if a quotation mark
    /// stays open.
    #[inline]
    pub fn pick<'a, const N: usize>(
        &'a mut self,
        line: &'a [u8],
        columns: &Columns<N>,
    ) -> Option<[&'a [u8]; N]> {
        let mut fields = [&[][..]; N];
        if memchr::memchr(b'"', line).is_some() {
            let count = self.unquote(line)?;
            for &(place, slot) in columns.wanted.iter().filter(|(place, _)| *place < count) {
                let from = if place == 0 { 0 } else { self.ends[place - 1] };
                fields[slot] = &self.text[from..self.ends[place]];
            }
            return Some(fields);
        }
        let mut wanted = columns.wanted.iter();
        let mut next = wanted.next();
        let mut from = 0;
        for place in 0.. {
            let Some(&(want, slot)) = next else { break };
            let rest = line.get(from..)?;
            // Fields are short: a plain loop beats a call of memchr.
            let length = rest.iter().position(|byte| *byte == b',');
            if place == want {
                fields[slot] = &rest[..length.unwrap_or(rest.len())];
                next = wanted.next();
            }
            match length {
                Some(length) => from += length + 1,
                None => break,
            }
        }
        Some(fields)
    }

    /// Writes the fields of a line with quotation marks into the buffers and counts them.
    fn unquote(&mut self, line: &[u8]) -> Option<usize> {
        self.reader.reset();
        let (mut read, mut written, mut count) = (0, 0, 0);
        let mut ended = false;
        loop {
            // The line's end is fed apart, so that an open quotation mark is noticed.
            let input = if ended { &b"\n"[..] } else { &line[read..] };
            let (result, taken, out, ends) =
                self.reader.read_record(input, &mut self.text[written..], &mut self.ends[count..]);
            read += if ended { 0 } else { taken };
            written += out;
            count += ends;
            match result {
                ReadRecordResult::InputEmpty if ended => return None,
                ReadRecordResult::InputEmpty => ended = true,
                ReadRecordResult::OutputEndsFull => self.ends.resize(2 * self.ends.len(), 0),
                ReadRecordResult::OutputFull | ReadRecordResult::End => return None,
                ReadRecordResult::Record => return Some(count),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quotes_hide_commas_and_must_close() {
        let mut fields = Fields::new(1000);
        let columns = Columns::new([Some(2), None, Some(0), Some(9)]);
        let got = fields.pick(b"a,\"b,\"\"x\",c,d", &columns).unwrap();
        assert_eq!(got, [&b"c"[..], b"", b"a", b""]);
        assert_eq!(fields.pick(b"a,b,c", &columns).unwrap(), [&b"c"[..], b"", b"a", b""]);
        assert!(fields.pick(b"a,\"b,c", &columns).is_none());
        assert_eq!(fields.all(b"\"x,y\",z").unwrap(), [&b"x,y"[..], b"z"]);
        let many = [b"\"\"".to_vec(), vec![b','; 500]].concat();
        assert_eq!(fields.all(&many).unwrap().len(), 501);
    }

    proptest! {
        #[test]
        fn both_ways_of_cutting_agree(line in "[a-c,]{1,30}", place in 0usize..6) {
            let columns = Columns::new([Some(place)]);
            let mut fields = Fields::new(100);
            let plain = fields.pick(line.as_bytes(), &columns).unwrap()[0].to_vec();
            // A quoted last field sends the line the other way and changes nothing before it.
            let quoted = format!("{line},\"q\"");
            let other = fields.pick(quoted.as_bytes(), &columns).unwrap()[0].to_vec();
            let count = line.split(',').count();
            prop_assert_eq!(&other[..], if place == count { b"q" } else { &plain[..] });
        }

        #[test]
        fn nothing_panics(line in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut fields = Fields::new(200);
            let _ = fields.pick(&line, &Columns::new([Some(0), Some(3), Some(100)]));
            let _ = fields.all(&line);
        }
    }
}
