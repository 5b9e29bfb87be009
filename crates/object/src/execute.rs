//! A load from setup to record.

mod course;
mod ranks;
mod removal;
mod snapshots;

pub use snapshots::not_removed;

use crate::LoadError;
use crate::account::{self, LoadEnd};
use crate::bulk::Bulk;
use crate::connection::Peer;
use crate::ledger::live_counters;
use crate::payload::Object;
use crate::plan::LoadPlan;
use crate::scenario::Arrivals;
use crate::settings::LoadSettings;
use crate::target::Service;
use crate::user::SeedSet;
use crate::verbs::Call;
use crate::worker::{Live, Shared};
use course::{Remains, elapsed_ns, threads, wait};
use host::{Context, Counted, Event, Participant, Session, Watch};
use ranks::{common_start, is_ended_by_others, meet, why_others_ended};
use record::{LiveCounters, Measurements, Record};
use removal::BucketPatience;
use snapshots::{LoadSnapshots, SetupSnapshots};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};
use sys::{Clock, Usage};
use units::counted;

/// From the start of the threads to the common start: none of them begins late.
const LEAD_NS: u64 = 10_000_000;
/// How late a thread may see that its time is over.
const LOOK_NS: u64 = 20_000_000;

/// Runs a load and returns its record: operations, series, phases, thresholds and outcome. What was
/// asked is the caller's.
///
/// # Errors
/// Nothing was measured: what was asked makes no sense, the target is not there, or a signal came
/// first.
pub fn execute(
    plan: &LoadPlan,
    context: &Context,
    watch: &mut dyn Watch,
) -> Result<Record, LoadError> {
    let mut setup = Setup::make(plan, context, watch)?;
    match setup.run(plan, context, watch) {
        Ok(mut record) => {
            setup.remove_with_others(context, &mut record);
            Ok(record)
        }
        Err(error) => {
            if !error.comes_after_the_start() {
                return Err(setup.given_up(context, error));
            }
            let mut nowhere = Record::default();
            setup.remove_with_others(context, &mut nowhere);
            Err(error.with_left(&nowhere.notes()))
        }
    }
}

/// What a load needs on the server: the bucket, and the objects that are there before. Several
/// loads of one scenario may use it, one after another.
pub struct Setup {
    settings: Arc<LoadSettings>,
    peers: Arc<Vec<Peer>>,
    seeds: Arc<SeedSet>,
    bulk: Bulk,
    pub(crate) measured: Measurements,
    /// What was not as it should be and does not keep the load from running.
    pub(crate) notices: Vec<String>,
    /// Files of the setup that may be on a server which names them itself: what put them up was not answered.
    unnamed: u64,
    keep: bool,
    /// Whether other ranks use the same bucket.
    has_others: bool,
    runs: u64,
}

/// Numbers of objects that each of several runs has for itself.
const NUMBERS_OF_A_RUN: u64 = 1_000_000_000;

impl Setup {
    /// As far as the first meeting: there is a bucket then for all ranks.
    fn found(plan: &LoadPlan, context: &Context) -> Result<Self, LoadError> {
        plan.check()?;
        let most = u64::from(plan.scenario.most_users());
        if sys::raise_file_limit() < most + 64 {
            return Err(LoadError::asked(format!(
                "{most} connections need as many open files; raise `ulimit -n`, or give fewer --users"
            )));
        }
        let find = |endpoint| Peer::find(endpoint, &plan.trust, plan.version);
        let peers = Arc::new(
            plan.target
                .endpoints
                .iter()
                .map(find)
                .collect::<Result<Vec<Peer>, LoadError>>()?,
        );
        let settings = Arc::new(LoadSettings::of(plan, context));
        let seeds = Arc::new(SeedSet::new(&plan.scenario.seeds, plan.scenario.keys));
        let bulk = Bulk::new(&settings, &peers)
            .map_err(|e| LoadError::Target(format!("no runtime: {e}")))?;
        let mut setup = Self {
            settings,
            peers,
            seeds,
            bulk,
            measured: Measurements::default(),
            notices: Vec::new(),
            unnamed: 0,
            keep: plan.keep,
            has_others: plan.share.size > 1,
            runs: 0,
        };
        // The first rank makes what all need; the others find it made.
        let found = match plan.share.rank {
            0 => setup.find_servers(plan),
            _ => Ok(()),
        };
        if let Err(error) = found.and_then(|()| meet(context)) {
            // Nobody has put anything into the bucket.
            let mut left = Record::default();
            setup.bucket().remove(&mut left, BucketPatience::None);
            return Err(error.with_left(&left.notes()));
        }
        Ok(setup)
    }

    fn find_servers(&mut self, plan: &LoadPlan) -> Result<(), LoadError> {
        let bucket = match &plan.target.service {
            Service::S3 { bucket } => Some(bucket),
            Service::Http { .. } | Service::Share => None,
        };
        self.notices = self.bulk.find_servers(bucket, plan.share.rank > 0)?;
        Ok(())
    }

    /// Makes what a rank needs for itself, as far as the third meeting, to which all come. What is
    /// refused to one of them is so before any has made anything.
    fn fill(
        &mut self,
        plan: &LoadPlan,
        context: &Context,
        watch: &mut dyn Watch,
    ) -> Result<(), LoadError> {
        if let Err(error) = self.enter(plan).and_then(|()| meet(context)) {
            // What was not begun is not there to be removed.
            self.seeds_mut().objects.clear();
            return Err(error);
        }
        let all = self.seeds.objects.clone();
        let mut snapshots = SetupSnapshots::of(context, plan, &self.settings);
        let mut look = |done| snapshots.iter_mut().for_each(|of| of.look(done));
        // Whoever is killed while it makes them leaves word that it began.
        (!all.is_empty()).then(|| look(0));
        self.put(&all, context, watch, &mut look)
    }

    fn enter(&mut self, plan: &LoadPlan) -> Result<(), LoadError> {
        if plan.share.rank > 0 {
            self.find_servers(plan)?;
        }
        let secret = plan.secret.as_ref().filter(|_| plan.target.is_share());
        secret.map_or(Ok(()), |secret| self.bulk.log_in(secret.text()))
    }

    fn seeds_mut(&mut self) -> &mut SeedSet {
        Arc::get_mut(&mut self.seeds).expect("no load is under way")
    }

    /// Makes objects, and has somebody `look` meanwhile at how many there are.
    fn put(
        &mut self,
        objects: &[Object],
        context: &Context,
        watch: &mut dyn Watch,
        look: &mut dyn FnMut(u64),
    ) -> Result<(), LoadError> {
        let to_do = units::lossless::to_u64(objects.len());
        let is_told = || sys::caught_signal().is_some();
        let stopped = || is_told() || is_ended_by_others(context);
        let size = |object: &Object| object.size;
        let bytes = objects.iter().map(size).fold(0, u64::saturating_add);
        let each = bytes / to_do.max(1);
        let done = self.bulk.each(Call::Put, objects, &stopped, &mut |done| {
            look(done);
            let done = done.saturating_mul(each);
            watch.on(&Event::Preparing {
                done,
                to_do: bytes,
                bytes_per_second: None,
            });
        });
        self.measured.merge(&done.measured);
        let is_share = self.settings.service == Service::Share;
        // What nobody knows the name of can be counted, and not removed.
        let (in_doubt, unnamed): (&[Object], u64) = match is_share {
            true => (&[], done.tries_in_doubt),
            false => (&done.in_doubt, 0),
        };
        self.unnamed += unnamed;
        let seeds = self.seeds_mut();
        seeds.rename(&done.named);
        if done.undone.is_empty() {
            seeds.give_back();
        } else {
            seeds.settle(objects, &done.named, in_doubt);
        }
        if stopped() {
            let left = String::new();
            return Err(match is_told() {
                true => LoadError::Interrupted { left },
                false => why_others_ended(context),
            });
        }
        if let Some(failure) = done.first {
            let (n, what) = (done.undone.len(), failure.what);
            let all = counted(to_do, "object");
            return Err(LoadError::Target(format!(
                "{n} of {all} that the load reads could not be made, the first because: {what}; the target must be reachable and writable"
            )));
        }
        Ok(())
    }

    fn ran(
        &mut self,
        plan: &LoadPlan,
        context: &Context,
        watch: &mut dyn Watch,
    ) -> Result<Record, LoadError> {
        plan.check()?;
        if self.runs > 0 {
            self.measured = Measurements::default();
            let taken = self.seeds.taken().to_vec();
            self.put(&taken, context, watch, &mut |_| ())?;
        }
        let seen = plan.server_counters.then(|| self.bulk.seen()).flatten();
        let session = Session::open(context, 1, watch);
        let record = context.record("load", &plan.name(), None);
        let mut snapshots = LoadSnapshots::of(context, plan, self, &record);
        let ended = self.measure(plan, session.part(0), snapshots.as_mut())?;
        let server = seen.and_then(|before| self.bulk.seen_since(&before));
        self.runs += 1;
        let left = Remains::of(&ended.reports, &self.settings.service);
        let mut record = account::completed(record, plan, self, ended, server);
        session.close(std::slice::from_mut(&mut record));
        if context.peers().is_some() {
            let began = record.workers.iter().map(|worker| worker.started_ns);
            let late_ns = began.min().unwrap_or(0);
            record.begins_itself(late_ns);
        }
        account::judge(plan, &mut record);
        if let Some(snapshots) = snapshots {
            let seeds = self.seeds.left().len();
            let objects = if self.keep {
                0
            } else {
                seeds + left.objects.len()
            };
            snapshots.measured(&record, objects, left.uploads.len());
        }
        self.clear(&left, &mut record);
        Ok(record)
    }
}

impl Setup {
    /// Warm-up and measured time: threads, series, signals.
    fn measure(
        &self,
        plan: &LoadPlan,
        mut part: Participant<'_, '_>,
        mut snapshots: Option<&mut LoadSnapshots>,
    ) -> Result<LoadEnd, LoadError> {
        let context = part.context();
        let clock = context.clock;
        let common = common_start(context)?;
        part.ready(None, plan.warmup_ns);
        let late_ns = common.map_or(0, |start| clock.now().saturating_sub(start));
        if late_ns > 0 {
            let rank = plan.share.rank;
            return Err(LoadError::Missed {
                rank,
                late_ns,
                left: String::new(),
            });
        }
        let start = common.unwrap_or_else(|| clock.now() + LEAD_NS);
        let shared = Arc::new(self.shared(plan, start));
        let live = self.counters(plan, &shared);
        let running = threads(&shared, &live)?;
        let counted = Counted {
            measured: live.iter().map(|(measured, _)| &**measured).collect(),
            warmup: live.iter().map(|(_, warmup)| &**warmup).collect(),
            users: Some(&shared.users),
            ..Counted::default()
        };
        let mut observation = part.observe(counted, shared.start, plan.warmup_ns);
        if let Some(snapshots) = &mut snapshots {
            snapshots.begin(shared.measured_from);
        }
        let mut look = |now| {
            if let Some(snapshots) = &mut snapshots {
                snapshots.look(now, &live);
            }
        };
        let signal = wait(&shared, &running, context, &mut observation, &mut look);
        let mut panics = Vec::new();
        let mut reports = Vec::new();
        for thread in running {
            match thread.join() {
                Ok(Ok(done)) => reports.push(done),
                Ok(Err(error)) => panics.push(format!("a load thread could not run: {error}")),
                Err(_) => panics.push("a load thread panicked".to_owned()),
            }
        }
        part.end(Usage::default());
        let elapsed_ns = elapsed_ns(&shared, &reports, clock.now());
        Ok(LoadEnd {
            elapsed_ns,
            measured: observation.finish(shared.measured_from + elapsed_ns),
            reports,
            panics,
            signal,
            verifies: plan.scenario.verify,
            is_open: matches!(plan.scenario.arrivals, Arrivals::Open { .. }),
        })
    }

    /// Counters of each thread.
    fn counters(&self, plan: &LoadPlan, shared: &Shared) -> Vec<Live> {
        let kinds = plan.scenario.calls();
        let is_open = matches!(plan.scenario.arrivals, Arrivals::Open { .. });
        let counters = || -> Arc<LiveCounters> { live_counters(&kinds, is_open) };
        (0..shared.threads)
            .map(|_| (counters(), counters()))
            .collect()
    }

    fn shared(&self, plan: &LoadPlan, start: u64) -> Shared {
        Shared {
            scenario: if plan.warmup_ns > 0 {
                plan.scenario.after_warmup(plan.warmup_ns)
            } else {
                plan.scenario.clone()
            },
            settings: Arc::clone(&self.settings),
            peers: Arc::clone(&self.peers),
            seeds: Arc::clone(&self.seeds),
            seed: plan.seed,
            share: plan.share,
            threads: plan.effective_threads(),
            first_object: self.runs * NUMBERS_OF_A_RUN,
            turns_left: AtomicU64::new(plan.iterations.unwrap_or(u64::MAX)),
            turns_over: account::turns_over_ns(plan)
                .map(|over_ns| start + plan.warmup_ns + over_ns),
            stop: AtomicBool::new(false),
            abort: AtomicBool::new(false),
            users: AtomicU64::new(0),
            start,
            measured_from: start + plan.warmup_ns,
            grace_ns: plan.timeout_ns.saturating_add(LOOK_NS),
        }
    }
}
