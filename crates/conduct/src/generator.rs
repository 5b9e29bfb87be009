//! Who measures a workload: this process, unless there are others.

use host::{Context, Watch};
use record::Record;
use run::RunError;
use workload::Phase;

/// What makes the load of a workload and measures it.
pub trait Generator {
    /// Measures a workload under its name.
    ///
    /// # Errors
    /// Nothing was measured.
    fn measure(
        &mut self,
        phase: &Phase,
        context: &Context,
        watch: &mut dyn Watch,
    ) -> Result<Record, RunError>;

    /// Waits, at most so long, until what was written is where it belongs: on this machine by `own`,
    /// and on those of others that measured with it. What is left then is said in words.
    fn settle(
        &mut self,
        _longest_ns: u64,
        own: &mut dyn FnMut() -> Option<String>,
    ) -> Option<String> {
        own()
    }

    /// What keeps it from measuring anything more: those that it measures with are lost.
    fn obstacle(&self) -> Option<String> {
        None
    }
}

/// The process that asks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Alone;

impl Generator for Alone {
    fn measure(
        &mut self,
        phase: &Phase,
        context: &Context,
        watch: &mut dyn Watch,
    ) -> Result<Record, RunError> {
        run::execute(phase, context, watch)
    }
}
