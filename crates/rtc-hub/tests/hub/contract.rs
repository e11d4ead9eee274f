use std::time::Duration;

use rtc_hub::MAX_FRAME_BYTES;
use rtc_tool::{ToolError, ToolStreamItem};
use serde_json::json;

use super::way::{Case, in_process, over, pipe, process};

/// What is the same on every way.
fn cases() -> Vec<Case> {
    let mut cases = vec![
        Case::new("echo", json!({"text": "a\nb\u{2028}\0 漢"})),
        Case::new("echo", json!({"text": "x", "count": "2"})),
        Case::new("echo", json!({"text": 5})),
        Case::new("echo", json!({"else": 5})),
        Case::new("count", json!({"text": "n", "count": 0})),
        Case::new("count", json!({"text": "n", "count": 1000})),
        Case::new("fail", json!({"text": "no tea", "count": 3})),
        Case::new("panic", json!({})),
        Case::new("liar", json!({})),
        Case::new("ask", json!({"text": "time", "count": 3})),
        Case::new("ask", json!({"text": "secret", "count": 1})),
        Case::new("ask_at_once", json!({"text": "time", "count": 500})),
        Case::new("big", json!({"count": 3_000_000})),
        Case::new(
            "print",
            json!({"text": "{\"jsonrpc\":\"2.0\",\"method\":\"tool.fly\"}"}),
        ),
    ];
    cases.push(Case {
        cancel_after: Some(1),
        ..Case::new("until_cancelled", json!({}))
    });
    cases.push(Case {
        deadline: Some(Duration::from_millis(30)),
        ..Case::new("until_deadline", json!({}))
    });
    cases
}

#[tokio::test]
async fn every_way_gives_the_same_items() {
    let (other_process, _child) = process().await;
    let ways = [("a pipe", pipe(64)), ("a wide pipe", pipe(1 << 20))];
    for case in cases() {
        let expected = in_process(&case).await;
        let terminals = expected
            .iter()
            .filter(|item| matches!(item, ToolStreamItem::Terminal(_)));
        assert_eq!(terminals.count(), 1);
        for (way, (peer, _)) in &ways {
            assert_eq!(
                over(peer, &case).await,
                expected,
                "{} {} over {way}",
                case.tool,
                case.arguments
            );
        }
        assert_eq!(
            over(&other_process, &case).await,
            expected,
            "{} {}",
            case.tool,
            case.arguments
        );
    }
}

async fn terminal(tool: &'static str, count: usize, deadline: Option<Duration>) -> String {
    let (peer, _far) = pipe(1 << 20);
    let case = Case {
        deadline,
        ..Case::new(tool, json!({"count": count, "text": "t"}))
    };
    match over(&peer, &case).await.pop() {
        Some(ToolStreamItem::Terminal(Err(error))) => format!("{:?}: {error}", error.kind),
        other => format!("{other:?}"),
    }
}

#[tokio::test]
async fn a_call_always_ends_and_says_why() {
    insta::assert_snapshot!(terminal("no_such_tool", 0, None).await, @"NotFound: there is no tool no_such_tool here");
    insta::assert_snapshot!(terminal("big", MAX_FRAME_BYTES, None).await, @"Execution: the result has 33554505 bytes, 33554432 at most can be passed on");
    insta::assert_snapshot!(terminal("big_progress", MAX_FRAME_BYTES, None).await, @"Execution: its progress was lost: 33554579 bytes at once are too many to be passed on");
    insta::assert_snapshot!(terminal("forever", 0, Some(Duration::from_millis(5))).await, @"Timeout: it did not end at its deadline");
}

#[tokio::test(start_paused = true)]
async fn a_caller_does_not_wait_for_ever_for_a_peer_that_says_nothing() {
    let (near, _far) = tokio::io::duplex(1 << 20);
    let (reader, writer) = tokio::io::split(near);
    let peer = rtc_hub::Peer::start(reader, writer, rtc_tool::Registry::default());
    let case = Case {
        deadline: Some(Duration::from_secs(3600)),
        ..Case::new("echo", json!({}))
    };
    let expected = ToolError::new(rtc_tool::ErrorKind::Timeout, "it did not end at its deadline");
    assert_eq!(
        over(&peer, &case).await,
        [ToolStreamItem::Terminal(Err(expected))]
    );
}
