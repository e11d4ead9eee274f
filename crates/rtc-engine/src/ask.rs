//! Asking the model, outside of the lane: it streams, and tells the lane what came.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::{FutureExt, StreamExt};
use rtc_model::{AssistantBlock, Event, Model, Reply, Request, StopReason};
use rtc_tool::{Consent, Kind, Policy, ToolError, Verdict, decide};
use rtc_types::{Code, ErrorCategory, MessageId, Session, SessionId, TodoItem, ToolCallId, TurnId};
use serde_json::Value;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::command::{Command, Done, Plan, PlannedCall};
use crate::conversation::Conversation;
use crate::engine::{Inner, Live};
use crate::lane::LaneSender;
use crate::own_tools::TodoArgs;
use crate::stored::is_named_program;
use crate::{Error, prompt};

/// Live text is spilled to the store after this many bytes …
const SPILL_BYTES: usize = 4 * 1024;
/// … or after this long.
const SPILL_EVERY: Duration = Duration::from_secs(1);
/// How many calls of one reply are run; the model is told of the rest.
const MOST_CALLS: usize = 200;

/// The messages that are being written.
pub(crate) type LiveText = Arc<Mutex<Vec<Written>>>;

/// A message as far as it is written.
#[derive(Debug, Clone)]
pub(crate) struct Written {
    pub(crate) message: MessageId,
    pub(crate) thinking: bool,
    pub(crate) text: String,
    /// Of how many pieces.
    pub(crate) pieces: u64,
}

pub(crate) struct Ask {
    pub(crate) inner: Arc<Inner>,
    pub(crate) lane: LaneSender,
    pub(crate) session: SessionId,
    pub(crate) turn: TurnId,
    pub(crate) conversation: Arc<Conversation>,
    pub(crate) cancel: CancellationToken,
    pub(crate) text: LiveText,
}

impl Ask {
    pub(crate) async fn run(self) {
        let asked = AssertUnwindSafe(self.ask())
            .catch_unwind()
            .await
            .unwrap_or_else(|_| {
                let message = "a fault of the program kept the model from being asked".to_owned();
                Err(Failed::Engine(Error::refused(Code::Internal, message)))
            });
        let command = match asked {
            Ok(command) => command,
            Err(Failed::Model(error)) => self.failed(category(&error), error.retryable(), error.to_string()),
            Err(Failed::Engine(error)) => self.failed(ErrorCategory::System, false, error.to_string()),
        };
        // Whoever cancelled knows what became of the turn.
        let delivered = tokio::select! {
            biased;
            () = self.cancel.cancelled() => return,
            delivered = self.lane.insist(&self.inner, self.session, command) => delivered,
        };
        if let Err(error) = delivered {
            // A reply that the store does not take would leave the turn without an end.
            let command = self.failed(ErrorCategory::System, false, error.to_string());
            let _ = self.lane.insist(&self.inner, self.session, command).await;
        }
    }

    fn failed(&self, category: ErrorCategory, retryable: bool, message: String) -> Command {
        Command::ModelFailed {
            turn: self.turn,
            category,
            message,
            retryable,
        }
    }

    async fn ask(&self) -> Result<Command, Failed> {
        let records = &self.inner.records;
        let context = self.conversation.context(records).await?;
        let request = prompt::request(context, &self.conversation.messages(records).await?);
        let model = self.inner.host.model(&context.model).map_err(Failed::Model)?;
        if !self.inner.awaited.begins(self.session, self.turn) {
            let told = "the store failed each time that the model replied, so it is not asked again";
            return Err(Error::refused(Code::Internal, told).into());
        }
        let reply = self.reply(&*model, &request).await?;
        let calls = self.plan(&reply).await?;
        Ok(Command::Replied {
            turn: self.turn,
            model: context.model.clone(),
            reply: Box::new(reply),
            calls,
        })
    }

    /// Asks until there is a whole reply. The model itself asks again as long as nothing of a reply has come; what broke
    /// off later is closed, and asked for again from here. No call has run of it: only a whole reply has calls.
    async fn reply(&self, model: &dyn Model, request: &Request) -> Result<Reply, Failed> {
        let mut attempt = 0;
        loop {
            let mut writing = Writing::default();
            let error = match self.read(model, request, &mut writing).await {
                Err(Failed::Model(error)) if writing.has_begun && error.retryable() => error,
                ended => return ended,
            };
            let Some(wait) = rtc_model::wait_after(attempt, self.inner.clock.entropy()) else {
                return Err(Failed::Model(error));
            };
            attempt += 1;
            let broke_off = Command::ReplyBrokeOff { turn: self.turn };
            let closed = self.lane.insist(&self.inner, self.session, broke_off);
            match self.cancel.run_until_cancelled(closed).await {
                Some(closed) => _ = closed?,
                None => return Err(Failed::Model(rtc_model::Error::Cancelled)),
            }
            self.lock().clear();
            tracing::info!(code = error.code(), ?wait, "the model is asked again");
            let waited = self.cancel.run_until_cancelled(tokio::time::sleep(wait)).await;
            if waited.is_none() {
                return Err(Failed::Model(rtc_model::Error::Cancelled));
            }
        }
    }

    async fn read(
        &self,
        model: &dyn Model,
        request: &Request,
        writing: &mut Writing,
    ) -> Result<Reply, Failed> {
        // A stop may have come in the same moment as the end of a wait.
        if self.cancel.is_cancelled() {
            return Err(Failed::Model(rtc_model::Error::Cancelled));
        }
        let mut stream = model
            .stream(request, self.cancel.clone())
            .await
            .map_err(Failed::Model)?;
        while let Some(event) = stream.next().await {
            let (thinking, delta) = match event.map_err(Failed::Model)? {
                Event::Thinking { delta } => (true, delta),
                Event::Text { delta } => (false, delta),
                Event::Calling { tool } => {
                    writing.has_begun = true;
                    self.inner.host.expect(self.session, &tool);
                    continue;
                }
                Event::Done(reply) => return Ok(reply),
            };
            writing.has_begun = true;
            self.write(writing, thinking, &delta).await?;
        }
        Err(Failed::Model(rtc_model::Error::Stream {
            reason: "it ended in the middle".into(),
        }))
    }

    async fn write(&self, writing: &mut Writing, thinking: bool, delta: &str) -> Result<(), Failed> {
        if writing.is_hidden {
            return Ok(());
        }
        if writing.open.as_ref().is_none_or(|open| open.thinking != thinking) {
            let started = Command::StreamStarted {
                turn: self.turn,
                thinking,
            };
            let message = match self.lane.tell(started).await {
                Ok(Done::Stream(message)) => message,
                // Without room no more of it is shown while it comes; the reply itself is what counts.
                Err(Error::Store(error)) if error.nothing_applied() => {
                    writing.is_hidden = true;
                    return Ok(());
                }
                other => return other.map(|_| ()).map_err(Failed::Engine),
            };
            self.lock().push(Written {
                message,
                thinking,
                text: String::new(),
                pieces: 0,
            });
            writing.open = Some(OpenMessage {
                message,
                thinking,
                unspilled: 0,
                spilled_at: Instant::now(),
            });
        }
        let Some(open) = &mut writing.open else {
            return Ok(());
        };
        let (spill, sequence) = {
            let mut all = self.lock();
            let Some(written) = all.last_mut() else {
                return Ok(());
            };
            written.text.push_str(delta);
            written.pieces += 1;
            open.unspilled += delta.len();
            let due = open.unspilled >= SPILL_BYTES || open.spilled_at.elapsed() >= SPILL_EVERY;
            (due.then(|| written.text.clone()), written.pieces)
        };
        self.inner.tell_live(Live::Text {
            session: self.session,
            message: open.message,
            thinking,
            delta: delta.to_owned(),
            sequence,
        });
        if let Some(text) = spill {
            open.unspilled = 0;
            open.spilled_at = Instant::now();
            match self
                .lane
                .tell(Command::Spill {
                    message: open.message,
                    text,
                })
                .await
            {
                // Provisional: the reply itself is what counts.
                Err(Error::Store(error)) if error.nothing_applied() => {}
                told => _ = told?,
            }
        }
        Ok(())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Written>> {
        self.text.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Raw calls become checked ones before anything is decided on them.
    async fn plan(&self, reply: &Reply) -> Result<Vec<PlannedCall>, Failed> {
        let state = self.lane.inspect().await?;
        let Some(session) = state.session else {
            return Ok(Vec::new());
        };
        let policy = self.inner.policy(&session).await?;
        let last = reply.blocks.len().saturating_sub(1);
        let mut planned: Vec<PlannedCall> = Vec::new();
        for (at, block) in reply.blocks.iter().enumerate() {
            let AssistantBlock::ToolCall { id, name, arguments } = block else {
                continue;
            };
            let cut = at == last && reply.stop == StopReason::MaxTokens;
            let plan = if planned.len() >= MOST_CALLS {
                Plan::Invalid(ToolError::invalid(format!(
                    "a reply may have at most {MOST_CALLS} calls; this one was not run"
                )))
            } else if cut {
                Plan::Invalid(ToolError::invalid(
                    "the reply reached the token limit in the middle of this call, so it was not run; make it shorter",
                ))
            } else {
                self.plan_one(&session.entity, &policy, name, arguments)
                    .await
                    .unwrap_or_else(Plan::Invalid)
            };
            let taken = |id: &ToolCallId| planned.iter().any(|other| other.id == *id);
            let id = ToolCallId::new(id.clone())
                .ok()
                .filter(|id| !taken(id))
                .unwrap_or_else(|| {
                    let made = self.inner.clock.stamp().mint().uuid();
                    ToolCallId::new(format!("call_{made}")).expect("a short text is a call id")
                });
            planned.push(PlannedCall {
                id,
                tool_name: name.clone(),
                input: arguments.clone(),
                plan,
            });
        }
        Ok(planned)
    }

    async fn plan_one(
        &self,
        session: &Session,
        policy: &Policy,
        name: &str,
        arguments: &str,
    ) -> Result<Plan, ToolError> {
        let tools = self.inner.host.tools();
        let Some(tool) = tools.get(name) else {
            let known: Vec<_> = tools.iter().map(|tool| tool.describe().name.as_str()).collect();
            return Err(ToolError::not_found(format!(
                "there is no tool {name}; there are {}",
                known.join(", ")
            )));
        };
        let parsed: Value = if arguments.trim().is_empty() {
            Value::Null
        } else {
            serde_json::from_str(arguments)
                .map_err(|error| ToolError::invalid(format!("the arguments are not valid JSON ({error})")))?
        };
        let parameters = tool.check(parsed)?;
        let mut subject = tool.subject(&parameters)?;
        if tool.kind() == Kind::Engine {
            let args: TodoArgs =
                serde_json::from_value(parameters).map_err(|error| ToolError::invalid(error.to_string()))?;
            return Ok(Plan::Todo(Vec::<TodoItem>::from(args)));
        }
        // A program that is only named is frozen now, asked about or not, and known by what it is now.
        let looked = match decide(policy, name, tool.kind(), &subject, Consent::None) {
            Verdict::Ask(_) => true,
            Verdict::Allow => is_named_program(&subject),
            Verdict::Deny(_) => false,
        };
        let preview = if looked {
            self.inner.preview(session, tool, &parameters).await
        } else {
            None
        };
        if subject.digest.is_none() {
            let program = preview.as_ref().and_then(|preview| preview.program.as_ref());
            subject.digest = program.map(|program| program.digest.clone());
        }
        Ok(Plan::Run {
            kind: tool.kind(),
            parameters,
            subject,
            preview,
            looked,
        })
    }
}

/// What is shown of a reply while it comes.
#[derive(Default)]
struct Writing {
    has_begun: bool,
    open: Option<OpenMessage>,
    is_hidden: bool,
}

struct OpenMessage {
    message: MessageId,
    thinking: bool,
    unspilled: usize,
    spilled_at: Instant,
}

enum Failed {
    Model(rtc_model::Error),
    Engine(Error),
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self::Engine(error)
    }
}

fn category(error: &rtc_model::Error) -> ErrorCategory {
    match error {
        rtc_model::Error::Unreachable { .. } => ErrorCategory::Network,
        rtc_model::Error::Unauthorized { .. } => ErrorCategory::Permission,
        rtc_model::Error::ContextTooLong => ErrorCategory::Context,
        rtc_model::Error::Stream { .. } => ErrorCategory::Stream,
        _ => ErrorCategory::Api,
    }
}
