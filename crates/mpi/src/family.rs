//! What differs between families of libraries, and what their functions take.

use libc::{c_char, c_int, c_void};

/// What a family of libraries calls its things: pointers or numbers.
#[derive(Clone, Copy)]
pub(crate) struct Constants<H> {
    pub(crate) world: H,
    pub(crate) byte: H,
    pub(crate) errors_return: H,
    pub(crate) status_ignore: *mut c_void,
    pub(crate) funneled: c_int,
    pub(crate) any_source: c_int,
    /// The number in a status that is the rank of the sender.
    pub(crate) source_at: usize,
}

/// Room for a status of any family, which is 40 bytes at most.
pub(crate) type StatusRoom = [c_int; 16];

pub(crate) type Transfer<H> =
    unsafe extern "C" fn(*mut c_void, c_int, H, c_int, c_int, H, *mut H) -> c_int;

pub(crate) type Init = unsafe extern "C" fn(*mut c_int, *mut c_void, c_int, *mut c_int) -> c_int;
pub(crate) type AskNumber<H> = unsafe extern "C" fn(H, *mut c_int) -> c_int;
pub(crate) type SetHandler<H> = unsafe extern "C" fn(H, H) -> c_int;
pub(crate) type AskVersion = unsafe extern "C" fn(*mut c_char, *mut c_int) -> c_int;
/// The text of an error code.
pub(crate) type AskError = unsafe extern "C" fn(c_int, *mut c_char, *mut c_int) -> c_int;
pub(crate) type Test<H> = unsafe extern "C" fn(*mut H, *mut c_int, *mut c_void) -> c_int;
pub(crate) type IprobeCall<H> =
    unsafe extern "C" fn(c_int, c_int, H, *mut c_int, *mut StatusRoom) -> c_int;
pub(crate) type Finalize = unsafe extern "C" fn() -> c_int;
pub(crate) type Abort<H> = unsafe extern "C" fn(H, c_int) -> c_int;
