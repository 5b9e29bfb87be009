//! The circumstances of the arms side by side: what differs first, since it may be what explains a
//! difference.

use super::words;
use crate::plot::escape;
use analyze::{Fact, Study};
use std::fmt::Write as _;

pub(super) fn section(study: &Study) -> Option<String> {
    if study.environments.is_empty() {
        return None;
    }
    let mut out = String::from("<section id=\"environments\">\n<h2>Environments</h2>\n");
    let (differing, same): (Vec<&Fact>, Vec<&Fact>) =
        study.environments.iter().partition(|fact| fact.differs);
    if study.arms.len() > 1 {
        let _infallible = match differing.len() {
            0 => writeln!(
                out,
                "<p>The arms differ in none of {} known facts.</p>",
                same.len()
            ),
            n => writeln!(
                out,
                "<p>The arms differ, or one of them is unknown, in {n} of {}: any of these may explain a difference of results.</p>",
                words::counted(study.environments.len(), "fact")
            ),
        };
    }
    if !differing.is_empty() {
        write_table(&mut out, study, &differing);
    }
    if !same.is_empty() {
        let open = if study.arms.len() < 2 { " open" } else { "" };
        let heading = if study.arms.len() < 2 {
            "Known facts".to_owned()
        } else {
            format!(
                "The same for all arms: {}",
                words::counted(same.len(), "fact")
            )
        };
        let _infallible = write!(
            out,
            "<details{open}><summary>{heading}</summary>\n<div class=\"scroll\"><table><tbody>\n"
        );
        for fact in same {
            let value = fact
                .values
                .iter()
                .flatten()
                .next()
                .map_or("unknown", String::as_str);
            let _infallible = writeln!(
                out,
                "<tr><th scope=\"row\">{}</th><td class=\"long\">{}</td></tr>",
                escape(&fact.key),
                words::value(value)
            );
        }
        out.push_str("</tbody></table></div></details>\n");
    }
    out.push_str("</section>\n");
    Some(out)
}

/// Options of a row: those that differ by arm, and the others in one line each.
pub(super) fn write_options(out: &mut String, study: &Study, facts: &[&Fact]) {
    let (differing, same): (Vec<&Fact>, Vec<&Fact>) = facts
        .iter()
        .partition(|fact| fact.differs && study.arms.len() > 1);
    if !differing.is_empty() {
        write_table(out, study, &differing);
    }
    let text = |fact: &&Fact| {
        let values: Vec<String> = fact
            .values
            .iter()
            .flatten()
            .take(1)
            .map(|value| escape(value))
            .collect();
        format!("<code>{} {}</code>", escape(&fact.key), values.concat())
    };
    let _infallible = writeln!(
        out,
        "<p>{}</p>",
        same.iter().map(text).collect::<Vec<_>>().join(", ")
    );
}

/// Facts by arm, with a sign and a word where arms differ.
fn write_table(out: &mut String, study: &Study, facts: &[&Fact]) {
    out.push_str("<div class=\"scroll\"><table><thead><tr><th scope=\"col\">Fact</th>");
    for (index, arm) in study.arms.iter().enumerate() {
        let _infallible = write!(
            out,
            "<th scope=\"col\" data-arm=\"{index}\">{}</th>",
            words::name(&arm.name)
        );
    }
    out.push_str("</tr></thead><tbody>\n");
    for fact in facts {
        let (class, badge) = match (fact.differs, study.arms.len() > 1) {
            (true, true) => (
                " class=\"differs\"",
                " <span class=\"badge\">≠ differs</span>",
            ),
            (true, false) => (
                " class=\"differs\"",
                " <span class=\"badge\">≠ several</span>",
            ),
            (false, _) => ("", ""),
        };
        let _infallible = write!(
            out,
            "<tr{class}><th scope=\"row\">{}{badge}</th>",
            escape(&fact.key)
        );
        for (index, value) in fact.values.iter().enumerate() {
            let text = value.as_deref().map_or_else(
                || "<span class=\"quiet\">unknown</span>".to_owned(),
                words::value,
            );
            let _infallible = write!(out, "<td class=\"long\" data-arm=\"{index}\">{text}</td>");
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>\n");
}
