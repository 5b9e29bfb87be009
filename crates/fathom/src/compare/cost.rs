//! What an experiment takes and what it can see, before it begins.

use conduct::{Experiment, PlanExperiment, Row, Task};
use record::{PlanFacts, Role, Stopping};
use stats::{FEWEST_BLOCKS, Spending, mde};
use units::{Nanos, counted};

/// The chance of any false difference.
pub(super) const ALPHA: f64 = 0.05;

/// The lead-in where nobody says another: that of the longest slot.
pub(super) fn usual_lead_in_ns(rows: &[Row], slot: Nanos) -> u64 {
    let longest = rows
        .iter()
        .flat_map(|row| &row.tasks)
        .filter_map(Task::slot_ns)
        .max();
    lab::usual_lead_in_ns(longest.unwrap_or(slot.0))
}

/// What the experiment takes and what it can see, before it begins.
pub(super) fn cost(experiment: &Experiment) -> String {
    format!("{}\n{}", taken(experiment), seen(&experiment.plan))
}

/// The time of the slots of a plan file, as far as it is known.
pub(crate) fn cost_of(experiment: &PlanExperiment) -> String {
    let plan = &experiment.facts;
    let Some(pass_ns) = experiment.pass_ns() else {
        return "slots take as long as their work does".into();
    };
    let total = |passes: u32| Nanos(pass_ns.saturating_mul(u64::from(passes)));
    let (least, most) = (total(plan.least_passes), total(plan.most_passes));
    format!("{least} to {most} of measuring, beside what stands around it")
}

/// Slots and their time.
fn taken(experiment: &Experiment) -> String {
    let plan = &experiment.plan;
    let (least, most) = (plan.least_passes, plan.most_passes);
    let per_pass = u64::from(lab::slots_per_pass(plan));
    let length = if least == most {
        counted(least, "block")
    } else {
        format!("{least} to {}", counted(most, "block"))
    };
    let rows = if plan.rows.len() == 1 {
        String::new()
    } else {
        format!(" for each of {} phases", plan.rows.len())
    };
    let mut out = format!(
        "{length} of {} in random order{rows} (--order-seed {})",
        counted(plan.arms.len(), "slot"),
        plan.seed
    );
    let times: Option<Vec<u64>> = experiment.tasks().map(Task::slot_ns).collect();
    if let Some(times) = times {
        let span = |pass: u64| {
            let total = |passes: u32| Nanos(pass.saturating_mul(u64::from(passes)));
            if least == most {
                total(least).to_string()
            } else {
                format!("{} to {}", total(least), total(most))
            }
        };
        out.push_str(&format!(": {} of measuring", span(times.iter().sum())));
        let led = times.iter().map(|slot| plan.lead_in_ns.min(*slot)).sum();
        if led > 0 {
            out.push_str(&format!(" and {} of lead-ins", span(led)));
        }
    } else {
        out.push_str(&format!(
            ": {} to {} slots",
            per_pass * u64::from(least),
            per_pass * u64::from(most)
        ));
        if plan.lead_in_ns > 0 {
            out.push_str(", each after a lead-in");
        }
    }
    if plan.stopping == Stopping::Open {
        out.push_str(&format!(
            ", none begun after {} but for the first {least}",
            Nanos(plan.budget_ns)
        ));
    }
    out
}

/// The loss that so many passes show where the logarithms of slots have this deviation.
pub(crate) fn effect_seen(plan: &PlanFacts, sigma: f64, passes: u32) -> String {
    let candidates = plan.arms.iter();
    let candidates = candidates.filter(|arm| arm.role == Role::Candidate).count();
    let units = passes as usize * plan.rows.len();
    let effect = if candidates * plan.rows.len() == 1 {
        mde::before(sigma, units, ALPHA)
    } else {
        mde::before_matrix(sigma, units, candidates, ALPHA)
    };
    format!("{:.1} %", -100.0 * (-effect).exp_m1())
}

/// Whether so many blocks could decide about anything: the least p of n pairs is 2^(1 - n), and the
/// first of several comparisons has its part of what may be spent by then.
fn can_decide(plan: &PlanFacts, blocks: u32) -> bool {
    let candidates = plan.arms.iter();
    let candidates = candidates.filter(|arm| arm.role == Role::Candidate).count();
    let spent = match plan.stopping {
        Stopping::Fixed => ALPHA,
        Stopping::Open | Stopping::EachPass => Spending::Open.spent(ALPHA, blocks),
    };
    let least = 0.5_f64.powf(f64::from(blocks) - 1.0);
    blocks as usize >= FEWEST_BLOCKS && least <= spent / candidates.max(1) as f64
}

/// The first pass after which a look could decide.
fn first_that_decides(plan: &PlanFacts) -> Option<u32> {
    let rows = u32::try_from(plan.rows.len()).unwrap_or(u32::MAX);
    let may = |passes: &u32| {
        let is_look = match plan.stopping {
            Stopping::Fixed => lab::has_look(plan, *passes),
            Stopping::Open | Stopping::EachPass => lab::may_look(plan, *passes),
        };
        is_look && can_decide(plan, passes.saturating_mul(rows))
    };
    (plan.least_passes..=plan.most_passes).find(may)
}

/// Why no verdict can come of a plan, however its slots turn out.
pub(crate) fn sees_nothing(plan: &PlanFacts) -> Option<String> {
    if first_that_decides(plan).is_some() {
        return None;
    }
    let blocks = u64::from(plan.most_passes) * plan.rows.len() as u64;
    let fewest = (1..).find(|blocks| can_decide(plan, *blocks)).unwrap_or(0);
    Some(if blocks < u64::from(fewest) {
        format!("a verdict takes {fewest} blocks, of which the plan has {blocks}")
    } else {
        "its last block comes before the first look that could decide; give it more of them, or a fixed number".into()
    })
}

/// The loss that so many blocks show.
pub(crate) fn seen(plan: &PlanFacts) -> String {
    let most = plan.most_passes;
    if let Some(why) = sees_nothing(plan) {
        return format!("nothing: {why}");
    }
    let least = first_that_decides(plan).unwrap_or(most);
    let seen = |cv: f64, passes: u32| effect_seen(plan, (cv * cv).ln_1p().sqrt(), passes);
    let at = |cv: f64| {
        if least == most {
            seen(cv, most)
        } else {
            format!("{} to {}", seen(cv, least), seen(cv, most))
        }
    };
    format!(
        "where runs vary by 5 %, that shows a loss of about {}; by 15 %, of about {}",
        at(0.05),
        at(0.15)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::PlannedArm;
    use workload::Workload;

    fn plan(stopping: Stopping, passes: [u32; 2]) -> Experiment {
        let mut workload = Workload::default();
        workload.stop.duration = Some(Nanos(1_000_000_000));
        let arm = |name: &str, role| PlannedArm {
            name: name.into(),
            role,
            ..PlannedArm::default()
        };
        let plan = PlanFacts {
            name: "compare".into(),
            arms: vec![arm("a", Role::Baseline), arm("b", Role::Candidate)],
            stopping,
            least_passes: passes[0],
            most_passes: passes[1],
            budget_ns: 180_000_000_000,
            settle_ns: 0,
            lead_in_ns: 500_000_000,
            seed: 1,
            ..PlanFacts::default()
        };
        let row = Row {
            name: "run".into(),
            tasks: vec![Task::Run(Box::new(workload)); 2],
        };
        Experiment::new(plan, vec![row])
    }

    #[test]
    fn a_plan_of_which_no_verdict_can_come_is_not_said_to_see_anything() {
        let of = |stopping, passes| seen(&plan(stopping, passes).plan);
        for few in [1, 3, 5] {
            assert_eq!(
                of(Stopping::Fixed, [few, few]),
                format!("nothing: a verdict takes 6 blocks, of which the plan has {few}")
            );
        }
        let mut two = plan(Stopping::Fixed, [6, 6]).plan;
        two.arms.push(two.arms[1].clone());
        assert_eq!(
            seen(&two),
            "nothing: a verdict takes 7 blocks, of which the plan has 6"
        );
        two.stopping = Stopping::Open;
        for (most, expected) in [
            (
                8,
                "nothing: a verdict takes 9 blocks, of which the plan has 8",
            ),
            (
                9,
                "nothing: its last block comes before the first look that",
            ),
            (10, "where runs vary by 5 %, that shows a loss of about"),
        ] {
            (two.least_passes, two.most_passes) = (1, most);
            assert!(seen(&two).starts_with(expected), "{}", seen(&two));
        }
        assert_eq!(
            of(Stopping::Open, [1, 7]),
            "nothing: a verdict takes 8 blocks, of which the plan has 7"
        );
        let enough = of(Stopping::Fixed, [6, 6]);
        assert!(enough.contains("shows a loss of about 9.6 %"), "{enough}");
    }

    #[test]
    fn the_cost_is_said_before_with_what_it_buys() {
        assert_eq!(
            cost(&plan(Stopping::Open, [8, 90])),
            "8 to 90 blocks of 2 slots in random order (--order-seed 1): 16 s to 3 min of measuring and 8 s to 90 s of lead-ins, none begun after 3 min but for the first 8\n\
             where runs vary by 5 %, that shows a loss of about 7.8 % to 2.1 %; by 15 %, of about 21.6 % to 6.1 %"
        );
        assert_eq!(
            cost(&plan(Stopping::Fixed, [20, 20])),
            "20 blocks of 2 slots in random order (--order-seed 1): 40 s of measuring and 20 s of lead-ins\nwhere runs vary by 5 %, that shows a loss of about 4.6 %; by 15 %, of about 13.0 %"
        );
    }
}
