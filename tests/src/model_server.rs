//! A model's host that says what a test wants it to say, and keeps what it was asked.
//!
//! It speaks Chat Completions and Anthropic Messages, enough of Ollama and Gemini for what goes untuned, streams, and fails in the ways in which providers fail. It
//! listens on loopback only.

mod answer;

use std::collections::HashMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

pub use answer::Answer;
use answer::Piece;
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::Response;
use futures::StreamExt;
use serde_json::Value;
use tokio::sync::oneshot;

/// The longest wait for a request. Far more than anything needs: whoever waits that long hangs.
const LONGEST: Duration = Duration::from_secs(120);
/// The most bytes of a request.
const MOST_REQUEST: usize = 64 * 1024 * 1024;

/// In which way a request was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// OpenAI's Chat Completions.
    Chat,
    /// Anthropic's Messages.
    Messages,
    /// Ollama's own.
    Ollama,
    /// Google's Gemini.
    Gemini,
}

/// A request, exactly as it came.
#[derive(Debug, Clone)]
pub struct Asked {
    /// Which request this is, from 0.
    pub number: usize,
    /// When it was there whole.
    pub at: Instant,
    /// Where it went.
    pub path: String,
    /// By its path.
    pub dialect: Dialect,
    /// Names in lower case, in the order in which they came.
    pub headers: Vec<(String, String)>,
    /// The bytes.
    pub body: Vec<u8>,
}

/// The last thing that a request says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Last {
    /// A message of the user.
    User(String),
    /// Results of calls: id and text. All since the model's last message.
    Results(Vec<(String, String)>),
}

impl Asked {
    /// The body.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("a request is JSON")
    }

    /// A header; `None` if it was not sent.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|header| header.0 == name)
            .map(|header| header.1.as_str())
    }

    /// The messages.
    pub fn messages(&self) -> Vec<Value> {
        self.json()["messages"].as_array().cloned().unwrap_or_default()
    }

    /// The last thing said.
    pub fn last(&self) -> Last {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let mut results = Vec::new();
        let mut said = String::new();
        let messages = self.messages();
        let since = messages
            .iter()
            .rposition(|message| message["role"] == "assistant")
            .map_or(0, |at| at + 1);
        for message in &messages[since..] {
            if message["role"] == "tool" {
                results.push((text(&message["tool_call_id"]), text(&message["content"])));
            } else if let Some(blocks) = message["content"].as_array() {
                for block in blocks {
                    match block["type"].as_str() {
                        Some("tool_result") => {
                            results.push((text(&block["tool_use_id"]), text(&block["content"])))
                        }
                        _ => said = text(&block["text"]),
                    }
                }
            } else {
                said = text(&message["content"]);
            }
        }
        if said.is_empty() {
            Last::Results(results)
        } else {
            Last::User(said)
        }
    }

    /// The ids of all calls in the conversation, in order.
    pub fn call_ids(&self) -> Vec<String> {
        self.ids(|message| {
            let blocks = message["content"].as_array().into_iter().flatten();
            let used = blocks.filter(|block| block["type"] == "tool_use");
            message["tool_calls"]
                .as_array()
                .into_iter()
                .flatten()
                .chain(used)
                .map(|call| call["id"].clone())
                .collect()
        })
    }

    /// The ids of all results in the conversation, in order.
    pub fn result_ids(&self) -> Vec<String> {
        self.ids(|message| {
            let blocks = message["content"].as_array().into_iter().flatten();
            let results = blocks
                .filter(|block| block["type"] == "tool_result")
                .map(|block| block["tool_use_id"].clone());
            let tool = (message["role"] == "tool").then(|| message["tool_call_id"].clone());
            tool.into_iter().chain(results).collect()
        })
    }

    fn ids(&self, of: impl Fn(&Value) -> Vec<Value>) -> Vec<String> {
        let ids = self.messages().iter().flat_map(of).collect::<Vec<_>>();
        ids.iter()
            .map(|id| id.as_str().expect("an id is text").to_owned())
            .collect()
    }
}

type Script = dyn Fn(&Asked) -> Answer + Send + Sync;

struct Shared {
    script: Box<Script>,
    asked: Mutex<Vec<Asked>>,
    arrived: Condvar,
    /// When the answers ended, by the numbers of their requests.
    ended: Mutex<HashMap<usize, Instant>>,
    /// Answers of which the last byte before a stall is sent.
    stalled: AtomicUsize,
}

impl Shared {
    fn asked(&self) -> MutexGuard<'_, Vec<Asked>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A running server, ended with the test.
pub struct ModelServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    stop: Option<oneshot::Sender<Infallible>>,
    thread: Option<JoinHandle<()>>,
}

impl ModelServer {
    /// Answers each request by a function of it.
    pub fn start(script: impl Fn(&Asked) -> Answer + Send + Sync + 'static) -> Self {
        let shared = Arc::new(Shared {
            script: Box::new(script),
            asked: Mutex::new(Vec::new()),
            arrived: Condvar::new(),
            ended: Mutex::default(),
            stalled: AtomicUsize::new(0),
        });
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port of loopback is free");
        listener.set_nonblocking(true).expect("it can be waited for");
        let address = listener.local_addr().expect("it has an address");
        let (stop, stopped) = oneshot::channel::<Infallible>();
        let state = shared.clone();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime");
            runtime.block_on(async {
                let listener = tokio::net::TcpListener::from_std(listener).expect("it can be waited for");
                let router = Router::new()
                    .fallback(answer_request)
                    .layer(DefaultBodyLimit::max(MOST_REQUEST))
                    .with_state(state);
                let serving = axum::serve(listener, router);
                tokio::select! {
                    served = std::future::IntoFuture::into_future(serving) => served.expect("it serves"),
                    _ = stopped => {}
                }
            });
        });
        Self {
            address,
            shared,
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    /// Answers the requests one after the other; more than there are answers are a failure of the server.
    pub fn in_order(answers: impl IntoIterator<Item = Answer>) -> Self {
        let answers: Vec<Answer> = answers.into_iter().collect();
        Self::start(move |asked| {
            let answer = answers.get(asked.number).cloned();
            answer.unwrap_or_else(|| {
                Answer::status(400, r#"{"error":{"message":"nobody expected this request"}}"#)
            })
        })
    }

    /// Answers by what was said last: with the first answer whose text is contained in it.
    pub fn by_last(answers: impl IntoIterator<Item = (&'static str, Answer)>) -> Self {
        let answers: Vec<(&str, Answer)> = answers.into_iter().collect();
        Self::start(move |asked| {
            let said = match asked.last() {
                Last::User(text) => text,
                Last::Results(results) => results
                    .into_iter()
                    .map(|result| result.1)
                    .collect::<Vec<_>>()
                    .join("\n"),
            };
            let answer = answers
                .iter()
                .find(|(text, _)| said.contains(text))
                .map(|(_, answer)| answer.clone());
            answer.unwrap_or_else(|| {
                Answer::status(400, r#"{"error":{"message":"nobody expected this request"}}"#)
            })
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The base URL for a dialect.
    pub fn base_url(&self, dialect: Dialect) -> String {
        match dialect {
            Dialect::Chat => format!("http://{}/v1", self.address),
            Dialect::Messages | Dialect::Ollama => format!("http://{}", self.address),
            Dialect::Gemini => format!("http://{}/v1beta", self.address),
        }
    }

    /// All requests so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.shared.asked().clone()
    }

    /// Forgets all requests but the first ones, as if the others had not come.
    pub fn keep(&self, first: usize) {
        self.shared.asked().truncate(first);
    }

    /// From the end of each answer to the next request, for whoever asks one after the other. The first one is after
    /// the answer to request 0.
    pub fn pauses(&self) -> Vec<Duration> {
        let ended = self.shared.ended.lock().unwrap_or_else(PoisonError::into_inner);
        let pause = |next: &Asked| {
            let ended = ended.get(&next.number.checked_sub(1)?)?;
            Some(next.at.duration_since(*ended))
        };
        self.shared.asked().iter().filter_map(pause).collect()
    }

    /// Whether an answer has stalled and whoever asked has read all that was sent of it before.
    #[cfg(target_os = "linux")]
    pub fn is_read_up_to_a_stall(&self) -> bool {
        self.shared.stalled.load(Ordering::SeqCst) > 0 && !self.is_anything_on_the_way()
    }

    /// Whether bytes from or to this server are sent and not yet read, as the system says.
    #[cfg(target_os = "linux")]
    fn is_anything_on_the_way(&self) -> bool {
        let port = format!(":{:04X}", self.address.port());
        let table = std::fs::read_to_string("/proc/net/tcp").expect("the system lists its connections");
        table.lines().skip(1).any(|line| {
            let mut fields = line.split_whitespace().skip(1);
            let ends = [fields.next(), fields.next()];
            let queues = fields.nth(1);
            ends.iter().flatten().any(|end| end.ends_with(&port))
                && fields_of(queues) != [0, 0]
                // The queue of a listener counts those that wait to be accepted.
                && !line.contains(" 00000000:0000 0A ")
        })
    }

    /// Waits until there have been this many requests.
    pub fn wait_for(&self, requests: usize) -> Vec<Asked> {
        let waiting = self
            .shared
            .arrived
            .wait_timeout_while(self.shared.asked(), LONGEST, |asked| asked.len() < requests);
        let (asked, _) = waiting.unwrap_or_else(PoisonError::into_inner);
        assert!(
            asked.len() >= requests,
            "{} of {requests} requests came",
            asked.len()
        );
        asked.clone()
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            // A panic of the script has been told where it happened.
            let _ = thread.join();
        }
    }
}

/// The bytes not yet acknowledged, and those not yet read.
#[cfg(target_os = "linux")]
fn fields_of(queues: Option<&str>) -> [u64; 2] {
    let (sent, received) = queues
        .and_then(|queues| queues.split_once(':'))
        .expect("a connection has two queues");
    [sent, received].map(|bytes| u64::from_str_radix(bytes, 16).expect("a number"))
}

async fn answer_request(
    State(shared): State<Arc<Shared>>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let at = Instant::now();
    let dialect = match uri.path() {
        "/v1/chat/completions" => Dialect::Chat,
        "/v1/messages" => Dialect::Messages,
        "/api/chat" => Dialect::Ollama,
        path if path.starts_with("/v1beta/models/") && path.ends_with(":streamGenerateContent") => {
            Dialect::Gemini
        }
        other => return whole(404, "text/plain", format!("there is nothing at {other}")),
    };
    let header = |(name, value): (&axum::http::HeaderName, &axum::http::HeaderValue)| {
        (
            name.as_str().to_owned(),
            String::from_utf8_lossy(value.as_bytes()).into_owned(),
        )
    };
    let mut asked = Asked {
        number: 0,
        at,
        path: uri.path().to_owned(),
        dialect,
        headers: headers.iter().map(header).collect(),
        body: body.to_vec(),
    };
    {
        let mut list = shared.asked();
        asked.number = list.len();
        list.push(asked.clone());
    }
    shared.arrived.notify_all();
    let answer = (shared.script)(&asked);
    let mut response = Response::builder()
        .status(answer.status)
        .header("content-type", answer.content_type());
    for (name, value) in &answer.headers {
        response = response.header(name, value);
    }
    let pieces = futures::stream::iter(answer.pieces(dialect)).then({
        let shared = shared.clone();
        move |piece| {
            let shared = shared.clone();
            async move {
                if matches!(piece, Piece::Stall) {
                    // What was said before goes out first.
                    tokio::task::yield_now().await;
                    shared.stalled.fetch_add(1, Ordering::SeqCst);
                }
                piece.happen().await
            }
        }
    });
    // Nothing of the answer is left when this is looked for; what is written last goes out right after.
    let end = futures::stream::once(async move {
        let mut ended = shared.ended.lock().unwrap_or_else(PoisonError::into_inner);
        ended.insert(asked.number, Instant::now());
    });
    let pieces = pieces.chain(end.filter_map(|()| std::future::ready(None)));
    response
        .body(Body::from_stream(pieces))
        .expect("an answer of a test is a response")
}

fn whole(status: u16, content_type: &str, text: String) -> Response {
    let status = StatusCode::from_u16(status).expect("a status");
    let response = Response::builder()
        .status(status)
        .header("content-type", content_type);
    response.body(Body::from(text)).expect("a text is a response")
}
