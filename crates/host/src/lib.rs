//! A machine on which something is measured: facts about it, and what it counts while a measurement
//! goes on.
//!
//! Deliberately absent: what is measured, and judging.
#![forbid(unsafe_code)]

mod machine;

pub use machine::{
    CgroupThrottle, CpuTicks, CpuTimes, DiskCounters, KernelFiles, Machine, MemoryPressure,
    Pressure, ProcessIo, Reading, Stall, Stalls, ThreadSched,
};
