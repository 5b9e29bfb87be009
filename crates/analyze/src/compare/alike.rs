//! Arms that are one thing by two names.

use record::{PlanFacts, PlannedArm, Role};

/// Arms of a plan that are the same in everything that is known of them, as a sentence for each two.
#[must_use]
pub fn same_arms(plan: &PlanFacts) -> Vec<String> {
    let arms = compared(plan);
    let mut out = Vec::new();
    for (number, (a, arm)) in arms.iter().enumerate() {
        for (b, other) in &arms[number + 1..] {
            if arm.identity.is_empty() || arm.identity != other.identity {
                continue;
            }
            let names = format!("{} and {}", arm.name, other.name);
            if do_the_same(plan, [*a, *b], in_any_directory) {
                out.push(format!(
                    "{names} are the same in everything that is known of them: an A/A test"
                ));
            } else if do_the_same(plan, [*a, *b], by_any_name) {
                out.push(format!(
                    "{names} start one program by two names: unless it does by its name what it does, an A/A test"
                ));
            }
        }
    }
    out
}

fn compared(plan: &PlanFacts) -> Vec<(usize, &PlannedArm)> {
    let arms = plan.arms.iter().enumerate();
    arms.filter(|(_, arm)| arm.role != Role::Control).collect()
}

/// Options that are commands, and what the program of each is called in an identity.
const PROGRAMS: [(&str, &str); 2] = [("command", "command"), ("server.command", "server")];

/// Whether two arms of one identity do the same in all rows. A commit has a hash, whatever ref led
/// to it, and so has a program, wherever it lies.
fn do_the_same(plan: &PlanFacts, arms: [usize; 2], shown: fn(&str) -> String) -> bool {
    plan.rows.iter().all(|row| {
        let [a, b] = arms.map(|arm| {
            let identity = &plan.arms[arm].identity;
            let mut planned = row.workloads.get(arm)?.clone();
            if identity.contains_key("commit") {
                planned.options.remove("build.ref");
            }
            for (option, program) in PROGRAMS {
                let is_known = identity.contains_key(program);
                if let Some(words) = planned.options.get_mut(option).filter(|_| is_known) {
                    *words = shown(words);
                }
            }
            Some(planned)
        });
        a == b
    })
}

fn in_any_directory(words: &str) -> String {
    let end = words.find(' ').unwrap_or(words.len());
    let begin = words[..end].rfind('/').map_or(0, |at| at + 1);
    words[begin..].to_owned()
}

fn by_any_name(words: &str) -> String {
    words[words.find(' ').unwrap_or(words.len())..].to_owned()
}
