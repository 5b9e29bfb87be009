//! The `fathom` command.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    fathom::main(std::env::args_os().collect())
}
