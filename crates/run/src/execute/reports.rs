//! What workers say of themselves, before they begin and after.

use super::{Message, Reports};
use crate::error::RunError;
use record::Interval;
use std::sync::mpsc::Receiver;
use sys::Usage;

/// What the threads of all workers used.
pub(super) fn used_by(reports: &Reports) -> Usage {
    let usages = reports.iter().map(|(_, report)| report.tally.usage);
    usages.fold(Usage::default(), |sum, usage| sum.and(&usage))
}

/// Series of several workers under virtual clocks, interval by interval.
pub(super) fn side_by_side(parts: &[Vec<Interval>]) -> Vec<Interval> {
    let mut out: Vec<Interval> = Vec::new();
    for part in parts {
        for (index, interval) in part.iter().enumerate() {
            match out.get_mut(index) {
                Some(sum) => {
                    sum.operations.merge(&interval.operations);
                    sum.in_flight += interval.in_flight;
                    sum.end_ns = sum.end_ns.max(interval.end_ns);
                }
                None => out.push(interval.clone()),
            }
        }
    }
    out
}

/// The kernel's ids of the workers' threads.
pub(super) fn wait_until_ready(
    receive: &Receiver<Message>,
    workers: u32,
) -> Result<Vec<u32>, RunError> {
    let mut threads = Vec::new();
    while threads.len() < workers as usize {
        match receive.recv() {
            Ok(Message::Ready(thread)) => threads.push(thread),
            Ok(Message::Done(_, outcome)) => {
                (*outcome)?;
                return Err(RunError::Unsuitable(
                    "a worker ended before it began".into(),
                ));
            }
            Err(_) => {
                return Err(RunError::Unsuitable(
                    "the workers ended before they began".into(),
                ));
            }
        }
    }
    Ok(threads)
}
