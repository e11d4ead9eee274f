//! The models there are, by name.

use std::sync::Arc;

use rtc_model::{Model, ModelId, OfflineModel};

use crate::{Config, Error};

/// The name of the model that needs nothing.
pub const OFFLINE: &str = "offline";

/// The names that `--model` takes.
pub fn known(config: &Config) -> Vec<String> {
    let configured = config.models.keys().filter(|name| *name != OFFLINE).cloned();
    std::iter::once(OFFLINE.to_owned()).chain(configured).collect()
}

/// The model of a name; without one that of the configuration, else the offline model.
pub(crate) fn choose(config: &Config, name: Option<&str>) -> Result<ModelId, Error> {
    let name = name.or(config.model.as_deref()).unwrap_or(OFFLINE);
    match config.models.get(name) {
        Some(model) if model.api != OFFLINE => Err(Error::ApiNotSpoken {
            name: name.to_owned(),
            api: model.api.clone(),
        }),
        Some(_) => Ok(OfflineModel::new().id().clone()),
        None if name == OFFLINE => Ok(OfflineModel::new().id().clone()),
        None => Err(Error::UnknownModel {
            name: name.to_owned(),
            known: known(config),
        }),
    }
}

/// The model that a turn was begun with.
pub(crate) fn open(id: &ModelId) -> Result<Arc<dyn Model>, rtc_model::Error> {
    let offline = OfflineModel::new();
    if id == offline.id() {
        return Ok(Arc::new(offline));
    }
    let reason = format!(
        "this version does not speak `{}`, with which the turn began",
        id.api
    );
    Err(rtc_model::Error::InvalidRequest { reason })
}
