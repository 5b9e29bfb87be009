//! Metadata operations: what must stand before them, and what concerns them alone.

use super::conflict;
use crate::error::RunError;
use units::Bytes;
use workload::{FileSharing, MetaOp, Workload, settings};

/// A worker holds what it writes, and as much for what it reads.
const LARGEST_PAYLOAD: Bytes = Bytes(64 << 20);

pub(super) fn names(asked: &Workload) -> Result<(), RunError> {
    let files = &asked.files;
    let are_given_up = asked.gives_up_targets();
    for (place, op) in files.meta.iter().enumerate() {
        if matches!(op, MetaOp::Rename | MetaOp::Unlink)
            && !files.meta[..place].contains(&MetaOp::Create)
            && !are_given_up
        {
            return conflict(format!(
                "--meta {} acts only on files that the same run created; put create before it, or give up the files of these names that are there with --allow-destroy and the directory",
                op.word()
            ));
        }
    }
    if !files.meta.is_empty() && (asked.queue_depth > 1 || asked.verify.on || asked.heat.on) {
        return conflict(
            "--meta measures metadata operations one at a time: it takes no --queue-depth, --verify or --heatmap",
        );
    }
    directories(asked)?;
    payload(asked)?;
    walk(asked)?;
    heeded(asked)
}

/// What says anything of operations on names: which there are, whose, and when.
const HEEDED: [&str; 35] = [
    "affinity",
    "allow-destroy",
    "arrival",
    "continue-on-error",
    "cpu-cores",
    "dir-depth",
    "dir-width",
    "dirs",
    "duration",
    "export-layout-manifest",
    "file-size",
    "layout-manifest",
    "max-errors",
    "meta",
    "num-dirs",
    "num-files",
    "numa-zones",
    "payload",
    "rate-iops",
    "run-until-complete",
    "seed",
    "shift",
    "stonewall",
    "think-adaptive-percent",
    "think-every",
    "think-mode",
    "think-time",
    "threads",
    "total-files",
    "warmup",
    "wear-out",
    "wear-out-limit",
    "where",
    "worker-placeholder",
    "worker-series",
];

/// What says anything of the bytes that some of them carry.
const HEEDED_OF_PAYLOAD: [&str; 3] = ["compress-percent", "rate-bytes", "write-pattern"];

/// Whether all that was asked for does something: what reads and writes of data would heed would be
/// told of operations on names as if these had.
fn heeded(asked: &Workload) -> Result<(), RunError> {
    if asked.files.meta.is_empty() {
        return Ok(());
    }
    let usual = settings::shown(&Workload::default());
    let given = settings::shown(asked).into_iter();
    for (key, value) in given.filter(|of| !usual.contains(of)) {
        let is_heeded = match (key, value.as_str()) {
            // What has no files is refused for that.
            ("engine", engine) => ["auto", "sync", "null", "sim"].contains(&engine),
            ("file-distribution", whose) => ["shared", "per-worker"].contains(&whose),
            (key, _) if HEEDED_OF_PAYLOAD.contains(&key) => asked.files.payload.is_some(),
            (key, _) => HEEDED.contains(&key),
        };
        if !is_heeded {
            let value = match value.as_str() {
                "true" => String::new(),
                value => format!(" {value}"),
            };
            return conflict(format!(
                "--{key}{value} says how data is read and written, and --meta creates, looks at and removes files by one blocking call after the other; drop it, or give it to phases without --meta"
            ));
        }
    }
    Ok(())
}

fn directories(asked: &Workload) -> Result<(), RunError> {
    let Some(whose) = asked.files.dirs else {
        return Ok(());
    };
    if asked.files.meta.is_empty() {
        return conflict(format!(
            "--dirs {} says whose the directories of --meta are; add --meta, or give workers files of their own by --file-distribution per-worker",
            whose.word()
        ));
    }
    if asked.files.sharing != FileSharing::Shared {
        return conflict(format!(
            "--dirs {} and --file-distribution {} both say which files are a worker's; give one of them",
            whose.word(),
            asked.files.sharing.word()
        ));
    }
    Ok(())
}

fn payload(asked: &Workload) -> Result<(), RunError> {
    let files = &asked.files;
    let has = |op| files.meta.contains(&op);
    let Some(payload) = files.payload else {
        return if has(MetaOp::Read) {
            conflict("--meta read reads what --payload SIZE says; add that")
        } else {
            Ok(())
        };
    };
    if !has(MetaOp::Create) && !has(MetaOp::Read) {
        return conflict("--payload is what --meta create writes and --meta read reads; add one");
    }
    let moves_bytes = |op: &&MetaOp| matches!(op, MetaOp::Create | MetaOp::Read);
    if asked.pace.rate_bytes.is_some()
        && asked.pace.rate_iops.is_none()
        && let Some(op) = files.meta.iter().find(|op| !moves_bytes(op))
    {
        return conflict(format!(
            "--rate-bytes says when bytes are due, and --meta {} moves none: all of it would be due at once; add --rate-iops, or make it a phase without --rate-bytes",
            op.word()
        ));
    }
    if payload.0 == 0 || payload.0 > LARGEST_PAYLOAD.0 {
        return conflict(format!(
            "--payload is from 1 byte to {LARGEST_PAYLOAD}; without it files hold no data, and larger files are written without --meta"
        ));
    }
    if files.size.is_some() {
        return conflict(
            "--file-size makes files of --meta that hold no data, and --payload says what they hold; give one of them",
        );
    }
    if asked.stop.total_bytes.is_some() {
        return conflict(
            "--total-bytes ends reads and writes, and --meta does every operation on all of its files; drop it",
        );
    }
    Ok(())
}

/// One walk over everything, which is over when every directory was read.
fn walk(asked: &Workload) -> Result<(), RunError> {
    let meta = &asked.files.meta;
    let walks = meta.iter().filter(|op| **op == MetaOp::Walk).count();
    if walks == 0 && asked.files.find.is_some() {
        return conflict("--where says what a walk looks for; add --meta walk");
    }
    if walks > 1 {
        return conflict(
            "--meta has at most one walk, as what it found is one number; drop the others",
        );
    }
    let (_, ranks) = asked.rank.place_at_target();
    let changes = |op: &&MetaOp| matches!(op, MetaOp::Create | MetaOp::Rename | MetaOp::Unlink);
    if walks == 1
        && ranks > 1
        && let Some(op) = meta.iter().find(changes)
    {
        return conflict(format!(
            "--meta walk looks at what other ranks change by --meta {} at the same time, and what it finds would be chance; make the walk a phase of its own, or a command",
            op.word()
        ));
    }
    if walks == 1 && asked.stop.warmup.0 > 0 {
        return conflict(
            "--meta walk goes over its tree once, and what --warmup sees of it would count without its time; drop --warmup, and to walk what caches hold, walk twice",
        );
    }
    if meta.first() == Some(&MetaOp::Walk) && asked.stop.stonewall.at.is_some() {
        return conflict(
            "--stonewall ends the first kind of --meta, and a walk ends when every directory was read; drop it",
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(settings: &[(&str, &str)]) -> Option<String> {
        let mut asked = Workload::default();
        for (key, value) in settings {
            workload::settings::apply(&mut asked, key, value).unwrap();
        }
        names(&asked).err().map(|error| error.to_string())
    }

    #[test]
    fn what_would_do_nothing_or_contradicts_itself_is_refused_by_name() {
        let cases: [(&[(&str, &str)], &str); 13] = [
            (&[("dirs", "own")], "add --meta, or"),
            (
                &[
                    ("dirs", "own"),
                    ("meta", "create"),
                    ("file-distribution", "per-worker"),
                ],
                "give one of them",
            ),
            (&[("meta", "create,read")], "add that"),
            (&[("meta", "stat"), ("where", "name=a")], "add --meta walk"),
            (&[("meta", "walk,stat,walk")], "at most one walk"),
            (&[("meta", "walk"), ("stonewall", "1s")], "drop it"),
            (&[("meta", "walk"), ("warmup", "50ms")], "drop --warmup"),
            (
                &[("meta", "stat,walk"), ("warmup", "50ms")],
                "drop --warmup",
            ),
            (&[("meta", "stat"), ("payload", "1k")], "add one"),
            (
                &[("meta", "create"), ("payload", "0")],
                "from 1 byte to 64 MiB",
            ),
            (
                &[("meta", "create"), ("payload", "65M")],
                "from 1 byte to 64 MiB",
            ),
            (
                &[("meta", "create"), ("payload", "1k"), ("file-size", "4k")],
                "--file-size makes files",
            ),
            (
                &[("meta", "create"), ("payload", "1k"), ("total-bytes", "4k")],
                "--total-bytes ends",
            ),
        ];
        for (settings, part) in cases {
            let said = refusal(settings).unwrap_or_default();
            assert!(said.contains(part), "{settings:?}: {said}");
        }
        let mut given_up = Workload::default();
        given_up.files.meta = vec![MetaOp::Unlink];
        given_up.targets = vec!["/d".into()];
        assert!(names(&given_up).is_err());
        given_up.files.allow_destroy = vec!["/e".into()];
        assert!(names(&given_up).is_err(), "another directory");
        given_up.files.allow_destroy.push("/d".into());
        assert!(names(&given_up).is_ok());
        let good: [&[(&str, &str)]; 5] = [
            &[("meta", "stat"), ("warmup", "50ms")],
            &[
                ("meta", "create,read,unlink"),
                ("payload", "3901"),
                ("dirs", "shared"),
            ],
            &[("meta", "read"), ("payload", "3901")],
            &[("meta", "stat"), ("engine", "sync"), ("block-size", "4k")],
            &[
                ("meta", "create,stat"),
                ("dirs", "own"),
                ("file-size", "4k"),
            ],
        ];
        for settings in good {
            assert_eq!(refusal(settings), None, "{settings:?}");
        }
    }

    #[test]
    fn what_only_reads_and_writes_heed_is_refused_and_all_else_is_an_option() {
        for (key, value, part) in [
            ("fsync", "1", "--fsync 1 says"),
            ("random", "true", "--random says"),
            ("cache", "cold", "--cache cold"),
            ("total-bytes", "4k", "--total-bytes 4k"),
            ("refill-pattern", "zeros", "--refill-pattern zeros"),
            ("engine", "mmap", "--engine mmap"),
            ("file-distribution", "interleaved", "--file-distribution"),
        ] {
            let said = refusal(&[("meta", "create,stat"), (key, value)]);
            let said = said.unwrap_or_default();
            assert!(said.contains(part), "{said}");
        }
        let rate = [("meta", "create"), ("rate-bytes", "4k")];
        let said = refusal(&rate).unwrap_or_default();
        assert!(said.contains("--rate-bytes"), "{said}");
        let with_bytes = [&rate[..], &[("payload", "1k")]].concat();
        assert_eq!(refusal(&with_bytes), None);
        let unpaced = [&with_bytes[..], &[("meta", "create,stat")]].concat();
        let said = refusal(&unpaced).unwrap_or_default();
        assert!(said.contains("--meta stat moves none"), "{said}");
        let both = [&unpaced[..], &[("rate-iops", "10")]].concat();
        assert_eq!(refusal(&both), None);
        let equal = [&with_bytes[..], &[("dedupe-percent", "50")]].concat();
        let said = refusal(&equal).unwrap_or_default();
        assert!(said.contains("--dedupe-percent 50"), "{said}");
        for key in HEEDED.into_iter().chain(HEEDED_OF_PAYLOAD) {
            assert!(settings::SETTINGS.iter().any(|setting| setting.key == key));
        }
    }

    #[test]
    fn a_walk_is_of_ranks_as_long_as_none_of_them_changes_what_others_look_at() {
        let mut on_ranks = Workload::default();
        workload::settings::apply(&mut on_ranks, "meta", "stat,walk").unwrap();
        on_ranks.rank = workload::Rank::new(1, 2).unwrap();
        assert!(names(&on_ranks).is_ok());
        on_ranks.files.meta.insert(0, MetaOp::Create);
        let said = names(&on_ranks).unwrap_err().to_string();
        assert!(
            said.contains("what other ranks change by --meta create"),
            "{said}"
        );
        on_ranks.rank = on_ranks.rank.at_target(0, 1);
        assert!(names(&on_ranks).is_ok(), "each in a tree of its own");
    }
}
