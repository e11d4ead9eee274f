use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};
use tauri::ipc::InvokeResponseBody;

use super::*;

/// A page's end of a channel.
fn page_channel() -> (Channel<SocketEvent>, Receiver<Value>) {
    let (told, heard) = channel();
    let channel = Channel::new(move |body| {
        let InvokeResponseBody::Json(text) = body else {
            panic!("an event is JSON")
        };
        told.send(serde_json::from_str(&text).unwrap()).unwrap();
        Ok(())
    });
    (channel, heard)
}

struct Opened {
    sockets: Sockets,
    id: u32,
    receiver: IpcReceiver,
    sender: IpcSender,
    heard: Receiver<Value>,
}

fn opened() -> Opened {
    let sockets = Sockets::default();
    let (channel, heard) = page_channel();
    let (id, socket) = sockets.open(&sockets.page("window-1"), channel).unwrap();
    let (receiver, sender) = socket.split();
    Opened {
        sockets,
        id,
        receiver,
        sender,
        heard,
    }
}

#[tokio::test]
async fn frames_go_both_ways() {
    let mut opened = opened();
    opened
        .sockets
        .send("window-1", opened.id, "one".to_owned())
        .await
        .unwrap();
    assert_eq!(opened.receiver.receive().await, Some(Ok("one".to_owned())));
    opened.sender.send("two".to_owned()).await.unwrap();
    opened.sender.close(3500, "invalid token").await;
    assert_eq!(
        opened.heard.recv().unwrap(),
        json!({"type": "frame", "data": "two"})
    );
    let close = json!({"type": "close", "code": 3500, "reason": "invalid token"});
    assert_eq!(opened.heard.recv().unwrap(), close);
}

#[tokio::test]
async fn a_socket_is_of_the_page_that_opened_it() {
    let opened = opened();
    let (sockets, id) = (&opened.sockets, opened.id);
    assert_eq!(
        sockets.send("window-2", id, String::new()).await,
        Err(Refusal::Unknown)
    );
    assert_eq!(sockets.acknowledge("window-2", id, 1), Err(Refusal::Unknown));
    assert_eq!(sockets.close("window-2", id), Err(Refusal::Unknown));
    assert_eq!(sockets.close("window-1", id + 1), Err(Refusal::Unknown));
    assert_eq!(sockets.close("window-1", id), Ok(()));
    assert_eq!(
        sockets.close("window-1", id),
        Err(Refusal::Unknown),
        "it is closed already"
    );
}

#[tokio::test]
async fn what_a_page_opened_ends_when_it_is_loaded_again() {
    let mut opened = opened();
    let former = opened.sockets.page("window-1");
    opened.sockets.leave("window-2");
    opened.sender.send("still there".to_owned()).await.unwrap();
    opened.sockets.leave("window-1");
    assert_eq!(opened.receiver.receive().await, None);
    assert_eq!(opened.sender.send("late".to_owned()).await, Err(Gone));
    opened.sender.close(3000, "it ends").await;
    let heard: Vec<Value> = opened.heard.try_iter().collect();
    assert_eq!(heard, [json!({"type": "frame", "data": "still there"})]);
    let late = opened.sockets.open(&former, page_channel().0);
    assert_eq!(
        late.err(),
        Some(Refusal::PageGone),
        "it began before the page was loaded again"
    );
    assert!(
        opened
            .sockets
            .open(&opened.sockets.page("window-1"), page_channel().0)
            .is_ok()
    );
}

#[tokio::test(start_paused = true)]
async fn a_page_that_takes_nothing_is_sent_no_more() {
    let mut opened = opened();
    // Each of these is two bytes and one unit.
    let half = "é".repeat(UNTAKEN / 2);
    for _ in 0..2 {
        opened.sender.send(half.clone()).await.unwrap();
    }
    let waits = tokio::time::timeout(Duration::from_secs(60), opened.sender.send("x".to_owned())).await;
    assert!(waits.is_err(), "the bound is reached");
    opened.sockets.acknowledge("window-1", opened.id, 1).unwrap();
    opened.sender.send("x".to_owned()).await.unwrap();
    let waits = tokio::time::timeout(Duration::from_secs(60), opened.sender.send("x".to_owned())).await;
    assert!(waits.is_err(), "what was taken gave room for one");
    opened
        .sockets
        .acknowledge("window-1", opened.id, UNTAKEN)
        .unwrap();
    opened.sender.send("x".repeat(UNSAID - 1)).await.unwrap();
    // That these were taken is not said; a large frame does not wait for it.
    opened.sender.send("é".repeat(2 * UNTAKEN)).await.unwrap();
    let waits = tokio::time::timeout(Duration::from_secs(60), opened.sender.send("x".to_owned())).await;
    assert!(waits.is_err(), "a large frame goes alone");
}

#[tokio::test]
async fn a_page_that_says_it_took_more_than_it_was_sent_is_left() {
    let mut opened = opened();
    opened.sender.send("four".to_owned()).await.unwrap();
    opened.sockets.acknowledge("window-1", opened.id, 5).unwrap();
    assert_eq!(opened.receiver.receive().await, None);
    assert_eq!(opened.sender.send("more".to_owned()).await, Err(Gone));
}

#[tokio::test]
async fn frames_are_taken_one_after_the_other() {
    let mut opened = opened();
    for number in 0..FRAMES {
        let frame = number.to_string();
        opened.sockets.send("window-1", opened.id, frame).await.unwrap();
    }
    let sockets = Arc::new(opened.sockets);
    let (waiting, id) = (sockets.clone(), opened.id);
    let waits = tokio::spawn(async move { waiting.send("window-1", id, "waits".to_owned()).await });
    tokio::task::yield_now().await;
    let refused = sockets.send("window-1", id, "at once".to_owned()).await;
    assert_eq!(refused, Err(Refusal::NotInTurn));
    assert_eq!(opened.receiver.receive().await, Some(Ok("0".to_owned())));
    assert_eq!(waits.await.unwrap(), Ok(()));
}

#[tokio::test]
async fn a_frame_that_is_too_large_is_told_to_the_connection() {
    let mut opened = opened();
    let frame = "x".repeat(FRAME_BYTES + 1);
    opened.sockets.send("window-1", opened.id, frame).await.unwrap();
    let received = opened.receiver.receive().await;
    assert_eq!(received, Some(Err(FrameError::TooLarge(FRAME_BYTES + 1))));
}

#[test]
fn a_page_has_few_sockets() {
    let sockets = Sockets::default();
    let page = sockets.page("window-1");
    let open = || sockets.open(&page, page_channel().0);
    let ids: Vec<u32> = (0..PER_PAGE).map(|_| open().unwrap().0).collect();
    assert_eq!(open().err(), Some(Refusal::TooMany));
    assert!(sockets.open(&sockets.page("window-2"), page_channel().0).is_ok());
    sockets.forget(ids[0]);
    assert!(open().is_ok());
}
