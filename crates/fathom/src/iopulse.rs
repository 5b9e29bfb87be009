//! `fathom run` under the name of the tool whose commands it accepts.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    fathom::main_iopulse(std::env::args_os().collect())
}
