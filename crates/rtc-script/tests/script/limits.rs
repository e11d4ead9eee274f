//! What ends a script, and that nothing of it runs on.

use std::time::Duration;

use rtc_script::{MAX_CODE_BYTES, MAX_HOST_CALLS, STOP_GRACE};
use rtc_tool::ErrorKind;
use serde_json::json;

use super::place::{content, place, place_with_grace};

async fn ended(code: &str, timeout: u64) -> String {
    let place = place(&[]);
    let text = place
        .text(json!({"title": "limits", "code": code, "timeout": timeout}))
        .await;
    // Whatever it did, the next script runs, and knows nothing of it.
    let next = place
        .text(json!({"title": "next", "code": "typeof leak + (1 + 1)"}))
        .await;
    assert_eq!(next, "result: undefined2", "after {code}");
    text
}

#[tokio::test]
async fn a_script_that_does_not_end_is_ended_at_its_time() {
    insta::assert_snapshot!(ended("console.log('begun');\n\nleak = 1;\nwhile (true) {}", 2000).await, @"
    Timeout: the script ran longer than 2000 ms and was ended (its last call was on line 1)
    It had changed nothing.
    The console until then:
    begun
    ");
    for code in [
        "for (;;) await null;",
        "await rtcAgent.system.delay(60000)",
        "/(a+)+$/.test('a'.repeat(60) + 'b')",
        "try { for (;;); } finally { for (;;); }",
        "setTimeout(function again() { setTimeout(again) }); 'over'",
    ] {
        // Whether the line is known depends on who ended it: the engine by itself, or the end of its process.
        let text = ended(code, 300)
            .await
            .replace(" (its last call was on line 1)", "");
        let expected = "Timeout: the script ran longer than 300 ms and was ended\nIt had changed nothing.";
        assert_eq!(text, expected, "{code}");
    }
    insta::assert_snapshot!(ended("await new Promise(() => {})", 60000).await, @"
    Execution: the script waits for a promise that nothing will settle
    It had changed nothing.
    ");
}

#[tokio::test]
async fn a_script_that_takes_everything_is_ended() {
    insta::assert_snapshot!(ended("const all = [];\nconsole.log('begun');\nfor (;;) all.push(String(all.length).repeat(9999));", 60000).await, @"
    Execution: the script used more than 256 MB of memory and was ended (its last call was on line 2)
    It had changed nothing.
    The console until then:
    begun
    ");
    insta::assert_snapshot!(ended("const all = []; for (;;) all.push(new Uint8Array(1e7));", 60000).await, @"
    Execution: the script used more than 256 MB of memory and was ended
    It had changed nothing.
    ");
    insta::assert_snapshot!(ended("let text = 'x'; for (;;) text += text;", 60000).await, @"
    Execution: InternalError: string too long (line 1)
    It had changed nothing.
    ");
    let printed = ended("for (let n = 0; ; n++)\n  console.log(n);", 60000).await;
    let head: Vec<&str> = printed.lines().take(4).collect();
    insta::assert_snapshot!(head.join("\n"), @"
    Execution: the script wrote more than 10000 entries or 1024 KB to the console and was ended (its last call was on line 2)
    It had changed nothing.
    The console until then:
    [10000 entries in all, the last ones are shown]
    ");
    assert!(printed.ends_with("\n9998\n9999"), "{printed}");
    let printed = ended("console.log('first'); console.log('x'.repeat(2e6))", 60000).await;
    insta::assert_snapshot!(printed, @"
    Execution: the script wrote more than 10000 entries or 1024 KB to the console and was ended (its last call was on line 1)
    It had changed nothing.
    The console until then:
    first
    ");
    insta::assert_snapshot!(ended("'x'.repeat(5e6)", 60000).await, @"
    Execution: the result of the script has more than 4 MB; return less, or write it to a file
    It had changed nothing.
    ");
    insta::assert_snapshot!(ended("const all = []; for (;;) all.push(Promise.resolve().then(() => all));", 60000).await, @"
    Execution: the script used more than 256 MB of memory and was ended
    It had changed nothing.
    ");
}

/// The engine keeps each of them, and lets go of many only after minutes.
#[tokio::test]
async fn promises_that_fail_while_nothing_waits_for_them_are_bounded() {
    for code in [
        "for (;;) Promise.reject(new Error('x'))",
        "async function f() { f(); f() }\nf()",
        "for (let n = 0; n < 100000; n++) Promise.reject(n); 'over'",
    ] {
        let told = ended(code, 60_000).await;
        let expected = "Execution: more than 10000 promises of the script failed while nothing waited for them, and it was \
                        ended; await them, or catch what they throw\nIt had changed nothing.";
        assert_eq!(told, expected, "{code}");
    }
    // As many as that are waited for in time, each at its turn.
    let code = "const fails = async (n) => { throw n };
const all = await Promise.allSettled(Array.from({ length: 10000 }, (_, n) => fails(n)));
all.filter((one) => one.status === 'rejected').length";
    assert_eq!(ended(code, 60_000).await, "result: 10000");
    let told = ended(
        "for (let n = 0; n < 10000; n++) Promise.reject(n); 'over'",
        60_000,
    )
    .await;
    let expected = "Execution: it threw 0, in a promise that nothing waited for\nIt had changed nothing.";
    assert_eq!(told, expected);
}

/// The engine does not always survive its want of memory, and sometimes fails on without end. Its process and its time do
/// the rest; the next script runs.
#[tokio::test]
async fn functions_that_call_themselves_for_ever_end_with_a_hint_to_their_memory() {
    for code in [
        "async function f() { await null; f(); f() } await f()",
        "function f() { return Promise.resolve().then(() => Promise.all([f(), f()])) } await f()",
    ] {
        let told = ended(code, 20_000).await;
        let cap = "Execution: the script used more than 256 MB of memory and was ended";
        let late = "Timeout: the script ran longer than 20000 ms and was ended";
        let crash = "Execution: the process of the script ended (signal: ";
        let hint = "; most likely the script took too much memory: ";
        assert!(
            told.starts_with(cap)
                || told.starts_with(late)
                || (told.starts_with(crash) && told.contains(hint)),
            "{code}: {told}"
        );
    }
}

/// What finds the line of a call may be the script's own.
#[tokio::test]
async fn a_trace_of_the_stack_that_does_not_end_is_ended_at_its_time() {
    for code in [
        "Error.prepareStackTrace = () => { for (;;); }; console.log('begun')",
        "Error.prepareStackTrace = () => { for (;;); }; throw new Error('x')",
        "Error.prepareStackTrace = () => { for (;;); }; null.x",
        "Error.prepareStackTrace = () => { for (;;); }; Promise.reject(new Error('x'))",
        "Error.prepareStackTrace = () => { for (;;); }; setTimeout(() => { throw new Error('x') })",
        "const error = new Error(); Object.defineProperty(error, 'message', { get() { for (;;); } }); throw error",
    ] {
        let told = ended(code, 500).await;
        let expected = "Timeout: the script ran longer than 500 ms and was ended";
        assert!(told.starts_with(expected), "{code}: {told}");
    }
}

#[tokio::test]
async fn the_words_of_an_error_are_cut() {
    for code in [
        "console.log();\nthrow new Error('x'.repeat(3e7))",
        "console.log();\nPromise.reject(new Error('x'.repeat(3e7)))",
        "console.log();\nsetTimeout(() => { throw new Error('x'.repeat(3e7)) })",
    ] {
        let told = ended(code, 60_000).await;
        let words = format!("Execution: Error: {}…", "x".repeat(4000));
        assert!(told.starts_with(&words), "{code}: {}", &told[..100]);
        let rest = &told[words.len()..];
        assert!(
            rest.contains("(line 2)\nIt had changed nothing."),
            "{code}: {rest}"
        );
    }
    let told = ended("throw { a: 'x'.repeat(3e7) }", 60_000).await;
    assert!(told.len() < 4100, "{code} bytes", code = told.len());
}

#[tokio::test]
async fn file_calls_are_counted() {
    let code = format!(
        "for (let n = 0; n < {MAX_HOST_CALLS}; n++) await rtcAgent.fs.stat('/'); console.log('all');\nawait rtcAgent.fs.stat('/')"
    );
    insta::assert_snapshot!(ended(&code, 600_000).await, @"
    Execution: the script made more than 10000 calls of rtcAgent.fs and was ended (its last call was on line 2)
    It had changed nothing.
    The console until then:
    all
    ");
    let at_once = "const all = []; for (let n = 0; n < 20000; n++) all.push(rtcAgent.fs.stat('/'));\nawait Promise.all(all)";
    insta::assert_snapshot!(ended(at_once, 600_000).await, @"
    Execution: the script made more than 10000 calls of rtcAgent.fs and was ended (its last call was on line 1)
    It had changed nothing.
    ");
}

/// What is on its way is outside of the memory that the engine counts.
#[tokio::test]
async fn calls_that_nothing_waits_for_are_bounded() {
    let code = "const big = 'x'.repeat(1 << 20);
for (let n = 0; n < 200; n++) rtcAgent.fs.write('/big', big, { mode: 'append' });
while (true) {}";
    let told = ended(code, 60_000).await;
    let expected = "Execution: the script left more than 64 MB of its calls of rtcAgent.fs waiting and was ended; await them \
                    one after the other (its last call was on line 2)\nIt had ";
    assert!(told.starts_with(expected), "{told}");
    // One after the other, the same is no trouble.
    let code = "const big = 'x'.repeat(1 << 20);
for (let n = 0; n < 100; n++) await rtcAgent.fs.stat('/' + big).catch(() => 0);
'done'";
    assert_eq!(ended(code, 60_000).await, "result: done");
}

/// A value takes far more memory than its text.
#[tokio::test]
async fn the_values_of_the_arguments_of_a_call_are_bounded() {
    let code = "const many = new Array(100000).fill(0);
try { await rtcAgent.fs.grep('x', { many }) } catch (error) { console.log(error.message) }
'goes on'";
    insta::assert_snapshot!(ended(code, 60_000).await, @r#"
    result: goes on
    logs: ["the arguments have more than 99900 values; put data into one text"]
    "#);
}

#[tokio::test]
async fn arguments_that_are_nested_too_deep_are_an_error_of_their_call() {
    let code = |depth: usize| {
        format!(
            "let deep = 1; for (let n = 0; n < {depth}; n++) deep = [deep];
try {{ await rtcAgent.fs.grep('x', {{ a: deep }}) }} catch (error) {{ console.log(error.message) }}
'goes on'"
        )
    };
    insta::assert_snapshot!(ended(&code(100), 60_000).await, @r#"
    result: goes on
    logs: ["the arguments are nested more than 100 deep"]
    "#);
    let told = ended(&code(99), 60_000).await;
    assert!(told.contains("unknown field"), "{told}");
    let told = ended(&code(1000), 60_000).await;
    assert!(told.starts_with("result: goes on"), "{told}");
    let mut deep = json!(1);
    for _ in 0..100 {
        deep = json!([deep]);
    }
    let place = place(&[]);
    let args = |deep| json!({"title": "t", "code": "typeof params.a", "params": {"a": deep}});
    assert_eq!(place.text(args(deep.clone())).await, "result: object");
    insta::assert_snapshot!(place.text(args(json!([deep]))).await, @"InvalidArguments: `params` is nested more than 100 deep; put data into files");
}

#[tokio::test]
async fn what_is_too_much_is_refused_before_it_runs() {
    let place = place(&[]);
    let long = "1;".repeat(5 << 20);
    assert!(long.len() > MAX_CODE_BYTES);
    for args in [
        json!({"title": "long", "code": long}),
        json!({"title": "", "code": "1"}),
        json!({"title": "none"}),
        json!({"title": "t", "code": "1", "timeout": 600_001}),
        json!({"title": "t", "code": "1", "timeout": 0}),
        json!({"title": "t", "action": "run"}),
        json!({"title": "t", "action": "run", "name": "../x"}),
        json!({"title": "t", "action": "save", "code": "1"}),
        json!({"title": "t", "action": "fly", "code": "1"}),
        json!({"code": "1"}),
    ] {
        let error = place.call(args).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::InvalidArguments, "{error}");
    }
    // The longest that runs does run.
    let longest = " ".repeat(MAX_CODE_BYTES - 1) + "7";
    assert_eq!(
        place.text(json!({"title": "t", "code": longest})).await,
        "result: 7"
    );
}

/// Its worker gets no time to end: it is killed, and what it wrote is still told.
#[tokio::test]
async fn a_worker_that_does_not_stop_is_killed_and_another_one_takes_its_place() {
    let place = place_with_grace(&[], Duration::ZERO);
    let mut told = Vec::new();
    for _ in 0..3 {
        let args = json!({"title": "t", "code": "console.log('begun');\nwhile (true) {}", "timeout": 500});
        told.push(place.text(args).await);
        let next = place.text(json!({"title": "next", "code": "1 + 1"})).await;
        assert_eq!(next, "result: 2");
    }
    told.dedup();
    insta::assert_snapshot!(told.join("\n---\n"), @"
    Timeout: the script ran longer than 500 ms and was ended (its last call was on line 1)
    It had changed nothing.
    The console until then:
    begun
    ");
    assert_eq!(STOP_GRACE, Duration::from_millis(10));
}

#[tokio::test]
async fn a_stopped_script_says_what_it_has_changed() {
    for (code, changed) in [
        ("console.log('here'); while (true) {}", false),
        (
            "await rtcAgent.fs.write('/a', '1'); console.log('here'); await rtcAgent.system.delay(60000)",
            true,
        ),
    ] {
        let place = place(&[]);
        let cancel = place.context.cancel.clone();
        let args = json!({"title": "t", "code": code});
        let error = place.call_telling(args, |_| cancel.cancel()).await.unwrap_err();
        let kind = if changed {
            ErrorKind::Execution
        } else {
            ErrorKind::Cancelled
        };
        assert_eq!(
            (&error.kind, content(&place.folder, "a").is_some()),
            (&kind, changed),
            "{error}"
        );
        if changed {
            insta::assert_snapshot!(error, @"
            the script was stopped (its last call was on line 1)
            It had already changed `/a`.
            The console until then:
            here
            ");
        }
    }
}

#[tokio::test]
async fn nothing_of_an_ended_script_runs_on() {
    let place = place(&[("n", "")]);
    let code = "await rtcAgent.fs.read('/n');\nfor (let n = 0; ; n++) { rtcAgent.fs.write('/n', `${n}`); await null; if (n % 50 == 0) await rtcAgent.system.delay(1) }";
    let error = place
        .call(json!({"title": "t", "code": code, "timeout": 400}))
        .await
        .unwrap_err();
    assert_eq!(error.kind, ErrorKind::Timeout, "{error}");
    let left = content(&place.folder, "n").unwrap();
    // Anything that was still on its way would have come before this script's own calls.
    for _ in 0..20 {
        place
            .call(json!({"title": "t", "code": "rtcAgent.fs.ls()"}))
            .await
            .unwrap();
    }
    assert_eq!(content(&place.folder, "n").unwrap(), left);
    assert!(error.message.contains("It had already changed `/n`."), "{error}");
}
