//! fio command lines, an argument a line; what follows an empty line is the job file `again`.

use crate::{outside, shown_options_read_back};
use workload::fio::parse_command_line;

pub fn run(bytes: &[u8]) {
    let Some(text) = crate::text(bytes) else {
        return;
    };
    let (line, file) = text.split_once("\n\n").unwrap_or((text, ""));
    let args: Vec<String> = line.lines().map(str::to_owned).collect();
    let read = |path: &str| {
        if path == "again" {
            Ok(file.to_owned())
        } else {
            Err(std::io::ErrorKind::NotFound.into())
        }
    };
    let jobs = || parse_command_line(&args, &outside(&read));
    match (jobs(), jobs()) {
        (Ok(first), Ok(second)) => {
            assert_eq!(first, second);
            first
                .stages
                .iter()
                .flat_map(|stage| &stage.0)
                .for_each(|phase| shown_options_read_back(&phase.workload));
        }
        (Err(first), Err(second)) => assert_eq!(first.to_string(), second.to_string()),
        (first, second) => panic!("{first:?} and then {second:?}"),
    }
}
