use rtc_types::{Update, UpdateId};
use uuid::Uuid;

use super::*;

fn message(number: u128) -> MessageId {
    MessageId::new(Uuid::from_u128(number))
}

fn piece(number: u128, sequence: u64) -> LiveEvent {
    LiveEvent::Text {
        session: SessionId::new(Uuid::nil()),
        message: message(number),
        thinking: false,
        delta: format!("<{sequence}>").into(),
        sequence,
    }
}

fn text(sequence: u64) -> Option<LiveText> {
    let update = Update {
        id: UpdateId::new(Uuid::nil()),
        items: Vec::new(),
        data_list: vec!["whole".into()],
        offset: 0,
    };
    Some(LiveText { update, sequence })
}

/// Numbers of pieces, and `-n` for a whole text of n pieces.
fn seqs(sent: impl IntoIterator<Item = Value>) -> Vec<i64> {
    sent.into_iter()
        .map(|data| {
            let piece = data.get("data").unwrap_or(&data);
            let sequence = piece["sequence"].as_i64().unwrap();
            if data["type"] == "delta" {
                sequence
            } else {
                -sequence
            }
        })
        .collect()
}

#[tokio::test(start_paused = true)]
async fn pieces_follow_each_other_without_a_gap() {
    let now = Instant::now();
    let mut live = Live::new(Mode::Delta, true);
    let heard = |live: &mut Live, seq, room| seqs(live.heard(piece(1, seq), room));
    assert_eq!(heard(&mut live, 1, true), [1]);
    assert_eq!(heard(&mut live, 2, true), [2]);
    assert_eq!(
        heard(&mut live, 2, true),
        [] as [i64; 0],
        "what was sent is not sent again"
    );
    assert_eq!(live.due(), None);
    // 3 was missed.
    assert_eq!(heard(&mut live, 4, true), [] as [i64; 0]);
    assert_eq!(live.due(), Some(now));
    assert_eq!(live.ask(now), [message(1)]);
    assert_eq!(heard(&mut live, 5, true), [] as [i64; 0]);
    assert_eq!(heard(&mut live, 6, true), [] as [i64; 0]);
    assert_eq!(seqs(live.answered(vec![(message(1), text(4))])), [-4, 5, 6]);
    assert_eq!(heard(&mut live, 7, true), [7]);
    // No room for 8: it is made good, at its time.
    assert_eq!(heard(&mut live, 8, false), [] as [i64; 0]);
    assert_eq!(live.due(), Some(now + LIVE_INTERVAL));
    live.ask(now);
    assert_eq!(seqs(live.answered(vec![(message(1), text(8))])), [-8]);
    assert_eq!(heard(&mut live, 9, true), [9]);
}

#[tokio::test(start_paused = true)]
async fn what_is_due_stays_due_as_time_goes_by() {
    let mut live = Live::new(Mode::Full, true);
    live.heard(piece(1, 0), true);
    let due = live.due();
    tokio::time::advance(LIVE_INTERVAL).await;
    assert!(due.is_some_and(|due| due < Instant::now()));
    assert_eq!(live.due(), due);
}

#[tokio::test(start_paused = true)]
async fn what_is_held_and_what_is_known_is_bounded() {
    let now = Instant::now();
    let mut live = Live::new(Mode::Delta, true);
    live.heard(piece(1, 5), true);
    live.ask(now);
    for seq in 6..6 + 3 * HELD_PIECES as u64 {
        live.heard(piece(1, seq), true);
    }
    assert!(live.tracks[0].held.len() <= HELD_PIECES);
    assert_eq!(
        seqs(live.answered(vec![(message(1), text(6))])),
        [-6],
        "the gap is not jumped over"
    );
    for number in 0..1000 {
        live.heard(piece(number, 3), true);
    }
    assert_eq!(live.tracks.len(), LIVE_MESSAGES);
    assert_eq!(live.tracks[LIVE_MESSAGES - 1].message, message(999));
}

#[tokio::test(start_paused = true)]
async fn nothing_late_follows_the_end_of_a_message() {
    let ended = |number, status: &str| {
        json!({
            "items": [{"entity": "message", "action": "updated", "entity_id": message(number)}],
            "data_list": [{"id": message(number), "streaming_status": status}],
        })
    };
    let now = Instant::now();
    for (status, sent) in [("completed", 0), ("failed", 0), ("streaming", 1)] {
        let mut live = Live::new(Mode::Full, true);
        live.heard(piece(1, 0), true);
        live.ask(now);
        live.passed(&ended(1, status));
        assert_eq!(live.answered(vec![(message(1), text(1))]).len(), sent, "{status}");
    }
    // Heard only after it has passed, as the first piece or not, and however many have passed since.
    for mode in [Mode::Full, Mode::Delta] {
        let mut live = Live::new(mode, true);
        for number in 0..1000 {
            live.passed(&ended(number, "completed"));
        }
        for sequence in [1, 2] {
            assert_eq!(live.heard(piece(999, sequence), true), None);
            assert_eq!(live.due(), None);
        }
        assert_eq!(live.ended.len(), LIVE_MESSAGES);
    }
    // The source says that it has ended.
    let mut live = Live::new(Mode::Full, true);
    live.heard(piece(1, 0), true);
    live.ask(now);
    assert!(live.answered(vec![(message(1), None)]).is_empty());
    assert_eq!(live.due(), None);
}
