//! What a model is writing, as lines of `stream-json`.

use std::collections::HashMap;
use std::time::Duration;

use rtc_types::{
    Content, ContentData, Message, MessageId, StreamingStatus, Update, UpdateAction, UpdateEntity, UpdateId,
    UpdateItem,
};
use tokio::time::Instant;
use uuid::Uuid;

/// A message is told this often at most.
const EVERY: Duration = Duration::from_millis(33);

/// The messages that are being written. What is told of them is lossy: the durable update has the whole text.
#[derive(Default)]
pub(crate) struct LiveLines {
    open: HashMap<MessageId, Open>,
}

struct Open {
    message: Message,
    thinking: bool,
    text: String,
    /// When it may be told, if there is something to tell.
    due: Option<Instant>,
    told: Option<Instant>,
}

impl LiveLines {
    /// Takes note of the messages in a durable update.
    pub(crate) fn update(&mut self, update: &Update) {
        for (item, data) in update.items.iter().zip(&update.data_list) {
            if item.entity != UpdateEntity::Message {
                continue;
            }
            let id = MessageId::new(item.entity_id);
            match serde_json::from_value::<Message>(data.clone()) {
                Ok(message) if message.streaming_status == StreamingStatus::Streaming => {
                    self.open.entry(id).or_insert_with(|| Open {
                        message,
                        thinking: false,
                        text: String::new(),
                        due: None,
                        told: None,
                    });
                }
                _ => _ = self.open.remove(&id),
            }
        }
    }

    /// Takes a piece of a message.
    pub(crate) fn piece(&mut self, id: MessageId, thinking: bool, delta: &str) {
        if let Some(open) = self.open.get_mut(&id) {
            open.thinking = thinking;
            open.text.push_str(delta);
            let now = Instant::now();
            open.due = Some(open.told.map_or(now, |told| (told + EVERY).max(now)));
        }
    }

    /// Takes all that was written of a message so far, where pieces were missed.
    pub(crate) fn whole(&mut self, update: &Update) {
        self.update(update);
        for data in &update.data_list {
            let Ok(message) = serde_json::from_value::<Message>(data.clone()) else {
                continue;
            };
            let (thinking, text) = match message.content.parse() {
                Some(ContentData::Markdown(text)) => (false, text),
                Some(ContentData::Thinking(text)) => (true, text),
                _ => continue,
            };
            if let Some(open) = self.open.get_mut(&message.id) {
                open.text.clear();
                self.piece(message.id, thinking, &text);
            }
        }
    }

    /// Comes when there is something to tell.
    pub(crate) async fn due(&self) {
        match self.open.values().filter_map(|open| open.due).min() {
            Some(due) => tokio::time::sleep_until(due).await,
            None => std::future::pending().await,
        }
    }

    /// The updates that are due, each with the whole text so far.
    pub(crate) fn take_due(&mut self) -> Vec<Update> {
        let now = Instant::now();
        let due = self.open.values_mut().filter_map(|open| {
            open.due.take_if(|due| *due <= now)?;
            open.told = Some(now);
            open.update()
        });
        due.collect()
    }

    /// Pieces were lost: of the messages that they belong to nothing more is told until they are whole.
    pub(crate) fn lost(&mut self) {
        self.open.clear();
    }
}

impl Open {
    fn update(&self) -> Option<Update> {
        let text = self.text.clone();
        let content = if self.thinking {
            ContentData::Thinking(text)
        } else {
            ContentData::Markdown(text)
        };
        let message = Message {
            content: Content::from(content),
            ..self.message.clone()
        };
        Some(Update {
            id: UpdateId::new(Uuid::now_v7()),
            items: vec![UpdateItem {
                entity: UpdateEntity::Message,
                action: UpdateAction::Updated,
                entity_id: message.id.uuid(),
            }],
            data_list: vec![serde_json::to_value(message).ok()?],
            offset: 0,
        })
    }
}
