//! The conversation of a turn that goes on: read once, then kept in step with what the lane commits, so that the
//! requests of a turn do not read it again and again. It goes when the turn is over.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rtc_types::{SessionId, TurnId};
use tokio::sync::OnceCell;

use crate::Error;
use crate::command::Write;
use crate::prompt::Spoken;
use crate::records::Records;
use crate::stored::TurnContext;

/// What the requests of one turn are made of.
pub(crate) struct Conversation {
    session: SessionId,
    turn: TurnId,
    context: OnceCell<TurnContext>,
    messages: Mutex<Messages>,
}

/// Messages by their place in the session.
#[derive(Default)]
struct Messages {
    /// Whether those of the store are among them.
    is_whole: bool,
    by_offset: BTreeMap<u32, Arc<Spoken>>,
}

impl Conversation {
    pub(crate) fn new(session: SessionId, turn: TurnId) -> Self {
        Self {
            session,
            turn,
            context: OnceCell::new(),
            messages: Mutex::default(),
        }
    }

    pub(crate) fn turn(&self) -> TurnId {
        self.turn
    }

    /// Takes over what was committed.
    pub(crate) fn committed(&self, writes: &[Write]) {
        let mut messages = self.lock();
        for write in writes {
            if let Write::Message(message) = write {
                let spoken = Spoken::from(message);
                messages.by_offset.insert(spoken.global_offset, Arc::new(spoken));
            }
        }
    }

    /// What was frozen when the turn began.
    pub(crate) async fn context(&self, records: &Records) -> Result<&TurnContext, Error> {
        let read = async || {
            let context = records.context(self.session, self.turn).await?;
            context.ok_or_else(|| Error::Unreadable("the turn has no context".into()))
        };
        self.context.get_or_try_init(read).await
    }

    /// All messages of the session, in order.
    pub(crate) async fn messages(&self, records: &Records) -> Result<Vec<Arc<Spoken>>, Error> {
        if !self.lock().is_whole {
            let stored = records.messages(self.session).await?;
            let mut messages = self.lock();
            for message in stored {
                // What was committed while the store was read is newer.
                let place = messages.by_offset.entry(message.entity.global_offset);
                place.or_insert_with(|| Arc::new(Spoken::from(&message)));
            }
            messages.is_whole = true;
        }
        Ok(self.lock().by_offset.values().cloned().collect())
    }

    fn lock(&self) -> MutexGuard<'_, Messages> {
        self.messages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
