//! The end of a run on its files: marks that say what they hold, and which files have gone meanwhile.

use super::{Prepared, use_of};
use crate::probe::RealProbe;
use crate::safety::{self, Referent};
use workload::Workload;

/// Seals the marks of all files that this run wrote, as far as possible, and notes which files are not there any more.
///
/// What others write after that must get another time of modification than this run's last write.
pub(crate) fn seal(prepared: &mut Prepared, workload: &Workload, completed: bool) {
    let io = use_of(workload);
    let marked = prepared.files.iter().filter(|ready| ready.mark.is_some());
    let times = marked.filter_map(|ready| std::fs::metadata(&ready.path).and_then(|facts| facts.modified()).ok());
    let _in_vain_where_another_machine_stamps_files = times.max().map(engine::clock::outwait_file_time);
    for ready in &mut prepared.files {
        let facts = std::fs::metadata(&ready.path).ok();
        let Some(facts) = facts.as_ref().filter(|facts| Referent::of(facts) == ready.referent) else {
            let what = if facts.is_some() { "was replaced by another file, which is left alone" } else { "was removed" };
            prepared.notices.push(format!("during the run {} {what}; operations went to the file that was opened", ready.path.display()));
            continue;
        };
        if io.writes {
            ready.content.wrote(workload, completed);
        }
        if let Some(mark) = ready.mark.take().map(|mark| ready.content.stamp(mark)) {
            let _an_unsealed_mark_still_says_that_the_file_is_ours = safety::write_mark(&ready.path, &mark.sealed(facts), &RealProbe);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Machine;
    use crate::prepare::prepare;
    use crate::resolve::resolve;
    use std::io::Write;
    use std::path::Path;
    use units::{Bytes, Percent};

    #[test]
    fn what_others_write_right_after_the_seal_breaks_it() {
        let place = tempfile::tempdir().unwrap();
        for round in 0..20 {
            let target = place.path().join(round.to_string());
            let mut workload = Workload { targets: vec![target.clone()], ..Workload::default() };
            workload.files.size = Some(Bytes(1 << 16));
            workload.access.read_percent = Some(Percent(0.0));
            let resolved = resolve(&workload, &Machine::at(Path::new("/"))).unwrap();
            let mut prepared = prepare(&resolved, &|| 0, &mut |_, _| {}).unwrap();
            seal(&mut prepared, &resolved.effective, true);
            let sealed = || safety::read_mark(&target, &RealProbe).unwrap().unwrap();
            sealed().still_describes(&target.metadata().unwrap()).unwrap();
            std::fs::File::options().write(true).open(&target).unwrap().write_all(b"theirs").unwrap();
            assert!(sealed().still_describes(&target.metadata().unwrap()).is_err(), "round {round}");
        }
    }
}
