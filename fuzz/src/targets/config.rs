//! TOML workloads: the same text is the same phases, and their options can be shown and read back.

use workload::{Workload, parse_config};

pub fn run(bytes: &[u8]) {
    let Some(text) = crate::text(bytes) else {
        return;
    };
    let stages = || parse_config(text, &Workload::default(), &[]);
    match (stages(), stages()) {
        (Ok(first), Ok(second)) => {
            assert_eq!(first, second);
            first
                .iter()
                .flat_map(|stage| &stage.0)
                .for_each(|phase| crate::shown_options_read_back(&phase.workload));
        }
        (Err(first), Err(second)) => assert_eq!(first.to_string(), second.to_string()),
        (first, second) => panic!("{first:?} and then {second:?}"),
    }
}
