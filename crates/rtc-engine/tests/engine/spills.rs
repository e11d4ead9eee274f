//! Text that is being written is spilled to the store now and then; after a kill it is there as far as that, and is in no
//! request.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rtc_types::{ContentData, MessageRole, StreamingStatus};

use crate::bench::{Bench, bench, engine_on, says, session};

/// The replies that broke off or are being written, as they are stored.
async fn open_texts(bench: &Bench) -> Vec<(StreamingStatus, String)> {
    let messages = bench.engine.messages(session(1)).await.unwrap();
    let replies = messages.into_iter().filter(|message| {
        message.entity.role == MessageRole::Assistant
            && message.entity.streaming_status != StreamingStatus::Completed
    });
    let text = |content: rtc_types::Content| match content.parse() {
        Some(ContentData::Markdown(text)) => text,
        other => panic!("{other:?}"),
    };
    replies
        .map(|message| (message.entity.streaming_status, text(message.entity.content)))
        .collect()
}

#[tokio::test(start_paused = true)]
async fn what_was_written_is_spilled_by_size_and_by_time_and_ends_as_failed_after_a_kill() {
    let (at_once, later) = (Duration::ZERO, Duration::from_millis(1_100));
    let piece = |pause, text: &str, times| (pause, text.repeat(times));
    for (pieces, spilled) in [
        (vec![piece(at_once, "a", 10)], 0),
        (vec![piece(at_once, "a", 3_000), piece(at_once, "b", 1_000)], 0),
        (
            vec![
                piece(at_once, "a", 3_000),
                piece(at_once, "b", 2_000),
                piece(at_once, "c", 9),
            ],
            5_000,
        ),
        (
            vec![
                piece(at_once, "a", 10),
                piece(later, "b", 5),
                piece(at_once, "c", 5),
            ],
            15,
        ),
    ] {
        let whole: String = pieces.iter().map(|(_, text)| text.as_str()).collect();
        let bench = bench(Vec::new()).await;
        bench.script.begins.store(true, Ordering::SeqCst);
        *bench.script.pieces.lock().unwrap() = pieces;
        bench.send("c1", "write").await.unwrap();
        // By then all of it has come.
        tokio::time::sleep(Duration::from_secs(3)).await;
        let expected = whole[..spilled].to_owned();
        let stored = open_texts(&bench).await;
        assert_eq!(stored, [(StreamingStatus::Streaming, expected.clone())]);

        let requests = bench.requests();
        let after = Arc::new(bench.store.crash(usize::MAX));
        bench.engine.shut_down();
        bench.script.replies.lock().unwrap().push_back(says("whole"));
        let bench = engine_on(after, bench.script).await;
        bench.until(1, |state| state.is_idle()).await;
        let stored = open_texts(&bench).await;
        assert_eq!(
            stored,
            [(StreamingStatus::Failed, expected)],
            "once, as it was spilled"
        );
        let again = bench.requests();
        assert_eq!(again.len(), 2);
        assert_eq!(again[1], requests[0], "it is asked for again with the same");
    }
}
