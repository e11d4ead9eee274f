//! The configuration file.

use std::collections::BTreeMap;
use std::path::Path;

use rtc_types::Mode;
use serde::Deserialize;

use crate::Error;

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
        toml::from_str(&text).map_err(|error: toml::de::Error| {
            let at = error
                .span()
                .map(|span| place(&text, span.start))
                .unwrap_or_default();
            wrong(at, error.message().to_owned())
        })
    }
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
        ]
        .into_iter()
        .map(error)
        .collect();
        insta::assert_snapshot!(told.join("\n"), @"
        the configuration DIR/config.toml is wrong, line 2, field `modell`: unknown field `modell`, expected one of `model`, `mode`, `models`
        the configuration DIR/config.toml is wrong, line 3, field `context`: invalid type: string \"many\", expected u64
        the configuration DIR/config.toml is wrong, line 1, field `mode`: unknown variant `yolo`, expected one of `manual`, `edit`, `plan`, `auto`, `bypass`
        the configuration DIR/config.toml is wrong, line 1, field `[models.small]`: missing field `api`
        the configuration DIR/config.toml is wrong, line 1, field `model`: string values must be quoted, expected literal string
        the configuration DIR/config.toml is wrong, line 2: unquoted keys cannot be empty, expected letters, numbers, `-`, `_`
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
}
