//! What differs between families of libraries, what their functions take, and the calls that are the same.

use crate::error::MpiError;
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

/// A transfer that was begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ticket(pub(crate) usize);

#[cfg(test)]
impl Ticket {
    pub(crate) fn numbered(number: usize) -> Self {
        Self(number)
    }

    pub(crate) fn number(self) -> usize {
        self.0
    }
}

/// The calls, whatever the family.
pub(crate) trait Calls {
    fn rank(&self) -> u32;
    fn size(&self) -> u32;
    fn version(&self) -> String;
    /// Begins to send; the bytes are kept until they have gone.
    fn send(&mut self, to: u32, tag: c_int, bytes: Box<[u8]>) -> Result<Ticket, MpiError>;
    /// The rank of which something waits to be received.
    fn waiting(&mut self, tag: c_int) -> Result<Option<u32>, MpiError>;
    /// Begins to receive exactly so many bytes of a rank. Of any rank at once they do not come with
    /// MPICH 5 over UCX, whoever sent them.
    fn receive(&mut self, from: u32, tag: c_int, bytes: usize) -> Result<Ticket, MpiError>;
    /// The bytes of a transfer that is done, after which its ticket is worth nothing.
    fn test(&mut self, ticket: Ticket) -> Result<Option<Box<[u8]>>, MpiError>;
    /// Ends the library, which may wait for other processes.
    fn finalize(&mut self) -> Result<(), MpiError>;
    /// Ends all processes.
    fn abort(&mut self, code: i32);
}
