//! What is done about a command.

use std::sync::Arc;

use rtc_types::Code;
use rtc_wire::centrifuge::NESTING;
use rtc_wire::centrifuge::{
    Command, DisconnectCode, ErrorCode, HistoryRequest, Method, Outcome, PingResult, RefreshRequest, Reply,
    ReplyError, RpcRequest, RpcResult, SubscribeRequest, SubscribeResult, UnsubscribeRequest,
    UnsubscribeResult,
};
use tokio::time::timeout;

use super::done::{Done, Role};
use super::{Connection, Phase, Topic};
use crate::limits::{CALL_TIME, CALLS};
use crate::live::Live;
use rtc_wire::rpc::RpcError;

use crate::{Denied, Scope, Socket, page};

/// A channel that a user has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Channel {
    Topic,
    Live,
}

impl<S: Socket> Connection<S> {
    /// Begins what can be begun, in order. A command that has to wait keeps those behind it waiting.
    pub(super) fn dispatch(&mut self) -> Result<(), DisconnectCode> {
        while self
            .commands
            .front()
            .is_some_and(|command| self.can_begin(command))
        {
            if let Some(command) = self.commands.pop_front() {
                self.begin(command)?;
            }
        }
        Ok(())
    }

    fn can_begin(&self, command: &Command) -> bool {
        let connected = match &self.phase {
            Phase::New => return true,
            Phase::Connecting => return false,
            Phase::Connected(connected) => connected,
        };
        let Command::Call { method, .. } = command else {
            return true;
        };
        match method {
            Method::Rpc(_) | Method::History(_) => self.calls() < CALLS,
            Method::Subscribe(_) | Method::Unsubscribe(_) => !matches!(self.topic, Topic::Subscribing),
            Method::Refresh(_) => !connected.refreshing,
            _ => true,
        }
    }

    fn calls(&self) -> usize {
        let is_call = |role: &&Role| matches!(role, Role::Call { .. } | Role::History { .. });
        self.roles.values().filter(is_call).count()
    }

    fn begin(&mut self, command: Command) -> Result<(), DisconnectCode> {
        let is_new = matches!(self.phase, Phase::New);
        let (id, method) = match command {
            Command::Call {
                id: id @ 1..,
                method: Method::Connect(request),
            } if is_new => {
                self.connect(id, request);
                return Ok(());
            }
            // Nothing but connect comes first, and it does not come twice.
            _ if is_new => return Err(DisconnectCode::BadRequest),
            Command::Pong => {
                self.times.pong = None;
                return Ok(());
            }
            Command::Call {
                method: Method::Send(_),
                ..
            } => return Err(DisconnectCode::NotAvailable),
            Command::Call { id: 0, .. } | Command::Unknown { id: 0, .. } => {
                return Err(DisconnectCode::BadRequest);
            }
            Command::Unknown { id, .. } => {
                self.error(id, ErrorCode::MethodNotFound);
                return Ok(());
            }
            Command::TooDeep { id, method } => {
                self.reply(&Reply::Error {
                    id,
                    error: too_deep(&method),
                });
                return Ok(());
            }
            Command::Call { id, method } => (id, method),
        };
        match method {
            Method::Connect(_) => return Err(DisconnectCode::BadRequest),
            Method::Subscribe(request) => self.subscribe(id, *request),
            Method::Unsubscribe(request) => self.unsubscribe(id, &request),
            Method::History(request) => self.history(id, request),
            Method::Rpc(request) => self.call(id, request),
            Method::Refresh(request) => self.refresh(id, request),
            Method::Ping(_) => {
                let outcome = Outcome::Ping(PingResult {});
                self.reply(&Reply::Result { id, outcome });
            }
            Method::Publish(_) => self.error(id, ErrorCode::PermissionDenied),
            Method::Presence(_) | Method::PresenceStats(_) | Method::SubRefresh(_) => {
                self.error(id, ErrorCode::NotAvailable);
            }
            Method::Send(_) => return Err(DisconnectCode::NotAvailable),
        }
        Ok(())
    }

    fn connect(&mut self, id: u32, request: Box<rtc_wire::centrifuge::ConnectRequest>) {
        self.phase = Phase::Connecting;
        let (authenticate, sources) = (self.services.authenticate.clone(), self.services.sources.clone());
        self.spawn(Role::Connect, async move {
            let known = match authenticate.authenticate(&request.token).await {
                Ok(claims) => match sources.source(claims.user).await {
                    Some(source) => Ok((claims, source)),
                    None => Err(Denied::Invalid),
                },
                Err(denied) => Err(denied),
            };
            Done::Known { id, request, known }
        });
    }

    fn refresh(&mut self, id: u32, request: RefreshRequest) {
        if let Phase::Connected(connected) = &mut self.phase {
            connected.refreshing = true;
        }
        let authenticate = self.services.authenticate.clone();
        self.spawn(Role::Refresh { id }, async move {
            let claims = authenticate.authenticate(&request.token).await;
            Done::Refreshed { id, claims }
        });
    }

    /// Which of the user's channels a name is, if the client may read it.
    fn channel(&self, name: &str) -> Result<Channel, ErrorCode> {
        let Phase::Connected(connected) = &self.phase else {
            return Err(ErrorCode::PermissionDenied);
        };
        let (channel, whose) = match name.split_once(':') {
            Some(("topic", whose)) => (Channel::Topic, whose),
            Some(("live", whose)) => (Channel::Live, whose),
            _ => return Err(ErrorCode::UnknownChannel),
        };
        let is_own = whose.strip_prefix("u=") == Some(&connected.caller.user.to_string());
        if !is_own || !connected.caller.scopes.has(Scope::View) {
            return Err(ErrorCode::PermissionDenied);
        }
        Ok(channel)
    }

    fn subscribe(&mut self, id: u32, request: SubscribeRequest) {
        let channel = self.channel(&request.channel);
        let (Phase::Connected(connected), channel) = (&self.phase, channel) else {
            return;
        };
        match channel {
            Err(code) => self.error(id, code),
            Ok(Channel::Topic) if !matches!(self.topic, Topic::Off) => {
                self.error(id, ErrorCode::AlreadySubscribed)
            }
            Ok(Channel::Live) if self.live.is_some() => self.error(id, ErrorCode::AlreadySubscribed),
            Ok(Channel::Topic) => {
                let (source, caller) = (connected.source.clone(), connected.caller.clone());
                self.topic = Topic::Subscribing;
                self.spawn(Role::Subscribe { id }, async move {
                    let result = page::subscribe(&*source, &caller, &request).await;
                    Done::Subscribed { id, result }
                });
            }
            Ok(Channel::Live) => {
                self.live_events = Some(connected.source.live());
                self.live = Some(Live::new(connected.live_mode, connected.is_ours));
                let result = SubscribeResult {
                    was_recovering: request.recover,
                    ..SubscribeResult::default()
                };
                let outcome = Outcome::Subscribe(Box::new(result));
                self.reply(&Reply::Result { id, outcome });
            }
        }
    }

    /// Also of what was not subscribed: a client that has no right to a channel does not have it afterwards either.
    fn unsubscribe(&mut self, id: u32, request: &UnsubscribeRequest) {
        match self.channel(&request.channel) {
            Ok(Channel::Topic) => self.topic = Topic::Off,
            Ok(Channel::Live) => {
                self.live = None;
                self.live_events = None;
            }
            Err(_) => {}
        }
        let outcome = Outcome::Unsubscribe(UnsubscribeResult {});
        self.reply(&Reply::Result { id, outcome });
    }

    fn history(&mut self, id: u32, request: HistoryRequest) {
        let channel = self.channel(&request.channel);
        let Phase::Connected(connected) = &self.phase else {
            return;
        };
        match channel {
            Err(code) => self.error(id, code),
            // Nothing of it is kept.
            Ok(Channel::Live) => self.error(id, ErrorCode::NotAvailable),
            Ok(Channel::Topic) => {
                let (source, caller) = (connected.source.clone(), connected.caller.clone());
                self.spawn(Role::History { id }, async move {
                    Done::Answer(match page::history(&*source, &caller, &request).await {
                        Ok(result) => Reply::Result {
                            id,
                            outcome: Outcome::History(result),
                        },
                        Err(code) => Reply::Error {
                            id,
                            error: code.into(),
                        },
                    })
                });
            }
        }
    }

    fn call(&mut self, id: u32, request: RpcRequest) {
        let Phase::Connected(connected) = &self.phase else {
            return;
        };
        let (rpc, caller) = (self.services.rpc.clone(), Arc::clone(&connected.caller));
        self.spawn(Role::Call { id }, async move {
            let called = timeout(CALL_TIME, rpc.call(&caller, &request.method, request.data)).await;
            Done::Answer(match called {
                Ok(Ok(data)) => Reply::Result {
                    id,
                    outcome: Outcome::Rpc(RpcResult { data }),
                },
                Ok(Err(RpcError {
                    code,
                    message,
                    details,
                })) => Reply::Error {
                    id,
                    error: ReplyError::of_application(code, &message, details.as_ref()),
                },
                Err(_) => {
                    let message = format!(
                        "there was no answer within {} s; what was asked for may still be done",
                        CALL_TIME.as_secs()
                    );
                    let error = ReplyError::of_application(Code::Internal, &message, None);
                    Reply::Error { id, error }
                }
            })
        });
    }
}

/// What is said to a call whose parameters are nested too deeply.
fn too_deep(method: &str) -> ReplyError {
    let message = format!("the parameters are nested too deeply; the whole command may be {NESTING} deep");
    let (code, field) = if method == rtc_wire::rpc::Method::RtcSubmitResult.as_str() {
        (Code::RtcInvalidResult, "result")
    } else {
        (Code::InvalidArgument, "data")
    };
    let RpcError {
        code,
        message,
        details,
    } = RpcError::field(code, field, message);
    ReplyError::of_application(code, &message, details.as_ref())
}
