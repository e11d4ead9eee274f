//! What a session knows of files, as a running call sees and adds to it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use rtc_tool::{Seen, ToolError};
use rtc_types::SessionId;
use serde_json::Value;

use crate::Port;

pub(crate) struct SeenByCall {
    port: Arc<dyn Port>,
    session: SessionId,
    noted: Mutex<BTreeMap<String, Value>>,
}

impl SeenByCall {
    pub(crate) fn new(port: Arc<dyn Port>, session: SessionId) -> Self {
        Self {
            port,
            session,
            noted: Mutex::default(),
        }
    }

    /// What the call noted, to be stored with its result.
    pub(crate) fn take(&self) -> Vec<(String, Value)> {
        std::mem::take(&mut *self.noted.lock().unwrap_or_else(PoisonError::into_inner))
            .into_iter()
            .collect()
    }
}

#[async_trait]
impl Seen for SeenByCall {
    async fn get(&self, path: &str) -> Result<Option<Value>, ToolError> {
        let noted = self
            .noted
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(path)
            .cloned();
        match noted {
            Some(Value::Null) => Ok(None),
            Some(known) => Ok(Some(known)),
            None => self
                .port
                .seen(self.session, path)
                .await
                .map_err(|error| ToolError::execution(error.to_string())),
        }
    }

    fn note(&self, path: &str, known: Value) {
        self.noted
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(path.to_owned(), known);
    }
}
