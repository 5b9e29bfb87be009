//! Doors for the fuzz targets in `fuzz/`: a server without sockets, and readers that are private
//! otherwise.

use crate::acl::{Known, Ownership, Wanted};
use crate::front::Front;
use crate::keyring::{Keyring, KeyringError};
use crate::pages::Account;
use crate::policy::{Circumstances, Policy, Verdict};
use crate::server::{ServerOptions, front};
use crate::storage::{NewBucket, PutFinish, StorageOptions, StorageResult, open_memory, records};
use house::{Ending, Http, Peer, Wakes};
use misbehave::Misbehaviour;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

const LOCAL: Ipv4Addr = Ipv4Addr::LOCALHOST;

/// A server in memory that is spoken to in bytes. Its time passes at once where it waits.
pub struct InMemory {
    runtime: tokio::runtime::Runtime,
    front: Arc<Http<Front>>,
}

impl InMemory {
    /// A server with one key, and a bucket `bucket` with the object `k`.
    ///
    /// # Errors
    /// The key is none.
    ///
    /// # Panics
    /// There are no threads, or no memory.
    pub fn new(
        access: &str,
        secret: &str,
        misbehaviour: Option<Misbehaviour>,
    ) -> Result<Self, KeyringError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build();
        let store = open_memory(StorageOptions::new(Arc::new(|| 1_000_000)))
            .expect("a store in memory needs nothing");
        let object = || -> StorageResult<()> {
            store.create_bucket("bucket", NewBucket::default())?;
            let mut put = store.begin_put("bucket", "k")?;
            put.write(b"0123456789")?;
            put.finish(PutFinish::default()).map(drop)
        };
        object().expect("an empty store takes an object");
        let mut options = ServerOptions {
            listen: SocketAddr::new(IpAddr::V4(LOCAL), 0),
            keyring: Keyring::single(access, secret)?,
            region: "us-east-1".to_owned(),
            tls: None,
            misbehaviour,
            threads: None,
            clock: Arc::new(|| 1_000_000),
            log: Arc::new(|_| ()),
            requests: None,
            idle: Duration::from_secs(60),
            lifecycle_day: Duration::from_secs(86_400),
            ownership: Ownership::ObjectWriter,
        };
        let runtime = runtime.expect("threads can be started");
        let within = runtime.enter();
        let account = Account::new(&mut options, &store);
        let front = Arc::new(front(&mut options, &account, Wakes::of_runtime()));
        drop(within);
        Ok(Self { runtime, front })
    }

    /// What is answered to these bytes on one connection until the server closes it.
    ///
    /// # Panics
    /// The server did.
    pub fn exchange(&self, bytes: &[u8]) -> Vec<u8> {
        let front = Arc::clone(&self.front);
        let (_goes_on, ending) = Ending::new();
        self.runtime.block_on(async move {
            let (near, far) = tokio::io::duplex(64 << 10);
            let peer = Peer {
                address: LOCAL.into(),
                tls: false,
            };
            let served = tokio::spawn(front.speak(far, peer, ending));
            let (mut from, mut to) = tokio::io::split(near);
            let mut heard = Vec::new();
            // The server may have heard enough before all is said, and break off.
            let (_, _) = tokio::join!(to.write_all(bytes), from.read_to_end(&mut heard));
            served.await.expect("a connection ends without a panic");
            heard
        })
    }
}

/// Reads a bucket's policy and decides by it for somebody and for nobody; `None` where it is not
/// taken.
pub fn policy(text: &[u8], query: &str) -> Option<[bool; 3]> {
    let policy = Policy::parse("bucket", text).ok()?;
    let headers = http::HeaderMap::new();
    let peer = Some(Peer {
        address: LOCAL.into(),
        tls: false,
    });
    let circumstances = Circumstances {
        peer,
        query: Some(query),
        headers: &headers,
        tags: &|| vec![("t".to_owned(), "v".to_owned())],
        now_ms: 1_000_000,
    };
    let allows = |asker, action, key| {
        policy.decide(asker, action, ("bucket", key), &circumstances) == Verdict::Allow
    };
    Some([
        allows(None, "s3:GetObject", Some("k")),
        allows(Some("AKIA"), "s3:ListBucket", None),
        policy.is_public(),
    ])
}

/// Reads a form whose bytes come in pieces of these lengths: its fields, the count of its file's
/// bytes, and whether it was whole.
pub fn form(boundary: &str, bytes: &[u8], piece: usize) -> (Vec<(String, String)>, u64, bool) {
    let mut parser = crate::forms::Parser::new(boundary);
    let (mut fields, mut size) = (Vec::new(), 0);
    for piece in bytes.chunks(piece.max(1)) {
        parser.feed(piece);
        loop {
            match parser.next() {
                Ok(crate::forms::Event::Field { name, value }) => fields.push((name, value)),
                Ok(crate::forms::Event::FileBegins { name }) => {
                    fields.push(("file".to_owned(), name))
                }
                Ok(crate::forms::Event::FileData(bytes)) => size += bytes.len() as u64,
                Ok(crate::forms::Event::FileEnds) => return (fields, size, true),
                Ok(crate::forms::Event::Starving) => break,
                Err(_) => return (fields, size, false),
            }
        }
    }
    (fields, size, false)
}

/// The list that headers ask for, as its bytes, where they ask for one that there can be.
pub fn list(headers: &[(&str, &[u8])]) -> Option<Vec<u8>> {
    let mut map = http::HeaderMap::new();
    for (name, value) in headers {
        let name = http::HeaderName::try_from(*name).ok()?;
        map.append(name, http::HeaderValue::from_bytes(value).ok()?);
    }
    let keyring = Keyring::single("kim", "kim-secret").ok()?;
    let known = Known {
        keyring: &keyring,
        owner: "owner",
    };
    let wanted = Wanted::of(&map, known).ok()??;
    Some(records::bucket_acl(&wanted.list("owner", "bucket-owner")).to_vec())
}

/// Reads bytes as one kind of record after another, and gives what was read back as bytes.
pub fn records(bytes: &[u8]) -> Vec<Vec<u8>> {
    let read = [
        records::BucketRecord::decode(bytes).map(|record| record.encode()),
        records::ObjectRecord::decode(bytes).map(|record| record.encode()),
        records::Layout::decode(bytes).map(|record| record.encode()),
        records::UploadRecord::decode(bytes).map(|record| record.encode()),
        records::PartRecord::decode(bytes).map(|record| record.encode()),
        records::read_bucket_acl(bytes).map(|acl| records::bucket_acl(&acl)),
    ];
    drop(records::listed("k", bytes));
    read.into_iter()
        .flatten()
        .map(|bytes| bytes.to_vec())
        .collect()
}
