//! A project folder with a session and the script tool.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures::StreamExt;
use rtc_fs::{PreImageFolder, Project};
use rtc_script::{Script, Workers};
use rtc_tool::{
    Access, CallContext, Extensions, Permit, Progress, Seen, ToolError, ToolHandle, ToolStreamItem, Turn,
    Turns, handle, model_text,
};
use rtc_types::{RtcId, SessionId};
use serde_json::Value;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

/// Time to end by itself that is enough on any machine, so that it is the worker that tells how a script ended.
pub(crate) const PATIENT: Duration = Duration::from_secs(20);

pub(crate) struct Place {
    pub(crate) folder: TempDir,
    _data: TempDir,
    pub(crate) script: Arc<dyn ToolHandle>,
    pub(crate) context: CallContext,
    pub(crate) surroundings: Arc<Surroundings>,
}

/// What a session knows of files, and what is refused.
#[derive(Default)]
pub(crate) struct Surroundings {
    known: Mutex<HashMap<String, Value>>,
    pub(crate) refused: Mutex<Vec<String>>,
    /// Held by whoever has the turn.
    pub(crate) turn: Arc<tokio::sync::Mutex<()>>,
}

impl Permit for Surroundings {
    fn check(&self, access: Access, path: &str) -> Result<(), ToolError> {
        let refused = self.refused.lock().unwrap();
        match refused.iter().any(|refused| path == refused) && access != Access::Read {
            true => Err(ToolError::denied(format!("{path} needs a Yes"))),
            false => Ok(()),
        }
    }
}

#[async_trait]
impl Seen for Surroundings {
    async fn get(&self, path: &str) -> Result<Option<Value>, ToolError> {
        let known = self.known.lock().unwrap().get(path).cloned();
        Ok(known.filter(|known| !known.is_null()))
    }

    fn note(&self, path: &str, known: Value) {
        self.known.lock().unwrap().insert(path.to_owned(), known);
    }
}

#[async_trait]
impl Turns for Surroundings {
    async fn take(&self) -> Result<Turn, ToolError> {
        Ok(Turn::new(self.turn.clone().lock_owned().await))
    }
}

/// The program of the worker: the example that is built beside the tests.
pub(crate) fn program() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let built = tests.parent().and_then(std::path::Path::parent).unwrap();
    let program = built
        .join("examples")
        .join("worker")
        .with_extension(std::env::consts::EXE_EXTENSION);
    assert!(
        program.exists(),
        "{} is not built: run the tests of the whole package",
        program.display()
    );
    program
}

pub(crate) fn place_with_grace(files: &[(&str, &str)], grace: Duration) -> Place {
    let folder = TempDir::new().unwrap();
    for (path, content) in files {
        write(&folder, path, content);
    }
    let project = Project::open(folder.path()).unwrap();
    let data = TempDir::new().unwrap();
    let pre_images = PreImageFolder::open(data.path()).unwrap();
    let surroundings = Arc::new(Surroundings::default());
    let context = CallContext {
        session: SessionId::new(Uuid::from_u128(1)),
        rtc: RtcId::new(Uuid::from_u128(2)),
        attempt: 1,
        cancel: CancellationToken::new(),
        permit: surroundings.clone(),
        seen: surroundings.clone(),
        turns: surroundings.clone(),
        extensions: Extensions::default()
            .with(Arc::new(project))
            .with(Arc::new(pre_images)),
    };
    Place {
        folder,
        _data: data,
        script: handle(Script::new(Workers::new(program())).with_grace(grace)),
        context,
        surroundings,
    }
}

pub(crate) fn place(files: &[(&str, &str)]) -> Place {
    place_with_grace(files, PATIENT)
}

#[expect(clippy::disallowed_methods, reason = "tests lay out their own folders")]
pub(crate) fn write(folder: &TempDir, path: &str, content: &str) {
    let full = folder.path().join(path);
    std::fs::create_dir_all(full.parent().unwrap()).unwrap();
    std::fs::write(full, content).unwrap();
}

#[expect(clippy::disallowed_methods, reason = "tests look at their own folders")]
pub(crate) fn content(folder: &TempDir, path: &str) -> Option<String> {
    std::fs::read_to_string(folder.path().join(path)).ok()
}

impl Place {
    /// Runs a whole call the way an executor does; `seen` is told each line of progress.
    pub(crate) async fn call_telling(
        &self,
        args: Value,
        mut seen: impl FnMut(&str),
    ) -> Result<Value, ToolError> {
        let args = self.script.check(args)?;
        self.script.subject(&args)?;
        let prepared = self.script.prepare(&self.context, &args).await?;
        let mut stream = self.script.execute(self.context.clone(), args, prepared);
        loop {
            match stream.next().await.unwrap() {
                ToolStreamItem::Progress(Progress::Text { text }) => seen(&text),
                ToolStreamItem::Progress(other) => panic!("{other:?}"),
                ToolStreamItem::Terminal(result) => return result,
            }
        }
    }

    pub(crate) async fn call(&self, args: Value) -> Result<Value, ToolError> {
        self.call_telling(args, |_| {}).await
    }

    /// What the model reads of a call.
    pub(crate) async fn text(&self, args: Value) -> String {
        match self.call(args).await {
            Ok(mut result) => {
                if let Some(fields) = result.as_object_mut() {
                    fields.remove("duration_ms");
                }
                model_text(&result)
            }
            Err(error) => format!("{:?}: {error}", error.kind),
        }
    }
}
