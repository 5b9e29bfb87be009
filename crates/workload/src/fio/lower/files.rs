//! Targets, their sizes, and what happens to them before the run.

use super::{in_dev, invalidated, put};
use crate::fio::job::{Advice, Job};
use crate::fio::section::Place;
use crate::{Cache, EngineFeature, Fadvise, FileSharing, Madvise, SpecError, Workload};
use std::path::{Path, PathBuf};
use units::Bytes;
use units::fio::FioSize;
use units::lossless::to_u64;

/// Files that fio would name one by one; more are better asked for as a directory.
const MOST_FILES: u64 = 4096;

/// What the clones of a job work on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Region {
    /// Bytes of all files of one clone between offset and end; `None`: known when the target is
    /// opened.
    pub(super) bytes: Option<u64>,
    /// Bytes that one clone moves in one pass: `size`, if it is less.
    pub(super) pass: Option<u64>,
    /// No two clones have a byte in common.
    pub(super) disjoint: bool,
}

pub(super) fn lower(
    job: &mut Job,
    workload: &mut Workload,
    length: &dyn Fn(&Path) -> Option<u64>,
) -> Result<Region, SpecError> {
    workload.targets = match &job.target.filename {
        Some(names) => named(job, names.clone())?,
        None => made_up(job)?,
    };
    if job.target.filename.is_none() && job.order.clones > 1 && job.has_files() {
        let mark = placeholder(job);
        if workload
            .targets
            .iter()
            .all(|target| target.to_string_lossy().contains(&mark))
        {
            workload.files.sharing = FileSharing::PerWorker;
            put(job, workload, "numjobs", "worker-placeholder", &mark)?;
        }
    }
    let mut region = sizes(job, workload, length)?;
    increment(job, workload, &mut region)?;
    begin_together(job, workload, &region)?;
    before(job, workload);
    Ok(region)
}

/// `filename`, in the first `directory`.
fn named(job: &mut Job, names: Vec<String>) -> Result<Vec<PathBuf>, SpecError> {
    let count = to_u64(names.len());
    match job.target.files {
        Some(files) if files < count => {
            return job.refuse(
                "nrfiles",
                format!("filename has {count} names; name the files that shall be used"),
            );
        }
        Some(files) if files > count => job.note(
            "nrfiles",
            format!("the files are those that filename names, {count}, as in fio"),
        ),
        Some(_) | None => {}
    }
    let Some(directories) = job.target.directory.clone() else {
        return Ok(names.into_iter().map(PathBuf::from).collect());
    };
    if let (Some(Place::Argument(name)), Some(Place::Argument(directory))) =
        (job.place("filename"), job.place("directory"))
        && name < directory
    {
        return job.refuse(
            "directory",
            "on a command line, fio ignores a directory that comes after filename; put it before",
        );
    }
    if directories.len() > 1 {
        job.note(
            "directory",
            "files named by filename are in the first directory, as in fio",
        );
    }
    Ok(names
        .into_iter()
        .map(|name| PathBuf::from(format!("{}/{name}", directories[0])))
        .collect())
}

/// What stands for the number of a clone in the names of its files: nothing that the names have in
/// them otherwise.
fn placeholder(job: &Job) -> String {
    let target = &job.target;
    let texts = || {
        target
            .directory
            .iter()
            .flatten()
            .chain(&target.format)
            .chain([&job.section])
    };
    let mut mark = String::from("{clone}");
    while texts().any(|text| text.contains(&mark)) {
        mark = format!("{{{mark}}}");
    }
    mark
}

/// The names that fio makes of directory, job, clone and number: `job.0.0`.
fn made_up(job: &Job) -> Result<Vec<PathBuf>, SpecError> {
    let files = job.target.files.unwrap_or(1);
    if files > MOST_FILES {
        return job
            .refuse("nrfiles", format!("more than {MOST_FILES} files are better asked for as a tree: fathom run DIRECTORY --num-files"));
    }
    let directory =
        match job.target.directory.as_deref() {
            None => PathBuf::new(),
            Some([only]) => PathBuf::from(only),
            Some(_) => return job.refuse(
                "directory",
                "files that are not named by filename are in one directory; write a job for each",
            ),
        };
    // A section that is named after a device means it.
    if in_dev(Path::new(&job.section)) && files == 1 {
        return Ok(vec![PathBuf::from(&job.section)]);
    }
    let format = job
        .target
        .format
        .as_deref()
        .unwrap_or("$jobname.$jobnum.$filenum");
    if files > 1 && !format.contains("$filenum") {
        return job.refuse(
            "filename_format",
            format!("gives {files} files one name; write $filenum into it"),
        );
    }
    if format.contains("$clientuid") {
        return job.refuse("filename_format", "there are no clients");
    }
    // The whole name at once, so that a dollar in the name of a job stays one.
    let clone = if job.order.clones > 1 {
        placeholder(job)
    } else {
        "0".to_owned()
    };
    let name = |file: u64| {
        let parts = format.split("$jobname").map(|part| {
            part.replace("$jobnum", &clone)
                .replace("$filenum", &file.to_string())
        });
        parts.collect::<Vec<_>>().join(&job.section)
    };
    Ok((0..files).map(|file| directory.join(name(file))).collect())
}

/// Bytes of a size that may be a share of `whole`.
fn bytes_of(job: &Job, option: &str, size: FioSize, whole: Option<u64>) -> Result<u64, SpecError> {
    match (size, whole) {
        (FioSize::Bytes(bytes), _) => Ok(bytes),
        (FioSize::Percent(0), _) => Ok(0),
        (FioSize::Percent(percent), Some(whole)) => {
            Ok(u64::try_from(u128::from(whole) * u128::from(percent) / 100)
                .expect("a share of it is no larger"))
        }
        (FioSize::Percent(_), None) => job.refuse(
            option,
            "is a share of a target that is not there; write bytes",
        ),
    }
}

/// Bytes of one target as it is; `None` where one is missing or empty, or they differ and a share
/// of them is asked for.
fn length_of_one(
    job: &Job,
    workload: &Workload,
    length: &dyn Fn(&Path) -> Option<u64>,
) -> Result<Option<u64>, SpecError> {
    let mark = workload.files.worker_placeholder.as_deref();
    let at = |target: &PathBuf| match (mark, target.to_str()) {
        (Some(mark), Some(text)) => length(Path::new(&text.replace(mark, "0"))),
        (Some(_), None) | (None, _) => length(target),
    };
    let lengths: Option<Vec<u64>> = workload
        .targets
        .iter()
        .map(|target| at(target).filter(|bytes| *bytes > 0))
        .collect();
    match lengths.as_deref() {
        None | Some([]) => Ok(None),
        Some([first, rest @ ..]) if rest.iter().all(|other| other == first) => Ok(Some(*first)),
        Some([..])
            if matches!(
                (job.target.size, job.target.offset),
                (None | Some(FioSize::Bytes(_)), FioSize::Bytes(_))
            ) =>
        {
            Ok(None)
        }
        Some([..]) => job.refuse(
            "size",
            "is a share of targets that differ in length; write bytes, or a job for each",
        ),
    }
}

/// A file that has to be made needs a size, in fio too: a mistyped name of a device would fill a
/// disk.
fn refuse_without_size(
    job: &Job,
    workload: &Workload,
    length: &dyn Fn(&Path) -> Option<u64>,
) -> Result<(), SpecError> {
    let made =
        |target: &&PathBuf| workload.files.worker_placeholder.is_some() || length(target).is_none();
    match workload.targets.iter().find(made) {
        Some(target) if job.target.file_size.is_none() && job.has_files() => job.refuse(
            "size",
            format!(
                "{} does not exist, and nothing says how large it shall be; write size=",
                target.display()
            ),
        ),
        Some(_) | None => Ok(()),
    }
}

fn sizes(
    job: &mut Job,
    workload: &mut Workload,
    length: &dyn Fn(&Path) -> Option<u64>,
) -> Result<Region, SpecError> {
    let count = to_u64(workload.targets.len());
    let there = length_of_one(job, workload, length)?;
    let offset = bytes_of(job, "offset", job.target.offset, there)?;
    let disjoint = job.order.clones == 1 || workload.files.sharing == FileSharing::PerWorker;
    workload.files.offset = Bytes(offset);
    let size = match job.target.size {
        None | Some(FioSize::Bytes(0)) | Some(FioSize::Percent(100)) => None,
        Some(FioSize::Percent(_)) if job.target.fill => None,
        Some(size) => Some(bytes_of(
            job,
            "size",
            size,
            there.map(|bytes| bytes.saturating_mul(count)),
        )?),
    };
    let devices = workload.targets.iter().all(|path| in_dev(path));
    if job.target.fill && !devices {
        return job.refuse(
            "fill_device",
            "a run has a size; it writes no file until the file system is full",
        );
    }
    let size = size.filter(|_| !job.target.fill);
    if size.is_none() && there.is_none() {
        refuse_without_size(job, workload, length)?;
    }
    let (file, bytes) = match (job.target.file_size, size) {
        (Some(file), _) if file <= offset => return job.refuse("filesize", "ends before offset"),
        (Some(file), _) => (Some(file), (file - offset).checked_mul(count)),
        // What cannot be divided evenly is left out, as in fio.
        (None, Some(size)) => (offset.checked_add(size / count), Some(size / count * count)),
        (None, None) => (
            None,
            there.and_then(|bytes| bytes.checked_sub(offset)?.checked_mul(count)),
        ),
    };
    if (job.target.file_size.is_some() || size.is_some()) && (file.is_none() || bytes.is_none()) {
        return job.refuse("size", "is larger than any file");
    }
    // A part of a target that is longer leaves it as long.
    workload.files.size = file.map(Bytes);
    let pass = match (bytes, size) {
        (Some(bytes), Some(size)) => Some(bytes.min(size)),
        (bytes, _) => bytes,
    };
    let unit = workload.blocks.smallest().0;
    // A tail shorter than a block is not used.
    let whole = |bytes: u64| {
        if bytes / count < unit {
            bytes
        } else {
            bytes / count / unit * unit * count
        }
    };
    Ok(Region {
        bytes: bytes.map(whole),
        pass: pass.map(whole),
        disjoint,
    })
}

/// Clones that share a file in sequential order all begin where it begins, as in fio; workers of
/// Fathom start apart otherwise.
fn begin_together(job: &Job, workload: &mut Workload, region: &Region) -> Result<(), SpecError> {
    let shared = workload.files.sharing == FileSharing::Shared
        && workload.files.regions.is_none()
        && workload.targets.len() == 1;
    match region.bytes {
        Some(bytes)
            if shared
                && job.order.clones > 1
                && !job.pattern.random
                && bytes >= workload.blocks.largest().0 =>
        {
            put(
                job,
                workload,
                "numjobs",
                "worker-regions",
                &format!("0/{bytes}"),
            )
        }
        Some(_) | None => Ok(()),
    }
}

/// `offset_increment` gives each clone of a shared file a region of its own: parts that touch, or
/// regions that overlap or leave gaps.
fn increment(job: &mut Job, workload: &mut Workload, region: &mut Region) -> Result<(), SpecError> {
    const OPTION: &str = "offset_increment";
    let (step, clones) = (job.target.offset_increment, u64::from(job.order.clones));
    if step == 0 || clones == 1 || !job.has_files() {
        return Ok(());
    }
    if workload.targets.len() != 1 || workload.files.sharing != FileSharing::Shared {
        return job.refuse(
            OPTION,
            "is for clones that share one file; name one with filename",
        );
    }
    if !step.is_multiple_of(workload.blocks.largest().0) {
        return job.refuse(OPTION, "is not a multiple of the block size");
    }
    let Some(length) = region.bytes else {
        return job.refuse(OPTION, "needs a size: the length of each clone's region");
    };
    let last = step.checked_mul(clones - 1);
    let end = last.and_then(|last| {
        last.checked_add(length)?
            .checked_add(workload.files.offset.0)
    });
    let Some(end) = end else {
        return job.refuse(OPTION, "ends beyond any file");
    };
    if job.target.size.is_some() && job.target.file_size.is_none() {
        workload.files.size = Some(Bytes(end));
    }
    if region.bytes == Some(step) {
        workload.files.sharing = FileSharing::Partitioned;
        region.disjoint = true;
    } else {
        put(
            job,
            workload,
            OPTION,
            "worker-regions",
            &format!("{step}/{length}"),
        )?;
        if job.target.size.is_none() {
            job.note(
                OPTION,
                "each clone ends where the target does, and moves as many bytes as the first",
            );
        }
    }
    Ok(())
}

fn before(job: &Job, workload: &mut Workload) {
    if !job.has_files() {
        return;
    }
    let opening = &job.opening;
    // fio reserves the blocks of files that it makes, and does nothing of the kind to devices.
    let files_only = !workload.targets.iter().any(|path| in_dev(path));
    workload.files.fill.preallocate =
        opening.preallocate.unwrap_or(true) && job.writes() && files_only;
    if opening.overwrite && job.writes() {
        workload.files.fill.refill = Some(true);
    }
    workload.cache = if opening.pre_read {
        Cache::Warm
    } else {
        invalidated(job)
    };
    let (fadvise, madvise) = match (opening.advice, job.pattern.random) {
        (Advice::None, _) => return,
        (Advice::ByPattern, true) | (Advice::Random, _) => (Fadvise::Random, Some(Madvise::Random)),
        (Advice::ByPattern, false) | (Advice::Sequential, _) => {
            (Fadvise::Sequential, Some(Madvise::Sequential))
        }
        (Advice::NoReuse, _) => (Fadvise::NoReuse, None),
    };
    workload.fadvise = vec![fadvise];
    if job.engine.name.has(EngineFeature::Mapping) {
        workload.madvise = madvise.into_iter().collect();
    }
}

#[cfg(test)]
mod tests {
    use crate::fio::tests::{notices, only_workload, parse, refusal, refused_line, setting};

    fn targets(text: &str) -> Vec<String> {
        only_workload(text)
            .targets
            .iter()
            .map(|path| path.display().to_string())
            .collect()
    }

    #[test]
    fn names_are_those_that_fio_makes() {
        for (text, expected) in [
            ("[j]\nsize=1m\n", vec!["j.0.0"]),
            (
                "[j]\nsize=1m\ndirectory=/d\nnrfiles=2\n",
                vec!["/d/j.0.0", "/d/j.0.1"],
            ),
            (
                "[j]\nsize=1m\ndirectory=/d\nnumjobs=2\n",
                vec!["/d/j.{clone}.0"],
            ),
            (
                "[j]\nsize=1m\ndirectory=/d\nnumjobs=2\nnrfiles=2\n",
                vec!["/d/j.{clone}.0", "/d/j.{clone}.1"],
            ),
            (
                "[j{clone}]\nsize=1m\nnumjobs=2\n",
                vec!["j{clone}.{{clone}}.0"],
            ),
            (
                "[j]\nsize=1m\nfilename_format=f-$filenum.$jobname\nnrfiles=2\n",
                vec!["f-0.j", "f-1.j"],
            ),
            (
                "[j]\nsize=1m\nfilename_format=$jobname.$jobnum\nnumjobs=2\n",
                vec!["j.{clone}"],
            ),
            (
                "[j]\nsize=1m\nfilename_format=common\nnumjobs=2\n",
                vec!["common"],
            ),
            ("[j]\nfilename=/a:b\n", vec!["/a", "b"]),
            ("[j]\nfilename=a\ndirectory=/d\n", vec!["/d/a"]),
            ("[/dev/sdz]\n", vec!["/dev/sdz"]),
        ] {
            assert_eq!(targets(text), expected, "{text}");
        }
        assert_eq!(
            setting("[j]\nsize=1m\nnumjobs=2\n", "file-distribution"),
            "per-worker"
        );
        assert_eq!(
            setting("[j]\nsize=1m\nnumjobs=2\n", "worker-placeholder"),
            "{clone}"
        );
        assert_eq!(
            setting(
                "[j]\nsize=1m\nfilename_format=common\nnumjobs=2\n",
                "file-distribution"
            ),
            "shared"
        );
        assert_eq!(
            refusal("[j]\nsize=1m\nfilename_format=common\nnrfiles=2\n"),
            "job.fio:3: filename_format=common: gives 2 files one name; write $filenum into it"
        );
        assert_eq!(
            setting("[j]\nsize=1m\nfilename=x\nnumjobs=2\n", "file-distribution"),
            "shared"
        );
    }

    #[test]
    fn a_size_is_divided_among_the_files_and_begins_at_the_offset() {
        for (text, size) in [
            ("[j]\nsize=1m\n", "1m"),
            ("[j]\nsize=1m\nnrfiles=4\n", "256k"),
            ("[j]\nsize=1m\noffset=1m\n", "2m"),
            ("[j]\nsize=1m\nfilesize=4m\n", "4m"),
            ("[j]\nfilename=x\nsize=50%\noffset=25%\n", "768m"),
            ("[j]\nsize=100k\nnrfiles=3\n", "34133"),
            (
                "[j]\nsize=2m\nfilename=x\nnumjobs=4\noffset_increment=512k\n",
                "3584k",
            ),
            (
                "[j]\nsize=4k\nnumjobs=3\noffset_increment=4k\nfilename=x\n",
                "12k",
            ),
        ] {
            assert_eq!(setting(text, "file-size"), size, "{text}");
        }
        assert_eq!(
            setting(
                "[j]\nsize=4k\nnumjobs=3\noffset_increment=4k\nfilename=x\n",
                "file-distribution"
            ),
            "partitioned"
        );
        assert_eq!(
            only_workload("[j]\nfilename=x\nsize=100%\n").files.size,
            None
        );
        assert_eq!(
            setting(
                "[j]\nsize=2m\nfilename=x\nnumjobs=4\noffset_increment=512k\n",
                "worker-regions"
            ),
            "512k/2m"
        );
        assert_eq!(
            setting("[j]\nsize=2m\nfilename=x\nnumjobs=4\n", "worker-regions"),
            "0/2m"
        );
        assert_eq!(
            setting(
                "[j]\nsize=2m\nfilename=x\nnumjobs=4\nrw=randread\n",
                "worker-regions"
            ),
            ""
        );
        // A file of an earlier job is as large as that makes it.
        assert_eq!(
            parse("[a]\nfilename=missing\nsize=1m\n[b]\nstonewall\nfilename=missing\nsize=50%\n")
                .unwrap()
                .stages
                .len(),
            2
        );
    }

    #[test]
    fn sizes_that_cannot_be_expressed_are_refused() {
        for (line, expected) in [
            (
                "filename=missing\nsize=50%",
                "job.fio:3: size=50%: is a share of a target that is not there; write bytes",
            ),
            (
                "filename=missing\noffset=10%",
                "job.fio:3: offset=10%: is a share of a target that is not there; write bytes",
            ),
            (
                "fill_device=1",
                "fill_device=1: a run has a size; it writes no file until the file system is full",
            ),
            (
                "offset=16384p",
                "offset=16384p: `16384p` is outside the limits of a size as fio writes it (0 to 18446744073709551615 bytes, 0% to 100%); write for example 4k, 0x1000 or 50%",
            ),
        ] {
            assert_eq!(refused_line(line), expected);
        }
        for (text, expected) in [
            (
                "[j]\nfilename=missing\n",
                "job.fio:1: job j: size: missing does not exist, and nothing says how large it shall be; write size=",
            ),
            (
                "[j]\nfilename=missing\nsize=100%\n",
                "job.fio:3: size=100%: missing does not exist, and nothing says how large it shall be; write size=",
            ),
            (
                "[j]\nsize=1m\nnumjobs=2\noffset_increment=1m\n",
                "job.fio:4: offset_increment=1m: is for clones that share one file; name one with filename",
            ),
            (
                "[j]\nsize=1m\nfilename=x\nnumjobs=2\noffset_increment=6k\n",
                "job.fio:5: offset_increment=6k: is not a multiple of the block size",
            ),
            (
                "[j]\nfilesize=1m\noffset=1m\n",
                "job.fio:2: filesize=1m: ends before offset",
            ),
            (
                "[j]\nsize=16383p\noffset=2p\n",
                "job.fio:2: size=16383p: is larger than any file",
            ),
            (
                "[j]\nfilename=a:b\nnrfiles=1\n",
                "job.fio:3: nrfiles=1: filename has 2 names; name the files that shall be used",
            ),
        ] {
            assert_eq!(refusal(text), expected);
        }
    }

    #[test]
    fn the_cache_is_cold_unless_the_job_is_direct_or_says_otherwise() {
        for (lines, state) in [
            ("", "cold"),
            ("direct=1", "as-is"),
            ("invalidate=0", "as-is"),
            ("pre_read=1", "warm"),
            ("ioengine=null", "as-is"),
        ] {
            assert_eq!(
                setting(&format!("[j]\nsize=1m\n{lines}\n"), "cache"),
                state,
                "{lines}"
            );
        }
    }

    #[test]
    fn hints_follow_the_pattern_and_blocks_are_reserved_for_writes_to_files() {
        assert_eq!(setting("[j]\nsize=1m\n", "fadvise"), "seq");
        assert_eq!(
            setting("[j]\nsize=1m\nrw=randread\nioengine=mmap\n", "madvise"),
            "rand"
        );
        assert!(
            only_workload("[j]\nsize=1m\nfadvise_hint=0\n")
                .fadvise
                .is_empty()
        );
        for (lines, reserved) in [
            ("rw=write", "true"),
            ("rw=read", "false"),
            ("rw=write\nfallocate=none", "false"),
            ("rw=write\nfilename=/dev/sdz", "false"),
        ] {
            assert_eq!(
                setting(&format!("[j]\nsize=1m\n{lines}\n"), "preallocate"),
                reserved,
                "{lines}"
            );
        }
    }

    #[test]
    fn what_is_named_in_another_way_is_said() {
        assert_eq!(
            notices("[j]\nsize=1m\nnrfiles=3\nfilename=x\n"),
            ["job.fio:3: nrfiles=3: the files are those that filename names, 1, as in fio"]
        );
    }
}
