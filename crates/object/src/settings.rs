//! What the requests of a run have in common: address, keys of objects, signing, patience.

use crate::connection::{HttpVersion, Peer};
use crate::http2::Line;
use crate::ledger::Ledger;
use crate::payload::{Object, Payload};
use crate::plan::LoadPlan;
use crate::secret::NOT_KEPT;
use crate::sign::Credentials;
use crate::target::Service;
use crate::user::signs_payload;
use host::Context;
use std::cell::RefCell;
use std::io::Write;
use std::rc::Rc;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, UNIX_EPOCH};
use sys::{Clock as _, MachineClock, clock::wall_time};

/// Buffer that every response of a thread is read into.
const READ_BYTES: usize = 256 << 10;
/// What all requests of a run have in common.
pub(crate) struct LoadSettings {
    pub(crate) service: Service,
    pub(crate) credentials: Option<Credentials>,
    /// What a share gave whoever logged in, as the header of each request has it.
    pub(crate) cookie: OnceLock<Vec<u8>>,
    /// The lines of every head that were asked for.
    pub(crate) headers: Vec<u8>,
    /// What is told of the path that every request begins with.
    told_root: String,
    /// The guest link that files are posted by.
    pub(crate) guest: String,
    pub(crate) signs_payload: bool,
    pub(crate) closes: bool,
    pub(crate) version: HttpVersion,
    pub(crate) timeout: Duration,
    pub(crate) retries: u32,
    /// Begins every key, and ends with the separator.
    pub(crate) root: String,
    /// What the keys of all ranks begin with, and where they are.
    pub(crate) told_names: String,
    /// How they are removed by hand, where a tool for it is known.
    pub(crate) told_removal: String,
    /// A slash on S3; elsewhere directories may not exist.
    pub(crate) separator: char,
    pub(crate) prefixes: u32,
    pub(crate) field: String,
    pub(crate) payload: Payload,
    pub(crate) clock: MachineClock,
    /// Seconds since 1970 at second 0 of the clock.
    pub(crate) epoch: u64,
    /// Users of the ranks before this one: the users of all take the endpoints in turn.
    users_before: usize,
}

/// Ledgers of a thread, and from when the second is none of its business.
pub(crate) struct Ledgers {
    pub(crate) measured: Ledger,
    pub(crate) warmup: Ledger,
    pub(crate) measured_from: u64,
}

/// What the requests of one thread share.
pub(crate) struct Thread {
    pub(crate) settings: Arc<LoadSettings>,
    pub(crate) peers: Arc<Vec<Peer>>,
    pub(crate) ledger: Ledger,
    /// Of what should have begun before `measured_from`.
    pub(crate) warmup: Ledger,
    measured_from: u64,
    pub(crate) scratch: RefCell<Vec<u8>>,
    /// Connections that users share; none over HTTP/1.1.
    lines: Vec<Rc<Line>>,
    threads: usize,
}

impl Thread {
    /// A thread that counts from `measured_from` on. `place` is its index and how many threads
    /// there are, which have every so many-th user and shared connection.
    pub(crate) fn new(
        settings: Arc<LoadSettings>,
        peers: Arc<Vec<Peer>>,
        ledgers: Ledgers,
        place: (u32, u32),
    ) -> Rc<Self> {
        let (index, threads) = (place.0 as usize, place.1 as usize);
        let Ledgers {
            measured: ledger,
            warmup,
            measured_from,
        } = ledgers;
        let lines = match settings.version {
            HttpVersion::One => 0,
            HttpVersion::Two { connections } => (connections as usize).max(peers.len()),
        };
        let lines = (index..lines)
            .step_by(threads)
            .map(|line| Rc::new(Line::new((settings.users_before + line) % peers.len())))
            .collect();
        Rc::new(Self {
            settings,
            peers,
            ledger,
            warmup,
            measured_from,
            scratch: RefCell::new(vec![0; READ_BYTES]),
            lines,
            threads,
        })
    }

    /// The ledger of what should begin at a moment.
    pub(crate) fn ledger_of(&self, intended: u64) -> &Ledger {
        if intended < self.measured_from {
            &self.warmup
        } else {
            &self.ledger
        }
    }

    /// The endpoint of a user, and the connection that it shares, if it has none of its own.
    pub(crate) fn way(&self, user: u32) -> (usize, Option<Rc<Line>>) {
        let user = user as usize;
        if self.lines.is_empty() {
            let peer = (self.settings.users_before + user) % self.peers.len();
            return (peer, None);
        }
        self.by(user / self.threads % self.lines.len())
    }

    /// The way to an endpoint, or, where no connection of this thread goes there, to another.
    pub(crate) fn way_to(&self, peer: usize) -> (usize, Option<Rc<Line>>) {
        if self.lines.is_empty() {
            return (peer, None);
        }
        let line = self.lines.iter().position(|line| line.peer == peer);
        self.by(line.unwrap_or(0))
    }

    fn by(&self, line: usize) -> (usize, Option<Rc<Line>>) {
        let line = &self.lines[line];
        (line.peer, Some(Rc::clone(line)))
    }
}

/// The key of an object: spread over the prefixes by owner, seeds by number.
pub(crate) fn write_key(settings: &LoadSettings, object: Object, out: &mut Vec<u8>) {
    let spread = if object.owner == Object::SEED {
        object.number
    } else {
        u64::from(object.owner)
    };
    let _infallible = write!(
        out,
        "{}p{}{}",
        settings.root,
        spread % u64::from(settings.prefixes),
        settings.separator
    );
    let _infallible = match object.owner {
        Object::SEED => write!(out, "seed-{:06}", object.number),
        owner => write!(out, "u{owner:05}-{:08}", object.number),
    };
}

/// The number that connected ranks have in common, and no other run.
fn run_of_all(context: &Context) -> Option<u64> {
    let start = context.common_start.as_ref()?;
    context.peers().map(|_| start.fresh_run)
}

impl LoadSettings {
    /// Those of a load that begins now.
    pub(crate) fn of(plan: &LoadPlan, context: &Context) -> Self {
        let clock = context.clock;
        let since_1970 = wall_time().duration_since(UNIX_EPOCH).unwrap_or_default();
        let separator = if plan.target.is_s3() { '/' } else { '-' };
        let rank = plan.share.rank;
        let own = format!(
            "fathom-{:x}-{:x}",
            since_1970.as_micros(),
            std::process::id()
        );
        // Processes of two hosts may have one number, and begin in one microsecond.
        let (names, root) = match (run_of_all(context), plan.share.size) {
            (Some(run), _) => (
                format!("fathom-{run:x}-"),
                format!("fathom-{run:x}-{rank:x}"),
            ),
            (None, 1) => (own.clone(), own),
            (None, _) => (own.clone(), format!("{own}-{rank:x}")),
        };
        let removal = plan.target.removal_of(&names, &plan.trust);
        Self {
            service: plan.target.service.clone(),
            told_root: plan.target.told_root(),
            credentials: plan.credentials.clone().filter(|_| plan.target.is_s3()),
            cookie: OnceLock::new(),
            headers: {
                let mut lines = Vec::new();
                plan.headers
                    .iter()
                    .for_each(|header| header.write(&mut lines));
                lines
            },
            guest: plan.guest.clone().unwrap_or_default(),
            signs_payload: signs_payload(&plan.scenario),
            closes: plan.new_connections,
            version: plan.version,
            timeout: Duration::from_nanos(plan.timeout_ns),
            retries: plan.retries,
            root: format!("{root}{separator}"),
            told_names: format!("{names} at {}", plan.target.text()),
            told_removal: removal
                .map_or_else(String::new, |by| format!("; `{by}` removes the objects")),
            separator,
            prefixes: plan.scenario.prefixes,
            field: plan.field(),
            payload: Payload::new(plan.scenario.data, plan.seed),
            clock,
            epoch: since_1970
                .as_secs()
                .saturating_sub(clock.now() / 1_000_000_000),
            users_before: plan.share.rank as usize * plan.scenario.most_users() as usize,
        }
    }

    /// The path of a request without what lets somebody in: keys are the load's own.
    pub(crate) fn told_path(&self, path: &str) -> String {
        let told = match path.strip_prefix(&self.bucket_path()) {
            Some(rest) => format!("{}{rest}", self.told_root),
            None => path.to_owned(),
        };
        match self.guest.is_empty() {
            true => told,
            false => told.replace(&self.guest, NOT_KEPT),
        }
    }

    /// Path of the bucket.
    pub(crate) fn bucket_path(&self) -> String {
        match &self.service {
            Service::S3 { bucket } => format!("/{bucket}"),
            Service::Http { path, .. } => path.clone(),
            Service::Share => String::new(),
        }
    }
}

/// Whose object of users has this key; its size is not known.
pub(crate) fn read_key(settings: &LoadSettings, key: &str) -> Option<Object> {
    let (_prefix, name) = key
        .strip_prefix(&settings.root)?
        .split_once(settings.separator)?;
    let (owner, number) = name.strip_prefix('u')?.split_once('-')?;
    Some(Object::new(owner.parse().ok()?, number.parse().ok()?, 0))
}

/// Percent-encoding of all but the unreserved characters, as signatures need it.
pub(crate) fn encoded(text: &str) -> String {
    let keep = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~');
    text.bytes()
        .map(|byte| {
            if keep(byte) {
                char::from(byte).to_string()
            } else {
                format!("%{byte:02X}")
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_must_be_encoded_is() {
        assert_eq!(encoded("a-b_c.d~e"), "a-b_c.d~e");
        assert_eq!(encoded("a/b+c=="), "a%2Fb%2Bc%3D%3D");
    }
}
