//! A person's desk: a project, a data folder, a model that says what the test wants, and a screen.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use rtc_tests::model_server::{Answer, Asked, Dialect, ModelServer};
use rtc_tests::{Workplace, assert_whole, text};
use serde_json::Value;

use crate::program::Program;
use crate::screen::Screen;
use crate::wait::until_true;
use crate::{model, page::Page};

/// The program.
pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_rtc-desktop");

/// A desk.
pub(crate) struct Desk {
    pub(crate) place: Workplace,
    pub(crate) model: ModelServer,
    pub(crate) screen: Screen,
}

impl Desk {
    /// A desk where new sessions have this mode, with the model of [`model`].
    pub(crate) fn new(mode: &str) -> Self {
        Self::with_model(mode, model::answer)
    }

    /// A desk with a model of one's own.
    pub(crate) fn with_model(mode: &str, answer: impl Fn(&Asked) -> Answer + Send + Sync + 'static) -> Self {
        let place = Workplace::sample();
        let model = ModelServer::start(answer);
        let config = format!(
            "mode = \"{mode}\"\nmodel = \"scripted\"\n[models.scripted]\napi = \"openai-chat\"\n\
             base_url = \"{}\"\nmodel = \"m-1\"\n",
            model.base_url(Dialect::Chat)
        );
        std::fs::write(place.path().join("config.toml"), config).expect("the configuration is written");
        let screen = Screen::start(place.path());
        Self { place, model, screen }
    }

    /// The options of every start.
    pub(crate) fn options(&self) -> [String; 4] {
        let path = |path: PathBuf| path.to_str().expect("a temporary path is Unicode").to_owned();
        let config = path(self.place.path().join("config.toml"));
        [
            "--data".to_owned(),
            path(self.place.data()),
            "--config".to_owned(),
            config,
        ]
    }

    /// A command line of the program, without a folder.
    pub(crate) fn command(&self) -> Command {
        let mut command = self.screen.command(BINARY);
        command.args(self.options());
        command
    }

    /// Starts the program with the project.
    pub(crate) fn open(&self) -> Program<'_> {
        let mut command = self.command();
        command.arg(self.place.root());
        Program::start(&self.screen, command)
    }

    /// Starts the program with the project, which the user trusts.
    pub(crate) fn work(&self) -> (Program<'_>, Page) {
        let program = self.open();
        let page = program.page();
        page.click("Trust this folder");
        page.see("What shall be done?");
        (program, page)
    }

    /// Runs a command without a window to its end.
    pub(crate) fn headless(&self, args: &[&str]) -> Output {
        let mut command = self.screen.command(BINARY);
        command
            .env_remove("DISPLAY")
            .arg("--headless")
            .args(args)
            .arg("--data")
            .arg(self.place.data());
        command.stderr(Stdio::piped()).output().expect("it starts")
    }

    fn listed(&self, args: &[&str]) -> Value {
        let output = self.headless(args);
        assert!(output.status.success(), "{}", text(&output.stderr));
        serde_json::from_slice(&output.stdout).expect("it is JSON")
    }

    /// The only session. The program must have ended.
    pub(crate) fn session(&self) -> Value {
        let sessions = self.listed(&["sessions", "list", "--output", "json"]);
        let [session] = &sessions.as_array().expect("a list")[..] else {
            panic!("there is not just one session: {sessions}");
        };
        let id = session["id"].as_str().expect("an id");
        self.listed(&["sessions", "show", id, "--output", "json"])
    }

    /// The only session, of which each call has run once and been told to the model once. The program must have ended.
    pub(crate) fn record(&self) -> Value {
        let shown = self.session();
        assert_whole(&shown);
        for call in shown["rtcs"].as_array().expect("calls") {
            let begun = call["attempt"].as_u64().expect("a number");
            assert!(begun <= 1, "a call was begun again: {call}");
            assert!(
                begun == 1 || call["status"] == "failed",
                "a call has ended without a run: {call}"
            );
        }
        for asked in self.model.asked() {
            let (calls, results) = (asked.call_ids(), asked.result_ids());
            assert_eq!(calls, results, "each call has its result");
            let different: BTreeSet<_> = calls.iter().collect();
            assert_eq!(different.len(), calls.len(), "no call is told twice: {calls:?}");
        }
        shown
    }

    /// How many calls of this tool a record has, which have all been done.
    pub(crate) fn done(record: &Value, tool: &str) -> usize {
        let calls = record["rtcs"].as_array().expect("calls");
        let of_tool = calls.iter().filter(|call| call["tool_name"] == tool);
        of_tool
            .inspect(|call| assert_eq!(call["status"], "completed", "{call}"))
            .count()
    }

    /// What calls have left in the file of their effects.
    pub(crate) fn effects(&self) -> String {
        std::fs::read_to_string(self.place.root().join(model::EFFECTS)).unwrap_or_default()
    }

    /// Waits until a call that is held has begun.
    pub(crate) fn begun(&self, name: &str) {
        until_true(format!("{name} begins"), || {
            self.effects().contains(&format!("{name} began\n"))
        });
    }

    /// Lets a call that is held go on.
    pub(crate) fn let_go(&self, name: &str) {
        std::fs::write(self.place.root().join(model::gate(name)), "").expect("a file is written");
    }
}
