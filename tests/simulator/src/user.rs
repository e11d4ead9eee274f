//! The user: looks at what is durable, and acts on it as planned. Survives every crash of the product, and says again what
//! was not acknowledged.

mod copy;

use std::sync::Arc;
use std::time::Duration;

use rtc_engine::{
    Asked, Command, Engine, Error, NewSession, Parent, Resolution, Send, SessionState, StoredMessage,
};
use rtc_types::{
    ApprovalDecision, ClientId, Code, DeviceId, MessageRole, Mode, ProjectId, SessionId, SessionStatus,
    UserId,
};
use serde_json::json;
use uuid::Uuid;

use crate::Sabotage;
use crate::model::words;
use crate::scenario::{Broken, Folders, Scenario, SessionPlan, When};
use crate::world::{Known, World};

/// Far more than any scenario needs.
const MOST_ACTS: usize = 1_000;
/// After a refusal for want of room, and after a failure.
const TRY_AGAIN: Duration = Duration::from_secs(1);
/// Longer than anything is kept in memory only to be quick.
const THOUGHT: Duration = Duration::from_secs(30 * 3_600);
/// Sabotage only: what goes on for longer by the wall clock is given up. In seconds.
const GIVEN_UP: i64 = 3_600;
/// Where a read may have failed, of which the user is told and nothing is stored: when the user looks again.
const LOOK_AGAIN: Duration = Duration::from_secs(10);

pub(crate) const USER: UserId = UserId::new(Uuid::from_u128(1));
pub(crate) const DEVICE: DeviceId = DeviceId::new(Uuid::from_u128(2));

pub(crate) fn session_id(session: usize) -> SessionId {
    SessionId::new(Uuid::from_u128(0x1_0000 + session as u128))
}

/// What is allowed in one folder says nothing about the others.
fn project_id(folder: usize) -> ProjectId {
    ProjectId::new(Uuid::from_u128(0x2_0000 + folder as u128))
}

/// The first session of a family begins the others.
fn parent_of(scenario: &Scenario, session: usize) -> Option<Parent> {
    let parent = Parent {
        session: session_id(0),
        client_id: session_client_id(0),
        root: session_id(0),
        root_client_id: session_client_id(0),
        message: None,
    };
    Some(parent).filter(|_| scenario.folders == Folders::Family && session > 0)
}

fn session_client_id(session: usize) -> ClientId {
    ClientId::new(format!("session-{session}")).expect("a short text is a client id")
}

fn message_client_id(session: usize, message: usize) -> ClientId {
    ClientId::new(format!("message-{session}-{message}")).expect("a short text is a client id")
}

/// Acts until everything planned is done and nothing goes on. An error says what does not go on.
pub(crate) async fn act(
    world: &Arc<World>,
    scenario: &Scenario,
    engine: &Engine,
    others: Others,
) -> Result<(), String> {
    let mut position = engine.position();
    // Of what a client hears nothing is told here.
    let looks_again = others.act || matches!(scenario.broken, Some(Broken::Read { .. }));
    for _ in 0..MOST_ACTS {
        position.borrow_and_update();
        let (mut acted, mut over) = (false, true);
        for (session, plan) in scenario.sessions.iter().enumerate() {
            let at = Session {
                world,
                engine,
                scenario,
                session,
                plan,
                others,
            };
            match at.look().await {
                Ok(Look::Acted) => (acted, over) = (true, false),
                Ok(Look::Waits) => over = false,
                Ok(Look::Over) => {}
                Err(Error::Refused {
                    code: Code::DiskFull, ..
                }) => {
                    tokio::time::sleep(TRY_AGAIN).await;
                    (acted, over) = (true, false);
                }
                Err(Error::Store(error)) if error.nothing_applied() => {
                    tokio::time::sleep(TRY_AGAIN).await;
                    (acted, over) = (true, false);
                }
                // What was asked for may have happened or not; the next look shows it, or the next start.
                Err(error)
                    if !matches!(error, Error::Unreadable(_)) && world.with(|facts| facts.has_failed) =>
                {
                    tokio::time::sleep(TRY_AGAIN).await;
                    (acted, over) = (true, false);
                }
                // Somebody was faster; the next look shows it.
                Err(Error::Refused { .. }) => over = false,
                Err(error) => return Err(format!("session {session}: {error}")),
            }
        }
        if over {
            return Ok(());
        }
        if acted {
            continue;
        }
        let changed = position.changed();
        let has_ended = if looks_again {
            tokio::time::timeout(LOOK_AGAIN, changed)
                .await
                .is_ok_and(|changed| changed.is_err())
        } else {
            changed.await.is_err()
        };
        if has_ended {
            return Err("the engine has ended".to_owned());
        }
    }
    Err("the user acts again and again, and nothing comes of it".to_owned())
}

enum Look {
    Acted,
    /// Something goes on.
    Waits,
    /// Nothing goes on, nothing is planned.
    Over,
}

struct Session<'a> {
    world: &'a World,
    engine: &'a Engine,
    scenario: &'a Scenario,
    session: usize,
    plan: &'a SessionPlan,
    others: Others,
}

/// What a client does for the user.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Others {
    /// It answers.
    pub(crate) answer: bool,
    /// It sends messages but for the first one of a session, stops and copies.
    pub(crate) act: bool,
}

impl Session<'_> {
    fn known(&self) -> Known {
        self.world.with(|facts| facts.users[self.session].clone())
    }

    fn id(&self) -> SessionId {
        let known = self.world.session_id(self.session);
        known.unwrap_or_else(|| session_id(self.session))
    }

    fn know(&self, change: impl FnOnce(&mut Known)) {
        self.world.with(|facts| change(&mut facts.users[self.session]));
    }

    async fn look(&self) -> Result<Look, Error> {
        let known = self.known();
        if known.said == 0 {
            return match &self.plan.copy {
                Some(_) if self.others.act => Ok(Look::Waits),
                Some(copy) => self.copy(copy).await,
                None if self.plan.late > 0 && !self.first_has(0, self.plan.late).await? => Ok(Look::Waits),
                None => self.say(0).await,
            };
        }
        let state = self.engine.wake(self.id()).await?;
        let messages = state
            .session
            .as_ref()
            .map_or(0, |session| session.private.last_message);
        if let Some(&(from, mode)) = self.plan.set_modes.get(known.modes_set)
            && messages >= from
        {
            return self.set_mode(mode).await;
        }
        if let Some(from) = self.plan.stop
            && !self.others.act
            && known.stopped.is_none()
            && messages >= from
        {
            let stop = if self.plan.closes {
                Command::Close
            } else {
                Command::Stop
            };
            let is_missed = match self.world.sabotage {
                Sabotage::MissesStops => true,
                Sabotage::ClosesWithoutAStop => self.plan.closes,
                _ => false,
            };
            if !is_missed {
                self.tell(stop).await?;
            }
            self.know(|known| known.stopped = Some(known.said));
            return Ok(Look::Acted);
        }
        if self.world.sabotage == Sabotage::EndsByTheWallClock
            && let Some(turn) = &state.turn
            && self.world.now().as_second() - turn.entity.created_at.as_second() > GIVEN_UP
        {
            self.tell(Command::Stop).await?;
            return Ok(Look::Acted);
        }
        let status = state.session.as_ref().map(|session| session.entity.status);
        if status == Some(SessionStatus::Closed) {
            self.tell(Command::Open).await?;
            return Ok(Look::Acted);
        }
        if let Some(from) = self.plan.clears
            && !self.others.act
            && known.cleared.is_none()
            && messages >= from
        {
            return self.clear().await;
        }
        if !self.others.act
            && let Some(message) = self.next(&state, &known)
        {
            return self.say(message).await;
        }
        if !self.others.answer && self.answer(&state).await? {
            return Ok(Look::Acted);
        }
        Ok(if !state.is_idle() || known.said < self.plan.messages.len() {
            Look::Waits
        } else {
            Look::Over
        })
    }

    /// The message that is to be said now.
    fn next(&self, state: &SessionState, known: &Known) -> Option<usize> {
        let message = self.plan.messages.get(known.said)?;
        let is_last = known.said + 1 == self.plan.messages.len();
        // What comes after a stop waits for it, unless everything was over before it could come.
        if self.plan.stop.is_some() && is_last && known.stopped.is_none() && !state.is_idle() {
            return None;
        }
        let calls = state
            .session
            .as_ref()
            .map_or(0, |session| session.private.last_rtc);
        let now = match message.when {
            When::Idle => state.is_idle(),
            When::Calls(from) => state.is_idle() || calls >= from,
        };
        now.then_some(known.said)
    }

    /// Whether the first session was told so much and has so many messages, or is as far as it comes.
    async fn first_has(&self, said: usize, messages: u32) -> Result<bool, Error> {
        let known = self.world.with(|facts| facts.users[0].said);
        if known < said.max(1) {
            return Ok(false);
        }
        let state = self.engine.wake(session_id(0)).await?;
        let first = state.session.as_ref();
        let is_over = state.is_idle() && known == self.scenario.sessions[0].messages.len();
        Ok(is_over || first.is_some_and(|session| session.private.last_message >= messages))
    }

    async fn say(&self, message: usize) -> Result<Look, Error> {
        let send = Send {
            client_id: message_client_id(self.session, message),
            text: words(self.session, message),
            scenarios: Vec::new(),
            new_session: NewSession {
                id: self.id(),
                client_id: session_client_id(self.session),
                user: USER,
                device: DEVICE,
                project: Some(project_id(self.scenario.folder(self.session))),
                mode: self.plan.mode,
                agent_prompt: None,
                parent: parent_of(self.scenario, self.session),
            },
        };
        self.engine.send(send).await?;
        // From here on the user relies on it.
        self.world.effect(
            || format!("message {message} of session {} is acknowledged", self.session),
            |facts| facts.users[self.session].said = facts.users[self.session].said.max(message + 1),
        );
        Ok(Look::Acted)
    }

    async fn set_mode(&self, mode: Mode) -> Result<Look, Error> {
        self.tell(Command::SetMode(mode)).await?;
        self.know(|known| known.modes_set += 1);
        Ok(Look::Acted)
    }

    async fn clear(&self) -> Result<Look, Error> {
        let read = self.world.with(|facts| {
            let of_session = facts.asked.iter().filter(|asked| asked.session == self.session);
            of_session.filter_map(|asked| asked.last_said()).max()
        });
        if self.world.sabotage != Sabotage::ForgetsToClear {
            self.tell(Command::ClearHistory).await?;
        }
        let read = read.map_or(0, |last| last + 1);
        // One of them may not be acknowledged yet, and its turn may have begun.
        let of_user = |message: &&StoredMessage| message.entity.role == MessageRole::User;
        let said = self
            .engine
            .messages(self.id())
            .await?
            .iter()
            .filter(of_user)
            .count();
        self.know(|known| known.cleared = Some((said, read)));
        Ok(Look::Acted)
    }

    /// The first answer takes its time. Whatever waits for it waits for days.
    async fn think(&self) {
        if !self.scenario.thinks || self.known().has_thought {
            return;
        }
        self.know(|known| known.has_thought = true);
        tokio::time::sleep(THOUGHT).await;
        if self.world.sabotage == Sabotage::GivesUp {
            let _ = self.tell(Command::Stop).await;
        }
    }

    async fn tell(&self, command: Command) -> Result<(), Error> {
        self.engine.tell(self.id(), command).await.map(|_| ())
    }

    /// Answers what waits for an answer.
    async fn answer(&self, state: &SessionState) -> Result<bool, Error> {
        let Some((call, asked)) = state.waits_for_user() else {
            return Ok(false);
        };
        let (rtc, id) = (call.stored.entity.id, call.stored.private.call_id.as_str());
        let Some(plan) = self.scenario.call(id) else {
            self.world
                .wrong(format!("the user is asked about {id}, which nobody called"));
            return Ok(false);
        };
        self.think().await;
        match asked {
            Asked::Question => {
                let answer = json!(format!("answer {id}"));
                self.engine.answer(rtc, answer.clone()).await?;
                match self.engine.answer(rtc, answer).await {
                    Ok(()) | Err(Error::Refused { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
            Asked::Approval => {
                let misheard = self.world.sabotage == Sabotage::MishearsTheUser;
                let approve = Command::Approve {
                    rtc,
                    decision: if misheard {
                        ApprovalDecision::Once
                    } else {
                        plan.decision
                    },
                    reason: None,
                    device: DEVICE,
                };
                self.world
                    .with(|facts| facts.answered.push((id.into(), plan.decision)));
                self.tell(approve.clone()).await?;
                // Told twice is told once, also when it is over by then.
                match self.tell(approve).await {
                    Ok(()) | Err(Error::Refused { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
            Asked::Outcome => {
                let decision = plan.resolution;
                let is_retry = decision == Resolution::Retry;
                if is_retry {
                    self.world.with(|facts| facts.retried.push(id.into()));
                }
                let told = self.tell(Command::Resolve { rtc, decision }).await;
                // After a failure it may be done although it was not told.
                let is_refused = match &told {
                    Err(Error::Refused { .. }) => true,
                    Err(Error::Store(error)) => error.nothing_applied(),
                    Ok(()) | Err(_) => false,
                };
                if is_retry && is_refused {
                    self.world.with(|facts| facts.retried.pop());
                }
                told?;
            }
        }
        Ok(true)
    }
}
