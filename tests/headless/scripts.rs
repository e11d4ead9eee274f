//! Scripts: asked about, run, ended, told, and killed together with the program.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rtc_tests::{Workplace, assert_whole, workers_of};

use crate::place::{alone, ask, content, last_id, names, project, put, request, results, shown, tidy};
use rtc_tests::dialogue::{Dialogue, Ended};

fn script(code: &str) -> String {
    format!("run this script: ```\n{code}\n```")
}

/// What the model read of the last call; times are left out.
fn told(place: &Workplace) -> String {
    let session = shown(place, &last_id(place));
    assert_whole(&session);
    let told = results(&session).pop().expect("a call");
    let lines = told.lines().filter(|line| !line.starts_with("duration_ms:"));
    let told = lines.collect::<Vec<_>>().join("\n");
    match told
        .split_once("started at ")
        .and_then(|(before, after)| Some((before, after.split_once("Z. ")?.1)))
    {
        Some((before, after)) => format!("{before}started at TIME. {after}"),
        None => told,
    }
}

#[test]
fn a_script_is_asked_about_with_its_code_and_runs_with_a_yes() {
    let code = "console.log('looking');\nawait rtcAgent.fs.write('/made.txt', 'by script\\n');\n6 * 7";
    for mode in ["edit", "auto"] {
        let place = project(&[]);
        let ended = ask(&place, &script(code), &["--mode", mode], "y\n");
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        for line in code.lines() {
            assert!(
                ended.stderr.contains(&format!("    {line}\n")),
                "the code is shown: {}",
                ended.stderr
            );
        }
        assert_eq!(content(&place, "made.txt"), "by script\n");
        insta::allow_duplicates! {
            insta::assert_snapshot!(told(&place), @r#"
            script completed: result: 42
            logs: ["looking"]
            "#);
        }
    }
}

/// Nothing is approved unseen: neither at the end of a long line nor behind many lines.
#[test]
fn all_of_the_code_is_shown_before_the_yes() {
    let aside = format!("1;{}'aside'", " ".repeat(300));
    let code = format!("{aside}\n{}'far below'", "1;\n".repeat(1000));
    let place = project(&[]);
    let ended = ask(&place, &script(&code), &["--mode", "edit"], "y\n");
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let (shown, _) = ended.stderr.split_once("Run it?").expect("it is asked about");
    assert!(shown.contains(&format!("    {aside}\n")), "{shown}");
    assert!(shown.contains("\n    'far below'\n"), "{shown}");
}

#[test]
fn without_a_yes_no_script_runs_in_any_mode_but_bypass() {
    let code = script("await rtcAgent.fs.write('/made.txt', 'x')");
    for (mode, code_of_exit, made) in [
        ("manual", 3, false),
        ("edit", 3, false),
        ("auto", 3, false),
        ("plan", 0, false),
        ("bypass", 0, true),
    ] {
        let place = project(&[]);
        let ended = alone(&place, &code, &["--mode", mode]);
        assert_eq!(ended.code, Some(code_of_exit), "{mode}: {}", ended.stderr);
        assert_eq!(names(&place.root()) == ["made.txt"], made, "{mode}");
    }
}

#[test]
fn a_yes_to_a_script_is_none_to_what_each_of_its_paths_would_be_asked_for() {
    let code = script(
        "const told = [];\nfor (const path of ['/plain.txt', '/.git/config', '/.env'])\n  \
         try { await rtcAgent.fs.write(path, 'x'); told.push(path) } catch (error) { told.push(`${error.code}: ${error.message}`) }\n\
         told.join('\\n')",
    );
    let tried = |mode: &str| {
        let place = project(&[(".git/HEAD", "x")]);
        let ended = ask(&place, &code, &["--mode", mode], "y\n");
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        told(&place)
    };
    insta::assert_snapshot!(tried("edit"), @"
    script completed: result: /plain.txt
    permission_denied: /.git/config is protected: it can hold secrets or make programs run, and in the middle of a run the user is not asked; use /.git/config in a call of its own, so that they are
    permission_denied: /.env is protected: it can hold secrets or make programs run, and in the middle of a run the user is not asked; use /.env in a call of its own, so that they are
    ");
    insta::assert_snapshot!(tried("manual"), @"
    script completed: result: permission_denied: script changes a file, which mode manual asks for, and in the middle of a run the user is not asked; use /plain.txt in a call of its own, so that they are
    permission_denied: /.git/config is protected: it can hold secrets or make programs run, and in the middle of a run the user is not asked; use /.git/config in a call of its own, so that they are
    permission_denied: /.env is protected: it can hold secrets or make programs run, and in the middle of a run the user is not asked; use /.env in a call of its own, so that they are
    ");
    insta::assert_snapshot!(tried("bypass"), @"
    script completed: result: /plain.txt
    /.git/config
    /.env
    ");
}

/// A saved script is shown before it runs, and what was shown is what runs.
#[test]
fn a_saved_script_runs_as_it_was_when_the_call_was_made() {
    let place = project(&[(".rtc/scripts/sum.ts", "'as shown'")]);
    let mut command = request(&place, "run the saved script sum", &["--mode", "edit"]);
    command.args(["--ask", "prompt"]);
    let mut dialogue = Dialogue::start(command);
    dialogue.hear("'as shown'");
    dialogue.hear("Run it?");
    put(&place.root(), &[(".rtc/scripts/sum.ts", "'another one'")]);
    dialogue.say("y");
    let ended = dialogue.finish();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    insta::assert_snapshot!(told(&place), @"
    script completed: name: sum
    result: as shown
    ");
    // Without a question it is frozen as well; the next call sees the new one.
    assert_eq!(
        alone(&place, "run the saved script sum", &["--mode", "bypass"]).code,
        Some(0)
    );
    insta::assert_snapshot!(told(&place), @"
    script completed: name: sum
    result: another one
    ");
}

/// A Yes to running a script is none to changing it.
#[test]
fn a_saved_script_cannot_rewrite_itself() {
    let code = "await rtcAgent.fs.read('/.rtc/scripts/sum.ts');\nawait rtcAgent.fs.write('/.rtc/scripts/sum.ts', 'x')";
    let place = project(&[(".rtc/scripts/sum.ts", code)]);
    let ended = ask(&place, "run the saved script sum", &["--mode", "edit"], "y\n");
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(content(&place, ".rtc/scripts/sum.ts"), code);
    insta::assert_snapshot!(told(&place).lines().next().unwrap_or_default(), @"script failed: [Tool Error] script failed: Error: /.rtc/scripts/sum.ts is protected: it can hold secrets or make programs run, and in the middle of a run the user is not asked; use /.rtc/scripts/sum.ts in a call of its own, so that they are (line 2)");
}

#[test]
fn nothing_outside_of_the_folder_is_reached() {
    let place = project(&[]);
    put(&place.path().join("outside"), &[("secret.txt", "treasure")]);
    std::os::unix::fs::symlink("../outside", place.root().join("away")).expect("a link is made");
    let code = script(
        "const told = [];\nfor (const path of ['/away/secret.txt', '/../outside/secret.txt'])\n  \
         try { told.push(await rtcAgent.fs.read(path)) } catch (error) { told.push(error.code) }\n\
         told.join(' ') + ' ' + [typeof Deno, typeof fetch, typeof require, typeof process].join(' ')",
    );
    alone(&place, &code, &["--mode", "bypass"]);
    insta::assert_snapshot!(told(&place), @"script completed: result: permission_denied invalid_arguments undefined undefined undefined undefined");
}

#[test]
fn one_script_leaves_nothing_to_the_next() {
    let place = project(&[]);
    let both = format!(
        "{}, then {}",
        script("globalThis.leak = 1; Array.prototype.leak = 2; 'set'"),
        script("typeof leak + typeof [].leak")
    );
    assert_eq!(alone(&place, &both, &["--mode", "bypass"]).code, Some(0));
    insta::assert_snapshot!(told(&place), @"script completed: result: undefinedundefined");
}

/// A run whose script has written a file and said so, and goes on for ever.
fn running(place: &Workplace) -> (Dialogue, u32) {
    let code = "await rtcAgent.fs.write('/begun.txt', 'x');\nconsole.log('under way');\nfor (;;) await rtcAgent.system.delay(1000)";
    let mut dialogue = Dialogue::start(request(place, &script(code), &["--mode", "bypass"]));
    dialogue.hear("● script");
    dialogue.hear("    under way");
    let id = dialogue.id();
    let workers = workers_of(id);
    assert_eq!(workers.len(), 1, "{workers:?}");
    assert!(workers[0].1.contains("script-worker"), "{workers:?}");
    (dialogue, id)
}

fn go_on(place: &Workplace, answer: Option<&str>) -> Ended {
    let mut command = place.command(&["run", "--continue"]);
    command.args(["--ask", if answer.is_some() { "prompt" } else { "deny" }]);
    let mut dialogue = Dialogue::start(command);
    if let Some(answer) = answer {
        dialogue.hear("[t]ell the model");
        dialogue.say(answer);
    }
    dialogue.finish()
}

#[test]
fn a_script_whose_program_is_killed_has_an_unknown_outcome_and_is_not_run_twice() {
    let place = project(&[]);
    let (dialogue, id) = running(&place);
    dialogue.signal(Signal::SIGKILL);
    assert_eq!(dialogue.wait().code, None);
    gone(id);
    std::fs::remove_file(place.root().join("begun.txt")).expect("the script made it");
    let ended = go_on(&place, None);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(names(&place.root()), [""; 0], "it did not run again");
    insta::assert_snapshot!(told(&place), @"script failed: [Tool Error] script failed: the call was started and the program ended before its result was known (outcome_unknown). It was started at TIME. By then it was about to change, or had changed: `/begun.txt` (not made yet). It had printed “under way”. What it returned is not known. Look at what is there before you repeat it.");
    // The user reads the same in the terminal.
    let evidence = "By then it was about to change, or had changed: `/begun.txt` (not made yet). It had printed “under way”.";
    assert!(ended.stderr.contains(evidence), "{}", ended.stderr);
}

#[test]
fn the_user_sees_the_evidence_and_decides() {
    let place = project(&[]);
    let (dialogue, id) = running(&place);
    dialogue.signal(Signal::SIGKILL);
    dialogue.wait();
    gone(id);
    let ended = go_on(&place, Some("d"));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let asked = ended.stderr.split_once("started at ").expect("the evidence").1;
    let asked = asked.split_once("Z. ").expect("a time").1;
    insta::assert_snapshot!(asked.lines().next().unwrap_or_default(), @"
    By then it was about to change, or had changed: `/begun.txt` (as it left it). It had printed “under way”. What it returned is not known.
    ");
    insta::assert_snapshot!(told(&place), @"script completed: The user looked and says that this call is done. It was started at TIME. By then it was about to change, or had changed: `/begun.txt` (as it left it). It had printed “under way”. What it returned is not known.");
}

/// What a session knows of its script, whose program was killed, once the user has decided with `answer`.
fn decided(code: &str, answer: &str) -> (Workplace, String) {
    let place = project(&[]);
    let mut dialogue = Dialogue::start(request(&place, &script(code), &["--mode", "bypass"]));
    dialogue.hear("    under way");
    let id = dialogue.id();
    dialogue.signal(Signal::SIGKILL);
    dialogue.wait();
    gone(id);
    let ended = go_on(&place, Some(answer));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let session = shown(&place, &last_id(&place));
    let call = &session["rtcs"][0];
    let state = format!("{} {} {}", call["status"], call["effect"], call["attempt"]);
    let told = told(&place);
    (place, format!("{state}\n{told}"))
}

/// The first run waits for ever; a further one finds what it left, adds to it, and ends.
const TWICE: &str = "const isFirst = !(await rtcAgent.fs.ls('/')).includes('begun.txt');
if (!isFirst) await rtcAgent.fs.read('/begun.txt');
await rtcAgent.fs.write('/begun.txt', 'x', { mode: 'append' });
console.log('under way');
while (isFirst) await rtcAgent.system.delay(1000);
'ended'";

#[test]
fn of_a_script_whose_outcome_nobody_knows_the_user_chooses_what_becomes() {
    let (place, known) = decided(TWICE, "r");
    assert_eq!(
        content(&place, "begun.txt"),
        "xx",
        "it ran twice, as the user wanted"
    );
    insta::assert_snapshot!(known, @r#"
    "completed" null 2
    script completed: result: ended
    logs: ["under way"]
    "#);
    let (place, known) = decided(TWICE, "d");
    assert_eq!(content(&place, "begun.txt"), "x");
    insta::assert_snapshot!(known, @r#"
    "completed" "applied" 1
    script completed: The user looked and says that this call is done. It was started at TIME. By then it was about to change, or had changed: `/begun.txt` (as it left it). It had printed “under way”. What it returned is not known.
    "#);
    let (place, known) = decided(TWICE, "t");
    assert_eq!(content(&place, "begun.txt"), "x");
    insta::assert_snapshot!(known, @r#"
    "failed" "unknown" 1
    script failed: [Tool Error] script failed: the call was started and the program ended before its result was known (outcome_unknown). It was started at TIME. By then it was about to change, or had changed: `/begun.txt` (as it left it). It had printed “under way”. What it returned is not known. Look at what is there before you repeat it.
    "#);
}

#[test]
fn stop_ends_a_script_and_says_that_it_may_have_had_an_effect() {
    let place = project(&[]);
    let (dialogue, id) = running(&place);
    dialogue.signal(Signal::SIGINT);
    let ended = dialogue.wait();
    assert_eq!(ended.code, Some(5), "{}", ended.stderr);
    gone(id);
    let told = told(&place);
    let (reason, says) = told
        .split_once(". It says: the script was stopped")
        .expect("it says so");
    insta::assert_snapshot!(reason, @"script rejected: [Tool Rejected] script was rejected: the user stopped the turn while this call ran; whether it took effect is not known, look before you repeat it");
    // Which line it was on depends on who ended it: the engine by itself, or the end of its process.
    let (_, says) = says.split_once('\n').expect("a line of its own");
    insta::assert_snapshot!(says, @"
    It had already changed `/begun.txt`.
    The console until then:
    under way
    ");
}

/// Waits until no process of this parent is left: its end was asked for by the end of the parent.
fn gone(parent: u32) {
    for _ in 0..1_000_000 {
        if workers_of(parent).is_empty() {
            return;
        }
        std::thread::yield_now();
    }
    panic!("a worker is left: {:?}", workers_of(parent));
}

#[test]
fn a_script_that_takes_all_memory_is_ended_and_the_next_one_runs() {
    let place = project(&[]);
    let greedy = "const all = []; for (;;) all.push(new Array(100000).fill(all.length))";
    let both = format!("{}, then {}", script(greedy), script("'the next one'"));
    assert_eq!(alone(&place, &both, &["--mode", "bypass"]).code, Some(0));
    let told = results(&shown(&place, &last_id(&place)));
    assert!(told[0].contains("used more than 256 MB of memory"), "{}", told[0]);
    assert!(told[1].contains("the next one"), "{}", told[1]);
}

#[test]
fn a_worker_that_is_killed_is_told_and_the_next_script_has_another() {
    let place = project(&[]);
    let endless = "console.log('under way');\nfor (;;) await rtcAgent.system.delay(1000)";
    let both = format!("{}, then {}", script(endless), script("'the next one'"));
    let mut dialogue = Dialogue::start(request(&place, &both, &["--mode", "bypass"]));
    dialogue.hear("    under way");
    for (worker, _) in workers_of(dialogue.id()) {
        kill(Pid::from_raw(worker), Signal::SIGKILL).expect("it runs");
    }
    let ended = dialogue.finish();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let session = shown(&place, &last_id(&place));
    let told = results(&session)
        .join("\n")
        .replace("duration_ms", "\nduration_ms");
    let lines = told
        .lines()
        .filter(|line| !line.starts_with("duration_ms") && !line.is_empty());
    insta::assert_snapshot!(tidy(&place, &lines.collect::<Vec<_>>().join("\n")), @"
    script failed: [Tool Error] script failed: the process of the script ended (signal: 9 (SIGKILL); most likely the script took too much memory: handle less at a time, and await calls before making more) (line 1)
    It had changed nothing.
    The console until then:
    under way
    script completed: result: the next one
    ");
}

#[test]
fn a_script_of_ten_megabytes_is_refused_before_it_is_asked_about() {
    let place = project(&[]);
    let long = script(&format!("'{}'", "x".repeat(10 << 20)));
    let mut command = place.command(&["run", "-", "--mode", "edit", "--ask", "deny"]);
    command.arg("--root").arg(place.root());
    let ended = rtc_tests::dialogue::run(command, long.as_bytes());
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    insta::assert_snapshot!(told(&place), @"script failed: [Tool Error] script failed: the code has 10485762 bytes, 1048576 at most can be run; put data into files");
}
