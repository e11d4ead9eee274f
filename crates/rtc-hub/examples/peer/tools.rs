//! Tools that do everything that a tool can do to its caller.

use std::time::Duration;

use rtc_hub::{Deadline, Host};
use rtc_tool::{
    CallContext, Capabilities, ErrorKind, Prepared, Progress, ProgressSender, Registry, Subject, Tool,
    ToolError, handle,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

/// What a tool of the tests does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Does {
    /// Gives its arguments back.
    Echo,
    /// Tells `count` pieces of progress first.
    Count,
    /// Fails, with details.
    Fail,
    Panic,
    /// Ends when it is told to.
    UntilCancelled,
    /// Never ends.
    Forever,
    /// Ends itself at its deadline.
    UntilDeadline,
    /// Asks its caller `count` times.
    Ask,
    /// Asks all at once.
    AskAtOnce,
    /// Gives a result of `count` bytes.
    Big,
    /// Tells progress of `count` bytes.
    BigProgress,
    /// Sends progress although it said that it would not.
    Liar,
    /// The names of its environment variables.
    Environment,
    /// Kills its process.
    Die,
    /// Prints something.
    Print,
    /// Locks the file `text`, asks `held` once it has it, and then keeps its whole process busy for ever.
    Hold,
}

const ALL: &[(&str, Does)] = &[
    ("echo", Does::Echo),
    ("count", Does::Count),
    ("fail", Does::Fail),
    ("panic", Does::Panic),
    ("until_cancelled", Does::UntilCancelled),
    ("forever", Does::Forever),
    ("until_deadline", Does::UntilDeadline),
    ("ask", Does::Ask),
    ("ask_at_once", Does::AskAtOnce),
    ("big", Does::Big),
    ("big_progress", Does::BigProgress),
    ("liar", Does::Liar),
    ("environment", Does::Environment),
    ("die", Does::Die),
    ("print", Does::Print),
    ("hold", Does::Hold),
];

pub(crate) fn registry() -> Registry {
    let mut registry = Registry::default();
    for (name, does) in ALL {
        registry.register(handle(TestTool { name, does: *does }));
    }
    registry
}

struct TestTool {
    name: &'static str,
    does: Does,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    #[serde(default)]
    text: String,
    #[serde(default)]
    count: u32,
}

impl Tool for TestTool {
    type Args = Args;
    type Output = Value;

    fn name(&self) -> &str {
        self.name
    }

    fn description(&self) -> String {
        "a tool of the tests".to_owned()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            streaming: self.does != Does::Liar,
            supports_cancel: true,
            timeout: None,
            max_concurrency: None,
        }
    }

    fn subject(&self, _args: &Args) -> Result<Subject, ToolError> {
        Ok(Subject::read("/"))
    }

    async fn execute(
        &self,
        context: CallContext,
        args: Args,
        _prepared: Option<Prepared>,
        progress: ProgressSender,
    ) -> Result<Value, ToolError> {
        let Args { text, count } = args;
        let told = |text: String| Progress::Text { text };
        let missing = || ToolError::execution("there is nobody to ask");
        match self.does {
            Does::Echo => return Ok(json!(text)),
            Does::Count => {
                for number in 0..count {
                    progress.send(told(format!("{text}{number}"))).await;
                }
            }
            Does::Fail => {
                return Err(ToolError {
                    details: Some(json!({"count": count})),
                    ..ToolError::new(ErrorKind::Other("out_of_tea".into()), text)
                });
            }
            Does::Panic => panic!("on purpose"),
            Does::UntilCancelled => {
                progress.send(told("waits".into())).await;
                context.cancel.cancelled().await;
                return Err(ToolError::new(ErrorKind::Cancelled, "ended in time"));
            }
            Does::Forever => std::future::pending().await,
            Does::UntilDeadline => {
                let deadline = context.extensions.get::<Deadline>();
                let Some(deadline) = deadline else {
                    return Ok(json!("no deadline"));
                };
                tokio::time::sleep_until(deadline.0).await;
                return Err(ToolError::new(ErrorKind::Timeout, "ended by itself"));
            }
            Does::Ask => {
                let host = context.extensions.get::<Host>().ok_or_else(missing)?;
                let mut answers = Vec::new();
                for number in 0..count {
                    match host.call(&text, json!({"number": number})).await {
                        Ok(answer) => answers.push(answer),
                        Err(error) => answers.push(json!(error)),
                    }
                }
                return Ok(json!(answers));
            }
            Does::AskAtOnce => {
                let host = context.extensions.get::<Host>().ok_or_else(missing)?;
                let asked = (0..count).map(|number| host.call(&text, json!({"number": number})));
                let answers: Vec<_> = futures::future::join_all(asked).await;
                let answered = answers.iter().filter(|answer| answer.is_ok()).count();
                return Ok(json!(answered));
            }
            Does::Big => return Ok(json!("x".repeat(count as usize))),
            Does::BigProgress => progress.send(told("x".repeat(count as usize))).await,
            Does::Liar => {
                progress.send(told("psst".into())).await;
                tokio::time::sleep(Duration::from_secs(60)).await;
            }
            Does::Environment => {
                let names: Vec<String> = std::env::vars_os()
                    .map(|(name, _)| name.to_string_lossy().into_owned())
                    .collect();
                return Ok(json!(names));
            }
            Does::Die => std::process::abort(),
            #[expect(
                clippy::disallowed_macros,
                reason = "what is printed must not get between the frames"
            )]
            Does::Print => println!("{text}"),
            Does::Hold => {
                let file = held(&text).map_err(|error| ToolError::execution(error.to_string()))?;
                let host = context.extensions.get::<Host>().ok_or_else(missing)?;
                host.call("held", Value::Null).await?;
                loop {
                    std::thread::park();
                    file.metadata()
                        .map_err(|error| ToolError::execution(error.to_string()))?;
                }
            }
        }
        Ok(json!("done"))
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a lock shows to other processes whether this one lives"
)]
fn held(path: &str) -> std::io::Result<std::fs::File> {
    let file = std::fs::File::create(path)?;
    file.lock()?;
    Ok(file)
}
