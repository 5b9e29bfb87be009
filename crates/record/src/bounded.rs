//! Lines of something that may never end: `/dev/zero`, a pipe that somebody keeps writing to, a file
//! that was named by mistake.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

/// The longest line that is read. A record with a long series of many workers has some tens of MiB.
const LONGEST_LINE: u64 = 256 << 20;
/// The most that is read of what is no file. The size of a file says itself what reading it takes.
const MOST_OF_A_STREAM: u64 = 1 << 30;

/// Lines without their ends, until one cannot be read.
pub(crate) struct BoundedLines<R> {
    from: R,
    left: u64,
    longest: u64,
    failed: Option<io::Error>,
}

/// The lines of a file or of a pipe.
pub(crate) fn lines_of(path: &Path) -> io::Result<BoundedLines<BufReader<File>>> {
    let file = File::open(path)?;
    let most = match file.metadata()?.is_file() {
        true => u64::MAX,
        false => MOST_OF_A_STREAM,
    };
    Ok(BoundedLines::new(
        BufReader::new(file),
        most,
        LONGEST_LINE.min(most),
    ))
}

impl<R: BufRead> BoundedLines<R> {
    fn new(from: R, most: u64, longest: u64) -> Self {
        Self {
            from,
            left: most,
            longest,
            failed: None,
        }
    }

    /// Whether all was read.
    ///
    /// # Errors
    /// A line could not be read, or is longer than any record, or there are too many.
    pub(crate) fn end(self) -> io::Result<()> {
        self.failed.map_or(Ok(()), Err)
    }

    fn line(&mut self) -> io::Result<Option<Vec<u8>>> {
        let most = self.longest.min(self.left);
        let mut line = Vec::new();
        // One more than may be shows that there is more.
        let mut from = self.from.by_ref().take(most.saturating_add(1));
        let read = from.read_until(b'\n', &mut line)?;
        let read = units::lossless::to_u64(read);
        if read > most {
            let why = match self.left < self.longest {
                true => "there is more in it than Fathom reads of what is no file",
                false => "a line is longer than any record",
            };
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        self.left -= read;
        if line.last() == Some(&b'\n') {
            line.pop();
        }
        Ok((read > 0).then_some(line))
    }
}

impl<R: BufRead> Iterator for BoundedLines<R> {
    type Item = Vec<u8>;

    fn next(&mut self) -> Option<Vec<u8>> {
        if self.failed.is_some() {
            return None;
        }
        self.line().unwrap_or_else(|error| {
            self.failed = Some(error);
            None
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(from: impl Read, most: u64, longest: u64) -> (Vec<Vec<u8>>, Option<String>) {
        let mut lines = BoundedLines::new(BufReader::new(from), most, longest);
        let read = lines.by_ref().collect();
        (read, lines.end().err().map(|error| error.to_string()))
    }

    #[test]
    fn lines_are_those_of_the_text() {
        let (lines, failed) = read(&b"a\n\nbc"[..], 100, 100);
        assert_eq!(lines, [&b"a"[..], b"", b"bc"]);
        assert_eq!(failed, None);
        assert_eq!(read(&b"a\nb\n"[..], 4, 2).1, None, "as long as may be");
    }

    #[test]
    fn what_never_ends_is_refused_with_the_reason() {
        let (lines, failed) = read(io::repeat(0), u64::MAX, 1 << 16);
        assert!(lines.is_empty());
        assert_eq!(failed.unwrap(), "a line is longer than any record");
        let (lines, failed) = read(io::repeat(b'\n'), 100, 10);
        assert_eq!(lines.len(), 100);
        assert_eq!(
            failed.unwrap(),
            "there is more in it than Fathom reads of what is no file"
        );
    }
}
