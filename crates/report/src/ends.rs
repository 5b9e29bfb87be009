//! Of many hosts both ends and the middle, where there is no room for all.

/// So many hosts or machines are told one by one.
pub(crate) const MOST_TOLD: usize = 16;
/// Of more hosts so many of the slowest, and so many of the fastest.
const OF_EACH_END: usize = 4;

/// Where one of many hosts stands among the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HostStanding {
    Slowest,
    Median,
    Fastest,
}

impl HostStanding {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Slowest => "slowest",
            Self::Median => "median",
            Self::Fastest => "fastest",
        }
    }
}

/// The slowest, the median and the fastest by this rate, in that order.
pub(crate) fn both_ends<T>(mut hosts: Vec<T>, rate: impl Fn(&T) -> f64) -> Vec<(HostStanding, T)> {
    hosts.sort_by(|a, b| rate(a).total_cmp(&rate(b)));
    let middle = hosts.len().saturating_sub(1) / 2;
    let fastest = hosts.len().saturating_sub(OF_EACH_END);
    let standing = |place: usize| match place {
        _ if place < OF_EACH_END => Some(HostStanding::Slowest),
        _ if place == middle => Some(HostStanding::Median),
        _ if place >= fastest => Some(HostStanding::Fastest),
        _ => None,
    };
    let placed = hosts.into_iter().enumerate();
    placed
        .filter_map(|(place, host)| Some((standing(place)?, host)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_and_the_middle_are_told_in_order_and_none_of_few_is_lost() {
        let told = |count: u32| {
            let told = both_ends((0..count).rev().collect(), |host| f64::from(*host));
            let words = told.iter().map(|(standing, _)| standing.word());
            let hosts: Vec<u32> = told.iter().map(|(_, host)| *host).collect();
            (hosts, words.collect::<Vec<_>>().join(" "))
        };
        let (hosts, words) = told(17);
        assert_eq!(hosts, [0, 1, 2, 3, 8, 13, 14, 15, 16]);
        assert!(words.starts_with("slowest ") && words.contains(" slowest median fastest "));
        assert_eq!(told(9).0.len(), 9);
        assert_eq!(told(3).0, [0, 1, 2]);
        assert_eq!(told(0).0, [0; 0]);
    }
}
