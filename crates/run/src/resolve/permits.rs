//! What the kernel lets this process do, found out by trying: a sandbox forbids calls without
//! saying so anywhere.

use engine::{EngineError, LibaioEngine, RingOptions, UringEngine};
use std::io;
use workload::EngineName;

/// Answers about this process; tests bring their own.
pub(crate) trait Permits {
    /// Opens an engine and closes it again; engines of plain system calls always open.
    ///
    /// # Errors
    /// The kernel refuses.
    fn engine(&self, name: EngineName) -> Result<(), EngineError>;

    /// Whether threads of this process may take memory from these NUMA nodes alone.
    ///
    /// # Errors
    /// The kernel refuses.
    fn bind_memory(&self, nodes: &[u32]) -> io::Result<()>;
}

/// The process that asks.
pub(crate) struct ThisProcess;

impl Permits for ThisProcess {
    fn engine(&self, name: EngineName) -> Result<(), EngineError> {
        let page = sys::page_size();
        if name == EngineName::IoUring {
            return UringEngine::new(Vec::new(), 1, page, RingOptions::default()).map(drop);
        }
        if name == EngineName::Libaio {
            return LibaioEngine::new(Vec::new(), 1, page).map(drop);
        }
        Ok(())
    }

    fn bind_memory(&self, nodes: &[u32]) -> io::Result<()> {
        // A policy holds for the thread that asks for it and those that it starts, so that a thread
        // of its own asks.
        std::thread::scope(|scope| {
            let asking =
                std::thread::Builder::new().spawn_scoped(scope, || sys::bind_memory(nodes))?;
            asking.join().expect("a system call does not panic")
        })
    }
}

#[cfg(test)]
pub(crate) mod fixture {
    use super::*;

    /// A process that some things are forbidden to.
    #[derive(Default)]
    pub(crate) struct Forbidden {
        pub(crate) engines: Vec<EngineName>,
        /// errno of binding memory.
        pub(crate) binding: Option<i32>,
    }

    impl Permits for Forbidden {
        fn engine(&self, name: EngineName) -> Result<(), EngineError> {
            let source = io::Error::from(io::ErrorKind::PermissionDenied);
            if !self.engines.contains(&name) {
                Ok(())
            } else if name == EngineName::IoUring {
                Err(EngineError::RingUnavailable { source, hint: "" })
            } else {
                Err(EngineError::AioUnavailable { source })
            }
        }

        fn bind_memory(&self, _nodes: &[u32]) -> io::Result<()> {
            self.binding
                .map_or(Ok(()), |errno| Err(io::Error::from_raw_os_error(errno)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn asking_leaves_no_trace_in_the_thread_that_asks() {
        let policy = || {
            std::fs::read_to_string("/proc/thread-self/numa_maps")
                .ok()
                .map(|maps| maps.contains(" bind"))
        };
        let before = policy();
        let _whatever_the_answer = ThisProcess.bind_memory(&[0]);
        assert_eq!(policy(), before);
        assert!(ThisProcess.engine(EngineName::Sync).is_ok());
        assert!(
            ThisProcess.bind_memory(&[u32::MAX]).is_err(),
            "no machine has that many nodes"
        );
    }
}
