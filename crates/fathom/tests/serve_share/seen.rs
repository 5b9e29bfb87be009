//! What the target says that it saw is what was done, by kind.

use super::client::{FORM, form};
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
