//! Which operation needs which permission, decided before a request's body is read.

mod listed;
mod operations;

pub(crate) use operations::{OPERATIONS, actions, counted};

use crate::acl::Ownership;
use crate::forms::Sender;
use crate::keyring::{Keyring, Permission};
use crate::policy::{Circumstances, Place, Policy, UNTAGGED, Verdict};
use crate::question::{Question, pairs};
use crate::storage::{BucketDocument, ObjectStore, StorageError, Tags, VersionId, WallClock};
use house::{Peer, Sighting};
use http::{HeaderMap, HeaderValue};
use operations::{ADDED, MAKERS, Need, Operation, PARTS};
use s3s::access::{S3Access, S3AccessContext};
use s3s::{S3Error, S3Result, s3_error};
use std::sync::{Arc, OnceLock};

/// Who asks, and under which circumstances.
pub(crate) struct Asking<'a> {
    pub(crate) asker: Option<&'a str>,
    pub(crate) circumstances: Circumstances<'a>,
}

/// Decides by the keys' permissions, the buckets' policies and the access control lists.
pub(crate) struct Access {
    pub(crate) keyring: Arc<Keyring>,
    pub(crate) store: Arc<dyn ObjectStore>,
    /// Of buckets that say nothing of it.
    pub(crate) ownership: Ownership,
    pub(crate) clock: WallClock,
}

/// Where a request leaves that its signature is right and that it may be done, so that it can be
/// asked again in other words.
#[derive(Clone, Default)]
pub(crate) struct Passed(Arc<OnceLock<Option<String>>>);

impl Passed {
    /// With which key, if any, where it has.
    pub(crate) fn asker(&self) -> Option<Option<String>> {
        self.0.get().cloned()
    }
}

/// What somebody asks to do.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deed<'a> {
    pub(crate) operation: &'a str,
    pub(crate) place: Option<Place<'a>>,
    /// The version that is named, to which other actions apply than to the current object.
    pub(crate) version: Option<VersionId>,
}

impl<'a> Deed<'a> {
    pub(crate) fn new(operation: &'a str, place: Option<Place<'a>>) -> Self {
        Self {
            operation,
            place,
            version: None,
        }
    }

    pub(crate) fn of_version(self, version: Option<VersionId>) -> Self {
        Self { version, ..self }
    }

    /// The actions that a policy knows it by.
    fn actions(
        &self,
        known: &Operation,
        headers: &HeaderMap,
    ) -> impl Iterator<Item = &'static str> {
        let own = if self.version.is_some() && !known.of_version.is_empty() {
            known.of_version
        } else {
            known.actions
        };
        let makes = MAKERS.contains(&known.name);
        let added: Vec<&'static str> = ADDED
            .iter()
            .filter(|(header, _)| makes && headers.contains_key(*header))
            .map(|(_, action)| *action)
            .collect();
        own.iter().copied().chain(added)
    }
}

/// The policy of a bucket as it is kept.
enum Written {
    Nothing,
    /// It denies, as nobody knows whom it was to keep out.
    Unreadable,
    /// With whether the bucket's block of public access makes it void for those who are not known.
    Policy(Policy, bool),
}

impl Access {
    /// Whether this key, or nobody known, may do this. Errors: `AccessDenied`.
    pub(crate) fn decide(
        &self,
        asker: Option<&str>,
        deed: Deed<'_>,
        circumstances: &Circumstances<'_>,
    ) -> S3Result<()> {
        if asker.is_some_and(|access| self.keyring.is_admin(access)) {
            return Ok(());
        }
        let written = deed
            .place
            .map_or(Written::Nothing, |(bucket, _)| self.written(bucket));
        if self.grants(&written, asker, deed, circumstances) {
            Ok(())
        } else {
            Err(denied())
        }
    }

    /// To which of many objects of a bucket this key, or nobody known, may do this; each with the
    /// version of it that is named.
    pub(crate) fn granted(
        &self,
        asker: Option<&str>,
        operation: &str,
        bucket: &str,
        objects: &[(&str, Option<VersionId>)],
        circumstances: &Circumstances<'_>,
    ) -> Vec<bool> {
        if asker.is_some_and(|access| self.keyring.is_admin(access)) {
            return vec![true; objects.len()];
        }
        let written = self.written(bucket);
        let may = |(key, version): &(&str, Option<VersionId>)| {
            let deed = Deed::new(operation, Some((bucket, Some(key)))).of_version(*version);
            self.grants(&written, asker, deed, circumstances)
        };
        objects.iter().map(may).collect()
    }

    /// All actions of what is asked must be granted, each by the policy, by what the key was given
    /// or by an access control list.
    fn grants(
        &self,
        written: &Written,
        asker: Option<&str>,
        deed: Deed<'_>,
        circumstances: &Circumstances<'_>,
    ) -> bool {
        let Some(operation) = OPERATIONS
            .iter()
            .chain(&PARTS)
            .find(|operation| operation.name == deed.operation)
        else {
            return false;
        };
        let tags = || self.tags_of(deed);
        let circumstances = &Circumstances {
            tags: &tags,
            now_ms: (self.clock)(),
            ..*circumstances
        };
        let mut actions = deed.actions(operation, circumstances.headers);
        actions.all(|action| {
            let verdict = deed.place.map_or(Verdict::Silent, |place| {
                written.verdict(asker, action, place, circumstances)
            });
            match (verdict, operation.need, asker) {
                (Verdict::Deny, _, _) => false,
                (Verdict::Allow, _, _) => operation.need != Need::Admin,
                (Verdict::Silent, Need::Key, Some(_)) => true,
                (Verdict::Silent, Need::Bucket(permission), Some(access))
                    if deed.place.is_some_and(|(bucket, _)| {
                        self.keyring.permits(access, bucket, permission)
                    }) =>
                {
                    true
                }
                (Verdict::Silent, _, _) => self.is_listed(asker, action, deed),
            }
        })
    }

    /// The tags of the object that is asked for.
    fn tags_of(&self, deed: Deed<'_>) -> Tags {
        let Some((bucket, Some(key))) = deed.place else {
            return Tags::new();
        };
        let found = self.store.head(bucket, key, deed.version);
        found.map(|found| found.content.tags).unwrap_or_default()
    }

    fn written(&self, bucket: &str) -> Written {
        match self.store.document(bucket, BucketDocument::Policy) {
            Ok(Some(text)) => match Policy::parse(bucket, &text) {
                Ok(policy) => Written::Policy(policy, self.restricts(bucket)),
                Err(_) => Written::Unreadable,
            },
            Ok(None) | Err(_) => Written::Nothing,
        }
    }

    /// Which objects of a list may be deleted is decided for each of them, when the list has been
    /// read.
    fn check_list(&self, asker: Option<&str>, bucket: &str) -> S3Result<()> {
        let permitted =
            asker.is_some_and(|access| self.keyring.permits(access, bucket, Permission::Write));
        if permitted
            || matches!(self.written(bucket), Written::Policy(..))
            || self.lists_deletion(asker, bucket)
        {
            Ok(())
        } else {
            Err(denied())
        }
    }

    /// Who may not list a bucket is not told which keys it does not hold. Errors: `AccessDenied`.
    fn hide_absence(
        &self,
        asker: Option<&str>,
        bucket: &str,
        key: &str,
        circumstances: &Circumstances<'_>,
    ) -> S3Result<()> {
        // What stands in the query of a request for an object is no parameter of a listing.
        let listing = Circumstances {
            query: None,
            ..*circumstances
        };
        let may_list = || {
            let deed = Deed::new("ListObjectsV2", Some((bucket, None)));
            self.decide(asker, deed, &listing).is_ok()
        };
        if asker.is_some_and(|access| self.keyring.is_admin(access)) || may_list() {
            return Ok(());
        }
        match self.store.head(bucket, key, None) {
            Err(StorageError::NoSuchKey | StorageError::DeleteMarker { .. }) => Err(denied()),
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// Refuses what is asked of a bucket that somebody else owns than the asker thinks. Errors:
    /// `AccessDenied`.
    pub(crate) fn check_owner(&self, bucket: &str, expected: Option<&HeaderValue>) -> S3Result<()> {
        let Some(expected) = expected else {
            return Ok(());
        };
        match self.store.bucket(bucket) {
            Ok(found) if found.owner.as_bytes() != expected.as_bytes() => Err(denied()),
            // That it is not there is for the operation to say.
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// Whether the bucket's block of public access makes its policy void for those who are not
    /// known.
    fn restricts(&self, bucket: &str) -> bool {
        let kept = self
            .store
            .document(bucket, BucketDocument::PublicAccessBlock);
        matches!(kept, Ok(Some(text)) if crate::documents::restricts_public(&text))
    }
}

impl Written {
    fn verdict(
        &self,
        asker: Option<&str>,
        action: &str,
        place: Place<'_>,
        circumstances: &Circumstances<'_>,
    ) -> Verdict {
        match self {
            Self::Nothing => Verdict::Silent,
            Self::Unreadable => Verdict::Deny,
            Self::Policy(policy, restricted) => {
                match policy.decide(asker, action, place, circumstances) {
                    Verdict::Allow if asker.is_none() && *restricted => Verdict::Silent,
                    verdict @ (Verdict::Allow | Verdict::Deny | Verdict::Silent) => verdict,
                }
            }
        }
    }
}

/// What an answer is to look like is for those to say who sign. Errors: `InvalidRequest`.
fn check_overrides(asker: Option<&str>, uri: &http::Uri) -> S3Result<()> {
    let overrides = asker.is_none() && uri.query().is_some_and(|query| query.contains("response-"));
    if overrides
        && pairs(uri)
            .iter()
            .any(|(name, _)| name.starts_with("response-"))
    {
        return Err(s3_error!(
            InvalidRequest,
            "Request specific response headers cannot be used for anonymous GET requests."
        ));
    }
    Ok(())
}

/// The version in a query; one that cannot be is none that there is.
fn named_version(uri: &http::Uri) -> VersionId {
    let pairs = pairs(uri);
    let found = pairs.iter().find(|(name, _)| name == "versionId");
    found.map_or(VersionId::NEVER, |(_, text)| {
        crate::protocol::named_version(text)
    })
}

pub(crate) fn denied() -> S3Error {
    s3_error!(AccessDenied, "Access Denied")
}

#[async_trait::async_trait]
impl S3Access for Access {
    async fn check(&self, context: &mut S3AccessContext<'_>) -> S3Result<()> {
        let sender = context.extensions_mut().get::<Sender>().cloned();
        let name = context.s3_op().name();
        // A form is the PUT of its file, by who signed its policy.
        let name = if sender.is_some() && name == "PutObject" {
            "PostObject"
        } else {
            name
        }
        .to_owned();
        let index = OPERATIONS
            .iter()
            .position(|operation| operation.name == name);
        if let (Some(sighting), Some(index)) = (context.extensions_mut().get::<Sighting>(), index) {
            sighting.is(index);
        }
        let question = context.extensions_mut().get::<Question>().copied();
        // Two readers of one request who do not take it for the same would do what nobody asked
        // for.
        let Some(question) = question.filter(|question| question.operation == Some(name.as_str()))
        else {
            return Err(s3_error!(
                NotImplemented,
                "{} is not implemented in this form",
                name
            ));
        };
        let peer = context.extensions_mut().get::<Peer>().copied();
        let asker = match &sender {
            Some(Sender(key)) => key.as_deref(),
            None => context
                .credentials()
                .map(|credentials| credentials.access_key.as_str()),
        };
        check_overrides(asker, context.uri())?;
        let circumstances = Circumstances {
            peer,
            query: context.uri().query(),
            headers: context.headers(),
            tags: UNTAGGED,
            now_ms: 0,
        };
        let version = question.names_version.then(|| named_version(context.uri()));
        let path = context.s3_path();
        let place = path
            .get_bucket_name()
            .map(|bucket| (bucket, path.get_object_key()));
        match (place, name.as_str()) {
            (Some((bucket, _)), "DeleteObjects") => self.check_list(asker, bucket)?,
            (place, name) => self.decide(
                asker,
                Deed::new(name, place).of_version(version),
                &circumstances,
            )?,
        }
        if let (Some((bucket, Some(key))), "GetObject" | "HeadObject", false) =
            (place, name.as_str(), version.is_some())
        {
            self.hide_absence(asker, bucket, key, &circumstances)?;
        }
        if let Some((bucket, _)) = place {
            self.check_owner(
                bucket,
                circumstances.headers.get("x-amz-expected-bucket-owner"),
            )?;
        }
        let asker = asker.map(str::to_owned);
        if let Some(Passed(passed)) = context.extensions_mut().get::<Passed>() {
            // A request that is asked again has been here before, as the same asker.
            let _ = passed.set(asker);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::nowhere;
    use crate::storage::{NewBucket, PutFinish, StorageOptions, open_memory};

    fn access() -> Access {
        let keys = "[[key]]\naccess = \"root\"\nsecret = \"root-secret\"\nadmin = true\n[[key]]\naccess = \"kim\"\nsecret = \"kim-secret\"\n[key.buckets]\n\"mine\" = [\"read\"]\n";
        let store = open_memory(StorageOptions::new(Arc::new(|| 0))).unwrap();
        store.create_bucket("mine", NewBucket::default()).unwrap();
        store.create_bucket("open", NewBucket::default()).unwrap();
        let policy = r#"{"Statement":{"Effect":"Allow","Principal":"*","Action":"s3:*","Resource":"arn:aws:s3:::open/*"}}"#;
        store
            .set_document("open", BucketDocument::Policy, Some(policy.into()))
            .unwrap();
        Access {
            keyring: Arc::new(Keyring::parse(keys).unwrap()),
            store,
            ownership: Ownership::default(),
            clock: Arc::new(|| 0),
        }
    }

    #[test]
    fn nobody_known_may_do_only_what_a_policy_allows() {
        let access = access();
        assert!(
            access
                .decide(
                    None,
                    Deed::new("GetObject", Some(("open", Some("k")))),
                    &nowhere()
                )
                .is_ok()
        );
        assert!(
            access
                .decide(
                    None,
                    Deed::new("GetObject", Some(("mine", Some("k")))),
                    &nowhere()
                )
                .is_err()
        );
        assert!(
            access
                .decide(
                    None,
                    Deed::new("ListObjectsV2", Some(("open", None))),
                    &nowhere()
                )
                .is_err()
        );
        assert!(
            access
                .decide(None, Deed::new("ListBuckets", None), &nowhere())
                .is_err()
        );
        assert!(
            access
                .decide(
                    None,
                    Deed::new("PutBucketPolicy", Some(("open", None))),
                    &nowhere()
                )
                .is_err()
        );
    }

    #[test]
    fn a_key_may_do_what_it_was_given_and_nothing_that_is_not_listed() {
        let access = access();
        assert!(
            access
                .decide(
                    Some("kim"),
                    Deed::new("GetObject", Some(("mine", Some("k")))),
                    &nowhere()
                )
                .is_ok()
        );
        assert!(
            access
                .decide(
                    Some("kim"),
                    Deed::new("PutObject", Some(("mine", Some("k")))),
                    &nowhere()
                )
                .is_err()
        );
        assert!(
            access
                .decide(
                    Some("kim"),
                    Deed::new("PutBucketWebsite", Some(("mine", None))),
                    &nowhere()
                )
                .is_err()
        );
        assert!(
            access
                .decide(
                    Some("root"),
                    Deed::new("PutBucketWebsite", Some(("mine", None))),
                    &nowhere()
                )
                .is_ok()
        );
        assert!(
            access
                .decide(Some("kim"), Deed::new("ListBuckets", None), &nowhere())
                .is_ok()
        );
    }

    #[test]
    fn a_policy_that_allows_everybody_everything_lets_nobody_change_the_bucket() {
        let access = access();
        let policy = r#"{"Statement":{"Effect":"Allow","Principal":"*","Action":"*","Resource":["arn:aws:s3:::open","arn:aws:s3:::open/*"]}}"#;
        access
            .store
            .set_document("open", BucketDocument::Policy, Some(policy.into()))
            .unwrap();
        assert!(
            access
                .decide(
                    None,
                    Deed::new("ListObjectsV2", Some(("open", None))),
                    &nowhere()
                )
                .is_ok()
        );
        for name in ["DeleteBucket", "PutBucketPolicy", "PutBucketVersioning"] {
            assert!(
                access
                    .decide(None, Deed::new(name, Some(("open", None))), &nowhere())
                    .is_err(),
                "{name}"
            );
        }
    }

    #[test]
    fn a_bucket_of_another_owner_than_expected_is_refused() {
        let access = access();
        access
            .store
            .create_bucket(
                "roots",
                NewBucket {
                    owner: "root".into(),
                    ..Default::default()
                },
            )
            .unwrap();
        let check = |bucket: &str, owner: &'static str| {
            access
                .check_owner(bucket, Some(&HeaderValue::from_static(owner)))
                .is_ok()
        };
        assert!(check("roots", "root") && !check("roots", "kim") && !check("roots", ""));
        assert!(check("absent", "kim") && access.check_owner("roots", None).is_ok());
    }

    #[test]
    fn who_may_not_list_is_not_told_what_is_missing() {
        let access = access();
        access
            .store
            .begin_put("open", "there")
            .unwrap()
            .finish(PutFinish::default())
            .unwrap();
        let told = |asker, bucket, key| access.hide_absence(asker, bucket, key, &nowhere()).is_ok();
        assert!(
            told(None, "open", "there")
                && !told(None, "open", "missing")
                && !told(Some("kim"), "mine", "missing")
        );
        assert!(told(Some("root"), "open", "missing"));
        let lists = r#"{"Statement":{"Effect":"Allow","Principal":"*","Action":"s3:*","Resource":["arn:aws:s3:::open","arn:aws:s3:::open/*"]}}"#;
        access
            .store
            .set_document("open", BucketDocument::Policy, Some(lists.into()))
            .unwrap();
        assert!(told(None, "open", "missing"));
    }

    /// What AWS documents in "Required permissions for Amazon S3 API operations": of the current
    /// object, and of a version that is named.
    const DOCUMENTED: [(&str, &[&str], &[&str]); 14] = [
        ("GetObject", &["s3:GetObject"], &["s3:GetObjectVersion"]),
        ("HeadObject", &["s3:GetObject"], &["s3:GetObjectVersion"]),
        (
            "GetObjectAttributes",
            &["s3:GetObject", "s3:GetObjectAttributes"],
            &["s3:GetObjectVersion", "s3:GetObjectVersionAttributes"],
        ),
        (
            "GetObjectTagging",
            &["s3:GetObjectTagging"],
            &["s3:GetObjectVersionTagging"],
        ),
        (
            "PutObjectTagging",
            &["s3:PutObjectTagging"],
            &["s3:PutObjectVersionTagging"],
        ),
        (
            "DeleteObjectTagging",
            &["s3:DeleteObjectTagging"],
            &["s3:DeleteObjectVersionTagging"],
        ),
        (
            "GetObjectAcl",
            &["s3:GetObjectAcl"],
            &["s3:GetObjectVersionAcl"],
        ),
        (
            "PutObjectAcl",
            &["s3:PutObjectAcl"],
            &["s3:PutObjectVersionAcl"],
        ),
        (
            "DeleteObject",
            &["s3:DeleteObject"],
            &["s3:DeleteObjectVersion"],
        ),
        ("PutObject", &["s3:PutObject"], &["s3:PutObject"]),
        (
            "CompleteMultipartUpload",
            &["s3:PutObject"],
            &["s3:PutObject"],
        ),
        (
            "AbortMultipartUpload",
            &["s3:AbortMultipartUpload"],
            &["s3:AbortMultipartUpload"],
        ),
        (
            "ListParts",
            &["s3:ListMultipartUploadParts"],
            &["s3:ListMultipartUploadParts"],
        ),
        (
            "ListObjectVersions",
            &["s3:ListBucketVersions"],
            &["s3:ListBucketVersions"],
        ),
    ];

    fn allowing(access: &Access, actions: &[&str]) {
        let policy = format!(
            r#"{{"Statement":{{"Effect":"Allow","Principal":"*","Action":{actions:?},"Resource":["arn:aws:s3:::open","arn:aws:s3:::open/*"]}}}}"#
        );
        access
            .store
            .set_document("open", BucketDocument::Policy, Some(policy.into()))
            .unwrap();
    }

    #[test]
    fn a_policy_allows_by_the_documented_actions_and_by_no_fewer() {
        let access = access();
        for (operation, current, of_version) in DOCUMENTED {
            for (names_version, needed) in [(false, current), (true, of_version)] {
                let deed = Deed::new(operation, Some(("open", Some("k"))))
                    .of_version(names_version.then_some(VersionId::NEVER));
                allowing(&access, needed);
                assert!(
                    access.decide(None, deed, &nowhere()).is_ok(),
                    "{operation} {needed:?}"
                );
                let others: Vec<&str> = OPERATIONS
                    .iter()
                    .flat_map(|operation| {
                        operation
                            .actions
                            .iter()
                            .chain(operation.of_version)
                            .copied()
                    })
                    .filter(|action| *action != needed[needed.len() - 1])
                    .collect();
                allowing(&access, &others);
                assert!(
                    access.decide(None, deed, &nowhere()).is_err(),
                    "{operation} without {needed:?}"
                );
            }
        }
    }

    #[test]
    fn what_headers_add_to_an_operation_needs_its_own_action() {
        let access = access();
        allowing(&access, &["s3:PutObject"]);
        let asked = |operation, name: &'static str| {
            let headers = HeaderMap::from_iter([(
                http::HeaderName::from_static(name),
                HeaderValue::from_static("a=b"),
            )]);
            access
                .decide(
                    None,
                    Deed::new(operation, Some(("open", Some("k")))),
                    &Circumstances {
                        headers: &headers,
                        ..nowhere()
                    },
                )
                .is_ok()
        };
        for operation in MAKERS {
            assert!(
                asked(operation, "x-amz-meta-a")
                    && !asked(operation, "x-amz-tagging")
                    && !asked(operation, "x-amz-acl"),
                "{operation}"
            );
        }
        assert!(asked("UploadPart", "x-amz-tagging"), "a part has no tags");
        allowing(&access, &["s3:PutObject", "s3:PutObjectTagging"]);
        assert!(asked("PutObject", "x-amz-tagging"));
    }

    #[test]
    fn a_list_of_objects_to_delete_is_decided_object_by_object() {
        let access = access();
        let policy = r#"{"Statement":[{"Effect":"Allow","Principal":"*","Action":"s3:DeleteObject","Resource":"arn:aws:s3:::open/*"},
            {"Effect":"Deny","Principal":"*","Action":"s3:*","Resource":"arn:aws:s3:::open/kept/*"}]}"#;
        access
            .store
            .set_document("open", BucketDocument::Policy, Some(policy.into()))
            .unwrap();
        let version = Some(VersionId::NEVER);
        let objects = [("a", None), ("kept/a", None), ("a", version)];
        assert_eq!(
            access.granted(None, "DeleteObject", "open", &objects, &nowhere()),
            [true, false, false]
        );
        assert_eq!(
            access.granted(Some("root"), "DeleteObject", "open", &objects, &nowhere()),
            [true; 3]
        );
        assert_eq!(
            access.granted(Some("kim"), "DeleteObject", "mine", &objects, &nowhere()),
            [false; 3]
        );
        assert!(
            access.check_list(None, "open").is_ok() && access.check_list(None, "mine").is_err()
        );
    }

    #[test]
    fn each_operation_is_listed_once() {
        for (index, operation) in OPERATIONS.iter().enumerate() {
            assert!(
                OPERATIONS[..index]
                    .iter()
                    .all(|earlier| earlier.name != operation.name),
                "{}",
                operation.name
            );
        }
    }
}
