//! Targets, their sizes, and what happens to them before the run.

use super::{in_dev, invalidated, put};
use crate::fio::job::{Advice, Job};
use crate::fio::section::Place;
use crate::{Cache, EngineName, Fadvise, FileSharing, Madvise, SpecError, Workload};
use std::path::{Path, PathBuf};
use units::Bytes;
use units::fio::FioSize;
use units::lossless::to_u64;

/// Files that fio would name one by one; more are better asked for as a directory.
const MOST_FILES: u64 = 4096;

/// What the clones of a job work on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Region {
    /// Bytes of all files of one clone between offset and end; `None`: known when the target is opened.
    pub(super) bytes: Option<u64>,
    /// Bytes that one clone moves in one pass: `size`, if it is less.
    pub(super) pass: Option<u64>,
    /// No two clones have a byte in common.
    pub(super) disjoint: bool,
}

pub(super) fn lower(job: &mut Job, workload: &mut Workload) -> Result<Region, SpecError> {
    workload.targets = match &job.target.filename {
        Some(names) => named(job, names.clone())?,
        None => made_up(job)?,
    };
    if job.target.filename.is_none() && job.order.clones > 1 {
        let mark = placeholder(job);
        if workload.targets.iter().all(|target| target.to_string_lossy().contains(&mark)) {
            workload.files.sharing = FileSharing::PerWorker;
            put(job, workload, "numjobs", "worker-placeholder", &mark)?;
        }
    }
    let mut region = sizes(job, workload)?;
    increment(job, workload, &mut region)?;
    before(job, workload);
    Ok(region)
}

/// `filename`, in the first `directory`.
fn named(job: &mut Job, names: Vec<String>) -> Result<Vec<PathBuf>, SpecError> {
    let count = to_u64(names.len());
    match job.target.files {
        Some(files) if files < count => {
            return job.refuse("nrfiles", format!("filename has {count} names; name the files that shall be used"));
        }
        Some(files) if files > count => job.note("nrfiles", format!("the files are those that filename names, {count}, as in fio")),
        Some(_) | None => {}
    }
    let Some(directories) = job.target.directory.clone() else {
        return Ok(names.into_iter().map(PathBuf::from).collect());
    };
    if let (Some(Place::Argument(name)), Some(Place::Argument(directory))) = (job.place("filename"), job.place("directory"))
        && name < directory
    {
        return job.refuse("directory", "on a command line, fio ignores a directory that comes after filename; put it before");
    }
    if directories.len() > 1 {
        job.note("directory", "files named by filename are in the first directory, as in fio");
    }
    Ok(names.into_iter().map(|name| PathBuf::from(format!("{}/{name}", directories[0]))).collect())
}

/// What stands for the number of a clone in the names of its files: nothing that the names have in them otherwise.
fn placeholder(job: &Job) -> String {
    let target = &job.target;
    let texts = || target.directory.iter().flatten().chain(&target.format).chain([&job.section]);
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
    let directory = match job.target.directory.as_deref() {
        None => PathBuf::new(),
        Some([only]) => PathBuf::from(only),
        Some(_) => return job.refuse("directory", "files that are not named by filename are in one directory; write a job for each"),
    };
    // A section that is named after a device means it.
    if in_dev(Path::new(&job.section)) && files == 1 {
        return Ok(vec![PathBuf::from(&job.section)]);
    }
    let format = job.target.format.as_deref().unwrap_or("$jobname.$jobnum.$filenum");
    if files > 1 && !format.contains("$filenum") {
        return job.refuse("filename_format", format!("gives {files} files one name; write $filenum into it"));
    }
    if format.contains("$clientuid") {
        return job.refuse("filename_format", "there are no clients");
    }
    // The whole name at once, so that a dollar in the name of a job stays one.
    let clone = if job.order.clones > 1 { placeholder(job) } else { "0".to_owned() };
    let name = |file: u64| {
        let parts = format.split("$jobname").map(|part| part.replace("$jobnum", &clone).replace("$filenum", &file.to_string()));
        parts.collect::<Vec<_>>().join(&job.section)
    };
    Ok((0..files).map(|file| directory.join(name(file))).collect())
}

fn sizes(job: &mut Job, workload: &mut Workload) -> Result<Region, SpecError> {
    let target = &job.target;
    let (offset, count) = (target.offset, to_u64(workload.targets.len()));
    let disjoint = job.order.clones == 1 || workload.files.sharing == FileSharing::PerWorker;
    workload.files.offset = Bytes(offset);
    let size = match target.size {
        None | Some(FioSize::Bytes(0)) => None,
        Some(FioSize::Bytes(bytes)) => Some(bytes),
        Some(FioSize::Percent(100)) => {
            job.note("size", "the target's own size; a file that does not exist gets 1 GiB, where fio stops");
            None
        }
        Some(FioSize::Percent(_)) => {
            return job.refuse("size", "is a share of a size that is known only when the target is opened; write bytes");
        }
    };
    let (file, bytes) = match (job.target.file_size, size) {
        (Some(file), _) if file <= offset => return job.refuse("filesize", "ends before offset"),
        (Some(file), _) => (Some(file), (file - offset).checked_mul(count)),
        (None, Some(size)) if !size.is_multiple_of(count) => {
            return job.refuse("size", format!("cannot be divided evenly among {count} files"));
        }
        (None, Some(size)) => (offset.checked_add(size / count), Some(size)),
        (None, None) => (None, None),
    };
    if (job.target.file_size.is_some() || size.is_some()) && (file.is_none() || bytes.is_none()) {
        return job.refuse("size", "is larger than any file");
    }
    workload.files.size = file.map(Bytes);
    let pass = match (bytes, size) {
        (Some(bytes), Some(size)) => Some(bytes.min(size)),
        (bytes, _) => bytes,
    };
    Ok(Region { bytes, pass, disjoint })
}

/// `offset_increment` gives each clone of a shared file a part of its own, which Fathom has where the parts touch.
fn increment(job: &Job, workload: &mut Workload, region: &mut Region) -> Result<(), SpecError> {
    const OPTION: &str = "offset_increment";
    let step = job.target.offset_increment;
    if step == 0 || job.order.clones == 1 {
        return Ok(());
    }
    let shared_file = workload.targets.len() == 1 && workload.files.sharing == FileSharing::Shared && job.target.file_size.is_none();
    if !shared_file || region.bytes != Some(step) {
        return job.refuse(OPTION, "clones have parts of one file that touch (offset_increment and size are the same), or none");
    }
    if !step.is_multiple_of(workload.blocks.largest().0) {
        return job.refuse(OPTION, "is not a multiple of the block size");
    }
    let end = step.checked_mul(u64::from(job.order.clones)).and_then(|bytes| bytes.checked_add(job.target.offset));
    workload.files.size = match end {
        Some(end) => Some(Bytes(end)),
        None => return job.refuse(OPTION, "ends beyond any file"),
    };
    workload.files.sharing = FileSharing::Partitioned;
    region.disjoint = true;
    Ok(())
}

fn before(job: &Job, workload: &mut Workload) {
    if job.engine.name == EngineName::Null {
        return;
    }
    let opening = &job.opening;
    // fio reserves the blocks of files that it makes, and does nothing of the kind to devices.
    let files_only = !workload.targets.iter().any(|path| in_dev(path));
    workload.files.fill.preallocate = opening.preallocate.unwrap_or(true) && job.writes() && files_only;
    if opening.overwrite && job.writes() {
        workload.files.fill.refill = Some(true);
    }
    workload.cache = if opening.pre_read { Cache::Warm } else { invalidated(job) };
    let (fadvise, madvise) = match (opening.advice, job.pattern.random) {
        (Advice::None, _) => return,
        (Advice::ByPattern, true) | (Advice::Random, _) => (Fadvise::Random, Some(Madvise::Random)),
        (Advice::ByPattern, false) | (Advice::Sequential, _) => (Fadvise::Sequential, Some(Madvise::Sequential)),
        (Advice::NoReuse, _) => (Fadvise::NoReuse, None),
    };
    workload.fadvise = vec![fadvise];
    if job.engine.name == EngineName::Mmap {
        workload.madvise = madvise.into_iter().collect();
    }
}

#[cfg(test)]
mod tests {
    use crate::fio::tests::{notices, only_workload, refusal, refused_line, setting};

    fn targets(text: &str) -> Vec<String> {
        only_workload(text).targets.iter().map(|path| path.display().to_string()).collect()
    }

    #[test]
    fn names_are_those_that_fio_makes() {
        for (text, expected) in [
            ("[j]\nsize=1m\n", vec!["j.0.0"]),
            ("[j]\nsize=1m\ndirectory=/d\nnrfiles=2\n", vec!["/d/j.0.0", "/d/j.0.1"]),
            ("[j]\nsize=1m\ndirectory=/d\nnumjobs=2\n", vec!["/d/j.{clone}.0"]),
            ("[j]\nsize=1m\ndirectory=/d\nnumjobs=2\nnrfiles=2\n", vec!["/d/j.{clone}.0", "/d/j.{clone}.1"]),
            ("[j{clone}]\nsize=1m\nnumjobs=2\n", vec!["j{clone}.{{clone}}.0"]),
            ("[j]\nsize=1m\nfilename_format=f-$filenum.$jobname\nnrfiles=2\n", vec!["f-0.j", "f-1.j"]),
            ("[j]\nsize=1m\nfilename_format=$jobname.$jobnum\nnumjobs=2\n", vec!["j.{clone}"]),
            ("[j]\nsize=1m\nfilename_format=common\nnumjobs=2\n", vec!["common"]),
            ("[j]\nfilename=/a:b\n", vec!["/a", "b"]),
            ("[j]\nfilename=a\ndirectory=/d\n", vec!["/d/a"]),
            ("[/dev/sdz]\n", vec!["/dev/sdz"]),
        ] {
            assert_eq!(targets(text), expected, "{text}");
        }
        assert_eq!(setting("[j]\nsize=1m\nnumjobs=2\n", "file-distribution"), "per-worker");
        assert_eq!(setting("[j]\nsize=1m\nnumjobs=2\n", "worker-placeholder"), "{clone}");
        assert_eq!(setting("[j]\nsize=1m\nfilename_format=common\nnumjobs=2\n", "file-distribution"), "shared");
        assert_eq!(
            refusal("[j]\nsize=1m\nfilename_format=common\nnrfiles=2\n"),
            "job.fio:3: filename_format=common: gives 2 files one name; write $filenum into it"
        );
        assert_eq!(setting("[j]\nsize=1m\nfilename=x\nnumjobs=2\n", "file-distribution"), "shared");
    }

    #[test]
    fn a_size_is_divided_among_the_files_and_begins_at_the_offset() {
        for (text, size) in [
            ("[j]\nsize=1m\n", "1m"),
            ("[j]\nsize=1m\nnrfiles=4\n", "256k"),
            ("[j]\nsize=1m\noffset=1m\n", "2m"),
            ("[j]\nsize=1m\nfilesize=4m\n", "4m"),
            ("[j]\nsize=4k\nnumjobs=3\noffset_increment=4k\nfilename=x\n", "12k"),
        ] {
            assert_eq!(setting(text, "file-size"), size, "{text}");
        }
        assert_eq!(setting("[j]\nsize=4k\nnumjobs=3\noffset_increment=4k\nfilename=x\n", "file-distribution"), "partitioned");
        assert_eq!(only_workload("[j]\nfilename=x\nsize=100%\n").files.size, None);
    }

    #[test]
    fn sizes_that_cannot_be_expressed_are_refused() {
        for (line, expected) in [
            ("size=50%", "size=50%: is a share of a size that is known only when the target is opened; write bytes"),
            ("offset=10%", "offset=10%: is a share of a size that is known only when the target is opened; write bytes"),
            (
                "offset=16384p",
                "offset=16384p: `16384p` is outside the limits of a size as fio writes it (0 to 18446744073709551615 bytes, 0% to 100%); write for example 4k, 0x1000 or 50%",
            ),
        ] {
            assert_eq!(refused_line(line), expected);
        }
        for (text, expected) in [
            ("[j]\nsize=1m\nnrfiles=3\n", "job.fio:2: size=1m: cannot be divided evenly among 3 files"),
            ("[j]\nfilesize=1m\noffset=1m\n", "job.fio:2: filesize=1m: ends before offset"),
            ("[j]\nsize=16383p\noffset=2p\n", "job.fio:2: size=16383p: is larger than any file"),
            (
                "[j]\nsize=1m\nfilename=x\nnumjobs=2\noffset_increment=2m\n",
                "job.fio:5: offset_increment=2m: clones have parts of one file that touch (offset_increment and size are the same), or none",
            ),
            ("[j]\nfilename=a:b\nnrfiles=1\n", "job.fio:3: nrfiles=1: filename has 2 names; name the files that shall be used"),
        ] {
            assert_eq!(refusal(text), expected);
        }
    }

    #[test]
    fn the_cache_is_cold_unless_the_job_is_direct_or_says_otherwise() {
        for (lines, state) in
            [("", "cold"), ("direct=1", "as-is"), ("invalidate=0", "as-is"), ("pre_read=1", "warm"), ("ioengine=null", "as-is")]
        {
            assert_eq!(setting(&format!("[j]\nsize=1m\n{lines}\n"), "cache"), state, "{lines}");
        }
    }

    #[test]
    fn hints_follow_the_pattern_and_blocks_are_reserved_for_writes_to_files() {
        assert_eq!(setting("[j]\nsize=1m\n", "fadvise"), "seq");
        assert_eq!(setting("[j]\nsize=1m\nrw=randread\nioengine=mmap\n", "madvise"), "rand");
        assert!(only_workload("[j]\nsize=1m\nfadvise_hint=0\n").fadvise.is_empty());
        for (lines, reserved) in
            [("rw=write", "true"), ("rw=read", "false"), ("rw=write\nfallocate=none", "false"), ("rw=write\nfilename=/dev/sdz", "false")]
        {
            assert_eq!(setting(&format!("[j]\nsize=1m\n{lines}\n"), "preallocate"), reserved, "{lines}");
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
