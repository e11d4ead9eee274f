//! Where calls run: the project folder of each, and where it keeps what it displaces.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use async_trait::async_trait;
use rtc_fs::{PreImageFolder, Project};
use rtc_tool::{ErrorKind, Extensions, ToolError};

/// How long a folder may take to open: one on a drive of the network that does not answer may never do.
const OPENING: Duration = Duration::from_secs(60);

/// What calls have around them, by the folder they run in.
#[async_trait]
pub trait Places: Send + Sync + 'static {
    /// For a call in this folder; `None`: in none that the user opened. Fails where the folder cannot be opened.
    async fn of(&self, root: Option<PathBuf>) -> Result<Extensions, ToolError>;
}

/// Folders of this machine.
pub struct Folders {
    scratch: PathBuf,
    own_data: PathBuf,
    pre_images: Arc<PreImageFolder>,
    /// A folder is opened once while somebody uses it.
    open: Mutex<HashMap<PathBuf, Weak<Project>>>,
}

impl Folders {
    /// `own_data` is the folder that holds the program's own data, out of reach of every call. Beneath it, `scratch` is for
    /// sessions without a project, and displaced content is kept in `pre-images`, which is made if it is not there.
    pub fn new(own_data: PathBuf) -> Result<Self, rtc_fs::Error> {
        Ok(Self {
            scratch: own_data.join("scratch"),
            pre_images: Arc::new(PreImageFolder::open(&own_data.join("pre-images"))?),
            own_data,
            open: Mutex::default(),
        })
    }

    async fn project(&self, root: Option<PathBuf>) -> Result<Arc<Project>, ToolError> {
        let own_data = root.is_some().then(|| self.own_data.clone());
        let root = root.unwrap_or_else(|| self.scratch.clone());
        if let Some(open) = self.lock().get(&root).and_then(Weak::upgrade) {
            return Ok(open);
        }
        let opening = {
            let root = root.clone();
            tokio::task::spawn_blocking(move || match own_data {
                Some(own_data) => Project::open_apart(&root, &own_data),
                None => Project::open(&root),
            })
        };
        let project = match tokio::time::timeout(OPENING, opening).await {
            Ok(Ok(Ok(project))) => Arc::new(project),
            Ok(Ok(Err(error))) => return Err(ToolError::execution(error.to_string())),
            Ok(Err(_)) => return Err(ToolError::execution("the project folder could not be opened")),
            Err(_) => {
                let why = format!("the project folder did not open within {} s", OPENING.as_secs());
                return Err(ToolError::new(ErrorKind::Timeout, why));
            }
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
        Ok(Extensions::default()
            .with(self.project(root).await?)
            .with(self.pre_images.clone()))
    }
}
