//! Commands beside a running engine: they speak to it over its port, and show what they show alone.

use std::net::TcpListener;

use nix::sys::signal::Signal;
use rtc_tests::dialogue::{Dialogue, run};
use rtc_tests::{Workplace, assert_whole, text};
use serde_json::{Value, json};

use crate::client::Client;
use rtc_tests::serving::{Serving, instance, token};

const REQUEST: &str = "replace old by new in notes.txt, then read more.txt";

/// A project in which something is old.
fn place() -> Workplace {
    let place = Workplace::empty();
    std::fs::write(place.root().join("notes.txt"), "one\nold\n").expect("a file is written");
    std::fs::write(place.root().join("more.txt"), "old\n").expect("a file is written");
    place
}

fn notes(place: &Workplace) -> String {
    std::fs::read_to_string(place.root().join("notes.txt")).expect("the file is there")
}

/// `run REQUEST --root ROOT ARGS`, not yet waited for.
fn begin(place: &Workplace, request: &str, args: &[&str]) -> Dialogue {
    let mut command = place.command(&["run", request]);
    command.arg("--root").arg(place.root()).args(args);
    Dialogue::start(command)
}

/// A run that waits at its prompt, or for another client.
fn asked(place: &Workplace, ask: &str) -> Dialogue {
    let mut dialogue = begin(place, REQUEST, &["--mode", "manual", "--ask", ask]);
    dialogue.hear(match ask {
        "prompt" => "Run it?",
        _ => "Waiting for another client to say a Yes or a No; Ctrl-C stops the turn.",
    });
    dialogue
}

/// Another client.
struct Other {
    client: Client,
    next: u64,
}

impl Other {
    fn of(serving: &Serving) -> Self {
        let mut client = Client::open(serving.port());
        client.ask(json!({"id": 1, "connect": {"token": serving.token(), "data": {"approvals": true}}}));
        Self { client, next: 2 }
    }

    fn rpc(&mut self, method: &str, data: Value) -> Value {
        let command = json!({"id": self.next, "rpc": {"method": method, "data": data}});
        self.next += 1;
        let mut reply = self.client.ask(command);
        assert_eq!(reply.get("error"), None, "{method}");
        reply["rpc"]["data"]["result"].take()
    }

    /// The one call that is open, in the session that changed last.
    fn open_call(&mut self) -> Value {
        let sessions = self.rpc("v1.session.list", json!({}));
        let session = sessions["items"][0]["id"].clone();
        let calls = self.rpc("v1.rtc.list", json!({"session_id": session}));
        let is_open = |call: &&Value| call["completed_at"].is_null();
        let open: Vec<&Value> = calls["items"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(is_open)
            .collect();
        assert_eq!(open.len(), 1, "{calls}");
        open[0].clone()
    }

    fn approve(&mut self, decision: &str, reason: Option<&str>) {
        let call = self.open_call();
        let answer = json!({"rtc_id": call["id"], "decision": decision, "reason": reason});
        self.rpc("v1.rtc.approve", answer);
    }
}

/// A value without ids and times: what is the same in two runs.
fn lasting(value: &Value) -> Value {
    const CHANGING: [&str; 5] = ["id", "offset", "status", "attempt", "signature"];
    match value {
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(name, _)| {
                let changes = name.ends_with("_id") || name.ends_with("_at") || name.ends_with("_ms");
                !changes && !CHANGING.contains(&name.as_str())
            });
            kept.map(|(name, value)| (name.clone(), lasting(value))).collect()
        }
        Value::Array(items) => items.iter().map(lasting).collect(),
        other => other.clone(),
    }
}

#[test]
fn a_run_shows_beside_a_running_engine_what_it_shows_alone() {
    let (alone, beside) = (place(), place());
    let serving = Serving::start(&beside, &[]);
    let both = [&alone, &beside];
    let [by_itself, shared] = both.map(|place| place.run(REQUEST, &[]));
    assert_eq!(text(&shared.stdout), text(&by_itself.stdout));
    assert_eq!(text(&shared.stderr), text(&by_itself.stderr));
    assert_eq!(shared.status.code(), Some(0));
    assert_eq!(notes(&beside), "one\nnew\n");

    let args = ["--continue", "--output", "json"];
    let [by_itself, shared] = both.map(|place| {
        let ended = place.run("replace new by newer in notes.txt", &args);
        assert_eq!(text(&ended.stderr), "");
        serde_json::from_slice::<Value>(&ended.stdout).expect("one object")
    });
    assert_eq!(shared["status"], "completed");
    assert_eq!(lasting(&shared), lasting(&by_itself));

    let shown = both.map(|place| {
        let id = place.sessions()[0]["id"].as_str().expect("an id").to_owned();
        let ended = run(place.command(&["sessions", "show", &id[..20]]), b"");
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
        let (_, rest) = ended.stdout.split_once('\n').expect("a first line");
        rest.to_owned()
    });
    assert_eq!(shown[0], shown[1]);
    let [by_itself, shared] = both.map(|place| lasting(&place.last_session()));
    assert_eq!(shared, by_itself);
    assert_whole(&beside.last_session());
    let [by_itself, shared] = both.map(|place| run(place.command(&["models"]), b"").stdout);
    assert_eq!(shared, by_itself);
    assert_eq!(serving.stop().code, Some(0));
}

#[test]
fn the_updates_of_a_session_are_streamed_once_and_the_result_comes_last() {
    let place = place();
    let _serving = Serving::start(&place, &[]);
    // Of another session nothing is told.
    let _other = asked(&place, "prompt");
    let ended = place.run("read more.txt", &["--output", "stream-json"]);
    let lines: Vec<Value> = text(&ended.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).expect("a line is JSON"))
        .collect();
    let (last, updates) = lines.split_last().expect("a last line");
    assert_eq!(last["result"]["status"], "completed");
    let offsets: Vec<u64> = updates
        .iter()
        .filter_map(|update| update["offset"].as_u64().filter(|offset| *offset > 0))
        .collect();
    assert!(offsets.windows(2).all(|pair| pair[0] < pair[1]), "{offsets:?}");
    let session = &last["result"]["session_id"];
    for entity in updates
        .iter()
        .flat_map(|update| update["data_list"].as_array())
        .flatten()
    {
        let of = entity.get("session_id").unwrap_or(&entity["id"]);
        assert_eq!(of, session, "{entity}");
    }
    assert!(
        updates
            .iter()
            .any(|update| update["items"][0]["entity"] == "message")
    );
}

#[test]
fn whoever_waits_goes_on_when_another_client_has_answered() {
    let place = place();
    let serving = Serving::start(&place, &[]);
    let mut dialogue = asked(&place, "wait");
    let (_, shown) = dialogue.heard().split_once("? edit").expect("the call is told");
    insta::assert_snapshot!(format!("? edit{shown}"), @"
    ? edit /notes.txt  old_string=old  new_string=new  replace_all=true
      edit changes a file, which mode manual asks for.
        --- /notes.txt
        +++ /notes.txt
        @@ -1,2 +1,2 @@
         one
        -old
        +new
      Waiting for another client to say a Yes or a No; Ctrl-C stops the turn.
    ");
    assert_eq!(notes(&place), "one\nold\n");
    Other::of(&serving).approve("once", None);
    dialogue.hear("Answered by another client of this device: yes.");
    let ended = dialogue.wait();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(notes(&place), "one\nnew\n");
}

#[test]
fn a_question_is_answered_by_another_client() {
    let place = Workplace::empty();
    for folder in ["a", "b"] {
        std::fs::create_dir(place.root().join(folder)).expect("a folder is made");
        std::fs::write(place.root().join(folder).join("config.toml"), "old\n").expect("a file is written");
    }
    let serving = Serving::start(&place, &[]);
    let mut dialogue = begin(&place, "replace old by new in config.toml", &["--ask", "wait"]);
    dialogue.hear("2. /b/config.toml");
    dialogue.hear("Waiting for another client to say the answer");
    let mut other = Other::of(&serving);
    let call = other.open_call();
    let question = call["parameters"]["questions"][0]["question"]
        .as_str()
        .expect("a question");
    let answers = json!({"answers": {question: "/b/config.toml"}});
    other.rpc(
        "v1.rtc.submit_result",
        json!({"rtc_id": call["id"], "success": true, "result": answers}),
    );
    dialogue.hear("Answered by another client.");
    let ended = dialogue.wait();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let changed = std::fs::read_to_string(place.root().join("b/config.toml")).expect("it is there");
    assert_eq!(changed, "new\n");
}

#[test]
fn without_another_client_nobody_is_waited_for() {
    let place = place();
    let ended = run(place.command(&["run", REQUEST, "--ask", "wait"]), b"");
    insta::assert_snapshot!(ended.stderr, @"rtc-headless: --ask wait waits for another client, and no engine runs on this data folder that one could connect to: start `rtc-headless serve` first, or use --ask prompt");
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""));
    assert!(!place.data().exists(), "nothing was made");
}

#[test]
fn a_prompt_is_withdrawn_when_another_client_was_first() {
    for (decision, reason, told, after) in [
        ("reject", Some("not now"), "no (not now).", "one\nold\n"),
        ("session", None, "yes, for this session.", "one\nnew\n"),
    ] {
        let place = place();
        let serving = Serving::start(&place, &[]);
        let mut dialogue = asked(&place, "prompt");
        Other::of(&serving).approve(decision, reason);
        dialogue.hear("ne[v]er: \n  Answered by another client of this device: ");
        dialogue.hear(told);
        let ended = dialogue.wait();
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        assert_eq!(ended.stderr.matches("Run it?").count(), 1, "{}", ended.stderr);
        assert_eq!(notes(&place), after);
        assert_whole(&place.last_session());
    }
}

#[test]
fn on_a_terminal_the_next_question_follows_a_withdrawn_one() {
    let place = place();
    let serving = Serving::start(&place, &[]);
    let request = "replace old by new in notes.txt, then append 'end' to more.txt";
    let mut command = place.command(&["run", request, "--mode", "manual"]);
    command.arg("--root").arg(place.root());
    let Some(mut dialogue) = Dialogue::on_a_terminal(&command) else {
        return;
    };
    dialogue.hear("Run it?");
    Other::of(&serving).approve("reject", None);
    dialogue.hear("Answered by another client of this device: no.");
    dialogue.hear("Run it?");
    dialogue.say("n");
    dialogue.hear("Why not?");
    dialogue.say("");
    assert_eq!(dialogue.wait().code, Some(0));
    let more = std::fs::read_to_string(place.root().join("more.txt")).expect("it is there");
    assert_eq!((notes(&place).as_str(), more.as_str()), ("one\nold\n", "old\n"));
    assert_whole(&place.last_session());
}

#[test]
fn an_answer_at_the_terminal_is_taken_by_the_running_engine() {
    let place = place();
    let _serving = Serving::start(&place, &[]);
    let mut dialogue = asked(&place, "prompt");
    let waiting = place.last_session();
    assert_eq!(waiting["session"]["mode"], "manual");
    assert_eq!(
        waiting["turns"][0]["status"], "interrupted",
        "it is seen while it goes on"
    );
    assert_eq!(notes(&place), "one\nold\n");
    dialogue.say("y");
    let ended = dialogue.wait();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(!ended.stderr.contains("Answered by"), "{}", ended.stderr);
    assert_eq!(notes(&place), "one\nnew\n");

    let denied = place.run("replace new by newer in notes.txt", &["--continue"]);
    assert_eq!(denied.status.code(), Some(3), "{}", text(&denied.stderr));
}

#[test]
fn an_interrupt_stops_the_turn_and_not_the_engine() {
    for ask in ["prompt", "wait"] {
        let place = place();
        let serving = Serving::start(&place, &[]);
        let dialogue = asked(&place, ask);
        dialogue.signal(Signal::SIGINT);
        let ended = dialogue.wait();
        assert_eq!(ended.code, Some(5), "{ask}: {}", ended.stderr);
        assert_eq!(notes(&place), "one\nold\n");
        let session = place.last_session();
        assert_whole(&session);
        assert_eq!(session["turns"][0]["status"], "cancelled");
        assert_eq!(serving.stop().code, Some(0));
    }
}

#[test]
fn a_run_goes_on_when_the_engine_is_started_again() {
    let place = place();
    for ask in ["wait", "prompt"] {
        std::fs::write(place.root().join("notes.txt"), "one\nold\n").expect("a file is written");
        let serving = Serving::start(&place, &[]);
        let mut dialogue = asked(&place, ask);
        serving.signal(Signal::SIGKILL);
        assert_eq!(serving.end().code, None);
        dialogue.hear("The connection to the running engine broke off; looking for it …");
        let serving = Serving::start(&place, &[]);
        dialogue.hear("It is there again.");
        dialogue.hear("? edit /notes.txt");
        if ask == "wait" {
            dialogue.hear("Waiting for another client");
            Other::of(&serving).approve("once", None);
            dialogue.hear("Answered by another client of this device: yes.");
        } else {
            dialogue.hear("Run it?");
            dialogue.say("y");
        }
        let ended = dialogue.wait();
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        assert_eq!(
            ended.stderr.matches("● edit").count(),
            1,
            "shown once: {}",
            ended.stderr
        );
        assert_eq!(notes(&place), "one\nnew\n");
        let session = place.last_session();
        assert_whole(&session);
        assert_eq!(session["turns"].as_array().map(Vec::len), Some(1));
        assert_eq!(serving.stop().code, Some(0));
    }
}

#[test]
fn an_engine_that_does_not_come_back_is_told() {
    // One is waited for to the end, the other one as long as the user likes.
    for is_interrupted in [false, true] {
        let place = place();
        let serving = Serving::start(&place, &[]);
        let mut dialogue = asked(&place, "wait");
        if is_interrupted {
            serving.signal(Signal::SIGKILL);
            serving.end();
        } else {
            assert_eq!(serving.stop().code, Some(0));
        }
        dialogue.hear("looking for it …");
        if is_interrupted {
            dialogue.signal(Signal::SIGINT);
        }
        dialogue.hear("rtc-headless: ");
        let ended = dialogue.wait();
        let (_, told) = ended.stderr.split_once("rtc-headless: ").expect("a reason");
        insta::allow_duplicates! {
            insta::assert_snapshot!(told, @"the running engine ended, or does not answer any more. What was done so far is kept, and goes on when `rtc-headless serve` is started again on this data folder; `rtc-headless run --continue` looks after it, too");
        }
        assert_eq!(ended.code, Some(1));
        let mut again = Dialogue::start(place.command(&["run", "--continue", "--ask", "prompt"]));
        again.hear("Run it?");
        again.say("y");
        assert_eq!(again.finish().code, Some(0));
        assert_eq!(notes(&place), "one\nnew\n");
    }
}

#[test]
fn what_a_dead_process_left_behind_is_never_spoken_to() {
    let place = place();
    let serving = Serving::start(&place, &[]);
    serving.signal(Signal::SIGKILL);
    serving.end();
    let left: Value =
        serde_json::from_slice(&std::fs::read(instance(&place)).expect("it is left")).expect("JSON");
    // Somebody else has the port by now, and somebody else the number of the process.
    let stranger = TcpListener::bind("127.0.0.1:0").expect("a port");
    stranger.set_nonblocking(true).expect("it is looked at");
    let mut taken = left.clone();
    taken["address"] = stranger.local_addr().expect("an address").to_string().into();
    let mut renumbered = taken.clone();
    renumbered["pid"] = std::process::id().into();
    for text_left in [
        left.to_string(),
        taken.to_string(),
        renumbered.to_string(),
        "{".to_owned(),
        String::new(),
        "{}".to_owned(),
    ] {
        std::fs::write(instance(&place), &text_left).expect("a file is written");
        std::fs::write(
            place.data().join("store/lock"),
            format!("{}\n", std::process::id()),
        )
        .expect("a file is written");
        let ended = place.run("read more.txt", &[]);
        assert_eq!(
            ended.status.code(),
            Some(0),
            "{text_left}: {}",
            text(&ended.stderr)
        );
        assert!(!place.sessions().is_empty(), "{text_left}");
    }
    assert!(stranger.accept().is_err(), "nobody came");
}

#[test]
fn an_engine_that_cannot_be_spoken_to_is_told() {
    let place = place();
    let mut told = String::new();
    let mut tell = |what: &str, place: &Workplace, ids: &[u32]| {
        let ended = place.run("read more.txt", &[]);
        assert_eq!(
            (ended.status.code(), text(&ended.stdout).as_str()),
            (Some(2), ""),
            "{what}"
        );
        let mut line = text(&ended.stderr).replace(&place.path().display().to_string(), "PLACE");
        for id in ids {
            line = line.replace(&format!("process {id}"), "process N");
        }
        told.push_str(&format!("{what}: {line}"));
    };

    // A run has no port, whatever an earlier process left behind.
    let serving = Serving::start(&place, &[]);
    let left = std::fs::read(instance(&place)).expect("it is there");
    serving.signal(Signal::SIGKILL);
    serving.end();
    let holder = asked(&place, "prompt");
    std::fs::write(instance(&place), &left).expect("a file is written");
    tell("a run", &place, &[holder.id()]);
    holder.signal(Signal::SIGINT);
    holder.wait();

    let serving = Serving::start(&place, &[]);
    let whole = std::fs::read_to_string(instance(&place)).expect("it is there");
    let mut spoiled: Value = serde_json::from_str(&whole).expect("JSON");
    spoiled["token"] = "none".into();
    std::fs::write(instance(&place), spoiled.to_string()).expect("a file is written");
    tell("a wrong token", &place, &[serving.pid()]);

    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = silent.local_addr().expect("an address").to_string();
    let mut elsewhere: Value = serde_json::from_str(&whole).expect("JSON");
    elsewhere["address"] = address.clone().into();
    std::fs::write(instance(&place), elsewhere.to_string()).expect("a file is written");
    tell("a port that is silent", &place, &[serving.pid()]);
    drop(silent);
    tell("a port that is closed", &place, &[serving.pid()]);
    let told = told.replace(&address, "ADDRESS");
    insta::assert_snapshot!(told, @"
    a run: rtc-headless: process N is using the data folder PLACE/data, and has no port over which a command could speak to it; wait for its end or stop it, or name another folder with --data
    a wrong token: rtc-headless: an engine runs on this data folder (process N) and does not take the token of its own instance.json: it was taken back, or is too old; start `rtc-headless serve` again
    a port that is silent: rtc-headless: an engine runs on this data folder (process N) and does not answer at ADDRESS (it takes too long); try again, or stop it
    a port that is closed: rtc-headless: an engine runs on this data folder (process N) and does not answer at ADDRESS (Connection refused (os error 111)); try again, or stop it
    ");
    std::fs::write(instance(&place), whole).expect("a file is written");
    assert_eq!(place.run("read more.txt", &[]).status.code(), Some(0));
}

#[test]
fn what_a_running_engine_cannot_do_is_refused_and_never_left_out() {
    let place = place();
    let serving = Serving::start(&place, &["--model", "offline"]);
    let config = place.path().join("config.toml");
    std::fs::write(&config, "model = \"offline\"\n").expect("a file is written");
    let config = config.to_str().expect("a path is text");
    let told = [
        &["run", "read more.txt", "--config", config][..],
        &["sessions", "list", "--config", config],
        &["models", "--config", config],
        &["run", "read more.txt", "--max-rounds", "3"],
        &["run", "read more.txt", "--model", "ollama/other"],
        &["models", "--model", "ollama/other"],
        &["run", "read more.txt", "--root", "no/such/folder"],
        &["run", "read more.txt", "--session", "ffff"],
    ]
    .map(|args| {
        let ended = run(place.command(args), b"");
        assert_eq!(
            (ended.code, ended.stdout.as_str()),
            (Some(2), ""),
            "{args:?}: {}",
            ended.stderr
        );
        let here = std::env::current_dir().expect("a folder");
        let told = ended.stderr.replace(&serving.pid().to_string(), "N");
        told.replace(&here.display().to_string(), "HERE")
            .trim_end()
            .to_owned()
    });
    insta::assert_snapshot!(told.join("\n"), @"
    rtc-headless: an engine runs on this data folder (process N) with a configuration of its own; leave out --config, or stop it first
    rtc-headless: an engine runs on this data folder (process N) with a configuration of its own; leave out --config, or stop it first
    rtc-headless: an engine runs on this data folder (process N) with a configuration of its own; leave out --config, or stop it first
    rtc-headless: an engine runs on this data folder (process N), and takes no limit from here; leave out --max-rounds, or stop it first
    rtc-headless: an engine runs on this data folder (process N), and there `offline` answers, not `ollama/other`; leave out --model and RTC_MODEL, or stop it and start it with that model
    rtc-headless: an engine runs on this data folder (process N), and there `offline` answers, not `ollama/other`; leave out --model and RTC_MODEL, or stop it and start it with that model
    rtc-headless: the folder `HERE/no/such/folder` does not exist; create it, or choose another folder
    rtc-headless: there is no session ffff; `rtc-headless sessions list` shows those there are
    ");
    assert!(place.sessions().is_empty(), "nothing was begun");
    // What answers there anyway may be named.
    assert_eq!(
        place.run("read more.txt", &["--model", "offline"]).status.code(),
        Some(0)
    );
    let long = run(place.command(&["run", "-"]), "long ".repeat(300_000).as_bytes());
    assert_eq!(long.code, Some(2), "{}", long.stderr);
    assert!(
        long.stderr.contains("the prompt has 1500000 bytes"),
        "{}",
        long.stderr
    );
}

#[test]
fn without_a_folder_it_says_where_the_engine_works() {
    let place = place();
    let serving = Serving::start(&place, &[]);
    let ended = run(place.command(&["run", "read more.txt"]), b"");
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let told = ended.stderr.replace(&place.path().display().to_string(), "PLACE");
    insta::assert_snapshot!(told, @"
    No folder is named (--root DIR): working in PLACE/project, which the running engine serves.
    ● read /more.txt
             1	old
    ");
    drop(serving);
    let serving = Serving::of(place.command(&["serve"]));
    let ended = run(place.command(&["run", "list the files"]), b"");
    assert!(
        ended
            .stderr
            .starts_with("No folder is open (--root DIR): working in the scratch folder.\n"),
        "{}",
        ended.stderr
    );
    drop(serving);
}

#[test]
fn two_runs_at_once_do_not_see_one_another() {
    let place = place();
    let _serving = Serving::start(&place, &[]);
    let mut first = asked(&place, "prompt");
    let mut second = begin(
        &place,
        "append 'end' to more.txt",
        &["--mode", "manual", "--ask", "prompt"],
    );
    second.hear("Run it?");
    second.say("y");
    let second = second.wait();
    assert_eq!(second.code, Some(0), "{}", second.stderr);
    assert!(!second.stderr.contains("notes.txt"), "{}", second.stderr);
    first.say("y");
    let first = first.wait();
    assert_eq!(first.code, Some(0), "{}", first.stderr);
    assert!(!first.stderr.contains("append"), "{}", first.stderr);
    assert_eq!(place.sessions().len(), 2);
    assert_eq!(notes(&place), "one\nnew\n");
    let more = std::fs::read_to_string(place.root().join("more.txt")).expect("it is there");
    assert_eq!(more, "old\nend\n");
}

#[test]
fn a_new_session_has_its_mode_from_whoever_may_answer_for_the_user() {
    let place = place();
    let serving = Serving::start(&place, &[]);
    let send = |id: u64, mode: &str| {
        json!({"id": id, "rpc": {"method": "v1.message.send", "data": {
            "client_session_id": format!("s{id}"), "client_id": format!("m{id}"), "mode": mode,
            "content_data": {"type": "text", "data": "read more.txt"},
        }}})
    };
    let mut limited = Client::connected(serving.port(), &token(&place, &["--scope", "view,converse"]));
    let refused = limited.ask(send(2, "bypass"));
    let told = refused["error"]["message"].as_str().expect("a refusal");
    assert!(told.starts_with("auth.permission_denied"), "{told}");
    let mut other = Client::connected(serving.port(), serving.token());
    let sent = other.ask(send(2, "plan"))["rpc"]["data"]["result"].take();
    assert!(sent["session_id"].is_string(), "{sent}");
    let sessions = place.sessions();
    assert_eq!(sessions.len(), 1);
    assert_eq!(sessions[0]["mode"], "plan");
}
