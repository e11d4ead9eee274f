//! Where calls run: the project folder of each, and where it keeps what it displaces.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use async_trait::async_trait;
use rtc_fs::{PreImageFolder, Project};
use rtc_tool::{Extensions, ToolError};

/// What calls have around them, by the folder they run in.
#[async_trait]
pub trait Places: Send + Sync + 'static {
    /// For a call in this folder; `None`: in none that the user opened. Fails where the folder cannot be opened.
    async fn of(&self, root: Option<PathBuf>) -> Result<Place, ToolError>;
}

/// What calls in one folder have around them.
#[derive(Clone, Default)]
pub struct Place {
    /// What tools find in their context.
    pub extensions: Extensions,
    /// The virtual path of what no call may touch, whatever the user allows: the program's own data.
    pub own_data: Option<String>,
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
    /// `own_data` is the real path of the folder that holds the program's own data. Beneath it, `scratch` is for
    /// sessions without a project, and displaced content is kept in `pre-images`, which is made if it is not there.
    pub fn new(own_data: PathBuf) -> Result<Self, rtc_fs::Error> {
        Ok(Self {
            scratch: own_data.join("scratch"),
            pre_images: Arc::new(PreImageFolder::open(&own_data.join("pre-images"))?),
            own_data,
            open: Mutex::default(),
        })
    }

    /// Where the program's own data is in a project that holds it.
    fn own_data_in(&self, project: &Project) -> Option<String> {
        let inside = self.own_data.strip_prefix(project.real_root()).ok()?;
        let names = inside.components().map(|name| name.as_os_str().to_string_lossy());
        Some(names.fold(String::new(), |path, name| format!("{path}/{name}")))
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
    async fn of(&self, root: Option<PathBuf>) -> Result<Place, ToolError> {
        let project = self.project(root.unwrap_or_else(|| self.scratch.clone())).await?;
        let own_data = self.own_data_in(&project);
        let extensions = Extensions::default().with(project).with(self.pre_images.clone());
        Ok(Place { extensions, own_data })
    }
}
