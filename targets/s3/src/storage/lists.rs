//! Listings as range scans: a page reads the rows that it shows, and seeks past what a common
//! prefix stands for.

use super::records::{Head, RecordKind, UploadRecord, listed};
use super::tables::{Row, Rows, Table, View};
use super::{
    ListQuery, ListedUpload, ListedVersion, ObjectEntry, ObjectPage, StorageResult, UploadEntry,
    UploadPage, UploadQuery, VersionEntry, VersionId, VersionPage, VersionQuery, keys, uploads,
    versions,
};
use bytes::Bytes;
use std::iter::Peekable;

/// The part of a bucket that a listing shows.
struct Part<'q> {
    bucket: u64,
    prefix: &'q str,
    delimiter: Option<&'q str>,
}

impl<'q> Part<'q> {
    fn new(bucket: u64, prefix: &'q str, delimiter: Option<&'q str>) -> Self {
        Self {
            bucket,
            prefix,
            delimiter: delimiter.filter(|text| !text.is_empty()),
        }
    }

    fn start(&self) -> Bytes {
        keys::object(self.bucket, self.prefix)
    }

    fn end(&self) -> Option<Bytes> {
        keys::after_prefix(&self.start())
    }

    fn common_prefix<'k>(&self, key: &'k str) -> Option<&'k str> {
        let delimiter = self.delimiter?;
        let at = key.strip_prefix(self.prefix)?.find(delimiter)?;
        Some(&key[..self.prefix.len() + at + delimiter.len()])
    }

    /// Where a listing goes on behind a common prefix.
    fn behind(&self, common: &str) -> Option<Bytes> {
        keys::after_prefix(&keys::object(self.bucket, common))
    }

    /// Whether a marker stands for all keys that begin with it.
    fn is_common_prefix(&self, marker: &str) -> bool {
        self.common_prefix(marker) == Some(marker)
    }
}

/// A page of objects.
pub(crate) fn objects(
    view: &dyn View,
    bucket: u64,
    query: &ListQuery,
) -> StorageResult<ObjectPage> {
    let part = Part::new(bucket, &query.prefix, query.delimiter.as_deref());
    let mut page = ObjectPage::default();
    let (mut next, end) = (Some(part.start()), part.end());
    if let Some(after) = &query.after {
        let behind = if part.is_common_prefix(after) {
            part.behind(after)
        } else {
            Some(keys::after_row(&keys::object(bucket, after)))
        };
        next = behind.map(|behind| behind.max(part.start()));
    }
    let mut last = String::new();
    while let Some(from) = next.take().filter(|_| query.max > 0) {
        for row in view.range(Table::Live, &from, end.as_deref()) {
            let (row, value) = row?;
            let key = keys::key_of(&row)?;
            if page.entries.len() == query.max {
                page.next = Some(last);
                return Ok(page);
            }
            if let Some(common) = part.common_prefix(key) {
                common.clone_into(&mut last);
                page.entries.push(ObjectEntry::CommonPrefix(last.clone()));
                next = part.behind(common);
                break;
            }
            key.clone_into(&mut last);
            page.entries
                .push(ObjectEntry::Object(listed(key, &value)?.object));
        }
    }
    Ok(page)
}

/// The rows of the live table and of the history as one, keys ascending and for each key the newest
/// first.
struct Both<'v> {
    live: Peekable<Rows<'v>>,
    past: Peekable<Rows<'v>>,
}

impl Iterator for Both<'_> {
    /// The key, its value, and whether it is from the live table.
    type Item = StorageResult<(String, Bytes, bool)>;

    fn next(&mut self) -> Option<Self::Item> {
        let key = |row: &Row, live: bool| {
            if live {
                keys::key_of(&row.0)
            } else {
                keys::numbered_key_of(&row.0).map(|(key, _)| key)
            }
            .map(str::to_owned)
        };
        let from_live = match (self.live.peek(), self.past.peek()) {
            (None, None) => return None,
            (Some(Err(_)), _) | (_, None) => true,
            (None, _) | (_, Some(Err(_))) => false,
            (Some(Ok(live)), Some(Ok(past))) => match (key(live, true), key(past, false)) {
                (Ok(live), Ok(past)) => live <= past,
                (Err(e), _) | (_, Err(e)) => return Some(Err(e)),
            },
        };
        let row = if from_live {
            self.live.next()?
        } else {
            self.past.next()?
        };
        Some(row.and_then(|row| Ok((key(&row, from_live)?, row.1, from_live))))
    }
}

/// Where a listing of versions begins in both tables, and the key of which a version was shown
/// already.
struct Begin {
    live: Bytes,
    past: Bytes,
    shown: Option<String>,
}

fn begin(view: &dyn View, part: &Part<'_>, query: &VersionQuery) -> StorageResult<Option<Begin>> {
    let from_start = Begin {
        live: part.start(),
        past: part.start(),
        shown: None,
    };
    let Some(marker) = &query.key_marker else {
        return Ok(Some(from_start));
    };
    let bucket = part.bucket;
    let found = match query.version_marker {
        None if part.is_common_prefix(marker) => match part.behind(marker) {
            Some(behind) => Begin {
                live: behind.clone(),
                past: behind,
                shown: None,
            },
            None => return Ok(None),
        },
        version => {
            let live = keys::after_row(&keys::object(bucket, marker));
            let seq = match version {
                Some(VersionId::Numbered(seq)) => Some(seq),
                Some(VersionId::Null) => null_place(view, bucket, marker)?,
                None => None,
            };
            match seq {
                Some(seq) => Begin {
                    live,
                    past: keys::after_row(&keys::history(bucket, marker, seq)),
                    shown: Some(marker.clone()),
                },
                None => Begin {
                    live,
                    past: keys::after_numbered(bucket, marker),
                    shown: None,
                },
            }
        }
    };
    Ok(Some(Begin {
        live: found.live.max(part.start()),
        past: found.past.max(part.start()),
        shown: found.shown,
    }))
}

/// The number of the version `null`, wherever it lies.
fn null_place(view: &dyn View, bucket: u64, key: &str) -> StorageResult<Option<u64>> {
    match versions::object(view, bucket, key, Some(VersionId::Null)) {
        Ok(record) => Ok(Some(record.seq)),
        Err(super::StorageError::NoSuchVersion | super::StorageError::DeleteMarker { .. }) => {
            versions::null_seq(view, bucket, key)
        }
        Err(other) => Err(other),
    }
}

/// A page of versions.
pub(crate) fn versions(
    view: &dyn View,
    bucket: u64,
    query: &VersionQuery,
) -> StorageResult<VersionPage> {
    let part = Part::new(bucket, &query.prefix, query.delimiter.as_deref());
    let end = part.end();
    let mut page = VersionPage::default();
    let mut next = begin(view, &part, query)?;
    let mut last = None;
    while let Some(Begin {
        live,
        past,
        mut shown,
    }) = next.take().filter(|_| query.max > 0)
    {
        let rows = |table, from: &Bytes| view.range(table, from, end.as_deref()).peekable();
        for row in (Both {
            live: rows(Table::Live, &live),
            past: rows(Table::History, &past),
        }) {
            let (key, value, is_live) = row?;
            if page.entries.len() == query.max {
                page.next = last;
                return Ok(page);
            }
            if let Some(common) = part.common_prefix(&key) {
                last = Some((common.to_owned(), None));
                page.entries
                    .push(VersionEntry::CommonPrefix(common.to_owned()));
                next = part.behind(common).map(|behind| Begin {
                    live: behind.clone(),
                    past: behind,
                    shown: None,
                });
                break;
            }
            let head = listed(&key, &value)?;
            let latest = is_live || shown.as_deref() != Some(&key);
            last = Some((key.clone(), Some(head.version())));
            shown = Some(key);
            page.entries
                .push(VersionEntry::Version(entry(head, latest)));
        }
    }
    Ok(page)
}

fn entry(head: Head, latest: bool) -> ListedVersion {
    ListedVersion {
        version: head.version(),
        latest,
        delete_marker: head.kind == RecordKind::DeleteMarker,
        object: head.object,
    }
}

/// A page of uploads.
pub(crate) fn uploads(
    view: &dyn View,
    bucket: u64,
    query: &UploadQuery,
) -> StorageResult<UploadPage> {
    let part = Part::new(bucket, &query.prefix, query.delimiter.as_deref());
    let end = part.end();
    let mut page = UploadPage::default();
    let mut next = Some(part.start());
    if let Some(marker) = &query.key_marker {
        let behind = match query.upload_marker.as_deref().and_then(uploads::number_of) {
            Some(upload) => Some(keys::after_row(&keys::numbered(bucket, marker, upload))),
            None if part.is_common_prefix(marker) => part.behind(marker),
            None => Some(keys::after_numbered(bucket, marker)),
        };
        next = behind.map(|behind| behind.max(part.start()));
    }
    let mut last = None;
    while let Some(from) = next.take().filter(|_| query.max > 0) {
        for row in view.range(Table::Uploads, &from, end.as_deref()) {
            let (row, value) = row?;
            let (key, number) = keys::numbered_key_of(&row)?;
            if page.entries.len() == query.max {
                page.next = last;
                return Ok(page);
            }
            if let Some(common) = part.common_prefix(key) {
                last = Some((common.to_owned(), None));
                page.entries
                    .push(UploadEntry::CommonPrefix(common.to_owned()));
                next = part.behind(common);
                break;
            }
            let (record, upload) = (UploadRecord::decode(&value)?, uploads::name_of(number));
            last = Some((key.to_owned(), Some(upload.clone())));
            page.entries.push(UploadEntry::Upload(ListedUpload {
                key: key.to_owned(),
                upload,
                started_ms: record.started_ms,
                initiator: record.new.initiator,
                owner: record.new.content.acl.map(|acl| acl.owner),
                storage_class: record.new.content.headers.storage_class,
                checksum: record.new.checksum,
            }));
        }
    }
    Ok(page)
}

#[cfg(test)]
mod tests {
    use super::super::records::{Body, ObjectRecord};
    use super::super::tables::{MemoryTables, Tables as _, When};
    use super::super::{Content, ETag};
    use super::*;
    use std::cell::Cell;

    /// Counts the rows that a listing reads.
    struct Counting<'a> {
        view: &'a dyn View,
        rows: Cell<usize>,
    }

    impl View for Counting<'_> {
        fn read(&self, table: Table, key: &[u8]) -> StorageResult<Option<Bytes>> {
            self.view.read(table, key)
        }

        fn range<'a>(&'a self, table: Table, from: &[u8], to: Option<&[u8]>) -> Rows<'a> {
            Box::new(
                self.view
                    .range(table, from, to)
                    .inspect(|_| self.rows.set(self.rows.get() + 1)),
            )
        }
    }

    /// Three prefixes with many keys each, and one key beside them.
    fn tables() -> MemoryTables {
        let tables = MemoryTables::new();
        let etag = ETag {
            md5: [0; 16],
            parts: 0,
        };
        let (kind, body, content) = (RecordKind::Object, Body::Empty, Content::default());
        let record = ObjectRecord {
            kind,
            null: true,
            seq: 1,
            modified_ms: 0,
            size: 0,
            etag,
            body,
            content,
        }
        .encode();
        let keys = ["p", "q", "r"]
            .iter()
            .flat_map(|top| (0..5000).map(move |number| format!("{top}/{number:05}")));
        let write = |key: String| (Table::Live, keys::object(1, &key), Some(record.clone()));
        tables
            .commit(
                keys.chain(["z".to_owned()]).map(write).collect(),
                When::Later,
            )
            .unwrap();
        tables
    }

    #[test]
    fn a_page_reads_what_it_shows_and_one_row_more() {
        let tables = tables();
        let view = tables.view();
        let counting = Counting {
            view: &*view,
            rows: Cell::new(0),
        };
        let query = ListQuery {
            max: 100,
            after: Some("q/02000".into()),
            ..Default::default()
        };
        let page = objects(&counting, 1, &query).unwrap();
        assert_eq!(
            (page.entries.len(), page.next.as_deref()),
            (100, Some("q/02100"))
        );
        assert_eq!(counting.rows.get(), 101);
    }

    #[test]
    fn a_common_prefix_costs_one_row_however_many_keys_it_stands_for() {
        let tables = tables();
        let view = tables.view();
        let counting = Counting {
            view: &*view,
            rows: Cell::new(0),
        };
        let page = objects(
            &counting,
            1,
            &ListQuery {
                delimiter: Some("/".into()),
                max: 100,
                ..Default::default()
            },
        )
        .unwrap();
        let named = |name: &str| ObjectEntry::CommonPrefix(name.to_owned());
        assert_eq!(page.entries[..3], [named("p/"), named("q/"), named("r/")]);
        assert_eq!(
            (page.entries.len(), page.next, counting.rows.get()),
            (4, None, 4)
        );
        let page = versions(
            &counting,
            1,
            &VersionQuery {
                delimiter: Some("/".into()),
                max: 2,
                ..Default::default()
            },
        )
        .unwrap();
        assert_eq!(page.next, Some(("q/".to_owned(), None)));
    }

    #[test]
    fn nothing_is_shown_where_nothing_is_asked_for() {
        let tables = tables();
        let page = objects(&*tables.view(), 1, &ListQuery::default()).unwrap();
        assert_eq!(page, ObjectPage::default());
    }
}
