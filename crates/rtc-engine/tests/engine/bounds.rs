//! What there may be most of, and what becomes of more.

use std::time::Duration;

use rtc_model::Item;
use rtc_types::Code;

use crate::bench::{bench, calls, says};

/// How many messages may wait for a turn.
const MOST_WAITING: usize = 256;
/// How many calls of one reply are run.
const MOST_CALLS: usize = 200;

#[tokio::test(start_paused = true)]
async fn a_message_too_many_is_refused_and_those_before_are_read_in_order() {
    let bench = bench(vec![says("the first"), says("all of it")]).await;
    *bench.script.takes.lock().unwrap() = Duration::from_secs(1);
    bench.send("first", "message 0").await.unwrap();
    bench.until(1, |state| state.turn.is_some()).await;
    for number in 1..=MOST_WAITING {
        let client_id = format!("c{number}");
        bench
            .send(&client_id, &format!("message {number}"))
            .await
            .unwrap();
    }
    let refused = bench.send("more", "one too many").await.unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument);
    assert!(
        refused
            .to_string()
            .contains("256 messages wait for this turn already"),
        "{refused}"
    );
    // One that was taken may be sent again.
    bench.send("c1", "message 1").await.unwrap();
    bench.until(1, |state| state.is_idle()).await;
    let requests = bench.requests();
    assert_eq!(requests.len(), 2);
    let said: Vec<_> = requests[1]
        .items
        .iter()
        .filter_map(|item| match item {
            Item::User { text } => Some(text.clone()),
            _ => None,
        })
        .collect();
    let expected: Vec<_> = (0..=MOST_WAITING)
        .map(|number| format!("message {number}"))
        .collect();
    assert_eq!(said, expected);
    bench.send("more", "one too many").await.unwrap();
}

#[tokio::test]
async fn of_too_many_calls_each_has_a_result_and_the_model_is_told() {
    let ids: Vec<_> = (0..=MOST_CALLS).map(|number| format!("c{number}")).collect();
    let all: Vec<_> = ids.iter().map(|id| (id.as_str(), "nothing", "{}")).collect();
    let bench = bench(vec![calls(&all), says("done")]).await;
    bench.send("c", "go").await.unwrap();
    bench.until(1, |state| state.is_idle()).await;
    let requests = bench.requests();
    let results: Vec<_> = requests[1]
        .items
        .iter()
        .filter_map(|item| match item {
            Item::ToolResult { call_id, text, .. } => Some((call_id.clone(), text.clone())),
            _ => None,
        })
        .collect();
    let told: Vec<_> = results.iter().map(|(id, _)| id.clone()).collect();
    assert_eq!(told, ids);
    let refused = |text: &str| text.contains("a reply may have at most 200 calls");
    assert!(results[..MOST_CALLS].iter().all(|(_, text)| !refused(text)));
    assert!(refused(&results[MOST_CALLS].1), "{}", results[MOST_CALLS].1);
}
