//! What is served while something is measured: a page that is made when somebody looks.
//!
//! The measuring side leaves there what it knows at the edges of slots and intervals. A thread of
//! its own makes the page of it, and only while a browser is connected. Between two slots the
//! measuring side waits for it, so that no work of the page falls into what is measured; in the
//! middle of one nobody waits, and the thread gives way to all others.

use analyze::Study;
use record::{Measurements, Record};
use report::{LivePage, LivePart, LiveState, live_now, live_study};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Of this many parts of the time one may go into studies.
const SHARE: u64 = 30;
/// The longest that a slot waits for the page of the one before.
const EDGE: Duration = Duration::from_secs(2);
/// The longest that a browser waits for its first page.
const FIRST: Duration = Duration::from_secs(20);
/// After so long without news a browser that is gone is noticed.
pub(super) const BEAT: Duration = Duration::from_secs(15);

/// Makes the study of records, where there are enough of them; whether all have been measured is the
/// second argument.
pub(crate) type MakeStudy = Box<dyn Fn(&[Record], bool) -> Option<Study> + Send>;

/// What is known, and what was made of it.
pub(crate) struct Board {
    state: Mutex<Known>,
    changed: Condvar,
}

#[derive(Default)]
struct Known {
    title: String,
    now: LiveState,
    study: Option<Arc<Mutex<MakeStudy>>>,
    /// Not yet among those of the page's thread.
    fresh: Vec<Record>,
    /// What is known of a record that is not whole yet.
    partial: Option<Record>,
    counted: Measurements,
    /// Of what is known, and of what was made of it.
    known: u64,
    made: u64,
    page: LivePage,
    /// When each part was made last.
    ages: Vec<u64>,
    /// When the list of parts changed last.
    shape: u64,
    /// Connections that are waiting for news.
    watchers: usize,
    /// What is said at the end.
    end: Option<String>,
    /// How often a page was made.
    makes: u64,
}

/// News for a browser.
pub(super) enum News {
    Whole { title: String, html: String },
    Part(LivePart),
    Beat,
    End(String),
}

impl Board {
    /// A board, with the thread that makes its page.
    ///
    /// # Errors
    /// No thread can be started.
    pub(crate) fn open(title: String) -> std::io::Result<Arc<Self>> {
        let board = Arc::new(Self {
            state: Mutex::new(Known {
                title,
                ..Known::default()
            }),
            changed: Condvar::new(),
        });
        let maker = Arc::clone(&board);
        std::thread::Builder::new()
            .name("page".into())
            .spawn(move || maker.make())?;
        Ok(board)
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(
        &self,
        state: MutexGuard<'a, Known>,
        longest: Duration,
        goes_on: impl FnMut(&mut Known) -> bool,
    ) -> MutexGuard<'a, Known> {
        let waited = self.changed.wait_timeout_while(state, longest, goes_on);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// How the page's study is made.
    pub(crate) fn studied_by(&self, study: MakeStudy) {
        self.lock().study = Some(Arc::new(Mutex::new(study)));
    }

    /// Counts what was done, for the metrics.
    pub(crate) fn count(&self, done: &Measurements) {
        self.lock().counted.merge(done);
    }

    pub(super) fn counted(&self) -> Measurements {
        self.lock().counted.clone()
    }

    /// Records of an earlier beginning.
    pub(crate) fn knows(&self, done: &[Record]) {
        self.lock().fresh.extend(done.iter().cloned());
    }

    /// The edge between two slots: what is known, and the records since the last. Waits until
    /// those who watch have their page.
    pub(crate) fn edge(&self, now: LiveState, fresh: Vec<Record>) {
        let mut state = self.lock();
        state.now = now;
        state.fresh.extend(fresh);
        state.partial = None;
        state.known += 1;
        self.changed.notify_all();
        if state.watchers > 0 {
            let known = state.known;
            drop(self.wait(state, EDGE, |state| state.made < known));
        }
    }

    /// The edge of an interval: what is known, and what of it will be a record. Nobody waits.
    pub(crate) fn interval(&self, now: LiveState, partial: impl FnOnce() -> Option<Record>) {
        let mut state = self.lock();
        state.now = now;
        if state.watchers > 0 {
            state.partial = partial();
        }
        state.known += 1;
        self.changed.notify_all();
    }

    /// Whether a browser looked while it was measured.
    pub(crate) fn was_watched(&self) -> bool {
        self.lock().makes > 0
    }

    /// The last state, and what is said of it; waits until those who watch have it.
    pub(crate) fn end(&self, now: Option<LiveState>, fresh: Vec<Record>, said: String) {
        let mut state = self.lock();
        if state.end.is_some() {
            return;
        }
        state.now = now.unwrap_or_else(|| state.now.clone());
        state.fresh.extend(fresh);
        state.partial = None;
        state.known += 1;
        state.end = Some(said);
        self.changed.notify_all();
        if state.watchers > 0 {
            drop(self.wait(state, 2 * EDGE, |state| state.watchers > 0));
        }
    }

    /// The thread of the page.
    fn make(&self) {
        sys::yield_to_others();
        let (mut records, mut parts): (Vec<Record>, Vec<LivePart>) = (Vec::new(), Vec::new());
        let (mut last_ns, mut cost_ns) = (0_u64, 0_u64);
        let mut is_behind = false;
        loop {
            let state = self.lock();
            let is_idle = |state: &mut Known| state.watchers == 0 || state.made >= state.known;
            let mut state = self.wait(state, Duration::MAX, is_idle);
            let (known, is_over) = (state.known, state.end.is_some());
            let (title, now) = (state.title.clone(), state.now.clone());
            let (study, partial) = (state.study.clone(), state.partial.clone());
            let fresh = std::mem::take(&mut state.fresh);
            drop(state);
            is_behind |= !fresh.is_empty() || partial.is_some();
            let whole = records.len() + fresh.len();
            records.extend(fresh.into_iter().chain(partial));
            let began_ns = sys::monotonic_ns();
            let is_due = began_ns.saturating_sub(last_ns) >= SHARE * cost_ns;
            if let Some(study) = study
                && (is_due && is_behind || is_over)
                && !records.is_empty()
            {
                let study = study.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(found) = study(&records, is_over) {
                    parts = live_study(&found);
                }
                last_ns = sys::monotonic_ns();
                cost_ns = last_ns - began_ns;
                is_behind = false;
            }
            records.truncate(whole);
            let mut page = LivePage {
                parts: live_now(&title, &now),
                title,
            };
            page.parts.extend(parts.iter().cloned());
            self.lock().show(page, known);
            self.changed.notify_all();
        }
    }

    /// The page as it is, made for who asks.
    pub(super) fn page(&self) -> String {
        let mut state = self.lock();
        state.watchers += 1;
        self.changed.notify_all();
        let known = state.known;
        let mut state = self.wait(state, FIRST, |state| state.made < known);
        state.watchers -= 1;
        self.changed.notify_all();
        state.page.html()
    }

    /// News since the last, until there is nobody for whom to wait.
    pub(super) fn watch(&self, mut take: impl FnMut(Vec<News>) -> std::io::Result<()>) {
        self.lock().watchers += 1;
        self.changed.notify_all();
        let mut seen = 0;
        loop {
            let state = self.lock();
            let state = self.wait(state, BEAT, |state| {
                state.made <= seen && !(state.end.is_some() && state.made >= state.known)
            });
            let news = state.since(seen);
            seen = state.made;
            let is_over = matches!(news.last(), Some(News::End(_)));
            drop(state);
            if take(news).is_err() || is_over {
                break;
            }
        }
        self.lock().watchers -= 1;
        self.changed.notify_all();
    }
}

impl Known {
    fn show(&mut self, page: LivePage, known: u64) {
        let ids = |page: &LivePage| {
            page.parts
                .iter()
                .map(|part| part.id.clone())
                .collect::<Vec<_>>()
        };
        if ids(&page) != ids(&self.page) {
            self.shape = known;
            self.ages = vec![known; page.parts.len()];
        } else {
            let parts = page.parts.iter().zip(&self.page.parts);
            for ((new, old), age) in parts.zip(&mut self.ages) {
                if new != old {
                    *age = known;
                }
            }
        }
        self.page = page;
        self.made = known;
        self.makes += 1;
    }

    fn since(&self, seen: u64) -> Vec<News> {
        let mut out = Vec::new();
        if self.made == 0 {
            out.push(News::Beat);
        } else if seen < self.shape || seen == 0 {
            out.push(News::Whole {
                title: self.page.title.clone(),
                html: self.page.inside(),
            });
        } else {
            let parts = self.page.parts.iter().zip(&self.ages);
            let newer = parts.filter(|(_, age)| **age > seen);
            out.extend(newer.map(|(part, _)| News::Part(part.clone())));
        }
        if let Some(said) = self.end.as_ref().filter(|_| self.made >= self.known) {
            out.push(News::End(said.clone()));
        } else if out.is_empty() {
            out.push(News::Beat);
        }
        out
    }
}
