//! Uploads.

use super::Index;
use crate::content::BodyPlace;
use crate::error::{ShareError, ShareResult};
use rusqlite::{Connection, OptionalExtension as _, Row, Transaction};
use std::collections::BTreeSet;

/// One upload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeptUpload {
    pub(crate) id: String,
    pub(crate) body: BodyPlace,
    /// `None` where it is to be added up.
    pub(crate) size: Option<u64>,
    pub(crate) name: String,
    pub(crate) media: String,
    pub(crate) note: String,
    pub(crate) uploaded: u64,
    /// When its bytes came.
    pub(crate) changed: u64,
    pub(crate) expires: Option<u64>,
    pub(crate) guest_link: Option<String>,
}

/// What is to be changed of an upload without its bytes; `None` stays as it is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Amended {
    pub(crate) name: Option<String>,
    pub(crate) note: Option<String>,
    /// `Some(None)` is never.
    pub(crate) expires: Option<Option<u64>>,
}

impl KeptUpload {
    /// What has expired is gone, also before it is removed.
    fn is_there(&self, now: u64) -> bool {
        self.expires.is_none_or(|end| now < end)
    }
}

/// Some uploads, the latest first.
#[derive(Debug, Default)]
pub(crate) struct UploadsPage {
    pub(crate) uploads: Vec<KeptUpload>,
    /// Of all pages.
    pub(crate) count: u64,
}

const COLUMNS: &str =
    "id, body, chunk, size, name, media, note, uploaded, changed, expires, guest_link";

fn upload(row: &Row<'_>) -> rusqlite::Result<KeptUpload> {
    Ok(KeptUpload {
        id: row.get(0)?,
        body: BodyPlace {
            number: row.get(1)?,
            chunk: row.get(2)?,
        },
        size: row.get(3)?,
        name: row.get(4)?,
        media: row.get(5)?,
        note: row.get(6)?,
        uploaded: row.get(7)?,
        changed: row.get(8)?,
        expires: row.get(9)?,
        guest_link: row.get(10)?,
    })
}

fn find(connection: &Connection, id: &str) -> ShareResult<Option<KeptUpload>> {
    let query = format!("SELECT {COLUMNS} FROM upload WHERE id = ?1");
    Ok(connection
        .prepare_cached(&query)?
        .query_row([id], upload)
        .optional()?)
}

/// The bytes of a body have no upload any more.
fn free(transaction: &Transaction<'_>, body: u64, now: u64) -> ShareResult<()> {
    transaction
        .prepare_cached("INSERT OR REPLACE INTO deleted VALUES (?1, ?2)")?
        .execute([body, now])?;
    Ok(())
}

/// No later body has this number.
fn use_number(transaction: &Transaction<'_>, body: u64) -> ShareResult<()> {
    transaction
        .prepare_cached("UPDATE setting SET value = max(value, ?1) WHERE name = 'next_body'")?
        .execute([body + 1])?;
    Ok(())
}

fn remove(transaction: &Transaction<'_>, id: &str, now: u64) -> ShareResult<()> {
    let body: Option<u64> = transaction
        .prepare_cached("DELETE FROM upload WHERE id = ?1 RETURNING body")?
        .query_row([id], |row| row.get(0))
        .optional()?;
    free(transaction, body.ok_or(ShareError::Missing)?, now)?;
    transaction
        .prepare_cached("DELETE FROM download WHERE upload = ?1")?
        .execute([id])?;
    Ok(())
}

/// Looks at a body from within the transaction that is to name it.
pub(crate) type BodyCheck<'a> = &'a dyn Fn(&Connection) -> ShareResult<()>;

impl Index {
    pub(crate) fn find(&self, id: &str, now: u64) -> ShareResult<Option<KeptUpload>> {
        let found = self.read(|connection| find(connection, id))?;
        Ok(found.filter(|upload| upload.is_there(now)))
    }

    /// Adds an upload in the name of whoever has taken its place, if `check` finds its body there.
    /// Errors: `LinkClosed` where its guest link takes no more.
    pub(crate) fn add(
        &self,
        upload: &KeptUpload,
        now: u64,
        check: BodyCheck<'_>,
    ) -> ShareResult<()> {
        self.link(|transaction| {
            check(transaction)?;
            if let Some(link) = &upload.guest_link {
                super::guests::take_place(transaction, link, now)?;
            }
            let place = "INSERT INTO upload VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";
            transaction.prepare_cached(place)?.execute((
                &upload.id,
                upload.body.number,
                upload.body.chunk,
                upload.size,
                &upload.name,
                &upload.media,
                &upload.note,
                upload.uploaded,
                upload.changed,
                upload.expires,
                &upload.guest_link,
            ))?;
            use_number(transaction, upload.body.number)
        })
    }

    /// Gives an upload other bytes, under the same id, if `check` finds them there. Who sent them may
    /// have said something else of it, `note`; whatever else was changed meanwhile stays so.
    pub(crate) fn replace(
        &self,
        with: &KeptUpload,
        note: Option<&str>,
        now: u64,
        check: BodyCheck<'_>,
    ) -> ShareResult<()> {
        self.link(|transaction| {
            check(transaction)?;
            let before = find(transaction, &with.id)?.filter(|before| before.is_there(now));
            let before = before.ok_or(ShareError::Missing)?;
            let place = "UPDATE upload SET body = ?2, chunk = ?3, size = ?4, name = ?5, media = ?6,
                         changed = ?7, note = coalesce(?8, note) WHERE id = ?1";
            transaction.prepare_cached(place)?.execute((
                &with.id,
                with.body.number,
                with.body.chunk,
                with.size,
                &with.name,
                &with.media,
                with.changed,
                note,
            ))?;
            free(transaction, before.body.number, now)?;
            use_number(transaction, with.body.number)
        })
    }

    pub(crate) fn amend(&self, id: &str, to: &Amended, now: u64) -> ShareResult<()> {
        self.write(|transaction| {
            let place = "UPDATE upload SET name = coalesce(?2, name), note = coalesce(?3, note),
                         expires = CASE WHEN ?4 THEN ?5 ELSE expires END
                         WHERE id = ?1 AND (expires IS NULL OR expires > ?6)";
            let changed = transaction.prepare_cached(place)?.execute((
                id,
                &to.name,
                &to.note,
                to.expires.is_some(),
                to.expires.flatten(),
                now,
            ))?;
            if changed == 0 {
                return Err(ShareError::Missing);
            }
            Ok(())
        })
    }

    pub(crate) fn remove(&self, id: &str, now: u64) -> ShareResult<()> {
        self.write(|transaction| remove(transaction, id, now))
    }

    pub(crate) fn uploads(&self, skip: u64, most: u64) -> ShareResult<UploadsPage> {
        // There are never more rows than SQLite can number.
        let skip = i64::try_from(skip).unwrap_or(i64::MAX);
        self.read(|connection| {
            let query = format!(
                "SELECT {COLUMNS} FROM upload ORDER BY uploaded DESC, id LIMIT ?1 OFFSET ?2"
            );
            let mut query = connection.prepare_cached(&query)?;
            let rows = query.query_map((most, skip), upload)?;
            let uploads = rows.collect::<rusqlite::Result<_>>()?;
            let count = "SELECT count(*) FROM upload";
            Ok(UploadsPage {
                uploads,
                count: connection.query_row(count, [], |row| row.get(0))?,
            })
        })
    }

    /// How many uploads there are, and their bytes.
    pub(crate) fn totals(&self) -> ShareResult<(u64, u64)> {
        self.read(|connection| {
            let query = "SELECT count(*), coalesce(sum(size), 0) FROM upload";
            Ok(connection.query_row(query, [], |row| Ok((row.get(0)?, row.get(1)?)))?)
        })
    }

    /// Bytes of the database's pages.
    pub(crate) fn on_disk(&self) -> ShareResult<u64> {
        self.read(|connection| {
            let number = |pragma| connection.pragma_query_value(None, pragma, |row| row.get(0));
            let (pages, size): (u64, u64) = (number("page_count")?, number("page_size")?);
            Ok(pages * size)
        })
    }

    /// Removes some of those whose time is over; how many.
    pub(crate) fn expire(&self, now: u64) -> ShareResult<u64> {
        let over: Vec<String> = self.read(|connection| {
            let mut query =
                connection.prepare_cached("SELECT id FROM upload WHERE expires <= ?1 LIMIT 100")?;
            let rows = query.query_map([now], |row| row.get(0))?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })?;
        if over.is_empty() {
            return Ok(0);
        }
        self.write(|transaction| over.iter().try_for_each(|id| remove(transaction, id, now)))?;
        Ok(over.len() as u64)
    }

    /// Bodies that an upload has, or had until a short while ago.
    pub(crate) fn bodies(&self) -> ShareResult<BTreeSet<u64>> {
        self.read(|connection| {
            let query = "SELECT body FROM upload UNION SELECT body FROM deleted";
            let mut query = connection.prepare(query)?;
            let rows = query.query_map([], |row| row.get(0))?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
    }

    /// Bodies that no upload has had since a moment.
    pub(crate) fn deleted_until(&self, moment: u64) -> ShareResult<Vec<u64>> {
        self.read(|connection| {
            let mut query =
                connection.prepare_cached("SELECT body FROM deleted WHERE at <= ?1 LIMIT 100")?;
            let rows = query.query_map([moment], |row| row.get(0))?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
    }

    /// Their bytes are gone.
    pub(crate) fn forget(&self, bodies: &[u64]) -> ShareResult<()> {
        self.jot(|transaction| {
            for body in bodies {
                transaction
                    .prepare_cached("DELETE FROM deleted WHERE body = ?1")?
                    .execute([body])?;
            }
            Ok(())
        })
    }

    /// Uploads whose bodies are among these.
    pub(crate) fn of_bodies(&self, bodies: &BTreeSet<u64>) -> ShareResult<Vec<KeptUpload>> {
        self.read(|connection| {
            let query = format!("SELECT {COLUMNS} FROM upload WHERE body = ?1");
            let mut query = connection.prepare_cached(&query)?;
            let mut out = Vec::new();
            for body in bodies {
                out.extend(query.query_row([body], upload).optional()?);
            }
            Ok(out)
        })
    }

    /// The lowest number that no body ever had.
    pub(crate) fn next_body(&self) -> ShareResult<u64> {
        self.setting("next_body").map(|next| next.unwrap_or(1))
    }

    pub(crate) fn setting<T: rusqlite::types::FromSql>(
        &self,
        name: &str,
    ) -> ShareResult<Option<T>> {
        self.read(|connection| {
            let query = "SELECT value FROM setting WHERE name = ?1";
            Ok(connection
                .prepare_cached(query)?
                .query_row([name], |row| row.get(0))
                .optional()?)
        })
    }

    /// Writes what is there already, durably. Errors: it cannot be written.
    pub(crate) fn probe(&self) -> ShareResult<()> {
        self.link(|transaction| {
            let place = "UPDATE setting SET value = value WHERE name = 'next_body'";
            transaction.prepare_cached(place)?.execute([])?;
            Ok(())
        })
    }

    pub(crate) fn set<T: rusqlite::ToSql>(&self, values: &[(&str, T)]) -> ShareResult<()> {
        self.write(|transaction| {
            for (name, value) in values {
                transaction
                    .prepare_cached("INSERT OR REPLACE INTO setting VALUES (?1, ?2)")?
                    .execute((name, value))?;
            }
            Ok(())
        })
    }
}
