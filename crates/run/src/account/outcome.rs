//! How a run ended, and what failed in it.

use super::Ended;
use crate::tally::{Failure, FailureCount};
use record::{
    ErrorClass, ErrorCount, GIVEN_UP, Measurements, NOTHING_CHECKED, Outcome, Record, Status,
    Verification, stopped_words,
};
use std::collections::BTreeMap;
use units::counted;
use workload::VerifyWhen;

impl Ended<'_> {
    pub(super) fn errors(&self) -> Vec<ErrorCount> {
        let mut out: BTreeMap<(String, String), ErrorCount> = BTreeMap::new();
        for (index, report) in &self.reports {
            for FailureCount { first, count } in report.tally.failure_counts() {
                let (operation, error) = (first.op.name().to_owned(), error_name(first));
                let entry = out
                    .entry((operation.clone(), error.clone()))
                    .or_insert_with(|| ErrorCount {
                        operation,
                        error,
                        count: 0,
                        first_file: self.file_name(*index, first),
                        first_offset: (!self.has_names()).then_some(first.offset),
                        class: Some(error_class(first)),
                    });
                entry.count += count;
            }
        }
        out.into_values().collect()
    }

    pub(super) fn outcome(
        &self,
        operations: &Measurements,
        verification: Option<&Verification>,
        errors: &[ErrorCount],
    ) -> Outcome {
        let outcome = |status, exit_code, message: String| Outcome {
            status,
            exit_code,
            message: Some(message),
        };
        let lost = self.resolved.effective.threads as usize - self.reports.len();
        if let Some(caught) = sys::caught_signal() {
            let message = stopped(caught.signal, self.elapsed_ns(), lost);
            return outcome(Status::Interrupted, caught.exit_code(), message);
        }
        let failed = self
            .failed_workers()
            .or_else(|| failed_operations(errors))
            .or_else(|| unlike_written(verification?))
            .or_else(|| self.failed_locks());
        if let Some(what) = failed {
            return outcome(Status::Failed, 1, what);
        }
        let undone = self
            .given_up(lost)
            .or_else(|| Some(self.left_undone(operations, verification)?.to_owned()));
        undone.map_or_else(Outcome::default, |what| {
            outcome(Status::Incomplete, 5, what)
        })
    }

    fn failed_workers(&self) -> Option<String> {
        let reports = self.reports.iter();
        let errors = reports.filter_map(|(_, report)| report.error.as_ref());
        let errors: Vec<&String> = errors.collect();
        let first = errors.first()?;
        let all = counted(self.resolved.effective.threads, "worker");
        Some(format!("{} of {all} failed: {first}", errors.len()))
    }

    fn failed_locks(&self) -> Option<String> {
        let reports = self.reports.iter();
        let failed: u64 = reports.map(|(_, report)| report.lock_failures).sum();
        let locks = counted(failed, "lock");
        (failed > 0)
            .then(|| format!("{locks} could not be taken; does the file system have locks?"))
    }

    fn given_up(&self, lost: usize) -> Option<String> {
        let abandoned: u64 = self.tallies().map(|tally| tally.abandoned).sum();
        let (workers, operations) = (counted(lost, "worker"), counted(abandoned, "operation"));
        (lost > 0 || abandoned > 0)
            .then(|| format!("{workers} and {operations} did not end in time and {GIVEN_UP}"))
    }

    /// What the run was for and did not do, although nothing failed.
    fn left_undone(
        &self,
        operations: &Measurements,
        verification: Option<&Verification>,
    ) -> Option<&'static str> {
        if self.ended_by_peers {
            return None;
        }
        // Of many ranks each does its part, and that may be nothing.
        let is_one_of_many = self.phase.workload.rank.has_others();
        if operations.count() == 0 {
            return (!is_one_of_many).then_some("no operation was measured; run longer");
        }
        (self.is_unchecked(verification) && !is_one_of_many).then_some(NOTHING_CHECKED)
    }

    /// Whether a check was asked for now and none was made.
    fn is_unchecked(&self, verification: Option<&Verification>) -> bool {
        let for_later = self.completed || self.resolved.effective.verify.when == VerifyWhen::Later;
        verification.is_some_and(|verification| verification.operations == 0) && !for_later
    }

    /// What of a part of the work is no fault of the whole, if others have done it.
    pub(super) fn left_to_others(
        &self,
        operations: &Measurements,
        verification: Option<&Verification>,
        record: &Record,
    ) -> Vec<String> {
        if !self.phase.workload.rank.has_others() {
            return Vec::new();
        }
        let has_walked = self.walk().is_some_and(|walk| walk.entries > 0);
        let idle = (operations.count() == 0 && !has_walked).then(|| {
            let called = record.generator().called();
            match operations.errors() {
                0 => format!("{called}: it completed no operation of the measured time"),
                failed => format!("{called}: none of its operations succeeded, {failed} failed"),
            }
        });
        let unchecked = self
            .is_unchecked(verification)
            .then(|| NOTHING_CHECKED.to_owned());
        idle.into_iter().chain(unchecked).collect()
    }
}

/// What is said of a run that a signal has ended, and of workers that did not end then.
fn stopped(signal: i32, elapsed_ns: u64, lost: usize) -> String {
    let lost = match lost {
        0 => String::new(),
        lost => format!(
            "; those that did not end {GIVEN_UP}: {}",
            counted(lost, "worker")
        ),
    };
    stopped_words(signal, elapsed_ns) + &lost
}

fn failed_operations(errors: &[ErrorCount]) -> Option<String> {
    let error = errors.first()?;
    let total: u64 = errors.iter().map(|error| error.count).sum();
    let byte = error.first_offset.map(|byte| format!(" at byte {byte}"));
    let place = match error.first_file.as_str() {
        "" => String::new(),
        file => format!(" of {file}"),
    };
    Some(format!(
        "{} failed, the first {} with {}{}{place}",
        counted(total, "operation"),
        error.operation,
        error.error,
        byte.unwrap_or_default()
    ))
}

fn unlike_written(verification: &Verification) -> Option<String> {
    let Verification {
        failures,
        operations,
        ..
    } = verification;
    let hold = if *failures == 1 { "does" } else { "do" };
    let blocks = counted(operations, "verified block");
    (*failures > 0).then(|| format!("{failures} of {blocks} {hold} not hold what was written"))
}

fn error_class(failure: &Failure) -> ErrorClass {
    if failure.result >= 0 {
        ErrorClass::Short
    } else {
        ErrorClass::System
    }
}

/// The system's words for an error, or what a short transfer was.
fn error_name(failure: &Failure) -> String {
    if failure.result >= 0 {
        return format!(
            "short transfer: {} of {} bytes",
            failure.result, failure.len
        );
    }
    let errno = i32::try_from(-failure.result).unwrap_or(i32::MAX);
    std::io::Error::from_raw_os_error(errno).to_string()
}
