//! Lifecycle rules: what a bucket lets go of by age. Decisions are pure; the sweep asks the clock
//! once.

use crate::documents;
use crate::storage::{
    BucketDocument, Conditions, DeleteTarget, ListedUpload, ListedVersion, ObjectStore,
    ObjectVersion, StorageError, StorageResult, UploadEntry, UploadQuery, VersionEntry,
    VersionQuery,
};
use s3s::dto::{
    BucketLifecycleConfiguration, ExpirationStatus, LifecycleRule, Tag, Timestamp, TimestampFormat,
};
use s3s::{S3Result, s3_error};
use std::collections::HashSet;
use std::time::{Duration, UNIX_EPOCH};

/// What a day of the rules is, in milliseconds.
pub(crate) const DAY_MS: u64 = 86_400_000;
const MOST_RULES: usize = 1000;
const PAGE: usize = 1000;

/// What a sweep let go of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Swept {
    pub(crate) expired: u64,
    pub(crate) versions: u64,
    pub(crate) uploads: u64,
}

/// Gives each rule without a name one, as AWS does.
pub(crate) fn name_rules(configuration: &mut BucketLifecycleConfiguration) {
    for (index, rule) in configuration.rules.iter_mut().enumerate() {
        rule.id.get_or_insert_with(|| format!("rule-{}", index + 1));
    }
}

/// Refuses rules that cannot be kept as they are meant. Errors: `MalformedXML`, `InvalidArgument`,
/// `NotImplemented`.
pub(crate) fn check(configuration: &BucketLifecycleConfiguration) -> S3Result<()> {
    let rules = &configuration.rules;
    if rules.is_empty() || rules.len() > MOST_RULES {
        return Err(s3_error!(
            MalformedXML,
            "A lifecycle configuration has 1 to 1000 rules"
        ));
    }
    let mut names = HashSet::new();
    for rule in rules {
        if !names.insert(rule.id.clone()) {
            return Err(s3_error!(
                InvalidArgument,
                "Rule ID must be unique. Found same ID for more than one rule"
            ));
        }
        check_rule(rule)?;
    }
    Ok(())
}

fn check_rule(rule: &LifecycleRule) -> S3Result<()> {
    if rule.id.as_ref().is_some_and(|id| id.len() > 255) {
        return Err(s3_error!(
            InvalidArgument,
            "ID length should not exceed allowed limit of 255"
        ));
    }
    if !matches!(
        rule.status.as_str(),
        ExpirationStatus::ENABLED | ExpirationStatus::DISABLED
    ) {
        return Err(s3_error!(
            MalformedXML,
            "The Status of a rule is Enabled or Disabled"
        ));
    }
    if rule.transitions.is_some() || rule.noncurrent_version_transitions.is_some() {
        return Err(s3_error!(
            NotImplemented,
            "There is one storage class; transitions are not implemented"
        ));
    }
    let days = [
        rule.expiration
            .as_ref()
            .and_then(|expiration| expiration.days),
        rule.noncurrent_version_expiration
            .as_ref()
            .and_then(|expiration| expiration.noncurrent_days),
        rule.abort_incomplete_multipart_upload
            .as_ref()
            .and_then(|abort| abort.days_after_initiation),
    ];
    if days.into_iter().flatten().any(|days| days <= 0) {
        return Err(s3_error!(
            InvalidArgument,
            "A number of days in a lifecycle rule must be a positive integer"
        ));
    }
    if let Some(expiration) = &rule.expiration {
        let given = [
            expiration.days.is_some(),
            expiration.date.is_some(),
            expiration.expired_object_delete_marker.is_some(),
        ];
        if given.into_iter().filter(|given| *given).count() != 1 {
            return Err(s3_error!(
                MalformedXML,
                "An expiration has Days, Date or ExpiredObjectDeleteMarker"
            ));
        }
        if expiration
            .date
            .as_ref()
            .and_then(milliseconds)
            .is_some_and(|at| at % DAY_MS != 0)
        {
            return Err(s3_error!(InvalidArgument, "'Date' must be at midnight GMT"));
        }
    }
    let acts = rule.expiration.is_some()
        || rule.noncurrent_version_expiration.is_some()
        || rule.abort_incomplete_multipart_upload.is_some();
    if !acts {
        return Err(s3_error!(
            InvalidRequest,
            "At least one action needs to be specified in a rule"
        ));
    }
    Ok(())
}

fn milliseconds(time: &Timestamp) -> Option<u64> {
    let mut text = Vec::new();
    time.format(TimestampFormat::EpochSeconds, &mut text).ok()?;
    let text = String::from_utf8(text).ok()?;
    text.split('.')
        .next()?
        .parse::<u64>()
        .ok()?
        .checked_mul(1000)
}

/// When what began at `from_ms` has lasted this many days: at the midnight that follows.
fn due_ms(from_ms: u64, days: i32, day_ms: u64) -> u64 {
    let days = u64::try_from(days).unwrap_or(0);
    from_ms
        .saturating_add(days.saturating_mul(day_ms))
        .div_ceil(day_ms)
        .saturating_mul(day_ms)
}

/// What a rule asks of an object besides its age.
struct Filter<'a> {
    prefix: &'a str,
    tags: Vec<&'a Tag>,
    above: Option<i64>,
    below: Option<i64>,
}

impl<'a> Filter<'a> {
    fn of(rule: &'a LifecycleRule) -> Self {
        let filter = rule.filter.as_ref();
        let and = filter.and_then(|filter| filter.and.as_ref());
        let prefix = filter
            .and_then(|filter| filter.prefix.as_deref())
            .or_else(|| and.and_then(|and| and.prefix.as_deref()));
        let tags = filter
            .and_then(|filter| filter.tag.as_ref())
            .into_iter()
            .chain(and.and_then(|and| and.tags.as_ref()).into_iter().flatten());
        Self {
            prefix: prefix.or(rule.prefix.as_deref()).unwrap_or_default(),
            tags: tags.collect(),
            above: filter
                .and_then(|filter| filter.object_size_greater_than)
                .or_else(|| and.and_then(|and| and.object_size_greater_than)),
            below: filter
                .and_then(|filter| filter.object_size_less_than)
                .or_else(|| and.and_then(|and| and.object_size_less_than)),
        }
    }

    fn holds(&self, key: &str, size: u64, tags: &dyn Fn() -> Vec<(String, String)>) -> bool {
        let size = i64::try_from(size).unwrap_or(i64::MAX);
        let sized = self.above.is_none_or(|above| size > above)
            && self.below.is_none_or(|below| size < below);
        if !key.starts_with(self.prefix) || !sized {
            return false;
        }
        let carried = if self.tags.is_empty() {
            Vec::new()
        } else {
            tags()
        };
        let carries = |tag: &&Tag| {
            carried.iter().any(|(key, value)| {
                Some(key) == tag.key.as_ref() && *value == tag.value.clone().unwrap_or_default()
            })
        };
        self.tags.iter().all(carries)
    }
}

/// One version as a sweep meets it: newest first within its key.
struct Met<'a> {
    listed: &'a ListedVersion,
    /// When the version that displaced it was made.
    displaced_ms: Option<u64>,
    /// How many displaced versions are newer.
    newer: usize,
    /// Whether it is the only version of its key.
    alone: bool,
}

/// Decides over versions by the rules that hold now.
struct Rules<'a> {
    rules: &'a [LifecycleRule],
    now_ms: u64,
    day_ms: u64,
}

impl Rules<'_> {
    fn enabled(&self) -> impl Iterator<Item = &LifecycleRule> {
        self.rules
            .iter()
            .filter(|rule| rule.status.as_str() == ExpirationStatus::ENABLED)
    }

    fn lets_go(&self, met: &Met<'_>, tags: &dyn Fn() -> Vec<(String, String)>) -> bool {
        let object = &met.listed.object;
        self.enabled().any(|rule| {
            self.is_due(rule, met) && Filter::of(rule).holds(&object.key, object.size, tags)
        })
    }

    fn is_due(&self, rule: &LifecycleRule, met: &Met<'_>) -> bool {
        let made_ms = met.listed.object.modified_ms;
        if met.listed.latest {
            let Some(expiration) = &rule.expiration else {
                return false;
            };
            if met.listed.delete_marker {
                // AWS lets a marker that hides nothing go with an expiration by days as well.
                return met.alone
                    && (expiration.expired_object_delete_marker == Some(true)
                        || self.aged(expiration.days, made_ms));
            }
            let dated = expiration
                .date
                .as_ref()
                .and_then(milliseconds)
                .is_some_and(|at| self.now_ms >= at);
            return dated || self.aged(expiration.days, made_ms);
        }
        let Some((noncurrent, displaced_ms)) = rule
            .noncurrent_version_expiration
            .as_ref()
            .zip(met.displaced_ms)
        else {
            return false;
        };
        let kept = noncurrent
            .newer_noncurrent_versions
            .map_or(0, |kept| usize::try_from(kept).unwrap_or(0));
        met.newer >= kept && self.aged(noncurrent.noncurrent_days.or(Some(0)), displaced_ms)
    }

    fn aged(&self, days: Option<i32>, from_ms: u64) -> bool {
        days.is_some_and(|days| self.now_ms >= due_ms(from_ms, days, self.day_ms))
    }

    fn aborts(&self, upload: &ListedUpload) -> bool {
        self.enabled().any(|rule| {
            let days = rule
                .abort_incomplete_multipart_upload
                .as_ref()
                .and_then(|abort| abort.days_after_initiation);
            self.aged(days, upload.started_ms) && upload.key.starts_with(Filter::of(rule).prefix)
        })
    }
}

/// What the header `x-amz-expiration` says of a latest version: when it expires first, and by which
/// rule; `None` where none has it expire. Its days have 24 hours: it is the calendar that clients
/// read.
pub(crate) fn announced(
    store: &dyn ObjectStore,
    bucket: &str,
    object: &ObjectVersion,
) -> Option<String> {
    let kept = store
        .document(bucket, BucketDocument::Lifecycle)
        .ok()
        .flatten()?;
    let configuration = documents::read::<BucketLifecycleConfiguration>(&kept)?;
    let rules = Rules {
        rules: &configuration.rules,
        now_ms: 0,
        day_ms: DAY_MS,
    };
    let due = |rule: &LifecycleRule| {
        let expiration = rule.expiration.as_ref()?;
        let dated = expiration.date.as_ref().and_then(milliseconds);
        dated.or_else(|| {
            expiration
                .days
                .map(|days| due_ms(object.modified_ms, days, DAY_MS))
        })
    };
    let holding = rules.enabled().filter(|rule| {
        Filter::of(rule).holds(&object.key, object.size, &|| object.content.tags.clone())
    });
    let (at_ms, rule) = holding
        .filter_map(|rule| Some((due(rule)?, rule)))
        .min_by_key(|(at_ms, _)| *at_ms)?;
    let mut date = Vec::new();
    Timestamp::from(UNIX_EPOCH + Duration::from_millis(at_ms))
        .format(TimestampFormat::HttpDate, &mut date)
        .ok()?;
    let name = rule.id.as_deref().unwrap_or_default();
    // A name is any text; a header is not.
    let name: String = name
        .chars()
        .filter(|c| c.is_ascii_graphic() && *c != '"' || *c == ' ')
        .collect();
    Some(format!(
        "expiry-date=\"{}\", rule-id=\"{name}\"",
        String::from_utf8(date).ok()?
    ))
}

/// Lets go of what the rules of all buckets say. A bucket that fails does not keep the others from
/// it; the first error is answered.
pub(crate) fn sweep(
    store: &dyn ObjectStore,
    now_ms: u64,
    day_ms: u64,
) -> (Swept, StorageResult<()>) {
    let mut swept = Swept::default();
    let buckets = match store.buckets() {
        Ok(buckets) => buckets,
        Err(error) => return (swept, Err(error)),
    };
    let mut outcome = Ok(());
    for bucket in buckets {
        let one = sweep_bucket(store, &bucket.name, now_ms, day_ms, &mut swept);
        // A bucket may go while it is swept.
        if let Err(error) = one
            && !matches!(error, StorageError::NoSuchBucket)
            && outcome.is_ok()
        {
            outcome = Err(error);
        }
    }
    (swept, outcome)
}

fn sweep_bucket(
    store: &dyn ObjectStore,
    bucket: &str,
    now_ms: u64,
    day_ms: u64,
    swept: &mut Swept,
) -> StorageResult<()> {
    let Some(text) = store.document(bucket, BucketDocument::Lifecycle)? else {
        return Ok(());
    };
    let Some(configuration) = documents::read::<BucketLifecycleConfiguration>(&text) else {
        return Err(StorageError::Corrupt {
            what: format!("the lifecycle configuration of {bucket} cannot be read"),
        });
    };
    let rules = Rules {
        rules: &configuration.rules,
        now_ms,
        day_ms,
    };
    sweep_versions(store, bucket, &rules, swept)?;
    sweep_uploads(store, bucket, &rules, swept)
}

fn sweep_versions(
    store: &dyn ObjectStore,
    bucket: &str,
    rules: &Rules<'_>,
    swept: &mut Swept,
) -> StorageResult<()> {
    let mut query = VersionQuery {
        max: PAGE,
        ..Default::default()
    };
    let mut key: Vec<ListedVersion> = Vec::new();
    loop {
        let page = store.list_versions(bucket, &query)?;
        for entry in page.entries {
            let VersionEntry::Version(listed) = entry else {
                continue;
            };
            if key
                .first()
                .is_some_and(|first| first.object.key != listed.object.key)
            {
                sweep_key(store, bucket, rules, &std::mem::take(&mut key), swept)?;
            }
            key.push(listed);
        }
        match page.next {
            Some((marker, version)) => {
                (query.key_marker, query.version_marker) = (Some(marker), version)
            }
            None => return sweep_key(store, bucket, rules, &key, swept),
        }
    }
}

/// All versions of one key, the newest first.
fn sweep_key(
    store: &dyn ObjectStore,
    bucket: &str,
    rules: &Rules<'_>,
    versions: &[ListedVersion],
    swept: &mut Swept,
) -> StorageResult<()> {
    let mut displaced_ms = None;
    for (index, listed) in versions.iter().enumerate() {
        let met = Met {
            listed,
            displaced_ms,
            newer: index.saturating_sub(1),
            alone: versions.len() == 1,
        };
        let tags = || {
            store
                .head(bucket, &listed.object.key, Some(listed.version))
                .map(|found| found.content.tags)
                .unwrap_or_default()
        };
        displaced_ms = Some(listed.object.modified_ms);
        if !rules.lets_go(&met, &tags) {
            continue;
        }
        // A version goes for good by its name; the latest goes as a client's DELETE would have it,
        // unless it is another by now.
        let by_name = !listed.latest || listed.delete_marker;
        let conditions = Conditions {
            if_modified_at_ms: (!by_name).then_some(listed.object.modified_ms),
            ..Default::default()
        };
        let version = by_name.then_some(listed.version);
        let target = DeleteTarget {
            key: listed.object.key.clone(),
            version,
            conditions,
            ..Default::default()
        };
        match store.delete_object(bucket, target) {
            Ok(_) if by_name => swept.versions += 1,
            Ok(_) => swept.expired += 1,
            // What is kept by a lock goes once it is not.
            Err(
                StorageError::PreconditionFailed
                | StorageError::NoSuchKey
                | StorageError::NoSuchVersion
                | StorageError::Locked,
            ) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn sweep_uploads(
    store: &dyn ObjectStore,
    bucket: &str,
    rules: &Rules<'_>,
    swept: &mut Swept,
) -> StorageResult<()> {
    let mut query = UploadQuery {
        max: PAGE,
        ..Default::default()
    };
    loop {
        let page = store.list_uploads(bucket, &query)?;
        for entry in page.entries {
            let UploadEntry::Upload(upload) = entry else {
                continue;
            };
            if !rules.aborts(&upload) {
                continue;
            }
            match store.abort_multipart(bucket, &upload.key, &upload.upload) {
                Ok(()) => swept.uploads += 1,
                Err(StorageError::NoSuchUpload) => {}
                Err(error) => return Err(error),
            }
        }
        match page.next {
            Some((marker, upload)) => {
                (query.key_marker, query.upload_marker) = (Some(marker), upload)
            }
            None => return Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::{
        BucketLock, Content, DefaultRetention, NewBucket, NewMultipart, PutFinish, RetentionMode,
        RetentionPeriod, StorageOptions, Versioning, open_memory,
    };
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    struct World {
        now: Arc<AtomicU64>,
        store: Arc<dyn ObjectStore>,
    }

    fn world(rule: &str) -> World {
        let now = Arc::new(AtomicU64::new(0));
        let clock = Arc::clone(&now);
        let store = open_memory(StorageOptions::new(Arc::new(move || {
            clock.load(Ordering::Relaxed)
        })))
        .unwrap();
        store.create_bucket("b", NewBucket::default()).unwrap();
        let xml = format!(
            "<LifecycleConfiguration><Rule><ID>r</ID><Status>Enabled</Status>{rule}</Rule></LifecycleConfiguration>"
        );
        let parsed: BucketLifecycleConfiguration = documents::read(xml.as_bytes()).unwrap();
        check(&parsed).unwrap();
        store
            .set_document("b", BucketDocument::Lifecycle, Some(xml.into()))
            .unwrap();
        World { now, store }
    }

    impl World {
        fn put(&self, key: &str, tags: &[(&str, &str)]) {
            let mut upload = self.store.begin_put("b", key).unwrap();
            upload.write(b"12345").unwrap();
            let tags = tags
                .iter()
                .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
                .collect();
            upload
                .finish(PutFinish {
                    content: Content {
                        tags,
                        ..Default::default()
                    },
                    ..Default::default()
                })
                .unwrap();
        }

        fn at_day(&self, day: u64) -> Swept {
            self.now.store(day * DAY_MS, Ordering::Relaxed);
            let (swept, outcome) = sweep(&*self.store, day * DAY_MS, DAY_MS);
            outcome.unwrap();
            swept
        }

        fn has(&self, key: &str) -> bool {
            self.store.head("b", key, None).is_ok()
        }
    }

    #[test]
    fn objects_expire_at_the_midnight_after_their_days() {
        let world =
            world("<Filter><Prefix>old/</Prefix></Filter><Expiration><Days>2</Days></Expiration>");
        world.now.store(5, Ordering::Relaxed);
        world.put("old/a", &[]);
        world.put("new/a", &[]);
        assert_eq!(world.at_day(2), Swept::default());
        assert_eq!(
            world.at_day(3),
            Swept {
                expired: 1,
                ..Default::default()
            }
        );
        assert!(!world.has("old/a") && world.has("new/a"));
    }

    #[test]
    fn the_first_expiration_that_holds_is_announced_with_its_rule() {
        let world = world(
            "<Filter><Tag><Key>go</Key><Value>yes</Value></Tag></Filter><Expiration><Days>2</Days></Expiration>",
        );
        world.now.store(5, Ordering::Relaxed);
        world.put("k", &[("go", "yes")]);
        world.put("kept", &[]);
        let said = |key: &str| {
            announced(
                &*world.store,
                "b",
                &world.store.head("b", key, None).unwrap(),
            )
        };
        assert_eq!(
            said("k").unwrap(),
            "expiry-date=\"Sun, 04 Jan 1970 00:00:00 GMT\", rule-id=\"r\""
        );
        assert_eq!(said("kept"), None);
        let later = "<LifecycleConfiguration><Rule><ID>late</ID><Status>Enabled</Status><Prefix>k</Prefix><Expiration><Days>9</Days></Expiration></Rule><Rule><ID>off</ID><Status>Disabled</Status><Prefix/><Expiration><Days>1</Days></Expiration></Rule><Rule><ID>a \"b\"</ID><Status>Enabled</Status><Prefix/><Expiration><Date>1970-01-02T00:00:00Z</Date></Expiration></Rule></LifecycleConfiguration>";
        world
            .store
            .set_document("b", BucketDocument::Lifecycle, Some(later.into()))
            .unwrap();
        assert_eq!(
            said("kept").unwrap(),
            "expiry-date=\"Fri, 02 Jan 1970 00:00:00 GMT\", rule-id=\"a b\""
        );
    }

    #[test]
    fn all_that_a_filter_says_must_hold() {
        let world = world(
            "<Filter><And><Prefix>k</Prefix><Tag><Key>go</Key><Value>yes</Value></Tag><ObjectSizeGreaterThan>4</ObjectSizeGreaterThan></And></Filter><Expiration><Days>1</Days></Expiration>",
        );
        world.put("k1", &[("go", "yes"), ("x", "y")]);
        world.put("k2", &[("go", "no")]);
        world.put("k3", &[]);
        assert_eq!(world.at_day(1).expired, 1);
        assert!(!world.has("k1") && world.has("k2") && world.has("k3"));
    }

    #[test]
    fn displaced_versions_go_by_when_they_were_displaced_and_the_newest_are_kept() {
        let world = world(
            "<Filter/><NoncurrentVersionExpiration><NoncurrentDays>1</NoncurrentDays><NewerNoncurrentVersions>1</NewerNoncurrentVersions></NoncurrentVersionExpiration>",
        );
        world.store.set_versioning("b", Versioning::On).unwrap();
        for day in 0..4 {
            world.now.store(day * DAY_MS, Ordering::Relaxed);
            world.put("k", &[]);
        }
        // Versions of days 0, 1 and 2 are displaced on days 1, 2 and 3; that of day 2 is the one
        // kept.
        assert_eq!(world.at_day(2).versions, 1);
        assert_eq!(world.at_day(9).versions, 1);
        assert!(world.has("k"));
        assert_eq!(world.at_day(99).versions, 0);
    }

    #[test]
    fn a_version_that_is_locked_goes_once_it_no_longer_is() {
        let world = world(
            "<Filter/><Expiration><Days>1</Days></Expiration><NoncurrentVersionExpiration><NoncurrentDays>1</NoncurrentDays></NoncurrentVersionExpiration>",
        );
        let default = DefaultRetention {
            mode: RetentionMode::Governance,
            period: RetentionPeriod::Days(10),
        };
        world.store.set_versioning("b", Versioning::On).unwrap();
        world
            .store
            .set_bucket_lock(
                "b",
                BucketLock {
                    default: Some(default),
                },
            )
            .unwrap();
        world.put("k", &[]);
        // A marker hides it, which takes nothing away.
        assert_eq!(world.at_day(2).expired, 1);
        assert_eq!(world.at_day(9).versions, 0);
        assert_eq!(world.at_day(11).versions, 1);
    }

    #[test]
    fn a_marker_that_hides_nothing_goes() {
        let world = world(
            "<Filter/><Expiration><ExpiredObjectDeleteMarker>true</ExpiredObjectDeleteMarker></Expiration>",
        );
        world.store.set_versioning("b", Versioning::On).unwrap();
        world
            .store
            .delete_object(
                "b",
                DeleteTarget {
                    key: "gone".into(),
                    ..Default::default()
                },
            )
            .unwrap();
        world.put("kept", &[]);
        assert_eq!(
            world.at_day(1),
            Swept {
                versions: 1,
                ..Default::default()
            }
        );
        assert!(world.has("kept"));
    }

    #[test]
    fn uploads_that_were_given_up_are_aborted() {
        let world = world(
            "<Filter/><AbortIncompleteMultipartUpload><DaysAfterInitiation>3</DaysAfterInitiation></AbortIncompleteMultipartUpload>",
        );
        world
            .store
            .create_multipart("b", "k", NewMultipart::default())
            .unwrap();
        assert_eq!(world.at_day(2).uploads, 0);
        assert_eq!(world.at_day(3).uploads, 1);
    }

    #[test]
    fn rules_that_cannot_be_kept_are_refused() {
        let code = |rules: &str| {
            let xml = format!("<LifecycleConfiguration>{rules}</LifecycleConfiguration>");
            check(&documents::read(xml.as_bytes()).unwrap())
                .unwrap_err()
                .code()
                .as_str()
                .to_owned()
        };
        let rule = |body: &str| format!("<Rule><ID>r</ID><Status>Enabled</Status>{body}</Rule>");
        let ages = "<Filter/><Expiration><Days>1</Days></Expiration>";
        assert_eq!(
            code(&rule("<Filter/><Expiration><Days>0</Days></Expiration>")),
            "InvalidArgument"
        );
        assert_eq!(code(&rule("<Filter/>")), "InvalidRequest");
        assert_eq!(code(&(rule(ages) + &rule(ages))), "InvalidArgument");
        assert_eq!(
            code(&rule(
                "<Filter/><Transition><Days>1</Days><StorageClass>GLACIER</StorageClass></Transition>"
            )),
            "NotImplemented"
        );
        assert_eq!(
            code(
                "<Rule><Status>enabled</Status><Filter/><Expiration><Days>1</Days></Expiration></Rule>"
            ),
            "MalformedXML"
        );
    }
}
