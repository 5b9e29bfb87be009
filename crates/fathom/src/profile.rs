//! `fathom profile`: the standard rows of a directory, file or device, in randomised passes, or the
//! phases of IO500.

mod io500;
mod results;
mod together;

pub(crate) use io500::Io500Together;

use crate::card;
use crate::context;
use crate::exit::{OptionsRefused, Usage};
use crate::flags;
use crate::group;
use crate::live::{self, Live, LiveView, ProfileView};
use crate::run::{path, switch, time};
use crate::tell::{findings_argument, layout, tell};
use crate::written;
use analyze::{Study, StudyOptions, study};
use anyhow::Result;
use clap::{Arg, ArgMatches, Command, value_parser};
use conduct::profile::{Effort, ProfileError, ProfileRequest, Profiled, profile};
use conduct::{Alone, Generator};
use host::Context;
use lab::{Kept, WhyEnded};
use report::{ProfileAccount, ProfileEnd, TextLayout, profile_text};
use results::{INTERVAL_NS, Results};
use std::path::{Path, PathBuf};
use units::Bytes;
use workload::{EngineName, SpecError};

const AFTER_HELP: &str = "\
A directory gets one file of its own, which is removed when the profile ends, also after Ctrl-C; a file or device that exists is only read
unless --allow-destroy names it. Nothing else is touched.

Examples:
  fathom profile
  fathom profile /mnt/data --quick -o records.jsonl --card card.png
  fathom profile /dev/nvme0n1
  fathom profile . --rows rows.toml --passes 10
  fathom profile /mnt/shared --hosts node1,node2 -o records.jsonl
  fathom profile /mnt/shared --io500-like --hosts node1,node2,node3 -o io500.jsonl

A file of --rows has the form of `fathom run --config`: each [[phase]] is a row.

Exit codes: 0 measured; 1 the target failed; 2 usage, or this target cannot be profiled; 4 ranks of an IO500-like run began further apart than --max-skew; 5 ranks are lost, or phases of IO500 are missing; 129, 130 or 143 stopped by a signal";

pub(crate) fn command() -> Command {
    live::arguments(io500::arguments(arguments()))
}

fn arguments() -> Command {
    Command::new("profile")
        .about("Measures the standard profile of a directory, file or device: throughput, latency, a queue-depth curve, with intervals")
        .after_help(AFTER_HELP)
        .arg(
            Arg::new("path")
                .value_name("PATH")
                .default_value(".")
                .value_parser(value_parser!(PathBuf))
                .help("A directory, or an existing file or block device"),
        )
        .arg(switch("quick", "About 30 s, with fewer rows").conflicts_with("thorough"))
        .arg(switch("thorough", "About 15 minutes, with more passes and a larger file"))
        .arg(path("records", "RECORDS.jsonl", "Append the records there; without it they are not kept").short('o'))
        .arg(path("report", "FILE.html", "Write the report there, a page to be opened in a browser"))
        .arg(card::argument())
        .arg(Arg::new("budget").long("budget").value_name("TIME").help("Time for everything [default: 170s; 30s with --quick]"))
        .arg(
            Arg::new("passes")
                .long("passes")
                .value_name("N")
                .value_parser(value_parser!(u32).range(1..=1000))
                .help("Measure every row exactly N times, however long that takes [default: 6, or what the budget allows]"),
        )
        .arg(
            Arg::new("size")
                .long("size")
                .value_name("SIZE")
                .help("Bytes of the file, of all ranks together; give the same where profiles are to be compared [default: up to 4G, a quarter of the free space, and what is quickly written]"),
        )
        .arg(
            Arg::new("engine")
                .long("engine")
                .value_name("NAME")
                .help("Engine of all rows: sync, io_uring, libaio, mmap [default: sync at depth 1, io_uring beyond]"),
        )
        .arg(path("rows", "FILE.toml", "Measure the rows of this file instead of the standard ones"))
        .arg(path("allow-destroy", "PATH", "Permit writing to the existing file or device that is profiled; its content is lost"))
        .arg(
            Arg::new("name")
                .long("name")
                .value_name("NAME")
                .help("What records call this target [default: the machine's name and the path]"),
        )
        .arg(
            Arg::new("seed")
                .long("seed")
                .value_name("N")
                .value_parser(value_parser!(u64))
                .default_value("1")
                .help("Of offsets and data"),
        )
        .arg(
            Arg::new("order-seed")
                .long("order-seed")
                .value_name("N")
                .value_parser(value_parser!(u64))
                .help("Run the rows in the order of an earlier profile [default: drawn]"),
        )
        .arg(findings_argument())
        .arg(written::force())
}

/// Runs the verb.
pub(crate) fn run(matches: &ArgMatches) -> Result<i32> {
    if matches.get_flag("io500-like") {
        return io500::run(matches);
    }
    group::note_front(matches);
    let launch = group::Launch::read(matches)?;
    let request = match request(matches) {
        Ok(request) => request,
        Err(error) => return group::refuse(launch.as_ref(), OptionsRefused::of(error)),
    };
    if let Some(front) = group::LaunchFront::read(matches)? {
        return front.run(matches);
    }
    if let Some(launch) = launch {
        return together::run(matches, &launch);
    }
    let results = Results::new(matches, std::slice::from_ref(&request.path))?;
    sys::catch_signals();
    let context = context::context(INTERVAL_NS)?;
    let live = Live::open(matches, &format!("Profile of {}", request.path.display()))?;
    let wanted = Wanted {
        request: &request,
        results: &results,
        notes: Vec::new(),
    };
    concluded(matches, wanted, &mut Alone, &context, &live)
}

/// What a profile is to be of, and where what comes of it goes.
struct Wanted<'a> {
    request: &'a ProfileRequest,
    results: &'a Results,
    /// What the reader must know of who measures.
    notes: Vec<String>,
}

/// Measures a profile, writes what came of it and says it.
fn concluded(
    matches: &ArgMatches,
    wanted: Wanted<'_>,
    generator: &mut dyn Generator,
    context: &Context,
    live: &Live,
) -> Result<i32> {
    let Wanted {
        request,
        results,
        notes,
    } = wanted;
    live.begin_plain(LiveView::Profile(Box::new(ProfileView::new())));
    let mut keep = |line: Kept<'_>| -> Result<(), lab::KeepError> {
        results.keep(line)?;
        live.keep(line);
        Ok(())
    };
    let outcome = profile(request, generator, context, &mut live.clone(), &mut keep);
    let kept = matches.get_one::<PathBuf>("records").map(PathBuf::as_path);
    live.end(&live::ended(kept));
    let mut profiled = outcome.map_err(told)?;
    profiled.notes.splice(..0, notes);
    let found = study(&profiled.records, &StudyOptions::default());
    results.write_page(&profiled.records)?;
    let layout = layout(matches);
    tell(&text(&request.path, &profiled, &found, kept, layout))?;
    results.cards.write(|| found)?;
    Ok(match profiled.why {
        WhyEnded::Signal => sys::caught_signal().map_or(128, sys::CaughtSignal::exit_code),
        WhyEnded::Failed(_) => 1,
        WhyEnded::Decided | WhyEnded::Passes | WhyEnded::Budget => 0,
    })
}

/// What a profile says when it has ended.
fn text(
    path: &Path,
    profiled: &Profiled,
    study: &Study,
    kept: Option<&Path>,
    layout: TextLayout,
) -> String {
    let rows: Vec<&str> = profiled
        .plan
        .rows
        .iter()
        .map(|row| row.name.as_str())
        .collect();
    let left_out: Vec<(&[String], &str)> = profiled
        .left_out
        .iter()
        .map(|left| (left.rows.as_slice(), left.reason.as_str()))
        .collect();
    let account = ProfileAccount {
        path,
        records: &profiled.records,
        rows: &rows,
        passes: profiled.plan.most_passes,
        complete_passes: profiled.complete_passes(),
        order_seed: profiled.plan.seed,
        slot: profiled.slot,
        elapsed: profiled.elapsed,
        end: match &profiled.why {
            WhyEnded::Passes | WhyEnded::Decided => ProfileEnd::Complete,
            WhyEnded::Budget => ProfileEnd::OutOfTime,
            WhyEnded::Signal => ProfileEnd::Stopped,
            WhyEnded::Failed(why) => ProfileEnd::Failed(why),
        },
        notes: &profiled.notes,
        left_out: &left_out,
        kept,
        layout,
    };
    profile_text(&account, study)
}

/// Refuses another form than the one that is written.
fn check_ending(file: &Path) -> Result<()> {
    let form = file.extension().map(|ending| ending.to_ascii_lowercase());
    if form.is_none_or(|ending| ending != "html" && ending != "htm") {
        return Err(Usage(format!(
            "--report {}: the ending must be .html; `fathom report` writes the other forms",
            file.display()
        ))
        .into());
    }
    Ok(())
}

fn size(matches: &ArgMatches) -> Result<Option<Bytes>> {
    let size = matches.get_one::<String>("size");
    let size = size.map(|text| Bytes::parse(text)).transpose();
    let size = size.map_err(|source| SpecError::Expected {
        key: "size".into(),
        source,
    });
    Ok(size?)
}

/// Name and text of the file of rows.
fn rows(matches: &ArgMatches) -> Result<Option<(String, String)>> {
    group::FileReaders::checked(matches)?;
    let rows = matches.get_one::<PathBuf>("rows").map(|file| {
        let text = sys::text_at_most(file, sys::MOST_OF_A_TEXT)
            .map_err(|e| Usage(format!("cannot read {}: {e}", file.display())))?;
        Ok::<_, anyhow::Error>((file.display().to_string(), text))
    });
    rows.transpose()
}

fn request(matches: &ArgMatches) -> Result<ProfileRequest> {
    flags::check_mode(matches, "io500-like", &io500::OWN)?;
    let text = |key: &str| matches.get_one::<String>(key);
    let effort = match (matches.get_flag("quick"), matches.get_flag("thorough")) {
        (true, _) => Effort::Quick,
        (_, true) => Effort::Thorough,
        (false, false) => Effort::Usual,
    };
    let budget = time(matches, "budget")?;
    if budget.is_some_and(|time| time.0 == 0) {
        return Err(
            Usage("--budget 0 leaves no time to measure; example: --budget 60s".into()).into(),
        );
    }
    Ok(ProfileRequest {
        effort,
        budget,
        passes: matches.get_one::<u32>("passes").copied(),
        size: size(matches)?,
        engine: text("engine")
            .map(|text| EngineName::parse("engine", text))
            .transpose()?,
        rows: rows(matches)?,
        allow_destroy: matches.get_one::<PathBuf>("allow-destroy").cloned(),
        arm: text("name").cloned(),
        seed: matches.get_one::<u64>("seed").copied().unwrap_or(1),
        order_seed: matches.get_one::<u64>("order-seed").copied(),
        ..ProfileRequest::new(
            matches
                .get_one::<PathBuf>("path")
                .cloned()
                .unwrap_or_else(|| ".".into()),
        )
    })
}

/// An error in the form that decides the exit code.
pub(crate) fn told(error: ProfileError) -> anyhow::Error {
    match error {
        ProfileError::Unsuitable(text) => Usage(text).into(),
        ProfileError::Spec(error) => error.into(),
        ProfileError::Run(error) => error.into(),
        ProfileError::Lab(error) => error.into(),
        failed @ ProfileError::Failed(_) => failed.into(),
    }
}
