//! What people are told of a launcher that did not do what it was started for.

use super::LaunchFront;
use crate::group::launcher::{quoted, without_address};
use crate::group::muster::Muster;
use std::process::ExitStatus;

impl LaunchFront {
    /// What a launcher's end says that is none of ours.
    pub(super) fn failure(&self, status: ExitStatus, muster: &Muster) -> String {
        if muster.is_complete() {
            return format!(
                "{} ended with {status} after all of its ranks had begun, and none said how the run ended: a rank was killed, or its host was lost; what the launcher said above names it. With --records the first host has kept what all had measured up to ten seconds before (--save-every), or that a load had begun to make what it needs; it has no line where ranks had not come so far",
                self.launcher.program.display(),
            );
        }
        let unknown = without_address(&self.hosts);
        let unknown = match unknown.is_empty() {
            true => String::new(),
            false => format!(" This machine knows no address of {}.", unknown.join(", ")),
        };
        format!(
            "{} ended with {status}, and no rank said how the run ended: a host was not reached, a rank was killed, or {} is not there.{unknown} {}",
            self.launcher.program.display(),
            self.program.display(),
            self.way_in(),
        )
    }

    /// What ranks need to begin.
    pub(super) fn way_in(&self) -> String {
        let names = self.hosts.names().replace(',', ", ");
        format!(
            "Each of {names} must let `ssh HOST {} --version` in without a question. The line was: {}",
            self.program.display(),
            quoted(&self.line),
        )
    }
}
