//! What a server of ours says that it has done, in the text format of Prometheus.

use std::collections::BTreeMap;

/// A server's counters at one moment.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ServerCounters {
    /// Those that only grow, by name and labels.
    totals: BTreeMap<String, f64>,
    in_flight: f64,
}

const IN_FLIGHT: &str = "fathom_s3_requests_in_flight";

impl ServerCounters {
    /// Reads a page; `None` if it is not of such a server.
    pub(crate) fn parse(page: &str) -> Option<Self> {
        let lines = page.lines().filter(|line| !line.starts_with('#'));
        let values = lines.filter_map(|line| {
            line.rsplit_once(' ')
                .and_then(|(name, value)| Some((name, value.parse::<f64>().ok()?)))
        });
        let (mut totals, mut in_flight) = (BTreeMap::new(), None);
        for (name, value) in values {
            match name {
                IN_FLIGHT => in_flight = Some(value),
                name if name
                    .split('{')
                    .next()
                    .is_some_and(|name| name.ends_with("_total")) =>
                {
                    totals.insert(name.to_owned(), value);
                }
                _ => {}
            }
        }
        Some(Self {
            totals,
            in_flight: in_flight?,
        })
    }

    /// Whether nothing but the request for the counters themselves is under way.
    pub(crate) fn is_settled(&self) -> bool {
        self.in_flight <= 1.0
    }

    /// What was counted since; a counter that went back is that of a server that began anew, and
    /// counts whole.
    pub(crate) fn since(&self, before: &Self) -> BTreeMap<String, f64> {
        let grown = |(name, now): (&String, &f64)| {
            let before = before.totals.get(name).copied().unwrap_or(0.0);
            (
                name.clone(),
                if *now >= before { now - before } else { *now },
            )
        };
        self.totals
            .iter()
            .map(grown)
            .filter(|(_, grown)| *grown > 0.0)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_grow_by_their_labels() {
        let page = |gets: u32, flying: u32| {
            format!(
                "# TYPE a counter\nfathom_s3_requests_total{{operation=\"GetObject\",status=\"200\"}} {gets}\nx_total 7\ny_sum 9\n{IN_FLIGHT} {flying}\n"
            )
        };
        let (before, after) = (
            ServerCounters::parse(&page(3, 1)).unwrap(),
            ServerCounters::parse(&page(10, 2)).unwrap(),
        );
        assert_eq!((before.is_settled(), after.is_settled()), (true, false));
        let grown = after.since(&before);
        assert_eq!(
            grown.into_iter().collect::<Vec<_>>(),
            [(
                "fathom_s3_requests_total{operation=\"GetObject\",status=\"200\"}".to_owned(),
                7.0
            )]
        );
        // It was started again: 3 since then, and the other counter is where it was.
        assert_eq!(
            before.since(&after).into_values().collect::<Vec<_>>(),
            [3.0]
        );
    }

    #[test]
    fn another_servers_page_is_none() {
        for page in [
            "",
            "<Error><Code>NoSuchKey</Code></Error>",
            "go_threads 7\nhttp_requests_total 8\n",
        ] {
            assert_eq!(ServerCounters::parse(page), None);
        }
    }
}
