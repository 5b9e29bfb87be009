//! `fathom serve block`: a block device.

mod ublk;

use super::{file, say, switch, text, value, wrong};
use crate::exit::Usage;
use anyhow::{Context as _, Result};
use block::nbd::{NbdAddress, NbdServing};
use block::{BlockBackend, FileBackend, Geometry, MemoryBackend, NullBackend, ServedDevice};
use clap::{ArgMatches, Command};
use std::path::PathBuf;
use std::sync::Arc;
use units::Bytes;

const AFTER_HELP: &str = "\
Examples:
  fathom serve block --front nbd --unix /tmp/disk.sock --size 1g
  fathom run 'nbd+unix:///?socket=/tmp/disk.sock' --random --duration 10s
  fathom serve block --front nbd --tcp 127.0.0.1:10809 --file disk.img
  nbdinfo 'nbd+unix:///?socket=/tmp/disk.sock'

Exit codes: 0 ended by a signal, 1 the device failed, 2 usage";

/// The target's arguments.
pub(super) fn command() -> Command {
    let command = Command::new("block")
        .about("Serves a block device from memory, a file or nothing")
        .after_help(AFTER_HELP)
        .arg(
            value("front", "HOW", "How the device is reached")
                .value_parser(["nbd", "ublk"])
                .default_value("nbd"),
        )
        .arg(file(
            "unix",
            "SOCKET",
            "A socket of the file system, which is made and removed",
        ))
        .arg(value(
            "tcp",
            "ADDR",
            "An address of the loopback and a port; port 0 takes a free one, which is printed",
        ))
        .arg(
            value(
                "export",
                "NAME",
                "The name of the export; the empty one is known too",
            )
            .default_value(""),
        )
        .arg(value(
            "size",
            "SIZE",
            "Bytes of the device; those of the file if not given",
        ))
        .arg(file(
            "file",
            "FILE",
            "Keep the bytes in FILE, or in another block device; made where there is none",
        ))
        .arg(switch("null", "Keep nothing: reads give zeros").conflicts_with("file"))
        .arg(
            switch("huge-pages", "Ask for huge pages for a device in memory")
                .conflicts_with_all(["file", "null"]),
        )
        .arg(
            value(
                "block-size",
                "SIZE",
                "Offsets and lengths are multiples of it",
            )
            .default_value("512"),
        )
        .arg(switch("read-only", "Refuse what would change the device"));
    ublk::arguments(command)
}

/// Bytes of the device as asked for.
fn size(matches: &ArgMatches, block: u32) -> Result<Option<u64>> {
    let size = matches
        .get_one::<String>("size")
        .map(|size| Bytes::parse(size).map_err(|e| wrong("size", e)))
        .transpose()?;
    if let Some(Bytes(size)) = size
        && (size == 0 || !size.is_multiple_of(u64::from(block)) || i64::try_from(size).is_err())
    {
        let why = format!(
            "{} is not a multiple of the block size above 0",
            Bytes(size)
        );
        return Err(wrong("size", why));
    }
    Ok(size.map(|Bytes(size)| size))
}

/// A device in memory; `None` where the bytes are elsewhere.
fn memory(matches: &ArgMatches, block: u32) -> Result<Option<MemoryBackend>> {
    if matches.contains_id("file") || matches.get_flag("null") {
        return Ok(None);
    }
    let Some(size) = size(matches, block)? else {
        return Err(Usage("a device without a file needs a --size".to_owned()).into());
    };
    let memory = MemoryBackend::new(size).context("--size")?;
    huge(matches, memory).map(Some)
}

/// Asks for huge pages where they are wanted.
fn huge(matches: &ArgMatches, memory: MemoryBackend) -> Result<MemoryBackend> {
    if matches.get_flag("huge-pages") {
        return memory.with_huge_pages().context("--huge-pages");
    }
    Ok(memory)
}

/// Where bytes are that no supervisor needs to hold.
fn elsewhere(matches: &ArgMatches, block: u32) -> Result<Box<dyn BlockBackend>> {
    let size = size(matches, block)?;
    if let Some(path) = matches.get_one::<PathBuf>("file") {
        let read_only = matches.get_flag("read-only");
        let backend = FileBackend::open(path, size, read_only)
            .with_context(|| format!("--file {}", path.display()))?;
        return Ok(Box::new(backend));
    }
    let Some(size) = size else {
        return Err(Usage("a device without a file needs a --size".to_owned()).into());
    };
    Ok(Box::new(NullBackend::new(size)))
}

fn geometry(matches: &ArgMatches) -> Result<Geometry> {
    let block = matches.get_one::<String>("block-size");
    let block = block.map(|size| Bytes::parse(size).map_err(|e| wrong("block-size", e)));
    let Bytes(block) = block.transpose()?.unwrap_or(Bytes(1));
    let block = u32::try_from(block)
        .ok()
        .filter(|block| block.is_power_of_two() && *block <= 64 << 10);
    Ok(Geometry {
        block: block.ok_or_else(|| wrong("block-size", "a power of two up to 64KiB"))?,
        read_only: matches.get_flag("read-only"),
    })
}

fn addresses(matches: &ArgMatches) -> Result<Vec<NbdAddress>> {
    let unix = matches.get_one::<PathBuf>("unix").cloned();
    let tcp = matches
        .get_one::<String>("tcp")
        .map(|address| address.parse().map_err(|e| wrong("tcp", e)))
        .transpose()?;
    let addresses: Vec<NbdAddress> = unix
        .map(NbdAddress::Unix)
        .into_iter()
        .chain(tcp.map(NbdAddress::Tcp))
        .collect();
    if addresses.is_empty() {
        return Err(Usage("give --unix SOCKET, --tcp ADDR, or both".to_owned()).into());
    }
    Ok(addresses)
}

/// The address as clients take it.
fn uri(address: &NbdAddress, export: &str) -> String {
    match address {
        NbdAddress::Unix(path) => format!("nbd+unix:///{export}?socket={}", path.display()),
        NbdAddress::Tcp(address) => format!("nbd://{address}/{export}"),
    }
}

/// Runs the target until a signal ends it and returns the exit code.
pub(super) fn run(matches: &ArgMatches) -> Result<i32> {
    if let Some(done) = ublk::about_devices(matches) {
        return done;
    }
    if text(matches, "front") == "ublk" {
        return ublk::run(matches);
    }
    let geometry = geometry(matches)?;
    let serving = NbdServing {
        addresses: addresses(matches)?,
        export: text(matches, "export").to_owned(),
    };
    let backend = match memory(matches, geometry.block)? {
        Some(memory) => Box::new(memory),
        None => elsewhere(matches, geometry.block)?,
    };
    let device = Arc::new(ServedDevice::new(backend, geometry));
    let _whatever_it_is = sys::raise_file_limit();
    let end = sys::end_descriptor().context("signals cannot be waited for")?;
    let size = Bytes(device.size());
    block::nbd::serve(&device, &serving, end, |addresses| {
        let uris: Vec<String> = addresses
            .iter()
            .map(|address| format!("listening on {}\n", uri(address, &serving.export)))
            .collect();
        say(&format!("{}device: {size}\n", uris.concat()));
    })?;
    Ok(0)
}
