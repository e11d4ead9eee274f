//! What is told of the files that a client looks at.

use std::sync::{Arc, Weak};
use std::time::Duration;

use rtc_engine::Engine;
use rtc_fs::{Happened, VPath, Watch};
use rtc_wire::{FileChange, FileChanged};
use tokio::sync::mpsc;

use super::files::Files;

/// How long changes are collected before they are told: a build or a checkout changes many files at a time.
const COLLECTED_FOR: Duration = Duration::from_millis(100);

/// Watches what clients look at, and tells them of it, until the last of them is gone.
pub(crate) fn watch(engine: Engine) -> Arc<Watch> {
    // One is enough: whoever takes the changes takes them all.
    let (tell, told) = mpsc::channel(1);
    let watch = Arc::new(Watch::new(move || {
        let _ = tell.try_send(());
    }));
    tokio::spawn(tell_changes(engine, Arc::downgrade(&watch), told));
    watch
}

async fn tell_changes(engine: Engine, watch: Weak<Watch>, mut told: mpsc::Receiver<()>) {
    while told.recv().await.is_some() {
        tokio::time::sleep(COLLECTED_FOR).await;
        let Some(watch) = watch.upgrade() else { return };
        let Ok(changes) = tokio::task::spawn_blocking(move || watch.take()).await else {
            continue;
        };
        for changed in changes {
            engine.tell_file(FileChanged {
                project_id: changed.project,
                path: changed.path.as_str().to_owned(),
                change: match changed.happened {
                    Happened::Created => FileChange::Created,
                    Happened::Changed => FileChange::Changed,
                    Happened::Removed => FileChange::Removed,
                },
            });
        }
    }
}

impl Files {
    /// Watches a folder that a client has just seen. That it cannot be watched is no trouble of whoever looks at it.
    pub(super) fn look(&self, watch: &Watch, folder: &VPath) {
        if !watch.look(self.id, &self.project, folder).unwrap_or_default() {
            tracing::debug!(%folder, "the folder is not watched");
        }
    }
}
