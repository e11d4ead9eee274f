//! A call's surroundings for the tests of the tools.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use rtc_fs::{PreImageFolder, Project};
use rtc_tool::{
    Access, CallContext, Extensions, Permit, Seen, ToolError, ToolHandle, Turn, Turns, terminal_of,
};
use rtc_types::{RtcId, SessionId};
use serde_json::Value;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

#[cfg(target_os = "linux")]
mod names;
#[cfg(target_os = "linux")]
mod odd_files;

/// A project folder with a session that works in it.
pub(crate) struct Workplace {
    pub(crate) folder: TempDir,
    /// Where displaced content goes.
    _data: TempDir,
    pub(crate) context: CallContext,
    pub(crate) surroundings: Arc<Surroundings>,
}

/// Records what a call tells its surroundings, and answers as the test says.
#[derive(Default)]
pub(crate) struct Surroundings {
    /// Paths that are refused, each with everything below it.
    pub(crate) refused: Mutex<Vec<String>>,
    /// What the permit was asked.
    pub(crate) asked: Mutex<Vec<(Access, String)>>,
    /// What the session knows of files.
    pub(crate) known: Mutex<HashMap<String, Value>>,
    /// Held by whoever has the turn.
    pub(crate) turn: Arc<tokio::sync::Mutex<()>>,
    /// How many turns were taken.
    pub(crate) turns: AtomicUsize,
}

impl Permit for Surroundings {
    fn check(&self, access: Access, path: &str) -> Result<(), ToolError> {
        self.asked.lock().unwrap().push((access, path.to_owned()));
        let refused = self.refused.lock().unwrap();
        if refused
            .iter()
            .any(|refused| path == refused || path.starts_with(&format!("{refused}/")))
        {
            return Err(ToolError::denied(format!("{path} needs a Yes")));
        }
        Ok(())
    }
}

#[async_trait]
impl Seen for Surroundings {
    async fn get(&self, path: &str) -> Result<Option<Value>, ToolError> {
        Ok(self.known.lock().unwrap().get(path).cloned())
    }

    fn note(&self, path: &str, known: Value) {
        let mut all = self.known.lock().unwrap();
        if known.is_null() {
            all.remove(path);
        } else {
            all.insert(path.to_owned(), known);
        }
    }
}

#[async_trait]
impl Turns for Surroundings {
    async fn take(&self) -> Result<Turn, ToolError> {
        let turn = self.turn.clone().lock_owned().await;
        self.turns.fetch_add(1, Ordering::SeqCst);
        Ok(Turn::new(turn))
    }
}

/// A workplace with these files.
pub(crate) fn workplace(files: &[(&str, &str)]) -> Workplace {
    let folder = TempDir::new().unwrap();
    for (path, content) in files {
        write(folder.path(), path, content.as_bytes());
    }
    let project = Project::open(folder.path()).unwrap();
    let data = TempDir::new().unwrap();
    let pre_images = PreImageFolder::open(data.path()).unwrap();
    let surroundings = Arc::new(Surroundings::default());
    let context = CallContext {
        session: SessionId::new(uuid::Uuid::from_u128(1)),
        rtc: RtcId::new(uuid::Uuid::from_u128(2)),
        attempt: 1,
        cancel: CancellationToken::new(),
        permit: surroundings.clone(),
        seen: surroundings.clone(),
        turns: surroundings.clone(),
        extensions: Extensions::default()
            .with(Arc::new(project))
            .with(Arc::new(pre_images)),
    };
    Workplace {
        folder,
        _data: data,
        context,
        surroundings,
    }
}

#[expect(clippy::disallowed_methods, reason = "tests lay out their own folders")]
pub(crate) fn write(root: &Path, path: &str, content: &[u8]) {
    let full = root.join(path);
    std::fs::create_dir_all(full.parent().unwrap()).unwrap();
    std::fs::write(full, content).unwrap();
}

#[expect(clippy::disallowed_methods, reason = "tests look at their own folders")]
pub(crate) fn content(root: &Path, path: &str) -> Vec<u8> {
    std::fs::read(root.join(path)).unwrap()
}

impl Workplace {
    /// Runs a whole call the way an executor does.
    pub(crate) async fn call(&self, tool: &Arc<dyn ToolHandle>, args: Value) -> Result<Value, ToolError> {
        let args = tool.check(args)?;
        tool.subject(&args)?;
        let prepared = tool.prepare(&self.context, &args).await?;
        terminal_of(tool.execute(self.context.clone(), args, prepared)).await
    }

    /// The text that a model reads of a call: its result or its error.
    pub(crate) async fn text(&self, tool: &Arc<dyn ToolHandle>, args: Value) -> String {
        match self.call(tool, args).await {
            Ok(result) => rtc_tool::model_text(&result),
            Err(error) => format!("{:?}: {error}", error.kind),
        }
    }
}
