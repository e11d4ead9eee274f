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
            tokio::task::spawn_blocking(move || {
                let project = match own_data {
                    Some(own_data) => Project::open_apart(&root, &own_data),
                    None => Project::open(&root),
                };
                project.map(|project| project.with_users_excludes(rtc_fs::users_excludes()))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_does_not_open_is_given_up_after_its_time() {
        // The one thread on which folders are opened is held, as by a drive that does not answer.
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .max_blocking_threads(1)
            .build()
            .unwrap();
        let data = tempfile::tempdir().unwrap();
        let root = tempfile::tempdir().unwrap();
        let folders = Arc::new(Folders::new(data.path().to_owned()).unwrap());
        runtime.block_on(async {
            let (answers, silence) = std::sync::mpsc::channel::<()>();
            let drive = tokio::task::spawn_blocking(move || silence.recv());
            let opening = {
                let (folders, root) = (folders.clone(), root.path().to_owned());
                tokio::spawn(async move { folders.of(Some(root)).await })
            };
            tokio::task::yield_now().await;
            tokio::time::advance(OPENING - Duration::from_millis(1)).await;
            tokio::task::yield_now().await;
            assert!(!opening.is_finished(), "it has its time");
            tokio::time::advance(Duration::from_millis(2)).await;
            tokio::task::yield_now().await;
            assert!(opening.is_finished(), "and no more");
            let error = opening.await.unwrap().err().expect("it did not open");
            assert_eq!(error.kind, ErrorKind::Timeout, "{error}");

            // The drive answers again, and nothing is left of it.
            drop(answers);
            assert!(drive.await.unwrap().is_err());
            assert!(folders.of(Some(root.path().to_owned())).await.is_ok());
        });
    }
}
