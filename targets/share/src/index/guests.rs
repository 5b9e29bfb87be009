//! Guest links: who has one may put up files without logging in, within its limits.

use super::Index;
use crate::error::{ShareError, ShareResult};
use rusqlite::{OptionalExtension as _, Row, Transaction};

/// What a guest link is made of. `None` is without a limit.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct NewGuestLink {
    pub(crate) label: String,
    pub(crate) expires: Option<u64>,
    /// How long what is put up by it lives.
    pub(crate) lifetime: Option<u64>,
    pub(crate) most_bytes: Option<u64>,
    pub(crate) most_uploads: Option<u64>,
}

/// A guest link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GuestLink {
    pub(crate) id: String,
    pub(crate) made: u64,
    pub(crate) with: NewGuestLink,
    /// Files that were put up by it, also those that are gone.
    pub(crate) uploads: u64,
    pub(crate) disabled: bool,
}

impl GuestLink {
    /// Whether it takes another file besides those that are under way.
    pub(crate) fn is_open(&self, under_way: u64, now: u64) -> bool {
        let has_place = self
            .with
            .most_uploads
            .is_none_or(|most| self.uploads.saturating_add(under_way) < most);
        !self.disabled && has_place && self.with.expires.is_none_or(|end| now < end)
    }
}

const COLUMNS: &str =
    "id, label, made, expires, lifetime, most_bytes, most_uploads, uploads, disabled";

fn link(row: &Row<'_>) -> rusqlite::Result<GuestLink> {
    Ok(GuestLink {
        id: row.get(0)?,
        made: row.get(2)?,
        with: NewGuestLink {
            label: row.get(1)?,
            expires: row.get(3)?,
            lifetime: row.get(4)?,
            most_bytes: row.get(5)?,
            most_uploads: row.get(6)?,
        },
        uploads: row.get(7)?,
        disabled: row.get(8)?,
    })
}

/// Takes one of the places of a link. Errors: `LinkClosed` where it has none, whoever else asks at
/// the same time.
pub(super) fn take_place(transaction: &Transaction<'_>, id: &str, now: u64) -> ShareResult<()> {
    let taken = transaction
        .prepare_cached(
            "UPDATE guest_link SET uploads = uploads + 1 WHERE id = ?1 AND NOT disabled
             AND (most_uploads IS NULL OR uploads < most_uploads)
             AND (expires IS NULL OR expires > ?2)",
        )?
        .execute((id, now))?;
    if taken == 1 {
        Ok(())
    } else {
        Err(ShareError::LinkClosed)
    }
}

impl Index {
    pub(crate) fn add_guest_link(&self, id: &str, new: &NewGuestLink, now: u64) -> ShareResult<()> {
        self.link(|transaction| {
            let place = "INSERT INTO guest_link (id, label, made, expires, lifetime, most_bytes,
                         most_uploads) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
            transaction.prepare_cached(place)?.execute((
                id,
                &new.label,
                now,
                new.expires,
                new.lifetime,
                new.most_bytes,
                new.most_uploads,
            ))?;
            Ok(())
        })
    }

    pub(crate) fn guest_link(&self, id: &str) -> ShareResult<Option<GuestLink>> {
        self.read(|connection| {
            let query = format!("SELECT {COLUMNS} FROM guest_link WHERE id = ?1");
            Ok(connection
                .prepare_cached(&query)?
                .query_row([id], link)
                .optional()?)
        })
    }

    pub(crate) fn guest_links(&self) -> ShareResult<Vec<GuestLink>> {
        self.read(|connection| {
            let query = format!("SELECT {COLUMNS} FROM guest_link ORDER BY made DESC LIMIT 1000");
            let mut query = connection.prepare_cached(&query)?;
            let rows = query.query_map([], link)?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
    }

    pub(crate) fn disable_guest_link(&self, id: &str, disabled: bool) -> ShareResult<()> {
        self.change_guest_link(
            "UPDATE guest_link SET disabled = ?2 WHERE id = ?1",
            (id, disabled),
        )
    }

    /// Files that were put up by it stay.
    pub(crate) fn remove_guest_link(&self, id: &str) -> ShareResult<()> {
        self.change_guest_link("DELETE FROM guest_link WHERE id = ?1", (id,))
    }

    fn change_guest_link(
        &self,
        change: &str,
        with: impl rusqlite::Params + Clone,
    ) -> ShareResult<()> {
        self.write(
            |transaction| match transaction.execute(change, with.clone())? {
                0 => Err(ShareError::Missing),
                _ => Ok(()),
            },
        )
    }
}
