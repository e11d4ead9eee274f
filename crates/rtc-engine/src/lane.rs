//! The driver of a session's lane: one task, one command at a time; commits a step, then does what it says.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use rtc_store::Offset;
use rtc_tool::ToolError;
use rtc_types::{Code, RtcId, SessionId, TurnId};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::apply::lease::LEASE_TICK;
use crate::ask::{Ask, LiveText, Written};
use crate::command::{Command, Done, Effect, Given, Send, Step, Write};
use crate::conversation::Conversation;
use crate::engine::Inner;
use crate::fence::Fence;
use crate::state::SessionState;
use crate::user::Rules;
use crate::{Error, apply};

/// How many commands may wait for a lane; whoever sends more waits.
pub(crate) const LANE_QUEUE: usize = 256;
/// How long something that the store had no room for, or could not read, waits before it is tried again, at most.
pub(crate) const RETRY_MOST: Duration = Duration::from_secs(30);
/// How long nothing has to be asked of a lane until it lets go what it keeps in memory: the conversation of its turn, and
/// itself where nothing goes on. All of it is in the store.
const CHECKPOINT_TTL: Duration = Duration::from_secs(24 * 60 * 60);
/// How long a running call has to end after Stop.
const STOP_TIME: Duration = Duration::from_millis(500);

enum Told {
    Command(Box<Command>, oneshot::Sender<Result<Receipt, Error>>),
    Inspect(oneshot::Sender<SessionState>),
}

/// What became of a command.
#[derive(Debug)]
pub(crate) struct Receipt {
    pub(crate) done: Done,
    /// The updates that it made.
    pub(crate) offsets: Vec<Offset>,
}

impl From<Done> for Receipt {
    fn from(done: Done) -> Self {
        Self {
            done,
            offsets: Vec::new(),
        }
    }
}

/// The way to a lane.
#[derive(Clone)]
pub(crate) struct LaneSender(mpsc::Sender<Told>);

impl LaneSender {
    pub(crate) fn is_open(&self) -> bool {
        !self.0.is_closed()
    }

    pub(crate) async fn tell(&self, command: Command) -> Result<Done, Error> {
        self.ask(command).await.map(|receipt| receipt.done)
    }

    pub(crate) async fn ask(&self, command: Command) -> Result<Receipt, Error> {
        let (reply, receipt) = oneshot::channel();
        self.0
            .send(Told::Command(Box::new(command), reply))
            .await
            .map_err(|_| Error::Ended)?;
        receipt.await.map_err(|_| Error::Ended)?
    }

    /// Tells it again and again while the store has no room, after 1, 2, 4 … 30 s, and says so. Any other error is told
    /// and given back at once.
    pub(crate) async fn insist(
        &self,
        inner: &Inner,
        session: SessionId,
        command: Command,
    ) -> Result<Done, Error> {
        let mut wait = Duration::from_secs(1);
        loop {
            let error = match self.tell(command.clone()).await {
                Ok(done) => return Ok(done),
                Err(error) => error,
            };
            inner.trouble(session, &error);
            if error.code() != Code::DiskFull {
                return Err(error);
            }
            tokio::time::sleep(wait).await;
            wait = (wait * 2).min(RETRY_MOST);
        }
    }

    pub(crate) async fn inspect(&self) -> Result<SessionState, Error> {
        let (reply, state) = oneshot::channel();
        self.0
            .send(Told::Inspect(reply))
            .await
            .map_err(|_| Error::Ended)?;
        state.await.map_err(|_| Error::Ended)
    }
}

struct Asking {
    cancel: CancellationToken,
    text: LiveText,
}

pub(crate) struct Lane {
    inner: Arc<Inner>,
    session: SessionId,
    state: SessionState,
    fence: Fence,
    sender: mpsc::WeakSender<Told>,
    asking: Option<Asking>,
    /// Of the turn that is not over, once its model was asked.
    conversation: Option<Arc<Conversation>>,
    /// Whether what the last process left open goes on. Nothing else is done before.
    recovered: bool,
}

impl Lane {
    /// Starts the lane of a session and lets it go on with what is open.
    pub(crate) async fn start(inner: Arc<Inner>, session: SessionId) -> Result<LaneSender, Error> {
        let state = inner.records.state(session).await?;
        let project = state.session.as_ref().and_then(|stored| stored.entity.project_id);
        if let Some(project) = project.filter(|project| inner.user.is_damaged(*project)) {
            // Without it, it would go on in another folder.
            let told = format!("folder {project} of session {session} cannot be read");
            return Err(Error::Unreadable(told));
        }
        let fence = Fence::new(&*inner.records.store, inner.records.keys.lane(session)).await?;
        let (sender, receiver) = mpsc::channel(LANE_QUEUE);
        let recovered = state.session.is_none();
        let weak = sender.downgrade();
        let lane = Self {
            inner,
            session,
            state,
            fence,
            sender: weak,
            asking: None,
            conversation: None,
            recovered,
        };
        tokio::spawn(lane.run(receiver));
        Ok(LaneSender(sender))
    }

    async fn run(mut self, mut receiver: mpsc::Receiver<Told>) {
        let shutdown = self.inner.shutdown.clone();
        if let Err(error) = self.recover().await {
            self.inner.trouble(self.session, &error);
            if ends(&error) {
                self.inner.come_back_after(self.session, &error);
                return;
            }
            // Until there is room; whatever comes before tries it, too.
            let (inner, session) = (self.inner.clone(), self.session);
            self.later(async move |lane: LaneSender| {
                let _ = lane.insist(&inner, session, Command::Recover).await;
            });
        }
        loop {
            let told = tokio::select! {
                biased;
                () = shutdown.cancelled() => break,
                told = tokio::time::timeout(CHECKPOINT_TTL, receiver.recv()) => told,
            };
            let Ok(told) = told else {
                if self.sweep(&receiver).await {
                    break;
                }
                continue;
            };
            match told {
                Some(Told::Command(command, reply)) => {
                    let result = self.perform(*command).await;
                    let ended = result.as_ref().err().filter(|error| ends(error)).cloned();
                    let _ = reply.send(result);
                    if let Some(error) = ended {
                        self.inner.trouble(self.session, &error);
                        self.inner.come_back_after(self.session, &error);
                        break;
                    }
                }
                Some(Told::Inspect(reply)) => {
                    let _ = reply.send(self.state.clone());
                }
                None => break,
            }
        }
        self.stop_asking();
    }

    /// Lets go what is only kept to be quick, and gives whether that is the whole lane.
    async fn sweep(&mut self, receiver: &mpsc::Receiver<Told>) -> bool {
        if self.asking.is_none() {
            self.conversation = None;
        }
        if !self.state.is_idle() || !self.recovered {
            return false;
        }
        // Under this lock nobody gets a way to the lane: that of the engine and this one are all, or it stays.
        let mut lanes = self.inner.lanes.lock().await;
        let is_alone = (self.sender.upgrade()).is_none_or(|sender| sender.strong_count() <= 2);
        let ends = is_alone && receiver.is_empty();
        if ends {
            lanes.remove(&self.session);
        }
        ends
    }

    async fn perform(&mut self, command: Command) -> Result<Receipt, Error> {
        self.recover().await?;
        if matches!(command, Command::Recover) {
            return Ok(Done::Ok.into());
        }
        self.apply(command).await
    }

    async fn recover(&mut self) -> Result<(), Error> {
        if !self.recovered {
            self.apply(Command::Recover).await?;
            self.recovered = true;
        }
        Ok(())
    }

    async fn apply(&mut self, mut command: Command) -> Result<Receipt, Error> {
        if let Command::Send(send) = &command
            && let Some(done) = self.sent_before(send).await?
        {
            return Ok(done.into());
        }
        let closes = matches!(
            command,
            Command::Stop | Command::Close | Command::ReplyBrokeOff { .. } | Command::ModelFailed { .. }
        );
        if closes {
            self.spill_all()?;
        }
        loop {
            let project = self
                .state
                .session
                .as_ref()
                .and_then(|session| session.entity.project_id);
            let rules = Rules::load(&*self.inner.records.store, self.inner.records.keys).await?;
            let given = Given {
                rules: rules.concerning(project),
                rules_are_damaged: rules.are_damaged(),
                stamp: self.inner.clock.stamp(),
            };
            let step = apply(&self.state, command.clone(), &given)?;
            if step.writes.is_empty() {
                return Ok(self.accept(step).into());
            }
            match self.commit(&step, &rules).await {
                Ok(offsets) => {
                    if matches!(command, Command::Replied { .. }) {
                        self.inner.awaited.ends(self.session);
                    }
                    let done = self.accept(step);
                    return Ok(Receipt { done, offsets });
                }
                Err(rtc_store::Error::PreconditionFailed { key }) => {
                    if self.fence.is_lost(&key) {
                        return Err(Error::Ended);
                    }
                    // The rules changed in between: decide again. A client id that was taken in between, by another
                    // session, is found by the same look as one that was taken long ago.
                    if let Command::Send(send) = &command
                        && let Some(done) = self.sent_before(send).await?
                    {
                        return Ok(done.into());
                    }
                    if let Command::Fork(fork) = &command
                        && self.inner.records.sent(&fork.send.client_id).await?.is_some()
                    {
                        return Err(Error::refused(
                            Code::ClientIdConflict,
                            "another message was sent under this client id",
                        ));
                    }
                }
                Err(error @ rtc_store::Error::TooLarge { .. }) => {
                    command = smaller(command, error)?;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    async fn commit(&mut self, step: &Step, rules: &Rules) -> Result<Vec<Offset>, rtc_store::Error> {
        let records = &self.inner.records;
        let mut mint = self.inner.clock.stamp().mint();
        let mut batch = records.batch(self.session, step, &mut mint, rules);
        if !step.provisional {
            rules.require(&mut batch, records.keys);
        }
        let receipt = self.fence.commit(&*records.store, batch).await?;
        let renews = step.writes.iter().any(|write| matches!(write, Write::Epoch));
        if let Some(offset) = receipt.offsets.last() {
            self.inner
                .stream
                .committed(*offset, renews.then_some(receipt.revision));
        }
        Ok(receipt.offsets)
    }

    fn accept(&mut self, step: Step) -> Done {
        self.state = step.state;
        match &self.state.turn {
            Some(_) => self
                .conversation
                .iter()
                .for_each(|kept| kept.committed(&step.writes)),
            None => {
                self.conversation = None;
                self.inner.awaited.ends(self.session);
            }
        }
        for effect in step.effects {
            self.act(effect);
        }
        step.done
    }

    fn act(&mut self, effect: Effect) {
        match effect {
            Effect::GatherContext => self.gather(),
            Effect::AskModel(turn) => self.ask(turn),
            Effect::CancelModel => self.stop_asking(),
            Effect::WakeExecutor => self.inner.host.wake(self.session),
            Effect::CancelCall(rtc) => self.inner.host.cancel(rtc),
            Effect::Preview(rtc) => self.preview(rtc),
            Effect::LeaseTimer(rtc, attempt) => self.after(LEASE_TICK, Command::LeaseTick { rtc, attempt }),
            Effect::StopTimer(rtc) => self.after(STOP_TIME, Command::StopDeadline { rtc }),
        }
    }

    /// Tells the lane something when its time has come, until there is room for it.
    fn after(&self, time: Duration, command: Command) {
        let (inner, session) = (self.inner.clone(), self.session);
        self.later(async move |lane: LaneSender| {
            tokio::time::sleep(time).await;
            let _ = lane.insist(&inner, session, command).await;
        });
    }

    /// Runs beside the lane and tells it something later. A fault there is told, never swallowed.
    fn later<F>(&self, work: impl FnOnce(LaneSender) -> F)
    where
        F: Future<Output = ()> + std::marker::Send + 'static,
    {
        let Some(sender) = self.sender.upgrade() else {
            return;
        };
        let (work, inner, session) = (work(LaneSender(sender)), self.inner.clone(), self.session);
        tokio::spawn(async move {
            if AssertUnwindSafe(work).catch_unwind().await.is_err() {
                let message = "a fault of the program stopped this session; start the program again to go on";
                inner.trouble(session, &Error::refused(Code::Internal, message));
            }
        });
    }

    fn gather(&self) {
        let Some(session) = self.state.session.as_ref().map(|session| session.entity.clone()) else {
            return;
        };
        let inner = self.inner.clone();
        self.later(async move |lane: LaneSender| {
            let gathered = AssertUnwindSafe(inner.host.turn_context(&session)).catch_unwind();
            let command = match gathered.await {
                Ok(context) => Command::Begin {
                    context: Box::new(context),
                },
                Err(_) => Command::CannotBegin {
                    message: "a fault of the program kept the turn from beginning".to_owned(),
                },
            };
            let _ = lane.insist(&inner, session.id, command).await;
        });
    }

    fn preview(&self, rtc: RtcId) {
        let Some(session) = self.state.session.as_ref().map(|session| session.entity.clone()) else {
            return;
        };
        let Some(call) = self.state.call(rtc).map(|call| call.stored.entity.clone()) else {
            return;
        };
        let inner = self.inner.clone();
        self.later(async move |lane: LaneSender| {
            let preview = match inner.host.tools().get(&call.tool_name) {
                Some(tool) => inner.preview(&session, tool, &call.parameters).await,
                None => None,
            };
            let _ = lane
                .insist(&inner, session.id, Command::AskFor { rtc, preview })
                .await;
        });
    }

    fn ask(&mut self, turn: TurnId) {
        self.stop_asking();
        let asking = Asking {
            cancel: self.inner.shutdown.child_token(),
            text: LiveText::default(),
        };
        let (inner, session) = (self.inner.clone(), self.session);
        let (cancel, text) = (asking.cancel.clone(), asking.text.clone());
        let same = self.conversation.take().filter(|kept| kept.turn() == turn);
        let conversation = same.unwrap_or_else(|| Arc::new(Conversation::new(session, turn)));
        self.conversation = Some(conversation.clone());
        self.inner.writing(session, Some(text.clone()));
        self.asking = Some(asking);
        self.later(move |lane| {
            Ask {
                inner,
                lane,
                session,
                turn,
                conversation,
                cancel,
                text,
            }
            .run()
        });
    }

    fn stop_asking(&mut self) {
        if let Some(asking) = self.asking.take() {
            self.inner.writing(self.session, None);
            asking.cancel.cancel();
        }
    }

    /// What is being written is kept, up to the last letter. Not committed by itself: the step that closes
    /// these messages writes them with their text.
    fn spill_all(&mut self) -> Result<(), Error> {
        let Some(asking) = &self.asking else { return Ok(()) };
        let texts = asking.text.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for Written { message, text, .. } in texts {
            let given = Given {
                rules: Vec::new(),
                rules_are_damaged: false,
                stamp: self.inner.clock.stamp(),
            };
            self.state = apply(&self.state, Command::Spill { message, text }, &given)?.state;
        }
        Ok(())
    }

    /// The same client id again: the same message is acknowledged, another one refused.
    async fn sent_before(&self, send: &Send) -> Result<Option<Done>, Error> {
        let Some(before) = self.inner.records.sent(&send.client_id).await? else {
            return Ok(None);
        };
        let same =
            before.entity.content.parse() == Some(send.content()) && before.entity.session_id == self.session;
        if same {
            Ok(Some(Done::Message(Box::new(before.entity))))
        } else {
            Err(Error::refused(
                Code::ClientIdConflict,
                "another message was sent under this client id",
            ))
        }
    }
}

/// What is done instead of a step that is larger than the store takes: a call ends with an error that says so, once. What
/// the user asked for is refused.
fn smaller(mut command: Command, error: rtc_store::Error) -> Result<Command, Error> {
    match &mut command {
        Command::Finish { outcome, .. } | Command::HandIn { outcome, .. } if outcome.result.is_ok() => {
            outcome.result = Err(ToolError::execution(format!(
                "the result of this call is too large to be kept ({error}); ask for less at once"
            )));
            // What it has seen may be what is too large; a change is then refused until it is read again.
            outcome.seen.clear();
            Ok(command)
        }
        Command::Fork(_) => Err(Error::refused(
            Code::ForkError,
            "the conversation is too long to be copied as a whole; copy only its last messages",
        )),
        _ => Err(error.into()),
    }
}

/// After an error that leaves open what was written, the lane must be loaded again.
fn ends(error: &Error) -> bool {
    match error {
        Error::Refused { .. } => false,
        Error::Store(error) => !error.nothing_applied(),
        Error::Unreadable(_) | Error::Ended => true,
    }
}

#[cfg(test)]
mod tests;
