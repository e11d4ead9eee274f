//! Everything that a script reaches outside of its own world.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use deno_core::url::{Url, quirks};
use deno_core::{OpState, op2};
use rtc_hub::Host;
use rtc_tool::ToolError;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::{Control, Entry, Level};
use crate::limits::{
    Limit, MAX_CONSOLE_BYTES, MAX_CONSOLE_ENTRIES, MAX_DEPTH, MAX_HOST_CALLS, MAX_IN_FLIGHT_BYTES,
};
use crate::program::is_deeper;

/// The script that runs, as its operations see it.
pub(super) struct Running {
    pub(super) params: Value,
    pub(super) host: Option<Arc<Host>>,
    pub(super) console: mpsc::UnboundedSender<Entry>,
    pub(super) control: Arc<Control>,
    pub(super) entries: usize,
    pub(super) bytes: usize,
    pub(super) host_calls: u64,
    /// Bytes of the calls under way.
    pub(super) in_flight: Rc<Cell<usize>>,
}

/// Bytes that a call under way holds.
struct Held {
    all: Rc<Cell<usize>>,
    bytes: usize,
}

impl Held {
    fn new(all: Rc<Cell<usize>>) -> Self {
        Self { all, bytes: 0 }
    }

    /// From now on it holds so many. `false` if that is more than the calls of a script may.
    fn set(&mut self, bytes: usize) -> bool {
        let all = self.all.get() - self.bytes + bytes;
        self.all.set(all);
        self.bytes = bytes;
        all <= MAX_IN_FLIGHT_BYTES
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.set(0);
    }
}

deno_core::extension!(
    rtc_script,
    ops = [
        op_script_params,
        op_script_console,
        op_script_call,
        op_script_at,
        op_script_bytes,
        op_script_uuid,
        op_script_url,
        op_script_url_set,
    ],
);

/// The parameters of the script, as JSON.
#[op2]
#[string]
fn op_script_params(state: &mut OpState) -> String {
    state.borrow::<Running>().params.to_string()
}

/// Writes a line to the console.
#[op2(fast)]
fn op_script_console(state: &mut OpState, #[smi] level: i32, #[string] text: String, #[smi] line: u32) {
    let running = state.borrow_mut::<Running>();
    running.control.at(line);
    running.entries += 1;
    running.bytes += text.len();
    if running.entries > MAX_CONSOLE_ENTRIES || running.bytes > MAX_CONSOLE_BYTES {
        running.control.end(Limit::Console);
        return;
    }
    let level = match level {
        2 => Level::Error,
        1 => Level::Warning,
        _ => Level::Log,
    };
    let line = Some(line).filter(|line| *line > 0);
    // Nobody reads any more: then the script is being ended.
    let _ = running.console.send(Entry { level, text, line });
}

/// Asks the process that has the files. The answer is `{value}` or `{error}`, as JSON.
#[op2]
#[string]
async fn op_script_call(
    state: Rc<RefCell<OpState>>,
    #[string] name: String,
    #[string] arguments: String,
    #[smi] line: u32,
) -> String {
    let (host, control, mut held) = {
        let mut state = state.borrow_mut();
        let running = state.borrow_mut::<Running>();
        running.control.at(line);
        running.host_calls += 1;
        let held = Held::new(running.in_flight.clone());
        (running.host.clone(), running.control.clone(), held)
    };
    let ended = |limit| {
        control.end(limit);
        json!({"error": ToolError::execution("the script was ended")}).to_string()
    };
    if state.borrow().borrow::<Running>().host_calls > MAX_HOST_CALLS {
        return ended(Limit::HostCalls);
    }
    if !held.set(name.len() + arguments.len()) {
        return ended(Limit::Memory);
    }
    let parsed = serde_json::from_str::<Value>(&arguments);
    drop(arguments);
    let answer = match (host, parsed) {
        (Some(_), Ok(arguments)) if is_deeper(&arguments, MAX_DEPTH) => Err(ToolError::invalid(format!(
            "the arguments are nested more than {MAX_DEPTH} deep"
        ))),
        (Some(host), Ok(arguments)) => host.call(&name, arguments).await,
        (None, _) => Err(ToolError::execution("there are no files here")),
        (_, Err(error)) => Err(ToolError::invalid(error.to_string())),
    };
    let answer = match answer {
        Ok(value) => json!({"value": value}),
        Err(error) => json!({"error": error}),
    }
    .to_string();
    if !held.set(answer.len()) {
        return ended(Limit::Memory);
    }
    answer
}

/// Notes which line waits for a timer.
#[op2(fast)]
fn op_script_at(state: &mut OpState, #[smi] line: u32) {
    state.borrow::<Running>().control.at(line);
}

/// Bytes that came as text.
#[op2]
#[buffer]
fn op_script_bytes(#[string] text: &str) -> Vec<u8> {
    BASE64_STANDARD.decode(text).unwrap_or_default()
}

#[op2]
#[string]
fn op_script_uuid() -> String {
    uuid::Uuid::new_v4().to_string()
}

/// The parts of an address, as JSON; empty if it is none.
#[op2]
#[string]
fn op_script_url(#[string] address: &str, #[string] base: &str) -> String {
    let parsed = if base.is_empty() {
        Url::parse(address)
    } else {
        Url::parse(base).and_then(|base| base.join(address))
    };
    parsed.map(|url| parts(&url)).unwrap_or_default()
}

/// The parts of an address after a change of one of them, as JSON. A value that does not fit changes nothing.
#[op2]
#[string]
fn op_script_url_set(#[string] address: &str, #[string] part: &str, #[string] value: &str) -> String {
    let Ok(mut url) = Url::parse(address) else {
        return String::new();
    };
    // As the standard has it, a wrong value is ignored.
    let _ = match part {
        "protocol" => quirks::set_protocol(&mut url, value),
        "username" => quirks::set_username(&mut url, value),
        "password" => quirks::set_password(&mut url, value),
        "host" => quirks::set_host(&mut url, value),
        "hostname" => quirks::set_hostname(&mut url, value),
        "port" => quirks::set_port(&mut url, value),
        "pathname" => {
            quirks::set_pathname(&mut url, value);
            Ok(())
        }
        "search" => {
            quirks::set_search(&mut url, value);
            Ok(())
        }
        "hash" => {
            quirks::set_hash(&mut url, value);
            Ok(())
        }
        _ => Ok(()),
    };
    parts(&url)
}

fn parts(url: &Url) -> String {
    json!({
        "href": quirks::href(url),
        "origin": quirks::origin(url),
        "protocol": quirks::protocol(url),
        "username": quirks::username(url),
        "password": quirks::password(url),
        "host": quirks::host(url),
        "hostname": quirks::hostname(url),
        "port": quirks::port(url),
        "pathname": quirks::pathname(url),
        "search": quirks::search(url),
        "hash": quirks::hash(url),
    })
    .to_string()
}
