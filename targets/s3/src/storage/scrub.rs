//! Reading everything against its checksums.

use super::core::Core;
use super::reader::{self, PieceReader};
use super::tables::View;
use super::{
    Bucket, ObjectReader as _, PartQuery, ScrubFinding, Scrubbed, StorageError, StorageResult,
    UploadEntry, UploadQuery, VersionEntry, VersionId, VersionQuery, lists, uploads, versions,
};
use std::sync::Arc;

/// Rows that are looked up at once, so that no view stays for as long as a scrub.
const PAGE: usize = 256;

pub(crate) struct Scrub<'a> {
    pub(crate) core: &'a Arc<Core>,
    pub(crate) found: &'a mut dyn FnMut(ScrubFinding),
    pub(crate) done: Scrubbed,
}

impl Scrub<'_> {
    pub(crate) fn bucket(&mut self, bucket: &Bucket) -> StorageResult<()> {
        self.versions(&bucket.name)?;
        self.uploads(&bucket.name)
    }

    fn versions(&mut self, bucket: &str) -> StorageResult<()> {
        let mut query = VersionQuery {
            max: PAGE,
            ..Default::default()
        };
        loop {
            let list = |view: &dyn View, id| lists::versions(view, id, &query);
            let Some(page) = self.page(bucket, list)? else {
                return Ok(());
            };
            for entry in page.entries {
                if let VersionEntry::Version(listed) = entry
                    && !listed.delete_marker
                {
                    self.object(bucket, &listed.object.key, listed.version)?;
                }
            }
            match page.next {
                Some((key, version)) => {
                    (query.key_marker, query.version_marker) = (Some(key), version)
                }
                None => return Ok(()),
            }
        }
    }

    /// What a list of a bucket has; `None` where the bucket is gone.
    fn page<T>(
        &self,
        bucket: &str,
        list: impl FnOnce(&dyn View, u64) -> StorageResult<T>,
    ) -> StorageResult<Option<T>> {
        let view = self.core.view();
        let found = gone_is_none(versions::bucket(&*view, bucket))?;
        found.map(|found| list(&*view, found.id)).transpose()
    }

    fn object(&mut self, bucket: &str, key: &str, version: VersionId) -> StorageResult<()> {
        let opened = gone_is_none(
            reader::open(self.core, bucket, key, Some(version)).map(|opened| opened.reader),
        );
        if self.read(bucket, key, Some(version), opened)? {
            self.done.objects += 1;
        }
        Ok(())
    }

    fn uploads(&mut self, bucket: &str) -> StorageResult<()> {
        let mut query = UploadQuery {
            max: PAGE,
            ..Default::default()
        };
        loop {
            let list = |view: &dyn View, id| lists::uploads(view, id, &query);
            let Some(page) = self.page(bucket, list)? else {
                return Ok(());
            };
            for entry in page.entries {
                if let UploadEntry::Upload(listed) = entry
                    && let Some(number) = uploads::number_of(&listed.upload)
                {
                    self.parts(bucket, &listed.key, number)?;
                }
            }
            match page.next {
                Some((key, upload)) => {
                    (query.key_marker, query.upload_marker) = (Some(key), upload)
                }
                None => return Ok(()),
            }
        }
    }

    fn parts(&mut self, bucket: &str, key: &str, upload: u64) -> StorageResult<()> {
        let mut query = PartQuery {
            after: 0,
            max: PAGE,
        };
        loop {
            let page = uploads::parts(&*self.core.view(), upload, query)?;
            for part in page.parts {
                let opened = reader::open_part(self.core, upload, part.number);
                if self.read(bucket, key, None, opened)? {
                    self.done.parts += 1;
                }
            }
            match page.next {
                Some(after) => query.after = after,
                None => return Ok(()),
            }
        }
    }

    /// Reads to the end; whether there was something to read.
    fn read(
        &mut self,
        bucket: &str,
        key: &str,
        version: Option<VersionId>,
        opened: StorageResult<Option<PieceReader>>,
    ) -> StorageResult<bool> {
        let outcome = match opened {
            Ok(None) => return Ok(false),
            Ok(Some(mut reader)) => self.drain(&mut reader),
            Err(error) => Err(error),
        };
        match outcome {
            Ok(()) => Ok(true),
            Err(StorageError::Corrupt { what }) => {
                self.done.corrupt += 1;
                (self.found)(ScrubFinding {
                    bucket: bucket.to_owned(),
                    key: key.to_owned(),
                    version,
                    what,
                });
                Ok(true)
            }
            Err(other) => Err(other),
        }
    }

    fn drain(&mut self, reader: &mut PieceReader) -> StorageResult<()> {
        while let Some(chunk) = reader.next_chunk()? {
            self.done.bytes += chunk.len() as u64;
        }
        Ok(())
    }
}

/// What was deleted while the scrub ran is none of its matter.
fn gone_is_none<T>(found: StorageResult<T>) -> StorageResult<Option<T>> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(
            StorageError::NoSuchBucket
            | StorageError::NoSuchKey
            | StorageError::NoSuchVersion
            | StorageError::DeleteMarker { .. },
        ) => Ok(None),
        Err(other) => Err(other),
    }
}
