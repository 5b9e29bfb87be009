//! The end of a run on its files: marks that say what they hold, and which files have gone
//! meanwhile.

use super::written::{RunWrites, WrittenFile, used_blocks};
use super::{FileContent, Prepared, use_of};
use crate::error::RunError;
use crate::probe::RealProbe;
use crate::safety::{self, Mark, Referent};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use workload::Workload;

/// An open file whose mark says that this run writes to it. However the run ends, the mark is
/// sealed, unless it is left as it is on purpose: a mark without a seal permits nothing.
#[derive(Debug)]
pub(super) struct Unsealed {
    file: Arc<File>,
    path: PathBuf,
    mark: Option<Mark>,
}

impl Unsealed {
    /// Puts the mark on the file.
    ///
    /// # Errors
    /// The file system refuses.
    pub(super) fn mark(file: &Arc<File>, path: &Path, mark: Mark) -> Result<Self, RunError> {
        safety::write_mark(file, path, &mark, &RealProbe)?;
        Ok(Self {
            file: Arc::clone(file),
            path: path.to_owned(),
            mark: Some(mark),
        })
    }

    /// What the seal will say of the content.
    pub(super) fn now_holds(&mut self, content: &FileContent) {
        self.mark = self.mark.take().map(|mark| content.stamp(mark));
    }

    /// Says so in the file at once, for whoever looks at it if this run is killed.
    pub(super) fn tell(&self) {
        if let Some(mark) = &self.mark {
            let _the_seal_is_tried_as_well =
                safety::write_mark(&self.file, &self.path, mark, &RealProbe);
        }
    }

    pub(super) fn leave(mut self) {
        self.mark = None;
    }

    /// Nothing was written after all to a file that held this and was so long: the seal says so again,
    /// and a mark that spoke of another state is what it was.
    pub(super) fn put_back(mut self, content: &FileContent, had: u64) {
        if content.is_as_left() {
            let mut kept = content.clone();
            if self.file.metadata().is_ok_and(|facts| facts.len() > had) {
                kept.has_grown(had);
            }
            self.now_holds(&kept);
        } else if let Some(old) = &content.mark
            && safety::write_mark(&self.file, &self.path, old, &RealProbe).is_ok()
        {
            self.mark = None;
        }
    }
}

impl Drop for Unsealed {
    fn drop(&mut self) {
        if let Some(mark) = self.mark.take() {
            let _the_file_is_left_without_a_seal =
                safety::seal_mark(&self.file, &self.path, &mark, &RealProbe);
        }
    }
}

/// Seals the marks of all files that this run wrote, as far as possible, and notes which files are
/// not there any more.
///
/// What others write after that must get another time of modification than this run's last write.
pub(crate) fn seal(prepared: &mut Prepared, workload: &Workload, writes: RunWrites) {
    let io = use_of(workload);
    let numbers = prepared.numbers_rewrites(workload);
    let marked = prepared
        .files
        .iter()
        .filter(|ready| ready.unsealed.is_some());
    let times = marked.filter_map(|ready| {
        ready
            .file
            .metadata()
            .and_then(|facts| facts.modified())
            .ok()
    });
    let _in_vain_where_another_machine_stamps_files =
        times.max().map(sys::clock::outwait_file_time);
    let mut is_any_sealed = false;
    for ready in &mut prepared.files {
        if prepared.is_used_by_ranks {
            // What another host wrote last shows in the times of a network's file when it is opened.
            let _it_may_be_gone =
                sys::open_without_waiting(File::options().read(true), 0, &ready.path);
        }
        let facts = std::fs::metadata(&ready.path).ok();
        if facts
            .as_ref()
            .is_none_or(|facts| Referent::of(facts) != ready.referent)
        {
            let what = if facts.is_some() {
                "was replaced by another file, which is left alone"
            } else {
                "was removed"
            };
            prepared.notices.push(format!(
                "during the run {} {what}; operations went to the file that was opened",
                ready.path.display()
            ));
        }
        if io.writes {
            let file_bytes = ready.file.metadata().map_or(u64::MAX, |facts| facts.len());
            let all_of = writes
                .completed
                .then(|| used_blocks(workload, ready.bytes, file_bytes));
            let written = WrittenFile {
                numbers,
                all_of,
                passes: writes.passes,
                tearing: writes.tearing,
                file_bytes,
            };
            ready.content.wrote(workload, prepared.fresh_run, &written);
        }
        if let Some(mut unsealed) = ready.unsealed.take() {
            unsealed.now_holds(&ready.content);
            is_any_sealed = true;
        }
    }
    if is_any_sealed {
        safety::outwait_seals();
    }
}

/// Leaves the marks without a seal: something may write to the files still.
pub(crate) fn leave_unsealed(prepared: &mut Prepared) {
    prepared
        .files
        .iter_mut()
        .filter_map(|ready| ready.unsealed.take())
        .for_each(Unsealed::leave);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prepare::prepare;
    use crate::resolve::resolve;
    use crate::safety::HeldRange;
    use crate::steps::WritePasses;
    use host::Machine;
    use std::io::Write;
    use units::{Bytes, Percent};

    #[test]
    fn what_others_write_right_after_the_seal_breaks_it() {
        let place = tempfile::tempdir().unwrap();
        for round in 0..20 {
            let target = place.path().join(round.to_string());
            let mut workload = Workload {
                targets: vec![target.clone()],
                ..Workload::default()
            };
            workload.files.size = Some(Bytes(1 << 16));
            workload.access.read_percent = Some(Percent(0.0));
            let resolved = resolve(&workload, &Machine::at(Path::new("/"))).unwrap();
            let mut prepared = prepare(&resolved, &|| 0, &mut |_, _| {}).unwrap();
            let writes = RunWrites {
                completed: true,
                ..RunWrites::default()
            };
            seal(&mut prepared, &resolved.effective, writes);
            prepared.undo.keep();
            let sealed = || {
                safety::read_mark(&std::fs::File::open(&target).unwrap(), &target, &RealProbe)
                    .unwrap()
                    .unwrap()
            };
            sealed()
                .still_describes(&target.metadata().unwrap())
                .unwrap();
            std::fs::File::options()
                .write(true)
                .open(&target)
                .unwrap()
                .write_all(b"theirs")
                .unwrap();
            assert!(
                sealed()
                    .still_describes(&target.metadata().unwrap())
                    .is_err(),
                "round {round}"
            );
        }
    }

    #[test]
    fn what_nobody_wrote_does_not_hold_the_pattern() {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("f");
        let mut workload = Workload {
            targets: vec![target.clone()],
            ..Workload::default()
        };
        workload.access.read_percent = Some(Percent(0.0));
        workload.verify.on = true;
        let all = HeldRange::default();
        let until = |to| HeldRange::default().until(to);
        // The file's bytes, those from where all were written or some; what is held then, and whether
        // all of that was written now.
        let k = 1 << 10;
        let from = |from| HeldRange { from, to: None };
        workload.stop.complete = true;
        let mut oldest = 0;
        for (bytes, offset, completed, held, is_new) in [
            (64 * k, 4 * k, true, from(4 * k), true),
            (64 * k, 0, true, all, true),
            (64 * k, 8 * k, true, all, false),
            (64 * k, 0, false, all, false),
            (128 * k, 0, false, until(64 * k), false),
            (128 * k, 64 * k, true, all, false),
            (32 * k, 0, true, all, false),
            (256 * k, 132 * k, true, from(132 * k), true),
            (256 * k, 0, true, all, true),
            (512 * k + 100, 0, true, until(512 * k), true),
            (1 << 20, 0, true, all, true),
        ] {
            workload.files.size = Some(Bytes(bytes));
            workload.files.offset = Bytes(offset);
            let resolved = resolve(&workload, &Machine::at(Path::new("/"))).unwrap();
            let mut prepared = prepare(&resolved, &|| 0, &mut |_, _| {}).unwrap();
            let passes = WritePasses { begun: 1, ended: 1 };
            let writes = RunWrites {
                completed,
                passes,
                ..RunWrites::default()
            };
            seal(&mut prepared, &resolved.effective, writes);
            prepared.undo.keep();
            drop(prepared);
            let mark = mark_of(&target).unwrap();
            assert!(mark.pattern.is_some());
            let found = (mark.held, mark.oldest > oldest);
            assert_eq!(found, (held, is_new), "{bytes} {offset} {completed}");
            oldest = mark.oldest;
        }
    }

    fn asked(target: &Path) -> crate::resolve::Resolved {
        let mut workload = Workload {
            targets: vec![target.into()],
            ..Workload::default()
        };
        workload.files.size = Some(Bytes(1 << 16));
        workload.access.read_percent = Some(Percent(0.0));
        resolve(&workload, &Machine::at(Path::new("/"))).unwrap()
    }

    fn mark_of(path: &Path) -> Option<Mark> {
        safety::read_mark(&File::open(path).unwrap(), path, &RealProbe).unwrap()
    }

    #[test]
    fn a_run_that_could_not_start_leaves_its_own_file_sealed_and_one_that_was_given_up_does_not() {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("f");
        let resolved = asked(&target);
        let mut prepared = prepare(&resolved, &|| 0, &mut |_, _| {}).unwrap();
        prepared.undo.keep();
        assert_eq!(mark_of(&target).unwrap().modified, None, "the run goes on");
        drop(prepared);
        mark_of(&target)
            .unwrap()
            .still_describes(&target.metadata().unwrap())
            .unwrap();
        let mut prepared = prepare(&resolved, &|| 0, &mut |_, _| {}).unwrap();
        leave_unsealed(&mut prepared);
        prepared.undo.keep();
        drop(prepared);
        assert_eq!(mark_of(&target).unwrap().modified, None);
        let refused = prepare(&resolved, &|| 0, &mut |_, _| {}).unwrap_err();
        assert!(
            refused
                .to_string()
                .contains("the last run on it was killed"),
            "{refused}"
        );
    }

    #[test]
    fn whatever_is_exchanged_meanwhile_a_foreign_file_is_neither_marked_nor_changed() {
        use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
        let place = tempfile::tempdir().unwrap();
        let (a, b) = (place.path().join("a"), place.path().join("b"));
        let content = vec![7_u8; 1 << 16];
        for dir in [&a, &b] {
            std::fs::create_dir(dir).unwrap();
        }
        let (ours, theirs) = (a.join("own"), b.join("own"));
        let kept =
            prepare(&asked(&ours), &|| 0, &mut |_, _| {}).map(|mut prepared| prepared.undo.keep());
        kept.unwrap();
        std::fs::write(&theirs, &content).unwrap();
        let (link, other_link) = (place.path().join("link"), place.path().join("other"));
        let foreign = File::open(&theirs).unwrap();
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let aside = place.path().join("aside");
                while !stop.load(Relaxed) {
                    for target in [&ours, &theirs] {
                        std::os::unix::fs::symlink(target, &other_link).unwrap();
                        std::fs::rename(&other_link, &link).unwrap();
                    }
                    for (from, to) in [(&a, &aside), (&b, &a), (&aside, &b)] {
                        std::fs::rename(from, to).unwrap();
                    }
                }
            });
            for round in 0..300 {
                let resolved = asked(if round % 2 == 0 { &link } else { &ours });
                let prepared = prepare(&resolved, &|| 0, &mut |_, _| {});
                if let Ok(mut prepared) = prepared {
                    let writes = RunWrites {
                        completed: true,
                        ..RunWrites::default()
                    };
                    seal(&mut prepared, &resolved.effective, writes);
                }
            }
            stop.store(true, Relaxed);
        });
        assert_eq!(
            safety::read_mark(&foreign, &theirs, &RealProbe).unwrap(),
            None
        );
        let mut found = Vec::new();
        std::io::Read::read_to_end(&mut &foreign, &mut found).unwrap();
        assert!(found == content, "the foreign file is as it was");
    }
}
