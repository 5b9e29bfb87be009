//! What is said to be left on a server is never less than what is there, and exact only where the server said so.

use super::server::{Act, Asked, Server};
use super::{MS, context, plan, preset, run};
use host::NoWatch;
use object::{Follow, LoadPlan, ShareSecret, StepKind, execute};
use record::{LeftKind, Record};

fn is_object(asked: &Asked) -> bool {
    asked.path.matches('/').count() > 1
}

fn is_refused() -> Act {
    Act::Status(403, "AccessDenied")
}

/// How many things of a kind are left, and whether they are at most so many.
fn left(record: &Record, kind: LeftKind) -> Option<(u64, bool)> {
    let mut left = record.left_over.iter();
    left.find(|left| left.kind == kind)
        .map(|left| (left.count, left.is_at_most))
}

/// A load that reads what its setup made.
fn reads(server: &Server) -> LoadPlan {
    let mut plan = plan(preset("get", 2, 60_000), &server.s3("bucket"));
    plan.iterations = Some(2);
    plan
}

/// A load of more objects than are removed at once by far.
fn puts(server: &Server) -> LoadPlan {
    let mut plan = plan(preset("put", 2, 60_000), &server.s3("bucket"));
    plan.iterations = Some(600);
    plan
}

/// A load of multipart uploads by one user.
fn uploads(server: &Server, iterations: u64) -> LoadPlan {
    let mut plan = plan(preset("multipart", 1, 60_000), &server.s3("bucket"));
    plan.iterations = Some(iterations);
    plan
}

#[test]
fn who_refuses_some_removals_is_asked_for_all_the_others() {
    let server = Server::start(|asked| match asked.method.as_str() {
        "DELETE" if is_object(asked) && asked.number.is_multiple_of(5) => is_refused(),
        _ => Act::Answer,
    });
    let record = run(&puts(&server));
    let there = u64::try_from(server.objects()).unwrap();
    assert!(there > 100, "{there}");
    assert_eq!(left(&record, LeftKind::Objects), Some((there, false)));
    let removals = record.load.unwrap().teardown.kind("delete").unwrap().count;
    assert_eq!(removals + there, 600, "all were asked for");
}

#[test]
fn a_server_that_refuses_all_is_not_asked_a_thousand_times_and_that_is_said() {
    let server = Server::start(|asked| match asked.method.as_str() {
        "DELETE" if is_object(asked) => is_refused(),
        _ => Act::Answer,
    });
    let record = run(&puts(&server));
    assert_eq!(left(&record, LeftKind::Objects), Some((600, false)));
    let notes = record.notes().join("\n");
    assert!(notes.contains("of them were not asked for"), "{notes}");
}

#[test]
fn a_server_that_knows_no_removal_keeps_what_it_has() {
    let server = Server::start(|asked| match asked.method.as_str() {
        "DELETE" => Act::Status(404, ""),
        _ => Act::Answer,
    });
    let target = format!("http://127.0.0.1:{}/up", server.port);
    let mut plan = plan(preset("put", 2, 60_000), &target);
    plan.iterations = Some(20);
    let record = run(&plan);
    assert_eq!(server.objects(), 20);
    assert_eq!(left(&record, LeftKind::Objects), Some((20, true)));
}

#[test]
fn what_stays_because_it_shall_is_named() {
    let server = Server::start(|_| Act::Answer);
    let mut plan = reads(&server);
    plan.keep = true;
    let record = run(&plan);
    // And the bucket.
    assert_eq!(server.objects(), 21);
    assert_eq!(left(&record, LeftKind::Kept), Some((20, false)));
    let notes = record.notes().join("\n");
    assert!(notes.contains("their names begin with fathom-"), "{notes}");
}

#[test]
fn objects_whose_removal_was_not_answered_are_at_most_left() {
    let server = Server::start(|asked| match asked.method.as_str() {
        "DELETE" if is_object(asked) => Act::Lost,
        _ => Act::Answer,
    });
    let record = run(&reads(&server));
    assert_eq!(server.objects(), 0);
    assert_eq!(left(&record, LeftKind::Objects), Some((20, true)));
}

#[test]
fn objects_whose_removal_a_second_try_was_refused_are_at_most_left() {
    let server = Server::start(|asked| match asked.method.as_str() {
        "DELETE" if is_object(asked) && asked.number % 2 == 0 => Act::Lost,
        "DELETE" if is_object(asked) => Act::Status(503, "SlowDown"),
        _ => Act::Answer,
    });
    let mut plan = reads(&server);
    plan.retries = 1;
    let (count, is_at_most) = left(&run(&plan), LeftKind::Objects).unwrap();
    let there = server.objects();
    assert!(count >= u64::try_from(there).unwrap(), "{count} {there}");
    assert!(is_at_most);
}

#[test]
fn objects_that_the_server_refused_to_make_are_not_left() {
    let server = Server::start(|asked| match asked.method.as_str() {
        "PUT" if is_object(asked) => Act::Status(503, "SlowDown"),
        "DELETE" if is_object(asked) => is_refused(),
        _ => Act::Answer,
    });
    let error = execute(&reads(&server), &context(), &mut NoWatch).unwrap_err();
    assert!(
        !error.to_string().contains("could not be removed:"),
        "{error}"
    );
    assert_eq!((server.objects(), server.count("DELETE")), (0, 0));
}

#[test]
fn objects_that_a_setup_may_have_made_are_at_most_left() {
    for (lost, said) in [(true, "; at most 15 objects"), (false, "; 10 objects")] {
        let server = Server::start(move |asked| {
            let number = || asked.path.rsplit('-').next()?.parse::<u64>().ok();
            match asked.method.as_str() {
                "PUT" if is_object(asked) => match number().unwrap() % 4 {
                    0 => Act::Status(503, "SlowDown"),
                    1 if lost => Act::Lost,
                    1 => Act::Status(503, "SlowDown"),
                    _ => Act::Answer,
                },
                "DELETE" if is_object(asked) => is_refused(),
                _ => Act::Answer,
            }
        });
        let error = execute(&reads(&server), &context(), &mut NoWatch).unwrap_err();
        let text = error.to_string();
        assert!(text.contains(said), "{text}");
        assert_eq!(server.objects(), if lost { 15 } else { 10 });
    }
}

#[test]
fn uploads_of_which_only_the_server_knows_are_counted() {
    let server = Server::start(|asked| match asked.method.as_str() {
        "POST" if asked.query == "uploads=" => Act::Lost,
        "GET" if asked.query.contains("uploads=") => is_refused(),
        _ => Act::Answer,
    });
    let record = run(&uploads(&server, 3));
    assert_eq!(server.count("uploads"), 3);
    assert_eq!(left(&record, LeftKind::Uploads), Some((3, true)));
    // Each of them was begun twice.
    let mut plan = uploads(&server, 1);
    plan.retries = 1;
    assert_eq!(left(&run(&plan), LeftKind::Uploads), Some((2, true)));
}

#[test]
fn uploads_beyond_the_first_page_of_a_list_are_counted() {
    for refuses in [true, false] {
        let server = Server::start(move |asked| match asked.method.as_str() {
            "POST" if asked.query == "uploads=" => Act::Lost,
            "DELETE" if refuses && asked.query.contains("uploadId=") => is_refused(),
            _ => Act::Answer,
        });
        let record = run(&uploads(&server, 5));
        let there = server.state.uploads_begun();
        let said = left(&record, LeftKind::Uploads);
        assert_eq!(
            (there, said),
            if refuses {
                (5, Some((5, true)))
            } else {
                (0, None)
            }
        );
    }
}

#[test]
fn a_list_that_lags_behind_is_not_worked_off_for_ever() {
    let server = Server::start(|asked| match asked.method.as_str() {
        "POST" if asked.query == "uploads=" => Act::Lost,
        // It stays on the list.
        "DELETE" if asked.query.contains("uploadId=") => Act::Status(204, ""),
        _ => Act::Answer,
    });
    let record = run(&uploads(&server, 1));
    assert_eq!(left(&record, LeftKind::Uploads), Some((1, true)));
    assert!(server.requests() < 50, "{}", server.requests());
}

#[test]
fn a_list_without_uploads_that_are_known_is_not_believed() {
    let server = Server::start(|asked| match asked.method.as_str() {
        "POST" if asked.query == "uploads=" && asked.number < 4 => Act::Lost,
        "GET" if asked.query.contains("uploads=") => Act::Body(NONE_OPEN),
        "PUT" if asked.query.contains("partNumber=") => is_refused(),
        "DELETE" if asked.query.contains("uploadId=") => is_refused(),
        _ => Act::Answer,
    });
    let record = run(&uploads(&server, 3));
    let there = u64::try_from(server.state.uploads_begun()).unwrap();
    assert_eq!(left(&record, LeftKind::Uploads), Some((there, true)));
}

#[test]
fn uploads_whose_end_was_not_answered_are_at_most_left() {
    for always in [true, false] {
        let server = Server::start(move |asked| match asked.method.as_str() {
            "PUT" if asked.query.contains("partNumber=") => Act::Status(503, "SlowDown"),
            "DELETE" if is_object(asked) && asked.query.is_empty() => Act::Answer,
            // The load's own is the first.
            "DELETE" if is_object(asked) && (always || asked.number < 6) => Act::Lost,
            "DELETE" if is_object(asked) => is_refused(),
            _ => Act::Answer,
        });
        let record = run(&uploads(&server, 1));
        assert_eq!(left(&record, LeftKind::Uploads), Some((1, true)));
    }
}

#[test]
fn posted_files_whose_answers_were_lost_are_counted() {
    let server = Server::start(|asked| match asked.method.as_str() {
        "POST" if asked.number % 3 == 0 => Act::Lost,
        _ => Act::Answer,
    });
    let url = format!("http://127.0.0.1:{}/api/entry", server.port);
    let mut plan = plan(preset("post", 1, 60_000), &url);
    plan.iterations = Some(6);
    for retries in [0, 1] {
        let before = server.count("POST");
        plan.retries = retries;
        let record = run(&plan);
        let stored = server.count("POST") - before;
        assert_eq!(left(&record, LeftKind::Posted), Some((stored, true)));
    }
}

/// A file share, whose files have the names that it gives them.
fn share(server: &Server, name: &str) -> LoadPlan {
    let mut plan = plan(
        preset(name, 1, 60_000),
        &format!("share+http://127.0.0.1:{}", server.port),
    );
    plan.secret = Some(ShareSecret::new("known".into()));
    plan.credentials = None;
    plan.iterations = Some(12);
    plan
}

#[test]
fn files_of_a_share_whose_answers_were_lost_are_counted() {
    let loses = |every: u64| {
        move |asked: &Asked| match asked.method.as_str() {
            "POST" if asked.path != "/api/auth" && asked.number.is_multiple_of(every) => Act::Lost,
            _ => Act::Answer,
        }
    };
    // Those of users; what has a name is removed.
    for retries in [0, 1] {
        let server = Server::start(loses(3));
        let mut plan = share(&server, "put");
        plan.retries = retries;
        let record = run(&plan);
        let there = u64::try_from(server.objects()).unwrap();
        assert!(there > 2);
        assert_eq!(left(&record, LeftKind::Posted), Some((there, true)));
        assert_eq!(left(&record, LeftKind::Objects), None);
    }
    // Those of the setup, of which each was put up again.
    let server = Server::start(loses(3));
    let mut plan = share(&server, "get");
    plan.retries = 5;
    let record = run(&plan);
    let there = u64::try_from(server.objects()).unwrap();
    assert!(there > 2);
    assert_eq!(left(&record, LeftKind::Posted), Some((there, true)));
    assert_eq!(record.load.as_ref().unwrap().left_behind, there);
    // All were answered.
    for name in ["put", "get"] {
        let server = Server::start(|_| Act::Answer);
        let record = run(&share(&server, name));
        assert_eq!((server.objects(), record.left_over.len()), (0, 0));
    }
}

#[test]
fn an_object_that_two_steps_delete_takes_no_other_with_it() {
    let server = Server::start(|_| Act::Answer);
    let mut plan = plan(preset("put", 1, 60_000), &server.s3("bucket"));
    let [step] = plan.scenario.steps.as_mut_slice() else {
        panic!("it has one step");
    };
    let delete = Follow {
        kind: StepKind::Delete,
        one_in: 2,
        at_most: None,
    };
    step.then = vec![delete, delete];
    plan.iterations = Some(100);
    let record = run(&plan);
    assert!(server.count("DELETE") > 120, "some were deleted twice");
    assert_eq!((server.objects(), record.left_over.len()), (0, 0));
}

/// A whole list with nothing on it.
const NONE_OPEN: &str =
    "<ListMultipartUploadsResult><IsTruncated>false</IsTruncated></ListMultipartUploadsResult>\n";

/// A server that says this of the uploads that are open, of which the load does not know any.
fn listed(page: &'static str) -> Option<(u64, bool)> {
    let server = Server::start(move |asked| match asked.method.as_str() {
        "POST" if asked.query == "uploads=" => Act::Lost,
        "GET" if asked.query.contains("uploads=") => Act::Body(page),
        _ => Act::Answer,
    });
    left(&run(&uploads(&server, 3)), LeftKind::Uploads)
}

#[test]
fn what_is_no_list_of_uploads_says_nothing_of_them() {
    for page in [
        "",
        "<html>",
        "<Error><Code>NotImplemented</Code></Error>",
        "<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>",
        // Cut.
        "<ListMultipartUploadsResult><IsTruncated>false</IsTruncated>",
        // Uploads that nobody can read.
        "<ListMultipartUploadsResult><IsTruncated>false</IsTruncated><Upload><UploadId>x</UploadId></Upload></ListMultipartUploadsResult>",
        "<ListMultipartUploadsResult><IsTruncated>false</IsTruncated><Upload a='b'><Key>fathom-1&#x2F;a</Key><UploadId>x</UploadId></Upload></ListMultipartUploadsResult>",
        "<ListMultipartUploadsResult><IsTruncated>false</IsTruncated><Upload/></ListMultipartUploadsResult>",
        "<ListMultipartUploadsResult></ListMultipartUploadsResult>",
    ] {
        assert_eq!(listed(page), Some((3, true)), "{page}");
    }
    for page in [
        NONE_OPEN,
        "<ListMultipartUploadsResult xmlns='x'>\n <IsTruncated>False</IsTruncated>\n <Upload>\n  <Key>somebody/else's</Key><UploadId>x</UploadId></Upload>\n</ListMultipartUploadsResult>",
    ] {
        assert_eq!(listed(page), None, "{page}");
    }
}

#[test]
fn a_list_that_names_others_each_time_is_given_up() {
    let server = Server::start(|asked| match asked.method.as_str() {
        "POST" if asked.query == "uploads=" => Act::Lost,
        "GET" if asked.query.contains("uploads=") => Act::Invented,
        _ => Act::Answer,
    });
    let record = run(&uploads(&server, 3));
    assert_eq!(left(&record, LeftKind::Uploads), Some((3, true)));
    assert!(server.requests() < 50, "{}", server.requests());
}

#[test]
fn an_upload_that_a_list_names_twice_is_one() {
    let server = Server::start(|asked| match asked.method.as_str() {
        "POST" if asked.query == "uploads=" => Act::Lost,
        "GET" if asked.query.contains("uploads=") => Act::Twice,
        "DELETE" if asked.query.contains("uploadId=") => is_refused(),
        _ => Act::Answer,
    });
    let record = run(&uploads(&server, 3));
    assert_eq!(left(&record, LeftKind::Uploads), Some((3, true)));
}

#[test]
fn a_store_that_does_not_say_what_is_gone_is_asked_for_all_objects() {
    let server = Server::start(|asked| match asked.method.as_str() {
        "DELETE" if is_object(asked) => Act::Status(404, ""),
        _ => Act::Answer,
    });
    let mut plan = plan(preset("put", 1, 60_000), &server.s3("bucket"));
    plan.iterations = Some(200);
    let record = run(&plan);
    assert_eq!(left(&record, LeftKind::Objects), Some((200, true)));
    assert!(server.requests() > 400, "{}", server.requests());
}

/// One address of a store dies when the load is over, or answers as one that knows the store no more: the other removes,
/// also the bucket, which it had not before this load made it.
#[test]
fn what_one_endpoint_does_not_remove_another_is_asked_for() {
    for act in [
        Act::Hang,
        Act::Status(503, "SlowDown"),
        Act::Status(404, ""),
    ] {
        let mut server = Server::start(move |asked| match asked.method.as_str() {
            "DELETE" if asked.way == 0 => act,
            "GET" if asked.way == 0 && asked.query.contains("uploads=") => act,
            "POST" if asked.query == "uploads=" && asked.number.is_multiple_of(3) => Act::Lost,
            _ => Act::Answer,
        });
        let (first, other) = (server.s3("bucket"), server.other_way());
        let target = format!("{first},http://127.0.0.1:{other}");
        for scenario in ["put", "multipart"] {
            let mut plan = plan(preset(scenario, 2, 60_000), &target);
            plan.iterations = Some(24);
            plan.timeout_ns = 500 * MS;
            let record = run(&plan);
            let there = server.state.objects.lock().unwrap();
            let there: Vec<&String> = there.keys().collect();
            assert!(there.is_empty(), "{act:?} {scenario}: {there:?}");
            assert_eq!(server.state.uploads_begun(), 0, "{act:?} {scenario}");
            assert_eq!(record.left_over, [], "{act:?} {scenario}");
        }
    }
}

/// What is another store's is left as it is: a bucket that was there before.
#[test]
fn a_bucket_that_one_endpoint_had_is_not_removed_there() {
    let servers = [
        Server::start(|asked| match asked.method.as_str() {
            "DELETE" => Act::Hang,
            _ => Act::Answer,
        }),
        Server::start(|_| Act::Answer),
    ];
    let mut objects = servers[1].state.objects.lock().unwrap();
    objects.insert("/bucket".into(), Vec::new());
    drop(objects);
    let (first, other) = (servers[0].s3("bucket"), servers[1].port);
    let target = format!("{first},http://127.0.0.1:{other}");
    let mut plan = plan(preset("put", 2, 60_000), &target);
    plan.iterations = Some(20);
    let record = run(&plan);
    assert!(
        servers[1]
            .state
            .objects
            .lock()
            .unwrap()
            .contains_key("/bucket")
    );
    let notes = record.notes().join("\n");
    let told = format!("it is left at 127.0.0.1:{}/bucket", servers[0].port);
    assert!(notes.contains(&told), "{notes}");
}

/// A bucket that was made, though no answer said so, is this load's: it is loaded, and removed.
#[test]
fn a_bucket_whose_making_was_answered_by_nobody_is_this_loads() {
    let server = Server::start(|asked| match asked.method.as_str() {
        "PUT" if asked.path == "/bucket" => Act::Lost,
        _ => Act::Answer,
    });
    let mut plan = plan(preset("put", 2, 60_000), &server.s3("bucket"));
    plan.iterations = Some(20);
    let record = run(&plan);
    assert_eq!(record.operations.count(), 20);
    let there = server.state.objects.lock().unwrap();
    assert!(there.is_empty(), "{:?}", there.keys());
}

/// What stands before a store answers 404, too, and knows nothing of its buckets: one that is there by the word of
/// another endpoint, or that another rank has found, is not made again and then removed as this load's own.
#[test]
fn a_bucket_that_one_endpoint_does_not_know_once_is_not_this_loads() {
    for (rank, ways) in [(0, 2), (1, 1)] {
        let mut server = Server::start(move |asked| match asked.method.as_str() {
            "HEAD" if asked.path == "/bucket" && asked.way + 1 == ways => Act::Status(404, ""),
            _ => Act::Answer,
        });
        let bucket = "/bucket".to_owned();
        server
            .state
            .objects
            .lock()
            .unwrap()
            .insert(bucket.clone(), Vec::new());
        let mut target = server.s3("bucket");
        if ways == 2 {
            target = format!("{target},http://127.0.0.1:{}", server.other_way());
        }
        let mut plan = plan(preset("put", 2, 60_000), &target);
        plan.iterations = Some(20);
        plan.share = object::LoadShare { rank, size: 2 };
        let record = run(&plan);
        assert_eq!(record.operations.count(), 20);
        let there = server.state.objects.lock().unwrap();
        let there: Vec<&String> = there.keys().collect();
        assert_eq!(there, [&bucket], "{rank}");
    }
}
