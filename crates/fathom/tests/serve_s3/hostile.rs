//! Requests that are wrong, each with the code that AWS has for it, and nothing of them left
//! behind.

use super::client::{Client, Request, SECRET, Server, noise};
use super::memory;
use std::io::{Read, Write};
use std::net::TcpStream;

/// Sends bytes as they are and reads until the server closes the connection.
fn say(server: &Server, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(&server.address).unwrap();
    stream.write_all(bytes).unwrap();
    let mut heard = Vec::new();
    // What comes before a connection breaks is what was answered.
    let _ = stream.read_to_end(&mut heard);
    String::from_utf8_lossy(&heard).into_owned()
}

/// The signed request as bytes, with another length than that of its body.
fn with_length(client: &Client, request: Request, length: usize, sent: &[u8]) -> Vec<u8> {
    let signed = client.signed(request);
    let head: String = signed
        .headers
        .iter()
        .map(|(name, value)| format!("{name}: {value}\r\n"))
        .collect();
    let query: Vec<String> = signed
        .query
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let mark = if query.is_empty() { "" } else { "?" };
    let line = format!(
        "{} {}{mark}{} HTTP/1.1\r\ncontent-length: {length}\r\n{head}\r\n",
        signed.method,
        signed.path,
        query.join("&")
    );
    [line.as_bytes(), sent].concat()
}

#[test]
fn a_length_that_is_too_short_takes_that_much_and_no_more() {
    let (server, mut client) = memory();
    let said = with_length(
        &client,
        Request::new("PUT", "/bucket/short").body("hello"),
        5,
        b"hello and more\r\n\r\n",
    );
    let heard = say(&server, &said);
    assert!(
        heard.starts_with("HTTP/1.1 200 ") && heard.matches("HTTP/1.1 400 ").count() == 1,
        "{heard}"
    );
    assert_eq!(client.call("GET", "/bucket/short").ok().text(), "hello");
    let said = with_length(
        &client,
        Request::new("PUT", "/bucket/cut").body("hello and more"),
        5,
        b"hello and more\r\n\r\n",
    );
    assert!(say(&server, &said).contains("<Code>XAmzContentSHA256Mismatch</Code>"));
    assert_eq!(
        client.call("GET", "/bucket/cut").error(),
        (404, "NoSuchKey".into())
    );
}

#[test]
fn a_length_that_is_too_long_is_waited_for_and_leaves_nothing() {
    let server = Server::start(&["--memory", "--idle", "300ms"]);
    // A connection for each: one that is idle for as long is closed.
    let client = || server.client();
    client().call("PUT", "/bucket").ok();
    let upload = client()
        .call("POST", "/bucket/parts?uploads")
        .ok()
        .fields("UploadId")
        .remove(0);
    for path in [
        "/bucket/long".to_owned(),
        format!("/bucket/parts?partNumber=1&uploadId={upload}"),
        "/bucket?tagging".into(),
    ] {
        let said = with_length(
            &client(),
            Request::new("PUT", &path).body("hello"),
            50,
            b"hello",
        );
        let heard = say(&server, &said);
        assert!(
            heard.starts_with("HTTP/1.1 400 ") && heard.contains("<Code>RequestTimeout</Code>"),
            "{path} {heard}"
        );
    }
    assert_eq!(
        client().call("GET", "/bucket/long").error(),
        (404, "NoSuchKey".into())
    );
    assert_eq!(
        client()
            .call("GET", &format!("/bucket/parts?uploadId={upload}"))
            .ok()
            .fields("PartNumber"),
        [""; 0]
    );
    assert_eq!(
        client().call("GET", "/bucket?tagging").error(),
        (404, "NoSuchTagSet".into())
    );
    assert!(
        client()
            .call("GET", "/bucket?list-type=2")
            .ok()
            .fields("Key")
            .is_empty()
    );
}

#[test]
fn chunks_that_are_not_what_was_said_are_refused_and_leave_nothing() {
    let (_server, mut client) = memory();
    let chunked = |decoded: usize, body: &str| {
        Request::new("PUT", "/bucket/chunked")
            .header("x-amz-content-sha256", "STREAMING-UNSIGNED-PAYLOAD-TRAILER")
            .header("content-encoding", "aws-chunked")
            .header("x-amz-decoded-content-length", &decoded.to_string())
            .header("x-amz-trailer", "x-amz-checksum-crc32")
            .body(body)
    };
    // CRC-32 of "hello" is 3610a686.
    let whole = "5\r\nhello\r\n0\r\nx-amz-checksum-crc32:NhCmhg==\r\n\r\n";
    for (decoded, body, code) in [
        (6, whole.to_owned(), "IncompleteBody"),
        (4, whole.to_owned(), "IncompleteBody"),
        (5, whole.replace("NhCmhg", "AAAAAA"), "BadDigest"),
        (5, "5\r\nhel".to_owned(), "IncompleteBody"),
        (5, "zz\r\nhello\r\n0\r\n\r\n".to_owned(), "InvalidRequest"),
    ] {
        assert_eq!(
            client.send(chunked(decoded, &body)).error(),
            (400, code.into()),
            "{decoded} {body:?}"
        );
        assert_eq!(
            client.call("GET", "/bucket/chunked").error(),
            (404, "NoSuchKey".into())
        );
    }
    client.send(chunked(5, whole)).ok();
    assert_eq!(client.call("GET", "/bucket/chunked").ok().text(), "hello");
}

#[test]
fn documents_that_are_no_xml_are_malformed() {
    let (_server, mut client) = memory();
    let upload = client
        .call("POST", "/bucket/big?uploads")
        .ok()
        .fields("UploadId")
        .remove(0);
    client.put("/bucket/k", "bytes").ok();
    let complete = format!("/bucket/big?uploadId={upload}");
    for (method, path) in [
        ("PUT", "/bucket?versioning"),
        ("PUT", "/bucket?cors"),
        ("PUT", "/bucket?lifecycle"),
        ("PUT", "/bucket?tagging"),
        ("PUT", "/bucket/k?tagging"),
        ("POST", "/bucket?delete"),
        ("POST", complete.as_str()),
    ] {
        for body in [
            "<",
            "no xml",
            "<a></b>",
            "<Wrong/>",
            "<!DOCTYPE x [<!ENTITY a \"b\">]><Delete>&a;</Delete>",
        ] {
            assert_eq!(
                client.send(Request::new(method, path).body(body)).error(),
                (400, "MalformedXML".into()),
                "{method} {path} {body}"
            );
        }
    }
    assert_eq!(
        client.put("/bucket?policy", "{").error(),
        (400, "MalformedPolicy".into())
    );
}

#[test]
fn parts_have_numbers_and_sizes() {
    let (_server, mut client) = memory();
    let upload = client
        .call("POST", "/bucket/big?uploads")
        .ok()
        .fields("UploadId")
        .remove(0);
    for number in ["0", "10001", "-1"] {
        let answer = client.put(
            &format!("/bucket/big?partNumber={number}&uploadId={upload}"),
            "x",
        );
        assert_eq!(answer.error(), (400, "InvalidArgument".into()), "{number}");
    }
    assert_eq!(
        client
            .put("/bucket/big?partNumber=1&uploadId=other", "x")
            .error(),
        (404, "NoSuchUpload".into())
    );
    let mut listed = String::new();
    for number in [1, 2] {
        let etag = client
            .put(
                &format!("/bucket/big?partNumber={number}&uploadId={upload}"),
                "small",
            )
            .ok()
            .headers["etag"]
            .clone();
        listed += &format!("<Part><PartNumber>{number}</PartNumber><ETag>{etag}</ETag></Part>");
    }
    let body = format!("<CompleteMultipartUpload>{listed}</CompleteMultipartUpload>");
    let complete = Request::new("POST", &format!("/bucket/big?uploadId={upload}")).body(body);
    assert_eq!(
        client.send(complete).error(),
        (400, "EntityTooSmall".into())
    );
    assert_eq!(
        client.call("GET", "/bucket/big").error(),
        (404, "NoSuchKey".into())
    );
    assert_eq!(
        client
            .call("GET", &format!("/bucket/big?uploadId={upload}"))
            .ok()
            .fields("PartNumber"),
        ["1", "2"]
    );
}

#[test]
fn a_part_may_be_a_copy_where_the_upload_has_checksums() {
    let (_server, mut client) = memory();
    let bytes = noise(1, 6 << 20);
    client.put("/bucket/source", bytes.clone()).ok();
    for algorithm in ["CRC32C", "SHA256", "CRC64NVME"] {
        let start = Request::new("POST", "/bucket/copied?uploads")
            .header("x-amz-checksum-algorithm", algorithm);
        let upload = client.send(start).ok().fields("UploadId").remove(0);
        let part = |number: u32| {
            Request::new(
                "PUT",
                &format!("/bucket/copied?partNumber={number}&uploadId={upload}"),
            )
        };
        let field = format!("Checksum{algorithm}");
        let (mut listed, mut sums) = (String::new(), Vec::new());
        for (number, range) in [(1, 0..5 << 20), (2, 5 << 20..bytes.len())] {
            let sent = client
                .send(part(number).body(bytes[range.clone()].to_vec()))
                .ok();
            let sum = sent.headers[&format!("x-amz-checksum-{}", algorithm.to_lowercase())].clone();
            let span = format!("bytes={}-{}", range.start, range.end - 1);
            let copy = part(number)
                .header("x-amz-copy-source", "/bucket/source")
                .header("x-amz-copy-source-range", &span);
            let copied = client.send(copy).ok();
            assert_eq!(
                copied.fields(&field),
                std::slice::from_ref(&sum),
                "the same bytes have the same checksum however they came"
            );
            let etag = copied.fields("ETag").remove(0);
            listed += &format!(
                "<Part><PartNumber>{number}</PartNumber><ETag>{etag}</ETag><{field}>{sum}</{field}></Part>"
            );
            sums.push((number, range.len(), sum));
        }
        let body = format!("<CompleteMultipartUpload>{listed}</CompleteMultipartUpload>");
        let made = client
            .send(Request::new("POST", &format!("/bucket/copied?uploadId={upload}")).body(body))
            .ok();
        assert_eq!(made.fields(&field).len(), 1, "{}", made.text());
        assert!(client.call("GET", "/bucket/copied").ok().body == bytes);
        for (number, length, sum) in sums {
            let part = Request::new("GET", &format!("/bucket/copied?partNumber={number}"))
                .header("x-amz-checksum-mode", "ENABLED");
            let got = client.send(part).ok();
            assert_eq!(
                (
                    got.body.len(),
                    &got.headers[&format!("x-amz-checksum-{}", algorithm.to_lowercase())]
                ),
                (length, &sum)
            );
            assert!(got.headers.contains_key("x-amz-checksum-type"));
        }
        let attributes = Request::new("GET", "/bucket/copied?attributes")
            .header("x-amz-object-attributes", "ETag,Checksum");
        let told = client.send(attributes).ok();
        assert_eq!(
            (told.fields("ETag").remove(0).len(), told.fields(&field)),
            (34, made.fields(&field)),
            "32 digits, - and 2: no quotes"
        );
    }
}

#[test]
fn a_policy_decides_by_its_conditions_and_what_it_could_not_decide_by_is_refused() {
    let (_server, mut client) = memory();
    client.put("/bucket/home/a", "bytes").ok();
    let policy = |condition: &str| {
        format!(
            r#"{{"Statement":[{{"Effect":"Allow","Principal":"*","Action":["s3:GetObject","s3:ListBucket"],
            "Resource":["arn:aws:s3:::bucket","arn:aws:s3:::bucket/*"],"Condition":{condition}}}]}}"#
        )
    };
    let (get, list) = (
        Request::new("GET", "/bucket/home/a"),
        Request::new("GET", "/bucket?list-type=2&prefix=home/"),
    );
    for (condition, gets, lists) in [
        (r#"{"IpAddress":{"aws:SourceIp":"127.0.0.0/8"}}"#, 200, 200),
        (r#"{"IpAddress":{"aws:SourceIp":"192.0.2.0/24"}}"#, 403, 403),
        (r#"{"Bool":{"aws:SecureTransport":"false"}}"#, 200, 200),
        (r#"{"Bool":{"aws:SecureTransport":"true"}}"#, 403, 403),
        (r#"{"StringLike":{"s3:prefix":["home/*"]}}"#, 403, 200),
        (r#"{"StringEquals":{"s3:prefix":"other/"}}"#, 403, 403),
        (
            r#"{"DateLessThan":{"aws:CurrentTime":"2999-01-01"}}"#,
            200,
            200,
        ),
        (
            r#"{"DateLessThan":{"aws:CurrentTime":"2000-01-01"}}"#,
            403,
            403,
        ),
        (
            r#"{"StringLike":{"aws:Referer":"https://example.org/*"}}"#,
            403,
            403,
        ),
    ] {
        client.put("/bucket?policy", policy(condition)).ok();
        assert_eq!(
            client.try_send(&get).unwrap().status,
            gets,
            "GET {condition}"
        );
        assert_eq!(
            client.try_send(&list).unwrap().status,
            lists,
            "LIST {condition}"
        );
    }
    let from_page = get.clone().header("referer", "https://example.org/page");
    assert_eq!(client.try_send(&from_page).unwrap().status, 200);
    for (condition, says) in [
        (
            r#"{"BinaryEquals":{"aws:Referer":"eA=="}}"#,
            "BinaryEquals is no operator",
        ),
        (
            r#"{"StringEquals":{"aws:userid":"x"}}"#,
            "aws:userid is no key",
        ),
        (
            r#"{"IpAddress":{"aws:SourceIp":"everywhere"}}"#,
            "everywhere is no address",
        ),
    ] {
        let answer = client.put("/bucket?policy", policy(condition));
        assert!(
            answer.error() == (400, "MalformedPolicy".into()) && answer.text().contains(says),
            "{}",
            answer.text()
        );
    }
    // What was refused has changed nothing.
    assert_eq!(client.try_send(&from_page).unwrap().status, 200);
}

/// The value of a counter or gauge of the server.
fn metric(server: &Server, name: &str) -> u64 {
    let page =
        Request::new("GET", "/fathom/metrics").header("authorization", &format!("Bearer {SECRET}"));
    let text = server.client().try_send(&page).unwrap().ok().text();
    let line = text
        .lines()
        .find(|line| line.split(' ').next() == Some(name))
        .unwrap_or_else(|| panic!("{name} in {text}"));
    line.rsplit(' ').next().unwrap().parse().unwrap()
}

#[test]
fn who_does_not_read_an_answer_is_let_go() {
    let server = Server::start(&["--memory", "--idle", "300ms"]);
    // A connection for each: one that is idle for as long is closed.
    let client = || server.client();
    client().call("PUT", "/bucket").ok();
    // More than the kernel's buffers on both sides take together.
    client().put("/bucket/large", noise(1, 64 << 20)).ok();
    let get = client().signed(Request::new("GET", "/bucket/large"));
    let head: String = get
        .headers
        .iter()
        .map(|(name, value)| format!("{name}: {value}\r\n"))
        .collect();
    let deaf: Vec<TcpStream> = (0..4)
        .map(|_| {
            let mut stream = TcpStream::connect(&server.address).unwrap();
            stream
                .write_all(format!("GET /bucket/large HTTP/1.1\r\n{head}\r\n").as_bytes())
                .unwrap();
            stream
        })
        .collect();
    // The page is a request under way itself. Whoever is not let go keeps this from ending.
    while metric(&server, "fathom_s3_requests_in_flight") > 1
        || metric(
            &server,
            "fathom_s3_requests_total{operation=\"GetObject\",status=\"200\"}",
        ) < 4
    {
        std::thread::yield_now();
    }
    // In the end only the one that asks is left.
    while metric(&server, "fathom_s3_connections_open") > 1 {
        std::thread::yield_now();
    }
    drop(deaf);
    client().put("/bucket/k", "still here").ok();
}
