//! The life of one connection: one task that reads, decides and never waits for anything but the next event.
//!
//! What takes time (who a token is, reading the stream, calls) runs in tasks of its own, and comes back as a [`Done`].

mod commands;
mod done;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use rtc_wire::centrifuge::{
    Command, DisconnectCode, FrameError, Publication, Push, PushEvent, Reply, UnsubscribeCode,
    UnsubscribePush, decode,
};
use tokio::sync::{broadcast, mpsc, oneshot, watch};
use tokio::task::{Id, JoinSet};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::limits::{
    CONNECT_BYTES, CONNECT_TIME, LIVE_BACKLOG_BYTES, OUTGOING_BYTES, PAGE_BYTES, PAGE_UPDATES, PAUSE_BYTES,
    PING_INTERVAL, PONG_TIME, SLOW_TIME,
};
use crate::live::Live;
use crate::outgoing::{Encoded, Outgoing};
use crate::writer::{Stop, Taken, write};
use crate::{Caller, FrameReceiver, LiveEvent, Position, Services, Socket, Source, page};
use done::{Done, Role};

/// How a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The client closed it, or is gone.
    Gone,
    /// It was closed, and the client was told why.
    Closed(DisconnectCode),
}

/// A client's connection.
pub struct Connection<S: Socket> {
    services: Services,
    receiver: S::Receiver,
    /// Read, and not yet begun.
    commands: VecDeque<Command>,
    jobs: JoinSet<Done>,
    roles: HashMap<Id, Role>,
    outgoing: Outgoing,
    /// When the frame that is being written was given to the writer.
    writing_since: Option<Instant>,
    phase: Phase,
    topic: Topic,
    /// How many topics there were: what an older one read is not taken for the present one's.
    topics: u64,
    live: Option<Live>,
    live_events: Option<broadcast::Receiver<LiveEvent>>,
    times: Times,
}

/// How far it is.
enum Phase {
    New,
    Connecting,
    Connected(Connected),
}

struct Connected {
    caller: Arc<Caller>,
    source: Arc<dyn Source>,
    position: watch::Receiver<Position>,
    live_mode: crate::live::Mode,
    /// Whether the client knows our own protocol inside of the frames.
    is_ours: bool,
    revoked: CancellationToken,
    refreshing: bool,
}

/// The subscription of the user's stream.
enum Topic {
    Off,
    Subscribing,
    On {
        generation: u64,
        epoch: Arc<str>,
        /// The last offset that is on its way to the client.
        cursor: u64,
        reading: bool,
    },
}

/// What happens when nothing happens.
struct Times {
    connect: Option<Instant>,
    ping: Option<Instant>,
    pong: Option<Instant>,
    expiry: Option<Instant>,
}

impl<S: Socket> Connection<S> {
    /// Speaks with a client until one of both ends it. Dropping the future breaks the connection off.
    pub async fn run(socket: S, services: Services) -> End {
        let (receiver, sender) = socket.split();
        let (frames, frames_taken) = mpsc::channel(1);
        let (tell_taken, mut taken) = mpsc::channel(1);
        let (stop, stopped) = oneshot::channel();
        // A set, because it ends its task when it is dropped.
        let mut writer = JoinSet::new();
        writer.spawn(write(sender, frames_taken, tell_taken, stopped));
        let mut connection = Self {
            services,
            receiver,
            commands: VecDeque::new(),
            jobs: JoinSet::new(),
            roles: HashMap::new(),
            outgoing: Outgoing::default(),
            writing_since: None,
            phase: Phase::New,
            topic: Topic::Off,
            topics: 0,
            live: None,
            live_events: None,
            times: Times {
                connect: Some(Instant::now() + CONNECT_TIME),
                ping: None,
                pong: None,
                expiry: None,
            },
        };
        let end = connection.serve(&frames, &mut taken).await;
        if let End::Closed(code) = end {
            let takes_nothing = matches!(code, DisconnectCode::Slow | DisconnectCode::NoPong);
            let rest = (!takes_nothing)
                .then(|| std::iter::from_fn(|| connection.outgoing.next_frame()).collect::<Vec<_>>());
            drop(connection);
            let told = Stop {
                code: code.number(),
                reason: code.text(),
                rest,
            };
            if stop.send(told).is_ok() {
                writer.join_next().await;
            }
        }
        tracing::debug!(?end, "a connection ended");
        end
    }

    /// Until the end.
    async fn serve(
        &mut self,
        frames: &mpsc::Sender<crate::outgoing::Frame>,
        taken: &mut mpsc::Receiver<Taken>,
    ) -> End {
        let shutdown = self.services.shutdown.clone();
        let mut was_reading = false;
        loop {
            if let Err(code) = self.dispatch() {
                return End::Closed(code);
            }
            self.pump();
            if self.outgoing.bytes() > OUTGOING_BYTES {
                return End::Closed(DisconnectCode::Slow);
            }
            if self.writing_since.is_none()
                && let Some(frame) = self.outgoing.next_frame()
            {
                self.writing_since = Some(Instant::now());
                if frames.try_send(frame).is_err() {
                    return End::Gone;
                }
            }
            let reads = self.commands.is_empty() && self.outgoing.bytes() <= PAUSE_BYTES;
            if reads && !was_reading && self.times.pong.is_some() {
                self.times.pong = Some(Instant::now() + PONG_TIME);
            }
            was_reading = reads;
            let due = self.due(reads);
            let (position, revoked) = match &mut self.phase {
                Phase::Connected(connected) => (Some(&mut connected.position), Some(&connected.revoked)),
                Phase::New | Phase::Connecting => (None, None),
            };
            let subscribed = matches!(self.topic, Topic::On { .. });
            tokio::select! {
                biased;
                () = shutdown.cancelled() => return End::Closed(DisconnectCode::Shutdown),
                () = cancelled(revoked) => return End::Closed(DisconnectCode::InvalidToken),
                () = until(due) => {
                    if let Err(code) = self.time_passed(Instant::now(), reads) {
                        return End::Closed(code);
                    }
                }
                taken = taken.recv() => match taken {
                    Some(taken) => self.frame_taken(taken),
                    None => return End::Gone,
                },
                Some(done) = self.jobs.join_next_with_id() => {
                    if let Err(code) = self.job_done(done) {
                        return End::Closed(code);
                    }
                }
                changed = changed(position), if subscribed => {
                    // Its source is gone: there will be another one.
                    if changed.is_err() {
                        return End::Closed(DisconnectCode::Shutdown);
                    }
                }
                frame = self.receiver.receive(), if reads => match frame {
                    None => return End::Gone,
                    Some(frame) => match frame.and_then(|frame| self.decode(&frame)) {
                        Ok(commands) => self.commands.extend(commands),
                        Err(error) => {
                            tracing::debug!(%error, "a client does not keep the protocol");
                            return End::Closed(match error {
                                FrameError::TooLarge(_) => DisconnectCode::MessageSizeLimit,
                                _ => DisconnectCode::BadRequest,
                            });
                        }
                    },
                },
                event = next_event(&mut self.live_events) => self.live_event(event),
            }
        }
    }

    fn decode(&self, frame: &str) -> Result<Vec<Command>, FrameError> {
        if !matches!(self.phase, Phase::Connected(_)) && frame.len() > CONNECT_BYTES {
            return Err(FrameError::TooLarge(frame.len()));
        }
        decode(frame)
    }

    /// When something has to happen, if nothing else does.
    fn due(&self, reads: bool) -> Option<Instant> {
        let slow = self.writing_since.map(|since| since + SLOW_TIME);
        let pong = self.times.pong.filter(|_| reads);
        let live = self.live.as_ref().and_then(Live::due);
        let times = &self.times;
        [times.connect, times.ping, pong, times.expiry, slow, live]
            .into_iter()
            .flatten()
            .min()
    }

    fn time_passed(&mut self, now: Instant, reads: bool) -> Result<(), DisconnectCode> {
        let is_due = |time: Option<Instant>| time.is_some_and(|time| time <= now);
        if is_due(self.times.connect) {
            return Err(DisconnectCode::Stale);
        }
        if is_due(self.writing_since.map(|since| since + SLOW_TIME)) {
            return Err(DisconnectCode::Slow);
        }
        if reads && is_due(self.times.pong) {
            return Err(DisconnectCode::NoPong);
        }
        if is_due(self.times.expiry) {
            return Err(DisconnectCode::Expired);
        }
        if is_due(self.times.ping) {
            self.times.ping = Some(now + PING_INTERVAL);
            self.times.pong = Some(now + PONG_TIME);
            self.reply(&Reply::Ping);
        }
        self.ask_for_texts(now);
        Ok(())
    }

    fn ask_for_texts(&mut self, now: Instant) {
        let (Phase::Connected(connected), Some(live)) = (&self.phase, &mut self.live) else {
            return;
        };
        if live.due().is_none_or(|due| due > now) {
            return;
        }
        if self.outgoing.bytes() > LIVE_BACKLOG_BYTES {
            live.postpone(now);
            return;
        }
        let (messages, source) = (live.ask(now), connected.source.clone());
        let task = async move {
            let mut texts = Vec::with_capacity(messages.len());
            for message in messages {
                texts.push((message, source.text(message).await));
            }
            Done::Texts(texts)
        };
        self.spawn(Role::Texts, task);
    }

    /// Reads on in the stream, if there is more and room for it.
    fn pump(&mut self) {
        let (
            Phase::Connected(connected),
            Topic::On {
                generation,
                epoch,
                cursor,
                reading,
            },
        ) = (&mut self.phase, &mut self.topic)
        else {
            return;
        };
        let newest = connected.position.borrow_and_update();
        if *newest.epoch != **epoch {
            drop(newest);
            self.end_topic();
            return;
        }
        if *reading || newest.offset <= *cursor || self.outgoing.bytes() > PAUSE_BYTES {
            return;
        }
        drop(newest);
        *reading = true;
        let (generation, after, epoch) = (*generation, *cursor, epoch.clone());
        let (source, caller) = (connected.source.clone(), connected.caller.clone());
        self.spawn(Role::Page { generation }, async move {
            let page = page::read(&*source, &caller, &epoch, after, PAGE_UPDATES, PAGE_BYTES).await;
            Done::Page { generation, page }
        });
    }

    /// The subscription cannot go on; the client subscribes again and is then told from where.
    fn end_topic(&mut self) {
        self.topic = Topic::Off;
        let code = UnsubscribeCode::Insufficient;
        let event = PushEvent::Unsubscribe(UnsubscribePush {
            code: code.number(),
            reason: code.text().to_owned(),
        });
        self.push("topic", event);
    }

    fn frame_taken(&mut self, taken: Taken) {
        self.writing_since = None;
        self.outgoing.taken(taken.bytes);
        if let Phase::Connected(connected) = &self.phase {
            for offsets in taken.offsets {
                connected.source.delivered(&connected.caller, offsets);
            }
        }
    }

    fn live_event(&mut self, event: Result<LiveEvent, broadcast::error::RecvError>) {
        match event {
            Ok(event) => {
                let has_room = self.outgoing.bytes() <= LIVE_BACKLOG_BYTES;
                let told = self.live.as_mut().and_then(|live| live.heard(event, has_room));
                if let Some(data) = told {
                    self.push_live(data);
                }
            }
            // What is missed is missed: the durable updates say how it ended.
            Err(broadcast::error::RecvError::Lagged(_)) => {}
            Err(broadcast::error::RecvError::Closed) => self.live_events = None,
        }
    }

    fn push_live(&mut self, data: serde_json::Value) {
        let publication = Publication {
            data,
            ..Publication::default()
        };
        self.push("live", PushEvent::Publication(publication));
    }

    /// Tells something in one of the user's channels.
    fn push(&mut self, namespace: &str, event: PushEvent) {
        let Phase::Connected(connected) = &self.phase else {
            return;
        };
        let offsets = match &event {
            PushEvent::Publication(publication) if publication.offset > 0 => {
                Some(publication.offset..=publication.offset)
            }
            _ => None,
        };
        let push = Push {
            channel: format!("{namespace}:u={}", connected.caller.user),
            event,
        };
        self.outgoing
            .push(Encoded::with_offsets(&Reply::Push(push), offsets));
    }

    fn reply(&mut self, reply: &Reply) {
        self.outgoing.push(Encoded::new(reply));
    }

    /// Starts what takes time; the role says what it means if it fails.
    fn spawn(&mut self, role: Role, task: impl Future<Output = Done> + Send + 'static) {
        let handle = self.jobs.spawn(task);
        self.roles.insert(handle.id(), role);
    }
}

async fn until(due: Option<Instant>) {
    match due {
        Some(due) => sleep_until(due).await,
        None => std::future::pending().await,
    }
}

async fn cancelled(token: Option<&CancellationToken>) {
    match token {
        Some(token) => token.cancelled().await,
        None => std::future::pending().await,
    }
}

async fn changed(position: Option<&mut watch::Receiver<Position>>) -> Result<(), watch::error::RecvError> {
    match position {
        Some(position) => position.changed().await,
        None => std::future::pending().await,
    }
}

async fn next_event(
    events: &mut Option<broadcast::Receiver<LiveEvent>>,
) -> Result<LiveEvent, broadcast::error::RecvError> {
    match events {
        Some(events) => events.recv().await,
        None => std::future::pending().await,
    }
}
