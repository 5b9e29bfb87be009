//! Exit codes: 0 ok; 1 the run failed; 2 usage, or this machine cannot; 3 a gate failed; 4 invalid;
//! 5 incomplete; 128 + signal.

use crate::tell::say;
use object::LoadError;
use std::error::Error;
use std::process::ExitCode;

/// A verb's outcome as an exit code, its error told.
pub(crate) fn code(outcome: anyhow::Result<i32>) -> ExitCode {
    match outcome {
        Ok(code) => ExitCode::from(u8::try_from(code).unwrap_or(1)),
        Err(error) => {
            say(&format!("error: {}", told(&error)));
            ExitCode::from(u8::try_from(code_of(&error)).unwrap_or(1))
        }
    }
}

/// An error and its causes, without those that it tells itself.
pub(crate) fn told(error: &anyhow::Error) -> String {
    let add = |told: String, cause: String| {
        if told.contains(&cause) {
            told
        } else {
            format!("{told}: {cause}")
        }
    };
    error
        .chain()
        .map(ToString::to_string)
        .reduce(add)
        .unwrap_or_default()
}

/// Why a task did not start, as its own kind of error: a mistake of the command line is told as one.
pub(crate) fn unstarted(source: Box<dyn Error + Send + Sync>) -> anyhow::Error {
    let source = match source.downcast::<LoadError>() {
        Ok(error) => {
            return match *error {
                LoadError::Asked(text) => Usage(text).into(),
                error @ (LoadError::Target(_) | LoadError::Interrupted) => error.into(),
            };
        }
        Err(source) => source,
    };
    match source.downcast::<run::RunError>() {
        Ok(error) => anyhow::Error::new(*error),
        Err(source) => anyhow::Error::from_boxed(source),
    }
}

/// The exit code of an error.
pub(crate) fn code_of(error: &anyhow::Error) -> i32 {
    error
        .chain()
        .find_map(|cause| cause.downcast_ref::<run::RunError>())
        .map_or_else(
            || {
                if error
                    .chain()
                    .any(|cause| cause.is::<workload::SpecError>() || cause.is::<Usage>())
                {
                    2
                } else {
                    1
                }
            },
            run::RunError::exit_code,
        )
}

/// A mistake in how the command was called.
#[derive(Debug)]
pub(crate) struct Usage(pub(crate) String);

impl std::fmt::Display for Usage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// What clap has to say: help and version on standard output, mistakes on standard error with code
/// 2.
pub(crate) fn usage(error: clap::Error) -> ExitCode {
    let _nobody_reads_a_closed_terminal = error.print();
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}
