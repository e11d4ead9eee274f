//! A place whose model is a scripted server.

use std::process::{Command, Stdio};

use rtc_tests::model_server::{Asked, Dialect, ModelServer};
use rtc_tests::{Workplace, text};
use serde_json::Value;

/// The key that the model is given. It must be seen nowhere but in its header.
pub(crate) const KEY: &str = "hidden-words";

pub(crate) struct Desk {
    pub(crate) place: Workplace,
    pub(crate) server: ModelServer,
    pub(crate) dialect: Dialect,
    more: &'static str,
}

/// How a run ended.
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Desk {
    /// A project with these files, and a model that the server is.
    pub(crate) fn new(dialect: Dialect, files: &[(&str, &str)], server: ModelServer) -> Self {
        Self::configured(dialect, files, server, "")
    }

    /// The same, with more lines of configuration for the model.
    pub(crate) fn configured(
        dialect: Dialect,
        files: &[(&str, &str)],
        server: ModelServer,
        more: &'static str,
    ) -> Self {
        let place = Workplace::empty();
        for (name, content) in files {
            std::fs::write(place.root().join(name), content).expect("a file is written");
        }
        let desk = Self {
            place,
            server,
            dialect,
            more,
        };
        desk.configure(&desk.server.base_url(dialect));
        desk
    }

    /// Points the configuration to an address.
    pub(crate) fn configure(&self, base_url: &str) {
        let api = match self.dialect {
            Dialect::Chat => "openai-chat",
            Dialect::Messages => "anthropic-messages",
            Dialect::Ollama => "ollama",
            Dialect::Gemini => "gemini",
        };
        let config = format!(
            "model = \"scripted\"\n[models.scripted]\napi = \"{api}\"\nbase_url = \"{base_url}\"\nmodel = \"m-1\"\n\
             key_env = \"SCRIPTED_KEY\"\n{}\n",
            self.more
        );
        std::fs::write(self.place.path().join("config.toml"), config).expect("the configuration is written");
    }

    /// `rtc-headless ARGS` with the configuration and the key.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = self.place.command(args);
        command.arg("--config").arg(self.place.path().join("config.toml"));
        command.env("SCRIPTED_KEY", KEY);
        command
    }

    /// `run REQUEST --root ROOT ARGS`.
    pub(crate) fn request(&self, request: &str, args: &[&str]) -> Command {
        let mut command = self.command(&["run", request]);
        command.arg("--root").arg(self.place.root()).args(args);
        command
    }

    /// Runs a request to its end.
    pub(crate) fn run(&self, request: &str, args: &[&str]) -> Ran {
        ran(self.request(request, args))
    }

    pub(crate) fn content(&self, name: &str) -> String {
        std::fs::read_to_string(self.place.root().join(name)).expect("the file is there")
    }

    /// The requests so far, each of them valid: every call has one result, and the key is where it belongs.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        let asked = self.server.asked();
        for one in &asked {
            assert_eq!(
                one.call_ids(),
                one.result_ids(),
                "calls and results of request {}",
                one.number
            );
            let key = match self.dialect {
                Dialect::Chat => one
                    .header("authorization")
                    .and_then(|value| value.strip_prefix("Bearer ")),
                Dialect::Messages => one.header("x-api-key"),
                Dialect::Gemini => one.header("x-goog-api-key"),
                // It has none.
                Dialect::Ollama => Some(KEY),
            };
            assert_eq!(key, Some(KEY));
            assert!(!text(&one.body).contains(KEY));
        }
        asked
    }
}

/// Runs a command to its end.
pub(crate) fn ran(mut command: Command) -> Ran {
    let output = command
        .stdin(Stdio::null())
        .output()
        .expect("rtc-headless starts");
    let ran = Ran {
        code: output.status.code(),
        stdout: text(&output.stdout),
        stderr: text(&output.stderr),
    };
    assert!(
        !ran.stdout.contains(KEY) && !ran.stderr.contains(KEY),
        "the key is told"
    );
    ran
}

/// The messages of a request for a snapshot: one line each, the system prompt only by its first words.
pub(crate) fn conversation(asked: &Asked) -> String {
    let line = |message: &Value| {
        let mut message = message.clone();
        if message["role"] == "system" {
            message["content"] = shortened(&message["content"]);
        }
        message.to_string()
    };
    asked.messages().iter().map(line).collect::<Vec<_>>().join("\n")
}

pub(crate) fn shortened(text: &Value) -> Value {
    let text = text.as_str().expect("a text");
    format!("{} …", text.chars().take(24).collect::<String>()).into()
}
