//! Ctrl-C while the model is waited for.

use std::io::Read;
use std::net::TcpListener;
use std::process::{Child, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rtc_tests::model_server::{Answer, Dialect, Last, ModelServer};
use rtc_tests::{assert_whole, text};

use crate::desk::Desk;

fn begin(desk: &Desk) -> Child {
    let mut command = desk.request("hello", &[]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("rtc-headless starts")
}

/// Stops a request, and sees that the turn was cancelled and that the session goes on.
fn stop(desk: &Desk, child: Child, name: &str) {
    let id = i32::try_from(child.id()).expect("an id of a process");
    kill(Pid::from_raw(id), Signal::SIGINT).expect("the process runs");
    let ended = child.wait_with_output().expect("it ends");
    assert_eq!(ended.status.code(), Some(5), "{name}: {}", text(&ended.stderr));
    let session = desk.place.last_session();
    assert_eq!(session["turns"][0]["status"], "cancelled", "{name}");
    assert_whole(&session);
}

fn go_on(desk: &Desk, name: &str) {
    let next = desk.run("still there?", &["--continue"]);
    assert_eq!(
        (next.code, next.stdout.as_str()),
        (Some(0), "Here again.\n"),
        "{name}"
    );
}

fn half_of(text: &str, dialect: Dialect) -> (Answer, usize) {
    let reply = Answer::text(text);
    let bytes = reply.body(dialect).len() / 2;
    (reply, bytes)
}

#[test]
fn every_wait_for_the_model_ends_at_once() {
    for dialect in [Dialect::Chat, Dialect::Messages] {
        let (reply, bytes) = half_of("Half of this is said.", dialect);
        let waits = [
            ("before the first byte", Answer::text("never").stall_after(0)),
            ("within the reply", reply.stall_after(bytes)),
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
            let child = begin(&desk);
            desk.server.wait_for(1);
            stop(&desk, child, name);
            assert_eq!(desk.asked().len(), 1, "{name}: it is not asked again");
            go_on(&desk, name);
        }
    }
}

#[test]
fn connecting_ends_at_once() {
    for dialect in [Dialect::Chat, Dialect::Messages] {
        let desk = Desk::new(dialect, &[], ModelServer::in_order([Answer::text("Here again.")]));
        // It hears the greeting of a safe connection, and never returns it.
        let silent = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = silent.local_addr().expect("an address");
        desk.configure(&format!("https://{address}/v1"));
        let child = begin(&desk);
        let (mut connection, _) = silent.accept().expect("somebody connects");
        connection.read_exact(&mut [0]).expect("it greets");
        stop(&desk, child, "while connecting");
        desk.configure(&desk.server.base_url(dialect));
        go_on(&desk, "while connecting");
    }
}

/// How long is waited before the next attempt is random, and may be nearly nothing. So of a few such turns, one was
/// surely stopped between two attempts.
#[test]
fn the_wait_after_a_reply_that_broke_off_ends_at_once() {
    const BROKEN: usize = 3;
    for dialect in [Dialect::Chat, Dialect::Messages] {
        let stopped_between = (0..3).any(|_| {
            let server = ModelServer::start(move |asked| {
                let (reply, bytes) = half_of("Half of this is said.", dialect);
                match asked.last() {
                    Last::User(text) if text.contains("still there?") => Answer::text("Here again."),
                    _ if asked.number < BROKEN => reply.reset_after(bytes),
                    _ => Answer::text("never").stall_after(0),
                }
            });
            let desk = Desk::new(dialect, &[], server);
            let child = begin(&desk);
            desk.server.wait_for(BROKEN);
            stop(&desk, child, "between two attempts");
            let asked = desk.asked().len();
            assert!(asked <= BROKEN + 1, "it is asked {asked} times");
            go_on(&desk, "between two attempts");
            asked == BROKEN
        });
        assert!(stopped_between, "{dialect:?}: it was asked again each time");
    }
}
