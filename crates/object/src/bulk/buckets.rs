//! Which servers of a target answer, and the bucket that each of them has or is made to have.

use super::{Bulk, interrupted, patiently};
use crate::LoadError;
use crate::client::Client;
use crate::connection::{HttpVersion, NO_HTTP2, Peer, Stream};
use crate::failure::Failure;
use crate::http2;
use crate::verbs::Call;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::LocalSet;

/// Between two questions for a bucket that others empty.
const BUCKET_PAUSE: Duration = Duration::from_millis(100);

/// What a store says that has no such bucket.
const NO_BUCKET: &str = "NoSuchBucket";

/// What a store says of a bucket that holds something.
const NOT_EMPTY: &str = "BucketNotEmpty";

impl Bulk {
    /// Finds out which servers answer, and works with these alone; makes sure that the bucket is
    /// there. Those that do not answer are told.
    ///
    /// # Errors
    /// No server answers, or one that does has no such bucket and makes none: buckets that were made on
    /// others before are there to be removed.
    pub(crate) fn find_servers(
        &mut self,
        bucket: Option<&String>,
        is_made_by_another: bool,
    ) -> Result<Vec<String>, LoadError> {
        let (mut alive, mut dead) = (Vec::new(), Vec::new());
        let peers = Arc::clone(&self.peers);
        // All are asked before one makes a bucket.
        let asked = peers.iter().filter(|_| bucket.is_some());
        let heads = asked.map(|peer| self.head_of(peer));
        let heads: Vec<Result<u16, Failure>> = heads.collect::<Result<_, LoadError>>()?;
        let is_there = heads.iter().any(|head| matches!(head, Ok(200..=299)));
        let is_known = is_there || is_made_by_another;
        let mut heads = heads.into_iter();
        let mut is_asked_for = false;
        for peer in peers.iter() {
            let head = heads.next();
            let lacked = matches!(head, Some(Ok(404)));
            let found = match (bucket, head) {
                // One that another was asked to make may be this one's, too.
                (Some(name), Some(_)) if lacked && is_asked_for => {
                    self.ensure_bucket(peer, name, self.head_of(peer)?, is_known)?
                }
                (Some(name), Some(head)) => self.ensure_bucket(peer, name, head, is_known)?,
                (_, _) => self.reach(peer).map(|()| false),
            };
            is_asked_for |= lacked;
            if matches!(found, Ok(true)) {
                self.made_buckets.push(peer.clone());
            } else if lacked && !is_known {
                self.lacked.push(peer.clone());
            }
            match found {
                Ok(_) => alive.push(peer.clone()),
                Err(failure) => dead.push((peer.authority.clone(), failure)),
            }
        }
        if alive.is_empty() {
            let (address, failure) = &dead[0];
            return Err(unreachable_target(address, failure));
        }
        self.peers = Arc::new(alive);
        Ok(dead
            .into_iter()
            .map(|(address, failure)| {
                let what = &failure.what;
                match failure.is_answered() {
                    true => format!("{address} is left out: it answered {what} before the load"),
                    false => format!("{address} did not answer before the load: {what}"),
                }
            })
            .collect())
    }

    /// Whether a connection to a server can be opened, over which nothing is asked.
    fn reach(&self, peer: &Peer) -> Result<(), Failure> {
        let thread = self.thread_to(Call::Head, Arc::new(vec![peer.clone()]));
        LocalSet::new().block_on(&self.runtime, async {
            match self.settings.version {
                HttpVersion::One => Stream::connect(peer)
                    .await
                    .map(drop)
                    .map_err(|error| Failure::connect(&error)),
                HttpVersion::Two { .. } => http2::reach(peer, &thread).await,
            }
        })
    }

    /// The status with which one server answers whether it has the bucket.
    fn head_of(&self, peer: &Peer) -> Result<Result<u16, Failure>, LoadError> {
        let thread = self.thread_to(Call::Head, Arc::new(vec![peer.clone()]));
        let head = LocalSet::new().block_on(&self.runtime, async {
            patiently(Client::new(&thread, 0).bucket("HEAD")).await
        });
        let head = head.ok_or_else(interrupted)?;
        Ok(head.map(|(status, _)| status))
    }

    /// Makes sure that one server has the bucket, by what it has answered; whether it was made now. One that is known
    /// elsewhere is made only where the store itself has none.
    fn ensure_bucket(
        &self,
        peer: &Peer,
        name: &str,
        head: Result<u16, Failure>,
        is_known: bool,
    ) -> Result<Result<bool, Failure>, LoadError> {
        let status = match head {
            Ok(status) => status,
            Err(failure) => return Ok(Err(failure)),
        };
        let address = &peer.authority;
        let thread = self.thread_to(Call::Head, Arc::new(vec![peer.clone()]));
        LocalSet::new().block_on(&self.runtime, async {
            let mut client = Client::new(&thread, 0);
            match status {
                200..=299 => return Ok(Ok(false)),
                404 if is_known => {
                    // What stands before a store knows nothing of its buckets, and an answer to HEAD says not who gives it.
                    let (status, code) = match patiently(client.bucket("GET")).await.ok_or_else(interrupted)? {
                        Ok((200..=299, _)) => return Ok(Ok(false)),
                        Ok(answer) => answer,
                        Err(failure) => return Ok(Err(failure)),
                    };
                    if code != NO_BUCKET {
                        return Ok(Err(Failure::status(status, &[])));
                    }
                }
                404 => {}
                301 | 307 => return Err(LoadError::Target(format!("bucket {name} is in another region: set AWS_REGION to it"))),
                400 | 401 | 403 => {
                    // An answer to HEAD has no words.
                    let answer = patiently(client.bucket("GET")).await.ok_or_else(interrupted)?;
                    let code = answer.map(|(_, code)| code).unwrap_or_default();
                    let space = if code.is_empty() { "" } else { " " };
                    return Err(LoadError::Asked(format!(
                        "{address} refuses access to bucket {name} (HTTP {status}{space}{code}): check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION and the clock of this machine"
                    )));
                }
                // Others may be well.
                500.. => return Ok(Err(Failure::status(status, &[]))),
                other => return Err(LoadError::Target(format!("{address} answers HTTP {other} when asked for bucket {name}"))),
            }
            let failure = match patiently(client.bucket("PUT")).await.ok_or_else(interrupted)? {
                Ok((200..=299, _)) => return Ok(Ok(true)),
                Ok((status, code)) => Failure { code, ..Failure::status(status, &[]) },
                Err(failure) => failure,
            };
            // Whoever did not say no may have made it.
            if failure.is_in_doubt()
                && let Ok((200..=299, _)) = patiently(client.bucket("HEAD")).await.ok_or_else(interrupted)?
            {
                return Ok(Ok(true));
            }
            match failure.is_answered() {
                true => Err(LoadError::Target(format!("bucket {name} cannot be made: {} {}", failure.what, failure.code).trim_end().to_owned())),
                false => Ok(Err(failure)),
            }
        })
    }

    pub(crate) fn made_a_bucket(&self) -> bool {
        !self.made_buckets.is_empty()
    }

    /// Removes the bucket where this load made it; where it is still there, by the reason. One that is
    /// not empty is asked for again, for so long, because others may be about to empty it.
    pub(crate) fn remove_bucket(&self, patience: Duration) -> BTreeMap<String, Vec<String>> {
        let bucket = self.settings.told_path(&self.settings.bucket_path());
        let mut left: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for peer in &self.made_buckets {
            let Err(why) = self.remove_bucket_of(peer, patience) else {
                continue;
            };
            let mut others = self.lacked.iter();
            if !others.any(|peer| self.remove_bucket_of(peer, patience).is_ok()) {
                let place = format!("{}{bucket}", peer.authority);
                left.entry(why).or_default().push(place);
            }
        }
        left
    }

    /// # Errors
    /// Why it is there still, or may be.
    fn remove_bucket_of(&self, peer: &Peer, patience: Duration) -> Result<(), String> {
        let thread = self.thread_to(Call::Delete, Arc::new(vec![peer.clone()]));
        LocalSet::new().block_on(&self.runtime, async {
            let mut client = Client::new(&thread, 0);
            let mut tries = patience.as_millis() / BUCKET_PAUSE.as_millis();
            loop {
                let answer = patiently(client.bucket("DELETE")).await;
                if tries == 0 || !matches!(answer, Some(Ok((409, _)))) {
                    return match answer {
                        Some(Ok((200..=299, _))) => Ok(()),
                        Some(Ok((404, code))) if code == NO_BUCKET => Ok(()),
                        Some(Ok((409, code))) if ["", NOT_EMPTY].contains(&code.as_str()) => {
                            Err("it holds something else".to_owned())
                        }
                        Some(Ok((status, code))) => Err(format!("the server says {status} {code}")
                            .trim_end()
                            .to_owned()),
                        Some(Err(failure)) => Err(failure.what),
                        None => Err("a second signal came".to_owned()),
                    };
                }
                tries -= 1;
                let _a_second_signal_ends_it = patiently(tokio::time::sleep(BUCKET_PAUSE)).await;
            }
        })
    }
}

/// The message when nobody answers.
fn unreachable_target(address: &str, failure: &Failure) -> LoadError {
    let what = &failure.what;
    if what.contains(NO_HTTP2) {
        return LoadError::Asked(format!(
            "{address}: {what}; leave --http2 out, or name an endpoint that speaks it"
        ));
    }
    if what.contains("certificate") {
        return LoadError::Asked(format!(
            "{address}: {what}; name the certificate of the server, or of its authority, with --cacert, or believe anybody with --insecure"
        ));
    }
    if failure.is_answered() {
        return LoadError::Target(format!(
            "{address} answers {what}; is it still starting, or is nothing behind it?"
        ));
    }
    LoadError::Target(format!(
        "cannot reach {address}: {what}; is the server running, and is the target right?"
    ))
}
