//! fio job files and command lines as stages.

mod logs;

pub(crate) use logs::{files as log_files, names as log_names};

use crate::exit::Usage;
use crate::flags;
use crate::group::FileReaders;
use crate::output::Output;
use anyhow::Result;
use clap::{ArgMatches, Command};
use host::Machine;
use std::ffi::OsString;
use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use workload::fio::{
    FioJobs, Keywords, Outside, is_option_of_fio, parse_command_line, parse_job_file,
};
use workload::{Stage, Workload, settings};

/// Reads the job; what it says about output goes into `output`, what is done otherwise than fio
/// does it is told.
pub(crate) fn stages(
    matches: &ArgMatches,
    arguments: &[String],
    mut output: Output,
    readers: FileReaders,
) -> Result<(Vec<Stage>, Output, FioJobs)> {
    let file = matches.get_one::<PathBuf>("fio");
    let given = flags::given(matches);
    refuse_workload(&given, &flags::targets(matches))?;
    let environment = Machine::at(Path::new("/")).environment(None, crate::context::version());
    let keywords = Keywords {
        page_size: environment.memory.page_bytes.unwrap_or(4096),
        memory_mib: environment.memory.total_bytes.unwrap_or(0) >> 20,
        cpus: environment
            .cpu
            .online
            .map_or(1, |list| list.ids().len() as u64),
    };
    let outside = Outside {
        env: &|name| std::env::var(name).ok(),
        read: &|path| readers.text_of_job(path),
        length: &length,
        keywords,
    };
    let mut jobs: FioJobs = match file {
        Some(_) if !arguments.is_empty() => {
            return Err(Usage(
                "--fio FILE and a fio command line after `--` are two jobs; give one of them"
                    .into(),
            )
            .into());
        }
        Some(file) => {
            let text = sys::text_at_most(file, sys::MOST_OF_A_TEXT)
                .map_err(|e| Usage(format!("cannot read the job file {}: {e}", file.display())))?;
            parse_job_file(&text, &file.display().to_string(), &[], &outside)?
        }
        None => parse_command_line(arguments, &outside)?,
    };
    apply_call(&mut jobs.stages, &given)?;
    output.follow_fio(&jobs);
    Ok((std::mem::take(&mut jobs.stages), output, jobs))
}

/// Bytes of what lies at a path; 0 for what is neither a file nor a block device, which a run
/// refuses with the reason.
fn length(path: &Path) -> Option<u64> {
    let facts = std::fs::metadata(path).ok()?;
    let is_device = facts.file_type().is_block_device();
    let end = || {
        File::open(path)
            .and_then(|mut device| device.seek(SeekFrom::End(0)))
            .ok()
    };
    Some(if is_device {
        end().unwrap_or(0)
    } else {
        facts.len()
    })
}

/// Whether a driver of fio asks what it has before it.
pub(crate) fn asks_for_version(matches: &ArgMatches) -> bool {
    let arguments = matches
        .get_many::<String>("fio-arguments")
        .map(Iterator::collect::<Vec<_>>);
    arguments.is_some_and(
        |arguments| matches!(arguments.as_slice(), [only] if *only == "--version" || *only == "-v"),
    )
}

/// The version in the form of fio's: 3 is the layout of the results.
pub(crate) fn version() -> String {
    report::fio_version(&crate::context::version().version)
}

/// Options of the call, on all phases. The seed moves those of the phases by as much, so that jobs
/// that run together still draw different numbers, and what was written is read back with its own.
fn apply_call(stages: &mut [Stage], given: &[(String, String)]) -> Result<()> {
    for workload in stages
        .iter_mut()
        .flat_map(|stage| &mut stage.0)
        .map(|phase| &mut phase.workload)
    {
        let moved = workload.seed.wrapping_sub(Workload::default().seed);
        for (key, text) in given {
            settings::apply(workload, key, text)?;
            if key == "seed" {
                workload.seed = workload.seed.wrapping_add(moved);
            }
        }
    }
    Ok(())
}

/// What is given beside a job must belong to the call. Errors: it describes the workload.
fn refuse_workload(given: &[(String, String)], targets: &[PathBuf]) -> Result<()> {
    if let Some(target) = targets.first() {
        let name = target.display();
        return Err(Usage(format!("{name} is beside a fio job, which names its own files; write filename={name} into the job")).into());
    }
    match given.iter().find(|(key, _)| !settings::OF_THE_CALL.contains(&key.as_str())) {
        None => Ok(()),
        Some((key, _)) => Err(Usage(format!(
            "--{key} describes the workload, which a fio job does in fio's own options; put it into the job, or leave the job out"
        ))
        .into()),
    }
}

/// Moves options of the call that stand behind `--`, among those of fio, before it: that is where
/// an advice is added to a command line.
pub(crate) fn options_of_the_call_first(args: Vec<OsString>, command: &Command) -> Vec<OsString> {
    let Some(end) = args.iter().position(|arg| arg == "--") else {
        return args;
    };
    let takes = |arg: &OsString| -> Option<bool> {
        let text = arg.to_str()?.strip_prefix("--")?;
        let (name, attached) = text
            .split_once('=')
            .map_or((text, false), |(name, _)| (name, true));
        let known = command
            .get_arguments()
            .find(|known| known.get_long() == Some(name))?;
        let ours = settings::find(name).is_none() || settings::OF_THE_CALL.contains(&name);
        (ours && !is_option_of_fio(name)).then(|| !attached && known.get_action().takes_values())
    };
    let (mut moved, mut kept) = (args[..end].to_vec(), Vec::new());
    let mut rest = args[end..].iter();
    while let Some(arg) = rest.next() {
        match takes(arg) {
            None => kept.push(arg.clone()),
            Some(value) => {
                moved.push(arg.clone());
                if value {
                    moved.extend(rest.next().cloned());
                }
            }
        }
    }
    // A blank list behind `--` would be a job of its own that says nothing.
    if kept.len() > 1 {
        moved.extend(kept);
    }
    moved
}
