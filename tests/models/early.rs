//! What begins while a reply is still being written.

use std::process::Stdio;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rtc_tests::model_server::{Answer, Dialect, ModelServer};
use rtc_tests::{assert_whole, text, workers_of};

use crate::desk::Desk;

/// Nothing here takes that long.
const LONGEST: Duration = Duration::from_secs(60);

/// A reply that stops in the middle of a call, after its name.
fn half_a_call(dialect: Dialect, tool: &str) -> Answer {
    let answer = Answer::reply().call("call_1", tool, r#"{"title": "t", "code": "1 + 1"}"#);
    let body = text(&answer.body(dialect));
    let name = body.find(&format!("\"{tool}\"")).expect("the call has a name");
    let event = body[name..].find("\n\n").expect("an event ends") + 2;
    answer.stall_after(name + event)
}

#[test]
fn a_worker_is_started_when_the_model_begins_to_write_a_script() {
    for (dialect, tool, started) in [
        (Dialect::Chat, "script", true),
        (Dialect::Messages, "script", true),
        (Dialect::Chat, "read", false),
    ] {
        let server = ModelServer::in_order([half_a_call(dialect, tool)]);
        let desk = Desk::new(dialect, &[], server);
        let mut command = desk.request("go on", &[]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().expect("rtc-headless starts");
        desk.server.wait_for(1);
        let latest = Instant::now() + LONGEST;
        while !desk.server.is_read_up_to_a_stall() || started && workers_of(child.id()).is_empty() {
            assert!(Instant::now() < latest, "{dialect:?}: no worker is started");
            std::thread::yield_now();
        }
        let workers = workers_of(child.id());
        let id = i32::try_from(child.id()).expect("an id of a process");
        kill(Pid::from_raw(id), Signal::SIGINT).expect("the process runs");
        let ended = child.wait_with_output().expect("it ends");
        assert_eq!(ended.status.code(), Some(5), "{}", text(&ended.stderr));
        assert_eq!(workers.len(), usize::from(started), "{tool}: {workers:?}");
        assert_whole(&desk.place.last_session());
    }
}
