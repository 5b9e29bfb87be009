//! What the first of several ranks prints, held back until its library has ended. A launcher whose reader comes late
//! stands still with what it cannot hand on, and the library, which waits for the launcher at its end, with it: ranks
//! that go without it leave a launcher that ends before it has read what they printed (MPICH 4 and 5, Open MPI 5).

use std::io::{Result, Write as _};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A pipe takes so much from a launcher whoever reads it, so that it is printed at once: a library may fail at its end.
const AT_ONCE: usize = 32 << 10;

static HELD: Mutex<Held> = Mutex::new(Held::Nothing);

enum Held {
    /// It is printed at once.
    Nothing,
    /// Much is put here.
    Much(Vec<String>),
}

fn locked() -> MutexGuard<'static, Held> {
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From now on much is held back.
pub(crate) fn hold_back() {
    let mut held = locked();
    if matches!(*held, Held::Nothing) {
        *held = Held::Much(Vec::new());
    }
}

/// Whether something is.
pub(crate) fn is_held() -> bool {
    matches!(&*locked(), Held::Much(forms) if !forms.is_empty())
}

/// Prints it, and what comes later at once. Nobody goes on who would end the process before all is printed, and whoever
/// suspends it while a reader takes its time loses nothing.
pub(crate) fn print_held() -> Result<()> {
    sys::free_to_stand_still(|| print_all(&mut locked()))
}

/// Prints this, or holds it back; never where somebody has asked for the end, for launchers kill soon after.
pub(super) fn print(form: String) -> Result<()> {
    let mut held = locked();
    if sys::caught_signal().is_some() {
        print_all(&mut held)?;
    }
    match &mut *held {
        Held::Much(forms) if !forms.is_empty() || form.len() > AT_ONCE => {
            forms.push(form);
            Ok(())
        }
        Held::Nothing | Held::Much(_) => print_one(&form),
    }
}

fn print_all(held: &mut Held) -> Result<()> {
    match std::mem::replace(held, Held::Nothing) {
        Held::Nothing => Ok(()),
        Held::Much(forms) => forms.iter().try_for_each(|form| print_one(form)),
    }
}

fn print_one(form: &str) -> Result<()> {
    let print = || std::io::stdout().write_all(form.as_bytes());
    crate::exit::while_printing(form.len(), print)
}
