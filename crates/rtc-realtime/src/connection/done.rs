//! What tasks of a connection bring back.

use std::sync::Arc;

use rtc_types::Code;
use rtc_wire::centrifuge::{
    ConnectRequest, ConnectResult, DisconnectCode, ErrorCode, Outcome, PushEvent, RefreshResult, Reply,
    ReplyError, SubscribeResult,
};
use serde_json::json;
use tokio::task::{Id, JoinError};
use tokio::time::Instant;

use super::{Connected, Connection, Phase, Topic};
use crate::limits::{EXPIRED_GRACE, PING_INTERVAL, REPLY_BYTES};
use crate::live::Mode;
use crate::outgoing::Encoded;
use crate::page::Page;
use crate::{Caller, Claims, ConnectionId, Denied, LiveText, PROTOCOL, Services, Socket, Source};

/// What a task brings back.
pub(super) enum Done {
    /// Who the client is.
    Known {
        id: u32,
        request: Box<ConnectRequest>,
        known: Result<(Claims, Arc<dyn Source>), Denied>,
    },
    /// Who the client is now.
    Refreshed { id: u32, claims: Result<Claims, Denied> },
    /// The answer to a subscribe.
    Subscribed {
        id: u32,
        result: Result<SubscribeResult, ErrorCode>,
    },
    /// The answer to a call or to a request for history.
    Answer(Reply),
    /// More of the stream.
    Page {
        generation: u64,
        page: Result<Page, ErrorCode>,
    },
    /// Messages being written.
    Texts(Vec<(rtc_types::MessageId, Option<LiveText>)>),
}

/// What a task is for, in case that it does not come back.
pub(super) enum Role {
    Connect,
    Refresh { id: u32 },
    Subscribe { id: u32 },
    History { id: u32 },
    Call { id: u32 },
    Page { generation: u64 },
    Texts,
}

impl<S: Socket> Connection<S> {
    pub(super) fn job_done(&mut self, done: Result<(Id, Done), JoinError>) -> Result<(), DisconnectCode> {
        match done {
            Ok((id, done)) => {
                self.roles.remove(&id);
                self.came_back(done)
            }
            Err(error) => {
                let role = self.roles.remove(&error.id());
                tracing::error!(%error, "a task of a connection failed");
                match role {
                    Some(role) => self.did_not(role),
                    None => Err(DisconnectCode::ServerError),
                }
            }
        }
    }

    fn came_back(&mut self, done: Done) -> Result<(), DisconnectCode> {
        match done {
            Done::Known { id, request, known } => return self.connected(id, &request, known),
            Done::Refreshed { id, claims } => return self.refreshed(id, claims),
            Done::Subscribed { id, result } => self.subscribed(id, result),
            Done::Answer(reply) => self.answer(reply),
            Done::Page { generation, page } => self.page_read(generation, page),
            Done::Texts(texts) => {
                let sent = self.live.as_mut().map(|live| live.answered(texts));
                sent.into_iter().flatten().for_each(|data| self.push_live(data));
            }
        }
        Ok(())
    }

    /// A task panicked.
    fn did_not(&mut self, role: Role) -> Result<(), DisconnectCode> {
        match role {
            Role::Connect => return Err(DisconnectCode::ServerError),
            Role::Refresh { id } => {
                if let Phase::Connected(connected) = &mut self.phase {
                    connected.refreshing = false;
                }
                self.error(id, ErrorCode::Internal);
            }
            Role::Subscribe { id } => self.subscribed(id, Err(ErrorCode::Internal)),
            Role::History { id } => self.error(id, ErrorCode::Internal),
            Role::Call { id } => {
                let message = "the program has a fault; what was asked for may or may not have been done";
                let error = ReplyError::of_application(Code::Internal, message, None);
                self.reply(&Reply::Error { id, error });
            }
            Role::Page { generation } => self.page_read(generation, Err(ErrorCode::Internal)),
            Role::Texts => {
                if let Some(live) = &mut self.live {
                    live.not_answered();
                }
            }
        }
        Ok(())
    }

    fn connected(
        &mut self,
        id: u32,
        request: &ConnectRequest,
        known: Result<(Claims, Arc<dyn Source>), Denied>,
    ) -> Result<(), DisconnectCode> {
        let (claims, source) = match known {
            Ok(known) => known,
            // The client gets another token and comes again, here or over another socket.
            Err(Denied::Expired) => {
                self.phase = Phase::New;
                self.error(id, ErrorCode::TokenExpired);
                return Ok(());
            }
            Err(Denied::Invalid | Denied::Revoked) => return Err(DisconnectCode::InvalidToken),
        };
        let caller = Caller {
            user: claims.user,
            device: claims.device,
            scopes: claims.scopes,
            connection: ConnectionId::new(self.services.clock.stamp().mint().uuid()),
            approvals: request
                .data
                .get("approvals")
                .is_some_and(|approvals| *approvals == true),
        };
        let delta = request.data.get("live").is_some_and(|live| *live == "delta");
        let now = Instant::now();
        let (expires, ttl) = self.expire(&claims, now);
        let outcome = ConnectResult {
            client: caller.connection.to_string(),
            version: self.services.version.to_string(),
            expires,
            ttl,
            data: connect_data(&caller, &self.services),
            ping: seconds(PING_INTERVAL),
            pong: true,
            ..ConnectResult::default()
        };
        self.phase = Phase::Connected(Connected {
            caller: Arc::new(caller),
            position: source.position(),
            source,
            live_mode: if delta { Mode::Delta } else { Mode::Full },
            is_ours: request
                .data
                .get("protocol")
                .is_some_and(serde_json::Value::is_number),
            revoked: claims.revoked,
            refreshing: false,
        });
        self.times.connect = None;
        self.times.ping = Some(now + PING_INTERVAL);
        let outcome = Outcome::Connect(Box::new(outcome));
        self.reply(&Reply::Result { id, outcome });
        Ok(())
    }

    fn refreshed(&mut self, id: u32, claims: Result<Claims, Denied>) -> Result<(), DisconnectCode> {
        let claims = claims.map_err(|denied| match denied {
            Denied::Expired => DisconnectCode::Expired,
            Denied::Invalid | Denied::Revoked => DisconnectCode::InvalidToken,
        })?;
        let (expires, ttl) = self.expire(&claims, Instant::now());
        let Phase::Connected(connected) = &mut self.phase else {
            return Ok(());
        };
        let caller = Arc::make_mut(&mut connected.caller);
        if (caller.user, caller.device) != (claims.user, claims.device) {
            return Err(DisconnectCode::InvalidToken);
        }
        caller.scopes = claims.scopes;
        connected.revoked = claims.revoked;
        connected.refreshing = false;
        let outcome = Outcome::Refresh(RefreshResult {
            client: caller.connection.to_string(),
            version: self.services.version.to_string(),
            expires,
            ttl,
        });
        self.reply(&Reply::Result { id, outcome });
        Ok(())
    }

    /// Sets when the connection ends by time; what the client is told of it.
    fn expire(&mut self, claims: &Claims, now: Instant) -> (bool, u32) {
        // A time beyond all clocks is for ever.
        let expiry = claims
            .expires_in
            .and_then(|time| now.checked_add(time)?.checked_add(EXPIRED_GRACE));
        self.times.expiry = expiry;
        match claims.expires_in.filter(|_| expiry.is_some()) {
            Some(time) => (true, seconds(time).max(1)),
            None => (false, 0),
        }
    }

    fn subscribed(&mut self, id: u32, result: Result<SubscribeResult, ErrorCode>) {
        let mut result = match result {
            Ok(result) => result,
            Err(code) => {
                self.topic = Topic::Off;
                self.error(id, code);
                return;
            }
        };
        self.topics += 1;
        let first = result.publications.first().map(|publication| publication.offset);
        let last = result.publications.last().map(|publication| publication.offset);
        self.topic = Topic::On {
            generation: self.topics,
            epoch: result.epoch.as_str().into(),
            cursor: last.unwrap_or(result.offset),
            reading: false,
        };
        if let Some(live) = &mut self.live {
            for publication in &result.publications {
                live.passed(&publication.data);
            }
        }
        result.publications.shrink_to_fit();
        let offsets = first.zip(last).map(|(first, last)| first..=last);
        let outcome = Outcome::Subscribe(Box::new(result));
        self.outgoing
            .push(Encoded::with_offsets(&Reply::Result { id, outcome }, offsets));
    }

    fn page_read(&mut self, read: u64, page: Result<Page, ErrorCode>) {
        let (generation, cursor, reading) = match &mut self.topic {
            Topic::On {
                generation,
                cursor,
                reading,
                ..
            } => (*generation, cursor, reading),
            Topic::Off | Topic::Subscribing => return,
        };
        if generation != read {
            return;
        }
        *reading = false;
        let Ok(page) = page else {
            self.end_topic();
            return;
        };
        if let Some(last) = page.publications.last() {
            *cursor = last.offset;
        }
        for publication in page.publications {
            if let Some(live) = &mut self.live {
                live.passed(&publication.data);
            }
            self.push("topic", PushEvent::Publication(publication));
        }
    }

    /// Replies, if the reply is not too large.
    fn answer(&mut self, reply: Reply) {
        let offsets = match &reply {
            Reply::Result {
                outcome: Outcome::History(history),
                ..
            } => {
                let ends = history.publications.first().zip(history.publications.last());
                ends.map(|(a, b)| a.offset.min(b.offset)..=a.offset.max(b.offset))
            }
            _ => None,
        };
        let encoded = Encoded::with_offsets(&reply, offsets);
        match reply {
            Reply::Result { id, .. } if encoded.text.len() > REPLY_BYTES => {
                self.error(id, ErrorCode::LimitExceeded);
            }
            _ => self.outgoing.push(encoded),
        }
    }

    pub(super) fn error(&mut self, id: u32, code: ErrorCode) {
        self.reply(&Reply::Error {
            id,
            error: code.into(),
        });
    }
}

fn connect_data(caller: &Caller, services: &Services) -> serde_json::Value {
    json!({
        "user_id": caller.user,
        "device_id": caller.device,
        "protocol": PROTOCOL,
        "capabilities": &*services.capabilities,
        "scopes": caller.scopes.iter().map(|scope| scope.as_str()).collect::<Vec<_>>(),
    })
}

/// Whole seconds, rounded up.
fn seconds(time: std::time::Duration) -> u32 {
    u32::try_from(time.as_nanos().div_ceil(1_000_000_000)).unwrap_or(u32::MAX)
}
