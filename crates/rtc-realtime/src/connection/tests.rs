mod interleavings;
mod streams;
mod support;
mod texts;

use std::sync::atomic::Ordering;
use std::time::Duration;

use rtc_wire::centrifuge::{Outcome, Reply, RpcResult};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::*;
use crate::limits::*;
use crate::{MemoryPeer, PeerEvent};
use support::*;

/// Sends each frame and compares what comes back before the next, `U` standing for the user's id.
async fn check(client: &mut Client, table: &[(&str, &str)]) {
    for (sent, expected) in table {
        let id = user().to_string();
        client.send(&sent.replace('U', &id)).await;
        settle().await;
        let mut came = Vec::new();
        while let Ok(reply) = tokio::time::timeout(Duration::ZERO, client.next()).await {
            match reply {
                Ok(reply) => came.push(rtc_wire::centrifuge::encode(&[reply]).replace(&id, "U")),
                Err(PeerEvent::Closed { code, reason }) => {
                    came.push(format!("closed {code} {reason}"));
                    break;
                }
                Err(end) => panic!("{end:?}"),
            }
        }
        assert_eq!(came.join("\n"), *expected, "{sent}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_first_command_is_connect_and_its_token_decides() {
    for (sent, expected) in [
        (r#"{"id":1,"connect":{}}"#, "closed 3500 invalid token"),
        (
            r#"{"id":1,"connect":{"token":"bad"}}"#,
            "closed 3500 invalid token",
        ),
        (
            r#"{"id":1,"connect":{"token":"revoked"}}"#,
            "closed 3500 invalid token",
        ),
        (
            r#"{"id":1,"connect":{"token":"old"}}"#,
            r#"{"id":1,"error":{"code":109,"message":"token expired"}}"#,
        ),
        (
            r#"{"id":1,"connect":{"token":"panic"}}"#,
            "closed 3004 internal server error",
        ),
        (r#"{"connect":{"token":"good"}}"#, "closed 3501 bad request"),
        (r#"{"id":1,"rpc":{"method":"echo"}}"#, "closed 3501 bad request"),
        (r#"{"id":1,"ping":{}}"#, "closed 3501 bad request"),
        (r#"{"id":1,"later":{}}"#, "closed 3501 bad request"),
        ("{}", "closed 3501 bad request"),
        ("no frame", "closed 3501 bad request"),
        (
            r#"{"id":1,"connect":{"token":"good","data":"text"}}"#,
            r#"{"id":1,"connect":{"client":"00000000-0000-7000-a3cb-e1e459320dd7","version":"0.1.0","data":{"user_id":"U","device_id":"00000000-0000-0000-0000-000000000002","protocol":1,"capabilities":["approvals"],"scopes":["view","converse","approve","execute","serve-tools"]},"ping":25,"pong":true}}"#,
        ),
    ] {
        let world = World::new();
        check(&mut world.open(8), &[(sent, expected)]).await;
    }
}

#[tokio::test(start_paused = true)]
async fn who_has_not_connected_may_say_little() {
    let connect = |bytes: usize| {
        let empty = r#"{"id":1,"connect":{"token":"good","name":""}}"#;
        empty.replace(r#""""#, &format!("{:?}", "x".repeat(bytes - empty.len())))
    };
    let world = World::new();
    let mut client = world.open(8);
    client.send(&connect(CONNECT_BYTES)).await;
    assert!(matches!(client.outcome().await, (1, Outcome::Connect(_))));
    let ping = format!(r#"{{"id":2,"ping":{{}}}}{}"#, " ".repeat(CONNECT_BYTES));
    client.send(&ping).await;
    assert!(matches!(client.outcome().await, (2, Outcome::Ping(_))));
    for frame in [connect(CONNECT_BYTES + 1), ping] {
        let mut client = world.open(8);
        client.send(&frame).await;
        assert_eq!(client.closed().await, 1009);
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_with_an_old_token_may_come_with_a_new_one_at_once() {
    let world = World::new();
    let mut client = world.open(8);
    client.send(r#"{"id":1,"connect":{"token":"old"}}"#).await;
    assert_eq!(client.error().await.1.code, 109);
    client.send(r#"{"id":2,"connect":{"token":"good"}}"#).await;
    assert!(matches!(client.outcome().await, (2, Outcome::Connect(_))));
}

#[tokio::test(start_paused = true)]
async fn commands_get_the_answers_of_the_protocol() {
    let world = World::new();
    world.source.commit_many(3);
    let mut client = world.connect(json!({"token": "good"})).await;
    let denied = r#""error":{"code":103,"message":"permission denied"}}"#;
    let unavailable = r#""error":{"code":108,"message":"not available"}}"#;
    check(&mut client, &[
        (r#"{"id":2,"ping":{}}"#, r#"{"id":2,"ping":{}}"#),
        (r#"{"id":3,"later":{}}"#, r#"{"id":3,"error":{"code":104,"message":"method not found"}}"#),
        (r#"{"id":4,"publish":{"channel":"topic:u=U","data":1}}"#, &format!(r#"{{"id":4,{denied}"#)),
        (r#"{"id":5,"presence":{"channel":"topic:u=U"}}"#, &format!(r#"{{"id":5,{unavailable}"#)),
        (r#"{"id":6,"presence_stats":{"channel":"topic:u=U"}}"#, &format!(r#"{{"id":6,{unavailable}"#)),
        (r#"{"id":7,"sub_refresh":{"channel":"topic:u=U"}}"#, &format!(r#"{{"id":7,{unavailable}"#)),
        (r#"{"id":8,"subscribe":{"channel":"topic:u=V"}}"#, &format!(r#"{{"id":8,{denied}"#)),
        (r#"{"id":9,"subscribe":{"channel":"topic"}}"#, r#"{"id":9,"error":{"code":102,"message":"unknown channel"}}"#),
        (r#"{"id":9,"subscribe":{"channel":"news:u=U"}}"#, r#"{"id":9,"error":{"code":102,"message":"unknown channel"}}"#),
        (r#"{"id":10,"history":{"channel":"live:u=U","limit":1}}"#, &format!(r#"{{"id":10,{unavailable}"#)),
        (r#"{"id":10,"history":{"channel":"live:u=V","limit":1}}"#, &format!(r#"{{"id":10,{denied}"#)),
        (r#"{"id":11,"unsubscribe":{"channel":"topic:u=U"}}"#, r#"{"id":11,"unsubscribe":{}}"#),
        (r#"{"id":12,"subscribe":{"channel":"topic:u=U"}}"#, r#"{"id":12,"subscribe":{"recoverable":true,"epoch":"e1","offset":3,"positioned":true}}"#),
        (r#"{"id":13,"subscribe":{"channel":"topic:u=U"}}"#, r#"{"id":13,"error":{"code":105,"message":"already subscribed"}}"#),
        (r#"{"id":14,"subscribe":{"channel":"live:u=U","recover":true}}"#, r#"{"id":14,"subscribe":{"was_recovering":true}}"#),
        (r#"{"id":15,"subscribe":{"channel":"live:u=U"}}"#, r#"{"id":15,"error":{"code":105,"message":"already subscribed"}}"#),
        (
            "{\"id\":16,\"unsubscribe\":{\"channel\":\"live:u=U\"}}\n{\"id\":17,\"subscribe\":{\"channel\":\"live:u=U\"}}",
            "{\"id\":16,\"unsubscribe\":{}}\n{\"id\":17,\"subscribe\":{}}",
        ),
        (r#"{"id":18,"rpc":{"method":"echo","data":[1]}}"#, r#"{"id":18,"rpc":{"data":[1]}}"#),
        (
            r#"{"id":19,"rpc":{"method":"v1.session.get"}}"#,
            r#"{"id":19,"error":{"code":500,"message":"session.not_found: there is no session S1\n{\"session_id\":\"S1\"}"}}"#,
        ),
        (r#"{"id":20,"rpc":{"method":"large"}}"#, r#"{"id":20,"error":{"code":106,"message":"limit exceeded"}}"#),
        ("", ""),
        ("{}", ""),
        (r#"{"id":21,"connect":{"token":"good"}}"#, "closed 3501 bad request"),
    ])
    .await;
    assert_eq!(client.run.await.unwrap(), End::Closed(DisconnectCode::BadRequest));
}

#[tokio::test(start_paused = true)]
async fn what_breaks_the_protocol_ends_the_connection_and_answers_before_it_arrive() {
    let large = format!(
        r#"{{"send":{{"data":"{}"}}}}"#,
        "x".repeat(rtc_wire::centrifuge::FRAME_BYTES)
    );
    for (sent, code) in [
        (r#"{"send":{"data":1}}"#, 3508),
        (r#"{"rpc":{"method":"echo"}}"#, 3501),
        (r#"{"later":{}}"#, 3501),
        ("{", 3501),
        (&large, 1009),
    ] {
        let world = World::new();
        let mut client = world.connect(json!({"token": "good"})).await;
        client.send(r#"{"id":2,"ping":{}}"#).await;
        client.send(sent).await;
        assert!(
            matches!(client.outcome().await, (2, Outcome::Ping(_))),
            "{sent:.50}"
        );
        assert_eq!(client.closed().await, code, "{sent:.50}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_token_without_the_right_to_view_sees_nothing() {
    let world = World::new();
    let mut client = world.connect(json!({"token": "blind"})).await;
    for frame in [
        subscribe(2, &topic()),
        subscribe(2, &live()),
        history(2, json!({"limit": 1})),
    ] {
        client.send(&frame).await;
        assert_eq!(client.error().await.1.code, 103, "{frame}");
    }
}

#[tokio::test(start_paused = true)]
async fn calls_run_at_once_and_answer_as_they_end() {
    let world = World::new();
    let mut client = world
        .connect(json!({"token": "good", "data": {"approvals": true}}))
        .await;
    client.call(2, "wait", json!("late")).await;
    client.call(3, "panic", json!(1)).await;
    let (id, error) = client.error().await;
    assert_eq!(id, 3);
    assert_eq!(error.application().unwrap().0, "rpc.internal_error");
    client.call(4, "approvals", json!(1)).await;
    let (id, outcome) = client.outcome().await;
    assert_eq!((id, outcome), (4, Outcome::Rpc(RpcResult { data: true.into() })));
    world.around.go.notify_one();
    assert_eq!(client.outcome().await.0, 2);
}

#[tokio::test(start_paused = true)]
async fn at_the_bound_of_calls_the_connection_reads_no_more_and_still_lives() {
    let world = World::new();
    let mut client = world.connect(json!({"token": "good"})).await;
    let started = Instant::now();
    for id in 0..CALLS as u32 {
        client.call(100 + id, "never", json!(1)).await;
    }
    client.call(2, "echo", json!(1)).await;
    settle().await;
    assert_eq!(world.around.running.load(Ordering::SeqCst), CALLS as u64);
    // Pings come, their answers are not read, and nobody takes that amiss.
    let mut pings = 0;
    loop {
        match client.next().await.unwrap() {
            Reply::Ping => {
                pings += 1;
                client.send("{}").await;
            }
            Reply::Error { error, .. } => {
                let (code, message, _) = error.application().unwrap();
                insta::allow_duplicates! {
                    insta::assert_snapshot!(
                        format!("{code}: {message}"),
                        @"rpc.internal_error: there was no answer within 60 s; what was asked for may still be done"
                    );
                }
                assert!(started.elapsed() >= CALL_TIME);
            }
            Reply::Result { id, .. } => {
                assert_eq!(id, 2);
                break;
            }
            Reply::Push(push) => panic!("{push:?}"),
        }
    }
    assert_eq!(pings, 2);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_answers_pings_stays_and_one_that_does_not_is_closed() {
    let world = World::new();
    let mut client = world.connect(json!({"token": "good"})).await;
    let start = Instant::now();
    for count in 1..=3 {
        assert_eq!(client.reply().await, Reply::Ping);
        assert_eq!(start.elapsed(), PING_INTERVAL * count);
        client.send("{}").await;
    }
    assert_eq!(client.reply().await, Reply::Ping);
    // Other commands are no answer.
    client.send(r#"{"id":2,"ping":{}}"#).await;
    assert_eq!(client.closed().await, DisconnectCode::NoPong.number());
    assert_eq!(start.elapsed(), PING_INTERVAL * 4 + PONG_TIME);
}

#[tokio::test(start_paused = true)]
async fn a_socket_that_does_not_connect_is_closed() {
    let world = World::new();
    let mut client = world.open(8);
    let start = Instant::now();
    client.send(r#"{"id":1,"connect":{"token":"old"}}"#).await;
    assert_eq!(client.closed().await, DisconnectCode::Stale.number());
    assert_eq!(start.elapsed(), CONNECT_TIME);
}

#[tokio::test(start_paused = true)]
async fn a_connection_ends_with_its_token_unless_it_is_refreshed() {
    let world = World::new();
    let mut client = world.open(8);
    let start = Instant::now();
    client.send(r#"{"id":1,"connect":{"token":"short"}}"#).await;
    let (_, Outcome::Connect(connected)) = client.outcome().await else {
        panic!("no connect");
    };
    assert_eq!((connected.expires, connected.ttl), (true, 60));
    tokio::time::sleep(Duration::from_secs(20)).await;
    client.send(r#"{"id":2,"refresh":{"token":"short"}}"#).await;
    let (_, Outcome::Refresh(refreshed)) = client.outcome().await else {
        panic!("no refresh");
    };
    assert_eq!((refreshed.expires, refreshed.ttl), (true, 60));
    let end = loop {
        if let Err(end) = client.lively().await {
            break end;
        }
    };
    assert!(matches!(end, PeerEvent::Closed { code: 3005, .. }), "{end:?}");
    assert_eq!(
        start.elapsed(),
        Duration::from_millis(20_000 + 59_001) + EXPIRED_GRACE
    );

    for (token, code) in [("old", 3005), ("bad", 3500), ("revoked", 3500), ("other", 3500)] {
        let mut client = world.connect(json!({"token": "short"})).await;
        client
            .send(&json!({"id": 2, "refresh": {"token": token}}).to_string())
            .await;
        assert_eq!(client.closed().await, code, "{token}");
    }
    let mut client = world.connect(json!({"token": "short"})).await;
    client.send(r#"{"id":2,"refresh":{"token":"panic"}}"#).await;
    assert!(client.error().await.1.temporary);
    client
        .send("{\"id\":3,\"refresh\":{\"token\":\"blind\"}}\n{\"id\":4,\"refresh\":{\"token\":\"good\"}}")
        .await;
    assert_eq!((client.outcome().await.0, client.outcome().await.0), (3, 4));
}

#[tokio::test(start_paused = true)]
async fn a_revoked_token_and_the_end_of_the_program_close_every_connection() {
    let world = World::new();
    let mut clients = [
        world.subscribed().await,
        world.connect(json!({"token": "good"})).await,
    ];
    world.around.revoke.cancel();
    for client in &mut clients {
        assert_eq!(client.closed().await, DisconnectCode::InvalidToken.number());
    }
    let mut clients = [world.open(8), world.open(8)];
    world.services.shutdown.cancel();
    for client in &mut clients {
        assert_eq!(client.closed().await, DisconnectCode::Shutdown.number());
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_breaks_off_leaves_nothing_behind() {
    let world = World::new();
    // At every point of what a client does the socket breaks.
    let frames = [
        json!({"id": 1, "connect": {"token": "good"}}).to_string(),
        subscribe(2, &topic()),
        subscribe(3, &live()),
        history(4, json!({"limit": 10})),
        json!({"id": 5, "rpc": {"method": "never"}}).to_string(),
        json!({"id": 6, "unsubscribe": {"channel": topic()}}).to_string(),
    ];
    for until in 0..=frames.len() {
        for settles in [false, true] {
            let Client { run, peer, .. } = world.open(1);
            for frame in &frames[..until] {
                let _ = tokio::time::timeout(Duration::from_millis(1), peer.send(frame.as_str())).await;
                world.source.commit_many(1);
                if settles {
                    settle().await;
                }
            }
            drop::<MemoryPeer>(peer);
            let end = tokio::time::timeout(Duration::from_millis(100), run).await;
            assert_eq!(end.unwrap().unwrap(), End::Gone, "after {until} frames");
        }
    }
    settle().await;
    assert_eq!(world.source.live.receiver_count(), 0);
    assert_eq!(
        std::sync::Arc::strong_count(&world.source),
        2,
        "the world's and the services'"
    );
}

fn gap() -> Value {
    json!({"type": "gap", "data": {}})
}
