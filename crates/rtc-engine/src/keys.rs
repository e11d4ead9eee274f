//! The layout of keys. Each begins with the schema version and the user, so that one user's data is one range.

use rtc_store::{Key, Revision};
use rtc_types::{ClientId, ProjectId, SessionId, TurnId, UserId};
use uuid::Uuid;

/// Version of the layout.
const LAYOUT: u8 = 1;

/// The bytes of an id.
const UUID_BYTES: usize = 16;

/// How long the part of a key is that says whose it is.
const USER_END: usize = 1 + UUID_BYTES;

/// Makes the keys of one user.
#[derive(Debug, Clone, Copy)]
pub struct Keys {
    user: UserId,
}

macro_rules! key {
    ($self:ident, $kind:literal $(, $part:expr)*) => {{
        let mut bytes = Vec::with_capacity(64);
        bytes.push(LAYOUT);
        bytes.extend_from_slice($self.user.as_bytes());
        bytes.push($kind);
        $(bytes.extend_from_slice($part);)*
        Key::from(bytes)
    }};
}

impl Keys {
    /// Keys of this user.
    pub const fn new(user: UserId) -> Self {
        Self { user }
    }

    /// The user's topic stream.
    pub fn topic(&self) -> Key {
        key!(self, b'U')
    }

    pub(crate) fn sessions(&self) -> Key {
        key!(self, b'S')
    }

    pub(crate) fn session(&self, session: SessionId) -> Key {
        key!(self, b'S', session.as_bytes())
    }

    /// Written by the lane that owns the session; each of its batches requires it.
    pub(crate) fn lane(&self, session: SessionId) -> Key {
        key!(self, b'L', session.as_bytes())
    }

    /// Likewise for what sessions share.
    pub(crate) fn user_lane(&self) -> Key {
        key!(self, b'V')
    }

    pub(crate) fn turns(&self, session: SessionId) -> Key {
        key!(self, b'T', session.as_bytes())
    }

    pub(crate) fn turn(&self, session: SessionId, turn: TurnId) -> Key {
        key!(self, b'T', session.as_bytes(), turn.as_bytes())
    }

    pub(crate) fn context(&self, session: SessionId, turn: TurnId) -> Key {
        key!(self, b'C', session.as_bytes(), turn.as_bytes())
    }

    pub(crate) fn messages(&self, session: SessionId) -> Key {
        key!(self, b'M', session.as_bytes())
    }

    /// The messages of all sessions.
    pub(crate) fn all_messages(&self) -> Key {
        key!(self, b'M')
    }

    pub(crate) fn message(&self, session: SessionId, offset: u32) -> Key {
        key!(self, b'M', session.as_bytes(), &offset.to_be_bytes())
    }

    pub(crate) fn rtcs(&self, session: SessionId) -> Key {
        key!(self, b'R', session.as_bytes())
    }

    pub(crate) fn rtc(&self, session: SessionId, offset: u32) -> Key {
        key!(self, b'R', session.as_bytes(), &offset.to_be_bytes())
    }

    pub(crate) fn indexes(&self) -> Key {
        key!(self, b'I')
    }

    /// From the id of a turn, message or call to its primary key.
    pub(crate) fn index(&self, entity: Uuid) -> Key {
        key!(self, b'I', entity.as_bytes())
    }

    pub(crate) fn client_ids(&self) -> Key {
        key!(self, b'K')
    }

    /// From a client's id of a message to the message.
    pub(crate) fn client_id(&self, client_id: &ClientId) -> Key {
        key!(self, b'K', client_id.as_str().as_bytes())
    }

    /// What a session knows of a file. Paths can be longer than keys, so it is their hash.
    pub(crate) fn seen(&self, session: SessionId, path: &str) -> Key {
        key!(
            self,
            b'F',
            session.as_bytes(),
            blake3::hash(path.as_bytes()).as_bytes()
        )
    }

    pub(crate) fn projects(&self) -> Key {
        key!(self, b'P')
    }

    pub(crate) fn project(&self, project: ProjectId) -> Key {
        key!(self, b'P', project.as_bytes())
    }

    /// Which life of the user's stream it is, since a history was cleared.
    pub(crate) fn epoch(&self) -> Key {
        key!(self, b'E')
    }

    /// All rules of the user, one value: a session's batch requires its revision.
    pub(crate) fn rules(&self) -> Key {
        key!(self, b'G')
    }

    /// What stood in the place of the rules and could not be read, by the commit that had written it.
    pub(crate) fn unreadable_rules(&self, revision: Revision) -> Key {
        key!(self, b'X', &revision.0.to_be_bytes())
    }

    /// What a key is of, in words of the user.
    pub(crate) fn name(&self, key: &Key) -> String {
        let kind = key.as_bytes().get(USER_END);
        let parts = key.as_bytes().get(USER_END + 1..).unwrap_or_default();
        let (first, rest) = parts.split_at(parts.len().min(UUID_BYTES));
        let of = |what: &str| match Uuid::from_slice(first) {
            Ok(id) => format!("{what} {id}"),
            Err(_) => format!("a record of {what}"),
        };
        let within = |what: &str| {
            let place = match (<[u8; 4]>::try_from(rest), Uuid::from_slice(rest)) {
                (Ok(offset), _) => format!(" {}", u32::from_be_bytes(offset)),
                (_, Ok(id)) => format!(" {id}"),
                _ => String::new(),
            };
            format!("{what}{place} of {}", of("session"))
        };
        match kind {
            Some(b'S' | b'L') => of("session"),
            Some(b'T') => within("turn"),
            Some(b'C') => within("the context of turn"),
            Some(b'M') => within("message"),
            Some(b'R') => within("call"),
            Some(b'F') => within("what is known of a file"),
            Some(b'I') => of("the place of"),
            Some(b'P') => of("folder"),
            Some(b'K') => "the id under which a message was sent".to_owned(),
            Some(b'G') => "the permission rules".to_owned(),
            _ => format!("a record ({key})"),
        }
    }

    /// The session that a key of [`Keys::sessions`] is of.
    pub(crate) fn session_of(&self, key: &Key) -> Option<SessionId> {
        self.id_of(key).map(SessionId::new)
    }

    /// The project that a key of [`Keys::projects`] is of.
    pub(crate) fn project_of(&self, key: &Key) -> Option<ProjectId> {
        self.id_of(key).map(ProjectId::new)
    }

    /// The turn, message or call that a key of [`Keys::indexes`] is of.
    pub(crate) fn entity_of(&self, key: &Key) -> Option<Uuid> {
        self.id_of(key)
    }

    /// The session that a key of a message or call is of.
    pub(crate) fn session_within(&self, key: &Key) -> Option<SessionId> {
        let id = key.as_bytes().get(USER_END + 1..)?.get(..UUID_BYTES)?;
        Uuid::from_slice(id).ok().map(SessionId::new)
    }

    /// The place of a message or call in its session, by its key.
    pub(crate) fn offset_of(&self, key: &Key) -> Option<u32> {
        key.as_bytes()
            .last_chunk()
            .map(|bytes| u32::from_be_bytes(*bytes))
    }

    fn id_of(&self, key: &Key) -> Option<Uuid> {
        Uuid::from_slice(key.as_bytes().get(USER_END + 1..)?).ok()
    }
}
