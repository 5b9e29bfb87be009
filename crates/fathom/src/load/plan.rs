//! `--dry-run` of a load: what would be done, and nothing is.

use super::{knee, options};
use crate::dry_run;
use anyhow::Result;
use clap::ArgMatches;
use object::{LoadPlan, Scenario};
use units::{Nanos, counted};

/// What a reader wants to see of every load: what users do, how many there are, and what must be
/// there before.
const ALWAYS: [&str; 3] = ["mix", "stages", "seeds"];

/// Says it; the exit code.
pub(super) fn show(
    matches: &ArgMatches,
    plan: &LoadPlan,
    usual: &LoadPlan,
    search: Option<&knee::Search>,
    results: &[String],
) -> Result<i32> {
    let asked = options::shown_as_asked(matches);
    let effective = plan.effective();
    let is_asked = |key: &str| asked.contains_key(key) || ALWAYS.contains(&key);
    let not_shown = |key: &str| ["scenario", "target"].contains(&key);
    let name = &plan.scenario.name;
    let about = Scenario::presets().find(|(known, _)| known == name);
    let mut lines = vec![format!("{name}: {}", plan.target.text())];
    lines.extend(about.map(|(_, about)| format!("  {about}")));
    lines.extend(dry_run::settings(
        &usual.effective(),
        is_asked,
        effective
            .clone()
            .into_iter()
            .filter(|(key, _)| !not_shown(key)),
    ));
    // What has no value in the load itself, such as the length of a step of a search.
    let beside = asked
        .iter()
        .filter(|(key, _)| !effective.contains_key(*key) && !not_shown(key))
        .map(|(key, text)| format!("  {key} = {text}"));
    lines.extend(beside);
    lines.push("  all other options as the scenario has them, or as usual".to_owned());
    lines.push(format!("  {}", writes(plan)));
    lines.push(ends(plan, search));
    dry_run::show(lines, results)
}

/// What would be made at the target, and what of it stays.
fn writes(plan: &LoadPlan) -> String {
    if !plan.target.is_s3() && !plan.target.is_share() {
        return "nothing is made before; what requests leave at the target stays there".to_owned();
    }
    let before = match plan.effective().get("seeds") {
        Some(_) => "the objects of seeds are made before the measured time",
        None => "no object is made before the measured time",
    };
    let bucket = match plan.target.is_s3() {
        true => ", in a bucket that is made where it is missing",
        false => "",
    };
    let after = match plan.keep {
        true => "what was made stays, as --keep says",
        false => "what was made is removed at the end",
    };
    format!("{before}{bucket}; {after}")
}

fn ends(plan: &LoadPlan, search: Option<&knee::Search>) -> String {
    let time = Nanos(plan.scenario.course().total_ns());
    let mut ends = Vec::new();
    match search {
        Some(_) => ends.push(format!(
            "when the rate that holds is known, in steps of {time} each"
        )),
        None if time.0 > 0 => ends.push(format!("after {time} of measured time")),
        None => {}
    }
    ends.extend(
        plan.iterations
            .map(|turns| format!("after {} of users", counted(turns, "turn"))),
    );
    dry_run::ends(Nanos(plan.warmup_ns), &ends)
}
