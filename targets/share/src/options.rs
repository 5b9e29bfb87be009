//! How uploads are kept: what experiments vary.

use std::fmt;
use std::time::Duration;
use units::Bytes;

/// Declares an enum of words, each with its spelling on the command line and in SQLite.
macro_rules! spelled {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $word:ident = $text:literal),+ $(,)? }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $name { $($(#[$doc])* $word),+ }

        impl $name {
            /// All spellings, in the order in which they are told.
            pub const WORDS: &'static [&'static str] = &[$($text),+];

            /// The word of this spelling.
            #[must_use]
            pub fn parse(text: &str) -> Option<Self> {
                match text { $($text => Some(Self::$word),)+ _ => None }
            }

            #[must_use]
            pub fn word(self) -> &'static str {
                match self { $(Self::$word => $text),+ }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.word())
            }
        }
    };
}

spelled!(
    /// Where the bytes of uploads lie.
    ShareLayout {
        /// Each upload is a SQLite file of its own beside the database.
        FilePerShare = "file-per-share",
        /// All lie in the database.
        OneDatabase = "one-database",
    }
);

spelled!(
    /// The journal of the file that the bytes of uploads are written to.
    JournalMode {
        Off = "off",
        Memory = "memory",
        Delete = "delete",
        Truncate = "truncate",
        Wal = "wal",
    }
);

spelled!(
    /// When what was answered is on the disk.
    Synchronous {
        /// Before the answer.
        Full = "full",
        /// The bytes of an upload before the answer, that it is there soon after.
        Normal = "normal",
        /// When the system likes.
        Off = "off",
    }
);

spelled!(
    /// Whether something is done.
    Switch { On = "on", Off = "off" }
);

/// What an experiment can vary of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShareOptions {
    pub layout: ShareLayout,
    /// Of the file that uploads are written to.
    pub page_size: Bytes,
    /// About as many bytes of an upload are one row; see [`ShareOptions::chunk`].
    pub chunk_size: Bytes,
    /// `None` takes what the layout is made for.
    pub journal: Option<JournalMode>,
    pub synchronous: Synchronous,
    /// The write-ahead log is moved into the database when it has so many bytes.
    pub checkpoint: Bytes,
    /// Rows that one query of a download reads; 0 reads one, and has the kernel send it where each
    /// upload is a file and nothing is encrypted or made to misbehave.
    pub read_batch: u32,
    /// Connections to the database that only read.
    pub connections: usize,
    /// Whether the size of an upload is a column; otherwise it is added up whenever it is asked for.
    pub stored_size: Switch,
    /// Whether the history of downloads has an index.
    pub downloads_index: Switch,
    /// How long the bytes of an upload outlive it, for who copies the index first.
    pub keep_deleted: Duration,
    /// Bytes of the file system that uploads leave free; `None` takes 5 % of it, at most 256 MiB.
    pub reserve: Option<Bytes>,
}

impl Default for ShareOptions {
    fn default() -> Self {
        Self {
            layout: ShareLayout::FilePerShare,
            page_size: Bytes(64 << 10),
            chunk_size: Bytes(256 << 10),
            journal: None,
            synchronous: Synchronous::Full,
            checkpoint: Bytes(16 << 20),
            read_batch: 0,
            connections: 4,
            stored_size: Switch::On,
            downloads_index: Switch::On,
            keep_deleted: Duration::from_secs(600),
            reserve: None,
        }
    }
}

/// The smallest and the largest page of SQLite that uploads may have.
const PAGES: std::ops::RangeInclusive<u64> = 4096..=65_536;
/// The largest row: SQLite takes a thousand million bytes, and memory holds two of them.
const MOST_CHUNK: u64 = 16 << 20;

impl ShareOptions {
    /// Errors: what goes together with what, in words for whoever gave the options.
    pub fn check(&self) -> Result<(), String> {
        let page = self.page_size.0;
        if !page.is_power_of_two() || !PAGES.contains(&page) {
            return Err(format!(
                "--page-size: {} is none of 4KiB, 8KiB, 16KiB, 32KiB and 64KiB",
                self.page_size
            ));
        }
        if self.chunk_size.0 < page || self.chunk_size.0 > MOST_CHUNK {
            return Err(format!(
                "--chunk-size: {} is not between one page ({}) and {}",
                self.chunk_size,
                self.page_size,
                Bytes(MOST_CHUNK)
            ));
        }
        let survives = matches!(
            self.journal(),
            JournalMode::Wal | JournalMode::Delete | JournalMode::Truncate
        );
        if self.layout == ShareLayout::OneDatabase && !survives {
            return Err(format!(
                "--journal: {} would lose every upload of one database in a crash; take wal, delete or truncate",
                self.journal()
            ));
        }
        if self.checkpoint.0 < page {
            return Err("--checkpoint: less than one page".into());
        }
        if self.read_batch > 1024 || !(1..=256).contains(&self.connections) {
            return Err("--read-batch is 0 to 1024, --connections 1 to 256".into());
        }
        Ok(())
    }

    /// The journal of the file that uploads are written to. A new file that nobody sees before it
    /// is whole needs none.
    #[must_use]
    pub fn journal(&self) -> JournalMode {
        self.journal.unwrap_or(match self.layout {
            ShareLayout::FilePerShare => JournalMode::Off,
            ShareLayout::OneDatabase => JournalMode::Wal,
        })
    }

    /// The bytes of a row: the number next to what was asked that leaves no overflow page half
    /// empty.
    #[must_use]
    pub fn chunk(&self) -> u64 {
        filled(self.page_size.0, self.chunk_size.0)
    }

    /// Each option with what is effective, for people and for records.
    #[must_use]
    pub fn described(&self) -> Vec<(&'static str, String)> {
        vec![
            ("layout", self.layout.to_string()),
            ("page-size", self.page_size.to_string()),
            (
                "chunk-size",
                format!(
                    "{} asked, {} bytes fill their pages",
                    self.chunk_size,
                    self.chunk()
                ),
            ),
            ("journal", self.journal().to_string()),
            ("synchronous", self.synchronous.to_string()),
            ("checkpoint", self.checkpoint.to_string()),
            ("read-batch", self.read_batch.to_string()),
            ("connections", self.connections.to_string()),
            ("stored-size", self.stored_size.to_string()),
            ("downloads-index", self.downloads_index.to_string()),
            (
                "keep-deleted",
                humantime::format_duration(self.keep_deleted).to_string(),
            ),
        ]
    }
}

/// The bytes of a blob that fills its overflow pages, nearest to `asked`.
///
/// A row that does not fit its leaf keeps at least `M` bytes there and gives the rest to overflow
/// pages of `U - 4` bytes each (SQLite's file format, 1.6); `U` is the size of a page. What does
/// not fill the last one stays in the leaf while that is at most `U - 35` bytes, and beyond takes a
/// page of its own. A header of up to 6 bytes goes before a lone blob.
fn filled(page: u64, asked: u64) -> u64 {
    const HEADER: u64 = 6;
    let least = (page - 12) * 32 / 255 - 23;
    let overflow = page - 4;
    let pages = (asked.saturating_sub(least) + overflow / 2) / overflow;
    pages.max(1) * overflow + least - HEADER
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_read_back() {
        for word in JournalMode::WORDS {
            assert_eq!(JournalMode::parse(word).unwrap().to_string(), *word);
        }
        assert_eq!(Synchronous::parse("sometimes"), None);
        assert_eq!(ShareLayout::WORDS, ["file-per-share", "one-database"]);
    }

    #[test]
    fn a_row_fills_its_pages_and_is_near_what_was_asked() {
        for page in [4096, 8192, 16_384, 32_768, 65_536] {
            for asked in [page, 100_000, 262_144, 1 << 20, 4 << 20] {
                let asked = asked.max(page);
                let chunk = filled(page, asked);
                assert!(chunk.abs_diff(asked) <= page, "{page} {asked} {chunk}");
            }
        }
        assert_eq!(filled(65_536, 262_144), 270_321);
    }

    #[test]
    fn what_would_lose_uploads_is_refused() {
        let with = |layout, journal| ShareOptions {
            layout,
            journal,
            ..ShareOptions::default()
        };
        for journal in [JournalMode::Off, JournalMode::Memory] {
            assert!(
                with(ShareLayout::OneDatabase, Some(journal))
                    .check()
                    .is_err()
            );
            assert!(
                with(ShareLayout::FilePerShare, Some(journal))
                    .check()
                    .is_ok()
            );
        }
        let odd = ShareOptions {
            page_size: Bytes(5000),
            ..ShareOptions::default()
        };
        assert!(odd.check().unwrap_err().contains("--page-size"));
    }
}
