//! A result that was acknowledged is there after a kill, however large it is.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "the test is a process of its own as well"
)]

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command as Process, Stdio};
use std::sync::Arc;

use rtc_engine::{Command, Outcome, SessionState};
use rtc_store::{SledOptions, SledStore};
use rtc_types::{Mode, RtcStatus};
use serde_json::json;

use crate::bench::*;

/// The folder of the process that is killed.
const FOLDER: &str = "RTC_TEST_KILLED_FOLDER";
const ACKNOWLEDGED: &str = "the result is acknowledged";
const SIZE: usize = 10 * 1024 * 1024;

/// Ten megabytes that no compression makes small, with what JSON escapes.
fn result() -> String {
    let mut state = 7u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        char::from(b' ' + u8::try_from((state >> 33) % 95).expect("below 95"))
    };
    (0..SIZE).map(|_| next()).collect()
}

fn store(folder: &Path) -> Arc<SledStore> {
    Arc::new(SledStore::open(folder, &SledOptions::default()).unwrap())
}

/// What is killed: it says that the result is acknowledged, and does nothing any more.
#[tokio::test]
async fn the_process_that_is_killed() {
    let Some(folder) = std::env::var_os(FOLDER) else {
        return;
    };
    let script = Script::default();
    script.replies.lock().unwrap().push_back(one_edit());
    let engine = engine_over(store(Path::new(&folder)), Arc::new(script)).await;
    engine.send(message(1, "c1", "x", Mode::Bypass)).await.unwrap();
    let state = until(&engine, 1, |state| !state.calls.is_empty()).await;
    let finish = Command::Finish {
        rtc: state.calls[0].stored.entity.id,
        attempt: 0,
        outcome: Outcome::of(Ok(json!(result()))),
    };
    engine.tell(session(1), finish).await.unwrap();
    println!("{ACKNOWLEDGED}");
    std::future::pending::<()>().await;
}

#[tokio::test]
async fn a_result_of_ten_megabytes_survives_a_kill_right_after_its_acknowledgement() {
    let folder = tempfile::tempdir().unwrap();
    let program = std::env::current_exe().unwrap();
    let mut process = Process::new(program)
        .args(["--exact", "killed::the_process_that_is_killed", "--nocapture"])
        .env(FOLDER, folder.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
    let told = lines.any(|line| line.is_ok_and(|line| line.contains(ACKNOWLEDGED)));
    process.kill().unwrap();
    process.wait().unwrap();
    assert!(told, "the process has come so far");

    let script = Script::default();
    script.replies.lock().unwrap().push_back(says("done"));
    let script = Arc::new(script);
    let engine = engine_over(store(folder.path()), script.clone()).await;
    until(&engine, 1, SessionState::is_idle).await;
    let rtcs = engine.rtcs(session(1)).await.unwrap();
    assert_eq!((rtcs.len(), rtcs[0].entity.status), (1, RtcStatus::Completed));
    assert_eq!(rtcs[0].entity.result, Some(json!(result())));
    assert_eq!(script.requests.lock().unwrap().len(), 1, "the turn goes on, once");
}
