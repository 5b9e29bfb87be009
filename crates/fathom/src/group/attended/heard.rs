//! What ranks say to this process, taken out of what they and their launcher say to people.

use super::repeats::Mistakes;
use crate::exit::{self, FrontWord};
use crate::group::muster::Muster;
use crate::group::printed::HandedOn;
use crate::tell::say;
use std::io::{self, BufRead as _, BufReader, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering::Relaxed};

/// What MPICH's launcher says of itself when it is interrupted, it writes among what ranks print: before a line, or
/// where it had handed on a part of one.
const OF_HYDRA: &[u8] = b"[mpiexec@";
const WITHIN_A_LINE: [&[u8]; 2] = [
    b"] Sending Ctrl-C to processes as requested\n",
    b"] Press Ctrl-C again to force abort\n",
];
/// What it says of a rank that was killed stands below such a line, up to this one.
const OF_AN_END: &[u8] = b"=====================================================";
const LINES_OF_AN_END: u8 = 16;
const LAST_OF_AN_END: &[u8] = b"Please see the FAQ page";
/// Of a line that is longer nobody waits for the end.
const MOST_OF_A_LINE: u64 = 1 << 20;

/// What ranks say to this process.
#[derive(Clone)]
pub(super) struct RankWords {
    /// How all ended, the worst of it.
    pub(super) said: Arc<AtomicI32>,
    /// The first knows which signal this process had.
    pub(super) has_heard: Arc<AtomicBool>,
    /// They work although a signal has asked for the end, as the first has said since this was looked at.
    pub(super) is_work: Arc<AtomicBool>,
    /// The first is there, as it has said since this was looked at.
    pub(super) is_alive: Arc<AtomicBool>,
    /// How much it has said that it prints.
    pub(super) prints: Arc<AtomicU64>,
    pub(super) muster: Arc<Muster>,
}

impl RankWords {
    pub(super) fn new(muster: &Arc<Muster>) -> Self {
        Self {
            said: Arc::new(AtomicI32::new(exit::NOTHING_SAID)),
            has_heard: Arc::default(),
            is_work: Arc::default(),
            is_alive: Arc::default(),
            prints: Arc::default(),
            muster: Arc::clone(muster),
        }
    }
}

/// Reads what a launcher says, hears what of it is for this process alone, and gives the rest.
pub(super) struct Heard<R> {
    from: BufReader<R>,
    word: FrontWord,
    of_ranks: RankWords,
    /// Where people are told mistakes, each once; elsewhere is the result.
    mistakes: Option<Mistakes>,
    /// What is for people, and how much of it was given.
    line: Vec<u8>,
    given: usize,
    /// So many lines may still be what MPICH's launcher says of how a rank has ended.
    of_an_end: u8,
}

impl<R: Read> Heard<R> {
    pub(super) fn new(from: R, word: &FrontWord, of_ranks: RankWords) -> Self {
        Self {
            from: BufReader::new(from),
            word: word.clone(),
            of_ranks,
            mistakes: None,
            line: Vec::new(),
            given: 0,
            of_an_end: 0,
        }
    }

    /// Whether there was another line; of it may be nothing for people.
    fn next_line(&mut self) -> io::Result<bool> {
        (self.given, self.line) = (0, Vec::new());
        let from = &mut self.from;
        if from
            .take(MOST_OF_A_LINE)
            .read_until(b'\n', &mut self.line)?
            == 0
        {
            return Ok(false);
        }
        let news = self.word.hear(&String::from_utf8_lossy(&self.line));
        let is_result = self.mistakes.is_none();
        let is_new = |text: &&str| self.mistakes.as_mut().is_none_or(|of| of.is_new(text));
        if is_result && !news.is_none() {
            // In a result a word stands anywhere, with the end of its own line: all else is the result's.
            let own_end = news.rest.strip_suffix('\n').unwrap_or(&news.rest);
            self.line = own_end.as_bytes().to_vec();
        } else {
            match news.for_people().filter(is_new) {
                None => self.line.clear(),
                Some(text) if !news.is_none() => self.line = text.as_bytes().to_vec(),
                Some(_) => {}
            }
        }
        if is_result {
            self.leave_out_the_launcher_s();
        }
        let of_ranks = &self.of_ranks;
        let code = news.code.unwrap_or(exit::NOTHING_SAID);
        of_ranks.said.fetch_max(code, Relaxed);
        of_ranks.has_heard.fetch_or(news.has_heard, Relaxed);
        of_ranks.is_work.fetch_or(news.is_work, Relaxed);
        let is_alive = news.is_alive || news.is_work;
        of_ranks.is_alive.fetch_or(is_alive, Relaxed);
        of_ranks.prints.fetch_add(news.prints.unwrap_or(0), Relaxed);
        of_ranks.muster.add(news.begun);
        Ok(true)
    }
}

impl<R> Heard<R> {
    /// Says to people what of a line is the launcher's own, and keeps the rest.
    fn leave_out_the_launcher_s(&mut self) {
        if self.line.starts_with(OF_AN_END)
            && self.line.trim_ascii_end().iter().all(|of| *of == b'=')
        {
            self.of_an_end = self.of_an_end.max(LINES_OF_AN_END);
        }
        let at = match self.of_an_end > 0 || self.line.starts_with(OF_HYDRA) {
            true => Some(0),
            false if WITHIN_A_LINE.iter().any(|end| self.line.ends_with(end)) => {
                let mut places = self.line.windows(OF_HYDRA.len());
                places.rposition(|place| place == OF_HYDRA)
            }
            false => None,
        };
        self.of_an_end = match self.line.starts_with(LAST_OF_AN_END) {
            true => 0,
            false => self.of_an_end.saturating_sub(1),
        };
        if let Some(at) = at {
            say(String::from_utf8_lossy(&self.line.split_off(at)).trim_end());
        }
    }
}

impl<R: Read> Read for Heard<R> {
    /// As many lines as are there.
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        loop {
            let rest = &self.line[self.given..];
            let room = &mut out[filled..];
            let some = rest.len().min(room.len());
            room[..some].copy_from_slice(&rest[..some]);
            (self.given, filled) = (self.given + some, filled + some);
            let is_there = self.from.buffer().contains(&b'\n');
            if filled == out.len() || filled > 0 && !is_there || !self.next_line()? {
                return Ok(filled);
            }
        }
    }
}

/// Hands on what is said but for the words that are for this process alone, each mistake once.
pub(super) fn passed_on(
    from: impl Read + Send + 'static,
    to: impl Write + Send + 'static,
    word: &FrontWord,
    of_ranks: RankWords,
) -> HandedOn {
    let heard = Heard {
        mistakes: Some(Mistakes::default()),
        ..Heard::new(from, word, of_ranks)
    };
    HandedOn::begin(heard, Unfailing(to))
}

/// Where a line cannot be written the next may be: nobody reads a closed terminal, and one that is busy is
/// read again.
struct Unfailing<W>(W);

impl<W: Write> Write for Unfailing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let _the_rest_is_left_out = self.0.write_all(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group::launcher::Dialect;
    use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
    use std::time::Duration;

    const S: u64 = 1_000_000_000;
    const SOON: Duration = Duration::from_secs(10);

    fn of_ranks() -> RankWords {
        RankWords::new(&Arc::new(Muster::new(1, S, Dialect::Hydra)))
    }

    #[test]
    fn what_is_printed_is_handed_on_byte_for_byte_but_for_words_to_the_front() {
        let word = FrontWord::draw();
        let mut printed = b"{\n  \"a\": \"\xff\"\n}\nerror: x\nerror: x\n".repeat(5000);
        printed.extend(vec![b'y'; 3 << 20]);
        printed.extend(b"\nlast, without an end");
        let mut with_words = printed.clone();
        // A script has led it into lines: behind a name, and between a line and where it was to stand.
        for at in [8, 4] {
            let inside = format!("{}\n", word.alive_line(7));
            with_words.splice(at..at, inside.into_bytes());
        }
        for at in [4, 2] {
            let said = b"[mpiexec@h] Press Ctrl-C again to force abort\n";
            with_words.splice(at..at, said.to_vec());
        }
        let banner = format!(
            "{0}\n=   BAD\n\n{0}\nPlease see the FAQ page for\n",
            "=".repeat(83)
        );
        with_words.splice(2..2, banner.into_bytes());
        for at in [2, 0] {
            let line = format!("{}\n", word.end_line(3));
            with_words.splice(at..at, line.into_bytes());
        }
        let heard = of_ranks();
        let mut people = Vec::new();
        let mut reads = Heard::new(io::Cursor::new(with_words), &word, heard.clone());
        reads.read_to_end(&mut people).unwrap();
        assert!(people == printed, "{}", people.len());
        assert_eq!(heard.said.load(Relaxed), 3);
    }

    #[test]
    fn what_ranks_say_to_the_front_is_kept_from_people_and_the_worst_counts() {
        let word = FrontWord::draw();
        let mistake = "error: no --x\n\n  tip: --y\n";
        let lines = [word.end_line(0), word.end_line(5), word.signal_line(2)];
        let lines = [lines.join("\n"), word.work_line(1)].join("\n");
        let lines = format!("{mistake}{}\n{mistake}{lines}", word.end_line(2));
        let of_ranks = of_ranks();
        let heard = of_ranks.clone();
        let (mut told, to) = io::pipe().unwrap();
        let said = passed_on(io::Cursor::new(lines), to, &word, of_ranks);
        assert!(said.end(SOON, 0).is_none());
        let mut people = String::new();
        told.read_to_string(&mut people).unwrap();
        assert_eq!(people, mistake);
        assert_eq!(heard.said.load(Relaxed), 5);
        assert!(heard.has_heard.load(Relaxed) && heard.is_work.load(Relaxed));
    }

    /// Says that there is something to write, and writes it once the others have gone.
    struct Waiting(Sender<()>, Receiver<()>, io::PipeWriter);

    impl Write for Waiting {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let _it_is_asked_once = self.0.send(());
            let _nobody_reads_until_it_ends = self.1.recv();
            self.2.write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn the_end_of_ranks_is_heard_where_people_are_slow_to_read_what_was_said_before() {
        let word = FrontWord::draw();
        let lines = format!("one\ntwo\n{}\nthree\n", word.end_line(0));
        let of_ranks = of_ranks();
        let heard = of_ranks.clone();
        let (mut told, to) = io::pipe().unwrap();
        let ((writes, is_writing), (held, is_held)) = (channel(), channel());
        let to = Waiting(writes, is_held, to);
        let people = passed_on(io::Cursor::new(lines), to, &word, of_ranks);
        people.wait_for_last(SOON);
        assert_eq!(heard.said.load(Relaxed), 0);
        // They are waited for at the end.
        is_writing.recv().unwrap();
        let (over, is_over) = channel();
        std::thread::spawn(move || over.send(people.end(Duration::from_millis(1), 0).is_none()));
        let is_over_yet = is_over.recv_timeout(Duration::from_millis(50));
        assert_eq!(is_over_yet, Err(RecvTimeoutError::Timeout));
        drop::<Sender<()>>(held);
        assert!(is_over.recv().unwrap());
        let mut people = String::new();
        told.read_to_string(&mut people).unwrap();
        assert_eq!(people, "one\ntwo\nthree\n");
    }
}
