//! A session that stood idle: the connection to its model is not there any more when it goes on, and nobody notices.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use rtc_tests::Workplace;
use rtc_tests::model_server::{Answer, Dialect, ModelServer};
use rtc_tests::serving::Serving;
use serde_json::{Value, json};

use crate::follower::{Follower, message};

/// How connections end that nobody used for a while.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Ends {
    /// The other side says so at once.
    Closed,
    /// It is noticed with the next request: that one is not answered.
    AtTheNextRequest,
}

/// Passes the connections of a client on to a server, until they are said to have stood idle for too long.
struct Line {
    address: SocketAddr,
    /// Those of the client.
    open: Arc<Mutex<Vec<TcpStream>>>,
    connections: Arc<AtomicUsize>,
    /// Connections up to this one end with their next byte.
    doomed: Arc<AtomicUsize>,
}

impl Line {
    fn to(server: SocketAddr) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let line = Self {
            address: listener.local_addr().expect("an address"),
            open: Arc::default(),
            connections: Arc::default(),
            doomed: Arc::default(),
        };
        let (open, connections, doomed) = (line.open.clone(), line.connections.clone(), line.doomed.clone());
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let Ok(client) = client else { return };
                let number = connections.fetch_add(1, Ordering::SeqCst) + 1;
                let Ok(server) = TcpStream::connect(server) else {
                    return;
                };
                let copies = [client.try_clone(), server.try_clone()].map(|copy| copy.expect("a copy"));
                open.lock()
                    .expect("no panic")
                    .push(client.try_clone().expect("a copy"));
                let [to_client, to_server] = copies;
                let doomed = doomed.clone();
                std::thread::spawn(move || {
                    pass(client, to_server, || number <= doomed.load(Ordering::SeqCst))
                });
                std::thread::spawn(move || pass(server, to_client, || false));
            }
        });
        line
    }

    /// Every connection that there is has stood idle for too long.
    fn stood_idle(&self, ends: Ends) {
        match ends {
            Ends::Closed => {
                for client in self.open.lock().expect("no panic").drain(..) {
                    // It may have ended by itself.
                    let _ = client.shutdown(Shutdown::Both);
                }
            }
            Ends::AtTheNextRequest => {
                self.doomed
                    .store(self.connections.load(Ordering::SeqCst), Ordering::SeqCst);
            }
        }
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, is_over: impl Fn() -> bool) {
    let mut bytes = [0; 1 << 16];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        if is_over() || to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    for end in [from, to] {
        let _ = end.shutdown(Shutdown::Both);
    }
}

fn serve(place: &Workplace, model: &ModelServer, line: &Line) -> Serving {
    let base_url = model
        .base_url(Dialect::Chat)
        .replace(&model.address().to_string(), &line.address.to_string());
    let config = format!(
        "model = \"scripted\"\n[models.scripted]\napi = \"openai-chat\"\nbase_url = \"{base_url}\"\nmodel = \"m-1\"\n"
    );
    let file = place.path().join("config.toml");
    std::fs::write(&file, config).expect("the configuration is written");
    let mut command = place.command(&["serve"]);
    command.arg("--config").arg(file).arg("--root").arg(place.root());
    Serving::of(command)
}

#[test]
fn a_session_that_stood_idle_goes_on_though_its_connections_are_gone() {
    for ends in [Ends::Closed, Ends::AtTheNextRequest] {
        let place = Workplace::empty();
        std::fs::write(place.root().join("notes.txt"), "chalk\n").expect("a file");
        let script = r#"{"title":"sum","action":"eval","code":"1 + 1"}"#;
        let model = ModelServer::in_order([
            Answer::reply()
                .call("a", "read", r#"{"path":"/notes.txt"}"#)
                .call("b", "script", script),
            Answer::text("It is two."),
            Answer::text("Still two."),
        ]);
        let line = Line::to(model.address());
        let serving = serve(&place, &model, &line);
        let mut first = Follower::start(&serving, None);
        let sent = first.rpc("v1.message.send", message("m1", "read and add"));
        let call = first.until(|entity| entity["approval"]["state"] == "open" && entity["status"] == "sent");
        let (since, kept) = (first.position.clone(), first.entities.clone());
        // The user goes, and comes back: both of its connections are new.
        drop(first);
        line.stood_idle(ends);
        let mut follower = Follower::start(&serving, Some(since));
        follower.entities = kept.into_iter().chain(follower.entities).collect();
        follower.rpc(
            "v1.rtc.approve",
            json!({"rtc_id": call["id"], "decision": "once"}),
        );
        follower.turn_is("completed");
        // And once more, between two turns.
        line.stood_idle(ends);
        let mut again = message("m2", "and now?");
        again["server_session_id"] = sent["session_id"].clone();
        follower.rpc("v1.message.send", again);
        follower.until(|entity| {
            entity["content"]
                .as_str()
                .is_some_and(|text| text.contains("Still two."))
        });

        let asked = model.asked();
        assert_eq!(asked.len(), 3, "{ends:?}: each request came once");
        for request in &asked[1..] {
            assert_eq!(request.call_ids().len(), 2, "{ends:?}");
            assert_eq!(
                request.call_ids(),
                request.result_ids(),
                "{ends:?}: each call has its one result"
            );
        }
        let messages = follower.rpc("v1.message.list", json!({"session_id": sent["session_id"]}));
        let shown = messages["items"].as_array().expect("messages");
        let is_failure = |message: &&Value| {
            message["content"]
                .as_str()
                .is_some_and(|text| text.contains("\"type\":\"error\""))
                || message["streaming_status"] == "failed"
        };
        assert_eq!(shown.iter().find(is_failure), None, "{ends:?}");
    }
}
