//! Hosts as people name them, on the command line and in files.

use std::collections::BTreeSet;

/// More ranks on one host than anybody means.
const MOST_RANKS: u32 = 65_536;
/// What the system of names allows (RFC 1035); a launcher may fall over more.
const LONGEST_NAME: usize = 253;

/// A host, and how many ranks it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HostRanks {
    pub(super) name: String,
    pub(super) ranks: u32,
}

/// The hosts of a group, each once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HostList(Vec<HostRanks>);

impl HostList {
    /// Reads `a,b:2`.
    ///
    /// # Errors
    /// What is wrong, in words.
    pub(super) fn parse(list: &str) -> Result<Self, String> {
        let hosts = list.split(',').map(|word| host(word.trim(), None));
        Self::of(hosts.collect::<Result<_, _>>()?)
    }

    /// Reads a file of one host a line: `a`, `a:2` or `a slots=2 max_slots=4`, and what follows a `#` is
    /// for people. A host that stands there again has so many more ranks, as in the files that batch
    /// systems write, a line a rank.
    ///
    /// # Errors
    /// What is wrong, in words, with the line.
    pub(super) fn of_file(text: &str) -> Result<Self, String> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut hosts: Vec<HostRanks> = Vec::new();
        for (line, number) in text.lines().zip(1..) {
            let line = line.split('#').next().unwrap_or_default();
            let mut words = line.split_whitespace();
            let Some(name) = words.next() else { continue };
            let read = slots_of(words).and_then(|slots| host(name, slots));
            let read = read.map_err(|why| format!("line {number}: {why}"))?;
            let same = |host: &&mut HostRanks| host.name.eq_ignore_ascii_case(&read.name);
            match hosts.iter_mut().find(same) {
                None => hosts.push(read),
                Some(host) => host.ranks = host.ranks.saturating_add(read.ranks),
            }
        }
        if let Some(host) = hosts.iter().find(|host| host.ranks > MOST_RANKS) {
            return Err(too_many(&host.name, &host.ranks.to_string()));
        }
        if hosts.is_empty() {
            return Err("it names no host; one stands on each line".into());
        }
        Self::of(hosts)
    }

    fn of(hosts: Vec<HostRanks>) -> Result<Self, String> {
        let mut known = BTreeSet::new();
        for host in &hosts {
            if !known.insert(host.name.to_ascii_lowercase()) {
                let name = &host.name;
                return Err(format!(
                    "host {name} stands there twice; {name}:2 is two ranks on it"
                ));
            }
        }
        Ok(Self(hosts))
    }

    pub(super) fn hosts(&self) -> &[HostRanks] {
        &self.0
    }

    pub(super) fn ranks(&self) -> u64 {
        self.0.iter().map(|host| u64::from(host.ranks)).sum()
    }

    /// `a,b`.
    pub(super) fn names(&self) -> String {
        let names: Vec<&str> = self.0.iter().map(|host| host.name.as_str()).collect();
        names.join(",")
    }

    /// `a:1,b:2`.
    pub(super) fn with_ranks(&self) -> String {
        let hosts = self.0.iter();
        let words: Vec<String> = hosts
            .map(|host| format!("{}:{}", host.name, host.ranks))
            .collect();
        words.join(",")
    }
}

/// A host of `name` or `name:ranks`, with what stands behind it in a file.
fn host(word: &str, slots: Option<&str>) -> Result<HostRanks, String> {
    let (name, ranks) = match word.split_once(':') {
        None => (word, None),
        Some((_, rest)) if rest.contains(':') => {
            return Err(format!(
                "{word:?}: what follows a colon is a number of ranks, so an address of IPv6 cannot stand there; give the host a name"
            ));
        }
        Some((name, ranks)) => (name, Some(ranks)),
    };
    check_name(name)?;
    if ranks.is_some() && slots.is_some() {
        return Err(format!(
            "{word:?} has a number of ranks, and slots beside it"
        ));
    }
    let ranks = ranks.or(slots).map_or(Ok(1), |text| {
        let number = text.parse::<u32>().ok();
        let number = number.filter(|ranks| (1..=MOST_RANKS).contains(ranks));
        number.ok_or_else(|| too_many(name, text))
    })?;
    Ok(HostRanks {
        name: name.to_owned(),
        ranks,
    })
}

fn too_many(name: &str, ranks: &str) -> String {
    format!("{name}:{ranks}: a host has from 1 to {MOST_RANKS} ranks")
}

/// The number that stands behind a host in a file. How many ranks Open MPI may start there at the most
/// is a number for more ranks than are asked for, which nobody asks for here; it is none for fewer.
fn slots_of<'l>(words: impl Iterator<Item = &'l str>) -> Result<Option<&'l str>, String> {
    let (mut slots, mut most) = (None, None);
    for word in words {
        match word.split_once('=') {
            Some(("slots", number)) if slots.is_none() => slots = Some(number),
            Some(("max_slots" | "max-slots", number))
                if most.is_none() && number.parse::<u32>().is_ok() =>
            {
                most = number.parse::<u32>().ok();
            }
            Some(_) | None => {
                return Err(format!(
                    "{word:?} is no slots=N, which may follow the name of a host"
                ));
            }
        }
    }
    let asked = slots.map_or(Some(1), |slots| slots.parse().ok());
    if let (Some(asked), Some(most)) = (asked, most)
        && asked > most
    {
        return Err(format!(
            "slots={asked} are more ranks than max_slots={most} allows"
        ));
    }
    Ok(slots)
}

/// A name becomes a word of another program's command line.
fn check_name(name: &str) -> Result<(), String> {
    if name.is_empty() {
        return Err("a host has a name; between two commas there is none".into());
    }
    if name.starts_with('-') {
        return Err(format!("{name:?} is no host: no name begins with a hyphen"));
    }
    if name.len() > LONGEST_NAME {
        return Err(format!(
            "{:?}… is no host: names are of at most {LONGEST_NAME} letters",
            name.chars().take(20).collect::<String>()
        ));
    }
    let is_of_name = |letter: char| letter.is_ascii_alphanumeric() || "._-".contains(letter);
    match name.chars().find(|letter| !is_of_name(*letter)) {
        None => Ok(()),
        Some('@') => Err(format!(
            "{name:?}: the user of a host is ssh's matter; name it in ~/.ssh/config"
        )),
        Some(letter) => Err(format!(
            "{name:?} is no host: names are of letters, digits, dots, hyphens and underscores, not of {letter:?}"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn told(hosts: Result<HostList, String>) -> String {
        hosts.map_or_else(|why| why, |hosts| hosts.with_ranks())
    }

    #[test]
    fn a_list_names_hosts_and_their_ranks() {
        let hosts = HostList::parse("a, b:2,node-3.example_x:10").unwrap();
        assert_eq!(hosts.with_ranks(), "a:1,b:2,node-3.example_x:10");
        assert_eq!(
            (hosts.names().as_str(), hosts.ranks()),
            ("a,b,node-3.example_x", 13)
        );
    }

    #[test]
    fn what_is_no_list_of_hosts_is_refused_with_what_is_wrong() {
        let too_long = "a".repeat(254);
        for (list, wanted) in [
            (too_long.as_str(), "at most 253 letters"),
            ("", "a host has a name"),
            ("a,,b", "a host has a name"),
            ("a,b,A", "host A stands there twice"),
            ("a:0", "from 1 to 65536"),
            ("a:-1", "from 1 to 65536"),
            ("a:x", "from 1 to 65536"),
            ("a:99999999999", "from 1 to 65536"),
            ("-oProxyCommand=x", "begins with a hyphen"),
            ("a;rm", "not of ';'"),
            ("a b", "not of ' '"),
            ("root@a", "~/.ssh/config"),
            ("::1", "give the host a name"),
            ("ä", "not of 'ä'"),
        ] {
            let said = told(HostList::parse(list));
            assert!(said.contains(wanted), "{list:?}: {said}");
        }
    }

    #[test]
    fn a_file_of_hosts_is_read_as_launchers_have_them() {
        let text = "\u{feff}# ours\r\na\r\n\r\nb:2 # the large one\r\nc slots=3\r\n";
        assert_eq!(told(HostList::of_file(text)), "a:1,b:2,c:3");
        let text = "a\nb slots=2 max_slots=8\nA\na max-slots=4 slots=3\n";
        assert_eq!(told(HostList::of_file(text)), "a:5,b:2", "as batch systems");
        for (text, wanted) in [
            ("", "names no host"),
            ("# nothing\n\n", "names no host"),
            ("a\nb:0\n", "line 2: b:0"),
            ("a:2 slots=2\n", "line 1: \"a:2\" has a number"),
            ("a b\n", "line 1: \"b\" is no slots=N"),
            ("a slots=2 max=3\n", "line 1: \"max=3\" is no slots=N"),
            ("a slots=4 max_slots=2\n", "line 1: slots=4 are more ranks"),
            ("a max_slots=0\n", "line 1: slots=1 are more ranks"),
            ("a max_slots=x\n", "line 1: \"max_slots=x\" is no slots=N"),
            ("a slots=2 slots=3\n", "line 1: \"slots=3\" is no slots=N"),
            ("a slots=40000\na slots=40000\n", "a:80000: a host has"),
            ("a,b\n", "not of ','"),
        ] {
            let said = told(HostList::of_file(text));
            assert!(said.contains(wanted), "{text:?}: {said}");
        }
    }

    proptest! {
        #[test]
        fn no_list_becomes_an_option_of_the_launcher(list in ".{0,40}") {
            if let Ok(hosts) = HostList::parse(&list) {
                let is_safe = |host: &HostRanks| {
                    !host.name.starts_with('-')
                        && host.ranks > 0
                        && host.name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
                };
                prop_assert!(hosts.hosts().iter().all(is_safe));
                prop_assert_eq!(HostList::parse(&hosts.with_ranks()), Ok(hosts));
            }
        }
    }
}
