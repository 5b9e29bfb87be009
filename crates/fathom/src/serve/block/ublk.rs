//! `fathom serve block --front ublk`: a device of the kernel, and what there is of such devices.

use super::super::{histogram, say, switch, text, value, wrong};
use super::kept;
use super::made::MadeFiles;
use crate::exit::Usage;
use crate::tell;
use anyhow::{Context as _, Result};
use block::control::{self, ControlSocket};
use block::ublk::{
    Estate, Inherited, StartSign, UblkData, UblkPriority, UblkServer, UblkServing, UblkStarted,
    features, inherited_control, serve_queues, size_keeper, standing, stop_standing,
};
use block::{BlockBackend, Geometry, MemoryBackend, OrdersFile, ServedDevice};
use clap::{Arg, ArgMatches, Command, value_parser};
use std::ffi::OsString;
use std::io;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::sync::Arc;
use units::Bytes;

/// The kernel has no higher number of a device; its highest word means any.
const MOST_NUMBER: i64 = (1 << 20) - 1;
/// The number of the device that a server started by a supervisor serves.
const SERVER: &str = "serve-device";
/// Where it finds what outlives it.
const INHERITS: &str = "inherits";
/// What only this front knows.
pub(super) const ARGUMENTS: [&str; 9] = [
    "number",
    "queues",
    "depth",
    "max-request",
    "no-recovery",
    "user-copy",
    "auto-buffers",
    "real-time",
    "unprivileged",
];

pub(super) fn arguments(command: Command) -> Command {
    let ublk = |arg: Arg| arg.help_heading("With --front ublk");
    command
        .subcommand_negates_reqs(true)
        .args_conflicts_with_subcommands(true)
        .subcommand(Command::new("list").about("Lists the ublk devices of this machine, and what its driver can do").after_help("Examples:\n  fathom serve block list"))
        .subcommand(
            Command::new("stop")
                .about("Stops and removes a ublk device, also one whose server hangs or is gone")
                .after_help("Examples:\n  fathom serve block stop 0")
                .arg(Arg::new("device").value_name("N").required(true).value_parser(value_parser!(u32)).help("The number N of /dev/ublkbN")),
        )
        .arg(ublk(value("number", "N", "Make /dev/ublkbN; the first free one if not given").value_parser(value_parser!(u32).range(0..=MOST_NUMBER))))
        .arg(ublk(value("queues", "N", "Queues, each a thread; half of the CPUs if not given, so that the load has the others").value_parser(value_parser!(u16).range(1..=4096))))
        .arg(ublk(value("depth", "N", "Requests of each queue that are under way at once").value_parser(value_parser!(u16).range(1..=4096)).default_value("128")))
        .arg(ublk(value("max-request", "SIZE", "Longest request that the kernel passes on whole").default_value("512k")))
        .arg(ublk(switch("no-recovery", "A server that dies takes the device with it, instead of being started again")))
        .arg(ublk(switch("user-copy", "Fetch the data of requests by calls: less memory, more calls")))
        .arg(ublk(switch("auto-buffers", "Have the kernel move data between the client's pages and the device's file itself (Linux 6.16)").conflicts_with("user-copy")))
        .arg(ublk(switch("real-time", "Run the queues before every ordinary thread (needs CAP_SYS_NICE)")))
        .arg(ublk(switch("unprivileged", "Make a device of this user, without CAP_SYS_ADMIN; it cannot recover")))
        .arg(Arg::new(SERVER).long(SERVER).value_name("N").hide(true).requires(INHERITS).value_parser(value_parser!(u32)))
        .arg(Arg::new(INHERITS).long(INHERITS).value_name("DESCRIPTORS").hide(true))
}

/// Runs `list` or `stop`; `None` where a device is to be served.
pub(super) fn about_devices(matches: &ArgMatches) -> Option<Result<i32>> {
    match matches.subcommand()? {
        ("list", _) => Some(list()),
        ("stop", matches) => Some(stop(matches)),
        _ => None,
    }
}

fn list() -> Result<i32> {
    let (bits, names) = features()?;
    let mut text = format!("driver: features {bits:#x} ({})\n", names.join(" "));
    for device in standing()? {
        let server = match device.server {
            UblkServer::Seen(pid) => format!("server {pid}"),
            UblkServer::Unseen(pid) => format!("server {pid} not seen"),
            UblkServer::None => "no server".to_owned(),
        };
        text += &format!(
            "{}: {}, {}, {} × depth {}, {server} ({})\n",
            device.node,
            device.state,
            Bytes(device.bytes),
            device.queues,
            device.depth,
            device.features.join(" "),
        );
    }
    say(&text);
    Ok(0)
}

fn stop(matches: &ArgMatches) -> Result<i32> {
    let number = *matches.get_one::<u32>("device").expect("required");
    say(if stop_standing(number)? {
        "removed\n"
    } else {
        "stopped; it is open still and goes with the last who has it open\n"
    });
    Ok(0)
}

fn serving(matches: &ArgMatches) -> Result<UblkServing> {
    let cpus = std::thread::available_parallelism().map_or(1, |cpus| cpus.get());
    let half = u16::try_from(cpus / 2).unwrap_or(u16::MAX).max(1);
    let Bytes(most) =
        Bytes::parse(text(matches, "max-request")).map_err(|e| wrong("max-request", e))?;
    // The kernel keeps whole pages, and 32 MiB for each tag.
    let most = u32::try_from(most)
        .ok()
        .filter(|most| most.is_multiple_of(4096) && (4096..=32 << 20).contains(most));
    Ok(UblkServing {
        number: matches.get_one("number").copied(),
        queues: matches.get_one("queues").copied().unwrap_or(half),
        depth: matches.get_one("depth").copied().unwrap_or(128),
        most_bytes: most
            .ok_or_else(|| wrong("max-request", "a multiple of 4 KiB, at most 32 MiB"))?,
        recovery: !matches.get_flag("no-recovery"),
        unprivileged: matches.get_flag("unprivileged"),
        data: data(matches),
    })
}

fn data(matches: &ArgMatches) -> UblkData {
    if matches.get_flag("auto-buffers") {
        UblkData::Registered
    } else if matches.get_flag("user-copy") {
        UblkData::Calls
    } else {
        UblkData::Copied
    }
}

fn priority(matches: &ArgMatches) -> UblkPriority {
    if matches.get_flag("real-time") {
        UblkPriority::RealTime
    } else {
        UblkPriority::Ordinary
    }
}

/// Runs the device: as its supervisor, or as the server that the supervisor has started.
pub(super) fn run(matches: &ArgMatches) -> Result<i32> {
    let geometry = geometry(matches)?;
    match matches.get_one::<u32>(SERVER) {
        Some(number) => serve(matches, geometry, *number),
        None => supervise(matches, geometry),
    }
}

/// A kernel has no smaller blocks than sectors.
fn geometry(matches: &ArgMatches) -> Result<Geometry> {
    let geometry = super::geometry(matches)?;
    let block = if matches.contains_id("block-size") {
        geometry.block
    } else {
        512
    };
    if !(512..=4096).contains(&block) {
        let why = "a ublk device has blocks of 512 to 4096 bytes";
        return Err(wrong("block-size", why));
    }
    Ok(Geometry { block, ..geometry })
}

/// Serves the queues of a device until it is stopped, with what the supervisor handed over.
fn serve(matches: &ArgMatches, geometry: Geometry, number: u32) -> Result<i32> {
    let end = sys::end_descriptor().context("signals cannot be waited for")?;
    let unprivileged = matches.get_flag("unprivileged");
    let inherited = Inherited::take(text(matches, INHERITS));
    let inherited = inherited.context("what the supervisor hands over")?;
    let started = inherited.start_sign().context("a sign of the supervisor")?;
    let kept: Box<dyn BlockBackend> = match inherited.memory {
        Some(memory) => Box::new(kept::bounded(matches, memory, || 0)?),
        None => kept::elsewhere(matches, geometry.block, &mut MadeFiles::default())?,
    };
    let before = inherited.orders.last().map(|(_, text)| text);
    let room = kept::unflushed(|| 0);
    let mut device = ServedDevice::new(
        super::cached(matches, kept, inherited.journal, room),
        geometry,
    )
    .with_orders(inherited.orders)
    .with_size_keeper(size_keeper(number, unprivileged));
    if let Some(log) = inherited.log {
        device = device.with_log(log);
    }
    super::told(&device, before.as_deref())?;
    let device = Arc::new(device);
    let spec = super::spec(matches).filter(|_| before.is_none());
    let told = spec.map(|spec| (spec.to_owned(), started));
    let listener = matches.contains_id("control").then(inherited_control);
    obey(Arc::clone(&device), told, listener.transpose()?)?;
    serve_queues(&device, number, unprivileged, priority(matches), end)?;
    if let Some(end) = device.finish() {
        tell::say(end.to_string().trim_end());
    }
    Ok(0)
}

/// Does what the first server of a device is told once the device is there, and then what comes over
/// the control socket.
fn obey(
    device: Arc<ServedDevice>,
    told: Option<(String, impl FnOnce() -> bool + Send + 'static)>,
    listener: Option<UnixListener>,
) -> io::Result<()> {
    let body = move || {
        if let Some((spec, started)) = told
            && started()
        {
            // The supervisor has read it, and sees whether it was done.
            let _done = super::told(&device, Some(&spec));
        }
        if let Some(listener) = listener {
            let _the_supervisor_holds_the_socket = control::answer(listener, device, histogram);
        }
    };
    let thread = std::thread::Builder::new().name("block-orders".to_owned());
    thread.spawn(body).map(drop)
}

/// What outlives each server of a device of so many bytes.
fn estate(
    matches: &ArgMatches,
    memory: Option<MemoryBackend>,
    bytes: u64,
    made: &mut MadeFiles,
) -> Result<Estate> {
    if let Some(spec) = super::spec(matches) {
        control::models(spec, bytes, histogram).map_err(|why| wrong("misbehave", why))?;
    }
    let control = matches.get_one::<PathBuf>("control");
    Ok(Estate {
        control: control.map(|path| ControlSocket::bind(path)).transpose()?,
        journal: super::journal(matches, bytes, made)?,
        log: super::log(matches, bytes, made)?,
        orders: OrdersFile::new().context("memory for what the device is told")?,
        memory,
        start: StartSign::new().context("a sign for servers")?,
    })
}

/// Makes the device, starts servers, and removes it when a signal comes.
fn supervise(matches: &ArgMatches, geometry: Geometry) -> Result<i32> {
    let serving = serving(matches)?;
    let way = match serving.data {
        UblkData::Copied => None,
        UblkData::Calls => Some("--user-copy"),
        UblkData::Registered => Some("--auto-buffers"),
    };
    if let Some(way) = way.filter(|_| serving.unprivileged) {
        return Err(Usage(format!("{way} is not for --unprivileged devices")).into());
    }
    let priority = priority(matches);
    priority.is_permitted()?;
    let memory = kept::memory(matches, geometry.block, || 0)?;
    let mut made = MadeFiles::default();
    let size = match &memory {
        Some(memory) => memory.size(),
        // Only asked for its size: each server opens it for itself.
        None => kept::elsewhere(matches, geometry.block, &mut made)?.size(),
    };
    if !size.is_multiple_of(u64::from(geometry.block)) {
        let why = format!("{} is not a multiple of the block size", Bytes(size));
        return Err(wrong("size", why));
    }
    let end = sys::end_descriptor().context("signals cannot be waited for")?;
    let estate = estate(matches, memory, size, &mut made)?;
    let mut servers = 0;
    let mut start = |number| start_server(number, &estate);
    let mut ready = |started: &UblkStarted| {
        servers += 1;
        made.keep();
        if servers == 1 && super::spec(matches).is_some() {
            estate.begin()?;
        }
        say(&announced(started, size, priority, servers));
        Ok(())
    };
    block::ublk::supervise(&serving, size, geometry, &end, &mut start, &mut ready)?;
    Ok(0)
}

fn announced(started: &UblkStarted, size: u64, priority: UblkPriority, servers: u32) -> String {
    if servers > 1 {
        return format!("server {} goes on with {}\n", started.server, started.node);
    }
    let copy = match started.data {
        UblkData::Copied => "",
        UblkData::Calls => ", user copy",
        UblkData::Registered => ", automatic buffers",
    };
    let real_time = match priority {
        UblkPriority::Ordinary => "",
        UblkPriority::RealTime => ", real time",
    };
    let recovery = if started.recovery {
        ""
    } else {
        ", without recovery"
    };
    format!(
        "serving {}: {}, {} × depth {}{copy}{real_time}{recovery}, server {}\n",
        started.node,
        Bytes(size),
        started.queues,
        started.depth,
        started.server,
    )
}

/// Starts this program with the same words once more, as the server of a device.
fn start_server(number: u32, estate: &Estate) -> io::Result<Child> {
    let mut server = std::process::Command::new("/proc/self/exe");
    let inherits = estate.hand_over(&mut server)?;
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    server
        .args(words)
        .args([format!("--{SERVER}"), number.to_string()])
        .args([format!("--{INHERITS}"), inherits])
        .stdout(Stdio::null())
        .spawn()
}
