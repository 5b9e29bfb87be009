//! A rank that is connected with no other: what the command line says of its place among them.

use super::own_targets;
use super::reach::{reach, target_is};
use crate::exit::{OptionsRefused, Usage};
use crate::tell::say;
use anyhow::Result;
use clap::ArgMatches;
use host::{CommonStart, StartBy};
use record::{GroupAccount, Record, TargetReach};
use std::time::{Duration, SystemTime};
use workload::{FileSharing, MetaOp, Phase, Rank, Shift, Stage, Workload};

/// What is asked of a rank.
pub(crate) struct RankPlace {
    rank: Rank,
    at: SystemTime,
    clock_bound_ns: Option<u64>,
    is_synchronised: bool,
    target_is: Option<TargetReach>,
}

impl RankPlace {
    /// `None` for a run on its own.
    pub(crate) fn read(matches: &ArgMatches) -> Result<Option<Self>> {
        let clock = sys::wall_clock_state().ok();
        Self::asked(matches, clock).map_err(OptionsRefused::of)
    }

    fn asked(matches: &ArgMatches, clock: Option<sys::WallClockState>) -> Result<Option<Self>> {
        let text = |name: &str| matches.get_one::<String>(name);
        let (rank, start) = match (text("rank"), text("start-at")) {
            (None, None) => return Ok(None),
            (Some(rank), Some(start)) => (rank, start),
            (Some(_), None) => {
                return Err(Usage("--rank needs --start-at TIME: ranks are not connected, and begin together by the clock".into()).into());
            }
            (None, Some(_)) => {
                return Err(Usage(
                    "--start-at needs --rank NUMBER/SIZE, such as 0/1 for a process on its own"
                        .into(),
                )
                .into());
            }
        };
        if matches.get_one::<std::path::PathBuf>("records").is_none() {
            return Err(Usage(
                "--rank needs --records FILE: `fathom merge` joins the files of all ranks".into(),
            )
            .into());
        }
        let index = std::env::var("JOB_COMPLETION_INDEX").ok();
        let rank = Rank::parse(rank, index.as_deref())?;
        let at = humantime::parse_rfc3339(start).map_err(|why| {
            Usage(format!(
                "--start-at {start:?} is not a moment in UTC, such as 2026-11-22T18:00:00Z: {why}"
            ))
        })?;
        let state = clock.filter(|state| state.is_synchronised);
        if state.is_none() && text("clock").is_none_or(|asked| asked != "unsynchronised") {
            return Err(Usage("nothing keeps the clock of this machine in step with others, so that a common start by the clock may be any time off; run chronyd or another NTP client, or give --clock unsynchronised, which the record says".into()).into());
        }
        Ok(Some(Self {
            rank,
            at,
            clock_bound_ns: state.map(|state| state.most_error_ns),
            is_synchronised: state.is_some(),
            target_is: target_is(matches),
        }))
    }

    /// Says until when this rank waits, where that is longer than anybody takes for a hang.
    pub(crate) fn tell_wait(&self) {
        let ahead = self.at.duration_since(sys::clock::wall_time());
        let ahead = ahead.map_or(0, |ahead| ahead.as_secs());
        if ahead < LONG_WAIT_S {
            return;
        }
        say(&format!(
            "rank {} of {} begins at {}, in {}",
            self.rank.number(),
            self.rank.size(),
            humantime::format_rfc3339_seconds(self.at),
            humantime::format_duration(Duration::from_secs(ahead)),
        ));
    }

    /// Makes of what all ranks were asked the part of this one.
    pub(crate) fn share(&self, stages: &mut [Stage]) -> Result<CommonStart> {
        let [Stage(phases)] = stages else {
            return Err(Usage("ranks that are not connected cannot wait for each other between phases: give one phase a command, each with a --start-at of its own".into()).into());
        };
        let [phase] = phases.as_mut_slice() else {
            return Err(Usage("a rank does one workload: give one phase a command".into()).into());
        };
        let workload = &phase.workload;
        let _its_shares_fit_each_other = workload.read_percent()?;
        let reach = self.target_is.unwrap_or_else(|| reach(workload));
        if self.rank.has_others() && reach == TargetReach::Shared {
            check_shared(workload)?;
        }
        if self.rank.has_others() && self.target_is.is_none() {
            check_names(workload, reach)?;
        }
        let plan = plan(phase);
        // Ranks of one machine may read one file together; what is written or verified is one rank's.
        let is_own = match reach {
            TargetReach::Local => {
                let is_said = self.target_is.is_some();
                is_said || workload.verify.on || workload.writes_blocks()
            }
            TargetReach::Shared | TargetReach::Unknown => false,
        };
        if is_own && own_targets::reads_others(workload) {
            return Err(Usage(own_targets::NO_OTHERS.into()).into());
        }
        let rank = match is_own {
            true => self.rank.at_target(0, 1),
            false => self.rank,
        };
        phase.workload = workload::share(workload, rank)?;
        Ok(CommonStart {
            rank: self.rank.number(),
            fresh_run: fresh_run(&plan, self.at),
            target_set: None,
            group: GroupAccount {
                size: self.rank.size(),
                launcher: "none".into(),
                plan,
                start_at: humantime::format_rfc3339_millis(self.at).to_string(),
                target_is: Some(reach),
                unsynchronised: !self.is_synchronised,
                ..GroupAccount::default()
            },
            by: StartBy::Clock {
                at: self.at,
                bound_ns: self.clock_bound_ns,
            },
        })
    }
}

/// A wait of so many seconds is announced.
const LONG_WAIT_S: u64 = 10;

/// Where no rank is further on, there is nothing that belongs to it.
pub(crate) fn check_shift(stages: &[Stage], place: Option<&RankPlace>) -> Result<()> {
    let mut phases = stages.iter().flat_map(|stage| &stage.0);
    if place.is_none()
        && phases.any(|phase| {
            phase
                .workload
                .shift
                .is_some_and(|shift| shift != Shift::By(0))
        })
    {
        return Err(Usage("--shift says how many ranks further on lies what a rank uses, and this is one process; start it by --hosts or under mpirun, or drop it".into()).into());
    }
    Ok(())
}

/// What only connected ranks could do to files that all of them use.
fn check_shared(workload: &Workload) -> Result<()> {
    let has_own =
        workload.files.sharing == FileSharing::PerWorker || !workload.files.meta.is_empty();
    let writes = workload.writes_blocks();
    if has_own || !(writes || workload.verify.on) {
        return Ok(());
    }
    let what = if writes { "write to" } else { "verify" };
    Err(Usage(format!(
        "ranks that are not connected cannot {what} files that all of them use: give --file-distribution per-worker, or --target-is local where each host has its own"
    ))
    .into())
}

/// One directory is dealt out, and of directories of their own each rank has all names.
fn check_names(workload: &Workload, reach: TargetReach) -> Result<()> {
    let meta = &workload.files.meta;
    if meta.is_empty() || reach == TargetReach::Shared {
        return Ok(());
    }
    let what = match meta.contains(&MetaOp::Walk) {
        true => "whether --meta walk goes over one tree that all of them see or each over its own",
        false => {
            "whether the names of --meta are dealt out in one directory that all of them see or each has all in its own"
        }
    };
    Err(Usage(format!(
        "ranks that are not connected cannot ask each other {what}: give --target-is shared or --target-is local; local says that each rank has a directory of its own, and two ranks of one machine need two of them"
    ))
    .into())
}

/// The same text for all ranks that were asked for the same.
pub(super) fn plan(phase: &Phase) -> String {
    let asked = workload::settings::shown(&phase.workload);
    let targets = &phase.workload.targets;
    record::hash_of(format!("{} {targets:?} {asked:?}", phase.name).as_bytes())
}

/// A number for the writes of ranks that cannot ask each other: the same work does not begin twice at
/// one moment.
fn fresh_run(plan: &str, at: SystemTime) -> u64 {
    let since = at
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    let moment = record::hash_of(format!("{plan} {}", since.as_nanos()).as_bytes());
    u64::from_str_radix(&moment, 16).expect("a hash is sixteen hexadecimal digits")
}

/// What the reader of a part must know of its place.
pub(crate) fn notice(record: &Record) -> Option<String> {
    let group = record.group.as_ref()?;
    let adrift = group.unsynchronised.then_some(
        "nothing keeps this machine's clock in step with others: how far apart ranks began is not known",
    )?;
    Some(adrift.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Arg, Command, value_parser};

    /// What becomes of a rank by the clock on a machine whose clock is known so far.
    fn by_clock(words: &str, clock: Option<sys::WallClockState>) -> Result<CommonStart> {
        let stage = Stage(vec![phase()]);
        stages_by_clock(words, clock, &mut [stage])
    }

    fn phase() -> Phase {
        Phase {
            name: "a".to_owned(),
            workload: Workload::default(),
        }
    }

    fn stages_by_clock(
        words: &str,
        clock: Option<sys::WallClockState>,
        stages: &mut [Stage],
    ) -> Result<CommonStart> {
        let records = Arg::new("records").long("records");
        let records = records.value_parser(value_parser!(std::path::PathBuf));
        let command = super::super::options::add(Command::new("run").arg(records));
        let line = "run --rank 0/1 --start-at 2099-01-01T00:00:00Z --records r";
        let words = line.split(' ').chain(words.split_whitespace());
        let place = RankPlace::asked(&command.try_get_matches_from(words)?, clock)?;
        place.unwrap().share(stages)
    }

    #[test]
    fn ranks_that_are_not_connected_do_one_phase() {
        let known = Some(sys::WallClockState {
            is_synchronised: true,
            most_error_ns: 7_000,
        });
        let told = |mut stages: Vec<Stage>| {
            let shared = stages_by_clock("", known, &mut stages);
            shared.unwrap_err().to_string()
        };
        let one_after_another = told(vec![Stage(vec![phase()]), Stage(vec![phase()])]);
        assert!(
            one_after_another.contains("between phases"),
            "{one_after_another}"
        );
        let side_by_side = told(vec![Stage(vec![phase(), phase()])]);
        assert!(side_by_side.contains("one workload"), "{side_by_side}");
        assert!(by_clock("", known).is_ok());
    }

    #[test]
    fn a_clock_that_nothing_keeps_in_step_is_refused_and_another_has_the_bound_of_the_kernel() {
        let state = |is_synchronised| {
            Some(sys::WallClockState {
                is_synchronised,
                most_error_ns: 7_000,
            })
        };
        for clock in [state(false), None] {
            for words in ["", "--clock synchronised"] {
                let why = by_clock(words, clock).unwrap_err().to_string();
                assert!(why.contains("give --clock unsynchronised"), "{why}");
            }
        }
        let told = |words, clock| {
            let start = by_clock(words, clock).unwrap();
            let StartBy::Clock { bound_ns, .. } = start.by else {
                panic!("it begins by the clock");
            };
            (start.group.unsynchronised, bound_ns)
        };
        assert_eq!(told("--clock unsynchronised", state(false)), (true, None));
        assert_eq!(told("--clock unsynchronised", None), (true, None));
        for words in ["", "--clock unsynchronised"] {
            assert_eq!(told(words, state(true)), (false, Some(7_000)));
        }
    }

    #[test]
    fn the_writes_of_all_ranks_have_one_number_and_those_of_another_start_another() {
        let at = SystemTime::UNIX_EPOCH + Duration::from_millis(1_800_000_000_123);
        let phase = Phase {
            name: "a".to_owned(),
            workload: Workload::default(),
        };
        let of_rank = || fresh_run(&plan(&phase), at);
        assert_eq!(of_rank(), of_rank());
        let later = fresh_run(&plan(&phase), at + Duration::from_millis(1));
        assert_ne!(of_rank(), later);
    }
}
