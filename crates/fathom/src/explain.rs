//! `fathom explain`: the long text of a rule of the audit.

use crate::exit::Usage;
use crate::tell::tell;
use analyze::rules;
use anyhow::Result;
use clap::{Arg, ArgMatches, Command};

pub(crate) fn command() -> Command {
    Command::new("explain")
        .about("Says what a finding means, with an example, and what to do")
        .after_help("Examples:\n  fathom explain little_law\n  fathom explain\n\nExit codes: 0 ok; 2 no rule has this name")
        .arg(
            Arg::new("rule")
                .value_name("RULE")
                .help("Name in the brackets of a finding; all rules are listed without it"),
        )
}

/// Runs the verb.
pub(crate) fn run(matches: &ArgMatches) -> Result<i32> {
    let Some(asked) = matches.get_one::<String>("rule") else {
        tell(&list())?;
        return Ok(0);
    };
    let Some(rule) = rules().iter().find(|rule| rule.id == asked) else {
        let alike: Vec<&str> = rules()
            .iter()
            .map(|rule| rule.id)
            .filter(|id| shares_a_word(id, asked))
            .collect();
        let advice = if alike.is_empty() {
            "`fathom explain` lists all".to_owned()
        } else {
            format!("did you mean {}?", alike.join(", "))
        };
        return Err(Usage(format!("no rule is called {asked:?}; {advice}")).into());
    };
    let number = rule
        .catalogue_number
        .map(|number| format!(", no. {number} of the catalogue"))
        .unwrap_or_default();
    tell(&format!(
        "{}: {}\n({} at worst{number})\n\n{}",
        rule.id, rule.title, rule.severity, rule.text
    ))?;
    Ok(0)
}

fn list() -> String {
    let width = rules().iter().map(|rule| rule.id.len()).max().unwrap_or(0);
    let lines: Vec<String> = rules()
        .iter()
        .map(|rule| format!("{:<7}  {:<width$}  {}", rule.severity, rule.id, rule.title))
        .collect();
    lines.join("\n")
}

fn shares_a_word(id: &str, asked: &str) -> bool {
    asked
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| word.len() > 2)
        .any(|word| id.split('_').any(|part| part == word.to_ascii_lowercase()))
}
