use rtc_types::{SessionId, Update};
use uuid::Uuid;

use super::*;
use crate::LiveText;

fn piece(sequence: u64) -> LiveEvent {
    LiveEvent::Text {
        session: SessionId::new(Uuid::nil()),
        message: message(1),
        thinking: true,
        delta: format!("<{sequence}>").into(),
        sequence,
    }
}

/// The model writes one more piece.
fn write(world: &World, sequence: u64) {
    let text: String = (1..=sequence).map(|sequence| format!("<{sequence}>")).collect();
    let update = Update {
        offset: 0,
        ..update(1, json!({"content": text, "streaming_status": "streaming"}))
    };
    let text = LiveText { update, sequence };
    world.source.texts.lock().unwrap().insert(message(1), text);
    let _ = world.source.live.send(piece(sequence));
}

async fn listening(world: &World, data: Value) -> Client {
    let mut client = world.connect(json!({"token": "good", "data": data})).await;
    client.send(&subscribe(2, &live())).await;
    assert!(matches!(client.outcome().await, (2, Outcome::Subscribe(_))));
    client
}

#[tokio::test(start_paused = true)]
async fn text_comes_whole_and_at_most_thirty_times_a_second() {
    let world = World::new();
    let mut client = listening(&world, Value::Null).await;
    let reader = tokio::spawn(async move {
        let mut came = Vec::new();
        while let Ok(reply) = tokio::time::timeout(Duration::from_secs(1), client.published()).await {
            came.push(reply);
        }
        came
    });
    for sequence in 1..1000 {
        write(&world, sequence);
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let came = reader.await.unwrap();
    assert!((29..=32).contains(&came.len()), "{}", came.len());
    assert_eq!(world.source.asked.load(Ordering::SeqCst), came.len() as u64);
    let last = &came.last().unwrap().1;
    assert!(
        last["data_list"][0]["content"]
            .as_str()
            .unwrap()
            .ends_with("<999>"),
        "the end is not lost"
    );
    assert_eq!((came[0].0, &last["offset"]), (0, &json!(0)));
}

#[tokio::test(start_paused = true)]
async fn pieces_come_with_numbers_if_wanted() {
    let world = World::new();
    write(&world, 1);
    let mut client = listening(&world, json!({"live": "delta"})).await;
    write(&world, 2);
    let (_, whole) = client.published().await;
    assert_eq!(
        (&whole["sequence"], &whole["data_list"][0]["content"]),
        (&json!(2), &json!("<1><2>"))
    );
    for sequence in 3..6 {
        write(&world, sequence);
        let (_, piece) = client.published().await;
        let data = json!({
            "session_id": SessionId::new(Uuid::nil()),
            "message_id": message(1),
            "thinking": true,
            "sequence": sequence,
            "delta": format!("<{sequence}>"),
        });
        assert_eq!(piece, json!({"type": "delta", "data": data}));
    }
    // More than the queue of live events holds: what is missed is made good by a whole text.
    (6..100).for_each(|sequence| write(&world, sequence));
    let (_, whole) = client.published().await;
    assert_eq!(whole["sequence"], 99);
}

#[tokio::test(start_paused = true)]
async fn other_events_are_passed_on_and_nothing_late_follows_the_end() {
    let world = World::new();
    let mut client = listening(&world, json!({"protocol": 1})).await;
    let mut other = listening(&world, Value::Null).await;
    let event = json!({"type": "trouble", "data": {"code": "store.full"}});
    world
        .source
        .live
        .send(LiveEvent::Event(event.clone().into()))
        .unwrap();
    assert_eq!(client.published().await, (0, event));
    write(&world, 1);
    client.published().await;
    let (_, first) = other.published().await;
    assert!(first.get("items").is_some(), "other clients get updates only");
    // It ends while its text is due.
    write(&world, 2);
    settle().await;
    world.source.texts.lock().unwrap().clear();
    tokio::time::sleep(LIVE_INTERVAL * 3).await;
    client.call(3, "echo", json!(1)).await;
    assert_eq!(client.outcome().await.0, 3, "nothing came in between");
    client
        .send(&json!({"id": 4, "unsubscribe": {"channel": live()}}).to_string())
        .await;
    assert_eq!(client.outcome().await.0, 4);
    write(&world, 3);
    client.call(5, "echo", json!(1)).await;
    assert_eq!(client.outcome().await.0, 5);
}
