//! Wrong input: each a clear line on stderr, the right exit code, nothing on stdout, nothing changed.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Command;

use rtc_tests::{Workplace, assert_whole};

use crate::place::{alone, ask, content, contents, last_id, project, put, request, shown, tidy};
use rtc_tests::dialogue::run;

/// A case and the command that is wrong in it.
type Case = (&'static str, fn(&Workplace) -> Command);

const ID: &str = "01890000-0000-7000-8000-000000000000";

/// The cases told one below the other, each of a place of its own.
fn told(cases: &[Case]) -> String {
    let mut told = String::new();
    for (case, command) in cases {
        let place = project(&[("notes.txt", "one\n")]);
        let ended = run(command(&place), b"");
        assert_eq!(ended.stdout, "", "{case}");
        assert_eq!(content(&place, "notes.txt"), "one\n", "{case}");
        let code = ended.code.expect("an exit code");
        told.push_str(&format!("{case}: exit {code}\n{}\n", tidy(&place, &ended.stderr)));
    }
    told
}

fn rooted(place: &Workplace, root: &Path) -> Command {
    let mut command = place.command(&["run", "read notes.txt"]);
    command.arg("--root").arg(root);
    command
}

fn configured(place: &Workplace, text: &str, args: &[&str]) -> Command {
    put(place.path(), &[("config.toml", text)]);
    let mut command = request(place, "read notes.txt", args);
    command.arg("--config").arg(place.path().join("config.toml"));
    command
}

#[test]
fn a_wrong_folder_is_named() {
    insta::assert_snapshot!(told(&[
        ("no such folder", |place| rooted(place, &place.path().join("nowhere"))),
        ("a file", |place| rooted(place, &place.root().join("notes.txt"))),
        ("a name that is not Unicode", |place| {
            let folder = place.path().join(OsStr::from_bytes(b"caf\xe9"));
            std::fs::create_dir(&folder).expect("a folder is made");
            rooted(place, &folder)
        }),
    ]), @"
    no such folder: exit 2
    rtc-headless: the folder `PLACE/nowhere` does not exist; create it, or choose another folder

    a file: exit 2
    rtc-headless: `PLACE/project/notes.txt` is not a folder; choose the folder that contains it

    a name that is not Unicode: exit 2
    rtc-headless: the folder PLACE/caf� has a name that is not Unicode; rename it
    ");
}

#[test]
fn a_broken_configuration_is_told_with_file_line_and_field() {
    insta::assert_snapshot!(told(&[
        ("unknown field", |place| configured(place, "model = \"offline\"\nmodell = \"x\"\n", &[])),
        ("wrong value", |place| configured(place, "mode = \"yolo\"\n", &[])),
        ("wrong address", |place| {
            configured(place, "[models.a]\napi = \"openai-chat\"\nbase_url = \"foo\"\n", &["--model", "offline"])
        }),
        ("wrong model, listed", |place| {
            configured(place, "model = \"nope\"\n", &[]);
            let mut command = place.command(&["models"]);
            command.arg("--config").arg(place.path().join("config.toml"));
            command
        }),
        ("wrong model, with sessions", |place| {
            configured(place, "model = \"nope\"\n", &[]);
            let mut command = place.command(&["sessions", "list"]);
            command.arg("--config").arg(place.path().join("config.toml"));
            command
        }),
        ("missing field", |place| configured(place, "[models.small]\nbase_url = \"http://localhost\"\n", &[])),
        ("no TOML", |place| configured(place, "model = \n", &[])),
        ("no such file", |place| {
            let mut command = request(place, "read notes.txt", &[]);
            command.arg("--config").arg(place.path().join("nowhere.toml"));
            command
        }),
    ]), @"
    unknown field: exit 2
    rtc-headless: the configuration PLACE/config.toml is wrong, line 2, field `modell`: unknown field `modell`, expected one of `model`, `mode`, `models`, `undo`

    wrong value: exit 2
    rtc-headless: the configuration PLACE/config.toml is wrong, line 1, field `mode`: unknown variant `yolo`, expected one of `manual`, `edit`, `plan`, `auto`, `bypass`

    wrong address: exit 2
    rtc-headless: the configuration PLACE/config.toml is wrong, line 3, field `base_url`: this is no address: it has to begin with http:// or https:// and to name a host

    wrong model, listed: exit 2
    rtc-headless: the configuration PLACE/config.toml is wrong, line 1, field `model`: there is no model `nope`; there are: offline, ollama/MODEL

    wrong model, with sessions: exit 2
    rtc-headless: the configuration PLACE/config.toml is wrong, line 1, field `model`: there is no model `nope`; there are: offline, ollama/MODEL

    missing field: exit 2
    rtc-headless: the configuration PLACE/config.toml is wrong, line 1, field `[models.small]`: missing field `api`

    no TOML: exit 2
    rtc-headless: the configuration PLACE/config.toml is wrong, line 1, field `model`: string values must be quoted, expected literal string

    no such file: exit 2
    rtc-headless: the configuration PLACE/nowhere.toml cannot be read: No such file or directory (os error 2); name another file with --config
    ");
}

#[test]
fn an_unknown_model_lists_what_there_is() {
    const SMALL: &str = "[models.small]\napi = \"openai-chat\"\n";
    insta::assert_snapshot!(told(&[
        ("nothing configured", |place| request(place, "read notes.txt", &["--model", "large"])),
        ("something configured", |place| configured(place, SMALL, &["--model", "large"])),
        ("in the configuration", |place| configured(place, "model = \"large\"\n", &[])),
        ("from the environment", |place| {
            let mut command = request(place, "read notes.txt", &[]);
            command.env("RTC_MODEL", "large");
            command
        }),
    ]), @"
    nothing configured: exit 2
    rtc-headless: there is no model `large`; there are: offline, ollama/MODEL

    something configured: exit 2
    rtc-headless: there is no model `large`; there are: offline, small, ollama/MODEL

    in the configuration: exit 2
    rtc-headless: the configuration PLACE/config.toml is wrong, line 1, field `model`: there is no model `large`; there are: offline, ollama/MODEL

    from the environment: exit 2
    rtc-headless: there is no model `large`; there are: offline, ollama/MODEL
    ");
}

#[test]
fn a_wrong_session_or_prompt_is_told() {
    insta::assert_snapshot!(told(&[
        ("unknown session", |place| request(place, "read notes.txt", &["--session", ID])),
        ("malformed session", |place| request(place, "read notes.txt", &["--session", "the-last-one"])),
        ("unknown session is shown", |place| place.command(&["sessions", "show", ID])),
        ("empty prompt", |place| request(place, " \n", &[])),
        ("empty prompt on stdin", |place| request(place, "-", &[])),
        ("no prompt", |place| place.command(&["run"])),
        ("nothing to continue", |place| place.command(&["run", "--continue"])),
        ("nothing to continue with a prompt", |place| request(place, "read notes.txt", &["--continue"])),
        ("a session and the last one", |place| {
            request(place, "read notes.txt", &["--continue", "--session", ID])
        }),
        ("a mode that does not exist", |place| request(place, "read notes.txt", &["--mode", "yolo"])),
        ("a log level that does not exist", |place| request(place, "read notes.txt", &["--log-level", "foo"])),
    ]), @"
    unknown session: exit 2
    rtc-headless: there is no session 01890000-0000-7000-8000-000000000000; `rtc-headless sessions list` shows those there are

    malformed session: exit 2
    rtc-headless: there is no session the-last-one; `rtc-headless sessions list` shows those there are

    unknown session is shown: exit 2
    rtc-headless: there is no session 01890000-0000-7000-8000-000000000000; `rtc-headless sessions list` shows those there are

    empty prompt: exit 2
    rtc-headless: the prompt is empty; say what is to be done

    empty prompt on stdin: exit 2
    rtc-headless: the prompt is empty; say what is to be done

    no prompt: exit 2
    rtc-headless: say what is to be done, or --continue

    nothing to continue: exit 2
    rtc-headless: there is no session to continue; begin one with a prompt

    nothing to continue with a prompt: exit 2
    rtc-headless: there is no session to continue; begin one with a prompt

    a session and the last one: exit 2
    error: the argument '--continue' cannot be used with '--session <ID>'

    Usage: rtc-headless run --data <DIR> --root <DIR> --continue <PROMPT>

    For more information, try '--help'.

    a mode that does not exist: exit 2
    error: invalid value 'yolo' for '--mode <MODE>': there is no mode `yolo`; the modes are manual, edit, plan, auto, bypass

    For more information, try '--help'.

    a log level that does not exist: exit 2
    error: invalid value 'foo' for '--log-level <LEVEL>'
      [possible values: error, warn, info, debug, trace]

    For more information, try '--help'.
    ");
}

#[test]
fn a_prompt_that_is_no_text_is_refused() {
    let place = Workplace::empty();
    let ended = run(request(&place, "-", &[]), b"read caf\xe9.txt");
    insta::assert_snapshot!(ended.stderr, @"rtc-headless: the prompt on stdin cannot be read: it is not UTF-8");
    assert_eq!(ended.code, Some(2));
    assert!(!place.data().exists(), "it is told before anything is made");
}

#[test]
fn a_session_of_another_folder_is_not_taken_into_this_one() {
    let place = project(&[("notes.txt", "one\n")]);
    assert_eq!(alone(&place, "read notes.txt", &[]).code, Some(0));
    let (id, other) = (last_id(&place), place.path().join("other"));
    std::fs::create_dir(&other).expect("a folder is made");
    let mut command = place.command(&["run", "read notes.txt", "--session", &id]);
    command.arg("--root").arg(&other);
    let ended = run(command, b"");
    insta::assert_snapshot!(ended.stderr.replace(&id, "ID"), @"rtc-headless: the session ID works in another folder; leave out --root");
    assert_eq!(ended.code, Some(2));
    let mut command = place.command(&["run", "read notes.txt", "--continue"]);
    command.arg("--root").arg(&other);
    assert_eq!(
        run(command, b"").code,
        Some(2),
        "the last session of this folder is meant"
    );
    assert_eq!(place.sessions().len(), 1);
}

#[test]
fn a_prompt_of_ten_megabytes_is_taken_whole() {
    let place = project(&[("notes.txt", "one\n")]);
    let prompt = format!(
        "read notes.txt\n\"{}\"",
        "as long as ten megabytes ".repeat(400_000)
    );
    assert!(prompt.len() >= 10_000_000);
    let ended = run(request(&place, "-", &[]), prompt.as_bytes());
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stdout.contains("I read /notes.txt, 1 line"));
    let session = shown(&place, &last_id(&place));
    assert!(
        contents(&session, "text")[0] == prompt.as_str(),
        "the session does not hold it whole"
    );
    let ended = alone(&place, "append 'two' to notes.txt", &["--continue"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(content(&place, "notes.txt"), "one\ntwo\n");
    let session = shown(&place, &last_id(&place));
    assert_whole(&session);
    assert_eq!(contents(&session, "text").len(), 2);
}

#[test]
fn answers_and_a_prompt_do_not_both_come_from_stdin() {
    let place = Workplace::empty();
    let mut command = request(&place, "-", &["--mode", "manual", "--ask", "prompt"]);
    command.stdin(std::process::Stdio::piped());
    let ended = run(command, b"create new.txt with 'x'\n");
    assert_eq!(
        ended.code,
        Some(3),
        "the input has ended, so nobody is there: {}",
        ended.stderr
    );
    assert!(!place.root().join("new.txt").exists());
    // As an argument the same is asked and answered.
    assert_eq!(
        ask(&place, "create new.txt with 'x'", &["--mode", "manual"], "y\n").code,
        Some(0)
    );
}

/// Quoted text is one piece; here all of it is words, which are more than are read.
#[test]
fn ten_megabytes_of_anything_are_answered() {
    for unit in ["x", "read notes.txt and ", "don't: ", "把它\n"] {
        let place = project(&[("notes.txt", "one\n")]);
        let prompt = unit.repeat(10_000_000 / unit.len());
        let ended = run(request(&place, "-", &[]), prompt.as_bytes());
        assert_eq!(ended.code, Some(0), "{unit}: {}", ended.stderr);
        let told = ended.stdout.contains("longer than I can read") || ended.stdout.contains("请求太长");
        assert!(told, "{unit}: {}", ended.stdout);
    }
}
