//! What programs read of a run.

use rtc_types::{ContentData, Message, MessageRole, Rtc, Session, StreamingStatus, Turn};
use serde_json::{Value, json};

/// The object of `--output json`, about the last turn of a session.
pub(crate) fn result(session: &Session, turn: Option<&Turn>, messages: &[Message], rtcs: &[Rtc]) -> Value {
    let id = turn.map(|turn| turn.id);
    let of_turn = messages.iter().filter(|message| message.turn_id == id);
    let mut text = Vec::new();
    let (mut input, mut output) = (0, 0);
    for message in of_turn {
        input += message.input_tokens.unwrap_or(0);
        output += message.output_tokens.unwrap_or(0);
        if message.role == MessageRole::Assistant
            && message.streaming_status == StreamingStatus::Completed
            && let Some(ContentData::Markdown(part)) = message.content.parse()
        {
            text.push(part);
        }
    }
    let calls: Vec<_> = rtcs.iter().filter(|rtc| Some(rtc.turn_id) == id).collect();
    let changes: Vec<Value> = calls
        .iter()
        .filter_map(|rtc| {
            let result = rtc.result.as_ref()?.as_object()?;
            let path = result.get("path")?;
            Some(json!({ "rtc_id": rtc.id, "tool": rtc.tool_name, "path": path, "diff": result.get("diff") }))
        })
        .collect();
    json!({
        "session_id": session.id,
        "turn_id": id,
        "status": turn.map(|turn| turn.status),
        "error": turn.and_then(|turn| turn.error_message.clone()),
        "text": text.join("\n\n"),
        "calls": calls,
        "changes": changes,
        "usage": { "input_tokens": input, "output_tokens": output },
    })
}
