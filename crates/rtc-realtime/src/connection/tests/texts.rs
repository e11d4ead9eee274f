use rtc_types::{SessionId, Update};
use uuid::Uuid;

use super::*;
use crate::LiveText;

fn piece(seq: u64) -> LiveEvent {
    LiveEvent::Text {
        session: SessionId::new(Uuid::nil()),
        message: message(1),
        delta: format!("<{seq}>").into(),
        seq,
    }
}

/// The model writes one more piece.
fn write(world: &World, seq: u64) {
    let text: String = (0..=seq).map(|seq| format!("<{seq}>")).collect();
    let update = Update {
        offset: 0,
        ..update(1, json!({"content": text, "streaming_status": "streaming"}))
    };
    let text = LiveText { update, seq: seq + 1 };
    world.source.texts.lock().unwrap().insert(message(1), text);
    let _ = world.source.live.send(piece(seq));
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
    for seq in 0..1000 {
        write(&world, seq);
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
    write(&world, 0);
    let mut client = listening(&world, json!({"live": "delta"})).await;
    write(&world, 1);
    let (_, whole) = client.published().await;
    assert_eq!(
        (&whole["seq"], &whole["data_list"][0]["content"]),
        (&json!(2), &json!("<0><1>"))
    );
    for seq in 2..5 {
        write(&world, seq);
        let (_, piece) = client.published().await;
        assert_eq!(
            piece,
            json!({
                "type": "delta", "session_id": SessionId::new(Uuid::nil()), "message_id": message(1),
                "seq": seq, "delta": format!("<{seq}>"),
            })
        );
    }
    // More than the queue of live events holds: what is missed is made good by a whole text.
    (5..100).for_each(|seq| write(&world, seq));
    let (_, whole) = client.published().await;
    assert_eq!(whole["seq"], 100);
}

#[tokio::test(start_paused = true)]
async fn other_events_are_passed_on_and_nothing_late_follows_the_end() {
    let world = World::new();
    let mut client = listening(&world, Value::Null).await;
    let event = json!({"type": "trouble", "code": "store.full"});
    world
        .source
        .live
        .send(LiveEvent::Event(event.clone().into()))
        .unwrap();
    assert_eq!(client.published().await, (0, event));
    write(&world, 0);
    client.published().await;
    // It ends while its text is due.
    write(&world, 1);
    settle().await;
    world.source.texts.lock().unwrap().clear();
    tokio::time::sleep(LIVE_INTERVAL * 3).await;
    client.call(3, "echo", json!(1)).await;
    assert_eq!(client.outcome().await.0, 3, "nothing came in between");
    client
        .send(&json!({"id": 4, "unsubscribe": {"channel": live()}}).to_string())
        .await;
    assert_eq!(client.outcome().await.0, 4);
    write(&world, 2);
    client.call(5, "echo", json!(1)).await;
    assert_eq!(client.outcome().await.0, 5);
}
