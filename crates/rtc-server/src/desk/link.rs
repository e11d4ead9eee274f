//! A connection to a running engine, over its port: calls and their answers, where the user's stream stands, and what is
//! told live. The stream itself is read on demand, so nothing piles up here and a cut loses nothing.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Result;
use futures::stream::{SplitSink, SplitStream};
use futures::{SinkExt as _, StreamExt as _};
use rtc_app::Instance;
use rtc_engine::LIVE_QUEUE;
use rtc_realtime::{CALL_TIME, OUTGOING_BYTES, PING_INTERVAL, PONG_TIME, PROTOCOL, Position};
use rtc_types::{Code, DeviceId, Update, UserId};
use rtc_wire::centrifuge::{
    Command, ConnectRequest, DisconnectCode, ErrorCode, HistoryRequest, Method, Outcome, PushEvent, Reply,
    ReplyError, RpcRequest, StreamPosition, SubscribeRequest, UnsubscribeCode, decode_replies,
    encode_commands,
};
use rtc_wire::rpc::{Call, RpcError};
use rtc_wire::{LiveEvent, TopicEvent};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::sync::{broadcast, mpsc, oneshot, watch};
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::{WebSocketStream, client_async_with_config};
use tokio_util::task::AbortOnDropHandle;

use super::Error;

/// How long connecting may take, from the socket to the subscriptions.
const CONNECT_TIME: Duration = Duration::from_secs(5);

/// How long an answer is waited for: longer than the other side lets a call take.
const ANSWER_TIME: Duration = CALL_TIME.saturating_add(Duration::from_secs(10));

/// After how long a silence the other side counts as gone: it pings more often.
const SILENCE_TIME: Duration = PING_INTERVAL.saturating_add(PONG_TIME);

/// How many frames may wait to be written.
const FRAMES: usize = 32;

/// The largest frame that is taken, in bytes: more than the other side lets wait to be written.
const FRAME_BYTES: usize = 2 * OUTGOING_BYTES;

/// How many updates are read at a time.
const PAGE: i32 = 200;

type Socket = WebSocketStream<TcpStream>;
type Answer = Result<Outcome, ReplyError>;

/// Why an engine is not reached.
#[derive(Debug)]
pub(super) enum NotReached {
    /// It does not take the token.
    Denied,
    /// It does not answer, or not as one of this version would.
    Silent(String),
}

impl NotReached {
    fn because(reason: impl ToString) -> Self {
        Self::Silent(reason.to_string())
    }
}

/// An open connection; dropped, it is closed.
pub(super) struct Link {
    user: UserId,
    device: DeviceId,
    wire: Wire,
    position: watch::Receiver<Position>,
    live: broadcast::Sender<LiveEvent>,
}

/// Both directions.
struct Wire {
    frames: mpsc::Sender<String>,
    waiting: Arc<Waiting>,
    ids: Arc<AtomicU32>,
    _tasks: [AbortOnDropHandle<()>; 2],
}

impl Link {
    /// Connects and subscribes. The token goes to the port of the process that has the data folder open, and nowhere
    /// else: see [`Instance::find`].
    pub(super) async fn connect(instance: &Instance) -> Result<Self, NotReached> {
        timeout(CONNECT_TIME, Self::open(instance))
            .await
            .unwrap_or_else(|_| Err(NotReached::because("it takes too long")))
    }

    async fn open(instance: &Instance) -> Result<Self, NotReached> {
        let stream = TcpStream::connect(&instance.address)
            .await
            .map_err(NotReached::because)?;
        // Frames are small and answers are waited for.
        let _ = stream.set_nodelay(true);
        let config = WebSocketConfig::default()
            .max_frame_size(Some(FRAME_BYTES))
            .max_message_size(Some(FRAME_BYTES));
        let address = format!("ws://{}/connection/websocket", instance.address);
        let (socket, _) = client_async_with_config(address, stream, Some(config))
            .await
            .map_err(NotReached::because)?;

        let (sink, stream) = socket.split();
        let (frames, to_write) = mpsc::channel(FRAMES);
        let position = Position {
            offset: 0,
            epoch: "".into(),
        };
        let (position, positions) = watch::channel(position);
        let live = broadcast::Sender::new(LIVE_QUEUE);
        let waiting = Arc::new(Waiting::default());
        let ids = Arc::new(AtomicU32::new(1));
        let reader = Reader {
            stream,
            frames: frames.clone(),
            ids: ids.clone(),
            subscribing: AtomicU32::new(0),
            waiting: waiting.clone(),
            position,
            live: live.clone(),
        };
        let wire = Wire {
            frames,
            waiting,
            ids,
            _tasks: [
                AbortOnDropHandle::new(tokio::spawn(reader.read())),
                AbortOnDropHandle::new(tokio::spawn(write(sink, to_write))),
            ],
        };
        let connect = ConnectRequest {
            token: instance.token.clone(),
            data: json!({"approvals": true, "live": "delta", "protocol": PROTOCOL}),
            name: "rtc-headless".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            ..ConnectRequest::default()
        };
        let told = match wire.ask(Method::Connect(Box::new(connect))).await {
            Ok(Ok(Outcome::Connect(told))) => told.data,
            Ok(Err(error)) if error.code == ErrorCode::TokenExpired.number() => {
                return Err(NotReached::Denied);
            }
            Err(Error::Lost) if wire.waiting.end() == Some(DisconnectCode::InvalidToken.number()) => {
                return Err(NotReached::Denied);
            }
            Ok(Err(error)) => return Err(NotReached::because(error.message)),
            Ok(Ok(_)) | Err(_) => return Err(NotReached::because("it ends the connection")),
        };
        if told["protocol"] != PROTOCOL {
            return Err(NotReached::because("it is of another version than this program"));
        }
        let user: UserId = serde_json::from_value(told["user_id"].clone()).map_err(NotReached::because)?;
        let device: DeviceId =
            serde_json::from_value(told["device_id"].clone()).map_err(NotReached::because)?;
        for channel in [format!("topic:u={user}"), format!("live:u={user}")] {
            let subscribe = SubscribeRequest {
                channel,
                ..SubscribeRequest::default()
            };
            match wire.ask(Method::Subscribe(Box::new(subscribe))).await {
                Ok(Ok(_)) => {}
                Ok(Err(error)) => return Err(NotReached::because(error.message)),
                Err(error) => return Err(NotReached::because(error)),
            }
        }
        Ok(Self {
            user,
            device,
            wire,
            position: positions,
            live,
        })
    }

    /// Whose engine it is.
    pub(super) fn user(&self) -> UserId {
        self.user
    }

    /// The device as which this connects: the engine's own.
    pub(super) fn device(&self) -> DeviceId {
        self.device
    }

    pub(super) fn position(&self) -> watch::Receiver<Position> {
        self.position.clone()
    }

    pub(super) fn live(&self) -> broadcast::Receiver<LiveEvent> {
        self.live.subscribe()
    }

    pub(super) async fn call<C: Call>(&self, request: C) -> Result<C::Result> {
        let request = RpcRequest {
            method: C::METHOD.to_string(),
            data: serde_json::to_value(request)?,
        };
        match self.ask(Method::Rpc(request)).await? {
            Outcome::Rpc(told) => {
                let reply: rtc_wire::rpc::Reply<C::Result> = serde_json::from_value(told.data)?;
                Ok(reply.result)
            }
            _ => Err(Error::Lost.into()),
        }
    }

    pub(super) async fn updates(&self, after: &mut Position) -> Result<Vec<Update>, Error> {
        let history = HistoryRequest {
            channel: format!("topic:u={}", self.user),
            limit: PAGE,
            // Of any epoch: nothing is kept here that could be of an older one, and no offset comes twice.
            since: Some(StreamPosition {
                offset: after.offset,
                epoch: String::new(),
            }),
            reverse: false,
        };
        let Outcome::History(told) = self.ask(Method::History(history)).await? else {
            return Err(Error::Lost);
        };
        let mut updates = Vec::new();
        for publication in told.publications {
            after.offset = publication.offset;
            match serde_json::from_value(publication.data) {
                Ok(TopicEvent::Update(update)) => updates.push(update),
                Ok(TopicEvent::Gap {}) => {}
                Err(error) => tracing::warn!(%error, "an update cannot be read and is left out"),
            }
        }
        Ok(updates)
    }

    async fn ask(&self, method: Method) -> Result<Outcome, Error> {
        self.wire.ask(method).await?.map_err(refusal)
    }
}

/// An error as the engine has it.
fn refusal(error: ReplyError) -> Error {
    if error.code == ErrorCode::LimitExceeded.number() {
        return Error::TooLarge;
    }
    Error::Refused(match error.application() {
        Some((code, message, details)) => RpcError {
            code: code.parse().unwrap_or(Code::Internal),
            message: message.to_owned(),
            details,
        },
        None => RpcError::new(Code::Internal, error.message),
    })
}

impl Wire {
    /// Sends a command and waits for its answer.
    async fn ask(&self, method: Method) -> Result<Answer, Error> {
        let id = self.ids.fetch_add(1, Ordering::Relaxed);
        // Before it is sent: the answer may be fast.
        let (_place, answer) = self.waiting.enter(id).ok_or(Error::Lost)?;
        let frame = encode_commands(&[Command::Call { id, method }]);
        let asking = async {
            self.frames.send(frame).await.map_err(|_| Error::Lost)?;
            answer.await.map_err(|_| Error::Lost)
        };
        timeout(ANSWER_TIME, asking).await.map_err(|_| Error::Lost)?
    }
}

/// Those who wait for answers.
#[derive(Default)]
struct Waiting(Mutex<State>);

#[derive(Default)]
struct State {
    answers: HashMap<u32, oneshot::Sender<Answer>>,
    /// Nobody is answered any more.
    ended: bool,
    /// The number with which the other side closed, if it did.
    code: Option<u16>,
}

impl Waiting {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for a command, until it is answered or nobody waits any more; none after the end.
    fn enter(self: &Arc<Self>, id: u32) -> Option<(Place, oneshot::Receiver<Answer>)> {
        let (tell, told) = oneshot::channel();
        let mut state = self.state();
        if state.ended {
            return None;
        }
        state.answers.insert(id, tell);
        let waiting = self.clone();
        Some((Place { waiting, id }, told))
    }

    fn answer(&self, id: u32, answer: Answer) {
        if let Some(tell) = self.state().answers.remove(&id) {
            // Whoever asked may have gone.
            let _ = tell.send(answer);
        }
    }

    fn close(&self, code: Option<u16>) {
        let mut state = self.state();
        state.ended = true;
        state.code = code;
        state.answers.clear();
    }

    fn end(&self) -> Option<u16> {
        self.state().code
    }
}

/// The place of one command.
struct Place {
    waiting: Arc<Waiting>,
    id: u32,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.waiting.state().answers.remove(&self.id);
    }
}

/// Writes frames until there are no more, or they are not taken.
async fn write(mut sink: SplitSink<Socket, Message>, mut frames: mpsc::Receiver<String>) {
    while let Some(frame) = frames.recv().await {
        let written = timeout(ANSWER_TIME, sink.send(Message::text(frame))).await;
        if !matches!(written, Ok(Ok(()))) {
            return;
        }
    }
}

/// Takes what the other side says.
struct Reader {
    stream: SplitStream<Socket>,
    frames: mpsc::Sender<String>,
    ids: Arc<AtomicU32>,
    /// The command that subscribed again; 0: none did.
    subscribing: AtomicU32,
    waiting: Arc<Waiting>,
    position: watch::Sender<Position>,
    live: broadcast::Sender<LiveEvent>,
}

impl Reader {
    /// Until the end, of which everybody who waits learns.
    async fn read(mut self) {
        let mut code = None;
        // A silence, an end and a broken frame are all the same here.
        while let Ok(Some(Ok(message))) = timeout(SILENCE_TIME, self.stream.next()).await {
            match message {
                Message::Text(text) => match decode_replies(text.as_str()) {
                    Ok(replies) => {
                        // It tells no more of the stream: connecting again is the way to go on.
                        if !replies.into_iter().all(|reply| self.take(reply)) {
                            break;
                        }
                    }
                    Err(error) => {
                        tracing::warn!(%error, "the engine says what is no frame");
                        break;
                    }
                },
                Message::Close(why) => {
                    code = why.map(|why| why.code.into());
                    break;
                }
                _ => {}
            }
        }
        self.waiting.close(code);
    }

    /// Whether it goes on.
    fn take(&self, reply: Reply) -> bool {
        match reply {
            // Where there is no room for it much is being written, which is as good a sign of life.
            Reply::Ping => _ = self.frames.try_send(encode_commands(&[Command::Pong])),
            Reply::Result { id, outcome } => {
                if let Outcome::Subscribe(told) = &outcome
                    && !told.epoch.is_empty()
                {
                    self.position.send_replace(Position {
                        offset: told.offset,
                        epoch: told.epoch.as_str().into(),
                    });
                }
                self.waiting.answer(id, Ok(outcome));
            }
            // It tells no more of the stream: connecting again is the way to go on.
            Reply::Error { id, .. } if id == self.subscribing.load(Ordering::Relaxed) => return false,
            Reply::Error { id, error } => self.waiting.answer(id, Err(error)),
            Reply::Push(push) => {
                let publication = match push.event {
                    PushEvent::Publication(publication) => publication,
                    // The stream has begun anew: what is read by offset goes on all the same.
                    PushEvent::Unsubscribe(why) if why.code == UnsubscribeCode::Insufficient.number() => {
                        return self.subscribe(push.channel);
                    }
                    PushEvent::Unsubscribe(_) | PushEvent::Disconnect(_) => return false,
                    _ => return true,
                };
                if push.channel.starts_with("live:") {
                    self.tell_live(publication.data);
                } else {
                    // Only that there is something: it is read when there is time for it.
                    self.position
                        .send_modify(|position| position.offset = position.offset.max(publication.offset));
                }
            }
        }
        true
    }

    /// Whether there was room to ask for it.
    fn subscribe(&self, channel: String) -> bool {
        let id = self.ids.fetch_add(1, Ordering::Relaxed);
        self.subscribing.store(id, Ordering::Relaxed);
        let subscribe = SubscribeRequest {
            channel,
            ..SubscribeRequest::default()
        };
        let method = Method::Subscribe(Box::new(subscribe));
        let frame = encode_commands(&[Command::Call { id, method }]);
        self.frames.try_send(frame).is_ok()
    }

    fn tell_live(&self, data: Value) {
        match serde_json::from_value(data) {
            // Nobody listening is no error.
            Ok(event) => _ = self.live.send(event),
            Err(error) => tracing::debug!(%error, "something live cannot be read"),
        }
    }
}
