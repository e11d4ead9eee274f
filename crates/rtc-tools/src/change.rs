//! What `write` and `edit` have in common: a plan, the look at what the session knows, the change, its recovery.

use rtc_fs::{Applied, Before, Error, Mark, Planned, Project, Recovery as Found, VPath};
use rtc_tool::{Access, CallContext, ErrorKind, Prepared, Recovery, ToolError};
use rtc_types::{Approval, ApprovalDecision, Preview, PreviewKind};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::files;
use crate::keeping::Keeping;
use crate::known::{Known, Need, Present};
use crate::read;

/// Lines of the present content that are told when a session does not know it.
const TOLD_LINES: usize = 40;

/// Bytes of them.
const TOLD_BYTES: usize = 4000;

/// What a call changes, before it is worked out.
pub(crate) trait Change: Clone + Send + 'static {
    /// The result of the call.
    type Output: Serialize + DeserializeOwned + Send + 'static;

    /// The path as it was written.
    fn path(&self) -> &str;

    /// How much of an existing file the session must know.
    fn need(&self) -> Need;

    /// Works it out. `tag` names the call.
    fn plan(
        &self,
        project: &Project,
        path: &VPath,
        tag: &str,
        cancel: &CancellationToken,
    ) -> Result<Planned, Error>;

    /// What the call will give, once the plan is carried out.
    fn output(&self, planned: &Planned) -> Self::Output;

    /// Whether the session knows the whole file afterwards.
    fn knows_all(&self, knew_all: bool) -> bool;
}

/// The durable mark of a change: what recovery needs, and the result that it then gives.
#[derive(Serialize, Deserialize)]
struct Marked {
    file: Mark,
    knows_all: bool,
    result: Value,
}

/// What `execute` goes on with.
struct Work {
    planned: Planned,
    knows_all: bool,
    result: Value,
}

/// How far planning came.
struct Outlook {
    path: VPath,
    /// What is there now, if it is a file.
    present: Option<Present>,
    planned: Result<Planned, ToolError>,
}

/// Works out a change without a look at what the session knows.
async fn outlook<C: Change>(context: &CallContext, change: &C) -> Result<Outlook, ToolError> {
    let path = files::path(change.path())?;
    let project = files::project(context)?;
    let permit = context.permit.clone();
    let (change, tag) = (change.clone(), context.rtc.to_string());
    files::blocking(context, move |cancel| {
        // Permitted before anything of it is read.
        let place = project.resolve_new(&path).map_err(files::tool_error)?;
        permit.check(Access::Write, place.path.as_str())?;
        let planned = match change.plan(&project, &path, &tag, cancel) {
            Ok(planned) => planned,
            Err(error @ (Error::NoMatch { .. } | Error::Ambiguous { .. })) => {
                // That the session does not know the content is the better reason, where it is one.
                let contents = project
                    .read_bytes(&place.path, rtc_fs::MAX_CHANGED_BYTES, cancel)
                    .map_err(files::tool_error)?;
                let present = Present {
                    hash: contents.hash,
                    identity: contents.identity,
                };
                let planned = Err(files::tool_error(error));
                return Ok(Outlook {
                    path: place.path,
                    present: Some(present),
                    planned,
                });
            }
            Err(error) => return Err(files::tool_error(error)),
        };
        if *planned.path() != place.path {
            permit.check(Access::Write, planned.path().as_str())?;
        }
        let present = match planned.mark().before {
            Before::Absent => None,
            Before::Present { hash, identity } => Some(Present { hash, identity }),
        };
        Ok(Outlook {
            path: planned.path().clone(),
            present,
            planned: Ok(planned),
        })
    })
    .await
}

/// What an approval shows: the diff with nothing left out, or words.
pub(crate) async fn preview<C: Change>(
    context: &CallContext,
    change: &C,
) -> Result<Option<Preview>, ToolError> {
    let Outlook { path, planned, .. } = outlook(context, change).await?;
    let (kind, text) = match planned {
        Ok(planned) => match planned.whole_diff() {
            Some(diff) => (PreviewKind::Diff, diff.into_owned()),
            None => (PreviewKind::Text, planned.diff().to_owned()),
        },
        Err(error) => (PreviewKind::Text, error.message),
    };
    Ok(Some(Preview {
        kind,
        text,
        paths: vec![path.as_str().to_owned()],
        program: None,
    }))
}

/// Fails if the user was shown another change than the one that would be made by now, and said Yes to that one alone.
fn is_as_approved(context: &CallContext, planned: &Planned) -> Result<(), ToolError> {
    let shown = context.extensions.get::<Preview>();
    let approval = context.extensions.get::<Approval>();
    let (Some(shown), Some(approval)) = (shown, approval) else {
        return Ok(());
    };
    let is_for_this_alone = approval.decision == Some(ApprovalDecision::Once);
    if !is_for_this_alone || shown.kind != PreviewKind::Diff {
        return Ok(());
    }
    let is_same = planned
        .whole_diff()
        .is_some_and(|diff| changed_lines(&diff).eq(changed_lines(&shown.text)));
    if is_same {
        return Ok(());
    }
    Err(ToolError::new(
        ErrorKind::Stale,
        format!(
            "`{}` has changed since the user was asked, so the call would change something else than what was approved; \
             nothing was changed. Look at the file and call again",
            planned.path()
        ),
    ))
}

/// What a diff removes and adds: where that is may have moved meanwhile.
fn changed_lines(diff: &str) -> impl Iterator<Item = &str> {
    // The first two lines name the file.
    diff.lines()
        .skip(2)
        .filter(|line| line.starts_with(['-', '+', '\\']))
}

/// Everything but the effect.
pub(crate) async fn prepare<C: Change>(context: &CallContext, change: &C) -> Result<Prepared, ToolError> {
    let Outlook {
        path,
        present,
        planned,
    } = outlook(context, change).await?;
    let known = Known::get(context, &path).await?;
    if let Some(present) = present
        && let Err(mut error) = Known::permits(known.as_ref(), &path, &present, change.need())
    {
        if known
            .as_ref()
            .is_some_and(|known| !known.is_of(Some(present.hash), &present.identity))
        {
            error.message.push_str(&what_is_there(context, path).await);
        }
        return Err(error);
    }
    let planned = planned?;
    is_as_approved(context, &planned)?;
    let knows_all = change.knows_all(present.is_none() || known.is_some_and(|known| known.complete));
    let result = encoded(&change.output(&planned))?;
    let marked = Marked {
        file: planned.mark().clone(),
        knows_all,
        result: result.clone(),
    };
    Ok(Prepared {
        mark: encoded(&marked)?,
        plan: Box::new(Work {
            planned,
            knows_all,
            result,
        }),
    })
}

/// The beginning of a file that the session knows otherwise.
async fn what_is_there(context: &CallContext, path: VPath) -> String {
    let Ok(project) = files::project(context) else {
        return String::new();
    };
    // A Yes to writing it is none to showing it.
    if context.permit.check(Access::Read, path.as_str()).is_err() {
        return String::new();
    }
    let told = files::blocking(context, move |cancel| {
        let mut window = project
            .read_window(&path, 1, TOLD_LINES, cancel)
            .map_err(files::tool_error)?;
        let mut bytes = 0;
        let fitting = window.lines.iter().take_while(|line| {
            bytes += line.text.len();
            bytes <= TOLD_BYTES
        });
        let count = fitting.count().max(1);
        window.truncate(count);
        Ok(read::shown(&mut window))
    });
    match told.await {
        Ok(text) => format!(". It now is:\n{text}"),
        Err(_) => String::new(),
    }
}

/// Carries out what was prepared.
pub(crate) async fn execute<C: Change>(
    context: CallContext,
    change: C,
    prepared: Option<Prepared>,
) -> Result<C::Output, ToolError> {
    execute_telling(context, change, prepared, |_| {}).await
}

/// The same, and tells `made` the path as soon as the change is made: an error may still follow.
pub(crate) async fn execute_telling<C: Change>(
    context: CallContext,
    change: C,
    prepared: Option<Prepared>,
    made: impl FnMut(&VPath) + Send + 'static,
) -> Result<C::Output, ToolError> {
    let prepared = match prepared {
        Some(prepared) => prepared,
        None => prepare(&context, &change).await?,
    };
    let lost = || ToolError::execution("what was prepared belongs to another tool; nothing was changed");
    let work = prepared.plan.downcast::<Work>().map_err(|_| lost())?;
    let Work {
        planned,
        knows_all,
        result,
    } = *work;
    let project = files::project(&context)?;
    let mut keeping = Keeping::new(&context, made)?;
    let applied = files::blocking(&context, move |cancel| {
        project
            .apply(planned, &mut keeping, cancel)
            .map_err(files::tool_error)
    })
    .await?;
    let Applied {
        path, hash, identity, ..
    } = applied;
    Known {
        hash: Some(hash),
        identity,
        complete: knows_all,
        lines: Vec::new(),
    }
    .note(&context, &path);
    serde_json::from_value(result).map_err(|error| ToolError::execution(error.to_string()))
}

/// What became of a change that was started with this mark.
pub(crate) async fn recover(context: &CallContext, mark: &Value) -> Result<Recovery, ToolError> {
    let Ok(marked) = serde_json::from_value::<Marked>(mark.clone()) else {
        return Ok(Recovery::Neither("Its mark cannot be read.".to_owned()));
    };
    let Marked {
        file,
        knows_all,
        result,
    } = marked;
    let project = files::project(context)?;
    let path = file.path.clone();
    let (found, stat) = files::blocking(context, move |cancel| {
        let found = project.recover(&file, cancel).map_err(files::tool_error)?;
        Ok((
            found,
            project
                .stat(&file.path)
                .ok()
                .map(|stat| (file.intended, stat.identity)),
        ))
    })
    .await?;
    Ok(match found {
        Found::Applied => {
            if let Some((hash, identity)) = stat {
                Known {
                    hash: Some(hash),
                    identity,
                    complete: knows_all,
                    lines: Vec::new(),
                }
                .note(context, &path);
            }
            Recovery::Applied(result)
        }
        Found::NotApplied => Recovery::NotApplied,
        Found::Neither => Recovery::Neither(match stat {
            Some(_) => {
                format!("`{path}` has neither the content that it had before nor the one that it should get.")
            }
            None => format!("`{path}` does not exist any more."),
        }),
    })
}

fn encoded(value: &impl Serialize) -> Result<Value, ToolError> {
    serde_json::to_value(value).map_err(|error| ToolError::execution(error.to_string()))
}
