use super::*;
use crate::{Key, ModelId};

fn endpoint() -> Endpoint {
    let id = ModelId {
        api: "openai-chat".into(),
        model: "small/m".into(),
    };
    Endpoint::new(id, "m", "http://127.0.0.1:1/v1", Key::None)
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

fn result(call_id: &str, text: &str) -> Item {
    Item::ToolResult {
        call_id: call_id.into(),
        tool_name: "read".into(),
        text: text.into(),
        is_error: false,
    }
}

fn call(id: &str, name: &str, arguments: &str) -> AssistantBlock {
    AssistantBlock::ToolCall {
        id: id.into(),
        name: name.into(),
        arguments: arguments.into(),
    }
}

fn conversation() -> Request {
    Request {
        system: "You work in a folder.".into(),
        tools: vec![ToolSpec {
            name: "read".into(),
            description: "Reads.".into(),
            input_schema: json!({"type": "object", "properties": {"path": {"type": "string"}}}),
        }],
        items: vec![
            Item::User { text: "look".into() },
            Item::Assistant {
                blocks: vec![
                    AssistantBlock::Thinking { text: "Hm.".into() },
                    AssistantBlock::Text {
                        text: "I look.".into(),
                    },
                    call("a", "read", "{ \"path\": \"/a\" }"),
                    AssistantBlock::Provider {
                        value: json!({"extra_content": {"google": {"thought_signature": "xyz"}}}),
                    },
                    call(
                        "toolu_0123456789012345678901234567890123456789",
                        "no such/tool",
                        "{\"path\":",
                    ),
                ],
            },
            result("a", "one"),
            result(
                "toolu_0123456789012345678901234567890123456789",
                "[Tool Error] no",
            ),
            Item::Assistant {
                blocks: vec![call("c", "ls", "")],
            },
            result("c", ""),
            Item::Assistant {
                blocks: vec![AssistantBlock::Thinking { text: "lost".into() }],
            },
            Item::User { text: "go on".into() },
        ],
        max_output_tokens: None,
    }
}

#[test]
fn a_whole_conversation() {
    insta::assert_snapshot!(sent(&endpoint(), &conversation()), @r#"
    {
      "model": "m",
      "messages": [
        {
          "role": "system",
          "content": "You work in a folder."
        },
        {
          "role": "user",
          "content": "look"
        },
        {
          "role": "assistant",
          "content": "I look.",
          "tool_calls": [
            {
              "id": "a",
              "type": "function",
              "function": {
                "name": "read",
                "arguments": "{\"path\":\"/a\"}"
              }
            },
            {
              "id": "call_45f5a7a68bdf0f1b",
              "type": "function",
              "function": {
                "name": "no_such_tool",
                "arguments": "{\"INVALID_JSON\":\"{\\\"path\\\":\"}"
              },
              "extra_content": {
                "google": {
                  "thought_signature": "xyz"
                }
              }
            }
          ]
        },
        {
          "role": "tool",
          "tool_call_id": "a",
          "content": "one"
        },
        {
          "role": "tool",
          "tool_call_id": "call_45f5a7a68bdf0f1b",
          "content": "[Tool Error] no"
        },
        {
          "role": "assistant",
          "content": null,
          "tool_calls": [
            {
              "id": "c",
              "type": "function",
              "function": {
                "name": "ls",
                "arguments": "{}"
              }
            }
          ]
        },
        {
          "role": "tool",
          "tool_call_id": "c",
          "content": ""
        },
        {
          "role": "user",
          "content": "go on"
        }
      ],
      "tools": [
        {
          "type": "function",
          "function": {
            "name": "read",
            "description": "Reads.",
            "parameters": {
              "type": "object",
              "properties": {
                "path": {
                  "type": "string"
                }
              }
            }
          }
        }
      ],
      "stream": true,
      "stream_options": {
        "include_usage": true
      }
    }
    "#);
}

#[test]
fn reasoning_goes_back_with_every_reply_where_it_is_wanted() {
    let mut endpoint = endpoint();
    endpoint.echo_reasoning = true;
    let value: Value = serde_json::from_slice(&body(&endpoint, &conversation())).unwrap();
    let messages = value["messages"].as_array().unwrap();
    let replies = messages.iter().filter(|message| message["role"] == "assistant");
    let reasoning: Vec<_> = replies
        .map(|message| message["reasoning_content"].as_str())
        .collect();
    assert_eq!(reasoning, [Some("Hm."), Some(""), Some("lost")]);
}

#[test]
fn settings_reach_the_request() {
    let request = Request {
        items: vec![Item::User { text: "hi".into() }],
        ..Request::default()
    };
    let mut endpoint = endpoint();
    endpoint.max_output = Some(100);
    endpoint.extra.insert("reasoning_effort".into(), json!("low"));
    let elsewhere = String::from_utf8(body(&endpoint, &request)).unwrap();
    insta::assert_snapshot!(elsewhere, @r#"{"model":"m","messages":[{"role":"user","content":"hi"}],"max_tokens":100,"stream":true,"stream_options":{"include_usage":true},"reasoning_effort":"low"}"#);
    endpoint.base_url = "https://api.openai.com/v1".into();
    let there: Value = serde_json::from_slice(&body(&endpoint, &request)).unwrap();
    assert_eq!(
        (&there["max_completion_tokens"], &there["max_tokens"]),
        (&json!(100), &Value::Null)
    );
}

#[test]
fn what_the_provider_said_of_a_message_besides_goes_back_with_it() {
    let details = json!([{"type": "reasoning.encrypted", "data": "AA=="}]);
    let request = Request {
        items: vec![
            Item::User { text: "hi".into() },
            Item::Assistant {
                blocks: vec![
                    AssistantBlock::Provider {
                        value: json!({"fields": {"reasoning_details": details}}),
                    },
                    AssistantBlock::Text { text: "a".into() },
                ],
            },
        ],
        ..Request::default()
    };
    let value: Value = serde_json::from_slice(&body(&endpoint(), &request)).unwrap();
    assert_eq!(
        value["messages"][1],
        json!({"role": "assistant", "content": "a", "reasoning_details": details})
    );
}
