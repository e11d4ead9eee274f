//! Children: what they know, and that none outlives its parent.

use rtc_hub::{ENVIRONMENT, PARENT_VARIABLE, spawn};
use rtc_tool::{ToolStreamItem, terminal_of};
use serde_json::json;
use tokio::io::AsyncReadExt as _;

use super::way::{Case, command, id, over, process, remote};

#[tokio::test]
async fn a_child_knows_only_the_listed_variables() {
    // Cargo gives a test variables that are not on the list.
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
    let (peer, _child) = process().await;
    let items = over(&peer, &Case::new("environment", json!({}))).await;
    let [ToolStreamItem::Terminal(Ok(names))] = &items[..] else {
        panic!("{items:?}")
    };
    for name in names.as_array().unwrap() {
        let name = name.as_str().unwrap();
        assert!(ENVIRONMENT.contains(&name) || name == PARENT_VARIABLE, "{name}");
    }
}

#[tokio::test]
async fn the_death_of_a_child_ends_its_calls_and_is_told() {
    let (peer, child) = process().await;
    let mut waiting = remote(id(8), &Case::new("forever", json!({})));
    waiting.host = None;
    let waiting = peer.call(waiting);
    let items = over(&peer, &Case::new("die", json!({}))).await;
    let [ToolStreamItem::Terminal(Err(error))] = &items[..] else {
        panic!("{items:?}")
    };
    insta::assert_snapshot!(error, @"the process that ran it has gone: the connection is closed");
    insta::assert_snapshot!(terminal_of(waiting).await.unwrap_err(), @"the connection is closed");
    insta::assert_snapshot!(child.end().await.unwrap(), @"signal: 6 (SIGABRT)");
    let items = over(&peer, &Case::new("echo", json!({}))).await;
    let [ToolStreamItem::Terminal(Err(error))] = &items[..] else {
        panic!("{items:?}")
    };
    insta::assert_snapshot!(error, @"the process that ran it has gone: the connection is closed");
}

#[tokio::test]
async fn a_child_ends_with_its_input() {
    let mut child = spawn(command()).await.unwrap();
    drop(child.stdin.take());
    let mut said = Vec::new();
    // Its output ends when it does.
    child.stdout.take().unwrap().read_to_end(&mut said).await.unwrap();
    assert_eq!(said, b"");
}

#[tokio::test]
async fn what_cannot_be_started_is_told() {
    let mut wrong = command();
    wrong.program = "/no/such/program".into();
    insta::assert_snapshot!(spawn(wrong).await.unwrap_err(), @"/no/such/program could not be started: No such file or directory (os error 2)");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_dropped_child_is_killed_with_its_group_and_reaped() {
    // A shell with a child of its own, both in the group.
    let mut shell = command();
    shell.program = "/bin/sh".into();
    shell.arguments = vec!["-c".into(), "sleep 600 & echo $!; wait".into()];
    let mut child = spawn(shell).await.unwrap();
    let mut line = Vec::new();
    let mut stdout = child.stdout.take().unwrap();
    while !line.ends_with(b"\n") {
        line.push(stdout.read_u8().await.unwrap());
    }
    let grandchild: u32 = String::from_utf8(line).unwrap().trim().parse().unwrap();
    let parent = child.id;
    assert!(runs(parent) && runs(grandchild));
    assert_eq!(child.end().await.unwrap().code(), None);
    assert!(!runs(parent));
    // The pipe ends with the last one that holds it, which sleeps much longer than a test may take.
    let mut rest = Vec::new();
    stdout.read_to_end(&mut rest).await.unwrap();
}

/// A parent that is killed leaves nothing behind, even a child that looks at nothing any more.
#[cfg(target_os = "linux")]
#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "a lock shows whether the child lives")]
async fn no_child_outlives_its_parent() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lock");
    let mut command = command();
    command.arguments = vec![path.clone().into()];
    let mut parent = spawn(command).await.unwrap();
    let mut told = [0; 5];
    parent
        .stdout
        .as_mut()
        .unwrap()
        .read_exact(&mut told)
        .await
        .unwrap();
    assert_eq!(&told, b"held\n");
    let lock = std::fs::File::open(&path).unwrap();
    assert!(lock.try_lock().is_err(), "the child lives and holds it");
    // Only the parent: its child is in a group of its own.
    parent.end().await.unwrap();
    let free = tokio::task::spawn_blocking(move || lock.lock());
    let within = std::time::Duration::from_secs(1);
    tokio::time::timeout(within, free)
        .await
        .unwrap()
        .unwrap()
        .unwrap();
}

/// Whether the process is there and no zombie.
#[cfg(target_os = "linux")]
#[expect(clippy::disallowed_methods, reason = "the system's own table of processes")]
fn runs(process: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{process}/stat")).is_ok_and(|stat| {
        !stat
            .rsplit_once(')')
            .is_some_and(|(_, rest)| rest.starts_with(" Z"))
    })
}
