//! The tables of the index. Times are milliseconds since 1970.

use crate::error::{ShareError, ShareResult};
use crate::options::Switch;
use rusqlite::{Connection, TransactionBehavior};

/// What the database says that it is (`PRAGMA application_id`): "fshi".
pub(super) const MARK: u32 = 0x6673_6869;
/// Of the tables below.
pub(super) const VERSION: u32 = 1;

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
    // By this name files of uploads that are under way are told from those of others.
    transaction.execute_batch(
        "INSERT OR IGNORE INTO setting VALUES ('draft_mark', lower(hex(randomblob(8))))",
    )?;
    transaction.execute_batch(match downloads {
        Switch::On => "CREATE INDEX IF NOT EXISTS download_by_upload ON download (upload, at)",
        Switch::Off => "DROP INDEX IF EXISTS download_by_upload",
    })?;
    Ok(transaction.commit()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How SQLite goes about a query, a line a step.
    fn plan(connection: &Connection, query: &str) -> Vec<String> {
        let mut steps = connection
            .prepare(&format!("EXPLAIN QUERY PLAN {query}"))
            .unwrap();
        let rows = steps.query_map([], |row| row.get(3)).unwrap();
        rows.map(Result::unwrap).collect()
    }

    #[test]
    fn an_index_that_is_gone_is_back_after_a_start_and_no_page_reads_a_whole_table() {
        let mut connection = Connection::open_in_memory().unwrap();
        make(&mut connection, Switch::On).unwrap();
        connection
            .execute_batch("DROP INDEX download_by_upload")
            .unwrap();
        make(&mut connection, Switch::On).unwrap();
        for (query, index) in [
            (
                "SELECT count(*) FROM download WHERE upload = 'x'",
                "download_by_upload",
            ),
            (
                "SELECT id FROM upload WHERE expires <= 5 LIMIT 100",
                "upload_by_end",
            ),
            (
                "SELECT id, name FROM upload ORDER BY uploaded DESC, id LIMIT 100",
                "upload_by_time",
            ),
            ("SELECT name FROM upload WHERE id = 'x'", "PRIMARY KEY"),
            ("SELECT id FROM upload WHERE body = 5", "(body=?)"),
            ("SELECT body FROM deleted WHERE body = 5", "PRIMARY KEY"),
        ] {
            let steps = plan(&connection, query);
            assert!(steps[0].contains(index), "{query}: {steps:?}");
        }
    }
}
