//! What is no file, or is no more what it was: no tool opens it, waits for it or takes it for something else.

use std::os::unix::net::UnixListener;

use rtc_tool::handle;
use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};
use serde_json::json;

use super::*;
use crate::{Edit, FileCalls, Find, Grep, Lines, Ls, Read, Write};

/// A folder with a pipe, a socket and, where that may be made, a device.
fn odd() -> (Workplace, UnixListener, Vec<&'static str>) {
    let here = workplace(&[("d/file", "needle\n")]);
    let folder = here.folder.path().join("d");
    mknodat(CWD, folder.join("pipe"), FileType::Fifo, Mode::RWXU, 0).unwrap();
    let socket = UnixListener::bind(folder.join("socket")).unwrap();
    let mut names = vec!["pipe", "socket"];
    // The device that is always full of zeros.
    match mknodat(
        CWD,
        folder.join("zero"),
        FileType::CharacterDevice,
        Mode::RWXU,
        makedev(1, 5),
    ) {
        Ok(()) => names.push("zero"),
        #[expect(
            clippy::disallowed_macros,
            reason = "a part of the test that is left out is told"
        )]
        Err(error) => eprintln!("SKIPPED the device: it cannot be made here ({error})"),
    }
    (here, socket, names)
}

#[tokio::test]
async fn pipes_sockets_and_devices_are_shown_and_never_opened() {
    let (here, _socket, names) = odd();
    let listed = here.text(&handle(Ls), json!({"path": "/d"})).await;
    assert_eq!(
        listed.split('\n').collect::<Vec<_>>(),
        [&["file"], names.as_slice()].concat()
    );
    let found = here
        .text(&handle(Find), json!({"path": "/d", "pattern": "*"}))
        .await;
    assert_eq!(found.split('\n').count(), 1 + names.len(), "{found}");
    assert_eq!(
        here.text(&handle(Grep), json!({"pattern": "needle"})).await,
        "/d/file:1:needle"
    );
    let calls = FileCalls::new(here.context.clone());
    assert_eq!(
        calls.list("/d").await.unwrap().as_array().unwrap().len(),
        1 + names.len()
    );
    for name in names {
        let path = format!("/d/{name}");
        let refusal =
            format!("`{path}` is neither a file nor a folder (a pipe, socket or device) and is not opened");
        for (tool, args) in [
            (handle(Read), json!({"path": path})),
            (handle(Write), json!({"path": path, "content": "x"})),
            (
                handle(Write),
                json!({"path": path, "content": "x", "mode": "append"}),
            ),
            (
                handle(Edit),
                json!({"path": path, "old_string": "a", "new_string": "b"}),
            ),
            (handle(Grep), json!({"path": path, "pattern": "needle"})),
            (handle(Find), json!({"path": path, "pattern": "*"})),
        ] {
            assert_eq!(here.text(&tool, args).await, format!("Execution: {refusal}"));
        }
        let ls = here.text(&handle(Ls), json!({"path": path})).await;
        assert_eq!(ls, format!("InvalidArguments: `{path}` is not a folder"));
        let below = here
            .text(&handle(Read), json!({"path": format!("{path}/x")}))
            .await;
        assert_eq!(below, format!("InvalidArguments: `{path}` is not a folder"));
        let write = || serde_json::from_value(json!({"path": path, "content": "x"})).unwrap();
        let edit =
            || serde_json::from_value(json!({"path": path, "old_string": "a", "new_string": "b"})).unwrap();
        let grep = || serde_json::from_value(json!({"path": path, "pattern": "x"})).unwrap();
        let refused = [
            calls.read(&path, Lines::default()).await.unwrap_err(),
            calls.read_bytes(&path).await.unwrap_err(),
            calls.write(write()).await.unwrap_err(),
            calls.edit(edit()).await.unwrap_err(),
            calls.grep(grep()).await.unwrap_err(),
            calls.rename(&path, "/elsewhere").await.unwrap_err(),
            calls.remove(&path, true).await.unwrap_err(),
        ];
        for error in refused {
            assert_eq!(error.message, refusal);
        }
        assert_eq!(calls.stat(&path).await.unwrap()["kind"], json!("other"));
    }
    assert_eq!(calls.changed(), Vec::<String>::new());
}

#[tokio::test]
async fn a_pipe_that_takes_the_place_of_a_known_file_is_not_waited_for() {
    let here = workplace(&[("a.txt", "one\n")]);
    let path = json!({"path": "/a.txt"});
    here.text(&handle(Read), path.clone()).await;
    let place = here.folder.path().join("a.txt");
    rustix::fs::unlink(&place).unwrap();
    mknodat(CWD, &place, FileType::Fifo, Mode::RWXU, 0).unwrap();
    for (tool, args) in [
        (handle(Read), path),
        (
            handle(Edit),
            json!({"path": "/a.txt", "old_string": "one", "new_string": "1"}),
        ),
        (handle(Write), json!({"path": "/a.txt", "content": "1"})),
    ] {
        let text = here.text(&tool, args).await;
        assert!(
            text.starts_with("Execution: `/a.txt` is neither a file nor a folder"),
            "{text}"
        );
    }
}

#[tokio::test]
async fn a_time_in_the_future_changes_nothing() {
    let here = workplace(&[("a.txt", "one\n")]);
    let place = here.folder.path().join("a.txt");
    let dated = |seconds: i64| {
        let time = rustix::fs::Timespec {
            tv_sec: seconds,
            tv_nsec: 0,
        };
        let times = rustix::fs::Timestamps {
            last_access: time,
            last_modification: time,
        };
        rustix::fs::utimensat(CWD, &place, &times, rustix::fs::AtFlags::empty()).unwrap();
    };
    // The year 2200, and before 1970.
    for (seconds, old, new) in [(7_258_118_400, "one", "2"), (-86_400, "2", "three")] {
        dated(seconds);
        assert_eq!(
            here.text(&handle(Read), json!({"path": "/a.txt"})).await,
            format!("     1\t{old}")
        );
        let calls = FileCalls::new(here.context.clone());
        assert_eq!(
            calls.stat("/a.txt").await.unwrap()["modified"],
            json!(seconds * 1000)
        );
        // The same bytes with another time are the file that was read.
        dated(seconds + 1);
        let edit = json!({"path": "/a.txt", "old_string": old, "new_string": new});
        let edited = here.text(&handle(Edit), edit).await;
        assert!(edited.contains("replaced: 1"), "{edited}");
        // Other bytes with the same time are not.
        dated(seconds);
        let known = here.text(&handle(Read), json!({"path": "/a.txt"})).await;
        assert_eq!(known, format!("     1\t{new}"));
        let other: String = new.chars().map(|_| 'x').collect();
        write(here.folder.path(), "a.txt", format!("{other}\n").as_bytes());
        dated(seconds);
        let stale = here
            .text(&handle(Write), json!({"path": "/a.txt", "content": "mine"}))
            .await;
        assert!(stale.starts_with("Stale: `/a.txt` has changed since"), "{stale}");
        write(here.folder.path(), "a.txt", format!("{new}\n").as_bytes());
    }
}

#[tokio::test]
async fn what_may_not_be_read_any_more_says_so_and_stays() {
    use std::os::unix::fs::PermissionsExt;

    let here = workplace(&[("a.txt", "one\n"), ("d/x", "two\n")]);
    if rustix::process::geteuid().is_root() {
        #[expect(clippy::disallowed_macros, reason = "a test that is left out is told")]
        {
            eprintln!("SKIPPED: the system denies nothing to root");
        }
        return;
    }
    for path in ["/a.txt", "/d/x"] {
        here.text(&handle(Read), json!({"path": path})).await;
    }
    let mode = |path: &str, mode: u32| {
        std::fs::set_permissions(here.folder.path().join(path), PermissionsExt::from_mode(mode)).unwrap();
    };
    mode("a.txt", 0o000);
    mode("d", 0o000);
    for path in ["/a.txt", "/d/x"] {
        for (tool, args) in [
            (handle(Read), json!({"path": path})),
            (
                handle(Edit),
                json!({"path": path, "old_string": "o", "new_string": "0"}),
            ),
            (handle(Write), json!({"path": path, "content": "0"})),
        ] {
            let text = here.text(&tool, args).await;
            assert!(
                text.starts_with("PermissionDenied: the system does not permit access to"),
                "{text}"
            );
        }
    }
    let grep = here.text(&handle(Grep), json!({"pattern": "o"})).await;
    assert!(grep.contains("2 paths could not be read: /a.txt, /d"), "{grep}");
    mode("d", 0o755);
    mode("a.txt", 0o644);
    assert_eq!(content(here.folder.path(), "a.txt"), b"one\n");
    assert_eq!(content(here.folder.path(), "d/x"), b"two\n");
}
