//! What can be said of a script that was running when its process died.

use std::collections::BTreeMap;
use std::sync::Arc;

use rtc_fs::{PreImage, PreImageFolder, Project, There};
use rtc_tool::CallContext;
use rtc_types::{RtcId, SessionId};
use tokio_util::sync::CancellationToken;

/// How much of what it printed is told, in bytes; the end of it.
const TOLD_PRINTED_BYTES: u64 = 2_000;

/// How many of the files that it changed are named.
const TOLD_FILES: usize = 50;

/// Tidies up after the start `attempt` of it: the temporary file of a change that was cut short goes. Says which files it changed, how they are
/// now, and what it printed, as far as that is known.
pub(crate) async fn evidence(context: &CallContext, attempt: u32) -> String {
    const UNKNOWN: &str = "What it printed and returned is not known.";
    let Some(kept) = context.extensions.get::<PreImageFolder>() else {
        return format!("Whether it changed files is not known. {UNKNOWN}");
    };
    let project = context.extensions.get::<Project>();
    let (session, cancel) = (context.session, context.cancel.clone());
    let start = Start {
        rtc: context.rtc,
        attempt,
    };
    let looked = tokio::task::spawn_blocking(move || {
        if let Some(project) = &project {
            tidy(&kept, project, start, &cancel);
        }
        (changed(&kept, project, start), printed(&kept, session, start))
    })
    .await;
    match looked {
        Ok((changed, Some(printed))) => {
            format!("{changed} It had printed “{printed}”. What it returned is not known.")
        }
        Ok((changed, None)) => format!("{changed} {UNKNOWN}"),
        Err(error) => format!("Which files it changed cannot be said: {error}. {UNKNOWN}"),
    }
}

/// One start of a call.
#[derive(Clone, Copy)]
struct Start {
    rtc: RtcId,
    attempt: u32,
}

impl Start {
    /// The numbers of what it kept.
    fn images(self, kept: &PreImageFolder) -> Result<Vec<u32>, rtc_fs::Error> {
        kept.list_of(self.rtc, self.attempt)
    }
}

/// A script makes one change after the other, so only the last one can have been cut short. What cannot be tidied up
/// stays: the evidence is told either way.
fn tidy(kept: &PreImageFolder, project: &Project, start: Start, cancel: &CancellationToken) {
    let last = start
        .images(kept)
        .ok()
        .and_then(|numbers| numbers.last().copied());
    if let Some(image) = last.and_then(|last| kept.load(start.rtc, last).ok()) {
        let _ = project.recover_kept(&image, &start.rtc.to_string(), cancel);
    }
}

fn printed(kept: &PreImageFolder, session: SessionId, start: Start) -> Option<String> {
    let printed = kept
        .printed(session, start.rtc, start.attempt, TOLD_PRINTED_BYTES)
        .ok()??;
    let printed = printed.trim_end().replace('\n', " ⏎ ");
    Some(printed).filter(|printed| !printed.is_empty())
}

fn changed(kept: &PreImageFolder, project: Option<Arc<Project>>, start: Start) -> String {
    // Of each file the last change counts.
    let last = || -> Result<BTreeMap<_, _>, rtc_fs::Error> {
        let images = start.images(kept)?.into_iter().map(|number| {
            let image = kept.load(start.rtc, number)?;
            Ok((image.path.clone(), image))
        });
        images.collect()
    };
    match last() {
        Ok(last) if last.is_empty() => "It had changed no file by then; it may have made folders.".to_owned(),
        Ok(last) => {
            let states = last
                .values()
                .map(|image| format!("`{}` ({})", image.path, state(image, project.as_deref())));
            let mut states: Vec<String> = states.take(TOLD_FILES).collect();
            if last.len() > TOLD_FILES {
                states.push(format!("{} more", last.len() - TOLD_FILES));
            }
            format!(
                "By then it was about to change, or had changed: {}.",
                states.join(", ")
            )
        }
        Err(error) => format!("Which files it changed cannot be said: {error}."),
    }
}

/// How a file or folder that it changed is now.
fn state(image: &PreImage, project: Option<&Project>) -> &'static str {
    let Some(project) = project else {
        return "cannot be read now";
    };
    match project.there(&image.path, &CancellationToken::new()) {
        Ok(There::Nothing) if image.after.is(There::Nothing) && image.before.is_some() => "removed",
        Ok(now) if image.after.is(now) => "as it left it",
        Ok(There::Nothing) if image.before == There::Nothing => "not made yet",
        Ok(now) if image.before.is(now) => "not changed yet",
        Ok(There::Nothing) => "removed since",
        Ok(_) => "changed again since",
        Err(_) => "cannot be read now",
    }
}
