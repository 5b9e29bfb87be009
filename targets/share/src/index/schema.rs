//! The tables of the index. Times are milliseconds since 1970.

use crate::error::{ShareError, ShareResult};
use crate::options::{ShareLayout, ShareOptions, Switch};
use rusqlite::{Connection, TransactionBehavior};
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

/// What the database says that it is (`PRAGMA application_id`): "fshi".
const MARK: u32 = 0x6673_6869;
/// Of the tables below.
const VERSION: u32 = 1;

const TABLES: &str = "
CREATE TABLE upload (
    id TEXT PRIMARY KEY,
    body INTEGER NOT NULL UNIQUE,
    chunk INTEGER NOT NULL,
    size INTEGER,
    name TEXT NOT NULL,
    media TEXT NOT NULL,
    note TEXT NOT NULL,
    uploaded INTEGER NOT NULL,
    changed INTEGER NOT NULL,
    expires INTEGER,
    guest_link TEXT
) WITHOUT ROWID;
CREATE INDEX upload_by_time ON upload (uploaded);
CREATE INDEX upload_by_end ON upload (expires) WHERE expires IS NOT NULL;
CREATE TABLE deleted (body INTEGER PRIMARY KEY, at INTEGER NOT NULL);
CREATE TABLE download (
    number INTEGER PRIMARY KEY,
    upload TEXT NOT NULL,
    at INTEGER NOT NULL,
    address TEXT NOT NULL,
    agent TEXT NOT NULL
);
CREATE TABLE guest_link (
    id TEXT PRIMARY KEY,
    label TEXT NOT NULL,
    made INTEGER NOT NULL,
    expires INTEGER,
    lifetime INTEGER,
    most_bytes INTEGER,
    most_uploads INTEGER,
    uploads INTEGER NOT NULL DEFAULT 0,
    disabled INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE TABLE session (
    token BLOB PRIMARY KEY,
    made INTEGER NOT NULL,
    expires INTEGER NOT NULL,
    address TEXT NOT NULL,
    agent TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE setting (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
INSERT INTO setting VALUES ('next_body', 1);
";

/// Refuses a database of somebody else, or of other options, before any setting is tried on it, by
/// the head of its file (SQLite's file format, 1.3). What a crash left half made is for SQLite to
/// look at: its journal is beside it, or its head already says that there is a write-ahead log.
///
/// # Errors
/// `Refused`, with what can be done instead.
pub(crate) fn check_head(path: &Path, options: &ShareOptions) -> ShareResult<()> {
    let mut head = [0; 100];
    let wrong = |e| ShareError::io("reading the database", e);
    let file = File::open(path).map_err(wrong)?;
    let length = file.metadata().map_err(wrong)?.len();
    let mut journal = path.as_os_str().to_owned();
    journal.push("-journal");
    if length == 0 || Path::new(&journal).exists() {
        return Ok(());
    }
    let is_whole = (&file).read_exact(&mut head).is_ok();
    if !is_whole || !head.starts_with(b"SQLite format 3\0") {
        return Err(refused(
            "the file is no database: give the name of a file that is not there, and one is made",
        ));
    }
    let number =
        |at: usize| u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    let (mark, has_log) = (number(68), head[18] == 2);
    if mark == 0 && has_log {
        return Ok(());
    }
    if mark != MARK {
        return Err(refused(
            "this is the database of another program: give the name of a file that is not there",
        ));
    }
    check_options(
        number(52),
        u16::from_be_bytes([head[16], head[17]]),
        options,
    )
}

/// `largest_root` is there only where pages can be given back, as in one database they can.
fn check_options(largest_root: u32, page: u16, options: &ShareOptions) -> ShareResult<()> {
    let layout = match largest_root {
        0 => ShareLayout::FilePerShare,
        _ => ShareLayout::OneDatabase,
    };
    if layout != options.layout {
        return Err(refused(&format!(
            "the database was made with --layout {layout}, and keeps it: start it so; \
             to change it, put its uploads up again into a new one"
        )));
    }
    let page = match page {
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

/// Makes the tables where there are none, and the index of downloads as it is to be.
pub(super) fn make(connection: &mut Connection, downloads: Switch) -> ShareResult<()> {
    let number = |connection: &Connection, pragma: &str| -> ShareResult<u32> {
        Ok(connection.pragma_query_value(None, pragma, |row| row.get(0))?)
    };
    let (mark, version) = (
        number(connection, "application_id")?,
        number(connection, "user_version")?,
    );
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let tables: u32 =
        transaction.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    match (mark, version) {
        (MARK, VERSION) => {}
        (0, 0) if tables == 0 => {
            transaction.execute_batch(TABLES)?;
            transaction.pragma_update(None, "application_id", MARK)?;
            transaction.pragma_update(None, "user_version", VERSION)?;
        }
        _ => {
            return Err(refused(&format!(
                "the database (mark {mark:x}, version {version}) is of another program, or of a later version of \
                 this one: give the name of a file that is not there"
            )));
        }
    }
    transaction.execute_batch(match downloads {
        Switch::On => "CREATE INDEX IF NOT EXISTS download_by_upload ON download (upload, at)",
        Switch::Off => "DROP INDEX IF EXISTS download_by_upload",
    })?;
    Ok(transaction.commit()?)
}

#[cfg(test)]
mod tests {
    use super::*;

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
        drop(own);
        check_head(&path, &options).unwrap();
        let other = ShareOptions {
            layout: ShareLayout::OneDatabase,
            ..options
        };
        let refused = check_head(&path, &other).unwrap_err().to_string();
        assert!(refused.contains("--layout file-per-share"), "{refused}");
    }
}
