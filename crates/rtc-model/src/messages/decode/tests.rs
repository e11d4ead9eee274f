use super::*;
use crate::replay::{outcome, told};
use crate::{Key, ModelId, Request};

fn endpoint() -> Endpoint {
    let id = ModelId {
        api: "anthropic-messages".into(),
        model: "big/m".into(),
    };
    Endpoint::new(id, "m", "http://127.0.0.1:1", Key::None)
}

fn decoder(endpoint: Endpoint) -> impl Fn() -> Box<dyn Decoder> {
    let endpoint = Arc::new(endpoint);
    move || {
        Box::new(MessagesDecoder::new(
            endpoint.clone(),
            CallIds::of(&Request::default(), b""),
        ))
    }
}

const START: &str = r#"{"type":"message_start","message":{"id":"msg_1","role":"assistant","content":[],"usage":{"input_tokens":10,"output_tokens":1,"cache_read_input_tokens":3,"cache_creation_input_tokens":2}}}"#;
const STOP: &str = r#"{"type":"message_stop"}"#;

fn end(reason: &str) -> String {
    format!(
        r#"{{"type":"message_delta","delta":{{"stop_reason":"{reason}","stop_sequence":null}},"usage":{{"output_tokens":7}}}}"#
    )
}

fn start(index: u32, block: &str) -> String {
    format!(r#"{{"type":"content_block_start","index":{index},"content_block":{block}}}"#)
}

fn delta(index: u32, delta: &str) -> String {
    format!(r#"{{"type":"content_block_delta","index":{index},"delta":{delta}}}"#)
}

fn stream(events: &[String]) -> String {
    let name = |event: &str| {
        serde_json::from_str::<Value>(event).unwrap()["type"]
            .as_str()
            .unwrap_or("x")
            .to_owned()
    };
    events
        .iter()
        .map(|event| format!("event: {}\ndata: {event}\n\n", name(event)))
        .collect()
}

/// The whole of a reply.
fn reply(events: &[String], reason: &str) -> String {
    let all: Vec<String> = [START.to_owned()]
        .into_iter()
        .chain(events.iter().cloned())
        .chain([end(reason), STOP.to_owned()])
        .collect();
    stream(&all)
}

fn text(index: u32, text: &str) -> Vec<String> {
    vec![
        start(index, r#"{"type":"text","text":""}"#),
        delta(index, &format!(r#"{{"type":"text_delta","text":"{text}"}}"#)),
        format!(r#"{{"type":"content_block_stop","index":{index}}}"#),
    ]
}

fn check(cases: &[(&str, String)]) -> String {
    let decoder = decoder(endpoint());
    let told = cases
        .iter()
        .map(|(name, body)| format!("{name}\n{}", told(&outcome(&decoder, body))));
    told.collect::<Vec<_>>().join("\n")
}

#[test]
fn thoughts_text_and_calls_keep_their_order_and_their_bytes() {
    let interleaved = [
        vec![
            start(0, r#"{"type":"thinking","thinking":"","signature":""}"#),
            delta(0, r#"{"type":"thinking_delta","thinking":"H\u00e9"}"#),
            r#"{"type":"ping"}"#.to_owned(),
            delta(0, r#"{"type":"thinking_delta","thinking":"m \n"}"#),
            delta(0, r#"{"type":"signature_delta","signature":"EqQBCg+/="}"#),
        ],
        text(1, "I look."),
        vec![
            start(2, r#"{"type":"redacted_thinking","data":"AAA+/=="}"#),
            start(
                3,
                r#"{"type":"tool_use","id":"toolu_1","name":"read","input":{}}"#,
            ),
            delta(3, r#"{"type":"input_json_delta","partial_json":""}"#),
            delta(
                3,
                r#"{"type":"input_json_delta","partial_json":"{\"path\": \"/\\u0"}"#,
            ),
            delta(3, r#"{"type":"input_json_delta","partial_json":"0e9\"}"}"#),
            start(4, r#"{"type":"thinking","thinking":"","signature":"whole"}"#),
            start(5, r#"{"type":"tool_use","id":"toolu_2","name":"ls","input":{}}"#),
            start(
                6,
                r#"{"type":"tool_use","id":"toolu_3","name":"ls","input":{"path":"/b"}}"#,
            ),
        ],
    ]
    .concat();
    insta::assert_snapshot!(check(&[
        ("interleaved", reply(&interleaved, "tool_use")),
        ("a block that is not known", reply(&[
            start(0, r#"{"type":"server_tool_use","id":"s","name":"web","input":{}}"#),
            delta(0, r#"{"type":"input_json_delta","partial_json":"{\"q\":1}"}"#),
            start(1, r#"{"type":"hologram","depth":1.0,"beam":"a"}"#),
            delta(1, r#"{"type":"beam_delta","beam":"b","angle":3}"#),
        ], "pause_turn")),
        ("fields of known blocks", reply(&[
            start(0, r#"{"type":"text","text":"","citations":null}"#),
            delta(0, r#"{"type":"text_delta","text":"a"}"#),
            delta(0, r#"{"type":"citations_delta","citation":{"cited_text":"b"}}"#),
            start(1, r#"{"type":"tool_use","id":"toolu_9","name":"ls","input":{},"caller":{"type":"direct"}}"#),
        ], "tool_use")),
        ("a thought without a signature", reply(&[
            start(0, r#"{"type":"thinking","thinking":"Hm."}"#),
        ], "max_tokens")),
        ("unknown events and fields", reply(&[text(0, "a"), vec![r#"{"type":"news","x":[1]}"#.to_owned()]].concat(), "end_turn")),
        ("nothing said", reply(&[], "end_turn")),
        ("ids that are missing or taken", reply(&[
            start(0, r#"{"type":"tool_use","id":"a","name":"ls","input":{}}"#),
            start(1, r#"{"type":"tool_use","id":"a","name":"ls","input":{}}"#),
            start(2, r#"{"type":"tool_use","name":"ls","input":{}}"#),
        ], "tool_use")),
    ]), @r#"
    interleaved
      thinking "Hém \n"
      provider {"type":"thinking","thinking":"Hém \n","signature":"EqQBCg+/="}
      text "I look."
      provider {"type":"redacted_thinking","data":"AAA+/=="}
      call toolu_1 read({"path": "/\u00e9"})
      provider {"type":"thinking","thinking":"","signature":"whole"}
      call toolu_2 ls()
      call toolu_3 ls({"path":"/b"})
      ToolUse [10, 7, 3, 2, 0]
    a block that is not known
      provider {"type":"server_tool_use","id":"s","name":"web","input":{"q":1}}
      provider {"type":"hologram","depth":1.0,"beam":"ab","angle":3}
      Other("pause_turn") [10, 7, 3, 2, 0]
    fields of known blocks
      provider {"fields":{"citations":[{"cited_text":"b"}]}}
      text "a"
      provider {"fields":{"caller":{"type":"direct"}}}
      call toolu_9 ls()
      ToolUse [10, 7, 3, 2, 0]
    a thought without a signature
      thinking "Hm."
      MaxTokens [10, 7, 3, 2, 0]
    unknown events and fields
      text "a"
      EndTurn [10, 7, 3, 2, 0]
    nothing said
      EndTurn [10, 7, 3, 2, 0]
    ids that are missing or taken
      call a ls()
      call call_cbf29ce484222325_0 ls()
      call call_cbf29ce484222325_1 ls()
      ToolUse [10, 7, 3, 2, 0]
    "#);
}

#[test]
fn each_reason_to_stop_is_told() {
    let one = |reason| reply(&text(0, "a"), reason);
    let explained = one("refusal").replace(
        r#""stop_sequence":null"#,
        r#""stop_details":{"type":"refusal","explanation":"not that"}"#,
    );
    let cut = reply(
        &[
            start(0, r#"{"type":"tool_use","id":"a","name":"write","input":{}}"#),
            delta(
                0,
                r#"{"type":"input_json_delta","partial_json":"{\"path\":\"/a"}"#,
            ),
        ],
        "max_tokens",
    );
    insta::assert_snapshot!(check(&[
        ("end_turn", one("end_turn")),
        ("stop_sequence", one("stop_sequence")),
        ("pause_turn", one("pause_turn")),
        ("something new", one("boredom")),
        ("model_context_window_exceeded", one("model_context_window_exceeded")),
        ("cut in a call", cut),
        ("refusal", one("refusal")),
        ("refusal, explained", explained),
        ("no message_stop", one("end_turn").replace(STOP, r#"{"type":"ping"}"#)),
        ("an error after the end", one("end_turn").replace(STOP, r#"{"type":"error","error":{"type":"api_error","message":"late"}}"#)),
    ]), @r#"
    end_turn
      text "a"
      EndTurn [10, 7, 3, 2, 0]
    stop_sequence
      text "a"
      EndTurn [10, 7, 3, 2, 0]
    pause_turn
      text "a"
      Other("pause_turn") [10, 7, 3, 2, 0]
    something new
      text "a"
      Other("boredom") [10, 7, 3, 2, 0]
    model_context_window_exceeded
      text "a"
      MaxTokens [10, 7, 3, 2, 0]
    cut in a call
      call a write({"path":"/a)
      MaxTokens [10, 7, 3, 2, 0]
    refusal
      after "" "a": the model declined to answer (it did not say why); put the request differently, or choose another model
    refusal, explained
      after "" "a": the model declined to answer (not that); put the request differently, or choose another model
    no message_stop
      text "a"
      EndTurn [10, 7, 3, 2, 0]
    an error after the end
      text "a"
      EndTurn [10, 7, 3, 2, 0]
    "#);
}

#[test]
fn what_is_no_reply_is_told() {
    let begun = [vec![START.to_owned()], text(0, "Hel")].concat();
    let with = |event: &str| stream(&[begun.clone(), vec![event.to_owned()]].concat());
    insta::assert_snapshot!(check(&[
        ("nothing", String::new()),
        ("only an end", stream(&[STOP.to_owned()])),
        ("no end", stream(&begun)),
        ("overloaded", with(r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#)),
        ("a fault of the server", with(r#"{"type":"error","error":{"type":"api_error","message":"Internal"}}"#)),
        ("too long", with(r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 tokens > 8 maximum"}}"#)),
        ("no JSON", "data: {\"type\":\n\n".to_owned()),
        ("a web page", "\n <html></html>".to_owned()),
    ]), @r#"
    nothing
      after "" "": the model's reply broke off (it is empty); ask again, may be asked again
    only an end
      after "" "": the model's reply broke off (it is empty); ask again, may be asked again
    no end
      after "" "Hel": the model's reply broke off (it ended in the middle); ask again, may be asked again
    overloaded
      after "" "Hel": the model is overloaded; try again in a moment, or choose another model, may be asked again
    a fault of the server
      after "" "Hel": the model's server failed (Internal); try again in a moment, or choose another model, may be asked again
    too long
      after "" "Hel": the conversation is longer than this model can read; compact it, or begin a new session
    no JSON
      after "" "": the model's reply broke off (an event is not JSON); ask again, may be asked again
    a web page
      after "" "": the model cannot be reached (a web page answered where the model should); check the network and the base URL, then try again
    "#);
}

#[test]
fn a_provider_that_never_signs_gets_its_thoughts_back_if_it_wants_them() {
    let mut endpoint = endpoint();
    endpoint.echo_reasoning = true;
    let body = reply(&[start(0, r#"{"type":"thinking","thinking":"Hm."}"#)], "end_turn");
    insta::assert_snapshot!(told(&outcome(decoder(endpoint), &body)), @r#"
    thinking "Hm."
    provider {"type":"thinking","thinking":"Hm."}
    EndTurn [10, 7, 3, 2, 0]
    "#);
}
