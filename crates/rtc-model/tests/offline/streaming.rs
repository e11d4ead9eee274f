//! The contract of the stream: grammar, determinism, ids, cancelling.

use std::collections::BTreeSet;

use futures::StreamExt;
use rtc_model::{AssistantBlock, Error, Event, Item, Model, OfflineModel, Usage, demo_request};
use tokio_util::sync::CancellationToken;

use crate::drive::{Conversation, calls, events, reply, wait};
use crate::folder::{Folder, plain};
use crate::phrasings::english;

#[test]
fn a_long_answer_comes_in_several_deltas() {
    let mut conversation = Conversation::new(Folder::default());
    conversation.say("help");
    let events = events(&conversation.request, &CancellationToken::new());
    assert!(events.len() > 10, "{}", events.len());
    let Some(Ok(Event::Done(reply))) = events.last() else {
        panic!("no end")
    };
    assert_eq!(reply.usage, Usage::default());
}

#[test]
fn equal_requests_give_equal_streams() {
    for phrasing in english() {
        let mut conversation = Conversation::new(Folder::of_table());
        conversation.say(&plain(phrasing.request));
        loop {
            let before = conversation.request.clone();
            let ended = calls(&conversation.reply()).next().is_none();
            assert_eq!(reply(&before), reply(&before));
            if ended {
                break;
            }
            let blocks = conversation.request.items.pop().expect("the reply");
            let again = reply(&conversation.request);
            conversation.request.items.push(blocks);
            conversation.run(&again, usize::MAX);
        }
    }
}

#[test]
fn call_ids_are_unique_in_a_conversation() {
    let mut conversation = Conversation::new(Folder::of_table());
    for _ in 0..3 {
        conversation.ask("read README.md, then search for colour");
    }
    let ids: Vec<&str> = conversation
        .request
        .items
        .iter()
        .flat_map(|item| match item {
            Item::Assistant { blocks } => blocks.as_slice(),
            _ => &[],
        })
        .filter_map(|block| match block {
            AssistantBlock::ToolCall { id, .. } => Some(id.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(ids.len(), 6);
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), 6);
    assert!(
        ids.iter()
            .all(|id| id.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'))
    );
}

#[test]
fn a_cancelled_stream_ends_with_that() {
    let mut conversation = Conversation::new(Folder::default());
    conversation.say("help");
    let cancel = CancellationToken::new();
    let items: Vec<_> = wait(async {
        let mut stream = OfflineModel::new()
            .stream(&conversation.request, cancel.clone())
            .await
            .expect("begins");
        let first = stream.next().await;
        cancel.cancel();
        let rest: Vec<_> = stream.collect().await;
        first.into_iter().chain(rest).collect()
    });
    assert!(
        matches!(items.as_slice(), [Ok(Event::Text { .. }), Err(Error::Cancelled)]),
        "{items:?}"
    );
    assert_eq!(events(&conversation.request, &cancel), [Err(Error::Cancelled)]);
}

#[test]
fn the_demonstration_uses_the_tools() {
    let mut conversation = Conversation::new(Folder::of_table());
    conversation.ask(demo_request());
    let used: BTreeSet<&str> = conversation.calls.iter().map(|(tool, _)| tool.as_str()).collect();
    assert_eq!(
        used,
        BTreeSet::from(["edit", "find", "grep", "ls", "read", "script"])
    );
    assert!(
        conversation
            .folder
            .files
            .values()
            .all(|text| !text.contains("colour"))
    );
}

#[test]
fn the_model_has_its_name() {
    let model = OfflineModel::new();
    assert_eq!(
        (model.id().api.as_str(), model.id().model.as_str()),
        ("offline", "offline")
    );
}
