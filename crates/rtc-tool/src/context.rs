//! What a call has around it.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use rtc_types::{RtcId, SessionId};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::{Access, ToolError};

/// What a call has around it. Cheap to clone.
#[derive(Clone)]
pub struct CallContext {
    /// Whose call it is.
    pub session: SessionId,
    /// The call.
    pub rtc: RtcId,
    /// Which start of it this is, from 1; 0 for a preview.
    pub attempt: u32,
    /// Fires when the call is to end. A tool that `supports_cancel` ends within 50 ms.
    pub cancel: CancellationToken,
    /// The permission of each path that is really opened.
    pub permit: Arc<dyn Permit>,
    /// What the session knows of files.
    pub seen: Arc<dyn Seen>,
    /// The turns in which the files of the project are changed.
    pub turns: Arc<dyn Turns>,
    /// Anything else, by its type: the project folder (`rtc_fs::Project`) and where displaced content is kept
    /// (`rtc_fs::PreImageFolder`), for example.
    pub extensions: Extensions,
}

impl fmt::Debug for CallContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallContext")
            .field("session", &self.session)
            .field("rtc", &self.rtc)
            .field("attempt", &self.attempt)
            .finish_non_exhaustive()
    }
}

/// Decides on every path that a running call really opens. In the middle of a run nothing asks: what would need a Yes
/// is refused.
pub trait Permit: Send + Sync {
    /// `Err` says why not; a walk skips and counts it, anything else fails.
    fn check(&self, access: Access, path: &str) -> Result<(), ToolError>;
}

/// What a session knows of the files of its project; the stale guard stands on it. What is noted is stored together
/// with the call's result, so that it is known after a restart, and only if the call got a result.
#[async_trait]
pub trait Seen: Send + Sync {
    /// What was noted last for this path, in the noting tool's own form.
    async fn get(&self, path: &str) -> Result<Option<Value>, ToolError>;

    /// Notes what the call now knows of this path; `Null` forgets it.
    fn note(&self, path: &str, known: Value);
}

/// Lets all that change the files of one project take turns: there is one change at a time, whoever makes it.
///
/// A call that is one change has its turn from before `prepare` until its result is stored. A program takes one for each
/// change that it makes, so that others come in between.
#[async_trait]
pub trait Turns: Send + Sync {
    /// Waits until it is the call's turn to make a change. `Err` says why it never is.
    async fn take(&self) -> Result<Turn, ToolError>;
}

/// A turn to make one change. It is over when this is dropped.
#[must_use = "the turn is over when it is dropped"]
pub struct Turn {
    _held: Box<dyn Send + Sync>,
}

impl Turn {
    /// A turn that is over when `held` is dropped.
    pub fn new(held: impl Send + Sync + 'static) -> Self {
        Self {
            _held: Box::new(held),
        }
    }
}

impl fmt::Debug for Turn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Turn").finish_non_exhaustive()
    }
}

/// The turns of what only looks: there are none.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoTurns;

#[async_trait]
impl Turns for NoTurns {
    async fn take(&self) -> Result<Turn, ToolError> {
        Err(ToolError::execution(
            "it was said that this only looks, so it changes nothing",
        ))
    }
}

/// Values by type.
#[derive(Clone, Default)]
pub struct Extensions(HashMap<TypeId, Arc<dyn Any + Send + Sync>>);

impl Extensions {
    /// With this value, in place of an earlier one of its type.
    #[must_use]
    pub fn with<T: Send + Sync + 'static>(mut self, value: Arc<T>) -> Self {
        self.0.insert(TypeId::of::<T>(), value);
        self
    }

    /// The value of this type.
    pub fn get<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        self.0.get(&TypeId::of::<T>()).cloned()?.downcast().ok()
    }
}
