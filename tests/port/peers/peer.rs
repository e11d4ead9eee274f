//! A published client in a process of its own, which does what it is told and tells what happens.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rtc_tests::repository;
use serde_json::{Value, json};

use rtc_tests::serving::LONGEST;

/// Which client.
#[derive(Debug, Clone, Copy)]
pub(super) enum Language {
    JavaScript,
    Python,
}

/// A running client, ended with the test.
pub(super) struct Peer {
    child: Child,
    input: ChildStdin,
    events: Receiver<Value>,
    /// What was published to it and not yet taken, as it came: channel, offset and data.
    pub(super) publications: Vec<Value>,
    /// The position that it is given whenever it wants its state, unless that is null.
    pub(super) state: Value,
}

impl Peer {
    pub(super) fn start(language: Language) -> Self {
        let folder = repository().join("tests/port/peers");
        let (program, script, needs) = match language {
            Language::JavaScript => ("node".into(), "client.mjs", "node_modules/centrifuge"),
            Language::Python => (folder.join("venv/bin/python"), "client.py", "venv/.installed.txt"),
        };
        let missing = "the published clients are not installed: run `cargo xtask setup`";
        assert!(folder.join(needs).exists(), "{missing}");
        let mut child = Command::new(program)
            .arg(script)
            .current_dir(folder)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect(missing);
        let lines = BufReader::new(child.stdout.take().expect("stdout is a pipe")).lines();
        let (tell, events) = channel();
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let event = serde_json::from_str(&line).expect("events are JSON");
                if tell.send(event).is_err() {
                    return;
                }
            }
        });
        Self {
            input: child.stdin.take().expect("stdin is a pipe"),
            child,
            events,
            publications: Vec::new(),
            state: Value::Null,
        }
    }

    /// Starts one and connects it to this port.
    pub(super) fn connect(language: Language, port: u16, token: &str, more: &Value) -> Self {
        let mut peer = Self::start(language);
        let mut options =
            json!({"endpoint": format!("ws://127.0.0.1:{port}/connection/websocket"), "token": token});
        for (name, value) in more.as_object().into_iter().flatten() {
            options[name] = value.clone();
        }
        peer.tell("connect", options);
        assert_eq!(peer.hear("connecting")["code"], 0);
        peer
    }

    /// Tells it to do something.
    pub(super) fn tell(&mut self, command: &str, mut options: Value) {
        options["command"] = command.into();
        writeln!(self.input, "{options}").expect("the client is there");
    }

    /// The next event; publications are kept beside, pongs are left out, and a state that is wanted is given.
    pub(super) fn next(&mut self) -> Value {
        loop {
            if let Some(event) = self.look() {
                return event;
            }
        }
    }

    /// The same, unless it is one of those.
    fn look(&mut self) -> Option<Value> {
        let event = self.events.recv_timeout(LONGEST).expect("something happens");
        match event["event"].as_str() {
            Some("publication") => self.publications.push(event),
            Some("pong") => {}
            Some("state wanted") if !self.state.is_null() => {
                self.tell("state", json!({"position": self.state}));
            }
            _ => return Some(event),
        }
        None
    }

    /// The next event, which is of this name. That a try to come back failed is passed over.
    pub(super) fn hear(&mut self, name: &str) -> Value {
        let latest = Instant::now() + LONGEST;
        loop {
            let event = self.next();
            if event["event"] == name {
                return event;
            }
            assert!(Instant::now() < latest, "{event}, and not `{name}`");
            let is_failed_try = event["event"] == "error" && name != "error";
            assert!(is_failed_try, "{event} instead of `{name}`");
        }
    }

    /// The next event of this name, whatever comes before it.
    pub(super) fn skip_to(&mut self, name: &str) -> Value {
        let latest = Instant::now() + LONGEST;
        loop {
            let event = self.next();
            if event["event"] == name {
                return event;
            }
            assert!(Instant::now() < latest, "{event}, and not `{name}`");
        }
    }

    /// Waits until it has answered a ping.
    pub(super) fn pong(&mut self) {
        while self.events.recv_timeout(LONGEST).expect("something happens")["event"] != "pong" {}
    }

    /// Subscribes a channel; how that went.
    pub(super) fn subscribe(&mut self, channel: &str) -> Value {
        self.tell("subscribe", json!({"channel": channel}));
        assert_eq!(self.hear("subscribing")["code"], 0);
        self.hear("subscribed")
    }

    /// Waits until it has heard of this offset or a later one.
    pub(super) fn until(&mut self, offset: u64) {
        let is_there = |publication: &Value| publication["offset"].as_u64() >= Some(offset);
        let latest = Instant::now() + LONGEST;
        while !self.publications.iter().rev().any(is_there) {
            assert!(Instant::now() < latest, "{offset} is not heard of");
            // What else happens on the way is not asked for here.
            let _ = self.look();
        }
    }

    /// Asks for something and gives the answer.
    pub(super) fn ask(&mut self, command: &str, options: Value) -> Value {
        self.tell(command, options);
        let answer = self.next();
        assert_eq!(answer["event"], "answer", "{answer}");
        answer
    }

    /// Asks for something that is refused; code and message.
    pub(super) fn refused(&mut self, command: &str, options: Value) -> (u64, String) {
        self.tell(command, options);
        let answer = self.next();
        assert_eq!(answer["event"], "refused", "{answer}");
        let message = answer["message"].as_str().expect("a message").to_owned();
        (answer["code"].as_u64().expect("a code"), message)
    }

    /// Sends it a signal.
    pub(super) fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).expect("a process number");
        kill(Pid::from_raw(pid), signal).expect("the process is there");
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // Nothing to do where it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
