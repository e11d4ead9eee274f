use super::*;
use crate::{Key, ModelId};

fn endpoint(model: &str) -> Endpoint {
    let id = ModelId {
        api: "anthropic-messages".into(),
        model: "big/m".into(),
    };
    Endpoint::new(id, model, "http://127.0.0.1:1", Key::None)
}

fn sent(endpoint: &Endpoint, request: &Request) -> String {
    let body = body(endpoint, request);
    assert_eq!(
        body,
        super::body(endpoint, request),
        "the same request has the same bytes"
    );
    let value: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(value.to_string().as_bytes(), body, "it is in its one form");
    serde_json::to_string_pretty(&value).unwrap()
}

fn user(text: &str) -> Item {
    Item::User { text: text.into() }
}

fn result(call_id: &str, text: &str, is_error: bool) -> Item {
    Item::ToolResult {
        call_id: call_id.into(),
        tool_name: "read".into(),
        text: text.into(),
        is_error,
    }
}

fn call(id: &str, name: &str, arguments: &str) -> AssistantBlock {
    AssistantBlock::ToolCall {
        id: id.into(),
        name: name.into(),
        arguments: arguments.into(),
    }
}

#[test]
fn a_whole_conversation() {
    let request = Request {
        system: "You work in a folder.".into(),
        tools: vec![ToolSpec {
            name: "read".into(),
            description: "Reads.".into(),
            input_schema: json!({"type": "object", "properties": {"path": {"type": "string"}}}),
        }],
        items: vec![
            user("look"),
            user("twice"),
            Item::Assistant {
                blocks: vec![
                    AssistantBlock::Thinking { text: "Hm.".into() },
                    AssistantBlock::Provider {
                        value: json!({"type": "thinking", "thinking": "Hm.", "signature": "s+/="}),
                    },
                    AssistantBlock::Text { text: "\n\n".into() },
                    call("toolu_1", "read", "{ \"path\": \"/a\" }"),
                    AssistantBlock::Provider {
                        value: json!({"type": "redacted_thinking", "data": "AA=="}),
                    },
                    call("functions.read:1", "no such/tool", "{\"path\":"),
                ],
            },
            result("toolu_1", "one", false),
            result("functions.read:1", "", true),
            user("and then?"),
            Item::Assistant {
                blocks: vec![AssistantBlock::Thinking { text: "lost".into() }],
            },
            user("go on"),
        ],
        max_output_tokens: None,
    };
    insta::assert_snapshot!(sent(&endpoint("claude-sonnet-4-5"), &request), @r#"
    {
      "model": "claude-sonnet-4-5",
      "max_tokens": 32000,
      "system": [
        {
          "type": "text",
          "text": "You work in a folder.",
          "cache_control": {
            "type": "ephemeral"
          }
        }
      ],
      "tools": [
        {
          "name": "read",
          "description": "Reads.",
          "input_schema": {
            "type": "object",
            "properties": {
              "path": {
                "type": "string"
              }
            }
          }
        }
      ],
      "messages": [
        {
          "role": "user",
          "content": [
            {
              "type": "text",
              "text": "look"
            },
            {
              "type": "text",
              "text": "twice"
            }
          ]
        },
        {
          "role": "assistant",
          "content": [
            {
              "type": "thinking",
              "thinking": "Hm.",
              "signature": "s+/="
            },
            {
              "type": "tool_use",
              "id": "toolu_1",
              "name": "read",
              "input": {
                "path": "/a"
              }
            },
            {
              "type": "redacted_thinking",
              "data": "AA=="
            },
            {
              "type": "tool_use",
              "id": "call_5b4c80c9f36ea841",
              "name": "no_such_tool",
              "input": {
                "INVALID_JSON": "{\"path\":"
              }
            }
          ]
        },
        {
          "role": "user",
          "content": [
            {
              "type": "tool_result",
              "tool_use_id": "toolu_1",
              "content": "one"
            },
            {
              "type": "tool_result",
              "tool_use_id": "call_5b4c80c9f36ea841",
              "is_error": true
            },
            {
              "type": "text",
              "text": "and then?"
            },
            {
              "type": "text",
              "text": "go on",
              "cache_control": {
                "type": "ephemeral"
              }
            }
          ]
        }
      ],
      "stream": true
    }
    "#);
}

#[test]
fn settings_reach_the_request() {
    let request = Request {
        items: vec![user("hi")],
        ..Request::default()
    };
    let mut thinking = endpoint("m");
    thinking.thinking_budget = Some(20_000);
    thinking.max_output = Some(4_000);
    thinking.extra.insert("temperature".into(), json!(1));
    insta::assert_snapshot!(String::from_utf8(body(&thinking, &request)).unwrap(), @r#"{"model":"m","max_tokens":21024,"messages":[{"role":"user","content":[{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}}]}],"thinking":{"type":"enabled","budget_tokens":20000},"stream":true,"temperature":1}"#);
}

#[test]
fn the_limit_of_a_reply_is_what_the_model_takes() {
    let table = [
        ("claude-3-haiku-20240307", 4_096),
        ("claude-3-5-sonnet-latest", 8_192),
        ("claude-sonnet-4-5", 32_000),
        ("some-other-model", 8_192),
    ];
    for (model, limit) in table {
        assert_eq!(max_output(model), limit, "{model}");
    }
}

#[test]
fn a_reply_that_ends_with_a_thought_carries_no_mark_on_it() {
    let block = json!({"type": "thinking", "thinking": "Hm.", "signature": "s"});
    let request = Request {
        items: vec![
            user("hi"),
            Item::Assistant {
                blocks: vec![AssistantBlock::Provider { value: block.clone() }],
            },
        ],
        ..Request::default()
    };
    let value: Value = serde_json::from_slice(&body(&endpoint("m"), &request)).unwrap();
    assert_eq!(value["messages"][1]["content"][0], block);
}

#[test]
fn what_the_provider_said_of_a_block_besides_goes_back_with_it() {
    let fields = |value| AssistantBlock::Provider {
        value: json!({ "fields": value }),
    };
    let request = Request {
        items: vec![
            user("hi"),
            Item::Assistant {
                blocks: vec![
                    fields(json!({"citations": [{"cited_text": "b"}]})),
                    AssistantBlock::Text { text: "a".into() },
                    call("toolu_1", "ls", "{}"),
                    fields(json!({"caller": {"type": "direct"}})),
                    call("toolu_2", "ls", "{}"),
                ],
            },
            result("toolu_1", "one", false),
            result("toolu_2", "two", false),
        ],
        ..Request::default()
    };
    let value: Value = serde_json::from_slice(&body(&endpoint("m"), &request)).unwrap();
    assert_eq!(
        value["messages"][1]["content"],
        json!([
            {"type": "text", "text": "a", "citations": [{"cited_text": "b"}]},
            {"type": "tool_use", "id": "toolu_1", "name": "ls", "input": {}},
            {"type": "tool_use", "id": "toolu_2", "name": "ls", "input": {}, "caller": {"type": "direct"}},
        ])
    );
}
