//! A server around a slot: started in a group of its own, ready before the work begins, and ended
//! whole after it.

mod listener;

use crate::child::{Env, Program, Running, Waited, failure, tail};
use crate::command::SlotDirs;
use crate::limits::{LimitGroup, LimitsSeen};
use crate::stated;
use host::Context;
use lab::{ReadyWhen, ServerSpec};
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs as _};
use std::path::{Path, PathBuf};
use std::time::Duration;
use sys::Clock as _;
use units::{Bytes, Nanos};

/// Time between two questions whether it is ready.
const ASK_NS: u64 = 2_000_000;
/// The longest wait for one answer.
const ANSWER: Duration = Duration::from_secs(2);

/// A server that takes requests.
pub(crate) struct Server {
    running: Running,
    prints: PathBuf,
    group: Option<LimitGroup>,
    stop_signal: i32,
    stop_within_ns: u64,
}

/// What is known of a server when it has ended.
#[derive(Debug, Default)]
pub(crate) struct ServerEnd {
    /// What makes the slot a failed one.
    pub(crate) failure: Option<String>,
    pub(crate) notices: Vec<String>,
    pub(crate) limits: Option<LimitsSeen>,
}

impl Server {
    /// Starts it and waits until it is ready.
    ///
    /// # Errors
    /// It cannot be started, ends, or is not ready in time, or another answers in its place;
    /// nothing of it is left then.
    pub(crate) fn start(
        spec: &ServerSpec,
        place: &SlotDirs,
        group: Option<LimitGroup>,
        context: &Context,
    ) -> Result<Self, String> {
        let prints = place.out("server");
        let entries = group.as_ref().map(LimitGroup::entries).unwrap_or_default();
        let dir = place.scratch.join(&spec.directory);
        let program = Program {
            words: &spec.command,
            env: Env {
                is_bare: true,
                own: &spec.env,
                scratch: &place.scratch,
                mark: &place.mark,
            },
            dir: &dir,
            input: None,
            output: Some(&prints),
            errors: Some(&prints),
            groups: &entries,
        };
        let started = place_is_free(&spec.ready).and_then(|()| program.start(&context.clock));
        let running = match started {
            Ok(running) => running,
            Err(why) => {
                let left = group.and_then(|group| group.remove(&context.clock).err());
                return Err(format!("server: {why}{}", left.unwrap_or_default()));
            }
        };
        let server = Self {
            running,
            prints,
            group,
            stop_signal: sys::signal_number(&spec.stop_signal).unwrap_or(15),
            stop_within_ns: spec.stop_within_ns,
        };
        let is_ready = server.ready(spec, context);
        match is_ready.and_then(|()| server.listens_itself(spec, &place.mark)) {
            Ok(()) => Ok(server),
            Err(why) => {
                let printed = server.printed();
                let end = server.stop(context);
                let killed = end
                    .failure
                    .filter(|why| why.contains("memory"))
                    .map_or_else(String::new, |why| format!("; {why}"));
                Err(format!("the server {why}{killed}{printed}"))
            }
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.running.pid
    }

    fn printed(&self) -> String {
        let text = tail(&self.prints);
        if text.is_empty() {
            String::new()
        } else {
            format!("; it printed: {text}")
        }
    }

    fn ready(&self, spec: &ServerSpec, context: &Context) -> Result<(), String> {
        let clock = &context.clock;
        let until = clock.now().saturating_add(spec.ready_within_ns);
        let mut last = String::new();
        loop {
            match asked(&spec.ready, &self.prints) {
                Ok(()) => return Ok(()),
                Err(why) => last = if why.is_empty() { last } else { why },
            }
            match self
                .running
                .wait(clock, clock.now().saturating_add(ASK_NS).min(until))
            {
                Waited::Ended => return Err("ended before it was ready".into()),
                Waited::Stopped => return Err("was stopped by a signal before it was ready".into()),
                Waited::TimeOver if clock.now() >= until => {
                    return Err(format!(
                        "was not ready within {} ({last})",
                        Nanos(spec.ready_within_ns)
                    ));
                }
                Waited::TimeOver => {}
            }
        }
    }

    /// Whether what answers is the server, where the machine shows it: another may have taken the
    /// port after the look at it.
    fn listens_itself(&self, spec: &ServerSpec, mark: &str) -> Result<(), String> {
        let place = answers_at(&spec.ready)?.and_then(|address| resolved(&address).ok());
        let stranger = place.and_then(|at| Some((at, listener::stranger(at, self.pid(), mark)?)));
        stranger.map_or(Ok(()), |(at, stranger)| Err(stranger.told(at)))
    }

    /// Asks it to end, and ends it if it does not.
    pub(crate) fn stop(self, context: &Context) -> ServerEnd {
        let clock = &context.clock;
        let mut end = ServerEnd::default();
        let limits = self.group.as_ref().map(LimitGroup::seen);
        let ended_early = self.running.has_ended();
        let printed = self.printed();
        if !ended_early {
            self.running.signal(self.stop_signal);
            let until = clock.now().saturating_add(self.stop_within_ns);
            if self.running.wait_whatever_comes(clock, until) == Waited::TimeOver {
                end.notices.push(format!(
                    "the server did not end within {} and was killed",
                    Nanos(self.stop_within_ns)
                ));
            }
        }
        let spent = self.running.close();
        if let Some(limits) = limits {
            end.limits = Some(limits);
            if limits.oom_kills > 0 {
                let peak = limits
                    .peak_bytes
                    .map_or_else(String::new, |peak| format!(" at {}", Bytes(peak)));
                end.failure = Some(format!(
                    "the server was killed for memory{peak}: out of its limit"
                ));
            }
        }
        if ended_early && end.failure.is_none() {
            let how = spent.as_ref().map_or_else(Clone::clone, |spent| {
                failure(spent.status, &[]).unwrap_or_default()
            });
            end.failure = Some(format!("the server ended during the slot: {how}{printed}"));
        }
        if let Some(group) = self.group {
            let text = group.version().text();
            end.notices.extend(group.remove(clock).err());
            if let Some(seen) = limits {
                end.notices.push(told(&text, seen));
            }
        }
        end
    }
}

fn told(version: &str, seen: LimitsSeen) -> String {
    let mut parts = vec![format!("the server was limited by {version}")];
    parts.extend(seen.peak_bytes.map(|peak| format!("peak {}", Bytes(peak))));
    parts.extend(
        seen.at_limit
            .map(|times| format!("{times} times at its memory limit")),
    );
    parts.extend(
        seen.throttled_ns
            .filter(|ns| *ns > 0)
            .map(|ns| format!("throttled for {}", Nanos(ns))),
    );
    parts.join(", ")
}

/// Whether nobody listens yet where the server is to answer. Another server there would be taken
/// for it, and a server that goes on without its port would never be missed.
fn place_is_free(ready: &ReadyWhen) -> Result<(), String> {
    let Some(address) = answers_at(ready)? else {
        return Ok(());
    };
    match connected(&address) {
        Ok(_) => Err(format!(
            "another server listens on {address} already and would be measured in its place: end it, or take a port that is free in every slot ({{port}})"
        )),
        Err(_) => Ok(()),
    }
}

/// Where it will answer, if that is known.
fn answers_at(ready: &ReadyWhen) -> Result<Option<String>, String> {
    match ready {
        ReadyWhen::Tcp(address) => Ok(Some(address.clone())),
        ReadyWhen::Http { url, .. } => Ok(Some(host_and_path(url)?.0)),
        ReadyWhen::Line(_) => Ok(None),
    }
}

/// Whether it is ready; if not, why, where that says something.
fn asked(ready: &ReadyWhen, prints: &Path) -> Result<(), String> {
    match ready {
        ReadyWhen::Tcp(address) => connected(address).map(drop),
        ReadyWhen::Http { url, status } => answered(url, *status),
        ReadyWhen::Line(text) => {
            let pattern = stated::line_pattern(text)?;
            let printed =
                sys::read_at_most(prints, stated::MOST_BYTES).map_err(|e| e.to_string())?;
            let printed = String::from_utf8_lossy(&printed);
            if printed.lines().any(|line| pattern.is_match(line)) {
                return Ok(());
            }
            Err(format!("no line matches {text}"))
        }
    }
}

fn resolved(address: &str) -> Result<SocketAddr, String> {
    let mut addresses = address
        .to_socket_addrs()
        .map_err(|e| format!("{address}: {e}"))?;
    addresses
        .next()
        .ok_or_else(|| format!("{address} is no address"))
}

fn connected(address: &str) -> Result<TcpStream, String> {
    TcpStream::connect_timeout(&resolved(address)?, ANSWER).map_err(|e| format!("{address}: {e}"))
}

fn answered(url: &str, status: u16) -> Result<(), String> {
    let (address, path) = host_and_path(url)?;
    let mut stream = connected(&address)?;
    let told = |e: std::io::Error| format!("{url}: {e}");
    stream.set_read_timeout(Some(ANSWER)).map_err(told)?;
    stream
        .write_all(
            format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")
                .as_bytes(),
        )
        .map_err(told)?;
    let mut head = Vec::new();
    let mut part = [0; 256];
    while !head.contains(&b'\n') && head.len() < 4096 {
        match stream.read(&mut part).map_err(told)? {
            0 => break,
            read => head.extend_from_slice(&part[..read]),
        }
    }
    let head = String::from_utf8_lossy(&head);
    let answer = head
        .split(' ')
        .nth(1)
        .and_then(|word| word.parse::<u16>().ok());
    match answer {
        Some(found) if found == status => Ok(()),
        Some(found) => Err(format!("{url} answers {found}, not {status}")),
        None => Err(format!("{url} answers no HTTP")),
    }
}

/// The address to connect to and the path to ask for.
fn host_and_path(url: &str) -> Result<(String, &str), String> {
    let rest = url
        .strip_prefix("http://")
        .ok_or_else(|| format!("{url} does not begin with http://"))?;
    let (host, path) = rest.find('/').map_or((rest, "/"), |at| rest.split_at(at));
    if host.contains(':') {
        Ok((host.to_owned(), path))
    } else {
        Ok((format!("{host}:80"), path))
    }
}
