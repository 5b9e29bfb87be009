//! The rows of a profile on ranks: the root has the profile, makes the file and writes the results, and
//! every row is measured by all of them.

use super::results::Results;
use super::{Wanted, concluded, request};
use crate::exit::Usage;
use crate::group::{self, GroupAsked, GroupCourse, GroupWork, KeptByRoot, Launch, RootWork};
use crate::live::Live;
use anyhow::Result;
use clap::ArgMatches;
use conduct::Generator;
use conduct::profile::ProfileRequest;
use host::Context;
use record::TargetReach;
use std::collections::BTreeSet;
use units::counted;
use workload::{Phase, Stage, Workload};

/// A profile of ranks, of which only the root has more than its command line.
struct ProfileTogether {
    request: ProfileRequest,
    results: Results,
}

/// Runs it on all ranks that a launcher started.
pub(super) fn run(matches: &ArgMatches, launch: &Launch) -> Result<i32> {
    let request = request(matches)?;
    let results = if launch.is_root() {
        Results::new(matches, std::slice::from_ref(&request.path))?
    } else {
        Results::default()
    };
    // Ranks agree about the directory in which the file will lie, or about the file.
    let workload = Workload {
        targets: vec![request.path.clone()],
        ..Workload::default()
    };
    let phase = Phase {
        name: "profile".into(),
        workload,
    };
    let asked = GroupAsked {
        works: vec![GroupWork::Stage(Stage(vec![phase]))],
        output: Box::new(KeptByRoot),
        course: Some(GroupCourse::Rows(Box::new(ProfileTogether {
            request,
            results,
        }))),
        search: None,
        job: None,
        thresholds: Ok(Vec::new()),
    };
    group::run(matches, launch, asked)
}

impl RootWork for ProfileTogether {
    fn check_reach(&self, reach: Option<TargetReach>) -> Result<()> {
        if reach == Some(TargetReach::Shared) {
            return Ok(());
        }
        Err(Usage(format!(
            "{} is another one on each host, and the rows of a profile are measured on one that all of them see: give such a directory, or profile each host by itself and compare",
            self.request.path.display()
        ))
        .into())
    }

    fn run(
        self: Box<Self>,
        matches: &ArgMatches,
        hosts: &[String],
        generator: &mut dyn Generator,
        context: &Context,
        live: &Live,
    ) -> Result<i32> {
        let different: BTreeSet<&String> = hosts.iter().collect();
        let note = format!(
            "every row is measured by {} on {} at once; rates are of all of them, and each waits until what it wrote is on the device",
            counted(hosts.len(), "rank"),
            counted(different.len(), "host"),
        );
        let wanted = Wanted {
            request: &self.request,
            results: &self.results,
            notes: vec![note],
        };
        concluded(matches, wanted, generator, context, live)
    }
}
