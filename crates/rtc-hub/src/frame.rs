//! The frames: JSON-RPC 2.0, one object a line.
//!
//! | method | direction | meaning |
//! |---|---|---|
//! | `tool.call` | caller → tool | runs a tool; the response is the terminal |
//! | `tool.progress` | tool → caller | one item of progress, numbered from 0 |
//! | `tool.cancel` | caller → tool | the call is to end |
//! | `host.call` | tool → caller | a running tool asks something of the one who called it |

use rtc_tool::{ErrorKind, Progress, ToolError};
use rtc_types::{RtcId, SessionId};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Code of every error whose `data` is a whole [`ToolError`].
const TOOL_ERROR: i64 = -32000;

/// Parameters of `tool.call`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// Names the call in everything that is said of it.
    pub call_id: RtcId,
    /// Whose call it is.
    pub session_id: SessionId,
    /// Which start of it this is.
    pub attempt: u32,
    /// The tool.
    pub tool: String,
    /// Its arguments.
    pub arguments: Value,
    /// How long it may take from now on, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
}

/// Parameters of `host.call`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostCall {
    /// The running call that asks.
    pub call_id: RtcId,
    /// The number of the question among those of the call, from 1.
    pub ordinal: u64,
    /// What is asked for.
    pub name: String,
    /// With which arguments.
    pub arguments: Value,
}

/// How a request ended.
pub type Outcome = Result<Value, ToolError>;

/// One line between two peers.
#[derive(Debug, Clone, PartialEq)]
pub enum Frame {
    /// Runs a tool.
    Call(Call),
    /// The terminal of a call.
    Terminal(RtcId, Outcome),
    /// Progress of a call, with its number.
    Progress(RtcId, u64, Progress),
    /// A call is to end.
    Cancel(RtcId),
    /// A running tool asks its caller.
    HostCall(HostCall),
    /// The answer to the question of this number.
    HostAnswer(RtcId, u64, Outcome),
}

#[derive(Serialize, Deserialize)]
struct Envelope {
    jsonrpc: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    method: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    params: Option<Value>,
    // An answer of `null` is an answer.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "present"
    )]
    result: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<WireError>,
}

#[derive(Serialize, Deserialize)]
struct WireError {
    code: i64,
    message: String,
    #[serde(default)]
    data: Option<Value>,
}

/// Reads a value that is there, also if it is `null`, as something: for `deserialize_with` beside `default`.
///
/// # Errors
/// Whatever the deserializer says.
pub fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// What kind of frame it is, without the rest of it.
#[derive(Deserialize)]
struct Kind {
    #[serde(default)]
    method: Option<String>,
}

#[derive(Deserialize)]
struct OfCall {
    call_id: RtcId,
}

#[derive(Deserialize)]
struct OfProgress {
    call_id: RtcId,
    seq: u64,
    progress: Progress,
}

impl Frame {
    /// The frame as one line, without its line end.
    pub fn encode(&self) -> String {
        let value = match self {
            Self::Call(call) => request(call.call_id.to_string(), "tool.call", json!(call)),
            Self::HostCall(call) => request(host_id(call.call_id, call.ordinal), "host.call", json!(call)),
            Self::Progress(call, seq, progress) => notice(
                "tool.progress",
                json!({"call_id": call, "seq": seq, "progress": progress}),
            ),
            Self::Cancel(call) => notice("tool.cancel", json!({"call_id": call})),
            Self::Terminal(call, outcome) => response(call.to_string(), outcome),
            Self::HostAnswer(call, ordinal, outcome) => response(host_id(*call, *ordinal), outcome),
        };
        value.to_string()
    }

    /// Whether a line is a question, told without making its values. One that is no frame is none of the others either.
    pub(crate) fn is_question(line: &[u8]) -> bool {
        match serde_json::from_slice::<Kind>(line) {
            Ok(kind) => kind.method.as_deref() == Some("host.call"),
            Err(_) => true,
        }
    }

    /// Reads a line. The text of an error says what is wrong with it.
    pub fn decode(line: &[u8]) -> Result<Self, String> {
        let envelope: Envelope = serde_json::from_slice(line).map_err(|error| error.to_string())?;
        if envelope.jsonrpc != "2.0" {
            return Err("it is not JSON-RPC 2.0".to_owned());
        }
        let Some(method) = envelope.method.as_deref() else {
            return answer(envelope);
        };
        let params = envelope.params.unwrap_or(Value::Null);
        let wrong = |error: serde_json::Error| format!("{method}: {error}");
        Ok(match method {
            "tool.call" => Self::Call(serde_json::from_value(params).map_err(wrong)?),
            "host.call" => Self::HostCall(serde_json::from_value(params).map_err(wrong)?),
            "tool.cancel" => {
                let OfCall { call_id } = serde_json::from_value(params).map_err(wrong)?;
                Self::Cancel(call_id)
            }
            "tool.progress" => {
                let OfProgress {
                    call_id,
                    seq,
                    progress,
                } = serde_json::from_value(params).map_err(wrong)?;
                Self::Progress(call_id, seq, progress)
            }
            other => return Err(format!("there is no method {other}")),
        })
    }
}

fn host_id(call: RtcId, ordinal: u64) -> String {
    format!("{call}/{ordinal}")
}

fn request(id: String, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

fn notice(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "method": method, "params": params})
}

fn response(id: String, outcome: &Outcome) -> Value {
    match outcome {
        Ok(value) => json!({"jsonrpc": "2.0", "id": id, "result": value}),
        Err(error) => {
            let error = json!({"code": TOOL_ERROR, "message": error.message, "data": error});
            json!({"jsonrpc": "2.0", "id": id, "error": error})
        }
    }
}

fn answer(envelope: Envelope) -> Result<Frame, String> {
    let id = envelope.id.ok_or("it has neither a method nor an id")?;
    let outcome = match (envelope.result, envelope.error) {
        (Some(value), None) => Ok(value),
        (None, Some(error)) => Err(tool_error(error)),
        _ => return Err("a response has either a result or an error".to_owned()),
    };
    let wrong = || format!("the id {id:?} is none of ours");
    match id.split_once('/') {
        None => Ok(Frame::Terminal(id.parse().map_err(|_| wrong())?, outcome)),
        Some((call, ordinal)) => {
            let (call, ordinal) = (
                call.parse().map_err(|_| wrong())?,
                ordinal.parse().map_err(|_| wrong())?,
            );
            Ok(Frame::HostAnswer(call, ordinal, outcome))
        }
    }
}

/// Every error can be read, also one of a peer that knows no [`ToolError`].
fn tool_error(error: WireError) -> ToolError {
    let WireError { code, message, data } = error;
    if code == TOOL_ERROR
        && let Some(whole) = data.as_ref().and_then(|data| ToolError::deserialize(data).ok())
    {
        return whole;
    }
    ToolError {
        details: data,
        ..ToolError::new(ErrorKind::Other(format!("json_rpc_{code}")), message)
    }
}

#[cfg(test)]
mod tests;
