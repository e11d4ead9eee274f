//! Peers that break the protocol, and the bounds.

use futures::StreamExt;
use rtc_hub::{Error, MAX_CALLS, MAX_HOST_CALL_BYTES, MAX_HOST_CALL_VALUES, Peer, RemoteCall};
use rtc_tool::{Registry, ToolStreamItem, terminal_of};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

use super::way::{Case, id, pipe, remote};

#[tokio::test]
async fn whoever_breaks_the_protocol_is_cut_off() {
    let seven = id(7);
    let table = [
        ("hello\n".to_owned(), "expected value"),
        (
            format!("{{\"jsonrpc\":\"2.0\",\"id\":\"{seven}\"}}\n"),
            "either a result or an error",
        ),
        (
            json!({"jsonrpc": "2.0", "method": "tool.progress",
                "params": {"call_id": seven, "seq": 1, "progress": {"kind": "text", "text": ""}}})
            .to_string()
                + "\n",
            "progress 1 came where 0 was next",
        ),
    ];
    for (line, told) in table {
        let (near, mut far) = tokio::io::duplex(1 << 16);
        let (reader, writer) = tokio::io::split(near);
        let peer = Peer::start(reader, writer, Registry::default());
        let call = peer.call(remote(seven, &Case::new("echo", json!({}))));
        far.write_all(line.as_bytes()).await.unwrap();
        let error = peer.closed().await;
        assert!(
            matches!(&error, Error::Protocol(why) if why.contains(told)),
            "{line} {error}"
        );
        assert!(terminal_of(call).await.is_err());
    }
}

#[tokio::test]
async fn late_and_unknown_answers_change_nothing() {
    let (near, far) = tokio::io::duplex(1 << 16);
    let (reader, writer) = tokio::io::split(near);
    let peer = Peer::start(reader, writer, Registry::default());
    let (reader, mut writer) = tokio::io::split(far);
    let mut reader = BufReader::new(reader).lines();
    let answer =
        |number: u128| json!({"jsonrpc": "2.0", "id": id(number), "result": number}).to_string() + "\n";
    let mut call = peer.call(remote(id(1), &Case::new("echo", json!({}))));
    let (item, ()) = tokio::join!(call.next(), async {
        reader.next_line().await.unwrap();
        for line in [answer(9), answer(1), answer(1)] {
            writer.write_all(line.as_bytes()).await.unwrap();
        }
    });
    assert_eq!(item, Some(ToolStreamItem::Terminal(Ok(json!(1)))));
    assert_eq!(call.next().await, None);
    // The id is free again.
    let mut again = peer.call(remote(id(1), &Case::new("echo", json!({}))));
    let (item, ()) = tokio::join!(again.next(), async {
        reader.next_line().await.unwrap();
        writer.write_all(answer(1).as_bytes()).await.unwrap();
    });
    assert_eq!(item, Some(ToolStreamItem::Terminal(Ok(json!(1)))));
}

#[tokio::test]
async fn as_many_calls_run_as_may_and_each_only_once() {
    let (peer, _far) = pipe(1 << 16);
    let stop = tokio_util::sync::CancellationToken::new();
    let call = |number: usize, tool: &'static str| {
        peer.call(RemoteCall {
            cancel: stop.clone(),
            ..remote(id(number as u128), &Case::new(tool, json!({})))
        })
    };
    let mut running: Vec<_> = (0..MAX_CALLS)
        .map(|number| call(number, "until_cancelled"))
        .collect();
    for stream in &mut running {
        assert!(matches!(stream.next().await, Some(ToolStreamItem::Progress(_))));
    }
    insta::assert_snapshot!(terminal_of(call(0, "echo")).await.unwrap_err(), @"this very call is running already");
    insta::assert_snapshot!(terminal_of(call(MAX_CALLS, "echo")).await.unwrap_err(), @"64 calls are running already, try again");
    stop.cancel();
    for stream in running {
        assert!(terminal_of(stream).await.is_err());
    }
    let free = peer.call(remote(id(0), &Case::new("echo", json!({}))));
    assert_eq!(terminal_of(free).await.unwrap(), json!(""));
}

#[tokio::test]
async fn dropping_a_call_cancels_it() {
    let (near, far) = tokio::io::duplex(1 << 16);
    let (reader, writer) = tokio::io::split(near);
    let peer = Peer::start(reader, writer, Registry::default());
    let mut lines = BufReader::new(far).lines();
    let mut call = peer.call(remote(id(7), &Case::new("forever", json!({}))));
    let method =
        |line: Option<String>| serde_json::from_str::<Value>(&line.unwrap()).unwrap()["method"].clone();
    tokio::select! {
        item = call.next() => panic!("{item:?}"),
        line = lines.next_line() => assert_eq!(method(line.unwrap()), "tool.call"),
    }
    drop(call);
    assert_eq!(method(lines.next_line().await.unwrap()), "tool.cancel");
}

/// A deadline that no clock has is one far away, and the place of the call is given back.
#[tokio::test]
async fn a_deadline_beyond_every_clock_is_no_trouble() {
    let (near, far) = tokio::io::duplex(1 << 16);
    let (reader, writer) = tokio::io::split(near);
    let _peer = Peer::start(reader, writer, crate::tools::registry());
    let (reader, mut writer) = tokio::io::split(far);
    let mut lines = BufReader::new(reader).lines();
    for _ in 0..2 {
        let call = json!({"jsonrpc": "2.0", "id": id(7), "method": "tool.call", "params": {
            "call_id": id(7), "session_id": id(1), "attempt": 1, "tool": "echo", "arguments": {"text": "here"},
            "deadline_ms": u64::MAX,
        }});
        writer.write_all(format!("{call}\n").as_bytes()).await.unwrap();
        let answer: Value = serde_json::from_str(&lines.next_line().await.unwrap().unwrap()).unwrap();
        assert_eq!(answer["result"], json!("here"), "{answer}");
    }
    let (peer, _far) = pipe(1 << 16);
    let mut case = Case::new("echo", json!({"text": "here"}));
    case.deadline = Some(std::time::Duration::MAX);
    assert_eq!(
        terminal_of(peer.call(remote(id(7), &case))).await.unwrap(),
        json!("here")
    );
}

#[tokio::test]
async fn a_question_has_a_bound_of_its_own() {
    let (peer, _far) = pipe(1 << 16);
    let ask = |bytes: usize| {
        let case = Case::new("ask", json!({"text": "x".repeat(bytes), "count": 1}));
        terminal_of(peer.call(remote(id(7), &case)))
    };
    let answers = ask(MAX_HOST_CALL_BYTES).await.unwrap();
    let told = answers[0]["message"].as_str().unwrap();
    assert!(
        told.ends_with("bytes at once are too many to be passed on"),
        "{told}"
    );
    let answers = ask(MAX_HOST_CALL_BYTES - 1000).await.unwrap();
    assert_eq!(
        answers[0][0].as_str().map(str::len),
        Some(MAX_HOST_CALL_BYTES - 1000)
    );
    // A peer that does not keep to it is cut off.
    let (near, mut far) = tokio::io::duplex(1 << 16);
    let (reader, writer) = tokio::io::split(near);
    let peer = Peer::start(reader, writer, Registry::default());
    let question = json!({"jsonrpc": "2.0", "id": format!("{}/1", id(7)), "method": "host.call", "params": {
        "call_id": id(7), "ordinal": 1, "name": "x".repeat(MAX_HOST_CALL_BYTES), "arguments": null,
    }});
    far.write_all(format!("{question}\n").as_bytes()).await.unwrap();
    insta::assert_snapshot!(peer.closed().await, @"the other side broke the protocol: a question has more than 16777216 bytes");
}

/// `[0,0,…]` takes far more memory than its text, so values have a bound of their own.
#[tokio::test]
async fn the_values_of_a_question_are_bounded() {
    for (count, over) in [(MAX_HOST_CALL_VALUES - 100, false), (MAX_HOST_CALL_VALUES, true)] {
        let (near, mut far) = tokio::io::duplex(1 << 20);
        let (reader, writer) = tokio::io::split(near);
        let peer = Peer::start(reader, writer, Registry::default());
        let question = json!({
            "params": {"call_id": id(7), "ordinal": 1, "name": "n", "arguments": vec![0; count]},
            "jsonrpc": "2.0", "id": format!("{}/1", id(7)), "method": "host.call",
        });
        // Any other frame may have more of them: there is one at a time.
        let result = json!({"jsonrpc": "2.0", "id": id(8), "result": vec![0; 2 * MAX_HOST_CALL_VALUES]});
        let lines = format!("{result}\n{question}\n");
        far.write_all(lines.as_bytes()).await.unwrap();
        if over {
            let expected = "the other side broke the protocol: a question has more than 100000 values";
            assert_eq!(peer.closed().await.to_string(), expected);
        } else {
            let mut answer = String::new();
            BufReader::new(far).read_line(&mut answer).await.unwrap();
            assert!(answer.contains("the call has ended"), "{answer}");
        }
    }
}
