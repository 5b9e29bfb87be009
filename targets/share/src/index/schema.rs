//! The tables of the index. Times are milliseconds since 1970.

use crate::error::{ShareError, ShareResult};
use crate::options::Switch;
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

/// Refuses a database of somebody else before any setting is tried on it, by the head of its file
/// (SQLite's file format, 1.3). What a crash left half made is for SQLite to look at: its journal is
/// beside it, or its head already says that there is a write-ahead log.
///
/// # Errors
/// `Damaged`: it is not this server's.
pub(super) fn check_owner(path: &Path) -> ShareResult<()> {
    let mut head = [0; 100];
    let is_whole = File::open(path).and_then(|mut file| file.read_exact(&mut head));
    let mut journal = path.as_os_str().to_owned();
    journal.push("-journal");
    if is_whole.is_err() || Path::new(&journal).exists() {
        return Ok(());
    }
    let mark = u32::from_be_bytes([head[68], head[69], head[70], head[71]]);
    let has_log = head[18] == 2;
    if mark == MARK || (mark == 0 && has_log) || !head.starts_with(b"SQLite format 3\0") {
        return Ok(());
    }
    Err(ShareError::Damaged(format!(
        "the database (mark {mark:x}) is none of this server's; it"
    )))
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
            return Err(ShareError::Damaged(format!(
                "the database (mark {mark:x}, version {version}) is none of this server's, or of a later one; it"
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
        check_owner(&path).unwrap();
        for mark in [0, 7] {
            let foreign = Connection::open(&path).unwrap();
            foreign.pragma_update(None, "application_id", mark).unwrap();
            foreign
                .execute_batch("CREATE TABLE IF NOT EXISTS mine (x)")
                .unwrap();
            drop(foreign);
            let before = std::fs::read(&path).unwrap();
            assert!(check_owner(&path).is_err(), "mark {mark}");
            assert_eq!(std::fs::read(&path).unwrap(), before);
        }
        let own = Connection::open(&path).unwrap();
        own.pragma_update(None, "application_id", MARK).unwrap();
        drop(own);
        check_owner(&path).unwrap();
    }
}
