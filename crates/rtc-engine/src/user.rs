//! The lane of the user: what sessions share. Rules that an approval makes are written by the session's own batch, which
//! requires the revision of the rules it saw, so that both lanes agree without waiting for one another.

use std::sync::Arc;

use rtc_store::{Batch, Entry, Expect, Revision, Store};
use rtc_types::{DeviceId, Mode, Project, ProjectId, Rule, Stamp};
use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;

use crate::apply::damage::still_hold;
use crate::fence::Fence;
use crate::stored::{decode, encode};
use crate::{Error, Keys};

/// How many projects or rules one read takes.
const PAGE: usize = 1_000;

/// A change of what sessions share.
#[derive(Debug, Clone)]
pub enum UserCommand {
    /// The user opened a folder.
    OpenProject {
        /// The device it is on.
        device: DeviceId,
        /// Its absolute path there.
        root: String,
        /// Whether opening it says that it is trusted; what was said before stays said.
        trusted: bool,
    },
    /// The user said whether what a project brings may be used.
    Trust {
        /// The project.
        project: ProjectId,
        /// Whether.
        trusted: bool,
    },
}

/// What sessions share.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct UserState {
    /// The folders that were opened.
    pub projects: Vec<Project>,
}

/// Applies a command: the project it is about, as it is now, and whether that is a change.
pub fn apply_user(state: &UserState, command: UserCommand, stamp: Stamp) -> Result<(Project, bool), Error> {
    match command {
        UserCommand::OpenProject {
            device,
            root,
            trusted,
        } => {
            let known = state
                .projects
                .iter()
                .find(|project| project.device_id == device && project.root == root);
            match known {
                // One that was opened last already stays as it is: nothing is written each time a program starts in it.
                Some(known) if is_last(&state.projects, known) && (known.trusted || !trusted) => {
                    Ok((known.clone(), false))
                }
                Some(known) => {
                    let opened_at = Some(stamp.now);
                    Ok((
                        Project {
                            opened_at,
                            trusted: known.trusted || trusted,
                            ..known.clone()
                        },
                        true,
                    ))
                }
                None => {
                    let id = ProjectId::new(stamp.mint().uuid());
                    Ok((
                        Project {
                            id,
                            device_id: device,
                            root,
                            trusted,
                            created_at: stamp.now,
                            opened_at: None,
                        },
                        true,
                    ))
                }
            }
        }
        UserCommand::Trust { project, trusted } => {
            let known = state
                .projects
                .iter()
                .find(|known| known.id == project)
                .ok_or_else(|| {
                    Error::refused(
                        rtc_types::Code::ProjectNotFound,
                        "there is no project with this id",
                    )
                })?;
            Ok((
                Project {
                    trusted,
                    ..known.clone()
                },
                known.trusted != trusted,
            ))
        }
    }
}

/// Whether no other project was opened after this one.
fn is_last(projects: &[Project], known: &Project) -> bool {
    let others = projects.iter().filter(|other| other.id != known.id);
    !{ others }.any(|other| other.last_opened() >= known.last_opened())
}

/// The rules as they are stored.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum StoredRules {
    Whole(Vec<Rule>),
    /// After damage: some may be lost.
    Rest {
        incomplete: Vec<Rule>,
    },
}

/// The rules with the revision that a batch which relied on them requires.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rules {
    rules: Vec<Rule>,
    revision: Option<Revision>,
    /// What stands in their place, where that is not all of them or cannot be read.
    damaged: Option<Vec<u8>>,
    /// Whether nothing of it can be read.
    unreadable: bool,
}

impl Rules {
    pub(crate) async fn load(store: &dyn Store, keys: Keys) -> Result<Self, Error> {
        let found = match store.get(&keys.rules()).await {
            // In a scan it is there without its content.
            Err(rtc_store::Error::Damaged { .. }) => {
                let page = store.scan(&keys.rules(), None, 1).await?;
                page.into_iter().next().map(|(_, entry)| entry)
            }
            found => found?,
        };
        let Some(Entry { value, revision }) = found else {
            return Ok(Self::default());
        };
        let revision = Some(revision);
        match decode(&value) {
            Ok(StoredRules::Whole(rules)) => Ok(Self {
                rules,
                revision,
                damaged: None,
                unreadable: false,
            }),
            Ok(StoredRules::Rest { incomplete }) => Ok(Self {
                rules: incomplete,
                revision,
                damaged: Some(value),
                unreadable: false,
            }),
            Err(error) => {
                tracing::error!(%error, "the permission rules cannot be read, so that everything is asked");
                Ok(Self {
                    rules: Vec::new(),
                    revision,
                    damaged: Some(value),
                    unreadable: true,
                })
            }
        }
    }

    /// Whether some of them may be lost.
    pub(crate) fn are_damaged(&self) -> bool {
        self.damaged.is_some()
    }

    /// What the user is told then.
    pub(crate) fn damaged() -> Error {
        let told = "the permission rules cannot be read, so that each change is asked about until an answer makes a new \
                    rule, with which they begin anew";
        Error::Unreadable(told.to_owned())
    }

    /// Those that concern a project.
    pub(crate) fn concerning(&self, project: Option<ProjectId>) -> Vec<Rule> {
        let concerns = |rule: &&Rule| rule.project_id.is_none() || rule.project_id == project;
        self.rules.iter().filter(concerns).cloned().collect()
    }

    pub(crate) fn require(&self, batch: &mut Batch, keys: Keys) {
        batch.require(
            keys.rules(),
            self.revision.map_or(Expect::Absent, Expect::Revision),
        );
    }

    /// Whether nothing of them can be read.
    pub(crate) fn are_unreadable(&self) -> bool {
        self.unreadable
    }

    fn keep_damaged(&self, batch: &mut Batch, keys: Keys) {
        if let (Some(kept), Some(revision)) = (&self.damaged, self.revision) {
            batch.put(keys.unreadable_rules(revision), kept.clone());
        }
    }

    /// Some of them may be lost: a refusal still holds, a Yes may have been taken back.
    pub(crate) fn doubt(&self, batch: &mut Batch, keys: Keys) {
        self.keep_damaged(batch, keys);
        let incomplete = still_hold(self.rules.clone());
        batch.put(keys.rules(), encode(&StoredRules::Rest { incomplete }));
    }

    /// Writes one more. What could not be read is kept elsewhere.
    pub(crate) fn add(&self, batch: &mut Batch, keys: Keys, rule: Rule) {
        self.keep_damaged(batch, keys);
        let mut rules = self.rules.clone();
        rules.push(rule);
        batch.put(keys.rules(), encode(&rules));
    }
}

/// The mode that is in force. A rule that is lost may have forbidden what a mode allows: then it is asked in the mode that
/// asks about everything which a rule can be made of.
pub(crate) fn mode_in_force(mode: Mode, rules_are_damaged: bool) -> Mode {
    match mode {
        Mode::Plan => Mode::Plan,
        _ if rules_are_damaged => Mode::Manual,
        other => other,
    }
}

/// Owns the user's projects.
pub(crate) struct UserLane {
    store: Arc<dyn Store>,
    keys: Keys,
    state: Mutex<(UserState, Fence)>,
    /// Projects whose records cannot be read.
    damaged: Vec<ProjectId>,
}

impl UserLane {
    pub(crate) async fn load(store: Arc<dyn Store>, keys: Keys) -> Result<Self, Error> {
        let (mut projects, mut damaged) = (Vec::new(), Vec::new());
        let mut after = None;
        loop {
            let page = store.scan(&keys.projects(), after.as_ref(), PAGE).await?;
            let Some((last, _)) = page.last() else { break };
            after = Some(last.clone());
            for (key, entry) in &page {
                match decode(&entry.value) {
                    Ok(project) => projects.push(project),
                    Err(error) => {
                        tracing::error!(%error, project = keys.name(key), "a record is left out");
                        damaged.extend(keys.project_of(key));
                    }
                }
            }
        }
        let fence = Fence::new(&*store, keys.user_lane()).await?;
        Ok(Self {
            store,
            keys,
            state: Mutex::new((UserState { projects }, fence)),
            damaged,
        })
    }

    pub(crate) async fn tell(&self, command: UserCommand, stamp: Stamp) -> Result<Project, Error> {
        let (state, fence) = &mut *self.state.lock().await;
        let (project, changed) = apply_user(state, command, stamp)?;
        if changed {
            let mut batch = Batch::new();
            batch.put(self.keys.project(project.id), encode(&project));
            fence.commit(&*self.store, batch).await?;
            state.projects.retain(|known| known.id != project.id);
            state.projects.push(project.clone());
        }
        Ok(project)
    }

    /// Whether the record of a project is there and cannot be read.
    pub(crate) fn is_damaged(&self, project: ProjectId) -> bool {
        self.damaged.contains(&project)
    }

    pub(crate) async fn projects(&self) -> Vec<Project> {
        let mut projects = self.state.lock().await.0.projects.clone();
        projects.sort_by(|a, b| a.created_at.cmp(&b.created_at).then(a.id.cmp(&b.id)));
        projects
    }

    pub(crate) async fn project(&self, id: ProjectId) -> Option<Project> {
        self.state
            .lock()
            .await
            .0
            .projects
            .iter()
            .find(|project| project.id == id)
            .cloned()
    }
}
