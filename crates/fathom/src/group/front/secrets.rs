//! What may stand in the arguments of a launcher, which everybody on its hosts can read.

use clap::ArgMatches;
use object::{LOAD_OPTIONS, variable_of};

/// The variables of the environment that headers are taken from. What lets somebody in would stand in the
/// arguments of the launcher and of all ranks, where everybody on their hosts can read it.
pub(super) fn variables_without_secrets(matches: &ArgMatches) -> Result<Vec<String>, String> {
    let texts = |name: &str| {
        let texts = matches.try_get_many::<String>(name).ok().flatten();
        texts.into_iter().flatten().cloned().collect::<Vec<_>>()
    };
    let mut variables = Vec::new();
    for option in LOAD_OPTIONS.iter().filter(|option| option.may_be_secret()) {
        let name = option.name;
        for text in texts(name) {
            match variable_of(&text) {
                Some(variable) => variables.push(variable.to_owned()),
                None if option.hides(&text) => {
                    return Err(format!(
                        "--{name} may let somebody in, and with --hosts it would stand in the arguments of the launcher and of every rank, where everybody on their hosts can read it; put it into a variable of the environment, and give --{name} @VARIABLE"
                    ));
                }
                None => {}
            }
        }
    }
    Ok(variables)
}
