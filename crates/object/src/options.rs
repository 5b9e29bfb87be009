//! Every option of a load, a row each: its name, its help, how its text is read, and how the load
//! that came of it shows it. Command lines, arms of experiments and plan files are read by it, and
//! records say by it what took effect.

use crate::connection::HttpVersion;
use crate::header::{RequestHeader, recorded_header};
use crate::payload::ObjectData;
use crate::plan::ShareSecret;
use crate::ramp::{Ramp, Spacing};
use crate::scenario::{
    Adjustments, Arrivals, KeyChoice, ObjectSizes, PayloadMode, Scenario, parse_stages,
};
use crate::secret::{given, recorded_target, recorded_variable};
use crate::share::LoadShare;
use crate::sign::Credentials;
use crate::target::LoadTarget;
use crate::threshold::threshold;
use crate::{LoadError, LoadPlan};
use record::Threshold;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::str::FromStr;
use trust::Trust;
use units::{Bytes, Nanos, Rate};

/// What was asked of a load; what is `None` stays as the scenario has it, or as is usual.
#[derive(Clone, Debug, Default)]
pub struct AskedLoad {
    pub target: Option<LoadTarget>,
    pub headers: Vec<RequestHeader>,
    pub changes: Adjustments,
    pub guest: Option<String>,
    pub cacert: Option<PathBuf>,
    pub threads: Option<u32>,
    pub timeout_ns: Option<u64>,
    pub retries: Option<u32>,
    pub http2_connections: Option<u32>,
    pub seed: Option<u64>,
    pub iterations: Option<u64>,
    pub warmup_ns: Option<u64>,
    pub knee: AskedKnee,
    /// The switches of the load itself that are on.
    pub on: BTreeSet<LoadSwitch>,
}

/// A switch of a load itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LoadSwitch {
    NewConnections,
    Http2,
    Insecure,
    Keep,
}

/// What was asked of a search for the highest rate that holds.
#[derive(Clone, Debug, Default)]
pub struct AskedKnee {
    pub threshold: Option<Threshold>,
    pub step_ns: Option<u64>,
    pub most: Option<f64>,
}

/// What lets a load in, which no option says and no record shows.
#[derive(Clone, Debug, Default)]
pub struct LoadKeys {
    pub credentials: Option<Credentials>,
    pub secret: Option<ShareSecret>,
}

/// One option.
pub struct LoadOption {
    /// The long flag, the key of arms, and the key in records.
    pub name: &'static str,
    pub help: &'static str,
    /// Whether a load that is an arm of an experiment has it.
    pub is_of_arms: bool,
    /// Whether it may be given several times.
    pub is_repeated: bool,
    /// The key of a scenario file that says the same, behind a point where it stands in a table; of
    /// what may be repeated, with a list.
    pub(crate) scenario_key: Option<&'static str>,
    reads: Reads,
    /// What a record keeps of a text that was given, where that may be a secret or name the variable that
    /// holds one.
    pub(crate) keep: Option<fn(&str) -> String>,
    /// What took effect.
    show: fn(&LoadPlan) -> Option<String>,
}

enum Reads {
    /// A value, with the name that it has in help.
    Value(
        &'static str,
        fn(&mut AskedLoad, &str, &str) -> Result<(), LoadError>,
    ),
    Switch(fn(&mut AskedLoad, bool)),
}

impl LoadOption {
    /// The option of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        LOAD_OPTIONS.iter().find(|option| option.name == name)
    }

    /// Name of its value in help; `None`: it is a switch.
    #[must_use]
    pub fn value(&self) -> Option<&'static str> {
        match self.reads {
            Reads::Value(value, _) => Some(value),
            Reads::Switch(_) => None,
        }
    }

    /// Writes a text into what is asked.
    ///
    /// # Errors
    /// A value that the option does not take.
    pub fn read(&self, asked: &mut AskedLoad, text: &str) -> Result<(), LoadError> {
        match (&self.reads, text) {
            (Reads::Value(_, read), _) => read(asked, self.name, text),
            (Reads::Switch(set), "true" | "false") => {
                set(asked, text == "true");
                Ok(())
            }
            (Reads::Switch(_), _) => Err(LoadError::Asked(format!(
                "{}={text}: a switch is true or false",
                self.name
            ))),
        }
    }

    /// Its value in a load; `None` where it has none.
    pub(crate) fn show(&self, plan: &LoadPlan) -> Option<String> {
        (self.show)(plan)
    }

    const fn repeated(self) -> Self {
        Self {
            is_repeated: true,
            ..self
        }
    }

    const fn kept_as(self, keep: fn(&str) -> String) -> Self {
        Self {
            keep: Some(keep),
            ..self
        }
    }

    const fn in_scenarios(self, key: &'static str) -> Self {
        Self {
            scenario_key: Some(key),
            ..self
        }
    }

    const fn of_the_command(self) -> Self {
        Self {
            is_of_arms: false,
            ..self
        }
    }
}

const fn value(
    name: &'static str,
    value: &'static str,
    help: &'static str,
    read: fn(&mut AskedLoad, &str, &str) -> Result<(), LoadError>,
    show: fn(&LoadPlan) -> Option<String>,
) -> LoadOption {
    LoadOption {
        name,
        help,
        is_of_arms: true,
        is_repeated: false,
        scenario_key: None,
        reads: Reads::Value(value, read),
        keep: None,
        show,
    }
}

const fn switch(
    name: &'static str,
    help: &'static str,
    set: fn(&mut AskedLoad, bool),
    show: fn(&LoadPlan) -> Option<String>,
) -> LoadOption {
    LoadOption {
        reads: Reads::Switch(set),
        ..value(name, "", help, |_, _, _| Ok(()), show)
    }
}

/// In the order of help.
pub static LOAD_OPTIONS: [LoadOption; 34] = [
    value("target", "URL", "s3://BUCKET@http://HOST:PORT, several endpoints separated by commas, http://HOST:PORT/path?query, or a file share, share+http://HOST:PORT; @VARIABLE takes it from the environment", |asked, _, text| set(&mut asked.target, LoadTarget::given(text)), |plan| Some(plan.target.text().to_owned())).kept_as(recorded_target),
    value("header", "'NAME: VALUE'", "A header of every request, such as 'Cookie: NAME=VALUE'; records keep the values of a few that are harmless (Accept, Content-Type, User-Agent, …) and of no other; @VARIABLE takes it from the environment; may be repeated", |asked, _, text| RequestHeader::given(text).map(|one| asked.headers.push(one)), |plan| plan.headers_text()).repeated().kept_as(recorded_header),
    value("threshold", "CONDITION", "get.p95<50ms, errors<1%, put.count>=100, …; a miss is exit code 3", |asked, _, text| threshold(text).map(|one| asked.changes.thresholds.push(one)), |_| None).of_the_command().repeated().in_scenarios("thresholds"),
    value("cacert", "FILE.pem", "Believe these certificate authorities too", |asked, _, text| set(&mut asked.cacert, Ok(text.into())), |_| None),
    value("scale", "FACTOR", "Multiply the length of every stage; users, rates and sleeps stay as they are", |asked, name, text| set(&mut asked.changes.scale, number(name, text)), |_| None),
    value("users", "N", "Most users: the ramp is raised or lowered as a whole. In an open loop, most connections", |asked, name, text| set(&mut asked.changes.users, number(name, text)), |plan| closed(plan).map(|_| plan.scenario.most_users().to_string())),
    value("duration", "TIME", "In place of the stages: all users, or the whole rate, from the start, for this time", |asked, name, text| set(&mut asked.changes.duration_ns, time(name, text)), |plan| nanos(plan.scenario.course().total_ns())),
    value("stages", "STAGES", "In place of the scenario's: from nothing to each level in turn, as 30s:50,2m:50,30s:0 (users; in an open loop arrivals a second)", |asked, _, text| set(&mut asked.changes.stages, parse_stages(text)), |plan| Some(plan.scenario.stages_text())),
    value("warmup", "TIME", "Before the measured time, at the level that the load begins with, at least one user; counted apart [default: 0s]", |asked, name, text| set(&mut asked.warmup_ns, time(name, text)), |plan| nanos(plan.warmup_ns)),
    value("rate", "RATE", "Open loop: so many arrivals a second, whatever the answers do; sleeps are left out", |asked, name, text| set(&mut asked.changes.rate, rate(name, text)), |plan| open(plan).map(|(rate, _)| Rate(rate.mean()).to_string())),
    value("arrival", "SPACING", "Of an open loop: poisson or constant [default: poisson]", |asked, name, text| set(&mut asked.changes.spacing, word(name, text, Spacing::ALL, Spacing::word)), |plan| open(plan).map(|(_, spacing)| spacing.word().to_owned())).in_scenarios("rate.arrival"),
    value("think-time", "TIME", "Sleep after every operation instead of the scenario's sleeps; 0s for none", |asked, name, text| set(&mut asked.changes.think_ns, time(name, text)), |_| None),
    value("iterations", "N", "End after so many turns of users", |asked, name, text| set(&mut asked.iterations, number(name, text)), |plan| plan.iterations.map(|turns| turns.to_string())),
    value("object-size", "SIZES", "Of what is written, and of objects made before: 4KiB, 1KiB/50:1MiB/50, 4KiB-64KiB, lognormal(64KiB,1.5)", |asked, _, text| set(&mut asked.changes.sizes, ObjectSizes::parse(text)), |_| None),
    value("seeds", "N", "Objects made before the load", |asked, name, text| set(&mut asked.changes.seeds, number(name, text)), |plan| plan.scenario.seeds_text()),
    value("guest", "LINK", "Of a file share: the guest link by which `post` puts files up; @VARIABLE takes it from the environment", |asked, _, text| set(&mut asked.guest, given("guest", text)), |_| None).kept_as(recorded_variable),
    value("keys", "LAW", "Which of them are read: uniform, zipf or zipf:THETA", |asked, _, text| set(&mut asked.changes.keys, KeyChoice::parse(text)), |plan| Some(plan.scenario.keys.text())).in_scenarios("keys"),
    value("range", "SIZE", "Read parts of objects: each get asks for SIZE bytes at a random multiple of SIZE, the whole of smaller objects", |asked, name, text| set(&mut asked.changes.range, bytes(name, text)), |plan| plan.scenario.range.map(|size| Bytes(size).to_string())).in_scenarios("range"),
    value("data", "KIND", "Content of objects: random (incompressible), text or zeros", |asked, name, text| set(&mut asked.changes.data, word(name, text, ObjectData::ALL, ObjectData::word)), |plan| Some(plan.scenario.data.word().to_owned())).in_scenarios("data"),
    value("payload", "MODE", "Whether signatures cover bodies: signed or unsigned", |asked, name, text| set(&mut asked.changes.payload, word(name, text, PayloadMode::ALL, PayloadMode::word)), |plan| Some(plan.scenario.payload.word().to_owned())).in_scenarios("payload"),
    value("seed", "N", "Begins every stream of chance [default: 1]", |asked, name, text| set(&mut asked.seed, number(name, text)), |plan| Some(plan.seed.to_string())),
    value("threads", "N", "Load threads [default: half of the CPUs]", |asked, name, text| set(&mut asked.threads, number(name, text)), |plan| Some(plan.effective_threads().to_string())),
    value("timeout", "TIME", "A request that takes longer has failed [default: 60s]", |asked, name, text| set(&mut asked.timeout_ns, time(name, text)), |plan| nanos(plan.timeout_ns)),
    value("retries", "N", "Tries after a failure that may pass; counted apart [default: 0]", |asked, name, text| set(&mut asked.retries, number(name, text)), |plan| Some(plan.retries.to_string())),
    value("http2-connections", "N", "Of --http2: so many connections that users share [default: one a load thread and an endpoint]", |asked, name, text| set(&mut asked.http2_connections, number(name, text)), |plan| connections(plan).map(|n| n.to_string())),
    value("find-knee", "THRESHOLD", "Raise the rate until this, or a --threshold, breaks, and report the highest that holds; --rate is the first [default: 100]", |asked, _, text| set(&mut asked.knee.threshold, threshold(text)), |_| None).of_the_command(),
    value("step-duration", "TIME", "Length of a step of --find-knee [default: 10s]", |asked, name, text| set(&mut asked.knee.step_ns, time(name, text)), |_| None).of_the_command(),
    value("most-rate", "RATE", "Where --find-knee ends at the latest [default: 1M/s]", |asked, name, text| set(&mut asked.knee.most, rate(name, text)), |_| None).of_the_command(),
    switch("verify", "Compare every byte that is read with what was written", |asked, is_on| asked.changes.verify = is_on, |plan| Some(plan.scenario.verify.to_string())).in_scenarios("verify"),
    switch("new-connections", "One connection a request", |asked, is_on| asked.turn(LoadSwitch::NewConnections, is_on), |plan| Some(plan.new_connections.to_string())),
    switch("http2", "HTTP/2: users are streams of shared connections; without TLS the server must take it without being asked", |asked, is_on| asked.turn(LoadSwitch::Http2, is_on), |_| None),
    switch("insecure", "Believe any TLS certificate", |asked, is_on| asked.turn(LoadSwitch::Insecure, is_on), |_| None),
    switch("keep", "Leave what was made", |asked, is_on| asked.turn(LoadSwitch::Keep, is_on), |plan| Some(plan.keep.to_string())),
    switch("no-thresholds", "Leave the scenario's own thresholds out", |asked, is_on| asked.changes.no_thresholds = is_on, |_| None),
];

fn set<T>(place: &mut Option<T>, value: Result<T, LoadError>) -> Result<(), LoadError> {
    *place = Some(value?);
    Ok(())
}

fn word<T: Copy>(
    name: &str,
    text: &str,
    all: &[T],
    word: fn(T) -> &'static str,
) -> Result<T, LoadError> {
    let known = all.iter().find(|one| word(**one) == text);
    known.copied().ok_or_else(|| {
        let words: Vec<&str> = all.iter().map(|one| word(*one)).collect();
        LoadError::Asked(format!(
            "--{name} {text:?} is not one of {}",
            words.join(", ")
        ))
    })
}

fn number<N: FromStr>(name: &str, text: &str) -> Result<N, LoadError> {
    text.parse().map_err(|_no_number| {
        LoadError::Asked(format!(
            "--{name} {text:?} is no number that fits; example: --{name} 16"
        ))
    })
}

fn time(name: &str, text: &str) -> Result<u64, LoadError> {
    let time = Nanos::parse(text).map_err(|e| LoadError::Asked(format!("--{name}: {e}")))?;
    Ok(time.0)
}

fn bytes(name: &str, text: &str) -> Result<u64, LoadError> {
    let size = Bytes::parse(text).map_err(|e| LoadError::Asked(format!("--{name}: {e}")))?;
    Ok(size.0)
}

fn rate(name: &str, text: &str) -> Result<f64, LoadError> {
    let rate = Rate::parse(text).map_err(|e| LoadError::Asked(format!("--{name}: {e}")))?;
    Ok(rate.0)
}

fn nanos(ns: u64) -> Option<String> {
    Some(Nanos(ns).exact())
}

fn closed(plan: &LoadPlan) -> Option<&Ramp> {
    match &plan.scenario.arrivals {
        Arrivals::Closed { users } => Some(users),
        Arrivals::Open { .. } => None,
    }
}

fn open(plan: &LoadPlan) -> Option<(&Ramp, Spacing)> {
    match &plan.scenario.arrivals {
        Arrivals::Closed { .. } => None,
        Arrivals::Open { rate, spacing, .. } => Some((rate, *spacing)),
    }
}

fn connections(plan: &LoadPlan) -> Option<u32> {
    match plan.version {
        HttpVersion::One => None,
        HttpVersion::Two { connections } => Some(connections),
    }
}

impl AskedLoad {
    /// The load of a scenario as it was asked for. `threads` is what is usual on this machine.
    ///
    /// # Errors
    /// Options that do not fit each other or the scenario.
    pub fn plan(
        mut self,
        scenario: Scenario,
        keys: LoadKeys,
        threads: u32,
    ) -> Result<LoadPlan, LoadError> {
        if self.knee.threshold.is_some() {
            // They are of the steps of the search.
            (self.changes.rate, self.changes.spacing) = (None, None);
        }
        let scenario = scenario.adjusted(&self.changes)?;
        let threads = self.threads.unwrap_or(threads);
        let (trust, version) = (self.trust()?, self.version(&scenario, threads)?);
        let target = self.target.clone().ok_or_else(|| {
            LoadError::asked("no --target; example: --target s3://bucket@http://127.0.0.1:9000")
        })?;
        Ok(LoadPlan {
            server_counters: target.is_s3() || target.is_share(),
            share: LoadShare::default(),
            of_all: None,
            step_per_second: None,
            scenario,
            target,
            headers: self.headers.clone(),
            credentials: keys.credentials,
            secret: keys.secret,
            guest: self.guest.clone(),
            trust,
            threads,
            timeout_ns: self.timeout_ns.unwrap_or(60_000_000_000),
            retries: self.retries.unwrap_or(0),
            new_connections: self.is_on(LoadSwitch::NewConnections),
            version,
            seed: self.seed.unwrap_or(1),
            keep: self.is_on(LoadSwitch::Keep),
            iterations: self.iterations,
            warmup_ns: self.warmup_ns.unwrap_or(0),
        })
    }

    fn turn(&mut self, switch: LoadSwitch, is_on: bool) {
        if is_on {
            self.on.insert(switch);
        } else {
            self.on.remove(&switch);
        }
    }

    fn is_on(&self, switch: LoadSwitch) -> bool {
        self.on.contains(&switch)
    }

    fn trust(&self) -> Result<Trust, LoadError> {
        match (self.is_on(LoadSwitch::Insecure), self.cacert.clone()) {
            (true, Some(_)) => Err(LoadError::asked(
                "--insecure believes anybody, --cacert only some; give one of them",
            )),
            (true, None) => Ok(Trust::Anybody),
            (false, Some(file)) => Ok(Trust::File(file)),
            (false, None) => Ok(Trust::Public),
        }
    }

    fn version(&self, scenario: &Scenario, threads: u32) -> Result<HttpVersion, LoadError> {
        let endpoints = self.target.as_ref().map_or(1, LoadTarget::endpoint_count);
        match (self.is_on(LoadSwitch::Http2), self.http2_connections) {
            (false, None) => Ok(HttpVersion::One),
            (false, Some(_)) => Err(LoadError::asked("--http2-connections belongs to --http2")),
            (true, connections) => {
                let usual = || threads.max(endpoints).min(scenario.most_users());
                Ok(HttpVersion::Two {
                    connections: connections.unwrap_or_else(usual),
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A value of each option that is not the usual one.
    const SAMPLES: [(&str, &str); 34] = [
        ("target", "http://other:1/x"),
        ("header", "Accept: blue"),
        ("threshold", "errors<1%"),
        ("cacert", "ca.pem"),
        ("scale", "0.5"),
        ("users", "3"),
        ("duration", "7s"),
        ("stages", "1s:2,2s:3"),
        ("warmup", "1s"),
        ("rate", "50/s"),
        ("arrival", "constant"),
        ("think-time", "5ms"),
        ("iterations", "9"),
        ("object-size", "8KiB"),
        ("seeds", "200"),
        ("guest", "link"),
        ("keys", "zipf:0.5"),
        ("range", "8KiB"),
        ("data", "zeros"),
        ("payload", "unsigned"),
        ("seed", "7"),
        ("threads", "3"),
        ("timeout", "9s"),
        ("retries", "2"),
        ("http2-connections", "2"),
        ("find-knee", "p99<50ms"),
        ("step-duration", "3s"),
        ("most-rate", "900/s"),
        ("verify", "true"),
        ("new-connections", "true"),
        ("http2", "true"),
        ("insecure", "true"),
        ("keep", "true"),
        ("no-thresholds", "true"),
    ];

    fn read(options: &[(&str, &str)]) -> Result<AskedLoad, LoadError> {
        let mut asked = AskedLoad::default();
        for (name, text) in options {
            LoadOption::named(name).unwrap().read(&mut asked, text)?;
        }
        Ok(asked)
    }

    fn plan(options: &[(&str, &str)]) -> LoadPlan {
        let target = [("target", "s3://bucket@http://h:1")];
        let asked = read(&[&target, options].concat()).unwrap();
        let scenario = Scenario::preset("download").unwrap();
        asked.plan(scenario, LoadKeys::default(), 4).unwrap()
    }

    #[test]
    fn every_option_changes_the_load_and_what_it_shows_reads_back() {
        for (option, (name, text)) in LOAD_OPTIONS.iter().zip(SAMPLES) {
            assert_eq!(option.name, name);
            assert!(!option.help.is_empty());
            let needs: &[(&str, &str)] = match name {
                "arrival" => &[("rate", "50/s")],
                "http2-connections" => &[("http2", "true")],
                _ => &[],
            };
            let with = [needs, &[(name, text)]].concat();
            let asked = |options: &[(&str, &str)]| format!("{:?}", read(options).unwrap());
            assert_ne!(asked(needs), asked(&with), "{name} is read");
            let (before, after) = (plan(needs), plan(&with));
            if option.is_of_arms {
                let [before, after] = [&before, &after].map(|plan| format!("{plan:?}"));
                assert_ne!(before, after, "{name} changes the load");
            }
            if let Some(shown) = option.show(&after) {
                assert_ne!(
                    option.show(&before).as_ref(),
                    Some(&shown),
                    "{name} is shown"
                );
                let words = shown.replace(' ', "");
                assert!(
                    words.contains(&text.trim_end_matches("/s").replace(' ', ""))
                        || name == "stages"
                        || name == "seeds",
                    "{name}: {shown}"
                );
            }
        }
    }

    #[test]
    fn a_key_of_a_scenario_file_is_read_as_the_option_that_says_the_same() {
        let parsed = |line: &str| {
            let rest = "rate.connections = 2\nrate.stages = [{ for = \"1s\", to = \"5\" }]\n[[seed]]\nsize = \"1KiB\"\n[[operation]]\nkind = \"get\"\n";
            Scenario::parse(&format!("{line}\n{rest}"), "f").unwrap()
        };
        for (option, (name, text)) in LOAD_OPTIONS.iter().zip(SAMPLES) {
            let Some(key) = option.scenario_key else {
                continue;
            };
            let line = match option.value() {
                None => format!("{key} = {text}"),
                Some(_) if option.is_repeated => format!("{key} = [{text:?}]"),
                Some(_) => format!("{key} = {text:?}"),
            };
            let asked = read(&[(name, text)]).unwrap();
            let wanted = parsed("").adjusted(&asked.changes).unwrap();
            assert_eq!(parsed(&line), wanted, "{name}");
            assert_ne!(parsed(""), wanted, "{name} changes the scenario");
        }
    }

    #[test]
    fn values_that_an_option_does_not_take_are_refused_with_its_name() {
        for (name, text, told) in [
            ("users", "many", "--users \"many\" is no number that fits"),
            ("timeout", "soon", "--timeout: "),
            ("rate", "fast", "--rate: "),
            (
                "data",
                "noise",
                "--data \"noise\" is not one of random, text, zeros",
            ),
            (
                "arrival",
                "often",
                "--arrival \"often\" is not one of poisson, constant",
            ),
            ("keep", "maybe", "keep=maybe: a switch is true or false"),
            ("keys", "random", "neither uniform nor zipf"),
        ] {
            let error = read(&[(name, text)]).unwrap_err().to_string();
            assert!(error.contains(told), "{name}: {error}");
        }
    }

    #[test]
    fn options_that_do_not_fit_each_other_are_refused() {
        let refused = |options: &[(&str, &str)]| {
            let asked = read(options).unwrap();
            let scenario = Scenario::preset("get").unwrap();
            let plan = asked.plan(scenario, LoadKeys::default(), 1);
            plan.unwrap_err().to_string()
        };
        assert!(refused(&[]).contains("no --target"));
        let both = [("insecure", "true"), ("cacert", "x.pem")];
        assert!(refused(&both).contains("give one of them"));
        assert!(refused(&[("http2-connections", "2")]).contains("belongs to --http2"));
    }
}
