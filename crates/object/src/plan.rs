//! A load with everything that is decided before it starts.

use crate::LoadError;
use crate::connection::HttpVersion;
use crate::header::{MOST_HEADERS, RequestHeader};
use crate::options::LOAD_OPTIONS;
use crate::scenario::{Arrivals, Scenario, UserStep};
use crate::share::LoadShare;
use crate::sign::Credentials;
use crate::target::LoadTarget;
use crate::verbs::{Call, Services};
use record::{Measurable, NeverMeasured};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use trust::Trust;
use units::counted;

/// What to run, against what, and how.
#[derive(Clone, Debug)]
pub struct LoadPlan {
    pub scenario: Scenario,
    pub target: LoadTarget,
    /// What every request has besides the load's own.
    pub headers: Vec<RequestHeader>,
    /// Needed for S3.
    pub credentials: Option<Credentials>,
    /// Needed for a file share.
    pub secret: Option<ShareSecret>,
    /// The guest link of a file share by which files are posted.
    pub guest: Option<String>,
    pub trust: Trust,
    pub threads: u32,
    /// A request that takes longer has failed.
    pub timeout_ns: u64,
    pub retries: u32,
    /// One connection a request.
    pub new_connections: bool,
    pub version: HttpVersion,
    /// Begins every stream of chance.
    pub seed: u64,
    /// Whether what was made stays.
    pub keep: bool,
    /// Ends the load after so many turns of users.
    pub iterations: Option<u64>,
    /// Before the measured time: the level that the load begins with, counted apart.
    pub warmup_ns: u64,
    /// Whether the server is asked for its own counters, before the load and after it: one request
    /// each.
    pub server_counters: bool,
    /// Which part of the whole this is.
    pub share: LoadShare,
    /// What of the whole is divided, where this is a part of it.
    pub of_all: Option<Arc<WholeLoad>>,
    /// The rate of this step, where it is one of a search.
    pub step_per_second: Option<f64>,
}

/// What of a load its ranks divide, as it is of all of them.
#[derive(Clone, Debug)]
pub struct WholeLoad {
    pub(crate) scenario: Scenario,
    pub(crate) iterations: Option<u64>,
}

/// The secret of a file share, which is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct ShareSecret(String);

impl ShareSecret {
    #[must_use]
    pub fn new(text: String) -> Self {
        Self(text)
    }

    pub(crate) fn text(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for ShareSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ShareSecret(…)")
    }
}

impl LoadPlan {
    /// Whether the parts fit together, as far as it can be known without asking the target.
    ///
    /// # Errors
    /// What does not fit, and what to do.
    pub fn check(&self) -> Result<(), LoadError> {
        let refuse = |text: String| Err(LoadError::Asked(text));
        self.scenario.check()?;
        if self.threads == 0 || self.timeout_ns == 0 || self.iterations == Some(0) {
            return refuse("--threads, --timeout and --iterations must be above 0".into());
        }
        if let Arrivals::Open { rate, .. } = &self.scenario.arrivals
            && self.warmup_ns > 0
            && rate.start <= 0.0
        {
            return refuse(
                "--warmup is at the rate that the load begins with, and that is 0: begin with a stage that has no length".into(),
            );
        }
        if self.scenario.most_users() > 65_536 {
            return refuse(format!(
                "{} users need as many connections; at most 65536 make sense on one machine",
                self.scenario.most_users()
            ));
        }
        self.check_connections()?;
        if self.target.is_s3() && self.credentials.is_none() {
            return refuse(
                "an S3 target needs keys: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY".into(),
            );
        }
        self.check_share()?;
        self.check_headers()?;
        self.check_trust()?;
        self.check_thresholds(&self.measurable())?;
        self.scenario
            .steps
            .iter()
            .try_for_each(|step| self.check_step(step))
    }

    /// Whether the file of authorities can be read, also where no server is asked for a certificate.
    fn check_trust(&self) -> Result<(), LoadError> {
        let read = trust::client_config(&self.trust, None);
        read.map(drop)
            .map_err(|why| LoadError::asked(format!("--cacert {why}")))
    }

    /// Whether what belongs to a file share is there, and nowhere else.
    fn check_share(&self) -> Result<(), LoadError> {
        let refuse = |text: &str| Err(LoadError::asked(text));
        let is_share = self.target.is_share();
        let posts = self.scenario.calls().contains(&Call::Post);
        match (&self.guest, is_share && posts) {
            (None, true) => {
                return refuse(
                    "post puts files up by a guest link of the share: give --guest LINK",
                );
            }
            (Some(_), false) => {
                return refuse("--guest is of a share (share+http://…) that files are posted to");
            }
            (Some(guest), true) if crate::payload::GivenName::parse(guest).is_none() => {
                return refuse("--guest is the last part of a guest link's address alone");
            }
            (Some(_), true) | (None, false) => {}
        }
        if is_share && self.secret.is_none() {
            return refuse("a share needs its secret: set PS_SHARED_SECRET");
        }
        if is_share && self.version != HttpVersion::One {
            return refuse("a share is loaded over HTTP/1.1; leave --http2 out");
        }
        Ok(())
    }

    /// Whether no header is one that requests of this load have already.
    fn check_headers(&self) -> Result<(), LoadError> {
        if self.headers.len() > MOST_HEADERS {
            return Err(LoadError::Asked(format!(
                "{} headers; at most {MOST_HEADERS} go with a request",
                self.headers.len()
            )));
        }
        let calls = self.scenario.calls();
        for header in &self.headers {
            let is_signed = header.is("authorization") || is_amz(header.name());
            let is_of_form = header.is("content-type") && calls.contains(&Call::Post);
            let why = if self.target.is_s3() && is_signed {
                "the signature of an S3 request has that header already, or would have to cover it"
            } else if self.target.is_share() && header.is("cookie") {
                "the share gives the cookie itself"
            } else if self.target.is_share() && header.is("content-type") || is_of_form {
                "a form has that header already"
            } else {
                continue;
            };
            return Err(LoadError::Asked(format!(
                "--header {}: {why}",
                header.name()
            )));
        }
        Ok(())
    }

    /// The headers as records keep them; `None` where there are none.
    pub(crate) fn headers_text(&self) -> Option<String> {
        let texts: Vec<String> = self.headers.iter().map(RequestHeader::recorded).collect();
        Some(texts.join(", ")).filter(|text| !text.is_empty())
    }

    /// Under which name a form has its file.
    pub(crate) fn field(&self) -> String {
        if self.target.is_share() {
            return "file".to_owned();
        }
        let mut steps = self.scenario.steps.iter();
        let posting = steps.find(|step| step.kind.verb().has_option("field"));
        posting.map_or_else(String::new, |step| step.field.clone())
    }

    /// Whether users, endpoints and connections go together.
    fn check_connections(&self) -> Result<(), LoadError> {
        let refuse = |text: String| Err(LoadError::Asked(text));
        let endpoints = self.target.endpoints.len();
        let most = self.scenario.most_users();
        if units::lossless::to_u64(endpoints) > u64::from(most) {
            return refuse(format!(
                "{endpoints} endpoints need as many --users or more: each user keeps to one"
            ));
        }
        let HttpVersion::Two { connections } = self.version else {
            return Ok(());
        };
        if connections == 0 || connections > most || (connections as usize) < endpoints {
            return refuse(format!(
                "--http2-connections {connections}: the {} share them, and each of {} needs one",
                counted(most, "user"),
                counted(endpoints, "endpoint")
            ));
        }
        if self.new_connections {
            return refuse(
                "--http2 shares connections, --new-connections has one a request; give one of them"
                    .into(),
            );
        }
        Ok(())
    }

    /// Whether the target has what a step does.
    fn check_step(&self, step: &UserStep) -> Result<(), LoadError> {
        let (verb, target) = (step.kind.verb(), self.target.text());
        let follows = step.then.iter().map(|follow| follow.kind);
        let mut kinds = follows.chain([step.kind]);
        if self.target.is_share() {
            return match kinds.find(|kind| !kind.verb().works_on_a_share()) {
                Some(kind) => Err(LoadError::Asked(format!(
                    "a file share has no {}; the target is {target}",
                    kind.word()
                ))),
                None => (verb.check)(step).map_err(LoadError::asked),
            };
        }
        let (of, is) = match (verb.services, self.target.is_s3()) {
            (Services::S3, false) => ("S3", "plain HTTP"),
            (Services::Http, true) => ("plain HTTP", "S3"),
            (Services::All | Services::S3 | Services::Http, _) => {
                return (verb.check)(step).map_err(LoadError::asked);
            }
        };
        Err(LoadError::Asked(format!(
            "{} is an operation of {of}; the target {target} is {is}",
            step.kind.word()
        )))
    }

    /// Threads that have a user.
    pub(crate) fn effective_threads(&self) -> u32 {
        let connections = match self.version {
            HttpVersion::One => u32::MAX,
            HttpVersion::Two { connections } => connections,
        };
        self.threads
            .min(self.scenario.most_users())
            .min(connections)
            .max(1)
    }

    /// The load of which this is a part, or this one.
    pub(crate) fn whole(&self) -> Cow<'_, Self> {
        self.of_all.as_ref().map_or(Cow::Borrowed(self), |of_all| {
            Cow::Owned(Self {
                scenario: of_all.scenario.clone(),
                iterations: of_all.iterations,
                ..self.clone()
            })
        })
    }

    /// The whole plan as words, by the names of flags where there is one, of all ranks together what
    /// they divide; keys are not among them.
    #[must_use]
    pub fn effective(&self) -> BTreeMap<String, String> {
        let whole = self.whole();
        let mut out = whole.scenario.described();
        let options = LOAD_OPTIONS.iter();
        out.extend(
            options.filter_map(|option| Some((option.name.to_owned(), option.show(&whole)?))),
        );
        let mut set = |key: &str, text: String| drop(out.insert(key.to_owned(), text));
        set("engine", "http".into());
        let protocol = match self.version {
            HttpVersion::One => "HTTP/1.1",
            HttpVersion::Two { .. } => "HTTP/2",
        };
        set("protocol", protocol.into());
        if let Some(credentials) = &self.credentials {
            set("region", credentials.region.clone());
        }
        if !matches!(self.trust, Trust::Public) {
            set(
                "trust",
                if self.trust == Trust::Anybody {
                    "anybody".into()
                } else {
                    "file".into()
                },
            );
        }
        out
    }

    /// What its record will be able to give numbers of, as far as the load decides it.
    #[must_use]
    pub fn measurable(&self) -> Measurable {
        let calls = self.scenario.calls().into_iter();
        let out = Measurable::of_kinds(calls.map(|call| call.request().name));
        match self.scenario.arrivals {
            Arrivals::Closed { .. } => out.without(NeverMeasured::Schedule),
            Arrivals::Open { .. } => out,
        }
    }

    /// Refuses thresholds on what it will never have measured.
    ///
    /// # Errors
    /// The first of them, and what there is instead.
    pub fn check_thresholds(&self, given: &Measurable) -> Result<(), LoadError> {
        self.scenario.thresholds.iter().try_for_each(|threshold| {
            threshold.check_given(given).map_err(|why| {
                LoadError::Asked(format!(
                    "threshold {:?}: the load has {why}",
                    threshold.text()
                ))
            })
        })
    }

    /// The name of its scenario, and of its step where it is one.
    #[must_use]
    pub fn name(&self) -> String {
        let scenario = &self.scenario.name;
        match self.step_per_second {
            Some(rate) => format!("{scenario}@{rate:.0}/s"),
            None => scenario.clone(),
        }
    }

    /// The same load for this time at the level of its peak, without a warm-up and held to nothing.
    #[must_use]
    pub fn at_its_peak(&self, for_ns: u64) -> Self {
        let mut out = self.clone();
        out.warmup_ns = 0;
        out.scenario.thresholds.clear();
        let (Arrivals::Closed { users: course } | Arrivals::Open { rate: course, .. }) =
            &mut out.scenario.arrivals;
        *course = crate::Ramp::constant(course.peak(), for_ns);
        out
    }

    /// The same plan at a constant rate: one step of a search. Without a spacing it is the
    /// scenario's own.
    #[must_use]
    pub fn at_rate(&self, rate: f64, for_ns: u64, spacing: Option<crate::Spacing>) -> Self {
        let mut out = self.clone();
        let spacing = spacing.unwrap_or(match &self.scenario.arrivals {
            Arrivals::Closed { .. } => crate::Spacing::default(),
            Arrivals::Open { spacing, .. } => *spacing,
        });
        let connections = self.scenario.most_users();
        out.scenario.arrivals = Arrivals::Open {
            rate: crate::Ramp::constant(rate, for_ns),
            spacing,
            connections,
        };
        out
    }
}

/// Whether S3 wants a header of this name to be signed.
fn is_amz(name: &str) -> bool {
    name.get(..6)
        .is_some_and(|start| start.eq_ignore_ascii_case("x-amz-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(preset: &str, target: &str) -> LoadPlan {
        LoadPlan {
            scenario: Scenario::preset(preset).unwrap(),
            target: LoadTarget::parse(target).unwrap(),
            headers: Vec::new(),
            credentials: Some(Credentials {
                access_key: "AKIAX".into(),
                secret_key: "hidden".into(),
                session_token: None,
                region: "us-east-1".into(),
            }),
            secret: None,
            guest: None,
            trust: Trust::Public,
            threads: 4,
            timeout_ns: 1_000_000_000,
            retries: 0,
            new_connections: false,
            version: HttpVersion::One,
            seed: 1,
            keep: false,
            iterations: None,
            warmup_ns: 0,
            server_counters: false,
            share: LoadShare::default(),
            of_all: None,
            step_per_second: None,
        }
    }

    #[test]
    fn operations_and_targets_must_fit() {
        let s3 = "s3://bucket@http://h:1";
        for (preset, target, told) in [
            ("list", "http://h:1", "is an operation of S3"),
            ("post", s3, "of plain HTTP"),
            ("multipart", "http://h:1", "of S3"),
        ] {
            assert!(
                plan(preset, target)
                    .check()
                    .unwrap_err()
                    .to_string()
                    .contains(told)
            );
        }
        let mut keyless = plan("get", s3);
        keyless.credentials = None;
        assert!(
            keyless
                .check()
                .unwrap_err()
                .to_string()
                .contains("AWS_ACCESS_KEY_ID")
        );
        assert!(plan("mixed", s3).check().is_ok());
    }

    #[test]
    fn a_threshold_on_what_the_load_never_does_is_refused() {
        let refused = |preset: &str, text: &str| {
            let mut plan = plan(preset, "s3://bucket@http://h:1");
            plan.scenario.thresholds = vec![crate::threshold(text).unwrap()];
            plan.check().err().map(|error| error.to_string())
        };
        let put = "threshold \"put.p99<5ms\": the load has no operations of the kind \"put\"; the kinds there are get";
        assert_eq!(refused("get", "put.p99<5ms").as_deref(), Some(put));
        assert!(refused("get", "lateness.p99<1ms").unwrap().contains("rate"));
        assert!(refused("get", "value:x<1").unwrap().contains("states none"));
        for (preset, text) in [
            ("mixed", "put.p99<5ms"),
            ("upload", "delete.waiting.p99<5ms"),
            ("get", "iteration.p99<1s"),
            ("get", "server.cpu/op<1ms"),
        ] {
            assert_eq!(refused(preset, text), None, "{text}");
        }
    }

    #[test]
    fn a_share_needs_its_secret_and_has_what_it_has() {
        let on_share = |preset: &str, secret: Option<&str>, guest: Option<&str>| {
            let plan = LoadPlan {
                secret: secret.map(|secret| ShareSecret::new(secret.into())),
                guest: guest.map(str::to_owned),
                ..plan(preset, "share+http://h:1")
            };
            assert!(!format!("{plan:?}").contains("verysecret"));
            plan.check().map_err(|error| error.to_string())
        };
        for preset in [
            "put",
            "get",
            "upload",
            "download",
            "mixed",
            "delete",
            "stat",
            "list",
            "put-get-verify",
        ] {
            assert_eq!(
                on_share(preset, Some("verysecret"), None),
                Ok(()),
                "{preset}"
            );
        }
        assert_eq!(on_share("post", Some("verysecret"), Some("abc")), Ok(()));
        for (preset, secret, guest, told) in [
            ("put", None, None, "PS_SHARED_SECRET"),
            ("post", Some("s"), None, "--guest"),
            ("put", Some("s"), Some("abc"), "--guest"),
            ("post", Some("s"), Some("http://h/g/abc"), "last part"),
            ("multipart", Some("s"), None, "has no multipart"),
            ("copy", Some("s"), None, "has no copy"),
        ] {
            let error = on_share(preset, secret, guest).unwrap_err();
            assert!(error.contains(told), "{preset}: {error}");
        }
    }

    #[test]
    fn the_description_has_no_key_in_it() {
        let text = format!(
            "{:?} {:?}",
            plan("mixed", "s3://bucket@http://h:1").effective(),
            plan("get", "s3://bucket@http://h:1")
        );
        assert!(
            !text.contains("hidden") && !text.contains("AKIAX"),
            "{text}"
        );
    }

    #[test]
    fn a_description_says_all_of_the_mixed_scenario() {
        let described = plan("mixed", "s3://bucket@http://h:1").effective();
        for (key, text) in [
            ("users", "100"),
            (
                "stages",
                "25, 25 in 30s, 100 in 10s, 100 in 30s, 25 in 10s, 0 in 30s",
            ),
            ("mix", "put 40, get 50, list 7, delete 3"),
            ("get.from", "own (last 50) 70, seed 30"),
            ("put.sleep", "500ms"),
            ("seeds", "20 x 10k weight 1"),
            ("payload", "signed"),
        ] {
            assert_eq!(described.get(key).map(String::as_str), Some(text), "{key}");
        }
    }

    #[test]
    fn every_number_of_a_plan_changes_its_description() {
        let base = plan("mixed", "s3://bucket@http://h:1");
        let changes: [fn(&mut LoadPlan); 10] = [
            |plan| plan.threads = 3,
            |plan| plan.timeout_ns = 5,
            |plan| plan.retries = 1,
            |plan| plan.new_connections = true,
            |plan| plan.seed = 2,
            |plan| plan.warmup_ns = 2,
            |plan| plan.version = HttpVersion::Two { connections: 2 },
            |plan| plan.keep = true,
            |plan| plan.iterations = Some(3),
            |plan| *plan = plan.at_rate(10.0, 5, None),
        ];
        for change in changes {
            let mut changed = base.clone();
            change(&mut changed);
            assert_ne!(changed.effective(), base.effective());
        }
    }
}
