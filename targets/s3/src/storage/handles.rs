//! What a caller holds while bytes come in.

use super::core::{Core, Room};
use super::intake::Intake;
use super::records::{Body, PartRecord};
use super::txn::Txn;
use super::versions::{self, NewVersion};
use super::{
    Done, ObjectUpload, ObjectVersion, PartFinish, PartUpload, PutFinish, StorageResult,
    UploadedPart, lock, uploads,
};
use std::sync::Arc;

pub(crate) struct Put {
    core: Arc<Core>,
    intake: Intake,
    bucket: String,
    key: String,
}

impl Put {
    pub(crate) fn new(core: &Arc<Core>, bucket: &str, key: &str) -> Self {
        Self {
            core: Arc::clone(core),
            intake: Intake::new(core),
            bucket: bucket.to_owned(),
            key: key.to_owned(),
        }
    }
}

impl ObjectUpload for Put {
    fn write(&mut self, bytes: &[u8]) -> StorageResult<()> {
        self.intake.write(bytes)
    }

    fn size(&self) -> u64 {
        self.intake.size()
    }

    fn finish_then(self: Box<Self>, finish: PutFinish, done: Done<ObjectVersion>) {
        let Self {
            core,
            intake,
            bucket,
            key,
        } = *self;
        let sealed = match intake.seal(finish.expected_md5) {
            Ok(sealed) => sealed,
            Err(error) => return done(Err(error)),
        };
        let files = sealed.parcel.files();
        let work = move |txn: &mut Txn<'_>| {
            let record = versions::bucket(txn, &bucket)?;
            versions::check(txn, record.id, &key, &finish.conditions)?;
            lock::check_new(record.lock, &finish.content.lock, txn.now_ms())?;
            let body = sealed
                .parcel
                .own(txn)
                .pop()
                .map_or(Body::Empty, Body::Whole);
            let new = NewVersion {
                size: sealed.size,
                etag: sealed.etag,
                body,
                content: finish.content,
            };
            Ok(versions::put(txn, &record, &key, new)?.into_version(&key))
        };
        core.submit(Room::Takes, files, work, done);
    }
}

pub(crate) struct PutPart {
    core: Arc<Core>,
    intake: Intake,
    bucket: String,
    key: String,
    upload: String,
    number: u32,
}

impl PutPart {
    pub(crate) fn new(
        core: &Arc<Core>,
        bucket: &str,
        key: &str,
        upload: &str,
        number: u32,
    ) -> Self {
        let (bucket, key, upload) = (bucket.to_owned(), key.to_owned(), upload.to_owned());
        Self {
            core: Arc::clone(core),
            intake: Intake::new(core),
            bucket,
            key,
            upload,
            number,
        }
    }
}

impl PartUpload for PutPart {
    fn write(&mut self, bytes: &[u8]) -> StorageResult<()> {
        self.intake.write(bytes)
    }

    fn size(&self) -> u64 {
        self.intake.size()
    }

    fn finish(self: Box<Self>, finish: PartFinish) -> StorageResult<UploadedPart> {
        let Self {
            core,
            intake,
            bucket,
            key,
            upload,
            number,
        } = *self;
        let sealed = intake.seal(finish.expected_md5)?;
        core.write(Room::Takes, sealed.parcel.files(), move |txn| {
            let id = versions::bucket(txn, &bucket)?.id;
            let (upload, _) = uploads::find(txn, id, &key, &upload)?;
            let pieces = sealed.parcel.own(txn);
            let part = PartRecord {
                size: sealed.size,
                etag: sealed.etag,
                modified_ms: txn.now_ms(),
                pieces,
                checksums: finish.checksums,
            };
            uploads::put_part(txn, upload, number, &part)?;
            Ok(part.numbered(number))
        })
    }
}
