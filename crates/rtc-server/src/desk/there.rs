//! An engine that runs in another process, and how it is found.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result};
use rtc_app::Instance;
use rtc_types::{ClientId, Project, SessionId};
use rtc_wire::rpc::{Call, MAX_MESSAGE, MessageSend, ModelsList, ProjectOpen, Text, UserContent};
use tokio::time::{Instant, sleep};

use super::link::{Link, NotReached};
use super::{Error, NewMessage, Wanted};
use crate::args::AppArgs;
use crate::exit::UsageError;

/// How long an engine is looked for whose connection broke off: as long as starting it again may take.
const RETURN_TIME: Duration = Duration::from_secs(10);

/// How often it is looked for.
const RETURN_EVERY: Duration = Duration::from_millis(100);

/// An engine in another process.
pub(crate) struct There {
    data: Option<PathBuf>,
    /// The connection in use. Another one takes its place when it has broken off.
    link: Mutex<Arc<Link>>,
}

impl There {
    /// The engine that runs on the data folder, if one does. What it cannot do as it is wanted is refused, never left
    /// out in silence.
    pub(crate) async fn find(app: &AppArgs, wanted: &Wanted) -> Result<Option<Self>> {
        let Some(instance) = Instance::find(app.data.clone()).await? else {
            return Ok(None);
        };
        let runs = format!("an engine runs on this data folder (process {})", instance.pid);
        let refused = |why: &str| Err(UsageError(format!("{runs}{why}")).into());
        if app.config.is_some() {
            return refused(" with a configuration of its own; leave out --config, or stop it first");
        }
        if wanted.max_rounds.is_some() {
            return refused(", and takes no limit from here; leave out --max-rounds, or stop it first");
        }
        let link = match Link::connect(&instance).await {
            Ok(link) => link,
            Err(NotReached::Denied) => {
                return refused(
                    " and does not take the token of its own instance.json: it was taken back, or is too old; start \
                     `rtc-headless serve` again",
                );
            }
            Err(NotReached::Silent(reason)) => {
                let at = &instance.address;
                return refused(&format!(
                    " and does not answer at {at} ({reason}); try again, or stop it"
                ));
            }
        };
        let there = Self {
            data: app.data.clone(),
            link: Mutex::new(Arc::new(link)),
        };
        if let Some(model) = &wanted.model {
            let models = there.call(ModelsList {}).await?.items;
            let answers = models
                .into_iter()
                .find(|entry| entry.default)
                .map(|entry| entry.name);
            if answers.as_ref() != Some(model) {
                let answers = answers.unwrap_or_default();
                return refused(&format!(
                    ", and there `{answers}` answers, not `{model}`; leave out --model and RTC_MODEL, or stop it and \
                     start it with that model"
                ));
            }
        }
        Ok(Some(there))
    }

    /// The connection in use.
    pub(super) fn link(&self) -> Arc<Link> {
        self.link.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) async fn call<C: Call>(&self, request: C) -> Result<C::Result> {
        self.link().call(request).await
    }

    pub(super) async fn send(&self, message: NewMessage) -> Result<SessionId> {
        if message.text.len() > MAX_MESSAGE {
            return Err(UsageError(format!(
                "the prompt has {} bytes, and a running engine takes {MAX_MESSAGE} at most; put it into a file of the \
                 folder and name that, or stop the engine first",
                message.text.len()
            ))
            .into());
        }
        let client_session_id = match message.session {
            Some(session) => ClientId::new(session.to_string()).context("a UUID is a client id")?,
            // There is one message that makes the session, so that its id is as good for both.
            None => message.client_id.clone(),
        };
        let sent = self.call(MessageSend {
            content_data: UserContent::Text(message.text),
            client_session_id,
            client_id: message.client_id,
            server_session_id: message.session,
            agent_prompt: None,
            project_id: message.project,
            mode: message.mode,
        });
        Ok(sent.await?.session_id)
    }

    pub(super) async fn open_project(&self, root: &Path) -> Result<Project> {
        let wrong =
            |why: String| UsageError(format!("the folder {} cannot be opened: {why}", root.display()));
        let absolute = std::path::absolute(root).map_err(|error| wrong(error.to_string()))?;
        let Some(absolute) = absolute.to_str() else {
            return Err(rtc_app::Error::NotUnicode(root.to_owned()).into());
        };
        let path = Text::new(absolute).map_err(wrong)?;
        Ok(self.call(ProjectOpen { path }).await?.item)
    }

    /// Looks for the engine again, and connects.
    pub(super) async fn come_back(&self) -> Result<()> {
        let user = self.link().user();
        let until = Instant::now() + RETURN_TIME;
        while Instant::now() < until {
            if let Some(instance) = Instance::find(self.data.clone()).await?
                && let Ok(link) = Link::connect(&instance).await
                && link.user() == user
            {
                *self.link.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(link);
                return Ok(());
            }
            sleep(RETURN_EVERY).await;
        }
        Err(Error::Gone.into())
    }
}
