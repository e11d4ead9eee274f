//! A user's stream in memory, services around it, and a client that speaks frames.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use rtc_types::{
    Clock, Code, DeviceId, MessageId, Timestamp, Update, UpdateAction, UpdateEntity, UpdateId, UpdateItem,
    UserId,
};
use rtc_wire::centrifuge::{
    Command, Method, Outcome, Push, PushEvent, Reply, ReplyError, RpcRequest, decode_replies, encode_commands,
};
use rtc_wire::rpc::RpcError;
use serde_json::{Value, json};
use tokio::sync::{Notify, Semaphore, broadcast, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::*;

pub(super) fn user() -> UserId {
    UserId::new(Uuid::from_u128(1))
}

pub(super) fn device() -> DeviceId {
    DeviceId::new(Uuid::from_u128(2))
}

pub(super) fn message(number: u128) -> MessageId {
    MessageId::new(Uuid::from_u128(number))
}

pub(super) fn topic() -> String {
    format!("topic:u={}", user())
}

pub(super) fn live() -> String {
    format!("live:u={}", user())
}

/// What is at an offset.
#[derive(Debug, Clone)]
pub(super) enum Stored {
    Update(Value),
    Unreadable,
    /// Shown to clients that know approvals only.
    Approval,
}

pub(super) struct MemorySource {
    rows: Mutex<BTreeMap<u64, Stored>>,
    position: watch::Sender<Position>,
    pub(super) live: broadcast::Sender<LiveEvent>,
    pub(super) texts: Mutex<HashMap<MessageId, LiveText>>,
    pub(super) asked: AtomicU64,
    pub(super) delivered: Mutex<Vec<RangeInclusive<u64>>>,
    pub(super) fails: AtomicBool,
    /// Without a permit reads wait.
    pub(super) gate: Semaphore,
}

impl MemorySource {
    pub(super) fn new() -> Arc<Self> {
        let position = Position {
            offset: 0,
            epoch: "e1".into(),
        };
        Arc::new(Self {
            rows: Mutex::default(),
            position: watch::Sender::new(position),
            live: broadcast::Sender::new(16),
            texts: Mutex::default(),
            asked: AtomicU64::new(0),
            delivered: Mutex::default(),
            fails: AtomicBool::new(false),
            gate: Semaphore::new(1000),
        })
    }

    pub(super) fn latest(&self) -> u64 {
        self.position.borrow().offset
    }

    pub(super) fn epoch(&self) -> String {
        self.position.borrow().epoch.to_string()
    }

    /// Puts a row at the next offset, or leaves a hole there.
    pub(super) fn commit(&self, stored: Option<Stored>) -> u64 {
        let offset = self.latest() + 1;
        if let Some(stored) = stored {
            self.rows.lock().unwrap().insert(offset, stored);
        }
        self.position.send_modify(|position| position.offset = offset);
        offset
    }

    pub(super) fn commit_many(&self, count: u64) {
        for _ in 0..count {
            self.commit(Some(Stored::Update(json!({"id": "M"}))));
        }
    }

    /// Begins anew with another epoch.
    pub(super) fn reset(&self, epoch: &str) {
        self.rows.lock().unwrap().clear();
        self.position.send_replace(Position {
            offset: 0,
            epoch: epoch.into(),
        });
    }
}

#[async_trait]
impl Source for MemorySource {
    fn position(&self) -> watch::Receiver<Position> {
        self.position.subscribe()
    }

    async fn updates(&self, caller: &Caller, after: u64, limit: usize) -> Result<Vec<Row>, Error> {
        let _permit = self.gate.acquire().await.unwrap();
        tokio::task::yield_now().await;
        if self.fails.load(Ordering::SeqCst) {
            return Err(Error::Unreadable("the disk is gone".to_owned()));
        }
        let rows = self.rows.lock().unwrap();
        let found = rows.range(after + 1..).take(limit);
        Ok(found
            .map(|(&offset, stored)| Row {
                offset,
                update: match stored {
                    Stored::Update(entity) => Ok(update(offset, entity.clone())),
                    Stored::Unreadable => Err(Withheld::Unreadable),
                    Stored::Approval if caller.approvals => Ok(update(offset, json!("approval"))),
                    Stored::Approval => Err(Withheld::Hidden),
                },
            })
            .collect())
    }

    fn live(&self) -> broadcast::Receiver<LiveEvent> {
        self.live.subscribe()
    }

    async fn text(&self, message: MessageId) -> Option<LiveText> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        self.texts.lock().unwrap().get(&message).cloned()
    }

    fn delivered(&self, _: &Caller, offsets: RangeInclusive<u64>) {
        self.delivered.lock().unwrap().push(offsets);
    }
}

pub(super) fn update(offset: u64, entity: Value) -> Update {
    let id = Uuid::from_u128(u128::from(offset));
    let item = UpdateItem {
        entity: UpdateEntity::Message,
        action: UpdateAction::Updated,
        entity_id: id,
    };
    Update {
        id: UpdateId::new(id),
        items: vec![item],
        data_list: vec![entity],
        offset: 0,
    }
}

/// Tokens: `good`, `other` (another device), `short` (valid for a minute), `blind` (no scope), else denied; the one that
/// is revoked with `revoke`.
pub(super) struct Around {
    pub(super) source: Arc<MemorySource>,
    pub(super) revoke: CancellationToken,
    /// Calls of `wait` go on.
    pub(super) go: Notify,
    pub(super) running: AtomicU64,
}

#[async_trait]
impl Authenticate for Around {
    async fn authenticate(&self, token: &str) -> Result<Claims, Denied> {
        tokio::task::yield_now().await;
        let claims = Claims {
            user: user(),
            device: device(),
            scopes: Scopes::all(),
            expires_in: None,
            revoked: self.revoke.clone(),
        };
        match token {
            "good" => Ok(claims),
            "other" => Ok(Claims {
                device: DeviceId::new(Uuid::from_u128(9)),
                ..claims
            }),
            "short" => Ok(Claims {
                expires_in: Some(Duration::from_millis(59_001)),
                ..claims
            }),
            "blind" => Ok(Claims {
                scopes: Scopes::default(),
                ..claims
            }),
            "old" => Err(Denied::Expired),
            "revoked" => Err(Denied::Revoked),
            "panic" => panic!("the test wants it"),
            _ => Err(Denied::Invalid),
        }
    }
}

#[async_trait]
impl Sources for Around {
    async fn source(&self, _: UserId) -> Option<Arc<dyn Source>> {
        Some(self.source.clone())
    }
}

#[async_trait]
impl Rpc for Around {
    async fn call(&self, caller: &Caller, method: &str, data: Value) -> Result<Value, RpcError> {
        self.running.fetch_add(1, Ordering::SeqCst);
        match method {
            "echo" => Ok(data),
            "approvals" => Ok(caller.approvals.into()),
            "panic" => panic!("the test wants it"),
            "never" => std::future::pending().await,
            "wait" => {
                self.go.notified().await;
                Ok(data)
            }
            "large" => Ok("x".repeat(REPLY_BYTES).into()),
            _ => Err(RpcError {
                code: Code::SessionNotFound,
                message: "there is no session S1".to_owned(),
                details: Some(json!({"session_id": "S1"})),
            }),
        }
    }
}

struct StoppedClock;

impl Clock for StoppedClock {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }

    fn entropy(&self) -> u64 {
        7
    }
}

/// A program with one user.
pub(super) struct World {
    pub(super) source: Arc<MemorySource>,
    pub(super) around: Arc<Around>,
    pub(super) services: Services,
}

impl World {
    pub(super) fn new() -> Self {
        let source = MemorySource::new();
        let around = Arc::new(Around {
            source: source.clone(),
            revoke: CancellationToken::new(),
            go: Notify::new(),
            running: AtomicU64::new(0),
        });
        let services = Services {
            authenticate: around.clone(),
            sources: around.clone(),
            rpc: around.clone(),
            clock: Arc::new(StoppedClock),
            version: "0.1.0".into(),
            capabilities: ["approvals".to_owned()].into(),
            shutdown: CancellationToken::new(),
        };
        Self {
            source,
            around,
            services,
        }
    }

    /// A client that has sent nothing yet; each way holds `frames` frames.
    pub(super) fn open(&self, frames: usize) -> Client {
        let (socket, peer) = memory_socket(frames);
        let services = self.services.clone();
        Client {
            run: tokio::spawn(Connection::run(socket, services)),
            peer,
            waiting: VecDeque::new(),
        }
    }

    /// A client that is connected.
    pub(super) async fn connect(&self, connect: Value) -> Client {
        let mut client = self.open(8);
        client
            .send(&json!({"id": 1, "connect": connect}).to_string())
            .await;
        assert!(matches!(client.reply().await, Reply::Result { id: 1, .. }));
        client
    }

    /// A client that is subscribed to the topic.
    pub(super) async fn subscribed(&self) -> Client {
        let mut client = self.connect(json!({"token": "good"})).await;
        client.send(&subscribe(2, &topic())).await;
        assert!(matches!(client.reply().await, Reply::Result { id: 2, .. }));
        client
    }
}

pub(super) fn subscribe(id: u32, channel: &str) -> String {
    json!({"id": id, "subscribe": {"channel": channel}}).to_string()
}

pub(super) fn recover(id: u32, offset: u64, epoch: &str) -> String {
    json!({"id": id, "subscribe": {"channel": topic(), "recover": true, "offset": offset, "epoch": epoch}})
        .to_string()
}

pub(super) fn history(id: u32, rest: Value) -> String {
    let mut request = rest;
    request["channel"] = topic().into();
    json!({"id": id, "history": request}).to_string()
}

/// Lets everything happen that can without time passing (but this millisecond).
pub(super) async fn settle() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

pub(super) struct Client {
    pub(super) run: JoinHandle<End>,
    pub(super) peer: MemoryPeer,
    waiting: VecDeque<Reply>,
}

impl Client {
    pub(super) async fn send(&self, frame: &str) {
        self.peer.send(frame).await.unwrap();
    }

    pub(super) async fn call(&self, id: u32, method: &str, data: Value) {
        let method = Method::Rpc(RpcRequest {
            method: method.to_owned(),
            data,
        });
        self.send(&encode_commands(&[Command::Call { id, method }])).await;
    }

    /// The next reply, or how the connection was closed.
    pub(super) async fn next(&mut self) -> Result<Reply, PeerEvent> {
        while self.waiting.is_empty() {
            match self.peer.receive().await {
                PeerEvent::Frame(frame) => self.waiting.extend(decode_replies(&frame).unwrap()),
                end => return Err(end),
            }
        }
        Ok(self.waiting.pop_front().unwrap())
    }

    pub(super) async fn reply(&mut self) -> Reply {
        self.next().await.unwrap()
    }

    /// The next reply, its ping answered.
    pub(super) async fn lively(&mut self) -> Result<Reply, PeerEvent> {
        loop {
            match self.next().await? {
                Reply::Ping => drop(self.peer.send("{}").await),
                reply => return Ok(reply),
            }
        }
    }

    /// The code with which the connection is closed, whatever comes before.
    pub(super) async fn closed(&mut self) -> u16 {
        loop {
            match self.next().await {
                Ok(_) => {}
                Err(PeerEvent::Closed { code, .. }) => return code,
                Err(end) => panic!("{end:?}"),
            }
        }
    }

    pub(super) async fn error(&mut self) -> (u32, ReplyError) {
        match self.reply().await {
            Reply::Error { id, error } => (id, error),
            reply => panic!("{reply:?}"),
        }
    }

    pub(super) async fn outcome(&mut self) -> (u32, Outcome) {
        match self.reply().await {
            Reply::Result { id, outcome } => (id, outcome),
            reply => panic!("{reply:?}"),
        }
    }

    /// The next publication: offset and data.
    pub(super) async fn published(&mut self) -> (u64, Value) {
        match self.reply().await {
            Reply::Push(Push {
                event: PushEvent::Publication(publication),
                ..
            }) => (publication.offset, publication.data),
            reply => panic!("{reply:?}"),
        }
    }
}
