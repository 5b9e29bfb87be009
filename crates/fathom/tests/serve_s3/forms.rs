//! Objects by POST: what a page in a browser sends.

use super::client::{Answer, Client, Request, Server};
use super::memory;
use std::io::{Read, Write};
use std::net::TcpStream;

const KEY: &str = r#"{"bucket":"bucket"},["starts-with","$key","form/"]"#;

fn field(name: &str, value: &str) -> String {
    format!("--edge\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
}

/// A form up to the bytes of its file.
fn head(fields: &[(String, String)], file: &str) -> String {
    let fields: String = fields
        .iter()
        .map(|(name, value)| field(name, value))
        .collect();
    format!(
        "{fields}--edge\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{file}\"\r\n\r\n"
    )
}

fn pairs(fields: &[(&str, &str)]) -> Vec<(String, String)> {
    fields
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

/// Sends a form without any header that signs it.
fn post(server: &Server, fields: &[(String, String)], bytes: &str) -> Answer {
    let body = format!(
        "{}{bytes}\r\n--edge\r\nContent-Disposition: form-data; name=\"late\"\r\n\r\nx\r\n--edge--\r\n",
        head(fields, "C:\\own\\a b.txt")
    );
    let line = format!(
        "POST /bucket HTTP/1.1\r\nhost: {}\r\ncontent-type: multipart/form-data; boundary=edge\r\ncontent-length: {}\r\n\r\n",
        server.address,
        body.len()
    );
    server
        .client()
        .exchange(&[line.as_bytes(), body.as_bytes()].concat(), false)
        .unwrap()
}

fn signed(client: &Client, conditions: &str, fields: &[(&str, &str)]) -> Vec<(String, String)> {
    let mut all = client.signed_form(conditions);
    all.extend(pairs(fields));
    all
}

#[test]
fn a_form_makes_the_object_that_it_describes() {
    let (server, mut client) = memory();
    let conditions = format!(
        r#"{KEY},["starts-with","$Content-Type","text/"],["eq","$x-amz-meta-of","me"],["starts-with","$tagging",""],["content-length-range",1,100]"#
    );
    let tags = "<Tagging><TagSet><Tag><Key>a b</Key><Value>1 + 2</Value></Tag></TagSet></Tagging>";
    let fields = [
        ("Key", "form/${filename}"),
        ("Content-Type", "text/x"),
        ("x-amz-meta-of", "me"),
        ("tagging", tags),
    ];
    let made = post(&server, &signed(&client, &conditions, &fields), "the bytes");
    assert_eq!((made.status, made.text().as_str()), (204, ""));
    assert_eq!(
        made.headers["location"],
        format!("http://{}/bucket/form/a%20b.txt", server.address)
    );
    let got = client
        .send(Request {
            path: "/bucket/form/a b.txt".into(),
            ..Request::new("GET", "/")
        })
        .ok();
    assert_eq!(got.text(), "the bytes");
    assert_eq!(
        (
            got.headers["content-type"].as_str(),
            got.headers["x-amz-meta-of"].as_str()
        ),
        ("text/x", "me")
    );
    assert_eq!(
        (
            &got.headers["etag"],
            got.headers["x-amz-tagging-count"].as_str()
        ),
        (&made.headers["etag"], "1")
    );
    let of = Request {
        path: "/bucket/form/a b.txt".into(),
        ..Request::new("GET", "/?tagging")
    };
    let tagging = client.send(of).ok();
    assert_eq!(
        (tagging.fields("Key"), tagging.fields("Value")),
        (vec!["a b".to_owned()], vec!["1 + 2".to_owned()])
    );
}

#[test]
fn a_form_is_answered_as_it_asks() {
    let (server, client) = memory();
    let asking = |name: &str, value: &str| {
        let conditions = format!(r#"{KEY},["starts-with","${name}",""]"#);
        post(
            &server,
            &signed(&client, &conditions, &[("key", "form/k"), (name, value)]),
            "bytes",
        )
    };
    let created = asking("success_action_status", "201");
    assert_eq!(
        (
            created.status,
            created.fields("Key"),
            created.fields("Bucket")
        ),
        (201, vec!["form/k".to_owned()], vec!["bucket".to_owned()])
    );
    assert_eq!(
        created.fields("Location"),
        [format!("http://{}/bucket/form/k", server.address)]
    );
    assert!(
        created
            .text()
            .contains("<PostResponse xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">")
    );
    assert_eq!(
        (
            asking("success_action_status", "200").status,
            asking("success_action_status", "404").status
        ),
        (200, 204)
    );
    let redirected = asking("success_action_redirect", "http://page/?done=1");
    let etag = redirected.headers["etag"].trim_matches('"').to_owned();
    assert_eq!(redirected.status, 303);
    assert_eq!(
        redirected.headers["location"],
        format!("http://page/?done=1&bucket=bucket&key=form/k&etag=%22{etag}%22")
    );
    assert_eq!(
        asking("success_action_redirect", "not an address").status,
        204
    );
}

#[test]
#[expect(
    clippy::too_many_lines,
    reason = "to be divided when it is changed next"
)]
fn a_form_that_its_policy_does_not_allow_leaves_nothing() {
    let (server, mut client) = memory();
    let key = [("key", "form/k")];
    let sized = |range: &str| format!("{KEY},[\"content-length-range\",{range}]");
    let mut tampered = signed(&client, KEY, &key);
    tampered[0].1.insert(0, 'A');
    let mut twice = signed(&client, KEY, &key);
    twice.push(("key".into(), "form/other".into()));
    let unsigned_part = signed(&client, KEY, &key).split_off(1);
    for (fields, status, code) in [
        (
            signed(&client, KEY, &[("key", "other/k")]),
            403,
            "AccessDenied",
        ),
        (
            signed(&client, KEY, &[("key", "form/k"), ("acl", "private")]),
            403,
            "AccessDenied",
        ),
        (signed(&client, &sized("0,4"), &key), 400, "EntityTooLarge"),
        (signed(&client, &sized("6,9"), &key), 400, "EntityTooSmall"),
        (
            signed(
                &client,
                r#"{"bucket":"bucket"},["starts-with","$key",""],["eq","$x-amz-copy-source","/b/k"]"#,
                &[("key", "form/k"), ("x-amz-copy-source", "/b/k")],
            ),
            501,
            "NotImplemented",
        ),
        (
            signed(
                &client,
                &format!("{KEY},[\"eq\",\"$x-amz-server-side-encryption\",\"AES256\"]"),
                &[
                    ("key", "form/k"),
                    ("x-amz-server-side-encryption", "AES256"),
                ],
            ),
            501,
            "NotImplemented",
        ),
        (signed(&client, "true", &key), 400, "InvalidPolicyDocument"),
        (
            signed(&server.client().with("AKIATEST", "other-secret"), KEY, &key),
            403,
            "SignatureDoesNotMatch",
        ),
        (
            signed(&server.client().with("nobody", "other-secret"), KEY, &key),
            403,
            "InvalidAccessKeyId",
        ),
        (
            signed(&server.client().skewed(-8 * 86_400), KEY, &key),
            403,
            "AccessDenied",
        ),
        (tampered, 403, "SignatureDoesNotMatch"),
        (twice, 400, "InvalidArgument"),
        (unsigned_part, 400, "InvalidArgument"),
        (pairs(&key), 403, "AccessDenied"),
    ] {
        let answer = post(&server, &fields, "bytes");
        assert_eq!(
            answer.error(),
            (status, code.into()),
            "{fields:?} {}",
            answer.text()
        );
    }
    assert!(
        client
            .call("GET", "/bucket?list-type=2")
            .ok()
            .fields("Key")
            .is_empty()
    );
    assert!(
        client
            .call("GET", "/bucket?uploads")
            .ok()
            .fields("Key")
            .is_empty()
    );
}

#[test]
fn a_form_of_nobody_is_taken_where_a_policy_says_so() {
    let (server, mut client) = memory();
    let policy = r#"{"Statement":{"Effect":"Allow","Principal":"*","Action":"s3:PutObject","Resource":"arn:aws:s3:::bucket/open/*"}}"#;
    client
        .send(Request::new("PUT", "/bucket?policy").body(policy))
        .ok();
    assert_eq!(
        post(&server, &pairs(&[("key", "open/k")]), "bytes").status,
        204
    );
    assert_eq!(
        post(&server, &pairs(&[("key", "closed/k")]), "bytes").error(),
        (403, "AccessDenied".into())
    );
    // What the bucket's policy does not give to nobody: tags are an action of their own.
    let tags = "<Tagging><TagSet><Tag><Key>a</Key><Value>1</Value></Tag></TagSet></Tagging>";
    assert_eq!(
        post(
            &server,
            &pairs(&[("key", "open/k"), ("tagging", tags)]),
            "bytes"
        )
        .error(),
        (403, "AccessDenied".into())
    );
}

/// Kilobytes that a process holds.
fn resident(server: &Server) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.process())).unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// Begins a form whose file does not end, and answers the connection.
fn begin(server: &Server, fields: &[(String, String)], length: usize) -> TcpStream {
    let head = head(fields, "x");
    let line = format!(
        "POST /bucket HTTP/1.1\r\nhost: {}\r\ncontent-type: multipart/form-data; boundary=edge\r\ncontent-length: {}\r\n\r\n{head}",
        server.address,
        head.len() + length + 100
    );
    let mut stream = TcpStream::connect(&server.address).unwrap();
    stream.write_all(line.as_bytes()).unwrap();
    stream.write_all(&vec![b'x'; length]).unwrap();
    stream
}

#[test]
fn a_form_whose_end_is_withheld_is_not_held_in_memory() {
    const LENGTH: usize = 12 << 20;
    let dir = tempfile::tempdir().unwrap();
    let server = Server::on(dir.path());
    let client = server.client();
    server.client().call("PUT", "/bucket").ok();
    let before = resident(&server);
    let signed = signed(&client, KEY, &[("key", "form/k")]);
    let open: Vec<TcpStream> = (0..6)
        .flat_map(|_| {
            [
                begin(&server, &signed, LENGTH),
                begin(&server, &pairs(&[("key", "form/k")]), LENGTH),
            ]
        })
        .collect();
    let grown = resident(&server).saturating_sub(before);
    assert!(grown < 48 << 10, "12 forms of 12 MiB took {grown} KiB");
    // Of nobody, it is refused as soon as what follows is read.
    let mut refused = open.into_iter().nth(1).unwrap();
    refused.shutdown(std::net::Shutdown::Write).unwrap();
    let mut heard = String::new();
    refused.read_to_string(&mut heard).unwrap();
    assert!(heard.starts_with("HTTP/1.1 403 "), "{heard}");
    assert!(
        server
            .client()
            .call("GET", "/bucket?list-type=2")
            .ok()
            .fields("Key")
            .is_empty()
    );
}

#[test]
fn what_is_no_form_is_refused_by_what_it_is() {
    let (server, _) = memory();
    let send = |path: &str, kind: &str, body: &str| {
        let line = format!(
            "POST {path} HTTP/1.1\r\nhost: x\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        server
            .client()
            .exchange(line.as_bytes(), false)
            .unwrap()
            .error()
    };
    let form = "multipart/form-data; boundary=edge";
    assert_eq!(
        send("/bucket", "application/json", "{}"),
        (412, "PreconditionFailed".into())
    );
    assert_eq!(
        send("/bucket", "multipart/form-data", "x"),
        (400, "MalformedPOSTRequest".into())
    );
    assert_eq!(
        send("/bucket", form, "x"),
        (400, "MalformedPOSTRequest".into())
    );
    assert_eq!(
        send("/bucket", form, &format!("{}--edge--", field("key", "k"))),
        (400, "InvalidArgument".into())
    );
    assert_eq!(
        send("/bucket", form, &field("key", &"k".repeat(30_000))),
        (400, "MaxPostPreDataLengthExceeded".into())
    );
    assert_eq!(send("/bucket/key", form, "x").0, 405);
    assert_eq!(
        send("/bucket", form, &head(&pairs(&[("key", "k")]), "x")).0,
        403
    );
}

#[test]
fn a_bucket_begins_with_its_tags_and_its_owner_owns_all() {
    let server = Server::start(&["--memory"]);
    let mut client = server.client();
    let tags = |key: &str| {
        format!(
            "<CreateBucketConfiguration><Tags><Tag><Key>{key}</Key><Value>v</Value></Tag></Tags></CreateBucketConfiguration>"
        )
    };
    client
        .send(Request::new("PUT", "/tagged").body(tags("team")))
        .ok();
    assert_eq!(
        client.call("GET", "/tagged?tagging").ok().fields("Key"),
        ["team"]
    );
    assert_eq!(
        client
            .call("GET", "/tagged?ownershipControls")
            .ok()
            .fields("ObjectOwnership"),
        ["BucketOwnerEnforced"]
    );
    assert_eq!(
        client
            .send(Request::new("PUT", "/other").body(tags("a*b")))
            .error(),
        (400, "InvalidTag".into())
    );
    let unknown = Request::new("PUT", "/other").header("x-amz-object-ownership", "Everybody");
    assert_eq!(
        client.send(unknown).error(),
        (400, "InvalidArgument".into())
    );
    assert_eq!(client.call("HEAD", "/other").status, 404);
}
