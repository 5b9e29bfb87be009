//! What a server of ours says that it saw.

use record::{Measurements, ServerAccount};
use serde::Deserialize;
use std::collections::BTreeMap;

/// What a server has seen since it started.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct ServerSaw {
    running_ns: u64,
    requests_in_flight: u64,
    operations: Measurements,
    /// What else only grows, by its name.
    counters: BTreeMap<String, u64>,
}

impl ServerSaw {
    /// Reads the page; `None` if it is not of such a server.
    pub(crate) fn parse(page: &[u8]) -> Option<Self> {
        serde_json::from_slice(page).ok()
    }

    /// Whether nothing but the request for the page itself is under way.
    pub(crate) fn is_settled(&self) -> bool {
        self.requests_in_flight <= 1
    }

    /// What was seen since. A server that began anew meanwhile does not say what it had seen until then: its operations
    /// are not known.
    pub(crate) fn since(&self, before: &Self) -> ServerAccount {
        if self.running_ns < before.running_ns {
            let nothing = Self {
                running_ns: 0,
                requests_in_flight: 0,
                operations: Measurements::default(),
                counters: BTreeMap::new(),
            };
            return ServerAccount {
                saw: None,
                ..self.since(&nothing)
            };
        }
        let grown = |(name, now): (&String, &u64)| {
            let before = before.counters.get(name).copied().unwrap_or(0);
            (name.clone(), now.saturating_sub(before) as f64)
        };
        ServerAccount {
            saw: Some(self.operations.since(&before.operations)),
            counters: self
                .counters
                .iter()
                .map(grown)
                .filter(|(_, grown)| *grown > 0.0)
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(running_ns: u64, gets: u64, syncs: u64, flying: u64) -> ServerSaw {
        let page = format!(
            r#"{{"target":"s3","running_ns":{running_ns},"requests_in_flight":{flying},
            "operations":{{"get":{{"count":{gets},"bytes":{gets},"errors":0,"latency":
            {{"unit":"ns","layout":"log-linear/7","count":{gets},"sum":{gets},"min":1,"max":1,"buckets":[[1,{gets}]]}}}}}},
            "counters":{{"fathom_s3_storage_syncs_total":{syncs},"x_total":7}}}}"#
        );
        ServerSaw::parse(page.as_bytes()).unwrap()
    }

    fn grown(now: &ServerSaw, before: &ServerSaw) -> (u64, Vec<f64>) {
        let account = now.since(before);
        let saw = account.saw.unwrap();
        assert_eq!(saw.kind("get").unwrap().latency.count(), saw.count());
        (saw.count(), account.counters.into_values().collect())
    }

    #[test]
    fn what_was_seen_grows_by_its_kind_and_of_a_server_that_began_anew_is_not_known() {
        let (before, after) = (page(10, 3, 1, 1), page(20, 10, 5, 2));
        assert_eq!((before.is_settled(), after.is_settled()), (true, false));
        assert_eq!(grown(&after, &before), (7, vec![4.0]));
        let anew = page(9, 10, 5, 1).since(&before);
        assert_eq!(anew.saw, None);
        let counters: Vec<f64> = anew.counters.into_values().collect();
        assert_eq!(counters, [5.0, 7.0]);
    }

    #[test]
    fn another_servers_page_is_none() {
        for page in [
            "",
            "<Error><Code>NoSuchKey</Code></Error>",
            "go_threads 7\nhttp_requests_total 8\n",
            "{}",
        ] {
            assert_eq!(ServerSaw::parse(page.as_bytes()), None);
        }
    }
}
