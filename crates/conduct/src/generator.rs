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
