//! What people are shown while something is measured: on a terminal, as lines of a log, and as a
//! page. Every verb that measures tells one [`Live`] what happens, and it tells all of them.

mod address;
mod board;
mod screen;
mod server;
mod view;

use crate::exit::Usage;
use crate::flags::is_set;
use crate::run::{switch, time};
use crate::tell::say;
use analyze::{ArmsComparison, Study, StudyOptions};
use anyhow::Result;
use board::Board;
use clap::{Arg, ArgMatches, Command, value_parser};
use host::{Event, Watch};
use lab::Kept;
use record::{Interval, Measurements, PlanFacts, Record};
use report::LiveState;
use screen::ProgressScreen;
use server::Shows;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use units::Nanos;

pub(crate) use address::check_address;
pub(crate) use board::MakeStudy;
pub(crate) use report::RankNow;
pub(crate) use view::{ExperimentView, LiveView, ProfileView, WorkView, page_title};

/// What is told to all who watch; its clones tell the same.
#[derive(Clone)]
pub(crate) struct Live(Arc<Mutex<Showing>>);

struct Showing {
    screen: ProgressScreen,
    board: Option<Arc<Board>>,
    view: Option<LiveView>,
    every: Nanos,
    /// The records that the next edge shows.
    fresh: Vec<Record>,
}

/// The arguments of every verb that measures.
pub(crate) fn arguments(command: Command) -> Command {
    command
        .arg(switch("no-live", "No progress, also on a terminal"))
        .arg(
            Arg::new("serve")
                .long("serve")
                .value_name("ADDRESS")
                .num_args(0..=1)
                .require_equals(true)
                .default_missing_value("127.0.0.1:0")
                .help("Serve a live page of it while it is measured, at an address of this machine alone unless --serve=IP:PORT says otherwise"),
        )
        .arg(switch("prometheus", "Serve live metrics at /metrics while it is measured"))
        .arg(
            Arg::new("prometheus-port")
                .long("prometheus-port")
                .value_name("PORT")
                .value_parser(value_parser!(u16))
                .help("Port of the metrics [default: 9090]"),
        )
        .arg(
            Arg::new("prometheus-address")
                .long("prometheus-address")
                .value_name("IP")
                .value_parser(value_parser!(IpAddr))
                .help("Address of the metrics [default: 127.0.0.1]"),
        )
}

/// The arguments of verbs whose measured time is told in intervals.
pub(crate) fn arguments_with_intervals(command: Command) -> Command {
    arguments(command).arg(
        Arg::new("live-interval")
            .long("live-interval")
            .value_name("TIME")
            .help("Time between two lines of progress [default: 1s]"),
    )
}

impl Live {
    /// Opens what was asked for, under a title.
    ///
    /// # Errors
    /// An address is taken, or not ours.
    pub(crate) fn open(matches: &ArgMatches, title: &str) -> Result<Self> {
        let board = served(matches, title)?;
        let every = is_set(matches, "live-interval").then(|| time(matches, "live-interval"));
        let every = every.and_then(|time| time.ok().flatten());
        let in_lines =
            crate::group::is_watched(matches) || every.is_some() && crate::group::is_launched();
        let every = every
            .filter(|time| time.0 > 0)
            .unwrap_or(Nanos(1_000_000_000));
        Ok(Self(Arc::new(Mutex::new(Showing {
            screen: ProgressScreen::new(matches.get_flag("no-live"), in_lines.then_some(every)),
            board,
            view: None,
            every,
            fresh: Vec::new(),
        }))))
    }

    /// Tells nobody.
    pub(crate) fn silent() -> Self {
        Self(Arc::new(Mutex::new(Showing {
            screen: ProgressScreen::new(true, None),
            board: None,
            view: None,
            every: Nanos(1_000_000_000),
            fresh: Vec::new(),
        })))
    }

    fn told(&self) -> MutexGuard<'_, Showing> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is measured from now on; `study` makes the page's study of its records, as soon as there
    /// are enough.
    pub(crate) fn begin(
        &self,
        view: LiveView,
        study: impl Fn(&[Record], bool) -> Option<Study> + Send + 'static,
    ) {
        let mut told = self.told();
        told.view = Some(view);
        if let Some(board) = &told.board {
            board.studied_by(Box::new(study) as MakeStudy);
        }
    }

    /// What is done before the first slot, or what is waited for.
    pub(crate) fn waits(&self, text: &str) {
        let now = LiveState::waiting(text.to_owned());
        let mut told = self.told();
        if told.screen.is_live() {
            told.screen.show(&now, None);
        }
        if let Some(board) = &told.board {
            board.interval(now, || told.view.as_ref().and_then(LiveView::record));
        }
    }

    /// As [`Live::begin`], with a study of whatever records there are.
    pub(crate) fn begin_plain(&self, view: LiveView) {
        self.begin(view, |records, _| {
            Some(analyze::study(records, &StudyOptions::default()))
        });
    }

    /// Records of an earlier beginning.
    pub(crate) fn knows(&self, done: &[Record]) {
        let mut told = self.told();
        for record in done {
            told.count(record);
        }
        if let Some(board) = &told.board {
            board.knows(done);
        }
    }

    /// A slot has ended and is kept.
    pub(crate) fn keep(&self, line: Kept<'_>) {
        let mut told = self.told();
        let record = match line {
            Kept::Record(record) => record,
            Kept::Plan(line) => return told.plan(&line.plan),
        };
        let uncounted = told.view.as_ref().and_then(|view| view.uncounted(record));
        told.count(record);
        let Some(board) = told.board.clone() else {
            return;
        };
        if let Some(done) = &uncounted {
            board.count(done);
        }
        told.fresh.push(record.clone());
    }

    /// A look has judged.
    pub(crate) fn looked(&self, found: &ArmsComparison) {
        if let Some(LiveView::Experiment(view)) = &mut self.told().view {
            view.looked(found);
        }
    }

    /// What all ranks of a work have done since the last time, and what each of them did last.
    pub(crate) fn ranks(&self, all: &Interval, each: Vec<RankNow>) {
        let mut told = self.told();
        let Some(LiveView::Work(work)) = &mut told.view else {
            return;
        };
        work.add_ranks(all, each);
        let now = work.now();
        let Showing { screen, view, .. } = &mut *told;
        screen.show(&now, view.as_ref());
        told.interval(now, &all.operations);
    }

    /// What the record of a work must say of a page that was made while it was measured.
    pub(crate) fn notice(&self) -> Option<String> {
        let told = self.told();
        let was_watched = told.board.as_ref().is_some_and(|board| board.was_watched());
        was_watched.then(|| {
            "a browser watched while this ran: making its page is in the CPU time of this process"
                .to_owned()
        })
    }

    /// What is measured has ended, and what is said of that on the page.
    pub(crate) fn end(&self, said: &str) {
        let mut told = self.told();
        let Showing { screen, view, .. } = &mut *told;
        let now = view.as_mut().map(LiveView::ended);
        if let Some(now) = &now {
            screen.last(now, view.as_ref());
        }
        screen.clear();
        let fresh = std::mem::take(&mut told.fresh);
        let board = told.board.clone();
        drop(told);
        if let Some(board) = board {
            board.end(now, fresh, said.to_owned());
        }
    }
}

impl Drop for Showing {
    fn drop(&mut self) {
        self.screen.clear();
        if let Some(board) = &self.board {
            board.end(
                None,
                Vec::new(),
                "It ended early; the terminal says why.".to_owned(),
            );
        }
    }
}

impl Watch for Live {
    fn on(&mut self, event: &Event<'_>) {
        let mut told = self.told();
        let Some(now) = told.view.as_mut().and_then(|view| view.on(event)) else {
            return;
        };
        let Showing {
            screen,
            board,
            view,
            fresh,
            ..
        } = &mut *told;
        screen.show(&now, view.as_ref());
        let Some(board) = board.clone() else { return };
        match event {
            Event::Slot(_) => {
                let fresh = std::mem::take(fresh);
                drop(told);
                board.edge(now, fresh);
            }
            Event::Interval { interval, .. } => told.interval(now, &interval.operations),
            Event::Preparing { .. }
            | Event::WarmingUp { .. }
            | Event::Rehearsing { .. }
            | Event::Rehearsed { .. } => {
                board.interval(now, || None);
            }
        }
    }

    fn every_ns(&self) -> Option<u64> {
        let told = self.told();
        let is_told = told.screen.is_live() || told.board.is_some();
        let wants = told.view.as_ref().is_some_and(LiveView::wants_intervals);
        (is_told && wants).then_some(told.every.0)
    }
}

impl Showing {
    fn plan(&mut self, plan: &PlanFacts) {
        if let Some(view) = &mut self.view {
            view.plan(plan);
        }
    }

    /// The edge of an interval in which so much was done.
    fn interval(&self, now: LiveState, done: &Measurements) {
        let Some(board) = &self.board else { return };
        board.count(done);
        board.interval(now, || self.view.as_ref().and_then(LiveView::record));
    }

    fn count(&mut self, record: &Record) {
        if let Some(view) = &mut self.view {
            view.add(record);
        }
    }
}

/// Opens the listeners that were asked for.
fn served(matches: &ArgMatches, title: &str) -> Result<Option<Arc<Board>>> {
    let port = matches.get_one::<u16>("prometheus-port").copied();
    let ip = matches.get_one::<IpAddr>("prometheus-address").copied();
    let has_metrics = matches.get_flag("prometheus");
    if !has_metrics && (port.is_some() || ip.is_some()) {
        let text = "--prometheus-port and --prometheus-address need --prometheus";
        return Err(Usage(text.into()).into());
    }
    let serve = matches.get_one::<String>("serve");
    if serve.is_none() && !has_metrics {
        return Ok(None);
    }
    let board = Board::open(title.to_owned())?;
    if has_metrics {
        let ip = ip.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST));
        let at = SocketAddr::new(ip, port.unwrap_or(9090));
        server::listen(at, None, Shows::Metrics, Arc::clone(&board)).map_err(|e| {
            Usage(format!(
                "--prometheus: cannot listen on {at}: {e}; choose another --prometheus-port"
            ))
        })?;
    }
    if let Some(text) = serve {
        let (at, name) = address(text)?;
        let at = server::listen(at, name, Shows::Page, Arc::clone(&board)).map_err(|e| {
            Usage(format!(
                "--serve: cannot listen on {at}: {e}; give another, such as --serve=127.0.0.1:0"
            ))
        })?;
        say(&format!("live page: http://{at}/"));
        if !at.ip().is_loopback() {
            say("note: whoever reaches that address can read the page");
        }
    }
    Ok(Some(board))
}

/// An address, a port of this machine, or a name with a port, which is then a name of the page too.
fn address(text: &str) -> Result<(SocketAddr, Option<String>)> {
    let here = |port| (SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port), None);
    if let Ok(port) = text.parse::<u16>() {
        return Ok(here(port));
    }
    if let Ok(at) = text.parse::<SocketAddr>() {
        return Ok((at, None));
    }
    if let Ok(ip) = text.parse::<IpAddr>() {
        return Ok((SocketAddr::new(ip, 0), None));
    }
    let found = text
        .to_socket_addrs()
        .ok()
        .and_then(|mut found| found.next());
    let name = text.rsplit_once(':').map(|(name, _)| name.to_owned());
    found.map(|at| (at, name)).ok_or_else(|| {
        Usage(format!(
            "--serve={text}: no address; examples: --serve, --serve=8080, --serve=0.0.0.0:8080"
        ))
        .into()
    })
}

/// Where records are kept, of verbs that have `--records`.
pub(crate) fn records(matches: &ArgMatches) -> Option<&std::path::Path> {
    matches
        .get_one::<std::path::PathBuf>("records")
        .map(AsRef::as_ref)
}

/// What is said on the page when everything has been measured.
pub(crate) fn ended(records: Option<&std::path::Path>) -> String {
    let again = records.map_or_else(String::new, |file| {
        format!(
            " The same at any time: fathom report {} -o page.html.",
            file.display()
        )
    });
    format!("It has ended, and this is its last state: nobody serves this page any more.{again}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_may_be_left_out_as_far_as_it_is_usual() {
        let at = |text: &str| address(text).unwrap().0.to_string();
        assert_eq!(at("8080"), "127.0.0.1:8080");
        assert_eq!(at("0.0.0.0:80"), "0.0.0.0:80");
        assert_eq!(at("127.0.0.2"), "127.0.0.2:0");
        assert_eq!(at("[::1]:7"), "[::1]:7");
        assert_eq!(
            address("localhost:5").unwrap().1.as_deref(),
            Some("localhost")
        );
        assert!(address("no/address").is_err());
    }
}
