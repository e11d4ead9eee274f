//! The models there are, by name: the offline model, those of the configuration, and those of the providers whose key
//! is in the environment.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use rtc_model::{ApiKey, Endpoint, Key, Model, ModelId, OfflineModel};
use rtc_wire::rpc::{KeyState, ModelEntry};

use crate::config::ModelConfig;
use crate::{Config, Error};

mod provider;

use provider::{Provider, providers};

/// The name of the model that needs nothing.
pub const OFFLINE: &str = "offline";

type Environment = dyn Fn(&str) -> Option<String> + Send + Sync;

/// The models of a configuration and of the environment. Nothing of a project folder is read.
pub struct Models {
    configured: BTreeMap<String, ModelConfig>,
    default: Option<String>,
    environment: Box<Environment>,
    /// Those that were asked, with their connections.
    open: Mutex<HashMap<ModelId, Arc<dyn Model>>>,
}

/// A model that could be asked.
enum Found {
    Offline,
    At(Box<Endpoint>),
}

impl Found {
    fn id(&self) -> ModelId {
        match self {
            Found::Offline => OfflineModel::new().id().clone(),
            Found::At(endpoint) => endpoint.id.clone(),
        }
    }
}

impl Models {
    /// The models of a configuration and of the process's environment.
    pub fn of(config: &Config) -> Models {
        Models::with(config, |name| std::env::var(name).ok())
    }

    fn with(config: &Config, environment: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Models {
        Models {
            configured: config.models.clone(),
            default: config.model.clone(),
            environment: Box::new(environment),
            open: Mutex::new(HashMap::new()),
        }
    }

    /// The model of a name: a configured one, `PROVIDER/MODEL`, or `offline`. Without a name that of the
    /// configuration, else the offline model: which model of a provider is meant is never guessed.
    pub fn choose(&self, name: Option<&str>) -> Result<ModelId, Error> {
        let name = name.or(self.default.as_deref()).unwrap_or(OFFLINE);
        match self.find(name)?.into_iter().next() {
            Some(found) => Ok(found.id()),
            None => Err(Error::UnknownModel {
                name: name.to_owned(),
                known: self.known(),
            }),
        }
    }

    /// The model that a turn was begun with. Its connections are kept for the next time.
    pub(crate) fn open(&self, id: &ModelId) -> Result<Arc<dyn Model>, rtc_model::Error> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(model) = open.get(id) {
            return Ok(model.clone());
        }
        let name = if id.api == OFFLINE {
            OFFLINE
        } else {
            id.model.as_str()
        };
        let found = self.find(name).unwrap_or_default();
        let found = found.into_iter().find(|found| found.id() == *id).ok_or_else(|| {
            let reason = format!(
                "the turn began with the model `{}`, which is not configured any more",
                id.model
            );
            rtc_model::Error::InvalidRequest { reason }
        })?;
        let model: Arc<dyn Model> = match found {
            Found::Offline => Arc::new(OfflineModel::new()),
            Found::At(endpoint) => rtc_model::open(*endpoint).ok_or_else(|| {
                let reason = format!("this version does not speak `{}`", id.api);
                rtc_model::Error::InvalidRequest { reason }
            })?,
        };
        open.insert(id.clone(), model.clone());
        Ok(model)
    }

    /// The names that `--model` takes.
    pub fn known(&self) -> Vec<String> {
        let configured = self.configured.keys().filter(|name| *name != OFFLINE).cloned();
        let providers = self.usable().map(|provider| format!("{}/MODEL", provider.name));
        std::iter::once(OFFLINE.to_owned())
            .chain(configured)
            .chain(providers)
            .collect()
    }

    /// What to tell a user who has a key but has named no model, so that the offline model answers.
    pub fn hint(&self, name: Option<&str>) -> Option<String> {
        if name.or(self.default.as_deref()).is_some() {
            return None;
        }
        let Provider { name, key_env, .. } = self.with_key().next()?;
        let key_env = key_env?;
        Some(format!(
            "{key_env} is set, but no model is named, so the offline model answers; name one with \
             --model {name}/MODEL or RTC_MODEL={name}/MODEL."
        ))
    }

    /// All models; the one that answers when none is named (or `name`, if it is) is marked.
    pub fn list(&self, name: Option<&str>) -> Result<Vec<ModelEntry>, Error> {
        let default = name.or(self.default.as_deref()).unwrap_or(OFFLINE);
        self.choose(Some(default))?;
        let mut entries = vec![ModelEntry {
            name: OFFLINE.into(),
            api: OFFLINE.into(),
            model: None,
            base_url: None,
            spoken: true,
            key: KeyState::NotNeeded,
            context: None,
            default: default == OFFLINE,
        }];
        for (name, config) in self.configured.iter().filter(|(name, _)| *name != OFFLINE) {
            let found = self.configured(name, config, None);
            let endpoint = match &found {
                Ok(Found::At(endpoint)) => Some(endpoint.as_ref()),
                Ok(Found::Offline) | Err(_) => None,
            };
            entries.push(entry(name, &config.api, endpoint, config.context, default));
        }
        for provider in self.usable() {
            let endpoint = self.of_provider(&provider, "MODEL");
            let name = format!("{}/MODEL", provider.name);
            let mut entry = entry(&name, provider.api, Some(&endpoint), None, default);
            entry.model = None;
            entries.push(entry);
        }
        if !entries.iter().any(|entry| entry.default)
            && let Some(Found::At(endpoint)) = self.find(default)?.into_iter().next()
        {
            entries.push(entry(default, &endpoint.id.api, Some(&endpoint), None, default));
        }
        Ok(entries)
    }

    fn variable(&self, name: &str) -> Option<String> {
        (self.environment)(name).filter(|value| !value.trim().is_empty())
    }

    /// The providers that can be asked: those whose key is there, and those that need none.
    fn usable(&self) -> impl Iterator<Item = Provider> {
        let without = providers().filter(|provider| provider.key_env.is_none());
        self.with_key().chain(without)
    }

    /// The providers whose key is there; of several with the same key the best known.
    fn with_key(&self) -> impl Iterator<Item = Provider> {
        let mut seen = HashSet::new();
        providers().filter(move |provider| {
            let key = provider.key_env.filter(|name| self.variable(name).is_some());
            key.is_some_and(|name| seen.insert(name))
        })
    }

    /// What a name can mean, the nearest first.
    fn find(&self, name: &str) -> Result<Vec<Found>, Error> {
        let mut found = Vec::new();
        if let Some(config) = self.configured.get(name) {
            found.push(self.configured(name, config, None)?);
        } else if name == OFFLINE {
            found.push(Found::Offline);
        }
        // A configured place serves other models too, by `NAME/MODEL`.
        for (place, config) in self.configured.iter().rev() {
            let model = name
                .strip_prefix(place.as_str())
                .and_then(|rest| rest.strip_prefix('/'));
            if let Some(model) = model.filter(|model| !model.is_empty()) {
                found.push(self.configured(place, config, Some(model))?);
            }
        }
        let provider = name
            .split_once('/')
            .filter(|(_, model)| !model.is_empty())
            .and_then(|(place, model)| Some((providers().find(|provider| provider.name == place)?, model)));
        if let Some((provider, model)) = provider {
            found.push(Found::At(Box::new(self.of_provider(&provider, model))));
        }
        Ok(found)
    }

    fn configured(&self, name: &str, config: &ModelConfig, model: Option<&str>) -> Result<Found, Error> {
        if config.api == OFFLINE {
            return Ok(Found::Offline);
        }
        let provider = providers()
            .find(|provider| provider.api == config.api)
            .ok_or_else(|| Error::ApiNotSpoken {
                name: name.to_owned(),
                api: config.api.clone(),
            })?;
        let model = model.or(config.model.as_deref()).unwrap_or(name);
        let mut endpoint = match &config.base_url {
            // The provider's key is for the provider: an address of its own has a key of its own, or none.
            Some(base_url) => Endpoint::new(id(name, config.api.as_str(), model), model, base_url, Key::None),
            None => self.of_provider(&provider, model),
        };
        endpoint.id = id(name, &config.api, model);
        if let Some(variable) = &config.key_env {
            endpoint.key = self.key(variable);
        }
        config.apply(&mut endpoint);
        endpoint.ca_file = endpoint.ca_file.take().or_else(|| self.ca_file());
        Ok(Found::At(Box::new(endpoint)))
    }

    fn of_provider(&self, provider: &Provider, model: &str) -> Endpoint {
        let elsewhere = provider.base_url_env.and_then(|name| self.variable(name));
        let key = match provider.key_env.map(|name| self.key(name)) {
            // A server of one's own may do without a key.
            Some(Key::Missing { .. }) if elsewhere.is_some() => Key::None,
            key => key.unwrap_or(Key::None),
        };
        let base_url = elsewhere.unwrap_or_else(|| provider.base_url.to_owned());
        let mut endpoint = Endpoint::new(id(provider.name, provider.api, model), model, base_url, key);
        endpoint.ca_file = self.ca_file();
        endpoint
    }

    fn ca_file(&self) -> Option<PathBuf> {
        self.variable("SSL_CERT_FILE").map(PathBuf::from)
    }

    fn key(&self, variable: &str) -> Key {
        match self.variable(variable) {
            Some(key) => Key::Set(ApiKey::new(key)),
            None => Key::Missing {
                variable: variable.to_owned(),
            },
        }
    }
}

/// A model's id holds where it is as well as what it is called there: a turn goes on only where it began. Its `model`
/// is a name that `--model` takes.
fn id(place: &str, api: &str, model: &str) -> ModelId {
    ModelId {
        api: api.to_owned(),
        model: format!("{place}/{model}"),
    }
}

fn entry(
    name: &str,
    api: &str,
    endpoint: Option<&Endpoint>,
    context: Option<u64>,
    default: &str,
) -> ModelEntry {
    ModelEntry {
        name: name.to_owned(),
        api: api.to_owned(),
        model: endpoint.map(|endpoint| endpoint.model.clone()),
        base_url: endpoint
            .map(|endpoint| without_user(&endpoint.base_url))
            .filter(|url| !url.is_empty()),
        spoken: endpoint.is_some(),
        key: match endpoint.map(|endpoint| &endpoint.key) {
            None | Some(Key::None) => KeyState::NotNeeded,
            Some(Key::Set(_)) => KeyState::Set,
            Some(Key::Missing { variable }) => KeyState::Missing(variable.clone()),
        },
        context,
        default: name == default,
    }
}

/// A base URL without the user and password that may stand in it.
fn without_user(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    format!("{scheme}://{host}{path}")
}

/// What a configured model may name as its `api`.
pub(crate) fn apis() -> Vec<&'static str> {
    let mut apis = vec![OFFLINE];
    for provider in providers() {
        if !apis.contains(&provider.api) {
            apis.push(provider.api);
        }
    }
    apis
}

/// The model of a name: see [`Models::choose`].
pub(crate) fn choose(config: &Config, name: Option<&str>) -> Result<ModelId, Error> {
    Models::of(config).choose(name)
}

#[cfg(test)]
mod tests;
