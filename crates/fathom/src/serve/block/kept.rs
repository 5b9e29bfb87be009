//! Where the bytes of a served device are.

use super::made::MadeFiles;
use super::{say, size, states, tell_flaw, wrong};
use crate::exit::Usage;
use crate::tell;
use anyhow::{Context as _, Result};
use block::nbd::ClientMemory;
use block::{BlockBackend, FileBackend, MemoryBackend, NullBackend, RoomKeeper};
use clap::ArgMatches;
use host::Machine;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use units::Bytes;

/// The bytes of a device over NBD.
pub(super) fn backend(
    matches: &ArgMatches,
    block: u32,
    clients: &Arc<ClientMemory>,
    made: &mut MadeFiles,
) -> Result<Box<dyn BlockBackend>> {
    let clients = Arc::clone(clients);
    match memory(matches, block, move || clients.unused())? {
        Some(memory) => Ok(Box::new(memory)),
        None => elsewhere(matches, block, made),
    }
}

/// A device in memory; `None` where the bytes are elsewhere. `others` says how much memory is left
/// for other things.
pub(super) fn memory(
    matches: &ArgMatches,
    block: u32,
    others: impl Fn() -> u64 + Send + Sync + 'static,
) -> Result<Option<MemoryBackend>> {
    if matches.contains_id("file") || matches.get_flag("null") {
        return Ok(None);
    }
    if let (Some(states), Some(number)) = (states(matches)?, matches.get_one::<u64>("crash-state"))
    {
        let memory = MemoryBackend::new(states.size()).context("--crash-states")?;
        let told = states
            .apply(*number, &memory)
            .map_err(|why| wrong("crash-state", why))?;
        say(&format!("{told}\n"));
        tell_flaw(&states);
        return bounded(matches, memory, others).map(Some);
    }
    let Some(size) = size(matches, block)? else {
        return Err(Usage("a device without a file needs a --size".to_owned()).into());
    };
    let memory = MemoryBackend::new(size).context("--size")?;
    if matches.get_flag("huge-pages")
        && let Ok(setting) = std::fs::read_to_string(HUGE_PAGES)
        && let Some(notice) = without_huge_pages(&setting)
    {
        say(&notice);
    }
    bounded(matches, memory, others).map(Some)
}

/// Whether the kernel gives huge pages to memory that processes share, as that of a device is. It
/// takes the wish for them and says nothing where it gives none.
const HUGE_PAGES: &str = "/sys/kernel/mm/transparent_hugepage/shmem_enabled";

fn without_huge_pages(setting: &str) -> Option<String> {
    let (_, chosen) = setting.split_once('[')?;
    let (chosen, _) = chosen.split_once(']')?;
    let words = matches!(chosen, "never" | "deny");
    words.then(|| {
        format!("notice: --huge-pages: this kernel gives none ({HUGE_PAGES} is {chosen}); `advise` there gives them\n")
    })
}

/// Memory as it was asked for: of huge pages where they are wanted, and no more of it than there is.
pub(super) fn bounded(
    matches: &ArgMatches,
    memory: MemoryBackend,
    others: impl Fn() -> u64 + Send + Sync + 'static,
) -> Result<MemoryBackend> {
    let memory = if matches.get_flag("huge-pages") {
        memory.with_huge_pages().context("--huge-pages")?
    } else {
        memory
    };
    Ok(memory.with_room(room(
        others,
        "writes to parts of the device that hold nothing yet are refused (ENOSPC); give it more memory, or trim what is not needed",
    )))
}

/// The room for what `--volatile` keeps of writes until they are flushed.
pub(super) fn unflushed(others: impl Fn() -> u64 + Send + Sync + 'static) -> RoomKeeper {
    room(
        others,
        "writes are refused (ENOSPC) because `--volatile` keeps what it may lose; flush, or give it more memory",
    )
}

/// What may still be taken here beside what is left for others, and who is told what follows where
/// that is too little.
fn room(others: impl Fn() -> u64 + Send + Sync + 'static, follows: &'static str) -> RoomKeeper {
    let room = Machine::at(Path::new("/")).memory_room();
    RoomKeeper {
        left: Box::new(move || Some(room.bytes()?.saturating_sub(others()))),
        refused: Box::new(move |left| {
            tell::say(&format!(
                "no memory: {} may still be taken here, so {follows}",
                Bytes(left)
            ));
        }),
    }
}

/// Where bytes are that no supervisor needs to hold.
pub(super) fn elsewhere(
    matches: &ArgMatches,
    block: u32,
    made: &mut MadeFiles,
) -> Result<Box<dyn BlockBackend>> {
    let size = size(matches, block)?;
    if let Some(path) = matches.get_one::<PathBuf>("file") {
        let read_only = matches.get_flag("read-only");
        let shown = path.display();
        if let Some(found) = run::safety::kernels_use(path).filter(|_| !read_only) {
            return Err(wrong("file", format!("{shown} is in use: {found}")));
        }
        let backend =
            FileBackend::open(path, size, read_only).with_context(|| format!("--file {shown}"))?;
        if let Some(file) = backend.made() {
            made.note(path, file)
                .with_context(|| format!("--file {shown}"))?;
        }
        let has = backend.size();
        if !has.is_multiple_of(u64::from(block)) {
            let why = format!(
                "{shown} has {}, no multiple of blocks of {block} bytes: its end could not be reached",
                Bytes(has)
            );
            return Err(wrong("file", why));
        }
        if let Some(notice) = backend.notice() {
            say(&format!("notice: {shown}: {notice}\n"));
        }
        let name = shown.to_string();
        return Ok(Box::new(backend.with_loss(Box::new(move |error| {
            tell::say(&format!(
                "{name}: its file system did not keep what was written ({error:?}): bytes that were acknowledged may be lost, and from here on every flush is refused (EIO)"
            ));
        }))));
    }
    let Some(size) = size else {
        return Err(Usage("a device without a file needs a --size".to_owned()).into());
    };
    Ok(Box::new(NullBackend::new(size)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_without_huge_pages_for_shared_memory_is_told_of() {
        let told = |setting| without_huge_pages(setting).is_some();
        assert!(told("always within_size advise [never] deny force\n"));
        assert!(told("always within_size advise never [deny] force\n"));
        assert!(!told("always within_size [advise] never deny force\n"));
        assert!(!told("[always] within_size advise never deny force\n"));
        assert!(!told(""));
    }
}
