use std::time::Duration;

use proptest::prelude::*;
use rtc_types::{RtcId, SessionId};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::*;
use crate::{Access, Extensions, NoTurns, Permit, Progress, ProgressSender, Seen, Tool, handle, terminal_of};

#[derive(Deserialize, JsonSchema)]
struct Args {
    does: String,
}

struct Fake(Capabilities);

impl Tool for Fake {
    type Args = Args;
    type Output = Value;

    fn name(&self) -> &str {
        "fake"
    }

    fn description(&self) -> String {
        "For tests.".into()
    }

    fn capabilities(&self) -> Capabilities {
        self.0.clone()
    }

    fn subject(&self, _args: &Args) -> Result<Subject, ToolError> {
        Ok(Subject::read("/"))
    }

    async fn preview(&self, _: &CallContext, args: &Args) -> Result<Option<Preview>, ToolError> {
        at_first(args).await?;
        Ok(None)
    }

    async fn prepare(&self, _: &CallContext, args: &Args) -> Result<Option<Prepared>, ToolError> {
        if args.does == "block at first" {
            block().await?;
        }
        at_first(args).await?;
        Ok(None)
    }

    async fn recover(&self, _: &CallContext, args: &Args, _: &Value) -> Result<Recovery, ToolError> {
        at_first(args).await?;
        Ok(Recovery::NotApplied)
    }

    async fn execute(
        &self,
        context: CallContext,
        args: Args,
        _prepared: Option<Prepared>,
        progress: ProgressSender,
    ) -> Result<Value, ToolError> {
        match args.does.as_str() {
            "block" => block().await?,
            "panic" => panic!("as the test wants it"),
            "hang" => std::future::pending::<()>().await,
            "obey" => {
                context.cancel.cancelled().await;
                return Err(ToolError::execution("half of it was done"));
            }
            "give up" => {
                context.cancel.cancelled().await;
                return Err(ToolError::cancelled());
            }
            "fail" => return Err(ToolError::not_found("no such thing")),
            "progress" => {
                for text in ["one", "two", "three"] {
                    progress.send(Progress::Text { text: text.into() }).await;
                }
            }
            _ => {}
        }
        Ok(json!("done"))
    }
}

/// Before a call runs.
async fn at_first(args: &Args) -> Result<(), ToolError> {
    match args.does.as_str() {
        "hang at first" => std::future::pending().await,
        "panic at first" => panic!("as the test wants it"),
        _ => Ok(()),
    }
}

/// Blocks a thread, as a drive does that does not answer, until the call is let go.
async fn block() -> Result<(), ToolError> {
    let cancel = CancellationToken::new();
    let _abandoned = cancel.clone().drop_guard();
    let told = tokio::task::spawn_blocking(move || {
        while !cancel.is_cancelled() {
            std::thread::yield_now();
        }
    });
    told.await
        .map_err(|error| ToolError::execution(error.to_string()))
}

struct Everything;

impl Permit for Everything {
    fn check(&self, _access: Access, _path: &str) -> Result<(), ToolError> {
        Ok(())
    }
}

#[async_trait]
impl Seen for Everything {
    async fn get(&self, _path: &str) -> Result<Option<Value>, ToolError> {
        Ok(None)
    }

    fn note(&self, _path: &str, _known: Value) {}
}

fn context(cancel: &CancellationToken) -> CallContext {
    CallContext {
        session: SessionId::new(Uuid::nil()),
        rtc: RtcId::new(Uuid::nil()),
        attempt: 1,
        cancel: cancel.clone(),
        permit: Arc::new(Everything),
        seen: Arc::new(Everything),
        turns: Arc::new(NoTurns),
        extensions: Extensions::default(),
    }
}

fn call(capabilities: Capabilities, does: &str) -> (ToolStream, CancellationToken) {
    let cancel = CancellationToken::new();
    (
        handle(Fake(capabilities)).execute(context(&cancel), json!({ "does": does }), None),
        cancel,
    )
}

async fn items(stream: ToolStream) -> Vec<String> {
    let name = |item| match item {
        ToolStreamItem::Progress(Progress::Text { text }) => text,
        ToolStreamItem::Progress(other) => format!("{other:?}"),
        ToolStreamItem::Terminal(Ok(value)) => format!("ok {value}"),
        ToolStreamItem::Terminal(Err(error)) => format!("{:?} {error}", error.kind),
    };
    stream.map(name).collect().await
}

#[tokio::test(start_paused = true)]
async fn whatever_a_tool_does_its_call_ends_once() {
    let streaming = || Capabilities {
        streaming: true,
        ..Capabilities::default()
    };
    let limited = || Capabilities {
        timeout: Some(Duration::from_secs(5)),
        ..Capabilities::default()
    };
    for (capabilities, does, wanted) in [
        (Capabilities::default(), "finish", vec!["ok \"done\""]),
        (
            streaming(),
            "progress",
            vec!["one", "two", "three", "ok \"done\""],
        ),
        (
            Capabilities::default(),
            "progress",
            vec!["Execution the tool fake sent progress without saying that it would"],
        ),
        (Capabilities::default(), "fail", vec!["NotFound no such thing"]),
        (
            Capabilities::default(),
            "panic",
            vec!["Execution the tool fake broke down; this is a fault of the program, not of the call"],
        ),
        (limited(), "hang", vec!["Timeout it took longer than 5000 ms"]),
    ] {
        let (stream, _) = call(capabilities, does);
        assert_eq!(items(stream).await, wanted, "{does}");
    }
}

#[tokio::test(start_paused = true)]
async fn whatever_comes_before_a_call_runs_has_its_time_as_well() {
    let limited = || Capabilities {
        timeout: Some(Duration::from_secs(5)),
        ..Capabilities::default()
    };
    let too_long = "Timeout it took longer than 5000 ms";
    let broke = "Execution the tool fake broke down; this is a fault of the program, not of the call";
    for (does, wanted) in [("hang at first", too_long), ("panic at first", broke)] {
        let (tool, context, args) = (
            handle(Fake(limited())),
            context(&CancellationToken::new()),
            json!({ "does": does }),
        );
        let told = [
            tool.preview(&context, &args).await.map(|_| ()),
            tool.prepare(&context, &args).await.map(|_| ()),
            tool.recover(&context, &args, &Value::Null).await.map(|_| ()),
        ];
        for told in told {
            let error = told.unwrap_err();
            assert_eq!(format!("{:?} {error}", error.kind), wanted);
        }
    }
    // Where a tool has no limit, it is waited for.
    let tool = handle(Fake(Capabilities::default()));
    let (context, args) = (
        context(&CancellationToken::new()),
        json!({"does": "hang at first"}),
    );
    let prepared = tokio::time::timeout(Duration::from_secs(3_600), tool.prepare(&context, &args));
    assert!(prepared.await.is_err());
}

/// In real time: the clock of a test stands still while a thread is blocked.
#[tokio::test]
async fn a_thread_that_is_blocked_holds_nobody_up() {
    let limited = || Capabilities {
        timeout: Some(Duration::from_millis(20)),
        ..Capabilities::default()
    };
    let cancel = CancellationToken::new();
    let prepared = handle(Fake(limited()))
        .prepare(&context(&cancel), &json!({"does": "block at first"}))
        .await;
    assert_eq!(prepared.unwrap_err().kind, ErrorKind::Timeout);
    let (stream, cancel) = call(limited(), "block");
    assert_eq!(terminal_of(stream).await.unwrap_err().kind, ErrorKind::Timeout);
    assert!(cancel.is_cancelled());
}

/// It may still change something, so nobody goes on as if it were over.
#[tokio::test(start_paused = true)]
async fn a_change_that_takes_too_long_is_told_to_end_and_waited_for() {
    let change = || Capabilities {
        timeout: Some(Duration::from_secs(5)),
        supports_cancel: false,
        ..Capabilities::default()
    };
    for (does, wanted) in [
        ("obey", "Execution half of it was done"),
        ("give up", "Timeout it took longer than 5000 ms"),
    ] {
        let (stream, _) = call(change(), does);
        assert_eq!(items(stream).await, [wanted], "{does}");
    }
    let (stream, cancel) = call(change(), "hang");
    let ended = tokio::time::timeout(Duration::from_secs(3_600), terminal_of(stream)).await;
    assert!(ended.is_err() && cancel.is_cancelled());
}

#[tokio::test(start_paused = true)]
async fn cancelling_asks_first_and_then_lets_go() {
    let detached = || Capabilities {
        supports_cancel: false,
        ..Capabilities::default()
    };
    for (capabilities, does, wanted) in [
        (Capabilities::default(), "obey", "half of it was done"),
        (
            Capabilities::default(),
            "hang",
            "the call was cancelled before it changed anything",
        ),
        (detached(), "obey", "half of it was done"),
    ] {
        let (stream, cancel) = call(capabilities, does);
        cancel.cancel();
        assert_eq!(terminal_of(stream).await.unwrap_err().message, wanted, "{does}");
    }
    let (stream, cancel) = call(detached(), "hang");
    cancel.cancel();
    let ended = tokio::time::timeout(Duration::from_secs(3_600), terminal_of(stream)).await;
    assert!(
        ended.is_err(),
        "a tool that cannot be cancelled is not said to have been"
    );
}

#[tokio::test(start_paused = true)]
async fn no_more_calls_run_at_a_time_than_the_tool_allows() {
    let one = Capabilities {
        max_concurrency: Some(1),
        ..Capabilities::default()
    };
    let tool = handle(Fake(one));
    let cancel = CancellationToken::new();
    let first = tool.execute(context(&cancel), json!({"does": "obey"}), None);
    let second = tool.execute(
        context(&CancellationToken::new()),
        json!({"does": "finish"}),
        None,
    );
    let first = tokio::spawn(terminal_of(first));
    tokio::task::yield_now().await;
    let mut second = tokio::spawn(terminal_of(second));
    let early = tokio::time::timeout(Duration::from_secs(60), &mut second).await;
    assert!(early.is_err(), "it waits for the first");
    cancel.cancel();
    assert!(first.await.unwrap().is_err());
    assert_eq!(second.await.unwrap(), Ok(json!("done")));
}

#[test]
fn the_schema_has_no_references_and_arguments_are_checked_by_it() {
    let tool = handle(Fake(Capabilities::default()));
    let schema = tool.describe().input_schema.to_string();
    assert!(
        !schema.contains("$ref") && !schema.contains("$schema"),
        "{schema}"
    );
    assert_eq!(
        tool.check(json!({"does": 1})).unwrap_err().message,
        "`does` must be a string, got 1"
    );
}

proptest! {
    /// Checking never panics, and what it lets through it lets through unchanged.
    #[test]
    fn checked_arguments_are_a_fixed_point(text in "\\PC{0,30}", number in any::<i64>(), truth in any::<bool>()) {
        let tool = handle(Fake(Capabilities::default()));
        for value in [json!({"does": text}), json!({"does": number}), json!([truth]), json!(text), json!({"does": {"x": truth}})] {
            if let Ok(checked) = tool.check(value) {
                prop_assert_eq!(tool.check(checked.clone()).unwrap(), checked);
            }
        }
    }
}
