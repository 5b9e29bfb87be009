//! Engines: a row each, with all that other parts ask of one.
//!
//! A new engine is a row here and its implementation in crate `engine`, listed there.

use crate::SpecError;
use crate::workload::words;

/// What an engine works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineTarget {
    /// Files and block devices of this machine.
    Files,
    /// A server.
    Server,
    /// Nothing: what is measured is the generator, or a model.
    Nothing,
}

/// What not every engine has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineFeature {
    /// More than one operation in flight in each worker.
    Depth,
    /// A ring, with what can be registered and polled.
    Ring,
    /// Files are mapped: no calls, no way around the page cache, and data below every block.
    Mapping,
    /// Time is a model's.
    VirtualTime,
}

/// Gives the table to another macro, with what that wants besides. In a row stand the name here
/// and as a word, what implements it in crate `engine` where a worker opens it by its setup alone,
/// what it works on, what it has, and its names in fio.
#[macro_export]
macro_rules! engines {
    ($to:ident $given:tt) => {
        $to! {
            $given
            /// `sync` at depth 1, `io_uring` beyond.
            Auto = "auto": Files [Depth] ["posixaio"];
            Sync = "sync" SyncEngine: Files [] ["psync", "sync", "vsync", "pvsync", "pvsync2"];
            IoUring = "io_uring" UringEngine: Files [Depth, Ring] ["io_uring"];
            Libaio = "libaio" LibaioEngine: Files [Depth] ["libaio"];
            Mmap = "mmap" MmapEngine: Files [Mapping] ["mmap"];
            /// No I/O at all: the generator's own ceiling.
            Null = "null" NullEngine: Nothing [Depth] ["null"];
            /// A modelled device under a virtual clock.
            Sim = "sim": Nothing [Depth, VirtualTime] [];
            Nbd = "nbd" NbdEngine: Server [Depth] [];
        }
    };
}

macro_rules! names {
    ({} $($(#[$about:meta])* $name:ident = $word:literal $($engine:ident)?: $target:ident [$($feature:ident),*] [$($fio:literal),*];)+) => {
        words!(
            /// How operations reach the target.
            EngineName { $($(#[$about])* $name = $word),+ }
        );

        impl EngineName {
            /// Every engine.
            pub const ALL: &'static [Self] = &[$(Self::$name),+];

            /// What it works on.
            #[must_use]
            pub fn target(self) -> EngineTarget {
                match self { $(Self::$name => EngineTarget::$target),+ }
            }

            /// What it has.
            #[must_use]
            pub fn features(self) -> &'static [EngineFeature] {
                match self { $(Self::$name => &[$(EngineFeature::$feature),*]),+ }
            }

            /// Its names in fio; results are written with the first.
            #[must_use]
            pub fn in_fio(self) -> &'static [&'static str] {
                match self { $(Self::$name => &[$($fio),*]),+ }
            }
        }
    };
}

engines!(names {});

impl EngineName {
    /// Whether it has this.
    #[must_use]
    pub fn has(self, feature: EngineFeature) -> bool {
        self.features().contains(&feature)
    }

    /// The engine of this word, if there is one.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|engine| engine.word() == word)
    }

    /// The engine that does what fio's of this name does, if there is one.
    #[must_use]
    pub fn of_fio(name: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|engine| engine.in_fio().contains(&name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_of_fio_is_of_one_engine() {
        let names = || EngineName::ALL.iter().flat_map(|engine| engine.in_fio());
        for name in names() {
            assert_eq!(names().filter(|other| *other == name).count(), 1, "{name}");
        }
        assert_eq!(EngineName::of_fio("psync"), Some(EngineName::Sync));
        assert_eq!(EngineName::of_fio("windowsaio"), None);
    }

    #[test]
    fn what_has_no_files_has_several_operations_in_flight() {
        for engine in EngineName::ALL {
            assert!(
                engine.target() == EngineTarget::Files || engine.has(EngineFeature::Depth),
                "{engine:?}"
            );
            assert_eq!(EngineName::of_word(engine.word()), Some(*engine));
        }
    }
}
