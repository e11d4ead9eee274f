use rtc_types::Update;
use rtc_wire::centrifuge::{HistoryResult, REJECT_UNRECOVERED, SubscribeResult};

use super::*;

async fn recovered(client: &mut Client) -> SubscribeResult {
    match client.outcome().await {
        (_, Outcome::Subscribe(result)) => *result,
        other => panic!("{other:?}"),
    }
}

async fn page(client: &mut Client, request: Value) -> HistoryResult {
    client.send(&history(9, request)).await;
    match client.outcome().await {
        (_, Outcome::History(result)) => result,
        other => panic!("{other:?}"),
    }
}

fn offsets(publications: &[Publication]) -> Vec<u64> {
    publications
        .iter()
        .map(|publication| publication.offset)
        .collect()
}

#[tokio::test(start_paused = true)]
async fn updates_are_pushed_in_order_with_gaps_and_told_as_delivered() {
    let world = World::new();
    world.source.commit_many(2);
    let mut client = world.subscribed().await;
    world.source.commit(Some(Stored::Update(json!({"id": "M"}))));
    world.source.commit(None);
    world.source.commit(Some(Stored::Unreadable));
    world.source.commit(Some(Stored::Approval));
    world.source.commit_many(1);
    let (offset, data) = client.published().await;
    assert_eq!(offset, 3);
    assert_eq!(
        data,
        json!(Update {
            offset: 3,
            ..update(3, json!({"id": "M"}))
        })
    );
    for offset in 4..=6 {
        assert_eq!(client.published().await, (offset, gap()));
    }
    assert_eq!(client.published().await.0, 7);
    settle().await;
    let delivered = world.source.delivered.lock().unwrap().clone();
    assert_eq!(
        delivered.into_iter().flatten().collect::<Vec<_>>(),
        [3, 4, 5, 6, 7]
    );

    let mut knowing = world
        .connect(json!({"token": "good", "data": {"approvals": true}}))
        .await;
    let page = page(&mut knowing, json!({"limit": 1, "since": {"offset": 5}})).await;
    assert_eq!(page.publications[0].data["data_list"][0], "approval");
}

#[tokio::test(start_paused = true)]
async fn recovery_is_whole_or_none() {
    let world = World::new();
    world.source.commit_many(1000);
    world.source.commit(None);
    // From offset, epoch; whether it is recovered.
    for (offset, epoch, whole) in [
        (1, "e1", true),
        (1000, "e1", true),
        (1001, "e1", true),
        (0, "e1", false),
        (1002, "e1", false),
        (1000, "e0", false),
        (1000, "", false),
    ] {
        let mut client = world.connect(json!({"token": "good"})).await;
        client.send(&recover(2, offset, epoch)).await;
        let result = recovered(&mut client).await;
        assert_eq!(result.recovered, whole, "{offset} {epoch}");
        assert!(result.was_recovering && result.recoverable && result.positioned);
        assert_eq!(result.epoch, "e1");
        let expected: Vec<u64> = if whole {
            (offset + 1..=1001).collect()
        } else {
            Vec::new()
        };
        assert_eq!(offsets(&result.publications), expected);
        assert_eq!(result.offset, if whole { offset } else { 1001 });

        let mut strict: Value = serde_json::from_str(&recover(2, offset, epoch)).unwrap();
        strict["subscribe"]["flag"] = REJECT_UNRECOVERED.into();
        let mut client = world.connect(json!({"token": "good"})).await;
        client.send(&strict.to_string()).await;
        match whole {
            true => assert!(recovered(&mut client).await.recovered),
            false => assert_eq!(client.error().await.1.code, 112),
        }
    }
    let delivered = world.source.delivered.lock().unwrap().clone();
    assert!(delivered.contains(&(2..=1001)));
}

#[tokio::test(start_paused = true)]
async fn a_reply_is_bounded_in_bytes_too() {
    let world = World::new();
    let large = || Some(Stored::Update("x".repeat(PAGE_BYTES / 4).into()));
    for _ in 0..3 {
        world.source.commit(large());
    }
    let mut client = world.connect(json!({"token": "good"})).await;
    client.send(&recover(2, 0, "e1")).await;
    assert!(recovered(&mut client).await.recovered);
    world.source.commit(large());
    for offset in [1, 2, 3] {
        if offset == 1 {
            assert_eq!(client.published().await.0, 4);
        }
        let mut again = world.connect(json!({"token": "good"})).await;
        again.send(&recover(2, offset - 1, "e1")).await;
        assert_eq!(
            recovered(&mut again).await.recovered,
            offset > 1,
            "after {}",
            offset - 1
        );
    }
    assert_eq!(
        offsets(&page(&mut client, json!({"limit": 9})).await.publications),
        [1, 2, 3]
    );
    let newest = page(&mut client, json!({"limit": 9, "reverse": true})).await;
    assert_eq!(offsets(&newest.publications), [4, 3, 2]);
    // One that is larger alone is served alone.
    world
        .source
        .commit(Some(Stored::Update("x".repeat(2 * PAGE_BYTES).into())));
    assert_eq!(client.published().await.0, 5);
    let alone = page(&mut client, json!({"limit": 9, "since": {"offset": 4}})).await;
    assert_eq!(offsets(&alone.publications), [5]);
    let mut again = world.connect(json!({"token": "good"})).await;
    again.send(&recover(2, 4, "e1")).await;
    assert!(!recovered(&mut again).await.recovered);
}

#[tokio::test(start_paused = true)]
async fn history_is_complete_in_both_directions() {
    let world = World::new();
    world.source.commit_many(3);
    world.source.commit(None);
    world.source.commit_many(1198);
    world.source.commit(None);
    let top = 1203;
    let mut client = world.connect(json!({"token": "good"})).await;
    let to_1000: Vec<u64> = (1..=1000).collect();
    let from_top: Vec<u64> = (204..=top).rev().collect();
    for (request, expected) in [
        (json!({}), vec![]),
        (json!({"limit": 3}), vec![1, 2, 3]),
        (
            json!({"limit": 3, "since": {"offset": 2, "epoch": "e1"}}),
            vec![3, 4, 5],
        ),
        (json!({"limit": 3, "since": {"offset": 1201}}), vec![1202, 1203]),
        (json!({"limit": 3, "since": {"offset": 1203}}), vec![]),
        (json!({"limit": 3, "since": {"offset": u64::MAX}}), vec![]),
        (json!({"limit": -1}), to_1000.clone()),
        (json!({"limit": 5000}), to_1000),
        (json!({"limit": 2, "reverse": true}), vec![1203, 1202]),
        (
            json!({"limit": 3, "reverse": true, "since": {"offset": 5}}),
            vec![4, 3, 2],
        ),
        (
            json!({"limit": 3, "reverse": true, "since": {"offset": 3}}),
            vec![2, 1],
        ),
        (
            json!({"limit": 3, "reverse": true, "since": {"offset": 1}}),
            vec![],
        ),
        (
            json!({"limit": 3, "reverse": true, "since": {"offset": 0}}),
            vec![],
        ),
        (
            json!({"limit": -1, "reverse": true, "since": {"offset": u64::MAX}}),
            from_top,
        ),
    ] {
        let result = page(&mut client, request.clone()).await;
        assert_eq!(offsets(&result.publications), expected, "{request}");
        assert_eq!((result.offset, result.epoch.as_str()), (top, "e1"), "{request}");
        for publication in result.publications {
            let is_gap = publication.data == gap();
            assert_eq!(
                is_gap,
                [4, top].contains(&publication.offset),
                "{}",
                publication.offset
            );
        }
    }
    for reverse in [false, true] {
        let request = json!({"limit": 0, "reverse": reverse, "since": {"offset": 1, "epoch": "e0"}});
        client.send(&history(9, request)).await;
        assert_eq!(client.error().await.1.code, 112);
    }
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_updates_are_recovered_by_pages_while_more_come() {
    let world = World::new();
    world.source.commit_many(10_000);
    let mut client = world.connect(json!({"token": "good"})).await;
    client.send(&recover(2, 0, "e1")).await;
    let result = recovered(&mut client).await;
    assert!(!result.recovered);
    let mut got = Vec::new();
    while got.len() < 10_000 {
        let since = json!({"offset": got.last().copied().unwrap_or(0), "epoch": "e1"});
        client
            .send(&history(9, json!({"limit": 1000, "since": since})))
            .await;
        if got.len() == 3000 {
            world.source.commit_many(700);
        }
        loop {
            match client.reply().await {
                Reply::Result {
                    outcome: Outcome::History(page),
                    ..
                } => {
                    got.extend(
                        offsets(&page.publications)
                            .into_iter()
                            .filter(|offset| *offset <= result.offset),
                    );
                    break;
                }
                Reply::Push(_) => {}
                other => panic!("{other:?}"),
            }
        }
    }
    assert!(got.iter().copied().eq(1..=10_000));
}

#[tokio::test(start_paused = true)]
async fn a_failing_stream_is_an_error_that_is_tried_again() {
    let world = World::new();
    world.source.commit_many(2);
    let mut client = world.connect(json!({"token": "good"})).await;
    world.source.fails.store(true, Ordering::SeqCst);
    client.send(&recover(2, 0, "e1")).await;
    assert!(client.error().await.1.temporary);
    client.send(&history(3, json!({"limit": 1}))).await;
    assert!(client.error().await.1.temporary);
    client.send(&subscribe(4, &topic())).await;
    recovered(&mut client).await;
    world.source.commit_many(1);
    assert!(matches!(
        client.reply().await,
        Reply::Push(Push {
            event: PushEvent::Unsubscribe(UnsubscribePush { code: 2500, .. }),
            ..
        })
    ));
    world.source.fails.store(false, Ordering::SeqCst);
    client.send(&recover(5, 2, "e1")).await;
    assert_eq!(offsets(&recovered(&mut client).await.publications), [3]);
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_begins_anew_ends_the_subscription() {
    let world = World::new();
    world.source.commit_many(5);
    let mut client = world.subscribed().await;
    world.source.reset("e2");
    world.source.commit_many(1);
    let Reply::Push(Push {
        event: PushEvent::Unsubscribe(push),
        channel,
    }) = client.reply().await
    else {
        panic!("still subscribed");
    };
    assert_eq!((push.code, channel), (2500, topic()));
    client.send(&recover(3, 5, "e1")).await;
    let result = recovered(&mut client).await;
    assert_eq!(
        (result.recovered, result.offset, result.epoch.as_str()),
        (false, 1, "e2")
    );
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_begins_anew_while_it_is_read_is_not_mixed_with_the_old_one() {
    let world = World::new();
    world.source.commit_many(3);
    let mut client = world.connect(json!({"token": "good"})).await;
    let mut other = world.connect(json!({"token": "good"})).await;
    let gate = world.source.gate.acquire_many(1000).await.unwrap();
    client.send(&recover(2, 0, "e1")).await;
    other.send(&history(3, json!({"limit": 2}))).await;
    settle().await;
    world.source.reset("e2");
    world.source.commit_many(2);
    drop(gate);
    let result = recovered(&mut client).await;
    assert_eq!(
        (result.recovered, result.offset, result.epoch.as_str()),
        (false, 2, "e2")
    );
    let (id, error) = other.error().await;
    assert_eq!((id, error.code), (3, 112));
}

#[tokio::test(start_paused = true)]
async fn pings_are_answered_while_the_stream_cannot_be_read() {
    let world = World::new();
    let mut client = world.subscribed().await;
    let gate = world.source.gate.acquire_many(1000).await.unwrap();
    world.source.commit_many(1);
    client.send(&history(3, json!({"limit": 1}))).await;
    client.call(4, "echo", json!(1)).await;
    assert_eq!(client.outcome().await.0, 4);
    for _ in 0..3 {
        assert_eq!(client.reply().await, Reply::Ping);
        client.send("{}").await;
    }
    drop(gate);
    let mut came = [client.reply().await, client.reply().await];
    came.sort_by_key(|reply| matches!(reply, Reply::Push(_)));
    assert!(
        matches!(came, [Reply::Result { id: 3, .. }, Reply::Push(_)]),
        "{came:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_subscription_that_is_left_while_it_begins_is_left() {
    let world = World::new();
    world.source.commit_many(3);
    let mut client = world.connect(json!({"token": "good"})).await;
    let unsubscribe = json!({"id": 3, "unsubscribe": {"channel": topic()}}).to_string();
    client
        .send(&format!(
            "{}\n{unsubscribe}\n{}",
            recover(2, 0, "e1"),
            recover(4, 1, "e1")
        ))
        .await;
    world.source.commit_many(1);
    let first = recovered(&mut client).await;
    assert!(matches!(client.outcome().await, (3, Outcome::Unsubscribe(_))));
    let second = recovered(&mut client).await;
    assert_eq!(first.publications[0].offset, 1);
    assert_eq!(second.publications[0].offset, 2);
    let mut next = second.publications.last().unwrap().offset;
    world.source.commit_many(2);
    while next < 6 {
        next += 1;
        assert_eq!(client.published().await.0, next);
    }
}

#[tokio::test(start_paused = true)]
async fn what_an_ended_subscription_still_reads_is_not_pushed() {
    let world = World::new();
    let mut client = world.subscribed().await;
    let gate = world.source.gate.acquire_many(1000).await.unwrap();
    world.source.commit_many(2);
    settle().await;
    let unsubscribe = json!({"id": 3, "unsubscribe": {"channel": topic()}}).to_string();
    client
        .send(&format!("{unsubscribe}\n{}", subscribe(4, &topic())))
        .await;
    assert_eq!(client.outcome().await.0, 3);
    assert_eq!(recovered(&mut client).await.offset, 2);
    drop(gate);
    settle().await;
    world.source.commit_many(1);
    assert_eq!(client.published().await.0, 3);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_takes_nothing_is_closed_as_slow_and_recovers() {
    let world = World::new();
    let mut client = world.subscribed().await;
    let start = Instant::now();
    for _ in 0..20 {
        for _ in 0..100 {
            world
                .source
                .commit(Some(Stored::Update("x".repeat(10_000).into())));
        }
        // The source never waits: committing is a plain function, and time does not pass for it but here.
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let end = (&mut client.run).await.unwrap();
    assert_eq!(end, End::Closed(DisconnectCode::Slow));
    assert!(start.elapsed() <= SLOW_TIME + Duration::from_secs(1));
    let mut got = Vec::new();
    let code = loop {
        match client.next().await {
            Ok(Reply::Push(Push {
                event: PushEvent::Publication(publication),
                ..
            })) => got.push(publication.offset),
            Ok(other) => panic!("{other:?}"),
            Err(PeerEvent::Closed { code, .. }) => break code,
            Err(end) => panic!("{end:?}"),
        }
    };
    assert_eq!(code, DisconnectCode::Slow.number());
    assert!(got.iter().copied().eq(1..=got.len() as u64));
    assert!((got.len() as u64) < world.source.latest());

    let mut again = world.connect(json!({"token": "good"})).await;
    while got.len() < 2000 {
        let since = json!({"offset": got.len()});
        got.extend(offsets(
            &page(&mut again, json!({"limit": -1, "since": since}))
                .await
                .publications,
        ));
    }
    assert!(got.iter().copied().eq(1..=2000));
}

#[tokio::test(start_paused = true)]
async fn what_waits_for_a_slow_client_is_bounded() {
    let world = World::new();
    world
        .source
        .commit(Some(Stored::Update("x".repeat(REPLY_BYTES / 2).into())));
    let client = world.connect(json!({"token": "good"})).await;
    // Asked for in one frame, more than may wait: the client is closed, long before it counts as slow by time.
    let frames: Vec<String> = (10..19).map(|id| history(id, json!({"limit": 1}))).collect();
    let start = Instant::now();
    client.send(&frames.join("\n")).await;
    assert_eq!(client.run.await.unwrap(), End::Closed(DisconnectCode::Slow));
    assert!(start.elapsed() <= CLOSE_TIME);
}
