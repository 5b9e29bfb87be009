//! Requests that the server must not take for others, and what nobody signed or was allowed.

use super::client::{Answer, Client, Request, Server};
use super::memory;

fn denied(answer: &Answer) -> bool {
    answer.error() == (403, "AccessDenied".into())
}

#[test]
fn a_sub_resource_that_is_not_there_changes_nothing() {
    let (_server, mut client) = memory();
    client.put("/bucket/k", "content").ok();
    for (method, path, error) in [
        ("PUT", "/bucket/k?renameObject", (501, "NotImplemented")),
        ("PUT", "/bucket/k?restore", (501, "NotImplemented")),
        ("PUT", "/bucket/k?annotation", (501, "NotImplemented")),
        ("PUT", "/bucket/k?encryption", (501, "NotImplemented")),
        ("PUT", "/bucket/k?x-id=RenameObject", (501, "NotImplemented")),
        ("PUT", "/bucket/k?partNumber=1", (400, "InvalidRequest")),
        ("PUT", "/bucket/k?uploadId=x", (400, "InvalidRequest")),
        ("PUT", "/bucket?abac", (501, "NotImplemented")),
        ("DELETE", "/bucket/k?acl", (501, "NotImplemented")),
        ("DELETE", "/bucket/k?retention", (501, "NotImplemented")),
        ("DELETE", "/bucket?metadataConfiguration", (501, "NotImplemented")),
        ("GET", "/bucket/k?torrent", (501, "NotImplemented")),
    ] {
        let answer = client.call(method, path);
        assert_eq!(answer.error(), (error.0, error.1.to_owned()), "{method} {path}");
        let name = path.split_once('?').unwrap().1.split('=').next().unwrap();
        assert!(answer.text().contains(name), "{}", answer.text());
    }
    assert_eq!(client.call("GET", "/bucket/k").ok().text(), "content");
}

#[test]
fn what_was_not_signed_is_not_obeyed() {
    let (_server, mut client) = memory();
    client.call("PUT", "/secret").ok();
    client.put("/secret/s", "TOPSECRET").ok();
    let presigned = client.presigned(Request::new("PUT", "/bucket/k"), 60);
    let signed = client.signed(Request::new("PUT", "/bucket/k"));
    for request in [presigned, signed] {
        for (name, value) in [("x-amz-copy-source", "/secret/s"), ("x-amz-tagging", "a=b"), ("x-amz-meta-a", "b")] {
            let answer = client.try_send(&request.clone().header(name, value)).unwrap();
            assert!(denied(&answer), "{name} {}", answer.text());
            assert_eq!(answer.fields("HeadersNotSigned"), [name]);
        }
        assert_eq!(client.call("GET", "/bucket/k").error(), (404, "NoSuchKey".into()));
    }
    // The chunks of a body have signatures that begin with the one of the head.
    let chunked = Request::new("PUT", "/bucket/k")
        .header("x-amz-content-sha256", "STREAMING-UNSIGNED-PAYLOAD-TRAILER")
        .header("x-amz-decoded-content-length", "5")
        .header("x-amz-trailer", "x-amz-checksum-crc32")
        .body("5\r\nhello\r\n0\r\nx-amz-checksum-crc32:NhCmhg==\r\n\r\n");
    let added = client.signed(chunked).header("x-amz-tagging", "a=b");
    assert!(denied(&client.try_send(&added).unwrap()));
}

#[test]
fn a_header_that_a_url_was_signed_with_is_done() {
    let (_server, mut client) = memory();
    let url = "/bucket/k?x-amz-meta-colour=blue&x-amz-tagging=a%3Db&x-amz-checksum-crc32=AAAAAA==";
    let mut request = Request::new("PUT", url).body("bytes");
    request.query.insert("x-amz-tagging".into(), "a=b".into());
    let presigned = client.presigned(request, 60);
    client.try_send(&presigned).unwrap().ok();
    let told = client.call("HEAD", "/bucket/k").ok().headers;
    assert_eq!((told["x-amz-meta-colour"].as_str(), told["x-amz-tagging-count"].as_str()), ("blue", "1"));
}

/// Puts a policy of these statements, each an effect, an action and what comes after the bucket's name.
fn allow(client: &mut Client, statements: &[(&str, &str, &str)]) {
    let statement = |(effect, action, of): &(&str, &str, &str)| {
        format!(r#"{{"Effect":"{effect}","Principal":"*","Action":"{action}","Resource":"arn:aws:s3:::bucket{of}"}}"#)
    };
    let statements: Vec<String> = statements.iter().map(statement).collect();
    client.put("/bucket?policy", format!(r#"{{"Statement":[{}]}}"#, statements.join(","))).ok();
}

#[test]
fn who_may_read_or_delete_objects_may_not_do_so_with_their_versions() {
    let (_server, mut client) = memory();
    client.put("/bucket?versioning", "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>").ok();
    let old = client.put("/bucket/k", "old secret").ok().headers["x-amz-version-id"].clone();
    client.put("/bucket/k", "current").ok();
    let version = |method: &str| Request::new(method, &format!("/bucket/k?versionId={old}"));
    allow(&mut client, &[("Allow", "s3:GetObject", "/*"), ("Allow", "s3:PutObject", "/*"), ("Allow", "s3:DeleteObject", "/*")]);
    assert_eq!(client.try_send(&Request::new("GET", "/bucket/k")).unwrap().ok().text(), "current");
    for method in ["GET", "HEAD", "DELETE"] {
        assert_eq!(client.try_send(&version(method)).unwrap().status, 403, "{method}");
    }
    let copy = Request::new("PUT", "/bucket/copy").header("x-amz-copy-source", &format!("/bucket/k?versionId={old}"));
    assert!(denied(&client.try_send(&copy).unwrap()));
    assert_eq!(client.send(version("GET")).ok().text(), "old secret");
    allow(&mut client, &[("Allow", "s3:GetObjectVersion", "/*"), ("Allow", "s3:DeleteObjectVersion", "/*")]);
    assert_eq!(client.try_send(&version("GET")).unwrap().ok().text(), "old secret");
    assert_eq!(client.try_send(&Request::new("GET", "/bucket/k")).unwrap().status, 403);
    assert_eq!(client.try_send(&version("DELETE")).unwrap().status, 204);
}

#[test]
fn a_list_of_objects_to_delete_goes_as_far_as_the_policy() {
    let (_server, mut client) = memory();
    for key in ["free", "kept"] {
        client.put(&format!("/bucket/{key}"), "bytes").ok();
    }
    allow(&mut client, &[("Allow", "s3:*", ""), ("Allow", "s3:*", "/*"), ("Deny", "s3:DeleteObject", "/kept")]);
    let list = "<Delete><Object><Key>kept</Key></Object><Object><Key>free</Key></Object></Delete>";
    let request = Request::new("POST", "/bucket?delete").header("x-amz-checksum-crc32", &crc32(list.as_bytes())).body(list);
    let answer = client.try_send(&request).unwrap().ok();
    assert_eq!((answer.fields("Code"), answer.fields("Key")), (vec!["AccessDenied".to_owned()], vec!["free".to_owned(), "kept".into()]));
    client.call("GET", "/bucket/kept").ok();
    assert_eq!(client.call("GET", "/bucket/free").error(), (404, "NoSuchKey".into()));
}

fn crc32(bytes: &[u8]) -> String {
    let step = |crc: u32, byte: &u8| (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ (0xedb8_8320 & 0u32.wrapping_sub(crc & 1)));
    let crc = !bytes.iter().fold(u32::MAX, step);
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bits = u64::from(crc) << 4;
    let digit = |at: u32| char::from(LETTERS[usize::try_from(bits >> (30 - 6 * at) & 63).unwrap()]);
    (0..6).map(digit).chain("==".chars()).collect()
}

#[test]
fn a_signature_is_of_this_region_and_service_and_good_for_a_week_at_most() {
    let server = Server::start(&["--memory", "--region", "eu-north-7"]);
    let mut client = server.client();
    let wrong = client.call("PUT", "/bucket");
    assert_eq!((wrong.error(), wrong.fields("Region")), ((400, "AuthorizationHeaderMalformed".into()), vec!["eu-north-7".to_owned()]));
    let (_server, mut client) = memory();
    client.put("/bucket/k", "bytes").ok();
    let long = client.presigned(Request::new("GET", "/bucket/k"), 604_801);
    assert_eq!(client.try_send(&long).unwrap().error(), (400, "AuthorizationQueryParametersError".into()));
    let week = client.presigned(Request::new("GET", "/bucket/k"), 604_800);
    assert_eq!(client.try_send(&week).unwrap().ok().text(), "bytes");
    let mut named = client.signed(Request::new("GET", "/bucket/k"));
    let authorization = named.headers["authorization"].replace("AWS4-HMAC-SHA256", "FOO");
    named.headers.insert("authorization".into(), authorization);
    assert_eq!(client.try_send(&named).unwrap().error(), (400, "InvalidArgument".into()));
}
