//! Commands to the driver, and their answers.

use super::super::wire::{ControlCommand, UblkCommand};
use super::{Plain as _, is_no_failure, timespec};
use io_uring::types::{Fd, SubmitArgs};
use io_uring::{IoUring, cqueue, opcode, squeue};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;

/// The way to `/dev/ublk-control`, one command at a time.
pub(in crate::ublk) struct ControlRing {
    ring: IoUring<squeue::Entry128, cqueue::Entry>,
    control: File,
    commands: u64,
}

impl ControlRing {
    pub(in crate::ublk) fn new(control: File) -> io::Result<Self> {
        Ok(Self {
            ring: IoUring::builder().build(8)?,
            control,
            commands: 0,
        })
    }

    /// Gives a command to the kernel, which reads and writes `payload` until it has answered.
    pub(in crate::ublk) fn begin(
        &mut self,
        control: UblkCommand,
        mut command: ControlCommand,
        payload: Vec<u8>,
    ) -> io::Result<Pending> {
        let mut payload = payload.into_boxed_slice();
        command.address = payload.as_mut_ptr() as u64;
        let mut bytes = [0; 80];
        bytes[..size_of::<ControlCommand>()].copy_from_slice(command.bytes());
        self.commands += 1;
        let entry = opcode::UringCmd80::new(Fd(self.control.as_raw_fd()), control.code())
            .cmd(bytes)
            .build()
            .user_data(self.commands);
        // SAFETY: the payload is kept by the returned value, which gives it back only after the
        // answer, and otherwise never frees it.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        pushed.map_err(|_full| io::Error::from_raw_os_error(libc::EBUSY))?;
        self.ring.submit()?;
        Ok(Pending {
            number: self.commands,
            payload: Some(payload),
        })
    }

    /// Takes a command back, and waits so long until the kernel has done with it; whether it has.
    pub(in crate::ublk) fn cancel(
        &mut self,
        pending: &mut Pending,
        limit_ns: u64,
    ) -> io::Result<bool> {
        let entry = opcode::AsyncCancel::new(pending.number)
            .build()
            .user_data(CANCEL);
        // SAFETY: a cancellation has no memory of ours.
        let pushed = unsafe { self.ring.submission().push(&entry.into()) };
        pushed.map_err(|_full| io::Error::from_raw_os_error(libc::EBUSY))?;
        Ok(self.answer(pending, limit_ns)?.is_some())
    }

    /// Waits for the answer, no longer than `limit_ns`; `None` when the time was over first.
    pub(in crate::ublk) fn answer(
        &mut self,
        pending: &mut Pending,
        limit_ns: u64,
    ) -> io::Result<Option<(i32, Vec<u8>)>> {
        let deadline = sys::monotonic_ns().saturating_add(limit_ns);
        loop {
            let left = deadline.saturating_sub(sys::monotonic_ns());
            let limit = timespec(left);
            let args = SubmitArgs::new().timespec(&limit);
            match self.ring.submitter().submit_with_args(1, &args) {
                Ok(_) => {}
                Err(error) if is_no_failure(&error) => {}
                Err(error) => return Err(error),
            }
            // Late answers to commands that were given up are dropped here.
            let mut answers = self.ring.completion();
            if let Some(entry) = answers.find(|entry| entry.user_data() == pending.number) {
                let payload = pending.payload.take().unwrap_or_default();
                return Ok(Some((entry.result(), payload.into_vec())));
            }
            if left == 0 {
                return Ok(None);
            }
        }
    }
}

/// Of no command: they are counted from 1.
const CANCEL: u64 = 0;
/// A command that the kernel has not answered.
pub(in crate::ublk) struct Pending {
    number: u64,
    payload: Option<Box<[u8]>>,
}

impl Drop for Pending {
    fn drop(&mut self) {
        // The kernel may still write there, whenever it is done.
        if let Some(payload) = self.payload.take() {
            Box::leak(payload);
        }
    }
}
