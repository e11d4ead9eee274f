use serde_json::json;

use super::*;
use crate::{ApiKey, Key, ModelId};

fn endpoint() -> Endpoint {
    let id = ModelId {
        api: "openai-chat".into(),
        model: "small/gpt-x".into(),
    };
    Endpoint::new(
        id,
        "gpt-x",
        "http://127.0.0.1:1/v1",
        Key::Set(ApiKey::new("hidden-words")),
    )
}

fn told(status: u16, body: &str) -> String {
    let failure = of_status(&endpoint(), status, body.as_bytes(), None);
    assert!(!failure.error.to_string().contains("hidden"), "the key is told");
    let again = if failure.again { " (again)" } else { "" };
    format!("{status} {}{again}: {}", failure.error.code(), failure.error)
}

#[test]
fn each_answer_of_a_provider_has_its_error() {
    let table = [
        (
            400,
            r#"{"error":{"message":"Invalid schema","type":"invalid_request_error"}}"#,
        ),
        (
            400,
            r#"{"error":{"message":"too big","code":"context_length_exceeded"}}"#,
        ),
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 > 8"}}"#,
        ),
        (
            500,
            r#"{"error":{"message":"the request exceeds the available context size"}}"#,
        ),
        (413, "{}"),
        (
            401,
            r#"{"error":{"message":"Incorrect API key provided: sk-ab***yz. hidden-words"}}"#,
        ),
        (402, r#"{"error":{"message":"Insufficient Balance"}}"#),
        (403, "<html>forbidden</html>"),
        (
            404,
            r#"{"error":{"message":"The model does not exist","code":"model_not_found"}}"#,
        ),
        (404, ""),
        (422, r#"{"detail":[{"loc":["body"],"msg":"extra fields"}]}"#),
        (
            429,
            r#"{"error":{"message":"slow down","code":"rate_limit_exceeded"}}"#,
        ),
        (
            429,
            r#"{"error":{"message":"check your plan","code":"insufficient_quota"}}"#,
        ),
        (500, r#"{"error":"it\n\tbroke"}"#),
        (502, "<html>bad gateway</html>"),
        (503, ""),
        (
            529,
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
        ),
        (307, ""),
        (418, "short and stout"),
        (204, ""),
    ];
    let all: Vec<String> = table.iter().map(|(status, body)| told(*status, body)).collect();
    insta::assert_snapshot!(all.join("\n"), @r#"
    400 model.invalid_request: the model did not accept the request (status 400: Invalid schema); check that the configured model and API match
    400 model.context_too_long: the conversation is longer than this model can read; compact it, or begin a new session
    400 model.context_too_long: the conversation is longer than this model can read; compact it, or begin a new session
    500 model.context_too_long: the conversation is longer than this model can read; compact it, or begin a new session
    413 model.context_too_long: the conversation is longer than this model can read; compact it, or begin a new session
    401 model.unauthorized: the model did not accept the key (status 401: Incorrect API key provided: [key] [key]); check the key of this model in the configuration
    402 model.unauthorized: the model did not accept the key (status 402: Insufficient Balance); check the key of this model in the configuration
    403 model.unauthorized: the model did not accept the key (status 403: a web page); check the key of this model in the configuration
    404 model.invalid_request: the model did not accept the request (there is no model `gpt-x` there, status 404: The model does not exist); check that the configured model and API match
    404 model.invalid_request: the model did not accept the request (there is no model `gpt-x` there, status 404); check that the configured model and API match
    422 model.invalid_request: the model did not accept the request (status 422: [{"loc":["body"],"msg":"extra fields"}]); check that the configured model and API match
    429 model.rate_limited (again): the model's rate limit is reached; wait, or choose another model
    429 model.unauthorized: the model did not accept the key (status 429: check your plan); check the key of this model in the configuration
    500 model.server (again): the model's server failed (status 500: it broke); try again in a moment, or choose another model
    502 model.server (again): the model's server failed (status 502: a web page); try again in a moment, or choose another model
    503 model.overloaded (again): the model is overloaded; try again in a moment, or choose another model
    529 model.overloaded (again): the model is overloaded; try again in a moment, or choose another model
    307 model.invalid_request: the model did not accept the request (status 307, another address; put it into the base URL); check that the configured model and API match
    418 model.invalid_request: the model did not accept the request (status 418: short and stout); check that the configured model and API match
    204 model.invalid_request: the model did not accept the request (status 204); check that the configured model and API match
    "#);
}

#[test]
fn a_long_answer_is_cut() {
    let body = json!({"error": {"message": "é".repeat(10_000)}}).to_string();
    assert!(told(400, &body).chars().count() < MOST_SAID + 200);
}

#[test]
fn a_wait_that_is_asked_for_is_kept() {
    let wait = Some(Duration::from_secs(7));
    let failure = of_status(&endpoint(), 429, b"{}", wait);
    assert_eq!(failure.error, Error::RateLimited { retry_after: wait });
    assert_eq!((failure.wait, failure.again), (wait, true));
    assert_eq!(of_status(&endpoint(), 503, b"", wait).wait, wait);
}

#[test]
fn only_what_is_marked_is_an_error_of_a_reply() {
    for fine in [
        json!({}),
        json!({"error": null}),
        json!({"choices": []}),
        json!({"type": "ping"}),
    ] {
        assert_eq!(in_reply(&endpoint(), &fine), None, "{fine}");
    }
    for wrong in [
        json!({"error": {}}),
        json!({"error": "x"}),
        json!({"type": "error"}),
        json!({"object": "error"}),
    ] {
        assert!(in_reply(&endpoint(), &wrong).is_some(), "{wrong}");
    }
}
