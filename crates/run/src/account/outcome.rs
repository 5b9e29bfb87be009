//! How a run ended, and what failed in it.

use super::Ended;
use crate::tally::{Failure, FailureCount};
use record::{
    ErrorClass, ErrorCount, GIVEN_UP, Measurements, NOTHING_CHECKED, Outcome, Record, Status,
    Verification,
};
use std::collections::BTreeMap;
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
                        first_file: self.file_name(*index, first.file),
                        first_offset: first.offset,
                        class: Some(error_class(first)),
                    });
                entry.count += count;
            }
        }
        out.into_values().collect()
    }

    #[expect(
        clippy::too_many_lines,
        reason = "to be divided when it is changed next"
    )]
    pub(super) fn outcome(
        &self,
        operations: &Measurements,
        verification: Option<&Verification>,
        errors: &[ErrorCount],
    ) -> Outcome {
        let lost = self.resolved.effective.threads as usize - self.reports.len();
        let abandoned: u64 = self.tallies().map(|tally| tally.abandoned).sum();
        let failed_workers: Vec<&String> = self
            .reports
            .iter()
            .filter_map(|(_, report)| report.error.as_ref())
            .collect();
        let lock_failures: u64 = self
            .reports
            .iter()
            .map(|(_, report)| report.lock_failures)
            .sum();
        let outcome = |status, exit_code, message: String| Outcome {
            status,
            exit_code,
            message: Some(message),
        };
        if let Some(caught) = sys::caught_signal() {
            let signal = caught.signal;
            let lost = if lost > 0 {
                format!("; {lost} workers did not end and {GIVEN_UP}")
            } else {
                String::new()
            };
            return outcome(
                Status::Interrupted,
                caught.exit_code(),
                format!("stopped by signal {signal}; what was measured until then is here{lost}"),
            );
        }
        if let Some(error) = failed_workers.first() {
            return outcome(
                Status::Failed,
                1,
                format!(
                    "{} of {} workers failed: {error}",
                    failed_workers.len(),
                    self.resolved.effective.threads
                ),
            );
        }
        if let Some(error) = errors.first() {
            let total: u64 = errors.iter().map(|e| e.count).sum();
            let place = if error.first_file.is_empty() {
                String::new()
            } else {
                format!(" of {}", error.first_file)
            };
            let message = format!(
                "{total} operation{} failed, the first {} with {} at byte {}{place}",
                if total == 1 { "" } else { "s" },
                error.operation,
                error.error,
                error.first_offset
            );
            return outcome(Status::Failed, 1, message);
        }
        if let Some(found) = verification.filter(|v| v.failures > 0) {
            return outcome(
                Status::Failed,
                1,
                format!(
                    "{} of {} verified blocks do not hold what was written",
                    found.failures, found.operations
                ),
            );
        }
        if lock_failures > 0 {
            return outcome(
                Status::Failed,
                1,
                format!(
                    "{lock_failures} locks could not be taken; does the file system have locks?"
                ),
            );
        }
        if lost > 0 || abandoned > 0 {
            return outcome(
                Status::Incomplete,
                5,
                format!(
                    "{lost} workers and {abandoned} operations did not end in time and {GIVEN_UP}"
                ),
            );
        }
        self.left_undone(operations, verification)
            .map_or_else(Outcome::default, |what| {
                outcome(Status::Incomplete, 5, what.into())
            })
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
