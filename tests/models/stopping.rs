//! Ctrl-C while the model is waited for.

use std::process::Stdio;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rtc_tests::model_server::{Answer, Dialect, ModelServer};
use rtc_tests::{assert_whole, text};

use crate::desk::Desk;

#[test]
fn every_wait_for_the_model_ends_at_once() {
    let half = |dialect| {
        let reply = Answer::text("Half of this is said.");
        let bytes = reply.body(dialect).len() / 2;
        reply.stall_after(bytes)
    };
    for dialect in [Dialect::Chat, Dialect::Messages] {
        let waits = [
            ("before the first byte", Answer::text("never").stall_after(0)),
            ("within the reply", half(dialect)),
            (
                "before it is asked again",
                Answer::status(503, "{}").header("retry-after", "50"),
            ),
        ];
        for (name, answer) in waits {
            let desk = Desk::new(
                dialect,
                &[],
                ModelServer::in_order([answer, Answer::text("Here again.")]),
            );
            let mut command = desk.request("hello", &[]);
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
            let child = command.spawn().expect("rtc-headless starts");
            desk.server.wait_for(1);
            let id = i32::try_from(child.id()).expect("an id of a process");
            kill(Pid::from_raw(id), Signal::SIGINT).expect("the process runs");
            let ended = child.wait_with_output().expect("it ends");
            assert_eq!(ended.status.code(), Some(5), "{name}: {}", text(&ended.stderr));
            let session = desk.place.last_session();
            assert_eq!(session["turns"][0]["status"], "cancelled", "{name}");
            assert_whole(&session);
            assert_eq!(desk.asked().len(), 1, "{name}: it is not asked again");
            let next = desk.run("still there?", &["--continue"]);
            assert_eq!(
                (next.code, next.stdout.as_str()),
                (Some(0), "Here again.\n"),
                "{name}"
            );
        }
    }
}
