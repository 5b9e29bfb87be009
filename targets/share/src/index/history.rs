//! The history of downloads.

use super::Index;
use crate::error::ShareResult;

/// One download.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DownloadRow {
    pub(crate) upload: String,
    pub(crate) at: u64,
    pub(crate) address: String,
    pub(crate) agent: String,
}

/// The latest downloads of an upload.
#[derive(Debug, Default)]
pub(crate) struct HistoryPage {
    pub(crate) downloads: Vec<DownloadRow>,
    /// Of all times.
    pub(crate) count: u64,
    /// From how many addresses they were.
    pub(crate) visitors: u64,
}

/// The most rows of a page.
const MOST_SHOWN: u64 = 500;

impl Index {
    /// Adds rows of downloads whose upload is still there.
    pub(crate) fn add_downloads(&self, rows: &[DownloadRow]) -> ShareResult<()> {
        self.jot(|transaction| {
            let mut insert = transaction.prepare_cached(
                "INSERT INTO download (upload, at, address, agent) SELECT ?1, ?2, ?3, ?4
                 WHERE EXISTS (SELECT 1 FROM upload WHERE id = ?1)",
            )?;
            for row in rows {
                insert.execute((&row.upload, row.at, &row.address, &row.agent))?;
            }
            Ok(())
        })
    }

    /// `unique` shows the latest of each address alone.
    pub(crate) fn history(&self, upload: &str, unique: bool) -> ShareResult<HistoryPage> {
        self.read(|connection| {
            let query = if unique {
                "SELECT upload, max(at), address, agent FROM download WHERE upload = ?1
                 GROUP BY address ORDER BY max(at) DESC LIMIT ?2"
            } else {
                "SELECT upload, at, address, agent FROM download WHERE upload = ?1
                 ORDER BY at DESC LIMIT ?2"
            };
            let mut query = connection.prepare_cached(query)?;
            let rows = query.query_map((upload, MOST_SHOWN), |row| {
                Ok(DownloadRow {
                    upload: row.get(0)?,
                    at: row.get(1)?,
                    address: row.get(2)?,
                    agent: row.get(3)?,
                })
            })?;
            let downloads = rows.collect::<rusqlite::Result<_>>()?;
            let (count, visitors) = connection
                .prepare_cached(
                    "SELECT count(*), count(DISTINCT address) FROM download WHERE upload = ?1",
                )?
                .query_row([upload], |row| Ok((row.get(0)?, row.get(1)?)))?;
            Ok(HistoryPage {
                downloads,
                count,
                visitors,
            })
        })
    }

    /// How often each of these was downloaded.
    pub(crate) fn download_counts(&self, uploads: &[&str]) -> ShareResult<Vec<u64>> {
        self.read(|connection| {
            let query = "SELECT count(*) FROM download WHERE upload = ?1";
            let mut query = connection.prepare_cached(query)?;
            let count = |id: &&str| Ok(query.query_row([id], |row| row.get(0))?);
            uploads.iter().map(count).collect()
        })
    }
}
