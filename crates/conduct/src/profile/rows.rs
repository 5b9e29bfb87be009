//! What a profile measures: rows of the standard table, or of a file of the user.

use super::{Effort, ProfileError, ProfileRequest};
use workload::{EngineTarget, FileSharing, Phase, SpecError, Workload, parse_config};

/// The standard rows as text.
pub(super) const STANDARD: &str = include_str!("standard.toml");

/// The rows that a quick profile is content with: the eight numbers that people ask a disk for, and
/// what a write costs that must be there after a loss of power.
const QUICK: [&str; 9] = [
    "SEQ1M Q8T1 read direct",
    "SEQ1M Q8T1 write direct",
    "SEQ1M Q1T1 read direct",
    "SEQ1M Q1T1 write direct",
    "RND4K Q32T1 read direct",
    "RND4K Q32T1 write direct",
    "RND4K Q1T1 read direct",
    "RND4K Q1T1 write direct",
    "RND4K Q1T1 write+fdatasync direct",
];

/// The rows that were asked for, in their order.
pub(super) fn rows(request: &ProfileRequest) -> Result<Vec<Phase>, ProfileError> {
    let engine = request
        .engine
        .map(|engine| ("engine".to_owned(), engine.word().to_owned()));
    let overrides: Vec<(String, String)> = engine.into_iter().collect();
    let (name, text) = request
        .rows
        .as_ref()
        .map_or(("the standard rows", STANDARD), |(name, text)| {
            (name.as_str(), text.as_str())
        });
    let stages =
        parse_config(text, &Workload::default(), &overrides).map_err(|error| named(error, name))?;
    let rows: Vec<Phase> = stages.into_iter().flat_map(|stage| stage.0).collect();
    for (index, row) in rows.iter().enumerate() {
        one_file_only(row, name)?;
        if rows[..index].iter().any(|other| other.name == row.name) {
            return Err(ProfileError::Unsuitable(format!(
                "{name}: two rows are called {:?}; give each a name of its own",
                row.name
            )));
        }
    }
    Ok(rows)
}

/// Leaves only what an effort has time for, and says how many rows it leaves.
pub(super) fn within_effort(
    rows: &mut Vec<Phase>,
    request: &ProfileRequest,
    has_direct: bool,
) -> Option<String> {
    // Without direct I/O there are few rows enough.
    if request.effort != Effort::Quick || request.rows.is_some() || !has_direct {
        return None;
    }
    let all = rows.len();
    rows.retain(|row| QUICK.contains(&row.name.as_str()));
    Some(format!(
        "--quick measures {} of the {all} standard rows",
        rows.len()
    ))
}

fn named(mut error: SpecError, name: &str) -> ProfileError {
    if let SpecError::Syntax { file, .. } | SpecError::Line { file, .. } = &mut error {
        name.clone_into(file);
    }
    ProfileError::Spec(error)
}

/// What names or makes files beside those that a profile chooses, and whether it is given.
pub(super) fn of_files_it_names(workload: &Workload) -> [(&'static str, bool); 8] {
    let files = &workload.files;
    [
        ("target", !workload.targets.is_empty()),
        ("allow-destroy", !files.allow_destroy.is_empty()),
        ("num-files", files.num_files.is_some()),
        ("num-dirs", files.num_dirs.is_some()),
        ("dir-depth", files.dir_depth.is_some()),
        ("dir-width", files.dir_width.is_some()),
        ("layout-manifest", files.layout_manifest.is_some()),
        (
            "export-layout-manifest",
            files.export_layout_manifest.is_some(),
        ),
    ]
}

/// A profile promises to touch nothing but its target: what names or makes other files has no place
/// in a row.
fn one_file_only(row: &Phase, file: &str) -> Result<(), ProfileError> {
    let workload = &row.workload;
    let files = &workload.files;
    let of_rows = [
        ("total-files", files.total_files.is_some()),
        ("meta", !files.meta.is_empty()),
        (
            "file-distribution = \"per-worker\"",
            files.sharing == FileSharing::PerWorker,
        ),
        ("truncate-to-size", files.fill.truncate),
        ("verify", workload.verify.on),
    ];
    let given = [&of_files_it_names(workload)[..], &of_rows].concat();
    if let Some((key, _)) = given.iter().find(|(_, is_given)| *is_given) {
        return Err(ProfileError::Unsuitable(format!(
            "{file}: row {:?} has {key}, and every row of a profile uses the one target that the command names; leave it out",
            row.name
        )));
    }
    if workload.engine.target() != EngineTarget::Files {
        return Err(ProfileError::Unsuitable(format!(
            "row {:?}: the engine {} uses no file of this machine; measure it with `fathom run`",
            row.name,
            workload.engine.word()
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use workload::Cache;

    fn standard() -> Vec<Phase> {
        rows(&ProfileRequest::new(".")).unwrap()
    }

    #[test]
    fn every_row_of_the_standard_table_is_there_and_does_what_its_name_says() {
        let rows = standard();
        assert_eq!(rows.len(), 24);
        for Phase { name, workload } in rows {
            let words: Vec<&str> = name.split(' ').collect();
            let has = |word: &str| words.contains(&word);
            let is_curve = has("curve");
            let pattern = words[usize::from(is_curve)];
            assert_eq!(
                workload.access.random,
                !pattern.starts_with("SEQ"),
                "{name}"
            );
            let block = &pattern[3..];
            assert_eq!(
                workload.blocks.0[0].0,
                units::Bytes::parse(block).unwrap(),
                "{name}"
            );
            let depth = words
                .iter()
                .find_map(|w| w.strip_prefix('Q'))
                .unwrap()
                .trim_end_matches("T1");
            assert_eq!(
                (workload.queue_depth.to_string().as_str(), workload.threads),
                (depth, 1),
                "{name}"
            );
            assert_eq!(workload.durability.open.direct, !has("cached"), "{name}");
            assert_eq!(
                workload.cache,
                if has("cached") {
                    Cache::Warm
                } else {
                    Cache::Cold
                },
                "{name}"
            );
            let read = if has("70/30") {
                70.0
            } else if name.contains("write") {
                0.0
            } else {
                100.0
            };
            assert_eq!(workload.read_percent().unwrap(), read, "{name}");
            assert_eq!(
                workload.durability.fdatasync,
                u32::from(name.contains("fdatasync")),
                "{name}"
            );
        }
    }

    #[test]
    fn the_quick_rows_are_standard_rows() {
        let mut left = standard();
        let said = within_effort(
            &mut left,
            &ProfileRequest {
                effort: Effort::Quick,
                ..ProfileRequest::new(".")
            },
            true,
        );
        assert_eq!(
            (left.len(), said.as_deref()),
            (9, Some("--quick measures 9 of the 24 standard rows"))
        );
        for load in ["SEQ1M Q8T1", "SEQ1M Q1T1", "RND4K Q32T1", "RND4K Q1T1"] {
            for kind in ["read", "write"] {
                let name = format!("{load} {kind} direct");
                assert!(left.iter().any(|row| row.name == name), "{name}");
            }
        }
    }

    #[test]
    fn a_row_cannot_name_or_make_other_files() {
        let ask = |text: &str| {
            rows(&ProfileRequest {
                rows: Some(("r.toml".into(), text.into())),
                ..ProfileRequest::new(".")
            })
        };
        assert!(ask("[[phase]]\nname = \"a\"\nrandom = true\n").is_ok());
        for line in [
            "target = \"/x\"",
            "num-files = 3",
            "meta = \"create\"",
            "file-distribution = \"per-worker\"",
            "engine = \"null\"",
            "verify = true",
        ] {
            let error = ask(&format!("[[phase]]\nname = \"a\"\n{line}\n"))
                .unwrap_err()
                .to_string();
            assert!(error.contains("row \"a\""), "{line}: {error}");
        }
        let twice = "[[phase]]\nname = \"a\"\n[[phase]]\nname = \"a\"\n";
        assert!(
            ask(twice)
                .unwrap_err()
                .to_string()
                .contains("two rows are called")
        );
        assert!(
            ask("[[phase]]\nname = \"a\"\nblok-size = 1\n")
                .unwrap_err()
                .to_string()
                .starts_with("r.toml")
        );
    }
}
