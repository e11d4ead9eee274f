//! What stands on stdout, in each form.

use rtc_tests::Workplace;
use serde_json::Value;

use crate::place::{alone, content, project, request};
use rtc_tests::dialogue::{Dialogue, run};

fn place() -> Workplace {
    project(&[("notes.txt", "one\nold\n"), ("more.txt", "old\n")])
}

const REQUEST: &str = "replace old by new in notes.txt, then read more.txt";

#[test]
fn text_is_the_answer_and_progress_is_elsewhere() {
    let ended = alone(&place(), REQUEST, &[]);
    assert_eq!(ended.code, Some(0));
    insta::assert_snapshot!(ended.stdout, @"
    I will do this step by step:
    1. replace “old” by “new” in notes.txt
    2. read more.txt

    1. I replaced “old” by “new” 1 time in 1 file:
       - /notes.txt: 1
    2. I read /more.txt, 1 line:
       ```
       old
       ```
    ");
    insta::assert_snapshot!(ended.stderr, @"
    ● find pattern=notes.txt
        /notes.txt
    ● grep /notes.txt  pattern=old  output_mode=files_with_matches  head_limit=200
        Found 1 file
        /notes.txt
    ● read /notes.txt
             1	one
             2	old
    ● edit /notes.txt  old_string=old  new_string=new  replace_all=true
        path: /notes.txt
        replaced: 1
        diff:
        --- /notes.txt
        +++ /notes.txt
        @@ -1,2 +1,2 @@
         one
        -old
        +new
    ● read /more.txt
             1	old
    ");
}

#[test]
fn json_is_one_object() {
    let place = place();
    let ended = alone(&place, REQUEST, &["--output", "json"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    assert_eq!(ended.stdout.lines().count(), 1);
    let mut result: Value = serde_json::from_str(&ended.stdout).expect("one object");
    let session = &place.sessions()[0];
    assert_eq!(result["session_id"], session["id"]);
    assert!(result["turn_id"].is_string());
    let calls = result["calls"].as_array().expect("calls").clone();
    let tools: Vec<_> = calls
        .iter()
        .map(|call| (&call["tool_name"], &call["status"]))
        .collect();
    let of = |tool: &str| calls.iter().filter(|call| call["tool_name"] == tool).count();
    assert_eq!(of("edit"), 1, "{tools:?}");
    assert!(of("read") >= 2, "{tools:?}");
    assert!(calls.iter().all(|call| call["turn_id"] == result["turn_id"]));
    let edit = calls
        .iter()
        .find(|call| call["tool_name"] == "edit")
        .expect("an edit");
    assert_eq!(result["changes"][0]["rtc_id"], edit["id"]);
    for (field, name) in [("session_id", "SESSION"), ("turn_id", "TURN"), ("calls", "CALLS")] {
        result[field] = name.into();
    }
    result["changes"][0]["rtc_id"] = "RTC".into();
    insta::assert_snapshot!(serde_json::to_string_pretty(&result).expect("JSON"), @r#"
    {
      "session_id": "SESSION",
      "turn_id": "TURN",
      "status": "completed",
      "error": null,
      "text": "I will do this step by step:\n1. replace “old” by “new” in notes.txt\n2. read more.txt\n\n1. I replaced “old” by “new” 1 time in 1 file:\n   - /notes.txt: 1\n2. I read /more.txt, 1 line:\n   ```\n   old\n   ```",
      "calls": "CALLS",
      "changes": [
        {
          "rtc_id": "RTC",
          "tool": "edit",
          "path": "/notes.txt",
          "diff": "--- /notes.txt\n+++ /notes.txt\n@@ -1,2 +1,2 @@\n one\n-old\n+new\n"
        }
      ],
      "usage": {
        "input_tokens": 0,
        "output_tokens": 0
      }
    }
    "#);
}

#[test]
fn json_tells_only_of_the_turn_that_ran() {
    let place = place();
    assert_eq!(alone(&place, REQUEST, &[]).code, Some(0));
    let ended = alone(&place, "list the files", &["--continue", "--output", "json"]);
    let result: Value = serde_json::from_str(&ended.stdout).expect("one object");
    let tools: Vec<_> = result["calls"]
        .as_array()
        .expect("calls")
        .iter()
        .map(|call| &call["tool_name"])
        .collect();
    assert_eq!(tools, ["ls"]);
    assert_eq!(result["changes"], serde_json::json!([]));
    assert!(!result["text"].as_str().expect("text").contains("replaced"));
}

#[test]
fn json_of_a_denied_call_says_what_became_of_it() {
    let ended = alone(
        &place(),
        "replace old by new in notes.txt",
        &["--mode", "manual", "--output", "json"],
    );
    assert_eq!(ended.code, Some(3));
    let result: Value = serde_json::from_str(&ended.stdout).expect("one object");
    assert_eq!(result["status"], "completed");
    assert_eq!(result["changes"], serde_json::json!([]));
    let edit = result["calls"]
        .as_array()
        .and_then(|calls| calls.last())
        .expect("a call");
    assert_eq!(
        (&edit["tool_name"], &edit["status"]),
        (&"edit".into(), &"rejected".into())
    );
}

/// The offsets of a stream's updates, after a look at each line; the last line is the result.
fn offsets(stdout: &str) -> Vec<u64> {
    let mut lines: Vec<Value> = stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("each line is JSON"))
        .collect();
    let last = lines.pop().expect("a last line");
    assert_eq!(
        last.as_object().map(|fields| fields.keys().collect::<Vec<_>>()),
        Some(vec![&"result".to_owned()])
    );
    assert_eq!(last["result"]["status"], "completed");
    for update in &lines {
        let (items, data) = (update["items"].as_array(), update["data_list"].as_array());
        assert_eq!(items.map(Vec::len), data.map(Vec::len), "{update}");
        assert!(items.is_some_and(|items| !items.is_empty()), "{update}");
    }
    // What is told of a text while it is written has none.
    lines
        .iter()
        .map(|update| update["offset"].as_u64().expect("an offset"))
        .filter(|offset| *offset != 0)
        .collect()
}

#[test]
fn stream_json_is_every_update_without_a_gap_and_the_result_last() {
    let place = place();
    let first = alone(&place, REQUEST, &["--output", "stream-json"]);
    assert_eq!((first.code, first.stderr.as_str()), (Some(0), ""));
    let first = offsets(&first.stdout);
    // The project itself may be told before.
    let begin = first[0];
    assert!(begin <= 2, "{begin}");
    let expected: Vec<u64> = (begin..begin + first.len() as u64).collect();
    assert_eq!(first, expected);
    let second = alone(
        &place,
        "list the files",
        &["--continue", "--output", "stream-json"],
    );
    let second = offsets(&second.stdout);
    let next = first.last().expect("an offset") + 1;
    let expected: Vec<u64> = (next..next + second.len() as u64).collect();
    assert_eq!(second, expected, "it goes on where the last run ended");
}

#[test]
fn stream_json_holds_what_the_session_holds() {
    let place = place();
    let ended = alone(&place, REQUEST, &["--output", "stream-json"]);
    let session = crate::place::shown(&place, &crate::place::last_id(&place));
    for message in session["messages"].as_array().expect("messages") {
        let id = message["id"].as_str().expect("an id");
        assert!(ended.stdout.contains(id), "{message}");
    }
    for rtc in session["rtcs"].as_array().expect("rtcs") {
        assert!(ended.stdout.contains(rtc["id"].as_str().expect("an id")), "{rtc}");
    }
}

#[test]
fn a_reader_that_goes_away_does_not_stop_the_turn() {
    for output in ["text", "json", "stream-json"] {
        let place = place();
        let mut dialogue = Dialogue::start(request(
            &place,
            REQUEST,
            &["--mode", "manual", "--ask", "prompt", "--output", output],
        ));
        dialogue.hear("Run it?");
        dialogue.close_stdout();
        dialogue.say("y");
        let ended = dialogue.finish();
        assert_eq!(ended.code, Some(0), "{output}: {}", ended.stderr);
        assert_eq!(content(&place, "notes.txt"), "one\nnew\n", "{output}");
    }
}

#[test]
fn an_answer_that_is_lost_is_no_success() {
    let place = place();
    for args in [
        &["run", "read more.txt"][..],
        &["sessions", "list"],
        &["models"],
        &["--help"],
    ] {
        let mut command = std::process::Command::new("sh");
        let whole = place.command(args);
        command
            .args(["-c", "exec \"$0\" \"$@\" >/dev/full"])
            .arg(whole.get_program())
            .args(whole.get_args());
        let ended = run(command, b"");
        assert_eq!(ended.code, Some(1), "{args:?}: {}", ended.stderr);
        let told = "rtc-headless: the result cannot be written: No space left on device";
        assert_eq!(
            ended.stderr.matches(told).count(),
            1,
            "{args:?}: {}",
            ended.stderr
        );
    }
}

#[test]
fn piped_into_head_it_ends() {
    let place = place();
    let whole = request(&place, REQUEST, &["--output", "stream-json"]);
    let mut command = std::process::Command::new("sh");
    command
        .args(["-c", "\"$0\" \"$@\" | head -n 1"])
        .arg(whole.get_program())
        .args(whole.get_args());
    let ended = run(command, b"");
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(ended.stdout.lines().count(), 1);
    assert_eq!(content(&place, "notes.txt"), "one\nnew\n");
    crate::place::shown(&place, &crate::place::last_id(&place));
}

#[test]
fn without_a_stderr_it_works() {
    let place = place();
    let whole = request(&place, REQUEST, &[]);
    let mut command = std::process::Command::new("sh");
    command
        .args(["-c", "exec \"$0\" \"$@\" 2>&-"])
        .arg(whole.get_program())
        .args(whole.get_args());
    let ended = run(command, b"");
    assert_eq!(ended.code, Some(0));
    assert_eq!(content(&place, "notes.txt"), "one\nnew\n");
    assert!(ended.stdout.contains("I replaced"), "{}", ended.stdout);
}

#[test]
fn without_a_folder_it_works_in_a_scratch_folder_and_says_so() {
    let place = Workplace::empty();
    let ended = run(place.command(&["run", "create notes.txt with 'x'"]), b"");
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("No folder is open (--root DIR)"),
        "{}",
        ended.stderr
    );
    let made = place.data().join("scratch/notes.txt");
    assert_eq!(std::fs::read_to_string(made).expect("it was made"), "x");
    assert!(place.files().is_empty());
}

#[test]
fn a_session_goes_on_with_its_history() {
    let place = place();
    assert_eq!(
        alone(&place, "replace old by new in notes.txt", &["--mode", "manual"]).code,
        Some(3)
    );
    let id = crate::place::last_id(&place);
    // Another session in between changes nothing.
    assert_eq!(alone(&place, "list the files", &[]).code, Some(0));
    let ended = alone(&place, "continue", &["--session", &id, "--mode", "edit"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(
        ended.stdout.contains("I replaced “old” by “new”"),
        "{}",
        ended.stdout
    );
    assert_eq!(content(&place, "notes.txt"), "one\nnew\n");
    let ended = alone(&place, "continue", &["--mode", "edit"]);
    assert!(
        !ended.stdout.contains("replaced"),
        "a new session has no history: {}",
        ended.stdout
    );
}
