//! The user's stream as connections read it.

use std::ops::RangeInclusive;

use async_trait::async_trait;
use rtc_realtime::{Caller, LiveEvent, LiveText, Position, Row, Scope, Source, Withheld};
use rtc_store::Offset;
use rtc_types::{
    ApprovalState, ContentData, MessageId, Rtc, RtcId, RtcStatus, StreamingStatus, Update, UpdateAction,
    UpdateEntity, UpdateId, UpdateItem,
};
use rtc_wire::{CallProgress, LiveEvent as Told, Trouble};
use serde_json::Value;
use tokio::sync::{broadcast, watch};

use crate::command::Command;
use crate::engine::{Engine, Live};
use crate::stored::StoredMessage;

/// How many updates are looked at for calls that the device of a session now knows of. What is further back is no news.
const DELIVERED: u64 = 200;

/// How connections are told of something live.
pub(crate) fn event(live: &Live) -> Option<LiveEvent> {
    let told = match live {
        Live::Text {
            session,
            message,
            thinking,
            delta,
            sequence,
        } => {
            return Some(LiveEvent::Text {
                session: *session,
                message: *message,
                thinking: *thinking,
                delta: delta.as_str().into(),
                sequence: *sequence,
            });
        }
        Live::Progress { rtc, progress } => Told::Progress(CallProgress {
            rtc_id: *rtc,
            progress: progress.clone(),
        }),
        Live::Trouble {
            session,
            code,
            message,
        } => Told::Trouble(Trouble {
            session_id: *session,
            code: *code,
            message: message.clone(),
        }),
        Live::File(changed) => Told::File(changed.clone()),
    };
    let value = serde_json::to_value(told).ok()?;
    Some(LiveEvent::Event(value.into()))
}

/// Leaves out the calls that wait for a Yes, for a client that asks nobody for one; but not those of its own device if
/// that asks its user itself.
fn for_caller(update: Update, caller: &Caller, asks_itself: bool) -> Result<Update, Withheld> {
    if caller.approvals {
        return Ok(update);
    }
    let device = caller.device.to_string();
    let is_own = |data: &Value| asks_itself && data.get("device_id").is_some_and(|own| *own == *device);
    let Update {
        id,
        items,
        data_list,
        offset,
    } = update;
    let seen = items.into_iter().zip(data_list).filter(|(item, data)| {
        item.entity != UpdateEntity::Rtc || !data.get("approval").is_some_and(is_open) || is_own(data)
    });
    let (items, data_list): (Vec<_>, Vec<_>) = seen.unzip();
    if items.is_empty() {
        return Err(Withheld::Hidden);
    }
    Ok(Update {
        id,
        items,
        data_list,
        offset,
    })
}

/// Leaves out the same from the updates of a reply.
pub(crate) fn reply_for_caller(mut reply: Value, caller: &Caller, asks_itself: bool) -> Value {
    let Some(Value::Array(updates)) = reply.get_mut("updates").filter(|_| !caller.approvals) else {
        return reply;
    };
    let seen = std::mem::take(updates).into_iter().filter_map(|update| {
        let update = serde_json::from_value(update).ok()?;
        serde_json::to_value(for_caller(update, caller, asks_itself).ok()?).ok()
    });
    *updates = seen.collect();
    reply
}

fn is_open(approval: &Value) -> bool {
    let state = approval.get("state").cloned().unwrap_or_default();
    serde_json::from_value(state).is_ok_and(|state: ApprovalState| state == ApprovalState::Open)
}

#[async_trait]
impl Source for Engine {
    fn position(&self) -> watch::Receiver<Position> {
        Engine::position(self)
    }

    async fn updates(
        &self,
        caller: &Caller,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Row>, rtc_realtime::Error> {
        let records = &self.inner.records;
        let told = |error: rtc_store::Error| rtc_realtime::Error::Unreadable(error.to_string());
        let topic = records.keys.topic();
        let stream = records.store.read_stream(&topic, Offset(after), limit);
        let (now, asks_itself) = (self.inner.clock.now(), self.inner.host.asks_itself(caller.device));
        let mut rows = Vec::new();
        for (offset, row) in stream.await.map_err(told)? {
            let update = match records.update(offset, &row, now).await {
                Ok(update) => for_caller(update, caller, asks_itself),
                Err(crate::Error::Unreadable(reason)) => {
                    tracing::warn!(
                        offset = offset.0,
                        reason,
                        "an update cannot be read and is left out"
                    );
                    Err(Withheld::Unreadable)
                }
                Err(error) => return Err(rtc_realtime::Error::Unreadable(error.to_string())),
            };
            rows.push(Row {
                offset: offset.0,
                update,
            });
        }
        Ok(rows)
    }

    fn live(&self) -> broadcast::Receiver<LiveEvent> {
        self.inner.live_events.subscribe()
    }

    async fn text(&self, message: MessageId) -> Option<LiveText> {
        let written = self.inner.written(message)?;
        let stored: StoredMessage = self.inner.records.by_id(message.uuid()).await.ok()??;
        let mut entity = stored.entity;
        // Late live text never stands in for a message that is whole.
        if entity.streaming_status != StreamingStatus::Streaming {
            return None;
        }
        entity.content = if written.thinking {
            ContentData::Thinking(written.text)
        } else {
            ContentData::Markdown(written.text)
        }
        .into();
        let update = Update {
            id: UpdateId::new(self.inner.clock.stamp().mint().uuid()),
            items: vec![UpdateItem {
                entity: UpdateEntity::Message,
                action: UpdateAction::Updated,
                entity_id: message.uuid(),
            }],
            data_list: vec![serde_json::to_value(entity).ok()?],
            offset: 0,
        };
        Some(LiveText {
            update,
            sequence: written.pieces,
        })
    }

    fn delivered(&self, caller: &Caller, offsets: RangeInclusive<u64>) {
        if !caller.scopes.has(Scope::Execute) {
            return;
        }
        let (engine, caller) = (self.clone(), caller.clone());
        tokio::spawn(async move {
            let count = (offsets.end() + 1 - offsets.start()).min(DELIVERED);
            let after = offsets.end() - count;
            let count = usize::try_from(count).unwrap_or_default();
            // As the connection was told: of a call that is hidden from it, it knows nothing.
            let Ok(rows) = Source::updates(&engine, &caller, after, count).await else {
                return;
            };
            let runs_here = engine.inner.host.runs_here(caller.device);
            for rtc in rows.into_iter().filter_map(|row| row.update.ok()).flat_map(calls) {
                if rtc.device_id == caller.device && rtc.status == RtcStatus::Pending {
                    let sent = Command::Sent {
                        rtc: rtc.id,
                        runs_here,
                    };
                    let _ = engine.tell(rtc.session_id, sent).await;
                }
            }
        });
    }
}

/// The calls that an update tells of.
fn calls(update: Update) -> impl Iterator<Item = Rtc> {
    update
        .items
        .into_iter()
        .zip(update.data_list)
        .filter(|(item, _)| item.entity == UpdateEntity::Rtc)
        .filter_map(|(item, data)| {
            let rtc: Rtc = serde_json::from_value(data).ok()?;
            (rtc.id == RtcId::new(item.entity_id)).then_some(rtc)
        })
}

#[cfg(test)]
mod tests;
