use ::genai::chat::{MessageContent, StreamChunk, ToolCall};

use super::*;
use crate::Request;

fn run(events: &[ChatStreamEvent]) -> Result<(String, Reply), Failure> {
    let mut decoder = OtherDecoder::new(CallIds::of(&Request::default(), bytes::Bytes::new()));
    let mut deltas = String::new();
    for event in events {
        for event in decoder.feed(&serde_json::to_string(event).unwrap())? {
            match event {
                Event::Text { delta } => deltas += &format!("t:{delta} "),
                Event::Thinking { delta } => deltas += &format!("k:{delta} "),
                Event::Calling { tool } => deltas += &format!("c:{tool} "),
                Event::Done(reply) => return Ok((deltas, reply)),
            }
        }
    }
    Err(decoder.end().unwrap_err())
}

fn chunk(text: &str) -> StreamChunk {
    StreamChunk { content: text.into() }
}

fn call(id: &str, arguments: Value) -> ContentPart {
    ContentPart::ToolCall(ToolCall {
        call_id: id.into(),
        fn_name: "read".into(),
        fn_arguments: arguments,
        thought_signatures: None,
    })
}

fn end(parts: Vec<ContentPart>, stop: TheirStop) -> ChatStreamEvent {
    ChatStreamEvent::End(StreamEnd {
        captured_content: Some(MessageContent::from_parts(parts)),
        captured_stop_reason: Some(stop),
        ..StreamEnd::default()
    })
}

#[test]
fn a_reply_is_put_together_and_its_signatures_go_back() {
    let parts = vec![
        ContentPart::ThoughtSignature("sig".into()),
        ContentPart::Text("Yes.".into()),
        call("a", json!({"path": "/a"})),
        call("a", json!("{\"path\":")),
    ];
    let events = [
        ChatStreamEvent::Start,
        ChatStreamEvent::ReasoningChunk(chunk("Hm.")),
        ChatStreamEvent::Heartbeat,
        ChatStreamEvent::Chunk(chunk("Yes")),
        ChatStreamEvent::Chunk(chunk(".")),
        end(parts, TheirStop::MaxTokens("length".into())),
    ];
    let (deltas, reply) = run(&events).unwrap();
    assert_eq!(deltas, "k:Hm. t:Yes t:. ");
    assert_eq!(reply.stop, StopReason::MaxTokens);
    let Some(AssistantBlock::ToolCall { arguments, id, .. }) = reply.blocks.last() else {
        panic!("the cut call is last: {:?}", reply.blocks);
    };
    assert_eq!(arguments, "{\"path\":");
    let request = Request {
        items: vec![crate::Item::Assistant {
            blocks: reply.blocks.clone(),
        }],
        ..Request::default()
    };
    let sent = super::super::request::request(::genai::adapter::AdapterKind::Gemini, &request)
        .messages
        .remove(0)
        .content;
    assert_eq!(sent.thought_signatures(), ["sig"]);
    let ids: Vec<_> = sent
        .tool_calls()
        .iter()
        .map(|call| call.call_id.clone())
        .collect();
    assert_eq!(ids, ["a".to_owned(), id.clone()]);
}

#[test]
fn what_does_not_end_is_no_reply() {
    let failure = run(&[ChatStreamEvent::Chunk(chunk("Yes"))]).unwrap_err();
    assert_eq!(failure.error.code(), "model.stream");
    let cut = ChatStreamEvent::End(StreamEnd {
        captured_content: Some(MessageContent::from_text("Yes")),
        ..StreamEnd::default()
    });
    let failure = run(&[ChatStreamEvent::Chunk(chunk("Yes")), cut]).unwrap_err();
    assert_eq!((failure.error.code(), failure.again), ("model.stream", true));
    let filtered = [end(Vec::new(), TheirStop::ContentFilter("safety".into()))];
    assert_eq!(run(&filtered).unwrap_err().error.code(), "model.refused");
}
