//! The plan of an IO500-like run as a text that can be changed and read again.

use super::{Io500Asked, Io500Sizes};
use crate::profile::ProfileError;
use crate::profile::rows::of_files_it_names;
use std::fmt::Write as _;
use workload::{
    IO500_PHASES, Io500Phase, Io500Role, Phase, SpecError, Workload, parse_config, settings,
};

const HEAD: &str = "\
# An IO500-like plan: the phases of IO500 in its order. It is run, also when it was changed, by
#   fathom profile DIR --io500-like --rows THIS_FILE
# Phases that read, stat or delete take what the phase that wrote for them had reached on every
# worker; all of them work in a new directory, and its paths are not written here.
# The score is IO500-like and no IO500 score. IO500 demands stonewall = \"300s\".
";

/// Options by which a phase is told from another; they are no choice of a plan.
const FIXED: [&str; 4] = ["meta", "dirs", "file-distribution", "write-percent"];

/// The plan in TOML, in the form of `fathom run --config`.
#[must_use]
pub fn io500_text(asked: &Io500Asked, sizes: &Io500Sizes) -> String {
    let mut out = format!("{HEAD}threads = {}\n", asked.threads);
    for phase in &IO500_PHASES {
        let _infallible = write!(out, "\n[[phase]]\nname = \"{}\"\n", phase.name);
        let mut line = |key: &str, text: &str| {
            let bare = text == "true" || text.bytes().all(|byte| byte.is_ascii_digit());
            let quote = if bare { "" } else { "\"" };
            let _infallible = writeln!(out, "{key} = {quote}{text}{quote}");
        };
        phase.options.iter().for_each(|(key, text)| line(key, text));
        if phase.role == Io500Role::Writes {
            match phase.name {
                "ior-easy-write" => line("file-size", &sizes.easy_file.exact()),
                "ior-hard-write" => line("file-size", &sizes.hard_file.exact()),
                _ => line("total-files", &sizes.files.to_string()),
            }
            line("stonewall", &asked.stonewall.exact());
            line("wear-out", "true");
        }
    }
    out
}

/// The phases of a plan; `file` is where it came from.
///
/// # Errors
/// It is not TOML, has an option that is none, a phase that is none or comes too early, or is no
/// longer what its name says.
pub fn io500_phases(text: &str, file: &str) -> Result<Vec<Phase>, ProfileError> {
    let stages =
        parse_config(text, &Workload::default(), &[]).map_err(|error| in_file(error, file))?;
    let phases: Vec<Phase> = stages.into_iter().flat_map(|stage| stage.0).collect();
    let wrong = |why: String| ProfileError::Unsuitable(format!("{file}: {why}"));
    let threads = phases.first().map(|phase| phase.workload.threads);
    let mut after = 0;
    for phase in &phases {
        let name = &phase.name;
        let at = IO500_PHASES.iter().position(|known| known.name == name);
        let Some(at) = at else {
            let names: Vec<&str> = IO500_PHASES.iter().map(|phase| phase.name).collect();
            return Err(wrong(format!(
                "phase {name:?} is not one of {}",
                names.join(", ")
            )));
        };
        if at < after {
            return Err(wrong(format!(
                "phase {name} comes twice, or after one that IO500 runs later"
            )));
        }
        after = at + 1;
        check(&IO500_PHASES[at], phase).map_err(|why| wrong(format!("phase {name}: {why}")))?;
        if Some(phase.workload.threads) != threads {
            return Err(wrong(format!(
                "phase {name} has other --threads than the first, and workers use what those of the same number wrote"
            )));
        }
        let written = match IO500_PHASES[at].role {
            Io500Role::Uses(written) => written,
            Io500Role::Writes | Io500Role::Walks => continue,
        };
        if !phases.iter().any(|phase| phase.name == written) {
            return Err(wrong(format!(
                "phase {name} uses what {written} writes, which is not in the plan"
            )));
        }
    }
    Ok(phases)
}

/// What a phase of a plan cannot be.
fn check(known: &Io500Phase, phase: &Phase) -> Result<(), String> {
    let workload = &phase.workload;
    let shown = settings::shown(workload).into_iter();
    let shown = shown.map(|(key, text)| (key.to_owned(), text)).collect();
    if let Some(key) = known
        .changed_in(&shown)
        .iter()
        .find(|key| FIXED.contains(*key))
    {
        return Err(format!(
            "{key} is what makes it that phase; leave it as --dry-run prints it"
        ));
    }
    let files = &workload.files;
    let newer = files.find.as_ref().and_then(|find| find.newer.as_deref());
    let of_phases = [
        ("worker-placeholder", files.worker_placeholder.is_some()),
        (
            "engine",
            workload.engine.target() != workload::EngineTarget::Files,
        ),
        ("where newer", newer.is_some_and(|newer| newer != "mark")),
        ("shift", workload.shift.is_some()),
    ];
    let given = [&of_files_it_names(workload)[..], &of_phases].concat();
    if let Some((key, _)) = given.iter().find(|(_, is_given)| *is_given) {
        return Err(format!(
            "{key} is not for a plan to say: the phases work on files of this machine, in a directory of their own"
        ));
    }
    let is_sized = files.size.is_some() || files.total_files.is_some();
    match (known.role, is_sized) {
        (Io500Role::Writes, false) => Err("it needs file-size or total-files".into()),
        (Io500Role::Uses(written), true) => Err(format!(
            "its size follows from what {written} reached; leave out file-size and total-files"
        )),
        (Io500Role::Walks, _) if workload.stop.warmup.0 > 0 => {
            Err("a walk goes over its tree once; leave out warmup".into())
        }
        (Io500Role::Writes | Io500Role::Uses(_) | Io500Role::Walks, _) => Ok(()),
    }
}

fn in_file(mut error: SpecError, of: &str) -> ProfileError {
    if let SpecError::Syntax { file, .. } | SpecError::Line { file, .. } = &mut error {
        of.clone_into(file);
    }
    ProfileError::Spec(error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::io500::{Io500Sizes, io500_sizes};
    use units::{Bytes, Nanos};

    fn standard() -> String {
        let asked = Io500Asked {
            stonewall: Nanos(2_000_000_000),
            threads: 4,
            size: Some(Bytes(1 << 30)),
            files: Some(1000),
        };
        let sizes: Io500Sizes = io500_sizes(&asked, 1, Some(8 << 30)).unwrap();
        io500_text(&asked, &sizes)
    }

    #[test]
    fn the_printed_plan_reads_back_as_the_twelve_phases() {
        let phases = io500_phases(&standard(), "plan").unwrap();
        let names: Vec<&str> = phases.iter().map(|phase| phase.name.as_str()).collect();
        assert_eq!(names, IO500_PHASES.each_ref().map(|phase| phase.name));
        for (phase, known) in phases.iter().zip(&IO500_PHASES) {
            let workload = &phase.workload;
            assert_eq!(workload.threads, 4);
            let writes = known.role == Io500Role::Writes;
            assert_eq!(
                workload.stop.stonewall.at.is_some(),
                writes,
                "{}",
                phase.name
            );
            assert_eq!(workload.stop.stonewall.wear_out, writes, "{}", phase.name);
        }
        assert_eq!(phases[1].workload.files.total_files, Some(4000));
    }

    #[test]
    fn a_plan_that_is_no_longer_of_these_phases_is_refused_by_name() {
        let cases = [
            (
                "name = \"find\"",
                "name = \"found\"",
                "phase \"found\" is not one of ior-easy-write, ",
            ),
            (
                "name = \"mdtest-easy-stat\"",
                "name = \"ior-easy-write\"",
                "ior-easy-write comes twice",
            ),
            (
                "meta = \"unlink\"",
                "meta = \"stat\"",
                "mdtest-easy-delete: meta is what makes it",
            ),
            (
                "newer=mark",
                "newer=/etc/passwd",
                "where newer is not for a plan",
            ),
            (
                "wear-out = true",
                "wear-out = true\ntarget = \"/\"",
                "target is not for a plan",
            ),
            (
                "no-refill = true",
                "no-refill = true\nfile-size = 4096",
                "leave out file-size",
            ),
            (
                "end-fsync = true",
                "end-fsync = true\nthreads = 2",
                "other --threads than the first",
            ),
            (
                "total-files = 4000\n",
                "",
                "mdtest-easy-write: it needs file-size",
            ),
            (
                "meta = \"walk\"",
                "meta = \"walk\"\nwarmup = \"50ms\"",
                "find: a walk goes over its tree once",
            ),
            (
                "name = \"ior-easy-write\"",
                "nam = \"ior-easy-write\"",
                "plan:",
            ),
        ];
        for (from, to, part) in cases {
            let text = standard().replacen(from, to, 1);
            assert_ne!(text, standard(), "{from} is not in the plan");
            let said = io500_phases(&text, "plan").unwrap_err().to_string();
            assert!(said.contains(part), "{to}: {said}");
        }
        let writes = standard()
            .find("[[phase]]\nname = \"ior-hard-read\"")
            .unwrap();
        let without = standard()[writes..].to_owned();
        let said = io500_phases(&without, "plan").unwrap_err().to_string();
        assert!(said.contains("uses what ior-hard-write writes"), "{said}");
    }
}
