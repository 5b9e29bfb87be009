//! Whole files that somebody named, which may be a device, a pipe that never ends or the image of a
//! disk.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// The most that is read of what people write: plans, workloads, scenarios, jobs, keys, tables.
pub const MOST_OF_A_TEXT: u64 = 16 << 20;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// What a file or pipe holds.
///
/// # Errors
/// It cannot be read, or there are more than `most` bytes in it; no more than that is held.
pub fn read_at_most(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // One more than may be shows that there is more.
    let mut file = File::open(path)?.take(most.saturating_add(1));
    file.read_to_end(&mut bytes)?;
    match file.limit() {
        0 => Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("there is more in it than the {} that are read", size(most)),
        )),
        _ => Ok(bytes),
    }
}

/// The text that a file or pipe holds, without a byte order mark.
///
/// # Errors
/// As [`read_at_most`], or it is not UTF-8.
pub fn text_at_most(path: &Path, most: u64) -> io::Result<String> {
    let mut bytes = read_at_most(path, most)?;
    // What some editors and spreadsheets begin a text with.
    if bytes.starts_with(BYTE_ORDER_MARK) {
        bytes.drain(..BYTE_ORDER_MARK.len());
    }
    String::from_utf8(bytes).map_err(|error| {
        let place = error.utf8_error().valid_up_to();
        io::Error::new(
            io::ErrorKind::InvalidData,
            format!("it is not text: byte {place} is no UTF-8"),
        )
    })
}

fn size(bytes: u64) -> String {
    match bytes >> 20 {
        0 => format!("{bytes} bytes"),
        mib => format!("{mib} MiB"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_order_mark_is_no_letter_of_a_text() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t");
        std::fs::write(&path, "\u{feff}a,b\n\u{feff}").unwrap();
        assert_eq!(
            text_at_most(&path, MOST_OF_A_TEXT).unwrap(),
            "a,b\n\u{feff}"
        );
    }

    #[test]
    fn what_never_ends_is_refused_with_what_may_be() {
        let failed = text_at_most(Path::new("/dev/zero"), MOST_OF_A_TEXT).unwrap_err();
        assert_eq!(
            failed.to_string(),
            "there is more in it than the 16 MiB that are read"
        );
    }

    #[test]
    fn a_file_as_long_as_may_be_is_read_and_a_longer_one_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("f");
        std::fs::write(&file, "0123456789").unwrap();
        assert_eq!(text_at_most(&file, 10).unwrap(), "0123456789");
        assert_eq!(
            text_at_most(&file, 9).unwrap_err().to_string(),
            "there is more in it than the 9 bytes that are read"
        );
    }

    #[test]
    fn what_is_no_text_is_said_with_its_place() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("f");
        std::fs::write(&file, b"ab\xff").unwrap();
        assert_eq!(
            text_at_most(&file, 10).unwrap_err().to_string(),
            "it is not text: byte 2 is no UTF-8"
        );
    }
}
