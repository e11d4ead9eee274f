//! Everything that a script reaches outside of its own world.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use deno_core::url::{Url, quirks};
use deno_core::{OpState, op2, v8};
use rtc_hub::{Host, count_values};
use rtc_tool::ToolError;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::{Control, Entry, Level, SCRIPT_NAME};
use crate::limits::{
    Limit, MAX_CALL_VALUES, MAX_CONSOLE_BYTES, MAX_CONSOLE_ENTRIES, MAX_DEPTH, MAX_HOST_CALLS,
    MAX_IN_FLIGHT_BYTES,
};
use crate::program::is_deeper;

/// How far from a call its line is looked for, in calls; those of the prelude are among them.
const MAX_FRAMES: usize = 10;

/// The script that runs, as its operations see it.
pub(super) struct Running {
    pub(super) params: Value,
    pub(super) host: Option<Arc<Host>>,
    pub(super) console: mpsc::UnboundedSender<Entry>,
    pub(super) control: Arc<Control>,
    pub(super) entries: usize,
    pub(super) bytes: usize,
    pub(super) host_calls: u64,
    pub(super) waiting: Waiting,
}

/// The calls under way, and the answers that the script has not taken yet.
#[derive(Default)]
pub(super) struct Waiting {
    bytes: Rc<Cell<usize>>,
    answers: HashMap<u32, (String, Held)>,
    last: u32,
}

impl Waiting {
    /// Keeps an answer until the script takes it by its number.
    fn put(&mut self, answer: String, held: Held) -> u32 {
        self.last = self.last.wrapping_add(1);
        self.answers.insert(self.last, (answer, held));
        self.last
    }

    fn take(&mut self, number: u32) -> String {
        let taken = self.answers.remove(&number);
        taken.map(|(answer, _)| answer).unwrap_or_default()
    }
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
        op_script_answer,
        op_script_at,
        op_script_line,
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

/// Asks the process that has the files, and gives the number of the answer.
#[op2]
#[smi]
async fn op_script_call(
    state: Rc<RefCell<OpState>>,
    #[string] name: String,
    #[string] arguments: String,
    #[smi] line: u32,
) -> u32 {
    let (host, control, mut held) = {
        let mut state = state.borrow_mut();
        let running = state.borrow_mut::<Running>();
        running.control.at(line);
        running.host_calls += 1;
        let held = Held::new(running.waiting.bytes.clone());
        (running.host.clone(), running.control.clone(), held)
    };
    // An answer that there is not: nobody takes it any more.
    let ended = |limit| {
        control.end(limit);
        0
    };
    if state.borrow().borrow::<Running>().host_calls > MAX_HOST_CALLS {
        return ended(Limit::HostCalls);
    }
    if !held.set(name.len() + arguments.len()) {
        return ended(Limit::Waiting);
    }
    // Counted before they are made: each value takes much more memory than its text.
    let values = count_values(arguments.as_bytes());
    let parsed = if values > MAX_CALL_VALUES {
        Err(format!(
            "the arguments have more than {MAX_CALL_VALUES} values; put data into one text"
        ))
    } else {
        serde_json::from_str::<Value>(&arguments).map_err(|error| error.to_string())
    };
    drop(arguments);
    let answer = match (host, parsed) {
        (Some(_), Ok(arguments)) if is_deeper(&arguments, MAX_DEPTH) => Err(ToolError::invalid(format!(
            "the arguments are nested more than {MAX_DEPTH} deep"
        ))),
        (Some(host), Ok(arguments)) => host.call(&name, arguments).await,
        (None, _) => Err(ToolError::execution("there are no files here")),
        (_, Err(reason)) => Err(ToolError::invalid(reason)),
    };
    let answer = match answer {
        Ok(value) => json!({"value": value}),
        Err(error) => json!({"error": error}),
    }
    .to_string();
    if !held.set(answer.len()) {
        return ended(Limit::Waiting);
    }
    let mut state = state.borrow_mut();
    state.borrow_mut::<Running>().waiting.put(answer, held)
}

/// The answer of this number: `{value}` or `{error}`, as JSON. It is given once.
#[op2]
#[string]
fn op_script_answer(state: &mut OpState, #[smi] number: u32) -> String {
    state.borrow_mut::<Running>().waiting.take(number)
}

/// Notes which line waits for a timer.
#[op2(fast)]
fn op_script_at(state: &mut OpState, #[smi] line: u32) {
    state.borrow::<Running>().control.at(line);
}

/// The line of the script that calls, or 0. An error's own text of where it was made tells it as well, but takes a
/// hundred times as long. A script that has put another `Error` into its world runs within this.
#[op2(fast, reentrant)]
fn op_script_line(scope: &mut v8::PinScope) -> u32 {
    let Some(stack) = v8::StackTrace::current_stack_trace(scope, MAX_FRAMES) else {
        return 0;
    };
    let mut frames = (0..stack.get_frame_count()).filter_map(|index| stack.get_frame(scope, index));
    let of_script = frames.find(|frame| {
        let name = frame.get_script_name(scope);
        name.is_some_and(|name| name.to_rust_string_lossy(scope) == SCRIPT_NAME)
    });
    of_script.map_or(0, |frame| u32::try_from(frame.get_line_number()).unwrap_or(0))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_add_up_until_they_are_taken() {
        let mut waiting = Waiting::default();
        let put = |waiting: &mut Waiting, bytes: usize| {
            let mut held = Held::new(waiting.bytes.clone());
            let fits = held.set(bytes);
            (fits, waiting.put("x".repeat(bytes), held))
        };
        let half = MAX_IN_FLIGHT_BYTES / 2;
        let (fits, first) = put(&mut waiting, half);
        assert!(fits);
        assert!(put(&mut waiting, half).0);
        assert!(!put(&mut waiting, 1).0);
        assert_eq!(waiting.take(first).len(), half);
        assert!(put(&mut waiting, half - 1).0);
        assert_eq!(waiting.take(first), "");
    }
}
