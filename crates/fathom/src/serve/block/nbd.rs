//! `fathom serve block --front nbd`: a device at sockets.

use super::super::{TlsFiles, histogram, say, text, tls, wrong};
use super::made::MadeFiles;
use super::{cached, geometry, journal, kept, log, spec, told};
use crate::exit::Usage;
use crate::tell;
use anyhow::{Context as _, Result};
use block::control::ControlSocket;
use block::nbd::{ClientMemory, NbdAddress, NbdServing};
use block::{Geometry, ServedDevice};
use clap::ArgMatches;
use engine::NbdUrl;
use host::Machine;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use units::Bytes;

/// The longest name that a client can ask for.
const LONGEST_EXPORT: usize = 4096;

/// An address at which nobody else's machine can ask.
fn loopback(text: &str) -> Result<SocketAddr> {
    let address: SocketAddr = text.parse().map_err(|error| {
        wrong(
            "tcp",
            format!(
                "`{text}` is no address with a port ({error}); write for example 127.0.0.1:10809"
            ),
        )
    })?;
    if address.ip().is_loopback() {
        Ok(address)
    } else {
        let why = format!(
            "{address} is not of the loopback; what is served has no owner who could be asked"
        );
        Err(wrong("tcp", why))
    }
}

fn addresses(matches: &ArgMatches) -> Result<Vec<NbdAddress>> {
    let unix = matches.get_one::<PathBuf>("unix").cloned();
    let tcp = matches
        .get_one::<String>("tcp")
        .map(|address| loopback(address))
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

fn serving(matches: &ArgMatches) -> Result<NbdServing> {
    let export = text(matches, "export");
    if export.len() > LONGEST_EXPORT {
        let why = format!(
            "a name of {} bytes cannot be asked for; it has at most {LONGEST_EXPORT}",
            export.len()
        );
        return Err(wrong("export", why));
    }
    Ok(NbdServing {
        addresses: addresses(matches)?,
        export: export.to_owned(),
        tls: tls(matches).map(|files| TlsFiles {
            clients: matches.get_one("tls-client-ca").cloned(),
            ..files
        }),
    })
}

/// The memory for all clients together: a quarter of what there is.
fn client_memory() -> Arc<ClientMemory> {
    let room = Machine::at(Path::new("/")).memory_room();
    Arc::new(ClientMemory::of(room.bytes(), || {
        tell::say(
            "no memory for another client, which is hung up on; give the server more memory, or end connections that are not needed",
        );
    }))
}

/// The device with all that is done on the way to it.
fn device(
    matches: &ArgMatches,
    geometry: Geometry,
    clients: &Arc<ClientMemory>,
    made: &mut MadeFiles,
) -> Result<Arc<ServedDevice>> {
    let kept = kept::backend(matches, geometry.block, clients, made)?;
    let bytes = kept.size();
    let journal = journal(matches, bytes, made)?;
    let clients = Arc::clone(clients);
    let room = kept::unflushed(move || clients.unused());
    let mut device = ServedDevice::new(cached(matches, kept, journal, room), geometry);
    if let Some(log) = log(matches, bytes, made)? {
        device = device.with_log(log);
    }
    told(&device, spec(matches))?;
    Ok(Arc::new(device))
}

/// The address as clients take it.
fn uri(address: &NbdAddress, serving: &NbdServing) -> String {
    let export = serving.export.clone();
    let url = match address {
        NbdAddress::Unix(path) => NbdUrl::at_socket(path.clone(), export),
        NbdAddress::Tcp(address) => NbdUrl::at_address(*address, export),
    };
    if serving.tls.is_some() {
        url.over_tls().to_string()
    } else {
        url.to_string()
    }
}

/// Serves until a signal ends it and returns the exit code.
pub(super) fn run(matches: &ArgMatches) -> Result<i32> {
    // What clients have given back is another's: their memory is counted.
    sys::keep_little_free();
    let geometry = geometry(matches)?;
    let serving = serving(matches)?;
    let end = sys::end_descriptor().context("signals cannot be waited for")?;
    let _whatever_it_is = sys::raise_file_limit();
    let mut made = MadeFiles::default();
    let clients = client_memory();
    let device = device(matches, geometry, &clients, &mut made)?;
    let socket = matches.get_one::<PathBuf>("control");
    let control = socket
        .map(|socket| ControlSocket::bind(socket))
        .transpose()?;
    if let Some(control) = &control {
        control.answer(Arc::clone(&device), histogram)?;
    }
    let size = Bytes(device.size());
    block::nbd::serve(&device, &serving, &clients, end, |addresses| {
        made.keep();
        let uris: Vec<String> = addresses
            .iter()
            .map(|address| format!("listening on {}\n", uri(address, &serving)))
            .collect();
        say(&format!("{}device: {size}\n", uris.concat()));
    })?;
    let ended = device.finish();
    let incomplete = ended.map(|end| end.to_string()).unwrap_or_default();
    say(&incomplete);
    // What a full disk did not take was not asked for to be left out, unlike what has no room.
    let failed = device.has_lost() || ended.is_some_and(|end| end.unwritten > 0);
    Ok(i32::from(failed))
}
