//! io_uring: one `io_uring_enter` submits a batch and waits for completions.

use crate::{Arena, Completion, Engine, EngineError, EngineSetup, Op, OpenEngine, Request, Slot};
use io_uring::squeue::Entry;
use io_uring::types::{Fd, Fixed, FsyncFlags, SubmitArgs, Timespec};
use io_uring::{IoUring, opcode};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, RawFd};

/// What is registered with the ring and who polls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RingOptions {
    pub fixed_buffers: bool,
    pub fixed_files: bool,
    pub polling: Polling,
}

/// Kernel polling of the submission queue and of the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Polling {
    pub submission: bool,
    pub device: bool,
}

pub struct UringEngine {
    ring: IoUring,
    arena: Arena,
    files: Vec<File>,
    fds: Vec<RawFd>,
    options: RingOptions,
    pending: usize,
    features: &'static str,
}

const CONTAINER_HINT: &str = "Containers often forbid it (seccomp), as does the sysctl kernel.io_uring_disabled; use --engine sync or libaio";

impl UringEngine {
    /// A ring of `depth` entries with buffers of `block` bytes over the given files. Must be called
    /// by the thread that will use it.
    ///
    /// # Errors
    /// The kernel has no io_uring or refuses an option that was asked for.
    pub fn new(
        files: Vec<File>,
        depth: u32,
        block: usize,
        options: RingOptions,
    ) -> Result<Self, EngineError> {
        let arena = Arena::new(depth, block)?;
        let (ring, features) = build(depth, options.polling)?;
        let fds: Vec<RawFd> = files.iter().map(AsRawFd::as_raw_fd).collect();
        if options.fixed_files {
            ring.submitter()
                .register_files(&fds)
                .map_err(|source| EngineError::RingOption {
                    what: "registered files",
                    source,
                })?;
        }
        if options.fixed_buffers {
            let (base, bytes) = arena.whole();
            let whole = [libc::iovec {
                iov_base: base.cast(),
                iov_len: bytes,
            }];
            // SAFETY: the arena outlives the ring (fields drop in order of declaration, the ring
            // first).
            unsafe { ring.submitter().register_buffers(&whole) }.map_err(|source| {
                EngineError::RingOption {
                    what: "registered buffers (see ulimit -l)",
                    source,
                }
            })?;
        }
        // Saves a file look-up a system call; kernels before 5.18 lack it and lose nothing else.
        let _unregistered_ring_works_too = ring.submitter().register_ring_fd();
        Ok(Self {
            ring,
            arena,
            files,
            fds,
            options,
            pending: 0,
            features,
        })
    }

    fn entry(&self, request: &Request) -> Entry {
        let address = self.arena.address(request.slot);
        let file = request.file as usize;
        let entry = match request.op {
            Op::Read if self.options.fixed_buffers => {
                let (len, offset) = (request.len, request.offset);
                if self.options.fixed_files {
                    opcode::ReadFixed::new(Fixed(request.file), address, len, 0)
                        .offset(offset)
                        .build()
                } else {
                    opcode::ReadFixed::new(Fd(self.fds[file]), address, len, 0)
                        .offset(offset)
                        .build()
                }
            }
            Op::Write if self.options.fixed_buffers => {
                let (len, offset) = (request.len, request.offset);
                if self.options.fixed_files {
                    opcode::WriteFixed::new(Fixed(request.file), address, len, 0)
                        .offset(offset)
                        .build()
                } else {
                    opcode::WriteFixed::new(Fd(self.fds[file]), address, len, 0)
                        .offset(offset)
                        .build()
                }
            }
            Op::Read if self.options.fixed_files => {
                opcode::Read::new(Fixed(request.file), address, request.len)
                    .offset(request.offset)
                    .build()
            }
            Op::Read => opcode::Read::new(Fd(self.fds[file]), address, request.len)
                .offset(request.offset)
                .build(),
            Op::Write if self.options.fixed_files => {
                opcode::Write::new(Fixed(request.file), address, request.len)
                    .offset(request.offset)
                    .build()
            }
            Op::Write => opcode::Write::new(Fd(self.fds[file]), address, request.len)
                .offset(request.offset)
                .build(),
            Op::Fsync | Op::Fdatasync => {
                let flags = if request.op == Op::Fdatasync {
                    FsyncFlags::DATASYNC
                } else {
                    FsyncFlags::empty()
                };
                if self.options.fixed_files {
                    opcode::Fsync::new(Fixed(request.file)).flags(flags).build()
                } else {
                    opcode::Fsync::new(Fd(self.fds[file])).flags(flags).build()
                }
            }
            Op::Create | Op::Stat | Op::Open | Op::Readdir | Op::Rename | Op::Unlink | Op::Walk => {
                unreachable!("metadata operations go to MetaEngine")
            }
        };
        entry.user_data(u64::from(request.slot))
    }
}

/// Tries the flags of a single-threaded submitter first and gives up one set after the other where
/// the kernel is older.
fn build(depth: u32, polling: Polling) -> Result<(IoUring, &'static str), EngineError> {
    let mut last = None;
    for level in 0..4_u8 {
        if polling.submission && level < 2 {
            continue;
        }
        let mut builder = IoUring::builder();
        builder
            .setup_cqsize(depth.next_power_of_two().max(2) * 2)
            .setup_clamp();
        let name = match level {
            0 => {
                builder
                    .setup_single_issuer()
                    .setup_coop_taskrun()
                    .setup_defer_taskrun()
                    .setup_no_sqarray();
                "single_issuer,coop_taskrun,defer_taskrun,no_sqarray"
            }
            1 => {
                builder
                    .setup_single_issuer()
                    .setup_coop_taskrun()
                    .setup_defer_taskrun();
                "single_issuer,coop_taskrun,defer_taskrun"
            }
            2 if polling.submission => {
                builder.setup_no_sqarray();
                "no_sqarray"
            }
            2 => {
                builder.setup_coop_taskrun();
                "coop_taskrun"
            }
            _ => "none",
        };
        if polling.submission {
            builder.setup_sqpoll(1000);
        }
        if polling.device {
            builder.setup_iopoll();
        }
        match builder.build(depth) {
            Ok(ring) => return Ok((ring, name)),
            Err(source) if source.raw_os_error() == Some(libc::EINVAL) => last = Some(source),
            Err(source) => {
                return Err(EngineError::RingUnavailable {
                    source,
                    hint: CONTAINER_HINT,
                });
            }
        }
    }
    let source = last.unwrap_or_else(|| io::Error::from_raw_os_error(libc::EINVAL));
    Err(EngineError::RingUnavailable {
        source,
        hint: CONTAINER_HINT,
    })
}

impl OpenEngine for UringEngine {
    fn open(setup: EngineSetup) -> Result<Self, EngineError> {
        Self::new(setup.files, setup.depth, setup.block, setup.ring)
    }

    /// The set-up flags that this kernel took.
    fn features(&self) -> Option<String> {
        Some(self.features.to_owned())
    }
}

impl Engine for UringEngine {
    fn buffer(&mut self, slot: Slot) -> &mut [u8] {
        self.arena.buffer(slot)
    }

    /// Queues the batch; it reaches the kernel with the system call of the next [`Engine::reap`].
    #[inline]
    fn submit(&mut self, batch: &[Request]) -> Result<usize, EngineError> {
        debug_assert!(
            batch.iter().all(|r| (r.file as usize) < self.files.len()),
            "request for an unknown file"
        );
        let mut accepted = 0;
        for request in batch {
            let entry = self.entry(request);
            // SAFETY: the buffer belongs to a slot that stays untouched until its completion; the
            // arena outlives the ring.
            if unsafe { self.ring.submission().push(&entry) }.is_err() {
                break;
            }
            accepted += 1;
        }
        self.pending += accepted;
        Ok(accepted)
    }

    #[inline]
    fn reap(
        &mut self,
        min: usize,
        timeout_ns: u64,
        out: &mut Vec<Completion>,
    ) -> Result<(), EngineError> {
        let ready = self.ring.completion().len();
        if self.pending > 0 || ready < min || self.options.polling.device {
            let wait = min.saturating_sub(ready);
            let outcome = if timeout_ns == u64::MAX || wait == 0 {
                self.ring.submit_and_wait(wait)
            } else {
                #[allow(
                    clippy::cast_possible_truncation,
                    reason = "below 1e9 by the remainder"
                )]
                let limit = Timespec::new()
                    .sec(timeout_ns / 1_000_000_000)
                    .nsec((timeout_ns % 1_000_000_000) as u32);
                self.ring
                    .submitter()
                    .submit_with_args(wait, &SubmitArgs::new().timespec(&limit))
            };
            match outcome {
                Ok(_) => {}
                // A timeout, a signal, or a completion queue that must be drained first: nothing is
                // lost, reap again.
                Err(e)
                    if matches!(
                        e.raw_os_error(),
                        Some(libc::ETIME | libc::EINTR | libc::EBUSY | libc::EAGAIN)
                    ) => {}
                Err(source) => {
                    return Err(EngineError::Call {
                        call: "io_uring_enter",
                        source,
                    });
                }
            }
            self.pending = self.ring.submission().len();
        }
        for entry in self.ring.completion() {
            #[allow(
                clippy::cast_possible_truncation,
                reason = "user data is the slot that was submitted"
            )]
            out.push(Completion {
                slot: entry.user_data() as Slot,
                result: i64::from(entry.result()),
            });
        }
        Ok(())
    }
}
