//! The store: the trait over the rules of versions, uploads and listings.

use super::claim::claim;
use super::core::{Core, Room, Threads};
use super::files::{DiskFiles, Faults, MemoryFiles, Naming, NoFaults};
use super::handles::{Put, PutPart};
use super::records::{Body, BucketRecord, UploadRecord};
use super::scrub::Scrub;
use super::tables::{DiskTables, MemoryTables, Row, Table, Tables as _, View as _};
use super::{
    Acl, Bucket, BucketDocument, BucketLock, Bypass, Complete, Content, CopyObject, CopyPart,
    DeleteTarget, Deleted, Done, ListQuery, NewBucket, NewMultipart, ObjectPage, ObjectPart,
    ObjectReader, ObjectStore, ObjectUpload, ObjectVersion, PartPage, PartQuery, PartUpload,
    Retention, ScrubFinding, Scrubbed, Space, StorageCounters, StorageError, StorageOptions,
    StorageResult, SyncPolicy, Tags, UploadPage, UploadQuery, UploadedPart, VersionId, VersionPage,
    VersionQuery, Versioning, copy, keys, lists, lock, reader, uploads, versions,
};
use bytes::Bytes;
use std::path::Path;
use std::sync::Arc;

/// A store in memory, which ends with the process.
pub fn open_memory(options: StorageOptions) -> StorageResult<Arc<dyn ObjectStore>> {
    let core = Core::new(
        Box::new(MemoryTables::new()),
        Arc::<MemoryFiles>::default(),
        Arc::new(NoFaults),
        options,
    )?;
    Ok(Arc::new(TransactionalStore {
        core: Arc::new(core),
        threads: None,
    }))
}

/// The store in a directory; made where the directory is empty or not there, recovered where the
/// last process ended without warning. Errors: `Unusable` for a directory of other things or one
/// that is open already.
pub fn open_disk(dir: &Path, options: StorageOptions) -> StorageResult<Arc<dyn ObjectStore>> {
    Ok(Arc::new(TransactionalStore::on_disk(
        dir,
        options,
        Arc::new(NoFaults),
        None,
    )?))
}

pub(crate) struct TransactionalStore {
    pub(crate) core: Arc<Core>,
    threads: Option<Threads>,
}

impl TransactionalStore {
    pub(crate) fn on_disk(
        dir: &Path,
        options: StorageOptions,
        faults: Arc<dyn Faults>,
        naming: Option<Naming>,
    ) -> StorageResult<Self> {
        claim(dir)?;
        let tables = DiskTables::open(&dir.join("metadata"), options.cache)?;
        let files = {
            let view = tables.view();
            let mut owned = |id| Ok(view.read(Table::Files, &keys::id(id))?.is_some());
            DiskFiles::open(dir, naming, &options, Arc::clone(&faults), &mut owned)?.0
        };
        let core = Core::new(Box::new(tables), Arc::new(files), faults, options)?;
        let (core, threads) = Threads::start(core)?;
        Ok(Self {
            core,
            threads: Some(threads),
        })
    }

    fn object_bucket(&self, bucket: &str, key: &str) -> StorageResult<BucketRecord> {
        keys::check_key(key)?;
        versions::bucket(&*self.core.view(), bucket)
    }

    /// Changes what is kept beside the bytes of one version.
    fn amend(
        &self,
        bucket: &str,
        key: &str,
        version: Option<VersionId>,
        change: impl FnOnce(&mut Content) + Send + 'static,
    ) -> StorageResult<VersionId> {
        let (bucket, key) = (bucket.to_owned(), key.to_owned());
        self.core.write(Room::Takes, Vec::new(), move |txn| {
            let id = versions::bucket(txn, &bucket)?.id;
            versions::change(txn, id, &key, version, |content| {
                change(content);
                Ok(())
            })
        })
    }
}

impl Drop for TransactionalStore {
    fn drop(&mut self) {
        if let Some(threads) = &mut self.threads {
            threads.stop(&self.core);
        }
    }
}

impl ObjectStore for TransactionalStore {
    fn create_bucket(&self, bucket: &str, new: NewBucket) -> StorageResult<()> {
        let name = bucket.to_owned();
        self.core.write(Room::Takes, Vec::new(), move |txn| {
            match versions::bucket(txn, &name) {
                Err(StorageError::NoSuchBucket) => {}
                Ok(found) if found.owner == new.owner => {
                    return Err(StorageError::BucketAlreadyOwnedByYou);
                }
                Ok(_) => return Err(StorageError::BucketAlreadyExists),
                Err(other) => return Err(other),
            }
            let NewBucket {
                owner,
                region,
                lock,
                documents,
            } = new;
            let versioning = if lock.is_some() {
                Versioning::On
            } else {
                Versioning::Off
            };
            let record = BucketRecord {
                id: txn.next_id(),
                owner,
                region,
                created_ms: txn.now_ms(),
                versioning,
                lock,
            };
            for (document, value) in documents {
                txn.put(
                    Table::Documents,
                    keys::document(record.id, document),
                    Bytes::from(value),
                );
            }
            txn.put(Table::Buckets, Bytes::from(name), record.encode());
            Ok(())
        })
    }

    fn delete_bucket(&self, bucket: &str) -> StorageResult<()> {
        let name = bucket.to_owned();
        self.core.write(Room::Frees, Vec::new(), move |txn| {
            let id = versions::bucket(txn, &name)?.id;
            let (from, to) = keys::rows_of(id);
            for table in [Table::Live, Table::History] {
                if txn.first(table, &from, to.as_deref())?.is_some() {
                    return Err(StorageError::BucketNotEmpty);
                }
            }
            // Uploads that were never completed are no objects: as with AWS, they end with the
            // bucket.
            let unfinished: Vec<Row> = txn
                .range(Table::Uploads, &from, to.as_deref())
                .collect::<StorageResult<_>>()?;
            for (row, _) in unfinished {
                let (key, number) = keys::numbered_key_of(&row)?;
                uploads::abort(txn, id, key, &uploads::name_of(number))?;
            }
            let documents: Vec<Row> = txn
                .range(Table::Documents, &from, to.as_deref())
                .collect::<StorageResult<_>>()?;
            documents
                .into_iter()
                .for_each(|(row, _)| txn.remove(Table::Documents, row));
            txn.remove(Table::Buckets, Bytes::from(name));
            Ok(())
        })
    }

    fn bucket(&self, bucket: &str) -> StorageResult<Bucket> {
        Ok(versions::bucket(&*self.core.view(), bucket)?.named(bucket))
    }

    fn buckets(&self) -> StorageResult<Vec<Bucket>> {
        let view = self.core.view();
        let named = |row: StorageResult<Row>| {
            let (name, value) = row?;
            let name = std::str::from_utf8(&name).or(Err(StorageError::corrupt(
                "the name of a bucket is not text",
            )))?;
            Ok(BucketRecord::decode(&value)?.named(name))
        };
        view.range(Table::Buckets, &[], None).map(named).collect()
    }

    fn set_versioning(&self, bucket: &str, versioning: Versioning) -> StorageResult<()> {
        let name = bucket.to_owned();
        self.core.write(Room::Frees, Vec::new(), move |txn| {
            let mut record = versions::bucket(txn, &name)?;
            if versioning == Versioning::Off && record.versioning != Versioning::Off {
                return Err(StorageError::VersioningStaysOn);
            }
            if versioning != Versioning::On && record.lock.is_some() {
                return Err(StorageError::LockNeedsVersions);
            }
            record.versioning = versioning;
            txn.put(Table::Buckets, Bytes::from(name), record.encode());
            Ok(())
        })
    }

    fn set_bucket_lock(&self, bucket: &str, lock: BucketLock) -> StorageResult<()> {
        let name = bucket.to_owned();
        self.core.write(Room::Frees, Vec::new(), move |txn| {
            let mut record = versions::bucket(txn, &name)?;
            if record.versioning != Versioning::On {
                return Err(StorageError::NeedsVersions);
            }
            record.lock = Some(lock);
            txn.put(Table::Buckets, Bytes::from(name), record.encode());
            Ok(())
        })
    }

    fn set_document(
        &self,
        bucket: &str,
        document: BucketDocument,
        value: Option<Vec<u8>>,
    ) -> StorageResult<()> {
        let name = bucket.to_owned();
        self.core.write(Room::Frees, Vec::new(), move |txn| {
            let key = keys::document(versions::bucket(txn, &name)?.id, document);
            match value {
                Some(value) => txn.put(Table::Documents, key, Bytes::from(value)),
                None => txn.remove(Table::Documents, key),
            }
            Ok(())
        })
    }

    fn document(&self, bucket: &str, document: BucketDocument) -> StorageResult<Option<Bytes>> {
        let view = self.core.view();
        view.read(
            Table::Documents,
            &keys::document(versions::bucket(&*view, bucket)?.id, document),
        )
    }

    fn begin_put(&self, bucket: &str, key: &str) -> StorageResult<Box<dyn ObjectUpload>> {
        self.object_bucket(bucket, key)?;
        Ok(Box::new(Put::new(&self.core, bucket, key)))
    }

    fn head(
        &self,
        bucket: &str,
        key: &str,
        version: Option<VersionId>,
    ) -> StorageResult<ObjectVersion> {
        let view = self.core.view();
        let id = versions::bucket(&*view, bucket)?.id;
        Ok(versions::object(&*view, id, key, version)?.into_version(key))
    }

    fn get(
        &self,
        bucket: &str,
        key: &str,
        version: Option<VersionId>,
    ) -> StorageResult<(ObjectVersion, Box<dyn ObjectReader>)> {
        let mut opened = reader::open(&self.core, bucket, key, version)?;
        opened.reader.keeps_open = true;
        Ok((opened.record.into_version(key), Box::new(opened.reader)))
    }

    fn parts_of(
        &self,
        bucket: &str,
        key: &str,
        version: Option<VersionId>,
    ) -> StorageResult<Vec<ObjectPart>> {
        let view = self.core.view();
        let id = versions::bucket(&*view, bucket)?.id;
        let Body::Assembled(layout) = versions::object(&*view, id, key, version)?.body else {
            return Ok(Vec::new());
        };
        let mut at = 0u64;
        let parts = versions::layout(&*view, layout)?
            .parts
            .into_iter()
            .map(|part| {
                let range = at..at + part.size;
                at = range.end;
                ObjectPart {
                    number: part.number,
                    range,
                    checksums: part.checksums,
                }
            });
        Ok(parts.collect())
    }

    fn set_tags(
        &self,
        bucket: &str,
        key: &str,
        version: Option<VersionId>,
        tags: Tags,
    ) -> StorageResult<VersionId> {
        self.amend(bucket, key, version, move |content| content.tags = tags)
    }

    fn set_acl(
        &self,
        bucket: &str,
        key: &str,
        version: Option<VersionId>,
        acl: Option<Acl>,
    ) -> StorageResult<VersionId> {
        self.amend(bucket, key, version, move |content| content.acl = acl)
    }

    fn set_retention(
        &self,
        bucket: &str,
        key: &str,
        version: Option<VersionId>,
        retention: Option<Retention>,
        bypass: Bypass,
    ) -> StorageResult<()> {
        let (bucket, key) = (bucket.to_owned(), key.to_owned());
        self.core.write(Room::Takes, Vec::new(), move |txn| {
            let record = versions::bucket(txn, &bucket)?;
            versions::set_retention(txn, &record, &key, version, retention, bypass)
        })
    }

    fn set_hold(
        &self,
        bucket: &str,
        key: &str,
        version: Option<VersionId>,
        hold: bool,
    ) -> StorageResult<()> {
        let (bucket, key) = (bucket.to_owned(), key.to_owned());
        self.core.write(Room::Takes, Vec::new(), move |txn| {
            let record = versions::bucket(txn, &bucket)?;
            versions::set_hold(txn, &record, &key, version, hold)
        })
    }

    fn copy_object(&self, request: CopyObject) -> StorageResult<ObjectVersion> {
        self.object_bucket(&request.bucket, &request.key)?;
        copy::object(&self.core, request)
    }

    fn delete_objects(
        &self,
        bucket: &str,
        targets: Vec<DeleteTarget>,
    ) -> StorageResult<Vec<StorageResult<Deleted>>> {
        let bucket = bucket.to_owned();
        self.core.write(Room::Frees, Vec::new(), move |txn| {
            let record = versions::bucket(txn, &bucket)?;
            Ok(targets
                .iter()
                .map(|target| versions::delete(txn, &record, target))
                .collect())
        })
    }

    fn delete_then(&self, bucket: &str, target: DeleteTarget, done: Done<Deleted>) {
        let bucket = bucket.to_owned();
        let work = move |txn: &mut super::txn::Txn<'_>| {
            let record = versions::bucket(txn, &bucket)?;
            versions::delete(txn, &record, &target)
        };
        self.core.submit(Room::Frees, Vec::new(), work, done);
    }

    fn list_objects(&self, bucket: &str, query: &ListQuery) -> StorageResult<ObjectPage> {
        let view = self.core.view();
        let id = versions::bucket(&*view, bucket)?.id;
        lists::objects(&*view, id, query)
    }

    fn list_versions(&self, bucket: &str, query: &VersionQuery) -> StorageResult<VersionPage> {
        let view = self.core.view();
        let id = versions::bucket(&*view, bucket)?.id;
        lists::versions(&*view, id, query)
    }

    fn create_multipart(
        &self,
        bucket: &str,
        key: &str,
        new: NewMultipart,
    ) -> StorageResult<String> {
        keys::check_key(key)?;
        let (bucket, key) = (bucket.to_owned(), key.to_owned());
        self.core.write(Room::Takes, Vec::new(), move |txn| {
            let BucketRecord {
                id,
                lock: bucket_lock,
                ..
            } = versions::bucket(txn, &bucket)?;
            lock::check_new(bucket_lock, &new.content.lock, txn.now_ms())?;
            let number = txn.next_id();
            let record = UploadRecord {
                started_ms: txn.now_ms(),
                new,
            };
            txn.put(
                Table::Uploads,
                keys::numbered(id, &key, number),
                record.encode(),
            );
            Ok(uploads::name_of(number))
        })
    }

    fn multipart(&self, bucket: &str, key: &str, upload: &str) -> StorageResult<NewMultipart> {
        let view = self.core.view();
        let id = versions::bucket(&*view, bucket)?.id;
        Ok(uploads::find(&*view, id, key, upload)?.1.new)
    }

    fn begin_part(
        &self,
        bucket: &str,
        key: &str,
        upload: &str,
        number: u32,
    ) -> StorageResult<Box<dyn PartUpload>> {
        uploads::check_number(number)?;
        self.multipart(bucket, key, upload)?;
        Ok(Box::new(PutPart::new(
            &self.core, bucket, key, upload, number,
        )))
    }

    fn copy_part(&self, request: CopyPart) -> StorageResult<UploadedPart> {
        uploads::check_number(request.number)?;
        self.multipart(&request.bucket, &request.key, &request.upload)?;
        copy::part(&self.core, request)
    }

    fn list_parts(
        &self,
        bucket: &str,
        key: &str,
        upload: &str,
        query: &PartQuery,
    ) -> StorageResult<PartPage> {
        let view = self.core.view();
        let id = versions::bucket(&*view, bucket)?.id;
        let (number, _) = uploads::find(&*view, id, key, upload)?;
        uploads::parts(&*view, number, *query)
    }

    fn list_uploads(&self, bucket: &str, query: &UploadQuery) -> StorageResult<UploadPage> {
        let view = self.core.view();
        let id = versions::bucket(&*view, bucket)?.id;
        lists::uploads(&*view, id, query)
    }

    fn complete_multipart(
        &self,
        bucket: &str,
        key: &str,
        upload: &str,
        complete: Complete,
    ) -> StorageResult<ObjectVersion> {
        let (bucket, key, upload) = (bucket.to_owned(), key.to_owned(), upload.to_owned());
        let least = self.core.options.least_part;
        self.core.write(Room::Takes, Vec::new(), move |txn| {
            let record = versions::bucket(txn, &bucket)?;
            uploads::complete(txn, &record, &key, &upload, complete, least)
        })
    }

    fn abort_multipart(&self, bucket: &str, key: &str, upload: &str) -> StorageResult<()> {
        let (bucket, key, upload) = (bucket.to_owned(), key.to_owned(), upload.to_owned());
        self.core.write(Room::Frees, Vec::new(), move |txn| {
            let id = versions::bucket(txn, &bucket)?.id;
            uploads::abort(txn, id, &key, &upload)
        })
    }

    fn scrub(&self, found: &mut dyn FnMut(ScrubFinding)) -> StorageResult<Scrubbed> {
        let mut scrub = Scrub {
            core: &self.core,
            found,
            done: Scrubbed::default(),
        };
        for bucket in self.buckets()? {
            scrub.bucket(&bucket)?;
        }
        Ok(scrub.done)
    }

    fn space(&self) -> StorageResult<Option<Space>> {
        self.core.files.space()
    }

    fn check(&self) -> StorageResult<()> {
        self.core.present()
    }

    fn counters(&self) -> StorageCounters {
        self.core.counts.now()
    }

    fn sync(&self) -> StorageResult<()> {
        match self.core.options.sync {
            SyncPolicy::Always => Ok(()),
            SyncPolicy::Interval(_) | SyncPolicy::Never => self.core.sync(),
        }
    }
}
