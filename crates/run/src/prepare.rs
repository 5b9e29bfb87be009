//! From resolved files to files that a run can measure: approved, created, sized, filled, cached as asked, and marked as Fathom's.

mod fill;
mod lineage;

use fill::fill_file;
pub(crate) use lineage::{FileContent, data_fill, pattern_label, verify_pattern};

use crate::error::RunError;
use crate::layout::{FileSpec, manifest};
use crate::probe::RealProbe;
use crate::resolve::{DEFAULT_FILE_BYTES, Resolved, TargetKind};
use crate::safety::{self, Access, Approval, Mark, WriteRequest};
use engine::sys;
use record::{Fill, Residency};
use std::fs::{File, OpenOptions};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use workload::{Cache, EngineName, Fadvise, Workload};

/// A file that is ready.
#[derive(Debug)]
pub(crate) struct ReadyFile {
    pub(crate) path: PathBuf,
    pub(crate) bytes: u64,
    pub(crate) owner: Option<u32>,
    pub(crate) content: FileContent,
    pub(crate) approval: Approval,
    /// Fathom's own: sealed again when the run ends.
    pub(crate) mark: Option<Mark>,
}

/// Files ready to be measured.
#[derive(Debug, Default)]
pub(crate) struct Prepared {
    pub(crate) files: Vec<ReadyFile>,
    pub(crate) fill: Option<Fill>,
    pub(crate) residency_before: Option<u64>,
    pub(crate) notices: Vec<String>,
}

/// What is told while files are being written, in bytes done and to do.
pub(crate) type Progress<'a> = &'a mut dyn FnMut(u64, u64);

/// What a workload does to its files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Use {
    pub(crate) reads: bool,
    pub(crate) writes: bool,
}

pub(crate) fn use_of(workload: &Workload) -> Use {
    let read = workload.access.read_percent.map_or(100.0, |p| p.0);
    Use { reads: read > 0.0, writes: read < 100.0 }
}

/// Approves every file before touching the first, then makes each ready.
///
/// # Errors
/// A refusal or unsuitable target before anything is touched; an I/O failure while filling, after which new files are removed.
pub(crate) fn prepare(resolved: &Resolved, clock_ns: &dyn Fn() -> u64, progress: Progress<'_>) -> Result<Prepared, RunError> {
    let workload = &resolved.effective;
    if !workload.files.meta.is_empty() {
        for dir in &resolved.layout.dirs {
            std::fs::create_dir_all(dir).map_err(RunError::io("cannot create the directory", dir))?;
        }
        return Ok(Prepared::default());
    }
    let mut plans = Vec::with_capacity(resolved.layout.files.len());
    for (index, spec) in (0..).zip(&resolved.layout.files) {
        plans.push(plan(index, spec, resolved)?);
    }
    for dir in &resolved.layout.dirs {
        std::fs::create_dir_all(dir).map_err(RunError::io("cannot create the directory", dir))?;
    }
    let mut out = Prepared::default();
    let to_do: u64 = plans.iter().map(FilePlan::bytes_to_write).sum();
    let (mut done, before) = (0, clock_ns());
    for plan in plans {
        let path = plan.path.clone();
        let created = plan.approval.is_new();
        let mut tell = |bytes: u64| progress(done + bytes, to_do);
        let ready = make_ready(plan, workload, &mut tell).inspect_err(|_| {
            if created {
                let _nothing_to_lose = std::fs::remove_file(&path);
            }
        })?;
        done += ready.1;
        out.notices.extend(ready.0.approval.notes.iter().map(ToString::to_string));
        out.files.push(ready.0);
    }
    if done > 0 {
        out.fill = Some(Fill { bytes: done, elapsed_ns: clock_ns().saturating_sub(before), reason: "reads must not meet holes".into() });
    }
    out.residency_before = settle_cache(workload, &mut out)?;
    if let Some(place) = &workload.files.export_layout_manifest {
        let files: Vec<(PathBuf, u64)> = out.files.iter().map(|f| (f.path.clone(), f.bytes)).collect();
        let root = workload.targets.first().map_or(Path::new(""), PathBuf::as_path);
        std::fs::write(place, manifest(root, &files)).map_err(RunError::io("cannot write the layout manifest", place))?;
    }
    Ok(out)
}

/// What will be done to one file.
struct FilePlan {
    path: PathBuf,
    /// Index in the layout.
    index: u32,
    owner: Option<u32>,
    approval: Approval,
    is_device: bool,
    bytes: u64,
    content: FileContent,
    fill: FillPlan,
    will_be_written: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FillPlan {
    Nothing,
    Whole,
    /// Only what is missing: holes and the part beyond the present end.
    Holes,
}

impl FilePlan {
    fn bytes_to_write(&self) -> u64 {
        if self.fill == FillPlan::Nothing { 0 } else { self.bytes }
    }
}

fn plan(index: u32, spec: &FileSpec, resolved: &Resolved) -> Result<FilePlan, RunError> {
    let workload = &resolved.effective;
    let io = use_of(workload);
    let present = std::fs::metadata(&spec.path).ok();
    let is_device = resolved.kind == TargetKind::BlockDevice;
    let has = match &present {
        Some(_) if is_device => device_bytes(&spec.path)?,
        Some(facts) => facts.len(),
        None => 0,
    };
    let bytes = match spec.bytes {
        Some(asked) if is_device && asked > has => {
            return Err(RunError::Unsuitable(format!("{} has {} bytes, --file-size {asked} is beyond its end", spec.path.display(), has)));
        }
        Some(asked) => asked,
        None if has > 0 => has,
        None => DEFAULT_FILE_BYTES,
    };
    let smallest = workload.blocks.largest().0 + workload.files.offset.0;
    if bytes < smallest {
        return Err(RunError::Unsuitable(format!(
            "{} has {bytes} bytes, less than one block of {} at --offset {}",
            spec.path.display(),
            workload.blocks.largest(),
            workload.files.offset
        )));
    }
    let content = FileContent::read(&spec.path, is_device)?;
    let fill = fill_plan(spec, workload, io, &Present { exists: present.is_some(), bytes: has, is_device }, bytes, &content)?;
    let grows = !is_device && bytes > has;
    let will_be_written =
        io.writes || fill != FillPlan::Nothing || grows || workload.files.fill.preallocate || workload.files.fill.truncate;
    let allow: Vec<PathBuf> = workload.files.allow_destroy.iter().cloned().collect();
    let access = if will_be_written { Access::Write } else { Access::Read };
    let approval =
        safety::check(&WriteRequest { path: &creatable(&spec.path, resolved), access, allow_destroy: &allow }, Path::new("/"), &RealProbe)?;
    check_direct(&spec.path, workload)?;
    Ok(FilePlan { path: spec.path.clone(), index, owner: spec.owner, approval, is_device, bytes, content, fill, will_be_written })
}

/// A file in a directory that is still to be made is judged as if it lay in the deepest one that exists.
fn creatable(path: &Path, resolved: &Resolved) -> PathBuf {
    if resolved.kind != TargetKind::Directory || path.exists() {
        return path.to_path_buf();
    }
    let existing = path.ancestors().skip(1).find(|dir| dir.is_dir() || dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let parent = path.parent().unwrap_or(Path::new(""));
    if existing == parent { path.to_path_buf() } else { existing.join(".fathom-new-file") }
}

struct Present {
    exists: bool,
    bytes: u64,
    is_device: bool,
}

fn fill_plan(
    spec: &FileSpec,
    workload: &Workload,
    io: Use,
    present: &Present,
    bytes: u64,
    content: &FileContent,
) -> Result<FillPlan, RunError> {
    let ours = content.mark.is_some() || !present.exists || present.bytes == 0;
    let refill = workload.files.fill.refill;
    if refill == Some(true) {
        return Ok(FillPlan::Whole);
    }
    let needs_data = io.reads || workload.engine == EngineName::Mmap;
    if present.is_device || !needs_data {
        return Ok(FillPlan::Nothing);
    }
    if workload.verify.on && present.bytes > 0 && content.mark.is_some() && !content.holds(workload) {
        if !io.writes {
            return Err(RunError::Unsuitable(format!(
                "{} does not hold the pattern {} in every block ({}), so reads cannot be verified against it; write it first with --write-percent 100 --duration 0s --verify --verify-pattern {}, or add --refill",
                spec.path.display(),
                pattern_label(workload),
                content.describe(),
                workload.verify.pattern.word()
            )));
        }
        return Ok(FillPlan::Whole);
    }
    let missing = missing_bytes(&spec.path, present, bytes)?;
    if missing == 0 {
        return Ok(FillPlan::Nothing);
    }
    let share = 100.0 * missing as f64 / bytes as f64;
    if refill == Some(false) {
        if present.bytes < bytes {
            return Err(RunError::Unsuitable(format!(
                "{} has {} of {bytes} bytes and --no-refill forbids to write the rest; give --file-size {}",
                spec.path.display(),
                present.bytes,
                present.bytes
            )));
        }
        return Ok(FillPlan::Nothing);
    }
    if !ours && workload.files.allow_destroy.is_none() {
        return Err(RunError::Unsuitable(format!(
            "{}: {share:.0} % of {bytes} bytes are holes or beyond its end ({missing} bytes), so reads would measure no storage, and the file is not Fathom's to fill; give --file-size within its {} bytes, fill it with --allow-destroy {}, or measure the holes with --no-refill",
            spec.path.display(),
            present.bytes,
            spec.path.display()
        )));
    }
    Ok(FillPlan::Holes)
}

fn missing_bytes(path: &Path, present: &Present, bytes: u64) -> Result<u64, RunError> {
    if !present.exists {
        return Ok(bytes);
    }
    let file = File::open(path).map_err(RunError::io("cannot open", path))?;
    Ok(fill::holes(&file, bytes).iter().map(|(start, end)| end - start).sum())
}

/// O_DIRECT needs the alignment that the file itself reports.
fn check_direct(path: &Path, workload: &Workload) -> Result<(), RunError> {
    if !workload.durability.open.direct {
        return Ok(());
    }
    let Ok(file) = File::open(path) else { return Ok(()) };
    let Some((_, align)) = sys::direct_alignment(&file) else { return Ok(()) };
    if align == 0 {
        return Err(RunError::Unsuitable(format!("{}: its file system has no direct I/O; drop --direct", path.display())));
    }
    let align = u64::from(align);
    for (what, bytes) in workload.blocks.0.iter().map(|(size, _)| ("--block-size", size.0)).chain([("--offset", workload.files.offset.0)]) {
        if bytes % align != 0 {
            return Err(RunError::Unsuitable(format!(
                "{what} {bytes} is not a multiple of {align} bytes, which direct I/O on {} needs",
                path.display()
            )));
        }
    }
    Ok(())
}

fn device_bytes(path: &Path) -> Result<u64, RunError> {
    let file = File::open(path).map_err(RunError::io("cannot open", path))?;
    sys::block_device_size(&file).map_err(RunError::io("cannot ask the size of", path))
}

fn make_ready(plan: FilePlan, workload: &Workload, tell: &mut dyn FnMut(u64)) -> Result<(ReadyFile, u64), RunError> {
    let FilePlan { path, index, owner, approval, is_device, bytes, mut content, fill, will_be_written } = plan;
    let mut written = 0;
    let mut mark = None;
    if will_be_written {
        let file = open_for_write(&path, &approval)?;
        if !is_device {
            let unsealed = content.begin(bytes.max(std::fs::metadata(&path).map_or(0, |m| m.len())), workload);
            safety::write_mark(&path, &unsealed, &RealProbe)?;
            mark = Some(unsealed);
            size_file(&file, &path, bytes, workload)?;
        }
        if fill != FillPlan::Nothing {
            let ranges = if fill == FillPlan::Whole { vec![(0, bytes)] } else { fill::holes(&file, bytes) };
            written = fill_file(&file, &path, &ranges, content.filler(workload, index, fill == FillPlan::Whole)?, tell)?;
            file.sync_all().map_err(RunError::io("cannot sync", &path))?;
            content.filled(workload, fill == FillPlan::Whole || written == bytes);
            mark = mark.map(|mark| content.stamp(mark));
        }
    }
    Ok((ReadyFile { path, bytes, owner, content, approval, mark }, written))
}

fn open_for_write(path: &Path, approval: &Approval) -> Result<File, RunError> {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    if approval.is_new() {
        options.create_new(true);
    }
    let file = options.open(path).map_err(RunError::io("cannot open for writing", path))?;
    if !approval.is_new() {
        safety::recheck(&file, approval)?;
    }
    Ok(file)
}

fn size_file(file: &File, path: &Path, bytes: u64, workload: &Workload) -> Result<(), RunError> {
    let has = file.metadata().map_err(RunError::io("cannot look at", path))?.size();
    if has < bytes || (workload.files.fill.truncate && has > bytes) {
        file.set_len(bytes).map_err(RunError::io("cannot size", path))?;
    }
    if workload.files.fill.preallocate {
        sys::fallocate(file, 0, bytes).map_err(RunError::io("cannot preallocate", path))?;
    }
    Ok(())
}

/// Brings the page cache into the asked state and returns how much of the files it then holds.
fn settle_cache(workload: &Workload, prepared: &mut Prepared) -> Result<Option<u64>, RunError> {
    let evict = workload.cache == Cache::Cold || (workload.durability.open.direct && prepared.fill.is_some());
    let (mut resident, mut total) = (0, 0);
    for ready in &prepared.files {
        let file = File::open(&ready.path).map_err(RunError::io("cannot open", &ready.path))?;
        if evict {
            file.sync_all().map_err(RunError::io("cannot sync", &ready.path))?;
            sys::fadvise(&file, sys::Advice::DontNeed).map_err(RunError::io("cannot evict", &ready.path))?;
        } else if workload.cache == Cache::Warm {
            fill::read_whole(&file, ready.bytes).map_err(RunError::io("cannot read", &ready.path))?;
        }
        let Ok(bytes) = sys::resident_bytes(&file, ready.bytes) else { return Ok(None) };
        resident += bytes;
        total += ready.bytes;
    }
    if workload.cache == Cache::Cold && resident > total / 100 {
        prepared
            .notices
            .push(format!("--cache cold: {resident} of {total} bytes stayed in the page cache (another process maps or writes them)"));
    }
    Ok((!prepared.files.is_empty()).then_some(resident))
}

/// Residency of all files when the run has ended.
pub(crate) fn residency(prepared: &Prepared) -> Option<Residency> {
    if prepared.files.is_empty() {
        return None;
    }
    let after = prepared.files.iter().map(|f| File::open(&f.path).and_then(|file| sys::resident_bytes(&file, f.bytes)).ok()).sum();
    Some(Residency {
        total_bytes: prepared.files.iter().map(|f| f.bytes).sum(),
        before_bytes: prepared.residency_before,
        after_bytes: after,
    })
}

/// Opens a file as the workload says, with access times left alone where that is permitted.
pub(crate) fn open_for_run(path: &Path, workload: &Workload) -> Result<File, RunError> {
    let open = &workload.durability.open;
    let mut flags = 0;
    for (on, flag) in [(open.direct, sys::direct_flag()), (open.sync, sys::sync_flag()), (open.dsync, sys::dsync_flag())] {
        flags |= if on { flag } else { 0 };
    }
    let io = use_of(workload);
    let writable = io.writes;
    let readable = io.reads || workload.engine == EngineName::Mmap;
    let open = |flags: i32| OpenOptions::new().read(readable).write(writable).custom_flags(flags).open(path);
    let file = match open(flags | sys::noatime_flag()) {
        Err(e) if e.kind() == std::io::ErrorKind::PermissionDenied => open(flags),
        other => other,
    };
    let file = file.map_err(RunError::io("cannot open", path))?;
    for word in &workload.fadvise {
        let advice = match word {
            Fadvise::Sequential => sys::Advice::Sequential,
            Fadvise::Random => sys::Advice::Random,
            Fadvise::WillNeed => sys::Advice::WillNeed,
            Fadvise::DontNeed => sys::Advice::DontNeed,
            Fadvise::NoReuse => sys::Advice::NoReuse,
        };
        sys::fadvise(&file, advice).map_err(RunError::io("cannot advise", path))?;
    }
    Ok(file)
}

/// Seals the marks of all files that this run wrote, as far as possible.
pub(crate) fn seal(prepared: &mut Prepared, workload: &Workload, completed: bool) {
    let io = use_of(workload);
    for ready in &mut prepared.files {
        let Some(mark) = ready.mark.take() else { continue };
        if io.writes {
            ready.content.wrote(workload, completed);
        }
        let mark = ready.content.stamp(mark);
        if let Ok(facts) = std::fs::metadata(&ready.path) {
            let _an_unsealed_mark_still_says_that_the_file_is_ours = safety::write_mark(&ready.path, &mark.sealed(&facts), &RealProbe);
        }
    }
}
