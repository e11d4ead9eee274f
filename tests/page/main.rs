//! The page in a browser, before the real engine: `rtc-headless serve` with a scripted model, driven by
//! `ui/tests/engine.mjs` with Playwright.

#![cfg(target_os = "linux")]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "tests start processes, look at files from outside, and tell how far they are"
)]

mod model;

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use nix::sys::signal::Signal;
use rtc_tests::model_server::{Dialect, ModelServer};
use rtc_tests::serving::Serving;
use rtc_tests::{Workplace, assert_whole, repository};
use serde_json::Value;

/// A project and its `serve`, which is killed and started again under the page.
struct Desk {
    place: Workplace,
    model: ModelServer,
}

impl Desk {
    fn serve(&self, args: &[&str]) -> Serving {
        let mut command = self.place.command(&["serve"]);
        command
            .arg("--root")
            .arg(self.place.root())
            .args(["--model", "openai/scripted"])
            .args(args)
            .env("OPENAI_BASE_URL", self.model.base_url(Dialect::Chat))
            .env("OPENAI_API_KEY", "of-a-test");
        Serving::of(command)
    }
}

#[test]
fn a_person_works_with_the_page() {
    let ui = repository().join("ui");
    if !ui.join("dist/index.html").is_file() {
        // `cargo xtask test` builds it first. A checkout without npm has none, and its other tests pass all the same.
        eprintln!("not tried: the page is not built");
        return;
    }
    let desk = Desk {
        place: Workplace::sample(),
        model: ModelServer::start(model::answer),
    };
    let mut serving = Some(desk.serve(&[]));
    let ready = &serving.as_ref().expect("it runs").ready;
    let (url, port) = (
        ready["url"].as_str().expect("an address"),
        ready["port"].to_string(),
    );
    let listen = format!("127.0.0.1:{port}");
    let mut driver = Command::new("node")
        .arg("tests/engine.mjs")
        .arg(url)
        .arg(desk.place.root())
        .current_dir(&ui)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("node is missing: run `cargo xtask setup`");
    let mut words = driver.stdin.take().expect("stdin is a pipe");
    let lines = BufReader::new(driver.stdout.take().expect("stdout is a pipe")).lines();
    // What the driver cannot do itself it asks for, a line each, and waits until it is told that it is done.
    for line in lines {
        match &*line.expect("what it says is text") {
            "kill" => {
                let killed = serving.take().expect("it runs");
                killed.signal(Signal::SIGKILL);
                killed.end();
            }
            "start" => serving = Some(desk.serve(&["--listen", &listen])),
            step => {
                println!("{step}");
                continue;
            }
        }
        writeln!(words, "done").expect("the driver listens");
    }
    let status = driver.wait().expect("it has ended");
    assert!(status.success(), "the page does not do what it should, see above");
    assert_eq!(serving.take().expect("it runs").stop().code, Some(0));
    assert_whole(&desk.place.last_session());
    let sessions: Vec<Value> = desk.place.sessions();
    assert_eq!(sessions.len(), 1, "{sessions:?}");
}
