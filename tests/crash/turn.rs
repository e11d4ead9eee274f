//! A turn with a scripted model: what it comes to, and the judge of one that was killed.
//!
//! The judge stands outside the program: it reads what the model was asked, the project's files (one of which the
//! script appends to, a line for each step) and what the program said when it ended.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};

use rtc_tests::model_server::{Answer, Asked, Dialect, Last, ModelServer};
use rtc_tests::{Ended, SystemCall, Workplace, assert_whole, finish, text, watch};
use serde_json::Value;

use crate::point::Point;
use crate::reference::timeless;
use crate::stage::{Event, Stage, Unknown};

/// What the model server takes for a key.
pub(crate) const KEY: &str = "hidden-words";

/// What the script appends to.
const STEPS: &str = "steps.txt";

/// The model's last words.
pub(crate) const LAST_WORDS: &str =
    "That is all. Two files have changed, two are new, and the steps are noted.";

/// The file that the script makes in the end.
const MADE: &str = "made/by script.txt";

/// The script's call.
const SCRIPT_ID: &str = "call_script";

/// Results of the model's first reply, and of its first two replies.
const RESULTS: [usize; 2] = [5, 6];

/// Which call with an effect ends a reply.
pub(crate) const LAST_OF_A_REPLY: [usize; 2] = [2, SCRIPT];

/// Which call with an effect is the script.
pub(crate) const SCRIPT: usize = 3;

/// What the user says, and how often: so much that the store keeps it in a file of its own.
const REQUEST: (&str, usize) = ("Make three steps, and note each one. ", 2_000);

/// How often the model is asked.
pub(crate) const REQUESTS: usize = 3;

/// Each change would show if it were made twice.
fn reply(results: usize) -> Answer {
    if results == 0 {
        let reply = Answer::reply().say("First I look, then I change what is to be changed.");
        let reply = reply.call("call_read", "read", r#"{"path":"/colour.txt"}"#);
        let reply = reply.call("call_log", "read", r#"{ "path" : "/log.txt" }"#);
        let edit = r#"{"path":"/colour.txt","old_string":"blue\ngreen","new_string":"blueblue\nolive"}"#;
        let reply = reply.call("call_edit", "edit", edit);
        let append = r#"{"path":"/log.txt","content":"painted once\n","mode":"append"}"#;
        let reply = reply.call("call_append", "write", append);
        let new = r#"{"path":"/notes/new.txt","content":"buy chalk\n"}"#;
        reply.call("call_new", "write", new)
    } else if results == RESULTS[0] {
        let code = r"for (const step of [1, 2, 3]) {\n  await rtcAgent.fs.write('/steps.txt', `step ${step}\\n`, {mode: 'append'});\n}\nawait rtcAgent.fs.write('/made/by script.txt', 'whole\\n');\n'three steps'";
        let arguments = format!(r#"{{"title":"three steps","code":"{code}"}}"#);
        let reply = Answer::reply().say("Now the steps.");
        reply.call(SCRIPT_ID, "script", &arguments)
    } else {
        Answer::text(LAST_WORDS)
    }
}

/// After how many bytes of which reply the model falls silent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Silence {
    pub(crate) results: usize,
    pub(crate) bytes: usize,
}

/// The numbers of results with which the model is asked, and the lengths of what it answers.
pub(crate) fn lengths(dialect: Dialect) -> [(usize, usize); REQUESTS] {
    [0, RESULTS[0], RESULTS[1]].map(|results| (results, reply(results).body(dialect).len()))
}

/// A project, and a model that says what the script of this turn says.
pub(crate) struct Turn {
    pub(crate) place: Workplace,
    pub(crate) server: ModelServer,
    kills: usize,
    /// Of the processes that were killed.
    unknown: Unknown,
    /// Of the last process.
    stage: Stage,
}

impl Turn {
    pub(crate) fn new(dialect: Dialect) -> Self {
        Self::silent(dialect, None)
    }

    /// Once, the model falls silent in the middle of a reply.
    pub(crate) fn silent(dialect: Dialect, silence: Option<Silence>) -> Self {
        let silence = Arc::new(Mutex::new(silence));
        let server = ModelServer::start(move |asked| {
            let results = asked.result_ids().len();
            let mut silence = silence.lock().expect("nothing panics with it");
            match silence.take_if(|silence| silence.results == results) {
                Some(silence) => reply(results).stall_after(silence.bytes),
                None => reply(results),
            }
        });
        let place = Workplace::empty();
        for (name, content) in [("colour.txt", "red\nblue\ngreen\n"), ("log.txt", "begun\n")] {
            std::fs::write(place.root().join(name), content).expect("a file is written");
        }
        let api = match dialect {
            Dialect::Messages => "anthropic-messages",
            _ => "openai-chat",
        };
        let config = format!(
            "model = \"scripted\"\n[models.scripted]\napi = \"{api}\"\nbase_url = \"{}\"\nmodel = \"m-1\"\n\
             key_env = \"SCRIPTED_KEY\"\n",
            server.base_url(dialect)
        );
        std::fs::write(place.path().join("config.toml"), config).expect("the configuration is written");
        Self {
            place,
            server,
            kills: 0,
            unknown: Unknown::Never,
            stage: Stage::default(),
        }
    }

    fn arguments(&self, go_on: bool) -> Vec<String> {
        let (words, times) = REQUEST;
        let request = words.repeat(times);
        let what: &[&str] = if go_on {
            &["run", "--continue"]
        } else {
            &["run", &request, "--mode", "bypass"]
        };
        let (root, config) = (self.place.root(), self.place.path().join("config.toml"));
        let paths = ["--ask", "deny", "--root"].map(str::to_owned).into_iter();
        let paths = paths.chain([
            root.display().to_string(),
            "--config".into(),
            config.display().to_string(),
        ]);
        what.iter().map(|&word| word.to_owned()).chain(paths).collect()
    }

    /// The command that begins the turn, or goes on with it.
    pub(crate) fn command(&self, go_on: bool) -> Command {
        let arguments = self.arguments(go_on);
        let mut command = self.place.command(&crate::reference::words(&arguments));
        command.env("SCRIPTED_KEY", KEY);
        command
    }

    /// The same for [`Turn::watch`].
    pub(crate) fn traceable(&self, go_on: bool) -> Command {
        self.place
            .traceable(&crate::reference::words(&self.arguments(go_on)))
    }

    /// Runs it until `kill` says so.
    pub(crate) fn watched(&mut self, go_on: bool, kill: impl FnMut(Event) -> bool) -> Ended {
        self.watch(self.traceable(go_on), kill)
    }

    /// Runs a command of this turn until `kill` says so.
    pub(crate) fn watch(&mut self, command: Command, mut kill: impl FnMut(Event) -> bool) -> Ended {
        self.watch_calls(command, |_, event, _| event.is_some_and(&mut kill))
    }

    /// The same with each call, the point that it is, if it is one, and what may become of the script.
    pub(crate) fn watch_calls(
        &mut self,
        mut command: Command,
        mut kill: impl FnMut(&SystemCall, Option<Event>, Unknown) -> bool,
    ) -> Ended {
        command.env("SCRIPTED_KEY", KEY);
        let mut stage = self.stage.after_a_kill();
        let ended = watch(command, |call| {
            let event = Point::of(call, &self.place).map(|point| stage.passes(call, point));
            kill(call, event, stage.unknown())
        })
        .expect("processes can be traced here: it was tried");
        if ended == Ended::Killed {
            self.kills += 1;
            // What is not known of an earlier process stays so.
            if self.unknown == Unknown::Never {
                self.unknown = stage.unknown();
            }
        }
        self.stage = stage;
        ended
    }

    /// Notes a kill by other means, while the script does not run.
    pub(crate) fn was_killed(&mut self) {
        self.kills += 1;
    }

    /// How often it was killed so far.
    pub(crate) fn past(&self) -> Past {
        Past {
            kills: self.kills,
            unknown: self.unknown,
        }
    }

    /// Notes that the power was cut, in a moment in which this was known of the script; how often it was killed before,
    /// and whether a request may be made again for it.
    pub(crate) fn was_cut(&mut self, past: Past, unknown: Unknown, again: bool) {
        self.kills = past.kills + usize::from(again);
        self.unknown = match past.unknown {
            Unknown::Never => unknown,
            stays => stays,
        };
    }
}

/// What kills were there, and what they have left unknown.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Past {
    kills: usize,
    unknown: Unknown,
}

/// What is left of a turn that nobody killed.
pub(crate) struct Whole {
    files: BTreeMap<String, Vec<u8>>,
    kept: Vec<Kept>,
    results: BTreeMap<String, String>,
    /// Everything that the process passed.
    pub(crate) events: Vec<Event>,
}

impl Whole {
    pub(crate) fn new(dialect: Dialect) -> Self {
        let mut turn = Turn::new(dialect);
        let mut events = Vec::new();
        let ended = turn.watched(false, |event| {
            events.push(event);
            false
        });
        assert_eq!(ended, Ended::Exited(0));
        Self::of(&turn, events)
    }

    /// What a turn that nobody killed came to.
    pub(crate) fn of(turn: &Turn, events: Vec<Event>) -> Self {
        let results = judge_requests(turn);
        let files = turn.place.files();
        assert_eq!(
            text(&files[STEPS]),
            "step 1\nstep 2\nstep 3\n",
            "the script does what it is for"
        );
        assert_eq!(text(&files["colour.txt"]), "red\nblueblue\nolive\n");
        assert_eq!(text(&files["log.txt"]), "begun\npainted once\n");
        assert!(results[SCRIPT_ID].contains("three steps"), "{results:?}");
        Self {
            files,
            kept: kept(&turn.place),
            results,
            events,
        }
    }

    /// Goes on after the last kill until nothing is open, and compares with what should have come of it.
    pub(crate) fn judge(&self, turn: &Turn) {
        let asked = turn.server.asked().len();
        let before = turn.place.files();
        let went_on = finish(turn.command(true));
        let told = text(&went_on.stderr);
        if went_on.status.code() == Some(2) && asked == 0 {
            assert!(told.contains("there is no session to continue"), "{told}");
            let again = finish(turn.command(false));
            assert!(again.status.success(), "a new run: {}", text(&again.stderr));
        } else {
            assert!(went_on.status.success(), "{}: {told}", went_on.status);
        }
        self.judge_end(turn, &before);
    }

    /// The same of a turn that has gone on. `before`: the files right after the last kill. Gives whether the outcome of
    /// the script is unknown.
    pub(crate) fn judge_end(&self, turn: &Turn, before: &BTreeMap<String, Vec<u8>>) -> bool {
        let results = judge_requests(turn);
        let unknown = results[SCRIPT_ID].contains("outcome_unknown");
        let allowed: &[bool] = match turn.unknown {
            Unknown::Never => &[false],
            Unknown::Perhaps => &[false, true],
            Unknown::Always => &[true],
        };
        assert!(
            allowed.contains(&unknown),
            "{:?}: {}",
            turn.unknown,
            results[SCRIPT_ID]
        );
        for (id, result) in &results {
            if id != SCRIPT_ID || !unknown {
                assert_eq!(result, &self.results[id], "the result of {id}");
            }
        }
        self.judge_files(&turn.place.files(), unknown.then_some(before));
        let certain = |kept: Vec<Kept>| {
            let is_certain = |kept: &Kept| !(unknown && is_of_script(kept.path.trim_start_matches('/')));
            kept.into_iter().filter(is_certain).collect::<Vec<_>>()
        };
        assert_eq!(
            certain(kept(&turn.place)),
            certain(self.kept.clone()),
            "what is kept for an undo"
        );
        let shown = turn.place.last_session();
        assert_whole(&shown);
        let messages = shown["messages"].as_array().expect("messages");
        let last = messages.last().and_then(|message| message["content"].as_str());
        assert!(last.is_some_and(|last| last.contains(LAST_WORDS)), "{last:?}");
        unknown
    }

    /// `before`: the files right after the kill, if nobody knows how far the script had come. Then it has not gone on.
    fn judge_files(&self, files: &BTreeMap<String, Vec<u8>>, before: Option<&BTreeMap<String, Vec<u8>>>) {
        for (name, bytes) in files {
            let expected = self
                .files
                .get(name)
                .unwrap_or_else(|| panic!("{name} is left behind"));
            match before {
                Some(before) if is_of_script(name) => {
                    assert!(expected.starts_with(bytes), "{name}: {}", text(bytes));
                    assert_eq!(Some(bytes), before.get(name), "{name} has changed since");
                }
                _ => assert_eq!(text(bytes), text(expected), "{name}"),
            }
        }
        for name in self.files.keys() {
            let may_miss = before.is_some_and(|before| is_of_script(name) && !before.contains_key(name));
            assert!(files.contains_key(name) || may_miss, "{name} is missing");
        }
    }
}

fn is_of_script(name: &str) -> bool {
    name == STEPS || name == MADE
}

/// What is kept of a file for an undo.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Kept {
    path: String,
    /// The content before and after, and what is kept of it.
    description: String,
    bytes: String,
}

/// Everything that is kept, in an order that is the same each time.
fn kept(place: &Workplace) -> Vec<Kept> {
    let list = |folder: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).into_iter().flatten();
        entries
            .map(|entry| entry.expect("it can be read").path())
            .collect()
    };
    let mut all = Vec::new();
    for call in list(&place.data().join("pre-images")) {
        for file in list(&call) {
            // Another name has what was cut short: it was never kept.
            if file.extension().is_some_and(|extension| extension == "image") {
                let kept = std::fs::read(&file).expect("a pre-image can be read");
                let end = kept.iter().position(|byte| *byte == b'\n');
                let end = end.unwrap_or_else(|| panic!("a pre-image of {} bytes", kept.len()));
                let mut description: Value =
                    serde_json::from_slice(&kept[..end]).expect("its first line describes it");
                description["attempt"].take();
                all.push(Kept {
                    path: description["path"].as_str().expect("a path").to_owned(),
                    description: description.to_string(),
                    bytes: text(&kept[end + 1..]),
                });
            }
        }
    }
    all.sort();
    all
}

/// Every call has one result in every request; what was asked before stands, byte for byte, in what is asked after;
/// and nothing is asked twice without a kill. Gives the results.
fn judge_requests(turn: &Turn) -> BTreeMap<String, String> {
    let asked = turn.server.asked();
    for one in &asked {
        assert_eq!(
            one.call_ids(),
            one.result_ids(),
            "calls and results of request {}",
            one.number
        );
    }
    for pair in asked.windows(2) {
        let (before, after) = (&pair[0], &pair[1]);
        if before.result_ids() == after.result_ids() {
            assert_eq!(text(&before.body), text(&after.body), "the same question");
        } else {
            assert_extends(before, after);
        }
    }
    assert!(
        (REQUESTS..=REQUESTS + turn.kills).contains(&asked.len()),
        "{} requests with {} kills",
        asked.len(),
        turn.kills
    );
    let mut results = BTreeMap::new();
    for one in &asked {
        if let Last::Results(told) = one.last() {
            results.extend(told.into_iter().map(|(id, result)| (id, timeless(&result))));
        }
    }
    assert_eq!(results.len(), RESULTS[1], "results");
    results
}

/// What comes later is what was there before, with something put in at one place. Marks of what a provider may cache
/// move, and are left out.
fn assert_extends(before: &Asked, after: &Asked) {
    let unmarked = |asked: &Asked| {
        text(&asked.body)
            .replace(r#","cache_control":{"type":"ephemeral"}"#, "")
            .into_bytes()
    };
    let (before, after) = (unmarked(before), unmarked(after));
    let same =
        |pairs: &mut dyn Iterator<Item = (&u8, &u8)>| pairs.take_while(|(one, other)| one == other).count();
    let start = same(&mut before.iter().zip(&after));
    let end = same(&mut before.iter().rev().zip(after.iter().rev()));
    assert!(
        start + end >= before.len(),
        "{}\nis not the beginning of\n{}",
        text(&before),
        text(&after)
    );
}
