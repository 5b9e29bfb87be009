//! `fathom run`: one I/O workload, or the phases of a file.

mod over;
mod plan;

pub(crate) use over::{OTHERS_NOT_BEGUN, after_others, cut_between, is_over};

use crate::exit::{OptionsRefused, Usage};
use crate::group::GroupWork;
use crate::live::{self, Live, LiveView, WorkView, page_title};
use crate::output::Output;
use crate::tell::{say, tell};
use crate::{context, fio, flags, group, keeper, target};
use anyhow::Result;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use conduct::measurable;
use host::{CommonStart, Context, Observed};
use lab::Kept;
use record::{Measurable, Threshold};
use run::{RunError, check_options, execute_stage, files_of, unstarted};
use std::path::{Path, PathBuf};
use units::Nanos;
use workload::fio::FioJobs;
use workload::{EngineTarget, Phase, SpecError, Stage, parse_config};

const AFTER_HELP: &str = "\
Examples:
  fathom run test.dat --file-size 1G --random --duration 10s
  fathom run test.dat --random --write-percent 30 --queue-depth 32 --direct
  fathom run /dev/nvme0n1 --random --queue-depth 64 --direct
  fathom run /mnt/shared/x --file-size 10G --random --duration 60s --hosts node1,node2,node3 --records r.jsonl
  fathom run --fio job.fio
  fathom run -- --name=x --filename=test.dat --size=1g --rw=randread --runtime=10 --time_based

Exit codes: 0 ok, 1 the run failed, 2 usage or this machine cannot, 3 a threshold missed, 4 ranks began further apart than --max-skew, 5 incomplete, 129, 130 or 143 stopped by a signal";

/// The verb's arguments.
pub(crate) fn command(name: &'static str) -> Command {
    let command = Command::new(name)
        .about("Runs one I/O workload on files, directories or block devices")
        .after_help(AFTER_HELP);
    let command = flags::add(command)
        .arg(
            path(
                "config",
                "FILE.toml",
                "Workload as TOML, with several [[phase]]s if wanted; flags override it",
            )
            .short('c'),
        )
        .arg(path(
            "fio",
            "JOBFILE",
            "Run a fio job file with fio's own unit rules",
        ))
        .arg(switch(
            "dry-run",
            "Check everything, show what would happen, and touch nothing; with --hosts check what the command line says and print the launcher's line: what a host has, only the rank there can see",
        ))
        .arg(
            Arg::new("threshold")
                .long("threshold")
                .value_name("CONDITION")
                .action(ArgAction::Append)
                .help("read.p99<5ms, iops>=10k, throughput>1GiB/s, cpu/op<10us, …: held against every record, of all ranks together; a miss is exit code 3"),
        )
        .arg(
            Arg::new("fio-arguments")
                .last(true)
                .num_args(0..)
                .value_name("FIO OPTIONS")
                .help("After `--`: a fio command line"),
        );
    let command = command.arg(keeper::argument());
    group::add(target::add(live::arguments_with_intervals(Output::add(
        command,
    ))))
}

pub(crate) fn path(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    Arg::new(name)
        .long(name)
        .value_name(value)
        .value_parser(value_parser!(PathBuf))
        .help(help)
}

pub(crate) fn switch(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name)
        .long(name)
        .action(ArgAction::SetTrue)
        .help(help)
}

/// Runs the verb and returns the exit code.
pub(crate) fn run(matches: &ArgMatches) -> Result<i32> {
    if fio::asks_for_version(matches) {
        tell(&fio::version())?;
        return Ok(0);
    }
    group::note_front(matches);
    let place = group::RankPlace::read(matches)?;
    let launch = group::Launch::read(matches)?;
    let read = || {
        let readers = group::FileReaders::checked(matches)?;
        keeper::every_ns(matches)?;
        let asked = asked(matches, Output::new(matches)?, readers)?;
        readers.check_phases(asked.stages.iter().flat_map(|stage| &stage.0))?;
        Ok((target::observed(matches)?, asked))
    };
    let (target, asked) = match read() {
        Ok(read) => read,
        Err(error) => {
            let launch = launch.filter(|_| !matches.get_flag("dry-run"));
            return group::refuse(launch.as_ref(), OptionsRefused::of(error));
        }
    };
    if let Some(front) = group::LaunchFront::read(matches)? {
        check_command(&asked.stages)?;
        thresholds(matches, &asked.stages, target.as_ref())?;
        return front.run(matches);
    }
    match launch {
        Some(launch) if !matches.get_flag("dry-run") => {
            let thresholds = thresholds(matches, &asked.stages, target.as_ref());
            let asked = group::GroupAsked {
                works: asked.stages.into_iter().map(GroupWork::Stage).collect(),
                course: None,
                output: Box::new(asked.output),
                job: asked.job,
                thresholds,
                search: None,
            };
            group::run(matches, &launch, asked)
        }
        Some(launch) if !launch.is_root() => Ok(0),
        Some(_) | None => run_alone(matches, target, place.as_ref(), asked),
    }
}

/// What is wrong on every host, as far as a command line shows it without a look at any target.
fn check_command(stages: &[Stage]) -> Result<()> {
    for phase in stages.iter().flat_map(|stage| &stage.0) {
        let workload = &phase.workload;
        if workload.targets.is_empty() && workload.engine.target() != EngineTarget::Nothing {
            return Err(Usage(
                "no target; name a file, a directory, a block device or an nbd:// URL".into(),
            )
            .into());
        }
        check_options(workload)?;
    }
    Ok(())
}

/// Runs what was asked in this process, which knows of no other.
fn run_alone(
    matches: &ArgMatches,
    target: Option<Observed>,
    place: Option<&group::RankPlace>,
    asked: AskedRun,
) -> Result<i32> {
    let AskedRun {
        mut stages,
        mut output,
        job,
    } = asked;
    let checked = common_start(matches, place, &mut stages)
        .and_then(|start| Ok((start, thresholds(matches, &stages, target.as_ref())?)));
    let (common_start, thresholds) = checked.map_err(OptionsRefused::of)?;
    sys::catch_signals();
    let targets: Vec<PathBuf> = stages
        .iter()
        .flat_map(|stage| &stage.0)
        .flat_map(|phase| files_of(&phase.workload))
        .collect();
    output.check_writable(&targets)?;
    live::check_address(matches, &stages)?;
    if matches.get_flag("dry-run") {
        return plan::show(&stages, &output.places());
    }
    let context = Context {
        target,
        common_start,
        ..context::context(output.interval_ns())?
    };
    let live = Live::open(matches, &page_title(&stages))?;
    let mut records = Vec::new();
    let mut saved = Ok(());
    let mut begun = 0;
    for stage in &stages {
        begun += 1;
        live.begin_plain(LiveView::Work(Box::new(WorkView::of_stage(
            stage, &context,
        ))));
        let work = |context: &Context| execute_stage(stage, context, &mut live.clone());
        let ended = match keeper::kept(matches, &targets, None, &context, work)? {
            Ok(ended) => ended,
            Err(error) => {
                drop(live);
                let error = keep_failure(error, stage, &context, &output);
                if records.is_empty() {
                    return Err(error);
                }
                output.finish(&records, "")?;
                return Err(after_others(error, begun - 1));
            }
        };
        for mut record in ended {
            record.notices.extend(live.notice());
            record.notices.extend(group::notice(&record));
            record.notices.extend(of_job(job.as_ref(), &record.name));
            record.hold_against(&thresholds);
            live.keep(Kept::Record(&record));
            saved = saved.and_then(|()| output.save(&record));
            records.push(record);
        }
        if saved.is_err() || is_over(&records) {
            break;
        }
    }
    live.end(&live::ended(live::records(matches)));
    output.finish(&records, "")?;
    saved?;
    let codes = records.iter().map(|record| record.outcome.exit_code);
    let code = codes.max().unwrap_or(0);
    let lacks_some = begun < stages.len();
    let Some(caught) = cut_between(code, lacks_some, sys::caught_signal()) else {
        return Ok(code);
    };
    say(OTHERS_NOT_BEGUN);
    Ok(caught.exit_code())
}

/// Makes of the stages the part of this rank, if it is one.
fn common_start(
    matches: &ArgMatches,
    place: Option<&group::RankPlace>,
    stages: &mut [Stage],
) -> Result<Option<CommonStart>> {
    let common_start = place.map(|place| place.share(stages)).transpose()?;
    if !matches.get_flag("dry-run") {
        group::check_shift(stages, place)?;
        place.into_iter().for_each(group::RankPlace::tell_wait);
    }
    Ok(common_start)
}

/// What a foreign job says of a record of this name.
pub(crate) fn of_job(job: Option<&FioJobs>, name: &str) -> Vec<String> {
    let concerned = job.map(|job| {
        let notices = job.notices.iter();
        notices
            .filter(|notice| job.concerns(notice, name))
            .cloned()
            .collect()
    });
    concerned.unwrap_or_default()
}

/// The thresholds that were asked for; each is of something that a phase does.
pub(crate) fn thresholds(
    matches: &ArgMatches,
    stages: &[Stage],
    server: Option<&Observed>,
) -> Result<Vec<Threshold>> {
    let phases = || stages.iter().flat_map(|stage| &stage.0);
    let given = Measurable::of_any(phases().map(|phase| measurable(&phase.workload)));
    let given = target::beside(given, server);
    let read = crate::metric::thresholds(matches)?;
    for threshold in &read {
        let checked = threshold.check_given(&given);
        let text = threshold.text();
        checked.map_err(|why| Usage(format!("threshold {text:?}: the run has {why}")))?;
    }
    Ok(read)
}

/// A trial that failed before its clock started is a record too; a command that cannot work is
/// none.
fn keep_failure(
    error: RunError,
    stage: &Stage,
    context: &Context,
    output: &Output,
) -> anyhow::Error {
    let mut unstarted = stage
        .0
        .iter()
        .filter(|_| error.exit_code() != 2)
        .map(|phase| unstarted(phase, context, &error));
    match unstarted.try_for_each(|record| output.save(&record)) {
        Ok(()) => error.into(),
        Err(also) => anyhow::Error::from(error).context(also),
    }
}

/// What the command line says.
pub(crate) struct AskedRun {
    pub(crate) stages: Vec<Stage>,
    pub(crate) output: Output,
    /// What else a fio job says.
    pub(crate) job: Option<FioJobs>,
}

/// What to run, from a fio job, a TOML file, or the flags.
fn asked(matches: &ArgMatches, output: Output, readers: group::FileReaders) -> Result<AskedRun> {
    let fio_arguments: Vec<String> = matches
        .get_many::<String>("fio-arguments")
        .map(|args| args.cloned().collect())
        .unwrap_or_default();
    let config = matches.get_one::<PathBuf>("config");
    if matches.contains_id("fio") || !fio_arguments.is_empty() {
        if config.is_some() {
            return Err(Usage(
                "--config and a fio job both describe the workload; give one of them".into(),
            )
            .into());
        }
        let (stages, output, job) = fio::stages(matches, &fio_arguments, output, readers)?;
        return Ok(AskedRun {
            stages,
            output,
            job: Some(job),
        });
    }
    let Some(file) = config else {
        no_jobs_as_targets(matches)?;
        let stages = vec![Stage(vec![Phase {
            name: "run".into(),
            workload: flags::workload(matches)?,
        }])];
        return Ok(AskedRun {
            stages,
            output,
            job: None,
        });
    };
    let text = sys::text_at_most(file, sys::MOST_OF_A_TEXT)
        .map_err(|e| Usage(format!("cannot read {}: {e}", file.display())))?;
    let named = flags::targets(matches);
    let mut stages = parse_config(
        &text,
        &workload::Workload::default(),
        &flags::given(matches),
    )
    .map_err(|error| in_file(error, file))?;
    if !named.is_empty() {
        stages
            .iter_mut()
            .flat_map(|stage| &mut stage.0)
            .for_each(|phase| phase.workload.targets.clone_from(&named));
    }
    Ok(AskedRun {
        stages,
        output,
        job: None,
    })
}

/// A job of fio that stands where a target does was meant to be run; a file of a size that nobody
/// asked for would be made under its name.
fn no_jobs_as_targets(matches: &ArgMatches) -> Result<()> {
    let is_job = |target: &&PathBuf| target.extension().is_some_and(|of| of == "fio");
    match flags::targets(matches).iter().find(is_job) {
        Some(job) => Err(Usage(format!(
            "{0} is named like a job file of fio, which --fio {0} runs; a target needs another name",
            job.display()
        ))
        .into()),
        None => Ok(()),
    }
}

/// An error of a TOML file with the file's name; one of a flag as it is.
fn in_file(mut error: SpecError, of: &Path) -> SpecError {
    if let SpecError::Syntax { file, .. } | SpecError::Line { file, .. } = &mut error {
        *file = of.display().to_string();
    }
    error
}

/// Reads a time given for a flag of this verb.
pub(crate) fn time(matches: &ArgMatches, key: &str) -> Result<Option<Nanos>> {
    matches
        .get_one::<String>(key)
        .map(|text| {
            Nanos::parse(text).map_err(|source| {
                SpecError::Expected {
                    key: key.into(),
                    source,
                }
                .into()
            })
        })
        .transpose()
}
