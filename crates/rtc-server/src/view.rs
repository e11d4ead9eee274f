//! What goes on in a session, as far as it is told to clients: by this alone a run knows what is asked of its user, and
//! when there is nothing left to do.

use std::collections::{BTreeMap, HashMap, HashSet};

use anyhow::Result;
use rtc_types::{
    ApprovalState, ContentData, Message, MessageId, MessageRole, OutcomeKnown, Rtc, Session, SessionId,
    StreamingStatus, ToolKind, Turn, TurnId, Update, UpdateEntity, UpdateItem,
};
use rtc_wire::rpc::ToolsList;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::desk::Desk;

/// An open call that the user has something to say about.
#[derive(Debug, Clone)]
pub(crate) struct AskedFor {
    /// What is asked.
    pub(crate) what: Asked,
    /// The call.
    pub(crate) rtc: Rtc,
    /// Its arguments as the model wrote them.
    pub(crate) input: String,
}

/// What is asked about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    /// A Yes or a No.
    Approval,
    /// The user's answers to its questions.
    Answers,
    /// What to make of it: it was started, and nobody knows what came of it.
    Resolution,
}

impl AskedFor {
    /// Whether the same is asked, with the same to decide it by.
    pub(crate) fn is_still(&self, other: Option<&AskedFor>) -> bool {
        other.is_some_and(|other| {
            let (this, that) = (&self.rtc, &other.rtc);
            self.what == other.what
                && this.id == that.id
                && this.attempt == that.attempt
                && this.approval == that.approval
                && this.preview == that.preview
                && this.error_message == that.error_message
        })
    }
}

/// What goes on in one session.
pub(crate) struct View {
    session: SessionId,
    /// The tools that the user answers.
    questions: HashSet<String>,
    /// The turns that are not over.
    turns: HashSet<TurnId>,
    /// Updates told of a turn.
    has_gone_on: bool,
    /// User messages that no turn has taken.
    waiting: HashSet<MessageId>,
    /// The calls without a result, in the order in which they run.
    calls: BTreeMap<u32, Rtc>,
    /// What the model wrote for calls without a result, by the message that has it.
    inputs: HashMap<MessageId, String>,
}

impl View {
    /// Of a session in which nothing goes on yet.
    pub(crate) async fn new(desk: &Desk, session: SessionId) -> Result<Self> {
        let tools = desk.call(ToolsList {}).await?.items;
        let questions = tools.into_iter().filter(|tool| tool.kind == ToolKind::User);
        Ok(Self {
            session,
            questions: questions.map(|tool| tool.name).collect(),
            turns: HashSet::new(),
            has_gone_on: false,
            waiting: HashSet::new(),
            calls: BTreeMap::new(),
            inputs: HashMap::new(),
        })
    }

    /// Takes note of what there is already. What comes later is told by updates.
    pub(crate) async fn look(&mut self, desk: &Desk, is_new_message: bool) -> Result<()> {
        desk.turns(self.session)
            .await?
            .into_iter()
            .for_each(|turn| self.turn(turn));
        // A message of one's own is told by an update, and without a turn there are no calls.
        if self.turns.is_empty() && is_new_message {
            return Ok(());
        }
        for message in desk.messages(self.session).await? {
            self.message(message);
        }
        for rtc in desk.rtcs(self.session).await? {
            self.rtc(rtc);
        }
        Ok(())
    }

    /// Takes note of an update; whether it is about this session.
    pub(crate) fn update(&mut self, update: &Update) -> bool {
        let mut is_ours = false;
        for (item, data) in update.items.iter().zip(&update.data_list) {
            is_ours |= match item.entity {
                UpdateEntity::Session => {
                    read::<Session>(item, data).is_some_and(|session| session.id == self.session)
                }
                UpdateEntity::Turn => {
                    let is_of_ours = self.take(read(item, data), |turn: &Turn| turn.session_id, Self::turn);
                    self.has_gone_on |= is_of_ours;
                    is_of_ours
                }
                UpdateEntity::Message => self.take(
                    read(item, data),
                    |message: &Message| message.session_id,
                    Self::message,
                ),
                UpdateEntity::Rtc => self.take(read(item, data), |rtc: &Rtc| rtc.session_id, Self::rtc),
                UpdateEntity::File => false,
            };
        }
        is_ours
    }

    fn take<T>(
        &mut self,
        entity: Option<T>,
        session: impl Fn(&T) -> SessionId,
        take: impl Fn(&mut Self, T),
    ) -> bool {
        match entity.filter(|entity| session(entity) == self.session) {
            Some(entity) => {
                take(self, entity);
                true
            }
            None => false,
        }
    }

    fn turn(&mut self, turn: Turn) {
        if turn.status.is_terminal() {
            self.turns.remove(&turn.id);
        } else {
            self.turns.insert(turn.id);
        }
    }

    fn message(&mut self, message: Message) {
        if message.role == MessageRole::User && message.streaming_status == StreamingStatus::Pending {
            self.waiting.insert(message.id);
            return;
        }
        self.waiting.remove(&message.id);
        match message.content.parse() {
            Some(ContentData::ToolcallInput(call)) => {
                self.inputs.insert(message.id, call.input);
            }
            Some(ContentData::ToolcallOutput(_)) => {
                message
                    .parent_message_id
                    .and_then(|parent| self.inputs.remove(&parent));
            }
            _ => {}
        }
    }

    fn rtc(&mut self, rtc: Rtc) {
        if rtc.status.is_terminal() {
            self.calls.remove(&rtc.offset);
        } else {
            self.calls.insert(rtc.offset, rtc);
        }
    }

    /// The session.
    pub(crate) fn session(&self) -> SessionId {
        self.session
    }

    /// Something has gone on since updates are taken, if only for a moment.
    pub(crate) fn has_gone_on(&self) -> bool {
        self.has_gone_on
    }

    /// Nothing goes on and nothing waits. To be asked when every update so far was taken: what an update tells of is as
    /// it is now, so that in the middle of them it may already be over while what follows from it was not told yet.
    pub(crate) fn is_idle(&self) -> bool {
        self.turns.is_empty() && self.waiting.is_empty()
    }

    /// What the first open call waits for; nothing where nothing waits for the user.
    pub(crate) fn asked_for(&self) -> Option<AskedFor> {
        let rtc = self.calls.values().next()?;
        let approval = rtc.approval.as_ref().map(|approval| approval.state);
        let what = if approval == Some(ApprovalState::Open) {
            Asked::Approval
        } else if rtc.outcome == Some(OutcomeKnown::Unknown) {
            Asked::Resolution
        } else if self.questions.contains(&rtc.tool_name) {
            Asked::Answers
        } else {
            return None;
        };
        let input = self.inputs.get(&rtc.message_id).cloned();
        Some(AskedFor {
            what,
            rtc: rtc.clone(),
            input: input.unwrap_or_else(|| rtc.parameters.to_string()),
        })
    }
}

/// An entity of an update; nothing if it is no more, or cannot be read.
fn read<T: DeserializeOwned>(item: &UpdateItem, data: &Value) -> Option<T> {
    T::deserialize(data)
        .inspect_err(|error| tracing::debug!(%error, ?item, "an entity is left out"))
        .ok()
}
