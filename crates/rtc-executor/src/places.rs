//! Where calls run: the project folder of each, and where it keeps what it displaces.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use async_trait::async_trait;
use rtc_fs::{PreImageFolder, Project};
use rtc_tool::{Extensions, ToolError};

/// What calls have around them, by the folder they run in.
#[async_trait]
pub trait Places: Send + Sync + 'static {
    /// For a call in this folder; `None`: in none that the user opened. Fails where the folder cannot be opened.
    async fn of(&self, root: Option<PathBuf>) -> Result<Extensions, ToolError>;
}

/// Folders of this machine.
pub struct Folders {
    scratch: PathBuf,
    pre_images: Arc<PreImageFolder>,
    /// A folder is opened once while somebody uses it.
    open: Mutex<HashMap<PathBuf, Weak<Project>>>,
}

impl Folders {
    /// `scratch` is for sessions without a project; displaced content is kept in `pre_images`, which is made if it is
    /// not there.
    pub fn new(scratch: PathBuf, pre_images: &Path) -> Result<Self, rtc_fs::Error> {
        Ok(Self {
            scratch,
            pre_images: Arc::new(PreImageFolder::open(pre_images)?),
            open: Mutex::default(),
        })
    }

    async fn project(&self, root: PathBuf) -> Result<Arc<Project>, ToolError> {
        if let Some(open) = self.lock().get(&root).and_then(Weak::upgrade) {
            return Ok(open);
        }
        let opened = {
            let root = root.clone();
            tokio::task::spawn_blocking(move || Project::open(&root)).await
        };
        let project = match opened {
            Ok(Ok(project)) => Arc::new(project),
            Ok(Err(error)) => return Err(ToolError::execution(error.to_string())),
            Err(_) => return Err(ToolError::execution("the project folder could not be opened")),
        };
        self.lock().insert(root, Arc::downgrade(&project));
        Ok(project)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<PathBuf, Weak<Project>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Places for Folders {
    async fn of(&self, root: Option<PathBuf>) -> Result<Extensions, ToolError> {
        let project = self.project(root.unwrap_or_else(|| self.scratch.clone())).await?;
        Ok(Extensions::default()
            .with(project)
            .with(self.pre_images.clone()))
    }
}
