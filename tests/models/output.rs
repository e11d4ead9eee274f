//! What stands on stdout: each form pinned, and all of it delivered however slowly it is read.

use std::io::{BufRead, BufReader, Read};
use std::os::fd::AsFd;
use std::process::{Child, ChildStdout, Stdio};
use std::thread::JoinHandle;

use nix::fcntl::{FcntlArg, fcntl};
use nix::sys::signal::{self, Signal};
use nix::unistd::Pid;
use rtc_tests::model_server::{Answer, Dialect, ModelServer};
use serde_json::{Value, json};

use crate::desk::Desk;

const FILES: &[(&str, &str)] = &[("a.txt", "one\n")];
const FORMS: [&str; 3] = ["text", "json", "stream-json"];
/// How much a pipe of these tests holds, in bytes: the least that the system allows.
const PIPE: i32 = 4 * 1024;
/// How much is read of it at a time, in bytes.
const PIECE: usize = 1024;

fn reading() -> Vec<Answer> {
    vec![
        Answer::reply()
            .think("It is small.")
            .say("I look.")
            .call("call_a", "read", r#"{"path":"/a.txt"}"#),
        Answer::text("It says “one”."),
    ]
}

/// What differs from run to run, replaced: ids by their number in order of appearance, points in time, the folder.
#[derive(Default)]
struct Redacted {
    ids: Vec<String>,
}

impl Redacted {
    fn value(&mut self, value: &mut Value) {
        match value {
            Value::String(text) if uuid::Uuid::parse_str(text).is_ok() => {
                let at = self.ids.iter().position(|id| id == text).unwrap_or_else(|| {
                    self.ids.push(text.clone());
                    self.ids.len() - 1
                });
                *text = format!("ID{at}");
            }
            Value::Array(list) => list.iter_mut().for_each(|item| self.value(item)),
            Value::Object(fields) => {
                for (name, field) in fields.iter_mut() {
                    match field {
                        Value::Null => {}
                        _ if name.ends_with("_at") => *field = "TIME".into(),
                        _ if name == "root" => *field = "ROOT".into(),
                        _ => self.value(field),
                    }
                }
            }
            _ => {}
        }
    }

    fn line(&mut self, line: &str) -> String {
        let mut value: Value = serde_json::from_str(line).expect("each line is JSON");
        // An update brings its entities as they are when it is read, which may be later; the object at the end has all
        // of them as they are then.
        let entities = value.get_mut("data_list").and_then(Value::as_array_mut);
        for entity in entities.into_iter().flatten() {
            *entity = serde_json::json!({ "id": entity["id"] });
        }
        if let Some(offset) = value.get_mut("offset") {
            *offset = "N".into();
        }
        self.value(&mut value);
        value.to_string()
    }
}

/// Whether it tells of a text that is being written.
fn is_live(line: &str) -> bool {
    let update: Value = serde_json::from_str(line).expect("each line is JSON");
    update["offset"] == 0
}

fn is_only_executing(line: &str) -> bool {
    let update: Value = serde_json::from_str(line).expect("each line is JSON");
    let records = update["data_list"].as_array().cloned().unwrap_or_default();
    records.len() == 1 && records[0]["status"] == "executing"
}

fn printed(form: &str) -> String {
    let desk = Desk::new(Dialect::Messages, FILES, ModelServer::in_order(reading()));
    let ran = desk.run("what does it say?", &["--output", form]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    ran.stdout
}

#[test]
fn text_is_what_the_model_says() {
    insta::assert_snapshot!(printed("text"), @"
    I look.

    It says “one”.
    ");
}

#[test]
fn json_is_one_object_about_the_turn() {
    let printed = printed("json");
    assert_eq!(printed.lines().count(), 1);
    let mut value = serde_json::from_str(&printed).expect("one object");
    Redacted::default().value(&mut value);
    insta::assert_snapshot!(serde_json::to_string_pretty(&value).expect("JSON"), @r#"
    {
      "session_id": "ID0",
      "turn_id": "ID1",
      "status": "completed",
      "error": null,
      "text": "I look.\n\nIt says “one”.",
      "calls": [
        {
          "id": "ID2",
          "client_id": "ID3",
          "session_id": "ID0",
          "device_id": "ID4",
          "turn_id": "ID1",
          "message_id": "ID5",
          "output_message_id": "ID6",
          "offset": 1,
          "tool_name": "read",
          "parameters": {
            "path": "/a.txt"
          },
          "status": "completed",
          "attempt": 1,
          "result": "     1\tone",
          "error_message": null,
          "created_at": "TIME",
          "updated_at": "TIME",
          "completed_at": "TIME"
        }
      ],
      "changes": [],
      "usage": {
        "input_tokens": 40,
        "output_tokens": 20
      }
    }
    "#);
}

#[test]
fn stream_json_is_every_update_and_the_object() {
    let printed = printed("stream-json");
    let mut redacted = Redacted::default();
    // Where a call takes long, one more update says so: how fast this machine is is not pinned.
    // What is told of a text while it comes is told only where there is time for it.
    let lines = printed
        .lines()
        .filter(|line| !is_live(line))
        .filter(|line| !is_only_executing(line))
        .map(|line| redacted.line(line))
        .collect::<Vec<_>>();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    {"id":"ID0","items":[{"entity":"message","action":"created","entity_id":"ID1"},{"entity":"session","action":"created","entity_id":"ID2"}],"data_list":[{"id":"ID1"},{"id":"ID2"}],"offset":"N"}
    {"id":"ID3","items":[{"entity":"message","action":"updated","entity_id":"ID1"},{"entity":"turn","action":"created","entity_id":"ID4"}],"data_list":[{"id":"ID1"},{"id":"ID4"}],"offset":"N"}
    {"id":"ID5","items":[{"entity":"message","action":"created","entity_id":"ID6"}],"data_list":[{"id":"ID6"}],"offset":"N"}
    {"id":"ID7","items":[{"entity":"message","action":"created","entity_id":"ID8"}],"data_list":[{"id":"ID8"}],"offset":"N"}
    {"id":"ID9","items":[{"entity":"message","action":"updated","entity_id":"ID6"},{"entity":"message","action":"updated","entity_id":"ID8"},{"entity":"message","action":"created","entity_id":"ID10"},{"entity":"rtc","action":"updated","entity_id":"ID11"},{"entity":"turn","action":"updated","entity_id":"ID4"},{"entity":"session","action":"updated","entity_id":"ID2"}],"data_list":[{"id":"ID6"},{"id":"ID8"},{"id":"ID10"},{"id":"ID11"},{"id":"ID4"},{"id":"ID2"}],"offset":"N"}
    {"id":"ID12","items":[{"entity":"message","action":"created","entity_id":"ID13"},{"entity":"rtc","action":"updated","entity_id":"ID11"},{"entity":"turn","action":"updated","entity_id":"ID4"},{"entity":"session","action":"updated","entity_id":"ID2"}],"data_list":[{"id":"ID13"},{"id":"ID11"},{"id":"ID4"},{"id":"ID2"}],"offset":"N"}
    {"id":"ID14","items":[{"entity":"message","action":"created","entity_id":"ID15"}],"data_list":[{"id":"ID15"}],"offset":"N"}
    {"id":"ID16","items":[{"entity":"message","action":"updated","entity_id":"ID15"},{"entity":"turn","action":"updated","entity_id":"ID4"},{"entity":"session","action":"updated","entity_id":"ID2"}],"data_list":[{"id":"ID15"},{"id":"ID4"},{"id":"ID2"}],"offset":"N"}
    {"result":{"session_id":"ID2","turn_id":"ID4","status":"completed","error":null,"text":"I look.\n\nIt says “one”.","calls":[{"id":"ID11","client_id":"ID17","session_id":"ID2","device_id":"ID18","turn_id":"ID4","message_id":"ID10","output_message_id":"ID13","offset":1,"tool_name":"read","parameters":{"path":"/a.txt"},"status":"completed","attempt":1,"result":"     1\tone","error_message":null,"created_at":"TIME","updated_at":"TIME","completed_at":"TIME"}],"changes":[],"usage":{"input_tokens":40,"output_tokens":20}}}
    "#);
}

#[test]
fn a_text_is_told_while_it_is_written() {
    let begun = Answer::text("It says").without_end();
    let length = begun.body(Dialect::Messages).len();
    let server = ModelServer::in_order([begun.stall_after(length)]);
    let desk = Desk::new(Dialect::Messages, FILES, server);
    let mut slow = start(&desk, "stream-json");
    let live = BufReader::new(&mut slow.stdout)
        .lines()
        .map(|line| line.expect("stdout is text"))
        .find(|line| is_live(line) && line.contains("It says"))
        .expect("it is told whole");
    let update: Value = serde_json::from_str(&live).expect("JSON");
    let message = &update["data_list"][0];
    assert_eq!(
        update["items"],
        json!([{"entity": "message", "action": "updated", "entity_id": message["id"]}])
    );
    assert_eq!(message["streaming_status"], "streaming");
    assert_eq!(
        message["content"],
        json!({"type": "markdown", "data": "It says"}).to_string()
    );
    let process = Pid::from_raw(i32::try_from(slow.child.id()).expect("a process id is an i32"));
    signal::kill(process, Signal::SIGINT).expect("it is there");
    let mut rest = String::new();
    slow.stdout.read_to_string(&mut rest).expect("stdout is text");
    let last: Value = serde_json::from_str(rest.lines().last().expect("a line")).expect("JSON");
    assert_eq!(last["result"]["text"], "It says");
    assert_eq!(slow.end().0, Some(5));
}

/// A running process and what reads its stderr.
struct Slow {
    child: Child,
    stdout: ChildStdout,
    stderr: JoinHandle<String>,
}

/// Runs a turn whose stdout is a pipe that holds little.
fn start(desk: &Desk, form: &str) -> Slow {
    let mut command = desk.request("tell me much", &["--output", form]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("rtc-headless starts");
    let stdout = child.stdout.take().expect("stdout is a pipe");
    let size = fcntl(stdout.as_fd(), FcntlArg::F_SETPIPE_SZ(PIPE)).expect("a pipe may be small");
    assert_eq!(size, PIPE);
    let mut pipe = child.stderr.take().expect("stderr is a pipe");
    let stderr = std::thread::spawn(move || {
        let mut text = String::new();
        pipe.read_to_string(&mut text).expect("stderr is text");
        text
    });
    Slow {
        child,
        stdout,
        stderr,
    }
}

impl Slow {
    /// Its exit code and what it wrote on stderr.
    fn end(mut self) -> (Option<i32>, String) {
        drop(self.stdout);
        let code = self.child.wait().expect("it ends").code();
        (code, self.stderr.join().expect("stderr was read"))
    }
}

/// Five megabytes in which no two places are alike.
fn much() -> String {
    let mut text = String::new();
    let mut line = 0;
    while text.len() < 5_000_000 {
        text.push_str(&format!("Line {line} of “much”.\n"));
        line += 1;
    }
    text.push_str("The end.");
    text
}

#[test]
fn five_megabytes_come_whole_through_a_slow_pipe() {
    let text = much();
    for form in FORMS {
        let desk = Desk::new(Dialect::Chat, FILES, ModelServer::in_order([Answer::text(&text)]));
        let mut slow = start(&desk, form);
        let (mut read, mut piece) = (Vec::new(), [0; PIECE]);
        while let count @ 1.. = slow.stdout.read(&mut piece).expect("the pipe can be read") {
            read.extend_from_slice(&piece[..count]);
        }
        let (code, stderr) = slow.end();
        assert_eq!(code, Some(0), "{form}: {stderr}");
        let read = String::from_utf8(read).expect("it is text");
        let printed = match form {
            "text" => read.strip_suffix('\n').expect("a line end").to_owned(),
            _ => {
                let last: Value = serde_json::from_str(read.lines().last().expect("a line")).expect("JSON");
                let result = last.get("result").unwrap_or(&last);
                result["text"].as_str().expect("a text").to_owned()
            }
        };
        assert!(
            printed == text,
            "{form}: {} of {} bytes",
            printed.len(),
            text.len()
        );
    }
}

#[test]
fn a_reader_that_goes_away_in_the_middle_ends_nothing() {
    let text = much();
    for form in FORMS {
        let desk = Desk::new(Dialect::Chat, FILES, ModelServer::in_order([Answer::text(&text)]));
        let mut slow = start(&desk, form);
        slow.stdout
            .read_exact(&mut [0; PIECE])
            .expect("it begins to write");
        let (code, stderr) = slow.end();
        assert_eq!((code, stderr.as_str()), (Some(0), ""), "{form}");
        let session = desk.place.last_session();
        assert_eq!(session["turns"][0]["status"], "completed", "{form}");
    }
}

#[test]
fn an_empty_reply_is_told() {
    for dialect in [Dialect::Chat, Dialect::Messages] {
        let answers = [
            Answer::reply(),
            Answer::reply().call("call_a", "read", r#"{"path":"/a.txt"}"#),
            Answer::reply(),
        ];
        let desk = Desk::new(dialect, FILES, ModelServer::in_order(answers));
        let empty = desk.run("hello", &[]);
        assert_eq!(
            (empty.code, empty.stdout.as_str()),
            (Some(0), ""),
            "{}",
            empty.stderr
        );
        insta::allow_duplicates! { insta::assert_snapshot!(empty.stderr, @"The model ended its turn without an answer."); }
        let after_a_call = desk.run("and now?", &["--continue"]);
        assert_eq!((after_a_call.code, after_a_call.stdout.as_str()), (Some(0), ""));
        assert!(
            after_a_call
                .stderr
                .ends_with("The model ended its turn without an answer.\n"),
            "{}",
            after_a_call.stderr
        );
        // What is empty is not sent back.
        assert_eq!(
            desk.asked()[1]
                .messages()
                .iter()
                .filter(|message| message["role"] == "assistant")
                .count(),
            0
        );
    }
}
