//! A database that somebody else has locked.

use super::{LAYOUTS, noise, served};
use rusqlite::Connection;

#[test]
fn who_waited_too_long_for_a_lock_of_others_is_told_when_to_come_again() {
    // Each layout waits as long as the server does.
    std::thread::scope(|scope| {
        for layout in LAYOUTS {
            scope.spawn(move || {
                let (dir, server, owner) = served(&["--layout", layout]);
                let kept = owner.upload("kept", &noise(1, 300_000)).id();
                let other = Connection::open(dir.path().join("share.db")).unwrap();
                other.execute_batch("BEGIN IMMEDIATE").unwrap();
                let refused = owner.upload("late", &noise(2, 300_000));
                assert_eq!(refused.status, 503, "{layout}: {}", refused.text());
                assert_eq!(refused.headers["retry-after"], "5", "{layout}");
                // Who only reads is served meanwhile.
                let got = server.guest().call("GET", &format!("/-{kept}"));
                assert!(got.status == 200 && got.body == noise(1, 300_000));
                other.execute_batch("COMMIT").unwrap();
                let id = owner.upload("late", &noise(2, 300_000)).id();
                let got = server.guest().call("GET", &format!("/-{id}"));
                assert!(got.body == noise(2, 300_000), "{layout}");
            });
        }
    });
}
