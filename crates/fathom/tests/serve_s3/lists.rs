//! Access control lists: closed where nobody asked for them, and then as far as they say.

use super::client::{Answer, Client, Request, Server};
use std::path::Path;

const KEYS: &str = r#"
[[key]]
access = "AKIATEST"
secret = "test-secret-key"
admin = true
[[key]]
access = "kim"
secret = "kim-secret-key"
[key.buckets]
"nothing-of-kim" = ["read"]
[[key]]
access = "lee"
secret = "lee-secret-key"
[key.buckets]
"nothing-of-lee" = ["read"]
"#;

/// Those who ask: an admin, two keys that were given nothing here, and nobody known.
struct Askers {
    root: Client,
    kim: Client,
    lee: Client,
}

impl Askers {
    fn of(server: &Server) -> Self {
        Self {
            root: server.client(),
            kim: server.client().with("kim", "kim-secret-key"),
            lee: server.client().with("lee", "lee-secret-key"),
        }
    }

    fn nobody(&mut self, method: &str, path: &str) -> Answer {
        self.root.try_send(&Request::new(method, path)).unwrap()
    }
}

fn serve(dir: &Path, more: &[&str]) -> (Server, Askers) {
    let keys = dir.join("keys.toml");
    std::fs::write(&keys, KEYS).unwrap();
    let data = dir.join("data");
    let mut args = vec!["--keys", keys.to_str().unwrap()];
    args.extend(["--data", data.to_str().unwrap()]);
    args.extend(more);
    let server = Server::start(&args);
    let askers = Askers::of(&server);
    (server, askers)
}

/// A server with a bucket in which lists count.
fn with_lists(dir: &Path) -> (Server, Askers) {
    let (server, mut askers) = serve(dir, &[]);
    let bucket = Request::new("PUT", "/bucket").header("x-amz-object-ownership", "ObjectWriter");
    askers.root.send(bucket).ok();
    (server, askers)
}

/// The statuses that nobody known and kim see of four requests.
type Seen = [(u16, u16); 4];

fn acl(path: &str, canned: &str) -> Request {
    Request::new("PUT", path).header("x-amz-acl", canned)
}

#[test]
fn there_are_no_lists_where_nobody_asked_for_them() {
    let dir = tempfile::tempdir().unwrap();
    let (_server, mut askers) = serve(dir.path(), &[]);
    let refused = |answer: Answer, code: &str| assert_eq!(answer.error(), (400, code.to_owned()));
    askers.root.call("PUT", "/bucket").ok();
    askers.root.put("/bucket/k", "bytes").ok();
    for path in ["/bucket?acl", "/bucket/k?acl", "/bucket/k", "/bucket/new"] {
        for canned in ["public-read", "public-read-write", "authenticated-read"] {
            let answer = askers.root.send(acl(path, canned));
            refused(answer, "AccessControlListNotSupported");
        }
        let granted = Request::new("PUT", path).header("x-amz-grant-read", "id=kim");
        refused(askers.root.send(granted), "AccessControlListNotSupported");
    }
    let made = askers.root.send(acl("/other", "public-read"));
    refused(made, "InvalidBucketAclWithObjectOwnership");
    // What says what is so anyway is taken, as other clients send it.
    askers
        .root
        .send(acl("/bucket/k?acl", "bucket-owner-full-control"))
        .ok();
    for (method, path) in [
        ("GET", "/bucket/k"),
        ("HEAD", "/bucket/k"),
        ("GET", "/bucket"),
        ("GET", "/bucket?acl"),
        ("PUT", "/bucket/k"),
        ("DELETE", "/bucket/k"),
    ] {
        assert_eq!(askers.nobody(method, path).status, 403, "{method} {path}");
        assert_eq!(askers.kim.call(method, path).status, 403, "{method} {path}");
    }
    // A bucket can be given lists, by who may do everything, and begins as closed as it was.
    let controls = "<OwnershipControls><Rule><ObjectOwnership>ObjectWriter</ObjectOwnership></Rule></OwnershipControls>";
    askers.root.put("/bucket?ownershipControls", controls).ok();
    assert_eq!(askers.nobody("GET", "/bucket/k").status, 403);
    assert_eq!(askers.kim.call("GET", "/bucket").status, 403);
    assert_eq!(askers.root.call("GET", "/bucket/k").ok().text(), "bytes");
}

#[test]
fn a_list_lets_in_whom_it_names_and_nobody_else() {
    let dir = tempfile::tempdir().unwrap();
    let (_server, mut askers) = with_lists(dir.path());
    askers.root.put("/bucket/k", "bytes").ok();
    // What is asked of the bucket and the object, and whether nobody known and kim may.
    let rows: [(&str, &str, Seen); 6] = [
        ("private", "private", [(403, 403); 4]),
        (
            "private",
            "public-read",
            [(200, 200), (403, 403), (403, 403), (403, 403)],
        ),
        (
            "private",
            "authenticated-read",
            [(403, 200), (403, 403), (403, 403), (403, 403)],
        ),
        (
            "public-read",
            "private",
            [(403, 403), (200, 200), (403, 403), (403, 403)],
        ),
        (
            "authenticated-read",
            "private",
            [(403, 403), (403, 200), (403, 403), (403, 403)],
        ),
        (
            "public-read-write",
            "private",
            [(403, 403), (200, 200), (200, 200), (403, 403)],
        ),
    ];
    for (bucket, object, expected) in rows {
        askers.root.send(acl("/bucket?acl", bucket)).ok();
        askers.root.send(acl("/bucket/k?acl", object)).ok();
        for ((method, path), expected) in [
            ("GET", "/bucket/k"),
            ("GET", "/bucket?list-type=2"),
            ("PUT", "/bucket/new"),
            ("DELETE", "/bucket/k"),
        ]
        .into_iter()
        .zip(expected)
        {
            let nobody = askers.nobody(method, path).status;
            let seen = (nobody, askers.kim.call(method, path).status);
            assert_eq!(seen, expected, "{method} {path} with {bucket} and {object}");
        }
        // The lists themselves, settings and versions are nobody's by them.
        for (method, path) in [
            ("GET", "/bucket?acl"),
            ("GET", "/bucket/k?acl"),
            ("GET", "/bucket?policy"),
            ("GET", "/bucket/k?tagging"),
            ("PUT", "/bucket?versioning"),
            ("DELETE", "/bucket"),
        ] {
            assert_eq!(askers.nobody(method, path).status, 403, "{method} {path}");
            assert_eq!(askers.kim.call(method, path).status, 403, "{method} {path}");
        }
        // Nobody known can own nothing, and so say no list.
        let listed = askers
            .root
            .try_send(&acl("/bucket/anonymous", "public-read"));
        assert_eq!(listed.unwrap().status, 403);
    }
}

#[test]
fn what_a_key_writes_by_a_list_is_its_own() {
    let dir = tempfile::tempdir().unwrap();
    let (_server, mut askers) = with_lists(dir.path());
    askers.root.put("/bucket/roots", "bytes").ok();
    let granted =
        Request::new("PUT", "/bucket?acl").header("x-amz-grant-write", "id=\"kim\", id=\"lee\"");
    askers.root.send(granted).ok();
    askers.kim.put("/bucket/kims", "bytes").ok();
    assert_eq!(askers.kim.call("GET", "/bucket/kims").ok().text(), "bytes");
    let list = askers.kim.call("GET", "/bucket/kims?acl").ok();
    assert_eq!(list.fields("ID"), ["kim", "kim"]);
    for (method, path) in [
        ("GET", "/bucket/kims"),
        ("DELETE", "/bucket/kims"),
        ("GET", "/bucket/kims?acl"),
        ("GET", "/bucket"),
    ] {
        assert_eq!(askers.lee.call(method, path).status, 403, "{method} {path}");
    }
    assert_eq!(askers.kim.call("DELETE", "/bucket/roots").status, 403);
    askers
        .kim
        .send(acl("/bucket/kims?acl", "authenticated-read"))
        .ok();
    askers.lee.call("GET", "/bucket/kims").ok();
    assert_eq!(askers.nobody("GET", "/bucket/kims").status, 403);
    // Lists do not go with what is copied.
    let copy = Request::new("PUT", "/bucket/copy").header("x-amz-copy-source", "/bucket/kims");
    askers.lee.send(copy).ok();
    assert_eq!(askers.kim.call("GET", "/bucket/copy").status, 403);
    askers.kim.call("DELETE", "/bucket/kims").ok();
    let strangers = Request::new("PUT", "/bucket/k").header("x-amz-grant-read", "id=max");
    let refused = askers.kim.send(strangers).error();
    assert_eq!(refused, (400, "InvalidArgument".to_owned()));
}

#[test]
fn a_version_has_a_list_of_its_own() {
    let dir = tempfile::tempdir().unwrap();
    let (_server, mut askers) = with_lists(dir.path());
    let on = "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>";
    askers.root.put("/bucket?versioning", on).ok();
    let mut put = |canned: &str| {
        let put = acl("/bucket/k", canned).body("bytes");
        askers.root.send(put).ok().headers["x-amz-version-id"].clone()
    };
    let (private, public, last) = (put("private"), put("public-read"), put("private"));
    for (version, status) in [(private, 403), (public.clone(), 200), (last, 403)] {
        let path = format!("/bucket/k?versionId={version}");
        assert_eq!(askers.nobody("GET", &path).status, status);
    }
    assert_eq!(askers.nobody("GET", "/bucket/k").status, 403);
    for version in ["", "null", "x", "ffffffffffffffffffffffffffffffff"] {
        let path = format!("/bucket/k?versionId={version}");
        let status = askers.nobody("GET", &path).status;
        assert!((400..404).contains(&status), "{version}: {status}");
    }
    let deleted = askers.nobody("DELETE", &format!("/bucket/k?versionId={public}"));
    assert_eq!(deleted.status, 403);
}

#[test]
fn denials_and_blocks_of_public_access_go_before_lists() {
    let dir = tempfile::tempdir().unwrap();
    let (server, mut askers) = with_lists(dir.path());
    askers
        .root
        .send(acl("/bucket?acl", "public-read-write"))
        .ok();
    askers
        .root
        .send(acl("/bucket/k", "public-read").body("bytes"))
        .ok();
    let denial = r#"{"Statement":{"Effect":"Deny","Principal":"*","Action":"s3:*","Resource":["arn:aws:s3:::bucket","arn:aws:s3:::bucket/*"]}}"#;
    let requests = [
        ("GET", "/bucket/k"),
        ("GET", "/bucket"),
        ("PUT", "/bucket/new"),
    ];
    let block = |what: &str| {
        format!(
            "<PublicAccessBlockConfiguration><{what}>true</{what}></PublicAccessBlockConfiguration>"
        )
    };
    for (path, document) in [
        ("/bucket?policy", denial.to_owned()),
        ("/bucket?publicAccessBlock", block("IgnorePublicAcls")),
    ] {
        askers.root.put(path, document).ok();
        for (method, path) in requests {
            assert_eq!(askers.nobody(method, path).status, 403, "{method} {path}");
            assert_eq!(askers.kim.call(method, path).status, 403, "{method} {path}");
        }
        askers.root.call("DELETE", path).ok();
        assert_eq!(askers.nobody("GET", "/bucket/k").status, 200);
    }
    askers
        .root
        .put("/bucket?publicAccessBlock", block("BlockPublicAcls"))
        .ok();
    for path in ["/bucket?acl", "/bucket/k?acl", "/bucket/other"] {
        let answer = askers.root.send(acl(path, "authenticated-read"));
        assert_eq!(answer.error(), (403, "AccessDenied".into()), "{path}");
    }
    assert_eq!(askers.nobody("GET", "/bucket/k").status, 200);
    // Lists are kept, and end with the ownership that has them.
    drop(server);
    let (_server, mut askers) = serve(dir.path(), &[]);
    assert_eq!(askers.nobody("GET", "/bucket/k").status, 200);
    let controls = "<OwnershipControls><Rule><ObjectOwnership>BucketOwnerEnforced</ObjectOwnership></Rule></OwnershipControls>";
    let refused = askers
        .root
        .put("/bucket?ownershipControls", controls)
        .error();
    assert_eq!(refused, (400, "InvalidBucketAclWithObjectOwnership".into()));
    askers.root.send(acl("/bucket?acl", "private")).ok();
    askers.root.put("/bucket?ownershipControls", controls).ok();
    for (method, path) in requests {
        assert_eq!(askers.nobody(method, path).status, 403, "{method} {path}");
    }
}

#[test]
fn object_ownership_is_of_buckets_that_say_nothing_of_it() {
    let dir = tempfile::tempdir().unwrap();
    let (server, mut askers) = serve(dir.path(), &["--object-ownership", "ObjectWriter"]);
    askers.root.send(acl("/listed", "public-read")).ok();
    assert_eq!(askers.nobody("GET", "/listed").status, 200);
    let enforced =
        Request::new("PUT", "/plain").header("x-amz-object-ownership", "BucketOwnerEnforced");
    askers.root.send(enforced).ok();
    let refused = askers.root.send(acl("/plain?acl", "public-read")).error();
    assert_eq!(refused, (400, "AccessControlListNotSupported".into()));
    // What a bucket was made with stays, whatever the server begins with later.
    drop(server);
    let (_server, mut askers) = serve(dir.path(), &[]);
    assert_eq!(askers.nobody("GET", "/listed").status, 200);
    askers.root.call("DELETE", "/listed?ownershipControls").ok();
    assert_eq!(askers.nobody("GET", "/listed").status, 403);
}
