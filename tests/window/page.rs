//! The page in a window, by WebDriver.

use std::net::TcpListener;
use std::time::Duration;

use fantoccini::wd::WindowHandle;
use fantoccini::{Client, ClientBuilder, Locator};
use hyper_util::client::legacy::connect::HttpConnector;
use rtc_tests::repository;
use serde_json::Value;
use tokio::runtime::Runtime;

use crate::screen::{Process, Screen};
use crate::wait::{LONGEST, until, until_true, until_within};

/// How long a picture may take.
const PICTURE_TIME: Duration = Duration::from_secs(5);

/// The key Enter in WebDriver.
const ENTER: &str = "\u{E007}";

/// Asks the engine something over a socket of its own, as the page does over its one. It has been heard once the engine
/// answers something that was asked after it.
const ASK: &str = r#"
const [method, data, heard] = arguments;
const { invoke, transformCallback } = window.__TAURI_INTERNALS__;
window.answer = new Promise((answer) => {
  let socket;
  const send = (frame) => invoke('socket_send', { socket, frame: JSON.stringify(frame) });
  const take = async ({ message }) => {
    for (const line of message?.type === 'frame' ? message.data.split('\n') : []) {
      const frame = JSON.parse(line);
      if (frame.id === 1) {
        await send({ id: 2, rpc: { method, data } });
        await send({ id: 3, rpc: { method: 'v1.project.list', data: {} } });
      } else if (frame.id === 2) {
        answer(frame.error ?? frame.rpc.data);
      } else if (frame.id === 3) {
        heard();
      }
    }
  };
  const open = async () => {
    const { token } = await invoke('sign_in');
    socket = await invoke('socket_open', { frames: `__CHANNEL__:${transformCallback(take)}` });
    await send({ id: 1, connect: { token } });
  };
  open().catch((error) => answer(`${error}`));
});
"#;

/// Waits for the answer.
const ANSWER: &str = "const [done] = arguments; window.answer.then(done);";

/// A port of loopback that nobody listens on.
pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port of loopback is free");
    listener.local_addr().expect("it has an address").port()
}

/// A page that is shown.
pub(crate) struct Page {
    client: Client,
    runtime: Runtime,
    _driver: Process,
}

impl Page {
    /// Reaches the pages of a program that runs.
    pub(crate) fn attach(screen: &Screen, inspector: u16) -> Self {
        let port = free_port();
        let mut driver = screen.command("WebKitWebDriver");
        driver
            .arg(format!("--port={port}"))
            .arg(format!("--target=127.0.0.1:{inspector}"));
        Self::connect(screen.start_program(&mut driver), port)
    }

    fn connect(driver: Process, port: u16) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a runtime");
        let client = ClientBuilder::new(HttpConnector::new());
        let client = until("WebDriver reaches the page", || {
            runtime.block_on(async {
                let address = format!("http://127.0.0.1:{port}");
                let connected = tokio::time::timeout(LONGEST, client.connect(&address)).await;
                connected.expect("WebDriver answers in time").ok()
            })
        });
        Self {
            client,
            runtime,
            _driver: driver,
        }
    }

    /// Waits for WebDriver, which has no bound of its own.
    fn wait<T>(&self, asked: impl Future<Output = T>) -> T {
        let answered = self
            .runtime
            .block_on(async { tokio::time::timeout(LONGEST, asked).await });
        answered.expect("WebDriver answers in time")
    }

    /// Runs a script in the page, and gives what it returns.
    pub(crate) fn run(&self, script: &str, args: Vec<Value>) -> Result<Value, String> {
        let ran = self.wait(self.client.execute(script, args));
        ran.map_err(|error| error.to_string())
    }

    /// What an expression is in the page.
    pub(crate) fn value(&self, expression: &str) -> Value {
        let script = format!("return {expression};");
        match self.run(&script, Vec::new()) {
            Ok(value) => value,
            Err(error) => panic!("{expression}: {error}"),
        }
    }

    /// Asks the engine something, and waits until it was heard.
    pub(crate) fn ask(&self, method: &str, request: Value) {
        let asked = self.client.execute_async(ASK, vec![method.into(), request]);
        self.wait(asked).expect("the page is there");
    }

    /// The answer to what was asked last.
    pub(crate) fn answer(&self) -> Value {
        let answer = self.client.execute_async(ANSWER, Vec::new());
        self.wait(answer).expect("the page is there")
    }

    /// All text that is shown.
    pub(crate) fn text(&self) -> String {
        let text = self.run("return document.body.innerText;", Vec::new());
        text.ok()
            .and_then(|text| text.as_str().map(str::to_owned))
            .unwrap_or_default()
    }

    /// Waits until a text is shown.
    pub(crate) fn see(&self, expected: &str) {
        let mut shown = String::new();
        let seen = until_within(LONGEST, || {
            shown = self.text();
            shown.contains(expected).then_some(())
        });
        assert!(seen.is_some(), "{expected:?} is not shown, but:\n{shown}");
    }

    /// How often a text is shown in the conversation.
    pub(crate) fn count(&self, expected: &str) -> usize {
        let said = self.value("document.querySelector('[role=log]')?.innerText ?? ''");
        said.as_str().unwrap_or_default().matches(expected).count()
    }

    /// Waits until nothing goes on any more in the session that is shown.
    pub(crate) fn idle(&self) {
        until_true("the turn ends", || {
            let script = "return [...document.querySelectorAll('.composer button')].some((button) => \
                          button.innerText === 'Send');";
            self.run(script, Vec::new()).is_ok_and(|idle| idle == true)
        });
    }

    /// Clicks the button of this name.
    pub(crate) fn click(&self, name: &str) {
        self.click_at(&format!(
            "//button[text()[normalize-space(.)='{name}'] or @aria-label='{name}' or @title='{name}']"
        ));
    }

    /// Clicks the link with this text.
    pub(crate) fn click_link(&self, text: &str) {
        self.click_at(&format!("//a[normalize-space(.)='{text}']"));
    }

    fn click_at(&self, path: &str) {
        let client = &self.client;
        until_true(format!("{path} can be clicked"), || {
            let clicked = self.wait(async {
                let found = client.find(Locator::XPath(path)).await.ok()?;
                if !found.is_enabled().await.ok()? {
                    return None;
                }
                found.click().await.ok()
            });
            clicked.is_some()
        });
    }

    /// Writes a message and sends it.
    pub(crate) fn say(&self, message: &str) {
        let client = &self.client;
        let field = until("a place for a message", || {
            self.wait(async {
                let field = client.find(Locator::Css("#message:enabled")).await.ok()?;
                Some(field)
            })
        });
        let typed = self
            .runtime
            .block_on(field.send_keys(&format!("{message}{ENTER}")));
        typed.expect("a message is written");
    }

    /// Loads the page again.
    pub(crate) fn reload(&self) {
        self.runtime
            .block_on(self.client.refresh())
            .expect("it is loaded again");
    }

    /// The windows whose pages are reached.
    pub(crate) fn windows(&self) -> Vec<WindowHandle> {
        self.runtime
            .block_on(self.client.windows())
            .expect("the program is there")
    }

    /// Turns to another window.
    pub(crate) fn turn_to(&self, window: &WindowHandle) {
        let turned = self
            .runtime
            .block_on(self.client.switch_to_window(window.clone()));
        turned.expect("the window is there");
    }

    /// The window that is turned to.
    pub(crate) fn current(&self) -> WindowHandle {
        self.runtime
            .block_on(self.client.window())
            .expect("a window is there")
    }

    /// Leaves a picture for people to look at, as the last thing that is done with the page: now and then WebKit never
    /// gives one of a page where nothing moves.
    pub(crate) fn picture(&self, name: &str) {
        let folder = repository().join("target/tmp");
        std::fs::create_dir_all(&folder).expect("a folder is made");
        let taken = self.wait(async { tokio::time::timeout(PICTURE_TIME, self.client.screenshot()).await });
        if let Ok(Ok(picture)) = taken {
            std::fs::write(folder.join(format!("window-{name}.png")), picture).expect("a file is written");
        }
    }

    /// Ends WebDriver; what it started ends with it.
    pub(crate) fn quit(self) {
        self.wait(self.client.clone().close()).expect("WebDriver ends");
    }
}
