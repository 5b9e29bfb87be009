//! What the target says that it saw is what was done, by kind.

use super::client::{FORM, SECRET, form};
use super::{LAYOUTS, noise, served};

#[test]
fn the_bytes_that_were_seen_are_those_of_files() {
    for layout in LAYOUTS {
        let (_dir, server, owner) = served(&["--layout", layout]);
        let link = owner.json("POST", "/api/guest-links", "{}").id();
        let empty = owner.upload("empty", b"").id();
        let large = owner.upload("large", &noise(1, 700_000)).id();
        let guest = server.guest();
        let path = format!("/api/guest/{link}");
        for length in [0, 100] {
            let answer = guest.send("POST", &path, &[FORM], &form("g", &noise(2, length)));
            assert_eq!(answer.status, 200);
        }
        let replaced = format!("/api/entry/{empty}");
        owner.send("POST", &replaced, &[FORM], &form("now", b""));
        let path = format!("/-{large}");
        guest.call("GET", &path);
        guest.call("GET", &format!("/-{empty}"));
        guest.call("HEAD", &path);
        for range in ["bytes=100-299", "bytes=0-9,20-24"] {
            guest.send("GET", &path, &[("range", range)], b"");
        }
        guest.send("GET", &path, &[("range", "bytes=700000-")], b"");
        let etag = guest.call("HEAD", &path).headers["etag"].clone();
        guest.send("GET", &path, &[("if-none-match", &etag)], b"");
        let page = owner.call("GET", "/files").body.len();
        owner.call("DELETE", &format!("/api/entry/{empty}"));
        guest.upload("no", b"x");
        let seen: serde_json::Value =
            serde_json::from_slice(&owner.call("GET", "/fathom/seen").body).unwrap();
        for (kind, count, bytes, errors) in [
            ("put", 2, 700_000, 1),
            ("post", 2, 100, 0),
            ("replace", 1, 0, 0),
            ("get", 5, 700_000 + 200 + 15, 1),
            ("head", 2, 0, 0),
            ("delete", 1, 0, 0),
            ("list", 1, page, 0),
        ] {
            let of = &seen["operations"][kind];
            assert_eq!(
                (&of["count"], &of["bytes"], &of["errors"]),
                (&count.into(), &bytes.into(), &errors.into()),
                "{layout} {kind}: {of}"
            );
        }
    }
}

#[test]
fn a_share_that_runs_is_told_to_misbehave_by_who_knows_the_secret() {
    let (_dir, server, owner) = served(&[]);
    let id = owner.upload("k", b"12345").id();
    let path = format!("/-{id}");
    let guest = server.guest();
    let order = |secret: &str, text: &str| {
        let shown = format!("Bearer {secret}");
        let shown = [("authorization", shown.as_str())];
        guest.send("POST", "/fathom/misbehave", &shown, text.as_bytes())
    };
    assert_eq!(order("another", "errors=100%:507").status, 403);
    let by_cookie = owner.send("POST", "/fathom/misbehave", &[], b"errors=100%:507");
    assert_eq!(by_cookie.status, 403);
    let told = order(SECRET, "get.errors=100%:507");
    assert!(
        told.text().starts_with("generation 1 from request "),
        "{}",
        told.text()
    );
    assert_eq!(guest.call("GET", &path).status, 507);
    assert_eq!(order(SECRET, "get.lost=1%").status, 400);
    assert_eq!(order(SECRET, "none").status, 200);
    assert_eq!(guest.call("GET", &path).body, b"12345");
    let seen = owner.call("GET", "/fathom/seen");
    let seen: serde_json::Value = serde_json::from_slice(&seen.body).unwrap();
    assert_eq!(seen["counters"]["fathom_share_misbehave_generation"], 2);
}
