//! What a model is writing, as lines of `stream-json`.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use rtc_types::{
    Content, ContentData, Message, MessageId, StreamingStatus, Update, UpdateAction, UpdateEntity, UpdateId,
    UpdateItem,
};
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
    text: String,
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
                        text: String::new(),
                        told: None,
                    });
                }
                _ => _ = self.open.remove(&id),
            }
        }
    }

    /// A piece of a message: the update that tells of it, with the whole text so far, if it is time for one.
    pub(crate) fn piece(&mut self, id: MessageId, thinking: bool, delta: &str) -> Option<Update> {
        let open = self.open.get_mut(&id)?;
        open.text.push_str(delta);
        let now = Instant::now();
        if open.told.is_some_and(|told| now.duration_since(told) < EVERY) {
            return None;
        }
        open.told = Some(now);
        let text = open.text.clone();
        let content = if thinking {
            ContentData::Thinking(text)
        } else {
            ContentData::Markdown(text)
        };
        let message = Message {
            content: Content::from(content),
            ..open.message.clone()
        };
        Some(Update {
            id: UpdateId::new(Uuid::now_v7()),
            items: vec![UpdateItem {
                entity: UpdateEntity::Message,
                action: UpdateAction::Updated,
                entity_id: id.uuid(),
            }],
            data_list: vec![serde_json::to_value(message).ok()?],
            offset: 0,
        })
    }

    /// Pieces were lost: of the messages that they belong to nothing more is told until they are whole.
    pub(crate) fn lost(&mut self) {
        self.open.clear();
    }
}
