//! The names on which metadata operations act, and whose they are.

use crate::layout::{Layout, worker_root};
use crate::resolve::Resolved;
use std::path::PathBuf;
use workload::{Directories, Seats};

/// Files and directories of metadata operations, as they are dealt out to the workers here.
pub(super) struct DealtNames {
    layout: Layout,
    dirs: Option<Directories>,
    /// The workers among all, by which directories of their own are called.
    seats: Seats,
    /// The workers among those to whom the names of this target are dealt out.
    seats_at_target: Seats,
}

impl DealtNames {
    pub(super) fn of(resolved: &Resolved) -> Self {
        let workload = &resolved.effective;
        let has_names = !workload.files.meta.is_empty();
        let layout = has_names.then(|| resolved.layout.clone());
        Self {
            layout: layout.unwrap_or_default(),
            dirs: workload.files.dirs,
            seats: workload.seats(),
            seats_at_target: workload.seats_at_target(),
        }
    }

    /// Those that a worker creates, looks at and removes.
    pub(super) fn files(&self, worker: u32) -> Vec<PathBuf> {
        let path = |at: usize| self.layout.files[at].path.clone();
        self.taken(worker).into_iter().map(path).collect()
    }

    /// One of its files, or, beyond these, of its directories.
    pub(super) fn name(&self, worker: u32, index: u32) -> Option<PathBuf> {
        let (taken, index) = (self.taken(worker), index as usize);
        match taken.get(index) {
            Some(at) => Some(self.layout.files[*at].path.clone()),
            None => self.dirs(worker).into_iter().nth(index - taken.len()),
        }
    }

    /// The places of its files among all.
    fn taken(&self, worker: u32) -> Vec<usize> {
        let all = &self.layout.files;
        let is_owned = all.first().is_some_and(|file| file.owner.is_some());
        let count = all.len() as u64;
        let index = units::lossless::to_usize;
        if is_owned {
            let is_own = |at: &usize| all[*at].owner == Some(worker);
            (0..all.len()).filter(is_own).collect()
        } else if self.dirs == Some(Directories::Shared) {
            let turns = self.seats_at_target.turns(count, worker);
            let nth = |turn: u64| index(turns.first + turn * turns.step);
            (0..turns.count).map(nth).collect()
        } else {
            let part = self.seats_at_target.part(count, worker);
            (index(part.start)..index(part.end)).collect()
        }
    }

    /// Those that a worker reads: its own, or its part of all.
    pub(super) fn dirs(&self, worker: u32) -> Vec<PathBuf> {
        let dirs = &self.layout.dirs;
        if self.dirs == Some(Directories::Own) {
            let number = self.seats.number(worker);
            let root = dirs.first().map(|target| worker_root(target, number));
            let is_own = |dir: &&PathBuf| root.as_ref().is_some_and(|root| dir.starts_with(root));
            return dirs.iter().filter(is_own).cloned().collect();
        }
        let part = self.seats_at_target.part(dirs.len() as u64, worker);
        let index = units::lossless::to_usize;
        dirs[index(part.start)..index(part.end)].to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::layout;
    use std::path::Path;
    use workload::{Rank, Workload, share};

    /// Files and directories of each worker of ranks with two workers each.
    fn dealt(ranks: u32, settings: &[(&str, &str)]) -> Vec<(Vec<PathBuf>, Vec<PathBuf>)> {
        dealt_at(ranks, |rank| rank, settings)
    }

    fn dealt_at(
        ranks: u32,
        at: impl Fn(Rank) -> Rank,
        settings: &[(&str, &str)],
    ) -> Vec<(Vec<PathBuf>, Vec<PathBuf>)> {
        let mut whole = Workload {
            targets: vec!["/d".into()],
            threads: 2,
            ..Workload::default()
        };
        for (key, value) in settings {
            workload::settings::apply(&mut whole, key, value).unwrap();
        }
        let of_rank = |number| {
            let workload = share(&whole, at(Rank::new(number, ranks).unwrap())).unwrap();
            let names = DealtNames {
                layout: layout(&workload).unwrap(),
                dirs: workload.files.dirs,
                seats: workload.seats(),
                seats_at_target: workload.seats_at_target(),
            };
            [0, 1].map(|worker| {
                let (files, dirs) = (names.files(worker), names.dirs(worker));
                let all = files.iter().chain(&dirs).cloned().map(Some);
                for (name, index) in all.chain([None]).zip(0..) {
                    assert_eq!(names.name(worker, index), name);
                }
                (files, dirs)
            })
        };
        (0..ranks).flat_map(of_rank).collect()
    }

    fn dirs_of(files: &[PathBuf]) -> Vec<&Path> {
        let mut dirs: Vec<&Path> = files.iter().filter_map(|file| file.parent()).collect();
        dirs.dedup();
        dirs
    }

    #[test]
    fn every_file_is_one_workers_on_any_number_of_ranks_and_none_is_left() {
        for dirs in [None, Some("own"), Some("shared")] {
            for ranks in [1, 3] {
                let mut settings =
                    vec![("total-files", "25"), ("num-dirs", "2"), ("meta", "create")];
                settings.extend(dirs.map(|dirs| ("dirs", dirs)));
                let dealt = dealt(ranks, &settings);
                let mut files: Vec<&PathBuf> = dealt.iter().flat_map(|(files, _)| files).collect();
                files.sort();
                files.dedup();
                let each: Vec<usize> = dealt.iter().map(|(files, _)| files.len()).collect();
                assert_eq!(
                    (files.len(), each.iter().sum::<usize>()),
                    (25, 25),
                    "{dirs:?} of {ranks} ranks: {each:?}"
                );
                assert!(each.iter().max().unwrap() - each.iter().min().unwrap() <= 1);
            }
        }
    }

    #[test]
    fn a_target_of_its_own_has_all_names_and_they_are_dealt_out_to_the_ranks_that_have_it() {
        for dirs in [None, Some("own"), Some("shared")] {
            let mut settings = vec![("total-files", "25"), ("num-dirs", "2"), ("meta", "create")];
            settings.extend(dirs.map(|dirs| ("dirs", dirs)));
            // Ranks 0 and 1 have one target, and rank 2 has another.
            let at = |rank: Rank| match rank.number() {
                2 => rank.at_target(0, 1),
                number => rank.at_target(number, 2),
            };
            let dealt = dealt_at(3, at, &settings);
            let (first, second) = dealt.split_at(4);
            for of_target in [first, second] {
                let files = of_target.iter().flat_map(|(files, _)| files);
                let mut files: Vec<&PathBuf> = files.collect();
                let count = files.len();
                files.sort();
                files.dedup();
                assert_eq!((files.len(), count), (25, 25), "{dirs:?}");
            }
        }
    }

    #[test]
    fn own_directories_are_of_one_worker_and_shared_ones_hold_files_of_all() {
        let settings = [("num-files", "4"), ("num-dirs", "2"), ("meta", "create")];
        let with = |dirs| dealt(2, &[&settings[..], &[("dirs", dirs)]].concat());
        for (number, (files, dirs)) in with("own").iter().enumerate() {
            let root = format!("/d/worker{number}");
            assert_eq!(
                (files.len(), dirs.len()),
                (8, 3),
                "its own root and two below"
            );
            assert!(files.iter().chain(dirs).all(|path| path.starts_with(&root)));
        }
        let shared = with("shared");
        for (files, _) in &shared {
            assert_eq!(files.len(), 2, "of the eight of all");
            assert_eq!(
                dirs_of(files),
                [Path::new("/d/dir.0000"), Path::new("/d/dir.0001")]
            );
        }
        let read: Vec<&PathBuf> = shared.iter().flat_map(|(_, dirs)| dirs).collect();
        assert_eq!(read.len(), 3, "each directory is read once");
    }
}
