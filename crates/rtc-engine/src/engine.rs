//! The engine: the lanes that are awake, and the way to them.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, PoisonError, Weak};

use futures::FutureExt;
use rtc_realtime::{LiveEvent, Position};
use rtc_store::{Offset, Room, Store};
use rtc_tool::{Kind, Policy, Progress, ToolError, ToolHandle};
use rtc_types::{
    Clock, Code, DeviceId, Message, MessageId, Preview, Project, ProjectId, RtcId, Rule, Session, SessionId,
    Update, UserId,
};
use rtc_wire::FileChanged;
use serde_json::Value;
use tokio::sync::{Mutex, broadcast, watch};
use tokio_util::sync::CancellationToken;

use crate::ask::{LiveText, Written};
use crate::comeback::{Awaited, ComingBack};
use crate::command::{Command, Done, Fork, Outcome, Send};
use crate::host::Host;
use crate::lane::{Lane, LaneSender};
use crate::records::{Readable, Records};
use crate::state::SessionState;
use crate::stored::{SessionOutline, StoredMessage, StoredRtc, StoredSession, StoredTurn};
use crate::stream::Stream;
use crate::user::{Rules, UserCommand, UserLane, mode_in_force};
use crate::{Error, Keys, source};

/// How many live events a slow listener may be behind before it misses some. They are lossy; what is durable is read
/// from the stream of updates.
pub const LIVE_QUEUE: usize = 256;

/// What is told at once and kept nowhere.
#[derive(Debug, Clone)]
pub enum Live {
    /// The model goes on writing.
    Text {
        /// The session.
        session: SessionId,
        /// The message being written.
        message: MessageId,
        /// Whether it is a thought.
        thinking: bool,
        /// What was added.
        delta: String,
        /// Which piece of the message this is, from 1.
        sequence: u64,
    },
    /// A call tells of its progress.
    Progress {
        /// The call.
        rtc: RtcId,
        /// What it tells.
        progress: Progress,
    },
    /// Something does not go on by itself.
    Trouble {
        /// The session.
        session: SessionId,
        /// What kind of trouble.
        code: Code,
        /// What happened and what to do.
        message: String,
    },
    /// A watched file is not as it was.
    File(FileChanged),
}

impl Live {
    /// What a running call tells the user, in its own words.
    pub fn told(&self) -> Option<(RtcId, &str)> {
        match self {
            Self::Progress {
                rtc,
                progress: Progress::Text { text },
            } => Some((*rtc, text)),
            Self::Progress { .. } | Self::Text { .. } | Self::Trouble { .. } | Self::File(_) => None,
        }
    }
}

pub(crate) struct Inner {
    pub(crate) records: Records,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) host: Arc<dyn Host>,
    pub(crate) shutdown: CancellationToken,
    pub(crate) user: UserLane,
    pub(crate) lanes: Mutex<HashMap<SessionId, LaneSender>>,
    pub(crate) coming_back: ComingBack,
    pub(crate) awaited: Awaited,
    pub(crate) stream: Stream,
    live: broadcast::Sender<Live>,
    pub(crate) live_events: broadcast::Sender<LiveEvent>,
    /// What is being written, by session.
    writing: std::sync::Mutex<HashMap<SessionId, LiveText>>,
}

impl Inner {
    /// What a session's model writes from now on; nothing: it writes no more.
    pub(crate) fn writing(&self, session: SessionId, text: Option<LiveText>) {
        let mut writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        match text {
            Some(text) => _ = writing.insert(session, text),
            None => _ = writing.remove(&session),
        }
    }

    /// A message as far as it is written.
    pub(crate) fn written(&self, message: MessageId) -> Option<Written> {
        let writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        writing.values().find_map(|text| {
            let text = text.lock().unwrap_or_else(PoisonError::into_inner);
            text.iter().find(|written| written.message == message).cloned()
        })
    }

    /// What an approval shows of a call. A fault of the program that looks is nothing to show, and nobody else's.
    pub(crate) async fn preview(
        &self,
        session: &Session,
        tool: &Arc<dyn ToolHandle>,
        args: &Value,
    ) -> Option<Preview> {
        let looked = AssertUnwindSafe(self.host.preview(session, tool, args)).catch_unwind();
        looked.await.unwrap_or_default()
    }

    pub(crate) fn tell_live(&self, live: Live) {
        // Nobody listening is no error.
        if self.live_events.receiver_count() > 0
            && let Some(event) = source::event(&live)
        {
            let _ = self.live_events.send(event);
        }
        let _ = self.live.send(live);
    }

    pub(crate) fn trouble(&self, session: SessionId, error: &Error) {
        self.tell_live(Live::Trouble {
            session,
            code: error.code(),
            message: error.to_string(),
        });
    }

    /// What the user has decided for a session. Where the rules cannot be read the user is asked as if there were none and
    /// in the strictest mode that asks at all, and is told why.
    pub(crate) async fn policy(&self, session: &StoredSession) -> Result<Policy, Error> {
        let rules = Rules::load(&*self.records.store, self.records.keys).await?;
        // What is left after a damage was told of with it.
        if rules.are_unreadable() {
            self.trouble(session.entity.id, &Rules::damaged());
        }
        Ok(Policy {
            mode: mode_in_force(session.entity.mode, rules.are_damaged()),
            rules: rules.concerning(session.entity.project_id),
            session_rules: session.private.rules.clone(),
        })
    }
}

/// The engine of one user. Cheap to clone; ends with [`Engine::shut_down`].
#[derive(Clone)]
pub struct Engine {
    pub(crate) inner: Arc<Inner>,
}

/// Reaches an engine without keeping it: for what the engine itself holds, directly or not.
#[derive(Clone)]
pub struct WeakEngine(Weak<Inner>);

impl WeakEngine {
    /// The engine, as long as somebody keeps it.
    pub fn upgrade(&self) -> Option<Engine> {
        self.0.upgrade().map(|inner| Engine { inner })
    }
}

impl Engine {
    /// The same engine, not kept.
    pub fn downgrade(&self) -> WeakEngine {
        WeakEngine(Arc::downgrade(&self.inner))
    }

    /// An engine over a store. Sessions wake when they are first spoken to.
    pub async fn open(
        store: Arc<dyn Store>,
        user: UserId,
        clock: Arc<dyn Clock>,
        host: Arc<dyn Host>,
    ) -> Result<Self, Error> {
        let keys = Keys::new(user);
        let user = UserLane::load(store.clone(), keys).await?;
        let records = Records { store, keys };
        let stands = records.store.position(&keys.topic()).await?;
        let renewed = records.renewed().await?;
        let inner = Inner {
            user,
            records,
            clock,
            host,
            shutdown: CancellationToken::new(),
            lanes: Mutex::default(),
            coming_back: ComingBack::default(),
            awaited: Awaited::default(),
            stream: Stream::new(stands, renewed),
            live: broadcast::Sender::new(LIVE_QUEUE),
            live_events: broadcast::Sender::new(LIVE_QUEUE),
            writing: std::sync::Mutex::default(),
        };
        Ok(Self {
            inner: Arc::new(inner),
        })
    }

    async fn lane(&self, session: SessionId) -> Result<LaneSender, Error> {
        if self.inner.shutdown.is_cancelled() {
            return Err(Error::Ended);
        }
        let mut lanes = self.inner.lanes.lock().await;
        if let Some(lane) = lanes.get(&session).filter(|lane| lane.is_open()) {
            return Ok(lane.clone());
        }
        let lane = Lane::start(self.inner.clone(), session).await?;
        lanes.insert(session, lane.clone());
        Ok(lane)
    }

    /// The lane of a session that there is.
    async fn known(&self, session: SessionId) -> Result<LaneSender, Error> {
        let found = self.find(session).await;
        if let Err(error) = &found {
            self.inner.come_back_after(session, error);
        }
        found
    }

    async fn find(&self, session: SessionId) -> Result<LaneSender, Error> {
        let awake = self.inner.lanes.lock().await.get(&session).cloned();
        if let Some(lane) = awake.filter(LaneSender::is_open) {
            return Ok(lane);
        }
        match self.inner.records.session(session).await? {
            Some(_) => self.lane(session).await,
            None => Err(Error::refused(
                Code::SessionNotFound,
                format!("there is no session {session}"),
            )),
        }
    }

    /// Sends a message; the first one makes the session. Sending it again under the same client id changes nothing.
    /// Refused while the disk is nearly full: what goes on already can still be finished.
    pub async fn send(&self, send: Send) -> Result<Message, Error> {
        self.send_telling(send).await.map(|(message, _)| message)
    }

    /// The same, with the places of the updates that this made.
    pub(crate) async fn send_telling(&self, send: Send) -> Result<(Message, Vec<Offset>), Error> {
        if self.inner.records.sent(&send.client_id).await?.is_none() {
            self.room_for_more().await?;
        }
        let session = send.new_session.id;
        let receipt = self.lane(session).await?.ask(Command::Send(send)).await?;
        match receipt.done {
            Done::Message(message) => Ok((*message, receipt.offsets)),
            _ => Err(Error::Ended),
        }
    }

    /// Begins a session as a copy of another one.
    pub(crate) async fn fork(&self, fork: Fork) -> Result<(Message, Vec<Offset>), Error> {
        self.room_for_more().await?;
        let session = fork.send.new_session.id;
        let command = Command::Fork(Box::new(fork));
        let receipt = self.lane(session).await?.ask(command).await?;
        match receipt.done {
            Done::Message(message) => Ok((*message, receipt.offsets)),
            _ => Err(Error::Ended),
        }
    }

    /// Whether it was shut down.
    pub fn has_ended(&self) -> bool {
        self.inner.shutdown.is_cancelled()
    }

    /// Whether new work is taken.
    ///
    /// # Errors
    /// Why it is not: the engine ends, or the disk is nearly full.
    pub async fn ready(&self) -> Result<(), Error> {
        if self.inner.shutdown.is_cancelled() {
            return Err(Error::Ended);
        }
        self.room_for_more().await
    }

    /// Nothing new is begun while the disk is nearly full.
    async fn room_for_more(&self) -> Result<(), Error> {
        if self.inner.records.store.room().await != Room::Low {
            return Ok(());
        }
        Err(Error::refused(
            Code::DiskFull,
            "the disk is nearly full, so nothing new is begun; nothing that was there is lost. Free some space \
             and send the message again",
        ))
    }

    /// Hands in what the user answered to a call of a tool that the user answers. A wrong answer changes nothing.
    pub async fn answer(&self, rtc: RtcId, answer: Value) -> Result<(), Error> {
        self.answer_telling(rtc, answer, None).await.map(|_| ())
    }

    /// The same from a device, with the updates that it made.
    pub(crate) async fn answer_telling(
        &self,
        rtc: RtcId,
        answer: Value,
        by: Option<DeviceId>,
    ) -> Result<Vec<Update>, Error> {
        let (stored, tool) = self.question(rtc).await?;
        let result = tool
            .answer(&stored.entity.parameters, answer)
            .map_err(|error| Error::refused(Code::RtcInvalidResult, error.to_string()))?;
        self.hand_in(&stored, stored.entity.attempt, Outcome::of(Ok(result)), by)
            .await
    }

    /// The user, or nobody, answers such a call with nothing; the model is told why.
    pub async fn dismiss(&self, rtc: RtcId, why: &str) -> Result<(), Error> {
        self.dismiss_telling(rtc, why, None).await.map(|_| ())
    }

    pub(crate) async fn dismiss_telling(
        &self,
        rtc: RtcId,
        why: &str,
        by: Option<DeviceId>,
    ) -> Result<Vec<Update>, Error> {
        let (stored, _) = self.question(rtc).await?;
        let denied = Outcome::failed(ToolError::denied(why));
        self.hand_in(&stored, stored.entity.attempt, denied, by).await
    }

    async fn question(&self, rtc: RtcId) -> Result<(StoredRtc, &Arc<dyn ToolHandle>), Error> {
        let not_found = || {
            Error::refused(
                Code::RtcNotFound,
                format!("there is no call {rtc} that the user answers"),
            )
        };
        let stored = self.inner.records.rtc(rtc).await?.ok_or_else(not_found)?;
        let tool = self.inner.host.tools().get(&stored.entity.tool_name);
        let tool = tool
            .filter(|tool| tool.kind() == Kind::User)
            .ok_or_else(not_found)?;
        Ok((stored, tool))
    }

    pub(crate) async fn hand_in(
        &self,
        stored: &StoredRtc,
        attempt: u32,
        outcome: Outcome,
        by: Option<DeviceId>,
    ) -> Result<Vec<Update>, Error> {
        let command = Command::HandIn {
            rtc: stored.entity.id,
            attempt,
            outcome,
            by,
        };
        let (_, updates) = self.ask(stored.entity.session_id, command).await?;
        Ok(updates)
    }

    /// Looks at what a call would do and hands it in, for a call of which that is not settled; see
    /// [`StoredRtc::is_settled`].
    pub async fn settle(&self, rtc: &StoredRtc) -> Result<(), Error> {
        let entity = &rtc.entity;
        let session = self.session(entity.session_id).await?;
        let preview = match (session, self.inner.host.tools().get(&entity.tool_name)) {
            (Some(session), Some(tool)) => {
                self.inner
                    .preview(&session.entity, tool, &entity.parameters)
                    .await
            }
            _ => None,
        };
        let rtc = entity.id;
        self.tell(entity.session_id, Command::AskFor { rtc, preview })
            .await
            .map(|_| ())
    }

    /// Tells the user of a session that something does not go on by itself.
    pub fn tell_trouble(&self, session: SessionId, code: Code, message: String) {
        self.inner.tell_live(Live::Trouble {
            session,
            code,
            message,
        });
    }

    /// Tells the user that a file that they look at is not as it was.
    pub fn tell_file(&self, changed: FileChanged) {
        self.inner.tell_live(Live::File(changed));
    }

    /// Tells a session something, and gives the updates that this made.
    pub(crate) async fn ask(
        &self,
        session: SessionId,
        command: Command,
    ) -> Result<(Done, Vec<Update>), Error> {
        let receipt = self.known(session).await?.ask(command).await?;
        Ok((receipt.done, self.updates_at(&receipt.offsets).await?))
    }

    pub(crate) async fn updates_at(&self, offsets: &[Offset]) -> Result<Vec<Update>, Error> {
        match offsets.first() {
            // They were assigned together, so they follow one another.
            Some(first) => self.updates(Offset(first.0 - 1), offsets.len()).await,
            None => Ok(Vec::new()),
        }
    }

    /// Tells a session something.
    pub async fn tell(&self, session: SessionId, command: Command) -> Result<Done, Error> {
        self.known(session).await?.tell(command).await
    }

    /// Wakes a session: whatever was going on in it when its process ended goes on.
    pub async fn wake(&self, session: SessionId) -> Result<SessionState, Error> {
        self.known(session).await?.inspect().await
    }

    /// The project for a folder, made if there is none yet.
    pub async fn tell_user(&self, command: UserCommand) -> Result<Project, Error> {
        self.inner.user.tell(command, self.inner.clock.stamp()).await
    }

    /// The project with this id.
    pub async fn project(&self, project: ProjectId) -> Option<Project> {
        self.inner.user.project(project).await
    }

    /// The folders that were opened, in the order in which they were.
    pub async fn projects(&self) -> Vec<Project> {
        self.inner.user.projects().await
    }

    /// The user's rules for a project, as far as they are left after damage.
    ///
    /// # Errors
    /// [`Error::Unreadable`] if none can be read: what they forbid is not known then.
    pub async fn rules(&self, project: Option<ProjectId>) -> Result<Vec<Rule>, Error> {
        let rules = Rules::load(&*self.inner.records.store, self.inner.records.keys).await?;
        if rules.are_unreadable() {
            return Err(Rules::damaged());
        }
        Ok(rules.concerning(project))
    }

    /// What the user has decided for a session; the strictest that asks, where the rules cannot be read.
    pub async fn policy(&self, session: &StoredSession) -> Result<Policy, Error> {
        self.inner.policy(session).await
    }

    /// All sessions, the one that changed last first.
    ///
    /// One that cannot be read is left out, and the user is told.
    pub async fn sessions(&self) -> Result<Vec<Session>, Error> {
        let Readable { items, damaged } = self.inner.records.listed().await?;
        for (key, error) in damaged {
            if let Some(session) = self.inner.records.keys.session_of(&key) {
                self.inner.trouble(session, &error);
            }
        }
        Ok(items)
    }

    /// What of a page can be read; of the rest the user is told.
    pub(crate) fn readable<T>(&self, session: SessionId, page: Readable<T>) -> Vec<T> {
        for (_, error) in page.damaged {
            self.inner.trouble(session, &error);
        }
        page.items
    }

    /// The sessions that are in the middle of something, and their projects: a turn is not over, or a message waits for its
    /// turn.
    pub async fn unfinished(&self) -> Result<Vec<(SessionId, Option<ProjectId>)>, Error> {
        let outlines = self.inner.records.outlines().await?;
        let unfinished = outlines.into_iter().filter(|SessionOutline { entity, private }| {
            entity.deleted_at.is_none()
                && entity.status != rtc_types::SessionStatus::Closed
                && (private.turn.is_some() || !private.waiting.is_empty())
        });
        Ok(unfinished
            .map(|SessionOutline { entity, .. }| (entity.id, entity.project_id))
            .collect())
    }

    /// The calls in a project that were started, with a durable mark and without a result. Those about which the user is
    /// asked are left out.
    pub async fn begun(&self, project: Option<ProjectId>) -> Result<Vec<StoredRtc>, Error> {
        self.inner.records.begun(project).await
    }

    /// A session as it is stored.
    pub async fn session(&self, session: SessionId) -> Result<Option<StoredSession>, Error> {
        self.inner.records.session(session).await
    }

    /// The messages of a session, in order.
    pub async fn messages(&self, session: SessionId) -> Result<Vec<StoredMessage>, Error> {
        self.inner.records.messages(session).await
    }

    /// The turns of a session.
    pub async fn turns(&self, session: SessionId) -> Result<Vec<StoredTurn>, Error> {
        self.inner.records.turns(session).await
    }

    /// The calls of a session, in order.
    pub async fn rtcs(&self, session: SessionId) -> Result<Vec<StoredRtc>, Error> {
        self.inner.records.rtcs(session).await
    }

    /// A call as it is stored.
    pub async fn rtc(&self, rtc: RtcId) -> Result<Option<StoredRtc>, Error> {
        self.inner.records.rtc(rtc).await
    }

    /// What a session knows of a file.
    pub async fn seen(&self, session: SessionId, path: &str) -> Result<Option<Value>, Error> {
        self.inner.records.seen(session, path).await
    }

    /// The user's updates after an offset, at most `limit`, the entities as they are now.
    pub async fn updates(&self, after: Offset, limit: usize) -> Result<Vec<Update>, Error> {
        let now = self.inner.clock.now();
        self.inner.records.updates(after, limit, now).await
    }

    /// Where the user's stream stands; changes as updates are committed.
    pub fn position(&self) -> watch::Receiver<Position> {
        self.inner.stream.position()
    }

    /// What is told at once and kept nowhere.
    pub fn live(&self) -> broadcast::Receiver<Live> {
        self.inner.live.subscribe()
    }

    /// Passes on what a running call tells.
    pub fn tell_progress(&self, rtc: RtcId, progress: Progress) {
        self.inner.tell_live(Live::Progress { rtc, progress });
    }

    /// Ends all lanes. What is committed stays; what goes on goes on at the next start.
    pub fn shut_down(&self) {
        self.inner.shutdown.cancel();
    }
}
