//! fio job files: the same text is the same jobs, and their options can be shown and read back. What follows a line `---` is the file `again`.

use crate::{outside, shown_options_read_back};
use workload::fio::parse_job_file;

pub fn run(bytes: &[u8]) {
    let Some(text) = crate::text(bytes) else {
        return;
    };
    let (text, again) = text.split_once("---\n").unwrap_or((text, ""));
    let read = |path: &str| {
        if path == "again" {
            Ok(again.to_owned())
        } else {
            Err(std::io::ErrorKind::NotFound.into())
        }
    };
    let jobs = || parse_job_file(text, "job.fio", &[], &outside(&read));
    match (jobs(), jobs()) {
        (Ok(first), Ok(second)) => {
            assert_eq!(first, second);
            let phases = first.stages.iter().flat_map(|stage| &stage.0);
            assert_eq!(phases.clone().count(), first.job_options.len());
            phases.for_each(|phase| shown_options_read_back(&phase.workload));
        }
        (Err(first), Err(second)) => assert_eq!(first.to_string(), second.to_string()),
        (first, second) => panic!("{first:?} and then {second:?}"),
    }
}
