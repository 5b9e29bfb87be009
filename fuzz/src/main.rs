//! All targets in one program, of which a run takes the one that `FUZZ_TARGET` names: a program for each took two minutes to compile and link.
#![no_main]

use fathom_fuzz::TARGETS;
use std::process::exit;
use std::sync::LazyLock;

static TARGET: LazyLock<fn(&[u8])> = LazyLock::new(|| {
    let wanted = std::env::var("FUZZ_TARGET").unwrap_or_default();
    let names: Vec<&str> = TARGETS.iter().map(|(name, _)| *name).collect();
    if wanted == "list" {
        println!("{}", names.join("\n"));
        exit(0);
    }
    match TARGETS.iter().find(|(name, _)| *name == wanted) {
        Some((_, run)) => *run,
        None => {
            let names = names.join(", ");
            eprintln!(
                "FUZZ_TARGET={wanted:?} names no target; there are {names} (and `list`, which prints them)"
            );
            exit(2);
        }
    }
});

libfuzzer_sys::fuzz_target!(init: LazyLock::force(&TARGET), |bytes: &[u8]| TARGET(bytes));
