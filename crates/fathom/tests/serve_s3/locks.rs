//! Object lock: what is kept is not deleted by anybody who may not, whatever way is tried, and
//! outlives the server.

use super::client::{Client, Request, Server};
use std::time::Duration;

fn with_lock(client: &mut Client) {
    client
        .send(Request::new("PUT", "/locked").header("x-amz-bucket-object-lock-enabled", "true"))
        .ok();
}

/// A time so many seconds from here, as S3 writes it.
fn ahead(seconds: u64) -> String {
    humantime::format_rfc3339_seconds(sys::clock::wall_time() + Duration::from_secs(seconds))
        .to_string()
}

fn retention(mode: &str, until: &str) -> String {
    format!("<Retention><Mode>{mode}</Mode><RetainUntilDate>{until}</RetainUntilDate></Retention>")
}

fn put_kept(client: &mut Client, key: &str, mode: &str) -> String {
    let request = Request::new("PUT", &format!("/locked/{key}"));
    let request = request
        .header("x-amz-object-lock-mode", mode)
        .header("x-amz-object-lock-retain-until-date", &ahead(3600));
    client.send(request.body("kept")).ok().headers["x-amz-version-id"].clone()
}

#[test]
#[expect(
    clippy::too_many_lines,
    reason = "to be divided when it is changed next"
)]
fn a_version_that_is_kept_is_deleted_in_no_way_and_is_there_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = Server::on(dir.path());
    let mut client = server.client();
    with_lock(&mut client);
    let (strict, mild) = (
        put_kept(&mut client, "strict", "COMPLIANCE"),
        put_kept(&mut client, "mild", "GOVERNANCE"),
    );
    client
        .send(
            Request::new("PUT", "/locked/held")
                .header("x-amz-object-lock-legal-hold", "ON")
                .body("kept"),
        )
        .ok();
    let held = client.call("HEAD", "/locked/held").ok();
    assert_eq!(held.headers["x-amz-object-lock-legal-hold"], "ON");
    server.end("-TERM");
    let server = Server::on(dir.path());
    let mut client = server.client();
    let got = client.call("GET", "/locked/strict").ok();
    assert_eq!(
        (
            got.headers["x-amz-object-lock-mode"].as_str(),
            got.text().as_str()
        ),
        ("COMPLIANCE", "kept")
    );
    let versions = [
        ("strict", strict.as_str()),
        ("mild", &mild),
        ("held", &held.headers["x-amz-version-id"]),
    ];
    for (key, version) in versions {
        assert_eq!(
            client
                .call("DELETE", &format!("/locked/{key}?versionId={version}"))
                .error(),
            (403, "AccessDenied".into())
        );
    }
    let named: String = versions
        .iter()
        .map(|(key, id)| format!("<Object><Key>{key}</Key><VersionId>{id}</VersionId></Object>"))
        .collect();
    let bulk = client
        .send(Request::new("POST", "/locked?delete").body(format!("<Delete>{named}</Delete>")))
        .ok();
    assert_eq!(bulk.fields("Code"), ["AccessDenied"; 3]);
    let suspended = "<VersioningConfiguration><Status>Suspended</Status></VersioningConfiguration>";
    let suspend = client.send(Request::new("PUT", "/locked?versioning").body(suspended));
    assert_eq!(suspend.error(), (409, "InvalidBucketState".into()));
    assert_eq!(
        client.call("DELETE", "/locked").error(),
        (409, "BucketNotEmpty".into())
    );
    let bypass = |path: &str| {
        Request::new("DELETE", path).header("x-amz-bypass-governance-retention", "true")
    };
    assert_eq!(
        client
            .send(bypass(&format!("/locked/strict?versionId={strict}")))
            .error(),
        (403, "AccessDenied".into())
    );
    client
        .send(bypass(&format!("/locked/mild?versionId={mild}")))
        .ok();
    client
        .send(
            Request::new("PUT", "/locked/held?legal-hold")
                .body("<LegalHold><Status>OFF</Status></LegalHold>"),
        )
        .ok();
    client
        .call(
            "DELETE",
            &format!(
                "/locked/held?versionId={}",
                held.headers["x-amz-version-id"]
            ),
        )
        .ok();
    assert_eq!(
        client
            .call("GET", &format!("/locked/strict?versionId={strict}"))
            .ok()
            .text(),
        "kept"
    );
}

#[test]
fn a_retention_is_lengthened_by_anybody_and_shortened_only_where_governance_is_bypassed() {
    let server = Server::start(&["--memory"]);
    let mut client = server.client();
    with_lock(&mut client);
    put_kept(&mut client, "k", "GOVERNANCE");
    let set = |until: &str| {
        Request::new("PUT", "/locked/k?retention").body(retention("GOVERNANCE", until))
    };
    client.send(set(&ahead(7200))).ok();
    assert_eq!(
        client.send(set(&ahead(60))).error(),
        (403, "AccessDenied".into())
    );
    let lifted = Request::new("PUT", "/locked/k?retention").body("<Retention/>");
    assert_eq!(
        client.send(lifted.clone()).error(),
        (403, "AccessDenied".into())
    );
    client
        .send(set(&ahead(60)).header("x-amz-bypass-governance-retention", "true"))
        .ok();
    assert_eq!(
        client.send(set("2001-01-01T00:00:00Z")).error(),
        (400, "InvalidArgument".into())
    );
    client
        .send(lifted.header("x-amz-bypass-governance-retention", "true"))
        .ok();
    assert_eq!(
        client.call("GET", "/locked/k?retention").error(),
        (404, "NoSuchObjectLockConfiguration".into())
    );
}

#[test]
fn the_default_of_a_bucket_is_what_each_way_of_making_an_object_begins_with() {
    let server = Server::start(&["--memory"]);
    let mut client = server.client();
    client.call("PUT", "/locked").ok();
    let rule =
        "<Rule><DefaultRetention><Mode>GOVERNANCE</Mode><Days>3</Days></DefaultRetention></Rule>";
    let configuration = format!(
        "<ObjectLockConfiguration><ObjectLockEnabled>Enabled</ObjectLockEnabled>{rule}</ObjectLockConfiguration>"
    );
    let lock = Request::new("PUT", "/locked?object-lock").body(configuration);
    assert_eq!(
        client.send(lock.clone()).error(),
        (409, "InvalidBucketState".into())
    );
    let enabled = "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>";
    client
        .send(Request::new("PUT", "/locked?versioning").body(enabled))
        .ok();
    client.send(lock).ok();
    assert_eq!(
        client
            .call("GET", "/locked?object-lock")
            .ok()
            .fields("Days"),
        ["3"]
    );
    client.put("/locked/put", "bytes").ok();
    client
        .send(Request::new("PUT", "/locked/copy").header("x-amz-copy-source", "/locked/put"))
        .ok();
    let upload = client
        .call("POST", "/locked/parts?uploads")
        .ok()
        .fields("UploadId")
        .remove(0);
    let etag = client
        .put(
            &format!("/locked/parts?partNumber=1&uploadId={upload}"),
            "part",
        )
        .ok()
        .headers["etag"]
        .clone();
    let part = format!("<Part><PartNumber>1</PartNumber><ETag>{etag}</ETag></Part>");
    let complete = format!("<CompleteMultipartUpload>{part}</CompleteMultipartUpload>");
    client
        .send(Request::new("POST", &format!("/locked/parts?uploadId={upload}")).body(complete))
        .ok();
    for key in ["put", "copy", "parts"] {
        let head = client.call("HEAD", &format!("/locked/{key}")).ok();
        assert_eq!(
            head.headers["x-amz-object-lock-mode"], "GOVERNANCE",
            "{key}"
        );
        assert!(
            head.headers["x-amz-object-lock-retain-until-date"] > ahead(2 * 86_400),
            "{key}"
        );
    }
}

#[test]
fn a_lock_that_nothing_keeps_is_refused_and_not_ignored() {
    let server = Server::start(&["--memory"]);
    let mut client = server.client();
    client.call("PUT", "/bucket").ok();
    with_lock(&mut client);
    let held = |path: &str| Request::new("PUT", path).header("x-amz-object-lock-legal-hold", "ON");
    let upload =
        Request::new("POST", "/bucket/k?uploads").header("x-amz-object-lock-legal-hold", "ON");
    let copy = held("/bucket/k").header("x-amz-copy-source", "/locked/k");
    client.put("/locked/k", "bytes").ok();
    for request in [held("/bucket/k").body("bytes"), copy, upload] {
        assert_eq!(client.send(request).error(), (400, "InvalidRequest".into()));
    }
    let half = Request::new("PUT", "/locked/k")
        .header("x-amz-object-lock-mode", "GOVERNANCE")
        .body("bytes");
    assert_eq!(client.send(half).error(), (400, "InvalidArgument".into()));
    assert_eq!(
        client.call("GET", "/bucket?object-lock").error(),
        (404, "ObjectLockConfigurationNotFoundError".into())
    );
    client.put("/bucket/k", "bytes").ok();
    assert_eq!(
        client.call("GET", "/bucket/k?retention").error(),
        (400, "InvalidRequest".into())
    );
}

#[test]
fn who_may_delete_may_not_bypass() {
    let dir = tempfile::tempdir().unwrap();
    let keys = dir.path().join("keys.toml");
    let text = "[[key]]\naccess = \"AKIATEST\"\nsecret = \"test-secret-key\"\nadmin = true\n\
        [[key]]\naccess = \"clerk\"\nsecret = \"clerk-secret\"\n[key.buckets]\n\"locked\" = [\"read\", \"write\", \"list\"]\n";
    std::fs::write(&keys, text).unwrap();
    let server = Server::start(&["--memory", "--keys", keys.to_str().unwrap()]);
    let mut client = server.client();
    with_lock(&mut client);
    let version = put_kept(&mut client, "k", "GOVERNANCE");
    let mut clerk = server.client().with("clerk", "clerk-secret");
    let delete = || {
        Request::new("DELETE", &format!("/locked/k?versionId={version}"))
            .header("x-amz-bypass-governance-retention", "true")
    };
    assert_eq!(clerk.send(delete()).error(), (403, "AccessDenied".into()));
    let policy = r#"{"Statement":{"Effect":"Allow","Principal":{"AWS":"clerk"},"Action":"s3:BypassGovernanceRetention","Resource":"arn:aws:s3:::locked/*"}}"#;
    client
        .send(Request::new("PUT", "/locked?policy").body(policy))
        .ok();
    clerk.send(delete()).ok();
}

#[test]
fn a_list_of_deletions_bypasses_governance_where_each_may() {
    let dir = tempfile::tempdir().unwrap();
    let keys = dir.path().join("keys.toml");
    let text = "[[key]]\naccess = \"AKIATEST\"\nsecret = \"test-secret-key\"\nadmin = true\n\
        [[key]]\naccess = \"clerk\"\nsecret = \"clerk-secret\"\n[key.buckets]\n\"locked\" = [\"read\"]\n";
    std::fs::write(&keys, text).unwrap();
    let server = Server::start(&["--memory", "--keys", keys.to_str().unwrap()]);
    let mut client = server.client();
    with_lock(&mut client);
    let kept = put_kept(&mut client, "kept", "GOVERNANCE");
    let open = put_kept(&mut client, "open", "GOVERNANCE");
    // The bucket itself is among what is allowed, and not among what is denied.
    let policy = r#"{"Statement":[{"Effect":"Allow","Principal":{"AWS":"clerk"},"Action":"s3:*","Resource":["arn:aws:s3:::locked","arn:aws:s3:::locked/*"]},
        {"Effect":"Deny","Principal":"*","Action":"s3:BypassGovernanceRetention","Resource":"arn:aws:s3:::locked/kept*"}]}"#;
    client
        .send(Request::new("PUT", "/locked?policy").body(policy))
        .ok();
    let list = format!(
        "<Delete><Object><Key>kept</Key><VersionId>{kept}</VersionId></Object><Object><Key>open</Key><VersionId>{open}</VersionId></Object></Delete>"
    );
    let mut clerk = server.client().with("clerk", "clerk-secret");
    let answer = clerk
        .send(
            Request::new("POST", "/locked?delete")
                .header("x-amz-bypass-governance-retention", "true")
                .body(list),
        )
        .ok();
    assert_eq!(answer.fields("Code"), ["AccessDenied"], "{}", answer.text());
    client
        .call("GET", &format!("/locked/kept?versionId={kept}"))
        .ok();
    assert_eq!(
        client
            .call("GET", &format!("/locked/open?versionId={open}"))
            .error()
            .1,
        "NoSuchVersion"
    );
}

#[test]
fn a_version_with_an_id_of_another_server_is_one_that_is_not_there() {
    let server = Server::start(&["--memory"]);
    let mut client = server.client();
    client.call("PUT", "/bucket").ok();
    client.put("/bucket/k", "content").ok();
    let foreign = "3sL4kqtJlcpXroDTDmJ.rmSpXd3dIbrHY";
    let of = |method: &str| Request::new(method, &format!("/bucket/k?versionId={foreign}"));
    assert_eq!(client.send(of("GET")).error().1, "NoSuchVersion");
    assert_eq!(client.send(of("DELETE")).status, 204);
    let list =
        format!("<Delete><Object><Key>k</Key><VersionId>{foreign}</VersionId></Object></Delete>");
    let answer = client
        .send(Request::new("POST", "/bucket?delete").body(list))
        .ok();
    assert_eq!(answer.fields("VersionId"), [foreign], "{}", answer.text());
    let missing = Request::new("DELETE", &format!("/missing/k?versionId={foreign}"));
    assert_eq!(client.send(missing).error().1, "NoSuchBucket");
    assert_eq!(client.call("GET", "/bucket/k").ok().body, b"content");
}
