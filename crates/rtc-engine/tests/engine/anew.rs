//! A request that is made anew from the store is the one that an engine sends which never ended, byte for byte.

use std::time::Duration;

use proptest::prelude::*;
use rtc_engine::{Command, Outcome};
use rtc_model::{AssistantBlock, Reply, StopReason, Usage};
use rtc_tool::ToolError;
use rtc_types::{Mode, SessionId};
use serde_json::{Value, json};

use crate::bench::*;

/// What is said and replied, turn by turn.
#[derive(Debug, Clone)]
struct Turn {
    said: String,
    /// While its first call is open, too.
    also: Option<String>,
    /// The replies with calls.
    rounds: Vec<Vec<Block>>,
    last: String,
}

#[derive(Debug, Clone)]
enum Block {
    Thinking(String),
    Text(String),
    /// Of the provider, and of no other.
    Signed(String),
    /// And how it ends.
    Edit(Result<String, String>),
    Question(String),
    Todo(String),
    Missing,
    Invalid,
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        40 => "[a-z\"\\\\<&\n\u{e9}\u{1f600} ]{1,12}",
        // More than is kept among the keys of the store, and than a model is sent of a result.
        1 => (50_000usize..70_000).prop_map(|bytes| "long ".repeat(bytes / 5)),
    ]
}

fn block() -> impl Strategy<Value = Block> {
    prop_oneof![
        1 => text().prop_map(Block::Thinking),
        1 => text().prop_map(Block::Text),
        1 => text().prop_map(Block::Signed),
        3 => prop_oneof![text().prop_map(Ok), text().prop_map(Err)].prop_map(Block::Edit),
        1 => text().prop_map(Block::Question),
        1 => text().prop_map(Block::Todo),
        1 => Just(Block::Missing),
        1 => Just(Block::Invalid),
    ]
}

fn turn() -> impl Strategy<Value = Turn> {
    let rounds = proptest::collection::vec(proptest::collection::vec(block(), 1..5), 0..3);
    (text(), proptest::option::of(text()), rounds, text()).prop_map(|(said, also, rounds, last)| Turn {
        said,
        also,
        rounds,
        last,
    })
}

/// A reply, whose calls are named by where they are.
fn reply(place: &str, blocks: &[Block]) -> Reply {
    let block = |(number, block): (usize, &Block)| {
        let call = |name: &str, arguments: Value| AssistantBlock::ToolCall {
            id: format!("{place}.{number}"),
            name: name.to_owned(),
            arguments: arguments.to_string(),
        };
        match block {
            Block::Thinking(text) => AssistantBlock::Thinking { text: text.clone() },
            Block::Text(text) => AssistantBlock::Text { text: text.clone() },
            Block::Signed(text) => AssistantBlock::Provider {
                value: json!({"z": text, "a": {"signature": text}}),
            },
            Block::Edit(_) => call("edit", json!({"path": "/x"})),
            Block::Question(_) => call("ask", json!({"path": "/x"})),
            Block::Todo(text) => {
                let todo =
                    json!({"content": format!("do {text}"), "status": "pending", "active_form": "doing"});
                call("todoWrite", json!({ "todos": [todo] }))
            }
            Block::Missing => call("missing", json!({})),
            Block::Invalid => call("edit", json!({"path": 1})),
        }
    };
    Reply {
        blocks: blocks.iter().enumerate().map(block).collect(),
        stop: StopReason::ToolUse,
        usage: Usage::default(),
    }
}

fn replies(turns: &[Turn]) -> Vec<Reply> {
    let mut all = Vec::new();
    for (number, turn) in turns.iter().enumerate() {
        for (round, blocks) in turn.rounds.iter().enumerate() {
            all.push(reply(&format!("{number}.{round}"), blocks));
        }
        all.push(says(&format!("done {}", turn.last)));
    }
    // For what is said in between.
    all.extend((0..2 * turns.len()).map(|number| says(&format!("end {number}"))));
    all
}

/// How the call with this id ends.
fn ending<'a>(turns: &'a [Turn], id: &str) -> &'a Block {
    let numbers: Vec<usize> = id.split('.').map(|number| number.parse().unwrap()).collect();
    &turns[numbers[0]].rounds[numbers[1]][numbers[2]]
}

/// All that the model is sent, where the engine is started again at these steps.
async fn sent(turns: &[Turn], restarts: &[bool]) -> Vec<String> {
    let mut bench = bench(replies(turns)).await;
    let mut restarts = restarts.iter();
    for (number, turn) in turns.iter().enumerate() {
        let say = |what: &str, text: &str| {
            let text = format!("say {text}");
            message(1, &format!("{what}{number}"), &text, Mode::Bypass)
        };
        bench.engine.send(say("c", &turn.said)).await.unwrap();
        let mut also = turn.also.as_ref();
        loop {
            let waits = |state: &rtc_engine::SessionState| state.is_idle() || !state.calls.is_empty();
            let state = bench.until(1, waits).await;
            if restarts.next() == Some(&true) {
                bench = bench.again().await;
            }
            let Some(call) = state.calls.first() else { break };
            if let Some(text) = also.take() {
                bench.engine.send(say("also", text)).await.unwrap();
            }
            let (rtc, attempt) = (call.stored.entity.id, call.stored.entity.attempt);
            let result = match ending(turns, call.stored.private.call_id.as_str()) {
                Block::Question(answer) => {
                    bench.engine.answer(rtc, json!(answer)).await.unwrap();
                    continue;
                }
                Block::Edit(Ok(text)) => Ok(json!(text)),
                Block::Edit(Err(text)) => Err(ToolError::execution(text)),
                other => panic!("nobody runs {other:?}"),
            };
            let outcome = Outcome::of(result);
            let finish = Command::Finish {
                rtc,
                attempt,
                outcome,
            };
            bench.engine.tell(session(1), finish).await.unwrap();
        }
    }
    // The last message of the user is written anew, and answered without a call.
    *bench.script.replies.lock().unwrap() = vec![says("otherwise"); 2].into();
    let list = json!({"session_id": session(1), "limit": 100});
    let listed = bench.result("v1.message.list", list).await;
    let mut messages = listed["items"].as_array().unwrap().iter();
    let last = messages.rfind(|message| message["role"] == "user").unwrap();
    let fork = json!({
        "old_server_session_id": session(1), "old_server_message_id": last["id"],
        "new_client_session_id": "fork", "new_client_message_id": "f1",
        "content_data": {"type": "text", "data": "otherwise"},
    });
    let forked = bench.ask("v1.session.fork", fork).await.unwrap();
    if restarts.next() == Some(&true) {
        tokio::time::sleep(Duration::from_secs(1)).await;
        bench = bench.again().await;
    }
    let copy = forked["result"]["session_id"].as_str().unwrap().parse().unwrap();
    let over = async {
        while !bench.engine.wake(SessionId::new(copy)).await.unwrap().is_idle() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(BOUND, over).await.expect("it ends");
    let requests = bench.requests();
    let bytes = requests
        .iter()
        .map(|request| serde_json::to_string(request).unwrap());
    bytes.collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn a_request_that_is_made_anew_is_the_one_that_an_engine_sends_which_never_ended(
        turns in proptest::collection::vec(turn(), 1..4),
        restarts in proptest::collection::vec(any::<bool>(), 0..24),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        let (never, again) = runtime.block_on(async {
            (sent(&turns, &[]).await, sent(&turns, &restarts).await)
        });
        prop_assert_eq!(never.len(), again.len());
        for (never, again) in never.iter().zip(&again) {
            prop_assert!(never == again, "{never:.2000}\nis not\n{again:.2000}");
        }
    }
}
