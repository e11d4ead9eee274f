//! Kills while a client of `serve` forks a session that has calls in it.
//!
//! The client does not know whether it was heard, and asks for the same fork again. There is one copy, whole, and the
//! session that it is a copy of is as it was.

use rtc_tests::model_server::Dialect;
use rtc_tests::serving::Serving;
use rtc_tests::{Ended, assert_none_left_by, assert_whole, finish, text};
use serde_json::{Value, json};

use crate::can_trace;
use crate::follower::{Connection, Follower, Gone};
use crate::kills::{Case, cases};
use crate::point::{Counts, Kind, Point};
use crate::reference::{assert_same, conversation};
use crate::served::serve;
use crate::tally::{VISITS, rounds, run_all};
use crate::turn::{KEY, LAST_WORDS, REQUESTS, Turn};

/// The message that is written anew: the calls are before it.
const CHOSEN: &str = "Is that all?";

/// What is said instead.
const INSTEAD: &str = "What else?";

/// A session with calls and a client that forks it.
struct Stand {
    turn: Turn,
    /// The session that is forked, as it is shown.
    old: Value,
    /// What the client was told of the fork, each time.
    told: Vec<Value>,
}

impl Stand {
    fn new() -> Self {
        let turn = Turn::new(Dialect::Chat);
        for prompt in [None, Some(CHOSEN)] {
            let mut command = turn.command(prompt.is_some());
            command.args(prompt);
            let ended = finish(command);
            assert!(ended.status.success(), "{}", text(&ended.stderr));
        }
        let old = turn.place.last_session();
        Self {
            turn,
            old,
            told: Vec::new(),
        }
    }

    fn arguments(&self) -> Vec<String> {
        let place = &self.turn.place;
        let config = place.path().join("config.toml");
        let paths = ["--root", "--config"].into_iter().zip([place.root(), config]);
        let paths = paths.flat_map(|(name, path)| [name.to_owned(), path.display().to_string()]);
        ["serve".to_owned()].into_iter().chain(paths).collect()
    }

    /// What the client asks for, in the same words each time.
    fn fork(&self) -> Value {
        let messages = self.old["messages"].as_array().expect("messages");
        let is_chosen = |message: &&Value| {
            let content = message["content"].as_str();
            message["role"] == "user" && content.is_some_and(|content| content.contains(CHOSEN))
        };
        let chosen = messages.iter().find(is_chosen).expect("the message is there");
        json!({
            "old_server_session_id": self.old["session"]["id"],
            "old_server_message_id": chosen["id"],
            "new_client_session_id": "s-fork",
            "new_client_message_id": "m-fork",
            "content_data": {"type": "text", "data": INSTEAD},
        })
    }

    /// Serves until `kill` says so, or until the model has answered in the fork.
    fn watched(&mut self, mut kill: impl FnMut(Point) -> bool) -> Ended {
        let (arguments, fork) = (self.arguments(), self.fork());
        let told = &mut self.told;
        serve(
            &mut self.turn,
            &arguments,
            |_, event, _| event.is_some_and(|event| kill(event.point)),
            |ready| {
                let mut follower = Follower::default();
                let forked = forked(&mut follower, ready, fork, told);
                forked.is_ok()
            },
        )
    }

    /// Asks for the fork again, and lets it come to its end.
    fn go_on(&mut self) {
        let arguments = self.arguments();
        let mut command = self.turn.place.command(&crate::reference::words(&arguments));
        command.env("SCRIPTED_KEY", KEY);
        let serving = Serving::of(command);
        let mut follower = Follower::default();
        let connection = Connection::open(&mut follower, &serving.ready);
        let called = connection.and_then(|mut connection| connection.call("v1.session.fork", self.fork()));
        let (id, ended) = (serving.pid(), serving.stop());
        assert_eq!(ended.code, Some(0), "log:\n{}", ended.log);
        assert_none_left_by(id);
        self.told.push(called.expect("nobody has killed it"));
        let went_on = finish(self.turn.command(true));
        assert!(went_on.status.success(), "{}", text(&went_on.stderr));
    }
}

/// Asks for a fork, and waits until the model has answered in it.
fn forked(follower: &mut Follower, ready: &Value, fork: Value, told: &mut Vec<Value>) -> Result<(), Gone> {
    let mut connection = Connection::open(follower, ready)?;
    connection.subscribe(ready)?;
    let reply = connection.call("v1.session.fork", fork)?;
    let session = reply["session_id"].clone();
    let copied = reply["message_ids"].as_array().cloned().expect("messages");
    told.push(reply);
    connection.wait_for(|entity| {
        let content = entity["content"].as_str();
        entity["session_id"] == session
            && !copied.contains(&entity["id"])
            && entity["streaming_status"] == "completed"
            && entity["role"] == "assistant"
            && content.is_some_and(|content| content.contains(LAST_WORDS))
    })
}

/// What came of the fork, and what it is a copy of.
struct Copies {
    old: String,
    new: String,
    messages: usize,
}

impl Copies {
    fn of(stand: &Stand) -> Self {
        let place = &stand.turn.place;
        let told = &stand.told[0];
        for again in &stand.told {
            assert_eq!(again, told, "the same fork");
        }
        let sessions = place.sessions();
        assert_eq!(sessions.len(), 2, "one copy");
        let shown = place.last_session();
        assert_eq!(shown["session"]["id"], told["session_id"]);
        assert_whole(&shown);
        let old = place.session(stand.old["session"]["id"].as_str().expect("an id"));
        assert_eq!(old["messages"], stand.old["messages"], "what it is a copy of");
        assert_eq!(old["rtcs"], stand.old["rtcs"], "what it is a copy of");
        let messages = shown["messages"].as_array().expect("messages");
        let copied = told["message_ids"].as_array().expect("messages");
        let are_there = |id: &&Value| messages.iter().filter(|message| message["id"] == **id).count() == 1;
        assert_eq!(
            copied.iter().filter(are_there).count(),
            copied.len(),
            "what was told"
        );
        Self {
            old: conversation(place, &old),
            new: conversation(place, &shown),
            messages: copied.len(),
        }
    }

    /// Goes on after the last kill, and compares.
    fn judge(&self, mut stand: Stand) {
        let files = stand.turn.place.files();
        stand.go_on();
        let found = Self::of(&stand);
        assert_same(&found.old, &self.old);
        assert_same(&found.new, &self.new);
        assert_eq!(found.messages, self.messages);
        assert!(stand.turn.place.files() == files, "nothing is done again");
        let asked = stand.turn.server.asked();
        let (before, of_fork) = asked.split_at(REQUESTS + 1);
        assert!(!of_fork.is_empty(), "the model is asked in the fork");
        for one in before.iter().chain(of_fork) {
            assert_eq!(one.call_ids(), one.result_ids(), "request {}", one.number);
        }
        for one in of_fork {
            assert_eq!(text(&one.body), text(&of_fork[0].body), "the same question");
            assert!(text(&one.body).contains(INSTEAD) && !text(&one.body).contains(CHOSEN));
        }
    }
}

#[test]
fn a_fork_that_is_asked_for_again_after_a_kill_is_made_once() {
    if !can_trace() {
        return;
    }
    let mut stand = Stand::new();
    let mut counts = Counts::new();
    let ended = stand.watched(|point| {
        *counts.entry(point).or_default() += 1;
        false
    });
    assert_eq!(ended, Ended::Exited(0));
    stand.go_on();
    let copies = Copies::of(&stand);
    let calls = stand.old["rtcs"].as_array().map_or(0, Vec::len);
    let copied = copies.new.matches("toolcall_output").count();
    assert!(calls > 0 && copied == calls, "{}", copies.new);
    counts.retain(|point, _| matches!(point.kind, Kind::Commit | Kind::Told | Kind::Reply));
    let all: Vec<Case> = match rounds() {
        None => {
            counts.retain(|point, _| point.kind == Kind::Commit);
            cases(&counts, None)
        }
        Some(rounds) => {
            let visits = |case: &Case| rounds.max(VISITS.div_ceil(counts[&case.point]));
            let all = cases(&counts, None).into_iter();
            all.flat_map(|case| std::iter::repeat_n(case, visits(&case)))
                .collect()
        }
    };
    let tally = run_all("killed in a fork", &all, |case| {
        let mut stand = Stand::new();
        let mut left = case.nth;
        let ended = stand.watched(|point| {
            left -= usize::from(point == case.point && left > 0);
            point == case.point && left == 0
        });
        copies.judge(stand);
        (ended == Ended::Killed).then(|| case.point.to_string())
    });
    tally.report();
    let commits = all.iter().filter(|case| case.point.kind == Kind::Commit).count();
    assert!(commits > 0 && tally.all() * 2 > commits, "kills: {}", tally.all());
}
