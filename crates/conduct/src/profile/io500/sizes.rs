//! How much an IO500-like run may write.

use crate::profile::ProfileError;
use units::{Bytes, Nanos};
use workload::{FileSharing, IO500_PHASES, Io500Phase, Io500Role, Phase, Workload, settings};

/// What is asked of an IO500-like run, as far as its rules leave it open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Io500Asked {
    pub stonewall: Nanos,
    /// Of each rank.
    pub threads: u32,
    /// Bytes that may be written altogether; `None`: half of what is free.
    pub size: Option<Bytes>,
    /// Files of each worker in a phase of names; `None`: as many as there is time and room for.
    pub files: Option<u64>,
}

/// What the writing phases may write at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Io500Sizes {
    /// The own file of each worker in ior-easy.
    pub easy_file: Bytes,
    /// The one file of ior-hard.
    pub hard_file: Bytes,
    /// Files of all workers in each of mdtest-easy and mdtest-hard.
    pub files: u64,
}

/// What IO500 has where nobody changes it: files of a process, blocks of a file of its own, and
/// transfers of a process in the file of all.
const IO500_FILES: u64 = 1_000_000;
const IO500_EASY_FILE: u64 = 9_920_000 << 20;
const IO500_SEGMENTS: u64 = 10_000_000;
/// Names are held in memory, some hundred bytes each.
const MOST_NAMES: u64 = 4_000_000;
/// A fast file system in memory makes about as many a second with one worker.
const FILES_A_SECOND: u64 = 100_000;
/// What a small file takes of the disk: a block.
const SMALL_FILE: u64 = 4096;

/// Divides what may be written among the phases: an eighth for small files, a quarter for the file
/// of all workers, the rest for files of their own.
///
/// # Errors
/// It is more than is free, or too little.
pub fn io500_sizes(
    asked: &Io500Asked,
    ranks: u32,
    free: Option<u64>,
) -> Result<Io500Sizes, ProfileError> {
    let workers = u64::from(asked.threads.max(1)) * u64::from(ranks.max(1));
    let free = free.unwrap_or(u64::MAX / 4);
    let budget = asked.size.map_or(free / 2, |size| size.0);
    let [easy, hard] = ["ior-easy-write", "ior-hard-write"].map(block);
    let too_much = |what: &str, bytes: u64, option: &str| {
        ProfileError::Unsuitable(format!(
            "{what} {} would be written, and {} are free; free space, or give a smaller {option}",
            Bytes(bytes),
            Bytes(free)
        ))
    };
    if budget > free {
        return Err(too_much("up to", budget, "--size"));
    }
    let files = match asked.files {
        Some(each) => {
            let all = each.saturating_mul(workers);
            if all.saturating_mul(SMALL_FILE) > budget {
                let bytes = all.saturating_mul(SMALL_FILE);
                return Err(match asked.size {
                    Some(size) if bytes <= free => ProfileError::Unsuitable(format!(
                        "for small files {} would be written, more than the --size of {size} for everything; give a larger --size, or fewer --files",
                        Bytes(bytes)
                    )),
                    Some(_) | None => too_much("for small files", bytes, "--files"),
                });
            }
            all
        }
        None => {
            let seconds = asked.stonewall.0.div_ceil(1_000_000_000);
            let each = IO500_FILES.min(seconds.saturating_mul(FILES_A_SECOND));
            let all = each.saturating_mul(workers).min(MOST_NAMES);
            all.min(budget / 8 / SMALL_FILE) / workers * workers
        }
    };
    let rest = budget - files * SMALL_FILE;
    let turn = hard * workers;
    let hard_file = (budget / 4).min(rest / 2) / turn;
    let hard_file = hard_file.min(IO500_SEGMENTS) * turn;
    let easy_file = ((rest - hard_file) / workers / easy * easy).min(IO500_EASY_FILE);
    if files < workers || hard_file == 0 || easy_file == 0 {
        return Err(ProfileError::Unsuitable(format!(
            "{} are too little for {workers} workers: each needs a file, a block of {} and one of {} at least, and half of the free space is used unless --size says more",
            Bytes(budget),
            Bytes(easy),
            Bytes(hard)
        )));
    }
    Ok(Io500Sizes {
        easy_file: Bytes(easy_file),
        hard_file: Bytes(hard_file),
        files,
    })
}

/// Whether there is room for all that the phases of a plan may write.
///
/// # Errors
/// There is not.
pub fn check_room(phases: &[Phase], ranks: u32, free: Option<u64>) -> Result<(), ProfileError> {
    let writes = |phase: &&Phase| {
        let known = Io500Phase::find(&phase.name);
        known.is_some_and(|known| known.role == Io500Role::Writes)
    };
    let bytes = |phase: &Phase| {
        let files = &phase.workload.files;
        let each = files.size.unwrap_or_default().0;
        let block = files
            .payload
            .unwrap_or_default()
            .0
            .next_multiple_of(SMALL_FILE);
        let of_names = files.total_files.unwrap_or(0).saturating_mul(block);
        let workers = u64::from(phase.workload.threads) * u64::from(ranks);
        match files.sharing {
            FileSharing::PerWorker => each.saturating_mul(workers),
            FileSharing::Shared | FileSharing::Partitioned | FileSharing::Interleaved => {
                each.saturating_add(of_names)
            }
        }
    };
    let all = phases.iter().filter(writes).map(bytes);
    let all = all.fold(0, u64::saturating_add);
    match free {
        Some(free) if all > free => Err(ProfileError::Unsuitable(format!(
            "up to {} would be written, and {} are free; free space, or lower file-size and total-files in the plan",
            Bytes(all),
            Bytes(free)
        ))),
        Some(_) | None => Ok(()),
    }
}

/// The transfer of a phase.
fn block(name: &str) -> u64 {
    let mut workload = Workload::default();
    let of_phase = IO500_PHASES.iter().filter(|phase| phase.name == name);
    for (key, text) in of_phase.flat_map(|phase| phase.options) {
        let _a_test_applies_all = settings::apply(&mut workload, key, text);
    }
    workload.blocks.smallest().0
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    fn asked(threads: u32) -> Io500Asked {
        Io500Asked {
            stonewall: Nanos(300_000_000_000),
            threads,
            size: None,
            files: None,
        }
    }

    #[test]
    fn half_of_what_is_free_is_divided_into_whole_turns_of_all_workers() {
        let sizes = io500_sizes(&asked(2), 3, Some(256 * GIB)).unwrap();
        assert_eq!(sizes.files, 4_000_000 / 6 * 6);
        assert_eq!(sizes.hard_file.0 % (47_008 * 6), 0);
        assert_eq!(sizes.easy_file.0 % (2 << 20), 0);
        let all = sizes.files * 4096 + sizes.hard_file.0 + 6 * sizes.easy_file.0;
        assert!(all <= 128 * GIB && all > 127 * GIB, "{sizes:?}");
        let endless = io500_sizes(&asked(1), 1, None).unwrap();
        assert_eq!(
            endless,
            Io500Sizes {
                easy_file: Bytes(9_920_000 << 20),
                hard_file: Bytes(47_008 * 10_000_000),
                files: 1_000_000
            },
            "what IO500 has"
        );
    }

    #[test]
    fn a_plan_for_which_there_is_no_room_is_refused_with_the_amounts() {
        let asked = asked(2);
        let sizes = io500_sizes(&asked, 3, Some(256 * GIB)).unwrap();
        let text = crate::profile::io500_text(&asked, &sizes);
        let phases = crate::profile::io500_phases(&text, "plan").unwrap();
        assert!(check_room(&phases, 3, Some(128 * GIB)).is_ok());
        assert!(check_room(&phases, 3, None).is_ok());
        let said = check_room(&phases, 3, Some(100 * GIB))
            .unwrap_err()
            .to_string();
        assert!(said.contains("and 100 GiB are free"), "{said}");
    }

    #[test]
    fn more_than_is_free_and_less_than_a_block_each_are_refused_with_the_amounts() {
        let refused = |change: &dyn Fn(&mut Io500Asked), free| {
            let mut asked = asked(4);
            change(&mut asked);
            io500_sizes(&asked, 1, Some(free)).unwrap_err().to_string()
        };
        assert_eq!(
            refused(&|asked| asked.size = Some(Bytes(4 * GIB)), GIB),
            "up to 4 GiB would be written, and 1 GiB are free; free space, or give a smaller --size"
        );
        let beyond = refused(
            &|asked| (asked.size, asked.files) = (Some(Bytes(64 << 20)), Some(10_000)),
            GIB,
        );
        assert!(
            beyond.contains("156 MiB would be written, more than the --size of 64 MiB"),
            "{beyond}"
        );
        let many = refused(&|asked| asked.files = Some(1 << 20), GIB);
        assert!(
            many.starts_with("for small files 16 GiB would be written, and 1 GiB are free"),
            "{many}"
        );
        let little = refused(&|_| (), 8 << 20);
        assert!(little.contains("too little for 4 workers"), "{little}");
    }
}
