//! Loads of several hosts as one.

use super::accounts::{add_to, both};
use crate::{EndpointAccount, LoadAccount, RequestPhases, SigningCost};
use std::mem::take;

impl LoadAccount {
    /// Takes away what is of all hosts alone: what is long, or the same on each.
    pub(super) fn set_aside(&mut self) -> Self {
        Self {
            scenario: take(&mut self.scenario),
            users: take(&mut self.users),
            phases: take(&mut self.phases),
            iterations: take(&mut self.iterations),
            setup: take(&mut self.setup),
            teardown: take(&mut self.teardown),
            ..Self::default()
        }
    }

    /// Gives it back.
    pub(super) fn with(self, aside: Self) -> Self {
        Self {
            scenario: aside.scenario,
            users: aside.users,
            phases: aside.phases,
            iterations: aside.iterations,
            setup: aside.setup,
            teardown: aside.teardown,
            ..self
        }
    }

    /// Adds the load of other hosts. Users are added with the series; what the server says of itself
    /// and a search are made from the hosts, and thresholds are judged again.
    pub(super) fn merge(&mut self, other: Self) {
        for (kind, phases) in other.phases {
            self.phases.entry(kind).or_default().merge(&phases);
        }
        self.iterations.merge(&other.iterations);
        for endpoint in other.endpoints {
            let mut mine = self.endpoints.iter_mut();
            match mine.find(|mine| mine.address == endpoint.address) {
                Some(mine) => mine.merge(&endpoint),
                None => self.endpoints.push(endpoint),
            }
        }
        self.endpoints.sort_by(|a, b| a.address.cmp(&b.address));
        both(&mut self.lateness, other.lateness, |a, b| a.merge(&b));
        both(&mut self.unsent_age, other.unsent_age, |a, b| a.merge(&b));
        self.signing.merge(other.signing);
        self.setup.merge(&other.setup);
        self.teardown.merge(&other.teardown);
        add_to(&mut self.skipped, other.skipped);
        add_to(&mut self.retries, other.retries);
        add_to(&mut self.connections_opened, other.connections_opened);
        add_to(&mut self.connections_failed, other.connections_failed);
        add_to(&mut self.queued, other.queued);
        add_to(&mut self.left_behind, other.left_behind);
        add_to(&mut self.uploads_left_behind, other.uploads_left_behind);
    }
}

impl RequestPhases {
    /// Adds the times of other requests.
    pub fn merge(&mut self, other: &Self) {
        self.connecting.merge(&other.connecting);
        self.sending.merge(&other.sending);
        self.waiting.merge(&other.waiting);
        self.receiving.merge(&other.receiving);
    }
}

impl EndpointAccount {
    /// Adds what else went to the same server.
    pub fn merge(&mut self, other: &Self) {
        add_to(&mut self.operations, other.operations);
        add_to(&mut self.errors, other.errors);
        add_to(&mut self.connections_opened, other.connections_opened);
        add_to(&mut self.connections_failed, other.connections_failed);
    }
}

impl SigningCost {
    fn merge(&mut self, other: Self) {
        add_to(&mut self.requests, other.requests);
        add_to(&mut self.total_ns, other.total_ns);
    }
}
