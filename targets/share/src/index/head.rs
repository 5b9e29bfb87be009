//! Whose database a file is, found without SQLite: opening a database moves its log into it and
//! removes the log, and a start that will be refused changes nothing.

use super::schema::{MARK, VERSION};
use crate::error::{ShareError, ShareResult};
use crate::options::{ShareLayout, ShareOptions};
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

/// The head of a file, and that of the tree of tables behind it (SQLite's file format, 1.3 and 1.6).
const HEAD: usize = 108;
type Head = [u8; HEAD];

fn number(bytes: &[u8], at: usize) -> u32 {
    bytes[at..at + 4]
        .iter()
        .fold(0, |number, byte| number << 8 | u32::from(*byte))
}

/// Refuses a database of somebody else, or of other options, by its first page as it would be read:
/// from its write-ahead log, where that has one.
///
/// # Errors
/// `Refused`, with what can be done instead.
pub(crate) fn check_head(path: &Path, options: &ShareOptions) -> ShareResult<()> {
    let wrong = |e| ShareError::io("reading the database", e);
    let mut file = File::open(path).map_err(wrong)?;
    if file.metadata().map_err(wrong)?.len() == 0 {
        return Ok(());
    }
    let mut head = [0; HEAD];
    let is_whole = file.read_exact(&mut head).is_ok();
    if !is_whole || !head.starts_with(b"SQLite format 3\0") {
        return Err(refused(
            "the file is no database: give the name of a file that is not there, and one is made",
        ));
    }
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    match File::open(&log) {
        Ok(log) => head = in_log(BufReader::new(log)).map_err(wrong)?.unwrap_or(head),
        Err(e) if e.kind() == io::ErrorKind::NotFound => {}
        Err(e) => return Err(wrong(e)),
    }
    check_mark(&head)?;
    if is_empty(&head) {
        return Ok(());
    }
    check_options(&head, options)
}

/// Whether there are no tables in it: what a crash leaves of one that was being made.
fn is_empty(head: &Head) -> bool {
    const LEAF: u8 = 13;
    number(head, 68) == 0 && head[100] == LEAF && head[103..105] == [0, 0]
}

fn check_mark(head: &Head) -> ShareResult<()> {
    let (mark, version) = (number(head, 68), number(head, 60));
    if mark != MARK && !is_empty(head) {
        return Err(refused(
            "this is the database of another program: give the name of a file that is not there",
        ));
    }
    if mark == MARK && version != VERSION {
        return Err(refused(&format!(
            "the database (version {version}) is of a later version of this program: give the name of a file \
             that is not there"
        )));
    }
    Ok(())
}

/// The largest root of a tree is there only where pages can be given back, as in one database they
/// can.
fn check_options(head: &Head, options: &ShareOptions) -> ShareResult<()> {
    let layout = match number(head, 52) {
        0 => ShareLayout::FilePerShare,
        _ => ShareLayout::OneDatabase,
    };
    if layout != options.layout {
        return Err(refused(&format!(
            "the database was made with --layout {layout}, and keeps it: start it so; \
             to change it, put its uploads up again into a new one"
        )));
    }
    let page = match u16::from_be_bytes([head[16], head[17]]) {
        1 => 65_536,
        page => u64::from(page),
    };
    if layout == ShareLayout::OneDatabase && page != options.page_size.0 {
        return Err(refused(&format!(
            "the database was made with --page-size {}, and keeps it: start it so",
            units::Bytes(page)
        )));
    }
    Ok(())
}

fn refused(why: &str) -> ShareError {
    ShareError::Refused(why.to_owned())
}

/// The head of the first page as a write-ahead log has it (SQLite's file format, 4), if it has.
fn in_log(mut log: impl Read) -> io::Result<Option<Head>> {
    /// The magic number without its last bit, which says how the numbers of the sums are read.
    const MAGIC: u32 = 0x377f_0682;
    let mut begin = [0; 32];
    if !filled(&mut log, &mut begin)? || number(&begin, 0) & !1 != MAGIC {
        return Ok(None);
    }
    let big = begin[3] & 1 == 1;
    let mut sum = summed((0, 0), &begin[..24], big);
    let page = number(&begin, 8) as usize;
    if sum != (number(&begin, 24), number(&begin, 28)) || !(512..=65_536).contains(&page) {
        return Ok(None);
    }
    let (mut frame, mut bytes) = ([0; 24], vec![0; page]);
    let (mut written, mut committed) = (None, None);
    while filled(&mut log, &mut frame)? && filled(&mut log, &mut bytes)? {
        sum = summed(summed(sum, &frame[..8], big), &bytes, big);
        // What follows is of a time before the log began again.
        if frame[8..16] != begin[16..24] || sum != (number(&frame, 16), number(&frame, 20)) {
            break;
        }
        if number(&frame, 0) == 1 {
            written = bytes.first_chunk().copied();
        }
        if number(&frame, 4) != 0 {
            committed = written;
        }
    }
    Ok(committed)
}

/// Whether there were so many bytes.
fn filled(from: &mut impl Read, bytes: &mut [u8]) -> io::Result<bool> {
    match from.read_exact(bytes) {
        Ok(()) => Ok(true),
        Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(e) => Err(e),
    }
}

/// The sums over more bytes, of which there are eight or a multiple.
fn summed(mut sum: (u32, u32), bytes: &[u8], big: bool) -> (u32, u32) {
    let read = |four: &[u8]| {
        let number = number(four, 0);
        if big { number } else { number.swap_bytes() }
    };
    for eight in bytes.chunks_exact(8) {
        sum.0 = sum.0.wrapping_add(read(&eight[..4])).wrapping_add(sum.1);
        sum.1 = sum.1.wrapping_add(read(&eight[4..])).wrapping_add(sum.0);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use rusqlite::Connection;
    use std::collections::BTreeMap;

    /// Every file of a directory with its bytes.
    fn files(dir: &Path) -> BTreeMap<std::ffi::OsString, Vec<u8>> {
        let entries = std::fs::read_dir(dir).unwrap().flatten();
        entries
            .map(|entry| (entry.file_name(), std::fs::read(entry.path()).unwrap()))
            .collect()
    }

    #[test]
    fn a_database_of_somebody_else_is_refused_as_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.db");
        let options = ShareOptions::default();
        std::fs::write(&path, "").unwrap();
        check_head(&path, &options).unwrap();
        for mark in [0, 7] {
            let foreign = Connection::open(&path).unwrap();
            foreign.pragma_update(None, "application_id", mark).unwrap();
            foreign
                .execute_batch("CREATE TABLE IF NOT EXISTS mine (x)")
                .unwrap();
            drop(foreign);
            let before = std::fs::read(&path).unwrap();
            let refused = check_head(&path, &options).unwrap_err().to_string();
            assert!(
                refused.contains("another program"),
                "mark {mark}: {refused}"
            );
            assert_eq!(std::fs::read(&path).unwrap(), before);
        }
        let own = Connection::open(&path).unwrap();
        own.pragma_update(None, "application_id", MARK).unwrap();
        own.pragma_update(None, "user_version", VERSION).unwrap();
        drop(own);
        check_head(&path, &options).unwrap();
        let other = ShareOptions {
            layout: ShareLayout::OneDatabase,
            ..options.clone()
        };
        let refused = check_head(&path, &other).unwrap_err().to_string();
        assert!(refused.contains("--layout file-per-share"), "{refused}");
        let later = Connection::open(&path).unwrap();
        later
            .pragma_update(None, "user_version", VERSION + 1)
            .unwrap();
        drop(later);
        let refused = check_head(&path, &options).unwrap_err().to_string();
        assert!(refused.contains("later version"), "{refused}");
    }

    #[test]
    fn what_only_the_log_says_is_found_and_nothing_is_touched() {
        for (page, mark) in [
            (4096, 0),
            (512, 0),
            (65_536, 0),
            (4096, MARK),
            (65_536, MARK),
        ] {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("x.db");
            let open = Connection::open(&path).unwrap();
            open.pragma_update(None, "page_size", page).unwrap();
            open.pragma_update(None, "journal_mode", "wal").unwrap();
            open.execute_batch("CREATE TABLE a (x); INSERT INTO a VALUES (1)")
                .unwrap();
            open.pragma_update(None, "user_version", VERSION).unwrap();
            open.pragma_update(None, "application_id", mark).unwrap();
            let before = files(dir.path());
            assert_eq!(before.len(), 3);
            assert_eq!(number(&before[std::ffi::OsStr::new("x.db")], 68), 0);
            let options = ShareOptions::default();
            let found = check_head(&path, &options).map_err(|error| error.to_string());
            if mark == MARK {
                assert_eq!(found, Ok(()), "{page}");
            } else {
                assert!(found.unwrap_err().contains("another program"), "{page}");
            }
            assert!(files(dir.path()) == before);
            // What a torn log says stands in no database.
            let log = dir.path().join("x.db-wal");
            let whole = std::fs::read(&log).unwrap();
            for cut in [0, 10, 40, whole.len() - 1] {
                let copy = tempfile::tempdir().unwrap();
                std::fs::copy(&path, copy.path().join("x.db")).unwrap();
                std::fs::write(copy.path().join("x.db-wal"), &whole[..cut]).unwrap();
                let before = files(copy.path());
                let _either = check_head(&copy.path().join("x.db"), &options);
                assert!(files(copy.path()) == before);
                let opened = Connection::open(copy.path().join("x.db")).unwrap();
                let query = "SELECT count(*) FROM sqlite_schema";
                let tables: u64 = opened.query_row(query, [], |row| row.get(0)).unwrap();
                let seen = in_log(&whole[..cut]).unwrap();
                assert_eq!(seen.is_some_and(|head| !is_empty(&head)), tables > 0);
            }
        }
    }
}
