//! The lines by which ranks and the process that started their launcher speak with each other, through all that a
//! launcher makes of them.

/// What begins the lines that a rank says to the process that started its launcher: that it is there,
/// how all ended, that it was told a signal, as it was told, that ranks work after one, that it lives, and how much
/// it prints.
const BEGUN: &str = "fathom-rank-begun=";
const END: &str = "fathom-ranks-ended=";
const SIGNAL: &str = "fathom-front-signal=";
const WORK: &str = "fathom-ranks-work=";
const ALIVE: &str = "fathom-ranks-live=";
const PRINTS: &str = "fathom-ranks-print=";
const MARKS: [&str; 6] = [BEGUN, END, SIGNAL, WORK, ALIVE, PRINTS];

/// Drawn anew by a process that starts a launcher and told to its ranks alone: what they say of the
/// end is theirs by it, and neither another run's nor a text that somebody keeps. It is no secret
/// from the launcher, which could as well start another program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FrontWord(pub(crate) String);

impl FrontWord {
    pub(crate) fn draw() -> Self {
        Self(format!("{:032x}", sys::random_bits()))
    }

    /// The line by which a rank says how all ended.
    pub(crate) fn end_line(&self, code: i32) -> String {
        format!("{END}{code}.{}", self.proof(code))
    }

    /// The line by which a rank says that it has begun, and where.
    pub(super) fn begun_line(&self, host: &str) -> String {
        format!("{BEGUN}{host}.{}", self.proof(host))
    }

    /// The line by which a rank is told which signal the process that started its launcher had.
    pub(crate) fn signal_line(&self, signal: i32) -> String {
        format!("{SIGNAL}{signal}.{}", self.proof(signal))
    }

    /// The line by which the first rank says, for so many times, that ranks work although a signal has
    /// asked for the end.
    pub(crate) fn work_line(&self, time: u64) -> String {
        format!("{WORK}{time}.{}", self.proof(time))
    }

    /// The line by which the first rank says, for so many times, that it lives.
    pub(crate) fn alive_line(&self, time: u64) -> String {
        format!("{ALIVE}{time}.{}", self.proof(time))
    }

    /// The line by which the first rank says that it prints so many bytes now.
    pub(super) fn prints_line(&self, bytes: usize) -> String {
        format!("{PRINTS}{bytes}.{}", self.proof(bytes))
    }

    /// Which signal such a line names.
    pub(super) fn signal_of(&self, line: &str) -> Option<i32> {
        let (of, _) = self.proven(line.strip_prefix(SIGNAL)?)?;
        of.parse().ok().filter(|signal| (1..=64).contains(signal))
    }

    /// What only they can say to whom the word was told; the line that was shown or repeated is not
    /// enough.
    fn proof(&self, of: impl std::fmt::Display) -> String {
        record::hash_of(format!("{} {of}", self.0).as_bytes())
    }

    /// What a line says: launchers may put words before it and the lines of several ranks on one, and
    /// what people are told beside words for this process stays theirs.
    pub(crate) fn hear(&self, line: &str) -> FrontNews {
        let mut news = FrontNews::default();
        let mut is_whole = true;
        let mut left = line;
        let next = |left: &str| {
            MARKS
                .iter()
                .filter_map(|mark| Some((left.find(mark)?, *mark)))
                .min()
        };
        while let Some((at, mark)) = next(left) {
            news.rest.push_str(&left[..at]);
            left = &left[at + mark.len()..];
            match self.proven(left) {
                Some((of, after)) => {
                    left = after;
                    news.add(mark, of);
                }
                None => {
                    is_whole &= mark != END;
                    news.rest.push_str(mark);
                }
            }
        }
        news.rest.push_str(left);
        // The worse code may be the one that is broken.
        news.code = news.code.filter(|_| is_whole);
        news
    }

    /// What these words begin with that is followed by its proof, and what comes after.
    fn proven<'a>(&self, words: &'a str) -> Option<(&'a str, &'a str)> {
        let ends = words.match_indices('.').map(|(at, _)| at);
        let mut ends = ends.take_while(|at| *at <= MOST_OF_A_NAME);
        ends.find_map(|at| {
            let of = &words[..at];
            let after = words[at + 1..].strip_prefix(&self.proof(of))?;
            Some((of, after))
        })
    }
}

/// What a line of ranks said to this process, and what else it said.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct FrontNews {
    /// The hosts of ranks that have begun.
    pub(crate) begun: Vec<String>,
    /// How all ended, the worst of it.
    pub(crate) code: Option<i32>,
    /// The first rank knows which signal this process had.
    pub(crate) has_heard: bool,
    /// Ranks work although a signal has asked for the end.
    pub(crate) is_work: bool,
    /// The first of them lives.
    pub(crate) is_alive: bool,
    /// How many bytes it prints from now on.
    pub(crate) prints: Option<u64>,
    /// What is for people.
    pub(crate) rest: String,
}

impl FrontNews {
    /// Adds what stands behind a mark.
    fn add(&mut self, mark: &str, of: &str) {
        match mark {
            END => self.ended(of),
            SIGNAL => self.has_heard = true,
            WORK => self.is_work = true,
            ALIVE => self.is_alive = true,
            PRINTS => self.prints = of.parse().ok(),
            _ => self.begun.push(of.to_owned()),
        }
    }

    fn ended(&mut self, code: &str) {
        let code = code
            .parse()
            .ok()
            .filter(|code| (0..=255).contains::<i32>(code));
        self.code = self.code.max(code);
    }

    /// Whether nothing in the line was for this process.
    pub(crate) fn is_none(&self) -> bool {
        let is_sign = self.has_heard || self.is_work || self.is_alive || self.prints.is_some();
        self.code.is_none() && self.begun.is_empty() && !is_sign
    }

    /// What is for people, where it is more than the name that a launcher puts before a rank's words.
    pub(crate) fn for_people(&self) -> Option<&str> {
        let text = self.rest.trim();
        let is_name = !text.contains(' ') && text.ends_with([':', ']', '>']);
        let is_nothing = !self.is_none() && (text.is_empty() || is_name);
        (!is_nothing).then_some(self.rest.as_str())
    }
}

/// The longest name of a host, with room.
const MOST_OF_A_NAME: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_word_of_ranks_is_told_from_other_words() {
        let word = FrontWord("a word".into());
        for code in [0, 5, 130] {
            assert_eq!(
                word.hear(&format!("[1,0]<stderr>: {}\n", word.end_line(code)))
                    .code,
                Some(code)
            );
        }
        let joined = [word.end_line(5), word.end_line(0)].concat();
        assert_eq!(word.hear(&joined).code, Some(5));
        let (of_another, of_failure) = (FrontWord("b".into()).end_line(0), word.end_line(5));
        let turned = of_failure.replace("=5", "=0");
        let half = [word.end_line(0).as_str(), "fathom-ranks-ended=0"].concat();
        for line in [
            "",
            "error: x",
            "fathom-ranks-ended=",
            "fathom-ranks-ended=0",
            "fathom-ranks-ended=0.a word",
            "fathom-ranks-ended=-7",
            "fathom-ranks-ended=5 x",
            &of_another,
            &turned,
            &half,
        ] {
            assert_eq!(word.hear(line).code, None, "{line}");
            if *line != half {
                assert_eq!(word.hear(line).for_people(), Some(line), "people see it");
            }
        }
    }

    #[test]
    fn words_for_people_are_told_where_a_rank_s_own_words_came_between() {
        let word = FrontWord("a word".into());
        let begun = word.begun_line("a.b.c");
        let end = word.end_line(2);
        let is_told = |line: &str| {
            let news = word.hear(line);
            (
                news.begun.len(),
                news.code,
                news.for_people().map(str::to_owned),
            )
        };
        let told = |text: &str| Some(text.to_owned());
        assert_eq!(is_told(&format!("{begun}\n")), (1, None, None));
        assert_eq!(
            is_told(&format!("[1,0]<stderr>: {end}\n")),
            (0, Some(2), None)
        );
        assert_eq!(is_told("\n"), (0, None, told("\n")));
        assert_eq!(
            is_told(&format!(
                "error: one of 1{begun}error: one of 2{end}{begun}\n"
            )),
            (2, Some(2), told("error: one of 1error: one of 2\n"))
        );
        assert_eq!(word.hear(&begun).begun, ["a.b.c"]);
    }

    #[test]
    fn a_signal_is_told_to_ranks_and_back_by_who_knows_the_word_alone() {
        let word = FrontWord("a word".into());
        let line = word.signal_line(2);
        assert_eq!(word.signal_of(&line), Some(2));
        let news = word.hear(&format!("[1,0]<stderr>:{line}\n"));
        assert!(news.has_heard && !news.is_none() && news.for_people().is_none());
        for other in [
            "",
            "2",
            &FrontWord("b".into()).signal_line(2),
            &word.signal_line(0),
            &word.end_line(2),
        ] {
            assert_eq!(word.signal_of(other), None, "{other}");
        }
        let turned = line.replace("=2", "=1");
        assert!(!word.hear(&turned).has_heard);
        let news = word.hear(&format!("[1,0]<stderr>:{}\n", word.work_line(7)));
        assert!(news.is_work && !news.is_none() && news.for_people().is_none());
    }
}
