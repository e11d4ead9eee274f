//! What is on disk of an entity: the wire shape, and beside it what only the engine knows.

use rtc_model::{AssistantBlock, ModelId};
use rtc_tool::{Access, Kind, Subject};
use rtc_types::{
    ApprovalDecision, ApprovalState, MessageId, Mode, Preview, PreviewKind, Program, ProjectId, Rule,
    SessionId, SessionStatus, Timestamp, ToolCallId, TurnId,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::Error;

/// The version of what this crate writes.
const VERSION: u16 = 1;

/// An entity with the engine's private part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stored<E, P> {
    version: u16,
    /// As it is on the wire.
    pub entity: E,
    /// What no client sees.
    pub private: P,
}

impl<E: Serialize + DeserializeOwned, P: Serialize + DeserializeOwned> Stored<E, P> {
    /// Puts both together.
    pub fn new(entity: E, private: P) -> Self {
        Self {
            version: VERSION,
            entity,
            private,
        }
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        encode(self)
    }
}

pub(crate) fn encode(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("stored entities have string keys only")
}

pub(crate) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Error> {
    serde_json::from_slice(bytes).map_err(|error| Error::Unreadable(error.to_string()))
}

/// A session and its counters.
pub type StoredSession = Stored<rtc_types::Session, SessionPrivate>;
/// A turn and how far it is.
pub type StoredTurn = Stored<rtc_types::Turn, TurnPrivate>;
/// A message and its place in the prompt.
pub type StoredMessage = Stored<rtc_types::Message, MessagePrivate>;
/// A call and its mark.
pub type StoredRtc = Stored<rtc_types::Rtc, RtcPrivate>;

/// Whether a preview shows what a call would do, and not only why that cannot be shown.
pub(crate) fn shows(preview: &Preview) -> bool {
    preview.kind != PreviewKind::Text || !preview.paths.is_empty()
}

/// Whether a call runs a program that it only names: it may be another one when its turn comes.
pub(crate) fn is_named_program(subject: &Subject) -> bool {
    subject.access == Access::Exec && subject.digest.is_none()
}

impl StoredRtc {
    /// What the call is about, links followed as far as its preview did.
    pub fn subject(&self) -> Subject {
        let mut subject = self.private.subject.clone();
        for path in self.entity.preview.iter().flat_map(|preview| &preview.paths) {
            if !subject.paths.contains(path) {
                subject.paths.push(path.clone());
            }
        }
        if subject.digest.is_none() {
            subject.digest = self.program().map(|program| program.digest.clone());
        }
        subject
    }

    fn program(&self) -> Option<&Program> {
        self.entity.preview.as_ref()?.program.as_ref()
    }

    /// Whether this is a program whose preview says what runs.
    pub(crate) fn is_frozen(&self) -> bool {
        self.private.subject.access == Access::Exec && self.entity.preview.is_some()
    }

    /// Whether it is settled what would run: a program that is only named was looked at when it was called.
    pub fn is_settled(&self) -> bool {
        !is_named_program(&self.private.subject) || self.entity.preview.is_some()
    }

    /// Whether the user is asked about it.
    pub(crate) fn waits_for_approval(&self) -> bool {
        let approval = self.entity.approval.as_ref();
        approval.is_some_and(|approval| approval.state == ApprovalState::Open)
    }

    /// Whether the user is asked about it, and what it would do could not be shown. What a program is that was only named
    /// is settled when it is called.
    pub(crate) fn asks_blindly(&self) -> bool {
        let is_shown = self.entity.preview.as_ref().is_some_and(shows);
        self.waits_for_approval() && !is_shown && !is_named_program(&self.private.subject)
    }

    /// Whether it changes nothing, whoever runs it.
    pub(crate) fn only_looks(&self) -> bool {
        self.private.subject.access == Access::Read
    }

    /// Whether it was started and may have changed something.
    pub(crate) fn may_have_run(&self) -> bool {
        self.private.mark.is_some() || (self.private.lease.is_some() && !self.only_looks())
    }

    /// The paths that a Yes of the user covers: all that the approval showed. `None` without the user's own Yes to this
    /// call; one that became needless by a rule or a mode is no Yes.
    pub fn consented(&self) -> Option<Vec<String>> {
        match self.entity.approval.as_ref()?.decision? {
            ApprovalDecision::Once | ApprovalDecision::Session | ApprovalDecision::Project => {
                Some(self.subject().paths)
            }
            ApprovalDecision::Reject | ApprovalDecision::Never => None,
        }
    }
}

/// The private part of a session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SessionPrivate {
    /// The last `global_offset` given.
    pub last_message: u32,
    /// The last rtc `offset` given.
    pub last_rtc: u32,
    /// What the user allowed for this session.
    pub rules: Vec<Rule>,
    /// The turn that is not over, if there is one.
    pub turn: Option<TurnId>,
    /// Offsets of the user messages that no turn has taken.
    pub waiting: Vec<u32>,
    /// Offsets of the messages that the model is writing.
    pub streaming: Vec<u32>,
    /// Offsets of the calls without a result.
    pub calls: Vec<u32>,
    /// The turn is being stopped; a process that ends now must not go on with it.
    #[serde(default)]
    pub stopping: bool,
    /// Where it was copied from, if it began as a copy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
}

/// What is open in a stored session, read without the rest of it.
#[derive(Deserialize)]
pub(crate) struct SessionOutline {
    pub(crate) entity: EntityOutline,
    pub(crate) private: PrivateOutline,
}

/// Of its entity.
#[derive(Deserialize)]
pub(crate) struct EntityOutline {
    pub(crate) id: SessionId,
    pub(crate) project_id: Option<ProjectId>,
    pub(crate) status: SessionStatus,
    pub(crate) deleted_at: Option<Timestamp>,
}

/// Of [`SessionPrivate`].
#[derive(Deserialize)]
pub(crate) struct PrivateOutline {
    pub(crate) turn: Option<TurnId>,
    pub(crate) waiting: Vec<u32>,
    pub(crate) calls: Vec<u32>,
}

/// Where a session was copied from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The session.
    pub session: SessionId,
    /// Its message that was written anew.
    pub message: MessageId,
}

/// The private part of a turn.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TurnPrivate {
    /// The last `turn_offset` given.
    pub last_message: u32,
    /// How many replies the model has given.
    pub rounds: u32,
    /// How many it may give.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_rounds: Option<u32>,
}

/// The private part of a message.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct MessagePrivate {
    /// Which reply of its turn it belongs to, from 1; 0 for what is not part of a reply.
    pub round: u32,
    /// On the first message of a reply that has blocks which only its provider understands: the whole reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<ProviderReply>,
}

/// A reply as its provider gave it. It goes back unchanged to the same api and model and is dropped whole for any other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProviderReply {
    /// Which dialect.
    pub api: String,
    /// Which model.
    pub model: String,
    /// Everything, in order.
    pub blocks: Vec<AssistantBlock>,
}

/// The private part of a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RtcPrivate {
    /// The id by which the model pairs it with its result.
    pub call_id: ToolCallId,
    /// The arguments as the model wrote them.
    pub input: String,
    /// Who runs it.
    pub kind: Kind,
    /// What it is about.
    pub subject: Subject,
    /// Which reply of its turn it belongs to.
    pub round: u32,
    /// An earlier start of it may have taken effect, and the user had it started again.
    #[serde(default)]
    pub unsure: bool,
    /// Set from before its effect until its result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<Mark>,
    /// An executor elsewhere has claimed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<Lease>,
}

/// The claim of an executor elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// The connection that made it.
    pub holder: Uuid,
    /// When it was made.
    pub since: Timestamp,
    /// How many ticks of its timer have gone by since it was renewed.
    pub ticks: u8,
}

/// What is durable before a call has an effect.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Mark {
    /// Which start of the call.
    pub attempt: u32,
    /// When.
    pub started_at: Timestamp,
    /// Digest of the arguments that it was started with.
    pub args_digest: String,
    /// What the tool needs to tell what became of it: hash and identity before, hash intended, temporary name.
    pub tool: Value,
}

/// Everything of a turn's requests but the conversation, frozen when the turn begins: a request is a pure function of
/// what is stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TurnContext {
    /// Who is asked.
    pub model: ModelId,
    /// The system prompt, with date, folder, mode and the project's own instructions.
    pub system: String,
    /// The tools offered, in order.
    pub tools: Vec<rtc_model::ToolSpec>,
    /// The mode in which the turn began.
    pub mode: Mode,
    /// How many replies the model may give in this turn; as many as it likes if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_rounds: Option<u32>,
    /// Turns whose first message stands at this `global_offset` or before are not part of its requests: the user cleared
    /// the history before it began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cleared: Option<u32>,
}
