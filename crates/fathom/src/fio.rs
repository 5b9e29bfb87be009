//! fio job files and command lines as stages.

use crate::exit::Usage;
use crate::output::Output;
use anyhow::Result;
use run::machine::Machine;
use std::path::{Path, PathBuf};
use workload::Stage;
use workload::fio::{FioJobs, Keywords, Outside, parse_command_line, parse_job_file};

/// Reads the job; what it says about output goes into `output`, what is done otherwise than fio does it is told.
pub(crate) fn stages(file: Option<&PathBuf>, arguments: &[String], mut output: Output) -> Result<(Vec<Stage>, Output, Vec<String>)> {
    let environment = Machine::at(Path::new("/")).environment(None, crate::context::version());
    let keywords = Keywords {
        page_size: environment.memory.page_bytes.unwrap_or(4096),
        memory_mib: environment.memory.total_bytes.unwrap_or(0) >> 20,
        cpus: environment.cpu.online.map_or(1, |list| list.ids().len() as u64),
    };
    let outside = Outside { env: &|name| std::env::var(name).ok(), read: &|path| std::fs::read_to_string(path), keywords };
    let jobs: FioJobs = match file {
        Some(_) if !arguments.is_empty() => {
            return Err(Usage("--fio FILE and a fio command line after `--` are two jobs; give one of them".into()).into());
        }
        Some(file) => {
            let text = std::fs::read_to_string(file).map_err(|e| Usage(format!("cannot read the job file {}: {e}", file.display())))?;
            parse_job_file(&text, &file.display().to_string(), &[], &outside)?
        }
        None => parse_command_line(arguments, &outside)?,
    };
    for (option, value) in &jobs.output {
        match option.as_str() {
            "output-format" => output.set_format(value)?,
            "output" => output.set_file(value.into()),
            other => return Err(Usage(format!("fio's --{other} is not known here")).into()),
        }
    }
    output.set_fio_options(jobs.global_options, jobs.job_options);
    Ok((jobs.stages, output, jobs.notices))
}
