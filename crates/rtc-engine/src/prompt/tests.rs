use rtc_model::ModelId;
use rtc_types::{Content, CreatorKind, CreatorRef, Message, SessionId, Timestamp, ToolCallId};
use uuid::Uuid;

use super::*;
use crate::stored::{MessagePrivate, ProviderReply};

fn context() -> TurnContext {
    let model = ModelId {
        api: "anthropic".into(),
        model: "m".into(),
    };
    TurnContext {
        model,
        system: "sys".into(),
        tools: Vec::new(),
        mode: rtc_types::Mode::Edit,
        max_rounds: None,
        cleared: None,
    }
}

fn message(
    offset: u32,
    turn: u128,
    turn_offset: u32,
    role: MessageRole,
    round: u32,
    data: ContentData,
) -> StoredMessage {
    StoredMessage::new(
        Message {
            id: MessageId::new(Uuid::from_u128(u128::from(offset))),
            client_id: None,
            session_id: SessionId::new(Uuid::nil()),
            turn_id: Some(TurnId::new(Uuid::from_u128(turn))),
            parent_message_id: None,
            global_offset: offset,
            turn_offset,
            role,
            content: Content::from(data),
            streaming_status: StreamingStatus::Completed,
            creator_kind: CreatorKind::System,
            creator_ref_id: CreatorRef::System,
            created_at: Timestamp::UNIX_EPOCH,
            updated_at: Timestamp::UNIX_EPOCH,
            input_tokens: None,
            output_tokens: None,
            total_tokens: None,
            cached_tokens: None,
            reasoning_tokens: None,
        },
        MessagePrivate {
            round,
            provider: None,
        },
    )
}

fn user(offset: u32, turn: u128, turn_offset: u32, text: &str) -> StoredMessage {
    message(
        offset,
        turn,
        turn_offset,
        MessageRole::User,
        0,
        ContentData::Text(text.into()),
    )
}

fn answer(offset: u32, turn: u128, turn_offset: u32, round: u32, text: &str) -> StoredMessage {
    message(
        offset,
        turn,
        turn_offset,
        MessageRole::Assistant,
        round,
        ContentData::Markdown(text.into()),
    )
}

fn call(id: &str, output: Option<(&str, RtcStatus)>) -> ToolCall {
    ToolCall {
        id: ToolCallId::new(id).unwrap(),
        tool_name: "read".into(),
        input: format!("{{\"path\":\"/{id}\"}}"),
        output: output.map(|(text, _)| text.to_owned()),
        status: output.map(|(_, status)| status),
    }
}

fn result(
    offset: u32,
    turn_offset: u32,
    parent: u32,
    id: &str,
    text: &str,
    status: RtcStatus,
) -> StoredMessage {
    let data = ContentData::ToolcallOutput(call(id, Some((text, status))));
    let mut message = message(offset, 1, turn_offset, MessageRole::Tool, 1, data);
    message.entity.parent_message_id = Some(MessageId::new(Uuid::from_u128(u128::from(parent))));
    message
}

fn two_calls() -> Vec<StoredMessage> {
    let input = |offset, turn_offset, id| {
        message(
            offset,
            1,
            turn_offset,
            MessageRole::Tool,
            1,
            ContentData::ToolcallInput(call(id, None)),
        )
    };
    vec![
        user(1, 1, 1, "look"),
        answer(2, 1, 2, 1, "I look."),
        input(3, 3, "a"),
        input(4, 4, "b"),
        // The user speaks while the calls run, and b ends before a.
        user(5, 2, 1, "and then?"),
        result(6, 5, 4, "b", "B", RtcStatus::Completed),
        result(7, 6, 3, "a", "[Tool Error] read failed: no", RtcStatus::Failed),
        answer(8, 1, 7, 2, "Seen."),
    ]
}

fn built(context: &TurnContext, messages: &[StoredMessage]) -> Request {
    let spoken: Vec<_> = messages.iter().map(Spoken::from).map(Arc::new).collect();
    request(context, &spoken)
}

/// One letter an item, with what tells it apart.
fn shape(request: &Request) -> String {
    let item = |item: &Item| match item {
        Item::User { text } => format!("U({text})"),
        Item::Assistant { blocks } => {
            let block = |block: &AssistantBlock| match block {
                AssistantBlock::Text { text } => format!("t:{text}"),
                AssistantBlock::Thinking { text } => format!("k:{text}"),
                AssistantBlock::ToolCall { id, .. } => format!("c:{id}"),
                AssistantBlock::Provider { value } => format!("p:{value}"),
            };
            format!("A({})", blocks.iter().map(block).collect::<Vec<_>>().join(" "))
        }
        Item::ToolResult {
            call_id,
            text,
            is_error,
            ..
        } => format!("R({call_id}={text}{})", if *is_error { "!" } else { "" }),
    };
    request.items.iter().map(item).collect::<Vec<_>>().join("\n")
}

#[test]
fn each_call_is_followed_by_its_one_result_and_what_was_said_meanwhile_comes_after_the_turn() {
    insta::assert_snapshot!(shape(&built(&context(), &two_calls())), @"
    U(look)
    A(t:I look. c:a c:b)
    R(a=[Tool Error] read failed: no!)
    R(b=B)
    A(t:Seen.)
    U(and then?)
    ");
}

#[test]
fn the_request_does_not_depend_on_the_order_in_which_records_are_read() {
    let mut messages = two_calls();
    let first = built(&context(), &messages);
    messages.reverse();
    assert_eq!(
        serde_json::to_string(&built(&context(), &messages)).unwrap(),
        serde_json::to_string(&first).unwrap()
    );
}

#[test]
fn provisional_broken_and_untaken_messages_are_left_out() {
    let mut messages = vec![
        user(1, 1, 1, "x"),
        answer(2, 1, 2, 1, "half"),
        answer(3, 1, 3, 1, "being writ"),
    ];
    messages[1].entity.streaming_status = StreamingStatus::Failed;
    messages[2].entity.streaming_status = StreamingStatus::Streaming;
    let mut waiting = user(4, 9, 0, "not yet");
    waiting.entity.turn_id = None;
    messages.push(waiting);
    assert_eq!(shape(&built(&context(), &messages)), "U(x)");
}

#[test]
fn blocks_of_a_provider_go_back_to_it_whole_and_to_no_other() {
    let signed = serde_json::json!({"type": "thinking", "signature": "s"});
    let blocks = vec![
        AssistantBlock::Provider { value: signed },
        AssistantBlock::Text {
            text: "I look.".into(),
        },
        AssistantBlock::ToolCall {
            id: "a".into(),
            name: "read".into(),
            arguments: "{\"path\":\"/a\"}".into(),
        },
        AssistantBlock::ToolCall {
            id: "b".into(),
            name: "read".into(),
            arguments: "{\"path\":\"/b\"}".into(),
        },
    ];
    let mut messages = two_calls();
    messages[1].private.provider = Some(ProviderReply {
        api: "anthropic".into(),
        model: "m".into(),
        blocks: blocks.clone(),
    });
    let same = built(&context(), &messages);
    assert_eq!(same.items[1], Item::Assistant { blocks });
    assert!(matches!(&same.items[2], Item::ToolResult { call_id, .. } if call_id == "a"));
    let mut other = context();
    other.model.model = "another".into();
    assert_eq!(
        shape(&built(&other, &messages)),
        shape(&built(&context(), &two_calls()))
    );
}

#[test]
fn a_long_result_is_cut_for_the_model_only() {
    let long = "x".repeat(rtc_tool::BUDGET_BYTES * 2);
    let mut messages = two_calls();
    messages[5] = result(6, 5, 4, "b", &long, RtcStatus::Completed);
    let request = built(&context(), &messages);
    let Item::ToolResult { text, .. } = &request.items[3] else {
        panic!()
    };
    assert!(text.len() < rtc_tool::BUDGET_BYTES + 200 && text.contains("are left out here"));
}
