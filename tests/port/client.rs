//! What speaks with the port: plain requests, and a client over a WebSocket.

use std::io::{Read, Write};
use std::net::TcpStream;

use rtc_tests::serving::LONGEST;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::client::{IntoClientRequest as _, client_with_config};
use tokio_tungstenite::tungstenite::http::{HeaderName, HeaderValue};
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Error, HandshakeError, Message, WebSocket};

/// An answer over HTTP.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    /// A header of it.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (found, value) = line.split_once(": ")?;
            found.eq_ignore_ascii_case(name).then_some(value)
        })
    }
}

/// A socket to the port.
pub(crate) fn socket(port: u16) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", port)).expect("the port is open");
    stream.set_read_timeout(Some(LONGEST)).expect("a timeout is set");
    stream
}

/// Sends a head and reads the answer.
pub(crate) fn exchange(port: u16, head: &str) -> Answer {
    let mut stream = socket(port);
    stream.write_all(head.as_bytes()).expect("the request is sent");
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).expect("the answer is read");
    let answer = String::from_utf8(bytes).expect("the answer is text");
    let (head, body) = answer.split_once("\r\n\r\n").expect("the answer has a head");
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    Answer {
        status: status.expect("a status"),
        head: head.to_owned(),
        body: body.to_owned(),
    }
}

/// A request with its headers, to the port under its own name.
pub(crate) fn request(port: u16, line: &str, headers: &[(&str, &str)]) -> Answer {
    let mut head = format!("{line} HTTP/1.1\r\nConnection: close\r\n");
    if !headers.iter().any(|(name, _)| *name == "Host") {
        head.push_str(&format!("Host: 127.0.0.1:{port}\r\n"));
    }
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    exchange(port, &format!("{head}\r\n"))
}

/// What a client hears.
#[derive(Debug, PartialEq)]
pub(crate) enum Heard {
    /// A frame.
    Text(String),
    /// The end, and why.
    Closed(u16, String),
    /// The end, without a word.
    Gone,
}

/// A client over a WebSocket.
pub(crate) struct Client(WebSocket<TcpStream>);

impl Client {
    /// Opens a WebSocket; the status if it is refused.
    pub(crate) fn try_open(port: u16, headers: &[(&'static str, &str)]) -> Result<Self, u16> {
        let mut request = format!("ws://127.0.0.1:{port}/connection/websocket")
            .into_client_request()
            .expect("an address");
        for (name, value) in headers {
            let value = HeaderValue::from_str(value).expect("a header");
            request.headers_mut().insert(HeaderName::from_static(name), value);
        }
        let config = WebSocketConfig::default()
            .max_frame_size(None)
            .max_message_size(None);
        match client_with_config(request, socket(port), Some(config)) {
            Ok((socket, _)) => Ok(Self(socket)),
            Err(HandshakeError::Failure(Error::Http(answer))) => Err(answer.status().as_u16()),
            Err(error) => panic!("the WebSocket does not open: {error}"),
        }
    }

    /// Opens a WebSocket.
    pub(crate) fn open(port: u16) -> Self {
        Self::try_open(port, &[]).unwrap_or_else(|status| panic!("the WebSocket is refused with {status}"))
    }

    /// Opens one and connects.
    pub(crate) fn connected(port: u16, token: &str) -> Self {
        let mut client = Self::open(port);
        let reply = client.connect(token);
        assert!(
            matches!(&reply, Heard::Text(text) if text.contains("\"connect\"")),
            "{reply:?}"
        );
        client
    }

    /// Sends a connect with this token and gives what is heard of it.
    pub(crate) fn connect(&mut self, token: &str) -> Heard {
        self.send(&json!({"id": 1, "connect": {"token": token}}).to_string());
        self.hear()
    }

    /// Sends a frame. The other side may have closed: that is heard.
    pub(crate) fn send(&mut self, frame: &str) {
        self.send_message(Message::text(frame));
    }

    /// Sends any message.
    pub(crate) fn send_message(&mut self, message: Message) {
        let _ = self.0.send(message);
    }

    /// Sends a command and gives its reply.
    pub(crate) fn ask(&mut self, command: Value) -> Value {
        self.send(&command.to_string());
        loop {
            match self.hear() {
                Heard::Text(text) => {
                    let replies = text
                        .lines()
                        .map(|line| serde_json::from_str(line).expect("a reply is JSON"));
                    let mut own = replies.filter(|reply: &Value| reply["id"] == command["id"]);
                    if let Some(reply) = own.next() {
                        return reply;
                    }
                }
                end => panic!("{end:?} instead of a reply to {command}"),
            }
        }
    }

    /// The next frame, or the end.
    pub(crate) fn hear(&mut self) -> Heard {
        loop {
            match self.0.read() {
                Ok(Message::Text(text)) => return Heard::Text(text.to_string()),
                Ok(Message::Close(Some(why))) => {
                    return Heard::Closed(why.code.into(), why.reason.to_string());
                }
                Ok(Message::Close(None)) => return Heard::Gone,
                Ok(_) => {}
                Err(Error::Io(error)) if error.kind() == std::io::ErrorKind::WouldBlock => {
                    panic!("nothing is heard")
                }
                Err(_) => return Heard::Gone,
            }
        }
    }

    /// Waits for the end.
    pub(crate) fn end(&mut self) -> Heard {
        loop {
            match self.hear() {
                Heard::Text(_) => {}
                end => return end,
            }
        }
    }

    /// The socket beneath.
    pub(crate) fn raw(&mut self) -> &mut TcpStream {
        self.0.get_mut()
    }
}

/// A client's call: its result, or code and details of the error.
pub(crate) fn call(client: &mut Client, method: &str, data: Value) -> Result<Value, (String, Value)> {
    let mut reply = client.ask(json!({"id": 7, "rpc": {"method": method, "data": data}}));
    match reply["error"]["message"].as_str() {
        Some(told) => {
            let (message, details) = told.split_once('\n').unwrap_or((told, "null"));
            let code = message.split_once(':').expect("a code").0.to_owned();
            Err((code, serde_json::from_str(details).expect("details are JSON")))
        }
        None => Ok(reply["rpc"]["data"]["result"].take()),
    }
}

/// The code of the error of a call that fails.
pub(crate) fn code(client: &mut Client, method: &str, data: Value) -> String {
    match call(client, method, data.clone()) {
        Ok(result) => panic!("{method} {data} gave {result}"),
        Err((code, _)) => code,
    }
}

/// The result of a call that does not fail.
pub(crate) fn result(client: &mut Client, method: &str, data: Value) -> Value {
    call(client, method, data.clone()).unwrap_or_else(|error| panic!("{method} {data}: {error:?}"))
}
