//! Who is logged in.

use super::Index;
use crate::error::ShareResult;

/// One login, by the digest of its token: who reads the database cannot log in with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SessionRow {
    pub(crate) token: [u8; 32],
    pub(crate) made: u64,
    pub(crate) expires: u64,
    pub(crate) address: String,
    pub(crate) agent: String,
}

impl Index {
    pub(crate) fn add_session(&self, session: &SessionRow) -> ShareResult<()> {
        self.write(|transaction| {
            // Those that are over go when another comes.
            transaction.execute("DELETE FROM session WHERE expires <= ?1", [session.made])?;
            transaction.execute(
                "INSERT INTO session VALUES (?1, ?2, ?3, ?4, ?5)",
                (
                    session.token,
                    session.made,
                    session.expires,
                    &session.address,
                    &session.agent,
                ),
            )?;
            Ok(())
        })
    }

    pub(crate) fn remove_session(&self, token: &[u8; 32]) -> ShareResult<()> {
        self.write(|transaction| {
            transaction.execute("DELETE FROM session WHERE token = ?1", [token])?;
            Ok(())
        })
    }

    pub(crate) fn remove_all_sessions(&self) -> ShareResult<()> {
        self.write(|transaction| {
            transaction.execute("DELETE FROM session", [])?;
            Ok(())
        })
    }

    pub(crate) fn sessions(&self) -> ShareResult<Vec<SessionRow>> {
        self.read(|connection| {
            let mut query = connection.prepare(
                "SELECT token, made, expires, address, agent FROM session ORDER BY made",
            )?;
            let rows = query.query_map([], |row| {
                Ok(SessionRow {
                    token: row.get(0)?,
                    made: row.get(1)?,
                    expires: row.get(2)?,
                    address: row.get(3)?,
                    agent: row.get(4)?,
                })
            })?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
    }
}
