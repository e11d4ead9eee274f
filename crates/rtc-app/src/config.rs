//! The configuration file.

#![allow(
    clippy::disallowed_methods,
    reason = "the configuration file is the app's to read"
)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rtc_model::Endpoint;
use rtc_types::Mode;
use serde::Deserialize;

use crate::{Error, Models, models};

/// What a configuration file may say. An unknown field is an error: a misspelled one would be ignored in silence.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The model used when none is named: a configured name or `offline`.
    pub model: Option<String>,
    /// The mode of new sessions.
    pub mode: Option<Mode>,
    /// Models by name.
    #[serde(default)]
    pub models: BTreeMap<String, ModelConfig>,
    /// How long what an undo needs is kept.
    #[serde(default)]
    pub undo: UndoConfig,
}

/// How long what an undo needs is kept. What an open turn has changed can always be undone.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UndoConfig {
    /// For how many days; 30 by default.
    pub days: Option<u32>,
    /// How many MiB at most; 2048 by default.
    pub mib: Option<u32>,
}

impl UndoConfig {
    pub(crate) fn retention(&self) -> rtc_fs::Retention {
        let default = rtc_fs::Retention::default();
        let days = |days: u32| Duration::from_secs(u64::from(days) * 24 * 60 * 60);
        rtc_fs::Retention {
            age: self.days.map_or(default.age, days),
            bytes: self.mib.map_or(default.bytes, |mib| u64::from(mib) << 20),
        }
    }
}

/// One model.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelConfig {
    /// The dialect that its host speaks.
    pub api: String,
    /// Where it is.
    pub base_url: Option<String>,
    /// The environment variable that holds its key. The key itself never stands in a file.
    pub key_env: Option<String>,
    /// Its name there.
    pub model: Option<String>,
    /// How many tokens it takes.
    pub context: Option<u64>,
    /// The most tokens of a reply.
    pub max_output: Option<u32>,
    /// How many tokens it may think (`anthropic-messages`).
    pub thinking_budget: Option<u32>,
    /// Whether its host wants its reasoning back with each of its messages (`openai-chat`).
    #[serde(default)]
    pub echo_reasoning: bool,
    /// Further fields of each request, in its host's words.
    #[serde(default)]
    pub extra: serde_json::Map<String, serde_json::Value>,
    /// Certificates (PEM) that are trusted besides those of the system.
    pub ca_file: Option<PathBuf>,
    /// How long connecting may take, in milliseconds.
    pub connect_timeout_ms: Option<u64>,
    /// How long it may be silent before a reply begins, in milliseconds; `idle_timeout_ms` if only that is given.
    pub first_byte_timeout_ms: Option<u64>,
    /// How long it may be silent within a reply, in milliseconds.
    pub idle_timeout_ms: Option<u64>,
    /// What it costs.
    pub prices: Option<Prices>,
}

/// Prices in USD for a million tokens.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prices {
    /// Tokens sent.
    pub input: f64,
    /// Tokens received.
    pub output: f64,
}

impl ModelConfig {
    /// The first field with a value that cannot be right, and why.
    fn fault(&self) -> Option<(&'static str, String)> {
        let apis = models::apis();
        if !apis.contains(&self.api.as_str()) {
            let known = apis.join(", ");
            return Some((
                "api",
                format!("there is no api `{}`; there are: {known}", self.api),
            ));
        }
        // An address may have a password in it, so it is not repeated.
        if self.base_url.as_deref().is_some_and(|url| !is_address(url)) {
            let reason = "this is no address: it has to begin with http:// or https:// and to name a host";
            return Some(("base_url", reason.to_owned()));
        }
        let no_variable = |name: &str| name.is_empty() || name.contains(['=', '\0', ' ']);
        if self.key_env.as_deref().is_some_and(no_variable) {
            let reason = "this is no name of an environment variable; the key itself does not belong here";
            return Some(("key_env", reason.to_owned()));
        }
        if self.model.as_deref().is_some_and(str::is_empty) {
            return Some(("model", "the name is empty".to_owned()));
        }
        let numbers = [
            ("context", self.context),
            ("max_output", self.max_output.map(u64::from)),
            ("connect_timeout_ms", self.connect_timeout_ms),
            ("first_byte_timeout_ms", self.first_byte_timeout_ms),
            ("idle_timeout_ms", self.idle_timeout_ms),
        ];
        if let Some((field, _)) = numbers.iter().find(|(_, number)| *number == Some(0)) {
            return Some((field, "it has to be more than 0".to_owned()));
        }
        let wrong = |price: f64| !price.is_finite() || price < 0.0;
        let prices = self.prices.as_ref();
        prices
            .is_some_and(|prices| wrong(prices.input) || wrong(prices.output))
            .then(|| ("prices", "a price is 0 or more".to_owned()))
    }

    /// Sets what is configured of an endpoint beside its place and key.
    pub(crate) fn apply(&self, endpoint: &mut Endpoint) {
        endpoint.ca_file = self.ca_file.clone();
        endpoint.max_output = self.max_output;
        endpoint.thinking_budget = self.thinking_budget;
        endpoint.echo_reasoning = self.echo_reasoning;
        endpoint.extra = self.extra.clone();
        let timeouts = &mut endpoint.timeouts;
        let set = |time: &mut Duration, milliseconds: Option<u64>| {
            if let Some(milliseconds) = milliseconds {
                *time = Duration::from_millis(milliseconds);
            }
        };
        set(&mut timeouts.connect, self.connect_timeout_ms);
        set(
            &mut timeouts.first_byte,
            self.first_byte_timeout_ms.or(self.idle_timeout_ms),
        );
        set(&mut timeouts.idle, self.idle_timeout_ms);
    }
}

impl Config {
    /// Reads a file. One that was named must exist; without one the defaults hold.
    pub fn load(path: Option<&Path>) -> Result<Self, Error> {
        let Some(path) = path else {
            return Ok(Self::default());
        };
        let wrong = |at: String, message: String| Error::Config {
            path: path.to_owned(),
            at,
            message,
        };
        let text = std::fs::read_to_string(path).map_err(|error| Error::NoConfig {
            path: path.to_owned(),
            reason: error.to_string(),
        })?;
        let config: Self = toml::from_str(&text).map_err(|error: toml::de::Error| {
            let at = error
                .span()
                .map(|span| place(&text, span.start))
                .unwrap_or_default();
            wrong(at, error.message().to_owned())
        })?;
        match config.fault() {
            None => Ok(config),
            Some(fault) => {
                let field = fault.field.last().copied().unwrap_or_default();
                let line = line_of(&text, &fault.field)
                    .map(|line| format!(", line {line}"))
                    .unwrap_or_default();
                Err(wrong(format!("{line}, field `{field}`"), fault.reason))
            }
        }
    }

    /// The first value with which nothing can be done: told when the file is read, not when a turn needs it.
    fn fault(&self) -> Option<Fault<'_>> {
        let in_models = self.models.iter().find_map(|(name, model)| {
            let (field, reason) = model.fault()?;
            Some(Fault {
                field: vec!["models", name, field],
                reason,
            })
        });
        in_models.or_else(|| {
            let error = Models::of(self).choose(Some(self.model.as_deref()?)).err()?;
            Some(Fault {
                field: vec!["model"],
                reason: error.to_string(),
            })
        })
    }
}

/// A wrong value of a configuration.
struct Fault<'c> {
    /// The names of the tables on the way to it, and its own.
    field: Vec<&'c str>,
    reason: String,
}

/// Whether something is an address of a model: a scheme that is spoken, and a host.
fn is_address(url: &str) -> bool {
    let rest = url
        .strip_prefix("https://")
        .or_else(|| url.strip_prefix("http://"));
    let host = rest.and_then(|rest| rest.split(['/', '?', '#']).next());
    let host = host.and_then(|host| host.rsplit('@').next());
    host.is_some_and(|host| !host.is_empty() && !host.starts_with(':'))
        && !url.contains(|c: char| c.is_whitespace() || c.is_control())
}

/// The line of a field in a TOML text.
fn line_of(text: &str, field: &[&str]) -> Option<usize> {
    let table = toml::de::DeTable::parse(text).ok()?;
    let (last, tables) = field.split_last()?;
    let mut here = table.get_ref();
    for name in tables {
        here = here.get(*name)?.get_ref().as_table()?;
    }
    let at = here.get(*last)?.span().start;
    Some(text[..floor(text, at)].matches('\n').count() + 1)
}

/// `, line N, field F` of a byte in a TOML text.
fn place(text: &str, at: usize) -> String {
    let before = &text[..floor(text, at)];
    let number = before.matches('\n').count() + 1;
    let line = text.lines().nth(number - 1).unwrap_or_default().trim();
    let field = match line.split_once('=') {
        Some((field, _)) => field.trim(),
        None => line,
    };
    if field.is_empty() {
        format!(", line {number}")
    } else {
        format!(", line {number}, field `{field}`")
    }
}

fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.toml");
        std::fs::write(&file, text).unwrap();
        let told = Config::load(Some(&file)).unwrap_err().to_string();
        told.replace(&folder.path().display().to_string(), "DIR")
            .replace(&models::apis().join(", "), "APIS")
    }

    #[test]
    fn a_broken_file_is_told_with_file_line_and_field() {
        let told: Vec<_> = [
            "model = \"offline\"\nmodell = \"x\"\n",
            "[models.small]\napi = \"openai-chat\"\ncontext = \"many\"\n",
            "mode = \"yolo\"\n",
            "[models.small]\nbase_url = \"x\"\n",
            "model = \n",
            "model = \"offline\"\n= 5\n",
            "[models.small]\napi = \"chat\"\n",
            "[models.small]\napi = \"openai-chat\"\n\nbase_url = \"foo\"\n",
            "[models.small]\napi = \"openai-chat\"\nbase_url = \"http://:80/v1\"\n",
            "[models]\nsmall = { api = \"openai-chat\", key_env = \"sk=1\" }\n",
            "[models.\"a.b\"]\napi = \"openai-chat\"\nmodel = \"\"\n",
            "models.small.api = \"openai-chat\"\nmodels.small.context = 0\n",
            "[models.small]\napi = \"openai-chat\"\nidle_timeout_ms = 0\n",
            "[models.small]\napi = \"openai-chat\"\nprices = { input = -1.0, output = 0.0 }\n",
            "mode = \"edit\"\nmodel = \"nope\"\n[models.small]\napi = \"openai-chat\"\n",
        ]
        .into_iter()
        .map(error)
        .collect();
        insta::assert_snapshot!(told.join("\n"), @"
        the configuration DIR/config.toml is wrong, line 2, field `modell`: unknown field `modell`, expected one of `model`, `mode`, `models`, `undo`
        the configuration DIR/config.toml is wrong, line 3, field `context`: invalid type: string \"many\", expected u64
        the configuration DIR/config.toml is wrong, line 1, field `mode`: unknown variant `yolo`, expected one of `manual`, `edit`, `plan`, `auto`, `bypass`
        the configuration DIR/config.toml is wrong, line 1, field `[models.small]`: missing field `api`
        the configuration DIR/config.toml is wrong, line 1, field `model`: string values must be quoted, expected literal string
        the configuration DIR/config.toml is wrong, line 2: unquoted keys cannot be empty, expected letters, numbers, `-`, `_`
        the configuration DIR/config.toml is wrong, line 2, field `api`: there is no api `chat`; there are: APIS
        the configuration DIR/config.toml is wrong, line 4, field `base_url`: this is no address: it has to begin with http:// or https:// and to name a host
        the configuration DIR/config.toml is wrong, line 3, field `base_url`: this is no address: it has to begin with http:// or https:// and to name a host
        the configuration DIR/config.toml is wrong, line 2, field `key_env`: this is no name of an environment variable; the key itself does not belong here
        the configuration DIR/config.toml is wrong, line 3, field `model`: the name is empty
        the configuration DIR/config.toml is wrong, line 2, field `context`: it has to be more than 0
        the configuration DIR/config.toml is wrong, line 3, field `idle_timeout_ms`: it has to be more than 0
        the configuration DIR/config.toml is wrong, line 3, field `prices`: a price is 0 or more
        the configuration DIR/config.toml is wrong, line 2, field `model`: there is no model `nope`; there are: offline, small, ollama/MODEL
        ");
    }

    #[test]
    fn a_whole_file_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.toml");
        let text = "model = \"small\"\nmode = \"manual\"\n[models.small]\napi = \"openai-chat\"\nbase_url = \"http://127.0.0.1:1\"\n\
                    key_env = \"KEY\"\nmodel = \"m\"\ncontext = 8000\nprices = { input = 1.0, output = 2.0 }\n";
        std::fs::write(&file, text).unwrap();
        let config = Config::load(Some(&file)).unwrap();
        assert_eq!(
            (config.model.as_deref(), config.mode),
            (Some("small"), Some(Mode::Manual))
        );
        assert_eq!(config.models["small"].context, Some(8000));
    }

    #[test]
    fn what_is_configured_reaches_the_endpoint() {
        let text = "api = \"openai-chat\"\nmax_output = 5\nthinking_budget = 6\necho_reasoning = true\nca_file = \"ca.pem\"\n\
                    idle_timeout_ms = 20\nextra = { reasoning_effort = \"low\", temperature = 0.5 }\n";
        let config: ModelConfig = toml::from_str(text).unwrap();
        let id = rtc_model::ModelId {
            api: "openai-chat".into(),
            model: "small/m".into(),
        };
        let mut endpoint = Endpoint::new(id, "m", "http://host", rtc_model::Key::None);
        let defaults = endpoint.timeouts;
        config.apply(&mut endpoint);
        assert_eq!(
            (endpoint.max_output, endpoint.thinking_budget),
            (Some(5), Some(6))
        );
        assert!(endpoint.echo_reasoning);
        assert_eq!(endpoint.ca_file.as_deref(), Some(Path::new("ca.pem")));
        assert_eq!(endpoint.extra["reasoning_effort"], "low");
        assert_eq!(endpoint.extra["temperature"], 0.5);
        let (first_byte, idle) = (endpoint.timeouts.first_byte, endpoint.timeouts.idle);
        assert_eq!(
            (first_byte, idle),
            (Duration::from_millis(20), Duration::from_millis(20))
        );
        assert_eq!(endpoint.timeouts.connect, defaults.connect);
    }
}
