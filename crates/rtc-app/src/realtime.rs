//! What clients reach over a connection: the user's stream, and the methods of engine and device.

mod files;
mod house;
mod undo;
mod watching;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use rtc_engine::{Defaults, Engine, UserCommand};
use rtc_executor::{Executor, Folders, PortError, Ran as RunEnded};
use rtc_realtime::{Caller, Rpc, Scope as TokenScope, Source, Sources};
use rtc_tool::{Kind, Registry};
use rtc_types::{
    ApprovalState, Clock, Code, DeviceId, Mode, OutcomeKnown, Project, ProjectId, RtcId, SessionId, ToolKind,
    UserId,
};
use rtc_wire::rpc::{Item, Items, Method, Ran, Reply, Request, RpcError, Scope, Success, ToolEntry};
use serde::Serialize;
use serde_json::Value;
use uuid::Uuid;

pub(crate) use self::watching::watch;
use crate::{Error, Models};

/// How long an answer to `v1.rtc.run` waits for the end of the call. Each waiting answer takes one of the few places that
/// a connection has.
const RUN_TIME: Duration = Duration::from_secs(2);

/// How long it waits at most until it looks again for what was left in the middle.
const RETRY_MOST: Duration = Duration::from_secs(30);

/// One user on one device.
pub(crate) struct Realtime {
    pub(crate) engine: Engine,
    pub(crate) executor: Executor,
    pub(crate) tools: Registry,
    pub(crate) models: Models,
    /// The model that was named, if one was.
    pub(crate) model: Option<String>,
    /// Of new sessions.
    pub(crate) mode: Mode,
    /// Whether nothing is begun in a folder of this device that the user has not trusted.
    pub(crate) asks_trust: bool,
    pub(crate) user: UserId,
    pub(crate) device: DeviceId,
    pub(crate) own_data: PathBuf,
    pub(crate) clock: Arc<dyn Clock>,
    /// The folders of this machine.
    pub(crate) places: Arc<Folders>,
    /// What was set aside at this start or lately, in words for the user.
    pub(crate) set_aside: Option<String>,
    /// What clients look at.
    pub(crate) watch: Arc<rtc_fs::Watch>,
    /// The folders that are open, the first one first.
    pub(crate) projects: Mutex<Vec<ProjectId>>,
    /// How long what an undo needs is kept.
    pub(crate) retention: rtc_fs::Retention,
}

impl Realtime {
    pub(crate) async fn open_project(&self, root: &Path) -> Result<Project, Error> {
        let (named, own_data) = (root.to_owned(), self.own_data.clone());
        let real = tokio::task::spawn_blocking(move || -> Result<PathBuf, Error> {
            let project = rtc_fs::Project::open_apart(&named, &own_data)?;
            Ok(project.real_root().to_owned())
        });
        let real = real.await.map_err(|error| Error::Data {
            path: root.to_owned(),
            reason: error.to_string(),
        })??;
        let root = real
            .to_str()
            .ok_or_else(|| Error::NotUnicode(real.clone()))?
            .to_owned();
        let device = self.device;
        let project = self
            .engine
            .tell_user(UserCommand::OpenProject {
                device,
                root,
                trusted: !self.asks_trust,
            })
            .await?;
        let mut open = self.projects();
        if !open.contains(&project.id) {
            open.push(project.id);
        }
        drop(open);
        Ok(project)
    }

    fn projects(&self) -> std::sync::MutexGuard<'_, Vec<ProjectId>> {
        self.projects.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a new session of a caller is made of: a device that is not this one has no folder here.
    fn defaults(&self, caller: &Caller) -> Defaults {
        let open = match caller.device == self.device {
            true => self.projects().clone(),
            false => Vec::new(),
        };
        Defaults {
            project: open.first().copied(),
            open,
            mode: self.mode,
        }
    }

    async fn answer(&self, caller: &Caller, request: Request) -> Result<Value, RpcError> {
        let method = request.method();
        let request = match request {
            Request::ToolsList(_) => return told(self.list_tools()),
            Request::ModelsList(_) => {
                // A page asks for them whenever it connects.
                if let Some(told) = &self.set_aside {
                    let of_none = SessionId::new(Uuid::nil());
                    self.engine
                        .tell_trouble(of_none, Code::StoreDamaged, told.clone());
                }
                let models = self.models.list(self.model.as_deref());
                let items = models.map_err(|error| RpcError::new(Code::Internal, error.to_string()))?;
                return told(Items { items });
            }
            Request::ProjectList(_) => {
                let open = self.projects().clone();
                let mut items = self.engine.projects().await;
                items.retain(|project| open.contains(&project.id));
                return told(Items { items });
            }
            Request::ProjectRecent(ask) => {
                let mut items = self.engine.projects().await;
                items.sort_by_key(|project| std::cmp::Reverse((project.last_opened(), project.id)));
                items.truncate(usize::try_from(ask.limit.get()).unwrap_or(usize::MAX));
                return told(Items { items });
            }
            Request::ProjectOpen(ask) => {
                self.is_here(caller)?;
                let opened = self.open_project(Path::new(ask.path.as_str())).await;
                let item = opened.map_err(|error| {
                    let code = if error.is_full() {
                        Code::DiskFull
                    } else {
                        Code::ProjectUnusable
                    };
                    RpcError::new(code, error.to_string())
                })?;
                return told(Item { item });
            }
            Request::ProjectTrust(ask) => {
                self.own_project(caller, ask.project_id).await?;
                let (project, trusted) = (ask.project_id, ask.trusted);
                let item = self
                    .engine
                    .tell_user(UserCommand::Trust { project, trusted })
                    .await?;
                if self.asks_trust && trusted {
                    self.go_on().await;
                }
                return told(Item { item });
            }
            Request::ProjectClose(ask) => {
                self.own_project(caller, ask.project_id).await?;
                self.projects().retain(|open| *open != ask.project_id);
                return told(Success::DONE);
            }
            Request::RtcRun(ask) => {
                self.is_here(caller)?;
                self.engine.shown_rtc(caller, ask.rtc_id).await?;
                return told(self.run(ask.rtc_id).await?);
            }
            Request::FsList(ask) => return told(self.fs_list(caller, ask).await?),
            Request::FsRead(ask) => return told(self.fs_read(caller, ask).await?),
            Request::FsStat(ask) => return told(self.fs_stat(caller, ask).await?),
            Request::FsFind(ask) => return told(self.fs_find(caller, ask).await?),
            Request::FsWrite(ask) => return told(self.fs_write(caller, ask).await?),
            Request::SessionChanges(ask) => return told(self.session_changes(ask).await?),
            Request::SessionUndo(ask) => return told(self.session_undo(caller, ask).await?),
            Request::SessionRedo(ask) => return told(self.session_redo(caller, ask).await?),
            other => other,
        };
        self.is_trusted(caller, &request).await?;
        match self.engine.call(caller, request, self.defaults(caller)).await {
            Some(answer) => answer,
            None => {
                let told = format!("this version does not do `{method}` yet");
                Err(RpcError::new(Code::MethodNotFound, told))
            }
        }
    }

    fn list_tools(&self) -> Items<ToolEntry> {
        let entry = |tool: &Arc<dyn rtc_tool::ToolHandle>| {
            let about = tool.describe().clone();
            ToolEntry {
                name: about.name,
                description: about.description,
                kind: match tool.kind() {
                    Kind::Device => ToolKind::Device,
                    Kind::User => ToolKind::User,
                    Kind::Engine => ToolKind::Engine,
                },
                input_schema: about.input_schema,
            }
        };
        Items {
            items: self.tools.iter().map(entry).collect(),
        }
    }

    /// What is done here is done for this device only.
    fn is_here(&self, caller: &Caller) -> Result<(), RpcError> {
        if caller.device == self.device {
            return Ok(());
        }
        let told = "this is done on another device than the one that asks";
        Err(RpcError::new(Code::PermissionDenied, told))
    }

    /// The same at a start. A device that does not answer is asked again, after 1, 2, 4 … 30 s.
    pub(crate) async fn go_on_from_before(&self) {
        let mut wait = Duration::from_secs(1);
        while !self.go_on().await && !self.engine.has_ended() {
            tokio::time::sleep(wait).await;
            wait = (wait * 2).min(RETRY_MOST);
        }
    }

    /// Wakes what an earlier process left in the middle, or what waited for trust. Gives whether it is known what that is;
    /// else it is worth another try.
    pub(crate) async fn go_on(&self) -> bool {
        let wake = async {
            for (session, project) in self.engine.unfinished().await? {
                let is_free = match project {
                    Some(project) => self.trusts(project).await,
                    None => true,
                };
                if is_free && let Err(error) = self.engine.wake(session).await {
                    if error.code() == Code::ShuttingDown {
                        continue;
                    }
                    // It is alone with that: the others go on.
                    tracing::error!(%error, %session, "what was left in the middle does not go on");
                    self.engine.tell_trouble(session, error.code(), error.to_string());
                }
            }
            Ok::<_, rtc_engine::Error>(())
        };
        let Err(error) = wake.await else {
            return true;
        };
        tracing::error!(%error, "what was left in the middle does not go on");
        // What is damaged stays so.
        !matches!(error, rtc_engine::Error::Store(error) if matches!(*error, rtc_store::Error::Io { .. }))
    }

    /// Whether something may go on in a folder. Those of other devices are theirs to ask about.
    async fn trusts(&self, project: ProjectId) -> bool {
        let project = self.engine.project(project).await;
        !self.asks_trust || project.is_none_or(|project| project.device_id != self.device || project.trusted)
    }

    /// That the user trusts the folder in which a request begins something.
    async fn is_trusted(&self, caller: &Caller, request: &Request) -> Result<(), RpcError> {
        let (session, named) = match request {
            Request::MessageSend(ask) => (ask.server_session_id, ask.project_id),
            Request::SessionFork(ask) => (Some(ask.old_server_session_id), None),
            _ => return Ok(()),
        };
        let project = match session {
            Some(session) => self
                .engine
                .session(session)
                .await?
                .and_then(|found| found.entity.project_id),
            None => named.or(self.defaults(caller).project),
        };
        let Some(project) = project else {
            return Ok(());
        };
        if self.trusts(project).await {
            return Ok(());
        }
        let told = "the folder of the session is not trusted yet; say first that you trust it";
        Err(RpcError::new(Code::PermissionDenied, told))
    }

    /// That a project is one of the device that asks.
    async fn own_project(&self, caller: &Caller, project: ProjectId) -> Result<(), RpcError> {
        let known = self.engine.project(project).await;
        if known.is_some_and(|project| project.device_id == caller.device) {
            return Ok(());
        }
        let told = "the device that asks has no project with this id";
        Err(RpcError::new(Code::ProjectNotFound, told))
    }

    /// Runs a call by its id, or joins the run that is under way. What takes long is not waited for: it goes on, and its
    /// updates tell how it ends.
    async fn run(&self, rtc: RtcId) -> Result<Ran, RpcError> {
        let ended = tokio::time::timeout(RUN_TIME, self.executor.run(rtc)).await;
        let ended = ended
            .ok()
            .transpose()
            .map_err(|error| refused(error, Code::RtcInvalidState))?;
        let stored = self.engine.rtc(rtc).await?;
        let (entity, is_leased) = match stored {
            Some(stored) => (stored.entity, stored.private.lease.is_some()),
            None => {
                return Err(RpcError::new(
                    Code::RtcNotFound,
                    format!("there is no call {rtc}"),
                ));
            }
        };
        let approval = entity.approval.as_ref().map(|approval| approval.state);
        match ended {
            Some(RunEnded::Waits) if approval == Some(ApprovalState::Open) => Err(RpcError::new(
                Code::ApprovalRequired,
                "the call waits for the user's answer",
            )),
            Some(RunEnded::Waits) if entity.outcome == Some(OutcomeKnown::Unknown) => {
                let told = "the call was started and nobody knows how it ended; the user decides";
                Err(RpcError::new(Code::OutcomeUnknown, told))
            }
            Some(RunEnded::Waits) if is_leased => {
                let told = "an executor elsewhere has claimed the call";
                Err(RpcError::new(Code::RtcClaimed, told))
            }
            Some(RunEnded::Waits) if !entity.status.is_terminal() => Err(RpcError::new(
                Code::RtcInvalidState,
                "another call of the session is first",
            )),
            Some(RunEnded::Ended | RunEnded::Waits) | None => Ok(Ran {
                rtc_id: rtc,
                status: entity.status,
                digest: entity
                    .result
                    .map(|result| blake3::hash(result.to_string().as_bytes()).to_hex().to_string()),
            }),
        }
    }
}

/// What the engine did not take, by `otherwise` if it never will.
fn refused(error: PortError, otherwise: Code) -> RpcError {
    match error {
        PortError::Later { code, reason } => RpcError::new(code, reason),
        PortError::Never(reason) => RpcError::new(otherwise, reason),
    }
}

fn told<T: Serialize>(result: T) -> Result<Value, RpcError> {
    Reply::new(result).into_value()
}

/// Whether a token allows a method.
fn allows(caller: &Caller, method: Method) -> bool {
    method.scopes().iter().any(|scope| {
        caller.scopes.has(match scope {
            Scope::View => TokenScope::View,
            Scope::Converse => TokenScope::Converse,
            Scope::Approve => TokenScope::Approve,
            Scope::Execute => TokenScope::Execute,
        })
    })
}

#[async_trait]
impl Sources for Realtime {
    async fn source(&self, user: UserId) -> Option<Arc<dyn Source>> {
        (user == self.user).then(|| Arc::new(self.engine.clone()) as Arc<dyn Source>)
    }
}

#[async_trait]
impl Rpc for Realtime {
    async fn call(&self, caller: &Caller, method: &str, data: Value) -> Result<Value, RpcError> {
        let request = Request::parse(method, data)?;
        if caller.user != self.user || !allows(caller, request.method()) {
            let told = format!("the token does not allow `{method}`");
            return Err(RpcError::new(Code::PermissionDenied, told));
        }
        self.answer(caller, request).await
    }
}
