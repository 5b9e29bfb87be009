//! The operations of S3 over a store: what a request means, in the words of the store.
//!
//! Requests arrive here authenticated and permitted. Operations that are not below answer
//! `NotImplemented`, by the library's defaults.

mod acls;
mod buckets;
mod checksums;
mod convert;
mod copying;
mod deleting;
mod errors;
mod finished;
mod hasher;
mod intake;
mod listing;
mod locks;
mod multipart;
mod objects;
mod outflow;
mod reading;
mod settings;
mod tags;
mod undone;
mod uploads;

pub(crate) use checksums::{Hashes, content_md5, given_in};
pub(crate) use convert::{
    invalid_argument, milliseconds, named_version, owner, timestamp, url_encoded,
};
pub(crate) use errors::{content_sha256_mismatch, custom, malformed_xml};
pub(crate) use finished::Finished;
pub(crate) use tags::{Tagged, from_document as tags_of};

use self::outflow::ByKernel;
use crate::access::{Access, Asking, Deed};
use crate::forms::Sender;
use crate::operations::s3_operations;
use crate::policy::{Circumstances, UNTAGGED};
use crate::storage::{ObjectStore, SourceObject, StorageError, StorageResult, Versioning};
use house::{LogLine, Peer, Sighting, UnderWay, described};
use s3s::dto::*;
use s3s::{S3, S3Error, S3Request, S3Response, S3Result, s3_error};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The protocol's side of a server.
pub(crate) struct Protocol {
    pub(crate) store: Arc<dyn ObjectStore>,
    pub(crate) access: Arc<Access>,
    pub(crate) region: String,
    pub(crate) log: LogLine,
    /// Whether it was said that the store's directory is gone.
    pub(crate) lost: AtomicBool,
    pub(crate) finished: Finished,
}

/// The document of a request that makes a bucket.
#[derive(Clone)]
pub(crate) struct BucketConfiguration(pub(crate) String);

/// Scheme and host as the client has them.
#[derive(Clone)]
pub(crate) struct Base(pub(crate) String);

/// Handlers know the request without its credentials' secret.
pub(crate) struct Asked<T> {
    pub(crate) input: T,
    pub(crate) headers: http::HeaderMap,
    pub(crate) access_key: Option<String>,
    pub(crate) trailers: Option<s3s::TrailingHeaders>,
    /// The whole document with which a bucket is made.
    pub(crate) bucket_configuration: Option<String>,
    /// The address that the client used, without its end.
    pub(crate) base: String,
    pub(crate) peer: Option<Peer>,
    pub(crate) kernel: Option<ByKernel>,
    pub(crate) sighting: Option<Sighting>,
}

impl<T> Asked<T> {
    /// Errors: `InvalidRequest` for a signature of version 2, which alone names no region.
    fn new(request: S3Request<T>) -> S3Result<Self> {
        let S3Request {
            input,
            headers,
            credentials,
            trailing_headers,
            region,
            extensions,
            ..
        } = request;
        let peer = extensions.get().copied();
        let kernel = extensions.get().map(|handoff| ByKernel {
            handoff: Arc::clone(handoff),
            fault: extensions.get().map(UnderWay::fault),
        });
        let sighting = extensions.get().cloned();
        if credentials.is_some() && region.is_none() {
            return Err(s3_error!(
                InvalidRequest,
                "The authorization mechanism you have provided is not supported. Please use AWS4-HMAC-SHA256."
            ));
        }
        let bucket_configuration = extensions
            .get::<BucketConfiguration>()
            .map(|configuration| configuration.0.clone());
        let base = extensions
            .get::<Base>()
            .map(|base| base.0.clone())
            .unwrap_or_default();
        let sender = extensions.get::<Sender>().cloned();
        let access_key = sender.map_or_else(
            || credentials.map(|credentials| credentials.access_key),
            |Sender(key)| key,
        );
        Ok(Self {
            input,
            headers,
            access_key,
            trailers: trailing_headers,
            bucket_configuration,
            base,
            peer,
            kernel,
            sighting,
        })
    }
}

impl<T> Asked<T> {
    /// Who asks, and under which circumstances, where more than the operation itself is to be
    /// decided.
    fn asking(&self) -> Asking<'_> {
        asking(self.access_key.as_deref(), self.peer, &self.headers)
    }
}

fn asking<'a>(
    asker: Option<&'a str>,
    peer: Option<Peer>,
    headers: &'a http::HeaderMap,
) -> Asking<'a> {
    Asking {
        asker,
        circumstances: Circumstances {
            peer,
            query: None,
            headers,
            tags: UNTAGGED,
            now_ms: 0,
        },
    }
}

impl Protocol {
    /// An error of the store as the client hears it; the operator hears more.
    fn refused(&self, error: StorageError) -> S3Error {
        let lost = matches!(error, StorageError::Lost) && !self.lost.swap(true, Ordering::Relaxed);
        if lost || errors::is_internal(&error) {
            (self.log)(&described(&error));
        }
        errors::storage_error(&error)
    }

    fn stored<T>(&self, outcome: StorageResult<T>) -> S3Result<T> {
        outcome.map_err(|error| self.refused(error))
    }

    /// Calls the store where it may block.
    async fn blocking<T: Send + 'static>(
        &self,
        call: impl FnOnce(&dyn ObjectStore) -> StorageResult<T> + Send + 'static,
    ) -> S3Result<T> {
        let store = Arc::clone(&self.store);
        self.stored(intake::blocking(move || call(&*store)).await?)
    }

    /// Whether answers name versions: the bucket has or had them.
    fn is_versioned(&self, bucket: &str) -> S3Result<bool> {
        Ok(self.stored(self.store.bucket(bucket))?.versioning != Versioning::Off)
    }

    /// Whether who asks for a copy may read its source.
    fn check_source(
        &self,
        asker: Option<&str>,
        source: &SourceObject,
        peer: Option<Peer>,
        headers: &http::HeaderMap,
    ) -> S3Result<()> {
        let place = (source.bucket.as_str(), Some(source.key.as_str()));
        let deed = Deed::new("GetObject", Some(place)).of_version(source.version);
        self.access.decide(
            asker,
            deed,
            &Circumstances {
                peer,
                query: None,
                headers,
                tags: UNTAGGED,
                now_ms: 0,
            },
        )?;
        self.access
            .check_owner(place.0, headers.get("x-amz-source-expected-bucket-owner"))
    }

    fn intake_refused(&self, refused: intake::Refused) -> S3Error {
        match refused {
            intake::Refused::Protocol(error) => error,
            intake::Refused::Store(error) => self.refused(error),
        }
    }
}

/// An answer with headers for which the protocol library has no fields.
pub(crate) struct Answered<T> {
    pub(crate) output: T,
    pub(crate) headers: http::HeaderMap,
}

impl<T> From<T> for Answered<T> {
    fn from(output: T) -> Self {
        Self {
            output,
            headers: http::HeaderMap::new(),
        }
    }
}

impl<T> From<Answered<T>> for S3Response<T> {
    fn from(answered: Answered<T>) -> Self {
        let mut response = Self::new(answered.output);
        response.headers = answered.headers;
        response
    }
}

/// Each operation by the method that has it.
macro_rules! by_methods {
    ($($name:ident $(: $method:ident($input:ident) -> $output:ident)?,
        $place:ident $selects:tt $takes:tt $(by $by:ident)?, $need:ident $actions:tt $of_version:tt;)+) => {
        #[async_trait::async_trait]
        impl S3 for Protocol {
            $($(async fn $method(&self, request: S3Request<$input>) -> S3Result<S3Response<$output>> {
                let answered: Answered<$output> = Protocol::$method(self, Asked::new(request)?).await?.into();
                Ok(answered.into())
            })?)+
        }
    };
}

s3_operations!(by_methods);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keyring::Keyring;
    use crate::storage::{StorageOptions, open_memory};

    fn protocol(region: &str) -> Protocol {
        let store = open_memory(StorageOptions {
            least_part: 1,
            ..StorageOptions::new(Arc::new(|| 0))
        })
        .unwrap();
        let keyring = Arc::new(Keyring::single("root", "root-secret").unwrap());
        let access = Arc::new(Access {
            keyring,
            store: Arc::clone(&store),
            ownership: crate::acl::Ownership::default(),
            clock: Arc::new(|| 0),
        });
        Protocol {
            store,
            access,
            region: region.into(),
            log: Arc::new(|_| ()),
            lost: AtomicBool::new(false),
            finished: Finished::default(),
        }
    }

    fn asked<T>(input: T, asker: &str) -> Asked<T> {
        Asked {
            input,
            headers: http::HeaderMap::new(),
            access_key: Some(asker.into()),
            trailers: None,
            bucket_configuration: None,
            base: String::new(),
            peer: None,
            kernel: None,
            sighting: None,
        }
    }

    async fn make_bucket(protocol: &Protocol, asker: &str) -> Result<(), String> {
        let input = CreateBucketInput::builder()
            .bucket("bucket".into())
            .build()
            .unwrap();
        protocol
            .create_bucket(asked(input, asker))
            .await
            .map(drop)
            .map_err(|error| error.code().as_str().to_owned())
    }

    #[tokio::test]
    async fn only_the_first_region_takes_a_bucket_that_is_one_s_own_already() {
        for (region, again) in [
            ("us-east-1", Ok(())),
            ("eu-west-1", Err("BucketAlreadyOwnedByYou".to_owned())),
        ] {
            let protocol = protocol(region);
            make_bucket(&protocol, "root").await.unwrap();
            assert_eq!(make_bucket(&protocol, "root").await, again);
            assert_eq!(
                make_bucket(&protocol, "kim").await,
                Err("BucketAlreadyExists".to_owned())
            );
        }
    }

    async fn upload_part(protocol: &Protocol, id: &str, text: &'static str) -> CompletedPart {
        let body = StreamingBlob::from(s3s::Body::from(text.to_owned()));
        let input = UploadPartInput::builder()
            .bucket("bucket".into())
            .key("k".into())
            .upload_id(id.into())
            .part_number(1)
            .body(Some(body));
        let part = protocol
            .upload_part(asked(input.build().unwrap(), "root"))
            .await
            .unwrap();
        CompletedPart {
            e_tag: part.output.e_tag,
            part_number: Some(1),
            ..Default::default()
        }
    }

    #[tokio::test]
    async fn a_completion_that_is_asked_for_again_is_answered_as_before_and_no_other() {
        let protocol = protocol("us-east-1");
        make_bucket(&protocol, "root").await.unwrap();
        let create = CreateMultipartUploadInput::builder()
            .bucket("bucket".into())
            .key("k".into())
            .build()
            .unwrap();
        let id = protocol
            .create_multipart_upload(asked(create, "root"))
            .await
            .unwrap()
            .upload_id
            .unwrap();
        let part = upload_part(&protocol, &id, "bytes").await;
        let complete = |parts: Vec<CompletedPart>, none_match: Option<ETagCondition>| {
            let input = CompleteMultipartUploadInput::builder()
                .bucket("bucket".into())
                .key("k".into())
                .upload_id(id.clone());
            let upload = CompletedMultipartUpload { parts: Some(parts) };
            let input = input
                .multipart_upload(Some(upload))
                .if_none_match(none_match)
                .build()
                .unwrap();
            protocol.complete_multipart_upload(asked(input, "root"))
        };
        let made = complete(vec![part.clone()], None).await.unwrap();
        let again = complete(vec![part.clone()], None).await.unwrap();
        let again_tag = again.e_tag.clone();
        assert_eq!((again.e_tag, again.key), (made.e_tag, Some("k".to_owned())));
        // Also where the object has been written over since.
        let body = StreamingBlob::from(s3s::Body::from("newer".to_owned()));
        let put = PutObjectInput::builder()
            .bucket("bucket".into())
            .key("k".into())
            .body(Some(body))
            .build()
            .unwrap();
        protocol.put_object(asked(put, "root")).await.unwrap();
        assert_eq!(
            complete(vec![part.clone()], None).await.unwrap().e_tag,
            again_tag
        );
        let other = CompletedPart {
            e_tag: Some(ETag::Strong("0cc175b9c0f1b6a831c399e269772661".into())),
            ..part.clone()
        };
        assert_eq!(
            complete(vec![other], None)
                .await
                .unwrap_err()
                .code()
                .as_str(),
            "NoSuchUpload"
        );
        assert_eq!(
            complete(vec![part], Some(ETagCondition::Any))
                .await
                .unwrap_err()
                .code()
                .as_str(),
            "NoSuchUpload"
        );
    }

    #[tokio::test]
    async fn what_is_empty_in_a_question_for_a_listing_is_as_if_it_were_not_there() {
        let protocol = protocol("us-east-1");
        make_bucket(&protocol, "root").await.unwrap();
        let input = ListObjectsV2Input::builder().bucket("bucket".into());
        let input = input
            .delimiter(Some(String::new()))
            .continuation_token(Some(String::new()))
            .build()
            .unwrap();
        let page = protocol
            .list_objects_v2(asked(input, "root"))
            .await
            .unwrap();
        assert_eq!(
            (page.delimiter, page.continuation_token),
            (None, Some(String::new()))
        );
    }
}
