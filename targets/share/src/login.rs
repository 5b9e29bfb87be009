//! Who may do everything: whoever knows the secret, and then whoever shows the token of a session.
//!
//! The secret is kept as Argon2id alone. Guessing is slow three times: by the hash, one at a time,
//! and after failures each address waits.

use crate::error::ShareResult;
use crate::index::SessionRow;
use crate::store::ShareStore;
use crate::times::DAY;
use crate::token;
use argon2::{Algorithm, Argon2, Params, Version};
use http::HeaderMap;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Semaphore;

/// How long a session lasts.
pub(crate) const SESSION: u64 = 30 * DAY;
/// The most sessions; beyond them the oldest ends.
const MOST_SESSIONS: usize = 1000;
/// Failures of an address after which it waits.
const FREE_FAILURES: u32 = 3;
/// The longest wait after a failure, in milliseconds.
const LONGEST_WAIT: u64 = 300_000;
/// When the failures of an address are forgotten.
const FORGOTTEN: u64 = 3_600_000;
/// The most addresses whose failures are known.
const MOST_ADDRESSES: usize = 10_000;

/// Memory in KiB and passes of the hash: as hard as the 19 MiB and 2 passes that OWASP asks for, in
/// less memory.
const HARDNESS: (u32, u32) = (12 << 10, 3);

/// How a login ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LoginOutcome {
    /// The token of the session.
    In(String),
    Wrong,
    /// This address has to wait for so many milliseconds.
    Wait(u64),
}

#[derive(Debug, Clone, Copy)]
struct Failed {
    times: u32,
    last: u64,
}

impl Failed {
    /// How long after the last failure nothing is tried.
    fn wait(self) -> u64 {
        match self.times.checked_sub(FREE_FAILURES) {
            Some(more) => (1000u64 << more.min(20)).min(LONGEST_WAIT),
            None => 0,
        }
    }
}

/// The logins of one server.
pub(crate) struct Logins {
    store: Arc<ShareStore>,
    salt: [u8; 16],
    hash: [u8; 32],
    sessions: Mutex<BTreeMap<[u8; 32], SessionRow>>,
    failures: Mutex<BTreeMap<IpAddr, Failed>>,
    /// One guess is checked at a time, so that many need no more memory than one.
    turn: Semaphore,
}

fn hash(secret: &str, salt: &[u8]) -> [u8; 32] {
    let (memory, passes) = HARDNESS;
    let params = Params::new(memory, passes, 1, Some(32)).expect("these are within the bounds");
    let mut out = [0; 32];
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
        .hash_password_into(secret.as_bytes(), salt, &mut out)
        .expect("salt and output have lengths that the algorithm takes");
    out
}

fn guarded<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whoever has a network of IPv6 has 2^64 addresses of it.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let segments = address.segments();
            let [a, b, c, d, ..] = segments;
            std::net::Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
        v4 => v4,
    }
}

impl Logins {
    /// Sessions of before go on where the secret is the same.
    pub(crate) fn open(store: Arc<ShareStore>, secret: &str) -> ShareResult<Self> {
        let kept: Option<(Vec<u8>, Vec<u8>)> = store
            .index
            .setting("secret_salt")?
            .zip(store.index.setting("secret_hash")?);
        let known = kept.and_then(|(salt, kept)| {
            let salt = <[u8; 16]>::try_from(salt).ok()?;
            let found = hash(secret, &salt);
            token::same(&found, &kept).then_some((salt, found))
        });
        let (salt, hash) = match known {
            Some(known) => known,
            None => {
                store.index.remove_all_sessions()?;
                let salt = sys::random_bits().to_ne_bytes();
                let hash = hash(secret, &salt);
                let values = [
                    ("secret_salt", salt.to_vec()),
                    ("secret_hash", hash.to_vec()),
                ];
                store.index.set(&values)?;
                (salt, hash)
            }
        };
        let sessions = store.index.sessions()?;
        let sessions = sessions.into_iter().map(|row| (row.token, row)).collect();
        Ok(Self {
            store,
            salt,
            hash,
            sessions: Mutex::new(sessions),
            failures: Mutex::default(),
            turn: Semaphore::new(1),
        })
    }

    /// Whether this is the secret. `Err` where the address has to wait, with milliseconds.
    pub(crate) async fn is_secret(&self, guess: &str, from: IpAddr, now: u64) -> Result<bool, u64> {
        let from = network(from);
        let _turn = self.turn.acquire().await;
        if let Some(failed) = guarded(&self.failures).get(&from) {
            let until = failed.last.saturating_add(failed.wait());
            if now < until {
                return Err(until - now);
            }
        }
        let (guess, salt) = (guess.to_owned(), self.salt);
        let work = tokio::task::spawn_blocking(move || hash(&guess, &salt));
        let right = work
            .await
            .is_ok_and(|found| token::same(&found, &self.hash));
        let mut failures = guarded(&self.failures);
        if right {
            failures.remove(&from);
            return Ok(true);
        }
        failures.retain(|_, failed| now.saturating_sub(failed.last) < FORGOTTEN);
        if failures.len() >= MOST_ADDRESSES {
            let oldest = failures.iter().min_by_key(|(_, failed)| failed.last);
            if let Some(address) = oldest.map(|(address, _)| *address) {
                failures.remove(&address);
            }
        }
        let failed = failures.entry(from).or_insert(Failed {
            times: 0,
            last: now,
        });
        (failed.times, failed.last) = (failed.times.saturating_add(1), now);
        Ok(false)
    }

    /// Begins a session for whoever knows the secret.
    pub(crate) async fn log_in(
        &self,
        guess: &str,
        from: IpAddr,
        agent: &str,
        now: u64,
    ) -> ShareResult<LoginOutcome> {
        match self.is_secret(guess, from, now).await {
            Err(wait) => return Ok(LoginOutcome::Wait(wait)),
            Ok(false) => return Ok(LoginOutcome::Wrong),
            Ok(true) => {}
        }
        let secret = token::secret();
        let session = SessionRow {
            token: token::digest(&secret),
            made: now,
            expires: now + SESSION,
            address: from.to_string(),
            agent: agent.chars().take(200).collect(),
        };
        let (store, row) = (Arc::clone(&self.store), session.clone());
        crate::blocking(move || store.index.add_session(&row)).await?;
        let too_many = {
            let mut sessions = guarded(&self.sessions);
            sessions.retain(|_, session| now < session.expires);
            sessions.insert(session.token, session);
            let oldest = sessions.values().min_by_key(|session| session.made);
            oldest
                .filter(|_| sessions.len() > MOST_SESSIONS)
                .map(|session| session.token)
        };
        if let Some(token) = too_many {
            self.end(token).await?;
        }
        Ok(LoginOutcome::In(secret))
    }

    /// Which session a token is of, if any.
    pub(crate) fn session(&self, secret: &str, now: u64) -> Option<[u8; 32]> {
        let token = token::digest(secret);
        let sessions = guarded(&self.sessions);
        let session = sessions.get(&token)?;
        (now < session.expires).then_some(token)
    }

    /// Ends a session: its token is worth nothing from here on.
    pub(crate) async fn end(&self, token: [u8; 32]) -> ShareResult<()> {
        guarded(&self.sessions).remove(&token);
        let store = Arc::clone(&self.store);
        crate::blocking(move || store.index.remove_session(&token)).await
    }

    /// Ends all sessions but one.
    pub(crate) async fn end_others(&self, but: [u8; 32]) -> ShareResult<()> {
        let others: Vec<[u8; 32]> = guarded(&self.sessions)
            .keys()
            .filter(|token| **token != but)
            .copied()
            .collect();
        for token in others {
            self.end(token).await?;
        }
        Ok(())
    }

    /// The sessions that last, the latest first.
    pub(crate) fn sessions(&self, now: u64) -> Vec<SessionRow> {
        let sessions = guarded(&self.sessions);
        let mut sessions: Vec<SessionRow> = sessions
            .values()
            .filter(|session| now < session.expires)
            .cloned()
            .collect();
        sessions.sort_by_key(|session| std::cmp::Reverse(session.made));
        sessions
    }
}

/// Whether a browser sends this for a page of somebody else. Such a page may be of the same site (a
/// neighbour's port or subdomain), and then its requests have the cookie, `SameSite` or not.
pub(crate) fn is_foreign(headers: &HeaderMap) -> bool {
    let mut from = headers.get_all("sec-fetch-site").iter();
    from.any(|from| from != "same-origin" && from != "none")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::ShareOptions;
    use http::HeaderValue;

    fn logins(dir: &std::path::Path, secret: &str) -> Logins {
        let (store, _) = ShareStore::attach(&dir.join("x.db"), ShareOptions::default()).unwrap();
        Logins::open(Arc::new(store), secret).unwrap()
    }

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[tokio::test]
    async fn guesses_of_one_address_wait_longer_and_longer_and_others_do_not() {
        let dir = tempfile::tempdir().unwrap();
        let logins = logins(dir.path(), "s");
        let (bad, good) = (address("192.0.2.1"), address("192.0.2.2"));
        let mut now = 1_000_000;
        for wait in [0, 0, 0, 1000, 2000, 4000] {
            if wait > 0 {
                assert_eq!(
                    logins.is_secret("s", bad, now).await,
                    Err(wait),
                    "even the secret waits"
                );
                now += wait;
            }
            assert_eq!(logins.is_secret("x", bad, now).await, Ok(false));
        }
        assert_eq!(logins.is_secret("s", good, now).await, Ok(true));
        assert_eq!(logins.is_secret("s", bad, now + 8000).await, Ok(true));
        assert_eq!(
            logins.is_secret("x", bad, now + 8000).await,
            Ok(false),
            "who knew it begins anew"
        );
        for host in 0..4 {
            let from = address(&format!("2001:db8::{host}"));
            assert_eq!(
                logins.is_secret("x", from, now).await.is_ok(),
                host < 3,
                "one network is one guesser"
            );
        }
    }

    #[tokio::test]
    async fn a_session_outlives_the_server_and_ends_when_it_is_revoked_or_the_secret_changes() {
        let dir = tempfile::tempdir().unwrap();
        let now = 5_000;
        let first = logins(dir.path(), "s");
        let from = address("::1");
        let mut tokens = Vec::new();
        for _ in 0..3 {
            let outcome = first.log_in("s", from, "agent", now).await.unwrap();
            let LoginOutcome::In(token) = outcome else {
                panic!("{outcome:?}")
            };
            tokens.push(token);
        }
        first
            .end(first.session(&tokens[0], now).unwrap())
            .await
            .unwrap();
        assert_eq!(first.session(&tokens[0], now), None);
        drop(first);
        let again = logins(dir.path(), "s");
        assert_eq!(again.sessions(now).len(), 2);
        let mine = again.session(&tokens[1], now).unwrap();
        assert_eq!(again.session(&tokens[1], now + SESSION), None);
        again.end_others(mine).await.unwrap();
        assert_eq!(again.session(&tokens[2], now), None);
        drop(again);
        assert_eq!(logins(dir.path(), "other").session(&tokens[1], now), None);
    }

    #[test]
    fn a_request_that_a_page_of_somebody_else_makes_is_foreign_and_one_of_curl_is_not() {
        let asked = |said: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for said in said {
                headers.append("sec-fetch-site", HeaderValue::from_static(said));
            }
            is_foreign(&headers)
        };
        for own in [&[][..], &["same-origin"], &["none"]] {
            assert!(!asked(own), "{own:?}");
        }
        for foreign in [
            &["cross-site"][..],
            &["same-site"],
            &["none", "same-site"],
            &["what is this"],
        ] {
            assert!(asked(foreign), "{foreign:?}");
        }
    }
}
