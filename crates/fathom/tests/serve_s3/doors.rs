//! Requests that the server must not take for others, and what nobody signed or was allowed.

use super::client::{Answer, Client, Request, Server, sha256};
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
        (
            "PUT",
            "/bucket/k?x-id=RenameObject",
            (501, "NotImplemented"),
        ),
        ("PUT", "/bucket/k?partNumber=1", (400, "InvalidRequest")),
        ("PUT", "/bucket/k?uploadId=x", (400, "InvalidRequest")),
        ("PUT", "/bucket?abac", (501, "NotImplemented")),
        ("DELETE", "/bucket/k?acl", (501, "NotImplemented")),
        ("DELETE", "/bucket/k?retention", (501, "NotImplemented")),
        (
            "DELETE",
            "/bucket?metadataConfiguration",
            (501, "NotImplemented"),
        ),
        ("GET", "/bucket/k?torrent", (501, "NotImplemented")),
    ] {
        let answer = client.call(method, path);
        assert_eq!(
            answer.error(),
            (error.0, error.1.to_owned()),
            "{method} {path}"
        );
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
        for (name, value) in [
            ("x-amz-copy-source", "/secret/s"),
            ("x-amz-tagging", "a=b"),
            ("x-amz-meta-a", "b"),
        ] {
            let answer = client
                .try_send(&request.clone().header(name, value))
                .unwrap();
            assert!(denied(&answer), "{name} {}", answer.text());
            assert_eq!(answer.fields("HeadersNotSigned"), [name]);
        }
        assert_eq!(
            client.call("GET", "/bucket/k").error(),
            (404, "NoSuchKey".into())
        );
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
    assert_eq!(
        (
            told["x-amz-meta-colour"].as_str(),
            told["x-amz-tagging-count"].as_str()
        ),
        ("blue", "1")
    );
}

/// Puts a policy of these statements, each an effect, an action and what comes after the bucket's
/// name.
fn allow(client: &mut Client, statements: &[(&str, &str, &str)]) {
    let statement = |(effect, action, of): &(&str, &str, &str)| {
        format!(
            r#"{{"Effect":"{effect}","Principal":"*","Action":"{action}","Resource":"arn:aws:s3:::bucket{of}"}}"#
        )
    };
    let statements: Vec<String> = statements.iter().map(statement).collect();
    client
        .put(
            "/bucket?policy",
            format!(r#"{{"Statement":[{}]}}"#, statements.join(",")),
        )
        .ok();
}

#[test]
fn who_may_read_or_delete_objects_may_not_do_so_with_their_versions() {
    let (_server, mut client) = memory();
    client
        .put(
            "/bucket?versioning",
            "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>",
        )
        .ok();
    let old = client.put("/bucket/k", "old secret").ok().headers["x-amz-version-id"].clone();
    client.put("/bucket/k", "current").ok();
    let version = |method: &str| Request::new(method, &format!("/bucket/k?versionId={old}"));
    allow(
        &mut client,
        &[
            ("Allow", "s3:GetObject", "/*"),
            ("Allow", "s3:PutObject", "/*"),
            ("Allow", "s3:DeleteObject", "/*"),
        ],
    );
    assert_eq!(
        client
            .try_send(&Request::new("GET", "/bucket/k"))
            .unwrap()
            .ok()
            .text(),
        "current"
    );
    for method in ["GET", "HEAD", "DELETE"] {
        assert_eq!(
            client.try_send(&version(method)).unwrap().status,
            403,
            "{method}"
        );
    }
    let copy = Request::new("PUT", "/bucket/copy")
        .header("x-amz-copy-source", &format!("/bucket/k?versionId={old}"));
    assert!(denied(&client.try_send(&copy).unwrap()));
    assert_eq!(client.send(version("GET")).ok().text(), "old secret");
    allow(
        &mut client,
        &[
            ("Allow", "s3:GetObjectVersion", "/*"),
            ("Allow", "s3:DeleteObjectVersion", "/*"),
        ],
    );
    assert_eq!(
        client.try_send(&version("GET")).unwrap().ok().text(),
        "old secret"
    );
    assert_eq!(
        client
            .try_send(&Request::new("GET", "/bucket/k"))
            .unwrap()
            .status,
        403
    );
    assert_eq!(client.try_send(&version("DELETE")).unwrap().status, 204);
}

#[test]
fn a_list_of_objects_to_delete_goes_as_far_as_the_policy() {
    let (_server, mut client) = memory();
    for key in ["free", "kept"] {
        client.put(&format!("/bucket/{key}"), "bytes").ok();
    }
    allow(
        &mut client,
        &[
            ("Allow", "s3:*", ""),
            ("Allow", "s3:*", "/*"),
            ("Deny", "s3:DeleteObject", "/kept"),
        ],
    );
    let list = "<Delete><Object><Key>kept</Key></Object><Object><Key>free</Key></Object></Delete>";
    let request = Request::new("POST", "/bucket?delete")
        .header("x-amz-checksum-crc32", &crc32(list.as_bytes()))
        .body(list);
    let answer = client.try_send(&request).unwrap().ok();
    assert_eq!(
        (answer.fields("Code"), answer.fields("Key")),
        (
            vec!["AccessDenied".to_owned()],
            vec!["free".to_owned(), "kept".into()]
        )
    );
    client.call("GET", "/bucket/kept").ok();
    assert_eq!(
        client.call("GET", "/bucket/free").error(),
        (404, "NoSuchKey".into())
    );
}

#[test]
fn a_policy_tells_objects_apart_by_the_tags_that_they_have() {
    let (_server, mut client) = memory();
    let on = "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>";
    client.put("/bucket?versioning", on).ok();
    let mut put = |tags: &str| {
        let put = Request::new("PUT", "/bucket/k").header("x-amz-tagging", tags);
        client.send(put.body("bytes")).ok().headers["x-amz-version-id"].clone()
    };
    let (open, closed) = (put("of=public"), put("of=nobody"));
    let policy = r#"{"Statement":[
        {"Effect":"Allow","Principal":"*","Action":["s3:GetObject*","s3:DeleteObject*"],"Resource":"arn:aws:s3:::bucket/*","Condition":{"StringEquals":{"s3:ExistingObjectTag/of":"public"}}},
        {"Effect":"Allow","Principal":"*","Action":"s3:DeleteObjectVersion","Resource":"arn:aws:s3:::bucket/*"},
        {"Effect":"Deny","Principal":"*","Action":"s3:DeleteObjectVersion","Resource":"arn:aws:s3:::bucket/*","Condition":{"StringEquals":{"s3:ExistingObjectTag/of":"nobody"}}}]}"#;
    client.put("/bucket?policy", policy).ok();
    let mut ask = |path: &str| client.try_send(&Request::new("GET", path)).unwrap().status;
    assert_eq!(ask("/bucket/k"), 403);
    assert_eq!(ask(&format!("/bucket/k?versionId={closed}")), 403);
    assert_eq!(ask(&format!("/bucket/k?versionId={open}")), 200);
    assert_eq!(ask("/bucket/absent"), 403);
    let object =
        |version: &str| format!("<Object><Key>k</Key><VersionId>{version}</VersionId></Object>");
    let list = format!("<Delete>{}{}</Delete>", object(&open), object(&closed));
    let request = Request::new("POST", "/bucket?delete")
        .header("x-amz-checksum-crc32", &crc32(list.as_bytes()))
        .body(list);
    let answer = client.try_send(&request).unwrap().ok();
    assert_eq!(answer.fields("Code"), ["AccessDenied"]);
    assert_eq!(answer.fields("VersionId"), [open, closed]);
}

fn crc32(bytes: &[u8]) -> String {
    let step = |crc: u32, byte: &u8| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            (crc >> 1) ^ (0xedb8_8320 & 0u32.wrapping_sub(crc & 1))
        })
    };
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
    assert_eq!(
        (wrong.error(), wrong.fields("Region")),
        (
            (400, "AuthorizationHeaderMalformed".into()),
            vec!["eu-north-7".to_owned()]
        )
    );
    let (_server, mut client) = memory();
    client.put("/bucket/k", "bytes").ok();
    let long = client.presigned(Request::new("GET", "/bucket/k"), 604_801);
    assert_eq!(
        client.try_send(&long).unwrap().error(),
        (400, "AuthorizationQueryParametersError".into())
    );
    let week = client.presigned(Request::new("GET", "/bucket/k"), 604_800);
    assert_eq!(client.try_send(&week).unwrap().ok().text(), "bytes");
    let mut named = client.signed(Request::new("GET", "/bucket/k"));
    let authorization = named.headers["authorization"].replace("AWS4-HMAC-SHA256", "FOO");
    named.headers.insert("authorization".into(), authorization);
    assert_eq!(
        client.try_send(&named).unwrap().error(),
        (400, "InvalidArgument".into())
    );
}

fn zeros(bytes: usize) -> String {
    format!(
        "{}{}",
        "A".repeat((bytes * 8).div_ceil(6)),
        "=".repeat((3 - bytes % 3) % 3)
    )
}

#[test]
fn a_checksum_that_is_wrong_or_not_known_keeps_nothing() {
    let (_server, mut client) = memory();
    let widths = [
        ("md5", 16),
        ("sha512", 64),
        ("xxhash64", 8),
        ("xxhash3", 8),
        ("xxhash128", 16),
        ("crc64nvme", 8),
    ];
    for (name, width) in widths {
        let wrong = Request::new("PUT", "/bucket/k")
            .header(&format!("x-amz-checksum-{name}"), &zeros(width))
            .body("hello");
        assert_eq!(
            client.send(wrong).error(),
            (400, "BadDigest".into()),
            "{name}"
        );
    }
    let unknown = client.send(
        Request::new("PUT", "/bucket/k")
            .header("x-amz-checksum-bogus", "AAAAAA==")
            .body("hello"),
    );
    assert!(
        unknown.error() == (400, "InvalidRequest".into())
            && unknown.text().contains("x-amz-checksum-bogus"),
        "{}",
        unknown.text()
    );
    assert_eq!(
        client.call("GET", "/bucket/k").error(),
        (404, "NoSuchKey".into())
    );
    // XXH64 of "hello" with seed 0 is 26c7827d889f6da3.
    let right = Request::new("PUT", "/bucket/k")
        .header("x-amz-checksum-xxhash64", "JseCfYifbaM=")
        .body("hello");
    assert_eq!(
        client.send(right).ok().headers["x-amz-checksum-xxhash64"],
        "JseCfYifbaM="
    );
    let asked = Request::new("HEAD", "/bucket/k").header("x-amz-checksum-mode", "ENABLED");
    assert_eq!(
        client.send(asked).ok().headers["x-amz-checksum-xxhash64"],
        "JseCfYifbaM="
    );
    let plain = client.put("/bucket/plain", "123456789").ok();
    // The check value of CRC-64/NVME.
    assert_eq!(
        (
            plain.headers["x-amz-checksum-crc64nvme"].as_str(),
            plain.headers["x-amz-checksum-type"].as_str()
        ),
        ("rosUhgp5mIg=", "FULL_OBJECT")
    );
}

#[test]
fn an_object_of_parts_has_a_checksum_where_none_was_asked_for() {
    let (_server, mut client) = memory();
    let upload = client
        .call("POST", "/bucket/big?uploads")
        .ok()
        .fields("UploadId")
        .remove(0);
    let etag = client
        .put(
            &format!("/bucket/big?partNumber=1&uploadId={upload}"),
            "123456789",
        )
        .ok()
        .headers["etag"]
        .clone();
    let body = format!(
        "<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>{etag}</ETag></Part></CompleteMultipartUpload>"
    );
    let complete = Request::new("POST", &format!("/bucket/big?uploadId={upload}")).body(body);
    for (name, value, code) in [
        ("x-amz-mp-object-size", "77", "InvalidRequest"),
        ("x-amz-mp-object-size", "-5", "InvalidRequest"),
        ("x-amz-checksum-crc64nvme", "AAAAAAAAAAA=", "BadDigest"),
        ("x-amz-checksum-crc32", "AAAAAA==", "InvalidRequest"),
    ] {
        assert_eq!(
            client.send(complete.clone().header(name, value)).error(),
            (400, code.into()),
            "{name}: {value}"
        );
    }
    let stale = Request::new("DELETE", &format!("/bucket/big?uploadId={upload}"));
    let stale = stale.header(
        "x-amz-if-match-initiated-time",
        "Wed, 21 Oct 2015 07:28:00 GMT",
    );
    assert_eq!(
        client.send(stale).error(),
        (412, "PreconditionFailed".into())
    );
    assert_eq!(
        client.send(complete).ok().fields("ChecksumCRC64NVME"),
        ["rosUhgp5mIg="]
    );
}

#[test]
fn chunks_end_with_their_last_one_and_what_was_announced() {
    let (_server, mut client) = memory();
    let chunked = |trailer: &str, body: &str| {
        Request::new("PUT", "/bucket/k")
            .header("x-amz-content-sha256", "STREAMING-UNSIGNED-PAYLOAD-TRAILER")
            .header("x-amz-decoded-content-length", "5")
            .header("x-amz-trailer", trailer)
            .body(body)
    };
    let sha512 = format!(
        "5\r\nhello\r\n0\r\nx-amz-checksum-sha512:{}\r\n\r\n",
        zeros(64)
    );
    for (trailer, body, code) in [
        ("x-amz-checksum-crc32", "5\r\nhello\r\n", "IncompleteBody"),
        (
            "x-amz-checksum-crc32",
            "5\r\nhello\r\n0\r\n\r\n",
            "MalformedTrailerError",
        ),
        (
            "x-amz-checksum-crc32",
            "5\r\nhello\r\n0\r\nx-amz-checksum-sha1:AAAA\r\n\r\n",
            "MalformedTrailerError",
        ),
        ("x-amz-checksum-sha512", &sha512, "BadDigest"),
        (
            "x-amz-checksum-bogus",
            "5\r\nhello\r\n0\r\n\r\n",
            "InvalidRequest",
        ),
    ] {
        assert_eq!(
            client.send(chunked(trailer, body)).error(),
            (400, code.into()),
            "{trailer} {body:?}"
        );
    }
    assert_eq!(
        client.call("GET", "/bucket/k").error(),
        (404, "NoSuchKey".into())
    );
}

#[test]
fn a_document_is_what_its_digests_say() {
    let (_server, mut client) = memory();
    client.put("/bucket/k", "bytes").ok();
    let cors = "<CORSConfiguration><CORSRule><AllowedMethod>GET</AllowedMethod><AllowedOrigin>*</AllowedOrigin></CORSRule></CORSConfiguration>";
    let list = "<Delete><Object><Key>k</Key></Object></Delete>";
    for (method, path, body) in [
        ("PUT", "/bucket?cors", cors),
        ("POST", "/bucket?delete", list),
    ] {
        for (name, value) in [
            ("content-md5", zeros(16)),
            ("x-amz-checksum-crc32", zeros(4)),
            ("x-amz-checksum-xxhash128", zeros(16)),
        ] {
            let answer = client.send(Request::new(method, path).header(name, &value).body(body));
            assert_eq!(answer.error(), (400, "BadDigest".into()), "{path} {name}");
        }
        let right = Request::new(method, path)
            .header("x-amz-checksum-crc32", &crc32(body.as_bytes()))
            .body(body);
        if method == "PUT" {
            assert_eq!(
                client.call("GET", "/bucket?cors").error(),
                (404, "NoSuchCORSConfiguration".into())
            );
            client.send(right).ok();
        } else {
            client.call("GET", "/bucket/k").ok();
        }
    }
}

#[test]
fn what_nobody_signed_is_kept_as_it_was_sent_or_not_at_all() {
    let (_server, mut client) = memory();
    let open = r#"{"Statement":{"Effect":"Allow","Principal":"*","Action":"s3:PutObject","Resource":"arn:aws:s3:::bucket/*"}}"#;
    client.put("/bucket?policy", open).ok();
    let put = |hash: &str, body: &str| {
        Request::new("PUT", "/bucket/k")
            .header("x-amz-content-sha256", hash)
            .body(body)
    };
    let chunks = "5\r\nhello\r\n0\r\n\r\n";
    for (hash, body, error) in [
        (
            "STREAMING-UNSIGNED-PAYLOAD-TRAILER",
            chunks,
            (501, "NotImplemented"),
        ),
        (
            &*sha256(b"other"),
            "hello",
            (400, "XAmzContentSHA256Mismatch"),
        ),
        (&*sha256(b"other"), "", (400, "XAmzContentSHA256Mismatch")),
        ("hello", "hello", (400, "InvalidArgument")),
    ] {
        let request = put(hash, body).header("x-amz-decoded-content-length", "5");
        assert_eq!(
            client.try_send(&request).unwrap().error(),
            (error.0, error.1.to_owned()),
            "{hash}"
        );
        assert_eq!(client.call("GET", "/bucket/k").status, 404, "{hash}");
    }
    for hash in [&*sha256(b"hello"), "UNSIGNED-PAYLOAD"] {
        client.try_send(&put(hash, "hello")).unwrap().ok();
        assert_eq!(client.call("GET", "/bucket/k").ok().body, b"hello");
    }
}

#[test]
fn a_header_that_asks_for_what_is_not_done_is_refused_by_name() {
    let (_server, mut client) = memory();
    client.put("/bucket/k", "content").ok();
    let upload = client
        .call("POST", "/bucket/m?uploads")
        .ok()
        .fields("UploadId")[0]
        .clone();
    for (name, value) in [
        ("x-amz-server-side-encryption-customer-key", "k"),
        ("x-amz-server-side-encryption-context", "e30="),
        ("x-amz-server-side-encryption-bucket-key-enabled", "true"),
        ("x-amz-rename-source", "/bucket/k"),
        ("x-amz-write-offset-bytes", "7"),
        ("x-amz-grant-read", "id=somebody"),
        ("x-amz-acl", "log-delivery-write"),
    ] {
        for (path, copies) in [
            ("/bucket/k".to_owned(), false),
            ("/bucket/copy".to_owned(), true),
            (format!("/bucket/m?partNumber=1&uploadId={upload}"), false),
        ] {
            let mut request = Request::new("PUT", &path).header(name, value);
            if copies {
                request = request.header("x-amz-copy-source", "/bucket/k");
            } else {
                request = request.body("other");
            }
            // Whom nobody knows cannot be granted anything; a part is never granted to anybody.
            let granted = name.contains("grant") && !path.contains("partNumber");
            let code = if granted {
                "InvalidArgument"
            } else {
                "NotImplemented"
            };
            assert_eq!(client.send(request).error().1, code, "{name} {path}");
        }
    }
    assert_eq!(client.call("GET", "/bucket/k").ok().body, b"content");
    assert_eq!(client.call("GET", "/bucket/copy").status, 404);
    let bucket = Request::new("PUT", "/granted").header("x-amz-grant-write", "id=somebody");
    assert_eq!(client.send(bucket).error().1, "InvalidArgument");
    assert_eq!(client.call("HEAD", "/granted").status, 404);
}
