//! What a lane can be told, and what a step of it is.

use rtc_model::{ModelId, Reply};
use rtc_tool::{Kind, Subject, ToolError};
use rtc_types::{
    ApprovalDecision, ClientId, ContentData, DeviceId, ErrorCategory, Message, MessageId, Mode, Preview,
    ProjectId, RtcId, Rule, ScenarioRef, Session, SessionId, Timestamp, TodoItem, ToolCallId, TurnId,
    UpdateItem, UserId, UserMessage,
};
use serde_json::Value;
use uuid::Uuid;

use crate::state::SessionState;
use crate::stored::{Origin, StoredMessage, StoredRtc, StoredSession, StoredTurn, TurnContext};

/// A change of a session.
#[derive(Debug, Clone)]
pub enum Command {
    /// The user says something. The first one makes the session.
    Send(Send),
    /// Begin a turn with all waiting messages.
    Begin {
        /// What its requests consist of besides the conversation.
        context: Box<TurnContext>,
    },
    /// There is nothing that a turn could begin with: it takes the waiting messages and has failed.
    CannotBegin {
        /// What happened and what to do.
        message: String,
    },
    /// The model began to write.
    StreamStarted {
        /// The turn it answers.
        turn: TurnId,
        /// Whether it thinks or speaks.
        thinking: bool,
    },
    /// What the model has written so far; provisional.
    Spill {
        /// The message being written.
        message: MessageId,
        /// All of it.
        text: String,
    },
    /// The model's reply is whole.
    Replied {
        /// The turn it answers.
        turn: TurnId,
        /// Who replied.
        model: ModelId,
        /// The reply.
        reply: Box<Reply>,
        /// One for each call of the reply, in order.
        calls: Vec<PlannedCall>,
    },
    /// A reply broke off in the middle and is asked for again.
    ReplyBrokeOff {
        /// The turn that it answered.
        turn: TurnId,
    },
    /// The model gave no reply.
    ModelFailed {
        /// The turn.
        turn: TurnId,
        /// What kind of fault.
        category: ErrorCategory,
        /// What happened and what to do.
        message: String,
        /// Whether trying again may help.
        retryable: bool,
    },
    /// The user decided on a call.
    Approve {
        /// The call.
        rtc: RtcId,
        /// What was answered.
        decision: ApprovalDecision,
        /// The user's words.
        reason: Option<String>,
        /// Where.
        device: DeviceId,
    },
    /// An executor takes a call.
    Claim {
        /// The call.
        rtc: RtcId,
        /// Which start of it.
        attempt: u32,
        /// What the tool must have made durable before its effect, and the digest of its arguments.
        mark: Option<(Value, String)>,
    },
    /// A call takes long enough to be shown as running.
    Executing {
        /// The call.
        rtc: RtcId,
    },
    /// A call has ended.
    Finish {
        /// The call.
        rtc: RtcId,
        /// Which start of it.
        attempt: u32,
        /// How.
        outcome: Outcome,
    },
    /// A client hands in how a call ended that it ran, or that the user answers.
    HandIn {
        /// The call.
        rtc: RtcId,
        /// Which start of it.
        attempt: u32,
        /// How.
        outcome: Outcome,
        /// Where; nothing: in this program itself.
        by: Option<DeviceId>,
    },
    /// A call was started, its process died, and what became of it cannot be said.
    OutcomeUnknown {
        /// The call.
        rtc: RtcId,
        /// What can be said.
        evidence: String,
    },
    /// The user decided on a call whose outcome is unknown.
    Resolve {
        /// The call.
        rtc: RtcId,
        /// What.
        decision: Resolution,
    },
    /// Stop what goes on.
    Stop,
    /// The running call had its time to end.
    StopDeadline {
        /// The call.
        rtc: RtcId,
    },
    /// Ask the user about a call that needs it now and did not when it was made.
    AskFor {
        /// The call.
        rtc: RtcId,
        /// What the approval shows.
        preview: Option<Preview>,
    },
    /// Ask differently from now on.
    SetMode(Mode),
    /// Take no messages any more, and stop what goes on.
    Close,
    /// Take messages again.
    Open,
    /// Name or delete the session.
    Change {
        /// Its new title.
        title: Option<String>,
        /// When it was deleted.
        deleted_at: Option<Timestamp>,
    },
    /// Begin as a copy of another session.
    Fork(Box<Fork>),
    /// Let later requests contain nothing of what was said so far.
    ClearHistory,
    /// An executor elsewhere takes a call.
    Lease {
        /// The call.
        rtc: RtcId,
        /// Its connection.
        holder: Uuid,
    },
    /// It still runs it.
    Renew {
        /// The call.
        rtc: RtcId,
        /// Its connection by now.
        holder: Uuid,
        /// Which start of it, if that is said: what another connection than the one that claimed it has to know.
        attempt: Option<u32>,
    },
    /// Time has passed for whoever has claimed a call.
    LeaseTick {
        /// The call.
        rtc: RtcId,
        /// Which start of it.
        attempt: u32,
    },
    /// The device of the session has been told of a call.
    Sent {
        /// The call.
        rtc: RtcId,
        /// Whether this program runs it. Then it is not worth a commit unless the call waits for the user anyway, and joins
        /// the next one.
        runs_here: bool,
    },
    /// Go on with whatever was going on when the process ended.
    Recover,
}

/// A message of the user.
#[derive(Debug, Clone)]
pub struct Send {
    /// The id for it, so that sending twice is sending once.
    pub client_id: ClientId,
    /// What it says. It may be empty where scenarios say something.
    pub text: String,
    /// The scenarios that come with it.
    pub scenarios: Vec<ScenarioRef>,
    /// For the first message of a session.
    pub new_session: NewSession,
}

impl Send {
    /// What is stored of it.
    pub(crate) fn content(&self) -> ContentData {
        ContentData::from(UserMessage {
            text: self.text.clone(),
            files: Vec::new(),
            scenarios: self.scenarios.clone(),
        })
    }
}

/// What a new session is made of.
#[derive(Debug, Clone)]
pub struct NewSession {
    /// Its id.
    pub id: SessionId,
    /// The client's id of it.
    pub client_id: ClientId,
    /// Its owner.
    pub user: UserId,
    /// The device that runs its calls.
    pub device: DeviceId,
    /// Its folder.
    pub project: Option<ProjectId>,
    /// Its mode.
    pub mode: Mode,
    /// The instructions that the client gives it.
    pub agent_prompt: Option<String>,
    /// The session that begins it; `None`: a person does.
    pub parent: Option<Parent>,
}

/// The session that begins another one, and its tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parent {
    /// The session.
    pub session: SessionId,
    /// The client's id of it.
    pub client_id: ClientId,
    /// The session at the top of its tree; it may be that itself.
    pub root: SessionId,
    /// The client's id of that.
    pub root_client_id: ClientId,
    /// The message that begins the other one.
    pub message: Option<MessageId>,
}

impl Parent {
    /// This session, by one of its messages.
    pub fn of(session: &Session, message: Option<MessageId>) -> Self {
        Self {
            session: session.id,
            client_id: session.client_id.clone(),
            root: session.tree(),
            root_client_id: session
                .root_client_session_id
                .as_ref()
                .unwrap_or(&session.client_id)
                .clone(),
            message,
        }
    }
}

/// What a session is copied from.
#[derive(Debug, Clone)]
pub struct Fork {
    /// The message that is written anew, and the session that it makes.
    pub send: Send,
    /// Where from.
    pub origin: Origin,
    /// The title of the new session.
    pub title: String,
    /// What comes before the message.
    pub history: History,
}

/// A conversation up to one of its messages.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct History {
    /// Its turns.
    pub turns: Vec<StoredTurn>,
    /// Its messages, in the order in which a model reads them; those without a turn of their own last.
    pub messages: Vec<StoredMessage>,
    /// How many of them, from the first, are in no request any more.
    pub cleared: usize,
}

/// A call of a reply, with what is known of it before anything is decided.
#[derive(Debug, Clone)]
pub struct PlannedCall {
    /// The model's id of it.
    pub id: ToolCallId,
    /// The tool asked for.
    pub tool_name: String,
    /// The arguments as written.
    pub input: String,
    /// What it comes to.
    pub plan: Plan,
}

/// What a call of a reply comes to.
#[derive(Debug, Clone)]
pub enum Plan {
    /// There is no such tool, or its arguments are not possible.
    Invalid(ToolError),
    /// The engine's own `todoWrite`.
    Todo(Vec<TodoItem>),
    /// It can run.
    Run {
        /// Who runs it.
        kind: Kind,
        /// The checked arguments.
        parameters: Value,
        /// What it is about.
        subject: Subject,
        /// What an approval shows, where one may be needed.
        preview: Option<Preview>,
        /// Whether it was looked for what an approval shows; a tool may have nothing to show.
        looked: bool,
    },
}

/// How a call ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The result.
    pub result: Result<Value, ToolError>,
    /// What the session now knows of files.
    pub seen: Vec<(String, Value)>,
}

impl Outcome {
    /// An end of which nothing else is to be kept.
    pub fn of(result: Result<Value, ToolError>) -> Self {
        Self {
            result,
            seen: Vec::new(),
        }
    }

    /// An end with an error.
    pub fn failed(error: ToolError) -> Self {
        Self {
            result: Err(error),
            seen: Vec::new(),
        }
    }
}

/// What the user makes of a call whose outcome is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resolution {
    /// Run it again.
    Retry,
    /// It is done.
    Done,
    /// The model shall look.
    Tell,
}

/// What a step did, for whoever asked for it.
#[derive(Debug, Clone, PartialEq)]
pub enum Done {
    /// Nothing to tell.
    Ok,
    /// The message that was sent, now or before.
    Message(Box<Message>),
    /// The message that the model's text goes into.
    Stream(MessageId),
    /// The call may run.
    Claimed,
    /// The call may not run: it was refused, or waits for the user.
    NotClaimed,
    /// The call is its executor's, at least until then.
    Leased(Timestamp),
}

/// A step of a lane: the new state, one batch, and what is to be done after it is durable.
#[derive(Debug, Clone)]
pub struct Step {
    /// The state after the step.
    pub state: SessionState,
    /// What is written, all or nothing.
    pub writes: Vec<Write>,
    /// What the user's clients are told.
    pub items: Vec<UpdateItem>,
    /// Whether the step is only live text, which needs no flush.
    pub provisional: bool,
    /// What is done afterwards.
    pub effects: Vec<Effect>,
    /// What whoever asked is told.
    pub done: Done,
}

/// A record to write.
#[derive(Debug, Clone)]
pub enum Write {
    /// A session.
    Session(Box<StoredSession>),
    /// A turn.
    Turn(StoredTurn),
    /// A message.
    Message(StoredMessage),
    /// A call.
    Rtc(Box<StoredRtc>),
    /// What a turn's requests consist of.
    Context(TurnId, Box<TurnContext>),
    /// What the session knows of a file; `Null` forgets it.
    Seen(String, Value),
    /// A client's id of a message.
    ClientId(ClientId, MessageId),
    /// A rule of the user, beside those that the command carried.
    Rule(Box<Rule>),
    /// The user's stream begins anew: whoever follows it drops what it kept, and loads what there is.
    Epoch,
}

/// What a lane's driver does after a step is durable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Collect what a turn's requests consist of and begin the turn.
    GatherContext,
    /// Ask the model.
    AskModel(TurnId),
    /// Stop asking it.
    CancelModel,
    /// Let the executor look.
    WakeExecutor,
    /// Stop this call.
    CancelCall(RtcId),
    /// Tell the lane when this call, which is being stopped, has had its time.
    StopTimer(RtcId),
    /// Find out what an approval of this call shows, and ask for it.
    Preview(RtcId),
    /// Tell the lane when a tick has gone by for whoever claimed this start of the call.
    LeaseTimer(RtcId, u32),
}

/// What a command is applied with.
#[derive(Debug, Clone)]
pub struct Given {
    /// The user's rules that concern the session.
    pub rules: Vec<Rule>,
    /// There are rules that cannot be read: what they forbid is not known.
    pub rules_are_damaged: bool,
    /// Time and randomness.
    pub stamp: rtc_types::Stamp,
}

impl Given {
    /// When.
    pub fn now(&self) -> Timestamp {
        self.stamp.now
    }
}
