use super::*;
use crate::replay::{outcome, told};
use crate::{Key, ModelId, Request};

fn decoder(endpoint: Endpoint) -> impl Fn() -> Box<dyn Decoder> {
    let endpoint = Arc::new(endpoint);
    move || {
        Box::new(ChatDecoder::new(
            endpoint.clone(),
            CallIds::of(&Request::default(), bytes::Bytes::new()),
        ))
    }
}

fn endpoint() -> Endpoint {
    let id = ModelId {
        api: "openai-chat".into(),
        model: "small/m".into(),
    };
    Endpoint::new(id, "m", "http://127.0.0.1:1/v1", Key::None)
}

/// The same stream in events that end by `line_end`.
fn stream(events: &[&str], line_end: &str) -> String {
    events
        .iter()
        .map(|event| format!("data: {event}{line_end}{line_end}"))
        .collect()
}

fn check(cases: &[(&str, String)]) -> String {
    let decoder = decoder(endpoint());
    let told = cases
        .iter()
        .map(|(name, body)| format!("{name}\n{}", told(&outcome(&decoder, body))));
    told.collect::<Vec<_>>().join("\n")
}

fn chunk(delta: &str) -> String {
    format!(r#"{{"choices":[{{"index":0,"delta":{delta},"finish_reason":null}}]}}"#)
}

fn finish(reason: &str) -> String {
    format!(r#"{{"choices":[{{"index":0,"delta":{{}},"finish_reason":{reason}}}]}}"#)
}

const USAGE: &str = r#"{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":2}}}"#;
const DONE: &str = "[DONE]";

/// The deltas, then a reason and `[DONE]`.
fn reply(deltas: &[&str], reason: &str) -> String {
    let events: Vec<String> = deltas
        .iter()
        .map(|delta| chunk(delta))
        .chain([finish(reason)])
        .collect();
    let mut events: Vec<&str> = events.iter().map(String::as_str).collect();
    events.push(DONE);
    stream(&events, "\n")
}

fn calls(fragments: &[&str]) -> String {
    let deltas: Vec<String> = fragments
        .iter()
        .map(|list| format!(r#"{{"tool_calls":[{list}]}}"#))
        .collect();
    reply(
        &deltas.iter().map(String::as_str).collect::<Vec<_>>(),
        r#""tool_calls""#,
    )
}

#[test]
fn a_text_arrives_however_the_server_frames_it() {
    let (one, two) = (
        chunk(r#"{"role":"assistant","content":"Hé"}"#),
        chunk(r#"{"content":"llo 🙂\n"}"#),
    );
    let stop = finish(r#""stop""#);
    let events = [one.as_str(), &two, &stop, USAGE, DONE];
    insta::assert_snapshot!(check(&[
        ("as it should be", stream(&events, "\n")),
        ("CRLF", stream(&events, "\r\n")),
        ("CR", stream(&events, "\r")),
        ("no space after the colon", stream(&events, "\n").replace("data: ", "data:")),
        ("comments and other fields", format!(": hi\n\n{}", stream(&events, "\n").replace("data: ", ":\nid: 7\nretry: 5\nevent: x\ndata: "))),
        ("byte order mark", format!("\u{feff}{}", stream(&events, "\n"))),
        ("no [DONE]", stream(&events[..4], "\n")),
        ("no [DONE] and no cost", stream(&events[..3], "\n")),
        ("no empty line at the end", stream(&events[..3], "\n").trim_end().to_owned()),
        ("no reason", stream(&[&one, &two, DONE], "\n")),
        ("an empty reason on the way", stream(&[&one.replace("null", "\"\""), &two, &stop, DONE], "\n")),
        ("cost with the reason", stream(&[&one, &two, &stop.replacen('{', r#"{"usage":{"prompt_tokens":3,"completion_tokens":1},"#, 1)], "\n")),
        ("unknown fields and values", stream(&[&one.replacen('{', r#"{"object":7,"service_tier":"on_demand","x":[{}],"#, 1), "{\"new\":1}", &two, &finish(r#""eos""#), DONE], "\n")),
        ("fields that go back", reply(&[
            r#"{"reasoning_details":[{"type":"reasoning.text","text":"Hm","signature":null}],"annotations":[],"audio":null}"#,
            r#"{"content":"a","reasoning_details":[{"type":"reasoning.encrypted","data":"AA=="}],"mood":"ca"}"#,
            r#"{"mood":"lm","beam":{"depth":1.0,"name":"x"}}"#,
            r#"{"beam":{"depth":2.0,"name":"y"}}"#,
        ], r#""stop""#)),
        ("an unknown reason", reply(&[r#"{"content":"a"}"#], r#""because""#)),
        ("not streamed", r#"{"id":"1","choices":[{"index":0,"message":{"role":"assistant","content":"Hello"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":2}}"#.to_owned()),
        ("a list of parts", reply(&[r#"{"content":[{"type":"thinking","thinking":[{"type":"text","text":"Hm"}]},{"type":"text","text":"Yes"}]}"#], r#""stop""#)),
        ("an error after the end", stream(&[&one, &two, &stop, r#"{"error":{"message":"no usage","type":"server_error"}}"#, DONE], "\n")),
        ("nonsense after the end", stream(&[&one, &two, &stop, "[DON"], "\n")),
        ("nothing said", reply(&[r#"{"role":"assistant","content":""}"#], r#""stop""#)),
    ]), @r#"
    as it should be
      text "Héllo 🙂\n"
      EndTurn [6, 5, 4, 0, 2]
    CRLF
      text "Héllo 🙂\n"
      EndTurn [6, 5, 4, 0, 2]
    CR
      text "Héllo 🙂\n"
      EndTurn [6, 5, 4, 0, 2]
    no space after the colon
      text "Héllo 🙂\n"
      EndTurn [6, 5, 4, 0, 2]
    comments and other fields
      text "Héllo 🙂\n"
      EndTurn [6, 5, 4, 0, 2]
    byte order mark
      text "Héllo 🙂\n"
      EndTurn [6, 5, 4, 0, 2]
    no [DONE]
      text "Héllo 🙂\n"
      EndTurn [6, 5, 4, 0, 2]
    no [DONE] and no cost
      text "Héllo 🙂\n"
      EndTurn [0, 0, 0, 0, 0]
    no empty line at the end
      text "Héllo 🙂\n"
      EndTurn [0, 0, 0, 0, 0]
    no reason
      text "Héllo 🙂\n"
      EndTurn [0, 0, 0, 0, 0]
    an empty reason on the way
      text "Héllo 🙂\n"
      EndTurn [0, 0, 0, 0, 0]
    cost with the reason
      text "Héllo 🙂\n"
      EndTurn [3, 1, 0, 0, 0]
    unknown fields and values
      text "Héllo 🙂\n"
      EndTurn [0, 0, 0, 0, 0]
    fields that go back
      provider {"fields":{"reasoning_details":[{"type":"reasoning.text","text":"Hm","signature":null},{"type":"reasoning.encrypted","data":"AA=="}],"mood":"calm","beam":{"depth":2.0,"name":"xy"}}}
      text "a"
      EndTurn [0, 0, 0, 0, 0]
    an unknown reason
      text "a"
      Other("because") [0, 0, 0, 0, 0]
    not streamed
      text "Hello"
      EndTurn [1, 2, 0, 0, 0]
    a list of parts
      thinking "Hm"
      text "Yes"
      EndTurn [0, 0, 0, 0, 0]
    an error after the end
      text "Héllo 🙂\n"
      EndTurn [0, 0, 0, 0, 0]
    nonsense after the end
      text "Héllo 🙂\n"
      EndTurn [0, 0, 0, 0, 0]
    nothing said
      EndTurn [0, 0, 0, 0, 0]
    "#);
}

#[test]
fn calls_stay_apart_however_the_server_numbers_them() {
    const WHOLE: &str = r#""{\"path\":\"/a\"}""#;
    insta::assert_snapshot!(check(&[
        ("numbered, interleaved", calls(&[
            r#"{"index":0,"id":"a","type":"function","function":{"name":"read","arguments":""}}"#,
            r#"{"index":1,"id":"b","type":"function","function":{"name":"ls","arguments":"{\"pa"}}"#,
            r#"{"index":0,"function":{"arguments":"{\"path\":"}}"#,
            r#"{"index":1,"function":{"arguments":"th\":\"/\"}"}}"#,
            r#"{"index":0,"function":{"arguments":"\"/\\u00e9\"}"}}"#,
        ])),
        ("all with index 0", calls(&[
            &format!(r#"{{"index":0,"id":"a","function":{{"name":"read","arguments":{WHOLE}}}}}"#),
            r#"{"index":0,"id":"b","function":{"name":"read","arguments":"{\"path\":"}}"#,
            r#"{"index":0,"function":{"arguments":"\"/b\"}"}}"#,
            r#"{"index":0,"id":"c","function":{"name":"ls","arguments":""}}"#,
        ])),
        ("all with index 0 in one event", calls(&[
            &format!(r#"{{"index":0,"id":"a","function":{{"name":"read","arguments":{WHOLE}}}}},{{"index":0,"id":"b","function":{{"name":"read","arguments":{WHOLE}}}}}"#),
        ])),
        ("no index", calls(&[
            r#"{"id":"a","function":{"name":"read","arguments":"{\"path\""}}"#,
            r#"{"function":{"arguments":":\"/a\"}"}}"#,
            r#"{"id":"b","function":{"name":"ls","arguments":"{}"}}"#,
        ])),
        ("no id", calls(&[
            r#"{"index":0,"function":{"name":"read","arguments":"{\"path\""}}"#,
            r#"{"index":0,"function":{"arguments":":\"/a\"}"}}"#,
            r#"{"index":1,"function":{"name":"read","arguments":"{\"path\":\"/b\"}"}}"#,
        ])),
        ("neither index nor id", calls(&[
            &format!(r#"{{"function":{{"name":"read","arguments":{WHOLE}}}}}"#),
            &format!(r#"{{"function":{{"name":"read","arguments":{WHOLE}}}}},{{"function":{{"name":"read","arguments":{WHOLE}}}}}"#),
            r#"{"function":{"name":"ls"}}"#,
        ])),
        ("the id in every fragment", calls(&[
            r#"{"index":0,"id":"a","function":{"name":"read","arguments":"{\"path\""}}"#,
            r#"{"index":0,"id":"a","function":{"name":"read","arguments":":\"/a\"}"}}"#,
        ])),
        ("another id in every fragment", calls(&[
            r#"{"index":0,"id":"a","function":{"name":"read","arguments":"{\"path\""}}"#,
            r#"{"index":0,"id":"b","function":{"name":null,"arguments":":\"/a\"}"}}"#,
        ])),
        ("the id comes late", calls(&[
            r#"{"index":0,"function":{"name":"read"}}"#,
            r#"{"index":0,"id":"a","function":{"arguments":"{}"}}"#,
        ])),
        ("one id for all", calls(&[
            &format!(r#"{{"index":0,"id":"a","function":{{"name":"read","arguments":{WHOLE}}}}}"#),
            r#"{"index":1,"id":"a","function":{"name":"ls","arguments":"{}"}}"#,
        ])),
        ("one id and one index for all", calls(&[
            &format!(r#"{{"index":0,"id":"a","function":{{"name":"read","arguments":{WHOLE}}}}}"#),
            r#"{"index":0,"id":"a","function":{"name":"read","arguments":"{\"path\":"}}"#,
            r#"{"index":0,"id":"a","function":{"name":"read","arguments":"\"/b\"}"}}"#,
        ])),
        ("one id for all, no index, in one event", calls(&[
            &format!(r#"{{"id":"a","function":{{"name":"read","arguments":{WHOLE}}}}},{{"id":"a","function":{{"name":"read","arguments":"{{}}"}}}}"#),
        ])),
        ("one id for all, arguments as an object", calls(&[
            r#"{"id":"a","function":{"name":"read","arguments":{"path":"/a"}}}"#,
            r#"{"id":"a","function":{"name":"read","arguments":{"path":"/b"}}}"#,
            r#"{"id":"a","function":{"name":"read"}}"#,
        ])),
        ("arguments as an object", calls(&[
            r#"{"index":0,"id":"a","function":{"name":"read","arguments":{"path":"/a","limit":1}}}"#,
            r#"{"index":0,"id":"b","function":{"name":"ls","arguments":{}}}"#,
        ])),
        ("no arguments", calls(&[
            r#"{"index":0,"id":"a","function":{"name":"ls"}}"#,
            r#"{"index":1,"id":"b","function":{"name":"ls","arguments":null}}"#,
        ])),
        ("one call that is no list, with a signature", reply(&[
            r#"{"tool_calls":{"id":"a","extra_content":{"google":{"thought_signature":"xyz"}},"function":{"name":"ls","arguments":"{}"}}}"#,
        ], r#""tool_calls""#)),
        ("`stop` although there are calls", reply(&[
            r#"{"content":"I look."}"#,
            r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"ls","arguments":"{}"}}]}"#,
        ], r#""stop""#)),
        ("no reason although there are calls", stream(&[
            &chunk(r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"ls","arguments":"{}"}}]}"#),
            DONE,
        ], "\n")),
        ("not streamed", r#"{"choices":[{"message":{"content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"ls","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"ls","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}"#.to_owned()),
    ]), @r#"
    numbered, interleaved
      call a read({"path":"/\u00e9"})
      call b ls({"path":"/"})
      ToolUse [0, 0, 0, 0, 0]
    all with index 0
      call a read({"path":"/a"})
      call b read({"path":"/b"})
      call c ls()
      ToolUse [0, 0, 0, 0, 0]
    all with index 0 in one event
      call a read({"path":"/a"})
      call b read({"path":"/a"})
      ToolUse [0, 0, 0, 0, 0]
    no index
      call a read({"path":"/a"})
      call b ls({})
      ToolUse [0, 0, 0, 0, 0]
    no id
      call call_cbf29ce484222325_0 read({"path":"/a"})
      call call_cbf29ce484222325_1 read({"path":"/b"})
      ToolUse [0, 0, 0, 0, 0]
    neither index nor id
      call call_cbf29ce484222325_0 read({"path":"/a"})
      call call_cbf29ce484222325_1 read({"path":"/a"})
      call call_cbf29ce484222325_2 read({"path":"/a"})
      call call_cbf29ce484222325_3 ls()
      ToolUse [0, 0, 0, 0, 0]
    the id in every fragment
      call a read({"path":"/a"})
      ToolUse [0, 0, 0, 0, 0]
    another id in every fragment
      call a read({"path":"/a"})
      ToolUse [0, 0, 0, 0, 0]
    the id comes late
      call a read({})
      ToolUse [0, 0, 0, 0, 0]
    one id for all
      call a read({"path":"/a"})
      call call_cbf29ce484222325_0 ls({})
      ToolUse [0, 0, 0, 0, 0]
    one id and one index for all
      call a read({"path":"/a"})
      call call_cbf29ce484222325_0 read({"path":"/b"})
      ToolUse [0, 0, 0, 0, 0]
    one id for all, no index, in one event
      call a read({"path":"/a"})
      call call_cbf29ce484222325_0 read({})
      ToolUse [0, 0, 0, 0, 0]
    one id for all, arguments as an object
      call a read({"path":"/a"})
      call call_cbf29ce484222325_0 read({"path":"/b"})
      ToolUse [0, 0, 0, 0, 0]
    arguments as an object
      call a read({"path":"/a","limit":1})
      call b ls({})
      ToolUse [0, 0, 0, 0, 0]
    no arguments
      call a ls()
      call b ls()
      ToolUse [0, 0, 0, 0, 0]
    one call that is no list, with a signature
      provider {"extra_content":{"google":{"thought_signature":"xyz"}}}
      call a ls({})
      ToolUse [0, 0, 0, 0, 0]
    `stop` although there are calls
      text "I look."
      call a ls({})
      ToolUse [0, 0, 0, 0, 0]
    no reason although there are calls
      call a ls({})
      ToolUse [0, 0, 0, 0, 0]
    not streamed
      call a ls({})
      call b ls({})
      ToolUse [0, 0, 0, 0, 0]
    "#);
}

#[test]
fn a_reply_cut_by_the_token_limit_ends_with_the_call_that_was_cut() {
    insta::assert_snapshot!(check(&[
        ("the last call", reply(&[
            r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"ls","arguments":"{}"}}]}"#,
            r#"{"tool_calls":[{"index":1,"id":"b","function":{"name":"write","arguments":"{\"path\":\"/a"}}]}"#,
        ], r#""length""#)),
        ("the first of two", reply(&[
            r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"write","arguments":"{\"path\":"}}]}"#,
            r#"{"tool_calls":[{"index":1,"id":"b","function":{"name":"ls","arguments":"{}"}}]}"#,
            r#"{"tool_calls":[{"index":0,"extra_content":{"s":1},"function":{"arguments":"\"/a"}}]}"#,
        ], r#""length""#)),
        ("text after a whole call", reply(&[
            r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"ls","arguments":"{}"}}]}"#,
            r#"{"content":"and then"}"#,
        ], r#""length""#)),
        ("text that was held back, then a call", reply(&[
            r#"{"content":"a <"}"#,
            r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"ls","arguments":"{}"}}]}"#,
        ], r#""length""#)),
        ("text", reply(&[r#"{"content":"for ev"}"#], r#""length""#)),
    ]), @r#"
    the last call
      call a ls({})
      call b write({"path":"/a)
      MaxTokens [0, 0, 0, 0, 0]
    the first of two
      call b ls({})
      provider {"extra_content":{"s":1}}
      call a write({"path":"/a)
      MaxTokens [0, 0, 0, 0, 0]
    text after a whole call
      call a ls({})
      text "and then"
      MaxTokens [0, 0, 0, 0, 0]
    text that was held back, then a call
      text "a <"
      call a ls({})
      MaxTokens [0, 0, 0, 0, 0]
    text
      text "for ev"
      MaxTokens [0, 0, 0, 0, 0]
    "#);
}

#[test]
fn thoughts_are_told_once_whatever_they_are_called() {
    insta::assert_snapshot!(check(&[
        ("reasoning_content", reply(&[r#"{"reasoning_content":"Hm."}"#, r#"{"content":"Yes."}"#], r#""stop""#)),
        ("reasoning", reply(&[r#"{"reasoning":"Hm","content":""}"#, r#"{"reasoning":"."}"#, r#"{"content":"Yes."}"#], r#""stop""#)),
        ("both", reply(&[r#"{"reasoning":"Hm.","reasoning_content":"Hm."}"#, r#"{"content":"Yes."}"#], r#""stop""#)),
        ("one of both empty", reply(&[r#"{"reasoning":"Hm.","reasoning_content":null}"#, r#"{"content":"Yes."}"#], r#""stop""#)),
        ("in the text", reply(&[r#"{"content":"<thi"}"#, r#"{"content":"nk>\nHm. </"}"#, r#"{"content":"think>\n\nYes <think>."}"#], r#""stop""#)),
        ("in the text, for ever", reply(&[r#"{"content":"<think>Hm"}"#], r#""length""#)),
        ("white space before calls", reply(&[r#"{"content":"\n\n"}"#, r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"ls"}}]}"#], r#""tool_calls""#)),
    ]), @r#"
    reasoning_content
      thinking "Hm."
      text "Yes."
      EndTurn [0, 0, 0, 0, 0]
    reasoning
      thinking "Hm."
      text "Yes."
      EndTurn [0, 0, 0, 0, 0]
    both
      thinking "Hm."
      text "Yes."
      EndTurn [0, 0, 0, 0, 0]
    one of both empty
      thinking "Hm."
      text "Yes."
      EndTurn [0, 0, 0, 0, 0]
    in the text
      thinking "Hm. "
      text "Yes <think>."
      EndTurn [0, 0, 0, 0, 0]
    in the text, for ever
      thinking "Hm"
      MaxTokens [0, 0, 0, 0, 0]
    white space before calls
      call a ls()
      ToolUse [0, 0, 0, 0, 0]
    "#);
}

#[test]
fn what_is_no_reply_is_told() {
    insta::assert_snapshot!(check(&[
        ("nothing", String::new()),
        ("only [DONE]", stream(&[DONE], "\n")),
        ("only comments", ": ping\n\n: ping\n\n".to_owned()),
        ("no end", stream(&[&chunk(r#"{"content":"Hel"}"#)], "\n")),
        ("half an event", stream(&[&chunk(r#"{"content":"Hel"}"#)], "\n") + "data: {\"choices\":[{\"del"),
        ("an error object", stream(&[&chunk(r#"{"content":"Hel"}"#), r#"{"error":{"message":"the\nworker died","type":"server_error","code":null}}"#], "\n")),
        ("an error object for a body", r#"{"error":{"message":"The model `m` is overloaded","type":"overloaded_error"}}"#.to_owned()),
        ("an error as text", stream(&[r#"{"error":"out of memory"}"#], "\n")),
        ("an error with a status", stream(&[r#"{"error":{"message":"slow down","code":429}}"#], "\n")),
        ("an error of its own kind", stream(&[r#"{"object":"error","message":"This model's maximum context length is 10 tokens","code":400}"#], "\n")),
        ("an error in a list", r#"[{"error":{"code":403,"message":"no","status":"PERMISSION_DENIED"}}]"#.to_owned()),
        ("a web page", "<!DOCTYPE html><html><body>Sign in</body></html>".to_owned()),
        ("filtered", reply(&[r#"{"content":"Hel"}"#], r#""content_filter""#)),
        ("something else", "data: hello\n\n".to_owned()),
        ("a body of something else", "{\"hello\":1}".to_owned()),
    ]), @r#"
    nothing
      after "" "": the model's reply broke off (it is empty); ask again, may be asked again
    only [DONE]
      after "" "": the model's reply broke off (it is empty); ask again, may be asked again
    only comments
      after "" "": the model's reply broke off (it is empty); ask again, may be asked again
    no end
      after "" "Hel": the model's reply broke off (it ended in the middle); ask again, may be asked again
    half an event
      after "" "Hel": the model's reply broke off (an event is not JSON); ask again, may be asked again
    an error object
      after "" "Hel": the model's server failed (the worker died); try again in a moment, or choose another model, may be asked again
    an error object for a body
      after "" "": the model is overloaded; try again in a moment, or choose another model, may be asked again
    an error as text
      after "" "": the model's server failed (out of memory); try again in a moment, or choose another model, may be asked again
    an error with a status
      after "" "": the model's rate limit is reached; wait, or choose another model, may be asked again
    an error of its own kind
      after "" "": the conversation is longer than this model can read; compact it, or begin a new session
    an error in a list
      after "" "": the model did not accept the key (status 403: no); check the key of this model in the configuration
    a web page
      after "" "": the model cannot be reached (a web page answered where the model should); check the network and the base URL, then try again
    filtered
      after "" "Hel": the model declined to answer (the provider's filter stopped the reply); put the request differently, or choose another model
    something else
      after "" "": the model's reply broke off (an event is not JSON); ask again, may be asked again
    a body of something else
      after "" "": the model's reply broke off (it is empty); ask again, may be asked again
    "#);
}

#[test]
fn an_error_names_no_key() {
    let mut endpoint = endpoint();
    endpoint.key = Key::Set(crate::ApiKey::new("hidden-words"));
    let body = stream(
        &[r#"{"error":{"message":"bad key hidden-words","type":"authentication_error"}}"#],
        "\n",
    );
    let told = told(&outcome(decoder(endpoint), &body));
    assert!(
        told.contains("bad key [key]") && !told.contains("hidden"),
        "{told}"
    );
}
